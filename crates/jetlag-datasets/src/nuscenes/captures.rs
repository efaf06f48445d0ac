//! The two long tables: every file that a sensor wrote (sample_data), and where the car was then (ego_pose). 2.6 million rows
//! each in the whole of nuScenes, and so packed, and read side by side.

use std::path::Path;
use std::thread::ScopedJoinHandle;

use jetlag_record::units::Nanos;

use super::field::Wrong;
use super::keys::{Keys, NO_ROW, NewKeys};
use super::note::Loose;
use super::rows::{CaptureRow, PoseRow};
use super::small::{Samples, Sensors};
use super::table::read;
use super::token::Token;
use crate::geometry::Pose;
use crate::table_error::{FieldProblem, TableError};

/// One file of one sensor.
pub(super) struct Capture {
    pub(super) time: Nanos,
    /// Rows of the other tables; [`NO_ROW`] for a sample, a pose or a previous capture that there is none of.
    pub(super) sample: u32,
    pub(super) calibrated: u32,
    pub(super) pose: u32,
    pub(super) previous: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_key_frame: bool,
}

/// All captures with their files' names.
pub(super) struct Captures {
    pub(super) rows: Vec<Capture>,
    tokens: Vec<Token>,
    names: Names,
    pub(super) poses: Vec<Pose>,
}

impl Captures {
    pub(super) fn token(&self, row: usize) -> &Token {
        &self.tokens[row]
    }

    /// The file of a capture, counted from the dataset's root.
    pub(super) fn name(&self, row: usize) -> &str {
        self.names.get(row)
    }
}

/// Texts one behind the other: an allocation for each of millions would take as much again.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }
    fn get(&self, number: usize) -> &str {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[number]]
    }
}

/// What a row of sample_data refers to in the other long tables, until these are read.
struct Pending {
    pose: Option<Token>,
    previous: Option<Token>,
}

/// Reads both tables at once. Where `with_poses` is not, the captures have none.
pub(super) fn captures(
    folder: &Path,
    with_poses: bool,
    samples: &Samples,
    sensors: &Sensors,
    (loose_data, loose_poses): (&mut Loose, &mut Loose),
) -> Result<Captures, TableError> {
    let path = folder.join("sample_data.json");
    let mut read_poses = || match with_poses {
        true => poses(&folder.join("ego_pose.json"), loose_poses),
        false => Ok((Vec::new(), Keys::none("ego_pose"))),
    };
    let (data, beside) = std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().spawn_scoped(scope, &mut read_poses);
        let data = data(&path, samples, sensors, loose_data);
        // A thread that panics has met with a fault of ours, which goes on as one.
        let join = |thread: ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(poses) => poses,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (data, beside.ok().map(join))
    });
    let (mut rows, names, pending, keys) = data?;
    // Where the system has no thread to give, one table comes after the other.
    let (poses, pose_keys) = beside.unwrap_or_else(read_poses)?;
    let in_row = |number| {
        let path = &path;
        move |wrong: Wrong| wrong.in_row(path, number)
    };
    if !pose_keys.is_empty() {
        for (number, Pending { pose, .. }) in pending.iter().enumerate() {
            let row = match pose {
                // In nuScenes each capture has a pose of its own, in the same row.
                Some(token) => pose_keys.row("ego_pose_token", token, number as u32),
                None => Err(Wrong {
                    field: "ego_pose_token",
                    problem: FieldProblem::Absent {
                        wanted: "a token of table ego_pose",
                    },
                }),
            };
            rows[number].pose = row.map_err(in_row(number))?;
        }
    }
    drop(pose_keys); // Before the links are followed: it takes as much memory as the keys of sample_data.
    for (number, Pending { previous, .. }) in pending.iter().enumerate() {
        let guess = (number as u32).wrapping_sub(1);
        let row = keys.link("prev", previous.as_ref(), guess);
        let row = row.map_err(in_row(number))?;
        rows[number].previous = row;
    }
    Ok(Captures {
        rows,
        tokens: keys.into_tokens(),
        names,
        poses,
    })
}

type Data = (Vec<Capture>, Names, Vec<Pending>, Keys);

fn data(path: &Path, samples: &Samples, sensors: &Sensors, loose: &mut Loose) -> Result<Data, TableError> {
    let (mut rows, mut names) = (Vec::new(), Names::default());
    let (mut pending, mut keys) = (Vec::new(), NewKeys::of("sample_data"));
    let (mut sample, mut calibrated) = (0, 0);
    read(path, |_, row: CaptureRow| {
        keys.push(row.token.needed("token")?);
        let stamp = row.timestamp.needed("timestamp")?;
        loose.nanoseconds += usize::from(stamp.in_nanoseconds);
        // Often those of the row before.
        let token = row.sample_token.needed("sample_token")?;
        sample = samples.keys.get(&token, sample).unwrap_or(NO_ROW);
        let field = "calibrated_sensor_token";
        let token = row.calibrated_sensor_token.needed(field)?;
        calibrated = sensors.keys.row(field, &token, calibrated)?;
        rows.push(Capture {
            time: stamp.time,
            sample,
            calibrated,
            pose: NO_ROW,
            previous: NO_ROW,
            width: row.width.optional("width")?.map_or(0, |count| count.0),
            height: row.height.optional("height")?.map_or(0, |count| count.0),
            is_key_frame: row.is_key_frame.needed("is_key_frame")?,
        });
        names.push(&row.filename.needed("filename")?);
        pending.push(Pending {
            pose: row
                .ego_pose_token
                .optional("ego_pose_token")?
                .and_then(|link| link.0),
            previous: row.prev.optional("prev")?.and_then(|link| link.0),
        });
        Ok(())
    })?;
    Ok((rows, names, pending, keys.sorted(path)?))
}

fn poses(path: &Path, loose: &mut Loose) -> Result<(Vec<Pose>, Keys), TableError> {
    let (mut poses, mut keys) = (Vec::new(), NewKeys::of("ego_pose"));
    read(path, |_, row: PoseRow| {
        keys.push(row.token.needed("token")?);
        let rotation = row.rotation.needed("rotation")?;
        loose.matrices += usize::from(rotation.was_matrix);
        poses.push(Pose {
            translation: row.translation.needed("translation")?.0,
            rotation: rotation.turn,
        });
        Ok(())
    })?;
    Ok((poses, keys.sorted(path)?))
}
