//! `jetlag deploy HOST SCENARIO`: a run on a board, from here.
//!
//! ```text
//! $ jetlag deploy nvidia@orin configs/demo.ron
//! nvidia@orin: aarch64, 6 processors, glibc 2.35, 31.2 GiB free in /home/nvidia/jetlag
//! copied 7 of 7 files (14.9 MiB)
//! !!  TensorRT: not found → Install TensorRT 8.5 or later (on Jetson: the nvidia-jetpack package), …
//! running demo-20261121-140509
//! …
//! runs/demo-20261121-140509.mcap
//! ```
//!
//! What is asked of the board is [`crate::deploy`]'s; here are the order, and what is said. The summary is made here,
//! from the run file that was brought, by the code of `jetlag report`. What a sweep needs beside is in `sweep`.

mod sweep;

use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;

use anyhow::Context;
use serde_json::Value;

use super::expectation;
use super::outcome::{Outcome, WrongUse};
use super::output::say;
use super::programs;
use super::report;
use super::run_path::unix_seconds;
use super::signals::stop_in_order_on_signals;
use crate::cli::DeployArgs;
use crate::deploy::copy::{self, BINARY};
use crate::deploy::payload::{self, Item, Payload};
use crate::deploy::screen::{self, Screen};
use crate::deploy::session::{self, Board, Manifests, Order, RemoteRun, State};
use crate::deploy::ssh::Host;
use crate::deploy::{DeployError, RunThere, Stop};
use crate::files;
use crate::record::Utc;
use crate::scenario::{self, ResolveEnv, Scenario};
use crate::shell;
use crate::units::Bytes;
use sweep::Results;

/// Where runs go that are brought.
const RUNS: &str = "runs";
/// The glibc that `scripts/cross.sh` builds for unless it is told another.
const BUILT_FOR: &str = "2.31";

/// Runs a scenario on a board, or fetches the last run there.
pub fn run(args: &DeployArgs) -> anyhow::Result<Outcome> {
    let stop = stop_in_order_on_signals()?;
    let mut there = RunThere::default();
    let ended = deploy(args, &stop, &mut there);
    let Err(error) = &ended else { return ended };
    let Some(error) = error.downcast_ref::<DeployError>() else {
        return ended;
    };
    if error.leaves_run_open()
        && let Some(sentence) = there.sentence(&args.host)
    {
        say(&sentence);
    }
    match error {
        DeployError::Interrupted { .. } => {
            say(&error.to_string());
            Ok(Outcome::Interrupted)
        }
        _ => ended,
    }
}

fn deploy(args: &DeployArgs, stop: &Stop, there: &mut RunThere) -> anyhow::Result<Outcome> {
    if args.host.is_empty() || args.host.starts_with('-') {
        return Err(WrongUse(format!(
            "`{}` is not a host; name one as for ssh, such as nvidia@orin",
            args.host
        ))
        .into());
    }
    for (what, path) in [("scenario", &args.scenario), ("sweep", &args.sweep)] {
        if let Some(path) = path.as_deref().filter(|path| !path.is_file()) {
            return Err(WrongUse(format!("{what} {} does not exist", path.display())).into());
        }
    }
    let host = Host::new(&args.host, &args.ssh_options, stop.clone())?;
    let board = session::probe(&host, folder(args))?;
    say(&format!(
        "{}: {}, {} processors, glibc {}, {} free in {}",
        args.host, board.machine, board.processors, board.glibc, board.free, board.folder
    ));
    let (run, results) = match (&args.scenario, &args.sweep) {
        (Some(path), _) => (start(args, &host, &board, path, there)?, None),
        (None, Some(path)) => {
            let (run, results) = sweep::start(args, &host, &board, path, there)?;
            (run, Some(results))
        }
        (None, None) => {
            let run = last(args, &host, &board, there)?;
            match &board.sweep {
                Some(name) if args.resume => sweep::resume(args, &host, &board, name, run, there)?,
                None if args.resume => return Err(sweep::no_sweep(args, &board).into()),
                name => (run, name.as_deref().map(|name| Results::of(args, name))),
            }
        }
    };
    if args.detach {
        say(&format!(
            "the run continues on the board; fetch it with: jetlag deploy {} --fetch",
            shell::word(&args.host)
        ));
        return Ok(Outcome::Done);
    }
    match results {
        None => finish(args, &run, stop, there),
        Some(mut results) => sweep::finish(args, (&host, &board), &run, &mut results, (stop, there)),
    }
}

/// The last run that was started there.
fn last<'a>(
    args: &DeployArgs,
    host: &'a Host,
    board: &'a Board,
    there: &mut RunThere,
) -> Result<RemoteRun<'a>, DeployError> {
    let Some((name, state)) = &board.last else {
        return Err(DeployError::NoRun {
            host: args.host.clone(),
            folder: board.folder.clone(),
        });
    };
    *there = match state {
        State::Running => RunThere::UnderWay,
        State::Ended(_) | State::Cut => RunThere::Ended,
    };
    Ok(RemoteRun::named(host, &board.folder, name))
}

/// `~/x` and `x` are the same on the board, where paths start at home.
fn folder(args: &DeployArgs) -> &str {
    args.folder.strip_prefix("~/").unwrap_or(&args.folder)
}

/// Brings everything to the board, examines it, and starts the run.
fn start<'a>(
    args: &DeployArgs,
    host: &'a Host,
    board: &'a Board,
    path: &Path,
    there: &mut RunThere,
) -> anyhow::Result<RemoteRun<'a>> {
    *there = RunThere::NotBegun;
    refuse_another(args, board)?;
    let scenario = resolve(args, board, path)?;
    programs::refuse(&scenario, args.allow_commands)?;
    let mut payload = Payload::of(path, &scenario)?;
    let jetlag = bring(args, host, board, &mut payload)?;
    let name = run_name(&scenario.name);
    let mut words = vec![
        jetlag,
        "run".to_owned(),
        format!("{}/{}", board.folder, payload.main),
        "--out".to_owned(),
        format!("{0}/runs/{name}/{name}.mcap", board.folder),
    ];
    words.extend(set_words(payload.sets(&board.folder).iter().chain(&args.sets)));
    words.extend(args.allow_commands.then(|| "--allow-commands".to_owned()));
    let terminal = terminal(args, board);
    words.push(if terminal.is_some() { "--live" } else { "--quiet" }.to_owned());
    say(&format!("running {name}"));
    let order = Order {
        name,
        words,
        terminal,
        sweep: None,
    };
    Ok(RemoteRun::start(host, &board.folder, &order, there)?)
}

fn run_name(name: &str) -> String {
    format!("{name}-{}", Utc::of(unix_seconds()).compact())
}

fn set_words<'a>(sets: impl Iterator<Item = &'a String>) -> impl Iterator<Item = String> {
    sets.flat_map(|set| ["--set".to_owned(), set.clone()])
}

fn refuse_another(args: &DeployArgs, board: &Board) -> Result<(), DeployError> {
    match &board.last {
        Some((name, State::Running)) => Err(DeployError::Busy {
            host: args.host.clone(),
            name: name.clone(),
        }),
        _ => Ok(()),
    }
}

/// Brings everything to the board and examines it; jetlag's path there.
fn bring(args: &DeployArgs, host: &Host, board: &Board, payload: &mut Payload) -> anyhow::Result<String> {
    let arch = cross_name(args, board)?;
    let binary = binary(args, board, arch)?;
    let shown = binary.local.display().to_string();
    payload.items.insert(binary);
    let sent = copy::send(host, &board.folder, board.free, &payload.items, &payload.only)?;
    say(&format!(
        "copied {} of {} files ({})",
        sent.files,
        sent.files + sent.kept,
        sent.bytes
    ));
    let jetlag = format!("{}/{BINARY}", board.folder);
    starts(args, host, board, &jetlag, &shown, arch)?;
    if !args.no_doctor {
        doctor(args, host, &jetlag)?;
    }
    Ok(jetlag)
}

/// The scenario as the board will resolve it, so that its mistakes are told before anything is copied.
fn resolve(args: &DeployArgs, board: &Board, path: &Path) -> anyhow::Result<Scenario> {
    let resolved = scenario::load(path, &args.sets, &env(board));
    Ok(resolved.map_err(|problems| WrongUse(problems.to_string()))?)
}

/// The board, as far as a scenario depends on it.
fn env(board: &Board) -> ResolveEnv {
    ResolveEnv {
        cpus: (0..board.processors).collect(),
        // Whether they are there is for the board to say.
        gpu: Some("the board's GPU".to_owned()),
        no_gpu: None,
        tensorrt: Some("of the board".to_owned()),
        check_expectation: Some(expectation::check),
    }
}

/// The jetlag for the board: the one named, this one, or what `scripts/cross.sh` left below the current folder.
fn binary(args: &DeployArgs, board: &Board, arch: &'static str) -> anyhow::Result<Item> {
    let path = match &args.binary {
        Some(path) => path.clone(),
        None => {
            let built = PathBuf::from(format!("target/{}-unknown-linux-gnu/dist/jetlag", board.machine));
            if built.is_file() {
                built
            } else if board.machine == std::env::consts::ARCH {
                std::env::current_exe().context("cannot find this program's own file")?
            } else {
                return Err(DeployError::NoBinary {
                    board_is: board.machine.clone(),
                    tried: built.display().to_string(),
                    arch,
                }
                .into());
            }
        }
    };
    let mut item = payload::item(&path)?;
    BINARY.clone_into(&mut item.remote);
    // What is no ELF file, such as a script that starts an emulator, is the board's to judge.
    match elf_machine(&item.local)? {
        Some((machine, shown)) if machine != board.machine => Err(DeployError::Architecture {
            binary: path.display().to_string(),
            binary_is: shown,
            host: args.host.clone(),
            board_is: board.machine.clone(),
            arch,
        }
        .into()),
        _ => Ok(item),
    }
}

/// What `scripts/cross.sh` calls the board's processors; it builds for no others.
fn cross_name(args: &DeployArgs, board: &Board) -> Result<&'static str, DeployError> {
    match board.machine.as_str() {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(DeployError::Processors {
            host: args.host.clone(),
            board_is: other.to_owned(),
        }),
    }
}

/// What builds a jetlag that starts on a board with this glibc.
fn build_for(arch: &str, has: &str) -> String {
    let numbers = version(has);
    // What is no version says nothing.
    if numbers.is_empty() || numbers >= version(BUILT_FOR) {
        format!("build one for glibc {BUILT_FOR} with `scripts/cross.sh --arch {arch}`")
    } else {
        format!("build one for glibc {has} with `scripts/cross.sh --arch {arch} --glibc {has}`")
    }
}

/// The numbers of a version, in order.
fn version(text: &str) -> Vec<u32> {
    text.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// The machine that an ELF file is for, as `uname -m` has it and as it is shown; none where it is no ELF file.
fn elf_machine(path: &Path) -> anyhow::Result<Option<(&'static str, &'static str)>> {
    let mut head = [0; 20];
    let mut file = files::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let elf = file.read_exact(&mut head).is_ok() && head.starts_with(b"\x7fELF");
    // e_machine of the ELF header, little-endian on all machines that jetlag is built for.
    Ok(elf.then(|| match u16::from_le_bytes([head[18], head[19]]) {
        62 => ("x86_64", "x86-64"),
        183 => ("aarch64", "aarch64"),
        _ => ("other", "another processor architecture"),
    }))
}

/// Whether the binary starts there; its loader says best what is in the way.
fn starts(
    args: &DeployArgs,
    host: &Host,
    board: &Board,
    jetlag: &str,
    shown: &str,
    arch: &str,
) -> Result<(), DeployError> {
    let call = host.start(&[jetlag, "--version"], Stdio::null(), Stdio::null())?;
    let Err(error) = call.finish("starting jetlag") else {
        return Ok(());
    };
    let DeployError::Board { said, .. } = &error else {
        return Err(error);
    };
    let newest = said
        .split('`')
        .filter_map(|part| part.strip_prefix("GLIBC_")?.split('\'').next())
        .max_by_key(|text| version(text));
    Err(match newest {
        Some(needs) => DeployError::OldGlibc {
            binary: shown.to_owned(),
            needs: needs.to_owned(),
            host: args.host.clone(),
            has: board.glibc.clone(),
            fix: build_for(arch, &board.glibc),
        },
        None => error,
    })
}

/// Says what the board lacks; nothing of it keeps a run from starting.
fn doctor(args: &DeployArgs, host: &Host, jetlag: &str) -> anyhow::Result<()> {
    let call = host.start(
        &[jetlag, "doctor", "--format", "json"],
        Stdio::null(),
        Stdio::piped(),
    )?;
    let examined = call.output("the examination")?;
    let Ok(document) = serde_json::from_slice::<Value>(&examined.out) else {
        // Its exit code says that there are gaps; anything else that kept it from answering is an error.
        examined.ended?;
        return Ok(());
    };
    let checks = document["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    for gap in checks.iter().filter(|check| check["status"] == "gap") {
        let fix = match of(gap, "fix") {
            fix if fix.is_empty() => fix,
            fix => format!(" → {fix}"),
        };
        say(&format!(
            "!!  {}: {}{fix}",
            of(gap, "subject"),
            of(gap, "meaning")
        ));
    }
    let lacks: Vec<&str> = ["CUDA driver", "TensorRT"]
        .into_iter()
        .filter(|subject| {
            let check = checks.iter().find(|check| check["subject"] == *subject);
            check.is_some_and(|check| check["found"].is_null())
        })
        .collect();
    if !lacks.is_empty() {
        say(&format!(
            "{} has no {}: tenants with `backend: Auto` run on its CPU. To measure its GPU, install JetPack's libraries there (sudo apt install nvidia-jetpack).",
            args.host,
            lacks.join(" and no ")
        ));
    }
    Ok(())
}

/// The size of this terminal, where the dashboard can be shown on it.
fn terminal(args: &DeployArgs, board: &Board) -> Option<(u16, u16)> {
    if args.quiet || args.detach || !board.has_terminal || !std::io::stderr().is_terminal() {
        return None;
    }
    let (columns, rows) = ratatui::crossterm::terminal::size().ok()?;
    Some((rows, columns))
}

/// Watches the run to its end, brings its files, and prints the summary.
fn finish(args: &DeployArgs, run: &RemoteRun, stop: &Stop, there: &mut RunThere) -> anyhow::Result<Outcome> {
    let state = follow(args, run, stop, there)?;
    let out = args.out.as_deref().unwrap_or(Path::new(RUNS));
    let brought = run.bring(out, at_most(args))?;
    if let Some(manifests) = &brought.manifests {
        say(&said_of(manifests));
    }
    let Some(path) = &brought.run else {
        if state == State::Ended(130) {
            say(&format!(
                "the run on {} was stopped before it had a run file",
                args.host
            ));
            return Ok(Outcome::Interrupted);
        }
        let said = brought.log.as_deref().map(end_of).unwrap_or_default();
        let code = match state {
            State::Ended(code) => format!("it ended with {code}"),
            _ => "it was cut off".to_owned(),
        };
        anyhow::bail!(
            "the run on {} left no run file: {code}\n{}",
            args.host,
            said.trim()
        );
    };
    say(&path.display().to_string());
    let outcome = report::show(path, args.format.into(), None)?;
    match state {
        State::Ended(0 | 3 | 4) => Ok(outcome),
        State::Ended(130) => Ok(Outcome::Interrupted),
        _ if stop.asked.load(Ordering::Relaxed) => Ok(Outcome::Interrupted),
        State::Ended(code) => {
            anyhow::bail!(
                "the run on {} ended with {code}; its results are above",
                args.host
            )
        }
        _ => anyhow::bail!(
            "the run on {} was cut off (the board went down, its disk is full, or it was killed); its results are above",
            args.host
        ),
    }
}

/// Watches it to its end.
fn follow(
    args: &DeployArgs,
    run: &RemoteRun,
    stop: &Stop,
    there: &mut RunThere,
) -> Result<State, DeployError> {
    let state = {
        // The summary alone goes to stdout.
        let screen =
            (!args.quiet).then(|| Screen::new(Box::new(std::io::stderr()), std::io::stderr().is_terminal()));
        run.follow(screen.as_ref())
    };
    if stop.asked.load(Ordering::Relaxed) && *there == RunThere::UnderWay {
        *there = RunThere::Ending;
    }
    let state = state?;
    *there = RunThere::Ended;
    Ok(state)
}

fn at_most(args: &DeployArgs) -> Bytes {
    Bytes(args.at_most << 30)
}

/// The last that a log says.
fn end_of(log: &Path) -> String {
    const LENGTH: u64 = 16 << 10;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LENGTH)))?;
        let mut end = Vec::new();
        file.take(LENGTH).read_to_end(&mut end)?;
        Ok(end)
    };
    screen::as_text(&read().unwrap_or_default())
}

/// Where the manifests are, and what was done with them if some lay there already.
fn said_of(manifests: &Manifests) -> String {
    let mut said = format!("manifests of its plans: {}", manifests.folder.display());
    if manifests.same > 0 || !manifests.others.is_empty() {
        said += &format!(" ({} new, {} already there)", manifests.new, manifests.same);
    }
    if !manifests.others.is_empty() {
        said += &format!(
            "; these differ from the board's and were not replaced: {}",
            manifests.others.join(", ")
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jetlag_is_advised_that_starts_with_the_board_s_glibc() {
        let usual = "build one for glibc 2.31 with `scripts/cross.sh --arch arm64`";
        for has in ["2.31", "2.35", ""] {
            assert_eq!(build_for("arm64", has), usual, "{has}");
        }
        // JetPack 4; as text, 2.4 would be newer.
        for has in ["2.27", "2.4"] {
            let fix = build_for("arm64", has);
            assert!(
                fix.ends_with(&format!("--arch arm64 --glibc {has}`")),
                "{has}: {fix}"
            );
        }
    }
}
