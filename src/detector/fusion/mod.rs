//! A detector of two: one of images and one of sweeps, whose boxes are put together (late fusion).
//!
//! Its program has the networks of both, one after the other, over one set of tensors. So every backend runs it as it runs any other
//! detector: on a GPU the inputs of both go there together, both execute, and both outputs come back together. Preprocessing gives each
//! its own frames of the set; of several cameras the one network gets all images (`cameras`). Postprocessing has each find its boxes,
//! lays those of the LiDAR into each image ([`Sight::around`](crate::source::context::Sight::around)), and joins what is of one object
//! ([`associate`]).

pub mod associate;
mod cameras;

use std::collections::BTreeSet;

use super::camera::Fit;
use super::{Carry, Detection, Detector, DetectorError, Place, Postprocess, Preprocess, Seen};
use crate::backend::{NetworkSource, NotBatched, Program};
use crate::engine::network::{self, Port};
use crate::scenario::Associate;
use crate::source::context::Sight;
use crate::source::synchronised::SensorSet;
use crate::source::wants::Wants;
use crate::source::{Content, ContentKind, Frame};
use crate::tensor::{TensorError, TensorSet};
use associate::{Association, Projected};
use cameras::{Views, for_cameras};

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
    /// The camera's network takes another number of images at once.
    #[error(
        "{network} was exported for a fixed batch of {fixed} (its input `{input}`), and the source has {cameras} cameras; export it with a dynamic first dimension, with {cameras}, or with 1, which executes once for each camera"
    )]
    OtherBatch {
        /// Its name.
        network: String,
        /// The input that says so.
        input: String,
        /// The number of images in the file.
        fixed: usize,
        /// The number of cameras.
        cameras: usize,
    },
    /// The camera's network takes any number of images, and answers for another one.
    #[error(
        "{network} takes any number of images at once, and its output `{output}` is of {fixed} always, while the source has {cameras} cameras; export it with outputs whose first dimension is as dynamic as that of the input, or for a batch of 1, which executes once for each camera"
    )]
    OtherOutput {
        /// Its name.
        network: String,
        /// The output that says so.
        output: String,
        /// The number of images in the file.
        fixed: usize,
        /// The number of cameras.
        cameras: usize,
    },
    /// The camera's network cannot be given several images.
    #[error("the camera's detector cannot take the images of several cameras: {0}")]
    Cameras(Box<NotBatched>),
    /// There is no memory for the tensors of a camera.
    #[error(transparent)]
    Memory(Box<TensorError>),
}

/// Makes one detector of two, for sets with images of so many cameras.
///
/// # Errors
/// [`NoFusion`]: other inputs, equal names of tensors, a network that does not take so many images.
pub fn fuse(camera: Detector, cameras: usize, lidar: Detector, way: Associate) -> Result<Detector, NoFusion> {
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
    let cameras = cameras.max(1);
    let (of_cameras, [inputs, outputs]) = for_cameras(camera.program, cameras)?;
    Ok(Detector {
        name: format!("{} + {}", camera.name, lidar.name),
        input: ContentKind::Set,
        cameras,
        classes,
        reach: lidar.reach,
        program: one_after_the_other(of_cameras, lidar.program),
        preprocess: Box::new(BothInputs {
            camera: camera.preprocess,
            cameras,
            views: inputs,
            lidar: lidar.preprocess,
        }),
        outputs: None,
        postprocess: Box::new(Fused {
            camera: camera.postprocess,
            cameras,
            views: outputs,
            carry: Carry::default(),
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
        names.extend(
            [true, false]
                .into_iter()
                .flat_map(|inputs| ports_of(engine, inputs))
                .map(|port| port.name),
        );
    }
    names
}

/// A network's inputs, or its outputs. What cannot be read is told when it is loaded.
fn ports_of(engine: &NetworkSource, inputs: bool) -> Vec<Port> {
    let facts = match engine {
        NetworkSource::File(path) => network::read(path).ok(),
        NetworkSource::Embedded { bytes, .. } => network::facts(bytes).ok(),
    };
    let ports = facts.map(|facts| if inputs { facts.inputs } else { facts.outputs });
    ports.unwrap_or_default()
}

/// Both programs as one.
fn one_after_the_other(first: Program, second: Program) -> Program {
    let before = first.engines.len();
    let moved = second.steps.into_iter().map(|step| step.moved(before));
    Program {
        steps: first.steps.into_iter().chain(moved).collect(),
        engines: [first.engines, second.engines].concat(),
        host_tensors: [first.host_tensors, second.host_tensors].concat(),
        first: [first.first, second.first].concat(),
        read_back: [first.read_back, second.read_back].concat(),
    }
}

/// Gives each detector its own frames of a set.
struct BothInputs {
    camera: Box<dyn Preprocess>,
    cameras: usize,
    views: Views,
    lidar: Box<dyn Preprocess>,
}

impl Preprocess for BothInputs {
    fn run(
        &mut self,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<u32, DetectorError> {
        let set = set_of(frame, self.cameras)?;
        carry.images.clear();
        for (camera, image) in set.cameras.iter().enumerate() {
            self.views.make(camera, &mut *self.camera, image, inputs, carry)?;
            carry.images.push(Seen {
                fit: carry.fit,
                context: image.context.clone(),
            });
        }
        carry.lidar.clone_from(&set.lidar.context);
        // How many points entered: the images of one camera have one size.
        self.lidar.run(&set.lidar, inputs, carry)
    }

    fn wants(&self) -> Wants {
        self.lidar.wants()
    }
}

/// The set that a frame is, of so many cameras.
pub(super) fn set_of(frame: &Frame, cameras: usize) -> Result<&SensorSet, DetectorError> {
    let Content::Set(set) = frame.content() else {
        return Err(DetectorError::WrongContent {
            wanted: ContentKind::Set,
            found: frame.content().kind(),
        });
    };
    if set.cameras.len() != cameras {
        return Err(DetectorError::BadFrame {
            index: frame.index,
            problem: format!(
                "the set has images of {} cameras, and the detector takes those of {cameras}",
                set.cameras.len()
            ),
        });
    }
    Ok(set)
}

/// Puts the boxes of all together.
struct Fused {
    camera: Box<dyn Postprocess>,
    cameras: usize,
    views: Views,
    /// What the camera's detector is told of the image in hand.
    carry: Carry,
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
        self.lidar.run(outputs, carry, &mut self.found)?;
        for of in &mut self.found {
            if let Some(class) = self.of_lidar.get(usize::from(of.class)) {
                of.class = *class;
            }
        }
        self.association.begin(self.found.len(), found);
        for number in 0..self.cameras {
            let image = carry.images.get(number);
            let fit = image.map_or_else(Fit::default, |image| image.fit);
            self.carry.fit = fit;
            // A source has no more cameras than this can tell (`scenario`).
            self.carry.camera = u8::try_from(number).unwrap_or(u8::MAX);
            let own = self.views.outputs(number, outputs)?;
            self.camera.run(own, &self.carry, &mut self.seen)?;
            let context = image.and_then(|image| image.context.as_ref());
            let sight = context
                .zip(carry.lidar.as_ref())
                .and_then(|(camera, lidar)| Sight::of(lidar, camera));
            self.projected.clear();
            for (number, of) in self.found.iter().enumerate() {
                let in_image = match (&of.place, &sight) {
                    (Place::Space(place), Some(sight)) => sight.around(place),
                    _ => None,
                };
                // What lies outside of the image no detector of images could have found.
                if let Some(place) = in_image.and_then(|whole| fit.clip(whole)) {
                    self.projected.push(Projected { number, place });
                }
            }
            self.association
                .camera(self.way, &self.seen, &self.found, &self.projected, found);
        }
        self.association.end(&self.found, found);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
