//! Latency, peak memory, energy and mean power of a network on a board, predicted from the shapes of its layers.
//!
//! Without the network being run: features are counted from a [`LayerTable`], a base of few physical terms is fitted to
//! measurements of other networks or variants, and trees correct what it leaves. Predictions come with intervals, and say when
//! a network is unlike all that the model was fitted on.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use jetlag_predict::{EvalOptions, FitOptions, Question, Stage, dataset, eval, fit, text};
//! let data = dataset::open("perf4sight".as_ref())?;
//! print!("{}", text::evaluation(&eval(&data, None, &EvalOptions::default())?));
//! let model = fit(&data, &FitOptions::default())?;
//! let table = &data.networks[&("resnet18".to_owned(), "35".to_owned())];
//! let question = Question { table, batch: 20, stage: Stage::Training, device: None, deadline_ms: Some(500.0) };
//! print!("{}", text::answer(&model.apply(&question)?));
//! # Ok(())
//! # }
//! ```

mod base;
mod bytes;
pub mod dataset;
mod error;
mod eval;
pub mod features;
mod layers;
mod model;
mod nnls;
mod random;
mod score;
pub mod text;
pub mod trees;

pub use dataset::{Dataset, Target};
pub use error::{DataError, LayerError, ModelError, PredictError};
pub use eval::{Coverage, EvalOptions, Evaluation, Mean, Protocol, Score, eval};
pub use features::{Device, FeatureSet, Stage};
pub use layers::{Layer, LayerKind, LayerTable, MOST_LAYERS};
pub use model::{
    Answer, Facts, FitOptions, Fits, Interval, Kin, Late, Model, Prediction, Question, Reason, TargetFacts, Verdict,
    Withheld, fit,
};
pub use score::{Errors, quantile};
