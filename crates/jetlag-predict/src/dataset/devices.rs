//! Figures of the boards that rows are of: `devices.csv`, and the clocks of their power modes in `modes.csv`.

use std::collections::BTreeMap;
use std::path::Path;

use super::table::Table;
use crate::error::DataError;
use crate::features::{Device, Mode};
use jetlag_record::ModeClocks;

/// A board, and the power mode that its rows name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BoardInMode {
    pub(super) board: String,
    pub(super) mode: Option<String>,
}

/// The figures of these boards and modes.
pub(super) fn read(
    folder: &Path,
    names: &[BoardInMode],
    hash: &mut blake3::Hasher,
) -> Result<Vec<Device>, DataError> {
    let mut boards: Vec<&str> = names.iter().map(|name| name.board.as_str()).collect();
    boards.sort_unstable();
    boards.dedup();
    let missing = |missing: String| DataError::Devices {
        path: folder.to_owned(),
        boards: boards.join(", "),
        missing,
    };
    let path = folder.join("devices.csv");
    let figures = figures(&path, hash)?;
    let modes = modes(&folder.join("modes.csv"), hash)?;
    let known = |name: &BoardInMode| -> Result<Device, DataError> {
        let own = match (&figures, boards.as_slice()) {
            (Some(figures), _) => figures
                .get(&name.board)
                .cloned()
                .map(Some)
                .ok_or_else(|| missing(format!("devices.csv has no line for {}", name.board))),
            (None, [_]) => Ok(None),
            (None, _) => Err(missing("nothing that tells what they can do".to_owned())),
        }?;
        let Some(mode) = &name.mode else {
            return Ok(own.unwrap_or_else(|| Device::unknown(&name.board)));
        };
        let of_board = |key: &&(String, String)| key.0 == name.board;
        let clocks = modes.get(&(name.board.clone(), mode.clone())).copied();
        let clocks = clocks.ok_or_else(|| DataError::Mode {
            path: folder.to_owned(),
            board: name.board.clone(),
            mode: mode.clone(),
        })?;
        let mode = Mode {
            board: name.board.clone(),
            name: mode.clone(),
            clocks,
        };
        let mut device = Device::in_mode(mode);
        if let Some(own) = own {
            let highest = |of: fn(&ModeClocks) -> f64| {
                let all = modes.keys().filter(of_board).filter_map(|key| modes.get(key));
                all.map(of).fold(of(&clocks), f64::max)
            };
            let gpu = |clocks: &ModeClocks| clocks.gpu_mhz * f64::from(clocks.sms.unwrap_or(1));
            device.tflops = own.tflops * gpu(&clocks) / highest(gpu);
            device.gb_s = own.gb_s * clocks.emc_mhz / highest(|clocks| clocks.emc_mhz);
            device.memory_mib = own.memory_mib;
            // Figures at the highest clocks may be sound, and those at the lowest not.
            if !device.is_sound() {
                return Err(DataError::Scaled {
                    path: path.clone(),
                    board: name.board.clone(),
                    mode: device.mode.map(|mode| mode.name).unwrap_or_default(),
                    tflops: device.tflops,
                    gb_s: device.gb_s,
                });
            }
        }
        Ok(device)
    };
    names.iter().map(known).collect()
}

/// `devices.csv` by board; None where there is no such file.
fn figures(path: &Path, hash: &mut blake3::Hasher) -> Result<Option<BTreeMap<String, Device>>, DataError> {
    if !path.exists() {
        return Ok(None);
    }
    let table = Table::read(path, hash)?;
    let (name, tflops, gb_s) = (
        table.column(&["device"])?,
        table.column(&["tflops"])?,
        table.column(&["gb_s"])?,
    );
    let (cpu, memory) = (table.optional(&["cpu_ghz"]), table.optional(&["memory_mib"]));
    let mut known = BTreeMap::new();
    for line in &table.lines {
        let optional = |place: Option<usize>| match place {
            Some(place) if !table.text(line, place).is_empty() => table.positive(line, place).map(Some),
            _ => Ok(None),
        };
        let device = Device {
            tflops: table.positive(line, tflops)?,
            gb_s: table.positive(line, gb_s)?,
            cpu_ghz: optional(cpu)?.unwrap_or(1.0),
            memory_mib: optional(memory)?,
            ..Device::unknown(table.word(line, name)?)
        };
        if !device.is_sound() {
            return Err(table.wrong(line, tflops, "figures between 1e-6 and 1e9"));
        }
        known.insert(device.name.clone(), device);
    }
    Ok(Some(known))
}

/// `modes.csv` by board and mode; empty where there is no such file.
fn modes(
    path: &Path,
    hash: &mut blake3::Hasher,
) -> Result<BTreeMap<(String, String), ModeClocks>, DataError> {
    let mut known = BTreeMap::new();
    if !path.exists() {
        return Ok(known);
    }
    let table = Table::read(path, hash)?;
    let (board, mode) = (table.column(&["device"])?, table.column(&["mode"])?);
    let (gpu, emc) = (table.column(&["gpu_mhz"])?, table.column(&["emc_mhz"])?);
    let (cpu, cores) = (table.column(&["cpu_mhz"])?, table.column(&["cores"])?);
    let sms = table.optional(&["sms"]);
    for line in &table.lines {
        let clocks = ModeClocks {
            gpu_mhz: table.positive(line, gpu)?,
            emc_mhz: table.positive(line, emc)?,
            cpu_mhz: table.positive(line, cpu)?,
            cores: table.whole(line, cores, "a number of processors")?,
            sms: sms
                .map(|sms| table.whole(line, sms, "a number of multiprocessors"))
                .transpose()?,
        };
        if !clocks.is_sound() {
            return Err(table.wrong(line, gpu, "clocks and parts between 1 and 100000"));
        }
        let key = (
            table.word(line, board)?.to_owned(),
            table.word(line, mode)?.to_owned(),
        );
        if known.insert(key, clocks).is_some() {
            return Err(table.wrong(line, mode, "each mode of a board once"));
        }
    }
    Ok(known)
}
