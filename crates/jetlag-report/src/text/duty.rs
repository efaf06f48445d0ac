//! One tenant at several rates: response time, idle gaps and clocks.

use super::{cut, dim, heading, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::Lack;
use crate::analysis::summary::duty::Clock;
use crate::number::{TimeUnit, UNKNOWN, or_unknown, percent};
use crate::table::{Align, Grid, Ink};

/// The section; empty where no rate was swept.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let Some(duty) = &summary.duty_cycle else {
        return String::new();
    };
    let unit = TimeUnit::for_millis(duty.steps.iter().filter_map(|step| step.response_ms.p50));
    let note = format!(
        "{}, with 95 % intervals; clocks in MHz: mean, minimum",
        unit.name()
    );
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("rate", Align::Left)
        .column("idle", Align::Right)
        .column("p50", Align::Right)
        .column("p99", Align::Right)
        .column("frames", Align::Right)
        .column("dropped", Align::Right)
        .column("GPU clock", Align::Right)
        .column("CPU clock", Align::Right);
    let mut name = cut(&duty.tenant, style);
    for step in &duty.steps {
        let stats = &step.response_ms;
        let clock = |clock: Option<Clock>| {
            plain(or_unknown(clock, |clock| {
                format!("{:.0}, {:.0}", clock.mean_mhz, clock.min_mhz)
            }))
        };
        let quantile = |value: Option<f64>| match value {
            Some(ms) => plain(unit.show(ms)),
            None => dim(UNKNOWN),
        };
        let interval = |bounds: Option<[f64; 2]>, value: Option<f64>, lack: Option<Lack>| {
            dim(match bounds {
                Some(bounds) => unit.show_interval(bounds),
                None => super::in_place_of_interval(lack, value, stats.count, summary.run.duration_s),
            })
        };
        let rate = step
            .hz
            .map_or_else(|| "closed loop".to_owned(), |hz| format!("{hz} Hz"));
        grid.row(vec![
            (std::mem::take(&mut name), Ink::Bold),
            plain(rate),
            plain(or_unknown(step.idle_share, percent)),
            quantile(stats.p50),
            quantile(stats.p99),
            plain(stats.count.to_string()),
            match step.frames.dropped {
                0 => plain("0"),
                dropped => (dropped.to_string(), Ink::Bad),
            },
            clock(step.gpu_clock),
            clock(step.cpu_clock),
        ]);
        grid.row(vec![
            plain(""),
            plain(""),
            plain(""),
            interval(stats.ci95.p50, stats.p50, stats.lacks.p50),
            interval(stats.ci95.p99, stats.p99, stats.lacks.p99),
        ]);
    }
    heading("DUTY CYCLE", &note, style) + &grid.render(style)
}
