//! Choosing scenes and a channel, and checking before anything runs which of their files are there.

use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::Arc;

use jetlag_record::nearest::nearest;

use super::NuScenes;
use super::field::Wrong;
use super::keys::linked;
use super::recording::{DatasetFrame, Recording};
use super::token::shortened;
use crate::error::{DatasetError, Named};
use crate::missing::Search;
use crate::table_error::{FieldProblem, TableError};
use crate::timeline::{SceneTime, Span, TimeLine};

/// What of a dataset is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// In which scenes.
    pub scenes: Scenes,
    /// Of which sensor: `LIDAR_TOP`, `CAM_FRONT`, …
    pub channel: String,
    /// Only the annotated captures (2 Hz in nuScenes), or all (20 Hz of LIDAR_TOP, 12 Hz of cameras).
    pub key_frames: bool,
    /// How many sweeps make up a frame, itself among them; 0 is taken as 1.
    pub sweeps: usize,
}

/// Scenes of a dataset. They come in the dataset's order and once each, however they are named, so that two selections of the
/// same scenes have the same time line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenes {
    /// Every one.
    All,
    /// Those of these names: `scene-0061`.
    Names(Vec<String>),
    /// Those of these numbers, from 0.
    Numbers(Vec<usize>),
}

impl Selection {
    /// Everything that a channel recorded, one sweep a frame.
    pub fn of(channel: &str) -> Self {
        Selection {
            scenes: Scenes::All,
            channel: channel.to_owned(),
            key_frames: false,
            sweeps: 1,
        }
    }
}

impl NuScenes {
    /// The frames of a selection. Those of which a file is not on the disk are left out ([`Recording::missing`]): archives of nuScenes are
    /// large, and many have only some.
    ///
    /// # Errors
    /// A scene or channel that the dataset does not have; nothing recorded by the channel in these scenes; several sweeps where
    /// there are no poses; links that lead in a circle; no frame whose files are on the disk.
    pub fn select(&self, selection: &Selection) -> Result<Recording, DatasetError> {
        self.frames_of(selection, true)
    }

    /// The same frames without looking for their files: for those who read the tables alone.
    ///
    /// # Errors
    /// As [`select`](Self::select), but for files.
    pub fn select_of_tables(&self, selection: &Selection) -> Result<Recording, DatasetError> {
        self.frames_of(selection, false)
    }

    fn frames_of(&self, selection: &Selection, with_files: bool) -> Result<Recording, DatasetError> {
        let scenes = self.chosen(&selection.scenes)?;
        let channel = self.channel(&selection.channel)?;
        let nothing = |why: String| DatasetError::Nothing { why };
        if scenes.is_empty() {
            let why = format!(
                "no scene is named; {} has {}",
                self.folder.display(),
                self.scenes.len()
            );
            return Err(nothing(why));
        }
        let spans = scenes.iter().map(|scene| (*scene, self.spans(*scene)));
        let time_line = TimeLine::new(spans)
            .ok_or_else(|| nothing(format!("no sensor recorded anything in {}", self.named(&scenes))))?;
        let sweeps = selection.sweeps.max(1);
        if sweeps > 1 && self.captures.poses.is_empty() {
            return Err(DatasetError::NoPose {
                folder: self.folder.clone(),
                channel: selection.channel.clone(),
                sweeps,
            });
        }
        let mut recording = Recording {
            time_line: time_line.clone(),
            captures: Vec::new(),
            previous: Vec::new(),
            frames: Vec::new(),
            sweeps,
            missing: None,
        };
        let mut is_there = Vec::new();
        let mut search = with_files.then(Search::default);
        let mut whole = Vec::new();
        for scene in &time_line.scenes {
            let missing = search.as_ref().map(Search::missing);
            self.record(scene, channel, selection.key_frames, &mut recording)?;
            if let Some(search) = &mut search {
                for capture in &recording.captures[is_there.len()..] {
                    let name = capture.file.strip_prefix(&self.root).unwrap_or(&capture.file);
                    is_there.push(search.look(&capture.file, &name.to_string_lossy()));
                }
            }
            if missing == search.as_ref().map(Search::missing) {
                whole.push(self.scenes[scene.scene].clone());
            }
        }
        if recording.frames.is_empty() {
            let kind = if selection.key_frames { "keyframe" } else { "frame" };
            return Err(nothing(format!(
                "{} has no {kind} in {}; name another channel or other scenes",
                selection.channel,
                self.named(&scenes)
            )));
        }
        if let Some(search) = search {
            let data = self.folder.join("sample_data.json");
            if let Err(missing) = search.end(&selection.channel, &self.root, &data, &whole) {
                recording.keep(&is_there);
                if recording.frames.is_empty() {
                    return Err(missing.into());
                }
                recording.missing = Some(missing);
            }
        }
        Ok(recording)
    }

    /// Adds what a channel recorded in one scene.
    fn record(
        &self,
        scene: &SceneTime,
        channel: usize,
        key_frames: bool,
        recording: &mut Recording,
    ) -> Result<(), TableError> {
        let rows = self.scene_captures(scene.scene).iter().map(|row| *row as usize);
        let rows: Vec<usize> = rows.filter(|row| self.channel_of(*row) == channel).collect();
        let is_frame = |row: usize| !key_frames || self.captures.rows[row].is_key_frame;
        // How many sweeps before it each capture has yet to give, from the newest to the oldest.
        let mut owes: HashMap<usize, usize> = HashMap::new();
        let mut links: HashMap<usize, usize> = HashMap::new();
        for row in rows.iter().rev() {
            let mut owed = owes.get(row).copied().unwrap_or(0);
            if is_frame(*row) {
                owed = recording.sweeps;
            }
            if owed > 1
                && let Some(before) = self.before(*row)?
            {
                links.insert(*row, before);
                let known = owes.entry(before).or_default();
                *known = (*known).max(owed - 1);
            }
        }
        let mut places: HashMap<usize, usize> = HashMap::new();
        for row in rows {
            if !is_frame(row) && !owes.contains_key(&row) {
                continue;
            }
            let place = recording.captures.len();
            places.insert(row, place);
            if is_frame(row) {
                recording.frames.push(place);
            }
            // Earlier ones have their place already.
            let before = links.get(&row).and_then(|before| places.get(before));
            recording.previous.push(before.copied());
            self.is_within(row)?;
            recording.captures.push(self.frame(row, scene));
        }
        Ok(())
    }

    fn frame(&self, row: usize, scene: &SceneTime) -> DatasetFrame {
        let capture = &self.captures.rows[row];
        DatasetFrame {
            file: self.root.join(self.captures.name(row)),
            token: self.captures.token(row).clone(),
            sample: self.samples.token(capture.sample).clone(),
            scene: scene.scene,
            captured: capture.time,
            offset: scene.offset + (capture.time - scene.first),
            is_key_frame: capture.is_key_frame,
            sensor: Arc::clone(&self.sensors.calibrated[capture.calibrated as usize]),
            ego_pose: linked(capture.pose).map(|pose| self.captures.poses[pose]),
            size: (capture.width > 0 && capture.height > 0).then_some([capture.width, capture.height]),
            sample_row: capture.sample,
        }
    }

    /// The file of a capture must lie within the dataset.
    fn is_within(&self, row: usize) -> Result<(), TableError> {
        let name = self.captures.name(row);
        let within = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        match Path::new(name).components().all(within) {
            true => Ok(()),
            false => Err(self.in_data(
                row,
                Wrong {
                    field: "filename",
                    problem: FieldProblem::Outside(shortened(name)),
                },
            )),
        }
    }

    /// What each channel recorded in a scene.
    fn spans(&self, scene: usize) -> Vec<Span> {
        let mut spans: Vec<Option<Span>> = vec![None; self.sensors.channels.len()];
        for row in self.scene_captures(scene) {
            let row = *row as usize;
            let (channel, time) = (self.channel_of(row), self.captures.rows[row].time);
            // They come in time order.
            let span = spans[channel].get_or_insert(Span {
                channel,
                first: time,
                last: time,
                count: 0,
            });
            span.last = time;
            span.count += 1;
        }
        spans.into_iter().flatten().collect()
    }

    /// The numbers of the scenes, rising.
    fn chosen(&self, scenes: &Scenes) -> Result<Vec<usize>, DatasetError> {
        let mut numbers = match scenes {
            Scenes::All => (0..self.scenes.len()).collect(),
            Scenes::Names(names) => {
                let number = |name: &String| self.scenes.iter().position(|scene| scene == name);
                let find = |name| number(name).ok_or_else(|| self.unknown(Named::Scene, name, &self.scenes));
                names.iter().map(find).collect::<Result<Vec<usize>, _>>()?
            }
            Scenes::Numbers(numbers) => numbers.clone(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.last() {
            Some(last) if *last >= self.scenes.len() => Err(DatasetError::NoScene {
                folder: self.folder.clone(),
                wanted: *last,
                scenes: self.scenes.len(),
            }),
            _ => Ok(numbers),
        }
    }

    fn channel(&self, wanted: &str) -> Result<usize, DatasetError> {
        let channel = self.channels().position(|channel| channel == wanted);
        channel.ok_or_else(|| {
            let there: Vec<String> = self.channels().map(str::to_owned).collect();
            self.unknown(Named::Channel, wanted, &there)
        })
    }

    fn unknown(&self, what: Named, wanted: &str, there: &[String]) -> DatasetError {
        DatasetError::Unknown {
            root: self.folder.clone(),
            what,
            wanted: wanted.to_owned(),
            nearest: nearest(wanted, there.iter().map(String::as_str)).map(str::to_owned),
            there: there.to_vec(),
        }
    }

    /// Scenes in words.
    fn named(&self, scenes: &[usize]) -> String {
        match scenes {
            [] => "no scene".to_owned(),
            [only] => self.scenes[*only].clone(),
            [first, .., last] => format!(
                "{} scenes, {} to {}",
                scenes.len(),
                self.scenes[*first],
                self.scenes[*last]
            ),
        }
    }
}
