//! Detector specs: RON text to a [`Detector`]. The format is described in docs/detectors.md.
//!
//! Here are reading as a whole and finding the networks; the fields of each kind and their meaning are in
//! [`camera::spec`](super::camera::spec), [`lidar::spec`](super::lidar::spec) and [`network`](super::network), the words of mistakes in
//! [`written`](crate::written).

use std::path::Path;

use super::camera::spec::CameraSpec;
use super::lidar::spec::LidarSpec;
use super::network::NetworkSpec;
use super::{Detector, DetectorError};
use crate::backend::NetworkSource;
use crate::engine::network::Port;
use crate::files;
use crate::units::Bytes;
use crate::written::{Choices, Format, Kind, Node, ProblemKind, Problems, Reader, Rules, choice, parse};

/// A spec as written: the kind of detector, and its fields.
#[derive(Clone, Debug, PartialEq)]
pub enum DetectorSpec {
    /// A camera detector: boxes in images.
    Camera(Box<CameraSpec>),
    /// A LiDAR detector: boxes in point clouds.
    Lidar(Box<LidarSpec>),
    /// A network on made inputs, whose outputs are not looked at.
    Network(NetworkSpec),
}

/// As long as a spec may be: 65 535 classes of 60 letters.
const FORMAT: Format = Format {
    what: "detector spec",
    longest: Bytes(4 << 20),
    begins: "Camera(classes: […], …), Lidar(name: \"…\", …) or Network(network: \"…\")",
};

static DETECTORS: Choices<'_> = Choices {
    what: "detector",
    default: "Camera",
    // Their fields are read by themselves: nobody mixes up those of the one with the other's.
    all: &[
        choice("Camera", &[], 0, "Camera(classes: […], …)"),
        choice("Lidar", &[], 0, "Lidar(name: \"…\", …)"),
        choice("Network", &[], 0, "Network(network: \"net.onnx\")"),
    ],
};

/// Reads the spec at `path`; paths in it start from its folder.
///
/// # Errors
/// [`DetectorError::WrongSpec`], with everything that is wrong, and where.
pub fn load(path: &Path) -> Result<Detector, DetectorError> {
    let (name, text) = opened(path)?;
    made(&text, &name, folder(path), Networks::Own(&|_| None))
}

/// As [`load`], with `network` in place of the only network of the spec, which need not be there.
///
/// # Errors
/// Also for a spec of several networks.
pub fn load_with(path: &Path, network: &Path) -> Result<Detector, DetectorError> {
    let (name, text) = opened(path)?;
    with_network(&text, &name, folder(path), network)
}

fn opened(path: &Path) -> Result<(String, String), Problems> {
    let name = path.display().to_string();
    let text = files::read_given_text(path, FORMAT.longest)
        .map_err(|error| Problems::unreadable(&name, &FORMAT, error.to_string()))?;
    Ok((name, text))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Reads a spec from `text`, which messages call `name`.
///
/// Each network is first asked of `embedded`, by the path as the spec has it, so that the binary can
/// bring its own; what it does not know must be a file, found from `base`.
///
/// # Errors
/// [`DetectorError::WrongSpec`], with everything that is wrong, and where.
pub fn from_str(
    text: &str,
    name: &str,
    base: &Path,
    embedded: &dyn Fn(&str) -> Option<NetworkSource>,
) -> Result<Detector, DetectorError> {
    made(text, name, base, Networks::Own(embedded))
}

/// As [`from_str`], with `network` in place of the only network of the spec.
///
/// # Errors
/// Also for a spec of several networks.
pub fn with_network(text: &str, name: &str, base: &Path, network: &Path) -> Result<Detector, DetectorError> {
    made(text, name, base, Networks::Instead(network))
}

/// Where the networks of a spec come from.
#[derive(Clone, Copy)]
enum Networks<'a> {
    /// The spec names them: those in the binary are asked of this, the others are files.
    Own(&'a dyn Fn(&str) -> Option<NetworkSource>),
    /// This file is taken for the only one.
    Instead(&'a Path),
}

fn made(text: &str, name: &str, base: &Path, networks: Networks<'_>) -> Result<Detector, DetectorError> {
    let (spec, root) = typed(text, name)?;
    let mut rules = Rules::new(&root);
    spec.check(&mut rules);
    let engines: Vec<NetworkSource> = match networks {
        Networks::Own(embedded) => {
            let all = spec.networks().into_iter();
            all.filter_map(|(field, written)| find_network(field, written, base, embedded, &mut rules))
                .collect()
        }
        Networks::Instead(network) => {
            spec.check_has_one(&mut rules);
            vec![NetworkSource::File(network.to_owned())]
        }
    };
    if let [engine] = &engines[..]
        // What cannot be read is told when it is loaded, and a plan by its library.
        && let Ok(facts) = super::network::facts_of(engine)
        && !facts.inputs.is_empty()
    {
        spec.check_inputs(&facts.inputs, &mut rules);
    }
    rules.finish(name)?;
    Ok(match spec {
        DetectorSpec::Camera(camera) => camera.build(engines, name),
        DetectorSpec::Lidar(lidar) => lidar.build(engines),
        DetectorSpec::Network(network) => {
            let engine = engines.into_iter().next();
            let engine = engine.expect("a spec whose network was not found has problems");
            network.build(engine, name, base)?
        }
    })
}

/// Reads a spec without asking whether its networks are there.
///
/// # Errors
/// Everything that is wrong with it, and where.
pub fn read(text: &str, name: &str) -> Result<DetectorSpec, Problems> {
    let (spec, root) = typed(text, name)?;
    let mut rules = Rules::new(&root);
    spec.check(&mut rules);
    rules.finish(name)?;
    Ok(spec)
}

/// The spec as typed, and what it was read from.
fn typed(text: &str, name: &str) -> Result<(DetectorSpec, Node), Problems> {
    let (root, mut problems) = parse(text, &FORMAT);
    let mut reader = Reader::default();
    let spec = root
        .as_ref()
        .and_then(|root| DetectorSpec::read(&mut reader, root));
    if !problems.is_empty() {
        reader.forget_doubtful(&problems);
    }
    problems.append(&mut reader.problems);
    match (spec, root) {
        (Some(spec), Some(root)) if problems.is_empty() => Ok((spec, root)),
        _ => Err(Problems::new(name, problems)),
    }
}

impl DetectorSpec {
    fn read(r: &mut Reader, root: &Node) -> Option<Self> {
        if matches!(&root.kind, Kind::Call(call) if call.name.as_deref() == Some("Scenario")) {
            let problem = "this is a scenario, but a detector spec is expected; `jetlag run` takes scenarios"
                .to_owned();
            r.report(&root.place, ProblemKind::Syntax { problem });
            return None;
        }
        let (_, kind) = r.alternative(root, &DETECTORS)?;
        match kind.name {
            "Lidar" => LidarSpec::read(r, root).map(|spec| DetectorSpec::Lidar(Box::new(spec))),
            "Network" => NetworkSpec::read(r, root).map(DetectorSpec::Network),
            _ => CameraSpec::read(r, root).map(|spec| DetectorSpec::Camera(Box::new(spec))),
        }
    }

    fn check(&self, rules: &mut Rules<'_>) {
        match self {
            DetectorSpec::Camera(camera) => camera.check(rules),
            DetectorSpec::Lidar(lidar) => lidar.check(rules),
            DetectorSpec::Network(network) => network.check(rules),
        }
    }

    /// What must hold between it and the inputs of its only network.
    fn check_inputs(&self, inputs: &[Port], rules: &mut Rules<'_>) {
        match self {
            DetectorSpec::Camera(camera) => camera.check_inputs(inputs, rules),
            DetectorSpec::Lidar(lidar) => lidar.check_inputs(inputs, rules),
            DetectorSpec::Network(_) => {}
        }
    }

    /// Another network can stand in for one alone.
    fn check_has_one(&self, rules: &mut Rules<'_>) {
        if let [(first, _), others @ ..] = &self.networks()[..]
            && !others.is_empty()
        {
            let why = format!(
                "the tenant's `network` stands in for the only network of a spec, and this one has {}",
                others.len() + 1
            );
            let advice = "leave the tenant's `network` out and name the networks in a copy of the spec";
            rules.contradiction(first, why, advice);
        }
    }

    /// Its networks as written, each with the field that names it.
    fn networks(&self) -> Vec<(&'static str, &str)> {
        match self {
            DetectorSpec::Camera(camera) => vec![("network", &camera.network)],
            DetectorSpec::Lidar(lidar) => lidar.networks(),
            DetectorSpec::Network(network) => vec![("network", &network.network)],
        }
    }
}

/// A network that the binary holds, or a file that is there.
fn find_network(
    field: &str,
    written: &str,
    base: &Path,
    embedded: &dyn Fn(&str) -> Option<NetworkSource>,
    rules: &mut Rules<'_>,
) -> Option<NetworkSource> {
    if let Some(held) = embedded(written) {
        return Some(held);
    }
    let path = base.join(written);
    if path.is_file() {
        return Some(NetworkSource::File(path));
    }
    let kind = ProblemKind::NotFound {
        what: format!("`{field}`, as seen from the spec's own folder"),
        wanted: "network",
        tried: vec![path.display().to_string()],
    };
    rules.report(field, kind);
    None
}

#[cfg(test)]
mod tests;
