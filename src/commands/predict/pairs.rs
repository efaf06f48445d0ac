//! `jetlag predict pairs fit|eval|apply`: how much networks slow each other down that were not run together.
//!
//! The rows are matrices of run files: networks beside stressors and beside each other (docs/predict.md). The models are
//! `jetlag-predict`'s; here a matrix becomes rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jetlag_predict::pairs::{Meeting, PairAnswer, PairData, PairModel, eval_pairs, fit_pairs};
use jetlag_predict::{FitOptions, ModelError, sections};

use super::super::outcome::{Outcome, WrongUse};
use super::super::output::{print, say};
use super::super::report::of_file;
use super::super::section::{Medium, print_sections};
use super::chip;
use crate::analysis::Summary;
use crate::analysis::summary::interference::{Cell, Way};
use crate::cli::{PairsApply, PairsCommand, PairsEval, PairsFit};
use crate::record::{Device, Manifest};

/// Fits, evaluates or applies a model of pairs.
///
/// # Errors
/// [`WrongUse`] for runs and models that cannot be read or do not suffice, with what would.
pub(super) fn run(command: &PairsCommand) -> anyhow::Result<Outcome> {
    match command {
        PairsCommand::Fit(args) => fit(args),
        PairsCommand::Eval(args) => evaluate(args),
        PairsCommand::Apply(args) => apply(args),
    }
}

fn fit(args: &PairsFit) -> anyhow::Result<Outcome> {
    if args.output.exists() && !args.force {
        return Err(WrongUse(format!(
            "{} exists; choose another name, or --force",
            args.output.display()
        ))
        .into());
    }
    let data = measured(&args.runs, args.sharing.as_deref())?;
    let model = fit_pairs(&data, &options(args.seed)).map_err(WrongUse::because)?;
    model.save(&args.output).map_err(WrongUse::because)?;
    print_sections(&[sections::pair_model(&model)], Medium::Terminal)?;
    print(&format!("wrote {}\n", args.output.display()))?;
    Ok(Outcome::Done)
}

fn evaluate(args: &PairsEval) -> anyhow::Result<Outcome> {
    let data = measured(&args.runs, args.sharing.as_deref())?;
    let found = eval_pairs(&data, &options(args.seed)).map_err(WrongUse::because)?;
    match Medium::of(args.format) {
        Some(medium) => print_sections(&[sections::pairs(&found)], medium)?,
        None => print(&(serde_json::to_string_pretty(&found)? + "\n"))?,
    }
    Ok(Outcome::Done)
}

fn apply(args: &PairsApply) -> anyhow::Result<Outcome> {
    let mut model = PairModel::load(&args.model).map_err(|error| match error {
        ModelError::File { .. } => WrongUse::because(error),
        other => WrongUse(format!("{}: {other}", args.model.display())),
    })?;
    if !args.runs.is_empty() {
        let more = measured(&args.runs, args.sharing.as_deref())?;
        if more.place() != model.place() {
            return Err(WrongUse(format!(
                "the runs of --run are of {}, and the model of {}; measure the network there",
                more.place(),
                model.place()
            ))
            .into());
        }
        let known: Vec<String> = model.networks().into_iter().map(str::to_owned).collect();
        for network in more.networks() {
            if let (false, Some(signature)) = (
                known.iter().any(|known| known == network),
                more.signature(network),
            ) {
                model
                    .add_network(network, signature.clone())
                    .map_err(WrongUse::because)?;
            }
        }
    }
    // Two of the same network slow each other down alike.
    let ways = if args.first == args.second { 1 } else { 2 };
    let answers = [(&args.first, &args.second), (&args.second, &args.first)]
        .into_iter()
        .take(ways)
        .map(|(network, beside)| model.apply(network, beside).map_err(WrongUse::because))
        .collect::<Result<Vec<PairAnswer>, WrongUse>>()?;
    match Medium::of(args.format) {
        Some(medium) => print_sections(&answers.iter().map(sections::pair).collect::<Vec<_>>(), medium)?,
        None => print(&(serde_json::to_string_pretty(&answers)? + "\n"))?,
    }
    Ok(Outcome::Done)
}

fn options(seed: u64) -> FitOptions {
    FitOptions {
        seed,
        ..FitOptions::default()
    }
}

/// The matrices of runs, all under one way of sharing; what they do not give is said on stderr.
fn measured(runs: &[PathBuf], sharing: Option<&str>) -> anyhow::Result<PairData> {
    let mut place: Option<String> = None;
    let mut beside_loads = BesideLoads::default();
    let mut pairs: Vec<(String, String, f64)> = Vec::new();
    for path in runs {
        let (manifest, summary) = of_file(path, None)?;
        let way = way(&summary, sharing).map_err(|why| WrongUse(format!("{}: {why}", path.display())))?;
        let of_run = |why: String| WrongUse(format!("{}: {why}", path.display()));
        let chip = networks_chip(&manifest).map_err(of_run)?;
        let own = format!("{chip}, {}", way.sharing);
        let place = place.get_or_insert_with(|| own.clone());
        if *place != own {
            return Err(WrongUse(format!(
                "{} is of {own}, and the runs before are of {place}; a model is of one device, backend and way of sharing",
                path.display(),
            ))
            .into());
        }
        let networks = beside_loads.add(&summary, way).map_err(of_run)?;
        for cell in &way.cells {
            if let ([beside], Some(slowdown)) = (&cell.with[..], p50(cell))
                && networks.contains(&cell.tenant)
                && networks.contains(beside)
            {
                pairs.push((cell.tenant.clone(), beside.clone(), slowdown));
            }
        }
    }
    let mut data = PairData::new(&place.unwrap_or_default());
    beside_loads.give(&mut data)?;
    for (network, beside, slowdown) in pairs {
        if data.signature(&network).is_some() && data.signature(&beside).is_some() {
            data.add_pair(&network, &beside, slowdown)
                .map_err(WrongUse::because)?;
        }
    }
    Ok(data)
}

/// The board and the backend of a run's networks. Where its stressors are, and in which place of the scenario, does not matter.
fn networks_chip(manifest: &Manifest) -> Result<String, String> {
    let is_network = |at: usize| {
        let asked = manifest.scenario().and_then(|scenario| scenario.tenants.get(at));
        asked.is_none_or(|tenant| tenant.stress().is_none())
    };
    let devices = manifest.devices();
    let mut chips: Vec<((&str, Device), &str)> = Vec::new();
    for (at, (tenant, device)) in manifest.tenants.iter().zip(devices).enumerate() {
        let own = (tenant.backend.as_str(), device);
        if is_network(at) && chips.iter().all(|(chip, _)| *chip != own) {
            chips.push((own, &tenant.name));
        }
    }
    match chips[..] {
        [] => Ok(chip(manifest, "unknown", false)),
        [((backend, device), _)] => Ok(chip(manifest, backend, device.is_gpu())),
        _ => {
            let word = |((backend, device), name): &((&str, Device), &str)| match device {
                Device::None => format!("{name} on {backend}"),
                device => format!("{name} on {backend} ({device})"),
            };
            let all: Vec<String> = chips.iter().map(word).collect();
            Err(format!(
                "its networks ran on several backends or devices: {}; a model is of one, so run those of each by themselves",
                all.join(", ")
            ))
        }
    }
}

/// The matrix of a run under a way of sharing.
fn way<'s>(summary: &'s Summary, sharing: Option<&str>) -> Result<&'s Way, String> {
    let all = &summary.interference.matrix;
    let names: Vec<&str> = all.iter().map(|way| way.sharing.as_str()).collect();
    match (sharing, &all[..]) {
        (_, []) => Err(
            "the run has no matrix: run networks and stressors with --matrix, which runs each alone and every pair"
                .to_owned(),
        ),
        (None, [only]) => Ok(only),
        (None, _) => Err(format!(
            "the run has the ways of sharing {}: choose one with --sharing",
            names.join(", ")
        )),
        (Some(wanted), _) => {
            let found = all.iter().find(|way| way.sharing.eq_ignore_ascii_case(wanted));
            found.ok_or_else(|| format!("the run has no {wanted}, but {}", names.join(", ")))
        }
    }
}

/// Networks beside loads, of all runs. What they suffer and cause, or nothing where there are too few frames.
#[derive(Default)]
struct BesideLoads {
    loads: Vec<(String, f64)>,
    networks: Vec<(String, Vec<Option<[f64; 2]>>)>,
}

impl BesideLoads {
    /// Adds the networks of a run that were run beside its stressors; gives all of its networks.
    ///
    /// # Errors
    /// A sentence: two stressors with the same load, a network of a run before.
    fn add(&mut self, summary: &Summary, way: &Way) -> Result<Vec<String>, String> {
        let sensitivity = || {
            let own = summary.interference.sensitivity.iter();
            own.filter(|own| own.sharing == way.sharing)
        };
        let stressors: Vec<&str> = sensitivity()
            .flat_map(|own| own.points.iter().map(|point| point.stressor.as_str()))
            .collect();
        let mut networks: Vec<String> = Vec::new();
        for cell in &way.cells {
            if !stressors.contains(&cell.tenant.as_str()) && !networks.contains(&cell.tenant) {
                networks.push(cell.tenant.clone());
            }
        }
        for network in &networks {
            let mut own: Vec<Option<[f64; 2]>> = Vec::new();
            let mut stressors = BTreeMap::<usize, &str>::new();
            for of in sensitivity().filter(|of| of.tenant == *network) {
                for point in &of.points {
                    let load = (of.resource.clone(), point.level);
                    let place = self
                        .loads
                        .iter()
                        .position(|known| *known == load)
                        .unwrap_or_else(|| {
                            self.loads.push(load);
                            self.loads.len() - 1
                        });
                    if let Some(other) = stressors.insert(place, &point.stressor) {
                        return Err(format!(
                            "{other} and {} are the same load, {} at {}; leave one of them out of the scenario",
                            point.stressor, of.resource, point.level
                        ));
                    }
                    own.resize(own.len().max(place + 1), None);
                    let is_it =
                        |cell: &&Cell| cell.tenant == point.stressor && cell.with == [network.clone()];
                    let caused = way.cells.iter().find(is_it).and_then(p50);
                    let suffered = point.slowdown.as_ref().and_then(|slowdown| slowdown.of_frames);
                    own[place] = suffered.zip(caused).map(|(suffers, causes)| [suffers, causes]);
                }
            }
            if own.is_empty() {
                say(&format!("{network} was run beside no stressor in this run"));
            } else if self.networks.iter().any(|(known, _)| known == network) {
                return Err(format!(
                    "{network} was run beside stressors in a run before, too; leave one of them out"
                ));
            } else {
                self.networks.push((network.clone(), own));
            }
        }
        Ok(networks)
    }

    /// Every network beside every load, without those that lack frames.
    ///
    /// # Errors
    /// No load is left; what the data refuse.
    fn give(self, data: &mut PairData) -> Result<(), WrongUse> {
        let at = |own: &[Option<[f64; 2]>], load: usize| own.get(load).copied().flatten();
        let known: Vec<Vec<bool>> = self
            .networks
            .iter()
            .map(|(_, own)| {
                (0..self.loads.len())
                    .map(|load| at(own, load).is_some())
                    .collect()
            })
            .collect();
        let (networks, loads) = whole(&known);
        if !loads.is_empty() && !loads.contains(&true) {
            return Err(WrongUse(
                "no load has 30 frames or more beside every network, and every network beside it: run for longer".to_owned(),
            ));
        }
        for ((resource, level), kept) in self.loads.iter().zip(&loads) {
            if !kept {
                say(&format!(
                    "the load {resource} at {level} is left out: too many networks have fewer than 30 frames beside it, or it beside them; run for longer"
                ));
            }
        }
        for ((network, own), kept) in self.networks.iter().zip(networks) {
            if !kept {
                say(&format!(
                    "{network} is left out: it has fewer than 30 frames beside loads, or they beside it; run for longer"
                ));
                continue;
            }
            let kept = self
                .loads
                .iter()
                .enumerate()
                .zip(&loads)
                .filter(|(_, kept)| **kept);
            let meetings = kept.filter_map(|((load, (resource, level)), _)| {
                let [suffers, causes] = at(own, load)?;
                Some(Meeting {
                    resource: resource.clone(),
                    level: *level,
                    suffers,
                    causes,
                })
            });
            data.add_network(network, meetings.collect())
                .map_err(WrongUse::because)?;
        }
        Ok(())
    }
}

/// Which rows and columns stay so that all of them is known: the row or column of which most lacks goes first, of equals the column.
fn whole(known: &[Vec<bool>]) -> (Vec<bool>, Vec<bool>) {
    let mut rows = vec![true; known.len()];
    let mut columns = vec![true; known.first().map_or(0, Vec::len)];
    loop {
        let lacking = |row: usize, column: usize| rows[row] && columns[column] && !known[row][column];
        let all_rows = rows.iter().filter(|kept| **kept).count().max(1) as f64;
        let all_columns = columns.iter().filter(|kept| **kept).count().max(1) as f64;
        let of_row =
            |row| (0..columns.len()).filter(|column| lacking(row, *column)).count() as f64 / all_columns;
        let of_column =
            |column| (0..rows.len()).filter(|row| lacking(*row, column)).count() as f64 / all_rows;
        let most = |parts: Vec<f64>| {
            let greatest = parts.iter().copied().enumerate();
            greatest.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best })
        };
        let row = most((0..rows.len()).map(of_row).collect());
        let column = most((0..columns.len()).map(of_column).collect());
        match (row.1 > column.1, column.1 > 0.0) {
            (true, _) => rows[row.0] = false,
            (false, true) => columns[column.0] = false,
            (false, false) => break,
        }
    }
    (rows, columns)
}

/// Of the frames as they were, since the model's intervals come from rows that are left out, and not from those of rows.
fn p50(cell: &Cell) -> Option<f64> {
    cell.slowdown.as_ref().and_then(|slowdown| slowdown.of_frames)
}

#[cfg(test)]
mod tests {
    use jetlag_predict::pairs::PairData;

    use super::{BesideLoads, whole};

    #[test]
    fn without_a_load_of_enough_frames_it_says_to_run_for_longer() {
        let beside_loads = BesideLoads {
            loads: vec![("Compute".to_owned(), 0.5), ("Dram".to_owned(), 0.5)],
            networks: vec![
                ("a".to_owned(), vec![None, None]),
                ("b".to_owned(), vec![None, None]),
            ],
        };
        let wrong = beside_loads.give(&mut PairData::new("made")).unwrap_err();
        assert!(wrong.to_string().contains("no load has 30 frames"), "{wrong}");
        assert!(BesideLoads::default().give(&mut PairData::new("made")).is_ok());
    }

    #[test]
    fn what_lacks_most_goes_first_and_what_stays_is_whole() {
        let table = |rows: &[&str]| -> Vec<Vec<bool>> {
            rows.iter()
                .map(|row| row.chars().map(|cell| cell == 'x').collect())
                .collect()
        };
        assert_eq!(whole(&[]), (vec![], vec![]));
        // One load beside which nobody has a median, and one network that has hardly any.
        let known = table(&["xx-x", "xx-x", "x---", "xx-x"]);
        assert_eq!(
            whole(&known),
            (vec![true, true, false, true], vec![true, true, false, true])
        );
        assert_eq!(whole(&table(&["--", "--"])).1, [false, false]);
        for bits in 0..512_u32 {
            let known: Vec<Vec<bool>> = (0..3)
                .map(|row| (0..3).map(|column| bits >> (3 * row + column) & 1 == 1).collect())
                .collect();
            let (rows, columns) = whole(&known);
            for row in (0..3).filter(|row| rows[*row]) {
                assert!(
                    (0..3).all(|column| !columns[column] || known[row][column]),
                    "{bits}"
                );
            }
        }
    }
}
