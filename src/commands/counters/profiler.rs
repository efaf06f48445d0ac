//! Nsight Compute: where it is, and how it is started around jetlag itself.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::analysis::counters::complaint;
use crate::files;
use crate::scenario::Shapes;
use crate::units::Bytes;
use crate::whole;

/// The variable that names ncu.
const VARIABLE: &str = "JETLAG_NCU";
/// As much of what ncu and the run say as is of use.
const MOST_WORDS: Bytes = Bytes(1 << 20);

/// What is profiled, and how.
pub(super) struct Profiled<'a> {
    pub(super) ncu: &'a Path,
    pub(super) scenario: &'a Path,
    pub(super) shapes: Option<&'a Shapes>,
    pub(super) sets: &'a [String],
    pub(super) tenant: &'a str,
    /// The frames whose kernels are counted, by number.
    pub(super) frames: Range<u64>,
    pub(super) metrics: &'a [String],
    pub(super) keep_caches: bool,
    /// Where ncu's table goes.
    pub(super) table: &'a Path,
    /// A folder for what nobody keeps.
    pub(super) folder: &'a Path,
}

/// ncu: the one that was named, else that of the variable, of the search path, or of an installation of NVIDIA's.
///
/// # Errors
/// There is none; in one sentence what was looked for.
pub(super) fn find(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = given
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from))
    {
        anyhow::ensure!(
            path.is_file(),
            "{} is not there: name Nsight Compute's program `ncu`",
            path.display()
        );
        return Ok(path);
    }
    let on_path = std::env::var_os("PATH");
    let on_path = on_path
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("ncu"));
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/opt/nvidia/nsight-compute")
        .map(|all| all.flatten().map(|version| version.path().join("ncu")).collect())
        .unwrap_or_default();
    // The newest version first.
    installed.sort();
    installed.reverse();
    let mut all = on_path
        .chain([PathBuf::from("/usr/local/cuda/bin/ncu")])
        .chain(installed);
    all.find(|path| path.is_file()).with_context(|| {
        format!(
            "Nsight Compute is not here: its program `ncu` is neither on the search path nor in /usr/local/cuda/bin or /opt/nvidia/nsight-compute; install it, name it with --ncu or {VARIABLE}, or read a table that it wrote elsewhere with --from"
        )
    })
}

/// Runs the scenario under ncu; returns what both said.
///
/// # Errors
/// ncu cannot be started, was refused, or ended in an error: a sentence.
pub(super) fn run(what: &Profiled<'_>) -> anyhow::Result<String> {
    let itself = std::env::current_exe().context("cannot find jetlag's executable")?;
    let words = what.folder.join("words");
    let out = whole::create(&words, true).context("cannot write what the profiler says")?;
    let mut command = Command::new(what.ncu);
    command.args(arguments(what));
    command.arg(itself).arg("run").arg(what.scenario);
    if let Some(shapes) = what.shapes {
        command.args(["--shapes", &shapes.to_string()]);
    }
    for set in what.sets {
        command.args(["--set", set]);
    }
    command
        .arg("--counted")
        .arg(format!("{}={}", what.tenant, what.frames.end));
    command
        .args(["--quiet", "--force", "--out"])
        .arg(what.folder.join("counted.mcap"));
    let status = command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .status()
        .with_context(|| format!("cannot start {}", what.ncu.display()))?;
    let table = files::read_given_text(what.table, Bytes(MOST_WORDS.0 * 512)).unwrap_or_default();
    let said = files::read_given_text(&words, MOST_WORDS).unwrap_or_default();
    // ncu writes its own lines into the file of the table.
    let own: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("=="))
        .take(1000)
        .collect();
    let said = format!("{}\n{said}", own.join("\n"));
    if !status.success() {
        let why = why(&said).unwrap_or_else(|| {
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            format!(
                "{} ended with {status}: {}",
                what.ncu.display(),
                last.unwrap_or("it said nothing").trim()
            )
        });
        anyhow::bail!("nothing was counted: {why}");
    }
    Ok(said)
}

/// The reason in what ncu and the run said; none where they named none.
pub(super) fn why(said: &str) -> Option<String> {
    // What jetlag refused comes before what ncu makes of it.
    let own = said.lines().find_map(|line| line.trim().strip_prefix("error: "));
    own.map(str::to_owned).or_else(|| complaint(said))
}

/// ncu's arguments, without the program that it starts.
fn arguments(what: &Profiled<'_>) -> Vec<OsString> {
    let mut all: Vec<OsString> = [
        "--nvtx",
        "--clock-control",
        "none",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
    ]
    .map(OsString::from)
    .to_vec();
    for frame in what.frames.clone() {
        // Only there are kernels launched; a GPU's preprocessing is among them.
        let range = format!("jetlag@{} {frame} submit/", escaped(what.tenant));
        all.extend(["--nvtx-include".into(), range.into()]);
    }
    if what.keep_caches {
        all.extend(["--cache-control", "none", "--replay-mode", "application"].map(OsString::from));
    }
    all.extend(["--metrics".into(), what.metrics.join(",").into()]);
    all.extend(["--log-file".into(), what.table.into()]);
    all
}

/// A name in which ncu sees no operator.
fn escaped(name: &str) -> String {
    name.chars()
        .flat_map(|c| {
            let escape = "@,[]/*+\\".contains(c).then_some('\\');
            escape.into_iter().chain([c])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_is_named_and_operators_of_ncu_are_escaped() {
        let metrics = ["a".to_owned(), "b".to_owned()];
        let mut what = Profiled {
            ncu: Path::new("ncu"),
            scenario: Path::new("s.ron"),
            shapes: None,
            sets: &[],
            tenant: "front/left*",
            frames: 5..7,
            metrics: &metrics,
            keep_caches: false,
            table: Path::new("t.csv"),
            folder: Path::new("."),
        };
        let all = |what: &Profiled<'_>| {
            let words = arguments(what)
                .into_iter()
                .map(|word| word.into_string().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        let words = all(&what);
        assert!(
            words.contains("--nvtx-include jetlag@front\\/left\\* 5 submit/ --nvtx-include jetlag@front\\/left\\* 6 submit/"),
            "{words}"
        );
        assert!(
            words.contains("--clock-control none") && words.ends_with("--metrics a,b --log-file t.csv"),
            "{words}"
        );
        assert!(!words.contains("--cache-control"));
        what.keep_caches = true;
        assert!(all(&what).contains("--cache-control none --replay-mode application"));
    }

    #[test]
    fn the_reason_is_jetlag_s_own_before_ncu_s() {
        let said = "==ERROR== The application returned an error code (2).\nerror: there is no GPU\n";
        assert_eq!(why(said).unwrap(), "there is no GPU");
        assert!(
            why("==ERROR== ERR_NVGPUCTRPERM - no")
                .unwrap()
                .contains("may not read")
        );
        assert_eq!(why("fine"), None);
    }
}
