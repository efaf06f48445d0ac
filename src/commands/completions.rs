//! What a shell is told of the words that may come: verbs, options and files, as the command line is defined, and names of figures.
//!
//! The script of `jetlag completions SHELL` starts jetlag at each Tab, with `JETLAG_COMPLETE` set and the words after `--`. Figures are those
//! of the tenants of the run files and scenarios that are among these words. Without `--` the variable means nothing.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};

use super::outcome::Outcome;
use super::output::{print, print_words};
use crate::analysis::figures::Key;
use crate::cli::Cli;
use crate::record::RunReader;
use crate::scenario::{self, ResolveEnv};

/// The variable in which a script names the shell that it is of.
const ASKED: &str = "JETLAG_COMPLETE";

/// Prints the script that completes words in a shell.
pub(super) fn print_script(shell: Shell) -> anyhow::Result<Outcome> {
    print(&script(shell)?)?;
    Ok(Outcome::Done)
}

/// The script that completes words in a shell.
///
/// # Errors
/// For a shell that clap writes none for.
pub fn script(shell: Shell) -> anyhow::Result<String> {
    let mut script = Vec::new();
    if shell == Shell::Bash {
        // clap's script splits the answer at a character that is in no word, and its style is its own.
        script.extend_from_slice(b"# shellcheck disable=SC2207,SC2181\n");
    }
    let shells = Shells::builtins();
    of_name(&shells, &shell.to_string())?.write_registration(
        ASKED,
        "jetlag",
        "jetlag",
        "jetlag",
        &mut script,
    )?;
    Ok(String::from_utf8(script)?)
}

/// Answers a shell that asks for the next word; `None` where none does: its script has `--` before all words.
pub fn answer() -> Option<u8> {
    let shell = std::env::var(ASKED).ok()?;
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != "--" {
        return None;
    }
    let words: Vec<OsString> = arguments.collect();
    // There is nobody to read an error: no answer is one.
    let answered = of_words(&shell, words).and_then(|answer| print_words(&answer));
    Some(u8::from(answered.is_err()))
}

fn of_words(shell: &str, words: Vec<OsString>) -> anyhow::Result<String> {
    let mut answer = Vec::new();
    let shells = Shells::builtins();
    let mut command = with_figures(&words);
    of_name(&shells, shell)?.write_complete(
        &mut command,
        words,
        std::env::current_dir().ok().as_deref(),
        &mut answer,
    )?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(match shell {
        "bash" => escaped(&answer),
        _ => answer.into_owned(),
    })
}

/// As bash takes words that it puts on its line as they are: the blank in a file's name would end it.
fn escaped(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for c in words.chars() {
        if " \t\"'\\$&;()<>|*?[]{}#`!".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn of_name<'a>(shells: &'a Shells<'_>, name: &str) -> anyhow::Result<&'a dyn EnvCompleter> {
    shells.completer(name).ok_or_else(|| {
        anyhow::anyhow!(
            "completions are written for {}",
            shells.names().collect::<Vec<_>>().join(", ")
        )
    })
}

/// The command line, with the figures that its options take.
fn with_figures(words: &[OsString]) -> Command {
    let of_tenants = figures(&tenants(words));
    let of_points: Vec<Key> = Key::all_of_tenant("").collect();
    let of_points: Vec<_> = of_points
        .iter()
        .map(|key| (key.within().into_owned(), key.doc()))
        .collect();
    let completes = |command: Command, option: &'static str, figures: Vec<(String, &'static str)>| {
        command.mut_arg(option, |argument| {
            argument.add(ArgValueCompleter::new(move |begun: &OsStr| {
                beginning(begun, &figures)
            }))
        })
    };
    Cli::command()
        .mut_subcommand("compare", |verb| completes(verb, "fail_if", of_tenants.clone()))
        .mut_subcommand("sweep", |verb| {
            completes(completes(verb, "promises", of_tenants), "pareto", of_points)
        })
}

/// The tenants of the files that are named, each once.
fn tenants(words: &[OsString]) -> Vec<String> {
    // Several runs of a side are separated by commas.
    let words = words.iter().filter_map(|word| word.to_str());
    let mut all: Vec<String> = words
        .flat_map(|word| word.split(','))
        .flat_map(|word| of_file(Path::new(word)))
        .collect();
    all.sort();
    all.dedup();
    all
}

fn of_file(path: &Path) -> Vec<String> {
    match path.extension().and_then(OsStr::to_str) {
        Some("mcap") => RunReader::open(path)
            .map(|run| {
                run.manifest()
                    .tenants
                    .iter()
                    .map(|tenant| tenant.name.clone())
                    .collect()
            })
            .unwrap_or_default(),
        Some("ron") => scenario::load(path, &[], &ResolveEnv::of_this_machine())
            .map(|scenario| scenario.tenants.into_iter().map(|tenant| tenant.name).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The figures of these tenants and of the machine, with what they mean.
fn figures(tenants: &[String]) -> Vec<(String, &'static str)> {
    let of_tenants = tenants.iter().flat_map(|tenant| Key::all_of_tenant(tenant));
    let all = of_tenants.chain(Key::all_of_machine());
    all.map(|key| (key.to_string(), key.doc())).collect()
}

/// Those that begin so; behind a comma the next one begins, and `max:` or `min:` may stand before it.
fn beginning(begun: &OsStr, figures: &[(String, &'static str)]) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else {
        return Vec::new();
    };
    let place = begun.rfind([',', ':']).map_or(0, |place| place + 1);
    let (before, begun) = begun.split_at(place);
    let fitting = figures.iter().filter(|(name, _)| name.starts_with(begun));
    fitting
        .map(|(name, doc)| CompletionCandidate::new(format!("{before}{name}")).help(Some((*doc).into())))
        .collect()
}
