//! Which libcupti is used: what the user names, else what the process has loaded, else, of the driver's CUDA, what the loader,
//! a toolkit or a Python environment has; and whether it may trace this process.

use std::path::{Path, PathBuf};

use cupti_dyn::{Driver, Error, Library, NotFound, Search, Session, Settings};

/// Names a file or a folder.
const VARIABLE: &str = "JETLAG_CUPTI";

/// A library that is there.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    library: Library,
    driver: Driver,
}

/// Why there is none to use.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No driver, so there is nothing to trace.
    #[error("{0}")]
    NoDriver(Error),
    /// None in any of the places looked at.
    #[error(transparent)]
    NotFound(NotFound),
    /// One that cannot be used, in a sentence.
    #[error("{0}")]
    Unusable(String),
}

/// Looks for the library, and loads it.
///
/// # Errors
/// There is no driver, no library, or one that cannot be used.
pub fn find() -> Result<Found, Refused> {
    let driver = Driver::open().map_err(Refused::NoDriver)?;
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let search = Search {
        explicit: named.map(|path| (VARIABLE.to_owned(), PathBuf::from(path))),
        hint: Some(format!("installed elsewhere? Set {VARIABLE} to a file or folder")),
        ..Search::default()
    };
    match Library::find(&search, driver) {
        Ok(library) => Ok(Found { library, driver }),
        Err(Error::NotFound(places)) => Err(match places.refusal() {
            Some(refusal) => Refused::Unusable(refusal),
            None => Refused::NotFound(places),
        }),
        Err(error) => Err(Refused::Unusable(error.to_string())),
    }
}

/// Loads one library by its file.
///
/// # Errors
/// There is no driver, without which some releases crash when they are entered, or the library cannot be used.
pub fn at(file: &Path) -> Result<Found, Refused> {
    let driver = Driver::open().map_err(Refused::NoDriver)?;
    let library = Library::open(file, driver).map_err(|error| Refused::Unusable(error.to_string()))?;
    Ok(Found { library, driver })
}

impl Found {
    /// The library itself.
    pub fn library(self) -> Library {
        self.library
    }

    /// Its file.
    pub fn path(self) -> &'static Path {
        self.library.path()
    }

    /// The release, and what is known of it: `CUPTI of CUDA 13.0.1`.
    pub fn version(self) -> String {
        self.library.version().to_string()
    }

    /// The newest CUDA that the driver knows: 13.0 for 13000.
    pub fn driver(self) -> String {
        let version = self.driver.version();
        format!("{}.{}", version / 1000, version % 1000 / 10)
    }

    /// Whether this process may trace now: takes CUPTI's only place and gives it up again. Nothing is recorded.
    ///
    /// # Errors
    /// It may not, or another tool traces it.
    pub fn may_trace(self) -> Result<(), Error> {
        let settings = Settings {
            name: "jetlag".to_owned(),
            ..Settings::default()
        };
        Session::open(self.library, &settings).map(drop)
    }

    /// Why NVTX ranges cannot be taken in, if they cannot.
    pub fn nvtx_refusal(self) -> Option<String> {
        self.library.nvtx_injection().err().map(|error| error.to_string())
    }
}
