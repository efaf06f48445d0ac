//! A sweep as it is asked for: its points, its base, and what tells it from another.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use jetlag_sweep::journal::{FORMAT, Header};
use jetlag_sweep::{Eta, Point, Rest};

use super::checked::{self, Base, Each};
use super::limit;
use crate::commands::outcome::WrongUse;
use crate::commands::output::say;
use crate::commands::phases::{length, phases};
use crate::files;
use crate::scenario::{ClockKind, ResolveEnv, Scenario};
use crate::sweep::{self, Sweep};
use crate::units::Nanos;

/// Runs that are started without being asked.
const MANY: usize = 1_000;
/// Seconds that are started without being asked.
const LONG_S: f64 = 6.0 * 3600.0;

/// A sweep that can be run.
pub(in crate::commands) struct Asked {
    /// As its file has it.
    pub(in crate::commands) sweep: Sweep,
    pub(in crate::commands) points: Vec<Point>,
    pub(in crate::commands) base: Base,
    /// Of the first point.
    pub(in crate::commands) scenario: Scenario,
    /// What a run of each point measures at least, in seconds, as far as the limit lets it; zero in simulated time.
    pub(super) stated_s: Vec<f64>,
    /// What its journal begins with.
    pub(in crate::commands) header: Header,
    pub(in crate::commands) limit: Option<Nanos>,
}

impl Asked {
    /// Reads it, and tries every point; `each` is shown their scenarios.
    pub(in crate::commands) fn read(
        sweep: Sweep,
        sets: &[String],
        limit_given: Option<&str>,
        env: &ResolveEnv,
        each: &mut Each<'_>,
    ) -> anyhow::Result<Asked> {
        let points = sweep.plan.points().map_err(WrongUse::because)?;
        let base = Base::read(&sweep.base, sets)?;
        let limit = limit(limit_given, sweep.limit)?;
        let mut stated = Vec::new();
        let scenario = checked::points(&sweep.base, &base, &points, env, &mut |scenario| {
            stated.push(stated_s(scenario, limit));
            each(scenario)
        })?;
        // Of a huge grid only some points are tried. No run is shorter than the shortest of them, as far as is known.
        if stated.len() != points.len() {
            let least = stated.iter().copied().fold(f64::INFINITY, f64::min);
            stated = vec![if least.is_finite() { least } else { 0.0 }; points.len()];
        }
        let header = Header {
            format: FORMAT,
            jetlag: env!("CARGO_PKG_VERSION").to_owned(),
            base: sweep.base.display().to_string(),
            base_hash: base.hash.clone(),
            plan: sweep.plan.clone(),
            files: hashes(&sweep)?,
            limit_s: limit.map(Nanos::as_secs_f64),
            knee: None,
        };
        Ok(Asked {
            sweep,
            points,
            base,
            scenario,
            stated_s: stated,
            header,
            limit,
        })
    }

    /// Asks before many runs, or a long time.
    pub(in crate::commands) fn ask(&self) -> Result<(), WrongUse> {
        let repeats = self.sweep.plan.repeats;
        let runs = self.points.len() * repeats as usize;
        let rest = Rest {
            runs: runs as u64,
            stated_s: self.stated_s.iter().sum::<f64>() * f64::from(repeats),
        };
        let eta = Eta::of(rest, &[]);
        let is_long = eta.seconds.is_some_and(|seconds| seconds > LONG_S);
        if runs <= MANY && !is_long {
            return Ok(());
        }
        let asked = format!("{runs} runs, {}", eta.shown());
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            say(&format!("{asked}. Start? [y/N]"));
            let _ = std::io::stderr().flush();
            let mut answer = String::new();
            let read = std::io::stdin().lock().read_line(&mut answer);
            if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
                return Ok(());
            }
            return Err(WrongUse("nothing was started".to_owned()));
        }
        Err(WrongUse(format!(
            "{asked}: start it with --yes; or take a part, sample: (count: 200, seed: 0), or fewer values or repeats"
        )))
    }
}

/// The sweep of a file.
pub(in crate::commands) fn load(path: &Path) -> Result<Sweep, WrongUse> {
    sweep::load(path).map_err(|problems| WrongUse(problems.to_string()))
}

/// What a run measures at least, in seconds, as far as the limit lets it; zero in simulated time.
fn stated_s(scenario: &Scenario, limit: Option<Nanos>) -> f64 {
    let measures = match scenario.clock {
        ClockKind::Virtual => return 0.0,
        ClockKind::Real => length(&phases(scenario)),
    };
    limit.map_or(measures, |limit| limit.min(measures)).as_secs_f64()
}

fn hashes(sweep: &Sweep) -> Result<BTreeMap<String, String>, WrongUse> {
    let of = |(value, path): (&String, &std::path::PathBuf)| {
        let bytes = files::read(path, files::NETWORK)
            .map_err(|error| WrongUse(format!("cannot read {}: {error}", path.display())))?;
        Ok((value.clone(), blake3::hash(&bytes).to_hex().to_string()))
    };
    sweep.files.iter().map(of).collect()
}
