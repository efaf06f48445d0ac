//! Clocks held at their highest, and given back as they were.
//!
//! What jetson_clocks does through the kernel's files is done here through the same files (processor and GPU
//! clocks, the memory controller, idle states), because only then every earlier value is known and can be put
//! back. A desktop's card is held through NVML; on a Jetson (Thor) NVML answers a part, and what it refuses is said and is no
//! reason to give the rest back. The power mode is nvpmodel's: it is set by that program, and only
//! where a mode is asked for. Fans are left alone.
//!
//! Before anything is changed, the earlier values are written to a state file ([`STATE`]); after all is given
//! back it is removed. So what a killed run left is found at the next start, and by `jetlag clocks restore`. The
//! file lies in /run, which is empty after a reboot, as the settings are.
//!
//! Holding and giving back take turns: a signal that ends a run while nvpmodel still works waits for it, and then finds what to
//! give back. An nvpmodel that outlives its run is noted in the state file, and waited for too.

mod card;
mod kernel;
mod memory;
mod mode;
mod state;

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::board::{Roots, mode_clocks};
use crate::record::ModeClocks;
use crate::scenario::PowerMode;
use crate::telemetry::{gpu, power_mode};
pub use kernel::{ClockRow, rows};
use state::State;
pub use state::{Change, STATE};

// Clocks are given back on a panic because it unwinds.
const _: () = assert!(cfg!(panic = "unwind"), "build with panic = \"unwind\"");

/// Why clocks could not be set or given back.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// A setting was refused.
    #[error("cannot set {}: {why}{}", path.display(), advice(why))]
    Set {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The state file could not be written, so nothing was changed.
    #[error("cannot save the current clocks to {}: {why}; nothing was changed{}", path.display(), advice(why))]
    Keep {
        /// The path of the state file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The state file is there and cannot be read.
    #[error("cannot read the saved clocks in {}: {why}{}", path.display(), advice(why))]
    Unread {
        /// The path of the state file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The state file is there and cannot be understood.
    #[error("cannot parse {} ({problem}); set the clocks by hand (a reboot resets them) and remove the file", path.display())]
    State {
        /// The path of the state file.
        path: PathBuf,
        /// What in it is not understood.
        problem: String,
    },
    /// Somebody else holds the clocks.
    #[error("clocks are locked by process {pid}; wait for it, or stop it")]
    Held {
        /// The process that holds them.
        pid: u32,
    },
    /// Nothing here has a clock that can be set.
    #[error(
        "this machine's clocks cannot be set (as usual in virtual machines and containers); leave `clocks` out"
    )]
    Nothing,
    /// NVML refused to lock the card's clock.
    #[error("cannot lock the clock of GPU {index}: {problem}")]
    Card {
        /// The card's number, as NVML counts.
        index: u32,
        /// What it said, and what to do.
        problem: String,
    },
    /// nvpmodel refused to set a power mode.
    #[error("cannot set power mode {id}: {problem}")]
    Mode {
        /// Number of the power mode, nvpmodel's id.
        id: u32,
        /// The message that nvpmodel printed.
        problem: String,
    },
    /// A run ended while nvpmodel worked for it, and that has not come to its end.
    #[error(
        "nvpmodel (process {pid}) is still setting a power mode for an earlier run; wait for it, or end it: sudo kill {pid}"
    )]
    Setting {
        /// The process of nvpmodel.
        pid: u32,
    },
    /// A power mode is wanted where there is none.
    #[error(
        "this machine has no power modes ({} is not there): only Jetson boards have them, from nvpmodel; leave `power_mode` out",
        power_mode::STATUS
    )]
    NoModes,
    /// The board has no such power mode.
    #[error("this board has no power mode {wanted}{near}; it has {known}")]
    UnknownMode {
        /// The mode that was asked for.
        wanted: String,
        /// The one that was probably meant, as a part of the sentence; empty if there is none.
        near: String,
        /// All that it has.
        known: String,
    },
    /// A name is given, and the names of the board's modes are not known.
    #[error(
        "the power mode {name:?} cannot be found: /etc/nvpmodel.conf cannot be read, and jetlag's table does not have this board; give its number, as `sudo nvpmodel -p --verbose` lists it"
    )]
    UnnamedModes {
        /// The name.
        name: String,
    },
    /// A person holds the clocks, under another power mode.
    #[error(
        "clocks are locked by `jetlag clocks max` under power mode {now}, which stays until they are restored; run: sudo jetlag clocks restore"
    )]
    HeldByHand {
        /// The mode in force.
        now: String,
    },
    /// Not everything could be given back; the state file stays.
    #[error(
        "{} settings could not be restored, the first because: {first}; they are still saved in {STATE}",
        count
    )]
    Left {
        /// How many settings are left as they were held.
        count: usize,
        /// Why the first of them was refused.
        first: Box<ClockError>,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; needs root: sudo jetlag …",
        io::ErrorKind::ReadOnlyFilesystem => "; a container needs /sys writable (--privileged)",
        _ => "",
    }
}

/// What is to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// nvpmodel's number of a power mode; none leaves the one in force.
    pub mode: Option<u32>,
    /// Whether all clocks are at their highest under it.
    pub highest: bool,
}

/// Clocks and a power mode that are held; they are given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    roots: Roots,
    /// Settings that were changed.
    pub changes: usize,
    /// The power mode before, where another one was set, and that one, in words.
    pub mode: Option<[String; 2]>,
    /// What could not be set, and why; everything else is held.
    pub unset: Vec<String>,
    release: bool,
}

impl Held {
    /// Gives the clocks back now, and says whether that went well. What somebody else holds stays.
    pub fn give_back(mut self) -> Result<usize, ClockError> {
        match std::mem::take(&mut self.release) {
            true => restore(&self.roots),
            false => Ok(0),
        }
    }

    /// Leaves them held, for [`restore`] to give back.
    pub fn keep(mut self) -> usize {
        self.release = false;
        self.changes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.release
            && let Err(error) = restore(&self.roots)
        {
            log::error!("{error}; try: sudo jetlag clocks restore");
        }
    }
}

/// The number of a power mode that this board has.
///
/// # Errors
/// It has no power modes, or not this one: then with the nearest.
pub fn mode(roots: &Roots, wanted: &PowerMode) -> Result<u32, ClockError> {
    mode::find(roots, wanted)
}

/// Whether a mode of this name is meant: `15W` is also `MODE_15W`, in any case.
pub fn is_mode(name: &str, asked: &str) -> bool {
    mode::short(name).eq_ignore_ascii_case(mode::short(asked))
}

/// The power mode in force, in words; none where there is none.
pub fn mode_in_force(roots: &Roots) -> Option<String> {
    Some(mode::described(roots, power_mode::current(roots)?).to_string())
}

/// The highest clocks of that mode; none where they are not known.
pub fn clocks_of_mode_in_force(roots: &Roots) -> Option<ModeClocks> {
    mode_clocks::of_mode(roots, power_mode::current(roots)?)
}

/// Only one at a time changes settings: a signal may come while they are being held.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds what is wanted. `owner` is the process that will give it back, none where a person will.
pub fn hold(roots: &Roots, wanted: Wanted, owner: Option<u32>) -> Result<Held, ClockError> {
    let mut held = Held {
        roots: roots.clone(),
        changes: 0,
        mode: None,
        unset: Vec::new(),
        release: false,
    };
    // After `held`, which gives back on a panic and takes a turn for it.
    let _turn = turn();
    let result = hold_in_turn(&mut held, wanted, owner);
    if result.is_err()
        && std::mem::take(&mut held.release)
        && let Err(error) = restore_in_turn(roots)
    {
        log::error!("{error}; try: sudo jetlag clocks restore");
    }
    result.map(|()| held)
}

/// After an error, what was changed is to be given back where `held` says so.
fn hold_in_turn(held: &mut Held, wanted: Wanted, owner: Option<u32>) -> Result<(), ClockError> {
    let roots = &held.roots.clone();
    heal_in_turn(roots)?;
    let now = power_mode::current(roots);
    let Wanted { mode, highest } = wanted;
    let other = mode.filter(|id| Some(*id) != now);
    if let Some(state) = State::load(roots)? {
        return match (state.owner, owner) {
            (Some(pid), _) => Err(ClockError::Held { pid }),
            // A person holds them already, and will give them back.
            (None, Some(_)) => match (other, now) {
                (Some(_), Some(now)) => Err(ClockError::HeldByHand {
                    now: mode::described(roots, now).to_string(),
                }),
                _ => Ok(()),
            },
            (None, None) => {
                restore_in_turn(roots)?;
                hold_in_turn(held, wanted, owner)
            }
        };
    }
    if other.is_none() && !highest {
        return Ok(());
    }
    // The mode first: it decides what the highest clocks are.
    let mut state = State::new(owner);
    if let Some(id) = mode {
        state.mode = now;
        state.save(roots)?;
        // nvpmodel may fail after it has changed the mode.
        held.release = true;
        mode::set(roots, id, &mut state)?;
        held.mode = other
            .zip(now)
            .map(|(to, from)| [from, to].map(|id| mode::described(roots, id).to_string()));
    }
    if !highest {
        held.changes = 1;
        return Ok(());
    }
    // A GPU that was not used since the start has no clock yet that could be set.
    if let Some(change) = kernel::wake(roots) {
        state.changes.push(change.clone());
        state.save(roots)?;
        held.release = true;
        kernel::write(roots, &change.path, &change.value)?;
        if !kernel::has_woken(roots) {
            held.unset.push(format!(
                "the GPU's clock: it was switched on ({}), but has none in /sys/class/devfreq",
                change.path
            ));
        }
    }
    let woken = state.changes.len();
    state.changes.extend(kernel::plan(roots));
    // A Jetson's clocks are files, and what NVML sets there besides is no loss.
    let board = !gpu::devices(roots).is_empty();
    let cards = card::plan(roots, board);
    state.cards = cards.as_ref().map(|(_, cards)| cards.clone()).unwrap_or_default();
    if state.changes.is_empty() && state.cards.is_empty() && mode.is_none() {
        return Err(ClockError::Nothing);
    }
    state.save(roots)?;
    // From here on an error gives back what was set.
    held.release = true;
    for change in state.changes.iter().skip(woken) {
        kernel::write(roots, &change.path, &change.value)?;
    }
    if let Some((nvml, _)) = cards {
        if board {
            held.unset.extend(card::hold_what_can_be(&nvml, &mut state.cards));
            state.save(roots)?;
        } else {
            card::hold(&nvml, &state.cards).map_err(|(touched, error)| {
                // What was not touched is not to be given back: the rights that it takes may be missing again.
                state.cards.truncate(touched);
                state.save(roots).err().unwrap_or(error)
            })?;
        }
    }
    held.changes = state.changes.len() + state.cards.len() + usize::from(mode.is_some());
    Ok(())
}

/// Gives back what was changed, the last first; how many settings that were. Zero where nothing is held.
pub fn restore(roots: &Roots) -> Result<usize, ClockError> {
    let _turn = turn();
    restore_in_turn(roots)
}

fn restore_in_turn(roots: &Roots) -> Result<usize, ClockError> {
    let Some(mut state) = State::load(roots)? else {
        return Ok(0);
    };
    // The mode in force says nothing while it is being changed.
    mode::wait_for_setter(&state)?;
    let mut problems = Vec::new();
    problems.extend(card::give_back(roots, &state.cards));
    for change in state.changes.iter().rev() {
        // A core that a power mode switched off has no clock to give back; and what is as it was takes no rights.
        let now = roots.text(&change.path);
        if roots.file(&change.path).exists() && now.as_ref() != Some(&change.earlier) {
            problems.extend(kernel::write(roots, &change.path, &change.earlier).err());
        }
    }
    if let Some(id) = state.mode {
        problems.extend(mode::set(roots, id, &mut state).err());
    }
    let count = problems.len();
    match problems.into_iter().next() {
        None => {
            state.remove(roots);
            Ok(state.changes.len() + state.cards.len() + usize::from(state.mode.is_some()))
        }
        Some(first) => Err(ClockError::Left {
            count,
            first: Box::new(first),
        }),
    }
}

/// Gives back what a process left that is no more; how many settings that were.
pub fn heal(roots: &Roots) -> Result<usize, ClockError> {
    let _turn = turn();
    heal_in_turn(roots)
}

fn heal_in_turn(roots: &Roots) -> Result<usize, ClockError> {
    match State::load(roots)? {
        Some(state) if state.is_orphaned() => restore_in_turn(roots),
        _ => Ok(0),
    }
}

/// Gives back what this process holds, for where it ends without [`Held`] being dropped; how many settings that were. Waits for
/// what is being held at the moment.
pub fn give_back_own(roots: &Roots) -> Result<usize, ClockError> {
    let _turn = turn();
    match State::load(roots)? {
        Some(state) if state.owner == Some(std::process::id()) => restore_in_turn(roots),
        _ => Ok(0),
    }
}

/// Who holds the clocks: a process, a person (`Some(None)`), or nobody.
pub fn holder(roots: &Roots) -> Result<Option<Option<u32>>, ClockError> {
    Ok(State::load(roots)?.map(|state| state.owner))
}
