//! nuScenes: its tables, and what a sensor of it recorded in the scenes that somebody selects.
//!
//! [`NuScenes::open`] reads the tables once, row by row; [`NuScenes::select`] gives the frames of one channel with their
//! files, times, poses and calibration; [`GroundTruth::read`] reads the annotations, which are long and not always wanted.
//! Files of sensors are looked for, and never opened. Of the thirteen tables, attribute, log and map are not read: nothing
//! here needs them.

mod captures;
mod chain;
mod field;
mod ground_truth;
mod keys;
mod note;
mod recording;
mod rows;
mod select;
mod small;
mod table;
mod token;
mod values;
mod version;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use ground_truth::{BoxFrame, GroundTruth, TrueBox, Visibility};
pub use note::Note;
pub use recording::{DatasetFrame, Recording, Sweep};
pub use select::{Scenes, Selection};
pub use small::CalibratedSensor;
pub use token::Token;

use crate::error::DatasetError;
use captures::Captures;
use keys::linked;
use note::Loose;
use small::{Samples, Sensors};

/// A version of a nuScenes dataset: its tables, put together.
pub struct NuScenes {
    root: PathBuf,
    folder: PathBuf,
    scenes: Vec<String>,
    samples: Arc<Samples>,
    sensors: Sensors,
    captures: Captures,
    /// Rows of sample_data, scene by scene and in time order within each.
    order: Vec<u32>,
    /// Of each scene, where its captures begin in `order`; and the end of the last.
    begins: Vec<usize>,
    notes: Vec<Note>,
}

/// The tables that there must be. Without ego_pose there are no poses, without those of annotations no ground truth.
const NEEDED: [&str; 5] = ["scene", "sample", "sensor", "calibrated_sensor", "sample_data"];

impl NuScenes {
    /// Reads the tables of a dataset: those of this version (`v1.0-mini`), or of the only one there is.
    ///
    /// The whole of nuScenes (2.6 million files) takes some seconds and below 2 GB, `v1.0-mini` below a second.
    ///
    /// # Errors
    /// No such folder or version, a table that is absent or damaged, a field that cannot be understood, a token that leads
    /// nowhere: with table, row and field.
    pub fn open(root: &Path, version: Option<&str>) -> Result<NuScenes, DatasetError> {
        let folder = version::folder(root, version)?;
        let file = |table: &str| folder.join(format!("{table}.json"));
        let tables: Vec<String> = NEEDED
            .iter()
            .filter(|table| !file(table).is_file())
            .map(|table| format!("{table}.json"))
            .collect();
        if !tables.is_empty() {
            return Err(DatasetError::NoTables { folder, tables });
        }
        let [mut of_samples, mut of_sensors, mut of_data, mut of_poses] = [const { Loose::NONE }; 4];
        let (scenes, scene_keys) = small::scenes(&file("scene"))?;
        let samples = small::samples(&file("sample"), &scene_keys, &mut of_samples)?;
        let sensors = small::sensors(&folder, &mut of_sensors)?;
        let with_poses = file("ego_pose").is_file();
        let captures = captures::captures(
            &folder,
            with_poses,
            &samples,
            &sensors,
            (&mut of_data, &mut of_poses),
        )?;
        let (order, begins) = in_order(scenes.len(), &samples, &captures);
        let strays = captures.rows.len() - order.len();
        let notes = of_samples
            .notes("sample")
            .chain(of_sensors.notes("calibrated_sensor"))
            .chain(of_data.notes("sample_data"))
            .chain(of_poses.notes("ego_pose"))
            .chain((strays > 0).then_some(Note::Strays { rows: strays }))
            .chain(captures.poses.is_empty().then_some(Note::NoPoses))
            .collect();
        Ok(NuScenes {
            root: root.to_owned(),
            folder,
            scenes,
            samples: Arc::new(samples),
            sensors,
            captures,
            order,
            begins,
            notes,
        })
    }

    /// What of the tables differs from the specification and was taken all the same.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The names of the scenes, in their order; a scene's number is its place here.
    pub fn scenes(&self) -> &[String] {
        &self.scenes
    }

    /// The names of the channels: of all sensors that the dataset knows, whether or not they recorded anything.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.sensors.channels.iter().map(|channel| &**channel)
    }

    /// The folder of the tables.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many files of sensors the tables name.
    pub fn captures(&self) -> usize {
        self.captures.rows.len()
    }

    /// The rows of sample_data of a scene, in time order.
    fn scene_captures(&self, scene: usize) -> &[u32] {
        &self.order[self.begins[scene]..self.begins[scene + 1]]
    }
}

/// Puts captures in the order of their scenes, and of time within each. Those of no scene are left out.
fn in_order(scenes: usize, samples: &Samples, captures: &Captures) -> (Vec<u32>, Vec<usize>) {
    let scene_of = |row: &u32| {
        let sample = linked(captures.rows[*row as usize].sample)?;
        Some(samples.rows[sample].scene as usize)
    };
    let rows = 0..captures.rows.len() as u32; // The reader admits no more.
    let mut order: Vec<u32> = rows.filter(|row| scene_of(row).is_some()).collect();
    // Stable: captures of one time stay as the table has them.
    order.sort_by_key(|row| (scene_of(row), captures.rows[*row as usize].time));
    let mut begins = vec![0; scenes + 1];
    for scene in order.iter().filter_map(scene_of) {
        begins[scene + 1] += 1;
    }
    for scene in 0..scenes {
        begins[scene + 1] += begins[scene];
    }
    (order, begins)
}
