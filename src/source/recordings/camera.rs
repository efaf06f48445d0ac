//! A camera as a live source: a program that takes its frames and writes them to a pipe.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use jetlag_video::{Device, Ffmpeg, Frames, Guard, Launch, Layout, Reading, Size, Stop, VideoError};

use super::recording;
use super::video::{Pixels, image_size, launch};
use crate::clock::{Clock, RealClock};
use crate::scenario::{CameraFrom, CameraSpec};
use crate::source::live::{Came, Live, LiveInput, LiveStart};
use crate::source::{ContentKind, SourceError};
use crate::units::{Nanos, Stamp};

/// A driver's stamp that lies further back than this is of another clock, and so is one after the arrival.
const OLDEST: Nanos = Nanos::from_secs(2);

/// Why a camera gives no frame.
#[derive(Debug, thiserror::Error)]
enum NoFrame {
    #[error("the camera {name}: {error}")]
    Program { name: String, error: VideoError },
    #[error("the camera {name}: it gives no more frames")]
    Nothing { name: String },
}

/// A camera's frames.
pub(super) fn source(spec: &CameraSpec, guard: Option<&Guard>) -> Result<Live, SourceError> {
    let reading = Reading {
        most_pixels: u64::from(spec.max_megapixels) * 1_000_000,
        stop: Stop::default(),
        ..Reading::default()
    };
    let (name, launch, layout) = match &spec.from {
        CameraFrom::Device {
            device,
            format,
            size,
            hz,
        } => {
            let name = device.display().to_string();
            let asked = Device {
                path: device,
                format: format.as_deref(),
                size: size.and_then(image_size),
                hz: *hz,
            };
            let ffmpeg = Ffmpeg::find(guard, &reading).map_err(|error| failed(&name, error))?;
            (name, ffmpeg.device(&asked), Layout::Nut)
        }
        CameraFrom::Command { command, size } => {
            let launch = launch(command.iter().cloned());
            let size = image_size(*size).ok_or_else(|| SourceError::BadFile {
                path: Path::new(&launch.name()).to_owned(),
                problem: format!("no image is as large as {size}"),
            })?;
            (format!("of {}", launch.name()), launch, Layout::Rgb(size))
        }
    };
    // Its first frame says how large its images are; the driver need not keep to what was asked for.
    let size = Arc::new(OnceLock::new());
    let camera = Camera {
        name: name.clone(),
        launch,
        layout,
        guard: guard.cloned(),
        reading,
        size: Arc::clone(&size),
    };
    let stamps = match layout {
        Layout::Nut | Layout::NutOf(_) => {
            "stamps of its driver where they are of the run's clock, else of their arrival"
        }
        Layout::Rgb(_) => "stamps of their arrival",
    };
    let pixels = Box::new(Pixels {
        size: Arc::clone(&size),
    });
    let live = Live::open(Arc::new(camera), pixels, ContentKind::Image)?;
    match size.get() {
        Some(size) => Ok(live.described(format!("live frames of the camera {name} ({size}, {stamps})"))),
        None => Err(recording(NoFrame::Nothing { name })),
    }
}

fn failed(name: &str, error: VideoError) -> SourceError {
    recording(NoFrame::Program {
        name: name.to_owned(),
        error,
    })
}

/// How it is started.
struct Camera {
    name: String,
    launch: Launch,
    layout: Layout,
    guard: Option<Guard>,
    reading: Reading,
    size: Arc<OnceLock<Size>>,
}

impl Camera {
    fn frames(&self) -> Result<Frames, SourceError> {
        Frames::start(&self.launch, self.guard.as_ref(), self.layout, &self.reading)
            .map_err(|error| failed(&self.name, error))
    }
}

impl LiveStart for Camera {
    fn start(&self) -> Result<Box<dyn LiveInput>, SourceError> {
        Ok(Box::new(Running {
            name: self.name.clone(),
            frames: self.frames()?,
            size: Arc::clone(&self.size),
        }))
    }

    fn stop(&self) {
        self.reading.stop.now();
    }
}

struct Running {
    name: String,
    frames: Frames,
    size: Arc<OnceLock<Size>>,
}

impl LiveInput for Running {
    fn next(&mut self, raw: &mut Vec<u8>) -> Result<Option<Came>, SourceError> {
        let shown = self.frames.next(raw).map_err(|error| failed(&self.name, error))?;
        let at = RealClock.now();
        if let Some(shown) = &shown {
            self.size.get_or_init(|| shown.size);
        }
        Ok(shown.map(|shown| Came {
            at,
            captured: captured(at, shown.at_ns),
        }))
    }
}

/// When a frame was captured that came `at`: as its driver says, if that is of the run's clock.
fn captured(at: Stamp, told_ns: Option<i64>) -> Stamp {
    let told = told_ns
        .map(Stamp)
        .filter(|told| *told <= at && at.0.saturating_sub(told.0) <= OLDEST.0);
    told.unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_s_stamp_counts_where_it_is_of_the_run_s_clock() {
        let at = Stamp(10_000_000_000);
        let captured = |told| captured(at, told).0;
        assert_eq!(captured(Some(9_970_000_000)), 9_970_000_000);
        assert_eq!(captured(None), at.0);
        for other in [
            0,
            7_999_999_999,
            10_000_000_001,
            1_700_000_000_000_000_000,
            i64::MIN,
            i64::MAX,
        ] {
            assert_eq!(captured(Some(other)), at.0, "{other}");
        }
    }
}
