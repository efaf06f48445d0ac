//! Which files a sweep needs. It runs on the board from a copy of the current folder, so that what it names by relative paths is
//! found as it is here, and the table is that of a sweep here, value by value.

use std::path::{Path, PathBuf};

use super::{Named, Only, Payload, absolute, plain, remote_path};
use crate::deploy::DeployError;
use crate::scenario::Scenario;
use crate::sweep::Sweep;

/// What a sweep needs, gathered point by point.
#[derive(Debug)]
pub struct SweepPayload {
    /// Its files.
    pub files: Payload,
    /// The folder of the base, where scenarios look first.
    base_folder: PathBuf,
    /// What the base names in a way that the board would not understand.
    absolute: Vec<Named>,
}

impl SweepPayload {
    /// The files of a sweep that was read from `path`, but for those of its points; `base` is the scenario without any point's
    /// settings, where that is one.
    ///
    /// # Errors
    /// [`DeployError::File`]: a file that cannot be read, or that the board would look for in the wrong place.
    pub fn of(path: &Path, sweep: &Sweep, base: Option<&Scenario>) -> Result<SweepPayload, DeployError> {
        let mut files = Payload::default();
        files.main = files.file(path)?;
        files.file(&sweep.base)?;
        if !is_found_there(&sweep.base) {
            return Err(elsewhere(&sweep.base, path));
        }
        for file in sweep.files.values() {
            files.network(file)?;
        }
        for pattern in &sweep.patterns {
            if !is_found_there(&pattern.folder) {
                return Err(elsewhere(&pattern.folder.join(&pattern.name), path));
            }
            let folder = remote_path(&absolute(&pattern.folder)?)?;
            files.only.insert(Only::Called(folder, pattern.clone()));
        }
        let mut payload = SweepPayload {
            files,
            base_folder: sweep.base.parent().unwrap_or(Path::new("")).to_owned(),
            absolute: Vec::new(),
        };
        if let Some(base) = base {
            let named = payload.add(base)?;
            payload.absolute = named
                .into_iter()
                .filter(|named| !is_found_there(&named.local))
                .collect();
        }
        Ok(payload)
    }

    /// Adds what a point needs.
    ///
    /// # Errors
    /// As [`SweepPayload::of`].
    pub fn point(&mut self, scenario: &Scenario) -> Result<(), DeployError> {
        let named = self.add(scenario)?;
        let lost = named
            .iter()
            .find(|named| !is_found_there(&named.local) && !self.absolute.contains(named));
        match lost {
            Some(named) => Err(elsewhere(&named.local, &self.base_folder)),
            None => Ok(()),
        }
    }

    /// The overrides that the base needs there, where `folder` is the board's.
    pub fn sets(&self, folder: &str) -> Vec<String> {
        self.absolute.iter().map(|named| named.set(folder)).collect()
    }

    fn add(&mut self, scenario: &Scenario) -> Result<Vec<Named>, DeployError> {
        let before = self.files.paths.len();
        self.files.tenants(scenario)?;
        let named = self.files.paths.get(before..).unwrap_or_default().to_vec();
        for named in named.iter().filter(|named| named.local.is_relative()) {
            // Found in the current folder, since the scenario's has no such file: nor may the board's have one.
            let first = self.base_folder.join(&named.local);
            if !first.exists()
                && let Ok(first) = std::path::absolute(&first)
            {
                self.files.only.insert(Only::Below(remote_path(&plain(&first))?));
            }
        }
        Ok(named)
    }
}

/// Whether a path leads to its file from the board's copy of the current folder too.
pub fn is_found_there(path: &Path) -> bool {
    let Ok(whole) = std::path::absolute(path) else {
        return false;
    };
    path.is_relative() && absolute(path).is_ok_and(|real| real == plain(&whole))
}

fn elsewhere(path: &Path, of: &Path) -> DeployError {
    DeployError::File {
        path: path.display().to_string(),
        problem: format!(
            "is an absolute path, or leads through a link, and the board would not find it so; write it relative to {}",
            match of.as_os_str().is_empty() {
                true => "the current folder".to_owned(),
                false => of.display().to_string(),
            }
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scenario::{self, ResolveEnv};

    /// A folder below the current one, as a sweep there is called.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in("target").unwrap();
        let whole = std::path::absolute(folder.path()).unwrap();
        let path = whole.strip_prefix(&here).unwrap().to_owned();
        (folder, path)
    }

    fn scenario(folder: &Path, text: &str, sets: &[&str]) -> Scenario {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        scenario::from_str(text, "base.ron", folder, &sets, &ResolveEnv::of_this_machine()).unwrap()
    }

    #[test]
    fn paths_that_the_board_would_not_find_are_set_in_the_base_and_refused_in_points() {
        let (_held, folder) = folder();
        for name in ["frames", "nets", "elsewhere"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        fs::write(folder.join("frames/1.bin"), [0; 16]).unwrap();
        for name in ["nets/a.ron", "nets/b.ron"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let absolute = std::path::absolute(folder.join("frames")).unwrap();
        let text = format!(
            "(tenants: [(name: \"l\", backend: Null, arrival: Periodic(hz: 1), source: Points(path: {absolute:?}))])"
        );
        fs::write(folder.join("base.ron"), &text).unwrap();
        let sweep = folder.join("s.ron");
        fs::write(
            &sweep,
            r#"Sweep(base: "base.ron", axes: [Axis(set: "name", files: "nets/*.ron")])"#,
        )
        .unwrap();
        let read = crate::sweep::load(&sweep).unwrap();
        let base = scenario(&folder, &text, &[]);
        let mut payload = SweepPayload::of(&sweep, &read, Some(&base)).unwrap();
        payload.point(&base).unwrap();
        let sets = payload.sets("/board");
        let wanted = format!("tenants.l.source.path=\"/board/files{}\"", absolute.display());
        assert_eq!(sets, [wanted]);
        // The sweep, its base, two files of the axis, a frame.
        assert_eq!(payload.files.items.len(), 5);
        // Of what was brought before, files that are called so are not left there, and no others.
        let nets = std::path::absolute(folder.join("nets")).unwrap();
        let covers = |name: &str| {
            let path = format!("files{}/{name}", nets.display());
            payload.files.only.iter().any(|only| only.covers(&path))
        };
        assert!(covers("old.ron") && !covers("old.onnx") && !covers("deeper/old.ron"));

        // The same path is the point's own here; another one is refused.
        let other = std::path::absolute(folder.join("elsewhere")).unwrap();
        let set = format!("tenants.l.source=Points(path: {other:?})");
        let refused = payload.point(&scenario(&folder, &text, &[&set])).unwrap_err();
        assert!(refused.to_string().contains("is an absolute path"), "{refused}");
        let relative = scenario(&folder, &text, &["tenants.l.source=Points(path: \"elsewhere\")"]);
        payload.point(&relative).unwrap();
        assert_eq!(
            payload.sets("/board").len(),
            1,
            "what is found as it is needs none"
        );
    }

    #[test]
    fn what_is_found_in_the_current_folder_must_not_be_found_before_it_there() {
        let (_held, folder) = folder();
        let text = "(tenants: [(name: \"c\", backend: Null, arrival: Periodic(hz: 1), detector: \"engines/camera.ron\", \
                    source: Synthetic(Camera))])";
        fs::write(folder.join("base.ron"), text).unwrap();
        let sweep = folder.join("s.ron");
        fs::write(&sweep, r#"Sweep(base: "base.ron", points: [["duration=1s"]])"#).unwrap();
        let read = crate::sweep::load(&sweep).unwrap();
        let base = scenario(&folder, text, &[]);
        let payload = SweepPayload::of(&sweep, &read, Some(&base)).unwrap();
        assert!(payload.sets("/board").is_empty());
        let first = std::path::absolute(folder.join("engines/camera.ron")).unwrap();
        let first = format!("files{}", first.display());
        assert!(payload.files.only.iter().any(|only| only.covers(&first)));
    }
}
