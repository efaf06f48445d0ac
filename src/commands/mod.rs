//! One file a verb; the only place where the live and the offline half meet.
//!
//! A command returns an [`Outcome`]; only `main` turns it into an exit code.

#[cfg_attr(
    not(all(feature = "models", feature = "recordings")),
    path = "without_models/annotate.rs"
)]
mod annotate;
#[cfg_attr(not(feature = "recordings"), path = "without_bag.rs")]
mod bag;
#[cfg(feature = "gpu")]
pub mod build;
pub mod cache;
#[cfg(feature = "gpu")]
mod calibration;
mod ceilings;
mod check;
pub mod clocks;
pub mod compare;
pub mod completions;
mod counters;
pub mod data;
pub mod deploy;
pub mod doctor;
pub mod eval;
mod expectation;
pub mod export;
mod failures;
mod fits;
mod gap;
mod held;
mod here;
pub mod init;
pub mod inspect;
mod junit;
mod keys;
mod live;
mod live_screen;
mod measure;
pub mod monitor;
pub mod opening;
mod outcome;
mod output;
mod phases;
#[cfg_attr(not(feature = "models"), path = "without_models/predict.rs")]
mod predict;
mod processes;
mod programs;
pub mod progress;
#[cfg_attr(not(feature = "models"), path = "without_models/recorded_work.rs")]
mod recorded_work;
pub mod report;
mod roofline;
pub mod run;
mod run_path;
mod runs;
mod sampling;
#[cfg_attr(not(feature = "models"), path = "without_models/scores.rs")]
mod scores;
mod screen;
mod section;
mod selftest;
mod signals;
mod single;
mod sweep;
pub mod tenant_process;
pub mod tenants;
#[cfg(feature = "gpu")]
mod tensorrt;
mod threads;
#[cfg_attr(not(feature = "trace"), path = "without_command_trace.rs")]
pub mod trace;
mod traced_phases;
mod traced_process;
#[cfg_attr(not(feature = "trace"), path = "without_trace.rs")]
mod tracing;
mod trtexec;
mod watchdog;
mod what_if;
pub mod with_parent;
#[cfg(not(feature = "gpu"))]
mod without_gpu;
mod words;
#[cfg_attr(not(feature = "models"), path = "without_models/work.rs")]
mod work;

#[cfg(not(feature = "gpu"))]
use without_gpu::{build, tensorrt};

use std::io::Write;
use std::sync::Arc;

use signal_hook::consts::SIGXFSZ;

use crate::cli::{Cli, Colours, Command, DataCommand};
use crate::room;
use crate::shown::shown;
pub use outcome::{Outcome, WrongUse};
use output::say;

/// Runs the command and says its error, if any; returns the exit code.
pub fn run(cli: Cli) -> u8 {
    // A failing call quotes TensorRT's own lines; printed as well they would only come twice.
    let levels = [
        "warn,tensorrt=off,tensorrt_dyn=warn",
        "info,tensorrt=warn,tensorrt_dyn=info",
        "debug",
    ];
    let default = levels[usize::from(cli.verbose).min(2)];
    output::colours(cli.color);
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(default))
        .write_style(match cli.color {
            Colours::Auto => env_logger::WriteStyle::Auto,
            Colours::Always => env_logger::WriteStyle::Always,
            Colours::Never => env_logger::WriteStyle::Never,
        })
        .format(|out, record| {
            let level = record.level();
            let style = out.default_level_style(level);
            writeln!(
                out,
                "[{style}{level:<5}{style:#}] {}",
                shown(&record.args().to_string())
            )
        })
        .init();
    // A file that has grown too long is then told as such (EFBIG): nobody has to be ended for it. If that cannot be had, the
    // signal ends the program as it always did.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    if let Some((given, enough)) = room::few_addresses() {
        say(&format!(
            "warning: this process may address {} MiB (ulimit -v), and networks take up to {} MiB and more: what finds no memory ends it in \
             the middle; raise the limit",
            given.0 >> 20,
            enough.0 >> 20
        ));
    }
    let passes_on = matches!(&cli.command, Command::Run(args) if args.options.failure.is_some());
    let outcome = match cli.command {
        Command::Run(args) => run::run(run::Origin::File(args.scenario, args.shapes), args.options),
        Command::Demo(options) => run::run(run::Origin::Demo, options),
        // Its exit code is that of the command that it runs.
        Command::Trace(args) => return trace::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Report(args) => words::or_newest(args).and_then(|args| match &args.trtexec {
            trtexec if trtexec.compat.is_none() && trtexec.from_trtexec.is_none() => {
                match args.critical_path || !args.what_if.is_empty() {
                    true => what_if::run(&args),
                    false if args.layers => roofline::layers(&args),
                    false => report::run(&args),
                }
            }
            trtexec => {
                report::plain_format(args.format).and_then(|format| trtexec::run(&args.runs, trtexec, format))
            }
        }),
        Command::Roofline(args) => roofline::run(&args),
        Command::Ceilings(args) => ceilings::run(&args),
        Command::Counters(args) => counters::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Cache(command) => cache::run(&command),
        Command::Inspect(args) => inspect::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Annotate(args) => annotate::run(&args),
        Command::View(args) => scores::view(&args),
        Command::Predict(command) => predict::run(&command),
        Command::Data(DataCommand::Synth(args)) => data::synth(&args),
        Command::Data(DataCommand::Convert(args)) => data::convert(&args),
        Command::Data(DataCommand::Variants(args)) => data::variants::make(&args),
        Command::Deploy(args) => deploy::run(&args),
        Command::Clocks(command) => clocks::run(&command),
        Command::Completions { shell } => completions::print_script(shell),
        Command::Monitor(args) => monitor::run(&args),
        Command::WithParent(args) => return with_parent::run(&args),
        Command::TenantProcess(args) => tenant_process::run(&args),
        Command::TracedPhases(args) => traced_process::run(&args),
        Command::SelftestProbe { what } => selftest::probe(&what),
        Command::Doctor(args) => match (&args.measure, args.selftest) {
            (Some(scenario), _) => measure::run(scenario.as_deref(), args.format),
            (None, true) => selftest::run(&args.test, args.tensorrt.as_deref(), args.format),
            (None, false) => doctor::run(args.tensorrt.as_deref(), args.format),
        },
    };
    match outcome {
        Ok(outcome) => outcome as u8,
        Err(error) => {
            say(&format!("error: {error:#}"));
            let refused = failures::Refusal::of(&error).filter(|_| passes_on);
            refused.map_or(Outcome::of_error(&error) as u8, failures::Refusal::code)
        }
    }
}
