//! The programs beside the tenants: who else uses processors and GPUs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::board::{gib, share};
use super::look::{Look, Order};
use super::parts::{Parts, Program};
use super::row::{BOLD, DIM, Row, UNKNOWN};

const ON: usize = 12;
const LOAD: usize = 10;
const MEMORY: usize = 13;
/// The narrowest screen has as much for names.
const NAME: usize = 60 - ON - LOAD - MEMORY;

/// Draws the programs that there is room for.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, parts: &Parts<'_>, look: &mut Look) {
    let order = look.of_programs();
    let title = |name: &str, by: Order| match by == order {
        true => (format!("{name}▾"), BOLD),
        false => (name.to_owned(), DIM),
    };
    let ((name, by_name), (load, by_load)) = (title("program", Order::Name), title("load", Order::Load));
    let (memory, by_memory) = title("memory", Order::Memory);
    let titles = Row::default().text(&name, NAME, by_name).text("on", ON, DIM);
    let titles = titles
        .figure(&load, LOAD, by_load)
        .figure(&memory, MEMORY, by_memory);
    let mut lines = vec![titles.line()];
    let programs = sorted(&parts.programs, order);
    let room = usize::from(area.height.saturating_sub(2));
    let first = look.first(programs.len(), room);
    for program in programs.iter().skip(first).take(room) {
        let memory = program.memory.map_or(UNKNOWN.to_owned(), gib);
        let row = Row::default().text(&program.name, NAME, Style::new());
        let row = row.text(&program.on, ON, DIM);
        let row = row.figure(&share(program.load), LOAD, Style::new());
        lines.push(row.figure(&memory, MEMORY, Style::new()).line());
    }
    if programs.is_empty() {
        let none = "no program is known to use 5 % of a processor, or a GPU";
        lines.push(Line::styled(none, DIM));
    } else if programs.len() > room {
        let below = programs.len().saturating_sub(first + room);
        lines.push(Line::styled(
            format!("{first} more above, {below} below: ↑ ↓"),
            DIM,
        ));
    } else {
        lines.push(Line::styled("Loads are of one processor, or of the GPU.", DIM));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn sorted(programs: &[Program], order: Order) -> Vec<&Program> {
    let mut sorted: Vec<&Program> = programs.iter().collect();
    let key = |program: &Program| match order {
        Order::Memory => program.memory,
        _ => program.load,
    };
    match order {
        Order::Name => sorted.sort_by(|a, b| a.name.cmp(&b.name)),
        _ => sorted.sort_by(|a, b| {
            let value = |program| key(program).unwrap_or(f64::NEG_INFINITY);
            value(b).total_cmp(&value(a))
        }),
    }
    sorted
}
