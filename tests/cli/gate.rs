//! A run as a gate: exit codes that cannot be fooled, annotations, JUnit, a power budget, and the workflow of docs/ci.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvidia_doubles::machine::python;
use serde_json::Value;

use super::{assert_refused, jetlag, run, scenario, stderr, stdout};
use crate::common::boards::board;

/// A simulated detector with these expectations.
fn simulated(folder: &Path, name: &str, expect: &str) -> String {
    scenario(
        folder,
        &format!(
            "Scenario(name: {name:?}, duration: \"60s\", clock: Virtual, expect: [{expect}], tenants: [Tenant(name: \
             \"camera\", backend: Sim(LogNormal(median: \"9ms\", sigma: 0.1)), arrival: Periodic(hz: 30), deadline: \"33ms\")])"
        ),
    )
}

/// JUnit as Python reads it, if there is one; the rules of both schemas are kept.
fn judged(file: &Path) -> Option<Value> {
    let python = python("xml.etree.ElementTree, json")?;
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/junit_judge.py");
    let output = Command::new(python).arg(judge).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn ends(suite: &Value) -> Vec<(&str, &str)> {
    let cases = suite["cases"].as_array().unwrap();
    cases
        .iter()
        .map(|case| (case["name"].as_str().unwrap(), case["end"].as_str().unwrap()))
        .collect()
}

#[test]
fn results_are_written_over_results_and_over_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "gate", "");
    let before = fs::read(&path).unwrap();
    let output = run(
        &["run", &path, "--out", "a.mcap", "--junit", &path],
        folder.path(),
    );
    assert_refused(&output, 2, &["holds no JUnit results"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    for two in [
        ["--out", "a.mcap", "--junit", "a.mcap"],
        ["--out", "a.mcap", "--html", "a.mcap"],
    ] {
        let output = run(&[&["run", path.as_str()][..], &two].concat(), folder.path());
        assert_refused(&output, 2, &["a file of its own"]);
        assert!(!folder.path().join("a.mcap").exists());
    }
    for out in ["a.mcap", "b.mcap"] {
        let output = run(
            &["run", &path, "--out", out, "--junit", "gate.xml"],
            folder.path(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn annotations_name_what_fails_and_a_line_for_each_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let expect = "\"camera.response.p99 < 1ms\", \"camera.miss_rate < 1%\", \"power.total.mean < 15W\"";
    let path = simulated(folder.path(), "gate", expect);
    let output = run(
        &["run", &path, "--format", "github", "--out", "gate.mcap"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let of = |kind: &str| lines.iter().filter(|line| line.starts_with(kind)).count();
    assert_eq!(
        of("::error ") + of("::warning ") + of("::notice "),
        lines.len(),
        "{text}"
    );
    assert_eq!((of("::error "), of("::notice ")), (2, 1), "{text}");
    assert!(
        lines[0].starts_with(
            "::error title=jetlag%3A gate%3A expectation not met::camera.response.p99 < 1ms does not hold: "
        ),
        "{text}"
    );
    let undecided = "::error title=jetlag%3A gate%3A expectation not met::`power.total.mean < 15W` cannot be decided: no \
                     power was measured";
    assert!(text.contains(undecided), "{text}");
    assert!(
        text.contains("::notice title=jetlag%3A gate%3A camera::p50 "),
        "{text}"
    );
    assert!(text.contains("0 %25 missed 33.00 ms"), "{text}");
    let again = run(&["report", "gate.mcap", "--format", "github"], folder.path());
    assert_eq!((stdout(&again), again.status.code()), (text, Some(3)));
    // Where there are no annotations, that is said.
    for other in [["--kernels"], ["--layers"]] {
        let refused = run(
            &[&["report", "gate.mcap", "--format", "github"], &other[..]].concat(),
            folder.path(),
        );
        assert_refused(&refused, 2, &["--format github"]);
    }
}

#[test]
fn a_comparison_is_annotated_and_fails_where_a_limit_applies() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "gate", "");
    for out in ["a.mcap", "b.mcap"] {
        assert!(run(&["run", &path, "--out", out], folder.path()).status.success());
    }
    let compared = |limit: &str| {
        run(
            &[
                "compare",
                "a.mcap",
                "b.mcap",
                "--format",
                "github",
                "--fail-if",
                limit,
            ],
            folder.path(),
        )
    };
    let kept = compared("camera.response.p99 > 1s");
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    assert!(
        stdout(&kept)
            .lines()
            .all(|line| line.starts_with("::notice title=jetlag%3A B beside A%3A camera::"))
    );
    let passed = compared("camera.response.p99 > 1ms");
    assert_eq!(passed.status.code(), Some(3));
    assert!(
        stdout(&passed).contains("::error title=jetlag%3A comparison%3A limit passed::"),
        "{}",
        stdout(&passed)
    );
    let unknown = compared("power.total.mean > 15W");
    assert_eq!(unknown.status.code(), Some(3));
    assert!(
        stdout(&unknown).contains("no power was measured"),
        "{}",
        stdout(&unknown)
    );
    let text = run(
        &[
            "compare",
            "a.mcap",
            "b.mcap",
            "--fail-if",
            "camera.response.p99 > 1ms",
        ],
        folder.path(),
    );
    assert!(stdout(&text).contains("fails: it applies"), "{}", stdout(&text));
    assert_refused(&compared("camera.response.p99 > 1"), 2, &["has no unit"]);
}

#[test]
fn junit_has_a_case_for_each_tenant_and_expectation() {
    let folder = tempfile::tempdir().unwrap();
    let expect = "\"camera.response.p99 < 1ms\", \"camera.miss_rate < 1%\", \"power.total.mean < 15W\"";
    let path = simulated(folder.path(), "gate", expect);
    let output = run(
        &["run", &path, "--junit", "gate.xml", "--out", "gate.mcap"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let Some(suites) = judged(&folder.path().join("gate.xml")) else {
        return;
    };
    assert_eq!(suites[0]["name"], "gate");
    assert_eq!(
        ends(&suites[0]),
        [
            ("camera produced frames", "passed"),
            ("camera.response.p99 < 1ms", "failure"),
            ("camera.miss_rate < 1%", "passed"),
            ("power.total.mean < 15W", "error"),
            ("nothing is missing in the record", "passed"),
            ("the run was not interrupted", "passed"),
        ]
    );
    let why = suites[0]["cases"][3]["message"].as_str().unwrap();
    assert!(
        why.contains("no power was measured") && why.contains("jetlag doctor"),
        "{why}"
    );
    // Several runs, one of them cut off.
    let bytes = fs::read(folder.path().join("gate.mcap")).unwrap();
    fs::write(folder.path().join("cut.mcap"), &bytes[..bytes.len() / 2]).unwrap();
    let output = run(
        &["report", "gate.mcap", "cut.mcap", "--junit", "both.xml"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let both = judged(&folder.path().join("both.xml")).unwrap();
    assert_eq!(both.as_array().unwrap().len(), 2);
    let cut = ends(&both[1]);
    assert!(
        cut.contains(&("nothing is missing in the record", "failure")),
        "{both}"
    );
}

#[test]
fn a_tenant_that_produces_nothing_closes_every_gate() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    fs::create_dir(&images).unwrap();
    fs::write(images.join("a.png"), b"").unwrap();
    let path = scenario(
        folder.path(),
        &format!(
            "Scenario(name: \"broken\", duration: \"10min\", warmup: \"0s\", expect: [\"camera.dropped < 5\"], tenants: \
             [Tenant(name: \"camera\", detector: \"builtin:camera\", backend: Cpu(threads: 1), source: Images({images:?}), \
             arrival: Periodic(hz: 50), overload: Queue(capacity: 100), frames: 20)])"
        ),
    );
    let output = run(
        &[
            "run",
            &path,
            "--format",
            "github",
            "--junit",
            "broken.xml",
            "--out",
            "broken.mcap",
        ],
        folder.path(),
    );
    assert_refused(&output, 1, &["error: camera completed no frame"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("::error title=jetlag%3A broken%3A no-frames::camera completed no frame"),
        "{text}"
    );
    assert!(text.contains("a.png"), "the cause is quoted: {text}");
    let Some(suites) = judged(&folder.path().join("broken.xml")) else {
        return;
    };
    let found = ends(&suites[0]);
    assert_eq!(found[0], ("camera produced frames", "failure"));
    assert_eq!(found[1], ("camera.dropped < 5", "error"));
}

#[test]
fn a_run_that_does_not_come_to_a_result_leaves_no_older_one_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "gate", "");
    let done = run(
        &["run", &path, "--junit", "gate.xml", "--out", "gate.mcap"],
        folder.path(),
    );
    assert!(done.status.success(), "{}", stderr(&done));
    let file = folder.path().join("gate.xml");
    let before = fs::read_to_string(&file).unwrap();
    assert!(before.contains("failures=\"0\" errors=\"0\""), "{before}");
    // Nothing is run, so nothing is written.
    run(&["run", &path, "--junit", "gate.xml", "--dry-run"], folder.path());
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // A mistake in the scenario; a run file that exists.
    for args in [["--set", "tenants.camera.deadline=0s"], ["--out", "gate.mcap"]] {
        fs::write(&file, &before).unwrap();
        let refused = run(
            &[&["run", &path, "--junit", "gate.xml"], &args[..]].concat(),
            folder.path(),
        );
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        let left = fs::read_to_string(&file).unwrap();
        assert!(
            left.contains("errors=\"1\"") && left.contains("the run has not ended"),
            "{left}"
        );
        judged(&file);
    }
    // The results of a run are no place for those of another.
    let refused = run(&["report", "gate.mcap", "--junit", "gate.mcap"], folder.path());
    assert_refused(&refused, 2, &["is a run file"]);
    let refused = run(
        &["report", "gate.mcap", "--junit", "absent/gate.xml"],
        folder.path(),
    );
    assert_refused(&refused, 1, &["absent/gate.xml", "--junit"]);
}

#[test]
fn text_that_comes_from_elsewhere_breaks_neither_form() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("a,b::c%0A<&\"images");
    fs::create_dir(&images).unwrap();
    fs::write(images.join("]]><x>.png"), b"").unwrap();
    let path = scenario(
        folder.path(),
        &format!(
            "Scenario(name: \"odd\", duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", detector: \
             \"builtin:camera\", backend: Cpu(threads: 1), source: Images({images:?}), arrival: Periodic(hz: 50), \
             overload: Queue(capacity: 100), frames: 20)])"
        ),
    );
    let output = run(
        &[
            "run", &path, "--format", "github", "--junit", "odd.xml", "--out", "odd.mcap",
        ],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for line in stdout(&output).lines() {
        let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        assert!(
            ["error title=", "warning title=", "notice title="]
                .iter()
                .any(|kind| head.starts_with(kind)),
            "{line}"
        );
        assert!(
            !message.contains("%0A<&"),
            "the file's own percent sign is escaped: {line}"
        );
    }
    if let Some(suites) = judged(&folder.path().join("odd.xml")) {
        let why = suites[0]["cases"][0]["message"].as_str().unwrap();
        assert!(why.contains("]]><x>.png"), "{why}");
    }
}

/// A simulated camera under the real clock on a made-up Orin Nano.
fn on_a_board(folder: &Path, args: &[&str]) -> std::process::Output {
    let root = board("orin-nano-r36");
    let path = scenario(
        folder,
        "Scenario(name: \"watts\", duration: \"3s\", warmup: \"0s\", telemetry: (sources: [Rails, Thermal, Gpu, Host]), tenants: \
         [Tenant(name: \"camera\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 50))])",
    );
    jetlag(&[&["run", &path, "--quiet"], args].concat(), folder)
        .env("JETLAG_ROOT", root.path())
        .output()
        .unwrap()
}

#[test]
fn watts_of_a_board_are_a_gate() {
    let folder = tempfile::tempdir().unwrap();
    let output = on_a_board(
        folder.path(),
        &[
            "--out",
            "watts.mcap",
            "--format",
            "json",
            "--set",
            "expect=[\"power.total.mean < 100W\", \"power.total.mean < 1mW\", \"energy.camera.per_frame > 0J\", \
             \"power.VDD_NOWHERE.p95 < 1W\"]",
        ],
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let holds: Vec<bool> = summary["expectations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["holds"].as_bool().unwrap())
        .collect();
    assert_eq!(
        (holds[1], holds[3]),
        (false, false),
        "{}",
        summary["expectations"]
    );
    // On a busy machine there may be gaps in the readings: then nothing is promised.
    let gaps = summary["run"]["findings"]
        .to_string()
        .contains("it would hold in the time in which");
    assert!((holds[0] && holds[2]) || gaps, "{summary}");
    assert!(
        summary["expectations"][1]["value"].as_f64().unwrap() > 1.0,
        "known to be broken"
    );
    assert_eq!(summary["expectations"][0]["unit"], "mw");
    // The readings of a made-up board stand still.
    let energy = &summary["energy"];
    assert_eq!(energy["median_mw"], energy["peak_mw"], "{energy}");
    assert!(summary["run"]["findings"].to_string().contains("VDD_NOWHERE"));
    assert!(
        !summary["sensors"].as_array().unwrap().is_empty(),
        "{}",
        summary["sensors"]
    );

    let report = |budget: &str, format: &str| {
        run(
            &["report", "watts.mcap", "--budget", budget, "--format", format],
            folder.path(),
        )
    };
    let above: Value = serde_json::from_slice(&report("1mW", "json").stdout).unwrap();
    assert_eq!(above["budget"]["share_above"], 1.0, "{}", above["budget"]);
    let below = stdout(&report("1kW", "text"));
    assert!(
        below.contains("BUDGET 1000.0 W") && below.contains("above it for 0 %"),
        "{below}"
    );
    assert_refused(&report("15", "text"), 2, &["--budget", "W or mW"]);
    let annotated = |budget: &str| stdout(&report(budget, "github"));
    let exceeded = annotated("1mW");
    assert!(
        exceeded
            .lines()
            .any(|line| line.starts_with("::warning ") && line.contains("%3A budget "))
            && exceeded.contains("was above it for 100 %25 of the time")
            && exceeded.contains("the longest moment began at"),
        "{exceeded}"
    );
    let kept = annotated("1kW");
    assert!(
        kept.contains("::notice title=jetlag%3A watts%3A budget 1000.0 W::")
            && kept.contains("was never above it"),
        "{kept}"
    );
}

#[test]
fn where_there_is_no_sensor_the_budget_and_the_expectation_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "gate", "\"power.total.mean < 15W\"");
    let output = run(&["run", &path, "--out", "gate.mcap"], folder.path());
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert!(
        text.contains("no power was measured") && text.contains("jetlag doctor"),
        "{text}"
    );
    let report = run(&["report", "gate.mcap", "--budget", "15W"], folder.path());
    let text = stdout(&report);
    assert!(
        text.contains("BUDGET 15.00 W") && text.contains("cannot be judged"),
        "{text}"
    );
    let annotated = run(
        &["report", "gate.mcap", "--budget", "15W", "--format", "github"],
        folder.path(),
    );
    let text = stdout(&annotated);
    assert!(
        text.contains("::warning title=jetlag%3A gate%3A budget 15.00 W::cannot be judged: "),
        "{text}"
    );
    let refused = run(
        &["run", &path, "--set", "expect=[\"power.total.mean < 15\"]"],
        folder.path(),
    );
    assert_refused(&refused, 2, &["a power with its unit"]);
    let refused = run(
        &["run", &path, "--set", "expect=[\"temperature.tj.mx < 90C\"]"],
        folder.path(),
    );
    assert_refused(&refused, 2, &["did you mean `max`?"]);
}

const GUIDE: &str = include_str!("../../docs/ci.md");

/// The text of the first fenced block of this kind.
fn block(kind: &str) -> &'static str {
    let (_, after) = GUIDE.split_once(&format!("```{kind}\n")).unwrap();
    after.split_once("```").unwrap().0
}

/// What the steps of the workflow run, with their names.
fn steps() -> Vec<(String, String)> {
    let mut steps = Vec::new();
    let mut name = String::new();
    for line in block("yaml").lines().map(str::trim_start) {
        if let Some(named) = line.strip_prefix("- name: ") {
            name = named.to_owned();
        }
        if let Some(command) = line.strip_prefix("run: ") {
            steps.push((std::mem::take(&mut name), command.to_owned()));
        }
    }
    steps
}

#[test]
fn the_workflow_of_the_guide_runs_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ci")).unwrap();
    fs::write(folder.path().join("ci/gate.ron"), block("ron")).unwrap();
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_jetlag"));
    let path = format!(
        "{}:{}",
        programs.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let steps = steps();
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Install jetlag", "Gate", "Summary", "Page"]);
    // It is installed already: the first step takes a network and a repository.
    for (name, command) in &steps[1..] {
        // As GitHub runs it.
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md"))
            .env_remove("RUST_LOG")
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        if name == "Gate" {
            assert!(
                stdout(&output).contains("::notice title=jetlag%3A gate%3A camera::"),
                "{}",
                stdout(&output)
            );
        }
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("summary.md").starts_with("### gate: "),
        "{}",
        read("summary.md")
    );
    assert!(read("gate.html").contains("<html"));
    judged(&folder.path().join("gate.xml"));
    // Closed by a limit that it cannot keep.
    let (_, gate) = &steps[1];
    let closed = gate.replace(
        "--out gate.mcap",
        "--out closed.mcap --set 'expect=[\"camera.response.p99 < 1ms\"]'",
    );
    let output = Command::new("bash")
        .args(["-eo", "pipefail", "-c", &closed])
        .current_dir(folder.path())
        .env("PATH", &path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
