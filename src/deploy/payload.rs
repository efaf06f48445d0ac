//! Which files a scenario needs, where they go on the board, and how the scenario finds them there.
//!
//! A file keeps its absolute path, below `files/` of the board's folder: what a detector's spec names relative to
//! itself is then found as it is here. What the scenario itself names is overridden with `--set`.

mod sweep;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

pub use sweep::{SweepPayload, is_found_there};

use super::DeployError;
use crate::backend::NetworkSource;
use crate::detector::spec;
use crate::engine::{manifest, network, plan};
use crate::files;
use crate::scenario::{BackendChoice, DetectorRef, Fill, MadeInputs, Scenario, SourceSpec, Tenant};
use crate::source::{SourceError, recordings};
use crate::sweep::Pattern;

/// A file to bring.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// The path here, absolute.
    pub local: PathBuf,
    /// Below the board's folder.
    pub remote: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Whole seconds of its last change.
    pub changed_s: i64,
}

/// Files on the board that must be those that are brought, and no others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Only {
    /// All of a folder; or a file where none may be. Below the board's folder.
    Below(String),
    /// Those of a folder that are called so.
    Called(String, Pattern),
}

impl Only {
    /// Whether it is about this file, which lies below the board's folder.
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Only::Below(folder) => path
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Only::Called(folder, pattern) => path
                .strip_prefix(folder.as_str())
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| !name.contains('/') && pattern.fits(name.as_ref())),
        }
    }
}

/// What a scenario needs, or a sweep.
#[derive(Debug, Default)]
pub struct Payload {
    /// Its files, by path.
    pub items: BTreeSet<Item>,
    /// Where the board must have no other files.
    pub only: BTreeSet<Only>,
    /// The scenario or the sweep on the board, below the board's folder.
    pub main: String,
    /// What the scenario names, for `--set`.
    paths: Vec<Named>,
    /// What of tenants was seen: the points of a sweep have most in common.
    seen: HashSet<String>,
}

/// A file that the scenario names.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    /// The path in the scenario.
    field: String,
    /// The file here, as the scenario was understood.
    local: PathBuf,
    /// The file below the board's folder.
    remote: String,
    /// For a network without a spec: what it is fed.
    made: Option<MadeInputs>,
}

impl Named {
    fn plain(field: String, local: &Path, remote: String) -> Self {
        Named {
            field,
            local: local.to_owned(),
            remote,
            made: None,
        }
    }

    /// The override that names the board's file. RON's strings are written as Rust's are.
    fn set(&self, folder: &str) -> String {
        let (field, file) = (&self.field, format!("{folder}/{}", self.remote));
        match &self.made {
            None => format!("{field}={file:?}"),
            Some(made) => format!("{field}=Network(network: {file:?}, {})", there(made, folder)),
        }
    }
}

/// What a network is fed, with paths below the board's folder instead of those there.
fn there(made: &MadeInputs, folder: &str) -> MadeInputs {
    let mut made = made.clone();
    if let Fill::Files(files) = &mut made.fill {
        for file in files {
            file.file = Path::new(folder).join(&file.file);
        }
    }
    if let Some(reference) = made
        .record_outputs
        .as_mut()
        .and_then(|outputs| outputs.reference.as_mut())
    {
        *reference = Path::new(folder).join(&*reference);
    }
    made
}

impl Payload {
    /// The files of a scenario that was read from `path`.
    ///
    /// # Errors
    /// [`DeployError::File`]: a file that cannot be read, or that the board would look for in the wrong place.
    pub fn of(path: &Path, scenario: &Scenario) -> Result<Payload, DeployError> {
        let mut payload = Payload::default();
        payload.main = payload.file(path)?;
        payload.tenants(scenario)?;
        Ok(payload)
    }

    /// The files of all tenants.
    fn tenants(&mut self, scenario: &Scenario) -> Result<(), DeployError> {
        for tenant in &scenario.tenants {
            let (name, shared) = (&tenant.name, &tenant.shared);
            if self.is_new(format!("{name} {:?} {:?}", tenant.detector, tenant.made)) {
                self.detector_of(tenant)?;
            }
            if let BackendChoice::TensorRt { plans, .. } = &tenant.backend
                && self.is_new(format!("{name} {plans:?}"))
            {
                for (place, plan) in plans.iter().enumerate() {
                    let remote = self.file(plan)?;
                    let field = format!("tenants.{name}.backend.plans.{place}");
                    self.paths.push(Named::plain(field, plan, remote));
                }
            }
            if self.is_new(format!("{name} {shared:?} {:?}", tenant.source)) {
                self.source(tenant, &tenant.source)?;
            }
        }
        Ok(())
    }

    fn is_new(&mut self, what: String) -> bool {
        self.seen.insert(what)
    }

    fn detector_of(&mut self, tenant: &Tenant) -> Result<(), DeployError> {
        let instead = match &tenant.detector {
            Some(DetectorRef::WithNetwork { network, .. }) => {
                let remote = self.network(network)?;
                let field = format!("tenants.{}.network", tenant.name);
                self.paths.push(Named::plain(field, network, remote));
                Some(network.as_path())
            }
            _ => None,
        };
        match tenant.detector.as_ref().map(DetectorRef::spec) {
            Some(DetectorRef::Fusion(of)) => {
                for (word, part) in [("camera", &of.camera), ("lidar", &of.lidar)] {
                    if let DetectorRef::File(file) = &**part {
                        let remote = self.detector(file, None)?;
                        let field = format!("tenants.{}.detector.{word}", tenant.name);
                        self.paths.push(Named::plain(field, file, remote));
                    }
                }
            }
            Some(DetectorRef::Whole(file)) => {
                let remote = self.detector(file, instead)?;
                let field = format!("tenants.{}.detector.whole", tenant.name);
                self.paths.push(Named::plain(field, file, remote));
            }
            Some(DetectorRef::File(file)) => {
                let (remote, made) = match &tenant.made {
                    Some(made) => (self.network(file)?, Some(self.made(file, made)?)),
                    None => (self.detector(file, instead)?, None),
                };
                self.paths.push(Named {
                    field: format!("tenants.{}.detector", tenant.name),
                    local: file.clone(),
                    remote,
                    made,
                });
            }
            Some(DetectorRef::Builtin(_) | DetectorRef::WithNetwork { .. }) | None => {}
        }
        Ok(())
    }

    /// The overrides under which the scenario finds its files, where `folder` is the board's.
    pub fn sets(&self, folder: &str) -> Vec<String> {
        self.paths.iter().map(|named| named.set(folder)).collect()
    }

    fn file(&mut self, path: &Path) -> Result<String, DeployError> {
        let item = item(path)?;
        let remote = item.remote.clone();
        self.items.insert(item);
        Ok(remote)
    }

    fn folder(&mut self, path: &Path) -> Result<String, DeployError> {
        let local = absolute(path)?;
        let remote = remote_path(&local)?;
        self.only.insert(Only::Below(remote.clone()));
        let mut open = vec![local];
        while let Some(folder) = open.pop() {
            let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
            for entry in entries {
                let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
                match fs::metadata(&path) {
                    Ok(facts) if facts.is_dir() => open.push(path),
                    Ok(facts) if facts.is_file() => {
                        self.file(&path)?;
                    }
                    // Sockets, pipes and links to nowhere are no frames.
                    _ => {}
                }
            }
        }
        Ok(remote)
    }

    /// A spec with its networks and their weights, unless the tenant has another network `instead`.
    fn detector(&mut self, path: &Path, instead: Option<&Path>) -> Result<String, DeployError> {
        let loaded = match instead {
            Some(network) => spec::load_with(path, network),
            None => spec::load(path),
        };
        let detector = loaded.map_err(|error| DeployError::File {
            path: path.display().to_string(),
            problem: error.to_string(),
        })?;
        let text = files::read_text(path, files::TEXT).map_err(|error| unreadable(path, &error))?;
        for engine in &detector.program.engines {
            let (NetworkSource::File(network), None) = (engine, instead) else {
                continue;
            };
            not_absolute(path, &text, network)?;
            self.network(network)?;
        }
        // A spec names its other files relative to itself.
        for file in detector.preprocess.files() {
            not_absolute(path, &text, file)?;
            self.file(file)?;
        }
        if let Some(outputs) = &detector.outputs {
            if let Some(folder) = &outputs.rules().keep {
                return Err(kept_elsewhere(path, folder));
            }
            for file in outputs.files() {
                let folder = file.parent().unwrap_or(&file);
                not_absolute(path, &text, folder)?;
                self.file(&file)?;
            }
        }
        self.file(path)
    }

    /// The files of a tenant's source.
    fn source(&mut self, tenant: &Tenant, source: &SourceSpec) -> Result<(), DeployError> {
        match source {
            SourceSpec::Cameras(cameras) => {
                for camera in cameras {
                    self.source(tenant, camera)?;
                }
                self.paths.dedup_by(|one, other| one.field == other.field);
            }
            SourceSpec::Synchronised(set) => {
                for camera in set.cameras() {
                    self.source(tenant, camera)?;
                }
                self.source(tenant, &set.lidar)?;
                // One recording, and one field.
                self.paths.dedup_by(|one, other| one.field == other.field);
            }
            SourceSpec::Images { path, .. } | SourceSpec::Points { path, .. } => {
                let remote = self.folder(path)?;
                let field = source_path(tenant);
                self.paths.push(Named::plain(field, path, remote));
            }
            SourceSpec::NuScenes(of) => self.selected(tenant, &of.path, recordings::files(of))?,
            SourceSpec::Kitti(of) => self.selected(tenant, &of.path, recordings::kitti_files(of))?,
            SourceSpec::Bag(of) => {
                let remote = match of.path.is_dir() {
                    true => self.folder(&of.path)?,
                    false => self.file(&of.path)?,
                };
                let field = source_path(tenant);
                self.paths.push(Named::plain(field, &of.path, remote));
            }
            SourceSpec::Video(of) => {
                let remote = self.file(&of.path)?;
                let field = format!("tenants.{}.source.path", tenant.name);
                self.paths.push(Named::plain(field, &of.path, remote));
            }
            // A camera is the board's own.
            SourceSpec::Empty | SourceSpec::Synthetic { .. } | SourceSpec::Camera(_) => {}
        }
        Ok(())
    }

    /// The files of a dataset that a tenant needs, and no others of it.
    fn selected(
        &mut self,
        tenant: &Tenant,
        folder: &Path,
        files: Result<Vec<PathBuf>, SourceError>,
    ) -> Result<(), DeployError> {
        let files = files.map_err(|error| DeployError::File {
            path: folder.display().to_string(),
            problem: error.to_string(),
        })?;
        for file in &files {
            self.file(file)?;
        }
        let remote = remote_path(&absolute(folder)?)?;
        let field = source_path(tenant);
        self.paths.push(Named::plain(field, folder, remote));
        Ok(())
    }

    /// Brings what a bare network is fed and compared with; its paths are then below the board's folder.
    fn made(&mut self, network: &Path, made: &MadeInputs) -> Result<MadeInputs, DeployError> {
        let mut made = made.clone();
        if let Fill::Files(files) = &mut made.fill {
            for file in files {
                file.file = self.file(&file.file)?.into();
            }
        }
        if let Some(outputs) = &mut made.record_outputs {
            if let Some(folder) = &outputs.keep {
                return Err(kept_elsewhere(network, folder));
            }
            if let Some(folder) = &mut outputs.reference {
                *folder = self.folder(folder)?.into();
            }
        }
        Ok(made)
    }

    /// A network with its weights.
    fn network(&mut self, network: &Path) -> Result<String, DeployError> {
        // Weights that lie in files of their own; what is no ONNX network has none.
        for name in network::read(network)
            .map(|facts| facts.external_data)
            .unwrap_or_default()
        {
            self.file(&network.with_file_name(name))?;
        }
        // Of a plan, what it was built for and what it takes.
        let manifest = manifest::path_of(network);
        if plan::is_plan(network) && manifest.is_file() {
            self.file(&manifest)?;
        }
        self.file(network)
    }
}

/// Refuses what a spec names by a path that the board does not have.
fn not_absolute(spec: &Path, text: &str, file: &Path) -> Result<(), DeployError> {
    let written = file.display().to_string();
    if !file.is_absolute() || !text.contains(&written) {
        return Ok(());
    }
    Err(DeployError::File {
        path: spec.display().to_string(),
        problem: format!(
            "it names {written} by an absolute path, which does not exist on the board; write it relative to the spec"
        ),
    })
}

/// What is written on the board does not come back but for the run file.
fn kept_elsewhere(network: &Path, folder: &Path) -> DeployError {
    DeployError::File {
        path: network.display().to_string(),
        problem: format!(
            "`record_outputs` keeps outputs in {}, which would be on the board and not come back; leave `keep` out, or run it on the board",
            folder.display()
        ),
    }
}

/// The field with the path of a tenant's source.
fn source_path(tenant: &Tenant) -> String {
    match &tenant.shared {
        Some(name) => format!("sources.{name}.path"),
        None => format!("tenants.{}.source.path", tenant.name),
    }
}

/// A file with its place on the board.
///
/// # Errors
/// [`DeployError::File`] where it cannot be read.
pub fn item(path: &Path) -> Result<Item, DeployError> {
    let local = absolute(path)?;
    let facts = fs::metadata(&local).map_err(|error| unreadable(&local, &error))?;
    let changed = facts.modified().map_err(|error| unreadable(&local, &error))?;
    let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Item {
        remote: remote_path(&local)?,
        bytes: facts.len(),
        changed_s: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        local,
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> DeployError {
    DeployError::File {
        path: path.display().to_string(),
        problem: format!("cannot be read: {error}; the scenario needs it on the board"),
    }
}

/// The path without `.` and `..`; links stay as they are, so that what is relative to them is too.
fn absolute(path: &Path) -> Result<PathBuf, DeployError> {
    let absolute = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    let plain = plain(&absolute);
    // Where `..` left a linked folder, the shorter path is another file's: then the real one is taken.
    match (plain.canonicalize(), absolute.canonicalize()) {
        (Ok(short), Ok(real)) if short == real => Ok(plain),
        (_, Ok(real)) => Ok(real),
        (_, Err(error)) => Err(unreadable(path, &error)),
    }
}

/// An absolute path without `.` and `..`, whatever they lead through.
fn plain(absolute: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn remote_path(local: &Path) -> Result<String, DeployError> {
    let text = local.to_str().ok_or_else(|| DeployError::File {
        path: local.display().to_string(),
        problem: "its name is not UTF-8; rename it".to_owned(),
    })?;
    Ok(format!("files{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ResolveEnv, load};

    fn payload(path: &Path) -> Result<Payload, DeployError> {
        let scenario = load(path, &[], &ResolveEnv::of_this_machine()).unwrap();
        Payload::of(path, &scenario)
    }

    #[test]
    fn the_demo_needs_its_two_specs_and_three_networks() {
        let payload = payload(Path::new("configs/demo.ron")).unwrap();
        let here = std::env::current_dir().unwrap().display().to_string();
        let mut names: Vec<&str> = payload
            .items
            .iter()
            .map(|item| item.remote.strip_prefix(&format!("files{here}/")).unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "configs/demo.ron",
                "engines/camera.onnx",
                "engines/camera.ron",
                "engines/lidar.ron",
                "engines/lidar_backbone.onnx",
                "engines/lidar_encoder.onnx",
            ]
        );
        assert_eq!(
            payload.sets("/home/n/jetlag")[0],
            format!("tenants.camera.detector=\"/home/n/jetlag/files{here}/engines/camera.ron\"")
        );
    }

    #[test]
    fn a_network_that_stands_in_for_a_spec_s_own_comes_and_the_own_need_not_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let spec = fs::read_to_string("engines/camera.ron").unwrap();
        fs::write(root.join("camera.ron"), spec).unwrap();
        fs::copy("engines/camera.onnx", root.join("other.onnx")).unwrap();
        let of = |detector: &str| {
            let scenario = format!(
                "(tenants: [(name: \"c\", detector: {detector:?}, network: \"other.onnx\", backend: Cpu(), source: Synthetic(Camera))])"
            );
            fs::write(root.join("s.ron"), scenario).unwrap();
            let brought = payload(&root.join("s.ron")).unwrap();
            (brought.items.len(), brought.sets("/b"))
        };
        let there = format!("/b/files{}", root.display());
        let network = format!("tenants.c.network=\"{there}/other.onnx\"");
        let spec = format!("tenants.c.detector=\"{there}/camera.ron\"");
        assert_eq!(of("camera.ron"), (3, vec![network.clone(), spec]));
        assert_eq!(of("builtin:camera"), (2, vec![network]));
    }

    #[test]
    fn inputs_and_references_of_a_bare_network_come_with_it_and_what_is_kept_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("good")).unwrap();
        for name in ["net.onnx", "a.npy", "good/y.npy"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let of = |outputs: &str| {
            let scenario = format!(
                "(tenants: [(name: \"n\", backend: Cpu(), detector: Network(network: \"net.onnx\", fill: Files([\"a.npy\"]), \
                 record_outputs: ({outputs})))])"
            );
            fs::write(root.join("s.ron"), scenario).unwrap();
            payload(&root.join("s.ron"))
        };
        let brought = of("reference: \"good\"").unwrap();
        assert_eq!(brought.items.len(), 4, "{:?}", brought.items);
        let there = format!("/b/files{}", root.display());
        assert_eq!(
            brought.sets("/b"),
            [format!(
                "tenants.n.detector=Network(network: \"{there}/net.onnx\", fill: Files([\"{there}/a.npy\"]), \
                 record_outputs: (reference: \"{there}/good\", absolute: 1e-5, relative: 1e-5))"
            )]
        );
        let refused = of("keep: \"kept\"").unwrap_err().to_string();
        assert!(refused.contains("leave `keep` out"), "{refused}");
    }

    #[test]
    fn a_source_s_folder_comes_whole_and_an_absolute_network_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("frames/more")).unwrap();
        fs::write(root.join("frames/1.png"), "1").unwrap();
        fs::write(root.join("frames/more/2.png"), "22").unwrap();
        let network = Path::new("engines/camera.onnx").canonicalize().unwrap();
        let spec = fs::read_to_string("engines/camera.ron").unwrap();
        let copy = |spec: String| {
            fs::write(root.join("camera.ron"), spec).unwrap();
            let scenario =
                "(tenants: [(name: \"c\", detector: \"camera.ron\", source: Images(path: \"frames\"))])";
            fs::write(root.join("s.ron"), scenario).unwrap();
            payload(&root.join("s.ron"))
        };
        fs::write(root.join("c.plan"), "plan").unwrap();
        let with_plan = "(tenants: [(name: \"c\", detector: \"builtin:camera\", source: Synthetic(Camera), \
                         backend: TensorRt(plans: [\"c.plan\"]))])";
        fs::write(root.join("s.ron"), with_plan).unwrap();
        let brought = payload(&root.join("s.ron")).unwrap();
        assert_eq!(brought.items.len(), 2, "the scenario and its plan");
        assert!(
            brought.sets("/b")[0].starts_with("tenants.c.backend.plans.0=\"/b/"),
            "{:?}",
            brought.sets("/b")
        );
        let refused = copy(spec.replace("camera.onnx", &network.display().to_string())).unwrap_err();
        assert!(refused.to_string().contains("relative to the spec"), "{refused}");
        fs::copy(&network, root.join("camera.onnx")).unwrap();
        let payload = copy(spec).unwrap();
        let frames: Vec<u64> = payload
            .items
            .iter()
            .filter(|item| item.remote.contains("/frames/"))
            .map(|item| item.bytes)
            .collect();
        assert_eq!(frames, [1, 2]);
        assert_eq!(payload.only.len(), 1);
    }
}
