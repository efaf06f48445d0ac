//! One run of a sweep as a measurement of one network: whether it is one, and its values.

use std::fmt;
use std::path::Path;

use jetlag_predict::dataset::Target;
use jetlag_sweep::table::Row;

use super::super::{chip, modes};
use crate::record::{
    GPU_MEMORY_FACT, Manifest, ModeClocks, POWER_MODE_CLOCKS_FACT, POWER_MODE_FACT, RunReader,
};
use crate::scenario::{DetectorRef, MadeInputs};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// A batch that models know.
const LARGEST_BATCH: u64 = 1 << 20;

/// Why a run says nothing of one network by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NoRow {
    NotMade,
    NoFile,
    SeveralTenants,
    NoNetwork,
    SeveralNetworks,
    Gathered,
    InFlight,
    Batch,
}

impl fmt::Display for NoRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            NoRow::NotMade => "not made yet, or skipped after a failure",
            NoRow::NoFile => {
                "the run file is gone or cannot be read, and it alone says the batch; fetch runs/ again, or run the sweep again"
            }
            NoRow::SeveralTenants => {
                "several tenants share the machine, so that the time is not of one network; sweep one tenant"
            }
            NoRow::NoNetwork => "no network is executed (sim, null, a stressor, an application)",
            NoRow::SeveralNetworks => {
                "the detector has several networks, or a fusion's; sweep each of them by itself"
            }
            NoRow::Gathered => {
                "frames are gathered (`batch`), and how many each inference had is not known; give a network its batch by `shapes`"
            }
            NoRow::InFlight => "several frames are in flight, which lengthen each other; sweep with depth: 1",
            NoRow::Batch => "the batch is beyond 1048576",
        })
    }
}

/// A run of one network.
pub(super) struct Run<'t> {
    pub(super) row: &'t Row,
    /// The name of the network's file.
    pub(super) file: String,
    /// BLAKE3 of its bytes.
    pub(super) hash: String,
    pub(super) detector: DetectorRef,
    pub(super) made: Option<MadeInputs>,
    /// Whether each frame has this many items, or the network is a detector's.
    pub(super) is_batched: bool,
    pub(super) batch: u32,
    /// What it was run on, and the backend.
    pub(super) board: String,
    /// The power mode, where it has one.
    pub(super) mode: Option<RunMode>,
    /// The module as its device tree names it.
    pub(super) module: Option<String>,
    /// All memory of what it ran on, MiB, where the run file has it.
    pub(super) memory_mib: Option<f64>,
    tenant: String,
    is_on_gpu: bool,
}

/// The power mode of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunMode {
    pub(super) name: String,
    /// Its clocks, or why they are not known.
    pub(super) clocks: Result<ModeClocks, String>,
}

/// Reads a run's manifest.
pub(super) fn read<'t>(folder: &Path, row: &'t Row) -> Result<Run<'t>, NoRow> {
    let file = row.file.as_ref().ok_or(NoRow::NoFile)?;
    let reader = RunReader::open(&folder.join(file)).map_err(|error| {
        log::info!("{error}");
        NoRow::NoFile
    })?;
    of_manifest(row, reader.manifest())
}

fn of_manifest<'t>(row: &'t Row, manifest: &Manifest) -> Result<Run<'t>, NoRow> {
    let scenario = manifest.scenario().ok_or(NoRow::NoNetwork)?;
    let (tenant, own) = match (&scenario.tenants[..], &manifest.tenants[..]) {
        ([tenant], [own]) => (tenant, own),
        ([], _) | (_, []) => return Err(NoRow::NoNetwork),
        _ => return Err(NoRow::SeveralTenants),
    };
    let detector = tenant
        .detector
        .as_ref()
        .filter(|_| tenant.backend.executes())
        .ok_or(NoRow::NoNetwork)?;
    let network = match &own.networks[..] {
        [] => return Err(NoRow::NoNetwork),
        [network] => network,
        _ => return Err(NoRow::SeveralNetworks),
    };
    if !tenant.batch.is_single() {
        return Err(NoRow::Gathered);
    }
    if tenant.depth > 1 {
        return Err(NoRow::InFlight);
    }
    let batch = own.batch.unwrap_or(1);
    if !(1..=LARGEST_BATCH).contains(&batch) {
        return Err(NoRow::Batch);
    }
    let is_on_gpu = manifest.devices().first().is_some_and(|device| device.is_gpu());
    Ok(Run {
        row,
        file: network.name.clone(),
        hash: network.blake3.clone(),
        detector: detector.clone(),
        made: tenant.made.clone(),
        is_batched: own.batch.is_some(),
        batch: u32::try_from(batch).unwrap_or(u32::MAX),
        board: chip(manifest, &own.backend, is_on_gpu),
        mode: mode(manifest),
        module: manifest.machine.get("module").cloned(),
        memory_mib: memory_mib(manifest, is_on_gpu),
        tenant: tenant.name.clone(),
        is_on_gpu,
    })
}

fn memory_mib(manifest: &Manifest, is_on_gpu: bool) -> Option<f64> {
    let fact = if is_on_gpu { GPU_MEMORY_FACT } else { "memory" };
    mebibytes(manifest.machine.get(fact)?)
}

/// `125.9 GiB`, as facts say it.
fn mebibytes(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "GiB" => 1024.0,
        "MiB" => 1.0,
        _ => return None,
    };
    let number = number.parse::<f64>().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * factor)
}

/// The mode in force. Its clocks are what the run file says, else what is known of the module.
fn mode(manifest: &Manifest) -> Option<RunMode> {
    let fact = |name: &str| manifest.machine.get(name);
    let words = fact(POWER_MODE_FACT)?;
    // `MODE_15W (id 1)`, or `id 1` where the board's files do not have its name.
    let name = words.split_once(" (id ").map_or(words.as_str(), |(name, _)| name);
    let known = fact(POWER_MODE_CLOCKS_FACT).and_then(|text| text.parse().ok());
    let clocks = known.map(Ok).unwrap_or_else(|| match fact("module") {
        Some(module) => modes::clocks(module, name.trim_start_matches("id ")),
        None => Err("the run file does not say which module the board has".to_owned()),
    });
    Some(RunMode {
        name: name.to_owned(),
        clocks,
    })
}

impl Run<'_> {
    /// What it measured, in the target's unit; none where it does not know.
    pub(super) fn value(&self, target: Target) -> Option<f64> {
        let tenant = &self.tenant;
        let figure = |name: &str| self.row.figure(name).value;
        let value = match target {
            Target::Latency => figure(&format!("{tenant}.stages.compute.p50")),
            Target::Memory if self.is_on_gpu => {
                figure(&format!("{tenant}.memory.device")).map(|bytes| bytes / MIB)
            }
            Target::Memory => figure(&format!("{tenant}.memory.process_peak")).map(|bytes| bytes / MIB),
            Target::Energy => {
                figure(&format!("energy.{tenant}.per_frame")).map(|of_frame| of_frame / f64::from(self.batch))
            }
            Target::Power => figure("power.total.mean"),
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// Why runs have no value of a target; none where that is the rule, as power is without a sensor.
pub(super) fn why_lacking(target: Target) -> Option<&'static str> {
    match target {
        Target::Latency => Some(
            "the median of compute takes 11 frames, or more where they resemble their neighbours; raise `duration` or `frames`",
        ),
        Target::Memory => Some(
            "the run file does not have it: it is of a version before 1.13, or the GPU shares its memory with the processors",
        ),
        Target::Energy | Target::Power => None,
    }
}

#[cfg(test)]
mod tests {
    use super::mebibytes;

    #[test]
    fn memory_is_read_as_facts_say_it() {
        assert_eq!(mebibytes("79.2 GiB"), Some(79.2 * 1024.0));
        assert_eq!(mebibytes("512.0 MiB"), Some(512.0));
        for other in ["", "79.2", "79.2 GB", "-1.0 GiB", "inf GiB", "0.0 MiB"] {
            assert_eq!(mebibytes(other), None, "{other}");
        }
    }
}
