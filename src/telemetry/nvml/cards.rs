//! The GPUs' temperatures, for who waits until they have cooled down.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;

use super::NoNvml;
use crate::board::Roots;

/// The GPUs that NVML knows.
pub struct Cards(Nvml);

/// Loads NVML.
///
/// # Errors
/// There is none that can be used.
pub fn open(roots: &Roots) -> Result<Cards, NoNvml> {
    super::open(roots).map(Cards)
}

impl Cards {
    /// The sensor's name and what it tells in °C, of each GPU that tells it.
    pub fn temperatures(&self) -> Vec<(String, f64)> {
        let of = |number| {
            let card = self.0.device_by_index(number).ok()?;
            let celsius = card.temperature(TemperatureSensor::Gpu).ok()?;
            let name = card
                .name()
                .map_or_else(|_| String::new(), |name| format!(" ({name})"));
            Some((format!("GPU {number}{name} in NVML"), f64::from(celsius)))
        };
        (0..self.0.device_count().unwrap_or(0)).filter_map(of).collect()
    }
}
