//! When samplers run: each at epoch + k × period, however long a reading takes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Sampler;
use crate::clock::Clock;
use crate::record::{Event, Finding, LogRecord, SampleRecord};
use crate::units::{Nanos, Stamp};

/// Longest sleep before looking whether to stop.
const STOP_LATENCY: Nanos = Nanos::from_millis(50);
/// A tick that begins later than this share of its period is late.
const LATE_SHARE: i64 = 10;

/// How one sampler kept its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerReport {
    /// The sampler.
    pub name: String,
    /// Readings taken.
    pub ticks: u64,
    /// Of these, how many began more than a tenth of the period after they were due.
    pub late: u64,
    /// Readings that were not taken, because the next was due already.
    pub missed: u64,
    /// Why it ended before the run, if it did.
    pub ended: Option<String>,
}

struct Scheduled {
    sampler: Box<dyn Sampler>,
    period: Nanos,
    due: Stamp,
    report: SamplerReport,
}

/// Runs the samplers from `epoch` until `stop`, on the calling thread, and hands their readings to
/// `emit`; a sampler that fails leaves an error in the log and a finding. Returns how each kept its
/// schedule, in the order given.
pub fn sampler_loop(
    samplers: Vec<Box<dyn Sampler>>,
    clock: &dyn Clock,
    epoch: Stamp,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(Event),
) -> Vec<SamplerReport> {
    let mut scheduled: Vec<Scheduled> = samplers
        .into_iter()
        .map(|sampler| Scheduled {
            // No sampler may keep the thread from ever sleeping.
            period: sampler.period().max(Nanos::from_millis(1)),
            due: epoch,
            report: SamplerReport {
                name: sampler.name().to_owned(),
                ticks: 0,
                late: 0,
                missed: 0,
                ended: None,
            },
            sampler,
        })
        .collect();
    let (mut readings, mut asides) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let running = scheduled.iter_mut().filter(|s| s.report.ended.is_none());
        let Some(next) = running.min_by_key(|s| s.due) else {
            break;
        };
        let now = clock.now();
        if now < next.due {
            clock.sleep_until(next.due.min(now + STOP_LATENCY));
            continue;
        }
        next.tick(now, &mut readings, &mut asides, emit);
        next.advance(clock.now());
    }
    scheduled.into_iter().map(|s| s.report).collect()
}

impl Scheduled {
    fn tick(
        &mut self,
        now: Stamp,
        readings: &mut Vec<SampleRecord>,
        asides: &mut Vec<Event>,
        emit: &mut dyn FnMut(Event),
    ) {
        let sampled = self.sampler.sample(now, readings);
        self.sampler.asides(asides);
        for aside in asides.drain(..) {
            emit(match aside {
                // A sampler may have noted it before it knew the time.
                Event::Log(log) => Event::Log(LogRecord {
                    at: log.at.max(now),
                    ..log
                }),
                other => other,
            });
        }
        for reading in readings.drain(..) {
            emit(Event::Sample(reading));
        }
        self.report.ticks += 1;
        if now - self.due > Nanos(self.period.0 / LATE_SHARE) {
            self.report.late += 1;
        }
        if let Err(error) = sampled {
            let name = &self.report.name;
            emit(Event::Log(LogRecord {
                at: now,
                level: "error".to_owned(),
                message: format!("sampler {name} ended: {error}"),
            }));
            emit(Event::Finding(Finding {
                code: "sampler-ended".to_owned(),
                tenant: None,
                message: format!("the {name} sampler ended early: {error}"),
                advice: "The run's times are not affected; its readings stop here. `jetlag doctor` shows what can be read."
                    .to_owned(),
            }));
            self.report.ended = Some(error.to_string());
        }
    }

    /// On to the first tick that is still to come; those in between are missed.
    fn advance(&mut self, now: Stamp) {
        let behind = (now - self.due).0.max(0) / self.period.0;
        self.report.missed += behind as u64;
        self.due = self.due + self.period * (behind + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;
    use crate::telemetry::SamplerError;
    use std::sync::Arc;

    /// Takes `costs[k]` of virtual time at its k-th reading; stops the loop after the last.
    struct Costly {
        clock: Arc<VirtualClock>,
        stop: Arc<AtomicBool>,
        costs: Vec<i64>,
        fails: bool,
        period: Nanos,
        readings: usize,
    }

    impl Sampler for Costly {
        fn name(&self) -> &str {
            "costly"
        }
        fn period(&self) -> Nanos {
            self.period
        }
        fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
            out.push(SampleRecord {
                at,
                source: "costly".into(),
                signal: "x".into(),
                value: None,
                unit: "percent".into(),
            });
            self.clock.advance_to(at + Nanos(self.costs[self.readings]));
            self.readings += 1;
            if self.readings == self.costs.len() {
                if self.fails {
                    return Err(SamplerError::Io {
                        path: "/sys/x".into(),
                        source: std::io::ErrorKind::PermissionDenied.into(),
                    });
                }
                self.stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    fn run(costs: &[i64], fails: bool) -> (Vec<SamplerReport>, Vec<Event>) {
        let clock = Arc::new(VirtualClock::default());
        let stop = Arc::new(AtomicBool::new(false));
        let sampler = Costly {
            clock: clock.clone(),
            stop: stop.clone(),
            costs: costs.to_vec(),
            fails,
            period: Nanos::from_millis(100),
            readings: 0,
        };
        let mut events = Vec::new();
        let epoch = Stamp(5_000_000);
        let reports = sampler_loop(vec![Box::new(sampler)], &*clock, epoch, &stop, &mut |e| {
            events.push(e)
        });
        (reports, events)
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn readings_keep_to_the_schedule_whatever_they_cost() {
        let (reports, events) = run(&[30 * MS, 0, 99 * MS, MS], false);
        let at: Vec<i64> = events
            .iter()
            .map(|e| match e {
                Event::Sample(s) => s.at.0 / MS,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(at, [5, 105, 205, 305]);
        let report = &reports[0];
        assert_eq!((report.ticks, report.late, report.missed), (4, 0, 0));
        assert_eq!(report.ended, None);
    }

    #[test]
    fn a_reading_that_overruns_its_period_makes_the_next_ones_missed() {
        // Due at 5, runs to 255: those of 105 and 205 are missed, 305 is on time.
        let (reports, events) = run(&[250 * MS, 0, 0], false);
        assert_eq!(events.len(), 3);
        let report = &reports[0];
        assert_eq!((report.ticks, report.late, report.missed), (3, 0, 2));
    }

    #[test]
    fn a_failing_sampler_ends_with_its_reason_and_what_it_had_read_is_kept() {
        let (reports, events) = run(&[0, 0], true);
        assert!(
            reports[0]
                .ended
                .as_deref()
                .is_some_and(|why| why.contains("/sys/x"))
        );
        assert_eq!(events.iter().filter(|e| matches!(e, Event::Sample(_))).count(), 2);
        assert!(matches!(&events[2], Event::Log(l) if l.level == "error" && l.message.contains("costly")));
        assert!(matches!(&events[3], Event::Finding(f) if f.code == "sampler-ended"));
    }

    #[test]
    fn without_samplers_there_is_nothing_to_wait_for() {
        let clock = VirtualClock::default();
        let stop = AtomicBool::new(false);
        assert!(sampler_loop(vec![], &clock, Stamp(0), &stop, &mut |_| ()).is_empty());
    }
}
