//! A board's power sensors: the time that they need to forget what ran before, and what must not be read of them.

use std::fs;

use jetlag::record::{Event, IDLE_WINDOW, Phase, RunReader};
use jetlag::units::Nanos;

use super::run;
use crate::common::boards;
use crate::common::output::stderr;

/// 512 samples behind each value of the board's rails: idle power is taken when they have forgotten what ran before.
#[test]
fn the_idle_baseline_begins_when_the_rails_filter_has_settled() {
    let root = boards::board("orin-nano-r36");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"idle\", duration: \"600s\", warmup: \"0s\", baseline: (idle: \"100ms\"), \
         tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20), frames: 4)])",
    )
    .unwrap();
    let ran = run(root.path(), &["run", "s.ron", "--quiet", "--out", "r.mcap"]);
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", stderr(&ran));
    let (mut busy_to, mut idle_from) = (None, None);
    for event in RunReader::open(&root.path().join("r.mcap")).unwrap() {
        match event.unwrap() {
            Event::Frame(frame) if frame.phase == Phase::Overhead => {
                busy_to = busy_to.max(Some(frame.finished));
            }
            Event::Window(window) if window.name == IDLE_WINDOW => idle_from = Some(window.from),
            _ => {}
        }
    }
    let pause = idle_from.unwrap() - busy_to.unwrap();
    // However late it is on a busy machine, it is not early: 500 ms, and five time constants of 512 × 1.224 ms.
    assert!(pause >= Nanos::from_millis(500 + 5 * 626), "{pause}");
}

/// Alarms are flags of one register, which reading clears, also for the board's own daemons.
#[test]
fn no_alarm_of_a_power_sensor_is_ever_read() {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    let root = boards::board("orin-nano-r36");
    let opened = inotify::init(CreateFlags::NONBLOCK).unwrap();
    let rails = root.path().join("sys/class/hwmon/hwmon1");
    inotify::add_watch(&opened, &rails, WatchFlags::OPEN).unwrap();
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"alarms\", duration: \"300ms\", warmup: \"0s\", telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20))])",
    )
    .unwrap();
    let everything: [&[&str]; 5] = [
        &["doctor"],
        &["doctor", "--selftest", "--only", "sensors", "--out", "report.txt"],
        &[
            "monitor",
            "--duration",
            "300ms",
            "--interval",
            "50ms",
            "--record",
            "m.mcap",
        ],
        &["run", "s.ron", "--quiet", "--out", "r.mcap"],
        &["clocks", "show"],
    ];
    for arguments in everything {
        let output = run(root.path(), arguments);
        assert!(
            matches!(output.status.code(), Some(0 | 1 | 3)),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(opened, &mut buffer);
    let mut names = std::collections::BTreeSet::new();
    while let Ok(event) = events.next() {
        assert!(!event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW));
        names.extend(event.file_name().map(|name| name.to_str().unwrap().to_owned()));
    }
    assert!(
        names.contains("in1_input") && names.contains("curr1_crit"),
        "{names:?}"
    );
    let alarms: Vec<_> = names.iter().filter(|name| name.ends_with("_alarm")).collect();
    assert!(alarms.is_empty(), "{alarms:?}");
}
