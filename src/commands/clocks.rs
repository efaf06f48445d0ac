//! `jetlag clocks show|max|restore`: the machine's clocks, held at their highest and given back as they were.
//!
//! `max` keeps the earlier settings in a file and returns; `restore` puts them back. A scenario does both for
//! the length of its run with `clocks: Max`.

use super::outcome::Outcome;
use super::output::{print, say};
use crate::board::Roots;
use crate::cli::{ClocksCommand, Format};
use crate::show;
use crate::telemetry::clocks;

/// Does what was asked.
pub fn run(command: &ClocksCommand) -> anyhow::Result<Outcome> {
    let roots = Roots::system();
    match command {
        ClocksCommand::Show { format } => {
            let rows = clocks::rows(&roots);
            let holder = clocks::holder(&roots)?;
            let mut out = Vec::new();
            match format {
                Format::Text => show::clocks::text(&rows, holder, &mut out)?,
                Format::Json => show::clocks::json(&rows, holder, &mut out)?,
            }
            print(&String::from_utf8(out)?)?;
        }
        ClocksCommand::Max { mode } => {
            let wanted = clocks::Wanted {
                mode: *mode,
                highest: true,
            };
            let held = clocks::hold(&roots, wanted, None)?;
            for unset in &held.unset {
                say(&format!("could not be set: {unset}"));
            }
            let changes = held.keep();
            say(&format!(
                "{changes} settings changed; the clocks are locked at their maximum. Restore them with: jetlag clocks restore"
            ));
        }
        ClocksCommand::Restore => match clocks::restore(&roots)? {
            0 => say("no clock is locked; nothing was changed"),
            changes => say(&format!("{changes} settings restored")),
        },
    }
    Ok(Outcome::Done)
}
