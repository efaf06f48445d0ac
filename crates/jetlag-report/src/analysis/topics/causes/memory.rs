//! The memory of a tenant: what its manifest says it took, and the peaks while all tenants ran.
//!
//! The device's peak is the highest of its readings, so what came and went between two of them is not in it; the process's is the
//! kernel's own mark, which misses nothing. The device is read seldom, and tenants hold their memory before they begin: the last
//! reading before the measurement counts as well.

use crate::analysis::gathering::track::Tracks;
use crate::analysis::summary::{MemorySummary, UnknownMemory};
use crate::record::{Amount, Device, Part, PhaseRecord, Quantity, TenantMemory};
use crate::units::Stamp;

/// The memory of a tenant on `device`; `None` where its run file does not tell any.
pub(in crate::analysis) fn summarize(
    taken: Option<&TenantMemory>,
    together: Option<&PhaseRecord>,
    device: Device,
    tracks: &Tracks,
    window: Option<(Stamp, Stamp)>,
) -> Option<MemorySummary> {
    let taken = taken?;
    let mut unknown = Vec::new();
    let mut known = |part, amount: &Option<Amount>| {
        let amount = amount.as_ref()?;
        if let Some(reason) = amount.unknown() {
            let reason = reason.to_owned();
            unknown.push(UnknownMemory { part, reason });
        }
        amount.bytes()
    };
    let device_peak = match device {
        Device::Gpu(number) => {
            let measurement = together.map(|end| (end.epoch, end.measured_to));
            Some(device_peak(number, tracks, measurement.or(window)))
        }
        Device::Host | Device::None => None,
    };
    Some(MemorySummary {
        networks_bytes: known("networks", &taken.networks),
        contexts_bytes: known("contexts", &taken.contexts),
        device_tensors_bytes: known("device_tensors", &taken.device_tensors),
        pinned_bytes: known("pinned", &taken.pinned),
        host_tensors_bytes: known("host_tensors", &taken.host_tensors),
        device_bytes: known("device", &taken.device),
        device_peak_bytes: known("device_peak", &device_peak),
        process_peak_bytes: known("process_peak", &Some(process_peak(together))),
        unknown,
    })
}

fn device_peak(number: u16, tracks: &Tracks, window: Option<(Stamp, Stamp)>) -> Amount {
    let is_used = |part| matches!(part, Part::GpuMemory(_));
    let mut of_devices: Vec<_> = tracks
        .iter()
        .filter(|track| track.quantity() == Quantity::MemoryUsed && is_used(track.part()))
        .collect();
    if of_devices.len() > 1 {
        return Amount::Unknown(format!(
            "{} GPUs were read, and nothing says which of them CUDA calls gpu{number}: NVML counts them by their places on the bus",
            of_devices.len()
        ));
    }
    let is_it = |part| matches!(part, Part::GpuMemory(of) if of.is_none_or(|of| of == u32::from(number)));
    of_devices.retain(|track| is_it(track.part()));
    let highest = window.and_then(|(from, to)| {
        let track = of_devices.first()?;
        let before = track.points().iter().rev().find(|point| point.at < from);
        let points = before.into_iter().chain(track.within((from, to)));
        points.map(|point| point.high).reduce(f64::max)
    });
    match highest {
        Some(bytes) if bytes >= 0.0 => Amount::Bytes(bytes as u64),
        _ => Amount::Unknown(format!(
            "there is no reading of the memory of gpu{number} in the measurement: NVML was not sampled or does not tell it, as on a \
             Jetson, whose GPU shares the machine's memory (host.memory_peak_bytes)"
        )),
    }
}

fn process_peak(together: Option<&PhaseRecord>) -> Amount {
    match together {
        Some(PhaseRecord {
            process_peak: Some(bytes),
            ..
        }) => Amount::Bytes(*bytes),
        Some(_) => Amount::Unknown("the kernel did not tell the peak of the tenant's process".to_owned()),
        None => Amount::Unknown(
            "the run file ends before the measurement did, and its end has the peak of the process"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EndReason, Phase, SampleRecord};

    const END: PhaseRecord = PhaseRecord {
        tenant: 0,
        phase: Phase::Together,
        epoch: Stamp(0),
        measured_from: Stamp(10),
        measured_to: Stamp(100),
        reason: EndReason::Duration,
        lost_records: 0,
        sampled: None,
        process_peak: Some(5_000),
    };

    fn readings(signal: &str, values: &[(i64, f64)]) -> Tracks {
        let mut tracks = Tracks::default();
        for (at, value) in values {
            tracks.sample(&SampleRecord {
                at: Stamp(*at),
                source: "nvml".to_owned(),
                signal: signal.to_owned(),
                value: Some(*value),
                unit: "bytes".to_owned(),
            });
        }
        tracks.finish()
    }

    fn of(taken: &TenantMemory, end: Option<&PhaseRecord>, device: Device, tracks: &Tracks) -> MemorySummary {
        summarize(Some(taken), end, device, tracks, Some((Stamp(10), Stamp(100)))).expect("it is told")
    }

    fn parts(memory: &MemorySummary) -> Vec<&str> {
        memory.unknown.iter().map(|unknown| unknown.part).collect()
    }

    #[test]
    fn the_peak_of_a_device_is_its_highest_reading_from_the_last_one_before_the_measurement() {
        let tracks = readings(
            "gpu0_memory_used",
            &[(-9, 900.0), (-1, 350.0), (20, 300.0), (50, 400.0), (120, 999.0)],
        );
        let taken = TenantMemory {
            networks: Some(Amount::Bytes(0)),
            device: Some(Amount::Unknown("of no use".to_owned())),
            ..TenantMemory::default()
        };
        let memory = of(&taken, Some(&END), Device::Gpu(0), &tracks);
        assert_eq!(
            (
                memory.device_peak_bytes,
                memory.process_peak_bytes,
                memory.networks_bytes
            ),
            (Some(400), Some(5_000), Some(0))
        );
        assert_eq!((memory.contexts_bytes, parts(&memory)), (None, vec!["device"]));
        let early = readings("gpu0_memory_used", &[(-9, 900.0), (-1, 350.0), (120, 999.0)]);
        let early = of(&taken, Some(&END), Device::Gpu(0), &early);
        assert_eq!(early.device_peak_bytes, Some(350));
        // Another device's readings are not this one's.
        let other = of(&taken, Some(&END), Device::Gpu(1), &tracks);
        assert_eq!(
            (other.device_peak_bytes, parts(&other)),
            (None, vec!["device", "device_peak"])
        );
    }

    #[test]
    fn of_several_gpus_none_is_taken_for_the_tenants() {
        let mut tracks = Tracks::default();
        for signal in ["gpu0_memory_used", "gpu1_memory_used"] {
            tracks.sample(&SampleRecord {
                at: Stamp(20),
                source: "nvml".to_owned(),
                signal: signal.to_owned(),
                value: Some(300.0),
                unit: "bytes".to_owned(),
            });
        }
        let memory = of(
            &TenantMemory::default(),
            Some(&END),
            Device::Gpu(1),
            &tracks.finish(),
        );
        assert_eq!(
            (memory.device_peak_bytes, parts(&memory)),
            (None, vec!["device_peak"])
        );
    }

    #[test]
    fn what_is_not_known_has_its_reason_and_old_files_have_nothing() {
        let none = Tracks::default().finish();
        let taken = TenantMemory::default();
        let cut = of(&taken, None, Device::Host, &none);
        assert_eq!(
            (cut.process_peak_bytes, parts(&cut)),
            (None, vec!["process_peak"])
        );
        let silent = PhaseRecord {
            process_peak: None,
            ..END
        };
        let silent = of(&taken, Some(&silent), Device::Host, &none);
        assert_eq!(
            (silent.device_peak_bytes, parts(&silent)),
            (None, vec!["process_peak"])
        );
        assert_eq!(summarize(None, Some(&END), Device::Host, &none, None), None);
    }
}
