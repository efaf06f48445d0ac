//! The power mode of a Jetson, from the file in which nvpmodel keeps it: anyone may read it, and no program
//! has to be started.

use super::{Sampler, SamplerError};
use crate::board::modules::{self, Caps, Module};
use crate::board::nvpmodel::{self, By};
use crate::board::{Check, Roots, Status};
use crate::record::{Averaging, Event, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Where nvpmodel keeps the mode: `pmode:0002 fmode:fan_mode_quiet`.
pub(crate) const STATUS: &str = "/var/lib/nvpmodel/status";
/// Modes change by hand.
const SHORTEST: Nanos = Nanos::from_millis(1000);

/// Samples the mode's number.
pub(super) struct PowerMode {
    roots: Roots,
    period: Nanos,
    described: bool,
}

/// The sampler; none where nvpmodel keeps no mode.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<PowerMode> {
    current(roots)?;
    Some(PowerMode {
        roots: roots.clone(),
        period: interval.max(SHORTEST),
        described: false,
    })
}

/// The number of the mode in force.
pub(crate) fn current(roots: &Roots) -> Option<u32> {
    number(&roots.text(STATUS)?)
}

fn number(text: &str) -> Option<u32> {
    let word = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("pmode:"))?;
    word.parse().ok()
}

/// The mode for `jetlag doctor`: its name, what it caps, and by what that is known.
pub(super) fn examine(roots: &Roots) -> Check {
    let mut check = Check {
        subject: "Power mode",
        status: Status::Note,
        found: None,
        from: STATUS.to_owned(),
        meaning: "not found".to_owned(),
        fix: None,
    };
    let Some(id) = current(roots) else {
        check.fix =
            Some("See: sudo nvpmodel -q. A container sees the mode where /var/lib/nvpmodel is mounted.");
        return check;
    };
    let mode = nvpmodel::mode(roots, id);
    check.found = Some(match &mode.name {
        Some(name) => format!("{name} (id {id})"),
        None => format!("id {id}"),
    });
    check.fix = Some(
        "Results are valid only for this mode: state it with them. List all modes with: sudo nvpmodel -p --verbose",
    );
    let by = match &mode.by {
        By::File(path) => format!("from {path}"),
        By::Table(module, flash) => format!(
            "from jetlag's table for {module}{}; /etc/nvpmodel.conf cannot be read",
            flash.map_or(String::new(), |flash| format!(", {}", flash.words()))
        ),
        By::NotInFile(path) => {
            check.meaning = format!(
                "{path} has no mode of this number: it is for another module, or for another flash of this one"
            );
            check.fix = Some("Reboot the board, which links the right file; then see: sudo nvpmodel -q.");
            return check;
        }
        By::Nothing => {
            check.meaning =
                "its name and caps are not known: /etc/nvpmodel.conf cannot be read, and jetlag's table does not \
                 have this mode. Results are valid only for this mode"
                    .to_owned();
            check.fix =
                Some("See: sudo nvpmodel -q. In a container, mount /etc/nvpmodel and /etc/nvpmodel.conf.");
            return check;
        }
    };
    let caps = mode
        .caps
        .as_ref()
        .map(|caps| shown(caps, modules::of_machine(roots)));
    check.meaning = match caps.filter(|caps| !caps.is_empty()) {
        _ if mode.is_full => {
            check.status = Status::Good;
            check.fix = None;
            format!("it caps nothing, but heat, power limits and the flash still do ({by})")
        }
        Some(caps) => format!("a preset of clocks and cores: {caps} ({by})"),
        None => format!("a preset of clocks and cores; its caps are not known ({by})"),
    };
    check
}

/// What a mode caps, as a list.
fn shown(caps: &Caps, module: Option<&Module>) -> String {
    let of = |all: Option<modules::Sourced<u32>>| all.map_or(String::new(), |(all, _)| format!(" of {all}"));
    let mut list = Vec::new();
    match (caps.gpu_in_force_mhz, caps.gpu_mhz) {
        (Some(in_force), Some(asked)) => list.push(format!("GPU up to {in_force} MHz (asked: {asked})")),
        (_, Some(mhz)) => list.push(format!("GPU up to {mhz} MHz")),
        _ => {}
    }
    match (caps.sms, caps.sms_unknown) {
        (Some(sms), _) => list.push(format!("{sms}{} SMs", of(module.and_then(|m| m.sms)))),
        (None, true) => list.push("the number of active SMs is not known".to_owned()),
        (None, false) => {}
    }
    let clock = caps
        .cpu_mhz
        .map_or(String::new(), |mhz| format!(" up to {mhz} MHz"));
    match caps.cores {
        Some(cores) => list.push(format!(
            "{cores}{} cores{clock}",
            of(module.and_then(|m| m.cpu_cores))
        )),
        None if !clock.is_empty() => list.push(format!("cores{clock}")),
        None => {}
    }
    if let Some(mhz) = caps.emc_mhz {
        list.push(format!("memory up to {mhz} MHz"));
    }
    list.join(", ")
}

impl Sampler for PowerMode {
    fn name(&self) -> &str {
        "power mode"
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        out.push(SampleRecord {
            at,
            source: "nvpmodel".to_owned(),
            signal: "power_mode".to_owned(),
            value: current(&self.roots).map(f64::from),
            unit: "id".to_owned(),
        });
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.described, true) {
            out.push(Event::Signal(SignalRecord {
                source: "nvpmodel".to_owned(),
                signal: "power_mode".to_owned(),
                unit: "id".to_owned(),
                measurand: Measurand::new(Quantity::PowerMode, Part::Board),
                origin: STATUS.to_owned(),
                period: Some(self.period),
                averaging: Averaging::Instant,
                ..SignalRecord::default()
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn what_a_mode_caps_is_told_by_the_board_s_file_or_said_to_be_unknown() {
        let conf = "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\nGPU MAX_FREQ -1\n\
                    < POWER_MODEL ID=1 NAME=5W >\nCPU_ONLINE CORE_0 1\nCPU_ONLINE CORE_1 0\nCPU_A57 MAX_FREQ 918000\n\
                    GPU MAX_FREQ 640000000\nEMC MAX_FREQ 1600000000\n";
        let said = |mode: &str, compatible: &str, conf: Option<&str>| {
            let mut files = vec![(STATUS, mode), ("/proc/device-tree/compatible", compatible)];
            files.extend(conf.map(|text| ("/etc/nvpmodel.conf", text)));
            let root = tree(&files);
            let check = examine(&Roots::at(root.path()));
            (check.status, check.found.unwrap_or_default(), check.meaning)
        };
        let nano = "nvidia,p3448-0002\0nvidia,tegra210";
        // A cap that the chip does not have: what is in force instead is known of this mode.
        let (status, found, meaning) = said("pmode:0001", nano, Some(conf));
        assert_eq!((status, found.as_str()), (Status::Note, "5W (id 1)"));
        assert_eq!(
            meaning,
            "a preset of clocks and cores: GPU up to 614.4 MHz (asked: 640), 1 of 4 cores up to 918 MHz, memory up \
             to 1600 MHz (from /etc/nvpmodel.conf)"
        );
        let (status, _, meaning) = said("pmode:0000", nano, Some(conf));
        assert_eq!(status, Status::Good);
        assert!(
            meaning.starts_with("it caps nothing") && meaning.contains("from /etc/nvpmodel.conf"),
            "{meaning}"
        );
        // Without the file, the table.
        let (.., meaning) = said("pmode:0001", nano, None);
        assert!(
            meaning.contains("2 of 4 cores up to 918 MHz")
                && meaning.contains("jetlag's table for Jetson Nano 4GB;")
        );
        // A number that the file does not have, and a board that nothing is known of.
        let (.., found, meaning) = said("pmode:0007", nano, Some(conf));
        assert!(
            found == "id 7" && meaning.contains("no mode of this number"),
            "{meaning}"
        );
        let unknown = "nvidia,p9999-0000\0nvidia,tegra999";
        let (.., found, meaning) = said("pmode:0001", unknown, None);
        assert!(found == "id 1" && meaning.contains("are not known"), "{meaning}");
        let (.., found, meaning) = said("pmode:0001", unknown, Some(conf));
        assert!(
            found == "5W (id 1)" && meaning.contains("GPU up to 640 MHz, 1 cores up to 918 MHz"),
            "{meaning}"
        );
    }

    #[test]
    fn the_mode_is_read_and_a_cut_file_has_none() {
        let root = tree(&[(STATUS, "pmode:0002 fmode:fan_mode_quiet\n")]);
        let roots = Roots::at(root.path());
        let mut mode = find(&roots, Nanos::from_millis(10)).unwrap();
        assert_eq!(readings(&mut mode)["power_mode"], Some(2.0));
        std::fs::write(root.path().join("var/lib/nvpmodel/status"), "pmo").unwrap();
        assert_eq!(readings(&mut mode)["power_mode"], None);
        assert!(find(&roots, Nanos::from_millis(10)).is_none());
    }
}
