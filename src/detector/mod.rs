//! What a tenant runs: a network with its pre- and post-processing.
//!
//! A [`Detector`] is made from a RON spec (engines/*.ron): the [`Program`] that
//! a backend executes, a [`Preprocess`] that turns a frame into input tensors, and a [`Postprocess`] that
//! turns output tensors into [`Detection`]s. The two halves run on different threads when the pipeline
//! overlaps stages; what the second must know of the first travels in the slot's [`Carry`].

pub mod camera;
pub mod eval;
pub mod fusion;
pub(crate) mod inputs;
pub mod lidar;
pub mod network;
pub mod propose;
pub mod spec;

use std::path::PathBuf;
use std::sync::Arc;

pub use crate::record::detection::{Box2d, Box3d, Detection, Place};

use crate::backend::Program;
use crate::source::context::FrameContext;
use crate::source::wants::Wants;
use crate::source::{ContentKind, Frame};
use crate::tensor::{TensorError, TensorSet};
use crate::written::Problems;
use network::outputs::Outputs;

/// What postprocessing must know of preprocessing, kept with the slot and used again.
#[derive(Default)]
pub struct Carry {
    /// How the image was fitted into the network's input.
    pub fit: camera::Fit,
    /// Whether the inputs of a bare network are in the slot already.
    pub is_made: bool,
    /// Of an image: of which of the source's cameras it is.
    pub camera: u8,
    /// Of a set: its images, camera by camera.
    pub images: Vec<Seen>,
    /// Of a set: what is known of its sweep's LiDAR.
    pub lidar: Option<Arc<FrameContext>>,
}

/// An image of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// How it was fitted into the network's input.
    pub fit: camera::Fit,
    /// What is known of its camera.
    pub context: Option<Arc<FrameContext>>,
}

/// Turns a frame into input tensors (stage *preprocess*). Allocates nothing once warm.
pub trait Preprocess: Send {
    /// Fills the inputs and the carry; returns how many points or pixels entered.
    fn run(&mut self, frame: &Frame, inputs: &mut TensorSet, carry: &mut Carry)
    -> Result<u32, DetectorError>;

    /// What it takes of points beside where they are.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Files that it has read, beside the networks.
    fn files(&self) -> &[PathBuf] {
        &[]
    }
}

/// Turns output tensors into detections (stage *postprocess*). Allocates nothing once warm.
pub trait Postprocess: Send {
    /// Replaces the contents of `found`, best score first.
    fn run(
        &mut self,
        outputs: &TensorSet,
        carry: &Carry,
        found: &mut Vec<Detection>,
    ) -> Result<(), DetectorError>;
}

/// A detector ready to be opened on a backend.
pub struct Detector {
    /// The name that the spec gives it.
    pub name: String,
    /// What its frames must hold.
    pub input: ContentKind,
    /// Of how many cameras its sets must have images; 0 where its frames are no sets.
    pub cameras: usize,
    /// Class names by index.
    pub classes: Vec<String>,
    /// Where it can find anything at all, for a LiDAR detector: from and to along x and along y, metres.
    pub reach: Option<[[f32; 2]; 2]>,
    /// Engines and host steps, in order.
    pub program: Program,
    /// Turns a frame into the network's inputs.
    pub preprocess: Box<dyn Preprocess>,
    /// Turns the network's outputs into detections.
    pub postprocess: Box<dyn Postprocess>,
    /// What is done with the outputs when the run is over, of a bare network.
    pub outputs: Option<Outputs>,
}

impl Detector {
    /// Items of a frame, of a bare network: the first extent that all its inputs have; none where they differ, and of what detects.
    pub fn batch(&self) -> Option<u64> {
        let mut first = self
            .program
            .host_tensors
            .iter()
            .map(|tensor| tensor.max_shape.dims().first());
        let batch = *first.next()??;
        let is_bare = self.input == ContentKind::Empty && self.classes.is_empty();
        (is_bare && first.all(|other| other == Some(&batch))).then_some(batch as u64)
    }
}

/// What goes wrong in making or running a detector.
#[derive(Debug, thiserror::Error)]
pub enum DetectorError {
    /// A tensor is missing, too small, or of another type.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The frame does not hold what the detector takes.
    #[error("the detector takes {wanted:?} frames, but got {found:?}")]
    WrongContent {
        /// The kind of frame that the detector takes.
        wanted: ContentKind,
        /// The kind of frame that the source gave.
        found: ContentKind,
    },
    /// A frame that cannot be processed (an image of zero size, say).
    #[error("frame {index}: {problem}")]
    BadFrame {
        /// Its index in the source.
        index: u64,
        /// What is wrong, found against expected.
        problem: String,
    },
    /// A spec that cannot be read, or contradicts itself.
    #[error(transparent)]
    WrongSpec(#[from] Problems),
    /// A network that cannot run on made inputs.
    #[error(transparent)]
    NoInputs(#[from] network::NoInputs),
    /// A spec that contradicts its network.
    #[error("{spec}: {problem}")]
    BadSpec {
        /// The spec's file or name.
        spec: String,
        /// What is wrong, found against expected, and what to do.
        problem: String,
    },
}
