//! What traces that were killed left behind becomes the run files that they were to write: by the process that each of them leaves for
//! that (`successor`), and where that was killed too, by `jetlag trace --recover` and by each `jetlag trace` before it starts its command.

use std::path::Path;

use anyhow::Context;

use super::folder::{Abandoned, Purpose, all_abandoned};
use super::noticed::Noticed;
use super::record::{Asked, record};
use super::spools::{Folder, look};
use super::told::tell;
use crate::commands::output::say;
use crate::commands::run_path::AtOnce;
use crate::units::Stamp;

/// Makes the run files of all traces of this user that were killed, and says so; how many folders stay because that failed.
pub(super) fn recover(within: &Path) -> usize {
    let all = all_abandoned(within).into_iter();
    all.filter(|left| !make(left)).count()
}

/// Makes the run file of a trace that was killed and removes what it left, and says so; whether that went well.
pub(super) fn make(left: &Abandoned) -> bool {
    match of(left) {
        Ok(()) => left.remove(),
        Err(error) => {
            say(&format!(
                "warning: {} holds what a killed jetlag trace left, and no run file could be made of it: {error:#}; `jetlag \
                 trace --recover` tries again, or remove that folder",
                left.path.display()
            ));
            return false;
        }
    }
    true
}

fn of(left: &Abandoned) -> anyhow::Result<()> {
    let mut folder = look(&left.path)?;
    let Some(purpose) = &left.purpose else {
        // Killed before it started anything, or on a full disk.
        anyhow::ensure!(folder.traced.is_empty(), "what it was for is not written in it");
        return Ok(());
    };
    if folder.traced.is_empty() {
        let other = folder.noticed.iter().find_map(|noticed| match noticed {
            Noticed::OtherVersion { version } => Some(version),
            _ => None,
        });
        return match other {
            Some(version) => {
                anyhow::bail!("it was written by jetlag {version}, and only that one can read it")
            }
            // No process wrote anything: there is nothing to lose.
            None => Ok(()),
        };
    }
    folder.noticed.push(Noticed::Recovered);
    let asked = asked(purpose, &folder);
    let file = AtOnce::free(Path::new(&purpose.out))?;
    let (path, told) = record(file, &folder, &asked)
        .with_context(|| format!("{} cannot be written", Path::new(&purpose.out).display()))?;
    say(&format!(
        "recovered a trace of {} that was killed:",
        purpose.program
    ));
    tell(&told, &path, asked.gpu);
    Ok(())
}

fn asked<'a>(purpose: &'a Purpose, folder: &Folder) -> Asked<'a> {
    let from = Stamp(purpose.at_ns);
    let last = folder.traced.iter().map(|traced| traced.last).max();
    Asked {
        program: purpose.program.clone(),
        batch: &purpose.batch,
        warmup: purpose.warmup,
        gpu: purpose.gpu,
        from,
        to: last.unwrap_or(from).max(from),
        anchor: (from, purpose.unix_ns),
        command_line: purpose.command_line.clone(),
    }
}
