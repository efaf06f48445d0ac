//! The state that the dashboard shows, updated by events as they arrive: pure, without clock or terminal.
//!
//! For each signal: the latest reading, the highest, and about the last two minutes. For each tenant: its rate, and
//! quantiles of its latest frames. The figures of a run are not made here; they are computed from its whole record.

use std::collections::{BTreeMap, VecDeque};

use jetlag_stats::moments::mean;

use crate::record::{
    Event, FrameRecord, Manifest, Measurand, OVERHEAD_TENANT, Part, Phase, PhaseSpec, Quantity, RailRole,
};
use crate::scenario::Scenario;
use crate::units::{Nanos, Stamp};

mod tenant;
mod total;

pub use tenant::{Asked, Column, LiveTenant};
pub use total::TotalPower;

/// Readings kept of a signal: the widest sparkline.
const HISTORY: usize = 320;
/// A reading older than this many seconds is no longer shown.
const STALE: Nanos = Nanos::from_secs(15);

/// Everything that the dashboard shows.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// What is watched, for the title.
    pub title: String,
    /// Whether it shows this machine now, and not a recording.
    pub live: bool,
    /// Each signal by source and name.
    pub signals: BTreeMap<(String, String), LiveSignal>,
    /// Each tenant, in the scenario's order.
    pub tenants: Vec<LiveTenant>,
    /// Which phase is on.
    pub phase: Option<Phase>,
    /// What the phase is called, where the record describes it.
    pub phase_label: Option<String>,
    /// How long all phases take, where that is planned.
    pub planned: Option<Nanos>,
    /// How many rounds of turns are planned.
    pub rounds: Option<u16>,
    /// The power that is not to be exceeded, mW.
    pub budget_mw: Option<f64>,
    /// The latest findings and errors.
    pub notes: VecDeque<String>,
    /// Timestamps of the first and of the latest event.
    pub span: Option<(Stamp, Stamp)>,
    /// When the first phase began.
    pub began: Option<Stamp>,
}

/// The latest readings of one signal.
#[derive(Clone, Debug, Default)]
pub struct LiveSignal {
    /// What it measures, and of what.
    pub measurand: Measurand,
    /// Unit of the values: `mw`, `percent`, ….
    pub unit: String,
    /// Its place in the whole, for a power line.
    pub role: RailRole,
    /// The latest reading; none if it had no value.
    pub value: Option<f64>,
    /// When the latest reading was taken.
    pub at: Stamp,
    /// The highest reading so far; none before the first value.
    pub peak: Option<f64>,
    /// The latest ones, the oldest first; none where a reading had no value.
    pub history: VecDeque<Option<f64>>,
}

impl LiveView {
    /// Nothing yet, of tenants of these names.
    pub fn new(title: String, tenants: &[&str]) -> LiveView {
        LiveView {
            title,
            tenants: tenants.iter().map(|name| LiveTenant::named(name)).collect(),
            ..LiveView::default()
        }
    }

    /// Nothing yet, of a scenario's tenants.
    pub fn of_scenario(title: String, scenario: &Scenario) -> LiveView {
        LiveView {
            title,
            tenants: scenario.tenants.iter().map(LiveTenant::planned).collect(),
            ..LiveView::default()
        }
    }

    /// Nothing yet, of a recording's tenants.
    pub fn of_recording(title: String, manifest: &Manifest) -> LiveView {
        LiveView::of_scenario(title, &crate::analysis::gathering::plan::of(manifest))
    }

    /// Updates the state by an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Sample(sample) => {
                self.seen(sample.at);
                let key = (sample.source.clone(), sample.signal.clone());
                let signal = self.signals.entry(key).or_default();
                if signal.unit.is_empty() {
                    // No record described it: its names have to do.
                    signal.measurand = Measurand::of_names(&sample.source, &sample.signal, &sample.unit);
                }
                signal.unit.clone_from(&sample.unit);
                signal.at = sample.at;
                signal.value = sample.value.filter(|value| value.is_finite());
                if let Some(value) = signal.value {
                    signal.peak = Some(signal.peak.map_or(value, |peak| peak.max(value)));
                }
                if signal.history.len() == HISTORY {
                    signal.history.pop_front();
                }
                signal.history.push_back(signal.value);
            }
            Event::Signal(described) => {
                let key = (described.source.clone(), described.signal.clone());
                let signal = self.signals.entry(key).or_default();
                signal.unit.clone_from(&described.unit);
                signal.measurand = described.measurand;
                signal.role = described.role;
            }
            Event::Frame(frame) => self.frame(frame),
            Event::PhaseSpec(spec) => self.phase(spec),
            Event::Finding(finding) => self.note(finding.message.clone()),
            Event::Log(log) if log.level == "error" || log.level == "warn" => self.note(log.message.clone()),
            _ => {}
        }
    }

    /// Takes in one frame.
    pub fn frame(&mut self, frame: &FrameRecord) {
        if frame.tenant == OVERHEAD_TENANT || !frame.is_in_order() {
            return;
        }
        self.seen(frame.finished);
        self.phase = Some(frame.phase);
        if let Some(tenant) = self.tenants.get_mut(usize::from(frame.tenant)) {
            tenant.frame(frame);
        }
    }

    /// Signals with a recent reading; a signal that went silent is not shown with its old value.
    pub fn current(&self) -> impl Iterator<Item = (&str, &str, &LiveSignal)> {
        let now = self.span.map_or(Stamp(0), |(_, last)| last);
        self.signals
            .iter()
            .filter(move |(_, signal)| {
                now - signal.at <= STALE && (signal.value.is_some() || signal.at != Stamp(0))
            })
            .map(|((source, name), signal)| (source.as_str(), name.as_str(), signal))
    }

    /// Mean load of the processors that are on, for boards that report each load but not their sum.
    pub fn mean_of_cores(&self) -> Option<f64> {
        let is_core = |signal: &LiveSignal| {
            let Measurand { quantity, part } = signal.measurand;
            matches!((quantity, part), (Quantity::Load, Part::Processor(_)))
        };
        let loads: Vec<f64> = self
            .current()
            .filter(|(.., signal)| is_core(signal))
            .filter_map(|(.., signal)| signal.value)
            .collect();
        mean(&loads)
    }

    /// Forgets the highest values.
    pub fn reset_peaks(&mut self) {
        self.signals
            .values_mut()
            .for_each(|signal| signal.peak = signal.value);
    }

    /// How long it has been watched.
    pub fn elapsed(&self) -> Nanos {
        self.span.map_or(Nanos::ZERO, |(first, last)| last - first)
    }

    /// How much of the planned time has passed, and all of it; none where no time was planned, or no phase began.
    pub fn progress(&self) -> Option<(Nanos, Nanos)> {
        let planned = self.planned.filter(|planned| planned.0 > 0)?;
        let passed = self.span?.1 - self.began?;
        Some((passed.clamp(Nanos::ZERO, planned), planned))
    }

    fn phase(&mut self, spec: &PhaseSpec) {
        self.began.get_or_insert(spec.at);
        self.phase = Some(spec.phase);
        self.phase_label = Some(match spec.traced {
            true => format!("{}, traced", spec.label),
            false => spec.in_words(self.rounds),
        });
        for (number, tenant) in self.tenants.iter_mut().enumerate() {
            let takes_part = spec.members.iter().any(|member| usize::from(*member) == number);
            let swept = spec.rate.filter(|rate| usize::from(rate.tenant) == number);
            tenant.phase(takes_part, swept.map(|rate| rate.hz));
        }
    }

    fn seen(&mut self, at: Stamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn note(&mut self, note: String) {
        if self.notes.len() == 8 {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, SampleRecord, SweptRate};

    fn sample(at: i64, signal: &str, value: Option<f64>) -> Event {
        Event::Sample(SampleRecord {
            at: Stamp(at * 1_000_000_000),
            source: "s".into(),
            signal: signal.into(),
            value,
            unit: "mw".into(),
        })
    }

    #[test]
    fn the_latest_and_the_highest_reading_are_kept_and_what_goes_quiet_goes_away() {
        let mut view = LiveView::new("x".into(), &[]);
        for (at, value) in [(1, Some(5.0)), (2, Some(9.0)), (3, None)] {
            view.event(&sample(at, "VDD_IN", value));
        }
        let signal = &view.signals[&("s".to_owned(), "VDD_IN".to_owned())];
        assert_eq!(
            (signal.value, signal.peak, signal.history.len()),
            (None, Some(9.0), 3)
        );
        view.event(&sample(60, "other", Some(1.0)));
        let shown: Vec<&str> = view.current().map(|(_, name, _)| name).collect();
        assert_eq!(shown, ["other"]);
    }

    #[test]
    fn a_quantile_is_shown_only_where_the_latest_frames_support_it() {
        let mut view = LiveView::new("x".into(), &["camera"]);
        let mut frame = FrameRecord::completed(Stamp(0), Stamp(0));
        for i in 0..100 {
            frame.released = Stamp(i * 33_000_000);
            frame.started = frame.released;
            frame.finished = frame.released + Nanos::from_millis(10);
            view.frame(&frame);
        }
        let tenant = &view.tenants[0];
        assert_eq!((tenant.p50_ms(), tenant.p99_ms()), (Some(10.0), None));
        assert!((tenant.rate().unwrap() - 1000.0 / 33.0).abs() < 1e-6);
        frame.outcome = Outcome::Dropped;
        view.frame(&frame);
        assert_eq!(
            (
                view.tenants[0].dropped,
                view.tenants[0].missed,
                view.tenants[0].ended
            ),
            (1, 1, 101)
        );
    }

    #[test]
    fn findings_warnings_and_errors_are_notes_and_the_last_eight_are_kept() {
        let mut view = LiveView::new("x".into(), &[]);
        let log = |level: &str, message: String| {
            Event::Log(crate::record::LogRecord {
                at: Stamp(0),
                level: level.to_owned(),
                message,
            })
        };
        for level in ["info", "warn", "debug", "error", "trace"] {
            view.event(&log(level, level.to_owned()));
        }
        assert_eq!(view.notes, ["warn", "error"]);
        (0..20).for_each(|n| view.event(&log("warn", n.to_string())));
        assert_eq!(view.notes, ["12", "13", "14", "15", "16", "17", "18", "19"]);
    }

    #[test]
    fn the_mean_load_is_of_processors_and_of_nothing_else() {
        let mut view = LiveView::new("x".into(), &[]);
        view.event(&sample(1, "cpu_load", Some(90.0)));
        view.event(&sample(1, "cpuset_load", Some(70.0)));
        assert_eq!(view.mean_of_cores(), None);
        view.event(&sample(1, "cpu0_load", Some(10.0)));
        view.event(&sample(1, "cpu1_load", Some(30.0)));
        view.event(&sample(1, "cpu11_load", Some(80.0)));
        view.event(&sample(1, "cpu2_load", None));
        view.event(&sample(1, "gpu0_load", Some(100.0)));
        assert_eq!(view.mean_of_cores(), Some(40.0));
    }

    #[test]
    fn peaks_can_be_forgotten_and_the_time_watched_is_from_the_first_to_the_last_event() {
        let mut view = LiveView::new("x".into(), &[]);
        assert_eq!(view.elapsed(), Nanos::ZERO);
        for (at, value) in [(3, 5.0), (2, 9.0), (7, 4.0)] {
            view.event(&sample(at, "VDD_IN", Some(value)));
        }
        assert_eq!(view.elapsed(), Nanos::from_secs(5));
        let peak = |view: &LiveView| view.signals[&("s".to_owned(), "VDD_IN".to_owned())].peak;
        assert_eq!(peak(&view), Some(9.0));
        view.reset_peaks();
        assert_eq!(peak(&view), Some(4.0));
        view.event(&sample(8, "VDD_IN", Some(6.0)));
        assert_eq!(peak(&view), Some(6.0));
    }

    fn frame(finished_ms: i64, response_ms: i64) -> FrameRecord {
        let finished = Stamp(finished_ms * 1_000_000);
        FrameRecord::completed(finished - Nanos::from_millis(response_ms), finished)
    }

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let mut view = LiveView::new("x".into(), &["camera"]);
        (0..100).for_each(|i| view.event(&Event::Frame(frame(i * 20, 5))));
        assert!((view.tenants[0].rate().unwrap() - 50.0).abs() < 1e-6);
        assert_eq!(view.phase, Some(Phase::Together));
        (0..40).for_each(|i| view.event(&Event::Frame(frame(2_080 + i * 100, 5))));
        assert!((view.tenants[0].rate().unwrap() - 10.0).abs() < 1e-6);
        assert_eq!(view.tenants[0].ended, 140);
    }

    #[test]
    fn what_a_signal_means_is_kept_also_where_it_comes_before_the_first_reading() {
        let mut view = LiveView::new("x".into(), &[]);
        view.event(&Event::Signal(crate::record::SignalRecord {
            source: "s".into(),
            signal: "VDD_IN".into(),
            unit: "mw".into(),
            role: RailRole::Total,
            ..Default::default()
        }));
        let key = ("s".to_owned(), "VDD_IN".to_owned());
        assert_eq!(
            (view.signals[&key].role, view.signals[&key].unit.as_str()),
            (RailRole::Total, "mw")
        );
        view.event(&sample(1, "VDD_IN", Some(5.0)));
        assert_eq!(
            (view.signals[&key].role, view.signals[&key].value),
            (RailRole::Total, Some(5.0))
        );
        view.event(&Event::Finding(crate::record::Finding {
            code: "throttled".into(),
            tenant: None,
            message: "It was hot.".into(),
            advice: String::new(),
        }));
        assert_eq!(view.notes, ["It was hot."]);
    }

    #[test]
    fn a_phase_tells_who_takes_part_at_which_rate_and_how_much_of_the_time_has_passed() {
        let mut view = LiveView::new("x".into(), &["camera", "lidar"]);
        view.planned = Some(Nanos::from_secs(8));
        assert_eq!(view.progress(), None);
        let mut spec = PhaseSpec {
            at: Stamp(1_000_000_000),
            phase: Phase::Alone,
            label: "lidar alone".into(),
            sharing: "Streams".into(),
            members: vec![1],
            rate: Some(SweptRate {
                tenant: 1,
                hz: Some(20.0),
            }),
            ..PhaseSpec::default()
        };
        view.event(&Event::PhaseSpec(spec.clone()));
        let parts: Vec<bool> = view.tenants.iter().map(|tenant| tenant.takes_part).collect();
        assert_eq!(parts, [false, true]);
        assert_eq!(view.tenants[1].asked, Asked::Hz(20.0));
        assert_eq!(view.phase_label.as_deref(), Some("lidar alone"));
        view.event(&Event::Frame(frame(3_000, 5)));
        let progress = (Nanos::from_secs(2), Nanos::from_secs(8));
        assert_eq!(view.progress(), Some(progress));
        spec.traced = true;
        view.event(&Event::PhaseSpec(spec));
        assert_eq!(view.phase_label.as_deref(), Some("lidar alone, traced"));
        assert_eq!(view.progress(), Some(progress));
    }
}
