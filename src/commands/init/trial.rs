//! A few frames through a proposal on the embedded backend: which order of colours and which scaling finds something.
//!
//! Nothing is timed, and no truth is known. More boxes, or surer ones, are not better: NanoDet finds four times as many with pixels that
//! are scaled wrongly. So the family's usual variant stays where it finds anything in most frames; only where it does not, that one is
//! taken whose boxes are most certain of themselves. What each found is told.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::names::plain;
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, BackendError, Program, Slot};
use crate::clock::{Clock, RealClock};
use crate::detector::camera::preprocess::Colour;
use crate::detector::network::stem;
use crate::detector::propose::{CameraDraft, Scaling};
use crate::detector::{Carry, Detection, Detector, spec};
use crate::scenario::{MAX_MEGAPIXELS, MAX_POINTS, PointFormat};
use crate::source::{Content, ContentKind, Frame, Source, SourceError, images, points};
use crate::tensor::TensorSet;
use crate::units::Nanos;

/// Frames that are tried.
const MOST_FRAMES: usize = 4;
/// After this no further frame is begun, so that of a slow network fewer are tried.
const BUDGET: Nanos = Nanos::from_secs(20);
/// Boxes of a frame that count, the best ones.
const COUNTED: usize = 3;
/// More boxes than this in one frame are noise.
const MOST_BOXES: usize = 100;
/// A few frames of a folder.
pub(super) struct Frames {
    folder: PathBuf,
    kind: ContentKind,
    frames: Vec<Frame>,
}

impl Frames {
    /// From a folder of images.
    pub(super) fn images(folder: &Path) -> Result<Frames, SourceError> {
        let mut source = images::open(folder, false, MAX_MEGAPIXELS)?;
        let count = source.files().len();
        Ok(Frames {
            folder: folder.to_owned(),
            kind: ContentKind::Image,
            frames: some(&mut source, count)?,
        })
    }

    /// From a folder of sweeps.
    pub(super) fn sweeps(folder: &Path) -> Result<Frames, SourceError> {
        let mut source = points::open(folder, false, PointFormat::Kitti, MAX_POINTS)?;
        let count = source.files().len();
        Ok(Frames {
            folder: folder.to_owned(),
            kind: ContentKind::Points,
            frames: some(&mut source, count)?,
        })
    }

    pub(super) fn kind(&self) -> ContentKind {
        self.kind
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// As a scenario's source, from this path.
    pub(super) fn source(&self, path: &str) -> String {
        match self.kind {
            ContentKind::Points => format!("Points({path:?})"),
            _ => format!("Images({path:?})"),
        }
    }

    fn words(&self) -> &'static str {
        match (self.kind, self.frames.len()) {
            (ContentKind::Points, 1) => "sweep",
            (ContentKind::Points, _) => "sweeps",
            (_, 1) => "image",
            _ => "images",
        }
    }
}

/// Frames spread over a source of so many.
fn some(source: &mut dyn Source, count: usize) -> Result<Vec<Frame>, SourceError> {
    let wanted = count.clamp(1, MOST_FRAMES);
    let step = (count / wanted).max(1) as u64;
    let mut frames = Vec::new();
    for number in 0..wanted {
        if number > 0 {
            source.skip(step - 1)?;
        }
        let mut frame = Frame::default();
        if !source.acquire(&mut frame)? {
            break;
        }
        source.decode(&mut frame)?;
        if !matches!(frame.content, Content::Empty) {
            frames.push(frame);
        }
    }
    Ok(frames)
}

/// One slot on the embedded backend, for one frame after the other.
pub(super) struct Bench {
    slot: Box<dyn Slot>,
    found: Vec<Detection>,
}

impl Bench {
    /// Opens the networks.
    pub(super) fn open(program: &Program) -> Result<Bench, BackendError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut slots = CpuBackend::new(threads, false).open(program, 1)?;
        let slot = slots
            .pop()
            .expect("one slot was asked for, and a backend makes as many");
        Ok(Bench {
            slot,
            found: Vec::new(),
        })
    }

    /// One frame through a detector of these networks; what was found.
    pub(super) fn execute(&mut self, detector: &mut Detector, frame: &Frame) -> anyhow::Result<&[Detection]> {
        let mut carry = Carry::default();
        detector
            .preprocess
            .run(frame, self.slot.tensors_mut(), &mut carry)?;
        self.slot.submit()?;
        self.slot.wait()?;
        detector
            .postprocess
            .run(self.slot.tensors(), &carry, &mut self.found)?;
        Ok(&self.found)
    }

    /// The tensors of the last frame.
    pub(super) fn tensors(&self) -> &TensorSet {
        self.slot.tensors()
    }
}

/// What a variant found in all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    frames: usize,
    /// Frames with a box, and not so many that they are noise.
    sensible: usize,
    boxes: usize,
    /// Sum of scores.
    scores: f64,
    merit: f64,
}

impl Found {
    fn add(&mut self, scores: &[f32]) {
        self.frames += 1;
        self.sensible += usize::from((1..=MOST_BOXES).contains(&scores.len()));
        self.boxes += scores.len();
        self.scores += scores.iter().copied().map(f64::from).sum::<f64>();
        self.merit += merit(scores);
    }

    fn words(&self) -> String {
        match self.boxes {
            0 => "nothing".to_owned(),
            1 => format!("1 box, score {:.2}", self.scores),
            boxes => format!("{boxes} boxes, mean score {:.2}", self.scores / boxes as f64),
        }
    }
}

/// How certain the best boxes of a frame, which come first, are of themselves: squares, so that one sure box is more than two vague
/// ones. So many that they are noise are none.
fn merit(scores: &[f32]) -> f64 {
    if scores.len() > MOST_BOXES {
        return 0.0;
    }
    let best = scores.iter().take(COUNTED);
    best.map(|score| f64::from(*score).powi(2)).sum()
}

/// The variant to take: the first, which is the usual one, where it finds something in at least half of the frames; else the one with
/// the most merit; none where nothing was found.
fn best(all: &[Found]) -> Option<usize> {
    let usual = all.first()?;
    if usual.sensible > 0 && 2 * usual.sensible >= usual.frames {
        return Some(0);
    }
    let (place, most) = all
        .iter()
        .map(|found| found.merit)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (most > 0.0).then_some(place)
}

/// A draft with every order of colours and every scaling, the family's own first.
fn variants(draft: &CameraDraft) -> Vec<CameraDraft> {
    let mut all = vec![draft.clone()];
    for scaling in [draft.scaling].into_iter().chain(Scaling::ALL) {
        for colour in [draft.colour, Colour::Rgb, Colour::Bgr] {
            let variant = CameraDraft {
                colour,
                scaling,
                ..draft.clone()
            };
            if !all.contains(&variant) {
                all.push(variant);
            }
        }
    }
    all
}

fn label(draft: &CameraDraft) -> String {
    format!("{:?}, {}", draft.colour, draft.scaling.words())
}

/// The variant of a draft that finds most, with the evidence: lines for a comment.
pub(super) fn of_camera(draft: &CameraDraft, network: &Path, frames: &Frames) -> (CameraDraft, Vec<String>) {
    match try_all(draft, network, frames) {
        Ok(tried) => tried,
        Err(error) => {
            let line = format!(
                "Colour and scaling are the family's usual ones; they could not be tried: {error:#}."
            );
            (draft.clone(), vec![line.replace(char::is_control, " ")])
        }
    }
}

fn try_all(
    draft: &CameraDraft,
    network: &Path,
    frames: &Frames,
) -> anyhow::Result<(CameraDraft, Vec<String>)> {
    let name = plain(&stem(network));
    let absolute = super::text_of(&std::path::absolute(network)?)?;
    let detector = |variant: &CameraDraft| {
        let text = variant.ron(&name, &absolute, &[]);
        spec::from_str(&text, &name, Path::new(""), &|_| None)
    };
    let variants = variants(draft);
    let mut bench = Bench::open(&detector(draft)?.program)?;
    let mut found = vec![Found::default(); variants.len()];
    let mut used = 0;
    let begun = RealClock.now();
    for frame in &frames.frames {
        // Frame by frame, so that all variants have seen the same when time is up.
        if used > 0 && RealClock.now() - begun > BUDGET {
            break;
        }
        for (variant, found) in variants.iter().zip(&mut found) {
            let mut detector = detector(variant)?;
            let boxes = bench.execute(&mut detector, frame)?;
            let scores: Vec<f32> = boxes.iter().map(|found| found.score).collect();
            found.add(&scores);
        }
        used += 1;
    }
    anyhow::ensure!(used > 0, "{} has no frame", frames.folder.display());
    let what = format!("{used} {} of {}", frames.words(), frames.folder.display());
    let chosen = best(&found);
    let mut lines = vec![match chosen {
        None => format!(
            "Tried on {what}: no colour order or scaling finds anything, so these are the family's usual ones."
        ),
        Some(0) => {
            format!("Tried on {what}: the family's usual colour order and scaling find something, and stay.")
        }
        Some(_) => format!(
            "Tried on {what}: with the family's usual colour order and scaling hardly anything is found."
        ),
    }];
    for (place, (variant, found)) in variants.iter().zip(&found).enumerate() {
        let mark = if chosen == Some(place) { "   <- taken" } else { "" };
        if found.boxes > 0 || place == 0 {
            lines.push(format!("  {:<34} {}{mark}", label(variant), found.words()));
        }
    }
    let lines = lines
        .iter()
        .map(|line| line.replace(char::is_control, " "))
        .collect();
    Ok((variants[chosen.unwrap_or(0)].clone(), lines))
}

/// What a detector finds in the frames, in a sentence.
pub(super) fn of_detector(mut detector: Detector, frames: &Frames) -> String {
    let mut try_frames = || -> anyhow::Result<Found> {
        let mut bench = Bench::open(&detector.program)?;
        let mut all = Found::default();
        for frame in &frames.frames {
            let found = bench
                .execute(&mut detector, frame)
                .with_context(|| format!("frame {}", frame.index))?;
            let scores: Vec<f32> = found.iter().map(|found| found.score).collect();
            all.add(&scores);
        }
        Ok(all)
    };
    let what = format!(
        "{} {} of {}",
        frames.frames.len(),
        frames.words(),
        frames.folder.display()
    );
    match try_frames() {
        Ok(found) => format!("in {what} it finds {}", found.words()),
        Err(error) => format!("{what} could not be tried: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scores: &[f32]) -> Found {
        let mut found = Found::default();
        found.add(scores);
        found
    }

    #[test]
    fn the_usual_variant_stays_where_it_finds_something() {
        assert_eq!(
            best(&[found(&[0.4]), found(&[0.9; 40])]),
            Some(0),
            "more boxes are not better"
        );
        assert_eq!(best(&[found(&[]), found(&[0.3]), found(&[0.5])]), Some(2));
        assert_eq!(best(&[found(&[]), found(&[])]), None);
        assert_eq!(best(&[]), None);
        assert_eq!(
            best(&[found(&[]), found(&[0.3]), found(&[0.3])]),
            Some(1),
            "the first of equals"
        );
        // In one frame of three there is something by chance.
        let mut usual = found(&[0.3]);
        usual.add(&[]);
        usual.add(&[]);
        assert_eq!(best(&[usual, found(&[0.9])]), Some(1));
    }

    #[test]
    fn a_frame_full_of_boxes_counts_for_nothing() {
        assert_eq!(best(&[found(&[0.9; 150]), found(&[0.5])]), Some(1));
        assert_eq!(found(&[0.5, 0.7]).words(), "2 boxes, mean score 0.60");
    }
}
