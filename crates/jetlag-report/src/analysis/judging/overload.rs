//! Whether frames come faster than a tenant serves them, and why.

use jetlag_stats::normal::BELOW_95;

use super::case::Case;
use crate::analysis::catalogue::{Limit, Overloaded, Pressure, ServingLimit};
use crate::analysis::gathering::backlog::Backlog;
use crate::analysis::summary::Stage;
use crate::analysis::topics::latency::served::{drops_matter, line_at_end};
use crate::scenario::Arrival;

/// Demand on a serial tenant below which drops come from stalls and not from the rate.
const KEEPS_UP: f64 = 0.8;
/// Completed frames from which a demand can be distinguished from chance.
const DEMAND_FRAMES: u64 = 11;
/// `among_others`: it is executed by processors that other programs used.
pub(super) fn overload(case: &Case<'_>, among_others: bool) -> Option<Limit> {
    let counts = case.summary.frames;
    let demand = demand(case);
    let in_flight = case
        .scenario
        .depth
        .saturating_mul(case.scenario.batch.size.max(1));
    let waiting = counts.unfinished.saturating_add(counts.overdue);
    let shown_by = if drops_matter(&counts) {
        Overloaded::Dropped {
            dropped: counts.dropped,
            offered: counts.offered,
        }
    } else if line_at_end(&counts, in_flight) && !by_chance(case).explains(waiting) {
        Overloaded::Line { waiting }
    } else if demand.is_some_and(|demand| demand.surely_too_much) {
        Overloaded::Demand
    } else {
        return None;
    };
    let cause = match demand {
        // What its work would take without them is not known.
        _ if among_others => Pressure::OtherPrograms,
        None => Pressure::Unknown,
        Some(demand) if demand.share < KEEPS_UP => Pressure::Stalls,
        // A line that neither the rate nor chance explains.
        Some(demand) if demand.share < 1.0 && matches!(shown_by, Overloaded::Line { .. }) => Pressure::Stalls,
        Some(_) => too_long(case).map_or(Pressure::Service, |(stages, share)| Pressure::Stages {
            stages,
            share,
        }),
    };
    Some(case.serving(ServingLimit::Overload {
        shown_by,
        overload: case.scenario.overload,
        demand: demand.map(|demand| demand.share),
        cause,
    }))
}

/// The line that chance may make by the end of the measurement.
fn by_chance(case: &Case<'_>) -> Backlog {
    let counts = case.summary.frames;
    let frames = counts.offered.saturating_add(counts.unfinished);
    let error = service(case).map_or(0.0, |service| {
        service.error / service.mean_ms.max(f64::MIN_POSITIVE)
    });
    let mut backlog = Backlog::default();
    // From the error of the mean, which knows that slow frames come in rows.
    backlog.add(frames, &case.scenario.arrival, (frames as f64 * error).powi(2));
    backlog
}

/// The load that a serial tenant's frames put on it.
#[derive(Clone, Copy)]
struct Demand {
    /// Utilisation, as a share of its time: rate × mean service time.
    share: f64,
    /// Whether it is above one with one-sided 95 % confidence.
    surely_too_much: bool,
}

/// What a frame costs.
#[derive(Clone, Copy)]
struct Service {
    mean_ms: f64,
    /// Standard error of the mean, ms.
    error: f64,
}

/// Service times of single frames, and the work of those that are inferred together.
fn service(case: &Case<'_>) -> Option<Service> {
    let service = &case.summary.service_ms;
    // From service times and not from response times: the response times of a growing queue are strongly
    // autocorrelated.
    let worth = case.facts.service_worth.max(1) as f64;
    if let Some(work) = case.facts.work {
        let repeats = (worth / service.count.max(1) as f64).min(1.0);
        return Some(Service {
            mean_ms: work.mean_ms,
            error: work.mean_ms * work.cv / (work.batches * repeats).max(1.0).sqrt(),
        });
    }
    Some(Service {
        mean_ms: service.mean.value?,
        error: service.sd.unwrap_or_default() / worth.sqrt(),
    })
}

/// The demand of a serial tenant. Where stages overlap, service times overlap too, and the product means nothing.
fn demand(case: &Case<'_>) -> Option<Demand> {
    let service = service(case).filter(|_| case.scenario.depth == 1)?;
    let rate = rate(case)?;
    Some(Demand {
        share: rate * service.mean_ms / 1e3,
        surely_too_much: case.summary.service_ms.count >= DEMAND_FRAMES
            && rate * (service.mean_ms - BELOW_95 * service.error) / 1e3 > 1.0,
    })
}

/// Frames per second: by the scenario, else as they arrived.
fn rate(case: &Case<'_>) -> Option<f64> {
    let seconds = case.facts.measured.as_secs_f64();
    match case.scenario.arrival {
        Arrival::Closed => None,
        Arrival::Periodic { hz, .. } | Arrival::Poisson { hz } | Arrival::Sampled { hz, .. } => Some(hz),
        Arrival::Replay { .. } | Arrival::Live => {
            let counts = case.summary.frames;
            (seconds > 0.0).then(|| (counts.offered + counts.unfinished) as f64 / seconds)
        }
    }
}

/// The stages that one thread or stream does for each frame, if these alone take a tenant's whole time, and their
/// share of it. At any depth of the ring, a thread or stream works on one frame at a time.
fn too_long(case: &Case<'_>) -> Option<(Vec<Stage>, f64)> {
    const STEPS: [&[Stage]; 3] = [
        &[Stage::Acquire, Stage::Decode, Stage::Preprocess],
        &[Stage::Compute],
        &[Stage::Postprocess],
    ];
    let rate = rate(case)?;
    // An inference of several frames is done once for all of them.
    let items = case.facts.work.map_or(1.0, |work| f64::from(work.items));
    let mean = |stage: Stage| {
        let known = &case.summary.stages_ms;
        let mean = known
            .iter()
            .find(|(name, _)| *name == stage.name())?
            .1
            .mean
            .value?;
        Some(if stage == Stage::Compute {
            mean / items
        } else {
            mean
        })
    };
    let steps = STEPS.iter().map(|stages| {
        let known = stages.iter().filter_map(|&stage| Some((stage, mean(stage)?)));
        let (stages, ms): (Vec<Stage>, Vec<f64>) = known.unzip();
        (stages, rate * ms.iter().sum::<f64>() / 1e3)
    });
    steps
        .filter(|(_, share)| *share >= 1.0)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::FrameCounts;

    #[test]
    fn a_line_at_the_end_is_more_than_two_for_each_in_flight_and_two_and_more_than_one_in_a_hundred() {
        let line = |unfinished: u64, overdue: u64, offered: u64, depth: usize| {
            let counts = FrameCounts {
                unfinished,
                overdue,
                offered,
                ..FrameCounts::default()
            };
            line_at_end(&counts, depth)
        };
        assert!(!line(4, 0, 100, 1) && line(5, 0, 100, 1) && line(3, 2, 100, 1));
        assert!(!line(6, 0, 100, 2) && line(7, 0, 100, 2));
        assert!(!line(2, 0, 20, 1), "a tenth, and few");
        assert!(!line(21, 0, 2_100, 1), "one in a hundred");
        assert!(line(22, 0, 2_100, 1));
    }
}
