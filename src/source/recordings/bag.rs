//! A topic of a ROS 2 bag as a source, on the time line of the whole bag.

mod camera;
mod places;

use std::path::PathBuf;
use std::sync::Arc;

use jetlag_bags::cdr::Decoder;
use jetlag_bags::message::{CompressedImage, Header, Image as ImageMessage, PointCloud as CloudMessage};
use jetlag_bags::points::{self, PointLayout};
use jetlag_bags::{Bag, BagError, By, Entry, Points, Reader, Select, Time, Want, pixels};
use jetlag_stats::median::upper_median;

pub(super) use places::Places;

use super::{FrameTopic, most_pixels, recording};
use crate::record::Selection;
use crate::scenario::{BagSpec, StampOf};
use crate::source::context::{Contexts, FrameContext};
use crate::source::images::decode_image_of;
use crate::source::stored::{About, Store, Stored, Unpack};
use crate::source::timeline::{FrameTime, Timeline};
use crate::source::wants::{Lack, Wants};
use crate::source::{Content, ContentKind, Image, SourceError, selection};
use crate::units::Nanos;

/// What messages are, that are frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Image,
    Compressed,
    Points,
}

impl Kind {
    const ALL: [(&'static str, Kind); 3] = [
        ("sensor_msgs/msg/Image", Kind::Image),
        ("sensor_msgs/msg/CompressedImage", Kind::Compressed),
        ("sensor_msgs/msg/PointCloud2", Kind::Points),
    ];

    /// Also of ROS 1, whose messages are not read, but told of.
    fn of_any(name: &str) -> Option<Kind> {
        let (package, kind) = name.split_once('/')?;
        match kind.contains('/') {
            true => Kind::of(name),
            false => Kind::of(&format!("{package}/msg/{kind}")),
        }
    }

    fn of(name: &str) -> Option<Kind> {
        Kind::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}

/// The topics of a bag that frames are made of: their names, what they have, how many.
pub(super) fn topics(bag: &Bag) -> Vec<FrameTopic> {
    let frames = bag.topics().iter().filter_map(|topic| {
        let content = match Kind::of_any(topic.kind())? {
            Kind::Image | Kind::Compressed => ContentKind::Image,
            Kind::Points => ContentKind::Points,
        };
        Some(FrameTopic {
            name: topic.name().to_owned(),
            content,
            serialization: topic.serialization().to_owned(),
            messages: topic.entries().len(),
        })
    });
    frames.collect()
}

/// Why a bag gives no frames.
#[derive(Debug, thiserror::Error)]
enum NoFrames {
    #[error("{path}: `{topic}` has messages of the type {kind}, and frames are made of Image, CompressedImage and PointCloud2{}", others(.there))]
    Type {
        path: PathBuf,
        topic: String,
        kind: String,
        there: Vec<String>,
    },
    #[error(
        "{path}: the messages of `{topic}` are of ROS 1 (`{serialization}`): convert the bag to ROS 2, as `rosbags-convert` does"
    )]
    Ros1 {
        path: PathBuf,
        topic: String,
        serialization: String,
    },
    #[error(
        "{path}: the messages of `{topic}` are serialised as `{serialization}`, and frames are made of those of ROS 2 (`cdr`): record or convert it so"
    )]
    Serialization {
        path: PathBuf,
        topic: String,
        serialization: String,
    },
    #[error("{path}: `{topic}` has no message between `from` and `to`; the bag lasts {lasts}")]
    Nothing {
        path: PathBuf,
        topic: String,
        lasts: Nanos,
    },
    #[error(
        "{path}: the stamps in the messages of `{topic}` are of another clock than the recorder's (off by {off}): use `by: Log`"
    )]
    OtherClock {
        path: PathBuf,
        topic: String,
        off: Nanos,
    },
}

fn others(there: &[String]) -> String {
    match there {
        [] => "; no topic of this bag has these".to_owned(),
        some => format!("; the bag has {}", some.join(", ")),
    }
}

/// The messages of one topic.
pub(super) fn source(bag: &Bag, places: &Places, spec: &BagSpec) -> Result<Stored, SourceError> {
    let topic = bag.topic(&spec.topic).map_err(recording)?;
    let serialization = topic.serialization().to_owned();
    let (path, name) = (spec.path.clone(), spec.topic.clone());
    match serialization.as_str() {
        "" | "cdr" => {}
        "ros1" | "ros1msg" => {
            return Err(recording(NoFrames::Ros1 {
                path,
                topic: name,
                serialization,
            }));
        }
        _ => {
            return Err(recording(NoFrames::Serialization {
                path,
                topic: name,
                serialization,
            }));
        }
    }
    let Some(kind) = Kind::of(topic.kind()) else {
        let there = bag
            .topics()
            .iter()
            .filter(|topic| Kind::of(topic.kind()).is_some());
        return Err(recording(NoFrames::Type {
            path: spec.path.clone(),
            topic: spec.topic.clone(),
            kind: topic.kind().to_owned(),
            there: there.map(|topic| format!("`{}`", topic.name())).collect(),
        }));
    };
    let (entries, timeline, captured) = in_time(bag, spec)?;
    let about = About {
        kind: match kind {
            Kind::Image | Kind::Compressed => ContentKind::Image,
            Kind::Points => ContentKind::Points,
        },
        description: format!(
            "{} messages of {} in {}",
            entries.len(),
            spec.topic,
            spec.path.display()
        ),
        timeline: Some(timeline),
        contexts: contexts(bag, places, spec, &entries, &captured, kind),
        selection: Some(Selection {
            losses: bag.summary().missing(),
            ..of_messages(&spec.topic, &entries)
        }),
    };
    let mut messages = Messages {
        entries: entries.into(),
        reader: bag.reader(),
    };
    let first = first_fields(&mut messages, kind);
    let unpack = Unpacked {
        kind,
        path: spec.path.clone(),
        topic: spec.topic.clone(),
        most_pixels: most_pixels(&spec.common),
        most_points: spec.common.max_points,
        points: Points::default(),
        wants: Wants::default(),
        first,
        is_told: false,
    };
    Stored::open(
        Box::new(messages),
        Box::new(unpack),
        about,
        spec.common.repeat,
        spec.common.reading,
    )
}

/// What the points of the first message have.
fn first_fields(messages: &mut Messages, kind: Kind) -> Option<Fields> {
    let first = messages.entries.first().filter(|_| kind == Kind::Points)?;
    let mut message = Vec::new();
    // One that cannot be read fails when it is its turn.
    messages.reader.read(first, &mut message).ok()?;
    Fields::of(&message)
}

/// Messages, by the times at which they were logged.
fn of_messages(topic: &str, entries: &[Entry]) -> Selection {
    let mut frames = selection::Frames::default();
    for entry in entries {
        frames.frame(topic, &[entry.log_time().0.cast_unsigned()]);
    }
    frames.selection()
}

/// What the bag tells of each frame: the sensor is the topic, and its frame of reference that of the first message.
fn contexts(
    bag: &Bag,
    places: &Places,
    spec: &BagSpec,
    entries: &[Entry],
    captured: &[Time],
    kind: Kind,
) -> Contexts {
    let mut message = Vec::new();
    let first = entries
        .first()
        .map(|first| bag.reader().read(first, &mut message));
    let header = match first {
        Some(Ok(())) => Decoder::new(&message)
            .and_then(|mut decoder| Header::decode(&mut decoder))
            .ok(),
        // It fails when it is its turn.
        _ => None,
    };
    let frame = header.map_or("", |header| header.frame_id);
    let place = places.on_vehicle(frame);
    let context = FrameContext {
        sensor: spec.topic.as_str().into(),
        projection: match kind {
            Kind::Image | Kind::Compressed => camera::projection(bag, &spec.topic, frame),
            Kind::Points => None,
        },
        place,
        vehicle: None,
    };
    Contexts::each(captured.iter().map(|time| {
        FrameContext {
            vehicle: context
                .place
                .as_ref()
                .and_then(|place| places.at(&place.within, *time)),
            ..context.clone()
        }
    }))
}

/// A header's stamp that is this much later than its log time, or that much earlier, is of another clock.
const AHEAD: Nanos = Nanos::from_secs(1);
const BEHIND: Nanos = Nanos::from_secs(60);

/// The selected messages in the order in which they come, with their times: on the time line, and when they were captured by the
/// robot's clock.
fn in_time(bag: &Bag, spec: &BagSpec) -> Result<(Vec<Entry>, Timeline, Vec<Time>), SourceError> {
    let select = |by| Select {
        from: Some(spec.from),
        to: spec.to,
        by,
    };
    let stamped = match bag.index(&spec.topic, select(By::Header)) {
        Err(BagError::NoHeader { .. }) if spec.by == StampOf::Log => bag.index(&spec.topic, select(By::Log)),
        stamped => stamped,
    }
    .map_err(recording)?;
    let (first, last) = bag.span().unwrap_or((Time(0), Time(0)));
    let Some(length) = (!stamped.entries().is_empty()).then(|| last.since(first)) else {
        return Err(recording(NoFrames::Nothing {
            path: spec.path.clone(),
            topic: spec.topic.clone(),
            lasts: last.since(first),
        }));
    };
    let origin = first.after(spec.from);
    let mut all: Vec<(Entry, FrameTime)> = stamped
        .entries()
        .iter()
        .enumerate()
        .map(|(n, entry)| {
            let logged = entry.log_time().since(origin);
            let captured = stamped.time(n).map_or(logged, |stamp| stamp.since(origin));
            let came = match spec.by {
                StampOf::Log => logged,
                StampOf::Header => captured,
            };
            (*entry, FrameTime { captured, came })
        })
        .collect();
    let off = |(entry, time): &(Entry, FrameTime)| {
        Nanos(time.captured.0.saturating_sub(entry.log_time().since(origin).0))
    };
    let mut apart: Vec<Nanos> = all.iter().map(off).collect();
    let off = upper_median(&mut apart, Ord::cmp).unwrap_or(Nanos::ZERO);
    if off > AHEAD || off < Nanos(-BEHIND.0) {
        if spec.by == StampOf::Header {
            return Err(recording(NoFrames::OtherClock {
                path: spec.path.clone(),
                topic: spec.topic.clone(),
                off,
            }));
        }
        log::warn!(
            "{}: the stamps in the messages of `{}` are of another clock than the recorder's (off by {off}): ages count from the log",
            spec.path.display(),
            spec.topic
        );
        all.iter_mut().for_each(|(_, time)| time.captured = time.came);
    }
    all.sort_by_key(|(_, time)| time.came);
    let end = spec.to.map_or(length, |to| to.min(length));
    let lap = end - spec.from + gap(bag);
    let (entries, times): (Vec<Entry>, Vec<FrameTime>) = all.into_iter().unzip();
    let captured = times.iter().map(|time| origin.after(time.captured)).collect();
    Ok((entries, Timeline::new(times, lap), captured))
}

/// The mean gap of the topic with the most messages: what stands between two laps of the bag, whichever its topic.
fn gap(bag: &Bag) -> Nanos {
    let most = bag.topics().iter().max_by_key(|topic| topic.entries().len());
    let mean = most.and_then(|topic| {
        let (first, last) = topic.span()?;
        let gaps = topic.entries().len().checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some(Nanos(last.since(first).0 / gaps as i64))
    });
    mean.filter(|gap| *gap > Nanos::ZERO)
        .unwrap_or(Nanos::from_secs(1))
}

struct Messages {
    entries: Arc<[Entry]>,
    reader: Reader,
}

impl Store for Messages {
    fn length(&self) -> usize {
        self.entries.len()
    }

    fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        match self.entries.get(index) {
            Some(entry) => self.reader.read(entry, raw).map_err(recording),
            None => Ok(()), // Not a frame of this source.
        }
    }
}

struct Unpacked {
    kind: Kind,
    path: PathBuf,
    topic: String,
    most_pixels: u64,
    most_points: u32,
    points: Points,
    wants: Wants,
    /// What the points of the first message have, where it could be read.
    first: Option<Fields>,
    /// Whether it was said that a sweep is empty.
    is_told: bool,
}

impl Unpack for Unpacked {
    fn unpack(&mut self, index: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError> {
        let made = match self.kind {
            Kind::Image | Kind::Compressed => self.image(raw, content),
            Kind::Points => self.cloud(raw, content),
        };
        made.map_err(|problem| SourceError::BadFile {
            path: self.path.clone(),
            problem: format!("message {index} of `{}`: {problem}", self.topic),
        })
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        self.wants = wants;
        self.first.as_ref().and_then(|first| first.lack(wants))
    }
}

/// What a cloud has beside places.
struct Fields {
    has_intensity: bool,
    has_ring: bool,
    /// Their names, in words.
    words: String,
}

impl Fields {
    fn of(message: &[u8]) -> Option<Fields> {
        let cloud = CloudMessage::decode(message).ok()?;
        let layout = PointLayout::of(&cloud).ok()?;
        Some(Fields {
            has_intensity: layout.has_intensity(),
            has_ring: layout.has_ring(),
            words: fields_of(&cloud),
        })
    }

    fn lack(&self, wants: Wants) -> Option<Lack> {
        wants.lack(self.has_intensity, self.has_ring, || self.words.clone())
    }
}

fn fields_of(cloud: &CloudMessage<'_>) -> String {
    format!("the fields of its points are {}", points::names(cloud))
}

impl Unpacked {
    fn image(&self, raw: &[u8], content: &mut Content) -> Result<(), String> {
        if !matches!(content, Content::Image(_)) {
            *content = Content::Image(Image::default());
        }
        let Content::Image(image) = content else {
            return Ok(());
        };
        if self.kind == Kind::Compressed {
            let message = CompressedImage::decode(raw).map_err(|error| error.to_string())?;
            return decode_image_of(message.data, image, self.most_pixels)
                .map_err(|error| format!("its image ({}): {error}", message.format));
        }
        let message = ImageMessage::decode(raw).map_err(|error| error.to_string())?;
        let found = u64::from(message.width) * u64::from(message.height);
        if found > self.most_pixels {
            return Err(format!(
                "its image has {} × {} pixels, more than {}: if it is right, raise the source's `max_megapixels`",
                message.width, message.height, self.most_pixels
            ));
        }
        pixels::to_rgb(&message, &mut image.rgb).map_err(|error| error.to_string())?;
        (image.width, image.height) = (message.width as usize, message.height as usize);
        Ok(())
    }

    fn cloud(&mut self, raw: &[u8], content: &mut Content) -> Result<(), String> {
        let cloud = content.sweep_mut();
        let message = CloudMessage::decode(raw).map_err(|error| error.to_string())?;
        let found = u64::from(message.width) * u64::from(message.height);
        if found > u64::from(self.most_points) {
            return Err(format!(
                "it has {found} points, more than {}: if it is right, raise the source's `max_points`",
                self.most_points
            ));
        }
        let layout = PointLayout::of(&message).map_err(|error| error.to_string())?;
        self.wants
            .check(layout.has_intensity(), layout.has_ring(), || fields_of(&message))
            .map_err(|lack| format!("its detector takes {lack}; `missing: Zero` gives it zeros"))?;
        // The frame's own buffer is filled, and no other.
        std::mem::swap(&mut self.points.xyzi, &mut cloud.points);
        let want = Want {
            ring: self.wants.ring,
            time: false, // Of a single sweep: networks are given the time between sweeps.
        };
        self.points.read(&message, &layout, want);
        std::mem::swap(&mut self.points.xyzi, &mut cloud.points);
        if cloud.points.is_empty() && !std::mem::replace(&mut self.is_told, true) {
            log::warn!(
                "{}: a message of `{}` gives no point: it has {found}, none of which has a finite place",
                self.path.display(),
                self.topic
            );
        }
        cloud.time.clear();
        cloud.ring.clear();
        cloud.ring.extend(self.points.ring.iter().copied().map(f32::from));
        Ok(())
    }
}
