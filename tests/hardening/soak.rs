//! A long run: memory, file descriptors and threads stay what they were after the first tenth, and every release is in the file.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use jetlag::record::{Completeness, Event, Phase, RunReader};

use super::campaign::seconds;
use crate::common::under_way::completed;

/// What a process has.
#[derive(Clone, Copy, Debug, Default)]
struct Has {
    kib: u64,
    files: usize,
    threads: u64,
}

fn has(process: u32) -> Option<Has> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(Has {
        kib: number("VmRSS:")?,
        threads: number("Threads:")?,
        files: fs::read_dir(format!("/proc/{process}/fd")).ok()?.count(),
    })
}

#[test]
fn soak() {
    let duration = seconds().unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "Scenario(name: \"soak\", duration: \"{duration}s\", warmup: \"1s\", telemetry: (interval: \"100ms\"), tenants: [\
         Tenant(name: \"null\", backend: Null, arrival: Periodic(hz: 500)),\
         Tenant(name: \"sim\", backend: Sim(Normal(mean: \"4ms\", sd: \"1ms\")), arrival: Poisson(hz: 100), depth: 2),\
         Tenant(name: \"camera\", detector: \"builtin:camera\", source: Synthetic(sensor: Camera, scenes: 4), \
         backend: Cpu(threads: 1), arrival: Periodic(hz: 5), overload: DropOldest(queue: 2))])"
    );
    fs::write(folder.path().join("s.ron"), text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .current_dir(folder.path())
        .args(["run", "s.ron", "--quiet", "--out", "run.mcap"])
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    // Before each tenant has completed a frame, things are still being set up, for however long that takes a busy machine.
    let file = folder.path().join("run.mcap");
    let set_up = || (0..3).all(|tenant| completed(&file, tenant) > 0);
    let (mut seen, mut measuring) = (Vec::new(), false);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        measuring = measuring || set_up();
        if measuring {
            seen.extend(has(child.id()));
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(matches!(status.code(), Some(0 | 4)), "{status}");

    // At the end the file is read again for the report. Files that are read once are open for a moment, so it is the least of a
    // stretch that tells what is kept.
    let middle = &seen[..seen.len() * 9 / 10];
    let (early, late) = middle.split_at(middle.len() / 2);
    let least = |stretch: &[Has]| {
        stretch.iter().copied().reduce(|least, now| Has {
            kib: least.kib.min(now.kib),
            files: least.files.min(now.files),
            threads: least.threads.min(now.threads),
        })
    };
    let (early, late) = (least(early).unwrap(), least(late).unwrap());
    let most = middle.iter().map(|now| now.kib).max().unwrap();
    let (mut frames, mut lost, mut failed) = (0u64, 0, 0);
    let mut next = [0u64; 3];
    let mut reader = RunReader::open(&file).unwrap();
    for event in reader.by_ref() {
        match event.unwrap() {
            Event::Frame(frame) if frame.phase == Phase::Together => {
                frames += 1;
                let next = &mut next[usize::from(frame.tenant)];
                *next = (*next).max(frame.sequence + 1);
                failed += u64::from(frame.outcome == jetlag::record::Outcome::Failed);
            }
            Event::Phase(phase) => lost += phase.lost_records,
            _ => {}
        }
    }
    assert_eq!(reader.completeness(), Completeness::Whole);
    println!(
        "{duration} s, {frames} frames of {}, {lost} lost records, {failed} failed; at least, in the first half and in the second: \
         memory {:.1} and {:.1} MiB ({:.1} at most), files {} and {}, threads {} and {}",
        next.iter().sum::<u64>(),
        early.kib as f64 / 1024.0,
        late.kib as f64 / 1024.0,
        most as f64 / 1024.0,
        early.files,
        late.files,
        early.threads,
        late.threads
    );
    assert_eq!(
        frames + lost,
        next.iter().sum::<u64>(),
        "each release is in the file, or told of"
    );
    assert_eq!(failed, 0);
    assert!(
        late.files <= early.files + 2 && late.threads <= early.threads,
        "{early:?}, {late:?}"
    );
    // A sensor's file may be opened late; a chunk and the queues' depth come and go.
    assert!(late.kib <= early.kib + 8 * 1024, "{early:?}, {late:?}");
    assert!(lost == 0 || seconds().is_none(), "{lost} lost records");
}
