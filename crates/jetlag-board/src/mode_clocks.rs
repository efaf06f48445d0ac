//! The highest clocks of a power mode: what it caps, and for the rest what the module has.

use jetlag_record::ModeClocks;

use super::Roots;
use super::identity::Identity;
use super::modules::{self, Caps, Configuration, Module};
use super::nvpmodel;

/// The clocks of a mode with these caps, of a module that is flashed in this way.
///
/// # Errors
/// What is neither capped nor known of the module, in words.
pub fn clocks(
    caps: &Caps,
    module: Option<&Module>,
    configuration: Option<&Configuration>,
) -> Result<ModeClocks, &'static str> {
    let of = |cap: Option<f64>, all: fn(&Configuration) -> Option<modules::Sourced<f64>>, what| {
        let known = || configuration.and_then(all).map(|(mhz, _)| mhz);
        match (cap, known()) {
            // A file may ask for more than the chip has.
            (Some(cap), Some(all)) => Ok(cap.min(all)),
            (cap, all) => cap.or(all).ok_or(what),
        }
    };
    if caps.sms_unknown {
        return Err("the number of multiprocessors");
    }
    let cores = || module.and_then(|module| module.cpu_cores).map(|(all, _)| all);
    let sms = || module.and_then(|module| module.sms).map(|(all, _)| all);
    Ok(ModeClocks {
        gpu_mhz: of(
            caps.gpu_in_force_mhz.or(caps.gpu_mhz),
            |all| all.gpu_mhz,
            "the GPU's clock",
        )?,
        emc_mhz: of(caps.emc_mhz, |all| all.emc_mhz, "the memory's clock")?,
        cpu_mhz: of(caps.cpu_mhz, |all| all.cpu_mhz, "the processors' clock")?,
        cores: caps.cores.or_else(cores).ok_or("the number of processors")?,
        sms: caps.sms.or_else(sms),
    })
}

/// The clocks of the mode with this number of this board; none where they are not known.
pub fn of_mode(roots: &Roots, id: u32) -> Option<ModeClocks> {
    let caps = nvpmodel::mode(roots, id).caps?;
    let module = modules::of_machine(roots);
    let flash = Identity::of_machine(roots).and_then(|identity| identity.flash);
    let configuration = module.and_then(|module| module.configuration(flash?));
    clocks(&caps, module, configuration)
        .ok()
        .filter(ModeClocks::is_sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mode_does_not_cap_is_the_module_s() {
        let module = modules::find("p3701-0005").unwrap();
        let configuration = &module.configurations[0];
        let all = clocks(&Caps::default(), Some(module), Some(configuration)).unwrap();
        assert_eq!(Some(all.gpu_mhz), configuration.gpu_mhz.map(|(mhz, _)| mhz));
        assert_eq!((all.cores, all.sms), (12, Some(16)));
        let caps = Caps {
            cores: Some(4),
            gpu_mhz: Some(612.0),
            gpu_in_force_mhz: Some(610.0),
            emc_mhz: Some(1e5),
            ..Caps::default()
        };
        let capped = clocks(&caps, Some(module), Some(configuration)).unwrap();
        assert_eq!(
            (capped.cores, capped.gpu_mhz, capped.emc_mhz),
            (4, 610.0, all.emc_mhz)
        );
        assert_eq!(clocks(&caps, None, None), Err("the processors' clock"));
        let unknown = Caps {
            sms_unknown: true,
            ..caps
        };
        assert!(clocks(&unknown, Some(module), Some(configuration)).is_err());
    }

    #[test]
    fn every_mode_of_the_table_has_clocks_or_says_what_lacks() {
        let mut known = 0;
        for module in modules::modules() {
            for configuration in &module.configurations {
                for caps in configuration.modes.iter().filter_map(|mode| mode.caps) {
                    match clocks(&caps, Some(module), Some(configuration)) {
                        Ok(clocks) => {
                            assert!(clocks.is_sound(), "{} {clocks}", module.name);
                            known += 1;
                        }
                        Err(lacking) => assert!(lacking.starts_with("the "), "{}", module.name),
                    }
                }
            }
        }
        assert!(known > 40, "{known}");
    }
}
