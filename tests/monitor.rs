//! `jetlag monitor`, and what is sampled beside a run, on made-up boards and recorded lines.
use crate::common::boards;
use crate::common::output::{stderr, stdout};
use crate::common::under_way;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use jetlag::record::{Event, RunReader, SampleRecord};
use nvidia_doubles::nvml;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use under_way::wait_until;

mod logs;
mod measurands;
mod rails;

fn jetlag(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.args(arguments).env("JETLAG_ROOT", root).current_dir(root);
    command
}

fn run(root: &Path, arguments: &[&str]) -> Output {
    jetlag(root, arguments).output().unwrap()
}

fn objects(output: &Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// `jetlag monitor --format json` while it runs: what happens around it waits for what it has said, and it ends when the
/// test has seen enough.
struct Watched {
    child: Child,
    lines: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Watched {
    fn start(root: &Path, nvml: Option<&Path>, more: &[&str]) -> Watched {
        // Ended long before; where what a test waits for never comes, this is when it fails.
        let mut arguments = vec!["monitor", "--duration", "5min", "--format", "json"];
        arguments.extend(more);
        let mut command = jetlag(root, &arguments);
        command.envs(nvml.map(|library| ("JETLAG_NVML", library)));
        Watched::of(command)
    }

    fn of(mut command: Command) -> Watched {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watched {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Reads on until an object shows what is waited for.
    fn until(&mut self, what: &str, shows: impl Fn(&Value) -> bool) {
        loop {
            match self.next() {
                Some(object) if shows(object) => return,
                Some(_) => {}
                None => panic!("it ended without {what}: {:?}", self.seen),
            }
        }
    }

    fn next(&mut self) -> Option<&Value> {
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        self.seen.push(serde_json::from_str(&line).unwrap());
        self.seen.last()
    }

    /// Ends it as Ctrl-C does; all that it said.
    fn end(mut self) -> (Vec<Value>, ExitStatus) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        while self.next().is_some() {}
        (self.seen, self.child.wait().unwrap())
    }
}

/// Whether an object has a value of a signal.
fn has(object: &Value, signal: &str) -> bool {
    !object["signals"][signal]["value"].is_null()
}

fn is_finding(object: &Value, code: &str) -> bool {
    object["finding"]["code"] == code
}

/// Writes a file in one go: half a number is a number too.
fn write_whole(path: &Path, text: &str) {
    let part = path.with_extension("part");
    fs::write(&part, text).unwrap();
    fs::rename(part, path).unwrap();
}

const LINE: &str = "RAM 6185/7620MB (lfb 8x2MB) CPU [15%@729,off] EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] \
    cpu@53.968C gpu@-256C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 0mW/0mW VDD_SOC 2817mW/2817mW";

/// debugfs as the kernel has it: what cannot seek is read all the same, of each kind of file that tells of the memory
/// controller, one generation after the other.
#[test]
fn memory_clock_and_load_are_read_from_files_of_debugfs_that_do_not_seek() {
    const RATE: &str = "sys/kernel/debug/bpmp/debug/clk/emc/rate";
    const NANO: &str = "sys/kernel/debug/clk/override.emc/clk_rate";
    const CACTMON: &str = "sys/kernel/debug/cactmon/mc_all";
    for (board, clock, activity) in [
        ("nano-r32", NANO, "sys/kernel/actmon_avg_activity/mc_all"),
        ("xavier-nx-r35", RATE, CACTMON),
        ("agx-orin-r36", RATE, CACTMON),
        (
            "thor-r38",
            RATE,
            "sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity",
        ),
    ] {
        let root = boards::board(board);
        let Some(library) = boards::unseekable_debugfs(root.path()) else {
            return;
        };
        for (path, number) in [(clock, "1600000000"), (activity, "400000")] {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, number).unwrap();
        }
        let mut command = jetlag(
            root.path(),
            &["monitor", "--duration", "5min", "--format", "json"],
        );
        command.env("LD_PRELOAD", &library);
        let mut watched = Watched::of(command);
        let value =
            |object: &Value, signal: &str| object["signals"][signal]["value"].as_f64().map(f64::round);
        watched.until("the memory controller", |object| has(object, "emc/emc_load"));
        let object = watched.seen.last().unwrap();
        assert_eq!(
            value(object, "emc/emc_frequency"),
            Some(1600.0),
            "{board}: {object}"
        );
        assert_eq!(value(object, "emc/emc_load"), Some(25.0), "{board}: {object}");
        // Each reading is a new one.
        write_whole(&root.path().join(activity), "800000");
        watched.until("a new load", |object| value(object, "emc/emc_load") == Some(50.0));
        let (_, status) = watched.end();
        assert!(status.success(), "{board}");
        // What is read once is read too.
        let mut shown = jetlag(root.path(), &["clocks", "show"]);
        let shown = shown.env("LD_PRELOAD", &library).output().unwrap();
        assert!(stdout(&shown).contains("1600"), "{board}: {}", stdout(&shown));
    }
}

#[test]
fn a_board_that_slows_itself_down_while_it_is_measured_is_told_first() {
    let root = boards::board("orin-nano-r36");
    let counter = root.path().join("sys/class/hwmon/hwmon5/oc3_event_cnt");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"oc\", duration: \"5min\", warmup: \"0s\", \
         tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20))])",
    )
    .unwrap();
    let mut running = jetlag(root.path(), &["run", "s.ron", "--quiet", "--out", "r.mcap"]);
    let mut running = running
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The firmware's count rises all the time; two readings of it are enough, whenever they are taken.
    let mut count = 37;
    let summary = |root: &Path| -> Option<Value> {
        let report = run(root, &["report", "r.mcap", "--format", "json"]);
        serde_json::from_slice(&report.stdout).ok()
    };
    wait_until("the count was read twice", || {
        for _ in 0..20 {
            count += 1;
            write_whole(&counter, &count.to_string());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let findings = summary(root.path()).map(|said| said["run"]["findings"].to_string());
        findings.is_some_and(|all| all.contains("over-current"))
    });
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    running.wait().unwrap();
    let summary = summary(root.path()).unwrap();
    let first = &summary["run"]["findings"][0];
    assert_eq!(first["code"], "over-current", "{summary}");
    let message = first["message"].as_str().unwrap();
    assert!(message.contains("for a moment (OC3)"), "{message}");
}

/// The GPU's load is left alone while idle power is taken, and the run file says so.
#[test]
fn the_idle_baseline_is_taken_without_what_keeps_the_gpu_on() {
    let root = boards::board("orin-nano-r36");
    // A sensor that does not average needs no pause to speak of.
    let rails = root.path().join("sys/class/hwmon/hwmon1");
    fs::write(rails.join("samples"), "1").unwrap();
    fs::write(rails.join("update_interval"), "7").unwrap();
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"idle\", duration: \"600s\", warmup: \"0s\", baseline: (idle: \"500ms\"), telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20), frames: 20)])",
    )
    .unwrap();
    let ran = run(root.path(), &["run", "s.ron", "--quiet", "--out", "r.mcap"]);
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", stderr(&ran));
    let shown = stdout(&run(root.path(), &["inspect", "r.mcap"]));
    assert!(
        shown.contains("sampler gpu: not read during the idle baseline"),
        "{shown}"
    );
    assert!(!shown.contains("sampler rails: not read"), "{shown}");
}

#[test]
fn what_is_recorded_can_be_reported_and_replayed() {
    let root = boards::board("orin-nano-r36");
    let recorded = run(
        root.path(),
        &[
            "monitor",
            "--duration",
            "5s",
            "--interval",
            "50ms",
            "--record",
            "board.mcap",
        ],
    );
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    assert!(
        stdout(&recorded).contains("VDD_IN 12.48 W"),
        "{}",
        stdout(&recorded)
    );
    let report = run(root.path(), &["report", "board.mcap", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(summary["power"][0]["rail"], "VDD_IN");
    let mean = summary["power"][0]["mean_mw"].as_f64().unwrap();
    assert!((mean - 12_476.48).abs() < 0.01, "{mean}");
    assert_eq!(summary["energy"]["of"], "module");
    assert!(
        summary["energy"]["above_idle_mj"].is_null(),
        "idle was not measured"
    );
    let sampling = &summary["run"]["sampling"];
    let all = sampling["percent_of_core"].as_f64().unwrap();
    let samplers = sampling["samplers"].as_array().unwrap();
    assert!(all > 0.0 && all < 100.0, "{sampling}");
    let rails = samplers
        .iter()
        .find(|sampler| sampler["name"] == "rails")
        .unwrap();
    assert!(rails["percent_of_core"].as_f64().unwrap() < all, "{sampling}");
    let text = stdout(&run(root.path(), &["report", "board.mcap"]));
    assert!(text.contains("% of one core"), "{text}");
    for title in ["POWER", "LOAD", "TEMPERATURE", "CLOCKS"] {
        assert!(text.contains(title), "{title}: {text}");
    }
    // Nobody released a frame.
    assert!(
        !text.contains("response time") && !text.contains("host-busy"),
        "{text}"
    );
    let page = run(root.path(), &["report", "board.mcap", "--html", "page.html"]);
    assert!(page.status.success(), "{}", stderr(&page));
    let page = fs::read_to_string(root.path().join("page.html")).unwrap();
    for words in [
        "s of this machine recorded",
        "<h2>Load</h2>",
        "<h2>Temperature</h2>",
        "VDD_IN",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for words in ["response time", "s measured", "The deadline"] {
        assert!(!page.contains(words), "{words}");
    }
    let replayed = run(
        root.path(),
        &["monitor", "--replay", "board.mcap", "--format", "json"],
    );
    let objects = objects(&replayed);
    let watts = |o: &Value| o["signals"]["ina3221/VDD_IN"]["value"].as_f64();
    assert!(
        objects.iter().filter_map(watts).count() >= 2,
        "{}",
        stdout(&replayed)
    );
    // Not over a file that is no run.
    fs::write(root.path().join("notes.txt"), "mine").unwrap();
    let refused = run(
        root.path(),
        &["monitor", "--duration", "1s", "--record", "notes.txt"],
    );
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_counter_of_the_processor_that_was_reset_is_said_and_gives_no_megawatts() {
    let root = tempfile::tempdir().unwrap();
    let zone = root.path().join("sys/class/powercap/intel-rapl:0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("name"), "package-0").unwrap();
    fs::write(zone.join("max_energy_range_uj"), "262143328850").unwrap();
    let count = |uj: u64| write_whole(&zone.join("energy_uj"), &uj.to_string());
    count(4_000_000);
    let mut monitor = Watched::start(root.path(), None, &["--interval", "100ms", "--record", "r.mcap"]);
    // A tenth of a joule between two looks, and the counter anew in the middle.
    for n in 1..=6_u64 {
        let has_power = |object: &Value| object["signals"].to_string().contains("package-0");
        monitor.until("a reading of the counter", has_power);
        count(if n < 4 { 4_000_000 } else { 1_000_000 } + n * 100_000);
    }
    assert!(monitor.end().1.success());
    let report = run(root.path(), &["report", "r.mcap", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    let rail = &summary["power"][0];
    assert_eq!(rail["rail"], "package-0");
    assert_eq!(rail["energy_from"], "power", "{rail}");
    // Counted across its reset it would have gone through its whole range, 262 kJ.
    assert!(rail["peak_mw"].as_f64().unwrap() < 1e7, "{rail}");
    assert!(rail["energy_mj"].as_f64().unwrap() < 20_000.0, "{rail}");
    let findings = summary["run"]["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|f| f["code"] == "counter-reset"),
        "{findings:?}"
    );
}

#[test]
fn cards_are_sampled_through_nvml_with_what_they_answer() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let state = "count 2\ninstant 250000\n1/instant 80000\naverage 240000\nenergy 1000000\nload 97\nclock 1980\n\
        throttle 4\ntemperature 66\n";
    let Some(nvml) = nvml::library(&folder, state) else {
        return;
    };
    let state_file = folder.join("state");
    let monitor = || Watched::start(root.path(), Some(&nvml), &["--interval", "50ms"]);
    let both = |object: &Value| {
        let power = |gpu| has(object, &format!("nvml/gpu{gpu}_power_instant"));
        power(0) && power(1)
    };
    let mut watched = monitor();
    watched.until("a reading of both cards", both);
    let first = &watched.seen.last().unwrap()["signals"];
    assert_eq!(first["nvml/gpu0_power_instant"]["value"], 250_000.0);
    assert_eq!(first["nvml/gpu1_power_instant"]["value"], 80_000.0, "two cards");
    assert_eq!(first["nvml/gpu0_throttle_reasons"]["value"], 4.0);
    assert!(
        first["nvml/gpu0_memory_used"].is_null(),
        "not supported: not there"
    );
    // A card that is lost while it is watched: a finding, and the rest goes on.
    write_whole(&state_file, &format!("{state}lost 1\n"));
    watched.until("what became of the card", |o| is_finding(o, "sampler-ended"));
    let finding = watched.seen.last().unwrap().to_string();
    assert!(finding.contains("NVML no longer answers"), "{finding}");
    watched.until("readings of others", |o| o["signals"].is_object());
    assert!(watched.end().1.success());
    // One of two: the other goes on, and nothing of the lost one is 0.
    write_whole(&state_file, &format!("{state}1/lost 1\n"));
    // It counts two devices and answers of one only.
    let mut watched = monitor();
    watched.until("a reading of the other card", |o| {
        has(o, "nvml/gpu0_power_instant")
    });
    let (seen, _) = watched.end();
    let first = &seen.iter().find(|o| o["signals"].is_object()).unwrap()["signals"];
    assert_eq!(first["nvml/gpu0_power_instant"]["value"], 250_000.0);
    assert!(first["nvml/gpu1_power_instant"].is_null());
    let finding = seen.iter().find(|o| is_finding(o, "sampler-ended")).unwrap();
    let message = finding["finding"]["message"].as_str().unwrap();
    assert!(
        message.contains("GPU 1"),
        "half of the power is missing from its sum: {finding}"
    );
    let doctor = jetlag(root.path(), &["doctor", "--format", "json"])
        .env("JETLAG_NVML", &nvml)
        .output()
        .unwrap();
    let checks: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let mut checks = checks["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["subject"] == "NVML").unwrap();
    assert_eq!(check["status"], "gap", "{check}");
    assert!(check["meaning"].as_str().unwrap().contains("GPU 1"), "{check}");
    write_whole(&state_file, state);
    let mut watched = monitor();
    watched.until("a reading of both cards", both);
    write_whole(&state_file, &format!("{state}1/lost 1\n"));
    watched.until("what became of the card", |o| is_finding(o, "sampler-ended"));
    let finding = watched.seen.last().unwrap();
    assert!(
        finding["finding"]["message"].as_str().unwrap().contains("GPU 1"),
        "{finding}"
    );
    let alone =
        |object: &Value| has(object, "nvml/gpu0_power_instant") && !has(object, "nvml/gpu1_power_instant");
    watched.until("a reading of the other card alone", alone);
    let (seen, _) = watched.end();
    let last = &seen.iter().rfind(|o| o["signals"].is_object()).unwrap()["signals"];
    assert!(last["nvml/gpu1_power_instant"]["value"].is_null(), "{last}");
    // A library that refuses to start, and one without a device.
    for state in ["init 9\n", "count 0\n"] {
        write_whole(&state_file, state);
        let mut watched = monitor();
        watched.until("a reading of the host", |o| {
            o["signals"].to_string().contains("host/")
        });
        let (seen, status) = watched.end();
        let said = seen.iter().any(|o| o["signals"].to_string().contains("nvml/"));
        assert!(status.success() && !said, "{state}: {seen:?}");
    }
}

/// How often each signal has a value in a run file.
fn readings(root: &Path, file: &str) -> std::collections::BTreeMap<String, usize> {
    let output = run(root, &["monitor", "--replay", file, "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut counts = std::collections::BTreeMap::new();
    for object in objects(&output) {
        let signals = object["signals"].as_object().into_iter().flatten();
        for (name, _) in signals.filter(|(_, signal)| !signal["value"].is_null()) {
            *counts.entry(name.clone()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn one_measure_of_power_is_asked_at_each_reading_and_loads_once() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let all = "instant 250000\naverage 240000\npower 240000\nenergy 1000000\nload 97\nlimit 700000\n";
    let older = "average 240000\npower 240000\nenergy 1000000\nload 97\n";
    for (state, rail, others) in [
        (all, "power_instant", ["power_average", "power"].as_slice()),
        (older, "power_average", &["power"]),
    ] {
        let Some(nvml) = nvml::library(&folder, state) else {
            return;
        };
        let file = format!("{rail}.mcap");
        let _ = fs::remove_file(folder.join("state.loads"));
        let mut watched = Watched::start(
            root.path(),
            Some(&nvml),
            &["--interval", "20ms", "--record", &file],
        );
        for _ in 0..12 {
            watched.until("a reading", |o| has(o, &format!("nvml/gpu0_{rail}")));
        }
        assert!(watched.end().1.success());
        let seen = readings(root.path(), &file);
        let of = |signal: &str| seen.get(&format!("nvml/gpu0_{signal}")).copied().unwrap_or(0);
        // What is not asked at each reading is asked at the first, and then every few seconds.
        for seldom in others.iter().chain(&["energy"]) {
            assert!(of(seldom) >= 1 && of(seldom) < of(rail), "{seldom}: {seen:?}");
        }
        assert_eq!((of("load"), of("memory_load")), (of(rail), of(rail)), "{seen:?}");
        let asked = fs::read_to_string(folder.join("state.loads"))
            .unwrap()
            .lines()
            .count();
        // Once a reading, and not once for each of the two loads; a few readings are asked and not written, when it begins and ends.
        assert!(asked < of(rail) * 3 / 2, "{asked} for {} readings", of(rail));
    }
}

/// A stand-in for tegrastats that writes its process number to a file and then a line every 50 ms.
fn tegrastats(root: &Path) -> std::path::PathBuf {
    let path = root.join("usr/bin/tegrastats");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let pid = root.join("tegrastats.pid");
    let script = format!(
        "echo $$ > '{0}.part' && mv '{0}.part' '{0}'\nwhile :; do echo '{LINE}'; sleep 0.05; done",
        pid.display()
    );
    nvidia_doubles::script(&path, &script);
    pid
}

/// Whether a process is there, and not only waiting to be buried.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn tegrastats_is_read_where_no_rail_is_and_does_not_outlive_a_killed_jetlag() {
    let root = tempfile::tempdir().unwrap();
    let pid_file = tegrastats(root.path());
    let mut child = jetlag(
        root.path(),
        &["monitor", "--interval", "50ms", "--format", "json"],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    wait_until("tegrastats starts", || pid_file.exists());
    let pid = fs::read_to_string(&pid_file).unwrap();
    assert!(runs(&pid));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("tegrastats ends with us", || !runs(&pid));
    fs::remove_file(&pid_file).unwrap();
    // And in the ordinary way.
    let mut watched = Watched::start(root.path(), None, &["--interval", "50ms"]);
    watched.until("a reading of tegrastats", |o| {
        o["signals"]["tegrastats/VDD_IN"]["value"] == 12_479.0
    });
    assert!(watched.end().1.success());
    let pid = fs::read_to_string(&pid_file).unwrap();
    wait_until("tegrastats ends", || !runs(&pid));
}

#[test]
fn a_run_beside_a_boards_sensors_has_energy_per_frame() {
    let root = boards::board("orin-nano-r36");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"powered\", duration: \"3s\", warmup: \"0s\", baseline: (idle: \"1s\"), telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])",
    )
    .unwrap();
    let output = run(root.path(), &["run", "s.ron", "--quiet", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tenant = &summary["tenants"][0];
    let energy = &tenant["energy_mj_per_frame"];
    // 12 476.48 mW all the time, over as many frames as the machine came to; and nothing above idle, since the made-up
    // sensors stand still.
    let (mean_mw, seconds) = (12_476.48, summary["run"]["duration_s"].as_f64().unwrap());
    let frames = tenant["frames"]["completed"].as_f64().unwrap();
    assert!(frames > 0.0, "{tenant}");
    let total = energy["total"].as_f64().unwrap();
    let share = total * frames / (mean_mw * seconds);
    assert!(
        (share - 1.0).abs() < 1e-3,
        "{share} of what flowed: {energy} over {frames} frames, {}",
        summary["energy"]
    );
    assert!(energy["above_idle"].as_f64().unwrap().abs() < 1e-3, "{energy}");
    assert_eq!(energy["attributed"], false, "one tenant");
    assert_eq!(summary["power"].as_array().unwrap().len(), 3);
}

#[test]
fn sensors_that_vanish_or_turn_to_nonsense_in_the_middle_are_said_and_never_zero() {
    let root = boards::board("orin-nano-r36");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"lost\", duration: \"10min\", warmup: \"0s\", telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 50))])",
    )
    .unwrap();
    let arguments = [
        "run", "s.ron", "--quiet", "--format", "json", "--out", "r.mcap", "--force",
    ];
    let child = jetlag(root.path(), &arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let file = root.path().join("r.mcap");
    // How often each rail was read while the run measured, or could not be read, as far as that is in the file.
    let recorded = |is_read: bool| -> usize {
        let frames = under_way::frames(&file, 0);
        let Some(begun) = frames.iter().map(|frame| frame.released).min() else {
            return 0;
        };
        let counts = |sample: &SampleRecord, rail: &str| {
            sample.signal == rail && sample.at >= begun && sample.value.is_some() == is_read
        };
        let of = |rail: &str| {
            let events = RunReader::open(&file).unwrap();
            let own =
                events.filter(|event| matches!(event, Ok(Event::Sample(sample)) if counts(sample, rail)));
            own.count()
        };
        ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"]
            .map(of)
            .into_iter()
            .min()
            .unwrap()
    };
    wait_until("the rails are read", || recorded(true) >= 5);
    let before = recorded(true);
    let hwmon = root.path().join("sys/class/hwmon/hwmon1");
    fs::write(hwmon.join("in2_input"), "garbage").unwrap();
    fs::write(hwmon.join("curr3_input"), "999999999").unwrap();
    fs::remove_file(hwmon.join("in1_input")).unwrap();
    // Without them for as long again.
    wait_until("the run goes on", || recorded(false) >= 2 * before + 20);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let summary: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    for rail in summary["power"].as_array().unwrap() {
        let mean = rail["mean_mw"].as_f64().unwrap();
        assert!(
            mean > 2_000.0 && rail["peak_mw"].as_f64().unwrap() < 20_000.0,
            "{rail}"
        );
        assert!(
            rail["sampled"].as_f64().unwrap() < 0.95 && rail["unread"].as_u64().unwrap() > 0,
            "{rail}"
        );
    }
    let findings = summary["run"]["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|f| f["code"] == "sampler-gaps"),
        "{findings:?}"
    );
}
