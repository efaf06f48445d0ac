//! Runs a point and writes what came of it into the journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::analysis::figures::Figure;
use jetlag_figure::Unit;
use jetlag_sweep::journal::RunEntry;
use jetlag_sweep::knee::broken_by_less;
use jetlag_sweep::{Column, Estimate, Figures, Setting, of_run};
use serde_json::Value;

use super::checked::{self, Base};
use super::cool::Cooler;
use super::folder::Folder;
use super::machine;
use super::plans::{Built, Plans};
use super::watched::Files;
use crate::analysis::Expectation;
use crate::commands::failures::Refusal;
use crate::commands::outcome::WrongUse;
use crate::commands::runs::{self, Ended, Job};
use crate::record::{Failure, FailureKind, FailureStage, RunReader};

/// Characters of a message that a row keeps.
const MOST_MESSAGE: usize = 600;
/// Beyond an int64, other programs do not read a seed.
const SEEDS: u64 = i64::MAX as u64;

/// What all runs have in common.
pub(super) struct Runner {
    pub(super) folder: Folder,
    pub(super) scenario: PathBuf,
    pub(super) base: Base,
    /// Files of axes.
    pub(super) files: Files,
    /// The base's own seed.
    pub(super) seed: u64,
    pub(super) limit: Option<Duration>,
    pub(super) cooler: Cooler,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) plans: Plans,
    /// Whether what is waited for is said.
    pub(super) says: bool,
    /// Whether programs that the scenario names may be started.
    pub(super) allow_commands: bool,
    /// Promises of a search, which each run judges.
    pub(super) promises: Vec<Expectation>,
}

/// A run that is finished, and in the journal.
pub(super) struct Finished {
    pub(super) entry: RunEntry,
    /// Why a promise could not be decided, in a sentence.
    pub(super) undecided: Option<String>,
}

/// The figure of a promise, from 1.
pub(super) fn promise(number: usize) -> String {
    format!("promise.{number}")
}

impl Runner {
    /// Runs a point once; none where it was interrupted.
    pub(super) fn one(
        &mut self,
        settings: &[Setting],
        id: &str,
        repeat: u32,
    ) -> anyhow::Result<Option<Finished>> {
        if !self.base.is_unchanged(&self.scenario) {
            return Err(WrongUse(format!(
                "{} has changed while the sweep ran: what follows would be of another scenario. What is finished is kept; restore the file, or \
                 begin anew in another folder",
                self.scenario.display()
            ))
            .into());
        }
        if let Some(file) = self.files.changed() {
            return Err(WrongUse(format!(
                "{} has changed while the sweep ran, or is gone: what follows would be of another network. What is finished is kept; restore the \
                 file, or begin anew in another folder",
                file.display()
            ))
            .into());
        }
        let unbuilt = match self.ready(settings)? {
            Built::Yes => None,
            Built::No(failure) => Some(failure),
            Built::Interrupted => return Ok(None),
        };
        let began = Instant::now();
        let began_unix_s = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64());
        let names_seed = settings.iter().any(|setting| setting.path == "seed");
        // Runs of one round draw alike: the same arrivals, the same scenes.
        let seed = (!names_seed).then(|| self.seed.wrapping_add(u64::from(repeat)) & SEEDS);
        let name = Folder::file_of(id, repeat);
        let file = self.folder.path().join(&name);
        let came = match unbuilt {
            Some(failure) => Came::of(Failure {
                message: shortened(&failure.message),
                ..failure
            }),
            None => match self.run(settings, seed, &file)? {
                Some(came) => came,
                None => {
                    // What there is of an interrupted run is of no use: it is made again.
                    let _ = std::fs::remove_file(&file);
                    return Ok(None);
                }
            },
        };
        let is_there = file.is_file();
        let entry = RunEntry {
            point: id.to_owned(),
            settings: settings.to_vec(),
            repeat,
            seed,
            began_unix_s,
            took_s: began.elapsed().as_secs_f64(),
            file: is_there.then_some(name),
            failed: came.failed,
            findings: came.findings,
            networks: networks(&file),
            columns: None,
            figures: Vec::new(),
        };
        let entry = self.folder.journal.finished(entry, came.figures)?;
        Ok(Some(Finished {
            entry,
            undecided: came.undecided,
        }))
    }

    /// Builds what a point lacks.
    pub(super) fn ready(&mut self, settings: &[Setting]) -> anyhow::Result<Built> {
        let of = (self.scenario.as_path(), &self.base);
        self.plans
            .build(of, settings, self.folder.path(), &self.stop, self.says)
    }

    /// Waits until the machine has cooled down, and runs; none where it was interrupted.
    fn run(&self, settings: &[Setting], seed: Option<u64>, file: &Path) -> anyhow::Result<Option<Came>> {
        self.cooler.down(&self.stop);
        let mut sets = checked::overrides(&self.base, settings);
        if !self.promises.is_empty() {
            let texts: Vec<&str> = self.promises.iter().map(Expectation::text).collect();
            sets.push(format!("expect={}", serde_json::to_string(&texts)?));
        }
        let job = Job {
            scenario: &self.scenario,
            sets: &sets,
            seed,
            file,
            limit: self.limit,
            tied: true,
            build_only: None,
            allow_commands: self.allow_commands,
        };
        let ended = runs::run(&job, &self.stop)?;
        self.came(ended, file)
    }

    /// What came of a run; none where it was interrupted, and an error where the machine failed.
    fn came(&self, ended: Ended, file: &Path) -> anyhow::Result<Option<Came>> {
        Ok(match ended {
            Ended::Interrupted => None,
            Ended::Ran { code, summary, said } => Some(match figures_of(&summary) {
                Ok((summary, figures)) => self.ran(code, &summary, of_run(&figures), &said),
                Err(error) => Came::failed(
                    FailureStage::Save,
                    FailureKind::Other,
                    &format!("its summary cannot be read: {error}"),
                ),
            }),
            Ended::TimeLimit => {
                let limit = self.limit.map_or(0.0, |limit| limit.as_secs_f64());
                let said = format!("it took longer than {limit} s (`limit`), and was ended");
                Some(Came::failed(FailureStage::Run, FailureKind::TimeLimit, &said))
            }
            Ended::Failed {
                status,
                said,
                failures,
                refused,
            } => {
                if refused.is_some() {
                    // A run that stops is made again; what is written down needs the room.
                    let _ = std::fs::remove_file(file);
                }
                if refused == Some(Refusal::Disk) {
                    return Err(machine::stops(runs::error_of(&said), self.folder.path()));
                }
                if let Some(failure) = failures.into_iter().next() {
                    return Ok(Some(Came::of(Failure {
                        message: shortened(&failure.message),
                        ..failure
                    })));
                }
                if refused == Some(Refusal::TooLarge) {
                    return Ok(Some(Came::failed(
                        FailureStage::Save,
                        FailureKind::DiskFull,
                        runs::error_of(&said),
                    )));
                }
                let said = match said.is_empty() {
                    true => format!("it ended without a word ({status})"),
                    false => said,
                };
                Some(match status.code() {
                    None => Came::failed(FailureStage::Run, FailureKind::Died, &format!("{status}: {said}")),
                    Some(2) => Came::failed(FailureStage::Start, FailureKind::Other, &said),
                    Some(_) => Came::failed(FailureStage::Run, FailureKind::Other, &said),
                })
            }
        })
    }

    fn ran(&self, code: i32, summary: &Value, mut figures: Figures, said: &str) -> Came {
        let tenants = summary.get("tenants").and_then(Value::as_array);
        let failed = tenants
            .into_iter()
            .flatten()
            .find_map(|tenant| serde_json::from_value::<Failure>(tenant.get("failed")?.clone()).ok());
        let failed = failed
            .or_else(|| (code == 1).then(|| Came::failure(FailureStage::Run, FailureKind::Other, said)));
        let findings = summary.pointer("/run/findings").and_then(Value::as_array);
        let word = |finding: &Value, field: &str| finding.get(field)?.as_str().map(str::to_owned);
        let mut codes: Vec<String> = Vec::new();
        for code in findings
            .into_iter()
            .flatten()
            .filter_map(|finding| word(finding, "code"))
        {
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        let undecided = findings.into_iter().flatten().find_map(|finding| {
            let is_meant = word(finding, "code")? == "expectation-undecided";
            is_meant.then(|| word(finding, "message")).flatten()
        });
        let promised = self.promised(summary, &figures);
        figures.extend(promised);
        Came {
            failed: failed.map(|failure| Failure {
                message: shortened(&failure.message),
                ..failure
            }),
            findings: codes,
            figures,
            undecided,
        }
    }

    /// What the promises of a search were judged by.
    fn promised(&self, summary: &Value, figures: &Figures) -> Figures {
        let judged = summary.get("expectations").and_then(Value::as_array);
        let figure = |place: usize| {
            let judged = judged.and_then(|all| all.get(place));
            let ends = judged
                .and_then(|one| one.get("ci95")?.as_array())
                .and_then(|ends| Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?]));
            Estimate {
                value: judged.and_then(|one| one.get("value")?.as_f64()),
                ci95: ends,
            }
        };
        let of_run = |name: &str| {
            let found = figures.iter().find(|(column, _)| column.name == name);
            found.map_or(Estimate::default(), |(_, figure)| *figure)
        };
        let known = |(place, promise): (usize, &Expectation)| {
            let own = figure(place);
            let figure = match own.value {
                Some(_) => own,
                None => broken_by_less(
                    &promise.key().to_string(),
                    &|value| promise.holds_for(value),
                    of_run,
                )
                .unwrap_or(own),
            };
            (Column::new(self::promise(place + 1), Unit::Factor), figure)
        };
        self.promises.iter().enumerate().map(known).collect()
    }
}

/// A summary in its machine form, and the figures in it.
fn figures_of(json: &[u8]) -> Result<(Value, Vec<Figure>), serde_json::Error> {
    let mut summary: Value = serde_json::from_slice(json)?;
    let figures = summary.get_mut("figures").map(Value::take).unwrap_or_default();
    Ok((summary, serde_json::from_value(figures)?))
}

/// What came of a run.
struct Came {
    failed: Option<Failure>,
    findings: Vec<String>,
    figures: Figures,
    undecided: Option<String>,
}

impl Came {
    fn of(failure: Failure) -> Came {
        Came {
            failed: Some(failure),
            findings: Vec::new(),
            figures: Vec::new(),
            undecided: None,
        }
    }

    fn failed(stage: FailureStage, kind: FailureKind, message: &str) -> Came {
        Came::of(Came::failure(stage, kind, message))
    }

    fn failure(stage: FailureStage, kind: FailureKind, message: &str) -> Failure {
        Failure {
            stage,
            kind,
            tenant: None,
            message: shortened(message),
        }
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST_MESSAGE) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The networks that the tenants loaded.
fn networks(file: &Path) -> BTreeMap<String, String> {
    let Ok(reader) = RunReader::open(file) else {
        return BTreeMap::new();
    };
    let of = |tenant: &crate::record::TenantManifest| {
        let hashes: Vec<&str> = tenant
            .networks
            .iter()
            .map(|network| network.blake3.as_str())
            .collect();
        (!hashes.is_empty()).then(|| (tenant.name.clone(), hashes.join("+")))
    };
    reader.manifest().tenants.iter().filter_map(of).collect()
}
