//! A video: its frames as they are decoded, `/camera/image_raw` in `rgb8`, at the times that the file gives them. Pixels are not compressed
//! again, so a detector finds in the bag what it finds in the video.

use std::path::Path;

use jetlag_bags::Time;
use jetlag_bags::message::{Encoding, Header, Image};
use jetlag_bags::write::{BagWriter, Message};
use jetlag_video::{Ffmpeg, Frames, Guard, Launch, Layout, Reading, Shown, VideoError, VideoFacts, probe};

use super::tape::WITHOUT_TIMES;
use super::{ConvertError, Converted, Progress};

const TOPIC: &str = "/camera/image_raw";
const FRAME: &str = "camera";

/// A video that can be decoded.
pub(super) struct Video {
    facts: VideoFacts,
    launch: Launch,
    layout: Layout,
    guard: Option<Guard>,
    reading: Reading,
}

impl Video {
    /// Asks ffprobe what the file is, and ffmpeg whether it is there.
    ///
    /// # Errors
    /// A program is absent; the file has no video, or one without times.
    pub(super) fn open(path: &Path, guard: Option<&Guard>) -> Result<Video, VideoError> {
        let reading = Reading::default();
        let facts = probe(Path::new("ffprobe"), path, guard, &reading)?;
        let (launch, layout) = Ffmpeg::find(guard, &reading)?.file(path, &facts, None);
        Ok(Video {
            facts,
            launch,
            layout,
            guard: guard.cloned(),
            reading,
        })
    }

    pub(super) fn topics() -> Vec<String> {
        vec![TOPIC.to_owned()]
    }

    /// Writes its frames into a bag, which is finished. Frames that cannot be decoded are counted and left out.
    ///
    /// # Errors
    /// Not one frame can be decoded, or the bag cannot be written.
    pub(super) fn write(self, mut bag: BagWriter, progress: Progress<'_>) -> Result<Converted, ConvertError> {
        let mut frames = Frames::start(&self.launch, self.guard.as_ref(), self.layout, &self.reading)?;
        let (of, mut rgb) = (self.facts.frames() as u64, Vec::new());
        // Used where the program tells no time.
        let mut times = self.facts.times_ns();
        let mut done = Converted {
            topics: 1,
            ..Converted::default()
        };
        loop {
            let shown = match frames.next(&mut rgb) {
                Ok(Some(shown)) => shown,
                Ok(None) => break,
                Err(error) if done.messages == 0 => return Err(error.into()),
                Err(error) => {
                    log::warn!("what follows frame {} is left out: {error}", done.messages);
                    break;
                }
            };
            let told = times.next();
            let at = shown.at_ns.or(told).unwrap_or(0);
            put(&mut bag, Time(WITHOUT_TIMES.0.saturating_add(at)), shown, &rgb)?;
            done.messages += 1;
            progress(done.messages, of);
        }
        done.lost = (of + self.facts.missing() as u64).saturating_sub(done.messages);
        bag.finish()?;
        Ok(done)
    }
}

fn put(bag: &mut BagWriter, time: Time, shown: Shown, rgb: &[u8]) -> Result<(), ConvertError> {
    let image = Image {
        header: Header {
            stamp: time,
            frame_id: FRAME,
        },
        width: shown.size.width(),
        height: shown.size.height(),
        encoding: Encoding::Rgb8,
        is_big_endian: false,
        step: shown.size.width() * 3, // Sides are far below 2³².
        data: rgb,
    };
    bag.write(TOPIC, time, &Message::Image(image))?;
    Ok(())
}
