//! What a network is and what to build of it, before any backend sees it: facts of ONNX files, build options, and
//! the plan cache with its manifests. Builds nothing and loads nothing itself.

pub mod cache;
pub mod graph;
pub mod manifest;
pub mod network;
pub mod operators;
pub mod options;
pub mod plan;
pub mod protobuf;
