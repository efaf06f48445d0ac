//! How much two networks slow each other down that were never run together, from how each of them gets on with loads of one resource.
//!
//! Beside a load of a stated level on one resource (a stressor) a network is slowed down: that is how *sensitive* it is. It slows the load
//! down, too: that is how much of the resource it *takes*. A pair's slowdown follows from the sensitivity of the one and what the other
//! takes. How, is fitted to pairs of other networks that were run together:
//!
//! - A base, of which there are two forms: a sum over resources of what the one is slowed down beyond 1, times the share that the other takes;
//!   and the same with logarithms, a product. No coefficient is negative.
//! - Trees correct what they leave ([`crate::trees`]), as far as left-out pairs speak for it.
//! - Intervals come from pairs that were left out, and for a network of which no pair was measured from networks that were left out
//!   with all of their pairs.
//!
//! ```
//! use jetlag_predict::pairs::{Meeting, PairData};
//! let meeting = |resource: &str, suffers, causes| Meeting { resource: resource.into(), level: 1.0, suffers, causes };
//! let mut data = PairData::new("H100, Streams");
//! data.add_network("detector", vec![meeting("compute", 1.9, 1.6), meeting("dram", 1.1, 1.05)])?;
//! data.add_network("segmenter", vec![meeting("compute", 1.4, 1.2), meeting("dram", 1.8, 1.5)])?;
//! data.add_pair("detector", "segmenter", 1.35)?;
//! # Ok::<(), jetlag_predict::pairs::PairError>(())
//! ```

mod base;
mod data;
mod file;
mod model;
mod score;

pub use data::{Measured, Meeting, PairData, PairError, Signature};
pub use model::{PairAnswer, PairModel, PairReason, fit_pairs};
pub use score::{LeftOut, PairEvaluation, PairScore, eval_pairs};
