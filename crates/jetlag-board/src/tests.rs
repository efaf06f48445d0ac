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
    let checks = examine(&Roots::at(desktop.path()), true);
    let tensorrt = check(&checks, "TensorRT");
    assert_eq!((tensorrt.status, &tensorrt.found), (Status::Gap, &None));
    assert!(tensorrt.fix.is_some_and(|fix| fix.contains("TensorRT 8.5")));
    assert_eq!(check(&checks, "CUDA driver").status, Status::Good);
    assert_eq!(check(&checks, "GPU").meaning, "driver 550.54.14");
    assert_eq!(check(&checks, "Container").status, Status::Note);

    let orin = orin();
    let checks = examine(&Roots::at(orin.path()), true);
    assert_eq!(
        check(&checks, "Jetson").meaning,
        "L4T R36.4.4, Jetson AGX Orin 64GB (p3701-0005)"
    );
    assert_eq!(check(&checks, "tegrastats").status, Status::Good);
    assert_eq!(check(&checks, "CPU governor").status, Status::Note);
    assert!(check(&checks, "GPU").meaning.contains("integrated GPU"));
}

#[test]
fn a_machine_that_tells_nothing_is_examined_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    assert!(facts(&Roots::at(root.path())).is_empty());
    let checks = examine(&Roots::at(root.path()), true);
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
fn a_tensorrt_that_is_too_old_is_said_to_be_and_the_backend_is_then_the_processor() {
    let library = "/usr/lib/aarch64-linux-gnu/libnvinfer.so.";
    let of = |release: &str, with_gpu: bool| {
        let path = format!("{library}{release}");
        let l4t = "# R32 (release), REVISION: 7.4, GCID: 1, BOARD: t210ref";
        let root = tree(&[
            (&path, "\x7fELF"),
            ("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "\x7fELF"),
            ("/etc/nv_tegra_release", l4t),
        ]);
        examine(&Roots::at(root.path()), with_gpu)
    };
    for (release, too_old) in [
        ("7.1.3", true),
        ("8.2.1", true),
        ("8.4.1", true),
        ("8.5.2", false),
        ("10.3.0", false),
        // The name does not say: only loading it tells.
        ("8", false),
    ] {
        let checks = of(release, true);
        let tensorrt = check(&checks, "TensorRT");
        assert_eq!(tensorrt.status == Status::Gap, too_old, "{release}");
        let backend = check(&checks, "Backend").found.as_deref();
        if too_old {
            assert!(
                tensorrt.meaning.contains(release)
                    && tensorrt.fix.is_some_and(|fix| fix.contains("JetPack 5.1"))
            );
            assert_eq!(backend, Some("cpu"), "{release}");
        } else {
            assert_eq!(backend, Some("tensorrt"), "{release}");
            let without = of(release, false);
            let backend = check(&without, "Backend");
            assert_eq!(backend.found.as_deref(), Some("cpu"), "{release}");
            assert!(backend.meaning.contains("without the feature gpu"), "{release}");
        }
    }
    // As the loader's cache lists it: by the name of the link.
    let root = tree(&[
        (&format!("{library}8.4.1"), "\x7fELF"),
        ("/etc/nv_tegra_release", "# R35 (release), REVISION: 1.0"),
    ]);
    let folder = root.path().join("usr/lib/aarch64-linux-gnu");
    std::os::unix::fs::symlink("libnvinfer.so.8.4.1", folder.join("libnvinfer.so.8")).unwrap();
    fs::write(root.path().join("etc/ld.so.cache"), format!("\0{library}8\0")).unwrap();
    assert_eq!(
        check(&examine(&Roots::at(root.path()), true), "TensorRT").status,
        Status::Gap
    );
}

#[test]
fn a_module_that_is_not_known_is_said_to_be_unknown_and_a_flash_is_told_by_the_device_tree() {
    let meaning = |compatible: &str| {
        let root = tree(&[
            ("/proc/device-tree/compatible", compatible),
            ("/proc/device-tree/model", "NVIDIA Jetson\0"),
            ("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.4"),
        ]);
        check(&examine(&Roots::at(root.path()), true), "Jetson")
            .meaning
            .clone()
    };
    for (compatible, words) in [
        (
            "nvidia,p3768-0000+p3767-0000-super\0nvidia,p3767-0000\0nvidia,tegra234",
            "L4T R36.4.4, Jetson Orin NX 16GB (p3767-0000-super), flashed as Super",
        ),
        (
            "nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0nvidia,tegra234",
            "L4T R36.4.4, Jetson Orin NX 16GB (p3767-0000), flashed without Super",
        ),
        (
            "nvidia,p3971-0080+p3834-0000\0nvidia,tegra264",
            "L4T R36.4.4, Jetson T4000 (p3834-0000)",
        ),
        (
            "nvidia,p3971-0050+p3834-0005\0nvidia,tegra264",
            "L4T R36.4.4, module p3834-0005, unknown to this version: its peaks and modes are unknown",
        ),
        (
            "nvidia,jetson-xavier-industrial\0nvidia,tegra194",
            "L4T R36.4.4, Jetson AGX Xavier Industrial (jetson-xavier-industrial)",
        ),
        (
            "nvidia,p3740-0002+p3701-0008-safety\0nvidia,tegra234",
            "L4T R36.4.4, IGX Orin (p3701-0008-safety), with an unknown flash",
        ),
        (
            "nvidia,tegra234",
            "L4T R36.4.4, module not named in its device tree, unknown to this version: its peaks and modes are unknown",
        ),
    ] {
        assert_eq!(meaning(compatible), words, "{compatible}");
    }
}

#[test]
fn a_mode_is_known_by_number_and_name_of_the_flash_in_force() {
    use super::identity::Flash;
    use super::nvpmodel::{By, mode};
    let file = "/etc/nvpmodel/nvpmodel_p3767_0000_super.conf";
    let conf = "< POWER_MODEL ID=0 NAME=MAXN_SUPER >\nCPU_ONLINE CORE_0 1\nTPC_POWER_GATING TPC_PG_MASK 240\nGPU MAX_FREQ -1\n\
                < POWER_MODEL ID=3 NAME=25W >\nTPC_POWER_GATING TPC_PG_MASK 240\nGPU MAX_FREQ 400000000\n";
    let super_tree = (
        "/proc/device-tree/compatible",
        "nvidia,p3768-0000+p3767-0000-super\0nvidia,tegra234",
    );
    let plain_tree = (
        "/proc/device-tree/compatible",
        "nvidia,p3768-0000+p3767-0000\0nvidia,tegra234",
    );

    // The table, where the file cannot be read: by flash, not by release.
    let root = tree(&[
        super_tree,
        ("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.4"),
    ]);
    let found = mode(&Roots::at(root.path()), 4);
    assert_eq!(found.name.as_deref(), Some("40W"));
    assert_eq!(found.by, By::Table("Jetson Orin NX 16GB", Some(Flash::Super)));
    assert!(mode(&Roots::at(root.path()), 0).is_full);
    let root = tree(&[
        plain_tree,
        ("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.4"),
    ]);
    assert_eq!(
        mode(&Roots::at(root.path()), 4).by,
        By::Nothing,
        "the plain set has no mode 4"
    );
    assert_eq!(mode(&Roots::at(root.path()), 0).name.as_deref(), Some("MAXN"));

    // The board's own file counts before the table, also where its link is absolute and the root is not ours.
    let root = tree(&[super_tree, (file, conf)]);
    std::os::unix::fs::symlink(file, root.path().join("etc/nvpmodel.conf")).unwrap();
    let roots = Roots::at(root.path());
    let found = mode(&roots, 3);
    assert_eq!(found.by, By::File(file.to_owned()));
    let caps = found.caps.unwrap();
    assert_eq!(
        (caps.gpu_mhz, caps.sms, found.is_full),
        (Some(400.0), Some(8), false)
    );
    assert!(mode(&roots, 0).is_full);
    assert_eq!(mode(&roots, 4).by, By::NotInFile(file.to_owned()));

    // A link to itself ends.
    let root = tree(&[super_tree, (file, conf)]);
    std::os::unix::fs::symlink("nvpmodel.conf", root.path().join("etc/nvpmodel.conf")).unwrap();
    assert!(matches!(mode(&Roots::at(root.path()), 3).by, By::Table(..)));
}

/// The clock that is in force in place of one that the chip does not have is known of NVIDIA's own mode, and of no other one that has
/// its number.
#[test]
fn a_mode_of_a_known_number_and_another_name_is_not_taken_for_the_known_one() {
    use super::nvpmodel::mode;
    let in_force = |name: &str| {
        let conf = format!("< POWER_MODEL ID=1 NAME={name} >\nCPU_ONLINE CORE_0 1\nGPU MAX_FREQ 640000000\n");
        let root = tree(&[
            (
                "/proc/device-tree/compatible",
                "nvidia,p3448-0002\0nvidia,tegra210",
            ),
            ("/etc/nvpmodel.conf", &conf),
        ]);
        let found = mode(&Roots::at(root.path()), 1);
        assert_eq!(found.name.as_deref(), Some(name));
        found.caps.unwrap().gpu_in_force_mhz
    };
    assert_eq!(in_force("5W"), Some(614.4));
    assert_eq!(in_force("MINE"), None);
}

#[test]
fn this_machine_has_a_processor_and_memory() {
    let facts = facts(&Roots::system());
    assert!(facts["cores"].parse::<usize>().unwrap() >= 1);
    assert!(facts.contains_key("memory") && facts.contains_key("kernel"));
}
