//! GPUs: cards and Thor's through a stand-in for NVML, and drivers that have to be woken.

use std::fs;

use nvidia_doubles::nvml;

use super::{STATE, clocks, command, files, read};
use crate::common::boards;
use crate::common::output::stderr;
use crate::common::under_way;

#[test]
fn a_card_is_held_through_nvml_and_released() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let Some(nvml) = nvml::library(&folder, "clock_max 1980\npersistence 0\n") else {
        return;
    };
    let run = |verb: &str| {
        command(root.path(), &["clocks", verb])
            .env("JETLAG_NVML", &nvml)
            .output()
            .unwrap()
    };
    let before = files(root.path());
    assert!(run("max").status.success());
    assert!(run("restore").status.success());
    let set = fs::read_to_string(folder.join("state.set")).unwrap();
    assert_eq!(
        set,
        "persistence 0 1 0\nlock 0 1980 1980\nunlock 0 0 0\npersistence 0 0 0\n"
    );
    assert_eq!(files(root.path()), before);
    // Without rights: said, and the processors are as they were.
    fs::write(folder.join("state"), "clock_max 1980\nroot 0\n").unwrap();
    let refused = run("max");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("needs root"), "{}", stderr(&refused));
    assert_eq!(files(root.path()), before);
    // A file left behind would say that a person holds them, and runs would believe it.
    assert!(!root.path().join(STATE).exists());
}

/// JetPack 5 without a screen: the GPU's clock is not there before the driver was woken.
#[test]
fn a_gpu_that_was_never_used_is_woken_for_its_clock_and_let_sleep_afterwards() {
    const CONTROL: &str = "sys/devices/gpu.0/power/control";
    const DEVFREQ: &str = "sys/class/devfreq/17000000.gv11b";
    let root = boards::board("xavier-nx-r35");
    let clock = root.path().join(DEVFREQ);
    let aside = root.path().join("clock");
    fs::rename(&clock, &aside).unwrap();
    let control = root.path().join(CONTROL);
    fs::create_dir_all(control.parent().unwrap()).unwrap();
    fs::write(&control, "auto").unwrap();
    let run = |verb: &str| clocks(root.path(), &[verb]);
    // The driver: once the GPU is on it has a clock, and goes on having it.
    let held = std::thread::scope(|scope| {
        scope.spawn(|| {
            under_way::wait_until("the GPU is switched on", || {
                fs::read_to_string(&control).is_ok_and(|text| text == "on")
            });
            fs::rename(&aside, &clock).unwrap();
        });
        run("max")
    });
    assert!(held.status.success(), "{}", stderr(&held));
    assert_eq!(read(root.path(), &format!("{DEVFREQ}/min_freq")), "1109250000");
    let restored = run("restore");
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert_eq!(read(root.path(), &format!("{DEVFREQ}/min_freq")), "114750000");
    assert_eq!(read(root.path(), CONTROL), "auto");
}

#[test]
fn a_gpu_that_was_woken_is_let_sleep_also_where_the_program_was_killed_meanwhile() {
    const CONTROL: &str = "sys/devices/gpu.0/power/control";
    let root = boards::board("xavier-nx-r35");
    fs::remove_dir_all(root.path().join("sys/class/devfreq")).unwrap();
    let control = root.path().join(CONTROL);
    fs::create_dir_all(control.parent().unwrap()).unwrap();
    fs::write(&control, "auto").unwrap();
    let before = files(root.path());
    // Its clock never comes, and the program waits for it.
    let mut waiting = command(root.path(), &["clocks", "max"]).spawn().unwrap();
    under_way::wait_until("the GPU is switched on", || {
        fs::read_to_string(&control).is_ok_and(|text| text == "on")
    });
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(files(root.path()), before);
}

/// Thor's GPU is a PCI device that sleeps by itself, and its NVML sets a part of what is asked.
#[test]
fn what_thors_nvml_refuses_is_said_and_everything_else_is_held_and_given_back() {
    const CONTROL: &str = "sys/bus/pci/devices/0000:01:00.0/power/control";
    const MIN: &str = "sys/class/devfreq/gpu-gpc-0/min_freq";
    for (answers, said, set) in [
        (
            "clock_max 1575\npersistence 0\nrefuses_lock 3\n",
            "the clock lock of GPU 0 by NVML: this card's clock cannot be locked",
            "persistence 0 1 0\npersistence 0 0 0\n",
        ),
        (
            "clock_max 1575\npersistence 0\nrefuses_persistence 999\n",
            "persistence mode of GPU 0 by NVML",
            "lock 0 1575 1575\nunlock 0 0 0\n",
        ),
        // No clocks at all, as its first releases.
        ("persistence 0\n", "", "persistence 0 1 0\npersistence 0 0 0\n"),
        ("root 0\nclock_max 1575\n", "the clock lock of GPU 0 by NVML", ""),
    ] {
        let root = boards::board("thor-r38");
        let folder = root.path().join("nvml");
        let Some(nvml) = nvml::library(&folder, answers) else {
            return;
        };
        let run = |verb: &str| {
            let mut command = command(root.path(), &["clocks", verb]);
            command.env("JETLAG_NVML", &nvml).output().unwrap()
        };
        let before = files(root.path());
        let held = run("max");
        assert!(held.status.success(), "{}", stderr(&held));
        assert!(stderr(&held).contains(said), "{}", stderr(&held));
        assert_eq!(
            stderr(&held).contains("could not be set"),
            !said.is_empty(),
            "{}",
            stderr(&held)
        );
        assert_eq!(read(root.path(), MIN), "1575000000");
        assert_eq!(read(root.path(), CONTROL), "on");
        let bridge = "sys/bus/pci/devices/0000:00:00.0/power/control";
        assert_eq!(read(root.path(), bridge), "auto", "no GPU");
        let restored = run("restore");
        assert!(restored.status.success(), "{}", stderr(&restored));
        assert_eq!(files(root.path()), before);
        assert_eq!(
            fs::read_to_string(folder.join("state.set")).unwrap_or_default(),
            set
        );
        assert!(!root.path().join(STATE).exists());
    }
}

/// A run that was killed before it knew what NVML refuses left word that all of it is to be undone.
#[test]
fn what_nvml_never_did_is_no_reason_to_leave_the_clocks_held() {
    let root = boards::board("thor-r38");
    let folder = root.path().join("nvml");
    let refuses = "refuses_unlock 3\nrefuses_persistence 3\n";
    let Some(nvml) = nvml::library(&folder, refuses) else {
        return;
    };
    fs::create_dir_all(root.path().join("run/jetlag")).unwrap();
    fs::write(
        root.path().join(STATE),
        r#"{ "schema": 1, "owner": null, "mode": null, "changes": [], "cards": [{ "index": 0, "mhz": 1575, "persistence": false }] }"#,
    )
    .unwrap();
    let mut command = command(root.path(), &["clocks", "restore"]);
    let restored = command.env("JETLAG_NVML", &nvml).output().unwrap();
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(!root.path().join(STATE).exists());
}
