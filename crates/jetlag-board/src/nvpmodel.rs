//! Power modes as the board's own configuration has them: `/etc/nvpmodel.conf`, which NVIDIA's start-up script links to
//! the file of the module and its flash. Where it cannot be read (in a container), the table of jetson/boards.ron serves.

use std::path::Path;

use super::Roots;
use super::identity::{Flash, Identity};
use super::modules::{self, Caps, Module};

/// The file from which nvpmodel reads the power modes.
const FILE: &str = "/etc/nvpmodel.conf";
/// Links that are followed at most.
const LINKS: usize = 8;
/// nvpmodel's own "no cap", as its listing shows it.
const NO_CAP: i64 = i32::MAX as i64;

/// One mode of the board's configuration.
#[derive(Clone, Debug, PartialEq)]
struct Configured {
    id: u32,
    name: String,
    caps: Caps,
    /// Processors that the mode switches off.
    cores_off: u32,
    /// Whether it says anything of the first processor, which is always on.
    names_first_core: bool,
    /// A bit set for each TPC that is switched off.
    tpc_mask: Option<u32>,
}

/// What is known of a power mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The mode's name; `None` where the file has none.
    pub name: Option<String>,
    /// What it caps; none where that is not known.
    pub caps: Option<Caps>,
    /// Whether it is known to cap nothing and to leave every part on.
    pub is_full: bool,
    /// By what that is known.
    pub by: By,
}

/// Where a mode was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// In the board's configuration, this file.
    File(String),
    /// In jetlag's table for this module; flashed in this way, where there is more than one.
    Table(&'static str, Option<Flash>),
    /// The board's configuration, this file, has no such mode.
    NotInFile(String),
    /// It was found nowhere.
    Nothing,
}

/// The mode of this number, of the module and the flash that this board has.
pub fn mode(roots: &Roots, id: u32) -> Mode {
    let module = modules::of_machine(roots);
    let table = Identity::of_machine(roots).and_then(|identity| {
        let module = module?;
        let flash = identity.flash?;
        let row = module
            .configuration(flash)?
            .modes
            .iter()
            .find(|mode| mode.id == id)?;
        Some((module, flash, row))
    });
    if let Some((path, text)) = file(roots) {
        let unknown = Mode {
            name: None,
            caps: None,
            is_full: false,
            by: By::NotInFile(path.clone()),
        };
        let Some(found) = parse(&text).into_iter().find(|mode| mode.id == id) else {
            return unknown;
        };
        let mut caps = found.caps;
        match (found.tpc_mask, module) {
            (Some(mask), Some(module)) => {
                caps.sms = active_sms(mask, module);
                caps.sms_unknown = caps.sms.is_none();
            }
            (Some(mask), None) => caps.sms_unknown = mask != 0,
            // A mode of a chip whose parts are switched off in another way.
            (None, _) => caps.sms_unknown = module.is_some_and(|module| module.soc == "tegra264"),
        }
        // The file may ask for a clock that the chip does not have: what is in force instead is known of some modes,
        // by number and name.
        let same = table.filter(|(.., row)| row.name == found.name);
        if let Some(known) = same.and_then(|(.., row)| row.caps)
            && known.gpu_mhz == caps.gpu_mhz
        {
            caps.gpu_in_force_mhz = known.gpu_in_force_mhz;
        }
        let cores_on = module.and_then(|module| module.cpu_cores).map(|(all, _)| all);
        let all_cores =
            found.cores_off == 0 || caps.cores.is_some_and(|on| cores_on.is_some_and(|all| on >= all));
        return Mode {
            is_full: all_cores && caps.is_nothing_but_parts() && all_sms(&caps, module),
            name: Some(found.name),
            caps: Some(caps),
            by: By::File(path),
        };
    }
    let Some((module, flash, row)) = table else {
        return Mode {
            name: None,
            caps: None,
            is_full: false,
            by: By::Nothing,
        };
    };
    Mode {
        name: Some(row.name.clone()),
        caps: row.caps,
        is_full: row.caps.is_some_and(|caps| {
            caps.cores.is_none() && caps.is_nothing_but_parts() && all_sms(&caps, Some(module))
        }),
        by: By::Table(&module.name, (module.configurations.len() > 1).then_some(flash)),
    }
}

/// A mode that a board has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMode {
    /// nvpmodel's number.
    pub id: u32,
    /// Its name in the board's configuration, or in jetlag's table.
    pub name: String,
}

/// All modes of this board, in the order of its configuration; empty where neither that nor jetlag's table tells them.
pub fn modes(roots: &Roots) -> Vec<NamedMode> {
    if let Some((_, text)) = file(roots) {
        let modes = parse(&text).into_iter();
        return modes
            .map(|Configured { id, name, .. }| NamedMode { id, name })
            .collect();
    }
    let configuration = Identity::of_machine(roots)
        .and_then(|identity| modules::of_machine(roots)?.configuration(identity.flash?));
    let modes = configuration
        .map_or(&[][..], |configuration| &configuration.modes)
        .iter();
    modes
        .map(|mode| NamedMode {
            id: mode.id,
            name: mode.name.clone(),
        })
        .collect()
}

fn all_sms(caps: &Caps, module: Option<&Module>) -> bool {
    let all = module.and_then(|module| module.sms).map(|(all, _)| all);
    !caps.sms_unknown && caps.sms.is_none_or(|on| all == Some(on))
}

/// How this board was flashed: its device tree tells, and where that names no module, the modes of its configuration.
pub fn flash(roots: &Roots) -> Option<Flash> {
    match Identity::of_machine(roots) {
        Some(identity) => identity.flash,
        None => {
            let (_, text) = file(roots)?;
            let named = parse(&text).iter().any(|mode| mode.name == "MAXN_SUPER");
            Some(if named { Flash::Super } else { Flash::Plain })
        }
    }
}

/// The configuration in force: where its link leads, and its text.
fn file(roots: &Roots) -> Option<(String, String)> {
    let mut path = FILE.to_owned();
    // Links are followed by hand: an absolute one counts from the board's root, which need not be ours.
    for _ in 0..LINKS {
        let Ok(target) = std::fs::read_link(roots.file(&path)) else {
            break;
        };
        let folder = Path::new(&path).parent().unwrap_or(Path::new("/"));
        path = folder.join(target).to_string_lossy().into_owned();
    }
    let text = roots.text(&path)?;
    Some((path, text))
}

/// The modes of a configuration. Lines that say something else, or nothing that can be read, are passed over.
fn parse(text: &str) -> Vec<Configured> {
    let mut modes: Vec<Configured> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = line.strip_prefix('<') {
            let words: Vec<&str> = header.trim_end_matches('>').split_whitespace().collect();
            let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
            let id = value("ID=").and_then(|id| id.parse().ok());
            inside = false;
            if let (Some(&"POWER_MODEL"), Some(id), Some(name)) = (words.first(), id, value("NAME=")) {
                inside = true;
                modes.push(Configured {
                    id,
                    name: name.to_owned(),
                    caps: Caps::default(),
                    cores_off: 0,
                    names_first_core: false,
                    tpc_mask: None,
                });
            }
            continue;
        }
        if let Some(mode) = modes.last_mut().filter(|_| inside) {
            setting(mode, line);
        }
    }
    for mode in modes.iter_mut().filter(|mode| !mode.names_first_core) {
        mode.caps.cores = match (mode.caps.cores, mode.cores_off) {
            (None, 0) => None,
            (others, _) => Some(others.unwrap_or(0).saturating_add(1)),
        };
    }
    modes
}

/// One line of a mode: what it is about, the setting, its value.
fn setting(mode: &mut Configured, line: &str) {
    let mut words = line.split_whitespace();
    let (Some(about), Some(key), Some(value)) = (words.next(), words.next(), words.next()) else {
        return;
    };
    let number = match value.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    // A mask that is there and cannot be read leaves unknown what is on.
    let value = match number {
        Ok(value) => value,
        Err(_) if key == "TPC_PG_MASK" => i64::from(u32::MAX),
        Err(_) => return,
    };
    mode.names_first_core |= about == "CPU_ONLINE" && key == "CORE_0";
    let cap = (value > 0 && value != NO_CAP).then_some(value as f64);
    match (about, key) {
        ("CPU_ONLINE", _) if value == 1 => {
            mode.caps.cores = Some(mode.caps.cores.unwrap_or(0).saturating_add(1))
        }
        ("CPU_ONLINE", _) => mode.cores_off = mode.cores_off.saturating_add(1),
        (_, "TPC_PG_MASK") => mode.tpc_mask = Some(u32::try_from(value).unwrap_or(u32::MAX)),
        ("GPU", "MAX_FREQ") => mode.caps.gpu_mhz = cap.map(|hz| hz / 1e6),
        ("EMC", "MAX_FREQ") => mode.caps.emc_mhz = cap.map(|hz| hz / 1e6),
        // Of several clusters, the one that may run fastest; kHz.
        (cpu, "MAX_FREQ") if cpu.starts_with("CPU_") => {
            let mhz = cap.map(|khz| khz / 1e3);
            mode.caps.cpu_mhz = match (mode.caps.cpu_mhz, mhz) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
        }
        _ => {}
    }
}

/// How many SMs a mask of switched-off TPCs leaves; none where the chip's count of TPCs is not known.
fn active_sms(mask: u32, module: &Module) -> Option<u32> {
    let tpcs: u32 = match module.soc.as_str() {
        "tegra194" => 4,
        "tegra234" => 8,
        _ => return None,
    };
    let off = mask.count_ones();
    let on = 2 * tpcs.checked_sub(off)?;
    let (all, _) = module.sms?;
    (mask < 1 << tpcs && on > 0).then(|| on.min(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In NVIDIA's form, made up: what is around the modes, comments, blanks, and lines that mean nothing.
    const TEXT: &str = "\
# a comment
< PARAM TYPE=FILE NAME=CPU_ONLINE >
CORE_0 /sys/devices/system/cpu/cpu0/online

< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 1
TPC_POWER_GATING TPC_PG_MASK 0
CPU_A78_0 MAX_FREQ -1
GPU MAX_FREQ -1
EMC MAX_FREQ 0
<POWER_MODEL NAME=MODE_15W ID=1>
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 0 # off
TPC_POWER_GATING   TPC_PG_MASK   248
CPU_A78_0 MAX_FREQ 1113600
CPU_A78_1 MAX_FREQ 2147483647
GPU MAX_FREQ 408000000
GPU MIN_FREQ 0
EMC MAX_FREQ 2133000000
GPU MAX_FREQ many
< PM_CONFIG DEFAULT=1 >
GPU MAX_FREQ 1
";

    #[test]
    fn modes_are_read_and_what_caps_nothing_caps_nothing() {
        let modes = parse(TEXT);
        assert_eq!(modes.len(), 2);
        let caps = |cores, cpu_mhz, gpu_mhz, emc_mhz| Caps {
            cores: Some(cores),
            cpu_mhz,
            gpu_mhz,
            emc_mhz,
            ..Caps::default()
        };
        assert_eq!((modes[0].id, modes[0].name.as_str()), (0, "MAXN"));
        assert_eq!(modes[0].caps, caps(2, None, None, None));
        assert_eq!((modes[0].cores_off, modes[0].tpc_mask), (0, Some(0)));
        assert_eq!((modes[1].id, modes[1].name.as_str()), (1, "MODE_15W"));
        assert_eq!(modes[1].caps, caps(1, Some(1113.6), Some(408.0), Some(2133.0)));
        assert_eq!((modes[1].cores_off, modes[1].tpc_mask), (1, Some(248)));
        let without_first = parse("< POWER_MODEL ID=1 NAME=MAXQ >\nCPU_ONLINE CORE_1 0\nCPU_ONLINE CORE_3 1");
        assert_eq!(
            (without_first[0].caps.cores, without_first[0].cores_off),
            (Some(2), 1)
        );
        for cut in 0..TEXT.len() {
            let _ = parse(&TEXT[..cut]);
        }
        assert!(parse("< POWER_MODEL ID=x NAME=Y >\nGPU MAX_FREQ 1\n<").is_empty());
    }

    #[test]
    fn a_mask_of_tpcs_says_how_many_sms_are_on() {
        for (part, mask, sms) in [
            ("p3701-0005", 0, Some(16)),
            ("p3701-0005", 248, Some(6)),
            ("p3701-0004", 128, Some(14)),
            ("p3767-0000", 252, Some(4)),
            ("p3668-0001", 1, Some(6)),
            ("p2888-0004", 5, Some(4)),
            ("p2888-0006", 0, Some(6)),
            ("p3701-0005", 255, None),
            ("p3701-0005", 1 << 9, None),
            ("p3834-0008", 64, None),
        ] {
            let module = modules::find(part).unwrap();
            assert_eq!(active_sms(mask, module), sms, "{part} {mask}");
        }
    }
}
