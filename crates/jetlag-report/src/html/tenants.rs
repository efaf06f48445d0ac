//! The tenants of a run: at a glance, over time, by distribution, by stage, alone and together, their slowest frames
//! and their layers.

use super::charts::{mark, over_time, spread};
use super::view::{Block, Card, Cell, Chart, Glance, Key, Section, Table, cell, words};
use crate::analysis::summary::{Lack, SlowFrame, Summary, TenantSummary};
use crate::digits::range;
use crate::number::{
    TimeUnit, UNKNOWN, measured, or_unknown, percent, share_range, short, short_beside, tells_of_others,
};
use crate::text::nodes::{drivers, of_submission};
use crate::text::waterfall::{hides, sampled, sentence, synchronised};

/// Layers shown of a tenant; JSON has all.
const MOST_LAYERS: usize = 25;

fn unit_of(tenant: &TenantSummary) -> TimeUnit {
    TimeUnit::for_millis(tenant.response_ms.p50.or(tenant.response_ms.max).into_iter())
}

/// One unit for all tenants.
fn common_unit(summary: &Summary) -> TimeUnit {
    TimeUnit::for_millis(
        summary
            .tenants
            .iter()
            .filter_map(|t| t.response_ms.p50.or(t.response_ms.max)),
    )
}

/// Each tenant at a glance.
pub(super) fn cards(summary: &Summary, prefix: &str) -> Option<Section> {
    (!summary.tenants.is_empty()).then(|| Section {
        id: format!("{prefix}-tenants"),
        title: "Tenants".into(),
        note: "Response time, from release to result; 95 % interval below each figure.".to_owned(),
        blocks: vec![Block::Cards(
            summary
                .tenants
                .iter()
                .enumerate()
                .map(|(number, tenant)| card(number, tenant, summary.run.duration_s))
                .collect(),
        )],
    })
}

fn card(number: usize, tenant: &TenantSummary, seconds: f64) -> Card {
    let unit = unit_of(tenant);
    let stats = &tenant.response_ms;
    let time = |name, value: Option<f64>, interval: Option<[f64; 2]>, lack: Option<Lack>| Glance {
        name,
        value: or_unknown(value, |ms| unit.show_beside(ms, interval)),
        unit: value.map_or("", |_| unit.name()),
        note: match (interval, lack) {
            (Some(interval), _) => unit.show_interval(interval),
            (None, Some(lack)) => lack.in_words(value.is_some(), stats.count, seconds),
            (None, None) => String::new(),
        },
        alarm: false,
    };
    let plain = |name, value: Option<f64>, show: fn(f64) -> String, unit: &'static str| Glance {
        name,
        value: or_unknown(value, show),
        unit: value.map_or("", |_| unit),
        note: String::new(),
        alarm: false,
    };
    let mut figures = vec![
        time("median", stats.p50, stats.ci95.p50, stats.lacks.p50),
        time("p99", stats.p99, stats.ci95.p99, stats.lacks.p99),
        time("longest", stats.max, None, None),
    ];
    let promised = tenant.deadline_ms.is_some() || tenant.frames.missed > 0;
    figures.push(Glance {
        note: match tenant.deadline_ms {
            Some(ms) => {
                let within = tenant.miss_rate_ci95.filter(tells_of_others).map(share_range);
                let within = within.map_or_else(String::new, |range| format!("{range} of frames, "));
                format!("{within}deadline {} ms", mark(ms))
            }
            None => "no deadline".to_owned(),
        },
        alarm: tenant.frames.missed > 0,
        ..plain("missed", tenant.miss_rate.filter(|_| promised), percent, "")
    });
    figures.push(Glance {
        note: {
            let frames = &tenant.frames;
            let others = [
                (frames.dropped, "dropped"),
                (frames.failed, "failed"),
                (frames.failed_in_warmup, "failed in the warm-up"),
            ];
            let others = others.iter().filter(|(count, _)| *count > 0);
            others.fold(format!("{} frames", frames.completed), |note, (count, what)| {
                format!("{note}, {count} {what}")
            })
        },
        ..plain("completed", tenant.throughput_fps, short, "/s")
    });
    if let Some(batch) = tenant.batch.filter(|batch| *batch > 1) {
        figures.push(Glance {
            note: format!("{batch} a frame"),
            ..plain("items", tenant.throughput_items, short, "/s")
        });
    }
    if let Some(slowdown) = &tenant.slowdown {
        let (value, interval, note) = match slowdown.p99 {
            Some(p99) => (Some(p99), slowdown.ci95.p99, "of p99"),
            None => (slowdown.p50, slowdown.ci95.p50, "of the median"),
        };
        let bounds = interval.map_or(String::new(), |bounds| format!(", {}", range(bounds)));
        figures.push(Glance {
            name: "slowdown",
            value: or_unknown(value, |x| format!("×{}", short_beside(x, interval))),
            unit: "",
            note: format!("{note}{bounds}"),
            alarm: false,
        });
    }
    if let Some(energy) = &tenant.energy_mj_per_frame {
        figures.push(Glance {
            note: energy.above_idle.map_or(String::new(), |mj| {
                format!("{} above idle", measured(mj, energy.above_idle_ci95))
            }),
            value: measured(energy.total, energy.ci95),
            ..plain("energy per frame", Some(energy.total), short, "mJ")
        });
    }
    let detector = tenant
        .detector
        .as_deref()
        .map_or(String::new(), |name| format!("{name} on "));
    Card {
        colour: number % 8,
        name: tenant.name.clone(),
        what: format!("{detector}{}, {}", tenant.backend, tenant.arrival),
        figures,
    }
}

/// Response times over time.
pub(super) fn over_time(summary: &Summary, prefix: &str) -> Option<Section> {
    let plots = &summary.plots;
    let all = summary.tenants.iter().zip(&plots.tenants).enumerate();
    let charts: Vec<Chart> = all
        .filter_map(|(number, (tenant, plot))| {
            let unit = unit_of(tenant);
            let chart = over_time::chart(number, tenant, &plot.over_time, plot.axis, plots.length_s, unit)?;
            let scale = if plot.axis.logarithmic {
                ", logarithmic"
            } else {
                ""
            };
            Some(Chart {
                title: format!("{}, {}{scale}", tenant.name, unit.name()),
                keys: vec![Key::new(
                    number % 8,
                    "mean, and range from shortest to longest, per time slice",
                )],
                svg: chart.svg,
            })
        })
        .collect();
    (!charts.is_empty()).then(|| Section {
        id: format!("{prefix}-time"),
        title: "Response time over time".into(),
        note: "Every extreme is drawn, however long the run. Circles are the slowest frames, explained below by \
               their numbers."
            .to_owned(),
        blocks: charts.into_iter().map(|chart| Block::Charts(vec![chart])).collect(),
    })
}

/// The distribution of response times.
pub(super) fn spread(summary: &Summary, prefix: &str) -> Option<Section> {
    let all = summary.tenants.iter().zip(&summary.plots.tenants).enumerate();
    let blocks: Vec<Block> = all
        .filter_map(|(number, (tenant, plot))| {
            let spread = plot.spread.as_ref()?;
            let unit = unit_of(tenant);
            let scale = if spread.axis.logarithmic {
                ", logarithmic"
            } else {
                ""
            };
            let keys = || match spread.alone {
                Some(_) => vec![Key::new(number % 8, "together"), Key::new("other", "alone")],
                None => Vec::new(),
            };
            let chart = |title: String, svg: String| Chart {
                title,
                keys: keys(),
                svg,
            };
            let name = &tenant.name;
            let curve = spread::at_most(number, name, spread, tenant.deadline_ms, unit)?;
            let bars = spread::histogram(number, name, spread, tenant.deadline_ms, unit)?;
            Some(Block::Charts(vec![
                chart(format!("{name}: CDF, {}{scale}", unit.name()), curve.svg),
                chart(format!("{name}: histogram, {}{scale}", unit.name()), bars.svg),
            ]))
        })
        .collect();
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-spread"),
        title: "Distribution".into(),
        note: format!(
            "Left: CDF of the response time. Right: histogram.{}",
            match summary.tenants.iter().any(|tenant| tenant.deadline_ms.is_some()) {
                true => " The dashed line is the deadline.",
                false => "",
            }
        ),
        blocks,
    })
}

/// Where the mean response time goes.
pub(super) fn stages(summary: &Summary, prefix: &str) -> Option<Section> {
    let unit = common_unit(summary);
    let mut blocks = Vec::new();
    for (number, tenant) in summary.tenants.iter().enumerate() {
        if tenant.waterfall.parts.len() > 1 {
            blocks.push(Block::Table(waterfall(number, tenant, unit)));
            blocks.push(Block::Text(words(&sentence(tenant, unit))));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-stages"),
        title: "Where the time goes".into(),
        note: format!(
            "From release to result, part by part, in {}. Means add up to the mean response time.",
            unit.name()
        ),
        blocks,
    })
}

fn waterfall(number: usize, tenant: &TenantSummary, unit: TimeUnit) -> Table {
    let slowest = tenant.waterfall.slowest.is_some();
    let mut columns = vec!["part", "#mean", "#share", "#p99"];
    if slowest {
        columns.push("#slowest 1 %");
    }
    columns.push("position in the response");
    let mut table = Table::new(tenant.name.clone(), &columns);
    let mut from = 0.0;
    for part in tenant.waterfall.parts.iter().filter(|part| !hides(unit, part)) {
        let start = from;
        from += part.share;
        let time = |ms: Option<f64>| cell(or_unknown(ms, |ms| unit.show(ms)));
        let mut row = vec![
            cell(part.part.clone()),
            time(Some(part.mean_ms)),
            cell(percent(part.share)),
            time(part.p99_ms),
        ];
        if slowest {
            row.push(time(part.slowest_mean_ms));
        }
        row.push(Cell::bar(start, part.share, number));
        table.row(row);
    }
    let total = |ms: Option<f64>| cell(or_unknown(ms, |ms| unit.show(ms))).class("dim");
    let mut row = vec![
        cell("= response").class("dim"),
        total(tenant.response_ms.mean),
        cell(""),
        total(tenant.response_ms.p99),
    ];
    if slowest {
        row.push(total(
            tenant.waterfall.slowest.as_ref().map(|slowest| slowest.mean_ms),
        ));
    }
    row.push(cell(""));
    table.row(row);
    if let Some(age) = &tenant.age_ms {
        let mut row = vec![
            cell("age of the result, since its capture").class("dim"),
            total(age.mean),
            cell(""),
            total(age.p99),
        ];
        row.extend(slowest.then(|| cell("")));
        row.push(cell(sampled(tenant).unwrap_or_default()).class("dim"));
        table.row(row);
    }
    if let Some(sets) = &tenant.synchronised {
        let skew = sets.skew_ms.as_ref();
        let mut row = vec![
            cell("skew of the sensors in a set").class("dim"),
            total(skew.and_then(|skew| skew.mean)),
            cell(""),
            total(skew.and_then(|skew| skew.p99)),
        ];
        row.extend(slowest.then(|| cell("")));
        row.push(cell(synchronised(sets)).class("dim"));
        table.row(row);
    }
    table
}

/// Why the slowest frames were slow.
pub(super) fn slowest(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut blocks = Vec::new();
    for tenant in &summary.tenants {
        let shown: Vec<&SlowFrame> = tenant.slowest.iter().filter(|slow| slow.beyond_spread).collect();
        if tenant.slowest.is_empty() {
            continue;
        }
        if shown.is_empty() {
            blocks.push(Block::Text(words(&format!(
                "{}: no frame is outside the usual spread.",
                tenant.name
            ))));
            continue;
        }
        blocks.push(Block::Table(slow_frames(tenant, &shown)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-slowest"),
        title: "Slowest frames".into(),
        note: "Frames beyond p50 + 4 (p90 − p50), and what was different when they started. A circumstance is named as \
               the likely cause only if it occurs with slow frames more often than by chance."
            .to_owned(),
        blocks,
    })
}

fn slow_frames(tenant: &TenantSummary, shown: &[&SlowFrame]) -> Table {
    let unit = unit_of(tenant);
    let with_clock = shown.iter().any(|slow| slow.clock_mhz.is_some());
    let with_heat = shown.iter().any(|slow| slow.temperature_c.is_some());
    let mut columns = vec![
        "#no.",
        "#at",
        "#response",
        "what grew",
        "likely cause",
        "others in service",
    ];
    if with_clock {
        columns.push("#clock");
    }
    if with_heat {
        columns.push("#temperature");
    }
    let mut table = Table::new(format!("{}, {}", tenant.name, unit.name()), &columns);
    for (number, slow) in (1..).zip(shown) {
        let more = match slow.frames {
            1 => format!("frame {}", slow.sequence),
            frames => format!("frame {} and {} more", slow.sequence, frames - 1),
        };
        let others: Vec<String> = slow
            .co_runners
            .iter()
            .map(|other| format!("{} {}", other.tenant, percent(other.active)))
            .collect();
        let mut row = vec![
            cell(number.to_string()),
            cell(format!("{} s", short(slow.at_s))),
            cell(unit.show(slow.response_ms)).note(more),
            cell(slow.grew.name).note(format!(
                "{}, usually {}",
                unit.show(slow.grew.ms),
                unit.show(slow.grew.usual_ms)
            )),
            likely_cause(slow),
            cell(if others.is_empty() {
                UNKNOWN.to_owned()
            } else {
                others.join(", ")
            }),
        ];
        if with_clock {
            row.push(cell(or_unknown(slow.clock_mhz, |mhz| format!("{mhz:.0} MHz"))));
        }
        if with_heat {
            row.push(cell(or_unknown(slow.temperature_c, |c| format!("{c:.0} °C"))));
        }
        table.row(row);
    }
    table
}

/// The cause in a word or two, and its sentence.
fn likely_cause(slow: &SlowFrame) -> Cell {
    let (cause, class) = match slow.cause {
        Some("late-release") => ("late release", "wide strong"),
        Some("backlog") => ("backlog", "wide strong"),
        Some("waited") => ("waited for another frame", "wide strong"),
        Some("throttled") => ("throttled", "wide strong"),
        Some("low-clock") => ("lower clock", "wide strong"),
        Some("larger-input") => ("larger input", "wide strong"),
        Some("co-runner") => ("a co-runner", "wide strong"),
        Some("locked") => ("not identifiable: releases are locked", "wide dim"),
        Some(other) => (other, "wide strong"),
        None => ("none found", "wide dim"),
    };
    cell(cause).note(&slow.explanation).class(class)
}

/// The time of each layer; nothing where none was profiled.
pub(super) fn layers(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut blocks = Vec::new();
    for (number, tenant) in summary
        .tenants
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.nodes.is_empty())
    {
        let unit = TimeUnit::for_millis(tenant.nodes.iter().map(|node| node.mean_ms));
        let mut operators = Table::new(
            format!("{} by operator, {} per frame", tenant.name, unit.name()),
            &["operator", "#layers", "#mean", "#share", ""],
        );
        for operator in &tenant.operators {
            operators.row(vec![
                cell(match operator.operator.as_str() {
                    "" => UNKNOWN,
                    operator => operator,
                }),
                cell(operator.layers.to_string()),
                cell(unit.show(operator.mean_ms)),
                cell(percent(operator.share)),
                Cell::bar(0.0, operator.share, number),
            ]);
        }
        blocks.push(Block::Table(operators));
        let mut layers = Table::new(
            format!("{} by layer, {} per frame", tenant.name, unit.name()),
            &[
                "layer",
                "operator",
                "#mean",
                "#max",
                "#share",
                "#correlation",
                "#of variance",
            ],
        );
        for node in tenant.nodes.iter().take(MOST_LAYERS) {
            let with = node.response;
            let interval = with.and_then(|with| with.ci95);
            let class = if with.is_some_and(|with| with.stands_out) {
                "strong"
            } else {
                ""
            };
            layers.row(vec![
                cell(if node.name.is_empty() { UNKNOWN } else { &node.name }).class("code"),
                cell(&node.operator),
                cell(unit.show(node.mean_ms)),
                cell(unit.show(node.max_ms)),
                cell(percent(node.share)),
                cell(or_unknown(with, |with| format!("{:.2}", with.correlation)))
                    .note(interval.map_or(String::new(), |[low, high]| format!("{low:.2} to {high:.2}"))),
                cell(or_unknown(with, |with| percent(with.variance_share))).class(class),
            ]);
        }
        blocks.push(Block::Table(layers));
        for said in [of_submission(tenant), drivers(tenant)].into_iter().flatten() {
            blocks.push(Block::Text(words(&format!("{}: {said}", tenant.name))));
        }
        if let Some(rest) = tenant
            .nodes
            .len()
            .checked_sub(MOST_LAYERS)
            .filter(|rest| *rest > 0)
        {
            blocks.push(Block::Text(words(&format!(
                "{rest} more layers are in the JSON output (`--format json`)."
            ))));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-layers"),
        title: "Layers".into(),
        note: "Layers were timed one by one, which makes frames slower. Shares are of the sum over all layers. The last \
               columns are the correlation of the layer's time with the frame's response time, with its 95 % interval, and the \
               layer's share of the response time's variance."
            .to_owned(),
        blocks,
    })
}
