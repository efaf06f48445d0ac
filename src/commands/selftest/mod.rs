//! `jetlag doctor --selftest`: everything that this machine can do is tried, within ten minutes, and one report says what
//! came of it.
//!
//! ```text
//! $ sudo jetlag doctor --selftest
//! pass            cpu/boxes                       3.1 s  camera: 24 frames, 138 boxes, 96 % of the scenes' objects found …
//! pass            tensorrt/depth=2 transfer=Copy  3.4 s  camera: 24 frames, 138 boxes as on the cpu backend (IoU ≥ 0.983 …
//! fail            tegrastats/load VDD_GPU_SOC     0.0 s  jetlag 8120.0 (29 readings), tegrastats 9480.0 (30 readings) …
//! not applicable  dla/core=0                      0.0 s  Jetson Orin Nano 8GB has none
//! ```
//!
//! It is for the first day with a board: what could not be tried where jetlag was made is tried there, and the file is sent
//! back. Whatever may crash or hang (a library, a sensor, a plan) is asked by a process of its own with a limit of its own, so
//! that the report is written to its end. Nothing on the machine is changed but clocks, and these only where the user may and
//! wants it; plans go into a folder that is gone afterwards.

mod backends;
mod boxes;
mod child;
mod clocks;
mod machine;
mod networks;
mod plans;
mod probe;
mod recorded;
mod redact;
mod scenes;
mod sensors;
mod session;
mod side_by_side;
mod ways;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::print;
use super::run_path::unix_seconds;
use super::signals::stop_on_signals;
use crate::board::{self, Roots};
use crate::cli::{Format, SelftestArgs};
use crate::show::selftest as report;
use crate::units::{Nanos, parse_duration};
use backends::Known;
use child::{Patience, Program};
use networks::{Base, NoBase};
pub(super) use probe::run as probe;
use session::{Session, Tools};

/// As long as it takes where nothing else is said.
const WITHIN: Nanos = Nanos::from_secs(600);

/// Tries everything and writes the report.
///
/// # Errors
/// [`WrongUse`] for a file that is there, or a scenario that cannot be taken; a report that cannot be written.
pub(super) fn run(args: &SelftestArgs, tensorrt: Option<&Path>, format: Format) -> anyhow::Result<Outcome> {
    let within = match &args.within {
        Some(text) => parse_duration(text).map_err(|error| WrongUse(format!("--within: {error}")))?,
        None => Nanos(WITHIN.0 * i64::from(args.patience)),
    };
    if within <= Nanos::ZERO {
        return Err(WrongUse("--within must be above zero".to_owned()).into());
    }
    let roots = Roots::system();
    let stop = stop_on_signals()?;
    let folder = tempfile::Builder::new()
        .prefix("jetlag-selftest-")
        .tempdir()
        .context("there is no folder for temporary files")?;
    let program = Program {
        path: std::env::current_exe().context("cannot find jetlag's executable")?,
        folder: folder.path(),
        stop: &stop,
        tensorrt: tensorrt.map(Path::to_owned),
        patience: Patience(args.patience),
    };
    let tools = Tools::new(program, roots);
    // What is wrong with the call is told before anything is tried.
    let base = Base::resolve(&tools, args.scenario.as_ref())?;
    let facts = board::facts(&tools.roots);
    let name = facts.get("board").or(facts.get("gpu")).map_or("", String::as_str);
    let now = unix_seconds();
    let (path, file) = session::report_file(args.out.as_deref(), args.force, name, now)?;
    let before = sensors::over_current(&tools.roots);
    let examined = machine::examine(&tools);
    let (limit, lines): (Duration, bool) = (within.to_std(), format == Format::Text);
    let mut session = Session::new(tools, &args.only, file, limit, lines);
    let mut head = machine::facts(&examined, now);
    head.extend(asked(args));
    session.head(head)?;
    try_all(&mut session, args, base, examined, &before)?;
    let report = session.end()?;
    if format == Format::Json {
        print(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    session::tell(&path);
    Ok(match (report.interrupted, report.count(report::Outcome::Fail)) {
        (true, _) => Outcome::Interrupted,
        (false, 0) => Outcome::Done,
        (false, _) => Outcome::ExpectationBroken,
    })
}

/// What was asked for beside the usual.
fn asked(args: &SelftestArgs) -> Option<report::Fact> {
    let mut words: Vec<String> = Vec::new();
    if let Some(scenario) = &args.scenario {
        words.push(format!("--scenario {}", scenario.display()));
    }
    words.extend(
        args.only
            .iter()
            .map(|group| format!("--only {}", session::word(*group))),
    );
    if args.patience > 1 {
        words.push(format!("--patience {}", args.patience));
    }
    words.extend(args.within.iter().map(|within| format!("--within {within}")));
    (!words.is_empty()).then(|| report::Fact {
        name: "asked for".to_owned(),
        value: words.join(" "),
    })
}

/// What tells most in the least time comes first: where time runs out, the least is lost.
fn try_all(
    session: &mut Session<'_>,
    args: &SelftestArgs,
    base: Result<Base, NoBase>,
    examined: machine::Examined,
    before: &sensors::OverCurrent,
) -> anyhow::Result<()> {
    machine::machine(session, examined)?;
    machine::libraries(session)?;
    sensors::sources(session)?;
    let mut known = Known::new(base);
    backends::sim(session)?;
    backends::cpu(session, &mut known)?;
    backends::onnxruntime_cpu(session, &mut known)?;
    let tensorrt = backends::tensorrt(session, &mut known)?;
    sensors::beside(session, &known, before)?;
    clocks::clocks(session, args.clocks)?;
    backends::dla(session, &mut known)?;
    let onnxruntime = backends::onnxruntime_cuda(session, &mut known)?;
    tensorrt.run(session, &mut known)?;
    onnxruntime.run(session, &mut known)
}
