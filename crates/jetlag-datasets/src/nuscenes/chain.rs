//! The captures before a capture, by the links `prev`.

use super::NuScenes;
use super::field::Wrong;
use super::keys::linked;
use crate::table_error::{FieldProblem, TableError};

impl NuScenes {
    /// The capture before this one in the same scene.
    ///
    /// # Errors
    /// A link to another channel, or to a capture that is not earlier: followed, it might lead in a circle.
    pub(super) fn before(&self, row: usize) -> Result<Option<usize>, TableError> {
        let captures = &self.captures.rows;
        let Some(previous) = linked(captures[row].previous) else {
            return Ok(None);
        };
        if self.scene_of(previous) != self.scene_of(row) {
            return Ok(None);
        }
        let wrong = |problem| Wrong {
            field: "prev",
            problem,
        };
        let channel = self.channel_of(previous);
        if channel != self.channel_of(row) {
            let channel = self.sensors.channels[channel].to_string();
            return Err(self.in_data(row, wrong(FieldProblem::OtherChannel(channel))));
        }
        if captures[previous].time >= captures[row].time {
            return Err(self.in_data(row, wrong(FieldProblem::NotEarlier)));
        }
        Ok(Some(previous))
    }

    /// The scene of a capture; `None` where its keyframe is not there.
    fn scene_of(&self, row: usize) -> Option<u32> {
        let sample = linked(self.captures.rows[row].sample)?;
        Some(self.samples.rows[sample].scene)
    }

    pub(super) fn channel_of(&self, row: usize) -> usize {
        let calibrated = self.captures.rows[row].calibrated;
        self.sensors.channel_of[calibrated as usize] as usize
    }

    pub(super) fn in_data(&self, row: usize, wrong: Wrong) -> TableError {
        wrong.in_row(&self.folder.join("sample_data.json"), row)
    }
}
