//! The quick starts: their commands are run against a board on loopback (tests/common/guide.rs says how). Besides, the examples of
//! `--help`, and the guides' tables.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use clap::Parser;
use jetlag::board::identity::Flash;
use jetlag::board::jetpack;
use jetlag::board::modules::{self, Configuration, Module, PowerMode};
use jetlag::cli::{Cli, spelled_out};

use super::board::TestBoard;
use crate::common::guide::{self, path, words};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const GUIDE: &str = "docs/quickstart-jetson.md";

fn follow(page: &str, folder: &Path, path: &str, at_least: usize) {
    guide::clone(folder);
    guide::follow(page, folder, path, at_least, str::to_owned);
}

/// Holds the examples of a command's help, and of those below it, against the definition.
fn examples(command: &clap::Command, path: &str) {
    let mut below = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
        .peekable();
    if below.peek().is_some() {
        below.for_each(|c| examples(c, &format!("{path} {}", c.get_name())));
        return;
    }
    let help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut found = 0;
    for line in help.lines() {
        // Behind an example, two blanks and more may say what it is for.
        let Some(at) = line.find("jetlag ") else { continue };
        for part in line[at..]
            .split(['&', ';'])
            .filter_map(|part| part.find("jetlag ").map(|at| &part[at..]))
        {
            let example = part.split("   ").next().unwrap_or_default();
            if example.contains('…') {
                continue;
            }
            let wrong = Cli::try_parse_from(spelled_out(words(example).into_iter().map(OsString::from)))
                .err()
                .filter(|e| e.use_stderr());
            assert!(wrong.is_none(), "{path}: `{example}`: {}", wrong.unwrap());
            found += 1;
        }
    }
    assert!(found > 0, "{path} --help has no example");
}

#[test]
fn every_verb_s_help_has_an_example_that_parses() {
    examples(&<Cli as clap::CommandFactory>::command(), "jetlag");
}

#[test]
fn the_desktop_guide_s_lines_all_work() {
    let folder = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    follow("docs/quickstart-desktop.md", folder.path(), &path(bin.path()), 12);
}

#[test]
fn the_jetson_guide_s_lines_all_work_against_a_board_named_orin() {
    let Some(board) = TestBoard::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    let path = path(bin.path());
    // An ssh whose config knows `orin`, as the guide asks for.
    board.ssh_that_knows("orin", &bin.path().join("ssh"));
    // What a Jetson has and this machine does not: programs that take what the real ones take, and nothing else.
    let status = board.path("status");
    // The guide's example.
    let kit = modules::find("p3767-0005").unwrap();
    let kit = kit.configuration(Flash::Super).unwrap();
    let program = |name: &str, script: &str| {
        nvidia_doubles::script(&board.programs().join(name), script);
    };
    program("sudo", r#"exec "$@""#);
    program(
        "nvpmodel",
        &format!(
            r#"case "$*" in
            -q) echo 'NV Power Mode: 25W'; echo 1 ;;
            "-p --verbose") echo 'NVPM VERB: POWER_MODEL: ID=1 NAME=25W' ;;
            "-m {}") echo 'NVPM WARN: Reboot required for changing to this power mode'; touch '{}' ;;
            *) exit 2 ;; esac"#,
            least_capped(kit).id,
            status.display()
        ),
    );
    program(
        "dpkg-query",
        r#"[ "$*" = "--show nvidia-jetpack" ] && printf 'nvidia-jetpack\t6.2+b77\n'"#,
    );
    follow(GUIDE, folder.path(), &path, 11);
    assert!(status.is_file(), "no line sets a power mode");
    let runs = fs::read_dir(folder.path().join("runs")).unwrap().count();
    assert!(runs >= 6, "three runs, each with its log: {runs}");
}

/// A mode's number means another thing on each module, setting it may end the connection, and a board need not have JetPack: who
/// follows the guide has seen all three before.
#[test]
fn the_jetson_guide_looks_before_it_sets_or_runs_anything() {
    let lines = guide::lines(GUIDE);
    let first = |words: &str| {
        let found = lines.iter().position(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("{GUIDE} has no line with `{words}`"))
    };
    assert!(first("dpkg-query --show nvidia-jetpack") < first("jetlag deploy"));
    let sets = first("nvpmodel -m");
    assert!(first("nvpmodel -q") < sets && first("nvpmodel -p --verbose") < sets);
    let text = guide::text(GUIDE);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = words.split_once("sudo nvpmodel -m").unwrap();
    assert!(before.contains("A mode's number means something different on each module"));
    for said in [
        "DO YOU WANT TO REBOOT NOW?",
        "the connection ends",
        "Connect again",
    ] {
        assert!(
            after.contains(said),
            "{GUIDE} does not say `{said}` after it has set a mode"
        );
    }
}

/// A table of a document between two comments, held against what it must say; `JETLAG_BLESS=1` writes it.
fn table(document: &str, name: &str, wanted: &str) {
    let path = Path::new(ROOT).join(document);
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let from = text.find(&begin).map(|at| at + begin.len());
    let to = text.find(&end);
    let (Some(from), Some(to)) = (from, to) else {
        panic!("{document} has no table {name}");
    };
    if std::env::var_os("JETLAG_BLESS").is_some() {
        fs::write(&path, format!("{}{wanted}{}", &text[..from], &text[to..])).unwrap();
        return;
    }
    assert_eq!(
        &text[from..to],
        wanted,
        "{document}: {name} is not as jetlag's tables have it; JETLAG_BLESS=1 writes it"
    );
}

/// Modules and the ways in which they can be flashed, whose modes are known.
fn configurations() -> impl Iterator<Item = (&'static Module, &'static Configuration)> {
    let all = modules::modules()
        .iter()
        .flat_map(|module| module.configurations.iter().map(move |c| (module, c)));
    all.filter(|(_, configuration)| !configuration.modes.is_empty())
}

/// A module's name, with its flash where there are two.
fn title(module: &Module, configuration: &Configuration) -> String {
    let name = module.name.trim_start_matches("Jetson ");
    match (module.configurations.len(), configuration.flash) {
        (1, _) => name.to_owned(),
        (_, Flash::Plain) => format!("{name}, without Super"),
        (_, Flash::Super) => format!("{name}, Super"),
    }
}

/// The mode that caps least: MAXN; where there is none, that of the most watts, and of these the most cores.
fn least_capped(configuration: &Configuration) -> &PowerMode {
    let key = |mode: &&PowerMode| {
        let cores = mode.caps.and_then(|caps| caps.cores).unwrap_or(u32::MAX);
        let watts = mode.watts.unwrap_or_default();
        (mode.name.starts_with("MAXN"), watts as u32, cores)
    };
    configuration.modes.iter().max_by_key(key).unwrap()
}

#[test]
fn the_tables_of_power_modes_are_those_of_the_boards() {
    let mut all = "| module | modes: id name, the default in bold |\n|---|---|\n".to_owned();
    let mut short = "| module | starts in | caps least |\n|---|---|---|\n".to_owned();
    for (module, configuration) in configurations() {
        let title = title(module, configuration);
        let modes = configuration.modes.iter().map(|mode| {
            let text = format!("{} {}", mode.id, mode.name);
            if mode.default { format!("**{text}**") } else { text }
        });
        all += &format!("| {title} | {} |\n", modes.collect::<Vec<_>>().join(", "));
        let default = configuration.modes.iter().find(|mode| mode.default).unwrap();
        let least = least_capped(configuration);
        short += &format!(
            "| {title} | {} {} | `-m {}` ({}) |\n",
            default.id, default.name, least.id, least.name
        );
    }
    table("jetson/README.md", "power modes", &all);
    table(GUIDE, "power modes", &short);
}

#[test]
fn the_guide_s_releases_are_those_that_jetlag_knows() {
    let mut wanted = "| JetPack | L4T | boards | CUDA | TensorRT |\n|---|---|---|---|---|\n".to_owned();
    for (l4t, boards) in [
        ("35.2.1", "Xavier, Orin"),
        ("35.3.1", "Xavier, Orin"),
        ("36.3", "Orin"),
        ("36.4.3", "Orin"),
        ("38.2", "Thor"),
        ("38.4", "Thor"),
        ("39.2.0", "Orin, Thor"),
    ] {
        let known = jetpack::of_l4t(l4t).unwrap();
        let (version, cuda, tensorrt) = (known.version, known.cuda, known.tensorrt);
        wanted += &format!("| {version} | R{l4t} | {boards} | {cuda} | {tensorrt} |\n");
    }
    table(GUIDE, "releases", &wanted);
}
