//! What a model answers: values with their intervals, whether they fit and are in time, and every reason to doubt.

use jetlag_figure::section::{Cell, Table};

use super::Section;
use super::model::held_out;
use crate::dataset::Target;
use crate::model::{Answer, Fits, Kin, Late, Prediction, Reason, Verdict};
use crate::pairs::PairAnswer;
use crate::words::figure;

/// The answer to a question about one network.
pub fn answer(answer: &Answer) -> Section {
    let note = format!(
        "{} of a batch of {} on {}",
        answer.stage, answer.batch, answer.device
    );
    let mut table = Table::new("")
        .words("figure")
        .number("value")
        .words("unit")
        .words("interval");
    for said in &answer.predictions {
        let interval = match (said.interval, &said.withheld) {
            (Some(own), _) => between(own.low, own.high, own.level, figure),
            (None, Some(why)) => why.to_string(),
            (None, None) => "no interval".to_owned(),
        };
        table.row([
            Cell::new(name(said.target)),
            Cell::new(figure(said.value)),
            Cell::new(said.target.unit()),
            Cell::new(interval),
        ]);
    }
    for none in &answer.withheld {
        let withheld = Cell::new(format!("withheld: {}", none.why));
        table.row([
            Cell::new(name(none.target)),
            Cell::unknown(),
            Cell::new(""),
            withheld,
        ]);
    }
    Section::new("prediction", "Prediction", note)
        .table(table)
        .texts(answer.fits.as_ref().map(room))
        .texts(answer.late.as_ref().map(lateness))
        .remarks(doubts(answer))
}

/// The answer to a question about a network beside another one.
pub fn pair(answer: &PairAnswer) -> Section {
    let note = format!("{} beside {}", answer.network, answer.beside);
    let mut table = Table::new("").words("figure").number("value").words("interval");
    let interval = match answer.interval {
        Some(own) => between(own.low, own.high, own.level, |value| format!("{value:.2}")),
        None => "too few networks in pairs".to_owned(),
    };
    table.row([
        Cell::new("slowdown"),
        Cell::new(format!("×{:.2}", answer.slowdown)),
        Cell::new(interval),
    ]);
    let degraded = "Degraded: no pair of one of them was fitted.".to_owned();
    Section::new("prediction", "Prediction", note)
        .table(table)
        .remarks((answer.kin == Kin::Other).then_some(degraded))
        .remarks(answer.unlike.iter().map(ToString::to_string))
}

fn between(low: f64, high: f64, level: f64, show: impl Fn(f64) -> String) -> String {
    format!("{} to {} ({:.0} %)", show(low), show(high), 100.0 * level)
}

fn room(fits: &Fits) -> String {
    let word = match fits.verdict {
        Verdict::Yes => "fits",
        Verdict::No => "does not fit",
        Verdict::Open => "may or may not fit",
    };
    let least = if fits.is_least { "at least " } else { "" };
    format!(
        "{word}: {least}{} MiB of {} MiB",
        figure(fits.demand_mib),
        figure(fits.limit_mib)
    )
}

fn lateness(late: &Late) -> String {
    let word = match late.in_time {
        Verdict::Yes => "in time",
        Verdict::No => "late",
        Verdict::Open => "may or may not be in time",
    };
    let side = if late.late_by_ms > 0.0 { "after" } else { "before" };
    format!(
        "{word}: {} ms {side} the deadline of {} ms",
        figure(late.late_by_ms.abs()),
        figure(late.deadline_ms)
    )
}

fn doubts(answer: &Answer) -> Vec<String> {
    let any = |is: &dyn Fn(&Prediction) -> bool| answer.predictions.iter().any(is);
    let mut doubts: Vec<String> = Vec::new();
    if answer.only_weights {
        doubts.push(
            "Layers without weights were left aside: the fitted networks were described without them."
                .to_owned(),
        );
    }
    if any(&|said| said.kin == Kin::Other) {
        doubts.push("Degraded: this network is none of the fitted ones.".to_owned());
        let held_outs = answer
            .predictions
            .iter()
            .filter_map(|said| Some((said.target, said.held_out.as_ref()?)));
        doubts.extend(held_outs.map(|(target, own)| format!("{}: {}", name(target), held_out(own))));
    }
    if any(&|said| !said.is_measured_mode) {
        doubts.push("This power mode was not measured: values follow from its clocks.".to_owned());
    }
    let is_beyond = |reason: &Reason| matches!(reason, Reason::Beyond { .. });
    if any(&|said| said.unlike.iter().any(is_beyond)) {
        doubts.push(
            "Extrapolated beyond the data: intervals tell how far off rows within them were, and may be too narrow here."
                .to_owned(),
        );
    }
    for reason in answer.predictions.iter().flat_map(|said| &said.unlike) {
        let reason = reason.to_string();
        if !doubts.contains(&reason) {
            doubts.push(reason);
        }
    }
    doubts
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Memory => "peak memory",
        Target::Energy => "energy a frame",
        Target::Power => "mean power",
        Target::Latency => "latency",
    }
}
