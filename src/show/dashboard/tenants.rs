//! The tenants: a row of figures each, and its latencies beside or below them.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::graph::{HOT, Latency, WARM};
use super::look::{Look, Order};
use super::row::{self, BOLD, DIM, Row, figure, number};
use crate::analysis::live::{Asked, LiveTenant, LiveView};

/// Rows that a tenant takes at most.
const HIGHEST: u16 = 6;
/// The widest that names are shown.
const NAME: usize = 28;
/// The narrowest that names are shown.
const LEAST_NAME: usize = 11;
/// Where a tenant has more than one row, a history stands beside its figures from this width on, else below them.
const WIDE: u16 = 110;
const P50: usize = 9;
const P99: usize = 9;
const DEADLINE: usize = 9;
const MISSED: usize = 8;
const SHARE: usize = 9;
const RATE: usize = 14;
const FRAMES: usize = 9;
/// Columns of what is always shown.
const FIGURES: usize = P50 + P99 + MISSED + RATE;

/// How the tenants share the room that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Rows of each.
    pub(super) height: u16,
    name: usize,
    deadline: bool,
    share: bool,
    frames: bool,
    /// Columns of the history beside the figures; none where it stands below them.
    pub(super) beside: usize,
}

impl Plan {
    /// For these tenants in a room.
    pub(super) fn of(tenants: &[LiveTenant], width: u16, rows: u16) -> Plan {
        let count = tenants.len().max(1) as u16;
        let height = (rows.saturating_sub(1) / count).clamp(1, HIGHEST);
        let below = width < WIDE && height > 1;
        let width = usize::from(width);
        // In one row there is no room below, and the history goes before what is less telling.
        let least = if below { 0 } else { width / 6 };
        let mut left = width.saturating_sub(FIGURES + LEAST_NAME + least);
        let mut has_room = |columns: usize| {
            let fits = columns <= left;
            left -= if fits { columns } else { 0 };
            fits
        };
        let deadline = has_room(DEADLINE);
        let share = has_room(SHARE);
        let frames = has_room(FRAMES);
        let longest = tenants.iter().map(|tenant| row::width(&tenant.name) + 1).max();
        let wanted = longest.unwrap_or(0).clamp(LEAST_NAME, NAME);
        let name = wanted.min(LEAST_NAME + left);
        let mut plan = Plan {
            height,
            name,
            deadline,
            share,
            frames,
            beside: 0,
        };
        if !below {
            plan.beside = width.saturating_sub(plan.figures());
        }
        plan
    }

    /// Rows that all of them take, with the line of titles.
    pub(super) fn rows(&self, count: usize) -> u16 {
        (count as u16).saturating_mul(self.height).saturating_add(1)
    }

    /// The widths of the columns that are shown, from the left.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        let optional = |shown: bool, width: usize| if shown { width } else { 0 };
        let columns = [
            self.name,
            P50,
            P99,
            optional(self.deadline, DEADLINE),
            MISSED,
            optional(self.share, SHARE),
            RATE,
            optional(self.frames, FRAMES),
        ];
        columns.into_iter().filter(|width| *width > 0)
    }

    /// The width of the figures, without the history.
    fn figures(&self) -> usize {
        self.columns().sum()
    }

    fn titles(&self, order: Order) -> Row {
        let title = |name: &str, by: Order| match by == order {
            true => (format!("{name}▾"), BOLD),
            false => (name.to_owned(), DIM),
        };
        let optional = |shown: bool, width: usize| if shown { width } else { 0 };
        let mut row = Row::default();
        let (tenant, style) = title("tenant", Order::Name);
        row = row.text(&tenant, self.name, style).figure("p50 ms", P50, DIM);
        let (p99, style) = title("p99 ms", Order::P99);
        row = row.figure(&p99, P99, style);
        row = row.figure("deadline", optional(self.deadline, DEADLINE), DIM);
        let (missed, style) = title("missed", Order::Missed);
        row = row.figure(&missed, MISSED, style);
        row = row.figure("missed %", optional(self.share, SHARE), DIM);
        let (rate, style) = title("rate /s", Order::Rate);
        row = row.figure(&rate, RATE, style);
        row.figure("frames", optional(self.frames, FRAMES), DIM)
    }

    fn line(&self, tenant: &LiveTenant) -> Row {
        let optional = |shown: bool, width: usize| if shown { width } else { 0 };
        let deadline = tenant.deadline.map(|deadline| deadline.as_millis_f64());
        // Red where frames are late, yellow where they nearly are.
        let against = |ms: Option<f64>| match (ms, deadline) {
            (Some(ms), Some(deadline)) if ms > deadline => HOT,
            (Some(ms), Some(deadline)) if ms > deadline * 0.9 => WARM,
            _ => Style::new(),
        };
        let (p50, p99) = (tenant.p50_ms(), tenant.p99_ms());
        let missed = if tenant.missed > 0 { HOT } else { Style::new() };
        let share = tenant.missed_share().map(|share| share * 100.0);
        let name = if tenant.takes_part { BOLD } else { DIM };
        Row::default()
            .text(&tenant.name, self.name, name)
            .figure(&figure(p50, P50 - 1), P50, against(p50))
            .figure(&figure(p99, P99 - 1), P99, against(p99))
            .figure(
                &figure(deadline, DEADLINE - 1),
                optional(self.deadline, DEADLINE),
                DIM,
            )
            .figure(&count(tenant.missed, MISSED - 1), MISSED, missed)
            .figure(&figure(share, SHARE - 1), optional(self.share, SHARE), missed)
            .figure(&rate(tenant), RATE, Style::new())
            .figure(&frames(tenant), optional(self.frames, FRAMES), Style::new())
    }
}

/// The rate reached, and the one asked for.
fn rate(tenant: &LiveTenant) -> String {
    let reached = figure(tenant.rate(), 5);
    match tenant.asked {
        Asked::Hz(hz) if hz.fract() == 0.0 && hz < 1e4 => format!("{reached} of {hz:.0}"),
        Asked::Hz(hz) => format!("{reached} of {}", number(hz, 4)),
        Asked::Closed | Asked::Unknown => reached,
    }
}

/// The frames that ended, and after how many of them it stops.
fn frames(tenant: &LiveTenant) -> String {
    if tenant.warmup {
        return "warm-up".to_owned();
    }
    let room = FRAMES - 1;
    let of = tenant.limit.map(|limit| format!("{}/{limit}", tenant.ended));
    of.filter(|text| text.len() <= room)
        .unwrap_or_else(|| count(tenant.ended, room))
}

fn count(count: u64, room: usize) -> String {
    let text = count.to_string();
    match text.len() <= room {
        true => text,
        false => number(count as f64, room),
    }
}

/// The tenants in this order.
fn sorted(view: &LiveView, order: Order) -> Vec<&LiveTenant> {
    let mut tenants: Vec<&LiveTenant> = view.tenants.iter().collect();
    let key = |tenant: &LiveTenant| match order {
        Order::P99 => tenant.p99_ms(),
        Order::Missed => tenant.missed_share(),
        Order::Rate => tenant.rate(),
        _ => None,
    };
    match order {
        Order::Name => tenants.sort_by(|a, b| a.name.cmp(&b.name)),
        Order::P99 | Order::Missed | Order::Rate => {
            // What is not known comes last.
            tenants.sort_by(|a, b| {
                let value = |tenant| key(tenant).unwrap_or(f64::NEG_INFINITY);
                value(b).total_cmp(&value(a))
            });
        }
        _ => {}
    }
    tenants
}

/// Draws the tenants that there is room for.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, view: &LiveView, look: &mut Look) {
    if area.height == 0 {
        return;
    }
    let count = view.tenants.len();
    let plan = Plan::of(&view.tenants, area.width, area.height);
    let order = look.of_tenants();
    let line = |row: u16| Rect {
        y: area.y + row,
        height: 1,
        ..area
    };
    frame.render_widget(Paragraph::new(plan.titles(order).line()), line(0));
    let mut room = usize::from((area.height - 1) / plan.height);
    let is_cut = room < count;
    if is_cut {
        // A line says what is not shown.
        room = usize::from(area.height.saturating_sub(2) / plan.height);
    }
    let first = look.first(count, room);
    let now = view.span.map_or_else(Default::default, |(_, last)| last);
    let shown = sorted(view, order).into_iter().skip(first).take(room);
    for (number, tenant) in shown.enumerate() {
        let row = 1 + number as u16 * plan.height;
        frame.render_widget(Paragraph::new(plan.line(tenant).line()), line(row));
        let figures = plan.figures() as u16;
        let graph = match plan.beside {
            0 => Rect {
                y: area.y + row + 1,
                height: plan.height - 1,
                ..area
            },
            columns => Rect {
                x: area.x + figures,
                y: area.y + row,
                width: columns as u16,
                // A line between two tenants, where there is room for it.
                height: (plan.height - u16::from(plan.height > 3)).max(1),
            },
        };
        let history = tenant.history(now, usize::from(graph.width));
        let latency = Latency {
            history: &history,
            deadline: tenant.deadline,
        };
        frame.render_widget(latency, graph.intersection(area));
    }
    if is_cut {
        let (above, below) = (first, count.saturating_sub(first + room));
        let text = format!("{above} more above, {below} below: ↑ ↓");
        frame.render_widget(Paragraph::new(Line::styled(text, DIM)), line(area.height - 1));
    }
}
