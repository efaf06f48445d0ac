//! Processor time of the processes that a run started for its tenants (`sharing: Processes`): as much its own as its threads'.
//!
//! They are the children of the program's main thread, which alone starts tenants; samplers start theirs on another, and
//! those are not the run's own. The kernel counts in ticks of 10 ms, so that a single reading is coarse and their mean is not.

use std::path::PathBuf;

use rustix::param::clock_ticks_per_second;
use rustix::thread::Pid;

use crate::units::Nanos;

/// Sums up what the children of one thread have used, those that have ended included as far as they were read.
#[derive(Debug)]
pub(super) struct Children {
    list: PathBuf,
    known: Vec<(u32, u64)>,
    ticks: u64,
}

impl Children {
    /// Of a thread of this process.
    pub(super) fn of(thread: Pid) -> Children {
        Children {
            list: PathBuf::from(format!("/proc/self/task/{}/children", thread.as_raw_nonzero())),
            known: Vec::new(),
            ticks: 0,
        }
    }

    /// Processor time that they have used until now.
    pub(super) fn used(&mut self) -> Nanos {
        // Kernels without this list exist; there the children count as other programs.
        let list = std::fs::read_to_string(&self.list).unwrap_or_default();
        for child in list
            .split_ascii_whitespace()
            .filter_map(|child| child.parse::<u32>().ok())
        {
            let Some(now) = ticks(child) else { continue };
            match self.known.iter_mut().find(|(known, _)| *known == child) {
                Some((_, before)) => self.ticks += now.saturating_sub(std::mem::replace(before, now)),
                None => {
                    self.known.push((child, now));
                    self.ticks += now;
                }
            }
        }
        let seconds = self.ticks as f64 / clock_ticks_per_second() as f64;
        Nanos((seconds * 1e9) as i64)
    }
}

/// User and system time of a process with all its threads, from its `stat`, in the kernel's ticks.
pub(super) fn ticks(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name is in parentheses and may hold anything; after it come the state and, as the 12th and 13th, the times.
    let (_, after) = stat.rsplit_once(')')?;
    let mut times = after.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (times.next()?.parse().ok()?, times.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_uses_is_counted_and_stays_counted_when_it_has_ended() {
        let mut children = Children::of(rustix::thread::gettid());
        assert_eq!(children.used(), Nanos::ZERO);
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let begin = std::time::Instant::now();
        while children.used() < Nanos::from_millis(30) && begin.elapsed().as_secs() < 300 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(children.used() >= Nanos::from_millis(30), "{children:?}");
    }
}
