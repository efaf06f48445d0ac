//! The table of power modes (jetson/boards.ron) against what `nvpmodel -p --verbose` printed on real boards (reference data), and
//! against corrections that no listing there has.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use jetlag_board::identity::Flash;
use jetlag_board::modules::{self, Caps, Module, PowerMode};
use jetlag_board::{Roots, nvpmodel};
use nvidia_doubles::machine;

/// A listing in the form of the file that nvpmodel reads, with the number of the mode that the board starts in.
fn configuration(listing: &str) -> (String, u32) {
    let (mut text, mut default) = (String::new(), None);
    for line in listing
        .lines()
        .filter_map(|line| line.strip_prefix("NVPM VERB: "))
    {
        match line.split_once(": ") {
            Some(("POWER_MODEL", mode)) => text += &format!("< POWER_MODEL {mode} >\n"),
            Some(("PM_CONFIG", config)) => {
                let id = config.rsplit_once('(').unwrap().1.trim_end_matches(')');
                default = id.parse().ok();
            }
            _ if line.starts_with("PARAM") => text += &format!("< {line} >\n"),
            _ => text += &format!("{line}\n"),
        }
    }
    (text, default.expect("a default"))
}

/// Caps without those that leave all of a part on.
fn plain(caps: Caps, module: &Module) -> Caps {
    let unless_all = |part: Option<u32>, all: Option<modules::Sourced<u32>>| {
        part.filter(|part| all.is_none_or(|(all, _)| *part != all))
    };
    Caps {
        cores: unless_all(caps.cores, module.cpu_cores),
        sms: unless_all(caps.sms, module.sms),
        gpu_in_force_mhz: None,
        ..caps
    }
}

/// What the board's file caps in each mode is what the table has for it.
fn compare(part: &str, compatible: &str, kib: u64, sample: &str, same_gpu_caps: bool) {
    let Some(listing) = machine::shared(&format!("jetson/samples/{sample}.txt")) else {
        return;
    };
    let (text, default) = configuration(&fs::read_to_string(listing).unwrap());
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/device-tree/compatible", compatible);
    write("proc/meminfo", &format!("MemTotal:       {kib} kB\n"));
    write("etc/nvpmodel.conf", &text);
    let roots = Roots::at(root.path());
    let module = modules::of_machine(&roots).unwrap();
    assert_eq!(module.name, modules::find(part).unwrap().name, "{sample}");
    let known = &module.configuration(Flash::Plain).unwrap().modes;
    let numbered = |id: u32| known.iter().find(|mode| mode.id == id);
    assert!(numbered(default).is_some(), "{sample}: no mode {default}");
    let mut compared = 0;
    for id in 0..32 {
        let Some(name) = nvpmodel::mode(&roots, id).name else {
            continue;
        };
        let own = numbered(id).unwrap_or_else(|| panic!("{sample}: the table has no {id} {name}"));
        assert_eq!(own.name, name, "{sample}: {id}");
        let caps = |caps: Caps| {
            let gpu_mhz = caps.gpu_mhz.filter(|_| same_gpu_caps);
            Caps {
                gpu_mhz,
                ..plain(caps, module)
            }
        };
        let listed = caps(nvpmodel::mode(&roots, id).caps.unwrap());
        assert_eq!(caps(own.caps.unwrap()), listed, "{sample}: {id} {name}");
        compared += 1;
    }
    // A release may have fewer than the table.
    assert!(compared > 1, "{sample}: {compared}");
}

#[test]
fn modes_are_those_that_boards_listed() {
    let nano = "nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0";
    compare("p3448-0000", nano, 4_059_000, "nvpmodel-p-verbose-nano-r32", true);
    let xavier = "nvidia,p2972-0000\0nvidia,tegra194\0";
    compare(
        "p2888-0004",
        xavier,
        32_692_000,
        "nvpmodel-p-verbose-xavier",
        true,
    );
    // Of a release before R35.3.1, which changed the caps of the GPU, and no other.
    let orin = "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0";
    compare("p3701-0005", orin, 64_350_000, "nvpmodel-p-verbose-orin", false);
}

fn modes(part: &str, flash: Flash) -> &'static [PowerMode] {
    &modules::find(part).unwrap().configuration(flash).unwrap().modes
}

/// Number, name and cap of the GPU in MHz, from NVIDIA's own files: what an earlier table had wrong.
#[test]
fn modes_that_were_wrong_once_stay_right() {
    for (part, flash, default, wanted) in [
        // From L4T R35.3.1 on; before, 420.75, 624.75 and 828.75 MHz.
        (
            "p3701-0005",
            Flash::Plain,
            2,
            [
                (1, "MODE_15W", 408.0),
                (2, "MODE_30W", 612.0),
                (3, "MODE_50W", 816.0),
            ]
            .as_slice(),
        ),
        (
            "p3701-0004",
            Flash::Plain,
            2,
            &[
                (1, "MODE_15W", 408.0),
                (2, "MODE_30W", 612.0),
                (3, "MODE_40W", 816.0),
            ],
        ),
        (
            "p3767-0000",
            Flash::Super,
            4,
            &[
                (1, "10W", 612.0),
                (2, "15W", 612.0),
                (3, "25W", 408.0),
                (4, "40W", 1173.0),
            ],
        ),
        (
            "p3767-0001",
            Flash::Super,
            4,
            &[
                (1, "10W", 612.0),
                (2, "15W", 612.0),
                (3, "20W", 408.0),
                (4, "40W", 1173.0),
            ],
        ),
    ] {
        let modes = modes(part, flash);
        let starts_in: Vec<u32> = modes
            .iter()
            .filter(|mode| mode.default)
            .map(|mode| mode.id)
            .collect();
        assert_eq!(starts_in, [default], "{part}");
        for (id, name, mhz) in wanted {
            let mode = modes.iter().find(|mode| mode.id == *id).unwrap();
            assert_eq!(mode.name, *name, "{part}");
            assert_eq!(mode.caps.unwrap().gpu_mhz, Some(*mhz), "{part} {name}");
        }
    }
    // Kits and variants that were missing.
    for part in [
        "p2180-1000",
        "p3489-0000",
        "p3489-0888",
        "p3668-0001",
        "p3668-0003",
        "p2888-0005",
        "p2888-0006",
        "p2888-0008",
        "p3701-0008",
        "p3834-0000",
    ] {
        assert!(modules::find(part).is_some(), "{part}");
    }
    assert_eq!(modules::find("p2888-0006").unwrap().cuda_cores.unwrap().0, 384);
}
