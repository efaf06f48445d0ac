//! What one channel recorded in the scenes selected: its frames, and of each the sweeps before it.

use std::path::PathBuf;
use std::sync::Arc;

use jetlag_record::units::Nanos;

use super::small::CalibratedSensor;
use super::token::Token;
use crate::error::Missing;
use crate::geometry::Pose;
use crate::sweeps::SweepPlace;
use crate::timeline::TimeLine;

/// One file of one sensor, with when and where it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetFrame {
    /// The file: an image, or points as [`crate::sweeps`] reads them.
    pub file: PathBuf,
    /// The row's token in table sample_data.
    pub token: Token,
    /// The token of the keyframe that it belongs to.
    pub sample: Token,
    /// The scene's number in the dataset.
    pub scene: usize,
    /// Capture time since 1970, as the table has it.
    pub captured: Nanos,
    /// Capture time from the origin of the selection's [`TimeLine`].
    pub offset: Nanos,
    /// Whether the keyframe is this very capture: the annotated one, in the folder `samples`.
    pub is_key_frame: bool,
    /// The sensor, and where it is on the car.
    pub sensor: Arc<CalibratedSensor>,
    /// Where the car was at the capture time: maps the ego frame into the global one. `None` where the dataset has no poses.
    pub ego_pose: Option<Pose>,
    /// Width and height in pixels, where the table has them.
    pub size: Option<[u32; 2]>,
    /// The keyframe's row in table sample.
    pub(super) sample_row: u32,
}

impl DatasetFrame {
    /// Maps the sensor's frame into the global one; `None` without ego pose.
    pub fn to_global(&self) -> Option<Pose> {
        Some(self.ego_pose?.after(&self.sensor.place))
    }
}

/// The frames of one channel of the scenes selected, in time order within a scene, the scenes in their order.
#[derive(Clone, Debug)]
pub struct Recording {
    /// When they come; the same for every channel of the same scenes.
    pub time_line: TimeLine,
    /// Every capture whose file is needed: the frames, and sweeps before them that are no frames themselves.
    pub(super) captures: Vec<DatasetFrame>,
    /// Of each capture, the one before it in the same scene.
    pub(super) previous: Vec<Option<usize>>,
    /// Which of the captures are frames.
    pub(super) frames: Vec<usize>,
    /// Sweeps to a frame, itself among them.
    pub(super) sweeps: usize,
    /// The files that are not there, whose frames are left out.
    pub(super) missing: Option<Box<Missing>>,
}

/// One of the sweeps that make up a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep<'a> {
    /// Its file, and when and where it was recorded.
    pub capture: &'a DatasetFrame,
    /// Where its points lie in the newest sweep's frame, and how much older they are.
    pub place: SweepPlace,
}

impl Recording {
    /// How many frames there are; never 0.
    #[allow(clippy::len_without_is_empty, reason = "an empty selection is an error")]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frame of this number, from 0.
    pub fn frame(&self, number: usize) -> Option<&DatasetFrame> {
        self.captures.get(*self.frames.get(number)?)
    }

    /// The frames in their order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &DatasetFrame> {
        self.frames.iter().map(|at| &self.captures[*at])
    }

    /// The files that the tables name for this selection and that are not there; the frames that need one of them are left out. `None`
    /// where nothing is missing, and where nobody looked.
    pub fn missing(&self) -> Option<&Missing> {
        self.missing.as_deref()
    }

    /// Leaves out the frames of which a file is not there, and the captures that no other frame needs.
    pub(super) fn keep(&mut self, is_there: &[bool]) {
        let needed =
            |frame: usize| std::iter::successors(Some(frame), |at| self.previous[*at]).take(self.sweeps);
        let whole = |frame: &usize| needed(*frame).all(|at| is_there[at]);
        let frames: Vec<usize> = self.frames.iter().copied().filter(whole).collect();
        let mut is_needed = vec![false; self.captures.len()];
        for frame in &frames {
            needed(*frame).for_each(|at| is_needed[at] = true);
        }
        let mut count = 0;
        let places: Vec<Option<usize>> = is_needed
            .iter()
            .map(|is_needed| {
                let place = is_needed.then_some(count);
                count += usize::from(*is_needed);
                place
            })
            .collect();
        self.frames = frames.iter().filter_map(|frame| places[*frame]).collect();
        let mut kept = is_needed.iter();
        self.captures.retain(|_| kept.next() == Some(&true));
        let before = std::mem::take(&mut self.previous);
        let kept = before.iter().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
        self.previous = kept
            .map(|(before, _)| before.and_then(|before| places[before]))
            .collect();
    }

    /// All files that are read for these frames: theirs, and those of the sweeps before them.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &std::path::Path> {
        self.captures.iter().map(|capture| capture.file.as_path())
    }

    /// The sweeps of the frame of this number, the newest (the frame itself) first: as many as were selected, or as the
    /// scene has up to there. Nothing for a number beyond the last frame. Allocates nothing.
    pub fn sweeps(&self, number: usize) -> impl Iterator<Item = Sweep<'_>> {
        let newest = self.frames.get(number).copied();
        let before = |at: &usize| self.previous[*at];
        std::iter::successors(newest, before)
            .take(self.sweeps)
            .map(move |at| {
                let capture = &self.captures[at];
                let newest = newest.map_or(capture, |newest| &self.captures[newest]);
                Sweep {
                    capture,
                    place: place(capture, newest),
                }
            })
    }
}

fn place(capture: &DatasetFrame, newest: &DatasetFrame) -> SweepPlace {
    let lag = newest.captured - capture.captured;
    match (newest.to_global(), capture.to_global()) {
        // Its own points stay exactly as they are.
        _ if capture.token == newest.token => SweepPlace::newest(),
        (Some(newest), Some(this)) => SweepPlace::new(&newest.inverse().after(&this), lag),
        // A selection of several sweeps without poses was refused.
        _ => SweepPlace::new(&Pose::NONE, lag),
    }
}
