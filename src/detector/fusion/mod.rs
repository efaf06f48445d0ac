//! A detector of two: one of images and one of sweeps, whose boxes are put together (late fusion).
//!
//! Its program has the networks of both, one after the other, over one set of tensors. So every backend runs it as it runs any other
//! detector: on a GPU the inputs of both go there together, both execute, and both outputs come back together. Preprocessing gives each
//! its own frame of the set. Postprocessing has each find its boxes, lays those of the LiDAR into the image
//! ([`Sight::around`](crate::source::context::Sight::around)), and joins what is of one object ([`associate`]).

pub mod associate;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Carry, Detection, Detector, DetectorError, Place, Postprocess, Preprocess};
use crate::backend::{NetworkSource, Program, Step};
use crate::engine::network;
use crate::scenario::Associate;
use crate::source::context::Sight;
use crate::source::{Content, ContentKind, Frame};
use crate::tensor::TensorSet;
use associate::{Association, Projected};

/// Why two detectors are no fusion.
#[derive(Debug, thiserror::Error)]
pub enum NoFusion {
    /// One of them takes other frames.
    #[error(
        "`{field}: {detector}` of the fusion takes {takes:?} frames, and should take {wanted:?}; are the two the wrong way round?"
    )]
    WrongInput {
        /// Which of the two.
        field: &'static str,
        /// Its name.
        detector: String,
        /// What it takes.
        takes: ContentKind,
        /// What it should take.
        wanted: ContentKind,
    },
    /// Both use one name, and tensors are told apart by their names.
    #[error(
        "both detectors of the fusion have a tensor `{name}`; export one of the networks with other names of its inputs and outputs"
    )]
    SameTensor {
        /// The name.
        name: String,
    },
    /// More classes than a detection can tell apart.
    #[error("the detectors of the fusion have {count} classes together, and a detection has at most {most}")]
    Classes {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

/// Makes one detector of two.
///
/// # Errors
/// [`NoFusion`]: other inputs, equal names of tensors.
pub fn fuse(camera: Detector, lidar: Detector, way: Associate) -> Result<Detector, NoFusion> {
    let wanted = [
        ("camera", &camera, ContentKind::Image),
        ("lidar", &lidar, ContentKind::Points),
    ];
    for (field, detector, wanted) in wanted {
        if detector.input != wanted {
            return Err(NoFusion::WrongInput {
                field,
                detector: detector.name.clone(),
                takes: detector.input,
                wanted,
            });
        }
    }
    let (one, other) = (tensors(&camera.program), tensors(&lidar.program));
    if let Some(name) = one.intersection(&other).next() {
        return Err(NoFusion::SameTensor { name: name.clone() });
    }
    let mut classes = camera.classes.clone();
    let of_lidar = lidar.classes.iter().map(|name| {
        let known = classes.iter().position(|class| class.eq_ignore_ascii_case(name));
        let at = known.unwrap_or_else(|| {
            classes.push(name.clone());
            classes.len() - 1
        });
        u16::try_from(at).ok()
    });
    let of_lidar: Option<Vec<u16>> = of_lidar.collect();
    let Some(of_lidar) = of_lidar else {
        return Err(NoFusion::Classes {
            count: classes.len(),
            most: usize::from(u16::MAX),
        });
    };
    Ok(Detector {
        name: format!("{} + {}", camera.name, lidar.name),
        input: ContentKind::Set,
        classes,
        reach: lidar.reach,
        program: one_after_the_other(camera.program, lidar.program),
        preprocess: Box::new(BothInputs {
            camera: camera.preprocess,
            lidar: lidar.preprocess,
        }),
        postprocess: Box::new(Fused {
            camera: camera.postprocess,
            lidar: lidar.postprocess,
            of_lidar,
            way,
            seen: Vec::new(),
            found: Vec::new(),
            projected: Vec::new(),
            association: Association::default(),
        }),
    })
}

/// The names of a program's tensors, as far as its files tell: what the host fills, and what networks take and give.
fn tensors(program: &Program) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = program
        .host_tensors
        .iter()
        .map(|tensor| tensor.name.clone())
        .collect();
    for engine in &program.engines {
        // What cannot be read is told when it is loaded.
        let facts = match engine {
            NetworkSource::File(path) => network::read(path).ok(),
            NetworkSource::Embedded { bytes, .. } => network::facts(bytes).ok(),
        };
        if let Some(facts) = facts {
            let all = facts.inputs.iter().chain(&facts.outputs);
            names.extend(all.map(|tensor| tensor.name.clone()));
        }
    }
    names
}

/// Both programs as one.
fn one_after_the_other(first: Program, second: Program) -> Program {
    let before = first.engines.len();
    let moved = second.steps.into_iter().map(|step| match step {
        Step::Engine(place) => Step::Engine(place + before),
        host => host,
    });
    Program {
        steps: first.steps.into_iter().chain(moved).collect(),
        engines: [first.engines, second.engines].concat(),
        host_tensors: [first.host_tensors, second.host_tensors].concat(),
        first: [first.first, second.first].concat(),
        read_back: [first.read_back, second.read_back].concat(),
    }
}

/// Gives each detector its own frame of a set.
struct BothInputs {
    camera: Box<dyn Preprocess>,
    lidar: Box<dyn Preprocess>,
}

impl Preprocess for BothInputs {
    fn run(
        &mut self,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<u32, DetectorError> {
        let Content::Set(set) = frame.content() else {
            return Err(DetectorError::WrongContent {
                wanted: ContentKind::Set,
                found: frame.content().kind(),
            });
        };
        self.camera.run(&set.camera, inputs, carry)?;
        carry.set = set.contexts().map(|of| of.map(Arc::clone));
        // How many points entered: the images of one camera have one size.
        self.lidar.run(&set.lidar, inputs, carry)
    }

    fn takes_rings(&self) -> bool {
        self.lidar.takes_rings()
    }
}

/// Puts the boxes of both together.
struct Fused {
    camera: Box<dyn Postprocess>,
    lidar: Box<dyn Postprocess>,
    /// The fusion's class for each of the LiDAR's.
    of_lidar: Vec<u16>,
    way: Associate,
    seen: Vec<Detection>,
    found: Vec<Detection>,
    projected: Vec<Projected>,
    association: Association,
}

impl Postprocess for Fused {
    fn run(
        &mut self,
        outputs: &TensorSet,
        carry: &Carry,
        found: &mut Vec<Detection>,
    ) -> Result<(), DetectorError> {
        self.camera.run(outputs, carry, &mut self.seen)?;
        self.lidar.run(outputs, carry, &mut self.found)?;
        self.projected.clear();
        let sight = carry.set.as_ref();
        let sight = sight.and_then(|[camera, lidar]| Sight::of(lidar, camera));
        for (number, of) in self.found.iter_mut().enumerate() {
            if let Some(class) = self.of_lidar.get(usize::from(of.class)) {
                of.class = *class;
            }
            let in_image = match (&of.place, &sight) {
                (Place::Space(place), Some(sight)) => sight.around(place),
                _ => None,
            };
            // What lies outside of the image no detector of images could have found.
            if let Some(place) = in_image.and_then(|whole| carry.fit.clip(whole)) {
                self.projected.push(Projected { number, place });
            }
        }
        self.association
            .run(self.way, &self.seen, &self.found, &self.projected, found);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
