//! The builder's nested phases as one fraction, and the way to stop it.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use tensorrt_dyn::ProgressMonitor;

/// How far a build is.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildProgress {
    /// 0 to 1; it may step back when the library begins a phase that it had not told of.
    pub fraction: f64,
    /// The innermost phase, in the library's words.
    pub phase: String,
}

/// What watches a build; `Break` stops it.
pub(super) type Watch = Box<dyn Fn(&BuildProgress) -> ControlFlow<()> + Send + Sync>;

#[derive(Debug)]
struct Phase {
    name: String,
    parent: Option<String>,
    steps: f64,
    done: f64,
}

/// A monitor for `tensorrt-dyn` that turns phases into a fraction.
pub(super) struct Monitor {
    watch: Watch,
    phases: Mutex<Vec<Phase>>,
}

impl Monitor {
    pub(super) fn new(watch: Watch) -> Self {
        Self {
            watch,
            phases: Mutex::default(),
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut Vec<Phase>) -> R) -> R {
        change(&mut self.phases.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ProgressMonitor for Monitor {
    fn phase_started(&self, phase: &str, parent: Option<&str>, steps: i32) {
        let phase = Phase {
            name: phase.to_owned(),
            parent: parent.map(str::to_owned),
            steps: f64::from(steps.max(1)),
            done: 0.0,
        };
        self.with(|phases| phases.push(phase));
    }

    fn step_completed(&self, phase: &str, step: i32) -> ControlFlow<()> {
        let progress = self.with(|phases| {
            // Steps are numbered from 0; a name may be in use twice, the later one is meant.
            if let Some(open) = phases.iter_mut().rfind(|open| open.name == phase) {
                open.done = f64::from(step.saturating_add(1));
            }
            progress(phases)
        });
        (self.watch)(&progress)
    }

    fn phase_finished(&self, phase: &str) {
        self.with(|phases| {
            if let Some(position) = phases.iter().rposition(|open| open.name == phase) {
                phases.remove(position);
            }
        });
    }
}

/// Each phase is one step of its parent, so its share is counted within that step.
fn progress(phases: &[Phase]) -> BuildProgress {
    let mut fraction = 0.0;
    let mut share = 1.0;
    let mut current: Option<&Phase> = phases.iter().find(|phase| phase.parent.is_none());
    let mut depth = 0;
    let mut innermost = current;
    while let Some(phase) = current {
        innermost = Some(phase);
        fraction += share * (phase.done / phase.steps).min(1.0);
        share /= phase.steps;
        depth += 1;
        current = phases
            .iter()
            .rfind(|child| child.parent.as_deref() == Some(phase.name.as_str()))
            .filter(|_| depth < phases.len());
    }
    BuildProgress {
        fraction: fraction.clamp(0.0, 1.0),
        phase: innermost.map(|phase| phase.name.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, parent: Option<&str>, steps: f64, done: f64) -> Phase {
        Phase {
            name: name.into(),
            parent: parent.map(str::to_owned),
            steps,
            done,
        }
    }

    #[test]
    fn a_phase_counts_within_a_step_of_its_parent() {
        let phases = [
            phase("build", None, 4.0, 1.0),
            phase("time", Some("build"), 2.0, 1.0),
        ];
        assert_eq!(
            progress(&phases),
            BuildProgress {
                fraction: 0.25 + 0.125,
                phase: "time".into()
            }
        );
    }

    #[test]
    fn nothing_and_nonsense_give_a_fraction_all_the_same() {
        assert_eq!(progress(&[]).fraction, 0.0);
        let circle = [phase("a", Some("b"), 1.0, 9.0), phase("b", Some("a"), 1.0, 9.0)];
        assert_eq!(progress(&circle).fraction, 0.0);
        let own_parent = [phase("a", None, 2.0, 1.0), phase("a", Some("a"), 2.0, 5.0)];
        assert!((0.0..=1.0).contains(&progress(&own_parent).fraction));
    }

    #[test]
    fn a_monitor_follows_phases_and_passes_on_the_wish_to_stop() {
        let monitor = Monitor::new(Box::new(|progress| {
            if progress.fraction >= 0.5 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }));
        monitor.phase_started("build", None, 4);
        assert!(monitor.step_completed("build", 0).is_continue());
        assert!(monitor.step_completed("build", 1).is_break());
        monitor.phase_finished("build");
        assert!(monitor.step_completed("unknown", i32::MAX).is_continue());
    }
}
