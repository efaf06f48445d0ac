//! Where the tests find libraries and networks.

#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::PathBuf;

use nvidia_doubles::machine;
use tensorrt_dyn::{Era, Library, Search};

/// One of the project's own networks.
pub(crate) fn network(name: &str) -> PathBuf {
    machine::repository().join("engines").join(name)
}

/// A library of one of the environments that the set-up script makes.
pub(crate) fn installed(environment: &str) -> Option<Library> {
    let folder = machine::environment(environment, "JETLAG_REQUIRE_TENSORRT")?;
    let search = Search {
        explicit: Some(("the tests".into(), folder)),
        ..Search::default()
    };
    Some(Library::find(&search).expect("a library"))
}

/// NVIDIA's TensorRT-RTX libraries, with their eras and versions.
pub(crate) fn rtx() -> Vec<(Library, Era, &'static str)> {
    let all = [
        ("rtx-1.7", Era::E, "TensorRT-RTX 1.7.1"),
        ("rtx-1.4", Era::D, "TensorRT-RTX 1.4.0"),
    ];
    all.into_iter()
        .filter_map(|(name, era, version)| Some((installed(name)?, era, version)))
        .collect()
}

/// NVIDIA's lean runtimes that are installed.
pub(crate) fn lean() -> Vec<(Library, Era)> {
    let all = [("lean-11.4", Era::C), ("lean-10.16", Era::B)];
    all.into_iter()
        .filter_map(|(name, era)| Some((installed(name)?, era)))
        .collect()
}
