//! What NVML is asked of a device, and what the answers mean.
//!
//! When each is asked, and what becomes of the answer, is the sampler's affair.

use std::cell::RefCell;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::Utilization;
use nvml_wrapper::structs::device::FieldId;

use crate::record::{Averaging, Measurand, Part, Quantity};

/// NVML's field numbers (nvml.h).
const POWER_AVERAGE: u32 = 185;
const POWER_INSTANT: u32 = 186;

/// A question that NVML may answer, and what the answer means.
pub(super) struct Query {
    /// The signal's name, after `gpu0_`.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// What it asks for, and of which part of the device.
    quantity: Quantity,
    part: fn(Option<u32>) -> Part,
    pub(super) averaging: Averaging,
    pub(super) origin: &'static str,
    pub(super) read: fn(&Look<'_>) -> Result<f64, NvmlError>,
}

impl Query {
    /// Whether it asks what the device draws.
    pub(super) fn is_power(&self) -> bool {
        self.quantity == Quantity::Power
    }

    /// What the answer of the device of this number measures.
    pub(super) fn measurand(&self, device: u32) -> Measurand {
        Measurand::new(self.quantity, (self.part)(Some(device)))
    }
}

/// A device during one reading: what answers two questions is asked once.
pub(super) struct Look<'d> {
    device: &'d Device<'d>,
    loads: RefCell<Option<Utilization>>,
}

impl<'d> Look<'d> {
    pub(super) fn at(device: &'d Device<'d>) -> Look<'d> {
        Look {
            device,
            loads: RefCell::new(None),
        }
    }

    fn loads(&self) -> Result<Utilization, NvmlError> {
        if let Some(known) = &*self.loads.borrow() {
            return Ok(known.clone());
        }
        let loads = self.device.utilization_rates()?;
        Ok(self.loads.borrow_mut().insert(loads).clone())
    }

    fn field(&self, id: u32) -> Result<f64, NvmlError> {
        let values = self.device.field_values_for(&[FieldId(id)])?;
        let sample = values.into_iter().next().ok_or(NvmlError::NotFound)??;
        match sample.value? {
            SampleValue::U32(value) => Ok(f64::from(value)),
            SampleValue::U64(value) => Ok(value as f64),
            SampleValue::I64(value) => Ok(value as f64),
            SampleValue::F64(value) => Ok(value),
        }
    }
}

const fn query(
    name: &'static str,
    unit: &'static str,
    (quantity, part): (Quantity, fn(Option<u32>) -> Part),
    averaging: Averaging,
    origin: &'static str,
    read: fn(&Look<'_>) -> Result<f64, NvmlError>,
) -> Query {
    Query {
        name,
        unit,
        quantity,
        part,
        averaging,
        origin,
        read,
    }
}

fn engine(_: Option<u32>) -> Part {
    Part::Engine
}

use Averaging::{Counter, Instant, Mean, Unknown};

/// What is asked at each reading, the best measure of power first. Of these, only the first that the device answers is;
/// the others are the same line once more.
pub(super) static QUERIES: [Query; 7] = [
    query(
        "power_instant",
        "mw",
        (Quantity::Power, Part::Gpu),
        Unknown,
        "NVML field 186, power.draw.instant",
        |look| look.field(POWER_INSTANT),
    ),
    query(
        "power_average",
        "mw",
        (Quantity::Power, Part::Gpu),
        Mean,
        "NVML field 185, power.draw.average",
        |look| look.field(POWER_AVERAGE),
    ),
    query(
        "power",
        "mw",
        (Quantity::Power, Part::Gpu),
        Unknown,
        "nvmlDeviceGetPowerUsage",
        |look| look.device.power_usage().map(f64::from),
    ),
    query(
        "load",
        "percent",
        (Quantity::Load, Part::Gpu),
        Mean,
        "nvmlDeviceGetUtilizationRates, gpu",
        |look| look.loads().map(|u| f64::from(u.gpu)),
    ),
    query(
        "memory_load",
        "percent",
        (Quantity::Load, Part::GpuMemory),
        Mean,
        "nvmlDeviceGetUtilizationRates, memory",
        |look| look.loads().map(|u| f64::from(u.memory)),
    ),
    query(
        "sm_frequency",
        "mhz",
        (Quantity::Clock, Part::Gpu),
        Instant,
        "nvmlDeviceGetClockInfo, SM",
        |look| look.device.clock_info(Clock::SM).map(f64::from),
    ),
    query(
        "throttle_reasons",
        "bits",
        (Quantity::ThrottleReasons, Part::Gpu),
        Instant,
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        |look| {
            look.device
                .current_throttle_reasons()
                .map(|reasons| reasons.bits() as f64)
        },
    ),
];

/// What is asked every two seconds, as it changes slowly.
pub(super) static SLOW_QUERIES: [Query; 6] = [
    query(
        "temperature",
        "c",
        (Quantity::Temperature, Part::Gpu),
        Instant,
        "nvmlDeviceGetTemperature, GPU",
        |look| look.device.temperature(TemperatureSensor::Gpu).map(f64::from),
    ),
    query(
        "memory_frequency",
        "mhz",
        (Quantity::Clock, Part::GpuMemory),
        Instant,
        "nvmlDeviceGetClockInfo, memory",
        |look| look.device.clock_info(Clock::Memory).map(f64::from),
    ),
    query(
        "memory_used",
        "bytes",
        (Quantity::MemoryUsed, Part::GpuMemory),
        Instant,
        "nvmlDeviceGetMemoryInfo",
        |look| look.device.memory_info().map(|m| m.used as f64),
    ),
    query(
        "power_limit",
        "mw",
        (Quantity::PowerLimit, Part::Gpu),
        Instant,
        "nvmlDeviceGetEnforcedPowerLimit",
        |look| look.device.enforced_power_limit().map(f64::from),
    ),
    query(
        "encoder_load",
        "percent",
        (Quantity::Load, engine),
        Mean,
        "nvmlDeviceGetEncoderUtilization",
        |look| {
            look.device
                .encoder_utilization()
                .map(|u| f64::from(u.utilization))
        },
    ),
    query(
        "decoder_load",
        "percent",
        (Quantity::Load, engine),
        Mean,
        "nvmlDeviceGetDecoderUtilization",
        |look| {
            look.device
                .decoder_utilization()
                .map(|u| f64::from(u.utilization))
        },
    ),
];

/// What is asked every five seconds, as it takes the driver most (seen on an H200, driver 580, of a processor): the energy
/// counter 4.7 ms, PCIe 1 ms each in the 20 ms that it measures, load by process 2.8 ms; any other question takes less than 0.1 ms.
/// The counter comes first, as the others would make its stamp wrong.
pub(super) static RARE_QUERIES: [Query; 3] = [
    query(
        "energy",
        "mj",
        (Quantity::Energy, Part::Gpu),
        Counter,
        "nvmlDeviceGetTotalEnergyConsumption",
        |look| look.device.total_energy_consumption().map(|mj| mj as f64),
    ),
    query(
        "pcie_sent",
        "kb_s",
        (Quantity::BusSent, Part::Gpu),
        Mean,
        "nvmlDeviceGetPcieThroughput, TX (over 20 ms)",
        |look| look.device.pcie_throughput(PcieUtilCounter::Send).map(f64::from),
    ),
    query(
        "pcie_received",
        "kb_s",
        (Quantity::BusReceived, Part::Gpu),
        Mean,
        "nvmlDeviceGetPcieThroughput, RX (over 20 ms)",
        |look| {
            look.device
                .pcie_throughput(PcieUtilCounter::Receive)
                .map(f64::from)
        },
    ),
];
