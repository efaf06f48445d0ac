//! What the GPU did in the traced phases, for `jetlag report --kernels`.

use super::Form;
use crate::analysis::Summary;
use crate::sections::traced;

/// The traced phases of each run.
pub fn text(summaries: &[Summary], form: Form<'_>) -> String {
    let runs: Vec<String> = summaries.iter().map(|summary| run(summary, form)).collect();
    runs.join("\n\n")
}

fn run(summary: &Summary, form: Form<'_>) -> String {
    if summary.kernels.is_none() {
        let recorded = summary.run.recorded;
        return format!(
            "{}: {}, so nothing is known of its kernels. {}\n",
            summary.run.name,
            recorded.untraced(),
            recorded.to_trace()
        );
    }
    form.all(&traced::of_all(summary))
}
