//! What a source that several tenants share took to read and decode: told once, and what falls to each.

use std::sync::mpsc::Sender;

use crate::clock::{Clock, RealClock};
use crate::record::{Event, LogRecord};
use crate::source::shared::SharedCost;
use crate::tenant::mishap::Mishap;

/// Puts a line about it into the run's log, and a finding where frames had to be decoded again; `tenant` is one of its tenants.
pub(super) fn tell(cost: &SharedCost, tenant: &str, notes: &Sender<Event>) {
    let message = in_words(cost);
    log::info!("{message}");
    // The recorder may have stopped already; then the log line above is all there is.
    let _ = notes.send(Event::Log(LogRecord {
        at: RealClock.now(),
        level: "info".to_owned(),
        message,
    }));
    if cost.again > 0 {
        let behind = Mishap::SharedBehind { cost: cost.clone() };
        let _ = notes.send(Event::Finding(behind.of(tenant)));
    }
}

fn in_words(cost: &SharedCost) -> String {
    let each = cost.took.as_secs_f64() * 1e3 / cost.frames.max(1) as f64;
    format!(
        "source {}: {} frames were read and decoded once for {} tenants, {each:.2} ms a frame: {:.2} ms for each tenant. The tenant \
         that came first has this time in acquire and decode, the others only what they waited for it.",
        cost.name,
        cost.frames,
        cost.tenants,
        each / cost.tenants.max(1) as f64
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn told(again: u64) -> (String, Option<String>) {
        let cost = SharedCost {
            name: "front".to_owned(),
            tenants: 2,
            frames: 300,
            again,
            took: Duration::from_millis(1200),
        };
        let (notes, events) = channel();
        tell(&cost, "camera", &notes);
        drop(notes);
        let (mut line, mut code) = (String::new(), None);
        for event in events {
            match event {
                Event::Log(log) => line = log.message,
                Event::Finding(finding) => code = Some(finding.code),
                other => panic!("{other:?}"),
            }
        }
        (line, code)
    }

    #[test]
    fn the_cost_is_told_once_and_what_falls_to_each() {
        let (line, finding) = told(0);
        assert!(
            line.contains("300 frames") && line.contains("4.00 ms a frame: 2.00 ms for each"),
            "{line}"
        );
        assert_eq!(finding, None);
        assert_eq!(told(12).1.as_deref(), Some("shared-behind"));
    }
}
