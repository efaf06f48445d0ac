//! What runs are held against: ceilings from a file, or of a module in the table of boards.

pub(super) mod board;

use super::outcome::WrongUse;
use crate::analysis::Summary;
use crate::analysis::roofline::{Ceilings, Gathered, RunRoofline, of_run};
use crate::cli::CeilingsOf;
use crate::files;
use crate::units::Bytes;

/// Most bytes of a file with ceilings.
const MOST_BYTES: Bytes = Bytes(1 << 20);

/// What runs are held against.
pub(super) enum Given {
    File(Box<Ceilings>),
    Board(CeilingsOf),
}

impl Given {
    /// # Errors
    /// Ceilings that cannot be read, or a board that is not known.
    pub(super) fn of(args: &CeilingsOf) -> Result<Given, WrongUse> {
        let Some(file) = &args.ceilings else {
            board::check(args)?;
            return Ok(Given::Board(args.clone()));
        };
        let text = files::read_given_text(file, MOST_BYTES)
            .map_err(|error| WrongUse(format!("cannot read the ceilings {}: {error}", file.display())))?;
        let read = Ceilings::read(&text).map_err(|error| WrongUse(format!("{}: {error}", file.display())))?;
        Ok(Given::File(Box::new(read)))
    }

    /// A run that was gathered, below these.
    ///
    /// # Errors
    /// A mode that is not known of the board that was named.
    pub(super) fn hold(&self, gathered: &Gathered, summary: &Summary) -> Result<RunRoofline, WrongUse> {
        Ok(match self {
            Given::File(ceilings) => of_run(gathered, summary, Some(ceilings), None),
            Given::Board(asked) => match board::ceilings(asked, gathered) {
                Ok(ceilings) => of_run(gathered, summary, Some(&ceilings), None),
                // What was named must be known; what the run says may be anything.
                Err(why) if asked.board.is_some() || asked.mode.is_some() => return Err(WrongUse(why)),
                Err(why) => of_run(gathered, summary, None, Some(&why)),
            },
        })
    }
}
