//! Where a libcupti may be: names, folders, and the order in which they are tried.
//!
//! Candidates are a pure function of a [`Search`], a CUDA major and what the process has loaded, so that made-up trees can be
//! tested. Opening them is [`crate::Library::find`]'s job. What the caller names explicitly is the only place then: a wrong
//! path is an error and not a reason to take another library.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// How every file's name begins.
pub(crate) const STEM: &str = "libcupti.so";

/// Where a library is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// A folder or file named by the user, with who named it (an option, an environment variable).
    pub explicit: Option<(String, PathBuf)>,
    /// The CUDA major of the program; the driver's where none is named.
    pub major: Option<u32>,
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
            major: None,
            root: PathBuf::from("/"),
            python,
            loader: true,
            hint: None,
        }
    }
}

/// A place that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Attempt {
    /// "the loader's path" or a folder.
    name: String,
    outcome: String,
}

/// No usable library: every place, and what was found there.
#[derive(Debug)]
pub struct NotFound {
    major: u32,
    places: Vec<Attempt>,
    refused: Vec<String>,
    /// The place that the user named, and who named it.
    named: Option<String>,
    hint: Option<String>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let major = self.major;
        write!(f, "no CUPTI of CUDA {major} that can be used was found")?;
        for error in &self.refused {
            write!(f, "\n  unusable: {error}")?;
        }
        f.write_str("\n  looked for libcupti.so in")?;
        for place in &self.places {
            write!(f, "\n    {}: {}", place.name, place.outcome)?;
        }
        write!(
            f,
            "\n  on a Jetson: sudo apt install cuda-cupti-{major}-* (JetPack's repository has it)\
             \n  on a desktop or server: apt install cuda-cupti-{major}-* from NVIDIA's repository, or pip install {}",
            match major {
                ..12 => "nvidia-cuda-cupti-cu11",
                12 => "nvidia-cuda-cupti-cu12",
                13.. => "nvidia-cuda-cupti",
            }
        )?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

impl NotFound {
    /// In one sentence: what was there and could not be used, or that an explicitly named place holds nothing. None where
    /// nothing was named and nothing found.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let holds_none = || Some(format!("{} holds no CUPTI", self.named.as_ref()?));
        self.refused.first().cloned().or_else(holds_none)
    }

    /// The libraries that were there, each with why it could not be used.
    #[must_use]
    pub fn refused(&self) -> &[String] {
        &self.refused
    }
}

/// What a search came to, before anything is opened.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Paths, or bare names for the loader, best first.
    pub(crate) found: Vec<PathBuf>,
    places: Vec<Attempt>,
    major: u32,
    named: Option<String>,
    hint: Option<String>,
}

impl Candidates {
    /// The error when none of them could be used.
    pub(crate) fn none_usable(self, refused: Vec<String>) -> NotFound {
        NotFound {
            major: self.major,
            places: self.places,
            refused,
            named: self.named,
            hint: self.hint,
        }
    }
}

impl Search {
    /// Everything to try, in order, for a CUDA major.
    pub(crate) fn candidates(&self, major: u32) -> Candidates {
        let mut files = Files {
            major,
            // Who names a place means what is there; whether the driver is new enough for it is seen when it is opened.
            takes_others: self.explicit.is_some(),
            others: Vec::new(),
            found: Vec::new(),
            places: Vec::new(),
        };
        match &self.explicit {
            Some((who, path)) => look_at_explicit(who, path, &mut files),
            None => self.look_everywhere(&mut files),
        }
        if files.takes_others {
            files.found.append(&mut files.others);
        }
        Candidates {
            found: files.found,
            places: files.places,
            major,
            named: self
                .explicit
                .as_ref()
                .map(|(who, path)| format!("{} (from {who})", path.display())),
            hint: self.hint.clone(),
        }
    }

    fn look_everywhere(&self, files: &mut Files) {
        if self.loader {
            let names = loader_names(files.major);
            files.places.push(Attempt {
                name: "the loader's path".into(),
                outcome: names.join(", "),
            });
            files.found.extend(names.iter().map(PathBuf::from));
        }
        for folder in self.folders() {
            files.look_into(&folder);
        }
        for environment in &self.python {
            files.look_into_wheels(environment);
        }
    }

    /// Folders of toolkits, newest first, and the distribution's.
    fn folders(&self) -> Vec<PathBuf> {
        let local = self.root.join("usr/local");
        let mut toolkits: Vec<PathBuf> = fs::read_dir(&local)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| release_of_folder(path).is_some())
            .collect();
        toolkits.sort_by_key(|path| std::cmp::Reverse(release_of_folder(path)));
        toolkits.insert(0, local.join("cuda"));
        let mut folders: Vec<PathBuf> = toolkits
            .iter()
            .flat_map(|toolkit| below_toolkit(toolkit))
            .collect();
        folders.push(
            self.root
                .join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH)),
        );
        folders
    }
}

/// What the loader is asked for: from 12 on the major names a library, before that major and minor.
fn loader_names(major: u32) -> Vec<String> {
    let mut names: Vec<String> = match major {
        11 => (4..=8).rev().map(|minor| format!("{STEM}.11.{minor}")).collect(),
        _ => vec![format!("{STEM}.{major}")],
    };
    names.push(STEM.to_owned());
    names
}

/// Where a toolkit has its CUPTI.
fn below_toolkit(toolkit: &Path) -> Vec<PathBuf> {
    let targets = match std::env::consts::ARCH {
        // JetPack 5 and 6, then Arm servers and JetPack 7.
        "aarch64" => ["aarch64-linux", "sbsa-linux"].as_slice(),
        _ => ["x86_64-linux"].as_slice(),
    };
    let mut folders = vec![toolkit.join("extras/CUPTI/lib64")];
    folders.extend(
        targets
            .iter()
            .map(|target| toolkit.join("targets").join(target).join("lib")),
    );
    folders
}

/// 12.4 of `cuda-12.4`.
fn release_of_folder(path: &Path) -> Option<(u32, u32)> {
    let name = path.file_name()?.to_str()?.strip_prefix("cuda-")?;
    let (major, minor) = name.split_once('.').unwrap_or((name, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The CUDA major that a file's name tells: `libcupti.so.12`, `libcupti.so.11.4`. Files that links lead to are named by year
/// (`libcupti.so.2024.1.1`) and tell nothing.
fn major_of_name(file: &Path) -> Option<u32> {
    let name = file.file_name()?.to_str()?;
    let rest = name.strip_prefix(STEM)?.strip_prefix('.')?;
    let major = rest.split('.').next()?.parse().ok()?;
    (major < 2000).then_some(major)
}

fn is_cupti(file: &Path) -> bool {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    name.strip_prefix(STEM)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn look_at_explicit(who: &str, path: &Path, files: &mut Files) {
    if path.is_file() {
        // The loader takes a name without a slash for one of its own.
        files
            .found
            .push(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
        files.places.push(Attempt {
            name: format!("{} (from {who})", path.display()),
            outcome: "a file".into(),
        });
        return;
    }
    let mut folders: Vec<PathBuf> = vec![path.to_owned(), path.join("lib"), path.join("lib64")];
    folders.extend(below_toolkit(path));
    for folder in &folders {
        files.look_into(folder);
    }
    files.look_into_wheels(path);
    for place in &mut files.places {
        place.name.push_str(&format!(" (from {who})"));
    }
}

/// Files that were found, and where they were looked for.
struct Files {
    /// Those whose names tell another major.
    others: Vec<PathBuf>,
    major: u32,
    /// Whether those of other majors are taken, too, after those of this one.
    takes_others: bool,
    found: Vec<PathBuf>,
    places: Vec<Attempt>,
}

impl Files {
    /// Adds a folder's libraries but those whose names are of another major, each file once whatever links lead to it.
    fn look_into(&mut self, folder: &Path) {
        let outcome = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "no such folder".to_owned(),
            Err(error) => error.to_string(),
            Ok(entries) => {
                let mut there: Vec<PathBuf> = entries
                    .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                    .collect();
                there.retain(|file| is_cupti(file));
                let before = there.len();
                there.retain(|file| file.metadata().is_ok_and(|facts| facts.len() > 0));
                let empty = before - there.len();
                // Names that tell a major first: they say what a link without one leads to.
                there.sort_by_key(|file| (major_of_name(file).is_none(), std::cmp::Reverse(file.clone())));
                self.take(there, empty)
            }
        };
        self.places.push(Attempt {
            name: folder.display().to_string(),
            outcome,
        });
    }

    fn take(&mut self, there: Vec<PathBuf>, empty: usize) -> String {
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut told = Vec::new();
        for file in there {
            let target = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
            if seen.contains(&target) {
                continue;
            }
            seen.push(target);
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match major_of_name(&file) {
                Some(major) if major != self.major => {
                    told.push(format!("{name} (of CUDA {major})"));
                    self.others.push(file);
                }
                _ => {
                    told.push(name);
                    self.found.push(file);
                }
            }
        }
        match (told.is_empty(), empty) {
            (true, 0) => "none".to_owned(),
            // Places in a container's image, onto which its runtime mounts the host's libraries.
            (true, _) => "empty files only (start the container with --runtime nvidia)".to_owned(),
            (false, _) => told.join(", "),
        }
    }

    /// Where wheels have their library below a folder of packages; those of this major first.
    fn wheels(&self) -> Vec<String> {
        let of_major = |major: u32| match major {
            ..13 => "nvidia/cuda_cupti/lib".to_owned(),
            major => format!("nvidia/cu{major}/lib"),
        };
        let mut names = vec![of_major(self.major)];
        for major in [13, 12] {
            let name = of_major(major);
            if self.takes_others && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Looks into the folders of CUPTI's wheels under a Python environment's prefix.
    fn look_into_wheels(&mut self, prefix: &Path) {
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
        let names = self.wheels();
        let wheels: Vec<PathBuf> = packages
            .flat_map(|packages| names.iter().map(move |name| packages.join(name)))
            .filter(|folder| folder.is_dir())
            .collect();
        if wheels.is_empty() {
            self.places.push(Attempt {
                name: format!("{}/lib/python3*/site-packages", prefix.display()),
                outcome: format!("no {}", names.join(", ")),
            });
        }
        for wheel in &wheels {
            self.look_into(wheel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let content: &[u8] = if file.contains("empty") { b"" } else { b"ELF" };
            fs::write(path, content).expect("written");
        }
        root
    }

    fn search(root: &Path) -> Search {
        Search {
            explicit: None,
            major: None,
            root: root.to_owned(),
            python: vec![root.join("venv")],
            loader: false,
            hint: None,
        }
    }

    fn found(search: &Search, major: u32) -> Vec<String> {
        let relative = |file: PathBuf| {
            let file = file
                .strip_prefix(&search.root)
                .map_or_else(|_| file.clone(), Path::to_owned);
            file.display().to_string()
        };
        search.candidates(major).found.into_iter().map(relative).collect()
    }

    #[test]
    fn the_loader_is_asked_by_the_names_that_the_major_has() {
        assert_eq!(loader_names(13), ["libcupti.so.13", "libcupti.so"]);
        assert_eq!(loader_names(11)[0], "libcupti.so.11.8");
        assert_eq!(loader_names(11)[4], "libcupti.so.11.4");
    }

    #[test]
    fn toolkits_come_newest_first_then_the_distributions_folder_then_wheels() {
        let lib = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let wheel = "venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib";
        let root = tree(&[
            "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12",
            "usr/local/cuda-12.10/extras/CUPTI/lib64/libcupti.so.12",
            &format!("{lib}/libcupti.so.12"),
            &format!("{wheel}/libcupti.so.12"),
        ]);
        let files = found(&search(root.path()), 12);
        let wanted = [
            "usr/local/cuda-12.10/extras/CUPTI/lib64/libcupti.so.12".to_owned(),
            "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12".to_owned(),
            format!("{lib}/libcupti.so.12"),
            format!("{wheel}/libcupti.so.12"),
        ];
        assert_eq!(files, wanted);
    }

    #[test]
    fn a_library_of_another_major_is_told_and_not_opened() {
        let root = tree(&["usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2024.1.1"]);
        let folder = root.path().join("usr/local/cuda/extras/CUPTI/lib64");
        for link in ["libcupti.so.12", "libcupti.so"] {
            std::os::unix::fs::symlink("libcupti.so.2024.1.1", folder.join(link)).expect("a link");
        }
        let search = search(root.path());
        assert_eq!(
            found(&search, 12),
            ["usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"]
        );
        assert!(found(&search, 13).is_empty());
        let text = search.candidates(13).none_usable(Vec::new()).to_string();
        for part in [
            "no CUPTI of CUDA 13",
            "libcupti.so.12 (of CUDA 12)",
            "pip install nvidia-cuda-cupti",
            "no nvidia/cu13/lib",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_the_user_names_is_the_only_place() {
        let root = tree(&[
            "mine/libcupti.so.13",
            "usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        ]);
        let mut search = search(root.path());
        search.explicit = Some(("--cupti".into(), root.path().join("mine")));
        search.loader = true;
        assert_eq!(found(&search, 13), ["mine/libcupti.so.13"]);
        search.explicit = Some(("--cupti".into(), root.path().join("nowhere")));
        search.hint = Some("name one with --cupti".into());
        let text = search.candidates(13).none_usable(Vec::new()).to_string();
        assert!(text.contains("nowhere (from --cupti): no such folder"), "{text}");
        assert!(text.ends_with("name one with --cupti"), "{text}");
    }

    #[test]
    fn a_folder_that_is_named_may_hold_another_major_and_says_in_one_sentence_that_it_holds_none() {
        let root = tree(&[
            "mine/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
            "mine/lib/libcupti.so.11.8",
        ]);
        let mut search = search(root.path());
        search.explicit = Some(("--cupti".into(), root.path().join("mine")));
        let wheel = "mine/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12";
        assert_eq!(found(&search, 13), ["mine/lib/libcupti.so.11.8", wheel]);
        assert_eq!(found(&search, 12), [wheel, "mine/lib/libcupti.so.11.8"]);
        search.explicit = Some(("--cupti".into(), PathBuf::from("/nowhere")));
        let refusal = search.candidates(13).none_usable(Vec::new()).refusal();
        assert_eq!(refusal.as_deref(), Some("/nowhere (from --cupti) holds no CUPTI"));
    }

    #[test]
    fn empty_files_of_a_container_are_told_as_what_they_are() {
        let root = tree(&["empty/libcupti.so.13"]);
        let mut search = search(root.path());
        search.explicit = Some(("--cupti".into(), root.path().join("empty")));
        let candidates = search.candidates(13);
        assert!(candidates.found.is_empty());
        let text = candidates.none_usable(Vec::new()).to_string();
        assert!(text.contains("empty files only"), "{text}");
    }
}
