//! Copies over processes and GPUs, as CV-CUDA's launcher has them; and the shim for Python.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::{Run, app, trace};
use crate::common::output::{assert_refused, jetlag, run, stderr};

fn json(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// The program with these words, in copies.
fn launched(folder: &Path, options: &[&str], words: &str) -> Option<std::process::Output> {
    let app = app()?;
    let mut jetlag = jetlag(&["trace"], folder);
    jetlag
        .args(options)
        .args(["-o", "out", "--"])
        .arg(app)
        .args(words.split(' ').map(OsStr::new))
        .env("JETLAG_INJECTION", super::library())
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env_remove("CUDA_INJECTION64_PATH")
        .env_remove("NVTX_INJECTION64_PATH");
    Some(jetlag.output().unwrap())
}

#[test]
fn copies_leave_a_run_and_a_benchmark_each_and_the_mean_over_all() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-np", "2", "-ng", "3", "-go", "1", "-w", "1"];
    let Some(output) = launched(folder.path(), &options, "batches 6 exit 7") else {
        return;
    };
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let out = folder.path().join("out");
    let mut copies: Vec<String> = (std::fs::read_dir(&out).unwrap())
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    copies.sort();
    assert_eq!(
        copies,
        [
            "benchmark_mean.json",
            "proc_0_gpu_1",
            "proc_0_gpu_2",
            "proc_0_gpu_3",
            "proc_1_gpu_1",
            "proc_1_gpu_2",
            "proc_1_gpu_3"
        ]
    );
    for copy in &copies[1..] {
        let run = Run::read(&out.join(copy).join("run.mcap"));
        assert_eq!(run.frames.len(), 5, "{copy}");
        assert_eq!(
            run.frames.iter().filter(|frame| frame.warmup).count(),
            1,
            "{copy}"
        );
        let benchmark = json(&out.join(copy).join("benchmark.json"));
        let level = &benchmark["data"]["app"]["run"];
        assert_eq!(
            (&level["total_items"], &level["total_items_warmup"]),
            (&20.into(), &8.into())
        );
        assert_eq!(
            benchmark["data_stats_minus_warmup"]["app/run"]["cpu_time"]["total_items"],
            3
        );
    }
    let mean = json(&out.join("benchmark_mean.json"));
    assert_eq!(
        mean["data_mean_all_procs"]["app"]["run"]["cpu_time"]["total_items"],
        6
    );
    let stats = &mean["data_stats_minus_warmup_all_procs"]["app/run"]["cpu_time"];
    assert_eq!(
        (&stats["total_items"], &stats["throughput"]["multiplier"]),
        (&18.into(), &6.into())
    );
    // A second launch does not overwrite the first unasked.
    let again = launched(folder.path(), &options, "batches 6").unwrap();
    assert_refused(&again, 2, &["existing run", "--force"]);
}

/// Files below a folder, by their paths from it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn one_copy_leaves_the_files_that_several_leave() {
    for options in [
        &["-np", "1", "-ng", "1"][..],
        &["-np", "1"],
        &["-ng", "1"],
        &["-go", "0"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(output) = launched(folder.path(), options, "batches 6") else {
            return;
        };
        assert!(output.status.success(), "{options:?}: {}", stderr(&output));
        assert_eq!(
            files(&folder.path().join("out")),
            [
                "benchmark_mean.json",
                "proc_0_gpu_0/benchmark.json",
                "proc_0_gpu_0/run.mcap"
            ],
            "{options:?}"
        );
        // As of several: one batch is warm-up.
        let found = Run::read(&folder.path().join("out/proc_0_gpu_0/run.mcap"));
        assert_eq!(found.frames.iter().filter(|frame| frame.warmup).count(), 1);
    }
}

#[test]
fn where_a_launch_replaces_another_nothing_of_the_other_is_left_but_what_is_not_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = launched(folder.path(), &["-np", "2", "-ng", "2"], "batches 6") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let out = folder.path().join("out");
    std::fs::write(out.join("proc_1_gpu_0/notes.txt"), "mine").unwrap();
    std::fs::write(out.join("proc_1_gpu_1/run.mcap"), "a letter").unwrap();
    // Other copies would stand beside the earlier ones.
    let beside = launched(folder.path(), &["-go", "5"], "batches 6").unwrap();
    assert_refused(&beside, 2, &["existing run", "benchmark_mean.json", "--force"]);
    assert!(!out.join("proc_0_gpu_5").exists());
    // This one has no batch, so there is neither a benchmark nor a mean.
    let again = launched(folder.path(), &["-np", "1", "--force"], "exit 3").unwrap();
    assert_eq!(again.status.code(), Some(3), "{}", stderr(&again));
    assert_eq!(
        files(&out),
        [
            "proc_0_gpu_0/run.mcap",
            "proc_1_gpu_0/notes.txt",
            "proc_1_gpu_1/run.mcap"
        ]
    );
    assert!(
        !out.join("proc_0_gpu_1").exists(),
        "an empty folder goes with its files"
    );
    assert!(Run::read(&out.join("proc_0_gpu_0/run.mcap")).frames.is_empty());
    // Where the command does not start, everything stays.
    let before = files(&out);
    let never = jetlag(
        &["trace", "-np", "1", "--force", "-o", "out", "--", "/no/such"],
        folder.path(),
    )
    .env("JETLAG_INJECTION", super::library())
    .env_remove("CUDA_INJECTION64_PATH")
    .env_remove("NVTX_INJECTION64_PATH")
    .output()
    .unwrap();
    assert_refused(&never, 127, &["/no/such"]);
    assert_eq!(files(&out), before);
}

#[test]
fn a_command_that_does_not_start_leaves_no_folder() {
    if app().is_none() {
        return;
    }
    for options in [
        &["-np", "2"][..],
        &["-np", "2", "-o", "deep/er"],
        &["-o", "deep/er/a.mcap"],
        &[],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let never = jetlag(
            &[&["trace"], options, &["--", "/no/such"]].concat(),
            folder.path(),
        )
        .env("JETLAG_INJECTION", super::library())
        .env_remove("CUDA_INJECTION64_PATH")
        .env_remove("NVTX_INJECTION64_PATH")
        .output()
        .unwrap();
        assert_refused(&never, 127, &["/no/such"]);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "{options:?}");
    }
}

#[test]
fn copies_that_cannot_be_started_or_placed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("out"), "a file").unwrap();
    let Some(output) = launched(folder.path(), &["-np", "2"], "exit 0") else {
        return;
    };
    assert_refused(&output, 2, &["out is a file", "folder"]);
    let zero = run(&["trace", "-np", "0", "--", "true"], folder.path());
    assert_refused(&zero, 2, &["--np"]);
}

#[test]
fn a_python_program_has_batches_with_a_shim_of_a_few_lines() {
    let Some(python) = nvidia_doubles::machine::python("ctypes") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let script = folder.path().join("app.py");
    std::fs::write(
        &script,
        "from jetlag_ranges import Ranges\n\
         ranges = Ranges('sample', default_args=None)\n\
         ranges.push_range('run')\n\
         for index in range(5):\n    \
             ranges.push_range('batch', batch_idx=index)\n    \
             ranges.push_range('größe')\n    \
             ranges.pop_range()\n    \
             ranges.pop_range(total_items=8 if index < 4 else 0)\n\
         ranges.pop_range()\n\
         ranges.finalize()\n\
         print('done')\n",
    )
    .unwrap();
    let command = [python.as_os_str(), script.as_os_str()];
    let output = trace(folder.path(), &[], &command)
        .env("PYTHONPATH", &examples)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(output.stdout, b"done\n");
    let found = Run::read(&folder.path().join("app.mcap"));
    assert_eq!(found.tenants(), ["app.py"]);
    assert_eq!(found.frames.len(), 4);
    assert_eq!(found.paths()[..2], ["run/batch/größe", "run/batch"]);
    assert_eq!(found.ranges[1].items, Some(8));
    // Without jetlag it runs as well.
    let alone = std::process::Command::new(&python)
        .arg(&script)
        .env("PYTHONPATH", &examples)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(alone.status.success() && alone.stdout == b"done\n", "{alone:?}");
}
