//! `jetlag monitor`: the machine's power, clocks, load and temperatures, live or again from a file.
//!
//! On a terminal it is a dashboard; elsewhere a line a second, or with `--format json` an object a line. What
//! comes from the sensors (or from a tegrastats log) can be recorded into a run file, and a run file replayed.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::gap::Gap;
use super::outcome::{Outcome, WrongUse};
use super::output::{print_while_read, say};
use super::phases;
use super::run_path::Reserved;
use super::sampling::Sampling;
use super::screen::{Key, Screen, Stream};
use super::signals::stop_on_signals;
use super::threads::named;
use crate::analysis::live::LiveView;
use crate::analysis::parse_power;
use crate::board::{self, Roots};
use crate::cli::{Format, MonitorArgs};
use crate::clock::{Clock, RealClock};
use crate::files;
use crate::record::writer::RunWriter;
use crate::record::{
    Completeness, Event, Finding, Manifest, RECORDING_WINDOW, RunReader, SCHEMA_MAJOR, SCHEMA_MINOR,
    SampleRecord, Subject, WindowRecord,
};
use crate::scenario::Telemetry;
use crate::shell;
use crate::show::dashboard;
use crate::telemetry::tegrastats;
use crate::units::{Bytes, Nanos, Stamp, parse_duration};

/// Between two plain lines, or two objects of what is live.
const LINE_EVERY: Duration = Duration::from_millis(1000);
/// Between two looks at what has come where nobody presses keys.
const LOOK: Duration = Duration::from_millis(200);
/// Between two looks at the keys.
const POLL: Duration = Duration::from_millis(50);

/// Monitors until the source ends, the time is over, or somebody stops it.
pub fn run(args: &MonitorArgs) -> anyhow::Result<Outcome> {
    let duration = |text: &Option<String>| -> anyhow::Result<Option<Nanos>> {
        let parsed = text.as_deref().map(parse_duration).transpose();
        Ok(parsed.map_err(|error| WrongUse(error.to_string()))?)
    };
    let interval = duration(&args.interval)?;
    let limit = duration(&args.duration)?;
    if interval.is_some_and(|i| i < Nanos::from_millis(1)) {
        return Err(WrongUse("--interval must be at least 1ms".to_owned()).into());
    }
    let budget_mw = args.budget.as_deref().map(parse_power).transpose();
    let budget_mw = budget_mw.map_err(|problem| WrongUse(format!("--budget: {problem}")))?;
    let stop = stop_on_signals()?;
    let roots = Roots::system();
    let mut source = match (&args.replay, &args.from_tegrastats) {
        (Some(run), _) => replay(run, args.speed)?,
        (_, Some(log)) => log_of_tegrastats(log, interval.unwrap_or(Nanos::from_secs(1)), args.speed)?,
        _ => sensors(&roots, interval.unwrap_or(Nanos::from_millis(250)))?,
    };
    let mut recorder = match &args.record {
        Some(path) => Some(Recording::start(
            Reserved::asked(path, "--record", args.force)?,
            &source,
        )?),
        None => None,
    };
    let planned = planned(source.manifest.as_ref());
    let view = LiveView {
        live: source.live,
        budget_mw,
        planned: planned.as_deref().map(phases::length),
        rounds: planned.as_deref().and_then(phases::rounds),
        ..match &source.manifest {
            Some(recorded) => LiveView::of_recording(source.title.clone(), recorded),
            None => LiveView::new(source.title.clone(), &[]),
        }
    };
    let mut show = Show::new(args.format, view)?;
    if show.is_screen() {
        source.pace = source.pace.max(Pace::Time);
        source.look_every = POLL;
    }
    let watched = watch(&mut source, &mut show, recorder.as_mut(), &stop, limit);
    drop(show);
    let problem = source.problem();
    let hangs = source.end();
    if let Some(finding) = &hangs {
        say(&format!("{} {}", finding.message, finding.advice));
    }
    // Whatever came of the watching, what was recorded is closed.
    let recorded = recorder.map(|recorder| recorder.finish(hangs)).transpose();
    watched?;
    if let Some(path) = recorded? {
        say(&format!(
            "recorded to {path}: jetlag report {}",
            shell::path(Path::new(&path))
        ));
    }
    if let Some(problem) = problem {
        bail!(problem);
    }
    Ok(Outcome::Done)
}

/// The phases that a replayed run was to have.
fn planned(recorded: Option<&Manifest>) -> Option<Vec<phases::RunPhase>> {
    let scenario = recorded?.scenario()?;
    Some(phases::phases(scenario))
}

/// Shows and records what comes until it ends, the time is over, or nobody watches any more.
fn watch(
    source: &mut Source,
    show: &mut Show,
    mut recorder: Option<&mut Recording>,
    stop: &AtomicBool,
    limit: Option<Nanos>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut ended = false;
    while !stop.load(Ordering::Relaxed) && limit.is_none_or(|limit| begun.elapsed() <= limit.to_std()) {
        let mut batch = Vec::new();
        if !ended {
            ended = source.take(&mut batch)?;
        }
        for event in &batch {
            if let Some(recorder) = &mut recorder {
                recorder.event(event)?;
            }
        }
        // A recording goes on when nobody reads the lines any more.
        match show.events(&batch, ended)? {
            Watched::Left => return Ok(()),
            Watched::ByNobody if recorder.is_none() => return Ok(()),
            Watched::ByNobody | Watched::On => {}
        }
        // A screen stays until it is left; lines end with what they are of.
        if ended && !show.is_screen() {
            break;
        }
    }
    // What came since the last object.
    if let Show::Json(lines) = show {
        lines.events(&[], true)?;
    }
    Ok(())
}

/// Whether somebody still watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    /// Somebody reads the lines or looks at the dashboard.
    On,
    /// Somebody pressed the key that ends it.
    Left,
    /// Who read the lines is gone.
    ByNobody,
}

impl Watched {
    fn by(reader: bool) -> Watched {
        if reader { Watched::On } else { Watched::ByNobody }
    }
}

/// When events are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pace {
    /// As fast as they can be read.
    AtOnce,
    /// As time passes: recordings at their speed, sensors as they are read.
    Time,
}

/// Where events come from.
struct Source {
    title: String,
    live: bool,
    pace: Pace,
    look_every: Duration,
    speed: f64,
    /// Events that are not due yet.
    waiting: VecDeque<(Stamp, Vec<Event>)>,
    more: Receiver<(Stamp, Vec<Event>)>,
    first: Option<(Stamp, Instant)>,
    /// What reads a file.
    thread: Option<std::thread::JoinHandle<()>>,
    /// The samplers; none when a file is shown.
    sampling: Option<Sampling>,
    counts: Option<Arc<std::sync::Mutex<tegrastats::Readings>>>,
    manifest: Option<Manifest>,
    file: String,
}

impl Source {
    fn over(title: String, live: bool, more: Receiver<(Stamp, Vec<Event>)>) -> Source {
        Source {
            title,
            live,
            pace: if live { Pace::Time } else { Pace::AtOnce },
            look_every: LOOK,
            speed: 1.0,
            waiting: VecDeque::new(),
            more,
            first: None,
            thread: None,
            sampling: None,
            counts: None,
            manifest: None,
            file: String::new(),
        }
    }

    /// Takes what is due; true at the end. Waits a little where nothing is.
    fn take(&mut self, batch: &mut Vec<Event>) -> anyhow::Result<bool> {
        if self.live {
            // Looked for now and then: a receiver that waits would be woken by every single reading.
            std::thread::sleep(self.look_every);
            loop {
                match self.more.try_recv() {
                    Ok((_, events)) => batch.extend(events),
                    Err(TryRecvError::Empty) => return Ok(false),
                    Err(TryRecvError::Disconnected) => return Ok(true),
                }
            }
        }
        if self.waiting.is_empty() {
            match self.more.recv() {
                Ok(next) => self.waiting.push_back(next),
                Err(_) => return Ok(true),
            }
        }
        if self.pace == Pace::Time
            && let Some((at, _)) = self.waiting.front()
        {
            let (first, begun) = *self.first.get_or_insert((*at, Instant::now()));
            let due = Duration::from_secs_f64(((*at - first).as_secs_f64() / self.speed).clamp(0.0, 1e9));
            let wait = due.saturating_sub(begun.elapsed());
            if wait > Duration::ZERO {
                std::thread::sleep(wait.min(POLL));
                return Ok(false);
            }
        }
        batch.extend(
            self.waiting
                .pop_front()
                .into_iter()
                .flat_map(|(_, events)| events),
        );
        Ok(false)
    }

    /// What to say of a log none of whose lines was one of tegrastats.
    fn problem(&self) -> Option<String> {
        let counts = self.counts.as_ref()?.lock().ok()?;
        if counts.skipped > 0 && counts.taken > 0 {
            say(&format!(
                "{}: {} of {} lines are not tegrastats output and were skipped ({})",
                self.file,
                counts.skipped,
                counts.skipped + counts.taken,
                counts.first_problem.as_deref().unwrap_or("empty lines")
            ));
        }
        if let Some(why) = &counts.cut_by {
            return Some(format!("cannot read {}: {why}", self.file));
        }
        (counts.taken == 0).then(|| {
            format!(
                "{} contains no tegrastats output ({}); name a file from `tegrastats --logfile`",
                self.file,
                counts.first_problem.as_deref().unwrap_or("it is empty")
            )
        })
    }

    /// Ends what reads; the finding where a sensor hangs.
    fn end(&mut self) -> Option<Finding> {
        // A thread that waits to hand over sees that nobody listens.
        let (_, nobody) = channel();
        self.more = nobody;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.sampling.take().and_then(Sampling::end)
    }
}

/// The board's name, for the title.
fn title(roots: &Roots) -> String {
    let facts = board::facts(roots);
    let fact = |name: &str| facts.get(name).cloned();
    let machine = fact("board").or_else(|| fact("gpu")).or_else(|| fact("cpu"));
    let release = fact("l4t").map_or(String::new(), |l4t| format!(", L4T {l4t}"));
    format!(
        "{}{release}",
        machine.unwrap_or_else(|| "this machine".to_owned())
    )
}

fn sensors(roots: &Roots, interval: Nanos) -> anyhow::Result<Source> {
    let (sender, more) = channel();
    let mut source = Source::over(title(roots), true, more);
    let telemetry = Telemetry {
        interval,
        sources: None,
    };
    let stop: Arc<AtomicBool> = Arc::default();
    let nobody = stop.clone();
    let sampling = Sampling::start(roots.clone(), telemetry, stop, move |event| {
        if sender.send((Stamp(0), vec![event])).is_err() {
            // Nobody watches any more.
            nobody.store(true, Ordering::Relaxed);
        }
    });
    source.sampling = Some(sampling.context("cannot start the samplers' thread")?);
    Ok(source)
}

fn log_of_tegrastats(path: &Path, interval: Nanos, speed: f64) -> anyhow::Result<Source> {
    // Opened here too, so that a wrong name is said at once.
    files::open_given(path).map_err(|error| WrongUse(format!("cannot read {}: {error}", path.display())))?;
    let (sender, more) = std::sync::mpsc::sync_channel(64);
    let name = path.file_name().unwrap_or(path.as_os_str()).display();
    let mut source = Source::over(format!("{name} (tegrastats log)"), false, more);
    let counts = Arc::new(std::sync::Mutex::new(tegrastats::Readings::default()));
    source.counts = Some(counts.clone());
    source.file = path.display().to_string();
    source.speed = speed;
    let path = path.to_owned();
    source.thread = Some(named("log").spawn(move || {
        let read = tegrastats::read_log(&path, interval, |at, asides, samples| {
            let mut events = asides;
            events.extend(samples.into_iter().map(Event::Sample));
            let _ = sender.send((at, events));
        });
        if let Ok(mut counts) = counts.lock() {
            match read {
                Ok(read) => *counts = read,
                Err(error) => counts.cut_by = Some(error.to_string()),
            }
        }
    })?);
    Ok(source)
}

fn replay(path: &Path, speed: f64) -> anyhow::Result<Source> {
    let reader = RunReader::open(path).map_err(|error| WrongUse(error.to_string()))?;
    let manifest = reader.manifest().clone();
    let board = manifest.machine.get("board").or(manifest.machine.get("cpu"));
    let name = path.file_name().unwrap_or(path.as_os_str()).display();
    let title = format!("{} ({name})", board.map_or("run", String::as_str));
    let (sender, more) = std::sync::mpsc::sync_channel(256);
    let mut source = Source::over(title, false, more);
    source.speed = speed;
    source.manifest = Some(manifest);
    let mut reader = reader;
    source.thread = Some(named("replay").spawn(move || {
        let mut batch: Vec<Event> = Vec::new();
        let mut at: Option<Stamp> = None;
        for event in reader.by_ref() {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    log::warn!("{error}");
                    break;
                }
            };
            // Readings of one moment go together.
            let stamp = match &event {
                Event::Sample(sample) => Some(sample.at),
                Event::Frame(frame) => Some(frame.finished),
                _ => None,
            };
            if let (Some(stamp), Some(before)) = (stamp, at)
                && stamp > before
                && sender.send((before, std::mem::take(&mut batch))).is_err()
            {
                return;
            }
            at = at.max(stamp);
            batch.push(event);
        }
        if let Completeness::Truncated {
            bytes_read,
            bytes_total,
            ..
        } = reader.completeness()
        {
            let gap = Gap::CutFile {
                read: Bytes(bytes_read),
                total: Bytes(bytes_total),
            };
            batch.push(Event::Finding(gap.into()));
        }
        let _ = sender.send((at.unwrap_or_default(), batch));
    })?);
    Ok(source)
}

/// How events are shown.
enum Show {
    Screen(Box<Screen>, LiveView, bool),
    Lines(LiveView, Option<(Instant, Stamp)>, bool),
    Json(JsonLines),
}

impl Show {
    fn new(format: Format, view: LiveView) -> anyhow::Result<Show> {
        let live = view.live;
        Ok(match format {
            Format::Json => Show::Json(JsonLines::new(live)),
            Format::Text if Stream::Out.is_terminal() => {
                let screen = Screen::open(Stream::Out).context("cannot draw on this terminal")?;
                Show::Screen(Box::new(screen), view, live)
            }
            Format::Text => Show::Lines(view, None, live),
        })
    }

    /// Whether there is a screen, which stays until it is left.
    fn is_screen(&self) -> bool {
        matches!(self, Show::Screen(screen, ..) if screen.is_there())
    }

    /// Takes in events and shows them.
    fn events(&mut self, batch: &[Event], ended: bool) -> anyhow::Result<Watched> {
        match self {
            Show::Screen(screen, view, live) => {
                batch.iter().for_each(|event| view.event(event));
                let state = match (ended, screen.is_paused(), *live) {
                    (true, ..) => "end of the recording",
                    (_, true, _) => "paused",
                    (.., true) => "live",
                    _ => "replay",
                };
                screen.draw(view, state)?;
                let wait = if ended { POLL } else { Duration::ZERO };
                match screen.key(wait, view)? {
                    Some(Key::Quit) => return Ok(Watched::Left),
                    Some(Key::Gone) => return Ok(Watched::ByNobody),
                    None => {}
                }
            }
            Show::Lines(view, last, live) => {
                batch.iter().for_each(|event| view.event(event));
                // What is read at once has a line for each moment of its readings, and for each second without; what is
                // live, one a second.
                let now = view.span.map_or(Stamp(0), |(_, now)| now);
                let is_read = |event: &Event| matches!(event, Event::Sample(_));
                let due = match (*live, &last) {
                    (_, None) => !batch.is_empty(),
                    (false, Some((_, at))) => batch.iter().any(is_read) || (now - *at).to_std() >= LINE_EVERY,
                    (true, Some((then, _))) => then.elapsed() >= LINE_EVERY,
                };
                let has_frames = view.tenants.iter().any(|tenant| tenant.ended > 0);
                if due && (has_frames || view.current().next().is_some()) {
                    *last = Some((Instant::now(), now));
                    let reader = print_while_read(&format!("{}\n", dashboard::line(view)))?;
                    return Ok(Watched::by(reader));
                }
            }
            Show::Json(lines) => return Ok(Watched::by(lines.events(batch, ended)?)),
        }
        Ok(Watched::On)
    }
}

/// One object a line: `{"at_ns": …, "signals": {"ina3221/VDD_IN": {"value": 5080.0, "unit": "mw"}, …}}`.
struct JsonLines {
    signals: Map<String, Value>,
    at: Stamp,
    written: Instant,
    live: bool,
}

impl JsonLines {
    fn new(live: bool) -> JsonLines {
        JsonLines {
            signals: Map::new(),
            at: Stamp(0),
            written: Instant::now(),
            live,
        }
    }

    /// Prints what is due; false where nobody reads it any more.
    fn events(&mut self, batch: &[Event], ended: bool) -> anyhow::Result<bool> {
        let mut reader = true;
        for event in batch {
            match event {
                Event::Sample(sample) => self.sample(sample),
                Event::Finding(finding) => {
                    reader &= print_while_read(&format!("{}\n", json!({ "finding": finding })))?;
                }
                _ => {}
            }
        }
        let due = !self.live || ended || self.written.elapsed() >= LINE_EVERY;
        if due && !self.signals.is_empty() {
            self.written = Instant::now();
            let signals = std::mem::take(&mut self.signals);
            let object = json!({ "at_ns": self.at.0, "signals": signals });
            reader &= print_while_read(&format!("{object}\n"))?;
        }
        Ok(reader)
    }

    fn sample(&mut self, sample: &SampleRecord) {
        self.at = sample.at;
        let reading = json!({ "value": sample.value, "unit": sample.unit });
        self.signals
            .insert(format!("{}/{}", sample.source, sample.signal), reading);
    }
}

/// A run file of what is monitored: a run without tenants.
struct Recording {
    writer: RunWriter,
    path: String,
    span: Option<(Stamp, Stamp)>,
}

impl Recording {
    fn start(file: Reserved, source: &Source) -> anyhow::Result<Recording> {
        let unix = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as i64);
        // A log begins at zero; what is live has the run's clock.
        let anchor = if source.live { RealClock.now() } else { Stamp(0) };
        let subject = Subject::Name("monitor".to_owned());
        let manifest = source.manifest.clone().unwrap_or_else(|| Manifest {
            schema_major: SCHEMA_MAJOR,
            schema_minor: SCHEMA_MINOR,
            jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: crate::board::command_line(),
            subject,
            tenants: Vec::new(),
            machine: if source.live {
                board::facts(&Roots::system())
            } else {
                Default::default()
            },
            anchor,
            anchor_unix_ns: unix,
            unknown: Vec::new(),
        });
        Ok(Recording {
            path: file.path().display().to_string(),
            writer: file.record(&manifest)?,
            span: None,
        })
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if let Event::Sample(sample) = event {
            let (first, last) = self.span.unwrap_or((sample.at, sample.at));
            self.span = Some((first.min(sample.at), last.max(sample.at)));
        }
        self.writer.write(event)?;
        Ok(())
    }

    /// Closes the file; with the finding, where a sensor hangs.
    fn finish(mut self, hangs: Option<Finding>) -> anyhow::Result<String> {
        if let Some(finding) = hangs {
            self.event(&Event::Finding(finding))?;
        }
        if let Some((from, to)) = self.span {
            self.writer.window(&WindowRecord {
                name: RECORDING_WINDOW.to_owned(),
                from,
                to,
            })?;
        }
        self.writer.finish()?;
        Ok(self.path)
    }
}
