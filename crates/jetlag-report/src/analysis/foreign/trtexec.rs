//! trtexec's own figures: by its definitions, in single precision, with its percentiles.
//!
//! They differ from ours and are never shown in one table with them. trtexec's latency is the *sum* of three
//! durations (copy in, compute, copy out): it leaves out the time between them and all waiting before the first. This
//! module computes the figures of a run, or of a file that `trtexec --exportTimes` wrote, so that old results can be
//! compared with new ones. docs/measurement.md has the definitions.

use serde::{Deserialize, Serialize};

use crate::record::{Device, Event, FrameRecord, Outcome, Phase, Stage};
use crate::units::{Nanos, Stamp};

/// The trtexec release whose defaults are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// 8.6 to 10: copies are part of the latency; compute time is called unstable from 1 % on.
    Trtexec10,
    /// 11: copies are left out, so that latency is compute time; unstable from 2.5 % on.
    Trtexec11,
}

impl Version {
    /// Coefficient of variation of compute time, in percent, above which it is called unstable.
    pub fn unstable_percent(self) -> f32 {
        match self {
            Version::Trtexec10 => 1.0,
            Version::Trtexec11 => 2.5,
        }
    }
}

/// Percentiles that are printed.
pub const PERCENTILES: [f32; 3] = [90.0, 95.0, 99.0];
/// Share of the median compute time above which the enqueue time is reported as the limit.
const ENQUEUE_BOUND: f32 = 0.8;

/// One inference, in milliseconds and in single precision, as trtexec keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Query {
    h2d: f32,
    compute: f32,
    d2h: f32,
    latency: f32,
    enqueue: Option<f32>,
}

/// The figures of trtexec's performance summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Performance {
    /// How its latency is counted.
    pub definition: &'static str,
    /// The trtexec release whose defaults were used.
    pub version: Version,
    /// Number of inferences that were timed.
    pub queries: u64,
    /// Inferences over the wall time.
    pub throughput_qps: Option<f32>,
    /// H2D + compute + D2H.
    pub latency_ms: Figures,
    /// Host time of the launch; `None` where it was not recorded.
    pub enqueue_ms: Option<Figures>,
    /// Time to copy inputs to the device.
    pub h2d_ms: Figures,
    /// Compute time on the device.
    pub compute_ms: Figures,
    /// Time to copy outputs to the host.
    pub d2h_ms: Figures,
    /// From the first query's beginning to the last one's end.
    pub walltime_s: Option<f32>,
    /// Mean compute time × queries.
    pub total_compute_s: f32,
    /// The warnings that trtexec would print.
    pub warnings: Vec<Warning>,
    /// What this source does not provide, or not exactly.
    pub notes: Vec<String>,
}

/// One line of the summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "trtexec's names")]
pub struct Figures {
    pub min: f32,
    pub max: f32,
    pub mean: f32,
    pub median: f32,
    /// The percentiles of [`PERCENTILES`], in that order.
    pub percentiles: [f32; 3],
    /// Population's standard deviation over the mean, in percent.
    pub cv_percent: f32,
}

/// Warnings that trtexec prints below its summary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// Launching takes about as long as computing.
    EnqueueBound,
    /// Copying in takes at least as long as computing.
    H2dBound,
    /// Copying out takes at least as long as computing.
    D2hBound,
    /// Compute time varies by this many percent.
    Unstable(f32),
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum TrtexecError {
    /// There was nothing to summarise.
    #[error("there is no {what} to summarise")]
    NoQueries {
        /// `completed frame with a compute time`, or `query`.
        what: &'static str,
    },
    /// The file is not JSON, or JSON of something else.
    #[error("it is not JSON as `trtexec --exportTimes` writes it, an array of objects: {0}")]
    NotTimes(serde_json::Error),
    /// An entry has a value that is not a time.
    #[error("entry {index} says {key} = {ms}, which is not a time")]
    NotATime {
        /// Position of the entry in the array, from 0.
        index: usize,
        /// The entry's key, such as `computeMs`.
        key: &'static str,
        /// The value in the file.
        ms: f64,
    },
}

/// Collects one tenant's frames.
#[derive(Debug, Default)]
pub struct Gatherer {
    queries: Vec<Query>,
    span: Option<(Stamp, Stamp)>,
    latest_start: Option<Stamp>,
    copies: bool,
}

impl Gatherer {
    /// Adds an event; only completed frames of `tenant` in the measured time that have a compute time count.
    pub fn push(&mut self, event: &Event, tenant: u16) {
        let Event::Frame(frame) = event else { return };
        let counts = frame.tenant == tenant
            && frame.phase == Phase::Together
            && !frame.warmup
            && frame.outcome == Outcome::Completed;
        if counts {
            self.frame(frame);
        }
    }

    fn frame(&mut self, frame: &FrameRecord) {
        let ms = |stage: Stage| frame.stages[stage as usize].map(single);
        let Some(compute) = ms(Stage::Compute) else {
            return;
        };
        let (h2d, d2h) = (ms(Stage::H2d), ms(Stage::D2h));
        self.copies |= h2d.is_some() || d2h.is_some();
        self.queries.push(Query {
            h2d: h2d.unwrap_or(0.0),
            compute,
            d2h: d2h.unwrap_or(0.0),
            latency: 0.0,
            enqueue: None,
        });
        let (from, to) = self.span.unwrap_or((frame.started, frame.finished));
        // trtexec uses the end of the query that began last, not the latest end.
        let last = self.latest_start.is_none_or(|latest| frame.started >= latest);
        self.latest_start = self.latest_start.max(Some(frame.started));
        self.span = Some((from.min(frame.started), if last { frame.finished } else { to }));
    }

    /// The summary with a version's defaults, for a tenant of this backend on this device.
    pub fn finish(
        mut self,
        version: Version,
        backend: &str,
        device: Device,
    ) -> Result<Performance, TrtexecError> {
        let mut notes = vec![
            "The run did not record the launch time by itself, so there is no Enqueue Time.".to_owned(),
            "Wall time and throughput come from host timestamps and include preprocessing, postprocessing and the \
             gaps between frames; trtexec has none of these."
                .to_owned(),
        ];
        if !device.is_gpu() {
            notes.push(format!(
                "GPU Compute Time is the stage `compute` of the backend `{backend}`, which does not run on a GPU."
            ));
        }
        if !self.copies {
            notes.push(
                "The backend reports no copies: H2D and D2H are 0, as with --noDataTransfers.".to_owned(),
            );
        } else if version == Version::Trtexec11 {
            notes.push(
                "Copies were measured but are left out, as trtexec 11 does by default; --compat trtexec10 includes \
                 them."
                    .to_owned(),
            );
        }
        for query in &mut self.queries {
            if version == Version::Trtexec11 {
                (query.h2d, query.d2h) = (0.0, 0.0);
            }
            query.latency = query.h2d + query.compute + query.d2h;
        }
        let walltime = self.span.map(|(from, to)| single(to - from) / 1000.0);
        let what = "completed frame with a compute time";
        summarize(&self.queries, walltime, version, notes).ok_or(TrtexecError::NoQueries { what })
    }
}

/// An entry of `--exportTimes`. Its timestamps have six digits; its durations are exact enough.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Times {
    start_enq_ms: Option<f64>,
    end_enq_ms: Option<f64>,
    start_h2d_ms: f64,
    end_d2h_ms: f64,
    h2d_ms: f64,
    compute_ms: f64,
    d2h_ms: f64,
    latency_ms: f64,
}

/// The summary of a file that `trtexec --exportTimes` wrote.
pub fn of_times(json: &str, version: Version) -> Result<Performance, TrtexecError> {
    let mut times: Vec<Times> = serde_json::from_str(json).map_err(TrtexecError::NotTimes)?;
    for (index, entry) in times.iter().enumerate() {
        for (key, ms) in [
            ("startH2dMs", entry.start_h2d_ms),
            ("endD2hMs", entry.end_d2h_ms),
            ("h2dMs", entry.h2d_ms),
            ("computeMs", entry.compute_ms),
            ("d2hMs", entry.d2h_ms),
            ("latencyMs", entry.latency_ms),
        ] {
            if !(0.0..1e12).contains(&ms) {
                return Err(TrtexecError::NotATime { index, key, ms });
            }
        }
    }
    times.sort_by(|a, b| a.start_h2d_ms.total_cmp(&b.start_h2d_ms));
    let queries: Vec<Query> = times
        .iter()
        .map(|entry| Query {
            h2d: entry.h2d_ms as f32,
            compute: entry.compute_ms as f32,
            d2h: entry.d2h_ms as f32,
            latency: entry.latency_ms as f32,
            enqueue: entry
                .end_enq_ms
                .zip(entry.start_enq_ms)
                .map(|(end, start)| (end - start) as f32),
        })
        .collect();
    let walltime = times
        .first()
        .zip(times.last())
        .map(|(first, last)| ((last.end_d2h_ms - first.start_h2d_ms) / 1000.0) as f32);
    let latest = times.iter().map(|entry| entry.end_d2h_ms).fold(0.0, f64::max);
    let notes = vec![format!(
        "Timestamps in the file have six digits, a resolution of {} µs at its end: Enqueue Time, wall time and \
         throughput are no more precise than that. The other lines are exact.",
        step_us(latest)
    )];
    summarize(&queries, walltime, version, notes).ok_or(TrtexecError::NoQueries { what: "query" })
}

/// The value of the last of six digits of a timestamp in milliseconds, in microseconds.
fn step_us(ms: f64) -> f64 {
    let digits = ms.max(1.0).log10().floor() as i32;
    10f64.powi((digits - 2).max(-2))
}

fn single(duration: Nanos) -> f32 {
    duration.as_millis_f64() as f32
}

fn summarize(
    queries: &[Query],
    walltime_s: Option<f32>,
    version: Version,
    notes: Vec<String>,
) -> Option<Performance> {
    let figures = |of: fn(&Query) -> f32| Figures::of(queries.iter().map(of).collect());
    let enqueue: Option<Vec<f32>> = queries.iter().map(|query| query.enqueue).collect();
    let enqueue_ms = enqueue.and_then(Figures::of);
    let (h2d_ms, compute_ms, d2h_ms) = (figures(|q| q.h2d)?, figures(|q| q.compute)?, figures(|q| q.d2h)?);
    let n = queries.len() as f32;
    let mut warnings = Vec::new();
    if enqueue_ms
        .as_ref()
        .is_some_and(|enqueue| enqueue.median > ENQUEUE_BOUND * compute_ms.median)
    {
        warnings.push(Warning::EnqueueBound);
    }
    if h2d_ms.median >= compute_ms.median {
        warnings.push(Warning::H2dBound);
    }
    if d2h_ms.median >= compute_ms.median {
        warnings.push(Warning::D2hBound);
    }
    if compute_ms.cv_percent > version.unstable_percent() {
        warnings.push(Warning::Unstable(compute_ms.cv_percent));
    }
    Some(Performance {
        definition: "latency = sum of stages (trtexec)",
        version,
        queries: queries.len() as u64,
        throughput_qps: walltime_s.filter(|&wall| wall > 0.0).map(|wall| n / wall),
        latency_ms: figures(|q| q.latency)?,
        enqueue_ms,
        total_compute_s: compute_ms.mean * n / 1000.0,
        h2d_ms,
        compute_ms,
        d2h_ms,
        walltime_s,
        warnings,
        notes,
    })
}

impl Figures {
    /// Of a sample that is not empty, all in single precision.
    pub fn of(mut sample: Vec<f32>) -> Option<Figures> {
        sample.sort_by(f32::total_cmp);
        let n = sample.len();
        let (min, max) = (*sample.first()?, *sample.last()?);
        let mean = sample.iter().sum::<f32>() / n as f32;
        let squares = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>();
        let median = if n % 2 == 1 {
            sample[n / 2]
        } else {
            (sample[n / 2 - 1] + sample[n / 2]) / 2.0
        };
        Some(Figures {
            min,
            max,
            mean,
            median,
            percentiles: PERCENTILES.map(|p| sample[percentile_index(p, n)]),
            cv_percent: (squares / n as f32).sqrt() / mean * 100.0,
        })
    }
}

/// The place of the p-th percentile, 0 to 100, in `n` sorted values (at least one), in single precision: of a hundred
/// values the 99th percentile is the largest, because 1 − 0.99 falls short of 0.01.
pub fn percentile_index(p: f32, n: usize) -> usize {
    let beyond = ((1.0 - p / 100.0) * n as f32) as usize;
    (n - 1).saturating_sub(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_rule_at_the_sizes_that_its_description_names() {
        let ranks = |n| PERCENTILES.map(|p| percentile_index(p, n) + 1);
        assert_eq!(ranks(100), [90, 95, 100]);
        assert_eq!(ranks(1000), [900, 950, 991]);
        assert_eq!(ranks(10_000), [9000, 9500, 9901]);
        assert_eq!(ranks(1), [1, 1, 1]);
    }

    #[test]
    fn the_step_of_stamps_grows_with_them() {
        assert_eq!(step_us(9_000.0), 10.0);
        assert_eq!(step_us(15_000.0), 100.0);
        assert_eq!(step_us(900.0), 1.0);
    }

    fn query(h2d: f32, compute: f32, d2h: f32, enqueue: Option<f32>) -> Query {
        Query {
            h2d,
            compute,
            d2h,
            latency: h2d + compute + d2h,
            enqueue,
        }
    }

    fn warnings(query: Query) -> Vec<Warning> {
        let queries = [query; 5];
        summarize(&queries, Some(1.0), Version::Trtexec10, Vec::new())
            .unwrap()
            .warnings
    }

    #[test]
    fn warnings_are_of_what_takes_as_long_as_computing() {
        for (h2d, compute, d2h, enqueue, wanted) in [
            (0.5, 4.0, 0.5, None, &[][..]),
            (0.5, 4.0, 0.5, Some(1.0), &[]),
            (0.5, 4.0, 0.5, Some(ENQUEUE_BOUND * 4.0 - 0.1), &[]),
            (
                0.5,
                4.0,
                0.5,
                Some(ENQUEUE_BOUND * 4.0 + 0.1),
                &[Warning::EnqueueBound],
            ),
            (0.5, 0.25, 0.1, Some(0.1), &[Warning::H2dBound]),
            (4.0, 4.0, 0.5, None, &[Warning::H2dBound]),
            (0.5, 4.0, 4.0, None, &[Warning::D2hBound]),
        ] {
            let found = warnings(query(h2d, compute, d2h, enqueue));
            assert_eq!(found, wanted, "{h2d} {compute} {d2h} {enqueue:?}");
        }
    }

    #[test]
    fn without_wall_time_there_is_no_throughput() {
        let of = |wall| {
            summarize(
                &[query(0.0, 4.0, 0.0, None); 10],
                wall,
                Version::Trtexec10,
                Vec::new(),
            )
        };
        assert_eq!(of(None).unwrap().throughput_qps, None);
        assert_eq!(of(Some(0.0)).unwrap().throughput_qps, None);
        assert_eq!(of(Some(2.0)).unwrap().throughput_qps, Some(5.0));
    }

    #[test]
    fn notes_say_where_there_were_no_copies_and_where_they_are_left_out() {
        let notes = |copies: &[Stage], version, device| {
            let mut gatherer = Gatherer::default();
            // A frame without copies comes first, and one last.
            for with in [&[][..], copies, &[]] {
                let mut stages = [None; 9];
                stages[Stage::Compute as usize] = Some(Nanos(4_000_000));
                with.iter()
                    .for_each(|&stage| stages[stage as usize] = Some(Nanos(250_000)));
                let frame = FrameRecord {
                    stages,
                    ..FrameRecord::completed(Stamp(0), Stamp(9_000_000))
                };
                gatherer.push(&Event::Frame(frame), 0);
            }
            gatherer
                .finish(version, "a backend", device)
                .unwrap()
                .notes
                .join(" ")
        };
        let gpu = Device::Gpu(0);
        for copies in [&[Stage::H2d][..], &[Stage::D2h], &[Stage::H2d, Stage::D2h]] {
            let ten = notes(copies, Version::Trtexec10, gpu);
            assert!(
                !ten.contains("no copies") && !ten.contains("left out"),
                "{copies:?}: {ten}"
            );
            let eleven = notes(copies, Version::Trtexec11, gpu);
            assert!(
                eleven.contains("Copies were measured but are left out"),
                "{copies:?}: {eleven}"
            );
        }
        for version in [Version::Trtexec10, Version::Trtexec11] {
            let without = notes(&[], version, gpu);
            assert!(without.contains("reports no copies"), "{without}");
            assert!(!without.contains("left out"), "{without}");
            assert!(!without.contains("does not run on a GPU"), "{without}");
        }
        let host = notes(&[], Version::Trtexec10, Device::Host);
        assert!(
            host.contains("`a backend`, which does not run on a GPU"),
            "{host}"
        );
    }

    #[test]
    fn a_file_of_times_has_its_launches_and_compute_that_varies_is_called_so_by_each_version() {
        // Compute of 4 ms that varies by 2 %: too much for 10, and not for 11.
        let entry = |n: u32| {
            let start = f64::from(n) * 10.0 + 100.0;
            let compute = if n.is_multiple_of(2) { 3.92 } else { 4.08 };
            format!(
                r#"{{"startEnqMs": {start}, "endEnqMs": {}, "startH2dMs": {start}, "endH2dMs": {start},
                    "startComputeMs": {start}, "endComputeMs": {start}, "startD2hMs": {start}, "endD2hMs": {},
                    "h2dMs": 0.5, "computeMs": {compute}, "d2hMs": 0.25, "latencyMs": 4.75}}"#,
                start + 0.5,
                start + 5.0
            )
        };
        let entries: Vec<String> = (0..20).map(entry).collect();
        let of = |version| of_times(&format!("[{}]", entries.join(",")), version).unwrap();
        let ten = of(Version::Trtexec10);
        assert_eq!(ten.enqueue_ms.as_ref().unwrap().median, 0.5);
        let [Warning::Unstable(percent)] = ten.warnings[..] else {
            panic!("{:?}", ten.warnings)
        };
        assert!((percent - 2.0).abs() < 0.01, "{percent}");
        assert_eq!(of(Version::Trtexec11).warnings, []);
        // Twenty queries from 100 ms to 295 ms.
        assert!(
            (ten.throughput_qps.unwrap() - 20.0 / 0.195).abs() < 1e-3,
            "{ten:?}"
        );
    }
}
