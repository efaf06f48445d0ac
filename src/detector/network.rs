//! A bare network: its inputs are made, its outputs are not looked at, and its time is what is wanted of it.
//!
//! The inputs are as the network's file states them; [`MadeInputs`] has the extents that the file leaves open, and what the inputs
//! hold. They are made once for each slot and stay there, so that a frame's time is the network's and that of the copies. What is done
//! with the outputs is done when the run is over ([`outputs`]).

mod given;
pub mod outputs;

use std::path::{Path, PathBuf};

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::{Carry, Detection, Detector, DetectorError, Postprocess, Preprocess};
#[cfg(feature = "gpu")]
use crate::backend::tensorrt::inspect;
use crate::backend::{NetworkSource, Program, Step, TensorSpec};
use crate::engine::network::{self, NetworkError, NetworkFacts, NoFacts, Port};
use crate::engine::{manifest, plan};
use crate::nearest::nearest;
use crate::scenario::{Fill, MadeInputs, Shapes, made};
use crate::shell;
use crate::source::{ContentKind, Frame};
use crate::tensor::{ElementType, HostTensor, MAX_RANK, Shape, TensorSet};
use crate::written::{Node, Read, Reader, Rules};
use outputs::Outputs;

const FIELDS: &[&str] = &["name", "network", "shapes", "fill", "record_outputs"];

/// A bare network as written in a spec: `Network(network: "net.onnx", shapes: "images:1x3x640x640", fill: Zeros)`.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpec {
    /// Shown in results; the spec's own name where it is left out.
    pub name: Option<String>,
    /// The ONNX file or plan, from the spec's folder.
    pub network: String,
    /// What it is fed.
    pub made: MadeInputs,
}

/// Why a network cannot run on made inputs.
#[derive(Debug, thiserror::Error)]
pub enum NoInputs {
    /// Its file cannot be read.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It is within the binary, and no network.
    #[error("{network}: {error}")]
    NotANetwork {
        /// The network.
        network: String,
        /// What is wrong with it.
        error: NoFacts,
    },
    /// It is a plan, and nobody says what it takes.
    #[error("{}: {problem}", path.display())]
    Plan {
        /// The plan.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Its inputs cannot be made.
    #[error("{network}: {}", .problems.join("; "))]
    Inputs {
        /// The network.
        network: String,
        /// Everything that is in the way.
        problems: Vec<String>,
    },
}

impl NetworkSpec {
    /// Reads it; what is wrong with it is in the reader afterwards.
    pub(crate) fn read(r: &mut Reader, node: &Node) -> Option<Self> {
        let expected = "Network(…) with named fields";
        let f = r.record(node, "a network", "Network", expected, FIELDS)?;
        let name: Read<String> = r.optional(&f, "name", Reader::text);
        let file = made::read(r, &f)?;
        Some(NetworkSpec {
            name: name.given().map(|spot| spot.value.clone()),
            network: file.network.value,
            made: file.made,
        })
    }

    /// What must hold of the names.
    pub(crate) fn check(&self, rules: &mut Rules<'_>) {
        let is_named = !self.network.trim().is_empty();
        rules.require(is_named, "network", "empty", "an ONNX file or a plan");
    }

    /// The detector of a spec that keeps the rules.
    /// Its other files are found from `base`.
    pub(crate) fn build(
        mut self,
        engine: NetworkSource,
        spec_name: &str,
        base: &Path,
    ) -> Result<Detector, NoInputs> {
        let name = self.name.unwrap_or_else(|| spec_name.to_owned());
        if let Fill::Files(files) = &mut self.made.fill {
            files
                .iter_mut()
                .for_each(|file| file.file = base.join(&file.file));
        }
        if let Some(outputs) = &mut self.made.record_outputs {
            for folder in [&mut outputs.keep, &mut outputs.reference].into_iter().flatten() {
                *folder = base.join(&*folder);
            }
        }
        bare(engine, &self.made, name)
    }
}

/// A network as a detector that finds nothing.
///
/// # Errors
/// It cannot be read; an input whose shape is neither in the file nor in `made`, or that no backend can be fed.
pub fn bare(network: NetworkSource, made: &MadeInputs, name: String) -> Result<Detector, NoInputs> {
    let facts = facts_of(&network)?;
    let told = |problems| NoInputs::Inputs {
        network: network.to_string(),
        problems,
    };
    let (inputs, content) = match &made.fill {
        Fill::Files(files) => {
            let shaped = MadeInputs {
                shapes: given::shapes(files, &facts.inputs, &made.shapes),
                ..MadeInputs::default()
            };
            let inputs = inputs(&facts, &shaped).map_err(told)?;
            let contents = given::read(files, &inputs).map_err(told)?;
            let files = files.iter().map(|file| file.file.clone()).collect();
            (inputs, Content::Given { files, contents })
        }
        fill => (inputs(&facts, made).map_err(told)?, Content::Made(fill.clone())),
    };
    let outputs = match &made.record_outputs {
        None => None,
        Some(rules) => {
            let names = facts.outputs.iter().map(|port| port.name.clone()).collect();
            Some(Outputs::new(rules.clone(), names).map_err(|problem| told(vec![problem]))?)
        }
    };
    Ok(Detector {
        name,
        input: ContentKind::Empty,
        cameras: 0,
        classes: Vec::new(),
        reach: None,
        preprocess: Box::new(Made {
            inputs: inputs.iter().map(|input| input.name.clone()).collect(),
            content,
        }),
        postprocess: Box::new(NothingFound),
        outputs,
        program: Program {
            engines: vec![network],
            steps: vec![Step::Engine(0)],
            host_tensors: inputs,
            ..Program::default()
        },
    })
}

/// A plan's inputs and outputs: as its manifest has them, or else TensorRT, which loads it.
fn of_plan(path: &Path) -> Result<NetworkFacts, NoInputs> {
    let problem = match manifest::read(path) {
        Ok(manifest) => return Ok(plan::of_manifest(&manifest)),
        #[cfg(feature = "gpu")]
        Err(manifest::ManifestError::Absent { .. }) => match inspect::of_file(path) {
            Ok(facts) => return Ok(facts.as_network()),
            Err(problem) => format!(
                "what it takes is in no manifest ({}), and TensorRT cannot tell it: {problem}",
                manifest::path_of(path).display()
            ),
        },
        Err(error) => error.to_string(),
    };
    Err(NoInputs::Plan {
        path: path.to_owned(),
        problem,
    })
}

/// What a network's file says, or a plan's.
///
/// # Errors
/// It cannot be read, or is no network.
pub fn facts_of(network: &NetworkSource) -> Result<NetworkFacts, NoInputs> {
    match network {
        NetworkSource::File(path) if plan::is_plan(path) => of_plan(path),
        NetworkSource::File(path) => Ok(network::read(path)?),
        NetworkSource::Embedded { name, bytes } => {
            network::facts(bytes).map_err(|error| NoInputs::NotANetwork {
                network: (*name).to_owned(),
                error,
            })
        }
    }
}

/// The shape of an input whose batch alone its file leaves open: one of each; none where more is open, or nothing.
pub fn with_batch_of_one(port: &Port) -> Option<Vec<usize>> {
    let (batch, rest) = port.shape.split_first()?;
    if !port.is_shaped || batch.parse::<usize>().is_ok() {
        return None;
    }
    let rest: Option<Vec<usize>> = rest.iter().map(|extent| extent.parse().ok()).collect();
    Some([vec![1], rest?].concat())
}

/// The inputs whose batch is taken to be one, in a sentence; none where no batch is open.
pub fn batch_note(facts: &NetworkFacts, given: &Shapes) -> Option<String> {
    let open: Vec<(&Port, Vec<usize>)> = facts
        .inputs
        .iter()
        .filter(|port| !given.0.contains_key(&port.name))
        .filter_map(|port| Some((port, with_batch_of_one(port)?)))
        .collect();
    if open.is_empty() {
        return None;
    }
    let ports: Vec<String> = open
        .iter()
        .map(|(port, _)| format!("`{}` [{}]", port.name, port.shape.join(", ")))
        .collect();
    let four: Vec<String> = open
        .iter()
        .map(|(port, shape)| {
            let rest = shape[1..].iter().map(usize::to_string);
            format!(
                "{}:{}",
                port.name,
                times(std::iter::once("4".to_owned()).chain(rest))
            )
        })
        .collect();
    Some(format!(
        "its file leaves the batch of {} open: one is taken; another one, such as four: --shapes {}",
        ports.join(" and "),
        shell::word(&four.join(","))
    ))
}

/// The name of a network's file, without its ending.
pub fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The inputs of a network with the shapes that they get, or everything that keeps them from being made.
///
/// # Errors
/// Phrases: each says what was found and what to write.
pub fn inputs(facts: &NetworkFacts, made: &MadeInputs) -> Result<Vec<TensorSpec>, Vec<String>> {
    let mut problems = Vec::new();
    let names = || facts.inputs.iter().map(|port| port.name.as_str());
    for given in made
        .shapes
        .0
        .keys()
        .filter(|given| names().all(|name| name != *given))
    {
        let meant = nearest(given, names())
            .map_or_else(|| ";".to_owned(), |name| format!("; did you mean `{name}`?"));
        let inputs = names().collect::<Vec<_>>().join(", ");
        problems.push(format!(
            "`shapes` has an input `{given}`, which the network lacks{meant} its inputs: {inputs}"
        ));
    }
    let mut open = Vec::new();
    let mut found = Vec::new();
    for port in &facts.inputs {
        let given = made.shapes.0.get(&port.name).map(Vec::as_slice);
        match (element(port), shape(port, given)) {
            (Err(problem), _) | (_, Err(Misfit::Wrong(problem))) => problems.push(problem),
            (_, Err(Misfit::Open)) => open.push(port),
            (Ok(element), Ok(max_shape)) => found.push(TensorSpec {
                name: port.name.clone(),
                element,
                max_shape,
            }),
        }
    }
    if !open.is_empty() {
        problems.push(spelling(&open));
    }
    match problems.is_empty() {
        true => Ok(found),
        false => Err(problems),
    }
}

/// The type that a backend is fed; those with fewer types narrow it (`int64` to 32 bits, as runtimes without 64 do).
fn element(port: &Port) -> Result<ElementType, String> {
    Ok(match port.element.as_str() {
        "float" => ElementType::F32,
        "float16" => ElementType::F16,
        "int8" => ElementType::I8,
        "uint8" => ElementType::U8,
        "int32" => ElementType::I32,
        "int64" => ElementType::I64,
        "bool" => ElementType::Bool,
        other => {
            return Err(format!(
                "its input `{}` has type {other}, which jetlag cannot make; export it with float, float16, int8, uint8, int32, int64 or bool",
                port.name
            ));
        }
    })
}

/// Why an input has no shape.
enum Misfit {
    /// The file leaves an extent open, and nobody gave it.
    Open,
    /// What was given does not fit, in words.
    Wrong(String),
}

fn shape(port: &Port, given: Option<&[usize]>) -> Result<Shape, Misfit> {
    let stated: Vec<Option<usize>> = port.shape.iter().map(|extent| extent.parse().ok()).collect();
    let extents: Vec<usize> = match given {
        None if !port.is_shaped => return Err(Misfit::Open),
        Some(given) if !port.is_shaped => given.to_vec(),
        None => stated
            .iter()
            .copied()
            .collect::<Option<_>>()
            .or_else(|| with_batch_of_one(port))
            .ok_or(Misfit::Open)?,
        Some(given) => {
            let fits = given.len() == stated.len()
                && given
                    .iter()
                    .zip(&stated)
                    .all(|(given, stated)| stated.is_none_or(|stated| stated == *given));
            if !fits {
                return Err(Misfit::Wrong(format!(
                    "`shapes` has {} for input `{}`, which is [{}] in the network",
                    times(given.iter().map(usize::to_string)),
                    port.name,
                    port.shape.join(", ")
                )));
            }
            given.to_vec()
        }
    };
    Shape::new(&extents).ok_or_else(|| {
        let (name, found) = (&port.name, extents.len());
        Misfit::Wrong(format!(
            "its input `{name}` has {found} dimensions; jetlag supports at most {MAX_RANK}"
        ))
    })
}

fn times(extents: impl Iterator<Item = String>) -> String {
    extents.collect::<Vec<_>>().join("x")
}

/// All open dimensions in one sentence, with the spelling that gives them.
fn spelling(open: &[&Port]) -> String {
    let is_open = |extent: &&String| extent.parse::<usize>().is_err();
    let named: Vec<String> = open
        .iter()
        .map(|port| {
            if !port.is_shaped {
                return format!("all of input `{}`, whose shape the network leaves out", port.name);
            }
            let names: Vec<String> = port
                .shape
                .iter()
                .filter(is_open)
                .map(|name| format!("`{name}`"))
                .collect();
            format!(
                "{} of input `{}` [{}]",
                names.join(", "),
                port.name,
                port.shape.join(", ")
            )
        })
        .collect();
    let shapes: Vec<String> = open
        .iter()
        .map(|port| {
            if !port.is_shaped {
                return format!("{}:1x3x640x640", port.name);
            }
            let extents = port
                .shape
                .iter()
                .enumerate()
                .map(|(place, extent)| extent.parse().unwrap_or_else(|_| usual(port, place)))
                .map(|extent: usize| extent.to_string());
            format!("{}:{}", port.name, times(extents))
        })
        .collect();
    let shapes = shapes.join(",");
    format!(
        "dynamic dimensions without a size: {}; give each a number, such as: --shapes {}, or in a file shapes: {shapes:?}",
        named.join("; "),
        shell::word(&shapes)
    )
}

/// A number for an open dimension, so that the advice can be pasted: a batch of one, the side of an image, or a row of tokens or points.
fn usual(port: &Port, place: usize) -> usize {
    let is_image = port.shape.len() == 4
        && port.shape[1..]
            .iter()
            .any(|extent| extent == "3" || extent == "1");
    match place {
        0 => 1,
        _ if is_image => 640,
        _ => 128,
    }
}

/// Makes the inputs, once for each slot and phase.
struct Made {
    inputs: Vec<String>,
    content: Content,
}

/// What the inputs hold.
enum Content {
    /// Made by a rule; never [`Fill::Files`].
    Made(Fill),
    /// Read from files, one for each input, in their order.
    Given {
        files: Vec<PathBuf>,
        contents: Vec<given::Given>,
    },
}

impl Preprocess for Made {
    fn run(
        &mut self,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<u32, DetectorError> {
        if carry.is_made {
            return Ok(0);
        }
        for (number, name) in self.inputs.iter().enumerate() {
            let tensor = inputs.get_mut(name)?;
            match &self.content {
                Content::Made(what) => fill(tensor, what, number as u64)?,
                Content::Given { contents, .. } => {
                    if let Some(given) = contents.get(number) {
                        given.put(tensor).map_err(|problem| DetectorError::BadFrame {
                            index: frame.index,
                            problem: format!("its file for input `{name}` {problem}"),
                        })?;
                    }
                }
            }
        }
        carry.is_made = true;
        Ok(0)
    }

    fn files(&self) -> &[PathBuf] {
        match &self.content {
            Content::Made(_) => &[],
            Content::Given { files, .. } => files,
        }
    }
}

/// `number` sets the random numbers of one input apart from another's.
fn fill(tensor: &mut HostTensor, fill: &Fill, number: u64) -> Result<(), DetectorError> {
    let element = tensor.element();
    let bytes = tensor.host_bytes_mut()?;
    match fill {
        Fill::Zeros => bytes.fill(0),
        Fill::Ones => each(bytes, element, || 1.0, || 1, || 1),
        // Copied, not made: `Content` keeps them apart.
        Fill::Files(_) => {}
        Fill::Random { seed, max } => {
            let dice = std::cell::RefCell::new(Pcg64::seed_from_u64(seed.wrapping_add(number)));
            let bits = || dice.borrow_mut().next_u64();
            // 24 bits are what an f32 below 1 holds exactly.
            let unit = || (bits() >> 40) as f32 / (1 << 24) as f32;
            let max = match element {
                ElementType::Bool => 2,
                _ => max.map_or(2, |max| u64::from(max.get())),
            };
            // The upper half scaled to 0..max, which is below 2³¹.
            let whole = || (((bits() >> 32) * max) >> 32) as i32;
            each(bytes, element, unit, || bits() as u8, whole);
        }
    }
    Ok(())
}

/// Writes each element: floats, bytes, and other integers and flags, which are not negative.
fn each(
    bytes: &mut [u8],
    element: ElementType,
    float: impl Fn() -> f32,
    byte: impl Fn() -> u8,
    whole: impl Fn() -> i32,
) {
    match element {
        ElementType::F32 => bytes
            .chunks_exact_mut(4)
            .for_each(|at| at.copy_from_slice(&float().to_ne_bytes())),
        ElementType::F16 => bytes
            .chunks_exact_mut(2)
            .for_each(|at| at.copy_from_slice(&half(float()).to_ne_bytes())),
        ElementType::U8 | ElementType::I8 => bytes.iter_mut().for_each(|at| *at = byte()),
        ElementType::Bool => bytes.iter_mut().for_each(|at| *at = u8::from(whole() > 0)),
        ElementType::I32 => {
            bytes
                .chunks_exact_mut(4)
                .for_each(|at| at.copy_from_slice(&whole().to_ne_bytes()));
        }
        ElementType::I64 => {
            bytes
                .chunks_exact_mut(8)
                .for_each(|at| at.copy_from_slice(&i64::from(whole()).to_ne_bytes()));
        }
    }
}

/// A float from 0 to 1 in half precision, rounded down; below its smallest normal number it is 0.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    match exponent {
        -14..=0 => ((exponent + 15) as u16) << 10 | (bits >> 13) as u16 & 0x3ff,
        _ => 0,
    }
}

/// Nothing is read of the outputs.
struct NothingFound;

impl Postprocess for NothingFound {
    fn run(&mut self, _: &TensorSet, _: &Carry, found: &mut Vec<Detection>) -> Result<(), DetectorError> {
        found.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
