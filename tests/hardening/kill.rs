//! SIGKILL at random moments. What must hold: the run file can be read, at most its last second is missing, nothing that was
//! started goes on, and the clocks can be given back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jetlag::record::{Completeness, ReadError, RunReader};
use jetlag::units::Stamp;
use nvidia_doubles::cuda::Control;

use super::campaign::{Campaign, Random};
use super::scene::Scene;
use super::{boards, under_way};

/// What is killed: a folder to run it in, and the command.
struct Victim {
    /// Kept until the round is over.
    folder: Box<dyn AsRef<Path>>,
    command: Command,
    /// Settings that must be as before once they are given back.
    clocks: Option<BTreeMap<PathBuf, Vec<u8>>>,
}

impl Victim {
    fn new(folder: impl AsRef<Path> + 'static, command: Command) -> Victim {
        Victim {
            folder: Box::new(folder),
            command,
            clocks: None,
        }
    }
}

/// Every setting below a board's folder.
fn settings(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("sys")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found
}

fn jetlag(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .current_dir(folder)
        .env("JETLAG_ROOT", folder)
        .env_remove("RUST_LOG")
        .args(arguments);
    command
}

const RUN: [&str; 5] = ["run", "s.ron", "--quiet", "--out", "run.mcap"];

/// A run of simulated tenants and the null backend, `fields` of the scenario.
fn simulated(fields: &str) -> Victim {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "Scenario(name: \"killed\", duration: \"10min\", warmup: \"300ms\", {fields} tenants: [\
         Tenant(name: \"a\", backend: Sim(Normal(mean: \"3ms\", sd: \"1ms\")), arrival: Periodic(hz: 100)),\
         Tenant(name: \"b\", backend: Sim(Fixed(\"2ms\")), arrival: Closed),\
         Tenant(name: \"c\", backend: Null, arrival: Poisson(hz: 50))])"
    );
    fs::write(folder.path().join("s.ron"), text).unwrap();
    let command = jetlag(folder.path(), &RUN);
    Victim::new(folder, command)
}

/// The demo's detectors on the processor.
fn demo() -> Victim {
    let folder = tempfile::tempdir().unwrap();
    let text = "Scenario(name: \"killed\", duration: \"10min\", warmup: \"300ms\", tenants: [\
         Tenant(name: \"camera\", detector: \"builtin:camera\", source: Synthetic(sensor: Camera, scenes: 2), \
         backend: Cpu(threads: 1), arrival: Periodic(hz: 10)),\
         Tenant(name: \"lidar\", detector: \"builtin:lidar\", source: Synthetic(sensor: Lidar, scenes: 2), \
         backend: Cpu(threads: 1), arrival: Periodic(hz: 5))])";
    fs::write(folder.path().join("s.ron"), text).unwrap();
    let command = jetlag(folder.path(), &RUN);
    Victim::new(folder, command)
}

/// A run that holds a board's clocks.
fn held() -> Victim {
    let folder = boards::board("agx-orin-r36");
    let text = "Scenario(name: \"killed\", duration: \"10min\", warmup: \"0s\", clocks: Max, telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 100))])";
    fs::write(folder.path().join("s.ron"), text).unwrap();
    let clocks = settings(folder.path());
    let command = jetlag(folder.path(), &RUN);
    Victim {
        clocks: Some(clocks),
        ..Victim::new(folder, command)
    }
}

fn monitor() -> Victim {
    let folder = boards::board("orin-nano-r36");
    let arguments = [
        "monitor",
        "--record",
        "run.mcap",
        "--interval",
        "20ms",
        "--format",
        "json",
    ];
    let command = jetlag(folder.path(), &arguments);
    Victim::new(folder, command)
}

/// An application that marks its own code: this program once more.
fn application() -> Victim {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.current_dir(folder.path()).args([
        "hardening::kill::an_application_with_ranges",
        "--exact",
        "--ignored",
    ]);
    Victim::new(folder, command)
}

#[test]
#[ignore = "what `application` starts, and nobody else"]
fn an_application_with_ranges() {
    use jetlag::range::{Recording, Tenant};
    let recording = Recording::create("run.mcap".as_ref(), "app", &[Tenant::new("a")]).unwrap();
    let mut track = recording.track("a").unwrap();
    loop {
        let mut run = track.range("run");
        let mut batch = run.batch("batch");
        std::thread::sleep(Duration::from_millis(5));
        drop(batch.range("compute"));
    }
}

/// Detectors on the doubles of CUDA and TensorRT, under this way of sharing.
fn on_a_gpu(sharing: &str) -> Option<Victim> {
    let scene = Scene::new()?;
    scene.demo(4_000, 6_000);
    let fields = match sharing {
        "Processes" => "sharing: Processes, mps: Off,".to_owned(),
        other => format!("sharing: {other},"),
    };
    let path = scene.scenario(&fields, "arrival: Periodic(50), priority: 1", "arrival: Closed");
    let text = fs::read_to_string(&path).unwrap().replace("\"1s\"", "\"10min\"");
    fs::write(scene.path("s.ron"), text).unwrap();
    let command = scene.command(&Control::default().with_priorities(), &RUN)?;
    Some(Victim::new(scene, command))
}

/// What a kill left.
#[derive(Default)]
struct Seen {
    kills: u64,
    /// Before anything was measured.
    early: u64,
    /// What was missing of the last stretch, in milliseconds.
    lost_ms: Vec<i64>,
}

pub(super) fn now() -> Stamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Stamp(now.tv_sec * 1_000_000_000 + now.tv_nsec)
}

/// Processes in the group that `leader` began.
pub(super) fn group(leader: u32) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        // After the name, which may hold anything: state, parent, group.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let group: u32 = fields.nth(1)?.parse().ok()?;
        (state != "Z" && group == leader).then_some(())
    });
    processes.count()
}

/// One kill after up to three seconds, and what must hold afterwards.
fn kill(mut victim: Victim, random: &mut Random, seen: &mut Seen) {
    let folder = (*victim.folder).as_ref();
    let said = folder.join("stderr.txt");
    let mut child = victim
        .command
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).unwrap())
        .process_group(0)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(random.below(3000) as u64));
    let killed = now();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let said = fs::read_to_string(said).unwrap();
    assert_eq!(status.code(), None, "it ended before it was killed: {said}");
    seen.kills += 1;
    under_way::wait_until("what it started ends too", || group(child.id()) == 0);

    let path = folder.join("run.mcap");
    match RunReader::open(&path) {
        Ok(mut reader) => {
            let anchor = reader.manifest().anchor;
            for event in reader.by_ref() {
                event.unwrap();
            }
            let Completeness::Truncated { last, .. } = reader.completeness() else {
                panic!("a run that was killed, and its file is closed");
            };
            let last = last.unwrap_or(anchor).max(anchor);
            seen.lost_ms.push((killed - last).0 / 1_000_000);
        }
        // The name is taken while the run is prepared, and the manifest is written at its end.
        Err(ReadError::Empty { .. } | ReadError::NoManifest { .. }) => seen.early += 1,
        Err(ReadError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => seen.early += 1,
        Err(other) => panic!("{other}"),
    }
    if let Some(clocks) = &victim.clocks {
        let given_back = jetlag(folder, &["clocks", "restore"]).output().unwrap();
        let said = String::from_utf8_lossy(&given_back.stderr);
        assert!(given_back.status.success(), "{said}");
        assert!(settings(folder) == *clocks, "a setting is not as it was: {said}");
    }
}

/// Kills one kind of run again and again; answers a line of the table.
fn campaign(name: &str, victim: impl Fn() -> Option<Victim>) -> Option<String> {
    let mut campaign = Campaign::new(3);
    let mut seen = Seen::default();
    for (seed, mut random) in campaign.by_ref() {
        let victim = victim()?;
        let round = std::panic::AssertUnwindSafe(|| kill(victim, &mut random, &mut seen));
        if let Err(panic) = std::panic::catch_unwind(round) {
            eprintln!("{name}, seed {seed}:");
            std::panic::resume_unwind(panic);
        }
    }
    assert!(seen.kills > 0);
    let most = seen.lost_ms.iter().max().copied().unwrap_or(0);
    // A quarter of a second more, since the machine decides when a thread runs.
    assert!(
        most < 1250 || !campaign.is_long(),
        "{name}: {most} ms are missing"
    );
    Some(format!(
        "{name:<22} {:>6} kills, {:>4} before the file was begun, 0 unreadable, at most {most:>4} ms missing   {}",
        seen.kills,
        seen.early,
        campaign.seeds()
    ))
}

#[test]
fn kills() {
    let gpu = |sharing: &'static str| move || campaign(sharing, || on_a_gpu(sharing));
    /// Answers a line of the table, where there is what it takes.
    type Kind = Box<dyn FnOnce() -> Option<String> + Send>;
    let kind = |name: &'static str, victim: fn() -> Victim| -> Kind {
        Box::new(move || campaign(name, || Some(victim())))
    };
    let kinds: Vec<Kind> = vec![
        kind("sim, null", || simulated("")),
        kind("sim, in processes", || simulated("sharing: Processes,")),
        kind("demo on the processor", demo),
        kind("clocks held", held),
        kind("monitor --record", monitor),
        kind("ranges", application),
        Box::new(gpu("Streams")),
        Box::new(gpu("SingleStream")),
        Box::new(gpu("Priority")),
        Box::new(gpu("Exclusive")),
        Box::new(gpu("RoundRobin")),
        Box::new(gpu("Edf")),
        Box::new(gpu("Partition")),
        Box::new(gpu("Processes")),
    ];
    // Four at a time: most of a round is waiting.
    let (queue, lines) = (std::sync::Mutex::new(kinds), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop();
                    let Some(kind) = next else { return };
                    let line = kind();
                    lines.lock().unwrap().extend(line);
                }
            });
        }
    });
    for line in lines.into_inner().unwrap() {
        println!("{line}");
    }
}
