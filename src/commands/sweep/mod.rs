//! `jetlag sweep`: many runs of one scenario, and what they tell together.
//!
//! ```text
//! $ jetlag sweep configs/sweep.ron -o s
//! run 1 of 24: tenants.camera.arrival.hz=10 …
//! ```
//!
//! Every point is a process of its own (`runs.rs`); what is finished is in the folder's journal before the next begins, so that the
//! same command goes on after any end. `asked` is the sweep as it is asked for, `folder` has the lock and the journal, `checked` tries
//! all points before the first run, `plans` builds what they need, `runner` runs one and says what came of it, `points` goes through a
//! plan and `knee` through a search, `machine` knows what is no point's failure, `watched` notices files that change meanwhile; `finished` answers from what is on disk, `shown` prints. What is computed is the crate
//! `jetlag-sweep`'s.

mod asked;
mod checked;
mod cool;
mod finished;
mod folder;
mod knee;
mod machine;
mod plans;
mod points;
mod promise;
mod runner;
mod shown;
mod watched;

use std::path::Path;

pub(super) use asked::{Asked, load};
pub(super) use checked::Base;
pub(super) use finished::show;
#[cfg(feature = "models")]
pub(super) use finished::table;
#[cfg(feature = "models")]
pub(super) use folder::JOURNAL;
pub(super) use folder::{begun, go_on, hold};

use super::outcome::{Outcome, WrongUse};
use super::words::there;
use crate::cli::SweepArgs;
use crate::units::{Nanos, parse_duration};
use crate::written::root_name;

/// Runs or goes on with a sweep or a search, or answers from a finished one.
pub(super) fn run(args: &SweepArgs) -> anyhow::Result<Outcome> {
    there(
        &args.target,
        "a sweep (.ron), a scenario with --knee, or a sweep's folder or table",
    )?;
    if args.target.is_dir() || is_table(&args.target) {
        return finished::answer(args);
    }
    if args.pareto.is_some() {
        let said = "--pareto answers from a finished sweep: name its folder, or its table.csv";
        return Err(WrongUse(said.to_owned()).into());
    }
    let is_sweep = root_name(&args.target).is_some_and(|name| name == "Sweep");
    match (is_sweep, &args.knee) {
        (true, None) => points::run(args),
        (false, Some(range)) => knee::run(args, range),
        (true, Some(_)) => {
            let said = format!(
                "{} is a sweep, which names its points itself; --knee takes the scenario that is its base, or a finished sweep's folder",
                args.target.display()
            );
            Err(WrongUse(said).into())
        }
        (false, None) => {
            let said = format!(
                "{} does not begin with `Sweep(`, so it is taken for a scenario, which is one run: use jetlag run, or say what to vary with \
                 --knee, or write a sweep (docs/sweeps.md)",
                args.target.display()
            );
            Err(WrongUse(said).into())
        }
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "csv")
}

/// The folder of `--out`, which a run needs.
fn out(args: &SweepArgs) -> Result<&Path, WrongUse> {
    args.out.as_deref().ok_or_else(|| {
        WrongUse("name the folder of the runs and the table: -o DIR; the same line goes on there after an interruption".to_owned())
    })
}

/// `--limit`, or else what the sweep says.
fn limit(given: Option<&str>, of_sweep: Option<Nanos>) -> Result<Option<Nanos>, WrongUse> {
    match given {
        None => Ok(of_sweep),
        Some(text) => match parse_duration(text) {
            Ok(limit) if limit > Nanos::ZERO => Ok(Some(limit)),
            Ok(_) => Err(WrongUse("--limit must be above zero".to_owned())),
            Err(error) => Err(WrongUse(format!("--limit: {error}"))),
        },
    }
}
