//! From records to series, in bounded memory: what a run's events were, in order of time, and how much their values depend on each
//! other. Knows no summary.

pub(in crate::analysis) mod backlog;
pub(in crate::analysis) mod batch_work;
pub(in crate::analysis) mod curve;
pub(in crate::analysis) mod dependence;
pub(in crate::analysis) mod durations;
pub(in crate::analysis) mod effect;
pub(in crate::analysis) mod energy;
pub(in crate::analysis) mod energy_counter;
pub(in crate::analysis) mod failures;
pub(in crate::analysis) mod idle;
pub(in crate::analysis) mod lack;
pub(in crate::analysis) mod layer_name;
pub(in crate::analysis) mod missed;
pub(in crate::analysis) mod plan;
pub mod plot;
pub(in crate::analysis) mod recorded;
pub(in crate::analysis) mod responses;
pub(in crate::analysis) mod series;
pub mod stamps;
pub(in crate::analysis) mod timeline;
pub mod trace;
pub mod traced;
pub(in crate::analysis) mod track;
pub(in crate::analysis) mod uncertainty;
pub(in crate::analysis) mod waiting;
pub(in crate::analysis) mod watch;
pub(in crate::analysis) mod within;
