//! A sweep's folder as measurements of networks: a run a row for each target, the layers from the networks' files.
//!
//! Which runs count, and what is taken of them, is in docs/predict.md. `runs` reads one run's manifest, `networks` the network that it
//! names, `names` says which networks are variants of one, `conditions` refuses runs that differ in what no model knows.

mod conditions;
mod names;
mod networks;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jetlag_predict::Stage;
use jetlag_predict::dataset::{Dataset, Failed, Row, Target, Undescribed};
use jetlag_sweep::table::State;
use jetlag_sweep::{FailureKind, Table};

use super::super::outcome::WrongUse;
use super::super::sweep;
use conditions::chosen;
use names::{Named, Variants};
use networks::Networks;
use runs::{NoRow, Run};

/// A sweep's measurements, and sentences on what its runs do not give.
pub(super) struct Measured {
    pub(super) data: Dataset,
    pub(super) notes: Vec<String>,
}

/// Whether a folder is a sweep's.
pub(super) fn is_one(folder: &Path) -> bool {
    folder.join(sweep::JOURNAL).is_file()
}

/// Reads a sweep's folder; `only` has values of axes, `PATH=VALUE`, that runs must have.
///
/// # Errors
/// [`WrongUse`]: no journal, an axis or value that is not there, no run that can be used, runs under several conditions.
pub(super) fn open(folder: &Path, only: &[String]) -> anyhow::Result<Measured> {
    let table = sweep::table(folder)?;
    let rows = chosen(&table, only)?;
    let mut networks = Networks::default();
    let (mut runs, mut left_out) = (Vec::new(), BTreeMap::<NoRow, usize>::new());
    let mut failed = Vec::new();
    for row in rows {
        let run = match &row.state {
            State::Left | State::Skipped { .. } => Err(NoRow::NotMade),
            State::Done | State::Failed(_) => runs::read(folder, row),
        };
        match (&row.state, run) {
            (State::Failed(failure), run) => failed.push((failure.kind, row, run.ok())),
            (_, Ok(run)) => runs.push(run),
            (_, Err(why)) => *left_out.entry(why).or_default() += 1,
        }
    }
    let mut notes: Vec<String> = left_out
        .iter()
        .map(|(why, runs)| format!("{runs} {} {why}", are_left_out(*runs)))
        .collect();
    if runs.is_empty() {
        return Err(nothing(folder, &table, failed.len(), &notes).into());
    }
    let (devices, places) = conditions::devices(&runs)?;
    let names = names(&runs, &mut networks);
    let mut data = Dataset {
        devices,
        networks: BTreeMap::new(),
        rows: Vec::new(),
        failed: failed
            .iter()
            .map(|(kind, row, run)| failed_row(*kind, row, run.as_ref()))
            .collect(),
        undescribed: Vec::new(),
        stalls: Vec::new(),
        hash: hash(folder, only)?,
    };
    let mut lacking = BTreeMap::<Target, usize>::new();
    let mut undescribed = BTreeMap::<(String, String), (BTreeSet<String>, usize)>::new();
    for ((run, (network, variant)), place) in runs.iter().zip(&names).zip(places) {
        let mut own = Vec::new();
        for target in Target::ALL {
            match run.value(target) {
                Some(value) => own.push(Row {
                    device: place,
                    stage: Stage::Inference,
                    target,
                    network: network.clone(),
                    variant: variant.clone(),
                    batch: run.batch,
                    value,
                    stalled: false,
                }),
                None => *lacking.entry(target).or_default() += 1,
            }
        }
        match networks.of(run) {
            Ok(described) => {
                let name = (network.clone(), variant.clone());
                data.networks
                    .entry(name)
                    .or_insert_with(|| described.table.clone());
                data.rows.append(&mut own);
            }
            Err(why) => {
                let (variants, rows) = undescribed.entry((network.clone(), why.clone())).or_default();
                variants.insert(variant.clone());
                *rows += own.len();
            }
        }
    }
    data.undescribed = undescribed
        .into_iter()
        .map(|((network, reason), (variants, rows))| Undescribed {
            network,
            variants: variants.into_iter().collect(),
            rows,
            reason,
        })
        .collect();
    if data.networks.is_empty() {
        return Err(unknown(folder, &data.undescribed).into());
    }
    data.mark_stalls();
    notes.extend(lacking.iter().filter_map(|(target, lack)| {
        let why = runs::why_lacking(*target)?;
        Some(format!("{lack} of {} runs have no {target}: {why}", runs.len()))
    }));
    notes.extend(conditions::findings(&runs));
    Ok(Measured { data, notes })
}

fn are_left_out(runs: usize) -> &'static str {
    match runs {
        1 => "run is left out:",
        _ => "runs are left out:",
    }
}

/// The network and variant of each run, told apart where files of one name are different networks.
fn names(runs: &[Run<'_>], networks: &mut Networks) -> Vec<(String, String)> {
    let named: Vec<(Named, String, String)> = runs
        .iter()
        .map(|run| {
            let shape = networks.of(run).as_ref().map(|described| described.shape.clone());
            (Named::of(&run.file), shape.unwrap_or_default(), run.hash.clone())
        })
        .collect();
    let variants = Variants::of(&named);
    named
        .iter()
        .map(|(name, shape, hash)| (name.network.clone(), variants.name(name, shape, hash)))
        .collect()
}

/// One row for a failed run: of memory where there was too little, which shows where the board's limit lies.
fn failed_row(kind: FailureKind, row: &jetlag_sweep::table::Row, run: Option<&Run<'_>>) -> Failed {
    // A run that never started left no file: what it was to run is in its settings alone.
    let set = row
        .settings
        .iter()
        .find(|setting| conditions::is_network(&setting.path));
    let named = match (run, set) {
        (Some(run), _) => Named::of(&run.file),
        (None, Some(setting)) => Named::of(&setting.value),
        (None, None) => Named::of("unknown"),
    };
    Failed {
        device: 0,
        stage: Stage::Inference,
        target: match kind {
            FailureKind::OutOfMemory => Target::Memory,
            _ => Target::Latency,
        },
        network: named.network,
        variant: named.variant,
        batch: run.map_or(1, |run| run.batch),
    }
}

/// The hash of the journal, which has those of the networks, and of what was chosen of it.
fn hash(folder: &Path, only: &[String]) -> anyhow::Result<String> {
    let path = folder.join(sweep::JOURNAL);
    let mut hash = blake3::Hasher::new();
    let read = std::fs::File::open(&path).and_then(|file| hash.update_reader(file).map(|_| ()));
    read.map_err(|error| WrongUse(format!("{}: {error}", path.display())))?;
    for chosen in only {
        hash.update(&(chosen.len() as u64).to_le_bytes());
        hash.update(chosen.as_bytes());
    }
    Ok(hash.finalize().to_hex().to_string())
}

fn nothing(folder: &Path, table: &Table, failed: usize, notes: &[String]) -> WrongUse {
    let mut said = format!(
        "{} has no run of a network to fit: of {} runs {failed} failed",
        folder.display(),
        table.rows.len()
    );
    for note in notes {
        said += &format!("\n       {note}");
    }
    said += "\n       wanted is a sweep of one tenant over networks: Axis(set: \"tenants.NAME.detector\", files: \"variants/*.onnx\")";
    WrongUse(said)
}

fn unknown(folder: &Path, networks: &[Undescribed]) -> WrongUse {
    let mut said = format!(
        "the layers of no network of {} are known; they are read from the networks' files:",
        folder.display()
    );
    for network in networks {
        said += &format!("\n       {}: {}", network.network, network.reason);
    }
    WrongUse(said)
}
