//! The board: its total power and temperature in a few lines below the tenants, or everything on a page.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::graph::{DRAWN, GOOD, HOT, Trace, WARM, bar, level};
use super::parts::{CoreLoad, Parts};
use super::row::{BOLD, DIM, Row, UNKNOWN, fit, number};
use crate::analysis::live::{LiveSignal, LiveView, TotalPower};
use crate::record::RailRole;

/// Lines of the strip.
pub(super) const STRIP: u16 = 3;
/// Width of a line's title in the strip.
const TITLE: usize = 7;
/// Width of the names of rails, and of their figures.
const NAME: usize = 17;
const WATTS: usize = 10;
/// Readings beside each other from which a history tells something.
const TELLING: u16 = 12;
/// Rows that a rail's history takes at most.
const HIGHEST: u16 = 6;
/// Width of a temperature with its name.
const ZONE: u16 = 20;
/// From this share of the budget on, the total is yellow.
const NEAR: f64 = 0.9;

/// The total, the temperatures and the loads in three lines.
pub(super) fn strip(frame: &mut Frame<'_>, area: Rect, view: &LiveView, parts: &Parts<'_>) {
    let lines = Layout::vertical([Constraint::Length(1); STRIP as usize]).split(area);
    total(frame, lines[0], view);
    let width = usize::from(area.width);
    let mut heat = Row::default().text("HEAT", TITLE, DIM);
    let mut hottest: Vec<(&str, f64)> = Vec::new();
    for (name, signal) in &parts.temperatures {
        hottest.extend(signal.value.map(|value| (*name, value)));
    }
    hottest.sort_by(|a, b| b.1.total_cmp(&a.1));
    if hottest.is_empty() {
        heat = heat.words("no temperature measured", width, DIM);
    }
    for (name, value) in hottest {
        heat = heat.words(&format!("{} {value:.1} °C", fit(name, 12)), width, warmth(value));
    }
    for (unit, value) in &parts.fan {
        heat = heat.words(&format!("fan {value:.0} {unit}"), width, Style::new());
    }
    frame.render_widget(Paragraph::new(heat.line()), lines[1]);
    let mut load = Row::default().text("LOAD", TITLE, DIM);
    for (name, percent, clock) in &parts.loads {
        let clock = match clock.and_then(|signal| signal.value) {
            Some(0.0) => " gated".to_owned(),
            Some(mhz) => format!(" {mhz:.0} MHz"),
            None => String::new(),
        };
        load = load.words(&format!("{name} {}{clock}", share(*percent)), width, Style::new());
    }
    for (name, used, total) in &parts.memory {
        let of = total.map_or(String::new(), |total| format!(" of {}", gib(total)));
        load = load.words(&format!("{name} {}{of}", gib(*used)), width, Style::new());
    }
    frame.render_widget(Paragraph::new(load.line()), lines[2]);
}

/// The total power with its history.
fn total(frame: &mut Frame<'_>, area: Rect, view: &LiveView) {
    if area.height == 0 {
        return;
    }
    let width = usize::from(area.width);
    let row = Row::default().text("POWER", TITLE, DIM);
    let Some(power) = view.total_power() else {
        // What a recording lacks, this machine's doctor cannot tell.
        let text = match view.live {
            _ if has_rails(view) => "the lines that are measured are no total",
            true => "no power measured: see jetlag doctor",
            false => "no power measured",
        };
        frame.render_widget(Paragraph::new(row.words(text, width, DIM).line()), area);
        return;
    };
    let now = match power.now_mw {
        Some(mw) => format!("{} W", number(mw / 1e3, 7)),
        None => UNKNOWN.to_owned(),
    };
    let mut row = row
        .text(&now, 10, against_budget(power.now_mw, view.budget_mw))
        .words(power.of, width, DIM);
    if let Some(highest) = power.highest_mw {
        let style = match view.budget_mw {
            Some(_) => against_budget(Some(highest), view.budget_mw),
            None => DIM,
        };
        row = row.words(&format!("highest {} W", number(highest / 1e3, 6)), width, style);
    }
    if let Some(budget) = view.budget_mw {
        row = row.words(&format!("budget {} W", number(budget / 1e3, 6)), width, DIM);
    }
    let taken = row.width().min(width) as u16;
    frame.render_widget(Paragraph::new(row.line()), area);
    let graph = Rect {
        x: area.x + taken,
        width: area.width - taken,
        ..area
    };
    if graph.width >= TELLING {
        frame.render_widget(of_total(&power, view.budget_mw), graph);
    }
}

fn of_total(power: &TotalPower, budget_mw: Option<f64>) -> Trace<'_> {
    let highest = power.highest_mw.unwrap_or(0.0);
    Trace {
        readings: &power.history,
        most: budget_mw.map_or(highest, |budget| budget.max(highest)),
        style: match budget_mw {
            Some(_) => against_budget(power.now_mw, budget_mw),
            None => DRAWN,
        },
    }
}

fn has_rails(view: &LiveView) -> bool {
    view.current()
        .any(|(.., signal)| signal.measurand.quantity == crate::record::Quantity::Power)
}

/// Green below the budget, yellow near it, red above it; bold without one.
fn against_budget(mw: Option<f64>, budget_mw: Option<f64>) -> Style {
    match (mw, budget_mw) {
        (Some(mw), Some(budget)) if mw > budget => HOT,
        (Some(mw), Some(budget)) if mw > NEAR * budget => WARM,
        (Some(_), Some(_)) => GOOD,
        _ => BOLD,
    }
}

/// Yellow from 80 °C on, red from 95 °C on.
fn warmth(celsius: f64) -> Style {
    match celsius {
        c if c >= 95.0 => HOT,
        c if c >= 80.0 => WARM,
        _ => Style::new(),
    }
}

/// Everything of the board: the total above, rails and temperatures at the left, loads at the right.
pub(super) fn page(frame: &mut Frame<'_>, area: Rect, view: &LiveView, parts: &Parts<'_>) {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    total(frame, head, view);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(52), Constraint::Percentage(48)]).areas(body);
    left_column(frame, left, parts);
    right_column(frame, right, parts);
}

/// Rails as high as there is room for, so that a history can be read; temperatures below them.
fn left_column(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>) {
    let columns = (area.width / ZONE).max(1);
    let heat = (parts.temperatures.len() as u16).div_ceil(columns) + 1;
    let count = parts.rails.len().max(1) as u16;
    let height = (area.height.saturating_sub(heat + 2) / count).clamp(1, HIGHEST);
    let power = 1 + count * height;
    let blank = u16::from(power + 1 + heat <= area.height);
    let [power, heat] = Layout::vertical([Constraint::Length(power + blank), Constraint::Min(0)]).areas(area);
    rails(frame, power, parts, height);
    heat_lines(frame, heat, parts, usize::from(columns));
}

fn rails(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, height: u16) {
    let [head, area] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    if parts.rails.is_empty() {
        return;
    }
    // Half a peak would be another figure.
    let peak = match usize::from(area.width) >= NAME + 2 * WATTS {
        true => WATTS,
        false => 0,
    };
    let title = Row::default().text("RAILS", NAME, DIM);
    let title = title.figure("now", WATTS, DIM).figure("peak", peak, DIM);
    frame.render_widget(Paragraph::new(title.line()), head);
    let figures = (NAME + WATTS + peak) as u16;
    let rows = Layout::vertical(parts.rails.iter().map(|_| Constraint::Length(height))).split(area);
    for ((name, signal), row) in parts.rails.iter().zip(rows.iter()) {
        if row.height == 0 {
            continue;
        }
        // Where little room is left beside the figures, the history goes below them.
        let [text, graph] = if height > 1 && row.width < figures + 2 * TELLING {
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(*row)
        } else {
            Layout::horizontal([Constraint::Length(figures), Constraint::Min(0)]).areas(*row)
        };
        let style = if matters(signal.role) { BOLD } else { Style::new() };
        let line = Row::default().text(name, NAME, style);
        let line = line.figure(&watts(signal.value), WATTS, style);
        let line = line.figure(&watts(signal.peak), peak, DIM);
        frame.render_widget(Paragraph::new(line.line()), text);
        history(frame, graph, signal);
    }
}

fn history(frame: &mut Frame<'_>, area: Rect, signal: &LiveSignal) {
    // A column of space stands between it and the loads.
    if area.width < 4 {
        return;
    }
    let graph = Rect {
        width: area.width - 2,
        ..area
    };
    let readings: Vec<Option<f64>> = signal.history.iter().copied().collect();
    let trace = Trace {
        readings: &readings,
        most: signal.peak.unwrap_or(0.0).max(1.0),
        style: DRAWN,
    };
    frame.render_widget(trace, graph);
}

fn matters(role: RailRole) -> bool {
    matches!(role, RailRole::Total | RailRole::Summand | RailRole::Input)
}

fn heat_lines(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, columns: usize) {
    let title = match parts.temperatures.is_empty() {
        true => "no temperatures",
        false => "TEMPERATURE °C",
    };
    let mut lines = vec![Line::styled(title, DIM)];
    for zones in parts.temperatures.chunks(columns) {
        let mut row = Row::default();
        for (name, signal) in zones {
            let shown = signal.value.map_or(UNKNOWN.to_owned(), |c| format!("{c:.1}"));
            let style = signal.value.map_or(DIM, warmth);
            row = row.text(name, 12, Style::new());
            row = row.figure(&shown, usize::from(ZONE) - 12, style);
        }
        lines.push(row.line());
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn right_column(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>) {
    let width = usize::from(area.width);
    let title = Row::default().text("LOAD", 8, DIM);
    let title = title.figure("", 7, DIM).figure("clock", 11, DIM);
    let mut lines = vec![title.line()];
    for (name, percent, clock) in &parts.loads {
        let clock = match clock.and_then(|signal| signal.value) {
            Some(0.0) => "gated".to_owned(),
            Some(mhz) => format!("{mhz:.0} MHz"),
            None => UNKNOWN.to_owned(),
        };
        let row = Row::default().text(name, 8, Style::new());
        let row = row.figure(&share(*percent), 7, Style::new());
        let row = row.figure(&clock, 11, Style::new());
        let room = width.saturating_sub(row.width() + 1);
        lines.push(row.drawn(bar(percent.unwrap_or(0.0) / 100.0, room), DRAWN).line());
    }
    if !parts.off.is_empty() {
        let row = Row::default().text("off", 8, DIM);
        lines.push(
            row.text(&parts.off.join(" "), width.saturating_sub(8), DIM)
                .line(),
        );
    }
    if !parts.cores.is_empty() {
        let cores: String = parts.cores.iter().map(core).collect();
        let row = Row::default().text("cores", 8, Style::new());
        lines.push(row.text(&cores, width.saturating_sub(8), DRAWN).line());
    }
    for (name, used, total) in &parts.memory {
        let (of, share) = match total {
            Some(total) => (format!(" of {}", gib(*total)), used / total),
            None => (String::new(), 0.0),
        };
        let row = Row::default().text(name, 8, Style::new());
        let row = row.words(&format!("{}{of}", gib(*used)), width, Style::new());
        let room = width.saturating_sub(row.width() + 1);
        lines.push(row.drawn(bar(share, room), DRAWN).line());
    }
    if !parts.fan.is_empty() {
        let shown: Vec<String> = parts
            .fan
            .iter()
            .map(|(unit, v)| format!("{v:.0} {unit}"))
            .collect();
        let row = Row::default().text("fan", 8, Style::new());
        lines.push(row.words(&shown.join("  "), width, Style::new()).line());
    }
    if let Some(mode) = parts.mode {
        let row = Row::default().text("mode", 8, Style::new());
        lines.push(row.words(&format!("{mode:.0}"), width, Style::new()).line());
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// One character for the load of a processor; a cross for one that is off.
fn core(load: &CoreLoad) -> char {
    match load {
        CoreLoad::Percent(percent) => level(*percent),
        CoreLoad::Unknown => '·',
        CoreLoad::Off => '×',
    }
}

/// A power in watts.
pub(super) fn watts(mw: Option<f64>) -> String {
    mw.map_or(UNKNOWN.to_owned(), |mw| format!("{} W", number(mw / 1e3, 7)))
}

/// A load in percent.
pub(super) fn share(percent: Option<f64>) -> String {
    percent.map_or(UNKNOWN.to_owned(), |p| format!("{p:.0} %"))
}

/// An amount of memory.
pub(super) fn gib(bytes: f64) -> String {
    format!("{:.1} GiB", bytes / (1u64 << 30) as f64)
}
