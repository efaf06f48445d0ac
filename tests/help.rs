//! The help of every verb: it has an example, and every example is a command line that jetlag takes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::{Command, CommandFactory, Parser};
use jetlag::cli::Cli;

/// What `jetlag WORDS… --help` shows below the options.
fn after_help(command: &Command) -> String {
    let help = command.get_after_help().or(command.get_after_long_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// The verbs that do something, with the words that lead to them; those that nobody types are not shown either.
fn leaves(command: &Command, words: &str, found: &mut Vec<(String, String)>) {
    let shown = |verb: &&Command| !verb.is_hide_set() && verb.get_name() != "help";
    for verb in command.get_subcommands().filter(shown) {
        let words = format!("{words} {}", verb.get_name());
        match verb.has_subcommands() {
            true => leaves(verb, &words, found),
            false => found.push((words, after_help(verb))),
        }
    }
}

/// The command lines of jetlag in a text: up to the next command, or to the remark three blanks further on.
fn examples(help: &str) -> Vec<Vec<String>> {
    help.lines()
        .flat_map(|line| line.split(['&', ';']))
        .filter_map(|line| line.find("jetlag ").map(|start| &line[start..]))
        .map(|line| line.split("   ").next().unwrap_or_default())
        // A sentence about jetlag, or words left out.
        .filter(|line| !line.contains('…') && !line.ends_with('.'))
        .map(words)
        .collect()
}

/// The words of a line as a shell has them, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn every_verb_has_an_example_and_every_example_is_taken() {
    let mut verbs = Vec::new();
    leaves(&Cli::command(), "jetlag", &mut verbs);
    assert!(verbs.len() >= 16, "{verbs:?}");
    for (verb, help) in verbs {
        let found = examples(&help);
        let of_it = found
            .iter()
            .filter(|words| words.join(" ").starts_with(&verb))
            .count();
        assert!(of_it > 0, "`{verb} --help` has no example of it: {help}");
        for words in found {
            let parsed = Cli::try_parse_from(&words);
            assert!(parsed.is_ok(), "`{}`: {}", words.join(" "), parsed.unwrap_err());
        }
    }
}
