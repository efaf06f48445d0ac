//! A run as CV-CUDA's benchmark would have recorded it: one process per tenant, one batch per inference: of one item, or of as
//! many as the tenant's `batch` has.
//!
//! The path of a frame is `<tenant>/run_sample/pipeline/batch_<n>`, as in CV-CUDA's samples, with its stages below.
//! Batches are the frames of the measured time that were started; a failed one has no items.
//!
//! Where a phase was traced, batches are its frames, and their time on a GPU is CV-CUDA's own (`projected`).
//!
//! An application that marked its own ranges (`jetlag::range`) is exported with these: `<tenant>/<path>`, with the
//! index of a batch at the end of its name. Where its GPU was traced, a range's time there is CV-CUDA's: from the begin of the first
//! to the end of the last work that was launched in it, gaps included (`launches`).

use std::collections::HashMap;

use indexmap::IndexMap;

use super::launches::Launches;
use super::projected::{OfFrame, Projected, Span};
use super::{Meta, Recording, parent, round4};
use crate::record::{
    APPLICATION_BACKEND, Device, Event, FrameRecord, Manifest, Outcome, Phase, RangeRecord, SampleRecord,
    Stage, TenantManifest,
};
use crate::units::{Nanos, Stamp};

/// Stages that a device does by itself.
const ON_DEVICE: [Stage; 3] = [Stage::H2d, Stage::Compute, Stage::D2h];

/// Gathers a run's events. Memory grows with the run, as the file that comes of it does.
pub struct Gatherer {
    tenants: Vec<TenantProcess>,
    /// Metric to the samples of each sampler of a GPU.
    gpu_metrics: IndexMap<&'static str, Vec<f64>>,
    /// The frames that are batches of the measured time, until it is known whether any phase was traced.
    measured: Vec<FrameRecord>,
    projected: Projected,
}

/// What is collected of one tenant, which CV-CUDA counts as a process.
struct TenantProcess {
    name: String,
    /// Whether its stages ran on a GPU.
    on_gpu: bool,
    recording: Recording,
    span: Option<(Stamp, Stamp)>,
    gpu_ms: f64,
    /// From the first activity on a GPU to the last, where that was traced.
    gpu_span: Span,
    /// Whether it marked ranges of its own.
    application: bool,
    /// Ranges within a batch whose own end has not come yet, by track.
    in_batch: HashMap<u16, Vec<RangeRecord>>,
    /// Frames of one inference that have come so far.
    open: Option<Open>,
    /// How often each path was seen.
    seen: HashMap<String, u32>,
    /// What it launched, where it was traced; recorded before its ranges.
    launches: Launches,
}

/// The recording of one tenant, in CV-CUDA's form.
pub struct OfTenant {
    /// Name of the tenant.
    pub name: String,
    /// What it recorded; without batches where it completed no frame.
    pub recording: Recording,
}

impl Gatherer {
    /// Of a run of which nothing but its manifest is known yet.
    pub fn new(manifest: &Manifest) -> Self {
        let tenant = |(tenant, device): (&TenantManifest, Device)| {
            let mut rest = serde_json::Map::new();
            let mut about = |key: &str, value: String| rest.insert(key.to_owned(), value.into());
            about("jetlag_version", manifest.jetlag_version.clone());
            about("backend", tenant.backend.clone());
            if let Some(gpu) = manifest.machine.get("gpu") {
                about("device", gpu.clone());
            }
            rest.insert("args".to_owned(), manifest.command_line.clone().into());
            TenantProcess {
                name: tenant.name.clone(),
                on_gpu: device.is_gpu(),
                recording: Recording {
                    meta: Meta {
                        obj_name: tenant.name.clone(),
                        measurement_unit: "milliseconds".to_owned(),
                        total_batches: IndexMap::new(),
                        rest,
                    },
                    ..Recording::default()
                },
                span: None,
                gpu_ms: 0.0,
                gpu_span: Span::default(),
                application: tenant.backend == APPLICATION_BACKEND,
                in_batch: HashMap::new(),
                open: None,
                seen: HashMap::new(),
                launches: Launches::default(),
            }
        };
        Gatherer {
            tenants: manifest
                .tenants
                .iter()
                .zip(manifest.devices())
                .map(tenant)
                .collect(),
            gpu_metrics: IndexMap::new(),
            measured: Vec::new(),
            projected: Projected::default(),
        }
    }

    /// Takes in one event.
    pub fn push(&mut self, event: &Event) {
        self.projected.push(event);
        match event {
            Event::Frame(frame) if frame.phase == Phase::Together && !frame.warmup => {
                self.measured.push(*frame);
            }
            Event::Range(range) => {
                if let Some(tenant) = self.tenants.get_mut(usize::from(range.tenant)) {
                    tenant.range(range);
                }
            }
            Event::Activities(batch) => {
                for activity in &batch.activities {
                    let tenant = activity.owner.tenant.map(usize::from);
                    if let Some(tenant) = tenant.and_then(|tenant| self.tenants.get_mut(tenant))
                        && tenant.application
                    {
                        tenant.launches.push(activity);
                    }
                }
            }
            Event::Sample(sample) => {
                if let Some((metric, value)) = metric(sample) {
                    self.gpu_metrics.entry(metric).or_default().push(value);
                }
            }
            _ => {}
        }
    }

    /// Each tenant's recording, and the samples of all GPUs by metric.
    pub fn finish(mut self) -> (Vec<OfTenant>, IndexMap<String, Vec<f64>>) {
        let traced = self.projected.has_any();
        let frames = if traced {
            &self.projected.frames
        } else {
            &self.measured
        };
        for frame in frames {
            if let Some(tenant) = self.tenants.get_mut(usize::from(frame.tenant))
                && !tenant.application
            {
                tenant.frame(frame, traced.then(|| self.projected.of(frame)));
            }
        }
        self.tenants.iter_mut().for_each(TenantProcess::close);
        let gpu_metrics: IndexMap<String, Vec<f64>> = self
            .gpu_metrics
            .into_iter()
            .map(|(metric, samples)| (metric.to_owned(), samples))
            .collect();
        let tenants = self.tenants.into_iter().map(|tenant| {
            let mut of = tenant.finish();
            for (metric, samples) in &gpu_metrics {
                let samples = samples.clone();
                of.recording.gpu_metrics.insert(metric.clone(), samples.into());
            }
            of
        });
        (tenants.collect(), gpu_metrics)
    }
}

/// Frames of one inference: a batch that is not whole yet.
#[derive(Debug)]
struct Open {
    /// The sequence of its first frame.
    first: u64,
    items: u64,
    /// All of them as one.
    frame: FrameRecord,
    projected: Option<OfFrame>,
}

impl TenantProcess {
    /// Adds a frame; `projected` is its time on a GPU where that was traced.
    fn frame(&mut self, frame: &FrameRecord, projected: Option<OfFrame>) {
        let items = match frame.outcome {
            Outcome::Completed => 1,
            Outcome::Failed => 0,
            Outcome::Dropped | Outcome::Unfinished => return,
        };
        if let Some(batch) = frame.batch {
            return self.part(frame, batch.first, items, projected);
        }
        self.batch(frame, items, projected);
    }

    fn batch(&mut self, frame: &FrameRecord, items: u64, projected: Option<OfFrame>) {
        let index = self.recording.batch_info.len();
        let path = format!("{}/run_sample/pipeline/batch_{index}", self.name);
        let mut gpu = 0.0;
        for (stage, took) in Stage::ALL.into_iter().zip(frame.stages) {
            let Some(took) = took else { continue };
            let ms = rounded(took);
            let on_gpu = match projected {
                Some(projected) => projected.of(stage).map_or(0.0, Span::ms),
                None if self.on_gpu && ON_DEVICE.contains(&stage) => ms,
                None => 0.0,
            };
            gpu += on_gpu;
            let of_stage = format!("{path}/{}", stage.name());
            self.recording.data.insert(of_stage, [ms, on_gpu]);
        }
        let gpu = match projected {
            Some(projected) => projected.whole.ms(),
            None => round4(gpu),
        };
        self.gpu_ms += gpu;
        self.gpu_span = self.gpu_span.with(projected.unwrap_or_default().whole);
        self.recording
            .data
            .insert(path.clone(), [rounded(frame.service()), gpu]);
        self.recording.batch_info.insert(path, (index as i64, items));
        let (from, to) = self.span.unwrap_or((frame.started, frame.finished));
        self.span = Some((from.min(frame.started), to.max(frame.finished)));
    }

    /// Adds a frame that had its inference with others: they are one batch, from when the first was started to when the last was
    /// finished. A stage of the inference is counted once, and one that each frame has by itself for all of them.
    fn part(&mut self, frame: &FrameRecord, first: u64, items: u64, projected: Option<OfFrame>) {
        let is_new = self.open.as_ref().is_none_or(|open| open.first != first);
        if is_new {
            self.close();
        }
        let open = self.open.get_or_insert(Open {
            first,
            items: 0,
            frame: FrameRecord {
                stages: [None; 9],
                batch: None,
                ..*frame
            },
            projected: None,
        });
        open.items += items;
        let whole = &mut open.frame;
        whole.started = whole.started.min(frame.started);
        whole.finished = whole.finished.max(frame.finished);
        for (stage, (sum, took)) in Stage::ALL
            .into_iter()
            .zip(whole.stages.iter_mut().zip(frame.stages))
        {
            let is_each_s_own = matches!(
                stage,
                Stage::Acquire | Stage::Decode | Stage::Preprocess | Stage::Postprocess
            );
            *sum = match (*sum, took) {
                (Some(sum), Some(took)) if is_each_s_own => Some(sum + took),
                // The first frame waits longest.
                (Some(sum), Some(took)) => Some(sum.max(took)),
                (sum, took) => sum.or(took),
            };
        }
        // The GPU's time is on the frame that stands for the batch.
        open.projected = match (open.projected, projected) {
            (Some(known), Some(other)) if known.whole.ms() >= other.whole.ms() => Some(known),
            (known, other) => other.or(known),
        };
    }

    /// Adds the batch whose frames have all come.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.batch(&open.frame, open.items, open.projected);
        }
    }

    fn range(&mut self, range: &RangeRecord) {
        match (range.batch, range.items) {
            // Whose name gets the index shows only when the batch itself ends.
            (Some(_), None) => self.in_batch.entry(range.track).or_default().push(range.clone()),
            (Some(index), Some(items)) => {
                let batch = format!("{}/{}_{index}", self.name, range.path);
                let within = self.in_batch.remove(&range.track).unwrap_or_default();
                for inner in within {
                    let rest = inner.path.strip_prefix(&range.path).unwrap_or_default();
                    self.time(format!("{batch}{rest}"), &inner);
                }
                self.time(batch.clone(), range);
                if items > 0 {
                    let level = parent(&batch).unwrap_or_default().to_owned();
                    *self.recording.meta.total_batches.entry(level).or_default() += 1;
                }
                self.recording.batch_info.insert(batch, (index as i64, items));
            }
            _ => self.time(format!("{}/{}", self.name, range.path), range),
        }
    }

    /// Notes a range's time; one that is seen again counts with its mean.
    fn time(&mut self, path: String, range: &RangeRecord) {
        let ms = |at: Stamp| round4(Nanos(at.0).as_millis_f64());
        let took = round4(ms(range.to) - ms(range.from));
        let on_gpu = self.launches.span(range);
        let on_gpu = on_gpu.map_or(0.0, |(from, to)| round4(ms(to) - ms(from)));
        let seen = self.seen.entry(path.clone()).or_default();
        let times = self.recording.data.entry(path).or_insert([0.0; 2]);
        let before = f64::from(*seen);
        *seen += 1;
        for (time, took) in times.iter_mut().zip([took, on_gpu]) {
            *time = round4((*time * before + took) / (before + 1.0));
        }
    }

    fn finish(self) -> OfTenant {
        let mut recording = self.recording;
        if let Some((from, to)) = self.span {
            let gpu = match self.gpu_span {
                untraced if untraced == Span::default() => round4(self.gpu_ms),
                traced => traced.ms(),
            };
            let times = [rounded(to - from), gpu];
            let run = format!("{}/run_sample", self.name);
            let level = format!("{run}/pipeline");
            let with_items = recording.batch_info.values().filter(|(_, items)| *items > 0);
            let batches = with_items.count() as u64;
            recording.meta.total_batches.insert(level.clone(), batches);
            recording.data.insert(level, times);
            recording.data.insert(run, times);
        }
        OfTenant {
            name: self.name,
            recording,
        }
    }
}

fn rounded(took: Nanos) -> f64 {
    round4(took.as_millis_f64())
}

/// The metric that a sample is of, and its value in the unit that it has there. What could not be read is no sample.
fn metric(sample: &SampleRecord) -> Option<(&'static str, f64)> {
    if !sample.source.starts_with("nvml") {
        return None;
    }
    let value = sample.value.filter(|value| value.is_finite())?;
    // `gpu0_load` is the load of the first card, `gpu0_process_7_load` that of a program.
    let (card, question) = sample.signal.split_once('_')?;
    card.strip_prefix("gpu")?.parse::<u32>().ok()?;
    Some(match question {
        "power_instant" => ("power.draw.watts", round4(value / 1e3)),
        "load" => ("utilization.gpu", value),
        "temperature" => ("temperature.gpu", value),
        "throttle_reasons" => ("clocks_event_reasons", value),
        "sm_frequency" => ("clocks.current.graphics", value),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    #[test]
    fn a_cards_readings_are_metrics_and_those_of_programs_and_boards_are_not() {
        let of = |source: &str, signal: &str, value: Option<f64>| {
            metric(&SampleRecord {
                at: Stamp(0),
                source: source.to_owned(),
                signal: signal.to_owned(),
                value,
                unit: String::new(),
            })
        };
        assert_eq!(
            of("nvml", "gpu0_power_instant", Some(61_000.0)),
            Some(("power.draw.watts", 61.0))
        );
        assert_eq!(
            of("nvml", "gpu11_load", Some(97.0)),
            Some(("utilization.gpu", 97.0))
        );
        for (source, signal, value) in [
            ("nvml", "gpu0_load", None),
            ("nvml", "gpu0_temperature", Some(f64::NAN)),
            ("nvml", "gpu0_process_7_load", Some(50.0)),
            ("gpu", "gpu_load", Some(50.0)),
        ] {
            assert_eq!(of(source, signal, value), None, "{source}/{signal}");
        }
    }

    #[test]
    fn each_metric_of_a_card_has_the_name_that_it_has_there() {
        for (question, name) in [
            ("load", "utilization.gpu"),
            ("temperature", "temperature.gpu"),
            ("throttle_reasons", "clocks_event_reasons"),
            ("sm_frequency", "clocks.current.graphics"),
        ] {
            let found = metric(&SampleRecord {
                at: Stamp(0),
                source: "nvml".to_owned(),
                signal: format!("gpu0_{question}"),
                value: Some(32.0),
                unit: String::new(),
            });
            assert_eq!(found, Some((name, 32.0)));
        }
    }

    fn nothing_yet(on_gpu: bool) -> TenantProcess {
        TenantProcess {
            name: "camera".to_owned(),
            on_gpu,
            recording: Recording::default(),
            span: None,
            gpu_ms: 0.0,
            gpu_span: Span::default(),
            application: false,
            in_batch: HashMap::new(),
            open: None,
            seen: HashMap::new(),
            launches: Launches::default(),
        }
    }

    #[test]
    fn a_range_that_is_seen_again_counts_with_its_mean() {
        let mut gathered = nothing_yet(false);
        for (from, to, mean) in [(10, 12, 2.0), (20, 26, 4.0), (30, 31, 3.0), (40, 47, 4.0)] {
            gathered.range(&RangeRecord {
                tenant: 0,
                track: 0,
                from: Stamp(from * 1_000_000),
                to: Stamp(to * 1_000_000),
                path: "load/decode".to_owned(),
                batch: None,
                items: None,
            });
            assert_eq!(gathered.recording.data["camera/load/decode"], [mean, 0.0]);
        }
    }

    #[test]
    fn a_batchs_time_on_the_gpu_is_that_of_its_stages_there_and_a_runs_that_of_its_batches() {
        for (on_gpu, batch, run) in [(true, 4.5, 13.5), (false, 0.0, 0.0)] {
            let mut gathered = nothing_yet(on_gpu);
            for n in 0..3 {
                let mut stages = [None; 9];
                for (stage, us) in [
                    (Stage::Preprocess, 1_000),
                    (Stage::H2d, 250),
                    (Stage::Compute, 4_000),
                    (Stage::D2h, 250),
                ] {
                    stages[stage as usize] = Some(Nanos::from_micros(us));
                }
                gathered.frame(
                    &FrameRecord {
                        sequence: n,
                        source_index: n,
                        started: Stamp(n as i64 * 10_000_000),
                        stages,
                        ..FrameRecord::completed(Stamp(0), Stamp(n as i64 * 10_000_000 + 6_000_000))
                    },
                    None,
                );
            }
            let data = gathered.finish().recording.data;
            assert_eq!(data["camera/run_sample/pipeline/batch_1"], [6.0, batch]);
            assert_eq!(data["camera/run_sample/pipeline"], [26.0, run]);
        }
    }

    #[test]
    fn batches_without_items_are_in_no_count() {
        let mut gathered = nothing_yet(false);
        for (index, items) in [(0, 4), (1, 0), (2, 4)] {
            gathered.range(&RangeRecord {
                tenant: 0,
                track: 0,
                from: Stamp(index as i64 * 1_000_000),
                to: Stamp(index as i64 * 1_000_000 + 500_000),
                path: "run/batch".to_owned(),
                batch: Some(index),
                items: Some(items),
            });
        }
        let found = gathered.finish().recording;
        assert_eq!(found.meta.total_batches["camera/run"], 2);
        assert_eq!(found.batch_info.len(), 3);

        let mut gathered = nothing_yet(false);
        for outcome in [
            Outcome::Completed,
            Outcome::Failed,
            Outcome::Completed,
            Outcome::Dropped,
        ] {
            gathered.frame(
                &FrameRecord {
                    outcome,
                    ..FrameRecord::completed(Stamp(0), Stamp(1_000_000))
                },
                None,
            );
        }
        let found = gathered.finish().recording;
        assert_eq!(found.meta.total_batches["camera/run_sample/pipeline"], 2);
        assert_eq!(found.batch_info.len(), 3);
    }

    #[test]
    fn every_tenants_recording_has_the_readings_of_the_cards() {
        let mut gatherer = Gatherer {
            tenants: vec![nothing_yet(true), nothing_yet(false)],
            gpu_metrics: IndexMap::new(),
            measured: Vec::new(),
            projected: Projected::default(),
        };
        for value in [90.0, 95.0] {
            gatherer.push(&Event::Sample(SampleRecord {
                at: Stamp(0),
                source: "nvml".to_owned(),
                signal: "gpu0_load".to_owned(),
                value: Some(value),
                unit: "percent".to_owned(),
            }));
        }
        let (tenants, all) = gatherer.finish();
        assert_eq!(all["utilization.gpu"], [90.0, 95.0]);
        for tenant in tenants {
            let known = &tenant.recording.gpu_metrics["utilization.gpu"];
            assert_eq!(*known, serde_json::json!([90.0, 95.0]));
        }
    }
}
