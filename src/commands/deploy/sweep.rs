//! `jetlag deploy HOST --sweep SWEEP.ron`: a sweep on a board, which goes on where it ended.
//!
//! The board runs `jetlag sweep` as a person there would, from a copy of the current folder, so that all paths lead where they lead
//! here. Its results have a folder of their own there, which stays: after a lost connection, a reboot or Ctrl-C the same line goes on
//! with what is in it. They are brought into a folder here, which is then a sweep's folder like any other.

use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;

use jetlag_sweep::Point;
use jetlag_sweep::difference::Difference;
use jetlag_sweep::journal::{Entry, Header, decode};

use super::{RUNS, at_most, bring, end_of, env, follow, refuse_another, run_name, said_of, set_words};
use crate::cli::{DeployArgs, Format, SweepFormat};
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::say;
use crate::commands::programs;
use crate::commands::sweep::{self, Asked, Base};
use crate::deploy::payload::{SweepPayload, is_found_there};
use crate::deploy::results;
use crate::deploy::session::{Board, Order, RemoteRun, State};
use crate::deploy::ssh::Host;
use crate::deploy::{DeployError, RunThere, Stop};
use crate::scenario;
use crate::shell;

/// Where the results of a sweep are.
pub(super) struct Results {
    /// The folder's name on the board.
    name: String,
    /// The folder here.
    out: PathBuf,
    /// Its lock.
    held: Option<File>,
    /// What the sweep's file asks for.
    asked: Option<Header>,
}

impl Results {
    /// Those of a sweep that the board knows by name.
    pub(super) fn of(args: &DeployArgs, name: &str) -> Results {
        Results {
            name: name.to_owned(),
            out: args.out.clone().unwrap_or_else(|| Path::new(RUNS).join(name)),
            held: None,
            asked: None,
        }
    }

    /// Those of a sweep's file.
    fn of_file(args: &DeployArgs, path: &Path) -> Result<Results, WrongUse> {
        let out = match &args.out {
            Some(out) => out.clone(),
            None => Path::new(RUNS).join(path.file_stem().unwrap_or_default()),
        };
        let name = out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !scenario::is_name(name) {
            return Err(WrongUse(format!(
                "the results' folder {} is to have the same name on the board, and that takes letters, digits, - and _; name another with -o",
                out.display()
            )));
        }
        Ok(Results {
            name: name.to_owned(),
            out,
            held: None,
            asked: None,
        })
    }

    /// Makes the folder here, and keeps others from it: one that cannot be had is told before anything is waited for.
    fn hold(&mut self) -> anyhow::Result<()> {
        if self.held.is_none() {
            self.held = Some(sweep::hold(&self.out)?);
        }
        Ok(())
    }

    /// Refuses a folder here whose sweep is not the one that the board has of this name.
    fn refuse_others(&self, there: Option<&Header>) -> Result<(), WrongUse> {
        let Some(here) = sweep::begun(&self.out) else {
            return Ok(());
        };
        let is_same = there.is_some_and(|there| Difference::between(&here, &[], there, &[]).keeps_runs());
        match is_same {
            true => Ok(()),
            false => Err(WrongUse(format!(
                "{} holds another sweep than the board's {}; name another folder with -o",
                self.out.display(),
                self.name
            ))),
        }
    }

    /// Whether the board ran what its file asks for here: a file of equal length that was changed within a second is not sent again.
    fn refuse_stale(&self) -> Result<(), WrongUse> {
        let (Some(asked), Some(ran)) = (&self.asked, sweep::begun(&self.out)) else {
            return Ok(());
        };
        let difference = Difference::between(&ran, &[], asked, &[]);
        if difference.keeps_runs() {
            return Ok(());
        }
        let base = difference.base.then(|| "the base".to_owned());
        let others: Vec<String> = base.into_iter().chain(difference.files).collect();
        Err(WrongUse(format!(
            "the board ran other files than those here: {}; save them again, so that their times differ, and name another folder with -o",
            others.join(", ")
        )))
    }
}

/// There is nothing to go on with.
pub(super) fn no_sweep(args: &DeployArgs, board: &Board) -> WrongUse {
    let last = board.last.as_ref().map_or("nothing", |(name, _)| name);
    WrongUse(format!(
        "the last that ran on {} is no sweep ({last}); go on with one by `jetlag deploy {} --sweep SWEEP.ron`",
        args.host,
        shell::word(&args.host)
    ))
}

/// Starts the sweep, or finds it running.
pub(super) fn start<'a>(
    args: &DeployArgs,
    host: &'a Host,
    board: &'a Board,
    path: &Path,
    there: &mut RunThere,
) -> anyhow::Result<(RemoteRun<'a>, Results)> {
    *there = RunThere::NotBegun;
    let mut results = Results::of_file(args, path)?;
    let running = match (&board.last, &board.sweep) {
        (Some((name, State::Running)), Some(sweep)) if *sweep == results.name => Some(name),
        _ => None,
    };
    if running.is_none() {
        refuse_another(args, board)?;
    }
    // Mistakes are told under the name that was given. What is brought is told by paths that lead there from here.
    sweep::load(path)?;
    let sweep = sweep::load(&from_here(path)?)?;
    let env = env(board);
    let base = Base::read(&sweep.base, &args.sets)?.with(&sweep.base, &[], &env);
    let mut payload = SweepPayload::of(path, &sweep, base.as_ref())?;
    let limit = args.limit.as_deref();
    let mut asked = Asked::read(sweep, &args.sets, limit, &env, &mut |scenario| {
        programs::refuse(scenario, args.allow_commands)?;
        Ok(payload.point(scenario)?)
    })?;
    let mut sets = args.sets.clone();
    sets.extend(payload.sets(&board.folder));
    asked.header.base_hash = asked.base.hash_with(&sets);
    let begun = begun(host, board, &results)?;
    results.refuse_others(begun.as_ref())?;
    if let Some(name) = running {
        if let Some(begun) = &begun {
            refuse_changed(args, begun, &asked.header, &asked.points)?;
        }
        *there = RunThere::UnderWay;
        say(&format!("the sweep {} is under way there ({name})", results.name));
        return Ok((RemoteRun::named(host, &board.folder, name), results));
    }
    // Another folder's sweep may have this name there. Nothing is copied and no command replaced then.
    if let Some(begun) = &begun {
        let place = format!("{} on {}", results.name, args.host);
        sweep::go_on(&place, begun, (&asked.header, &asked.points), args.extend)?;
    }
    if !args.yes && begun.is_none() {
        asked.ask()?;
    }
    if !args.detach {
        results.hold()?;
    }
    let jetlag = bring(args, host, board, &mut payload.files)?;
    let file = match is_found_there(path) {
        true => path.display().to_string(),
        false => format!("{}/{}", board.folder, payload.files.main),
    };
    // From a copy of the current folder, which may have no file that is brought.
    let here = format!("{}/files{}", board.folder, std::env::current_dir()?.display());
    let order = "mkdir -p -- \"$1\" && cd -- \"$1\" && shift && exec \"$@\"";
    let mut words: Vec<String> = ["sh", "-c", order, "sh", &here, &jetlag, "sweep", &file, "--yes"]
        .map(str::to_owned)
        .into();
    words.extend([
        "--out".to_owned(),
        format!("{}/sweeps/{}", board.folder, results.name),
    ]);
    words.extend(set_words(sets.iter()));
    words.extend(
        limit
            .iter()
            .flat_map(|limit| ["--limit".to_owned(), (*limit).to_owned()]),
    );
    words.extend(args.extend.then(|| "--extend".to_owned()));
    words.extend(args.allow_commands.then(|| "--allow-commands".to_owned()));
    let run = begin(host, board, &results.name, words, there)?;
    results.asked = Some(asked.header);
    Ok((run, results))
}

/// Goes on with the last sweep, which was begun as `run`.
pub(super) fn resume<'a>(
    args: &DeployArgs,
    host: &'a Host,
    board: &'a Board,
    name: &str,
    run: RemoteRun<'a>,
    there: &mut RunThere,
) -> anyhow::Result<(RemoteRun<'a>, Option<Results>)> {
    let results = Results::of(args, name);
    let is_over = matches!(board.last, Some((_, State::Running | State::Ended(0))));
    let run = match is_over {
        true => run,
        false => {
            *there = RunThere::NotBegun;
            begin(host, board, name, Vec::new(), there)?
        }
    };
    Ok((run, Some(results)))
}

fn begin<'a>(
    host: &'a Host,
    board: &'a Board,
    sweep: &str,
    words: Vec<String>,
    there: &mut RunThere,
) -> Result<RemoteRun<'a>, DeployError> {
    let order = Order {
        name: run_name(sweep),
        words,
        terminal: None,
        sweep: Some(sweep.to_owned()),
    };
    say(&format!("sweeping {}", order.name));
    RemoteRun::start(host, &board.folder, &order, there)
}

/// What the sweep of this name was begun with there, if it was.
fn begun(host: &Host, board: &Board, results: &Results) -> Result<Option<Header>, DeployError> {
    let line = results::begun(host, &board.folder, &results.name)?;
    Ok(match line.and_then(|line| decode(&line)) {
        Some(Entry::Sweep(header)) => Some(header),
        _ => None,
    })
}

/// Whether what runs there is another version of the sweep.
fn refuse_changed(
    args: &DeployArgs,
    begun: &Header,
    asked: &Header,
    points: &[Point],
) -> Result<(), WrongUse> {
    let before = begun.plan.points().unwrap_or_default();
    let difference = Difference::between(begun, &before, asked, points);
    if difference.is_none() {
        return Ok(());
    }
    Err(WrongUse(format!(
        "the sweep that is under way on {0} was begun with another version of this one:\n       {difference}\n       go on with it as it is \
         with `jetlag deploy {1} --resume` (Ctrl-C there stops it), or name another folder with -o once it is through",
        args.host,
        shell::word(&args.host)
    )))
}

/// A path as it leads there from the current folder.
fn from_here(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_relative() {
        return Ok(path.to_owned());
    }
    let here = std::env::current_dir()?;
    let mut shared = here.components().zip(path.components());
    let same = shared.by_ref().take_while(|(a, b)| a == b).count();
    let up = here.components().skip(same).map(|_| Component::ParentDir);
    Ok(up.chain(path.components().skip(same)).collect())
}

/// Watches the sweep to its end, brings its results, and prints their table.
pub(super) fn finish(
    args: &DeployArgs,
    (host, board): (&Host, &Board),
    run: &RemoteRun,
    results: &mut Results,
    (stop, there): (&Stop, &mut RunThere),
) -> anyhow::Result<Outcome> {
    results.hold()?;
    let state = follow(args, run, stop, there)?;
    // What the board refused may be because of another sweep of this name, which is not this folder's.
    let is_ours = match (state, &results.asked) {
        (State::Ended(2), Some(asked)) => {
            let points = asked.plan.points().unwrap_or_default();
            begun(host, board, results)?.is_some_and(|begun| {
                sweep::go_on(&results.name, &begun, (asked, &points), args.extend).is_ok()
            })
        }
        _ => true,
    };
    let fetched = match is_ours {
        true => results::fetch(host, &board.folder, &results.name, &results.out, at_most(args))?,
        false => None,
    };
    let Some(fetched) = fetched else {
        let work = tempfile::tempdir()?;
        let brought = run.bring(work.path(), at_most(args))?;
        let said = brought.log.as_deref().map(end_of).unwrap_or_default();
        return Err(refused(args, "begin", state, &said));
    };
    let brought = run.bring(&results.out, at_most(args))?;
    run.mark_fetched();
    say(&format!(
        "fetched {} of {} files ({}) into {}",
        fetched.files,
        fetched.files + fetched.kept,
        fetched.bytes,
        results.out.display()
    ));
    if let Some(manifests) = &brought.manifests {
        say(&said_of(manifests));
    }
    let said = brought.log.as_deref().map(end_of).unwrap_or_default();
    if state == State::Ended(2) {
        return Err(refused(args, "go on", state, &said));
    }
    results.refuse_stale()?;
    let format = match args.format {
        Format::Text => SweepFormat::Text,
        Format::Json => SweepFormat::Json,
    };
    sweep::show(&results.out, format)?;
    let goes_on = "the same line, or --resume, goes on where it ended";
    match state {
        State::Ended(0) => Ok(Outcome::Done),
        _ if state == State::Ended(130) || stop.asked.load(Ordering::Relaxed) => {
            say(&format!("the sweep on {} was stopped; {goes_on}", args.host));
            Ok(Outcome::Interrupted)
        }
        State::Ended(code) => anyhow::bail!(
            "the sweep on {} ended with {code}: {}\n       what is finished is above; {goes_on}",
            args.host,
            error_of(&said)
        ),
        State::Running | State::Cut => anyhow::bail!(
            "the sweep on {} was cut off (the board went down, its disk is full, or it was killed); what is finished is above; {goes_on}",
            args.host
        ),
    }
}

/// The board's jetlag did not take the sweep, or could not.
fn refused(args: &DeployArgs, what: &str, state: State, said: &str) -> anyhow::Error {
    let said = format!(
        "{} could not {what} with the sweep: {}",
        args.host,
        error_of(said)
    );
    match state {
        State::Ended(2) => WrongUse(said).into(),
        _ => anyhow::Error::msg(said),
    }
}

/// What a log says last of an error; all of it where it has none.
fn error_of(said: &str) -> &str {
    const WORD: &str = "error: ";
    let said = said.trim();
    said.rfind(WORD).map_or(said, |at| said[at + WORD.len()..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_told_from_the_current_folder() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(from_here(Path::new("a/../b")).unwrap(), Path::new("a/../b"));
        assert_eq!(from_here(&here.join("a/b.ron")).unwrap(), Path::new("a/b.ron"));
        let up = from_here(Path::new("/tmp-of-nobody/b.ron")).unwrap();
        assert!(up.starts_with("..") && up.is_relative(), "{}", up.display());
        assert_eq!(
            here.join(&up).components().count(),
            here.components().count() * 2 + 1
        );
    }
}
