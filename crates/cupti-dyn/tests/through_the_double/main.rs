//! The crate through the double of libcupti, in four releases and as 11.4: what comes, what is lost and told, what is refused.
//!
//! CUPTI's state is a process's, so each test runs in a process of its own for each release, beside the driver's double.

mod delivery;
#[path = "../../examples/driver/mod.rs"]
mod driver;
mod graphs;
mod loading;
mod misbehaviour;
mod parts;
mod ranges;
mod recording;
mod refusals;
mod scene;
mod tensorrt;
mod whole;
