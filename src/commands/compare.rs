//! `jetlag compare`: which of two is faster, by how much, and how sure that is.
//!
//! ```text
//! $ jetlag compare --ab yolo-fp32.ron yolo-fp16.ron --rounds 5
//! …
//! B DIFFERS FROM A  joint 95 % confidence
//!   ▼  camera  p50: B is 12 % faster (−13 to −11 %)
//!   =  camera  p99: no difference larger than 2.1 %
//! ```
//!
//! `--ab` takes turns: in each round both scenarios run once, in an order that the seed decides, so that a machine
//! that warms up does so for both. Every run is a process of its own, `jetlag run` as a person would start it; its
//! file is kept, and can be compared again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::outcome::{Outcome, WrongUse};
use super::output::{print_styled, say, style};
use super::phases::{length, phases};
use super::programs;
use super::report;
use super::run_path::{spare_files, unix_seconds};
use super::runs::{self, Ended, Job, resolved};
use super::signals::stop_on_signals;
use crate::analysis::compare::{self, By, Side};
use crate::cli::{CeilingsOf, CompareArgs, ResultFormat};
use crate::record::Utc;
use crate::scenario::{ClockKind, Scenario};
use crate::units::Nanos;

/// How often each scenario runs where nothing else is said.
const ROUNDS: u32 = 5;

/// Compares run files, or records and compares two scenarios.
pub fn run(args: &CompareArgs) -> anyhow::Result<Outcome> {
    if args.ab.is_empty() && (args.rounds.is_some() || !args.sets.is_empty() || args.out.is_some()) {
        let said = "--rounds, --set and --out need two scenarios: use --ab";
        return Err(WrongUse(said.to_owned()).into());
    }
    if let Some(page) = &args.html {
        if let Some(several) = args.runs.iter().find(|side| side.contains(',')) {
            let said = format!(
                "--html: a page compares single runs, but {several} is a side of several; leave --html out, or name one run a side"
            );
            return Err(WrongUse(said).into());
        }
        spare_files(page, args.force)?;
    }
    let mut interrupted = false;
    let sides = match &args.ab[..] {
        [a, b] => {
            let recorded = take_turns(a, b, args)?;
            interrupted = recorded.interrupted;
            recorded.sides
        }
        _ => args
            .runs
            .iter()
            .map(|side| from_files(side, by_rows(args)))
            .collect::<anyhow::Result<_>>()?,
    };
    if sides.len() < 2 {
        return Err(WrongUse(
            "cannot compare a single run: name two run files, or two scenarios with --ab".to_owned(),
        )
        .into());
    }
    let limits = limits(&args.fail_if, &sides)?;
    let compared = match by_rows(args) {
        Some(by) => compare::compare_by(by, &sides, &limits),
        None => compare::compare(&sides, &limits),
    };
    let comparison = compared.map_err(|error| WrongUse(error.to_string()))?;
    let mut out = Vec::new();
    match args.format {
        ResultFormat::Text => crate::report::compare::write(&comparison, &mut out, &style())?,
        ResultFormat::Github => crate::report::github::write_comparison(&comparison, &mut out)?,
        ResultFormat::Markdown => crate::report::compare::write_markdown(&comparison, &mut out)?,
        ResultFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &comparison)?;
            out.push(b'\n');
        }
    }
    let is_coloured = args.format == ResultFormat::Text && style().colour;
    print_styled(&String::from_utf8(out)?, is_coloured)?;
    if let Some(page) = &args.html {
        let files: Vec<PathBuf> = args.runs.iter().map(PathBuf::from).collect();
        report::write_page(&files, page, args.force, None, &CeilingsOf::default())?;
    }
    Ok(match (interrupted, comparison.fails(), comparison.is_judged()) {
        (true, _, _) => Outcome::Interrupted,
        (_, true, _) => Outcome::ExpectationBroken,
        // What was printed says what it would need.
        (_, _, false) => Outcome::WrongUse,
        (false, false, true) => Outcome::Done,
    })
}

/// What rows were asked for.
fn by_rows(args: &CompareArgs) -> Option<By> {
    let asked = [
        (args.stages, By::Stages),
        (args.layers, By::Layers),
        (args.kernels, By::Kernels),
    ];
    asked.into_iter().find(|(asked, _)| *asked).map(|(_, by)| by)
}

/// Reads the `--fail-if` lines; all that are wrong are told at once.
fn limits(lines: &[String], sides: &[Side]) -> anyhow::Result<Vec<compare::Limit>> {
    let tenants = compare::common_tenants(sides);
    let names: Vec<&str> = tenants.iter().map(String::as_str).collect();
    let (mut limits, mut problems) = (Vec::new(), Vec::new());
    // Where nothing can be compared, that is what there is to say.
    for line in lines.iter().filter(|_| !names.is_empty()) {
        match compare::parse_limit(line, &names) {
            Ok(limit) => limits.push(limit),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() {
        Ok(limits)
    } else {
        Err(WrongUse(problems.join("\n       ")).into())
    }
}

/// A side from run files: one, or several with commas between.
fn from_files(files: &str, by: Option<By>) -> anyhow::Result<Side> {
    let files: Vec<String> = files.split(',').map(str::to_owned).collect();
    refuse_repeated(&files)?;
    let runs = files
        .iter()
        .map(|file| Ok((file.clone(), report::sample_file(Path::new(file), by)?)))
        .collect::<anyhow::Result<_>>()?;
    let name = match &files[..] {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {} more", rest.len()),
        _ => files.concat(),
    };
    Ok(Side::new(name, runs, false))
}

/// A file that a side names twice is one run, however it is called.
fn refuse_repeated(files: &[String]) -> Result<(), WrongUse> {
    let mut known: Vec<(PathBuf, &String)> = Vec::new();
    for file in files {
        // What is not there is told when it is opened.
        let Ok(path) = std::fs::canonicalize(file) else {
            continue;
        };
        if let Some((_, earlier)) = known.iter().find(|(known, _)| *known == path) {
            let which = match *earlier == file {
                true => format!("{file} is named twice"),
                false => format!("{earlier} and {file} are one file"),
            };
            return Err(WrongUse(format!(
                "{which} in a side of several runs, but a run counts once; name each file once, or record more runs with other seeds"
            )));
        }
        known.push((path, file));
    }
    Ok(())
}

/// What was recorded of two scenarios.
struct Recorded {
    sides: Vec<Side>,
    interrupted: bool,
}

fn take_turns(a: &Path, b: &Path, args: &CompareArgs) -> anyhow::Result<Recorded> {
    let scenarios = [resolved(a, &args.sets)?, resolved(b, &args.sets)?];
    let allow_commands = programs::allowed(args.allow_commands);
    for scenario in &scenarios {
        programs::refuse(scenario, allow_commands)?;
    }
    let rounds = args.rounds.unwrap_or(ROUNDS);
    if rounds == 0 {
        return Err(WrongUse("--rounds must be at least 1".to_owned()).into());
    }
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => Path::new("runs").join(format!("compare-{}", Utc::of(unix_seconds()).compact())),
    };
    make_folder(&folder)?;
    if !args.quiet {
        say(&plan(&scenarios, rounds, &folder));
    }
    let stop = stop_on_signals()?;
    let mut order = Pcg64::seed_from_u64(scenarios[0].seed);
    let mut files: [Vec<PathBuf>; 2] = Default::default();
    'rounds: for round in 0..rounds {
        let first = usize::from(order.next_u64() >> 63 == 1);
        for side in [first, 1 - first] {
            let label = ["A", "B"][side];
            let file = folder.join(format!("{}-{label}.mcap", round + 1));
            if !args.quiet {
                say(&format!("round {} of {}: {label}", round + 1, rounds));
            }
            // Both of a round draw alike: the same arrivals, and the same scenes where the scenario leaves their seed open.
            let seed = scenarios[0].seed.wrapping_add(u64::from(round));
            if !record([a, b][side], &args.sets, (seed, allow_commands), &file, &stop)? {
                break 'rounds;
            }
            files[side].push(file);
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    if interrupted && files.iter().any(Vec::is_empty) {
        anyhow::bail!(
            "interrupted before both scenarios had run once; the recorded runs are in {}",
            folder.display()
        );
    }
    let sides = [a, b]
        .into_iter()
        .zip(&files)
        .map(|(scenario, files)| {
            let runs = files.iter().map(|file| {
                Ok((
                    file.display().to_string(),
                    report::sample_file(file, by_rows(args))?,
                ))
            });
            let runs = runs.collect::<anyhow::Result<_>>()?;
            Ok(Side::new(scenario.display().to_string(), runs, true))
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Recorded { sides, interrupted })
}

/// One run; false where it was interrupted.
pub(super) fn record(
    scenario: &Path,
    sets: &[String],
    (seed, allow_commands): (u64, bool),
    file: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<bool> {
    let job = Job {
        scenario,
        sets,
        seed: Some(seed),
        file,
        limit: None,
        tied: false,
        build_only: None,
        allow_commands,
    };
    let (status, said) = match runs::run(&job, stop)? {
        Ended::Interrupted => return Ok(false),
        Ended::Ran { code: 0 | 3 | 4, .. } => return Ok(true),
        Ended::Ran { code, said, .. } => (format!("exit status: {code}"), said),
        Ended::Failed { status, said, .. } => (status.to_string(), said),
        Ended::TimeLimit => ("it took too long".to_owned(), String::new()),
    };
    anyhow::bail!("a run of {} failed ({status}): {said}", scenario.display())
}

/// Makes the folder; one that holds anything already is refused, so that no run is written over.
fn make_folder(folder: &Path) -> anyhow::Result<()> {
    let made = std::fs::create_dir_all(folder);
    let empty = made.and_then(|()| Ok(std::fs::read_dir(folder)?.next().is_none()));
    match empty {
        Ok(true) => Ok(()),
        Ok(false) => Err(WrongUse(format!(
            "the folder {} is not empty; give another with --out",
            folder.display()
        ))
        .into()),
        Err(error) => Err(WrongUse(format!(
            "cannot make the folder {} for the run files: {error}; name a writable one with --out",
            folder.display()
        ))
        .into()),
    }
}

fn plan(scenarios: &[Scenario; 2], rounds: u32, folder: &Path) -> String {
    let of_one = |scenario: &Scenario| match scenario.clock {
        ClockKind::Virtual => Nanos::ZERO,
        ClockKind::Real => {
            let mut time = length(&phases(scenario));
            time += scenario.baseline.idle.unwrap_or(Nanos::ZERO);
            time
        }
    };
    let all = (of_one(&scenarios[0]) + of_one(&scenarios[1])) * i64::from(rounds);
    let time = match all {
        Nanos(0) => String::new(),
        time => format!(", about {:.0} s", time.as_secs_f64().ceil()),
    };
    format!("{rounds} rounds of both{time}; run files in {}", folder.display())
}
