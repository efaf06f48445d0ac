//! Which program is started, and with which arguments.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::VideoError;

/// A program and its arguments. They are given to the system one by one; no shell reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its path, or its name to be looked for in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Launch {
    /// A program without arguments.
    pub fn of(program: impl Into<PathBuf>) -> Launch {
        Launch {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// With these arguments after those that it has.
    #[must_use]
    pub fn with<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Launch {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The program's name without its folder, for messages.
    pub fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// A program that becomes another one which the kernel kills when the thread that started it ends, so that not even `kill -9` of
/// this process leaves that one behind. It is called with these arguments, and after them the other program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its path.
    pub program: PathBuf,
    /// Its own arguments.
    pub arguments: Vec<OsString>,
}

/// Where a program is. Looked for here and not by the system, since of a guarded one nobody hears why it does not start.
///
/// # Errors
/// [`VideoError::Absent`]: nowhere.
pub(crate) fn find(program: &Path) -> Result<PathBuf, VideoError> {
    find_in(program, std::env::var_os("PATH").as_deref())
}

fn find_in(program: &Path, path: Option<&OsStr>) -> Result<PathBuf, VideoError> {
    let is_one =
        |path: &Path| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let absent = || VideoError::Absent {
        program: program.to_owned(),
    };
    if program.components().count() > 1 {
        return is_one(program).then(|| program.to_owned()).ok_or_else(absent);
    }
    let folders = path.into_iter().flat_map(std::env::split_paths);
    folders
        .map(|folder| folder.join(program))
        .find(|path| is_one(path))
        .ok_or_else(absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_path_or_where_it_is_said_to_be() {
        let found =
            |program: &str, path: Option<&str>| find_in(Path::new(program), path.map(OsStr::new)).ok();
        assert_eq!(found("sh", Some("/nowhere:/bin")), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("/bin/sh", None), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("sh", Some("/nowhere")), None);
        assert_eq!(found("sh", None), None);
        assert_eq!(found("/etc/passwd", None), None, "it is no program");
    }
}
