//! Real recordings, cut into windows: how often a window's interval holds what the whole recording says.
//!
//! ```text
//! $ cargo run --release --example truth -- --recording run.mcap --window 20
//! ```
//!
//! A recording is no known truth, but one that is many windows long knows its own quantiles much better than a window does. Rounds of
//! turns are cut too: eight consecutive rounds give a slowdown, and all rounds the one that it is held against.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use jetlag::analysis::summary::Stats;
use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::reader::RunReader;
use jetlag::record::{Event, Manifest, Phase};
use jetlag::units::{Nanos, Stamp};

/// Rounds of turns in a window.
const ROUNDS: u16 = 8;

/// How many windows gave a figure, and of how many the interval held that of the whole; with the widths of those intervals.
#[derive(Default)]
struct Count {
    windows: usize,
    given: usize,
    held: usize,
    widths: Vec<f64>,
}

impl Count {
    fn add(&mut self, interval: Option<[f64; 2]>, whole: f64) {
        self.windows += 1;
        let Some([low, high]) = interval else { return };
        self.given += 1;
        self.held += usize::from(low <= whole && whole <= high);
        self.widths.push((high - low) / 2.0 / whole);
    }

    fn write(mut self, name: &str, whole: f64, out: &mut dyn Write) -> io::Result<()> {
        self.widths.sort_by(f64::total_cmp);
        let width = self.widths.get(self.widths.len() / 2);
        let width = width.map_or_else(|| "–".to_owned(), |width| format!("± {:.1} %", width * 100.0));
        writeln!(
            out,
            "| {name} | {whole:.3} | {} | {} | {} | {width} |",
            self.windows, self.given, self.held
        )
    }
}

/// Writes a table of a recording.
pub(crate) fn write(
    path: &Path,
    window_s: u32,
    out: &mut dyn Write,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = RunReader::open(path)?;
    let manifest = reader.manifest().clone();
    let mut events = Vec::new();
    while reader.read_batch(&mut events, 1 << 16)? {}
    let whole = summarized(&manifest, &events);
    writeln!(
        out,
        "\n| {} | whole | windows | given | held | half width |\n|---|---|---|---|---|---|",
        path.display()
    )?;
    for (number, tenant) in whole.tenants.iter().enumerate() {
        let stats = &tenant.response_ms;
        let all = |of: &Stats| [of.p50, of.p90, of.p99];
        let of_whole = ["p50", "p90", "p99"]
            .into_iter()
            .zip(all(stats).map(|whole| whole.value));
        let mut counts: [Count; 3] = Default::default();
        for window in windows(&manifest, &events, Nanos::from_secs(i64::from(window_s))) {
            let found = all(&window.tenants[number].response_ms);
            for ((count, found), (_, whole)) in counts.iter_mut().zip(found).zip(of_whole.clone()) {
                if let Some(whole) = whole {
                    count.add(found.ci95, whole);
                }
            }
        }
        for (count, (name, whole)) in counts.into_iter().zip(of_whole) {
            if let Some(whole) = whole {
                count.write(
                    &format!("{} {name}, windows of {window_s} s", tenant.name),
                    whole,
                    out,
                )?;
            }
        }
        let Some(ratio) = tenant.slowdown.as_ref().and_then(|slowdown| slowdown.p50.value) else {
            continue;
        };
        let mut count = Count::default();
        for some in of_rounds(&manifest, &events) {
            let slowdown = some.tenants[number].slowdown.as_ref();
            count.add(slowdown.and_then(|slowdown| slowdown.p50.ci95), ratio);
        }
        count.write(
            &format!("{} slowdown of p50, {ROUNDS} rounds", tenant.name),
            ratio,
            out,
        )?;
    }
    Ok(())
}

fn summarized(manifest: &Manifest, events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::new(manifest);
    events.iter().for_each(|event| summarizer.push(event));
    summarizer.finish(None)
}

/// The measurement in whole windows, each a run of its own.
fn windows(manifest: &Manifest, events: &[Event], length: Nanos) -> Vec<Summary> {
    let ends = events.iter().filter_map(|event| match event {
        Event::Phase(end) if end.phase == Phase::Together => Some((end.measured_from, end.measured_to)),
        _ => None,
    });
    let Some((from, to)) = ends.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))) else {
        return Vec::new();
    };
    let count = ((to - from).0 / length.0).max(0);
    let window = |number: i64| {
        let (from, to) = (
            from + Nanos(length.0 * number),
            from + Nanos(length.0 * (number + 1)),
        );
        let some: Vec<Event> = events
            .iter()
            .filter_map(|event| within(event, from, to))
            .collect();
        summarized(manifest, &some)
    };
    (0..count).map(window).collect()
}

/// What of an event belongs to a window of the measurement.
fn within(event: &Event, from: Stamp, to: Stamp) -> Option<Event> {
    match event {
        Event::Frame(frame) if frame.phase == Phase::Together => {
            let inside = frame.released >= from && frame.released < to;
            (inside && !frame.warmup).then(|| event.clone())
        }
        Event::Phase(end) if end.phase == Phase::Together => {
            let mut end = *end;
            (end.epoch, end.measured_from, end.measured_to) = (from, from, to);
            Some(Event::Phase(end))
        }
        Event::PhaseSpec(spec) if spec.phase == Phase::Together => Some(event.clone()),
        _ => None,
    }
}

/// Consecutive rounds, each set of them with the measurement's own description: a run that had no others.
fn of_rounds(manifest: &Manifest, events: &[Event]) -> Vec<Summary> {
    let round_of = |wanted: Phase| {
        events.iter().find_map(|event| match event {
            Event::PhaseSpec(spec) if spec.phase == wanted => spec.round,
            _ => None,
        })
    };
    let phases: BTreeSet<u16> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseSpec(spec) => match spec.phase {
                Phase::Other(number) if spec.round.is_some() => Some(number),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let numbered: Vec<(u16, u16)> = phases
        .into_iter()
        .filter_map(|number| Some((number, round_of(Phase::Other(number))?)))
        .collect();
    let rounds = numbered.iter().map(|(_, round)| round + 1).max().unwrap_or(0);
    let set = |first: u16| {
        let kept: BTreeSet<u16> = numbered
            .iter()
            .filter(|(_, round)| (first..first + ROUNDS).contains(round))
            .map(|(number, _)| *number)
            .collect();
        let is_kept = |phase: Phase| match phase {
            Phase::Other(number) => kept.contains(&number),
            _ => phase == Phase::Together,
        };
        let some = events.iter().filter(|event| match event {
            Event::Frame(frame) => is_kept(frame.phase),
            Event::Phase(end) => is_kept(end.phase),
            Event::PhaseSpec(spec) => is_kept(spec.phase),
            _ => false,
        });
        let mut summarizer = Summarizer::new(manifest);
        some.for_each(|event| summarizer.push(event));
        summarizer.finish(None)
    };
    (0..rounds / ROUNDS)
        .map(|set_number| set(set_number * ROUNDS))
        .collect()
}
