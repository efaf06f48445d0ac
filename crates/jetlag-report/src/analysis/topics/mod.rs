//! What a run is asked, a folder a topic. Each computes its figures from what was gathered, and decides by rules of its own what limits
//! them; the words of these findings are in `catalogue`.

pub(super) mod causes;
pub mod duty;
pub(super) mod inputs;
pub mod interference;
pub(super) mod latency;
pub mod phases;
pub(super) mod power;
pub mod roofline;
pub(super) mod traces;
