//! `jetlag trace`: run files of a program that somebody else wrote (`trace/app.cpp`), with and without a GPU's doubles.

mod bad_ends;
mod gpu;
mod launch;
mod ranges;
mod reports;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jetlag::record::{
    Activity, Definition, Event, Finding, FrameRecord, Manifest, RangeRecord, RunReader, TraceRecord,
};
use nvidia_doubles::{nvtx, program};

use crate::common::output::{jetlag, stderr};

/// The library, which cargo builds for this program as well.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let library = program.parent().unwrap().join("libjetlag_inject.so");
    assert!(library.is_file(), "{}", library.display());
    library
}

/// The program; none where it cannot be compiled.
pub(crate) fn app() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/app.cpp");
    program(&source, &[nvtx::headers()?])
}

/// `jetlag trace` in a folder, with the file `app.mcap`.
fn trace(folder: &Path, options: &[&str], command: &[&OsStr]) -> Command {
    let mut jetlag = jetlag(&["trace", "-o", "app.mcap"], folder);
    jetlag
        .args(options)
        .arg("--")
        .args(command)
        .env("JETLAG_INJECTION", library())
        .env_remove("CUDA_INJECTION64_PATH")
        .env_remove("NVTX_INJECTION64_PATH");
    jetlag
}

/// The program under `jetlag trace`, with these words; what jetlag said and what it recorded.
fn traced(words: &str) -> Option<(Output, Run)> {
    traced_with(&[], words, |_| {})
}

fn traced_with(options: &[&str], words: &str, prepare: impl FnOnce(&mut Command)) -> Option<(Output, Run)> {
    let app = app()?;
    let folder = tempfile::tempdir().unwrap();
    let mut command: Vec<&OsStr> = vec![app.as_os_str()];
    command.extend(words.split_whitespace().map(OsStr::new));
    let mut jetlag = trace(folder.path(), options, &command);
    prepare(&mut jetlag);
    let output = jetlag.output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    let run = Run::read(&folder.path().join("app.mcap"));
    Some((output, run))
}

/// What a run file holds.
#[derive(Default)]
struct Run {
    manifest: Option<Manifest>,
    frames: Vec<FrameRecord>,
    ranges: Vec<RangeRecord>,
    activities: Vec<(u32, Activity)>,
    names: Vec<Definition>,
    traces: Vec<TraceRecord>,
    findings: Vec<Finding>,
}

impl Run {
    fn read(file: &Path) -> Self {
        let reader = RunReader::open(file).unwrap();
        let mut run = Run {
            manifest: Some(reader.manifest().clone()),
            ..Run::default()
        };
        for event in reader {
            match event.unwrap() {
                Event::Frame(frame) => run.frames.push(frame),
                Event::Range(range) => run.ranges.push(range),
                Event::Activities(batch) => {
                    let process = batch.process;
                    run.activities
                        .extend(batch.activities.into_iter().map(|activity| (process, activity)));
                }
                Event::Definition(known) => run.names.push(known),
                Event::Trace(trace) => run.traces.push(trace),
                Event::Finding(finding) => run.findings.push(finding),
                _ => {}
            }
        }
        run
    }

    fn tenants(&self) -> Vec<&str> {
        let manifest = self.manifest.as_ref().unwrap();
        manifest
            .tenants
            .iter()
            .map(|tenant| tenant.name.as_str())
            .collect()
    }

    fn codes(&self) -> Vec<&str> {
        self.findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect()
    }

    fn text(&self, name: Option<u32>) -> Option<&str> {
        let known = self.names.iter().find(|known| Some(known.number) == name)?;
        Some(known.text.as_str())
    }

    fn paths(&self) -> Vec<&str> {
        self.ranges.iter().map(|range| range.path.as_str()).collect()
    }
}
