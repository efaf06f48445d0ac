//! What limits a trace, in sentences.

use cupti_dyn::Ended;
use jetlag_record::units::Nanos;

/// What limits a trace, beside what is counted.
pub fn notes(ended: &Ended) -> Vec<String> {
    let mut notes = ended.loss.sentences();
    notes.extend(
        ended
            .refused
            .iter()
            .map(|refusal| format!("not traced: {refusal}")),
    );
    notes.extend(ended.failed.iter().map(ToString::to_string));
    notes.extend(ended.brackets.steps().iter().map(|step| {
        format!(
            "the system's clock was set by {} during the trace: stamps within {} around it have no certain place",
            Nanos(step.by_ns),
            Nanos(i64::try_from(step.before_ns.saturating_sub(step.after_ns)).unwrap_or(i64::MAX)),
        )
    }));
    notes
}
