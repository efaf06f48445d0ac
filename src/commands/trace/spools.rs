//! The spools that a command's processes left in the folder, and what is known of each before a run file is made of them.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jetlag_activity::spool::{self, Began, Counts, Spooled};

use super::noticed::Noticed;
use super::system;
use crate::files;
use crate::units::Stamp;

/// Processes that are told apart in a run file.
const MOST: usize = 1000;

/// A process that wrote something.
pub(super) struct Traced {
    path: PathBuf,
    pub(super) began: Began,
    /// Whether its GPU was traced, and did anything.
    pub(super) gpu: Option<u16>,
    /// Whether there is anything of it to show.
    pub(super) has_any: bool,
    /// Whether it ended in order.
    ended: bool,
    /// Whether it still writes.
    pub(super) is_alive: bool,
    /// The last moment that it wrote of.
    pub(super) last: Stamp,
}

/// All of them.
#[derive(Default)]
pub(super) struct Folder {
    /// In the order in which they began.
    pub(super) traced: Vec<Traced>,
    /// What cannot be read, with the process where it is known.
    pub(super) noticed: Vec<Noticed>,
}

/// Looks at the spools of a folder.
pub(super) fn look(folder: &Path) -> anyhow::Result<Folder> {
    let mut found = Folder::default();
    let mut wordless = 0;
    let cannot = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path
            .extension()
            .is_none_or(|extension| extension != spool::EXTENSION)
        {
            continue;
        }
        match read(&path, 0) {
            Ok(Some(spooled)) => {
                let on = |work: &crate::record::activity::Work| work.on_device().map(|on| on.device);
                let gpu = spooled.gathered.all.iter().find_map(|raw| on(&raw.activity.work));
                let ends = spooled.gathered.all.iter().map(|raw| raw.activity.to);
                let ends = ends.chain(spooled.ranges.iter().map(|range| range.to));
                let last = ends.max().unwrap_or(Stamp(spooled.began.at_ns));
                let is_alive = !spooled.ended && system::has_open(spooled.began.process, &path);
                found.traced.push(Traced {
                    path,
                    has_any: !spooled.ranges.is_empty()
                        || !spooled.gathered.all.is_empty()
                        || spooled.untraced.is_some()
                        || spooled.counts != Counts::default()
                        || is_alive,
                    ended: spooled.ended,
                    is_alive,
                    last,
                    began: spooled.began,
                    gpu,
                });
            }
            Ok(None) => wordless += 1,
            Err(version) => found.noticed.push(Noticed::OtherVersion { version }),
        }
    }
    found.noticed.dedup();
    if wordless > 0 {
        found.noticed.push(Noticed::Wordless { processes: wordless });
    }
    found
        .traced
        .sort_by_key(|traced| (traced.began.at_ns, traced.began.process));
    // Some processes of a command only look whether there is a GPU.
    if found.traced.iter().any(|traced| traced.has_any) {
        let cut = found
            .traced
            .iter()
            .filter(|traced| !traced.has_any && !traced.ended);
        match cut.count() {
            0 => {}
            processes => found.noticed.push(Noticed::Silent { processes }),
        }
        found.traced.retain(|traced| traced.has_any);
    }
    if found.traced.len() > MOST {
        let left_out = found.traced.len() - MOST;
        found.traced.truncate(MOST);
        found.noticed.push(Noticed::TooMany { left_out });
    }
    Ok(found)
}

impl Traced {
    /// All of it, with names of this place.
    pub(super) fn read(&self, place: u16) -> Option<Spooled> {
        read(&self.path, place).ok().flatten()
    }
}

fn read(path: &Path, place: u16) -> Result<Option<Spooled>, String> {
    // The program could have put anything there; a pipe would never end.
    match files::open(path) {
        Ok(file) => spool::read(BufReader::new(file), place),
        Err(_) => Ok(None),
    }
}

/// What a process is called: its program, or the script that an interpreter runs.
pub(super) fn name_of(arguments: &[String]) -> String {
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let program = arguments.first().map(|program| file(program)).unwrap_or_default();
    let script = || {
        let mut rest = arguments.iter().skip(1);
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "-m" => return rest.next().cloned(),
                "-c" | "-" => return None,
                // Options of an interpreter that take a value.
                "-W" | "-X" => drop(rest.next()),
                option if option.starts_with('-') => {}
                path => return Some(file(path)),
            }
        }
        None
    };
    let is_python = program
        .strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let name = match is_python {
        true => script().unwrap_or(program),
        false => program,
    };
    // Names of tenants are parts of channels' names and of paths.
    let kept: String = name
        .chars()
        .filter(|c| !c.is_control() && *c != '/')
        .take(100)
        .collect();
    match kept.trim() {
        "" => "process".to_owned(),
        name => name.to_owned(),
    }
}

/// Each name once: the second `app` is `app-2`.
pub(super) fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken = std::collections::HashSet::new();
    names
        .into_iter()
        .map(|name| {
            let free = (1..)
                .map(|n| match n {
                    1 => name.clone(),
                    n => format!("{name}-{n}"),
                })
                .find(|candidate| !taken.contains(candidate))
                .unwrap_or_default();
            taken.insert(free.clone());
            free
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_by_its_program_or_its_script() {
        let of = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            name_of(&arguments)
        };
        for (line, name) in [
            ("/usr/bin/app -x", "app"),
            ("python3 scripts/train.py --lr 1", "train.py"),
            ("/usr/bin/python3.12 -u -X dev a.py", "a.py"),
            ("python -m torch.distributed.run x.py", "torch.distributed.run"),
            ("python3 -c print(1)", "python3"),
            ("python3", "python3"),
            ("pythonic a.py", "pythonic"),
            ("", "process"),
            ("/bin/a\tb", "ab"),
        ] {
            assert_eq!(of(line), name, "{line}");
        }
    }

    #[test]
    fn names_are_given_once() {
        let names = ["a", "a", "a-2", "b", "a"].map(str::to_owned).to_vec();
        assert_eq!(unique(names), ["a", "a-2", "a-2-2", "b", "a-3"]);
    }
}
