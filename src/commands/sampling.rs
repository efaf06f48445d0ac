//! The samplers, on a thread of their own. A sensor that hangs keeps that thread, and no run waits for it longer than a while.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::threads::named;
use crate::board::Roots;
use crate::clock::{Clock, RealClock};
use crate::record::{Event, Finding, LogRecord};
use crate::scenario::Telemetry;
use crate::telemetry::{self, Hush, NowReading, SamplerReport, Trouble};

/// Longest wait for the samplers' last readings. They take milliseconds, and on a machine that is very busy a second.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The samplers of a run while they work.
pub(super) struct Sampling {
    stop: Arc<AtomicBool>,
    reading: Arc<NowReading>,
    hush: Arc<Hush>,
    ended: Receiver<()>,
}

impl Sampling {
    /// Looks for what `telemetry` asks for and reads it until `stop` is set; all that comes of it goes to `emit`.
    pub(super) fn start(
        roots: Roots,
        telemetry: Telemetry,
        stop: Arc<AtomicBool>,
        mut emit: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Sampling> {
        let reading = Arc::new(NowReading::default());
        let hush = Arc::new(Hush::default());
        let (end, ended) = channel();
        let (flag, now_reading, hushed) = (stop.clone(), reading.clone(), hush.clone());
        named("samplers").spawn(move || {
            // Dropped with the thread, also where it panics.
            let _end = end;
            let found = telemetry::find(&roots, &telemetry, std::env::current_exe().ok());
            for missing in &found.missing {
                if let Some(finding) = missing.finding() {
                    emit(Event::Finding(finding));
                }
            }
            let begun = RealClock.now();
            let reports = telemetry::sampler_loop(
                found.samplers,
                &RealClock,
                begun,
                &flag,
                &now_reading,
                &hushed,
                &mut emit,
            );
            for report in &reports {
                emit(Event::Log(report_line(report)));
            }
        })?;
        Ok(Sampling {
            stop,
            reading,
            hush,
            ended,
        })
    }

    /// Whether samplers that disturb what is measured are left out from now on.
    pub(super) fn hush(&self, on: bool) {
        self.hush.set(on);
    }

    /// Tells the samplers to end and waits for it; the finding where one hangs.
    pub(super) fn end(self) -> Option<Finding> {
        self.stop.store(true, Ordering::Relaxed);
        match self.ended.recv_timeout(ENDS_WITHIN) {
            // Its end is the channel's.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let sampler = self.reading.name();
                Some(Trouble::Hangs { sampler }.into())
            }
        }
    }
}

/// How a sampler kept its schedule, for the log.
fn report_line(report: &SamplerReport) -> LogRecord {
    let SamplerReport {
        name,
        ticks,
        late,
        missed,
        took,
        over,
        ended,
    } = report;
    let cost = 100.0 * took.as_secs_f64() / over.as_secs_f64().max(1e-9);
    let ended = ended
        .as_ref()
        .map_or(String::new(), |why| format!(", ended: {why}"));
    LogRecord {
        at: RealClock.now(),
        level: "info".to_owned(),
        message: format!(
            "sampler {name}: {ticks} readings, {late} late, {missed} missed, {cost:.3} % of one core{ended}"
        ),
    }
}
