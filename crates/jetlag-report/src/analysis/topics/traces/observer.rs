//! What tracing changed: the frames of a traced phase beside those of the same tenants untraced.
//!
//! The counterpart of a traced phase is the untraced one with the same tenants at the same rates, sharing the GPU in the same
//! way: the measurement, where that is such a one. Quantiles are compared as [`crate::analysis::judging::compare`] compares two runs, each with
//! its own 95 % interval.

use jetlag_stats::quantile::Quantile;

use crate::analysis::catalogue::{Limit, TraceLimit};
use crate::analysis::gathering::dependence::about;
use crate::analysis::gathering::effect::by_run::of_rates;
use crate::analysis::gathering::effect::{Unknown, because, of_quantile};
use crate::analysis::gathering::responses::Responses;
use crate::analysis::gathering::traced::{Traced, TracedPhase};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::kernels::{KernelPhase, Kernels};
use crate::analysis::summary::observer::{
    Observed, ObservedFigure, ObservedNeeds, ObservedPhase, ObservedTenant, Observer,
};
use crate::analysis::topics::interference::{Cell, Phases};
use crate::record::{self, FrameRecord, Phase, PhaseSpec};
use crate::scenario::Scenario;
use crate::units::Stamp;

/// Change of the median response time above which a traced phase counts as perturbed.
const LIMIT: f64 = 0.03;
/// The code of the run's own finding that nothing could be traced.
const NOT_TRACED: &str = "not-traced";
/// Confidence of each interval.
const CONFIDENCE: f64 = 0.95;
/// Stretches of the measured time whose rates are compared.
const BLOCKS: usize = 10;

/// The traced phases beside untraced ones; none without a traced phase. Marks the kernels of those that tracing changed.
pub(in crate::analysis) fn summarize(
    traced: &Traced,
    kernels: &mut Option<Kernels>,
    scenario: &Scenario,
    phases: &Phases,
) -> Option<Observer> {
    let kernels = kernels.as_mut()?;
    let observed = traced
        .phases
        .iter()
        .zip(&mut kernels.phases)
        .map(|(phase, kernels)| {
            let observed = of_phase(traced, phase, &kernels.label, scenario, phases);
            kernels.perturbed = perturbed(&observed.tenants);
            observed
        });
    Some(Observer {
        limit: LIMIT,
        phases: observed.collect(),
    })
}

/// Whether any tenant was perturbed; none if it can be told of neither any nor all.
fn perturbed(tenants: &[ObservedTenant]) -> Option<bool> {
    if tenants.iter().any(|tenant| tenant.verdict == Observed::Perturbed) {
        return Some(true);
    }
    let all = tenants
        .iter()
        .all(|tenant| tenant.verdict == Observed::Unperturbed);
    (all && !tenants.is_empty()).then_some(false)
}

fn of_phase(
    traced: &Traced,
    phase: &TracedPhase,
    label: &str,
    scenario: &Scenario,
    phases: &Phases,
) -> ObservedPhase {
    // Where the measurement itself was traced, nothing untraced is beside it.
    let is_measurement = phase.spec.phase == Phase::Together;
    let counterpart = (!is_measurement)
        .then(|| counterpart(&phase.spec, phases.cells()))
        .flatten();
    let frames = traced.measured(phase);
    let of_tenant = |&tenant: &u16| {
        let own: Vec<&FrameRecord> = frames
            .iter()
            .copied()
            .filter(|frame| frame.tenant == tenant)
            .collect();
        let sides = Sides {
            untraced: counterpart.map(|cell| phases.sample_of(cell, tenant)),
            submission: counterpart.map_or(&[], |cell| phases.submission(cell.spec.phase, tenant)),
            before: counterpart.map_or_else(Vec::new, |cell| {
                let shared = cell.phases.iter();
                shared
                    .filter_map(|&phase| phases.shared_in(phase, &cell.spec.members))
                    .collect()
            }),
            traced: own,
            after: traced.shared(phase.spec.phase),
        };
        let name = scenario.tenants.get(usize::from(tenant))?.name.clone();
        Some(sides.judge(name))
    };
    ObservedPhase {
        label: label.to_owned(),
        untraced: counterpart.map(|cell| match cell.spec.label.is_empty() {
            true => "the measurement".to_owned(),
            false => cell.spec.label.clone(),
        }),
        tenants: phase.spec.members.iter().filter_map(of_tenant).collect(),
    }
}

/// The measurement, if it is a counterpart, else the first phase, or the turns, that are.
fn counterpart<'a>(traced: &PhaseSpec, cells: &'a [Cell]) -> Option<&'a Cell> {
    let same = |cell: &&Cell| {
        let spec = &cell.spec;
        // The measurement has every tenant's own rate, also as a step of a duty cycle.
        let rates = spec.rate == traced.rate || (spec.phase == Phase::Together && traced.rate.is_none());
        spec.members == traced.members && spec.sharing == traced.sharing && rates
    };
    let mut found = cells.iter().filter(same);
    found
        .clone()
        .find(|cell| cell.spec.phase == Phase::Together)
        .or_else(|| found.next())
}

/// One tenant's frames untraced and traced.
struct Sides<'a> {
    untraced: Option<Option<&'a Responses>>,
    submission: &'a [i64],
    /// The measured time of the untraced phase, or of each of its turns.
    before: Vec<(Stamp, Stamp)>,
    traced: Vec<&'a FrameRecord>,
    after: Option<(Stamp, Stamp)>,
}

impl Sides<'_> {
    fn judge(&self, tenant: String) -> ObservedTenant {
        let before = self.untraced.flatten();
        let in_order = before.map_or(&[][..], |sample| &sample.in_order);
        let responses: Vec<i64> = self.traced.iter().map(|frame| frame.response().0).collect();
        let submissions: Vec<i64> = self
            .traced
            .iter()
            .filter_map(|frame| Some(frame.submission?.took.0))
            .collect();
        let p50 = quantile("response.p50", Quantile::P50, in_order, &responses);
        let traced_s = self.after.map(|(from, to)| (to - from).as_secs_f64());
        let mut figures = vec![
            quantile("response.p99", Quantile::P99, in_order, &responses),
            self.throughput(before),
        ];
        if !(self.submission.is_empty() && submissions.is_empty()) {
            figures.push(quantile(
                "submission.p50",
                Quantile::P50,
                self.submission,
                &submissions,
            ));
        }
        let verdict = verdict(&p50);
        let needs = p50
            .change
            .zip(p50.ci95)
            .filter(|_| verdict == Observed::Undecided);
        let needs = needs.and_then(|(change, ci95)| {
            needed(
                change,
                ci95,
                [in_order.len(), responses.len()].map(|frames| frames as u64),
            )
        });
        let per_frame = traced_s.map(|seconds| seconds / responses.len().max(1) as f64);
        figures.insert(0, p50);
        let mut tenant = ObservedTenant {
            tenant,
            verdict,
            figures,
            needs: needs.map(|needs| ObservedNeeds {
                traced_s: per_frame.map(|per_frame| six_decimals(per_frame * needs.traced_frames as f64)),
                ..needs
            }),
        };
        if self.untraced.is_none() {
            for figure in &mut tenant.figures {
                figure.reason = Some("no untraced phase has the same tenants, rates and sharing".to_owned());
            }
        }
        tenant
    }

    /// Completed frames per second. Its interval is that of the rates of ten stretches of each phase, or of each of its turns, by
    /// Welch's t.
    fn throughput(&self, before: Option<&Responses>) -> ObservedFigure {
        let rate = |count: u64, windows: &[(Stamp, Stamp)]| {
            let seconds: f64 = windows.iter().map(|(from, to)| (*to - *from).as_secs_f64()).sum();
            (seconds > 0.0).then(|| six_decimals(count as f64 / seconds))
        };
        let after = self.after.as_slice();
        let untraced = rate(
            before.map_or(0, |sample| sample.distribution.count()),
            &self.before,
        );
        let traced = rate(self.traced.len() as u64, after);
        // Of a very long phase only parts are kept in order.
        let whole = before.filter(|sample| sample.in_order.len() as u64 == sample.distribution.count());
        let stretches = |finished: Vec<Stamp>, windows: &[(Stamp, Stamp)]| match windows {
            [] => None,
            [window] => Some(blocks(&finished, *window, BLOCKS)),
            turns => Some(
                turns
                    .iter()
                    .flat_map(|turn| blocks(&finished, *turn, 1))
                    .collect(),
            ),
        };
        let compared = whole
            .and_then(|sample| stretches(sample.finished().collect(), &self.before))
            .zip(stretches(
                self.traced.iter().map(|frame| frame.finished).collect(),
                after,
            ))
            .and_then(|(before, after)| of_rates([&before, &after], CONFIDENCE));
        // Stretches that are all alike have no spread, and an interval without width would promise what nobody knows.
        let ci95 = compared
            .map(|(_, ci95)| ci95.map(six_decimals))
            .filter(|[low, high]| low < high);
        let reason = match (compared, ci95) {
            (None, _) => Some("it needs completed frames in both phases, all of them in order"),
            (Some(_), None) => Some(
                "every tenth of a phase has the same number of frames, as the arrivals set it, so nothing is known of its spread; \
                 an interval needs dropped frames or a closed loop",
            ),
            _ => None,
        };
        ObservedFigure {
            figure: "throughput",
            unit: "fps",
            untraced,
            traced,
            change: compared.map(|(change, _)| six_decimals(change)),
            ci95,
            reason: reason.map(str::to_owned),
        }
    }
}

/// Frames per second in each of so many stretches of a window.
fn blocks(finished: &[Stamp], (from, to): (Stamp, Stamp), stretches: usize) -> Vec<f64> {
    let length = ((to - from).0 as f64 / stretches as f64).max(1.0);
    let mut counts = vec![0.0; stretches];
    for at in finished.iter().filter(|at| **at >= from) {
        let place = ((*at - from).0 as f64 / length) as usize;
        if let Some(count) = counts.get_mut(place) {
            *count += 1e9 / length;
        }
    }
    counts
}

fn quantile(figure: &'static str, quantile: Quantile, untraced: &[i64], traced: &[i64]) -> ObservedFigure {
    let effect = of_quantile(quantile, [&[untraced.to_vec()], &[traced.to_vec()]], CONFIDENCE);
    // A side without enough frames for an interval may still have a median to show.
    let shown = |values: &[i64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let count = sorted.len() as u64;
        let rank = quantile.supported_by(count).then(|| quantile.rank(count))?;
        let ns = sorted.get((rank as usize).checked_sub(1)?)?;
        Some(*ns as f64 / 1e6)
    };
    let known = effect.as_ref().ok();
    ObservedFigure {
        figure,
        unit: "ms",
        untraced: shown(untraced),
        traced: shown(traced),
        change: known.map(|effect| six_decimals(effect.change)),
        ci95: known.map(|effect| effect.interval.map(six_decimals)),
        reason: effect.err().map(|why| reason(why, untraced.len(), traced.len())),
    }
}

fn reason(why: Unknown, untraced: usize, traced: usize) -> String {
    because(why, [untraced, traced])
}

fn verdict(p50: &ObservedFigure) -> Observed {
    match (p50.change, p50.ci95) {
        (Some(change), Some([low, high])) if change.abs() > LIMIT && (low > 0.0 || high < 0.0) => {
            Observed::Perturbed
        }
        (Some(_), Some([low, high])) if low >= -LIMIT && high <= LIMIT => Observed::Unperturbed,
        _ => Observed::Undecided,
    }
}

/// Frames beyond which nobody traces.
const MOST_FRAMES: f64 = 1e7;

/// How many frames would decide a verdict that is undecided, if the change stays what it is; none if more than anybody traces.
///
/// The interval's half width is taken as s × √(1 ÷ a + 1 ÷ b) with a untraced and b traced frames, and must become what is left to
/// the limit, or, beyond it, the change itself. Where no number of traced frames does that, both phases must be as long.
fn needed(change: f64, [low, high]: [f64; 2], [untraced, traced]: [u64; 2]) -> Option<ObservedNeeds> {
    let half = (change - low).max(high - change);
    let wanted = match change.abs() {
        size if size < LIMIT => LIMIT - size,
        size => size,
    };
    let inverse = |frames: u64| 1.0 / frames.max(1) as f64;
    let spread = half * half / (inverse(untraced) + inverse(traced));
    let left = wanted * wanted / spread - inverse(untraced);
    let alone = left.recip();
    let (frames, both) = match left > 0.0 && alone <= MOST_FRAMES {
        true => (alone, false),
        false => (2.0 * spread / (wanted * wanted), true),
    };
    (frames.is_finite() && frames <= MOST_FRAMES).then(|| ObservedNeeds {
        traced_frames: about(frames),
        untraced_frames: both.then(|| about(frames)),
        traced_s: None,
    })
}

/// What limits the figures of the traced phases.
pub(in crate::analysis) fn limits(
    kernels: Option<&Kernels>,
    observer: Option<&Observer>,
    traced: &Traced,
    recorded: &[record::Finding],
) -> Vec<Limit> {
    let mut found = Vec::new();
    for phase in observer.map_or(&[][..], |observer| &observer.phases) {
        for tenant in &phase.tenants {
            let p50 = tenant
                .figures
                .first()
                .filter(|_| tenant.verdict == Observed::Perturbed);
            let known = p50.and_then(|p50| Some((p50.change?, p50.ci95?, p50.untraced?, p50.traced?)));
            found.extend(known.map(|(change, ci95, untraced_ms, traced_ms)| {
                Limit::Trace(TraceLimit::Perturbed {
                    tenant: tenant.tenant.clone(),
                    phase: phase.label.clone(),
                    change,
                    ci95,
                    medians_ms: [untraced_ms, traced_ms],
                })
            }));
        }
    }
    for phase in kernels.map_or(&[][..], |kernels| &kernels.phases) {
        let ends = traced.ends.iter().filter(|end| end.phase == phase.phase);
        let lost_frames = ends.map(|end| end.lost_records).sum();
        // Where nothing could be traced, the run said so itself.
        let is_told = recorded.iter().any(|finding| finding.code == NOT_TRACED);
        found.extend(incomplete(phase, is_told, traced.left_out, lost_frames));
    }
    found
}

fn incomplete(phase: &KernelPhase, is_told: bool, left_out: u64, lost_frames: u64) -> Option<Limit> {
    let sum =
        |of: fn(&crate::analysis::summary::kernels::TraceSummary) -> u64| phase.traces.iter().map(of).sum();
    let limit = TraceLimit::Incomplete {
        phase: phase.label.clone(),
        untold: phase.traces.is_empty() && !is_told,
        activities: sum(|trace| trace.activities),
        dropped: sum(|trace| trace.dropped),
        lost_stamps: sum(|trace| trace.lost_stamps),
        not_kept: sum(|trace| trace.not_kept),
        left_out,
        lost_frames,
        notes: phase
            .traces
            .iter()
            .flat_map(|trace| trace.notes.iter().cloned())
            .collect(),
    };
    limit.limits_anything().then_some(Limit::Trace(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_would_decide_come_from_the_interval_s_width() {
        // ±4 % of 60 traced frames beside 6 000: half of that takes four times as many, and a little more for the others' part.
        let found = needed(0.01, [-0.03, 0.05], [6_000, 60]).unwrap();
        assert_eq!((found.traced_frames, found.untraced_frames), (250, None));
        // Beyond the limit the interval must leave out no change at all.
        let found = needed(0.05, [-0.05, 0.15], [6_000, 60]).unwrap();
        assert_eq!((found.traced_frames, found.untraced_frames), (250, None));
        // What is left is less than the untraced frames alone leave open.
        let found = needed(0.0, [-0.0898, 0.0898], [60, 60]).unwrap();
        assert_eq!((found.traced_frames, found.untraced_frames), (540, Some(540)));
        assert_eq!(
            needed(0.03 - 1e-9, [-0.05, 0.11], [60, 60]),
            None,
            "nobody traces that long"
        );
    }
}
