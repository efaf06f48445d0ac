//! `sharing: Processes`: one run file of several processes, whatever becomes of each of them.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use jetlag::record::{EndReason, Event, Outcome, Phase, PhaseRecord, PhaseSpec, RunReader};
use nvidia_doubles::cuda::Control;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::scene::{Scene, camera, number};
use super::under_way;
use crate::common::output::stderr;

/// Two simulated tenants, one of them twice; `fields` are the scenario's.
fn simulated(folder: &Path, fields: &str) -> PathBuf {
    let text = format!(
        "Scenario(sharing: Processes, warmup: \"200ms\", {fields} tenants: [
            Tenant(name: \"fast\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(100), processes: 2),
            Tenant(name: \"slow\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(50), deadline: \"20ms\"),
        ])"
    );
    let path = folder.join("scenario.ron");
    std::fs::write(&path, text).unwrap();
    path
}

fn jetlag(folder: &Path, scenario: &Path) -> Command {
    // The tests themselves may have been started with `nohup`.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_jetlag")])
        .current_dir(folder)
        .args([
            "run",
            scenario.to_str().unwrap(),
            "--out",
            "run.mcap",
            "--force",
            "--format",
            "json",
            "--quiet",
        ])
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1");
    command
}

fn summary(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{:?}: {}", output.status, stderr(output)))
}

fn events(folder: &Path) -> Vec<Event> {
    RunReader::open(&folder.join("run.mcap"))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn phase_records(events: &[Event], phase: Phase) -> Vec<PhaseRecord> {
    let records = events.iter().filter_map(|event| match event {
        Event::Phase(record) if record.phase == phase => Some(*record),
        _ => None,
    });
    records.collect()
}

/// The measured releases of a tenant, whatever became of each: on a busy machine the end cuts off the last of them.
fn released(events: &[Event], tenant: u16) -> usize {
    let is_one = |event: &&Event| {
        matches!(event, Event::Frame(frame)
            if frame.tenant == tenant && frame.phase == Phase::Together && !frame.warmup)
    };
    events.iter().filter(is_one).count()
}

#[test]
fn what_processes_record_comes_together_in_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"Scenario(sharing: Processes, duration: "2s", warmup: "200ms", baseline: (alone: true), tenants: [
        Tenant(name: "model", backend: Sim(Fixed("2ms")), arrival: Periodic(100), processes: 2),
        Tenant(
            name: "camera", detector: "builtin:camera", source: Synthetic(sensor: Camera, scenes: 2),
            backend: Cpu(threads: 1), arrival: Periodic(4), depth: 2,
        ),
    ])"#;
    let scenario = folder.path().join("scenario.ron");
    std::fs::write(&scenario, text).unwrap();
    let output = jetlag(folder.path(), &scenario).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary = summary(&output);
    let names: Vec<&str> = summary["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["model", "model-2", "camera"]);
    for model in ["model", "model-2"] {
        assert!(
            number(&summary, model, "/stages_ms/compute/min") >= 2.0,
            "{summary}"
        );
    }
    assert!(
        number(&summary, "camera", "/detections") > 0.0,
        "the network sees the scenes: {summary}"
    );
    assert_eq!(summary["run"].get("processes"), None, "no GPU is shared");
    let events = events(folder.path());
    assert_eq!([0, 1].map(|model| released(&events, model)), [200, 200]);
    let together = phase_records(&events, Phase::Together);
    assert_eq!(together.len(), 3);
    assert!(
        together.iter().all(|record| record.epoch == together[0].epoch),
        "one epoch: {together:?}"
    );
    assert!(
        together
            .iter()
            .all(|record| record.reason == EndReason::Duration && record.lost_records == 0)
    );
    // Two rounds or more of each alone and all together, each turn once.
    let turns: Vec<&PhaseSpec> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseSpec(spec) if spec.round.is_some() => Some(spec),
            _ => None,
        })
        .collect();
    let rounds = turns.iter().filter(|spec| spec.members == [0]).count();
    assert!(rounds >= 2, "{turns:?}");
    assert_eq!(turns.len(), 4 * rounds, "{turns:?}");
    for spec in &turns {
        assert_eq!(
            phase_records(&events, spec.phase).len(),
            spec.members.len(),
            "{spec:?}"
        );
    }
    for tenant in 0..3 {
        let sequences: Vec<u64> = events
            .iter()
            .filter_map(|event| match event {
                Event::Frame(frame) if frame.tenant == tenant && frame.phase == Phase::Together => {
                    Some(frame.sequence)
                }
                _ => None,
            })
            .collect();
        let all: Vec<u64> = (0..sequences.len() as u64).collect();
        let mut sorted = sequences.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all, "every release of tenant {tenant} is recorded once");
    }
    let specs: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseSpec(spec) => Some(spec.sharing.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(specs, vec!["Processes"; turns.len() + 1]);
}

/// The process of a tenant, once it is there.
fn process_of(run: &mut Child, tenant: &str) -> Pid {
    let wanted = format!("tenant-process\0{}\0{tenant}\0", run.id());
    let mut found = None;
    under_way::wait_until(&format!("the process of {tenant}"), || {
        if let Some(status) = run.try_wait().unwrap() {
            let mut text = String::new();
            let _ = run.stderr.take().map(|mut said| said.read_to_string(&mut text));
            panic!("no process of {tenant}: the run has ended, {status}: {text}");
        }
        let mut processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let number = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
            let line = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(&wanted).then_some(number)
        });
        found = processes.next();
        found.is_some()
    });
    Pid::from_raw(found.unwrap()).unwrap()
}

/// Waits until each of three tenants has that many frames in the run file.
fn measured(folder: &Path, frames: usize) {
    let file = folder.join("run.mcap");
    under_way::wait_until("the tenants' frames", || {
        (0..3).all(|tenant| under_way::completed(&file, tenant) > frames)
    });
}

/// Starts a long run in a process group of its own, and waits until it has measured a while.
fn long(folder: &Path, duration: &str) -> (Child, [Pid; 3]) {
    let scenario = simulated(folder, &format!("duration: \"{duration}\","));
    let mut run = jetlag(folder, &scenario)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let processes = ["fast", "fast-2", "slow"].map(|tenant| process_of(&mut run, tenant));
    measured(folder, 20);
    (run, processes)
}

fn assert_gone(processes: [Pid; 3]) {
    let alive = |pid: Pid| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
        // One that nobody has waited for yet is dead as well.
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    };
    under_way::wait_until("the end of the processes", || !processes.into_iter().any(alive));
}

#[test]
fn a_process_that_is_killed_takes_nobody_with_it() {
    let folder = tempfile::tempdir().unwrap();
    // Long enough for it to be killed in the middle, whenever it is seen to measure.
    let (run, processes) = long(folder.path(), "12s");
    kill_process(processes[1], Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "a tenant failed: {}",
        stderr(&output)
    );
    let summary = summary(&output);
    let findings = summary["run"]["findings"].as_array().unwrap();
    let died = findings
        .iter()
        .find(|finding| finding["code"] == "process-died")
        .unwrap();
    assert_eq!(died["tenant"], "fast-2");
    assert!(died["message"].as_str().unwrap().contains("SIGKILL"), "{died}");
    assert!(
        stderr(&output).contains("tenant fast-2: its process has ended: signal: 9 (SIGKILL)"),
        "{}",
        stderr(&output)
    );
    let completed = |tenant| number(&summary, tenant, "/frames/completed");
    assert!(
        (20.0..1190.0).contains(&completed("fast-2")),
        "up to its death: {summary}"
    );
    let events = events(folder.path());
    assert_eq!(
        (released(&events, 0), released(&events, 2)),
        (1200, 600),
        "{summary}"
    );
    let mut records = phase_records(&events, Phase::Together);
    records.sort_by_key(|record| record.tenant);
    let reasons: Vec<EndReason> = records.iter().map(|record| record.reason).collect();
    assert_eq!(
        reasons,
        [EndReason::Duration, EndReason::Failed, EndReason::Duration]
    );
    assert!(records[1].measured_to < records[0].measured_to, "{records:?}");
    assert_gone(processes);
}

#[test]
fn a_process_that_dies_before_it_is_prepared_fails_its_tenant_alone() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody writes to it: who reads this network waits for as long as it lives.
    let network = folder.path().join("never.onnx");
    let made = Command::new("mkfifo").arg(&network).status().unwrap();
    assert!(made.success());
    let spec = r#"Camera(
        name: "never", classes: ["Car"], network: "never.onnx", input: (tensor: "images", width: 64, height: 64),
        head: YoloAnchorFree(output: "output0"), score_threshold: 0.9, nms: (iou: 0.5),
    )"#;
    std::fs::write(folder.path().join("never.ron"), spec).unwrap();
    let text = "Scenario(sharing: Processes, duration: \"1s\", warmup: \"100ms\", tenants: [
        Tenant(name: \"model\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(100)),
        Tenant(name: \"camera\", detector: \"never.ron\", source: Synthetic(Camera), backend: Cpu, arrival: Periodic(10)),
    ])";
    let scenario = folder.path().join("scenario.ron");
    std::fs::write(&scenario, text).unwrap();
    let mut run = jetlag(folder.path(), &scenario)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    kill_process(process_of(&mut run, "camera"), Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    let summary = summary(&output);
    assert!(number(&summary, "model", "/frames/completed") > 0.0, "{summary}");
    assert_eq!(number(&summary, "camera", "/frames/completed"), 0.0, "{summary}");
    let findings = summary["run"]["findings"].as_array().unwrap();
    let told = findings
        .iter()
        .find(|finding| finding["code"] == "not-started")
        .unwrap();
    assert_eq!(told["tenant"], "camera");
    assert!(told["message"].as_str().unwrap().contains("SIGKILL"), "{told}");
}

#[test]
fn a_process_that_hangs_is_ended_and_the_others_results_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    // Of ten seconds' patience beyond the watchdog's time, no more than needed.
    let scenario = simulated(folder.path(), "duration: \"12s\", watchdog: \"10ms\",");
    let mut run = jetlag(folder.path(), &scenario)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hung = process_of(&mut run, "slow");
    measured(folder.path(), 5);
    kill_process(hung, Signal::STOP).unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(
        stderr(&output).contains("tenant slow: its process did not end the phase"),
        "{}",
        stderr(&output)
    );
    let events = events(folder.path());
    assert_eq!(released(&events, 0), 1200);
    let mut records = phase_records(&events, Phase::Together);
    records.sort_by_key(|record| record.tenant);
    let reasons: Vec<EndReason> = records.iter().map(|record| record.reason).collect();
    assert_eq!(
        reasons,
        [EndReason::Duration, EndReason::Duration, EndReason::Failed]
    );
}

#[test]
fn signals_to_all_and_a_sigterm_that_only_the_run_gets_end_all_with_their_results() {
    for to_all in [Some(Signal::INT), Some(Signal::HUP), None] {
        let folder = tempfile::tempdir().unwrap();
        let (run, processes) = long(folder.path(), "10min");
        let pid = Pid::from_child(&run);
        match to_all {
            Some(signal) => kill_process_group(pid, signal).unwrap(),
            None => kill_process(pid, Signal::TERM).unwrap(),
        }
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let summary = summary(&output);
        for tenant in ["fast", "fast-2", "slow"] {
            assert!(number(&summary, tenant, "/frames/completed") > 20.0, "{summary}");
        }
        assert!(
            !summary["run"]["findings"].to_string().contains("process-died"),
            "{summary}"
        );
        let records = phase_records(&events(folder.path()), Phase::Together);
        assert!(
            records
                .iter()
                .all(|record| record.reason == EndReason::Interrupted),
            "{records:?}"
        );
        assert_gone(processes);
    }
}

#[test]
fn processes_end_with_a_run_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut run, processes) = long(folder.path(), "10min");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_gone(processes);
    let frames = RunReader::open(&folder.path().join("run.mcap")).unwrap().filter(|event| {
        matches!(event, Ok(Event::Frame(frame)) if frame.outcome == Outcome::Completed && frame.tenant < 3)
    });
    assert!(frames.count() > 20, "what was recorded is there");
}

#[test]
fn a_tenant_process_is_not_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_jetlag");
    let help = Command::new(program).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("tenant-process"));
    let mut command = Command::new(program);
    command.args(["tenant-process", &std::process::id().to_string(), "camera"]);
    let output = command
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// One camera on TensorRT's double, whose scenario has these fields and whose tenant has those.
fn camera_alone(scene: &Scene, fields: &str, tenant: &str) -> PathBuf {
    scene.plan("camera.plan", &camera(2_000));
    let scenario = scene.scenario(
        &format!("sharing: Processes, {fields}"),
        &format!("arrival: Periodic(50), {tenant}"),
        "",
    );
    scene.by_frames(scenario, 50)
}

#[test]
fn copies_are_dealt_out_to_devices() {
    let Some(scene) = Scene::new() else { return };
    let scenario = camera_alone(&scene, "mps: Off,", "processes: 3, gpus: [0, 1]");
    let Some(summary) = scene.run(&Control::default().devices(2), &scenario) else {
        return;
    };
    for tenant in ["camera", "camera-2", "camera-3"] {
        assert!(number(&summary, tenant, "/frames/completed") > 0.0, "{summary}");
    }
    let manifest = RunReader::open(&scene.path("run.mcap"))
        .unwrap()
        .manifest()
        .clone();
    let devices: Vec<u16> = manifest
        .scenario()
        .unwrap()
        .tenants
        .iter()
        .map(|tenant| tenant.gpu.gpu)
        .collect();
    assert_eq!(devices, [0, 1, 0]);
    // Where there is no second device it is the second copy that says so, before anything starts.
    let path = scenario.to_str().unwrap();
    let output = scene
        .jetlag(&Control::default(), &["run", path, "--quiet"])
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("tenant camera-2: GPU 1 does not exist"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn mps_is_found_hidden_and_missed() {
    let Some(scene) = Scene::new() else { return };
    let folder = scene.path("mps");
    std::fs::create_dir(&folder).unwrap();
    let control = Control::default().mps(&folder);
    let shared = |mps: &str| {
        let scenario = camera_alone(&scene, mps, "");
        Some(
            scene.run(&control, &scenario)?["run"]["processes"]
                .as_str()
                .unwrap()
                .to_owned(),
        )
    };
    let Some(without) = shared("") else { return };
    assert_eq!(without, "time-sliced");
    let refused = |scenario: &Path| {
        let output = scene
            .jetlag(&control, &["run", scenario.to_str().unwrap(), "--quiet"])
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    let missed = refused(&camera_alone(&scene, "mps: Required,", ""));
    assert!(missed.contains("no MPS daemon answers: "), "{missed}");
    assert!(missed.contains("nvidia-cuda-mps-control -d"), "{missed}");
    let _daemon = UnixListener::bind(folder.join("control")).unwrap();
    for mps in ["", "mps: Required,"] {
        assert_eq!(shared(mps).unwrap(), format!("under MPS ({})", folder.display()));
    }
    assert_eq!(shared("mps: Off,").unwrap(), "time-sliced");
    let text = scene.jetlag(&control, &["report", "run.mcap"]).unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("GPU sharing: time-sliced"), "{text}");
}

#[test]
fn an_engine_that_does_not_fit_is_told_by_the_tenants_name_before_the_run() {
    let Some(scene) = Scene::new() else { return };
    let scenario = camera_alone(&scene, "", "");
    scene.plan("camera.plan", &camera(0).replace("1x3x64x64", "1x3x32x32"));
    let Some(output) = scene.jetlag(
        &Control::default(),
        &["run", scenario.to_str().unwrap(), "--quiet"],
    ) else {
        return;
    };
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("tenant camera:") && stderr(&output).contains("its input `images`"),
        "{}",
        stderr(&output)
    );
}
