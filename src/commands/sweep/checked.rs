//! Tries all points before the first run: what makes no scenario is told then, and not after a night.

use std::collections::HashSet;
use std::path::Path;

use jetlag_sweep::{Point, Setting};

use crate::commands::outcome::WrongUse;
use crate::files;
use crate::scenario::{self, ResolveEnv, Scenario};
use crate::units::Bytes;

/// Points that are tried one by one. Of more, every value of every axis is tried with the first values of the others.
const ALL: usize = 20_000;
/// Problems that are told.
const TOLD: usize = 20;
/// As long as a scenario may be.
const LONGEST: Bytes = Bytes(1 << 20);

/// What is done with the scenario of a point.
pub(in crate::commands) type Each<'a> = dyn FnMut(&Scenario) -> anyhow::Result<()> + 'a;

/// The base scenario: its text, and how it is known.
pub(in crate::commands) struct Base {
    pub(super) text: String,
    pub(super) hash: String,
    /// Overrides of all runs.
    pub(super) sets: Vec<String>,
}

impl Base {
    /// Reads it.
    pub(in crate::commands) fn read(path: &Path, sets: &[String]) -> Result<Base, WrongUse> {
        let text = text(path)?;
        Ok(Base {
            hash: hash(&text, sets),
            text,
            sets: sets.to_vec(),
        })
    }

    /// How it is known where it has these overrides.
    pub(in crate::commands) fn hash_with(&self, sets: &[String]) -> String {
        hash(&self.text, sets)
    }

    /// The scenario of these settings, where that is one.
    pub(in crate::commands) fn with(
        &self,
        path: &Path,
        settings: &[Setting],
        env: &ResolveEnv,
    ) -> Option<Scenario> {
        let (name, sets) = (path.display().to_string(), overrides(self, settings));
        scenario::from_str(&self.text, &name, folder_of(path), &sets, env).ok()
    }

    /// Whether its file still has the text that was read.
    pub(super) fn is_unchanged(&self, path: &Path) -> bool {
        text(path).is_ok_and(|text| text == self.text)
    }
}

fn text(path: &Path) -> Result<String, WrongUse> {
    files::read_given_text(path, LONGEST)
        .map_err(|error| WrongUse(format!("cannot read the scenario {}: {error}", path.display())))
}

fn hash(text: &str, sets: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for set in sets {
        hasher.update(&[0]);
        hasher.update(set.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The settings of a point as overrides, after those of all runs.
pub(super) fn overrides(base: &Base, settings: &[Setting]) -> Vec<String> {
    let own = settings.iter().map(Setting::to_string);
    base.sets.iter().cloned().chain(own).collect()
}

/// Resolves the scenario of every point; all mistakes at once, each once. Returns that of the first; `each` is shown every one.
pub(super) fn points(
    path: &Path,
    base: &Base,
    points: &[Point],
    env: &ResolveEnv,
    each: &mut Each<'_>,
) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let folder = folder_of(path);
    let (mut first, mut told): (Option<Scenario>, Vec<String>) = (None, Vec::new());
    let (mut seen, mut more) = (HashSet::new(), 0_usize);
    for point in points
        .iter()
        .filter(|point| points.len() <= ALL || is_on_an_axis(point))
    {
        let sets = overrides(base, &point.settings);
        match scenario::from_str(&base.text, &name, folder, &sets, env) {
            Ok(scenario) => {
                each(&scenario)?;
                first.get_or_insert(scenario);
            }
            Err(problems) => {
                for line in problems.to_string().lines() {
                    if seen.contains(line) {
                        continue;
                    }
                    seen.insert(line.to_owned());
                    match told.len() < TOLD {
                        true => told.push(of_point(line, point)),
                        false => more += 1,
                    }
                }
            }
        }
    }
    if more > 0 {
        told.push("and more of the kind".to_owned());
    }
    match first {
        Some(scenario) if told.is_empty() => Ok(scenario),
        _ => Err(WrongUse(format!(
            "nothing was run, since not every point makes a scenario:\n       {}",
            told.join("\n       ")
        ))
        .into()),
    }
}

/// A problem with the point at which it was met first, unless it names a setting of it.
fn of_point(line: &str, point: &Point) -> String {
    let names_it = point
        .settings
        .iter()
        .any(|setting| line.contains(&setting.to_string()));
    match names_it || point.settings.is_empty() {
        true => line.to_owned(),
        false => format!("{line} (at {})", point.shown()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Whether at most one of its values is not the first of its axis.
fn is_on_an_axis(point: &Point) -> bool {
    point.places.iter().filter(|place| **place > 0).count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_its_point_where_it_names_no_setting_of_it() {
        let point = Point {
            settings: vec![Setting::new("duration", "1s"), Setting::new("warmup", "2s")],
            places: vec![0, 0],
        };
        let named = "--set duration=1s: too short";
        assert_eq!(of_point(named, &point), named);
        let told = of_point("`expect` has no figure that is measured", &point);
        assert!(
            told.contains("(at duration=1s") && told.contains("warmup=2s"),
            "{told}"
        );
        let base = Point {
            settings: Vec::new(),
            places: Vec::new(),
        };
        assert_eq!(of_point("no tenant", &base), "no tenant");
    }
}
