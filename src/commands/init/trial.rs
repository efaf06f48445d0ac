//! A few frames through a proposal on the embedded backend: which order of colours and which scaling finds something.
//!
//! Nothing is timed. `verdict` decides, and what each variant found is told.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::names::plain;
use super::verdict::{Found, Tried, Verdict, decide};
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, BackendError, Program, Slot};
use crate::clock::{Clock, RealClock};
use crate::detector::camera::preprocess::Colour;
use crate::detector::network::stem;
use crate::detector::propose::{CameraDraft, Confidence, Draft, Proposal, Scaling};
use crate::detector::{Carry, Detection, Detector, spec};
use crate::scenario::{BagSpec, MAX_MEGAPIXELS, MAX_POINTS, PointFormat, Reading, RecordingSpec, StampOf};
use crate::source::recordings::Opened;
use crate::source::{Content, ContentKind, Frame, Source, SourceError, images, points};
use crate::tensor::TensorSet;
use crate::units::Nanos;

/// Proposals that are tried.
const MOST_PROPOSALS: usize = 3;
/// Frames that are tried.
const MOST_FRAMES: usize = 4;
/// After this no further frame is begun, so that of a slow network fewer are tried.
const BUDGET: Nanos = Nanos::from_secs(20);

/// A few frames of a folder or a bag.
pub(super) struct Frames {
    /// The folder or the bag.
    path: PathBuf,
    /// Of a bag.
    topic: Option<String>,
    kind: ContentKind,
    frames: Vec<Frame>,
}

impl Frames {
    /// From a folder of images.
    pub(super) fn images(folder: &Path) -> Result<Frames, SourceError> {
        let listed = images::open(folder, false, MAX_MEGAPIXELS)?;
        let count = listed.files().len();
        let mut source = listed.read(Reading::default())?;
        Ok(Frames {
            path: folder.to_owned(),
            topic: None,
            kind: ContentKind::Image,
            frames: some(&mut source, count)?,
        })
    }

    /// From a folder of sweeps.
    pub(super) fn sweeps(folder: &Path) -> Result<Frames, SourceError> {
        let listed = points::open(folder, false, PointFormat::Kitti, MAX_POINTS)?;
        let count = listed.files().len();
        let mut source = listed.read(Reading::default())?;
        Ok(Frames {
            path: folder.to_owned(),
            topic: None,
            kind: ContentKind::Points,
            frames: some(&mut source, count)?,
        })
    }

    /// From a topic of a bag.
    pub(super) fn bag(path: &Path, topic: &str) -> Result<Frames, SourceError> {
        let spec = BagSpec {
            path: path.to_owned(),
            topic: topic.to_owned(),
            from: Nanos::ZERO,
            to: None,
            by: StampOf::Log, // Topics whose stamps are of another clock have frames too.
            common: RecordingSpec {
                repeat: false,
                max_megapixels: MAX_MEGAPIXELS,
                max_points: MAX_POINTS,
                reading: Reading::Ahead { frames: 0 },
            },
        };
        let mut source = Opened::default().bag(&spec)?;
        let info = source.info();
        let count = usize::try_from(info.frames.unwrap_or_default()).unwrap_or(usize::MAX);
        Ok(Frames {
            path: path.to_owned(),
            topic: Some(topic.to_owned()),
            kind: info.kind,
            frames: some(&mut source, count)?,
        })
    }

    pub(super) fn kind(&self) -> ContentKind {
        self.kind
    }

    /// The folder or the bag.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The topic, of a bag.
    pub(super) fn topic(&self) -> Option<&str> {
        self.topic.as_deref()
    }

    /// As a scenario's source, from this path.
    pub(super) fn source(&self, path: &str) -> String {
        match (&self.topic, self.kind) {
            (Some(topic), _) => format!("Bag(path: {path:?}, topic: {topic:?})"),
            (None, ContentKind::Points) => format!("Points({path:?})"),
            (None, _) => format!("Images({path:?})"),
        }
    }

    /// Where they are from, in words: `scenes/image_2`, `/lidar in drive.mcap`.
    fn place(&self) -> String {
        match &self.topic {
            Some(topic) => format!("{topic} in {}", self.path.display()),
            None => self.path.display().to_string(),
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
        if !matches!(frame.content(), Content::Empty) {
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
        let mut slots = CpuBackend::new(threads, false).open(program, 1)?.slots;
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
            let makes_same =
                |other: &CameraDraft| other.colour == colour && other.scaling.makes_same_as(scaling);
            if !all.iter().any(makes_same) {
                all.push(variant);
            }
        }
    }
    all
}

fn label(draft: &CameraDraft) -> String {
    format!("{:?}, {}", draft.colour, draft.scaling.words())
}

/// What a trial of the proposals made of them.
pub(super) struct Outcome {
    /// The place of the proposal to take.
    pub(super) place: usize,
    /// Its draft, with the colours and scaling that find something.
    pub(super) draft: CameraDraft,
    /// Whether it finds more than chance.
    pub(super) finds: bool,
    /// The evidence: lines for a comment.
    pub(super) lines: Vec<String>,
}

/// Tries the best proposal, and those after it where the best finds nothing and its file does not say that it is it. The best is a
/// camera's where there are images.
pub(super) fn of_proposals(proposals: &[Proposal], network: &Path, frames: &Frames) -> Option<Outcome> {
    let mut tried: Option<Outcome> = None;
    for (place, proposal) in proposals.iter().enumerate().take(MOST_PROPOSALS) {
        let Draft::Camera(draft) = &proposal.draft else {
            continue;
        };
        let (draft, finds, lines) = of_camera(draft, network, frames);
        let outcome = Outcome {
            place,
            draft,
            finds,
            lines,
        };
        match &mut tried {
            None => tried = Some(outcome),
            Some(first) if outcome.finds => {
                let because = format!(
                    "As {} it finds nothing that is more than chance, and as {} it does.",
                    proposals[first.place].family, proposal.family
                );
                let lines = std::iter::once(because).chain(outcome.lines).collect();
                return Some(Outcome { lines, ..outcome });
            }
            Some(_) => {}
        }
        let is_settled = Confidence::of(proposals) == Some(Confidence::Stated);
        if is_settled || tried.as_ref().is_some_and(|first| first.finds) {
            break;
        }
    }
    tried
}

/// The variant of a draft that finds most, whether that is more than chance, and the evidence.
fn of_camera(draft: &CameraDraft, network: &Path, frames: &Frames) -> (CameraDraft, bool, Vec<String>) {
    if draft.batch > 1 {
        let line = format!(
            "Colour and scaling are the family's usual ones, not tried: the network takes {} images at once.",
            draft.batch
        );
        return (draft.clone(), false, vec![line]);
    }
    match try_all(draft, network, frames) {
        Ok(tried) => tried,
        Err(error) => {
            let line = format!(
                "Colour and scaling are the family's usual ones; they could not be tried: {error:#}."
            );
            (draft.clone(), false, vec![line.replace(char::is_control, " ")])
        }
    }
}

fn try_all(
    draft: &CameraDraft,
    network: &Path,
    frames: &Frames,
) -> anyhow::Result<(CameraDraft, bool, Vec<String>)> {
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
    anyhow::ensure!(used > 0, "{} has no frame", frames.place());
    let what = format!("{used} {} of {}", frames.words(), frames.place());
    let tried: Vec<Tried> = variants
        .iter()
        .zip(&found)
        .map(|(variant, found)| Tried {
            colour: variant.colour,
            scaling: variant.scaling,
            found: *found,
        })
        .collect();
    let verdict = decide(&tried);
    let mut lines = vec![match verdict {
        Verdict::Usual => {
            format!("Tried on {what}: the family's usual colour order and scaling find something, and stay.")
        }
        Verdict::Other(_) => format!(
            "Tried on {what}: with the family's usual colour order and scaling hardly anything is found, and with these much more."
        ),
        Verdict::Undecided(doubt) => format!(
            "Tried on {what}: undecided, so the family's usual colour order and scaling stay; {}.",
            doubt.words()
        ),
    }];
    for (place, (variant, found)) in variants.iter().zip(&found).enumerate() {
        let mark = if verdict.place() == place {
            "   <- taken"
        } else {
            ""
        };
        if found.boxes > 0 || place == 0 {
            lines.push(format!("  {:<34} {}{mark}", label(variant), found.words()));
        }
    }
    let lines = lines
        .iter()
        .map(|line| line.replace(char::is_control, " "))
        .collect();
    let finds = !matches!(verdict, Verdict::Undecided(_));
    Ok((variants[verdict.place()].clone(), finds, lines))
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
    let what = format!("{} {} of {}", frames.frames.len(), frames.words(), frames.place());
    match try_frames() {
        Ok(found) => format!("in {what} it finds {}", found.words()),
        Err(error) => format!("{what} could not be tried: {error:#}"),
    }
}
