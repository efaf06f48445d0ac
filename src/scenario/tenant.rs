//! One tenant as meant: its defaults and its rules.
//!
//! Names are checked in `resolve.rs`, where all tenants are seen together; `backend` has what belongs to one backend, `detector`
//! which detector it is, `waiting` which frames wait, for their turn and for each other.

mod backend;
mod detector;
mod fusion;
mod recorded;
mod video;
mod waiting;

use super::stored::ReadingFile;
use crate::units::Nanos;
use crate::written::{Node, Place, ProblemKind, Read, Reader, Spot};

use super::file::{BackendFile, DetectorFile, SourceFile, TenantFile};
use super::rules::{self, Context, Whole, require};
use super::{
    Arrival, BackendChoice, ClockKind, DetectorRef, MAX_MEGAPIXELS, MAX_POINTS, PointFormat, RATES, Reading,
    Sensor, SourceSpec, Tenant,
};

/// Scenes are made before the run and kept in memory.
const MOST_SCENES: usize = 4096;
/// Larger images have no decoder.
const MOST_MEGAPIXELS: u32 = 1000;
/// More points than that are a map.
const MOST_POINTS: u32 = 100_000_000;
/// Frames that a stored source reads ahead where nothing is said.
const AHEAD: u32 = 4;
/// The most that it may be told to.
const MOST_AHEAD: u32 = 64;

pub(super) fn resolve_tenant(
    typed: &TenantFile<'_>,
    whole: &Whole,
    context: &Context<'_>,
    r: &mut Reader,
) -> Tenant {
    let tenant = One {
        typed,
        whole,
        context,
        label: &typed.label,
    };
    let (backend, backend_reason) = tenant.backend(r);
    let mut chosen = tenant.detector(r);
    let source = match chosen.needs_no_source {
        true => {
            tenant.no_source_for_made_inputs(r);
            SourceSpec::Empty
        }
        false => tenant.source(r),
    };
    if let (Some(DetectorRef::Fusion(fusion)), SourceSpec::Synchronised(set)) =
        (&mut chosen.detector, &source)
    {
        fusion.cameras = set.cameras().count();
    }
    tenant.source_of_fusion(chosen.detector.as_ref(), &source, r);
    let arrival = match &backend {
        BackendChoice::Stress(stress) => {
            tenant.stressor(r);
            stress.arrival()
        }
        _ => tenant.arrival(r),
    };
    let overload = tenant.overload(&source, r);
    tenant.virtual_time(&backend, &arrival, r);
    let batch = tenant.batch(&backend, &arrival, r);
    let depth = match &backend {
        BackendChoice::Stress(stress) if typed.place_of("depth").is_none() => stress.depth(),
        _ => typed.plain.depth,
    };
    Tenant {
        name: typed
            .name
            .as_ref()
            .map(|name| name.value.clone())
            .unwrap_or_default(),
        detector: chosen.detector,
        made: chosen.made,
        backend,
        backend_reason,
        source,
        shared: typed.shared.as_ref().map(|name| name.value.clone()),
        arrival,
        overload,
        depth,
        batch,
        cpus: tenant.cpus(r),
        ..typed.plain.clone()
    }
}

/// A tenant being resolved.
struct One<'a> {
    typed: &'a TenantFile<'a>,
    whole: &'a Whole,
    context: &'a Context<'a>,
    /// "tenant `camera`", for messages.
    label: &'a str,
}

impl One<'_> {
    fn of(&self, field: &str) -> String {
        format!("`{field}` of {}", self.label)
    }

    /// Whether frames need no content, as far as that is known.
    fn simulates(&self) -> Option<bool> {
        match &self.typed.backend {
            Read::Wrong => None,
            Read::Absent => Some(false),
            Read::Given(spot) => Some(matches!(
                spot.value,
                BackendFile::Sim(_) | BackendFile::Null | BackendFile::Stress(_)
            )),
        }
    }

    fn source(&self, r: &mut Reader) -> SourceSpec {
        let has_detector = !matches!(self.typed.detector, Read::Absent);
        let spot = match &self.typed.source {
            Read::Wrong => return SourceSpec::Empty,
            Read::Given(spot) => spot,
            Read::Absent => {
                if self.simulates() == Some(false) || has_detector {
                    let kind = ProblemKind::Missing {
                        field: "source",
                        owner: self.label.to_owned(),
                        example: "source: Synthetic(Camera), Synthetic(Lidar), Images(\"folder\") or \
                                  Points(\"folder\"); only a tenant on Sim or Null without a detector needs none"
                            .into(),
                    };
                    r.report(&self.typed.place, kind);
                }
                return SourceSpec::Empty;
            }
        };
        self.fits_builtin(spot, r);
        let is_dir = std::path::Path::is_dir;
        match &spot.value {
            SourceFile::Empty => {
                if has_detector || self.simulates() == Some(false) {
                    let advice = "use Synthetic(…), Images(\"…\") or Points(\"…\"), or backend: Sim(…) or Null without a detector";
                    self.contradiction(
                        r,
                        &spot.place,
                        "source",
                        "Empty frames contain nothing to detect",
                        advice,
                    );
                }
                SourceSpec::Empty
            }
            SourceFile::Images {
                path,
                repeat,
                max_megapixels,
                reading,
            } => SourceSpec::Images {
                path: self
                    .find(&path.value, &path.place, "source", "folder of images", is_dir, r)
                    .unwrap_or_default(),
                repeat: repeat.or(true),
                max_megapixels: self.at_most(
                    max_megapixels,
                    "max_megapixels",
                    MAX_MEGAPIXELS,
                    MOST_MEGAPIXELS,
                    "from 1 to 1000, in millions of pixels",
                    r,
                ),
                reading: self.reading(reading, r),
            },
            SourceFile::Points {
                path,
                repeat,
                format,
                max_points,
                reading,
            } => SourceSpec::Points {
                path: self
                    .find(
                        &path.value,
                        &path.place,
                        "source",
                        "folder of point clouds",
                        is_dir,
                        r,
                    )
                    .unwrap_or_default(),
                repeat: repeat.or(true),
                format: format.or(PointFormat::Kitti),
                max_points: self.at_most(
                    max_points,
                    "max_points",
                    MAX_POINTS,
                    MOST_POINTS,
                    "from 1 to 100000000",
                    r,
                ),
                reading: self.reading(reading, r),
            },
            SourceFile::Recorded(file) => self.recorded(file, r),
            SourceFile::Video(file) => self.video(file, r),
            SourceFile::Camera(file) => self.camera_source(file, r),
            SourceFile::Synthetic {
                sensors,
                scenes,
                seed,
            } => {
                if let Some(spot) = scenes.given() {
                    let ok = (1..=MOST_SCENES).contains(&spot.value);
                    require(
                        r,
                        spot,
                        ok,
                        self.of("scenes"),
                        "from 1 to 4096, since they are kept in memory",
                    );
                }
                let of = |sensor: &Spot<Sensor>| SourceSpec::Synthetic {
                    sensor: sensor.value,
                    scenes: scenes.or(16),
                    seed: seed.or(self.whole.seed),
                };
                {
                    let is_camera = |sensor: &Sensor| Some(*sensor == Sensor::Camera);
                    self.in_sets(sensors, of, is_camera, recorded::sensor_name, r)
                }
            }
        }
    }

    /// How a stored source is read.
    fn reading(&self, file: &ReadingFile, r: &mut Reader) -> Reading {
        if let Some(spot) = file.ahead.given() {
            let ok = spot.value <= MOST_AHEAD;
            require(
                r,
                spot,
                ok,
                self.of("ahead"),
                "from 0 to 64, since they are kept in memory",
            );
        }
        match (file.preload.given(), file.ahead.given()) {
            (Some(preload), Some(ahead)) if preload.value => {
                let (what, advice) = (
                    "with `preload` nothing is left to be read ahead",
                    "give one of the two",
                );
                self.contradiction(r, &ahead.place, "source", what, advice);
                Reading::Preload
            }
            (Some(preload), None) if preload.value => Reading::Preload,
            _ => Reading::Ahead {
                frames: file.ahead.or(AHEAD),
            },
        }
    }

    /// A limit on what a frame may be.
    fn at_most(
        &self,
        read: &Read<u32>,
        field: &str,
        default: u32,
        most: u32,
        wanted: &str,
        r: &mut Reader,
    ) -> u32 {
        if let Some(spot) = read.given() {
            require(r, spot, (1..=most).contains(&spot.value), self.of(field), wanted);
        }
        read.or(default)
    }

    /// The built-in detectors' inputs are known here; others are checked when their spec is read.
    fn fits_builtin(&self, source: &Spot<SourceFile>, r: &mut Reader) {
        let detector = self.typed.detector.given().and_then(|spot| match &spot.value {
            DetectorFile::Named(name) => Some(name.as_str()),
            DetectorFile::Network(_) | DetectorFile::Fusion(_) => None,
        });
        let images = match &source.value {
            SourceFile::Images { .. } | SourceFile::Video(_) | SourceFile::Camera(_) => true,
            SourceFile::Points { .. } => false,
            SourceFile::Recorded(file) => match file.is_images() {
                Some(images) => images,
                None => return,
            },
            SourceFile::Synthetic { sensors, .. } => match &sensors[..] {
                [sensor] => sensor.value == Sensor::Camera,
                _ => return,
            },
            SourceFile::Empty => return,
        };
        let (why, advice) = match (detector, images) {
            (Some("builtin:camera"), false) => (
                "builtin:camera takes images, but this source yields sweeps",
                "use Synthetic(Camera) or Images(\"…\"), or builtin:lidar",
            ),
            (Some("builtin:lidar"), true) => (
                "builtin:lidar takes sweeps, but this source yields images",
                "use Synthetic(Lidar) or Points(\"…\"), or builtin:camera",
            ),
            _ => return,
        };
        self.contradiction(r, &source.place, "source", why, advice);
    }

    fn contradiction(&self, r: &mut Reader, place: &Place, field: &str, why: &str, advice: &str) {
        let kind = ProblemKind::Contradiction {
            what: self.of(field),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        r.report(place, kind);
    }

    fn arrival(&self, r: &mut Reader) -> Arrival {
        let is_live = self.is_live();
        let (Some(Spot { value, place }), Some(node)) =
            (self.typed.arrival.given(), self.typed.node("arrival"))
        else {
            return if is_live { Arrival::Live } else { Arrival::Closed };
        };
        if is_live && *value != Arrival::Live {
            let why = "a camera gives a frame when it has one, and cannot be asked for it";
            self.contradiction(r, place, "arrival", why, "use Live, or leave it out");
        }
        match *value {
            Arrival::Closed | Arrival::Poisson { .. } => {}
            Arrival::Periodic { hz, phase, jitter } => {
                let period = Nanos::period_of_hz(hz);
                if RATES.contains(&hz) && Nanos(jitter.0.saturating_mul(2)) >= period {
                    let wanted =
                        format!("less than half of the period, {period}: releases would overtake each other");
                    self.out_of_range(r, node.place_of("jitter"), "jitter", jitter, &wanted);
                }
                self.phase(phase, node, r);
            }
            Arrival::Sampled { phase, .. } => {
                let why = "Sampled takes the frame that was captured last, but the source Empty has no capture times";
                self.needs_captures(place, why, r);
                self.phase(phase, node, r);
            }
            Arrival::Replay { .. } => {
                let why = "Replay releases frames at their capture times, but the source Empty has none";
                self.needs_captures(place, why, r);
            }
            Arrival::Live => {
                if !is_live && !matches!(self.typed.source, Read::Wrong) {
                    let why = "Live releases a frame when a camera has it, and this source is none";
                    let advice = "use Replay for a recording's own times, or Periodic(hz: 30)";
                    self.contradiction(r, place, "arrival", why, advice);
                }
            }
        }
        *value
    }

    /// Whether frames come when the source has them.
    fn is_live(&self) -> bool {
        let source = self.typed.source.given().map(|spot| &spot.value);
        matches!(source, Some(SourceFile::Camera(_)))
    }

    /// Refuses frames without content for what follows their capture times.
    fn needs_captures(&self, place: &Place, why: &str, r: &mut Reader) {
        let empty = match &self.typed.source {
            Read::Wrong => false,
            Read::Absent => true,
            Read::Given(spot) => matches!(spot.value, SourceFile::Empty),
        };
        if empty {
            let advice = "use a source that has them, or Periodic(hz: 30)";
            self.contradiction(r, place, "arrival", why, advice);
        }
    }

    /// The first release's offset.
    fn phase(&self, phase: Nanos, arrival: &Node, r: &mut Reader) {
        if phase > Nanos::ZERO && phase >= self.whole.end {
            let wanted = format!("before the end of the run, {}", self.whole.end);
            self.out_of_range(r, arrival.place_of("phase"), "phase", phase, &wanted);
        }
    }

    fn out_of_range(&self, r: &mut Reader, place: &Place, field: &str, found: Nanos, wanted: &str) {
        rules::out_of_range(r, place, self.of(field), found.to_string(), wanted);
    }

    fn cpus(&self, r: &mut Reader) -> Vec<usize> {
        let list = self.typed.cpus.given().map_or(&[][..], |spot| &spot.value);
        let available = &self.context.env.cpus;
        for (index, spot) in list.iter().enumerate() {
            let wanted = format!("one that this process may use: {}", ranges(available));
            require(r, spot, available.contains(&spot.value), self.of("cpus"), &wanted);
            if let Some(first) = list[..index].iter().find(|earlier| earlier.value == spot.value) {
                let kind = ProblemKind::Twice {
                    what: format!("processor {} in {}", spot.value, self.of("cpus")),
                    first: first.place.clone(),
                };
                r.report(&spot.place, kind);
            }
        }
        list.iter().map(|spot| spot.value).collect()
    }

    /// Under the virtual clock nothing may take real time, and something must take virtual time.
    fn virtual_time(&self, backend: &BackendChoice, arrival: &Arrival, r: &mut Reader) {
        if self.whole.clock != ClockKind::Virtual {
            return;
        }
        let place = match &self.typed.backend {
            Read::Given(spot) => &spot.place,
            _ => &self.typed.place,
        };
        if self.simulates() == Some(false) || matches!(backend, BackendChoice::Stress(_)) {
            let why = "under the Virtual clock every tenant must be simulated, but this one really computes";
            let advice = "use backend: Sim(…) or Null, or clock: Real";
            self.contradiction(r, place, "backend", why, advice);
        }
        if self.is_live() {
            let why = "a camera gives its frames in real time";
            self.contradiction(r, place, "source", why, "use clock: Real, or another source");
        }
        let endless = matches!(self.typed.arrival, Read::Absent | Read::Given(_))
            && *backend == BackendChoice::Null
            && *arrival == Arrival::Closed
            && self.typed.place_of("frames").is_none();
        if endless {
            let why = "Null takes no time and Closed has no gaps, so virtual time would stand still";
            let advice = "use Periodic(hz: 30), backend: Sim(…) or clock: Real, or set frames";
            self.contradiction(r, place, "backend", why, advice);
        }
    }
}

/// Numbers of processors as ranges: `0-3, 6`.
fn ranges(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let words = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6]), "0-3, 6");
        assert_eq!(ranges(&[]), "");
    }
}
