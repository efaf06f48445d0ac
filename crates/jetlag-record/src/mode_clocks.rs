//! The highest clocks of a power mode and the parts that are on in it, as a run file's manifest and a command line write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What runs how fast at most in a power mode of a Jetson.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeClocks {
    /// Clock of the GPU, MHz.
    pub gpu_mhz: f64,
    /// Clock of the memory, MHz.
    pub emc_mhz: f64,
    /// Clock of the processors, MHz; of several clusters the fastest's.
    pub cpu_mhz: f64,
    /// Processors that are on.
    pub cores: u32,
    /// Streaming multiprocessors that are on; none where all modes have the same.
    #[serde(default)]
    pub sms: Option<u32>,
}

impl ModeClocks {
    /// Whether a chip can have them.
    pub fn is_sound(&self) -> bool {
        let parts = [Some(self.cores), self.sms].into_iter().flatten();
        let clocks = [self.gpu_mhz, self.emc_mhz, self.cpu_mhz];
        clocks
            .into_iter()
            .chain(parts.map(f64::from))
            .all(|x| (1.0..=1e5).contains(&x))
    }
}

impl fmt::Display for ModeClocks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            gpu_mhz,
            emc_mhz,
            cpu_mhz,
            cores,
            sms,
        } = self;
        write!(out, "gpu={gpu_mhz},emc={emc_mhz},cpu={cpu_mhz},cores={cores}")?;
        sms.map_or(Ok(()), |sms| write!(out, ",sms={sms}"))
    }
}

/// A text that names no clocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} are no clocks: write gpu=612,emc=2133,cpu=1190.4,cores=4 and, where modes differ in them, sms=8; MHz and numbers of 1 to 100000"
)]
pub struct ModeClocksError(String);

impl FromStr for ModeClocks {
    type Err = ModeClocksError;

    fn from_str(text: &str) -> Result<Self, ModeClocksError> {
        const NAMES: [&str; 5] = ["gpu", "emc", "cpu", "cores", "sms"];
        let wrong = || ModeClocksError(text.chars().take(200).collect());
        let mut values = [None; NAMES.len()];
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let place = NAMES.iter().position(|known| *known == name.trim());
            let place = place.and_then(|at| values.get_mut(at)).ok_or_else(wrong)?;
            let value: f64 = value.trim().parse().map_err(|_| wrong())?;
            if place.replace(value).is_some() {
                return Err(wrong());
            }
        }
        let [Some(gpu_mhz), Some(emc_mhz), Some(cpu_mhz), Some(cores), sms] = values else {
            return Err(wrong());
        };
        // What is no whole number is none, and then not sound.
        let whole = |x: f64| if x.fract() == 0.0 { x as u32 } else { 0 };
        let clocks = Self {
            gpu_mhz,
            emc_mhz,
            cpu_mhz,
            cores: whole(cores),
            sms: sms.map(whole),
        };
        clocks.is_sound().then_some(clocks).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_as_they_are_written() {
        let clocks: ModeClocks = "cpu=1190.4, gpu=612,emc=2133,cores=4".parse().unwrap();
        assert_eq!(
            (clocks.gpu_mhz, clocks.cpu_mhz, clocks.sms),
            (612.0, 1190.4, None)
        );
        let with = ModeClocks {
            sms: Some(8),
            ..clocks
        };
        for clocks in [clocks, with] {
            assert_eq!(clocks.to_string().parse(), Ok(clocks));
        }
        for wrong in [
            "",
            "gpu=612",
            "gpu=612,emc=2133,cpu=1190.4,cores=4.5",
            "gpu=612,emc=2133,cpu=1190.4,cores=0",
            "gpu=612,emc=2133,cpu=1190.4,cores=4,sms=0",
            "gpu=612,gpu=612,emc=2133,cpu=1,cores=4",
            "gpu=nan,emc=2133,cpu=1190.4,cores=4",
            "gpu=1e9,emc=2133,cpu=1190.4,cores=4",
            "dla=612,emc=2133,cpu=1190.4,cores=4",
        ] {
            assert!(wrong.parse::<ModeClocks>().is_err(), "{wrong}");
        }
    }
}
