//! Each tenant at a glance: what a page has in place of the table of response times.

use super::charts::mark;
use super::view::{Block, Card, Glance};
use crate::analysis::summary::{Estimate, Summary, TenantSummary};
use crate::digits::range;
use crate::number::{measured, or_unknown, percent, share_range, short, short_beside, tells_of_others};
use crate::sections::answer::unit_of;

/// A card for each tenant.
pub(super) fn cards(summary: &Summary) -> Block {
    let tenants = summary.tenants.iter().enumerate();
    Block::Cards(
        tenants
            .map(|(number, tenant)| card(number, tenant, summary.seconds_of(&tenant.name)))
            .collect(),
    )
}

fn card(number: usize, tenant: &TenantSummary, seconds: Option<f64>) -> Card {
    let unit = unit_of(tenant);
    let stats = &tenant.response_ms;
    let time = |name, of: Estimate| Glance {
        name,
        value: or_unknown(of.value, |ms| unit.show_beside(ms, of.ci95)),
        unit: of.value.map_or("", |_| unit.name()),
        note: match (of.ci95, of.lack) {
            (Some(interval), _) => unit.show_interval(interval),
            (None, Some(lack)) => lack.in_words(of.value.is_some(), stats.count, seconds),
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
        time("median", stats.p50),
        time("p99", stats.p99),
        time("longest", stats.max.map(Estimate::of_run).unwrap_or_default()),
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
    if let Some(slowdown) = &tenant.slowdown {
        let (ratio, note) = match slowdown.p99.value {
            Some(_) => (slowdown.p99, "of p99"),
            None => (slowdown.p50, "of the median"),
        };
        let bounds = ratio
            .ci95
            .map_or(String::new(), |bounds| format!(", {}", range(bounds)));
        figures.push(Glance {
            name: "slowdown",
            value: or_unknown(ratio.value, |x| format!("×{}", short_beside(x, ratio.ci95))),
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
