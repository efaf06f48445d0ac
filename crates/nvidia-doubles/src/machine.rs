//! What a test needs of its machine and may not find: reference data, a library, a program.
//!
//! A test that finds nothing to run on is skipped, and never in silence: [`skip`] says which and why on the terminal, past
//! the test harness, which keeps the output of tests that pass; and adds a line to `skipped-tests.txt` in the target folder.
//! What a variable asks for runs or fails: [`missing`]. `tests/README.md` lists the variables.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A variable that has a value.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether a variable asks for something: 1 does; 0 and nothing do not.
///
/// # Panics
/// It says anything else, which would be taken for one or the other.
pub fn is_asked(name: &str) -> bool {
    match variable(name) {
        None => false,
        Some(value) if value == "0" => false,
        Some(value) if value == "1" => true,
        Some(value) => panic!("{name} is {value:?}: 1 asks for it, 0 does not"),
    }
}

/// Skips what cannot run here; a failure where one of these variables is set, since then somebody asked for it.
///
/// # Panics
/// One of the variables is set, and is not 0.
pub fn missing(asked_by: &[&str], why: &str) {
    let asks = |name: &&&str| variable(name).is_some_and(|value| value != "0");
    if let Some(name) = asked_by.iter().find(asks) {
        panic!("{name} is set, and what it asks for cannot be had: {why}");
    }
    skip(why);
}

/// Says that this test, or a part of it, does not run here, and why.
pub fn skip(why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("{}: {}\n", this_test(), why.trim().replace('\n', " "));
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.insert(line.clone()) {
        return;
    }
    // Not eprintln!, which the harness keeps for itself where the test passes.
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    let _ = note(&line);
}

/// The test program and the test that this thread runs.
fn this_test() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    // Cargo adds a hash to its name.
    let program = program
        .rsplit_once('-')
        .map_or(program.as_str(), |(name, _)| name);
    let thread = std::thread::current();
    format!("{program} {}", thread.name().unwrap_or("(a thread of a test)"))
}

/// Adds a line to the list, which begins anew with each command: with each group of processes.
fn note(line: &str) -> std::io::Result<()> {
    let path = target().join("skipped-tests.txt");
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may hold anything: state, parent, group.
    let group = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(2));
    let head = format!(
        "Skipped by the command of process group {}:\n",
        group.unwrap_or("?")
    );
    if !std::fs::read_to_string(&path).is_ok_and(|list| list.starts_with(&head)) {
        std::fs::write(&path, head)?;
    }
    let mut list = std::fs::OpenOptions::new().append(true).open(&path)?;
    list.write_all(line.as_bytes())
}

/// The folder into which cargo built this program, where it keeps a tag; the system's temporary folder for a program that was
/// copied to another machine.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let mut above = program.ancestors();
    above
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// Root folder of the repository's checkout.
pub fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().nth(2);
    root.unwrap_or(package).to_owned()
}

/// A file or folder of the reference data, which lies beside the repository or where `JETLAG_SHARED` says.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = variable("JETLAG_SHARED").map_or_else(|| repository().join("../shared"), PathBuf::from);
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    missing(&["JETLAG_SHARED"], &format!("{} not found", found.display()));
    None
}

/// The folder of the Python environments.
pub(crate) fn environments() -> PathBuf {
    variable("JETLAG_VENVS").map_or_else(|| repository().join(".venvs"), PathBuf::from)
}

/// One of the Python environments with libraries that `scripts/setup.sh --test` makes, in `.venvs` or where `JETLAG_VENVS`
/// says; `required_by` asks for it too.
pub fn environment(name: &str, required_by: &str) -> Option<PathBuf> {
    let folder = environments().join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let why = format!(
        "{} not found (scripts/setup.sh --test makes it)",
        folder.display()
    );
    missing(&["JETLAG_VENVS", required_by], &why);
    None
}

/// The Python of `JETLAG_PYTHON`, or the one in .venv, where it has these modules.
pub fn python(modules: &str) -> Option<PathBuf> {
    let python =
        variable("JETLAG_PYTHON").map_or_else(|| repository().join(".venv/bin/python"), PathBuf::from);
    let found = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let why = format!(
        "{} has not all of {modules} (scripts/setup.sh --test installs them)",
        python.display()
    );
    missing(&["JETLAG_PYTHON", "JETLAG_REQUIRE_PYTHON"], &why);
    None
}
