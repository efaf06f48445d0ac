//! Made-up machines, after the facts of real ones.

use std::fs;

use super::*;

/// A tree of files in a folder of its own.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn orin() -> tempfile::TempDir {
    tree(&[
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\nCPU implementer\t: 0x41\nCPU part\t: 0xd42\n\n\
             processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd42\n",
        ),
        ("/proc/meminfo", "MemTotal:       31189348 kB\nMemFree: 1 kB\n"),
        ("/proc/sys/kernel/osrelease", "5.15.148-tegra\n"),
        (
            "/proc/device-tree/model",
            "NVIDIA Jetson AGX Orin Developer Kit\0",
        ),
        (
            "/proc/device-tree/compatible",
            "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0",
        ),
        (
            "/etc/nv_tegra_release",
            "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64\n# KERNEL_VARIANT: oot\n",
        ),
        (
            "/etc/os-release",
            "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\n",
        ),
        (
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "schedutil\n",
        ),
        (
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "schedutil\n",
        ),
        ("/sys/class/hwmon/hwmon0/name", "pwmfan\n"),
        ("/sys/class/hwmon/hwmon3/name", "ina3221\n"),
        ("/sys/class/hwmon/hwmon4/name", "ina3221\n"),
        ("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "ELF"),
        ("/usr/lib/aarch64-linux-gnu/libnvinfer.so.10", "ELF"),
        ("/usr/lib/aarch64-linux-gnu/libnvinfer.so.10.3.0", "ELF"),
        ("/usr/lib/aarch64-linux-gnu/libnvinfer_plugin.so.10", "ELF"),
        ("/usr/bin/tegrastats", ""),
    ])
}

fn desktop() -> tempfile::TempDir {
    tree(&[
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X\n\nprocessor\t: 1\nmodel name\t: AMD Ryzen 9 7950X\n",
        ),
        ("/proc/meminfo", "MemTotal:       65536000 kB\n"),
        (
            "/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version: 12\n",
        ),
        (
            "/proc/driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ: 1\n",
        ),
        (
            "/proc/driver/nvidia/gpus/0000:02:00.0/information",
            "Model: \t\t NVIDIA GeForce RTX 4090\n",
        ),
        (
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        ),
        (
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave\n",
        ),
        ("/sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        (
            "/etc/ld.so.cache",
            "glibc-ld.so.cache1.1\0\u{1}\0libcuda.so.1\0/lib/x86_64-linux-gnu/libcuda.so.1\0\
             libnvinfer.so.10\0/opt/gone/libnvinfer.so.10\0",
        ),
        ("/lib/x86_64-linux-gnu/libcuda.so.1", "ELF"),
        ("/usr/lib/x86_64-linux-gnu/libcudart.so.12", "ELF"),
        ("/.dockerenv", ""),
    ])
}

fn check<'a>(checks: &'a [Check], subject: &str) -> &'a Check {
    checks
        .iter()
        .find(|c| c.subject == subject)
        .unwrap_or_else(|| panic!("no {subject}"))
}

#[test]
fn a_jetson_is_described_from_its_files() {
    let root = orin();
    let facts = facts(&Roots::at(root.path()));
    let tegrastats = root.path().join("usr/bin/tegrastats").display().to_string();
    let wanted = [
        ("board", "NVIDIA Jetson AGX Orin Developer Kit"),
        ("cores", "2"),
        ("cpu", "Arm Cortex-A78AE"),
        ("cuda", "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1"),
        ("governor", "schedutil"),
        ("kernel", "5.15.148-tegra"),
        ("l4t", "R36.4.4"),
        ("memory", "29.7 GiB"),
        ("module", "p3701-0005"),
        ("os", "Ubuntu 22.04.5 LTS"),
        ("power_sensors", "2 × ina3221"),
        ("tegrastats", &tegrastats),
        ("tensorrt", "/usr/lib/aarch64-linux-gnu/libnvinfer.so.10.3.0"),
    ];
    let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(facts, BTreeMap::from(wanted));
}

#[test]
fn a_desktop_is_described_from_its_files() {
    let root = desktop();
    let facts = facts(&Roots::at(root.path()));
    let wanted = [
        ("container", "docker"),
        ("cores", "2"),
        ("cpu", "AMD Ryzen 9 7950X"),
        ("cuda", "/lib/x86_64-linux-gnu/libcuda.so.1"),
        ("governor", "performance on 1, powersave on 1"),
        ("gpu", "2 × NVIDIA GeForce RTX 4090"),
        ("memory", "62.5 GiB"),
        ("nvidia_driver", "550.54.14"),
        ("power_sensors", "RAPL"),
    ];
    let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        facts,
        BTreeMap::from(wanted),
        "what the loader's cache lists and is gone is not there"
    );
}

#[test]
fn what_is_missing_is_a_gap_where_it_is_needed_and_has_a_fix() {
    let desktop = desktop();
    let checks = examine(&Roots::at(desktop.path()));
    let tensorrt = check(&checks, "TensorRT");
    assert_eq!((tensorrt.status, &tensorrt.found), (Status::Gap, &None));
    assert!(tensorrt.fix.is_some_and(|fix| fix.contains("TensorRT 8.5")));
    assert_eq!(check(&checks, "CUDA driver").status, Status::Good);
    assert_eq!(check(&checks, "GPU").meaning, "driver 550.54.14");
    assert_eq!(check(&checks, "Container").status, Status::Note);

    let orin = orin();
    let checks = examine(&Roots::at(orin.path()));
    assert_eq!(check(&checks, "Jetson").meaning, "L4T R36.4.4, module p3701-0005");
    assert_eq!(check(&checks, "tegrastats").status, Status::Good);
    assert_eq!(check(&checks, "CPU governor").status, Status::Note);
    assert!(check(&checks, "GPU").meaning.contains("the chip's own GPU"));
}

#[test]
fn a_machine_that_tells_nothing_is_examined_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    assert!(facts(&Roots::at(root.path())).is_empty());
    let checks = examine(&Roots::at(root.path()));
    assert!(
        check(&checks, "Backend")
            .meaning
            .contains("the cpu backend will be used")
    );
    assert_eq!(
        check(&checks, "TensorRT").status,
        Status::Note,
        "without a GPU it is not missed"
    );
    for check in &checks {
        assert!(
            check.found.is_some() || check.fix.is_some(),
            "{}: nothing to do about it",
            check.subject
        );
    }
}

#[test]
fn older_and_newer_boards_are_told_apart_by_module() {
    for (compatible, module) in [
        (
            "nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0",
            "p3834-0008",
        ),
        (
            "nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0",
            "p3450-0000",
        ),
    ] {
        let root = tree(&[("/proc/device-tree/compatible", compatible)]);
        assert_eq!(facts(&Roots::at(root.path()))["module"], module);
    }
    let r32 = tree(&[
        ("/sys/bus/i2c/drivers/ina3221x/1-0040/name", "x"),
        ("/sys/bus/i2c/drivers/ina3221x/bind", ""),
    ]);
    assert_eq!(facts(&Roots::at(r32.path()))["power_sensors"], "1 × ina3221x");
}

#[test]
fn this_machine_has_a_processor_and_memory() {
    let facts = facts(&Roots::system());
    assert!(facts["cores"].parse::<usize>().unwrap() >= 1);
    assert!(facts.contains_key("memory") && facts.contains_key("kernel"));
}
