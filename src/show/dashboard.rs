//! The dashboard: one screen of what is going on, drawn anew from a [`LiveView`].
//!
//! It needs 60 × 15 and uses what room there is beyond. Where values come from, and when it is drawn, is for
//! `commands` to know. What was not measured is `–`, and never 0.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use crate::analysis::live::LiveView;
use crate::record::Phase;
use board::{share, watts};
use graph::{DRAWN, WARM};
use parts::Parts;
use row::{BOLD, DIM, Row, UNKNOWN, fit};

mod board;
mod graph;
mod help;
mod look;
mod parts;
mod programs;
mod row;
mod tenants;

pub use look::{Look, Page};

/// The smallest screen on which nothing that matters is cut off.
pub const LEAST: (u16, u16) = (60, 15);
/// Rows from which the whole board is shown below the tenants, and not three lines of it.
const WHOLE_BOARD: u16 = 8;

/// Draws what is looked at; `state` is a word on the right of the title.
pub fn draw(frame: &mut Frame<'_>, view: &LiveView, look: &mut Look, state: &str) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(frame, area);
    }
    let parts = Parts::of(view);
    let [title, body, notes, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(u16::from(!view.notes.is_empty())),
        Constraint::Length(1),
    ])
    .areas(area);
    title_line(frame, title, view, state);
    let page = look.page(!view.tenants.is_empty());
    match page {
        Page::Tenants => tenants_page(frame, body, view, look, &parts),
        Page::Power => board::page(frame, body, view, &parts),
        Page::Programs => programs::draw(frame, body, &parts, look),
    }
    if let Some(note) = view.notes.back() {
        let text = fit(&format!("! {note}"), usize::from(area.width));
        frame.render_widget(Paragraph::new(Line::styled(text, WARM)), notes);
    }
    footer_line(frame, footer, page, !view.tenants.is_empty());
    if look.help {
        help::draw(frame, body);
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let (width, height) = LEAST;
    let text = format!(
        "The dashboard needs {width} × {height} characters; this terminal has {} × {}. Make it larger, or press q to quit.",
        area.width, area.height
    );
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

/// The tenants, and below them the whole board where there is room, else a few lines of it.
fn tenants_page(frame: &mut Frame<'_>, area: Rect, view: &LiveView, look: &mut Look, parts: &Parts<'_>) {
    let room = area.height.saturating_sub(board::STRIP);
    let plan = tenants::Plan::of(&view.tenants, area.width, room);
    let left = area.height - plan.rows(view.tenants.len()).min(room);
    let whole = left >= WHOLE_BOARD;
    let below = Constraint::Length(if whole { left } else { board::STRIP });
    let [above, below] = Layout::vertical([Constraint::Min(0), below]).areas(area);
    tenants::draw(frame, above, view, look);
    match whole {
        true => board::page(frame, below, view, parts),
        false => board::strip(frame, below, view, parts),
    }
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
        let mut shown = format!("{} {rate} /s p50 {p50} ms", tenant.name);
        if tenant.missed > 0 {
            shown += &format!(" missed {} of {}", tenant.missed, tenant.ended);
        }
        words.push(shown);
    }
    for (name, signal) in &parts.rails {
        words.push(format!("{name} {}", watts(signal.value)));
    }
    for (name, signal, clock) in &parts.loads {
        let clock = clock
            .and_then(|c| c.value)
            .map_or(String::new(), |mhz| format!("@{mhz:.0}"));
        words.push(format!("{name} {}{clock}", share(*signal)));
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

/// What is watched, and at the right the phase, the state and how much of the time has passed.
fn title_line(frame: &mut Frame<'_>, area: Rect, view: &LiveView, state: &str) {
    let width = usize::from(area.width);
    let phase = match (view.phase, &view.phase_label) {
        (None | Some(Phase::Together), _) => String::new(),
        (Some(Phase::Overhead), _) => "own cost".to_owned(),
        (Some(_), Some(label)) => label.clone(),
        (Some(Phase::Alone), None) => "alone".to_owned(),
        (Some(Phase::Other(_)), None) => "in part".to_owned(),
    };
    let mut right = Row::default();
    if !phase.is_empty() {
        let phase = fit(&phase, width / 3);
        right = right.text(&phase, row::width(&phase) + 2, Style::new());
    }
    right = right.text(state, row::width(state) + 2, DIM);
    match view.progress() {
        Some((passed, planned)) => {
            let share = passed.as_secs_f64() / planned.as_secs_f64();
            let text = format!("{:.0} of {:.0} s", passed.as_secs_f64(), planned.as_secs_f64());
            right = right.text(&text, row::width(&text) + 1, Style::new());
            // The bar's own width is kept, so that what stands left of it does not move.
            right = right.drawn(format!("{:<8}", graph::bar(share, 8)), DRAWN);
        }
        None => {
            let text = format!("{:.0} s", view.elapsed().as_secs_f64());
            right = right.drawn(text, DIM);
        }
    }
    let taken = right.width().min(width) as u16;
    let title = Row::default().text(&view.title, width.saturating_sub(usize::from(taken)), BOLD);
    let right_area = Rect {
        x: area.right() - taken,
        width: taken,
        ..area
    };
    frame.render_widget(Paragraph::new(title.line()), area);
    frame.render_widget(Paragraph::new(right.line()), right_area);
}

/// The pages, and the keys as far as there is room for them.
fn footer_line(frame: &mut Frame<'_>, area: Rect, page: Page, has_tenants: bool) {
    let width = usize::from(area.width);
    let mut row = Row::default();
    for (number, other) in Page::ALL.into_iter().enumerate() {
        if other == Page::Tenants && !has_tenants {
            continue;
        }
        let style = match other == page {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => DIM,
        };
        row = row.words(&format!("{} {}", number + 1, other.name()), width, style);
    }
    for keys in ["q quit", "? help", "s sort", "p pause", "r reset peaks"] {
        row = row.words(keys, width, DIM);
    }
    frame.render_widget(Paragraph::new(row.line()), area);
}

#[cfg(test)]
mod tests;
