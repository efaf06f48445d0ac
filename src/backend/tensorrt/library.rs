//! Which TensorRT is used: what the user names, else the best that is installed.

use std::path::{Path, PathBuf};

use tensorrt_dyn::{Error, Library, Search, Version};

use crate::engine::manifest::BuilderIdentity;

/// Names a folder or file, where the command line does not.
const VARIABLE: &str = "JETLAG_TENSORRT";

/// Opens the library: `given` (the command line's `--tensorrt`), else `JETLAG_TENSORRT`, else what is installed.
///
/// # Errors
/// None can be used; every place looked at is named, and how to install one.
pub fn find(given: Option<&Path>) -> Result<Library, Error> {
    let variable = || {
        std::env::var_os(VARIABLE)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let explicit = match given {
        Some(path) => Some(("--tensorrt".to_owned(), path.to_owned())),
        None => variable().map(|path| (VARIABLE.to_owned(), path)),
    };
    let hint = "installed elsewhere? Set --tensorrt DIR or JETLAG_TENSORRT=DIR";
    Library::find(&Search {
        explicit,
        hint: Some(hint.to_owned()),
        ..Search::default()
    })
}

/// The library as plans and messages name it.
pub fn describe(version: Version) -> BuilderIdentity {
    BuilderIdentity {
        flavour: version.flavour.to_string(),
        version: version.dotted(),
    }
}
