//! Where annotated frames end: in the encoder's pipe and in the run file.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender};

use anyhow::Context;
use indicatif::ProgressBar;
use jetlag_video::{Encoder, Ffmpeg, Guard, Size, VideoError, Writing};

use super::figures::Busy;
use super::task::{Task, now};
use crate::record::writer::{RecordError, RunWriter};
use crate::record::{DetectionsRecord, LogRecord, Outcome, RangeRecord};
use crate::units::Stamp;

/// Frames that failed and are told one by one.
const TOLD: u64 = 3;

/// How a video is made.
pub(super) struct Video<'a> {
    pub(super) ffmpeg: &'a Ffmpeg,
    pub(super) guard: Option<&'a Guard>,
    pub(super) encoder: &'a str,
    pub(super) to: &'a Path,
}

/// Takes the frames.
pub(super) struct Sink<'a> {
    pub(super) video: Video<'a>,
    pub(super) run: &'a mut RunWriter,
    pub(super) bar: &'a ProgressBar,
    pub(super) tenant: &'a str,
}

/// What became of the frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Written into the video.
    pub(super) frames: u64,
    /// Of these, with the detector's answer.
    pub(super) inferred: u64,
    pub(super) boxes: u64,
    /// Frames that are not in the video, since they could not be read.
    pub(super) unread: u64,
    /// Frames in the video without the detector's answer.
    pub(super) undetected: u64,
    /// Why the first of these was.
    pub(super) why: Option<String>,
    /// Of the images.
    pub(super) size: Option<Size>,
    pub(super) busy: Busy,
    /// When the video was whole.
    pub(super) ended: Option<Stamp>,
}

impl Sink<'_> {
    /// Takes frames until no more come, and makes the video whole.
    ///
    /// # Errors
    /// The encoder or the run file takes no more.
    pub(super) fn take_all(
        mut self,
        from: &Receiver<Task>,
        free: &SyncSender<Task>,
    ) -> anyhow::Result<Written> {
        let mut written = Written::default();
        let mut encoder = None;
        for mut task in from {
            let began = now();
            if let Err(error) = self.encode(&mut encoder, &mut task, &mut written) {
                self.record(&task, began, began)?;
                return Err(error.into());
            }
            let ended = now();
            task.busy.0[5] = ended - began;
            written.busy.add(task.busy);
            self.count(&task, &mut written)?;
            self.record(&task, began, ended)?;
            self.bar.inc(1);
            // At the end nobody takes them any more.
            let _ = free.send(task);
        }
        if let Some(encoder) = encoder {
            encoder.finish()?;
            written.ended = Some(now());
        }
        Ok(written)
    }

    fn encode(
        &self,
        encoder: &mut Option<Encoder>,
        task: &mut Task,
        written: &mut Written,
    ) -> Result<(), VideoError> {
        let at = task.frame.captured.map_or(0, |at| at.0);
        let Some(image) = task.image() else {
            return Ok(());
        };
        let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let Some(size) = Size::new(side(image.width), side(image.height)) else {
            return Ok(());
        };
        let encoder = match encoder {
            Some(encoder) => encoder,
            None => {
                let Video {
                    ffmpeg,
                    guard,
                    encoder: name,
                    to,
                } = self.video;
                written.size = Some(size);
                // By the thread that also ends it: the system ends it with this thread.
                encoder.insert(Encoder::start(
                    &ffmpeg.encode(to, name, size),
                    guard,
                    size,
                    &Writing::default(),
                )?)
            }
        };
        encoder.frame(&image.rgb, at)
    }

    fn count(&mut self, task: &Task, written: &mut Written) -> Result<(), RecordError> {
        match (task.has_image, &task.problem) {
            (true, None) => {
                written.inferred += 1;
                written.boxes += task.found.len() as u64;
            }
            (true, Some(_)) => written.undetected += 1,
            (false, _) => written.unread += 1,
        }
        written.frames += u64::from(task.has_image);
        if let Some(problem) = &task.problem {
            if written.unread + written.undetected <= TOLD {
                let message = format!(
                    "tenant {}: frame {}: {problem}",
                    self.tenant, task.record.sequence
                );
                log::info!("{message}");
                self.run.log(&LogRecord {
                    at: task.record.finished,
                    level: "warn".to_owned(),
                    message,
                })?;
            }
            written.why.get_or_insert_with(|| problem.clone());
        }
        Ok(())
    }

    fn record(&mut self, task: &Task, began: Stamp, ended: Stamp) -> anyhow::Result<()> {
        let record = &task.record;
        let all = || {
            self.run.frame(record)?;
            if record.outcome == Outcome::Completed && !task.found.is_empty() {
                self.run.detections(&DetectionsRecord {
                    tenant: record.tenant,
                    sequence: record.sequence,
                    source_index: record.source_index,
                    at: record.finished,
                    detections: task.found.clone(),
                })?;
            }
            if task.has_image {
                let spans = [("draw", task.drawn), ("encode", (began, ended))];
                for (track, (path, (from, to))) in (0..).zip(spans) {
                    self.run.range(&RangeRecord {
                        tenant: record.tenant,
                        track,
                        from,
                        to,
                        path: path.to_owned(),
                        batch: Some(record.sequence),
                        items: None,
                    })?;
                }
            }
            self.run.tick(ended)
        };
        let mut all = all;
        all().context("the run file cannot be written")
    }
}
