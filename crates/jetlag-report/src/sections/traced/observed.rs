//! What tracing changed in the times of a phase.

use jetlag_figure::section::{Cell, Table, Tone};

use super::named;
use crate::analysis::Summary;
use crate::analysis::summary::observer::{Observed, ObservedPhase, ObservedTenant};
use crate::number::{change, change_range, short};

pub(super) fn table(summary: &Summary, observed: &ObservedPhase) -> Table {
    let caption = match &observed.untraced {
        Some(untraced) => format!("what tracing changed, beside {untraced}"),
        None => "what tracing changed: no untraced phase has the same tenants, rates and sharing".to_owned(),
    };
    let mut table = Table::new(caption)
        .words("tenant")
        .words("figure")
        .numbers(["untraced", "traced", "change"]);
    for tenant in &observed.tenants {
        for (nth, figure) in tenant.figures.iter().enumerate() {
            let value =
                |value: Option<f64>| Cell::of(value, |value| format!("{} {}", short(value), figure.unit));
            let tone = match nth == 0 && tenant.verdict == Observed::Perturbed {
                true => Tone::Warn,
                false => Tone::Plain,
            };
            table.row([
                named(summary, &tenant.tenant),
                Cell::new(figure.figure),
                value(figure.untraced),
                value(figure.traced),
                Cell::of(figure.change, |of| change(of, figure.ci95))
                    .note(figure.ci95.map_or(String::new(), change_range))
                    .tone(tone),
            ]);
        }
    }
    table
}

/// Why it cannot be told whether tracing changed a tenant's times, and what would decide it.
pub(super) fn undecided(tenant: &ObservedTenant) -> Option<String> {
    if tenant.verdict != Observed::Undecided {
        return None;
    }
    let reason = tenant.figures.first().and_then(|p50| p50.reason.as_deref());
    let mut said = format!(
        "{}: undecided; {}",
        tenant.tenant,
        reason.unwrap_or("the interval is too wide")
    );
    if let Some(needs) = &tenant.needs {
        said += &format!("; about {} traced frames would decide it", needs.traced_frames);
        if let Some(seconds) = needs.traced_s {
            said += &format!(", {:.0} s at this rate", seconds.ceil());
        }
        if let Some(frames) = needs.untraced_frames {
            said += &format!(", beside {frames} untraced ones");
        }
    }
    Some(said + ".")
}
