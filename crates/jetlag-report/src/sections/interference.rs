//! What other tenants' frames and inputs cost: service time while another is in service, and crossed inputs.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, grouped, named, plain_time};
use crate::analysis::Summary;
use crate::analysis::summary::interference::{Contrast, Effect, Overlap};
use crate::digits::{Digits, range};
use crate::number::{TimeUnit, percent, short};

/// How much slower a frame runs while each co-runner is in service; none if one tenant ran by itself.
pub(super) fn overlap(summary: &Summary) -> Option<Section> {
    let all = &summary.interference.overlap;
    let p50 = |overlap: &Overlap| overlap.without.service_p50_ms.or(overlap.beside.service_p50_ms);
    let unit = TimeUnit::for_millis(all.iter().filter_map(p50));
    let mut table = Table::new("").words("tenant").words("with").numbers([
        "overlap",
        "p50 without",
        "p50 with",
        "slowdown",
    ]);
    for overlap in all {
        table.row([
            named(summary, &overlap.tenant),
            named(summary, &overlap.with).tone(Tone::Plain),
            Cell::new(percent(overlap.mean_share)),
            plain_time(unit, overlap.without.service_p50_ms),
            plain_time(unit, overlap.beside.service_p50_ms),
            Cell::of(overlap.slowdown, |x| format!("×{}", short(x))).note(or_nothing(overlap.slowdown_ci95)),
        ]);
    }
    let withheld = all.iter().filter_map(|overlap| {
        let pair = format!("{} with {}", overlap.tenant, overlap.with);
        Some((pair, overlap.withheld.as_ref()?.message.clone()))
    });
    let note = format!(
        "service time, {}; slowdown while the other tenant is in service",
        unit.name()
    );
    Section::new("overlap", "Overlap", note)
        .explained(
            "All tenants together: the share of a tenant's service time in which the other was in service too, the median service \
             time of frames that began without and with it, and the slowdown while the other is in service.",
        )
        .table(table)
        .remarks(grouped(withheld))
        .unless_empty()
}

/// An interval, which may have no upper end, as text; empty if there is none.
fn or_nothing(interval: Option<(f64, Option<f64>)>) -> String {
    match interval {
        Some((low, Some(high))) => range([low, high]),
        Some((low, None)) => format!("{} or more", short(low)),
        None => String::new(),
    }
}

/// The effects of inputs on a detector and on its co-runner; none if inputs were not crossed.
pub(super) fn inputs(summary: &Summary) -> Option<Section> {
    let contrasts = &summary.interference.crossed;
    let mut table = Table::new("")
        .words("tenant")
        .words("with")
        .words("measure")
        .numbers(["base", "own input", "co-runner's", "interaction"])
        .optional_words("sharing");
    for contrast in contrasts {
        let second = |names: &[String; 2]| format!("→ {}", names[1]);
        table.row([
            named(summary, &contrast.tenant[0]).note(second(&contrast.tenant)),
            Cell::group(&contrast.with[0]).note(second(&contrast.with)),
            Cell::new(measure(contrast)),
            Cell::new(short(contrast.base)),
            effect(&contrast.own),
            effect(&contrast.co_runner),
            effect(&contrast.interaction),
            Cell::new(&contrast.sharing),
        ]);
    }
    let any =
        |contrast: &Contrast| contrast.own.found || contrast.co_runner.found || contrast.interaction.found;
    let said = match contrasts.iter().any(any) {
        true => "* significant, all effects tested together.",
        false => "No significant effect, all tested together.",
    };
    let note = "change from the first input to the second (→), with 95 % interval";
    (!contrasts.is_empty()).then(|| {
        Section::new("inputs", "Inputs", note)
            .explained(
                "Change of the response time with the second input of the tenant, and of its co-runner, each averaged over both \
                 inputs of the other; the interaction is the additional change with both. The pairs ran in turns.",
            )
            .table(table)
            .texts([said.to_owned()])
    })
}

fn effect(effect: &Effect) -> Cell {
    let digits = Digits::of_interval(effect.ci95, Digits::of);
    let (mark, tone) = match effect.found {
        true => ("*", Tone::Strong),
        false => ("", Tone::Plain),
    };
    Cell::new(digits.signed(effect.value) + mark)
        .note(effect.ci95.map(|x| digits.signed(x)).join(" to "))
        .tone(tone)
}

fn measure(contrast: &Contrast) -> &'static str {
    match contrast.measure {
        "p50_ms" => "p50 ms",
        "p99_ms" => "p99 ms",
        _ => "(p99−p50)/p50",
    }
}
