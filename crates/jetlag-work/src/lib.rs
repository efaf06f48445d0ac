//! The static work of an ONNX network: what it computes, moves and keeps in memory, told from its file without running it.
//!
//! ```no_run
//! use jetlag_work::{Given, Graph, Options, text, work};
//!
//! let graph = Graph::open("yolox_nano.onnx")?;
//! let mut given = Given::default();
//! given.dim("batch=4")?; // for what the graph leaves open
//! let work = work(&graph, &given, &Options::default())?;
//! assert_eq!(work.totals.macs_by_operator["Conv"], 522_553_408);
//! println!("{}", text(&work, 100));
//! # Ok::<(), jetlag_work::WorkError>(())
//! ```
//!
//! - **FLOPs**: two for each multiply-add of matrix products and convolutions, and every other operation. A function that a
//!   mathematics library has (exp, tanh, erf, a root) counts once. The table is in `docs/work.md`.
//! - **Traffic** in two models: every operator reads and writes memory, or chains of operators that compute each element by
//!   itself stay on the chip. Element sizes as in the graph, or as 16 or 8 bits.
//! - **Memory**: weights, and the most that activations take at once if nodes are executed in the graph's order.
//! - **Training**: the way back, the optimiser, the activations kept for it.
//! - What depends on data (NonMaxSuppression, branches, loops that may end) is an upper bound and marked so. What is not known is
//!   none, with the reason, and listed with its share of the nodes.
//!
//! To count, weights are never read, neither in the file nor beside it; only [`prune`] does. A network that contradicts itself, lacks sizes or is cut off is an
//! error of one sentence.
//!
//! | module | what it holds |
//! |---|---|
//! | `onnx` | the file format, as far as it matters |
//! | `graph`, `order`, `given` | a network, its nodes in order, sizes for its inputs |
//! | `value`, `call`, `element` | what is known of a tensor; a node with its inputs |
//! | `infer` | shapes: a file for each family of operators |
//! | `cost` | work: likewise |
//! | `walk` | all nodes once, with branches, loops and functions |
//! | `layers` | the layers as shapes, for models of time |
//! | [`prune`] | networks with fewer channels |
//! | `traffic`, `live`, `training` | what moves, what lives, what comes back |
//! | `work`, `text` | all of it together; as a table |
//! | [`pagoda()`] | the estimate of another tool by its rules |

#![forbid(unsafe_code)]

mod arithmetic;
mod call;
mod cost;
mod element;
mod error;
mod given;
mod graph;
mod infer;
mod layers;
mod live;
mod onnx;
mod order;
mod pagoda;
pub mod prune;
mod text;
mod traffic;
mod training;
mod value;
mod walk;
mod work;

pub use element::{As, Element};
pub use error::{Missing, WorkError};
pub use given::Given;
pub use graph::{Dim, Graph, Input, OPSETS};
pub use layers::{LayerShape, Layers, layers};
pub use pagoda::{Pagoda, Share, pagoda};
pub use text::text;
pub use traffic::{Moves, TensorMoved};
pub use training::{Backward, Optimiser};
pub use work::{Bound, NodeWork, Options, Totals, TrainingWork, Unknown, Work, work};
