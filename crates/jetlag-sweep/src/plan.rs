//! What is varied, and which combinations are run. A grid is counted before it is written out, so that a huge one is only a number.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use jetlag_record::nearest::nearest;
use serde::{Deserialize, Serialize};

use super::error::PlanError;
use super::pick::pick;

/// Combinations that are looked at one by one.
const MOST_POINTS: u128 = 2_000_000;

/// Runs that one folder keeps.
pub const MOST_RUNS: u64 = 100_000;

/// A value at a path of the scenario, as `--set` takes it: `path=value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Fields joined by dots: `tenants.camera.arrival.hz`.
    pub path: String,
    /// As typed.
    pub value: String,
}

impl Setting {
    /// A value at a path.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Self {
        Setting {
            path: path.into(),
            value: value.into(),
        }
    }

    /// From `path=value`; none without an equals sign.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, value) = text.split_once('=')?;
        Some(Setting::new(path.trim(), value.trim()))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.path, self.value)
    }
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The path that it sets.
    pub set: String,
    /// Its values, in the order in which it grows.
    pub values: Vec<String>,
    /// Whether greater values are left out once a value has failed, all other axes equal.
    #[serde(default)]
    pub till_first_fail: bool,
}

impl Axis {
    /// An axis of these values.
    pub fn of<const N: usize>(set: &str, values: [&str; N]) -> Self {
        Axis {
            set: set.to_owned(),
            values: values.map(str::to_owned).into(),
            till_first_fail: false,
        }
    }
}

/// Which combinations of the axes are run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// All.
    #[default]
    Grid,
    /// So many of them, drawn without putting back.
    Sample {
        /// How many.
        count: u64,
        /// What they are drawn with.
        seed: u64,
    },
    /// These, whatever the axes are.
    Points(Vec<Vec<Setting>>),
}

/// In which order points are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The last axis grows first.
    #[default]
    AsWritten,
    /// Drawn anew for each repeat.
    Random {
        /// What it is drawn with.
        seed: u64,
    },
}

/// A sweep, as far as points and their order go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What is varied.
    pub axes: Vec<Axis>,
    /// Which combinations.
    pub choice: Choice,
    /// Combinations that are not run: all points that have each of these settings.
    pub without: Vec<Vec<Setting>>,
    /// The order of points.
    pub order: Order,
    /// Runs of each point, at least one.
    pub repeats: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            axes: Vec::new(),
            choice: Choice::Grid,
            without: Vec::new(),
            order: Order::AsWritten,
            repeats: 1,
        }
    }
}

/// One combination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// What it sets, in the order of the axes.
    pub settings: Vec<Setting>,
    /// The position of its value on each axis; empty for a point that was named.
    pub places: Vec<usize>,
}

impl Point {
    /// What it is known by: equal settings have equal ids, also in another plan.
    pub fn id(&self) -> String {
        id(&self.settings)
    }

    /// Its settings, as a message has them.
    pub fn shown(&self) -> String {
        shown(&self.settings)
    }
}

/// Twelve hexadecimal digits of a hash of the settings.
pub(crate) fn id(settings: &[Setting]) -> String {
    let mut hasher = blake3::Hasher::new();
    for setting in settings {
        for text in [&setting.path, &setting.value] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

pub(crate) fn shown(settings: &[Setting]) -> String {
    let all: Vec<String> = settings.iter().map(Setting::to_string).collect();
    match all.is_empty() {
        true => "the base as it is".to_owned(),
        false => all.join(" "),
    }
}

impl Plan {
    /// Combinations before anything is excluded; beyond what a number holds, the largest number.
    pub fn size(&self) -> u128 {
        match &self.choice {
            Choice::Points(points) => points.len() as u128,
            Choice::Sample { count, .. } => u128::from(*count).min(self.grid()),
            Choice::Grid => self.grid(),
        }
    }

    fn grid(&self) -> u128 {
        self.axes
            .iter()
            .fold(1_u128, |all, axis| all.saturating_mul(axis.values.len() as u128))
    }

    /// The paths that are set, in the order of the table's columns.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.axes.iter().map(|axis| axis.set.clone()).collect();
        if let Choice::Points(points) = &self.choice {
            for setting in points.iter().flatten() {
                if !paths.contains(&setting.path) {
                    paths.push(setting.path.clone());
                }
            }
        }
        paths
    }

    /// The combinations that are run, in the order of the axes.
    ///
    /// # Errors
    /// Too many, none, or something twice.
    pub fn points(&self) -> Result<Vec<Point>, PlanError> {
        self.check()?;
        let points = match &self.choice {
            Choice::Points(points) if points.is_empty() => return Err(PlanError::NoPoints),
            Choice::Points(points) => self.named(points)?,
            Choice::Sample { count, seed } => {
                if u128::from(*count) > MOST_POINTS {
                    return Err(PlanError::LargeSample {
                        count: *count,
                        most: MOST_POINTS,
                    });
                }
                pick(self.grid(), *count, *seed, |index| {
                    let point = self.at(index);
                    (!self.excludes(&point.settings)).then_some(point)
                })
            }
            Choice::Grid => {
                let size = self.grid();
                if size > MOST_POINTS {
                    return Err(self.too_many(size));
                }
                (0..size)
                    .map(|index| self.at(index))
                    .filter(|point| !self.excludes(&point.settings))
                    .collect()
            }
        };
        if points.is_empty() {
            return Err(PlanError::NothingLeft);
        }
        let runs = points.len() as u128 * u128::from(self.repeats);
        if runs > u128::from(MOST_RUNS) {
            return Err(PlanError::TooManyRuns {
                points: points.len() as u64,
                repeats: self.repeats,
                runs,
                most: MOST_RUNS,
            });
        }
        Ok(points)
    }

    fn too_many(&self, points: u128) -> PlanError {
        PlanError::TooManyPoints {
            points,
            most: MOST_POINTS,
        }
    }

    /// The point at a position of the grid: the last axis grows first.
    fn at(&self, index: u128) -> Point {
        let mut rest = index;
        let mut places = vec![0; self.axes.len()];
        for (place, axis) in places.iter_mut().zip(&self.axes).rev() {
            let length = (axis.values.len() as u128).max(1);
            *place = (rest % length) as usize;
            rest /= length;
        }
        let settings = self
            .axes
            .iter()
            .zip(&places)
            .filter_map(|(axis, &place)| Some(Setting::new(&axis.set, axis.values.get(place)?)))
            .collect();
        Point { settings, places }
    }

    fn named(&self, points: &[Vec<Setting>]) -> Result<Vec<Point>, PlanError> {
        if points.len() as u128 > MOST_POINTS {
            return Err(self.too_many(points.len() as u128));
        }
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for settings in points {
            let mut sorted: Vec<&Setting> = settings.iter().collect();
            sorted.sort();
            if let Some([first, _]) = sorted.windows(2).find(|two| two[0].path == two[1].path) {
                return Err(PlanError::SamePath {
                    point: shown(settings),
                    path: first.path.clone(),
                });
            }
            if !seen.insert(sorted) {
                return Err(PlanError::SamePoint {
                    point: shown(settings),
                });
            }
            if !self.excludes(settings) {
                all.push(Point {
                    settings: settings.clone(),
                    places: Vec::new(),
                });
            }
        }
        Ok(all)
    }

    fn excludes(&self, settings: &[Setting]) -> bool {
        self.without
            .iter()
            .any(|all| !all.is_empty() && all.iter().all(|one| settings.contains(one)))
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.repeats == 0 {
            return Err(PlanError::NoRepeats);
        }
        let mut axes = HashSet::new();
        for axis in &self.axes {
            if axis.values.is_empty() {
                return Err(PlanError::NoValues {
                    axis: axis.set.clone(),
                });
            }
            if !axes.insert(&axis.set) {
                return Err(PlanError::SameAxis {
                    axis: axis.set.clone(),
                });
            }
            let mut values = HashSet::new();
            if let Some(value) = axis.values.iter().find(|value| !values.insert(*value)) {
                return Err(PlanError::SameValue {
                    axis: axis.set.clone(),
                    value: value.clone(),
                });
            }
        }
        self.check_exclusions()
    }

    /// An exclusion that excludes nothing is a misspelt one.
    fn check_exclusions(&self) -> Result<(), PlanError> {
        let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for axis in &self.axes {
            known
                .entry(&axis.set)
                .or_default()
                .extend(axis.values.iter().map(String::as_str));
        }
        if let Choice::Points(points) = &self.choice {
            for setting in points.iter().flatten() {
                known.entry(&setting.path).or_default().push(&setting.value);
            }
        }
        for setting in self.without.iter().flatten() {
            let why = match known.get(setting.path.as_str()) {
                None => {
                    let paths: Vec<&str> = known.keys().copied().collect();
                    let meant = nearest(&setting.path, paths.iter().copied());
                    format!(
                        "but no axis sets that path{}; the axes set {}",
                        did_you_mean(meant),
                        paths.join(", ")
                    )
                }
                Some(values) if !values.contains(&setting.value.as_str()) => {
                    let meant = nearest(&setting.value, values.iter().copied());
                    format!("but that axis has no such value{}", did_you_mean(meant))
                }
                Some(_) => continue,
            };
            return Err(PlanError::UnknownExclusion {
                path: setting.path.clone(),
                value: setting.value.clone(),
                why,
            });
        }
        Ok(())
    }
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean {name}?"))
        .unwrap_or_default()
}
