//! Pages whose commands are run: what a page has between its fences, and what the comments before them say of it.
//! tests/README.md has them.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use jetlag::cli::{Cli, spelled_out};
use nvidia_doubles::machine;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What is done with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    Run,
    RunWithRtx,
    /// Why it is not run.
    NotRun(String),
}

/// What a page has for its reader, in order.
#[derive(Debug)]
pub enum Step {
    File {
        path: String,
        text: String,
    },
    Command {
        line: String,
        treatment: Treatment,
        prints: Vec<String>,
    },
}

/// What a comment says of the block after it.
enum Mark {
    Treatment(Treatment),
    File(String),
    Prints,
}

impl Mark {
    fn read(line: &str) -> Option<Mark> {
        let comment = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
        if let Some(why) = comment.strip_prefix("not run: ") {
            return Some(Mark::Treatment(Treatment::NotRun(why.to_owned())));
        }
        if let Some(path) = comment.strip_prefix("file: ") {
            return Some(Mark::File(path.to_owned()));
        }
        match comment {
            "prints" => Some(Mark::Prints),
            _ if comment.starts_with("run where TensorRT-RTX ") => {
                Some(Mark::Treatment(Treatment::RunWithRtx))
            }
            _ => None,
        }
    }
}

/// The text of a page of the repository.
pub fn text(page: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The blocks of a page: what the fence is of, the line before it that is not blank, and the lines between.
fn blocks(page: &str) -> Vec<(String, String, Vec<String>)> {
    let text = text(page);
    let (mut found, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.trim().strip_prefix("```") else {
            if !line.trim().is_empty() {
                before = line.trim();
            }
            continue;
        };
        let body = lines.by_ref().take_while(|line| line.trim() != "```");
        let body: Vec<String> = body.map(str::to_owned).collect();
        found.push((kind.to_owned(), before.to_owned(), body));
        before = "";
    }
    found
}

/// The lines of a shell's block; those that end in `\` go on in the next.
fn commands(body: &[String]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in body.iter().map(|line| line.trim()) {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match commands.last_mut() {
            Some(command) if goes_on => command.push_str(part),
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => commands.push(part.to_owned()),
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// What a page has for its reader.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (kind, before, body) in blocks(page) {
        match (kind.as_str(), Mark::read(&before)) {
            ("sh", None) => steps.extend(shell(&body, &Treatment::Run)),
            ("sh", Some(Mark::Treatment(treatment))) => steps.extend(shell(&body, &treatment)),
            (_, Some(Mark::File(path))) => steps.push(Step::File {
                path,
                text: body.join("\n") + "\n",
            }),
            ("text", Some(Mark::Prints)) => match steps.last_mut() {
                Some(Step::Command {
                    prints, treatment, ..
                }) if *treatment == Treatment::Run => *prints = body,
                _ => panic!("{page}: no command that is run prints {body:?}"),
            },
            (_, Some(_)) => panic!("{page}: `{before}` is not before a block of that kind"),
            (_, None) => {}
        }
    }
    steps
}

fn shell(body: &[String], treatment: &Treatment) -> Vec<Step> {
    let step = |line| Step::Command {
        line,
        treatment: treatment.clone(),
        prints: Vec::new(),
    };
    commands(body).into_iter().map(step).collect()
}

/// The lines of a page's commands.
pub fn lines(page: &str) -> Vec<String> {
    let line = |step| match step {
        Step::Command { line, .. } => Some(line),
        Step::File { .. } => None,
    };
    steps(page).into_iter().filter_map(line).collect()
}

/// Lines of jetlag in the blocks that no shell is meant to run as they stand: what is behind an example, three blanks and more
/// away, says what it is for.
pub fn examples(page: &str) -> Vec<String> {
    let other = blocks(page)
        .into_iter()
        .filter(|(kind, _, _)| kind.is_empty() || kind == "text");
    let lines = other.flat_map(|(_, _, body)| body);
    let examples = lines.filter(|line| line.starts_with("jetlag ") && !line.contains('…'));
    examples
        .map(|line| line.split("   ").next().unwrap_or_default().to_owned())
        .collect()
}

/// A clone's files, with runs and plans of the test's own.
pub fn clone(folder: &Path) {
    for name in ["configs", "engines", "jetson", "scripts", "Cargo.toml"] {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(Path::new(ROOT).join(name))
            .arg(folder)
            .status();
        assert!(copied.unwrap().success());
    }
}

/// A PATH on which `jetlag` is ours.
pub fn path(folder: &Path) -> String {
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jetlag"), folder.join("jetlag")).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// The exit codes that a line may have here, where neither time nor hardware is promised.
fn allowed(line: &str) -> &'static [i32] {
    if line.starts_with("ssh ") && line.ends_with(" doctor") {
        return &[0, 1];
    }
    match line.split_whitespace().nth(1) {
        Some("doctor") => &[0, 1],
        Some("run" | "demo" | "report" | "deploy") => &[0, 3],
        Some("compare") if line.contains("--fail-if") => &[0, 3],
        _ => &[0],
    }
}

/// Whether the only errors are of tenants that a busy machine gave no time for a single frame.
fn is_all_of_a_busy_machine(said: &str) -> bool {
    let mut errors = said.lines().filter(|line| line.starts_with("error: ")).peekable();
    errors.peek().is_some()
        && errors
            .all(|line| line.contains("completed no frame: ") || line.contains("; its results are above"))
}

/// Runs what a page has, in order, in this folder; `instead` says what is run in place of a line, if anything else is.
pub fn follow(page: &str, folder: &Path, path: &str, at_least: usize, instead: impl Fn(&str) -> String) {
    let steps = steps(page);
    for step in &steps {
        if let Step::File { path, text } = step {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let mut run = 0;
    for step in steps {
        let Step::Command {
            line,
            treatment,
            prints,
        } = step
        else {
            continue;
        };
        check(page, &line);
        let mut command = Command::new("bash");
        command.args(["-c", &instead(&line)]).current_dir(folder);
        command
            .env("PATH", path)
            .env("JETLAG_CACHE", folder.join("plans"))
            .env_remove("RUST_LOG")
            .env("NO_COLOR", "1");
        match treatment {
            Treatment::Run => {}
            Treatment::RunWithRtx => {
                let Some(rtx) = machine::environment("rtx-1.7", "JETLAG_REQUIRE_TENSORRT") else {
                    machine::skip(&format!("{page}: {line} (no TensorRT-RTX)"));
                    continue;
                };
                command.env("JETLAG_TENSORRT", rtx);
            }
            Treatment::NotRun(_) => continue,
        }
        let output = command.output().unwrap();
        let (code, said) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
        let is_allowed = code.is_some_and(|code| allowed(&line).contains(&code));
        assert!(
            is_allowed || (code == Some(1) && is_all_of_a_busy_machine(&said)),
            "{page}: `{line}` ended with {code:?}: {said}"
        );
        let printed = String::from_utf8_lossy(&output.stdout);
        if let Err(missing) = is_of_this_shape(&prints, &printed) {
            panic!("{page}: `{line}` does not print `{missing}` where the page has it:\n{printed}");
        }
        run += 1;
    }
    assert!(run >= at_least, "{page}: only {run} lines were run");
}

/// A line without its figures: numbers, plots and the space between columns.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for character in line.trim().chars() {
        let of = match character {
            '0'..='9' | '.' | ',' | '–' | '−' | '+' => '#',
            '\u{2580}'..='\u{259f}' | '×' => '▂',
            _ if character.is_whitespace() => ' ',
            _ => character,
        };
        if !(matches!(of, '#' | '▂' | ' ') && shape.ends_with(of)) {
            shape.push(of);
        }
    }
    shape
}

/// Whether these lines are printed in this order, one right after the other unless `…` is between them; else the first that is not.
fn is_of_this_shape<'a>(wanted: &'a [String], printed: &str) -> Result<(), &'a str> {
    let printed: Vec<String> = printed
        .lines()
        .map(shape)
        .filter(|line| !line.is_empty())
        .collect();
    let mut rest = &printed[..];
    let mut anywhere = true;
    for line in wanted.iter().filter(|line| !line.trim().is_empty()) {
        if line.trim() == "…" {
            anywhere = true;
            continue;
        }
        let at = rest.iter().position(|other| *other == shape(line));
        match at {
            Some(at) if at == 0 || anywhere => rest = &rest[at + 1..],
            _ => return Err(line),
        }
        anywhere = false;
    }
    Ok(())
}

/// The words of a line as a shell splits them.
pub fn words(line: &str) -> Vec<String> {
    let script = format!("printf '%s\\0' {line}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{line}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Every jetlag line must parse, and every script that is called must be there.
pub fn check(page: &str, line: &str) {
    for part in parts(line) {
        let first = part.split_whitespace().next().unwrap_or_default();
        // What another program fills in is seen when the line is run.
        if first == "jetlag" && !part.contains("$(") {
            // `--version` and `--help` are no mistakes, although they end the parsing.
            let wrong = Cli::try_parse_from(spelled_out(words(&part).into_iter().map(OsString::from)))
                .err()
                .filter(|error| error.use_stderr());
            assert!(wrong.is_none(), "{page}: `{part}`: {}", wrong.unwrap());
        }
        if first.contains('/') && !first.starts_with(['~', '/']) {
            assert!(
                Path::new(ROOT).join(first).is_file(),
                "{page}: `{part}`: no such file"
            );
        }
    }
}

/// The commands of a line, without what they are redirected to and without a comment.
fn parts(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quote, mut is_redirected) = (None, false);
    let mut before = ' ';
    for character in line.chars() {
        match (quote, character) {
            (None, '#') if before == ' ' => break,
            (None, '|' | '&' | ';') => {
                parts.push(String::new());
                is_redirected = false;
            }
            (None, '>') => is_redirected = true,
            _ if is_redirected => {}
            _ => parts.last_mut().unwrap().push(character),
        }
        quote = match quote {
            None if matches!(character, '"' | '\'') => Some(character),
            Some(open) if open == character => None,
            _ => quote,
        };
        before = character;
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[test]
fn a_line_s_commands_are_told_apart() {
    for (line, wanted) in [
        ("jetlag run a.ron > b.json", &["jetlag run a.ron"][..]),
        ("a \"x > 1\" --b 'c | d'   # e", &["a \"x > 1\" --b 'c | d'"]),
        ("a && b; c", &["a", "", "b", "c"]),
    ] {
        assert_eq!(parts(line), wanted, "{line}");
    }
}

#[test]
fn a_shape_has_no_figures_and_every_word() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let printed = "  camera   17.67   –  ▁▂█\n  lidar  3  2  ▂\nend\n";
    for (wanted, is_printed) in [
        ("camera  1.2  3  ▅", true),
        ("camera  1.2  3  ▅\nlidar  30.1  4  ▁", true),
        ("camera  1.2  3  ▅\nend", false),
        ("camera  1.2  3  ▅\n…\nend", true),
        ("end\ncamera  1.2  3  ▅", false),
        ("radar  1.2  3  ▅", false),
    ] {
        assert_eq!(
            is_of_this_shape(&lines(wanted), printed).is_ok(),
            is_printed,
            "{wanted}"
        );
    }
}
