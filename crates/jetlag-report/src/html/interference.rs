//! How tenants slow each other down: the slowdown matrix as a heat map, overlap, load on one resource, inputs and
//! idle gaps.

use super::charts::rounds;
use super::view::{self, Block, Chart, Key, Section, Table, cell, tenant_cell, words};
use crate::analysis::summary::duty::Clock;
use crate::analysis::summary::interference::{Cell, Effect, Overlap, Sensitivity, Way};
use crate::analysis::summary::{Slowdown, Summary};
use crate::digits::{Digits, range};
use crate::number::{TimeUnit, or_unknown, percent, short, short_beside};
use crate::text::interference::{or_nothing, remarks, withheld};

/// The slowdown from which a cell has the warmest colour.
const HOTTEST: f64 = 3.0;

/// The section; none where no tenant was measured alone.
pub(super) fn section(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut blocks: Vec<Block> = summary
        .interference
        .matrix
        .iter()
        .flat_map(|way| {
            [
                map(summary, way, "median", |slowdown| {
                    (slowdown.p50, slowdown.ci95.p50)
                }),
                map(summary, way, "p90", |slowdown| (slowdown.p90, slowdown.ci95.p90)),
                map(summary, way, "p99", |slowdown| (slowdown.p99, slowdown.ci95.p99)),
            ]
        })
        .map(Block::Table)
        .collect();
    if blocks.is_empty() {
        blocks.extend(together(summary).map(Block::Table));
    }
    let tenants = summary.tenants.iter().enumerate();
    let found =
        tenants.filter_map(|(number, tenant)| Some((number, &tenant.name, tenant.slowdown.as_ref()?)));
    let charts: Vec<Chart> = found
        .clone()
        .filter_map(|(number, name, found)| by_round(number, name, found))
        .collect();
    if !charts.is_empty() {
        blocks.push(Block::Charts(charts));
    }
    let of_cells = summary.interference.matrix.iter().flat_map(|way| &way.cells);
    let of_cells = of_cells.filter_map(|cell| {
        Some((
            format!("{} with {}", cell.tenant, cell.with.join(", ")),
            cell.slowdown.as_ref()?,
        ))
    });
    let said = match summary.interference.matrix.is_empty() {
        true => remarks(found.map(|(_, name, slowdown)| (name.clone(), slowdown))),
        false => remarks(of_cells),
    };
    blocks.extend(said.iter().map(|said| Block::Text(words(said))));
    blocks.extend(overlap(summary).map(Block::Table));
    let reasons = withheld(&summary.interference.overlap);
    blocks.extend(reasons.iter().map(|reason| Block::Text(words(reason))));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-slowdown"),
        title: "Slowdown".into(),
        note:
            "Response time with others ÷ response time alone, with 95 % interval. The two took turns, so that what the machine did \
             meanwhile is in both. Warmer colours are slower."
                .to_owned(),
        blocks,
    })
}

type Pick = fn(&Slowdown) -> (Option<f64>, Option<[f64; 2]>);

/// Each round of a tenant's slowdown among all.
fn by_round(number: usize, name: &str, slowdown: &Slowdown) -> Option<Chart> {
    let mut keys = vec![Key::new(number, format!("{} rounds", slowdown.rounds))];
    if slowdown.p50.is_some() {
        keys.push(Key::new("other", "of all rounds, with 95 % interval"));
    }
    Some(Chart {
        title: format!("{name} with all others, median, by round"),
        keys,
        svg: rounds::chart(number, name, slowdown)?.svg,
    })
}

/// One row per tenant, one column for each co-runner.
fn map(summary: &Summary, way: &Way, statistic: &str, pick: Pick) -> Table {
    let mut beside: Vec<&[String]> = Vec::new();
    for found in &way.cells {
        if found.with.len() == 1 && !beside.contains(&found.with.as_slice()) {
            beside.push(&found.with);
        }
    }
    // Rows and columns in one order, that of the scenario; loads that are no tenants come last.
    beside.sort_by_key(|with| {
        let mut tenants = summary.tenants.iter();
        tenants
            .position(|tenant| with.first() == Some(&tenant.name))
            .unwrap_or(usize::MAX)
    });
    let everyone = way.cells.iter().any(|found| found.with.len() > 1);
    let mut columns = vec!["tenant".to_owned()];
    columns.extend(beside.iter().map(|with| format!("with {}", with.join(", "))));
    if everyone {
        columns.push("with all".to_owned());
    }
    let caption = format!("{statistic}, sharing {}", way.sharing);
    let mut table = Table::new(caption, &columns);
    for (number, tenant) in summary.tenants.iter().enumerate() {
        let of_it = || way.cells.iter().filter(|found| found.tenant == tenant.name);
        if of_it().next().is_none() {
            continue;
        }
        let shown = |found: Option<&Cell>| match found {
            Some(found) => {
                let (slowdown, interval) = found.slowdown.as_ref().map_or((None, None), pick);
                heat(slowdown, interval)
            }
            None => cell(""),
        };
        let mut row = vec![tenant_cell(&tenant.name, number)];
        row.extend(
            beside
                .iter()
                .map(|with| shown(of_it().find(|found| found.with == *with))),
        );
        if everyone {
            row.push(shown(of_it().find(|found| found.with.len() > 1)));
        }
        table.row(row);
    }
    table
}

/// If no pairs were measured: each tenant with all others.
fn together(summary: &Summary) -> Option<Table> {
    let mut table = Table::new("With all others", &["tenant", "median", "p90", "p99", "#rounds"]);
    for (number, tenant) in summary.tenants.iter().enumerate() {
        let Some(slowdown) = &tenant.slowdown else {
            continue;
        };
        table.row(vec![
            tenant_cell(&tenant.name, number),
            heat(slowdown.p50, slowdown.ci95.p50),
            heat(slowdown.p90, slowdown.ci95.p90),
            heat(slowdown.p99, slowdown.ci95.p99),
            cell(slowdown.rounds.to_string()),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// A slowdown as a cell, coloured by its size; the text says the same.
fn heat(slowdown: Option<f64>, interval: Option<[f64; 2]>) -> view::Cell {
    let warmth = slowdown.map_or(0.0, |x| ((x - 1.0) / (HOTTEST - 1.0)).clamp(0.0, 1.0) * 55.0);
    view::Cell {
        style: format!("--share:{warmth:.0}%"),
        ..cell(or_unknown(slowdown, |x| {
            format!("×{}", short_beside(x, interval))
        }))
        .note(interval.map_or(String::new(), range))
        .class("heat")
    }
}

/// How much slower a frame runs while each co-runner is in service.
fn overlap(summary: &Summary) -> Option<Table> {
    let all = &summary.interference.overlap;
    let p50 = |overlap: &Overlap| overlap.without.service_p50_ms.or(overlap.beside.service_p50_ms);
    let unit = TimeUnit::for_millis(all.iter().filter_map(p50));
    let caption = format!(
        "All tenants together, {}: the share of a tenant's service time in which the other was in service too, the median service \
         time of frames that began without and with it, and the slowdown while the other is in service",
        unit.name()
    );
    let mut table = Table::new(
        caption,
        &[
            "tenant",
            "with",
            "#overlap",
            "#median without",
            "#median with",
            "#slowdown",
        ],
    );
    for overlap in all {
        let time = |ms: Option<f64>| cell(or_unknown(ms, |ms| unit.show(ms)));
        table.row(vec![
            named(summary, &overlap.tenant),
            cell(&overlap.with),
            cell(percent(overlap.mean_share)),
            time(overlap.without.service_p50_ms),
            time(overlap.beside.service_p50_ms),
            cell(or_unknown(overlap.slowdown, |x| format!("×{}", short(x))))
                .note(or_nothing(overlap.slowdown_ci95)),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Slowdown under load on one resource.
pub(super) fn sensitivity(summary: &Summary, prefix: &str) -> Option<Section> {
    let all = &summary.interference.sensitivity;
    let mut sharings: Vec<&str> = Vec::new();
    for of in all {
        if !sharings.contains(&of.sharing.as_str()) {
            sharings.push(&of.sharing);
        }
    }
    let picks: [(&str, Pick); 2] = [
        ("median", |slowdown| (slowdown.p50, slowdown.ci95.p50)),
        ("p99", |slowdown| (slowdown.p99, slowdown.ci95.p99)),
    ];
    let tables = sharings.iter().flat_map(|sharing| {
        let of_it: Vec<&Sensitivity> = all.iter().filter(|of| of.sharing == *sharing).collect();
        picks.map(|(statistic, pick)| {
            Block::Table(by_level(
                summary,
                &of_it,
                &format!("{statistic}, sharing {sharing}"),
                pick,
            ))
        })
    });
    (!all.is_empty()).then(|| Section {
        id: format!("{prefix}-sensitivity"),
        title: "Sensitivity".into(),
        note: "Slowdown under a load on one resource, level by level, relative to the turns alone. Each figure has its own 95 % \
               interval. A load on one resource also uses a little of the others."
            .to_owned(),
        blocks: tables.collect(),
    })
}

/// One row per tenant and resource, one column per level.
fn by_level(summary: &Summary, all: &[&Sensitivity], caption: &str, pick: Pick) -> Table {
    let mut levels: Vec<f64> = all
        .iter()
        .flat_map(|of| of.points.iter().map(|point| point.level))
        .collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut columns = vec!["tenant".to_owned(), "resource".to_owned()];
    columns.extend(levels.iter().map(|level| percent(*level)));
    let mut table = Table::new(caption, &columns);
    for of in all {
        let mut row = vec![named(summary, &of.tenant), cell(&of.resource)];
        row.extend(levels.iter().map(|level| {
            let point = of.points.iter().find(|point| point.level == *level);
            point.map_or_else(
                || cell(""),
                |point| {
                    let (slowdown, interval) = point.slowdown.as_ref().map_or((None, None), pick);
                    heat(slowdown, interval)
                },
            )
        }));
        table.row(row);
    }
    table
}

/// The effects of the inputs of two detectors on each of them.
pub(super) fn inputs(summary: &Summary, prefix: &str) -> Option<Section> {
    let contrasts = &summary.interference.crossed;
    let mut table = Table::new(
        "In the unit of the measure, relative to the first inputs of both",
        &[
            "tenant",
            "with",
            "measure",
            "sharing",
            "#base",
            "#own input",
            "#co-runner's",
            "#interaction",
        ],
    );
    for contrast in contrasts {
        let signed = |x: f64, interval| Digits::of_interval(interval, Digits::of).signed(x);
        let effect = |effect: &Effect| {
            cell(signed(effect.value, effect.ci95))
                .note(effect.ci95.map(|x| signed(x, effect.ci95)).join(" to "))
                .class(if effect.found { "strong" } else { "dim" })
        };
        let measure = match contrast.measure {
            "p50_ms" => "median, ms",
            "p99_ms" => "p99, ms",
            _ => "(p99 − p50) ÷ p50",
        };
        table.row(vec![
            named(summary, &contrast.tenant[0]).note(format!("→ {}", contrast.tenant[1])),
            cell(&contrast.with[0]).note(format!("→ {}", contrast.with[1])),
            cell(measure),
            cell(&contrast.sharing),
            cell(short(contrast.base)),
            effect(&contrast.own),
            effect(&contrast.co_runner),
            effect(&contrast.interaction),
        ]);
    }
    (!contrasts.is_empty()).then(|| Section {
        id: format!("{prefix}-inputs"),
        title: "Inputs".into(),
        note: "Change of the response time with the second input (→) of the tenant, and of its co-runner, each averaged over both \
               inputs of the other; the interaction is the additional change with both. Each has a 95 % interval; bold effects \
               are significant, all effects tested together. The pairs ran in turns."
            .to_owned(),
        blocks: vec![Block::Table(table)],
    })
}

fn named(summary: &Summary, name: &str) -> view::Cell {
    let number = summary.tenants.iter().position(|tenant| tenant.name == name);
    tenant_cell(name, number.unwrap_or_default())
}

/// One tenant at several rates.
pub(super) fn duty(summary: &Summary, prefix: &str) -> Option<Section> {
    let duty = summary.duty_cycle.as_ref()?;
    let unit = TimeUnit::for_millis(duty.steps.iter().filter_map(|step| step.response_ms.p50));
    let caption = format!("{}, {}; clocks are means", duty.tenant, unit.name());
    let mut table = Table::new(
        caption,
        &[
            "rate",
            "#idle",
            "#median",
            "#p99",
            "#frames",
            "#dropped",
            "#GPU clock",
            "#CPU clock",
        ],
    );
    for step in &duty.steps {
        let stats = &step.response_ms;
        let time = |value: Option<f64>, interval: Option<[f64; 2]>| {
            let bounds = interval.map_or(String::new(), |bounds| unit.show_interval(bounds));
            cell(or_unknown(value, |ms| unit.show(ms))).note(bounds)
        };
        let clock =
            |clock: Option<Clock>| cell(or_unknown(clock, |clock| format!("{:.0} MHz", clock.mean_mhz)));
        table.row(vec![
            cell(
                step.hz
                    .map_or_else(|| "closed loop".to_owned(), |hz| format!("{hz} Hz")),
            ),
            cell(or_unknown(step.idle_share, percent)),
            time(stats.p50, stats.ci95.p50),
            time(stats.p99, stats.ci95.p99),
            cell(stats.count.to_string()),
            cell(step.frames.dropped.to_string()),
            clock(step.gpu_clock),
            clock(step.cpu_clock),
        ]);
    }
    Some(Section {
        id: format!("{prefix}-duty"),
        title: "Duty cycle".into(),
        note: "One tenant at several rates, one after another: idle share, response time and clocks."
            .to_owned(),
        blocks: vec![Block::Table(table)],
    })
}

/// What became of the frames of each phase, if there are several.
pub(super) fn phases(summary: &Summary, prefix: &str) -> Option<Section> {
    if summary.phases.len() < 2 {
        return None;
    }
    let mut table = Table::new(
        "Frames released in the measured time of each phase, or of all its turns",
        &[
            "phase",
            "#turns",
            "tenant",
            "#offered",
            "#completed",
            "#dropped",
            "#missed",
            "#failed",
            "#late releases",
            "#measured",
        ],
    );
    for phase in &summary.phases {
        for part in &phase.tenants {
            let frames = &part.frames;
            let number = summary
                .tenants
                .iter()
                .position(|tenant| tenant.name == part.tenant);
            table.row(vec![
                cell(&phase.label).note(phase.sharing.clone().unwrap_or_default()),
                cell(phase.turns.map_or(String::new(), |turns| turns.to_string())),
                tenant_cell(&part.tenant, number.unwrap_or_default()),
                cell(frames.offered.to_string()),
                cell(frames.completed.to_string()),
                cell(frames.dropped.to_string()),
                cell(frames.missed.to_string()),
                cell((frames.failed + frames.failed_in_warmup).to_string()),
                cell(or_unknown(part.late_releases, |late| late.to_string())),
                cell(or_unknown(part.measured_s, |seconds| format!("{seconds:.1} s"))),
            ]);
        }
    }
    Some(Section {
        id: format!("{prefix}-phases"),
        title: "Phases".into(),
        note: "Frame counts of each phase. Comparisons between phases use only the time in which all tenants of a phase ran."
            .to_owned(),
        blocks: vec![Block::Table(table)],
    })
}
