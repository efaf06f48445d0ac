//! Compiles the doubles. A result is keyed by everything that goes in (sources, headers, compiler, flags), made in a folder of its
//! own and then renamed: several test programs may do this at the same time.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::machine;

/// Variables that ask for tests over the doubles.
pub(crate) const ASKED_BY: [&str; 4] = [
    "JETLAG_REQUIRE_TENSORRT",
    "JETLAG_REQUIRE_CUPTI",
    "JETLAG_TENSORRT_HEADERS",
    "JETLAG_DOUBLE_SANITIZE",
];

/// A folder of this crate with the sources of a double.
pub(crate) fn sources(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

/// Compiles C++ files of a folder, as one, into a shared library of this name, and gives the folder that holds it alone. It stays
/// loaded once it is. `None`, with the test skipped, where there is no C++ compiler.
///
/// # Panics
/// The files do not compile, or there is no C++ compiler and a variable asks for the doubles.
pub fn library(name: &str, folder: &Path, files: &[&str], defines: &[String]) -> Option<PathBuf> {
    library_with(name, folder, files, defines, &[])
}

/// As [`library`], with folders of headers that are not the double's.
pub(crate) fn library_with(
    name: &str,
    folder: &Path,
    files: &[&str],
    defines: &[String],
    headers: &[PathBuf],
) -> Option<PathBuf> {
    // The tests of one program ask at once, and the first compiles.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    match Compiler::find() {
        Ok(compiler) => {
            let made = shared(&compiler, name, folder, files, defines, headers);
            Some(made.unwrap_or_else(|why| panic!("{why}")))
        }
        Err(why) => {
            machine::missing(&ASKED_BY, &format!("no double {name}: {why}"));
            None
        }
    }
}

fn shared(
    compiler: &Compiler,
    name: &str,
    folder: &Path,
    files: &[&str],
    defines: &[String],
    headers: &[PathBuf],
) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    (&compiler.program, &compiler.flags, name, files, defines, headers).hash(&mut hash);
    hash_folder(folder, &["h", "cpp"], &mut hash)?;
    include_str!("compile.rs").hash(&mut hash);
    once(&format!("{name}-{:016x}", hash.finish()), |into| {
        let include =
            |file: &&str| format!("#include \"{}\"\n", folder.join(format!("{file}.cpp")).display());
        let text: String = files.iter().map(include).collect();
        let source = into.join("all.cpp");
        std::fs::write(&source, text).map_err(|e| e.to_string())?;
        compiler.run(|c| {
            c.args(defines.iter().map(|define| format!("-D{define}")))
                .args(
                    headers
                        .iter()
                        .flat_map(|folder| ["-isystem".as_ref(), folder.as_os_str()]),
                )
                .args(["-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"])
                .args(["-Wl,-z,nodelete", &format!("-Wl,-soname,{name}"), "-o"])
                .arg(into.join(name))
                .arg(&source)
                .arg("-ldl")
        })?;
        std::fs::remove_file(&source).map_err(|e| e.to_string())
    })
}

/// Compiles a C file into this shared library. `None`, with the test skipped, where there is no C compiler.
///
/// # Panics
/// The file does not compile.
pub fn c_library(library: &Path, source: &Path, defines: &[String]) -> Option<()> {
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-o")
        .arg(library)
        .arg(source)
        .arg("-ldl")
        .output();
    match built {
        Ok(output) if output.status.success() => Some(()),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            machine::skip(&format!("{} not built: cc: {error}", source.display()));
            None
        }
    }
}

/// Compiles this C into a shared library. `None`, with the test skipped, where there is no C compiler.
///
/// # Panics
/// The text does not compile, or the folder cannot be written to.
pub fn c_library_of(library: &Path, text: &str) -> Option<()> {
    let source = tempfile::Builder::new().suffix(".c").tempfile();
    let source = source.expect("a temporary file");
    std::fs::write(source.path(), text).expect("written");
    c_library(library, source.path(), &[])
}

/// Compiles a C++ file into a program, once. `None`, with a line that says why, where there is no C++ compiler.
///
/// # Panics
/// The file does not compile.
pub fn program(source: &Path, headers: &[PathBuf]) -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let compiler = match Compiler::find() {
        Ok(compiler) => compiler,
        Err(why) => {
            machine::missing(&ASKED_BY, &format!("{} not built: {why}", source.display()));
            return None;
        }
    };
    let name = source.file_stem().unwrap_or_default();
    let text = std::fs::read(source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let mut hash = DefaultHasher::new();
    (&compiler.program, &compiler.flags, &text, headers).hash(&mut hash);
    let made = once(&format!("{}-{:016x}", name.display(), hash.finish()), |into| {
        compiler.run(|c| {
            c.args(
                headers
                    .iter()
                    .flat_map(|folder| ["-isystem".as_ref(), folder.as_os_str()]),
            )
            .args(["-O1", "-pthread", "-o"])
            .arg(into.join(name))
            .arg(source)
            .arg("-ldl")
        })
    });
    Some(made.unwrap_or_else(|why| panic!("{why}")).join(name))
}

/// The folder of this key; made by `make` if it is not there yet. Who wants the same meanwhile, in this program or another, waits:
/// compiling it takes a minute of a processor.
pub(crate) fn once(key: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let root = machine::target().join("tmp/double");
    let ready = root.join(key);
    if ready.is_dir() {
        return Ok(ready);
    }
    let said = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let work = root.join(format!("unfinished-{key}"));
    std::fs::create_dir_all(&root).map_err(|e| said(&root, e))?;
    let name = root.join(format!("{key}.lock"));
    // Given back where it is dropped.
    let lock = File::create(&name).map_err(|e| said(&name, e))?;
    lock.lock().map_err(|e| said(&name, e))?;
    if ready.is_dir() {
        return Ok(ready);
    }
    // What somebody left who was killed.
    if work.is_dir() {
        std::fs::remove_dir_all(&work).map_err(|e| said(&work, e))?;
    }
    std::fs::create_dir_all(&work).map_err(|e| said(&work, e))?;
    make(&work)?;
    std::fs::rename(&work, &ready).map_err(|e| said(&ready, e))?;
    Ok(ready)
}

/// The C++ compiler with the flags of everything that is compiled here.
pub(crate) struct Compiler {
    pub(crate) program: String,
    pub(crate) flags: Vec<String>,
}

impl Compiler {
    /// The one that `CXX` names, or the first of the usual names that is there.
    pub(crate) fn find() -> Result<Self, String> {
        let mut tried: Vec<String> = std::env::var("CXX")
            .into_iter()
            .filter(|p| !p.is_empty())
            .collect();
        tried.extend(["c++", "g++", "clang++"].map(str::to_owned));
        let works = |p: &&String| {
            Command::new(p)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|s| s.success())
        };
        let program = tried.iter().find(works).cloned().ok_or_else(|| {
            format!(
                "no C++ compiler (tried {}): install g++ or clang++, or name one in CXX",
                tried.join(", ")
            )
        })?;
        let mut flags: Vec<String> = [
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Woverloaded-virtual",
            "-Wno-deprecated-declarations",
            "-Werror",
        ]
        .map(str::to_owned)
        .to_vec();
        if machine::is_asked("JETLAG_DOUBLE_SANITIZE") {
            flags
                .extend(["-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"].map(str::to_owned));
        }
        Ok(Self { program, flags })
    }

    pub(crate) fn run(&self, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(&self.flags);
        run(arguments(&mut command))
    }

    /// The text that these lines include.
    pub(crate) fn preprocess(&self, lines: &str) -> Result<String, String> {
        let mut child = Command::new(&self.program)
            .args(&self.flags)
            .args(["-x", "c++", "-E", "-P", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program))?;
        child
            .stdin
            .take()
            .ok_or("no standard input")?
            .write_all(lines.as_bytes())
            .map_err(|e| e.to_string())?;
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs a command to its end; an error with what it said where it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// The first file below a folder whose name fits.
pub(crate) fn find(folder: &Path, fits: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.sort();
    entries.iter().find_map(|path| match path.is_dir() {
        true => find(path, fits),
        false => path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(fits)
            .then(|| path.clone()),
    })
}

/// Names and contents of a folder's files with these extensions.
pub(crate) fn hash_folder(folder: &Path, extensions: &[&str], hash: &mut impl Hasher) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.sort();
    for file in files {
        if file
            .extension()
            .is_some_and(|e| extensions.iter().any(|x| e == *x))
        {
            file.file_name().hash(hash);
            std::fs::read(&file)
                .map_err(|e| format!("{}: {e}", file.display()))?
                .hash(hash);
        }
    }
    Ok(())
}
