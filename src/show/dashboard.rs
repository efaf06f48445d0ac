//! The dashboard: one screen of what is going on, drawn anew from a [`LiveView`].
//!
//! It fits 80 × 24 and uses what room there is beyond. Where values come from, and when it is drawn, is for
//! `commands` to know. What was not measured is `–`, and never 0.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, RenderDirection, Sparkline};

use crate::analysis::live::{LiveSignal, LiveTenant, LiveView};
use crate::record::{Measurand, Part, Phase, Quantity, RailRole};

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const WARM: Style = Style::new().fg(Color::Yellow);
const HOT: Style = Style::new().fg(Color::Red);
const BAR: Style = Style::new().fg(Color::Cyan);
/// What stands for a figure that is not known.
const UNKNOWN: &str = "–";
/// Width of names of rails and loads.
const NAME: usize = 16;
/// Width of a rail's name and figures.
const FIGURES: u16 = NAME as u16 + 19;
/// Readings beside each other from which a history tells something.
const TELLING: u16 = 24;
/// Rows that a rail's history takes at most.
const HIGHEST: u16 = 6;
/// Width of a temperature with its name.
const ZONE: u16 = 20;
/// Sources that are of Jetson boards only.
const JETSON_SOURCES: [&str; 5] = ["tegrastats", "ina3221", "ina3221x", "ina238", "gpu"];

/// Draws everything; `keys` is the line of keys at the bottom, `state` a word on the right of the title.
pub fn draw(frame: &mut Frame<'_>, view: &LiveView, state: &str, keys: &str) {
    let parts = Parts::of(view);
    let tenants = if view.tenants.is_empty() {
        0
    } else {
        view.tenants.len() as u16 + 2
    };
    let notes = u16::from(!view.notes.is_empty());
    let [title, tenants, body, notes, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(tenants),
        Constraint::Min(4),
        Constraint::Length(notes),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    title_line(frame, title, view, state);
    if !view.tenants.is_empty() {
        tenant_table(frame, tenants, view);
    }
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(52), Constraint::Percentage(48)]).areas(body);
    left_column(frame, left, &parts, view.live);
    right_column(frame, right, &parts);
    if let Some(note) = view.notes.back() {
        frame.render_widget(Paragraph::new(Line::styled(format!("! {note}"), WARM)), notes);
    }
    frame.render_widget(Paragraph::new(Line::styled(keys.to_owned(), DIM)), footer);
}

/// One line of text with the most telling values, for where there is no terminal.
pub fn line(view: &LiveView) -> String {
    let parts = Parts::of(view);
    let mut words = vec![format!("{:8.1} s", view.elapsed().as_secs_f64())];
    for tenant in &view.tenants {
        let rate = tenant
            .rate()
            .map_or(UNKNOWN.to_owned(), |rate| format!("{rate:.1}"));
        let p50 = tenant
            .p50_ms()
            .map_or(UNKNOWN.to_owned(), |ms| format!("{ms:.2}"));
        words.push(format!("{} {rate} /s p50 {p50} ms", tenant.name));
    }
    for (name, signal) in &parts.rails {
        words.push(format!("{name} {}", watts(signal.value)));
    }
    for (name, signal, clock) in &parts.loads {
        let clock = clock
            .and_then(|c| c.value)
            .map_or(String::new(), |mhz| format!("@{mhz:.0}"));
        words.push(format!("{name} {}{clock}", percent(*signal)));
    }
    let hottest = parts
        .temperatures
        .iter()
        .filter_map(|(name, s)| Some((name, s.value?)));
    if let Some((name, c)) = hottest.max_by(|a, b| a.1.total_cmp(&b.1)) {
        words.push(format!("{name} {c:.1} °C"));
    }
    words.join("  ")
}

/// The signals, sorted into what the screen has places for.
struct Parts<'v> {
    rails: Vec<(&'v str, &'v LiveSignal)>,
    /// Name of each unit with its load, and its clock's signal.
    loads: Vec<(String, Option<f64>, Option<&'v LiveSignal>)>,
    /// Engines that are there and switched off.
    off: Vec<String>,
    /// Load of each processor.
    cores: Vec<CoreLoad>,
    temperatures: Vec<(&'v str, &'v LiveSignal)>,
    /// Name, used, of how much.
    memory: Vec<(&'static str, f64, Option<f64>)>,
    fan: Vec<(&'static str, f64)>,
    programs: Vec<(String, String)>,
    mode: Option<f64>,
}

impl<'v> Parts<'v> {
    fn of(view: &'v LiveView) -> Parts<'v> {
        let all: Vec<(&str, &str, &LiveSignal)> = view.current().collect();
        // A source that tells something directly goes before tegrastats, which tells it again.
        let find = |quantity, part| {
            let wanted = Measurand::new(quantity, part);
            let mut found: Vec<_> = all.iter().filter(|(.., s)| s.measurand == wanted).collect();
            found.sort_by_key(|(source, ..)| *source == "tegrastats");
            found.first().map(|(.., signal)| *signal)
        };
        let value = |quantity, part| find(quantity, part).and_then(|signal| signal.value);
        let mut rails: Vec<(&str, &LiveSignal)> = all
            .iter()
            .filter(|(.., s)| s.measurand.quantity == Quantity::Power)
            .filter(|(source, _, s)| *source != "nvml" || s.role != RailRole::Within)
            .map(|(_, name, s)| (*name, *s))
            .collect();
        let place = |role: RailRole| match role {
            RailRole::Total => 0,
            RailRole::Input => 1,
            RailRole::Summand => 2,
            RailRole::Part => 3,
            _ => 4,
        };
        rails.sort_by_key(|(_, s)| place(s.role));
        let mut loads: Vec<(String, Option<f64>, Option<&LiveSignal>)> = Vec::new();
        // A Jetson has all three; what is not told of them (it may take root) is to be seen as such.
        let jetson = all.iter().any(|(source, ..)| JETSON_SOURCES.contains(source));
        let mut push = |shown: String, load: Option<f64>, clock: Option<&'v LiveSignal>, is_there: bool| {
            if is_there {
                loads.push((shown, load, clock));
            }
        };
        let boards_gpu = [None].into_iter().chain((0..8).map(Some));
        for number in boards_gpu {
            let shown = number.map_or("GPU".to_owned(), |n: u32| format!("GPU {n}"));
            let gpu = Part::Gpu(number);
            let (load, clock) = (find(Quantity::Load, gpu), find(Quantity::Clock, gpu));
            let is_there = load.is_some() || clock.is_some() || (number.is_none() && jetson);
            push(shown, load.and_then(|s| s.value), clock, is_there);
        }
        let load = find(Quantity::Load, Part::Processors);
        let clock = find(Quantity::Clock, Part::Processor(0));
        let of_cores = load.and_then(|s| s.value).or_else(|| view.mean_of_cores());
        push(
            "CPU".into(),
            of_cores,
            clock,
            load.is_some() || clock.is_some() || jetson,
        );
        let memory = Part::MemoryController;
        let (load, clock) = (find(Quantity::Load, memory), find(Quantity::Clock, memory));
        let is_there = load.is_some() || clock.is_some() || jetson;
        push("EMC".into(), load.and_then(|s| s.value), clock, is_there);
        // Every engine that says whether it is on, the DLAs first; the audio processor is always on.
        let of_engines = || all.iter().filter(|(.., s)| s.measurand.part == Part::Engine);
        let mut engines: Vec<(&str, bool)> = of_engines()
            .filter(|(.., s)| s.measurand.quantity == Quantity::On)
            .filter_map(|(_, name, s)| Some((name.strip_suffix("_on")?, s.value? != 0.0)))
            .filter(|(engine, _)| *engine != "ape")
            .collect();
        engines.sort_by_key(|(engine, _)| !engine.contains("dla"));
        for (engine, _) in engines.iter().filter(|(_, on)| *on) {
            let of_it = |quantity: Quantity, what: &str| {
                let name = format!("{engine}_{what}");
                let mut found = of_engines().filter(|(_, signal, _)| *signal == name);
                found
                    .find(|(.., s)| s.measurand.quantity == quantity)
                    .map(|(.., s)| *s)
            };
            let load = of_it(Quantity::Load, "load").and_then(|s| s.value);
            let clock = of_it(Quantity::Clock, "frequency");
            push(engine.to_ascii_uppercase(), load, clock, true);
        }
        let off = engines.iter().filter(|(_, on)| !*on);
        let off = off.map(|(engine, _)| engine.to_ascii_uppercase()).collect();
        let cores = (0..256).map_while(|n| {
            let on = value(Quantity::On, Part::Processor(n));
            let load = find(Quantity::Load, Part::Processor(n));
            (on.is_some() || load.is_some()).then(|| match (on, load.and_then(|s| s.value)) {
                (Some(0.0), _) => CoreLoad::Off,
                (_, Some(load)) => CoreLoad::Percent(load),
                _ => CoreLoad::Unknown,
            })
        });
        let cores = cores.collect();
        let temperatures = all
            .iter()
            .filter(|(.., s)| s.measurand.quantity == Quantity::Temperature)
            .map(|(_, name, s)| (name.trim_end_matches("_temperature"), *s))
            .collect();
        let mut memory = Vec::new();
        if let Some(used) = value(Quantity::MemoryUsed, Part::Board) {
            let free = value(Quantity::MemoryAvailable, Part::Board);
            let total = value(Quantity::MemoryTotal, Part::Board).or(free.map(|free| used + free));
            memory.push(("memory", used, total));
        }
        if let Some(used) = value(Quantity::MemoryUsed, Part::GpuMemory(Some(0))) {
            memory.push(("GPU 0", used, None));
        }
        if let Some(used) = value(Quantity::MemoryUsed, Part::Swap) {
            memory.push(("swap", used, None));
        }
        let fan = [("%", Quantity::FanDrive), ("rpm", Quantity::FanSpeed)]
            .into_iter()
            .filter_map(|(unit, quantity)| Some((unit, value(quantity, Part::Board)?)))
            .collect();
        let mut programs: Vec<(String, String)> = Vec::new();
        for (_, name, signal) in &all {
            let Some(value) = signal.value else { continue };
            let shown = match (signal.measurand.quantity, signal.measurand.part) {
                (Quantity::Load, Part::Program) => format!("{:.1} processors", value / 100.0),
                (Quantity::MemoryUsed, Part::ProgramOnGpu(_)) => gib(value),
                _ => continue,
            };
            let name = name.trim_end_matches("_memory").replace("_process_", " pid ");
            programs.push((name, shown));
        }
        Parts {
            rails,
            loads,
            off,
            cores,
            temperatures,
            memory,
            fan,
            programs,
            mode: value(Quantity::PowerMode, Part::Board),
        }
    }
}

fn title_line(frame: &mut Frame<'_>, area: Rect, view: &LiveView, state: &str) {
    let phase = match view.phase {
        Some(Phase::Alone) => "alone  ",
        Some(Phase::Overhead) => "own cost  ",
        Some(Phase::Other(_)) => "in part  ",
        _ => "",
    };
    let right = format!("{phase}{state}  {:.0} s", view.elapsed().as_secs_f64());
    let room = usize::from(area.width).saturating_sub(right.chars().count() + 1);
    let title = cut(&view.title, room);
    let gap = usize::from(area.width).saturating_sub(title.chars().count() + right.chars().count());
    let line = Line::from(vec![
        Span::styled(title, BOLD),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, DIM),
    ]);
    frame.render_widget(Paragraph::new(line), area);
}

fn tenant_table(frame: &mut Frame<'_>, area: Rect, view: &LiveView) {
    let header = format!(
        "{:<16}{:>9}{:>11}{:>11}{:>9}{:>9}{:>10}",
        "tenant", "rate /s", "p50 ms", "p99 ms", "missed", "dropped", "frames"
    );
    let mut lines = vec![Line::styled(header, DIM)];
    for tenant in &view.tenants {
        lines.push(tenant_line(tenant));
    }
    let block = Block::new().borders(Borders::BOTTOM).border_style(DIM);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn tenant_line(tenant: &LiveTenant) -> Line<'static> {
    let figure = |value: Option<f64>| value.map_or(UNKNOWN.to_owned(), |v| format!("{v:.2}"));
    let alarm = |count: u64| if count > 0 { HOT } else { Style::new() };
    Line::from(vec![
        Span::styled(format!("{:<16}", cut(&tenant.name, 15)), BOLD),
        Span::raw(format!(
            "{:>9}{:>11}{:>11}",
            figure(tenant.rate()),
            figure(tenant.p50_ms()),
            figure(tenant.p99_ms())
        )),
        Span::styled(format!("{:>9}", tenant.missed), alarm(tenant.missed)),
        Span::styled(format!("{:>9}", tenant.dropped), alarm(tenant.dropped)),
        Span::raw(format!("{:>10}", tenant.ended)),
    ])
}

/// Rails as high as there is room for, so that a history can be read; temperatures below them.
fn left_column(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, live: bool) {
    let columns = (area.width / ZONE).max(1);
    let heat = (parts.temperatures.len() as u16).div_ceil(columns) + 1;
    let count = parts.rails.len().max(1) as u16;
    let height = (area.height.saturating_sub(heat + 2) / count).clamp(1, HIGHEST);
    let power = 1 + count * height;
    let blank = u16::from(power + 1 + heat <= area.height);
    let [power, heat] = Layout::vertical([Constraint::Length(power + blank), Constraint::Min(0)]).areas(area);
    rails(frame, power, parts, height, live);
    heat_lines(frame, heat, parts, usize::from(columns));
}

fn rails(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, height: u16, live: bool) {
    let [head, area] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let title = Line::from(vec![Span::styled(
        format!("{:<NAME$}{:>9}{:>9}", "POWER", "now", "peak"),
        DIM,
    )]);
    frame.render_widget(Paragraph::new(title), head);
    if parts.rails.is_empty() {
        // What a recording lacks, this machine's doctor cannot tell.
        let text = match live {
            true => "no power measured: see jetlag doctor",
            false => "no power measured",
        };
        frame.render_widget(Paragraph::new(Line::styled(text, DIM)), area);
        return;
    }
    let rows = Layout::vertical(parts.rails.iter().map(|_| Constraint::Length(height))).split(area);
    for ((name, signal), row) in parts.rails.iter().zip(rows.iter()) {
        if row.height == 0 {
            continue;
        }
        // Where little room is left beside the figures, the history goes below them.
        let figures = Constraint::Length(FIGURES);
        let [text, graph] = if height > 1 && row.width < FIGURES + TELLING {
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(*row)
        } else {
            Layout::horizontal([figures, Constraint::Min(0)]).areas(*row)
        };
        let style = if matters(signal.role) { BOLD } else { Style::new() };
        let line = Line::from(vec![
            Span::styled(format!("{:<NAME$}", cut(name, NAME - 1)), style),
            Span::styled(format!("{:>9}", watts(signal.value)), style),
            Span::styled(format!("{:>9}", watts(signal.peak)), DIM),
        ]);
        frame.render_widget(Paragraph::new(line), text);
        sparkline(frame, graph, signal);
    }
}

fn matters(role: RailRole) -> bool {
    matches!(role, RailRole::Total | RailRole::Summand | RailRole::Input)
}

/// The latest reading at the right, so that the rails stand under each other in time; a reading without value is a
/// column of dots.
fn sparkline(frame: &mut Frame<'_>, area: Rect, signal: &LiveSignal) {
    if area.width < 6 || signal.history.is_empty() {
        return;
    }
    // Rails may read a little below zero.
    let latest_first = signal.history.iter().rev();
    let values = latest_first.map(|reading| reading.map(|mw| mw.max(0.0) as u64));
    let most = signal.peak.unwrap_or(1.0).max(1.0) as u64;
    let graph = Rect {
        width: area.width - 2,
        ..area
    };
    let graph_of = Sparkline::default()
        .direction(RenderDirection::RightToLeft)
        .absent_value_symbol("·")
        .absent_value_style(DIM)
        .data(values)
        .max(most)
        .style(BAR);
    frame.render_widget(graph_of, graph);
}

fn heat_lines(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, columns: usize) {
    let mut lines = vec![Line::styled("TEMPERATURE °C", DIM)];
    if parts.temperatures.is_empty() {
        lines[0] = Line::styled("no temperatures", DIM);
    }
    for pair in parts.temperatures.chunks(columns) {
        let mut spans = Vec::new();
        for (name, signal) in pair {
            let (shown, style) = match signal.value {
                Some(c) if c >= 95.0 => (format!("{c:.1}"), HOT),
                Some(c) if c >= 80.0 => (format!("{c:.1}"), WARM),
                Some(c) => (format!("{c:.1}"), Style::new()),
                None => (UNKNOWN.to_owned(), DIM),
            };
            spans.push(Span::raw(format!("{:<12}", cut(name, 11))));
            spans.push(Span::styled(format!("{shown:>6}  "), style));
        }
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn right_column(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>) {
    let width = usize::from(area.width);
    let mut lines = vec![Line::styled(
        format!("{:<8}{:>6}{:>10}", "LOAD", "", "clock"),
        DIM,
    )];
    for (name, load, clock) in &parts.loads {
        let load = *load;
        let mhz = clock.and_then(|signal| signal.value);
        let clock = match mhz {
            Some(0.0) => "gated".to_owned(),
            Some(mhz) => format!("{mhz:.0} MHz"),
            None => UNKNOWN.to_owned(),
        };
        lines.push(Line::from(vec![
            Span::raw(format!("{:<8}{:>6}{clock:>10} ", cut(name, 7), percent(load))),
            Span::styled(bar(load.unwrap_or(0.0) / 100.0, width.saturating_sub(27)), BAR),
        ]));
    }
    if !parts.off.is_empty() {
        let text = format!("{:<8}{}", "off", parts.off.join(" "));
        lines.push(Line::styled(cut(&text, width), DIM));
    }
    if !parts.cores.is_empty() {
        let cores: String = parts.cores.iter().map(level).collect();
        lines.push(Line::from(vec![
            Span::raw(format!("{:<8}", "cores")),
            Span::styled(cores, BAR),
        ]));
    }
    for (name, used, total) in &parts.memory {
        let (of, share) = match total {
            Some(total) => (format!(" of {}", gib(*total)), used / total),
            None => (String::new(), 0.0),
        };
        let text = format!("{name:<8}{}{of} ", gib(*used));
        let room = width.saturating_sub(text.chars().count() + 2);
        lines.push(Line::from(vec![
            Span::raw(text),
            Span::styled(bar(share, room), BAR),
        ]));
    }
    if !parts.fan.is_empty() {
        let shown: Vec<String> = parts
            .fan
            .iter()
            .map(|(unit, v)| format!("{v:.0} {unit}"))
            .collect();
        lines.push(Line::raw(format!("{:<8}{}", "fan", shown.join("  "))));
    }
    if let Some(mode) = parts.mode {
        lines.push(Line::raw(format!("{:<8}{mode:.0}", "mode")));
    }
    if !parts.programs.is_empty() {
        lines.push(Line::styled("PROGRAMS", DIM));
        for (name, shown) in &parts.programs {
            lines.push(Line::raw(format!("{:<24}{shown}", cut(name, 23))));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// A bar of eighths of a character.
fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// What is known of one processor.
enum CoreLoad {
    Off,
    Unknown,
    Percent(f64),
}

/// One character for the load of a processor; a cross for one that is off.
fn level(load: &CoreLoad) -> char {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match load {
        CoreLoad::Percent(percent) => LEVELS[((percent / 100.0 * 7.0).round() as usize).min(7)],
        CoreLoad::Unknown => '·',
        CoreLoad::Off => '×',
    }
}

fn watts(mw: Option<f64>) -> String {
    mw.map_or(UNKNOWN.to_owned(), |mw| format!("{:.2} W", mw / 1e3))
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or(UNKNOWN.to_owned(), |p| format!("{p:.0} %"))
}

fn gib(bytes: f64) -> String {
    format!("{:.1} GiB", bytes / (1u64 << 30) as f64)
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests;
