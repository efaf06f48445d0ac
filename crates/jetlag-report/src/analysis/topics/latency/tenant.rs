//! Collects one tenant's frames (and nodes, where they were timed) and computes its part of the summary.

use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::batch_work::{BatchWork, Work};
use crate::analysis::gathering::missed::MissRate;
use crate::analysis::gathering::plot::{self, Drawn, Slices};
use crate::analysis::gathering::responses::Responses;
use crate::analysis::gathering::series::{Distribution, Series};
use crate::analysis::gathering::stamps::Impossible;
use crate::analysis::gathering::timeline::{Misses, Timeline};
use crate::analysis::gathering::track::Tracks;
use crate::analysis::gathering::waiting::Line;
use crate::analysis::stats::{interquartile_range, jitter, quotient, six_decimals, stats};
use crate::analysis::summary::{FrameCounts, OutputSummary, Stats, Synchronised, TenantSummary};
use crate::analysis::topics::inputs::cameras::ByCamera;
use crate::analysis::topics::inputs::input_effect::{self, Fed};
use crate::analysis::topics::latency::nodes;
use crate::analysis::topics::latency::predictability::{of_stage, predictability};
use crate::analysis::topics::latency::steady;
use crate::analysis::topics::latency::submission;
use crate::analysis::topics::latency::wander;
use crate::analysis::topics::latency::waterfall;
use crate::record::{
    APPLICATION_BACKEND, Device, FrameRecord, NodeRecord, Outcome, OutputRecord, Phase, PhaseRecord,
    RangeRecord, Stage, TenantManifest,
};
use crate::scenario::{Arrival, Tenant};
use crate::units::{Nanos, Stamp};

/// What is collected of one tenant from its records.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Gathered {
    frames: FrameCounts,
    in_warmup: u64,
    detections: u64,
    response: Series,
    service: Series,
    work: BatchWork,
    lateness: Series,
    age: Series,
    skew: Series,
    /// Sets of sensors that stayed incomplete.
    incomplete: u64,
    stages: [Series; 9],
    late_releases: u64,
    first_released: Option<Stamp>,
    last_stamp: Option<Stamp>,
    together: Option<PhaseRecord>,
    nodes: Vec<NodeRecord>,
    outputs: Vec<OutputSummary>,
    /// Response, service, lateness, the stages, submission, age, size and index of the input, skew, camera and the first frame of its
    /// batch, in this order.
    timeline: Timeline<TIMED>,
    misses: Misses,
    waterfall: waterfall::WaterfallSeries,
    submission: submission::SubmissionSeries,
    slices: Slices,
    cameras: ByCamera,
}

/// What is compared between phases.
pub(in crate::analysis) struct Samples {
    /// The measurement, in which all tenants run.
    pub(in crate::analysis) together: Responses,
    /// The host's time to submit each frame of the measurement, in order.
    pub(in crate::analysis) submission: Vec<i64>,
}

/// Indices into the values of [`Gathered::timeline`].
const RESPONSE: usize = 0;
const SERVICE: usize = 1;
const LATENESS: usize = 2;
const STAGES: usize = 3;
const SUBMISSION: usize = 12;
const AGE: usize = 13;
const SIZE: usize = 14;
const CONTENT: usize = 15;
const SKEW: usize = 16;
const CAMERA: usize = 17;
const BATCH: usize = 18;
/// How many these are.
const TIMED: usize = 19;

/// One tenant while the summary is computed.
pub(in crate::analysis) struct Measured<'a> {
    /// The tenant in the scenario.
    pub(in crate::analysis) scenario: &'a Tenant,
    /// Its part of the summary.
    pub(in crate::analysis) summary: TenantSummary,
    /// Facts that only findings need.
    pub(in crate::analysis) facts: TenantFacts,
    /// Data for its plots.
    pub(in crate::analysis) drawn: Drawn,
}

/// How long a tenant's completed frames used devices and processors, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Used {
    /// Compute time, wherever it was executed.
    pub(in crate::analysis) compute: i128,
    /// Decoding, pre- and postprocessing.
    pub(in crate::analysis) around: i128,
}

/// Facts about a tenant that findings need beyond its summary.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct TenantFacts {
    /// Releases that were late by more than the budget.
    pub(in crate::analysis) late_releases: u64,
    /// Releases whose lateness is known.
    pub(in crate::analysis) releases: u64,
    /// The record of the end of its measurement, if it was reached.
    pub(in crate::analysis) together: Option<PhaseRecord>,
    /// From its first release to its last timestamp.
    pub(in crate::analysis) seen: Option<(Stamp, Stamp)>,
    /// Length of the measured window.
    pub(in crate::analysis) measured: Nanos,
    /// Frames of the measurement's warm-up.
    pub(in crate::analysis) in_warmup: u64,
    /// Records lost in phases other than the measurement.
    pub(in crate::analysis) lost_elsewhere: u64,
    /// Frames that no figure is of, as their stamps cannot be true; of all phases.
    pub(in crate::analysis) impossible: Impossible,
    /// How long its completed frames used the devices.
    pub(in crate::analysis) used: Used,
    /// Effective sample size for the mean service time.
    pub(in crate::analysis) service_worth: u64,
    /// Frames that it completed alone.
    pub(in crate::analysis) alone: u64,
    /// Whether so many frames waited for each other that they depend because of that.
    pub(in crate::analysis) waits: bool,
    /// What a frame of a batch is worth of work; none where each has an inference of its own.
    pub(in crate::analysis) work: Option<Work>,
    /// Why its first failed frame failed, or why it gave up, from the log.
    pub(in crate::analysis) cause: Option<String>,
}

impl Gathered {
    /// Of a tenant of this manifest, one of so many.
    pub(in crate::analysis) fn of(tenant: &TenantManifest, tenants: usize) -> Self {
        Gathered {
            timeline: Timeline::of_one_of(tenants),
            waterfall: match tenant.backend == APPLICATION_BACKEND {
                true => waterfall::WaterfallSeries::of_ranges(tenants),
                false => waterfall::WaterfallSeries::of_one_of(tenants),
            },
            ..Gathered::default()
        }
    }

    /// Adds a range.
    pub(in crate::analysis) fn range(&mut self, range: &RangeRecord) {
        self.waterfall.range(range);
    }

    /// Adds a frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord, late_after: Nanos, exact: bool) -> u64 {
        if frame.phase == Phase::Together {
            self.frames.note(frame);
            self.in_warmup += u64::from(frame.warmup);
        }
        if frame.warmup {
            return 0;
        }
        match frame.phase {
            Phase::Together => self.together(frame, late_after, exact),
            Phase::Alone | Phase::Overhead | Phase::Other(_) => 0,
        }
    }

    /// Adds the end of a phase.
    pub(in crate::analysis) fn phase(&mut self, phase: &PhaseRecord) {
        if phase.phase == Phase::Together {
            self.frames.lost_records = self.frames.lost_records.saturating_add(phase.lost_records);
            self.together = Some(*phase);
        }
    }

    /// Adds the time of one node in a phase.
    pub(in crate::analysis) fn node(&mut self, node: &NodeRecord) {
        if node.phase == Phase::Together {
            self.nodes.push(node.clone());
        }
    }

    /// Adds what became of an output.
    pub(in crate::analysis) fn output(&mut self, output: &OutputRecord) {
        self.outputs.push(OutputSummary::from(output));
    }

    fn together(&mut self, frame: &FrameRecord, late_after: Nanos, exact: bool) -> u64 {
        self.first_released = Some(
            self.first_released
                .map_or(frame.released, |s| s.min(frame.released)),
        );
        let last = frame.finished.max(frame.released);
        self.last_stamp = Some(self.last_stamp.map_or(last, |s| s.max(last)));
        if frame.outcome == Outcome::Unfinished && !frame.missed() {
            return 0;
        }
        self.slices.push(frame);
        if frame.missed() {
            self.misses.note(frame.sequence);
        }
        self.incomplete += u64::from(frame.stayed_incomplete());
        self.late_releases += u64::from(frame.lateness > late_after);
        self.lateness.push(frame.lateness, exact);
        self.timeline.push(frame.sequence, frame.released, || kept(frame));
        let of_camera = self.cameras.push(frame, exact);
        if frame.outcome != Outcome::Completed {
            return 1;
        }
        self.detections += u64::from(frame.detections);
        self.response.push(frame.response(), exact);
        self.service.push(frame.service(), exact);
        self.work.frame(frame);
        let mut kept = 3 + self.waterfall.push(frame, exact) + of_camera + self.submission.push(frame, exact);
        if let Some(age) = frame.age() {
            self.age.push(age, exact);
            kept += 1;
        }
        if let Some(skew) = frame.skew {
            self.skew.push(skew, exact);
            kept += 1;
        }
        for (series, took) in self.stages.iter_mut().zip(&frame.stages) {
            if let Some(took) = took {
                series.push(*took, exact);
                kept += 1;
            }
        }
        kept
    }

    /// Measured time: as recorded, or from the first release to the last timestamp if the end was never written.
    fn measured(&self) -> Nanos {
        match (self.together, self.first_released, self.last_stamp) {
            (Some(phase), _, _) => phase.measured_to - phase.measured_from,
            (None, Some(first), Some(last)) => last - first,
            _ => Nanos::ZERO,
        }
    }

    /// The tenant's part of the summary, and its response times for comparisons between phases.
    pub(in crate::analysis) fn finish<'a>(
        mut self,
        scenario: &'a Tenant,
        manifest: &TenantManifest,
        device: Device,
        tracks: &Tracks,
    ) -> (Measured<'a>, Samples) {
        let measured = self.measured();
        let time_share = time_share(&self.response, &self.service, &self.stages);
        self.timeline.sort();
        let in_order = |kind| self.timeline.values(kind);
        let service = self.service.finish();
        let service_dependence = service.dependence(&in_order(SERVICE));
        let mut facts = TenantFacts {
            late_releases: self.late_releases,
            releases: self.frames.offered,
            together: self.together,
            seen: self.first_released.zip(self.last_stamp),
            measured,
            in_warmup: self.in_warmup,
            // Known once the phases are.
            lost_elsewhere: 0,
            impossible: Impossible::default(),
            used: Used {
                compute: self.stages[Stage::Compute as usize].sum(),
                around: [Stage::Decode, Stage::Preprocess, Stage::Postprocess]
                    .map(|stage| self.stages[stage as usize].sum())
                    .iter()
                    .sum(),
            },
            // The mean depends on the tail as well: bursts of rare long frames count.
            service_worth: service_dependence.worth(Quantile::P99, service.count()),
            alone: 0,
            // Known below.
            waits: false,
            work: self.work.finish(),
            cause: None,
        };
        let line = Line::of(scenario);
        let together = Responses::new(
            self.response.finish(),
            self.timeline.placed_in_batches(RESPONSE, BATCH),
            line,
        );
        let (response, responses) = (&together.distribution, &together.in_order);
        let fed: Vec<Fed> = self.timeline.rows().filter_map(fed).collect();
        let input_effect = input_effect::of(&fed, &scenario.source);
        let sizes = input_effect
            .as_ref()
            .and_then(|effect| input_effect::drawn(&fed, effect));
        let drawn = plot::drawn(self.slices, response, sizes);
        let dependence = together.dependence();
        facts.waits = dependence.waits();
        let response_ms = stats(response, &dependence);
        let timed: Vec<(Stamp, i64)> = self.timeline.timed(RESPONSE).collect();
        let (steady, wander) = (
            steady::judge(&timed, &own(&self.timeline), tracks),
            wander::wander(&timed, tracks),
        );
        let streak = self.misses.longest_streak();
        let sums = self.stages.each_ref().map(Series::sum);
        let stages = Stage::ALL
            .into_iter()
            .zip(self.stages)
            .zip(STAGES..)
            .filter(|((_, series), _)| series.count() > 0)
            .map(|((stage, series), kind)| {
                let (times, in_order) = (series.finish(), in_order(kind));
                let dependence = times.dependence(&in_order);
                let figures = stats(&times, &dependence);
                let predictability = of_stage(&times, &figures, &in_order, &dependence);
                ((stage.name(), figures), (stage.name(), predictability))
            });
        let (stages_ms, stages_predictability): (Vec<_>, Vec<_>) = stages.unzip();
        let known: Vec<(i128, Option<f64>)> = Stage::ALL
            .into_iter()
            .zip(sums)
            .map(|(stage, sum)| {
                let found = stages_ms.iter().find(|(name, _)| *name == stage.name());
                (sum, found.and_then(|(_, stats)| stats.p99.value))
            })
            .collect();
        let predictability = predictability(
            response,
            &response_ms,
            (responses, &dependence),
            streak,
            (steady, wander),
        );
        let (submission_ms, submitting) = self
            .submission
            .finish(&in_order(SUBMISSION), manifest.submission_may_wait);
        let node_time = nodes::time_of(&scenario.backend);
        let nodes = nodes::summarize(self.nodes, node_time, predictability.effective_frames.p50);
        let seconds = measured.as_secs_f64();
        let FrameCounts {
            offered,
            completed,
            missed: missing,
            ..
        } = self.frames;
        let missed: Vec<bool> = self
            .timeline
            .placed(LATENESS)
            .map(|frame| self.misses.contains(frame.sequence))
            .collect();
        let miss_rate = MissRate::of((missing, offered), &missed, (&dependence, completed));
        let sets = synchronised(self.incomplete, offered, seconds, self.skew, &in_order(SKEW));
        let in_time = self.timeline.rows();
        let in_time = in_time.map(|values| (values[CAMERA], values[RESPONSE], values[AGE]));
        let cameras = self.cameras.finish(&scenario.source, in_time);
        let summary = TenantSummary {
            name: scenario.name.clone(),
            backend: manifest.backend.clone(),
            device,
            detector: manifest.detector.clone(),
            outputs: self.outputs,
            frames: self.frames,
            throughput_fps: (seconds > 0.0).then(|| six_decimals(completed as f64 / seconds)),
            miss_rate_ci95: miss_rate.map(|known| known.ci95.map(six_decimals)),
            miss_rate_frames: miss_rate.map_or(0.0, |known| known.worth),
            miss_rate: (offered > 0).then(|| six_decimals(missing as f64 / offered as f64)),
            detections: ((scenario.backend.executes() && manifest.detector.is_some()) || self.detections > 0)
                .then_some(self.detections),
            service_ms: stats(&service, &service_dependence),
            lateness_ms: of_series(self.lateness, &in_order(LATENESS)),
            stages_ms,
            jitter_ms: jitter(&response_ms),
            cv: quotient(response.sd(), response.mean()),
            // Computed once the phases are known.
            slowdown: None,
            energy_mj_per_frame: None,
            iqr_ms: interquartile_range(response, &dependence),
            worst_over_median: quotient(response_ms.max, response_ms.p50.value),
            predictability,
            stages_predictability,
            response_ms,
            waterfall: known
                .first_chunk()
                .map_or_else(Default::default, |known| self.waterfall.finish(known)),
            time_share,
            arrival: arrival_in_words(&scenario.arrival),
            closed_loop: matches!(scenario.arrival, Arrival::Closed),
            deadline_ms: scenario.deadline.map(Nanos::as_millis_f64),
            operators: nodes::by_operator(&nodes),
            node_time: (!nodes.is_empty()).then_some(node_time),
            nodes,
            slowest: Vec::new(),
            submission_ms,
            submitting,
            sampled: self.together.and_then(|phase| phase.sampled),
            synchronised: sets,
            cameras,
            input_effect,
            batch: manifest.batch,
            // Known once findings are.
            failed: None,
            // Once it is known in which time all tenants ran.
            memory: None,
            age_ms: (self.age.count() > 0).then(|| of_series(self.age, &in_order(AGE))),
        };
        let samples = Samples {
            together,
            submission: self.timeline.values(SUBMISSION),
        };
        let measured = Measured {
            scenario,
            summary,
            facts,
            drawn,
        };
        (measured, samples)
    }
}

/// Of each completed frame, in order, what does not depend on the frames before it: all but its wait for a free slot.
fn own(timeline: &Timeline<TIMED>) -> Vec<i64> {
    let own = |values: [Option<i64>; TIMED]| {
        values[RESPONSE]?;
        Some(values[SERVICE]?.saturating_add(values[LATENESS].unwrap_or_default()))
    };
    timeline.rows().filter_map(own).collect()
}

/// What became of sets of sensors; `None` where frames are of one sensor each.
fn synchronised(
    incomplete: u64,
    offered: u64,
    seconds: f64,
    skew: Series,
    in_order: &[i64],
) -> Option<Synchronised> {
    if incomplete == 0 && skew.count() == 0 {
        return None;
    }
    let complete = offered.saturating_sub(incomplete);
    Some(Synchronised {
        complete,
        incomplete,
        incomplete_share: (offered > 0).then(|| six_decimals(incomplete as f64 / offered as f64)),
        rate_hz: (seconds > 0.0).then(|| six_decimals(complete as f64 / seconds)),
        skew_ms: (skew.count() > 0).then(|| of_series(skew, in_order)),
    })
}

/// All statistics of a series, with its values in order of time for autocorrelation.
fn of_series(series: Series, in_order: &[i64]) -> Stats {
    let times = series.finish();
    stats(&times, &times.dependence(in_order))
}

/// What [`Gathered::timeline`] keeps of a frame.
fn kept(frame: &FrameRecord) -> [Option<i64>; TIMED] {
    let mut values = [None; TIMED];
    values[LATENESS] = Some(frame.lateness.0);
    if frame.outcome == Outcome::Completed {
        values[RESPONSE] = Some(frame.response().0);
        values[SERVICE] = Some(frame.service().0);
        for (value, took) in values[STAGES..].iter_mut().zip(frame.stages) {
            *value = took.map(|took| took.0);
        }
        values[SUBMISSION] = frame.submission.map(|submission| submission.took.0);
        values[AGE] = frame.age().map(|age| age.0);
        values[SIZE] = (frame.input_size > 0).then(|| frame.input_size.into());
        values[CONTENT] = i64::try_from(frame.source_index).ok();
        values[SKEW] = frame.skew.map(|skew| skew.0);
        values[CAMERA] = frame.camera.map(i64::from);
        values[BATCH] = frame.batch.map(|batch| batch.first.cast_signed());
    }
    values
}

/// A kept frame's input, and what it took; `None` where nothing was fed.
fn fed(values: [Option<i64>; TIMED]) -> Option<Fed> {
    let (_, stages) = values.split_at(STAGES);
    Some(Fed {
        size: u32::try_from(values[SIZE]?).ok()?,
        content: values[CONTENT],
        response: values[RESPONSE]?,
        service: values[SERVICE]?,
        stages: *stages.first_chunk()?,
    })
}

/// The figures of the null tenant, computed like any other response time.
pub(in crate::analysis) fn overhead(own: Series) -> Option<Distribution> {
    (own.count() > 0).then(|| own.finish())
}

/// Shares of the mean response time. Means add up where quantiles do not, so shares are of means: time
/// before work began, each stage, and what is in no stage.
fn time_share(response: &Series, service: &Series, stages: &[Series; 9]) -> Vec<(&'static str, f64)> {
    let total = response.sum();
    if total <= 0 {
        return Vec::new();
    }
    let share = |sum: i128| six_decimals(sum as f64 / total as f64);
    let mut shares = vec![("queueing", share(total - service.sum()))];
    let mut other = service.sum();
    for (stage, series) in Stage::ALL.into_iter().zip(stages) {
        if series.count() > 0 {
            other -= series.sum();
            shares.push((stage.name(), share(series.sum())));
        }
    }
    shares.push(("other", share(other)));
    shares
}

pub(in crate::analysis) fn arrival_in_words(arrival: &Arrival) -> String {
    match arrival {
        Arrival::Closed => "closed loop".to_owned(),
        Arrival::Periodic { hz, .. } => format!("periodic {hz} Hz"),
        Arrival::Poisson { hz } => format!("poisson {hz} Hz"),
        Arrival::Sampled { hz, .. } => format!("newest frame at {hz} Hz"),
        Arrival::Replay { speed } => format!("replay ×{speed}"),
        Arrival::Live => "live".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u64, lateness: Nanos) -> FrameRecord {
        let mut stages = [None; 9];
        stages[Stage::Acquire as usize] = Some(Nanos(3));
        stages[Stage::Compute as usize] = Some(Nanos(5));
        FrameRecord {
            sequence,
            source_index: sequence,
            started: Stamp(100) + lateness,
            lateness,
            stages,
            ..FrameRecord::completed(Stamp(100), Stamp(200) + lateness)
        }
    }

    #[test]
    fn of_a_frame_it_is_counted_how_many_durations_are_kept_and_whether_it_was_released_late() {
        let mut gathered = Gathered::default();
        let budget = Nanos(50);
        let mut push = |frame: &FrameRecord| (gathered.frame(frame, budget, true), gathered.late_releases);
        // Lateness, response and service, as many for the waterfall, and two stages.
        let kept = 3 + waterfall::KEPT + 2;
        assert_eq!(push(&frame(0, Nanos(50))), (kept, 0));
        assert_eq!(push(&frame(1, Nanos(51))), (kept, 1));
        assert_eq!(push(&frame(2, Nanos(90))), (kept, 2));
        let mut submitted = frame(3, Nanos::ZERO);
        submitted.submission = Some(crate::record::Submission {
            took: Nanos(2),
            in_compute: Some(Nanos(1)),
        });
        assert!(push(&submitted).0 > kept);
        let mut replayed = frame(5, Nanos::ZERO);
        replayed.captured = Some(Stamp(90));
        assert_eq!(push(&replayed).0, kept + 1);
        let mut dropped = frame(4, Nanos::ZERO);
        dropped.outcome = Outcome::Dropped;
        assert_eq!(push(&dropped), (1, 2));
    }
}
