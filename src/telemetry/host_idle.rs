//! How long the processors slept, and how deeply: residency of the kernel's idle states since the last reading.
//!
//! A launch of work for a device takes the host some microseconds; a core that first has to leave a deep idle state takes
//! longer to begin than that. The kernel adds up the time in each state (`cpuidle/state<n>/time`, in microseconds), and counts
//! a stay when it ends, so that a long one falls into one reading. One signal a state over all processors: a file for
//! each processor and state is read, so not every processor of a large machine is, and not more often than each second.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::file::NumberFile;
use crate::files;
use crate::record::Quantity;
use crate::units::{Nanos, Stamp};

/// Between two readings, at least.
pub(super) const SHORTEST: Nanos = Nanos::from_millis(1000);
/// Processors that are read; of more, as many spread evenly.
const MOST: usize = 64;
/// A state that takes longer to leave is deep: a launch takes less.
const SHALLOW_US: f64 = 10.0;

/// All states of the processors that are read, the shallowest first.
pub(super) struct IdleStates {
    states: Vec<State>,
    before: Option<Stamp>,
}

/// One state, on every processor that has it.
struct State {
    signal: String,
    quantity: Quantity,
    files: Vec<Counter>,
}

/// The counter of one processor.
struct Counter {
    file: NumberFile,
    before: Option<f64>,
}

impl IdleStates {
    /// What the kernel tells of these processors; nothing in most virtual machines.
    pub(super) fn find(cpus: &Path, numbers: &[u32]) -> Self {
        let every = numbers.len().div_ceil(MOST).max(1);
        let mut states: BTreeMap<(u32, String), (bool, Vec<Counter>)> = BTreeMap::new();
        for number in numbers.iter().step_by(every) {
            let folder = cpus.join(format!("cpu{number}/cpuidle"));
            for (depth, state) in folders(&folder) {
                let Ok(name) = files::read_text(&state.join("name"), files::KERNEL) else {
                    continue;
                };
                let latency = NumberFile::new(state.join("latency")).read();
                let known = states.entry((depth, in_a_signal(&name))).or_default();
                known.0 |= latency.is_ok_and(|us| us > SHALLOW_US);
                known.1.push(Counter {
                    file: NumberFile::new(state.join("time")),
                    before: None,
                });
            }
        }
        let meaning = |is_deep: bool, name: &str| match is_deep {
            true => (format!("cpu_deep_idle_{name}"), Quantity::DeepIdle),
            false => (format!("cpu_idle_{name}"), Quantity::ShallowIdle),
        };
        IdleStates {
            states: states
                .into_iter()
                .map(|((_, name), (is_deep, files))| {
                    let (signal, quantity) = meaning(is_deep, &name);
                    State {
                        signal,
                        quantity,
                        files,
                    }
                })
                .collect(),
            before: None,
        }
    }

    /// The share of time in each state since the last reading, in percent, of the processors that could be read both times.
    pub(super) fn read(&mut self, at: Stamp, mut push: impl FnMut(&str, Quantity, Option<f64>)) {
        let passed = self.before.replace(at).map(|before| at - before);
        for state in &mut self.states {
            let (mut slept, mut processors) = (0.0, 0.0);
            for counter in &mut state.files {
                let now = counter.file.read().ok();
                let before = std::mem::replace(&mut counter.before, now);
                // A processor that was switched off begins anew.
                let stay = now.zip(before).map(|(now, before)| now - before);
                if let Some(stay) = stay.filter(|stay| *stay >= 0.0) {
                    slept += stay;
                    processors += 1.0;
                }
            }
            let share = passed
                .filter(|passed| passed.0 > 0 && processors > 0.0)
                .map(|passed| slept * 1e3 / (passed.0 as f64 * processors) * 100.0);
            push(
                &state.signal,
                state.quantity,
                share.map(|percent| percent.min(100.0)),
            );
        }
    }
}

/// The folders `state<n>` with their numbers; the kernel numbers them by depth.
fn folders(of: &Path) -> Vec<(u32, std::path::PathBuf)> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let depth = entry.file_name().to_str()?.strip_prefix("state")?.parse().ok()?;
            Some((depth, entry.path()))
        })
        .collect()
}

/// A state's name as part of a signal's.
fn in_a_signal(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.trim().chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::tree;

    const CPUS: &str = "devices/system/cpu";

    /// Processors of three states each.
    fn machine(processors: u32) -> tempfile::TempDir {
        let mut files = Vec::new();
        for cpu in 0..processors {
            for (depth, name, latency) in [(0, "POLL", 0), (1, "C1_ACPI", 2), (2, "C6 long", 133)] {
                let folder = format!("/{CPUS}/cpu{cpu}/cpuidle/state{depth}");
                files.push((format!("{folder}/name"), format!("{name}\n")));
                files.push((format!("{folder}/latency"), format!("{latency}\n")));
                files.push((format!("{folder}/time"), "1000\n".to_owned()));
            }
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        tree(&files)
    }

    fn set(root: &tempfile::TempDir, cpu: u32, state: u32, us: &str) {
        let path = root
            .path()
            .join(format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/time"));
        fs::write(path, us).unwrap();
    }

    fn read(states: &mut IdleStates, seconds: i64) -> Vec<(String, Option<f64>)> {
        let mut out = Vec::new();
        states.read(Stamp(seconds * 1_000_000_000), |signal, _, value| {
            out.push((signal.to_owned(), value))
        });
        out
    }

    #[test]
    fn residency_is_the_share_of_time_since_the_last_reading_and_deep_is_what_takes_long_to_leave() {
        let root = machine(2);
        let mut states = IdleStates::find(&root.path().join(CPUS), &[0, 1]);
        let first = read(&mut states, 10);
        assert!(
            first.iter().all(|(_, value)| value.is_none()),
            "nothing to compare with: {first:?}"
        );
        set(&root, 0, 1, "501000\n");
        set(&root, 0, 2, "1001000\n");
        set(&root, 1, 2, "501000\n");
        let percent: Vec<(String, Option<f64>)> = read(&mut states, 12);
        let wanted = [
            ("cpu_idle_POLL", 0.0),
            ("cpu_idle_C1_ACPI", 12.5),
            ("cpu_deep_idle_C6_long", 37.5),
        ];
        let wanted = wanted.map(|(signal, value)| (signal.to_owned(), Some(value)));
        assert_eq!(percent, wanted);
    }

    #[test]
    fn a_processor_that_goes_or_begins_anew_is_left_out_and_one_long_stay_is_no_more_than_all_of_the_time() {
        let root = machine(2);
        let mut states = IdleStates::find(&root.path().join(CPUS), &[0, 1]);
        read(&mut states, 1);
        set(&root, 0, 2, "501000\n");
        set(&root, 1, 2, "0\n");
        let deep = |readings: Vec<(String, Option<f64>)>| readings[2].1;
        assert_eq!(deep(read(&mut states, 2)), Some(50.0), "of the other one");
        fs::remove_dir_all(root.path().join(CPUS).join("cpu1")).unwrap();
        set(&root, 0, 2, "9501000\n");
        assert_eq!(deep(read(&mut states, 3)), Some(100.0));
        fs::remove_dir_all(root.path().join(CPUS).join("cpu0")).unwrap();
        assert_eq!(deep(read(&mut states, 4)), None, "gone is not zero");
    }

    #[test]
    fn without_the_kernel_s_word_there_are_no_signals_and_of_many_processors_some_are_read() {
        let root = tree(&[("/devices/system/cpu/cpu0/online", "1")]);
        assert!(read(&mut IdleStates::find(&root.path().join(CPUS), &[0]), 1).is_empty());
        let root = machine(150);
        let states = IdleStates::find(&root.path().join(CPUS), &(0..150).collect::<Vec<_>>());
        assert!(states.states.iter().all(|state| state.files.len() == 50));
    }
}
