//! Many runs as data: what is varied, in which order, what is done, and what came of it.
//!
//! A [`Plan`] has axes; [`Plan::points`] are the combinations that are run, and [`schedule`] their order. The [`journal`] on disk
//! has every finished run, and nothing else: what is not in it is run (again). A [`Table`] has a row a run. [`knee`] finds the
//! highest value of an axis for which a promise holds, and [`pareto`] the points that no other beats, both by intervals.
//!
//! This crate starts no process and asks no clock and no device: the caller does, and says what came of it.
//!
//! ```
//! use jetlag_sweep::{Axis, Plan, schedule};
//! let plan = Plan {
//!     axes: vec![Axis::of("tenants.camera.arrival.hz", ["10", "30", "60"])],
//!     repeats: 2,
//!     ..Plan::default()
//! };
//! let points = plan.points()?;
//! assert_eq!((points.len(), schedule(&plan, &points).len()), (3, 6));
//! # Ok::<(), jetlag_sweep::PlanError>(())
//! ```

pub mod difference;
mod error;
mod eta;
mod figures;
pub mod journal;
pub mod knee;
mod page;
pub mod pareto;
mod pick;
mod plan;
mod pooled;
mod schedule;
pub mod sections;
pub mod table;

pub use error::{MetricError, PlanError};
pub use eta::{Eta, Guess, Rest, Seen};
pub use figures::{Column, Estimate, Figures, of_run};
pub use jetlag_record::{Failure, FailureKind, FailureStage};
pub use page::write_page;
pub use plan::{Axis, Choice, MOST_RUNS, Order, Plan, Point, Setting};
pub use pooled::{Pooled, pooled};
pub use schedule::{Run, cut, schedule};
pub use table::Table;
