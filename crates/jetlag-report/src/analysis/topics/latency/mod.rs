//! How long frames take, stage by stage; whether a tenant keeps up, and stays as it was.

pub(in crate::analysis) mod failed;
pub mod nodes;
pub(in crate::analysis) mod predictability;
pub(in crate::analysis) mod served;
pub(in crate::analysis) mod signals;
pub mod start_up;
pub(in crate::analysis) mod steady;
pub mod submission;
pub(in crate::analysis) mod supply;
pub(in crate::analysis) mod tenant;
pub(in crate::analysis) mod wander;
pub mod waterfall;
