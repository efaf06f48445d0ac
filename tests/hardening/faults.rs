//! Faults in the middle of a run: a full or broken disk, one that stands still, no more files, a clock that is set, a process that
//! is stopped, a driver and sensors that go away or hang. The others go on, the record is complete up to the fault, and the
//! report says it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use jetlag::record::{Completeness, Event, Phase, RunReader};
use nvidia_doubles::{c_library, nvml};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::boards;
use super::campaign::{Campaign, Random};
use super::under_way::{completed, wait_until};
use crate::common::output::stderr;

/// A run in a folder of its own, with a fault that begins when it is told to.
struct Run {
    folder: tempfile::TempDir,
    child: Child,
}

/// Compiles the library that makes calls fail, once for all.
pub(super) fn library() -> PathBuf {
    static MADE: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    let folder = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardening/faults.c");
        let made = c_library(&folder.path().join("faults.so"), Path::new(source), &[]);
        made.expect("a C compiler (cc), which building jetlag takes too");
        folder
    });
    folder.path().join("faults.so")
}

const TWO: &str = "Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 200)),\
     Tenant(name: \"b\", backend: Sim(Normal(mean: \"4ms\", sd: \"1ms\")), arrival: Poisson(hz: 50))";

impl Run {
    /// Begun, with some frames in the file.
    fn start(folder: tempfile::TempDir, fields: &str, fault: &[(&str, &str)], frames: usize) -> Run {
        let text = format!(
            "Scenario(name: \"faulty\", duration: \"60min\", warmup: \"0s\", {fields} tenants: [{TWO}])"
        );
        fs::write(folder.path().join("s.ron"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command
            .current_dir(folder.path())
            .env("JETLAG_ROOT", folder.path())
            .env_remove("RUST_LOG")
            .args(["run", "s.ron", "--quiet", "--format", "json", "--out", "run.mcap"]);
        if !fault.is_empty() {
            command
                .env("LD_PRELOAD", library())
                .env("JETLAG_FAULT_FLAG", folder.path().join("flag"));
        }
        let child = command
            .envs(fault.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let run = Run { folder, child };
        run.measures(frames);
        run
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("run.mcap")
    }

    /// Waits until both tenants have that many frames more in the file.
    fn measures(&self, more: usize) {
        let wanted = [0, 1].map(|tenant| completed(&self.file(), tenant) + more);
        wait_until("both tenants' frames", || {
            (0..2).all(|tenant| completed(&self.file(), tenant) >= wanted[usize::from(tenant)])
        });
    }

    fn begin(&self) {
        fs::write(self.folder.path().join("flag"), "").unwrap();
        wait_until("a call meets the fault", || {
            self.folder.path().join("flag.met").exists()
        });
    }

    fn end_of_fault(&self) {
        fs::remove_file(self.folder.path().join("flag")).unwrap();
    }

    fn interrupted(self) -> (tempfile::TempDir, Output) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (self.folder, output)
    }
}

fn summary(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{:?}: {}", output.status, stderr(output)))
}

fn has_finding(summary: &Value, code: &str) -> bool {
    let findings = summary["run"]["findings"].as_array().unwrap();
    findings.iter().any(|finding| finding["code"] == code)
}

/// Every release of each tenant is in the file or counted as lost. Of a file that was not closed, up to the last one.
#[track_caller]
fn nothing_is_lost_in_silence(folder: &Path, closed: bool) {
    let mut reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let (mut sequences, mut lost) = ([const { Vec::new() }; 2], [0u64; 2]);
    for event in reader.by_ref() {
        match event.unwrap() {
            Event::Frame(frame) if frame.phase == Phase::Together => {
                sequences[usize::from(frame.tenant)].push(frame.sequence);
            }
            Event::Phase(phase) if phase.phase == Phase::Together => {
                lost[usize::from(phase.tenant)] = phase.lost_records;
            }
            _ => {}
        }
    }
    assert_eq!(reader.completeness() == Completeness::Whole, closed);
    for (mut sequences, lost) in sequences.into_iter().zip(lost) {
        sequences.sort_unstable();
        let all = sequences.last().unwrap() + 1;
        sequences.dedup();
        let missing = all - sequences.len() as u64;
        // Frames are recorded as they end, so of a file that is cut some that began earlier may be missing.
        assert!(
            missing <= lost || !closed && missing <= 16,
            "{missing} missing, {lost} told of"
        );
    }
}

/// A disk that takes no more.
fn write_fails(random: &mut Random, errno: rustix::io::Errno) {
    let number = errno.raw_os_error().to_string();
    let fault = [
        ("JETLAG_FAULT", "write"),
        ("JETLAG_FAULT_OF", "run.mcap"),
        ("JETLAG_FAULT_ERRNO", &number),
    ];
    let run = Run::start(tempfile::tempdir().unwrap(), "", &fault, 1 + random.below(200));
    run.begin();
    // It ends by itself.
    let output = run.child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("cannot write to the run file run.mcap"),
        "{}",
        stderr(&output)
    );
    nothing_is_lost_in_silence(run.folder.path(), false);
}

/// A disk that stands still for as long as both tenants take for many frames.
fn disk_freezes(random: &mut Random, seconds: u64) {
    let fault = [("JETLAG_FAULT", "freeze"), ("JETLAG_FAULT_OF", "run.mcap")];
    let run = Run::start(tempfile::tempdir().unwrap(), "", &fault, 1 + random.below(200));
    run.begin();
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    run.end_of_fault();
    run.measures(50);
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
}

fn no_more_files(random: &mut Random) {
    let number = rustix::io::Errno::MFILE.raw_os_error().to_string();
    let fault = [("JETLAG_FAULT", "open"), ("JETLAG_FAULT_ERRNO", number.as_str())];
    let fields = "telemetry: (interval: \"20ms\"),";
    let run = Run::start(
        boards::board("orin-nano-r36"),
        fields,
        &fault,
        1 + random.below(200),
    );
    // A sensor that is taken away and is back is opened anew, which now fails.
    let sensor = run.folder.path().join("sys/class/hwmon/hwmon1/in1_input");
    let reading = fs::read(&sensor).unwrap();
    fs::write(run.folder.path().join("flag"), "").unwrap();
    fs::remove_file(&sensor).unwrap();
    fs::write(&sensor, reading).unwrap();
    wait_until("a call meets the fault", || {
        run.folder.path().join("flag.met").exists()
    });
    run.measures(50);
    run.end_of_fault();
    run.measures(50);
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
    let rail = &summary(&output)["power"][0];
    assert!(rail["unread"].as_u64().unwrap() > 0, "{rail}");
}

/// Somebody sets the clock an hour ahead; the run's own clock does not care.
fn clock_is_set(random: &mut Random) {
    let fault = [("JETLAG_FAULT", "clock")];
    let run = Run::start(tempfile::tempdir().unwrap(), "", &fault, 1 + random.below(200));
    fs::write(run.folder.path().join("flag"), "").unwrap();
    run.measures(100);
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
    let reader = RunReader::open(&folder.path().join("run.mcap")).unwrap();
    for event in reader {
        if let Event::Frame(frame) = event.unwrap() {
            assert!(frame.response().0 < 3_000_000_000_000, "{frame:?}");
        }
    }
}

/// The process of a tenant stands still for a while.
fn process_is_stopped(random: &mut Random) {
    let fields = "sharing: Processes,";
    let run = Run::start(tempfile::tempdir().unwrap(), fields, &[], 1 + random.below(100));
    let wanted = format!("tenant-process\0{}\0b\0", run.child.id());
    let mut found = None;
    wait_until("the process of b", || {
        let mut all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let number = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
            let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(&wanted).then_some(number)
        });
        found = all.next();
        found.is_some()
    });
    let process = Pid::from_raw(found.unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    // The other goes on.
    let before = completed(&run.file(), 0);
    wait_until("frames of a", || completed(&run.file(), 0) > before + 200);
    kill_process(process, Signal::CONT).unwrap();
    run.measures(20);
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
}

fn nvml_goes_away(random: &mut Random) {
    let root = boards::board("desktop");
    let state = "count 1\ninstant 250000\nenergy 1000000\nload 97\nclock 1980\n";
    let Some(nvml) = nvml::library(&root.path().join("nvml"), state) else {
        return;
    };
    let fields = "telemetry: (interval: \"20ms\", sources: [Host, Nvml]),";
    let nvml = nvml.to_str().unwrap().to_owned();
    let run = Run::start(root, fields, &[("JETLAG_NVML", &nvml)], 1 + random.below(200));
    let lost = run.folder.path().join("nvml/state.new");
    fs::write(&lost, format!("{state}lost 1\n")).unwrap();
    fs::rename(&lost, run.folder.path().join("nvml/state")).unwrap();
    run.measures(100);
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
    assert!(
        has_finding(&summary(&output), "sampler-ended"),
        "{}",
        summary(&output)["run"]
    );
}

fn sensor_hangs(random: &mut Random) {
    let fault = [("JETLAG_FAULT", "hang"), ("JETLAG_FAULT_OF", "hwmon1/in1_input")];
    let fields = "telemetry: (interval: \"20ms\"),";
    let run = Run::start(
        boards::board("orin-nano-r36"),
        fields,
        &fault,
        1 + random.below(200),
    );
    run.begin();
    run.measures(50);
    // It never comes back.
    let (folder, output) = run.interrupted();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    nothing_is_lost_in_silence(folder.path(), true);
    let summary = summary(&output);
    assert!(
        has_finding(&summary, "sampler-hangs"),
        "{}",
        summary["run"]["findings"]
    );
}

#[test]
fn faults() {
    use rustix::io::Errno;
    type Fault = Box<dyn Fn(&mut Random) + Send>;
    let long = Campaign::new(1).is_long();
    let faults: Vec<(&str, Fault)> = vec![
        ("ENOSPC", Box::new(|r| write_fails(r, Errno::NOSPC))),
        ("EIO", Box::new(|r| write_fails(r, Errno::IO))),
        ("ENOMEM", Box::new(|r| write_fails(r, Errno::NOMEM))),
        (
            "a frozen disk",
            Box::new(move |r| disk_freezes(r, if long { 10 } else { 2 })),
        ),
        ("EMFILE", Box::new(no_more_files)),
        ("the clock is set", Box::new(clock_is_set)),
        ("a process is stopped", Box::new(process_is_stopped)),
        ("NVML goes away", Box::new(nvml_goes_away)),
        ("a sensor hangs", Box::new(sensor_hangs)),
    ];
    std::thread::scope(|scope| {
        for (name, fault) in faults {
            scope.spawn(move || {
                let mut campaign = Campaign::new(1);
                for (seed, mut random) in campaign.by_ref() {
                    let round = std::panic::AssertUnwindSafe(|| fault(&mut random));
                    if let Err(panic) = std::panic::catch_unwind(round) {
                        eprintln!("{name}, seed {seed}:");
                        std::panic::resume_unwind(panic);
                    }
                }
                println!(
                    "{name:<22} {:>5} times, nothing lost in silence   {}",
                    campaign.done(),
                    campaign.seeds()
                );
            });
        }
    });
}
