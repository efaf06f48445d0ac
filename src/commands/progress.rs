//! The progress bar of a run, on stderr: elapsed time, frames of each tenant, and the current median.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jetlag_stats::median::upper_median;

use crate::clock::{Clock, RealClock};
use crate::record::{Event, FrameRecord, OVERHEAD_TENANT, Outcome, Phase};
use crate::shown::shown;
use crate::tenant::recorder::Watcher;
use crate::units::{Nanos, Stamp};

/// Responses that the current median is taken over.
const RECENT: usize = 101;
/// Time between redraws: ten a second would cost more than it tells.
const REDRAW: Duration = Duration::from_millis(250);

struct Line {
    name: String,
    frames: u64,
    recent: Vec<i64>,
    next: usize,
}

/// Watches the records go by and draws. Quiet where stderr is no terminal.
pub struct Progress {
    bar: ProgressBar,
    lines: Vec<Line>,
    began: Stamp,
    total: Nanos,
    rounds: Option<u16>,
    /// What the phase is called, where it is not the measurement.
    phase: String,
    drawn: Instant,
}

impl Progress {
    /// A bar over `total` time and so many rounds of turns for tenants of these names; hidden if `quiet`.
    pub fn new(names: &[&str], total: Nanos, rounds: Option<u16>, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        // A template that does not parse would be a mistake of ours; the default bar then serves.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {wide_msg}") {
            bar.set_style(style);
        }
        let lines = names
            .iter()
            .map(|name| Line {
                name: (*name).to_owned(),
                frames: 0,
                recent: Vec::with_capacity(RECENT),
                next: 0,
            })
            .collect();
        Progress {
            bar,
            lines,
            began: RealClock.now(),
            total,
            rounds,
            phase: String::new(),
            drawn: Instant::now(),
        }
    }

    fn message(&self) -> String {
        let mut text = self.phase.clone();
        for (i, line) in self.lines.iter().enumerate() {
            let mut recent = line.recent.clone();
            let median =
                upper_median(&mut recent, Ord::cmp).map_or("–".to_owned(), |ns| Nanos(ns).to_string());
            let gap = if i == 0 { "" } else { " · " };
            text += &format!("{gap}{} {} frames, p50 {median}", line.name, line.frames);
        }
        text
    }
}

impl Watcher for Progress {
    fn frame(&mut self, record: &FrameRecord) {
        if record.tenant == OVERHEAD_TENANT || record.outcome != Outcome::Completed {
            return;
        }
        let Some(line) = self.lines.get_mut(usize::from(record.tenant)) else {
            return;
        };
        line.frames += 1;
        if line.recent.len() < RECENT {
            line.recent.push(record.response().0);
        } else {
            line.recent[line.next] = record.response().0;
            line.next = (line.next + 1) % RECENT;
        }
    }

    fn event(&mut self, event: &Event) {
        if let Event::PhaseSpec(spec) = event {
            self.phase = match spec.phase {
                Phase::Together => String::new(),
                _ => format!("{} · ", spec.in_words(self.rounds)),
            };
        }
    }

    fn tick(&mut self) {
        if self.drawn.elapsed() < REDRAW || self.bar.is_hidden() {
            return;
        }
        self.drawn = Instant::now();
        let elapsed = RealClock.now() - self.began;
        let share = (elapsed.0 as f64 / self.total.0.max(1) as f64).min(1.0);
        self.bar.set_prefix(format!(
            "{:5.1} s / {:.1} s",
            elapsed.as_secs_f64(),
            self.total.as_secs_f64()
        ));
        self.bar.set_position((share * 1000.0) as u64);
        self.bar.set_message(shown(&self.message()).into_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
