//! Captures of several sensors in the order of their times, and what they become: images as they are stored, sweeps as points,
//! the camera's calibration beside each image, and where everything was.

use std::path::{Path, PathBuf};

use jetlag_bags::Time;
use jetlag_bags::message::{CompressedImage, Header, TransformStamped};
use jetlag_bags::write::{BagWriter, Message, XYZI, XYZI_RING, cloud, pinhole};
use jetlag_datasets::geometry::Pose;
use jetlag_world::files::BEGIN;

use super::{ConvertError, Converted, Progress};
use crate::files;
use crate::source::points::read_sweep;
use crate::units::{Bytes, Nanos};

/// The longest image or sweep that is read.
const LONGEST: Bytes = Bytes(256 << 20);

/// What a channel's files hold.
#[derive(Clone, Debug)]
pub(super) enum Holds {
    /// Images, whose calibration is this, of so many pixels; zero where nobody says.
    Images(Option<([[f64; 3]; 3], [u32; 2])>),
    /// Points of nuScenes: five floats.
    NuScenes,
    /// Points of KITTI (`.bin`), or any that a `.pcd` describes.
    Points,
}

/// A sensor.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// The topic, without what images and calibrations add to it.
    pub(super) name: String,
    pub(super) frame: String,
    pub(super) holds: Holds,
}

impl Channel {
    fn topics(&self) -> Vec<String> {
        match self.holds {
            Holds::Images(None) => vec![self.images()],
            Holds::Images(Some(_)) => vec![self.images(), self.info()],
            _ => vec![self.name.clone()],
        }
    }
    fn images(&self) -> String {
        format!("{}/image_raw/compressed", self.name)
    }
    fn info(&self) -> String {
        format!("{}/camera_info", self.name)
    }
}

/// One file.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    pub(super) time: Nanos,
    pub(super) channel: usize,
    pub(super) file: PathBuf,
}

/// Where a frame of reference is.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) parent: String,
    pub(super) child: String,
    pub(super) place: Pose,
}

/// A recording, before it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    pub(super) channels: Vec<Channel>,
    pub(super) captures: Vec<Capture>,
    /// Where the vehicle's frame is in `map`, when.
    pub(super) places: Vec<(Nanos, Pose)>,
    /// What the vehicle's frame is called.
    pub(super) vehicle: String,
    /// Where the sensors are.
    pub(super) fixed: Vec<Fixed>,
    /// Of all that could be written, what is; all where nothing is named.
    pub(super) wanted: Vec<String>,
    /// What the recording lacks, a sentence each.
    pub(super) missing: Vec<String>,
}

const PLACES: &str = "/tf";
const FIXED: &str = "/tf_static";

/// When captures without times begin.
pub(super) const WITHOUT_TIMES: Nanos = BEGIN;

impl Tape {
    /// Of a vehicle whose frame has this name.
    pub(super) fn of(vehicle: &str) -> Tape {
        Tape {
            vehicle: vehicle.to_owned(),
            ..Tape::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.captures.is_empty()
    }

    /// Every topic that it gives.
    pub(super) fn topics(&self) -> Vec<String> {
        let mut all: Vec<String> = self.channels.iter().flat_map(Channel::topics).collect();
        all.extend((!self.places.is_empty()).then(|| PLACES.to_owned()));
        all.extend((!self.fixed.is_empty()).then(|| FIXED.to_owned()));
        all.sort_unstable();
        all
    }

    /// Leaves out all topics but these, unless none is named.
    pub(super) fn keep(&mut self, topics: &[String]) {
        topics.clone_into(&mut self.wanted);
        let keeps = |capture: &Capture| {
            let channel = &self.channels[capture.channel];
            channel
                .topics()
                .iter()
                .any(|topic| is_wanted(&self.wanted, topic))
        };
        let kept: Vec<Capture> = self
            .captures
            .iter()
            .filter(|capture| keeps(capture))
            .cloned()
            .collect();
        self.captures = kept;
        if !is_wanted(&self.wanted, PLACES) {
            self.places.clear();
        }
        if !is_wanted(&self.wanted, FIXED) {
            self.fixed.clear();
        }
    }

    /// Writes it into a bag, which is finished. A message is logged when it was captured: datasets do not say when it came.
    pub(super) fn write(
        mut self,
        mut bag: BagWriter,
        progress: Progress<'_>,
    ) -> Result<Converted, ConvertError> {
        self.captures.sort_by_key(|capture| capture.time);
        self.places.sort_by_key(|(time, _)| *time);
        self.places.dedup_by_key(|(time, _)| *time);
        let of = (self.captures.len() + self.places.len()) as u64;
        let mut out = Out {
            bag: &mut bag,
            wanted: &self.wanted,
            messages: 0,
            bytes: Vec::new(),
        };
        let (mut captures, mut places) = (self.captures.iter().peekable(), self.places.iter().peekable());
        let first = [
            captures.peek().map(|one| one.time),
            places.peek().map(|(time, _)| *time),
        ];
        out.fixed(&self.fixed, first.into_iter().flatten().min().unwrap_or(BEGIN))?;
        for done in 1..=of {
            let is_capture = match (captures.peek(), places.peek()) {
                (Some(capture), Some((time, _))) => capture.time < *time,
                (capture, _) => capture.is_some(),
            };
            if is_capture {
                if let Some(capture) = captures.next() {
                    out.capture(capture, &self.channels[capture.channel])?;
                }
            } else if let Some((time, pose)) = places.next() {
                out.place(*time, &self.vehicle, pose)?;
            }
            progress(done, of);
        }
        let messages = out.messages;
        let topics = self
            .topics()
            .iter()
            .filter(|topic| is_wanted(&self.wanted, topic))
            .count() as u64;
        bag.finish()?;
        Ok(Converted {
            messages,
            topics,
            lost: 0,
            missing: self.missing,
        })
    }
}

fn is_wanted(wanted: &[String], topic: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|name| name == topic)
}

/// Writes messages, of the topics that are wanted.
struct Out<'a> {
    bag: &'a mut BagWriter,
    wanted: &'a [String],
    messages: u64,
    /// Points, as a message has them.
    bytes: Vec<u8>,
}

impl Out<'_> {
    fn put(&mut self, topic: &str, time: Nanos, message: &Message<'_>) -> Result<(), ConvertError> {
        if is_wanted(self.wanted, topic) {
            self.bag.write(topic, Time(time.0), message)?;
            self.messages += 1;
        }
        Ok(())
    }

    fn fixed(&mut self, fixed: &[Fixed], time: Nanos) -> Result<(), ConvertError> {
        if fixed.is_empty() {
            return Ok(());
        }
        let all: Vec<TransformStamped<'_>> = fixed
            .iter()
            .map(|one| transform(time, &one.parent, &one.child, &one.place))
            .collect();
        self.put(FIXED, time, &Message::Transforms(&all))
    }

    fn place(&mut self, time: Nanos, vehicle: &str, pose: &Pose) -> Result<(), ConvertError> {
        let one = transform(time, "map", vehicle, pose);
        self.put(PLACES, time, &Message::Transforms(&[one]))
    }

    fn capture(&mut self, capture: &Capture, channel: &Channel) -> Result<(), ConvertError> {
        let header = Header {
            stamp: Time(capture.time.0),
            frame_id: &channel.frame,
        };
        let file = files::read(&capture.file, LONGEST).map_err(|error| ConvertError::Io {
            path: capture.file.clone(),
            error,
        })?;
        match &channel.holds {
            Holds::Images(calibration) => {
                if let Some((matrix, size)) = calibration {
                    let size = if *size == [0, 0] {
                        png_size(&file).unwrap_or_default()
                    } else {
                        *size
                    };
                    let info = pinhole(header, size, *matrix);
                    self.put(&channel.info(), capture.time, &Message::CameraInfo(&info))?;
                }
                let image = CompressedImage {
                    header,
                    format: if file.starts_with(&PNG) { "png" } else { "jpeg" },
                    data: &file,
                };
                self.put(&channel.images(), capture.time, &Message::CompressedImage(image))
            }
            Holds::NuScenes => {
                with_rings(&capture.file, &file, &mut self.bytes)?;
                let bytes = std::mem::take(&mut self.bytes);
                let sweep = cloud(header, &XYZI_RING, 20, &bytes);
                self.put(&channel.name, capture.time, &Message::PointCloud(sweep))?;
                self.bytes = bytes;
                Ok(())
            }
            Holds::Points => {
                let points = read_sweep(&capture.file, &file).map_err(|error| ConvertError::Sweep {
                    path: capture.file.clone(),
                    problem: error.to_string(),
                })?;
                let mut bytes = std::mem::take(&mut self.bytes);
                bytes.clear();
                bytes.extend(points.as_flattened().iter().flat_map(|v| v.to_le_bytes()));
                let sweep = cloud(header, &XYZI, 16, &bytes);
                self.put(&channel.name, capture.time, &Message::PointCloud(sweep))?;
                self.bytes = bytes;
                Ok(())
            }
        }
    }
}

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// The size that the header of a PNG tells.
fn png_size(file: &[u8]) -> Option<[u32; 2]> {
    let header = file.strip_prefix(&PNG)?.get(8..16)?;
    let number = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
    Some([number(&header[..4])?, number(&header[4..])?])
}

/// Points of nuScenes, whose rings are floats there.
fn with_rings(path: &Path, file: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertError> {
    let (points, rest) = file.as_chunks::<20>();
    if !rest.is_empty() {
        return Err(ConvertError::Sweep {
            path: path.to_owned(),
            problem: format!("{} bytes are no whole number of points of 20 bytes", file.len()),
        });
    }
    out.clear();
    out.reserve(file.len());
    for point in points {
        let ring = f32::from_le_bytes([point[16], point[17], point[18], point[19]]);
        out.extend_from_slice(&point[..16]);
        out.extend_from_slice(&(ring as u16).to_le_bytes()); // Beyond its range it is cut to it.
        out.extend_from_slice(&[0; 2]);
    }
    Ok(())
}

fn transform<'a>(time: Nanos, parent: &'a str, child: &'a str, place: &Pose) -> TransformStamped<'a> {
    let [w, x, y, z] = place.rotation.quaternion();
    TransformStamped {
        header: Header {
            stamp: Time(time.0),
            frame_id: parent,
        },
        child_frame_id: child,
        translation: place.translation,
        rotation: [x, y, z, w],
    }
}
