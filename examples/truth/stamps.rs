//! Are frames with stamps that cannot be true found and left out? That no others are is held with the findings of runs in which nothing changes (`steady`).

use jetlag::analysis::Summary;
use jetlag::record::{Event, FrameRecord};
use jetlag::units::Nanos;

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{World, lognormal, periodic, summarized};

const PART: &str = "stamps";

pub(crate) fn cells() -> Vec<Cell> {
    let wrong = [Wrong::Result, Wrong::Start, Wrong::Back, Wrong::Ahead];
    let cell = |wrong| Cell {
        part: PART,
        rows: Box::new(move |seeds| rows(wrong, seeds)),
    };
    wrong.map(cell).into()
}

fn is_told(summary: &Summary) -> bool {
    let mut findings = summary.run.findings.iter();
    findings.any(|finding| finding.code == "impossible-stamps")
}

/// What is wrong with the stamps.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// One result of a hundred comes before its release.
    Result,
    /// One start of a hundred does.
    Start,
    /// The clock is set back by 10 s in the middle.
    Back,
    /// It is set ahead by an hour.
    Ahead,
}

impl Wrong {
    fn apply(self, frame: &mut FrameRecord) {
        const MIDDLE: u64 = 900;
        let by = match self {
            Wrong::Result if frame.sequence.is_multiple_of(100) => {
                frame.finished = frame.released - Nanos::from_millis(2);
                return;
            }
            Wrong::Start if frame.sequence.is_multiple_of(100) => {
                frame.started = frame.released - Nanos::from_millis(2);
                return;
            }
            Wrong::Back if frame.sequence >= MIDDLE => -Nanos::from_secs(10).0,
            Wrong::Ahead if frame.sequence >= MIDDLE => Nanos::from_secs(3_600).0,
            _ => return,
        };
        for stamp in [&mut frame.released, &mut frame.started, &mut frame.finished] {
            *stamp = *stamp + Nanos(by);
        }
    }
}

fn rows(wrong: Wrong, seeds: u64) -> Vec<Row> {
    let world = World::of_one(periodic(30.0, 0.0, 0.0), lognormal(9.0, 0.15), 60);
    // A lognormal's median is its parameter, and nothing of these waits.
    let truth_ms = 9.0;
    let (mut told, mut near) = (0, 0);
    for seed in 0..seeds {
        let mut events = world.events(seed);
        for event in &mut events {
            if let Event::Frame(frame) = event {
                wrong.apply(frame);
            }
        }
        let summary = summarized(&world.manifest(), &events);
        told += u64::from(is_told(&summary));
        let response = &summary.tenants[0].response_ms;
        let holds = response
            .p50
            .ci95
            .is_some_and(|[low, high]| low <= truth_ms && truth_ms <= high);
        near += u64::from(holds && response.min.is_some_and(|min| min > 0.0));
    }
    let cell = format!("independent, 30 Hz, 60 s, {wrong:?}");
    let row = |figure, hits, promise| Row::new(PART, &cell, figure, (hits, seeds), promise);
    vec![
        row("`impossible-stamps` found", told, Promise::AtLeast(0.99)),
        row("p50 of the others holds the truth", near, Promise::AtLeast(0.93)),
    ]
}
