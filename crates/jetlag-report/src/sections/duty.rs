//! One tenant at several rates: response time, idle gaps and clocks.

use jetlag_figure::section::{Cell, Table};

use super::{Section, quantile};
use crate::analysis::Summary;
use crate::analysis::summary::Stats;
use crate::analysis::summary::duty::Clock;
use crate::number::{TimeUnit, percent};

/// The section; none where no rate was swept.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let duty = summary.duty_cycle.as_ref()?;
    let unit = TimeUnit::for_millis(duty.steps.iter().filter_map(|step| step.response_ms.p50.value));
    let mut table = Table::new("").words("tenant").words("rate").numbers([
        "idle",
        "p50",
        "p99",
        "frames",
        "dropped",
        "GPU clock",
        "CPU clock",
    ]);
    for step in &duty.steps {
        let rate = step
            .hz
            .map_or_else(|| "closed loop".to_owned(), |hz| format!("{hz} Hz"));
        let [p50, p99] = quantiles(&step.response_ms, unit, summary.seconds_of(&duty.tenant));
        table.row([
            super::named(summary, &duty.tenant),
            Cell::new(rate),
            Cell::of(step.idle_share, percent),
            p50,
            p99,
            Cell::new(step.response_ms.count.to_string()),
            Cell::alarming(step.frames.dropped),
            clock(step.gpu_clock),
            clock(step.cpu_clock),
        ]);
    }
    let note = format!(
        "{}, with 95 % intervals; clocks in MHz: mean, minimum",
        unit.name()
    );
    Section::new("duty", "Duty cycle", note)
        .explained("One tenant at several rates, one after another: idle share, response time and clocks.")
        .table(table)
        .unless_empty()
}

fn quantiles(stats: &Stats, unit: TimeUnit, seconds: Option<f64>) -> [Cell; 2] {
    [stats.p50, stats.p99].map(|of| quantile(unit, of, stats, seconds))
}

fn clock(clock: Option<Clock>) -> Cell {
    Cell::of(clock, |clock| {
        format!("{:.0}, {:.0}", clock.mean_mhz, clock.min_mhz)
    })
}
