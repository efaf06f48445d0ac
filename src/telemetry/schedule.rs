//! When samplers run: each at epoch + k × period, however long a reading takes; or at a random moment of each period.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jetlag_stats::random::SplitMix64;

use super::cost::{Costs, thread_time};
use super::trouble::Trouble;
use super::{Disturbs, Sampler, SamplerError};
use crate::clock::Clock;
use crate::record::{Event, LogRecord, SampleRecord};
use crate::units::{Nanos, Stamp};

/// Longest sleep before looking whether to stop.
const STOP_LATENCY: Nanos = Nanos::from_millis(50);
/// A tick that begins later than this share of its period is late.
const LATE_SHARE: i64 = 10;

/// How one sampler kept its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerReport {
    /// Name of the sampler.
    pub name: String,
    /// How many readings were taken.
    pub ticks: u64,
    /// Of these, how many began more than a tenth of the period after they were due.
    pub late: u64,
    /// Readings that were not taken, because the next was due already.
    pub missed: u64,
    /// Processor time that its readings took.
    pub took: Nanos,
    /// From the first tick until it ended, or all did.
    pub over: Nanos,
    /// Why it ended before the run, if it did.
    pub ended: Option<String>,
}

/// Which sampler is reading now, for whoever waits for a reading that does not come back.
#[derive(Default)]
pub struct NowReading(Mutex<String>);

impl NowReading {
    /// Its name; none between readings.
    pub fn name(&self) -> Option<String> {
        let name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!name.is_empty()).then(|| name.clone())
    }

    fn set(&self, name: &str) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.clear();
        now.push_str(name);
    }
}

/// While it is on, samplers that disturb what is measured are not read.
#[derive(Default)]
pub struct Hush(AtomicBool);

impl Hush {
    /// Turns it on or off, from the next reading on.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Scheduled {
    sampler: Box<dyn Sampler>,
    period: Nanos,
    /// When the period began that `due` lies in, and how many were before it.
    begun: Stamp,
    number: i64,
    due: Stamp,
    report: SamplerReport,
}

/// Runs the samplers from `epoch` until `stop`, on the calling thread, and hands their readings to
/// `emit`; a sampler that fails leaves an error in the log and a finding. `reading` tells which one is at work; while `hush` is
/// on, those that disturb what is measured are left out. What the sampling itself takes goes to `emit`
/// too. Returns how each kept its schedule, in the order given.
pub fn sampler_loop(
    samplers: Vec<Box<dyn Sampler>>,
    clock: &dyn Clock,
    epoch: Stamp,
    stop: &AtomicBool,
    reading: &NowReading,
    hush: &Hush,
    emit: &mut dyn FnMut(Event),
) -> Vec<SamplerReport> {
    let mut scheduled: Vec<Scheduled> = samplers
        .into_iter()
        .map(|sampler| Scheduled {
            // No sampler may keep the thread from ever sleeping.
            period: sampler.period().max(Nanos::from_millis(1)),
            begun: epoch,
            number: 0,
            due: epoch,
            report: SamplerReport {
                name: sampler.name().to_owned(),
                ticks: 0,
                late: 0,
                missed: 0,
                took: Nanos::ZERO,
                over: Nanos::ZERO,
                ended: None,
            },
            sampler,
        })
        .collect();
    let mut costs = Costs::new(scheduled.iter().map(|s| s.sampler.name()), epoch);
    let (mut readings, mut asides) = (Vec::new(), Vec::new());
    let mut hushed = false;
    while !stop.load(Ordering::Relaxed) {
        if hush.is_on() != hushed {
            hushed = !hushed;
            if hushed {
                say_hushed(&scheduled, clock.now(), emit);
            }
        }
        let running = scheduled
            .iter_mut()
            .enumerate()
            .filter(|(_, s)| s.report.ended.is_none());
        let Some((position, next)) = running.min_by_key(|(_, s)| s.due) else {
            break;
        };
        let now = clock.now();
        if now < next.due {
            clock.sleep_until(next.due.min(now + STOP_LATENCY));
            continue;
        }
        if hushed && next.sampler.disturbs() == Disturbs::WhileReading {
            next.advance(now);
            continue;
        }
        reading.set(&next.report.name);
        costs.add(position, next.tick(now, &mut readings, &mut asides, emit));
        reading.set("");
        let now = clock.now();
        next.report.over = now - epoch;
        next.advance(now);
        costs.state(now, false, emit);
    }
    if !scheduled.is_empty() {
        costs.state(clock.now(), true, emit);
    }
    scheduled.into_iter().map(|s| s.report).collect()
}

/// Which samplers are not read now, and which go on though they disturb.
fn say_hushed(scheduled: &[Scheduled], at: Stamp, emit: &mut dyn FnMut(Event)) {
    for one in scheduled.iter().filter(|one| one.report.ended.is_none()) {
        let name = &one.report.name;
        let (level, message) = match one.sampler.disturbs() {
            Disturbs::Nothing => continue,
            Disturbs::WhileReading => (
                "info",
                format!(
                    "sampler {name}: not read during the idle baseline, because reading would keep the GPU powered"
                ),
            ),
            Disturbs::Always => (
                "warn",
                format!("sampler {name}: it also runs during the idle baseline and may keep the GPU powered"),
            ),
        };
        emit(Event::Log(LogRecord {
            at,
            level: level.to_owned(),
            message,
        }));
    }
}

impl Scheduled {
    /// One reading, handed over; what it took.
    fn tick(
        &mut self,
        now: Stamp,
        readings: &mut Vec<SampleRecord>,
        asides: &mut Vec<Event>,
        emit: &mut dyn FnMut(Event),
    ) -> Nanos {
        let begun = thread_time();
        // The other samplers go on whatever one of them does.
        let sampled = catch_unwind(AssertUnwindSafe(|| {
            let sampled = self.sampler.sample(now, readings);
            self.sampler.asides(asides);
            sampled
        }))
        .unwrap_or(Err(SamplerError::Panicked));
        let took = thread_time() - begun;
        self.report.took += took;
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
            let ended = Trouble::Ended {
                sampler: name.clone(),
                error: error.to_string(),
            };
            emit(Event::Finding(ended.into()));
            self.report.ended = Some(error.to_string());
        }
        took
    }

    /// On to the first tick that is still to come; those in between are missed.
    fn advance(&mut self, now: Stamp) {
        let behind = (now - self.begun).0.max(0) / self.period.0;
        self.report.missed += behind as u64;
        self.number += behind + 1;
        self.begun = self.begun + self.period * (behind + 1);
        self.due = match self.sampler.at_random() {
            true => self.begun + Nanos((self.period.0 as f64 * random(self.number)) as i64),
            false => self.begun,
        };
    }
}

/// From 0 to 1, another for each number.
fn random(number: i64) -> f64 {
    SplitMix64::from_place(0, (number as u64).wrapping_sub(1)).unit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::VirtualClock;
    use crate::telemetry::cost;
    use std::sync::Arc;

    /// Takes `costs[k]` of virtual time at its k-th reading; stops the loop after the last.
    struct Costly {
        clock: Arc<VirtualClock>,
        stop: Arc<AtomicBool>,
        costs: Vec<i64>,
        fails: bool,
        at_random: bool,
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
        fn at_random(&self) -> bool {
            self.at_random
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
        sampled(costs, fails, false)
    }

    fn at_random(costs: &[i64]) -> (Vec<SamplerReport>, Vec<Event>) {
        sampled(costs, false, true)
    }

    fn sampled(costs: &[i64], fails: bool, at_random: bool) -> (Vec<SamplerReport>, Vec<Event>) {
        let clock = Arc::new(VirtualClock::default());
        let stop = Arc::new(AtomicBool::new(false));
        let sampler = Costly {
            clock: clock.clone(),
            stop: stop.clone(),
            costs: costs.to_vec(),
            fails,
            at_random,
            period: Nanos::from_millis(100),
            readings: 0,
        };
        let mut events = Vec::new();
        let epoch = Stamp(5_000_000);
        let reports = sampler_loop(
            vec![Box::new(sampler)],
            &*clock,
            epoch,
            &stop,
            &NowReading::default(),
            &Hush::default(),
            &mut |e| events.push(e),
        );
        (reports, events)
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn a_sampler_that_asks_for_it_is_read_once_in_each_period_at_any_moment_of_it() {
        let (_, events) = at_random(&[0; 400]);
        let at: Vec<i64> = samples(&events, "costly").map(|s| s.at.0 - 5 * MS).collect();
        for (period, at) in (0..).zip(&at) {
            assert_eq!(at / (100 * MS), period, "one in each");
        }
        // A load that repeats every period, or every third of one, is met everywhere alike.
        for cycle in [100.0, 100.0 / 3.0] {
            let mut tenths = [0; 10];
            for at in &at {
                let along = (*at as f64 / MS as f64 / cycle).fract();
                tenths[(along * 10.0) as usize] += 1;
            }
            assert!(
                tenths.iter().all(|n| (20..=65).contains(n)),
                "{cycle}: {tenths:?}"
            );
        }
    }

    fn samples<'e>(events: &'e [Event], source: &'e str) -> impl Iterator<Item = &'e SampleRecord> {
        events.iter().filter_map(move |event| match event {
            Event::Sample(sample) if sample.source == source => Some(sample),
            _ => None,
        })
    }

    #[test]
    fn readings_keep_to_the_schedule_whatever_they_cost() {
        let (reports, events) = run(&[30 * MS, 0, 99 * MS, MS], false);
        let at: Vec<i64> = samples(&events, "costly").map(|s| s.at.0 / MS).collect();
        assert_eq!(at, [5, 105, 205, 305]);
        let report = &reports[0];
        assert_eq!((report.ticks, report.late, report.missed), (4, 0, 0));
        assert_eq!(report.ended, None);
    }

    #[test]
    fn a_reading_that_overruns_its_period_makes_the_next_ones_missed() {
        // Due at 5, runs to 255: those of 105 and 205 are missed, 305 is on time.
        let (reports, events) = run(&[250 * MS, 0, 0], false);
        assert_eq!(samples(&events, "costly").count(), 3);
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
        assert_eq!(samples(&events, "costly").count(), 2);
        assert!(matches!(&events[2], Event::Log(l) if l.level == "error" && l.message.contains("costly")));
        assert!(matches!(&events[3], Event::Finding(f) if f.code == "sampler-ended"));
    }

    /// Burns processor time, sleeps, or panics at its third reading.
    struct Burner {
        name: &'static str,
        stop: Arc<AtomicBool>,
        readings: u32,
    }

    impl Sampler for Burner {
        fn name(&self) -> &str {
            self.name
        }
        fn period(&self) -> Nanos {
            Nanos::from_millis(100)
        }
        fn sample(&mut self, _: Stamp, _: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
            self.readings += 1;
            match self.name {
                "burns" => {
                    let begun = thread_time();
                    while thread_time() - begun < Nanos::from_millis(5) {}
                }
                "sleeps" => std::thread::sleep(std::time::Duration::from_millis(5)),
                _ => assert!(self.readings < 3, "made to fail"),
            }
            if self.name == "burns" && self.readings == 25 {
                self.stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    /// Under virtual time, in which 5 ms of every 100 are 5 % by arithmetic, however slow the machine is.
    fn burn(names: &[&'static str]) -> (Vec<SamplerReport>, Vec<Event>) {
        let clock = VirtualClock::default();
        let stop = Arc::new(AtomicBool::new(false));
        let samplers = names.iter().map(|name| {
            Box::new(Burner {
                name,
                stop: stop.clone(),
                readings: 0,
            }) as Box<dyn Sampler>
        });
        let mut events = Vec::new();
        let reports = sampler_loop(
            samplers.collect(),
            &clock,
            Stamp(0),
            &stop,
            &NowReading::default(),
            &Hush::default(),
            &mut |e| events.push(e),
        );
        (reports, events)
    }

    /// Counts its readings; the other one switches the hush on and off by its own.
    struct Quiet {
        disturbs: Disturbs,
        readings: Arc<std::sync::atomic::AtomicU32>,
        hush: Arc<Hush>,
        stop: Arc<AtomicBool>,
    }

    impl Sampler for Quiet {
        fn name(&self) -> &str {
            match self.disturbs {
                Disturbs::Nothing => "rails",
                Disturbs::WhileReading => "gpu",
                Disturbs::Always => "tegrastats",
            }
        }
        fn period(&self) -> Nanos {
            Nanos::from_millis(100)
        }
        fn disturbs(&self) -> Disturbs {
            self.disturbs
        }
        fn sample(&mut self, _: Stamp, _: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
            let readings = self.readings.fetch_add(1, Ordering::Relaxed) + 1;
            if self.disturbs == Disturbs::Nothing {
                self.hush.set((10..20).contains(&readings));
                self.stop.store(readings == 30, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    #[test]
    fn what_keeps_the_gpu_awake_is_not_read_while_it_is_hushed_and_the_record_says_so() {
        let (hush, stop) = (Arc::new(Hush::default()), Arc::new(AtomicBool::new(false)));
        let kinds = [Disturbs::Nothing, Disturbs::WhileReading, Disturbs::Always];
        let counts = kinds.map(|_| Arc::default());
        let samplers = kinds.into_iter().zip(&counts).map(|(disturbs, readings)| {
            let (readings, hush, stop) = (Arc::clone(readings), hush.clone(), stop.clone());
            let quiet = Quiet {
                disturbs,
                readings,
                hush,
                stop,
            };
            Box::new(quiet) as Box<dyn Sampler>
        });
        let mut logs = Vec::new();
        let clock = VirtualClock::default();
        let reports = sampler_loop(
            samplers.collect(),
            &clock,
            Stamp(0),
            &stop,
            &NowReading::default(),
            &hush,
            &mut |event| {
                if let Event::Log(log) = event {
                    logs.push(log.message);
                }
            },
        );
        let counts = counts.map(|count: Arc<std::sync::atomic::AtomicU32>| count.load(Ordering::Relaxed));
        assert_eq!(counts[0], 30);
        // Ten periods without a reading; the first and the last are those of one that is due at the same time.
        assert!((18..=20).contains(&counts[1]), "{counts:?}");
        assert!(counts[2] >= 29, "{counts:?}");
        assert_eq!(reports[1].missed, 0, "what is not wanted is not missed");
        assert_eq!(logs.len(), 2, "{logs:?}");
        assert!(
            logs[0].contains("gpu: not read during the idle baseline"),
            "{logs:?}"
        );
        assert!(logs[1].contains("tegrastats: it also runs"), "{logs:?}");
    }

    #[test]
    fn what_a_sampler_takes_of_a_core_is_stated_each_second_and_waiting_is_not_counted() {
        let (reports, events) = burn(&["sleeps", "burns"]);
        let of = |signal: &str| -> Vec<(i64, f64)> {
            let found = samples(&events, cost::SOURCE).filter(|s| s.signal == signal);
            found.map(|s| (s.at.0 / MS, s.value.unwrap())).collect()
        };
        let burnt = of("burns_cost");
        let at: Vec<i64> = burnt.iter().map(|(at, _)| *at).collect();
        // The last is of what was left when all ended.
        assert_eq!(at, [1000, 2000, 2400]);
        // Ten readings a second of at least 5 ms each.
        assert!(burnt[..2].iter().all(|(_, cost)| *cost >= 5.0), "{burnt:?}");
        for ((slept, burnt), all) in of("sleeps_cost").iter().zip(&burnt).zip(of(cost::ALL)) {
            assert!(slept.1 < 2.0, "{slept:?}");
            assert!(all.1 >= slept.1 + burnt.1, "{all:?}");
        }
        assert!(reports[1].took >= Nanos::from_millis(125) && reports[1].over == Nanos::from_millis(2400));
        let described = events
            .iter()
            .filter(|e| matches!(e, Event::Signal(s) if s.source == cost::SOURCE));
        assert_eq!(described.count(), 3, "each once");
    }

    #[test]
    fn a_sampler_that_panics_ends_with_that_reason_and_the_others_go_on() {
        let (reports, events) = burn(&["panics", "burns"]);
        assert_eq!((reports[0].ticks, reports[1].ticks), (3, 25));
        assert!(
            reports[0]
                .ended
                .as_deref()
                .is_some_and(|why| why.contains("panicked"))
        );
        assert!(
            events
                .iter()
                .any(|e| matches!(e, Event::Finding(f) if f.code == "sampler-ended"))
        );
    }

    #[test]
    fn without_samplers_there_is_nothing_to_wait_for() {
        let clock = VirtualClock::default();
        let stop = AtomicBool::new(false);
        assert!(
            sampler_loop(
                vec![],
                &clock,
                Stamp(0),
                &stop,
                &NowReading::default(),
                &Hush::default(),
                &mut |_| ()
            )
            .is_empty()
        );
    }
}
