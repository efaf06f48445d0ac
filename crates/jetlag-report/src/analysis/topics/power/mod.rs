//! Power and energy: lines, their sum, what each tenant took, budgets.

pub(in crate::analysis) mod attribution;
pub(in crate::analysis) mod budget;
pub(in crate::analysis) mod feeds;
pub(in crate::analysis) mod rails;
pub(in crate::analysis) mod sampling;
pub(in crate::analysis) mod sensors;
pub(in crate::analysis) mod total;
