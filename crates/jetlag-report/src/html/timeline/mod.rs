//! Who ran when: drawings around the slowest frames, and the whole run for a script to scroll through.

mod data;

use askama::Template;

use super::charts::moment::{self, Row};
use super::view::{Block, Chart, Section, words};
use crate::analysis::plot::{Course, Moment};
use crate::analysis::summary::{Summary, TenantSummary};
use crate::number::{TimeUnit, short};

/// Drawings of a run, and of one tenant.
const MOST_DRAWN: usize = 12;
const MOST_OF_ONE: usize = 3;
/// Bytes that the drawings of all runs of a page take.
const MOST_DRAWN_BYTES: usize = 1_200_000;
/// Bytes that the frames of all runs of a page take, in their written form.
const MOST_BYTES: usize = 2_400_000;

#[derive(Template)]
#[template(path = "timeline.html")]
struct Player {
    data: String,
    name: String,
}

/// The section of a run, one of so many on the page.
pub(super) fn section(summary: &Summary, prefix: &str, runs: usize) -> Option<Section> {
    let course = summary.plots.course.as_ref()?;
    if course.frames.is_empty() {
        return None;
    }
    let (shown, data) = fitting(course, &summary.tenants, MOST_BYTES / runs.max(1));
    let player = Player {
        data,
        name: summary.run.name.clone(),
    };
    let mut blocks = vec![Block::Text(words(&told(&shown)))];
    blocks.extend(player.render().ok().map(Block::Markup));
    let drawn = drawings(course, &summary.tenants, runs.max(1));
    if !drawn.is_empty() {
        blocks.push(Block::Markup(LEGEND.to_owned()));
        blocks.push(Block::Charts(drawn));
    }
    Some(Section {
        id: format!("{prefix}-timeline"),
        title: "Timeline".into(),
        note: "Who ran when. A frame's blocks are its stages; the thin line before them is the time from its release to its start, \
               and a red line below them a missed deadline."
            .to_owned(),
        blocks,
    })
}

/// As much of the course as its written form has room for, and that form.
fn fitting(course: &Course, tenants: &[TenantSummary], most: usize) -> (Course, String) {
    let mut shown = course.clone();
    let mut data = data::written(&shown, tenants);
    if data.len() > most {
        shown = shown.around_the_slowest();
        data = data::written(&shown, tenants);
    }
    while data.len() > most && shown.moments.len() > 1 {
        let half = shown.moments.len() / 2;
        shown = shown.fewer(half);
        data = data::written(&shown, tenants);
    }
    if data.len() > most {
        shown.frames.clear();
        shown.windows.clear();
        data = data::written(&shown, tenants);
    }
    (shown, data)
}

/// What is there and what is left out.
fn told(shown: &Course) -> String {
    if !shown.is_partial() {
        return format!(
            "All {} frames of the measured time are here. Stages are laid end to end from the start of service; a gap in a frame is \
             time that no stage measured.",
            shown.count
        );
    }
    let kept: f64 = shown
        .windows
        .iter()
        .map(|window| (window.to - window.from).as_secs_f64())
        .sum();
    format!(
        "Of {} frames {} are here, those around the slowest: {} of {} s in {}. Of the rest there is the share of the time in which a \
         frame was in service, and the number of misses. Stages are laid end to end from the start of service; a gap in a frame is \
         time that no stage measured.",
        shown.count,
        shown.frames.len(),
        short(kept),
        short(shown.length.as_secs_f64()),
        match shown.windows.len() {
            1 => "1 stretch".to_owned(),
            several => format!("{several} stretches"),
        },
    )
}

/// Drawings around the slowest frames: of each tenant the first few.
fn drawings(course: &Course, tenants: &[TenantSummary], runs: usize) -> Vec<Chart> {
    let few = |moment: &&Moment| moment.number <= MOST_OF_ONE;
    let chosen = course.moments.iter().filter(few).take(MOST_DRAWN.div_ceil(runs));
    let mut room = MOST_DRAWN_BYTES / runs;
    chosen
        .filter_map(|moment| {
            let tenant = tenants.get(moment.tenant)?;
            let slow = tenant.slowest.get(moment.number.checked_sub(1)?)?;
            let unit = TimeUnit::for_millis(std::iter::once(slow.response_ms));
            let rows: Vec<Row<'_>> = tenants
                .iter()
                .enumerate()
                .map(|(number, tenant)| Row {
                    number,
                    name: &tenant.name,
                })
                .collect();
            let figure = moment::chart(course, moment, &rows, unit)?;
            let which = match slow.beyond_spread {
                true => format!("No. {}", moment.number),
                false => "The slowest".to_owned(),
            };
            Some(Chart {
                title: format!(
                    "{which} of {}: {} {} at {} s",
                    tenant.name,
                    unit.show(slow.response_ms),
                    unit.name(),
                    short(slow.at_s)
                ),
                keys: Vec::new(),
                svg: figure.svg,
            })
        })
        .take_while(|chart| {
            let fits = chart.svg.len() <= room;
            room = room.saturating_sub(chart.svg.len());
            fits
        })
        .collect()
}

/// What the looks mean, in grey: they are the same in every tenant's colour.
const LEGEND: &str = "<p class=\"legend\"><span class=\"key kcompute\">compute</span> \
    <span class=\"key kcopy\">copies (h2d, d2h)</span> <span class=\"key kwork\">host stages</span> \
    <span class=\"key krest\">queue, and no stage</span> <span class=\"key kwaits\">wait for the start</span> \
    <span class=\"key kalarm\">missed</span></p>";
