//! Where a TensorRT may be: names, folders, and the order in which they are tried.
//!
//! Candidates are a pure function of a [`Search`], so that made-up trees can be tested. Opening them is
//! [`crate::Library::find`]'s job. What the caller names explicitly is the only place then: a wrong path is an
//! error and not a reason to take another library.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Base names of the libraries, best first: the full one, TensorRT-RTX, the lean runtime (no builder).
const STEMS: [&str; 3] = ["libnvinfer.so", "libtensorrt_rtx.so", "libnvinfer_lean.so"];
/// Names that the dynamic loader is asked for, newest first.
const LOADER_NAMES: [&str; 10] = [
    "libnvinfer.so.11",
    "libnvinfer.so.10",
    "libnvinfer.so.9",
    "libnvinfer.so.8",
    "libnvinfer.so",
    "libtensorrt_rtx.so.1",
    "libtensorrt_rtx.so",
    "libnvinfer_lean.so.11",
    "libnvinfer_lean.so.10",
    "libnvinfer_lean.so.8",
];
/// Folders of Python's wheels inside a folder of packages.
const WHEELS: [&str; 3] = ["tensorrt_libs", "tensorrt_rtx_libs", "tensorrt_lean_libs"];

/// Where a library is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// A folder or file named by the user, with who named it (`--tensorrt`, an environment variable).
    pub explicit: Option<(String, PathBuf)>,
    /// The folder that stands for `/`, for tests.
    pub root: PathBuf,
    /// Python environments: `lib/python3*/site-packages` is looked for below each.
    pub python: Vec<PathBuf>,
    /// Whether the dynamic loader is asked by bare name (`LD_LIBRARY_PATH`, `ld.so.cache`).
    pub loader: bool,
    /// How the caller's user can name a place; the last line of the error.
    pub hint: Option<String>,
}

impl Default for Search {
    /// The loader, the system's folders, and the Python environments that this process's environment names.
    fn default() -> Self {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let mut python: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(variable)
            .collect();
        python.extend(variable("HOME").map(|home| home.join(".local")));
        python.extend(["/usr/local", "/usr"].map(PathBuf::from));
        Self {
            explicit: None,
            root: PathBuf::from("/"),
            python,
            loader: true,
            hint: None,
        }
    }
}

/// One thing to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// A path, or a bare name for the loader.
    pub(crate) file: PathBuf,
}

/// A place that was looked at.
#[derive(Debug)]
struct Attempt {
    /// "the loader's path" or a folder.
    name: String,
    outcome: String,
}

/// No usable library: every place, and what was found there.
#[derive(Debug)]
pub struct NotFound {
    places: Vec<Attempt>,
    /// Libraries that were there and could not be used.
    refused: Vec<Error>,
    explicit: Option<(String, PathBuf)>,
    hint: Option<String>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no TensorRT that can be used was found")?;
        for error in &self.refused {
            write!(f, "\n  unusable: {error}")?;
        }
        f.write_str("\n  looked for libnvinfer.so, libtensorrt_rtx.so and libnvinfer_lean.so in")?;
        for place in &self.places {
            write!(f, "\n    {}: {}", place.name, place.outcome)?;
        }
        f.write_str(
            "\n  on a Jetson: sudo apt install tensorrt (it belongs to JetPack)\
             \n  on a desktop or server: apt install libnvinfer10 libnvonnxparsers10 from NVIDIA's repository, \
             or pip install tensorrt-cu13\
             \n  for RTX GPUs, and to build plans without a GPU: pip install tensorrt-rtx-cu13",
        )?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

impl NotFound {
    /// In one sentence: what was there and could not be used, or that an explicitly named place holds nothing.
    pub(crate) fn refusal(&self) -> Option<String> {
        if let Some(error) = self.refused.first() {
            return Some(error.to_string());
        }
        self.explicit
            .as_ref()
            .map(|(who, path)| format!("{} (from {who}) holds no TensorRT", path.display()))
    }

    /// The libraries that were there and could not be used.
    #[must_use]
    pub fn refused(&self) -> &[Error] {
        &self.refused
    }
}

/// What a search came to, before anything is opened.
#[derive(Debug)]
pub(crate) struct Candidates {
    pub(crate) found: Vec<Candidate>,
    places: Vec<Attempt>,
    explicit: Option<(String, PathBuf)>,
    hint: Option<String>,
}

impl Candidates {
    /// The error when none of them could be used.
    pub(crate) fn none_usable(self, refused: Vec<Error>) -> NotFound {
        NotFound {
            places: self.places,
            refused,
            explicit: self.explicit,
            hint: self.hint,
        }
    }
}

impl Search {
    /// Everything to try, in order.
    pub(crate) fn candidates(&self) -> Candidates {
        let mut found = Vec::new();
        let mut places = Vec::new();
        if let Some((who, path)) = &self.explicit {
            self.look_at_explicit(who, path, &mut found, &mut places);
            return Candidates {
                found,
                places,
                explicit: self.explicit.clone(),
                hint: self.hint.clone(),
            };
        }
        if self.loader {
            found.extend(LOADER_NAMES.iter().map(|name| Candidate {
                file: PathBuf::from(name),
            }));
            places.push(Attempt {
                name: "the loader's path".into(),
                outcome: LOADER_NAMES.join(", "),
            });
        }
        let mut folders = Vec::new();
        for folder in self.folders() {
            look_into(&folder, &mut folders, &mut places);
        }
        for environment in &self.python {
            look_into_wheels(environment, &mut folders, &mut places);
        }
        // Among folders, the better library of a worse one comes before the worse library of a better one.
        for stem in STEMS {
            found.extend(
                folders
                    .iter()
                    .filter(|file| has_stem(file, stem))
                    .map(|file| Candidate { file: file.clone() }),
            );
        }
        Candidates {
            found,
            places,
            explicit: self.explicit.clone(),
            hint: self.hint.clone(),
        }
    }

    fn look_at_explicit(
        &self,
        who: &str,
        path: &Path,
        found: &mut Vec<Candidate>,
        places: &mut Vec<Attempt>,
    ) {
        if path.is_file() {
            // The loader takes a name without a slash for one of its own.
            let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            found.push(Candidate { file });
            places.push(Attempt {
                name: format!("{} (from {who})", path.display()),
                outcome: "a file".into(),
            });
            return;
        }
        let mut folders: Vec<PathBuf> = [
            "",
            "lib",
            "lib64",
            "targets/x86_64-linux-gnu/lib",
            "targets/aarch64-linux-gnu/lib",
        ]
        .map(|below| {
            if below.is_empty() {
                path.to_owned()
            } else {
                path.join(below)
            }
        })
        .into();
        folders.extend(WHEELS.map(|wheel| path.join(wheel)));
        let mut files = Vec::new();
        for folder in &folders {
            look_into(folder, &mut files, places);
        }
        look_into_wheels(path, &mut files, places);
        for place in &mut *places {
            place.name.push_str(&format!(" (from {who})"));
        }
        for stem in STEMS {
            found.extend(
                files
                    .iter()
                    .filter(|file| has_stem(file, stem))
                    .map(|file| Candidate { file: file.clone() }),
            );
        }
    }

    /// JetPack's, Debian's and tarballs' folders.
    fn folders(&self) -> Vec<PathBuf> {
        let architecture = std::env::consts::ARCH;
        [
            format!("usr/lib/{architecture}-linux-gnu"),
            "usr/lib64".into(),
            "usr/local/lib".into(),
            "usr/local/cuda/lib64".into(),
            "usr/local/tensorrt/lib".into(),
            "opt/tensorrt/lib".into(),
        ]
        .iter()
        .map(|folder| self.root.join(folder))
        .collect()
    }
}

/// Looks into the folders of TensorRT's wheels under a Python environment's prefix.
fn look_into_wheels(prefix: &Path, files: &mut Vec<PathBuf>, places: &mut Vec<Attempt>) {
    let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten();
    let mut pythons: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    pythons.retain(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("python3"))
    });
    pythons.sort();
    let packages = pythons
        .iter()
        .rev()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)));
    let wheels: Vec<PathBuf> = packages
        .flat_map(|packages| WHEELS.map(|wheel| packages.join(wheel)))
        .filter(|folder| folder.is_dir())
        .collect();
    if wheels.is_empty() {
        let name = format!("{}/lib/python3*/site-packages", prefix.display());
        let outcome = format!("no {}", WHEELS.join(", "));
        places.push(Attempt { name, outcome });
    }
    for wheel in &wheels {
        look_into(wheel, files, places);
    }
}

fn has_stem(file: &Path, stem: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(stem)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Adds the libraries in a folder, newest major first, the shortest name of each (`.so.10` before `.so.10.3.0`).
fn look_into(folder: &Path, files: &mut Vec<PathBuf>, places: &mut Vec<Attempt>) {
    let outcome = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "no such folder".to_owned(),
        Err(error) => error.to_string(),
        Ok(entries) => {
            let mut there: Vec<PathBuf> = entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .collect();
            there.retain(|file| STEMS.iter().any(|stem| has_stem(file, stem)));
            let before = there.len();
            there.retain(|file| file.metadata().is_ok_and(|facts| facts.len() > 0));
            let stubs = before - there.len();
            there.sort_by_key(|file| order(file));
            // One file under several names (links) is tried once.
            let mut seen = Vec::new();
            there.retain(|file| {
                let target = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                !seen.contains(&target) && {
                    seen.push(target);
                    true
                }
            });
            let names: Vec<_> = there
                .iter()
                .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
                .collect();
            files.extend(there);
            match (names.is_empty(), stubs) {
                (true, 0) => "none".to_owned(),
                // Places in a container's image, onto which its runtime mounts the host's libraries.
                (true, _) => "empty files only (start the container with --runtime nvidia)".to_owned(),
                (false, _) => names.join(", "),
            }
        }
    };
    places.push(Attempt {
        name: folder.display().to_string(),
        outcome,
    });
}

/// Sort key: newest major first, then the shortest name; the unversioned link comes last.
fn order(file: &Path) -> (std::cmp::Reverse<u32>, usize) {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let major = name
        .split(".so.")
        .nth(1)
        .and_then(|rest| rest.split('.').next()?.parse().ok());
    (std::cmp::Reverse(major.unwrap_or(0)), name.len())
}

/// Names of the ONNX parser that belongs to a library, most likely first.
pub(crate) fn parser_names(library: &Path, major: u16, is_rtx: bool) -> Vec<PathBuf> {
    let names = if is_rtx {
        [
            format!("libtensorrt_onnxparser_rtx.so.{major}"),
            "libtensorrt_onnxparser_rtx.so".to_owned(),
        ]
    } else {
        [
            format!("libnvonnxparser.so.{major}"),
            "libnvonnxparser.so".to_owned(),
        ]
    };
    let beside = library.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut files: Vec<PathBuf> = Vec::new();
    files.extend(
        beside
            .into_iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)))
            .filter(|file| file.exists()),
    );
    files.extend(names.iter().map(PathBuf::from));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> PathBuf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("tensorrt-dyn-find-{}-{number}", std::process::id()));
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let content: &[u8] = if file.contains("stub") { b"" } else { b"ELF" };
            fs::write(path, content).expect("written");
        }
        root
    }

    fn found(search: &Search, root: &Path) -> Vec<String> {
        let relative = |candidate: Candidate| {
            candidate
                .file
                .strip_prefix(root)
                .unwrap_or(&candidate.file)
                .display()
                .to_string()
        };
        search.candidates().found.into_iter().map(relative).collect()
    }

    #[test]
    fn system_folders_come_before_wheels_and_full_libraries_before_lean_ones() {
        let lib = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let wheel = "venv/lib/python3.11/site-packages";
        let root = tree(&[
            &format!("{lib}/libnvinfer.so.8"),
            &format!("{lib}/libnvinfer_lean.so.8"),
            &format!("{lib}/libnvinfer_plugin.so.8"),
            &format!("{wheel}/tensorrt_libs/libnvinfer.so.10"),
            &format!("{wheel}/tensorrt_rtx_libs/libtensorrt_rtx.so.1"),
            &format!("{wheel}/tensorrt_rtx_libs/libtensorrt_onnxparser_rtx.so.1"),
        ]);
        let search = Search {
            explicit: None,
            root: root.clone(),
            python: vec![root.join("venv")],
            loader: false,
            hint: None,
        };
        assert_eq!(
            found(&search, &root),
            [
                format!("{lib}/libnvinfer.so.8"),
                format!("{wheel}/tensorrt_libs/libnvinfer.so.10"),
                format!("{wheel}/tensorrt_rtx_libs/libtensorrt_rtx.so.1"),
                format!("{lib}/libnvinfer_lean.so.8"),
            ]
        );
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn empty_stubs_of_a_container_are_not_tried_and_the_error_says_what_they_are() {
        let root = tree(&["stubs/libnvinfer.so.10", "stubs/libnvinfer.so.10.3.0"]);
        let search = Search {
            explicit: Some(("--tensorrt".to_owned(), root.join("stubs"))),
            root: root.clone(),
            python: Vec::new(),
            loader: false,
            hint: None,
        };
        let candidates = search.candidates();
        assert!(candidates.found.is_empty());
        let text = candidates.none_usable(Vec::new()).to_string();
        assert!(text.contains("empty files only"), "{text}");
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn what_the_user_names_is_the_only_place() {
        let root = tree(&[
            "mine/lib/libnvinfer.so.10.3.0",
            "mine/lib/libnvinfer.so.10",
            "usr/lib64/libnvinfer.so.11",
        ]);
        let mine = Some(("--tensorrt".to_owned(), root.join("mine")));
        let search = Search {
            explicit: mine,
            root: root.clone(),
            python: Vec::new(),
            loader: true,
            hint: None,
        };
        assert_eq!(
            found(&search, &root),
            ["mine/lib/libnvinfer.so.10", "mine/lib/libnvinfer.so.10.3.0"]
        );
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn the_error_names_every_place_and_how_to_install() {
        let root = tree(&["empty/file"]);
        let search = Search {
            explicit: None,
            root: root.clone(),
            python: Vec::new(),
            loader: true,
            hint: None,
        };
        let text = search.candidates().none_usable(Vec::new()).to_string();
        for part in [
            "libnvinfer.so.10",
            "usr/lib64: no such folder",
            "usr/local/lib",
            "apt install",
            "pip install",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn the_parser_is_sought_beside_its_library_first() {
        let root = tree(&["lib/libnvonnxparser.so.10"]);
        let library = root.join("lib/libnvinfer.so.10");
        let names = parser_names(&library, 10, false);
        assert_eq!(names[0], root.join("lib/libnvonnxparser.so.10"));
        assert_eq!(names[1], PathBuf::from("libnvonnxparser.so.10"));
        assert_eq!(
            parser_names(Path::new("libtensorrt_rtx.so.1"), 1, true)[0],
            PathBuf::from("libtensorrt_onnxparser_rtx.so.1")
        );
        fs::remove_dir_all(root).expect("removed");
    }
}
