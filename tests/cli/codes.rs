//! Like mistakes end with like exit codes, whichever command they are made with: the rule of docs/ci.md.

use std::fs;

use super::{assert_refused, run, stderr};

/// A short simulated run with this expectation.
fn gate(expect: &str) -> String {
    format!(
        "Scenario(name: \"gate\", duration: \"10s\", clock: Virtual, expect: [{expect}], tenants: [Tenant(name: \"camera\", \
         backend: Sim(LogNormal(median: \"9ms\", sigma: 0.1)), arrival: Periodic(hz: 30))])"
    )
}

#[test]
fn what_cannot_be_done_as_it_stands_ends_with_2_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("s.ron"), gate("")).unwrap();
    for name in ["damaged.onnx", "damaged.mcap", "damaged.ron", "letter.txt"] {
        fs::write(at.join(name), "dear").unwrap();
    }
    fs::create_dir(at.join("empty")).unwrap();
    let camera = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.ron");
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
    for arguments in [
        // No such option, or value of one.
        &["run", "s.ron", "--fast"][..],
        &["report", "--budget", "15", "damaged.mcap"],
        &["run", "s.ron", "--duration", "soon"],
        &["run", "s.ron", "--set", "tenants.camera.hz=3"],
        // No such file.
        &["run", "absent.ron"],
        &["run", "absent.onnx"],
        &["run", "s.ron", "--set", "tenants.camera.detector=absent.ron"],
        &[
            "run",
            "s.ron",
            "--set",
            "tenants.camera.detector=absent.ron",
            "--dry-run",
        ],
        &["init", "absent.onnx"],
        &["init", network, "--images", "absent"],
        &["inspect", "absent.onnx"],
        &["inspect", "absent.ron"],
        &["inspect", "absent.mcap"],
        &["report", "absent.mcap"],
        &["report", "absent.mcap", "--html", "page.html"],
        &["report", "absent.mcap", "--critical-path"],
        &["report", "absent.mcap", "--compat", "trtexec11"],
        &["compare", "absent.mcap", "damaged.mcap"],
        &["compare", "--ab", "absent.ron", "s.ron"],
        &["export", "absent.mcap", "--format", "csv", "-o", "tables"],
        &["eval", "absent.ron", "--data", "empty"],
        &["eval", camera, "--data", "absent"],
        &["monitor", "--replay", "absent.mcap"],
        &["monitor", "--from-tegrastats", "absent.log"],
        // A folder, or a file of another kind.
        &["run", "empty"],
        &["run", "letter.txt"],
        &["init", "letter.txt"],
        &["inspect", "letter.txt"],
        &["inspect", "empty"],
        &["report", "empty"],
        &["report", "letter.txt"],
        &["export", "letter.txt", "--format", "csv", "-o", "tables"],
        &["compare", "letter.txt", "letter.txt"],
        // Damaged.
        &["run", "damaged.ron"],
        &["run", "damaged.onnx"],
        &["init", "damaged.onnx"],
        &["init", "damaged.ron"],
        &["inspect", "damaged.onnx"],
        &["inspect", "damaged.ron"],
        &["inspect", "damaged.mcap"],
        &["report", "damaged.mcap"],
        &["export", "damaged.mcap", "--format", "csv", "-o", "tables"],
        &["compare", "damaged.mcap", "damaged.mcap"],
        &["monitor", "--replay", "damaged.mcap"],
        // An expectation that cannot be read.
        &["run", "s.ron", "--set", "expect=[\"power.mean < 15W\"]"],
        &["run", "s.ron", "--set", "expect=[\"camera.dropped > -1\"]"],
    ] {
        let output = run(arguments, at);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert_refused(&output, 2, &["error: "]);
    }
    assert!(!at.join("runs").exists(), "nothing was started");
}

#[test]
fn what_was_begun_ends_with_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
    write("kept.ron", &gate("\"camera.response.p50 < 1s\""));
    write("broken.ron", &gate("\"camera.response.p50 < 1ms\""));
    write("unknown.ron", &gate("\"power.total.mean < 15W\""));
    for (code, arguments) in [
        (0, &["run", "kept.ron", "--out", "kept.mcap"][..]),
        (0, &["report", "kept.mcap"]),
        (0, &["run", "kept.ron", "--dry-run"]),
        (3, &["run", "broken.ron", "--out", "broken.mcap"]),
        (3, &["report", "broken.mcap"]),
        (3, &["report", "kept.mcap", "broken.mcap"]),
        (3, &["run", "unknown.ron", "--out", "unknown.mcap"]),
        // The results are there, and have nowhere to go.
        (1, &["report", "kept.mcap", "--junit", "absent/gate.xml"]),
        (1, &["report", "kept.mcap", "--html", "absent/page.html"]),
    ] {
        let output = run(arguments, at);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    // The end is missing.
    let whole = fs::read(at.join("kept.mcap")).unwrap();
    fs::write(at.join("cut.mcap"), &whole[..whole.len() - 40]).unwrap();
    let cut = run(&["report", "cut.mcap"], at);
    assert_eq!(cut.status.code(), Some(4), "{}", stderr(&cut));
}
