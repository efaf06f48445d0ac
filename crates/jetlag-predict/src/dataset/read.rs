//! A folder's files as a [`Dataset`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::devices::{self, BoardInMode};
use super::table::{Line, Table};
use super::{Dataset, Failed, Row, Target, Undescribed};
use crate::error::DataError;
use crate::features::Stage;
use crate::layers::{Layer, LayerKind, LayerTable, Weights};

/// Most files and rows of a folder.
const MOST_FILES: usize = 20_000;
const MOST_ROWS: usize = 1_000_000;

pub(super) fn open(folder: &Path) -> Result<Dataset, DataError> {
    let mut hash = blake3::Hasher::new();
    let layers = folder.join("layers");
    if !layers.is_dir() {
        let (path, missing) = (folder.to_owned(), "no folder \"layers\"".to_owned());
        return Err(DataError::Layout { path, missing });
    }
    let mut networks = BTreeMap::new();
    for path in tables(&layers)? {
        let Some((name, table)) = network(&path, &mut hash)? else {
            continue;
        };
        networks.insert(name, table);
    }
    let mut found = Found {
        devices: Vec::new(),
        rows: Vec::new(),
        failed: Vec::new(),
    };
    let mut campaigns = Vec::new();
    for path in entries(folder)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let (true, Some(campaign)) = (path.is_dir(), campaign(&name)) {
            let (device, stage, target) = campaign;
            campaigns.push((path, (device.to_owned(), stage, target)));
        }
    }
    if campaigns.is_empty() {
        let (path, missing) = (folder.to_owned(), "no folder of measurements".to_owned());
        return Err(DataError::Layout { path, missing });
    }
    for (path, (device, stage, target)) in campaigns {
        for path in tables(&path)? {
            hash.update(format!("{device} {stage} {target}").as_bytes());
            let table = Table::read(&path, &mut hash)?;
            found.measurements(&table, &device, stage, target)?;
            if found.rows.len() + found.failed.len() > MOST_ROWS {
                return Err(DataError::TooMuch {
                    path: folder.to_owned(),
                    limit: MOST_ROWS,
                    what: "rows",
                });
            }
        }
    }
    let devices = devices::read(folder, &found.devices, &mut hash)?;
    let Found { mut rows, failed, .. } = found;
    let mut left: BTreeMap<String, (BTreeSet<String>, usize)> = BTreeMap::new();
    rows.retain(|row| {
        let known = networks.contains_key(&(row.network.clone(), row.variant.clone()));
        if !known {
            let (variants, rows) = left.entry(row.network.clone()).or_default();
            variants.insert(row.variant.clone());
            *rows += 1;
        }
        known
    });
    let undescribed = left
        .into_iter()
        .map(|(network, (variants, rows))| Undescribed {
            network,
            variants: variants.into_iter().collect(),
            rows,
            reason: "layers/ has no table of them".to_owned(),
        })
        .collect();
    let mut data = Dataset {
        devices,
        networks,
        rows,
        failed,
        undescribed,
        stalls: Vec::new(),
        hash: hash.finalize().to_hex().to_string(),
    };
    data.mark_stalls();
    Ok(data)
}

/// `tx2_training_latency`: board, stage, target. Anything else is no folder of measurements.
fn campaign(name: &str) -> Option<(&str, Stage, Target)> {
    let (rest, target) = name.rsplit_once('_')?;
    let (device, stage) = rest.rsplit_once('_')?;
    let target = Target::ALL
        .into_iter()
        .find(|known| known.to_string() == target)?;
    let stage = [Stage::Training, Stage::Inference]
        .into_iter()
        .find(|known| known.to_string() == stage)?;
    (!device.is_empty()).then_some((device, stage, target))
}

/// What a folder holds, sorted by name, so that its hash and its rows' order do not depend on the file system.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let wrong = |source| DataError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        found.push(entry.map_err(wrong)?.path());
        if found.len() > MOST_FILES {
            return Err(DataError::TooMuch {
                path: folder.to_owned(),
                limit: MOST_FILES,
                what: "files",
            });
        }
    }
    found.sort();
    Ok(found)
}

fn tables(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut found = entries(folder)?;
    found.retain(|path| path.extension().is_some_and(|ending| ending == "csv"));
    Ok(found)
}

/// A network with its name and variant.
type Named = ((String, String), LayerTable);

/// A network by the name of its file; None where the name has no variant.
fn network(path: &Path, hash: &mut blake3::Hasher) -> Result<Option<Named>, DataError> {
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let Some((name, variant)) = stem.rsplit_once('_') else {
        return Ok(None);
    };
    let table = Table::read(path, hash)?;
    let column = |name: &'static str| table.column(&[name]);
    let names = [
        "ic", "oc", "k_h", "k_w", "stride", "pad_h", "pad_w", "groups", "ip_h", "ip_w", "op_h", "op_w",
    ];
    let mut places = [0; 12];
    for (place, name) in places.iter_mut().zip(names) {
        *place = column(name)?;
    }
    let (order, label, kind) = (
        table.optional(&["exec_index"]),
        table.optional(&["name"]),
        table.optional(&["kind"]),
    );
    let mut layers = Vec::with_capacity(table.lines.len());
    for (number, line) in table.lines.iter().enumerate() {
        let mut cells = [0; 12];
        for (cell, place) in cells.iter_mut().zip(places) {
            *cell = table.whole(line, place, "a whole number")?;
        }
        let [
            ic,
            oc,
            k_h,
            k_w,
            stride,
            pad_h,
            pad_w,
            groups,
            ip_h,
            ip_w,
            op_h,
            op_w,
        ] = cells;
        let at = order
            .map(|place| table.whole(line, place, "a whole number"))
            .transpose()?;
        let layer = Layer {
            name: label.map_or_else(
                || format!("layer {number}"),
                |place| table.text(line, place).to_owned(),
            ),
            kind: kind.map_or(Ok(LayerKind::Convolution), |place| {
                layer_kind(&table, line, place)
            })?,
            in_channels: ic,
            out_channels: oc,
            kernel: [k_h, k_w],
            stride: [stride; 2],
            padding: [pad_h, pad_w],
            groups,
            input: [ip_h, ip_w],
            output: [op_h, op_w],
            reads: Vec::new(),
            weights: Weights::Own,
        };
        // One by one, so that the error says the line.
        LayerTable::new(vec![layer.clone()]).map_err(|source| DataError::Layer {
            path: path.to_owned(),
            line: table.number(line),
            source,
        })?;
        layers.push((at.unwrap_or(number as u32), layer));
    }
    layers.sort_by_key(|(at, _)| *at);
    let layers = LayerTable::new(layers.into_iter().map(|(_, layer)| layer).collect());
    let layers = layers.map_err(|source| DataError::Layer {
        path: path.to_owned(),
        line: 1,
        source,
    })?;
    Ok(Some(((name.to_owned(), variant.to_owned()), layers)))
}

fn layer_kind(table: &Table, line: &Line, place: usize) -> Result<LayerKind, DataError> {
    match table.text(line, place) {
        "convolution" => Ok(LayerKind::Convolution),
        "linear" => Ok(LayerKind::Linear),
        "pool" => Ok(LayerKind::Pool),
        "elementwise" => Ok(LayerKind::Elementwise),
        "batch-norm" => Ok(LayerKind::BatchNorm),
        "move" => Ok(LayerKind::Move),
        "other" => Ok(LayerKind::Other),
        _ => Err(table.wrong(
            line,
            place,
            "convolution, linear, pool, elementwise, batch-norm, move or other",
        )),
    }
}

struct Found {
    devices: Vec<BoardInMode>,
    rows: Vec<Row>,
    failed: Vec<Failed>,
}

impl Found {
    fn device(&mut self, board: &str, mode: Option<&str>) -> usize {
        let is_it = |device: &BoardInMode| device.board == board && device.mode.as_deref() == mode;
        let known = self.devices.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.devices.push(BoardInMode {
                board: board.to_owned(),
                mode: mode.map(str::to_owned),
            });
            self.devices.len() - 1
        })
    }

    fn measurements(
        &mut self,
        table: &Table,
        board: &str,
        stage: Stage,
        target: Target,
    ) -> Result<(), DataError> {
        let (network, variant) = (table.column(&["network"])?, table.column(&["level", "variant"])?);
        let (batch, passed) = (table.column(&["bs", "batch"])?, table.column(&["passed"])?);
        let value = table.column(&[target.column()])?;
        let mode = table.optional(&["mode"]);
        for line in &table.lines {
            let mode = mode.map(|mode| table.word(line, mode)).transpose()?;
            let device = self.device(board, mode);
            let (network, variant) = (
                table.word(line, network)?.to_owned(),
                table.word(line, variant)?.to_owned(),
            );
            let has_passed = match table.text(line, passed).to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(table.wrong(line, passed, "True or False")),
            };
            let elements = table.whole(line, batch, "a batch of 1 to 1048576")?;
            if !(1..=1 << 20).contains(&elements) {
                return Err(table.wrong(line, batch, "a batch of 1 to 1048576"));
            }
            match has_passed {
                false => self.failed.push(Failed {
                    device,
                    stage,
                    target,
                    network,
                    variant,
                    batch: elements,
                }),
                true => {
                    let value = table.positive(line, value)?;
                    let (batch, stalled) = (elements, false);
                    self.rows.push(Row {
                        device,
                        stage,
                        target,
                        network,
                        variant,
                        batch,
                        value,
                        stalled,
                    });
                }
            }
        }
        Ok(())
    }
}
