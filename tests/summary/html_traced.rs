//! What a trace adds to the page of a run: kernels by layer, contention, frames drawn; and nothing where there is none.

use std::process::Command;

use jetlag::analysis::plot::{FramePlot, LaneKind};
use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{Event, Manifest};

use crate::summary::html::{assert_readable, assert_self_contained, written};
use crate::summary::html_timeline::timeline;
use crate::summary::traced;

fn drawn(manifest: &Manifest, events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::new(manifest);
    summarizer.draw_frames();
    events.iter().for_each(|event| summarizer.push(event));
    summarizer.finish(None)
}

fn lane(frame: &FramePlot, kind: LaneKind) -> Vec<(i64, i64, bool, &str)> {
    let lanes = frame.lanes.iter().filter(|lane| lane.kind == kind);
    let bars = lanes.flat_map(|lane| &lane.bars);
    bars.map(|bar| (bar.from / 1000, bar.to / 1000, bar.on_path, bar.text.as_str()))
        .collect()
}

#[test]
fn the_median_frame_and_a_slow_one_are_drawn_with_their_critical_path() {
    let (manifest, events) = traced::traced();
    let summary = drawn(&manifest, &events);
    let camera = &summary.plots.traced[0];
    assert_eq!((camera.tenant, camera.phase, camera.frames.len()), (0, 0, 2));
    assert_eq!(camera.layers, ["backbone", "head, \"two\""]);
    // Response times are 12 ms and 0 to 4 ms more, evenly.
    let [median, slow] = [&camera.frames[0], &camera.frames[1]];
    assert_eq!(median.response_ns, 14_000_000, "{median:?}");
    assert!(slow.response_ns >= 15_750_000 && slow.rank >= 0.97, "{slow:?}");
    // One copy, then two kernels, of which the last ends last.
    assert_eq!(lane(median, LaneKind::Copies), [(1_000, 1_500, false, "h2d")]);
    let kernels = lane(median, LaneKind::Stream);
    assert_eq!(
        kernels.iter().map(|bar| (bar.0, bar.1)).collect::<Vec<_>>(),
        [(2_000, 5_000), (8_000, 10_000)]
    );
    assert!(kernels[1].2, "the frame's result waited for it");
    assert!(
        kernels[0].3.starts_with("backbone: void cutlass"),
        "{}",
        kernels[0].3
    );
    assert_eq!(lane(median, LaneKind::Waits).len(), 1);
    // The path is all of the response time, and what it says is marked.
    let path = lane(median, LaneKind::Path);
    assert_eq!((path[0].0, path[path.len() - 1].1), (0, 14_000), "{path:?}");
    assert!(path.windows(2).all(|pair| pair[0].1 == pair[1].0), "{path:?}");
}

#[test]
fn the_page_has_kernels_by_layer_what_ran_meanwhile_and_frames() {
    let (manifest, events) = traced::traced();
    // A number is not parted from its unit.
    let page = written(manifest.clone(), drawn(&manifest, &events)).replace('\u{a0}', " ");
    assert_self_contained(&page);
    let places: Vec<usize> = ["Time per kernel", "Waits", "Traced frames"]
        .iter()
        .map(|title| page.find(&format!("<h2>{title}</h2>")).expect("a section"))
        .collect();
    assert!(places.is_sorted());
    for named in [
        "cutlass_80_tensorop",
        "<h3>trace-incomplete</h3>",
        "backbone",
        "head, &#34;two&#34;",
    ] {
        assert!(page.contains(named), "{named}");
    }
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

/// Without its sections, the page of a traced run is that of the same run untraced.
#[test]
fn a_run_without_a_trace_has_the_page_that_it_had() {
    let (manifest, events) = traced::traced();
    let with = drawn(&manifest, &events);
    let mut without = with.clone();
    (without.kernels, without.observer) = (None, None);
    without.plots.traced.clear();
    let (with, without) = (written(manifest.clone(), with), written(manifest, without));
    let mut cut = with.clone();
    for id in [
        "run1-traced",
        "run1-kernels",
        "run1-gpu-frames",
        "run1-contention",
        "run1-slow-frames",
        "run1-frames",
    ] {
        let start = cut.find(&format!("\n<section id=\"{id}\"")).expect("a section");
        let end = start + cut[start..].find("\n</section>").expect("its end") + "\n</section>".len();
        cut.replace_range(start..end, "");
    }
    // The contents name the sections, and the headline has the findings that no section is there for.
    let after_headline = |page: &str| {
        let (before, rest) = page.split_once("<nav").expect("contents");
        let (_, after) = rest.split_once("</header>\n").expect("a headline");
        format!("{before}{after}")
    };
    let (cut, without) = (after_headline(&cut), after_headline(&without));
    assert!(cut == without, "{} and {} bytes", cut.len(), without.len());
    assert!(!without.contains("Traced frames"));
}

#[test]
fn a_browser_shows_frames_readably() {
    let (manifest, events) = traced::traced();
    let page = written(manifest.clone(), drawn(&manifest, &events));
    // Two tenants with two frames each, and what every page has of two tenants: over time and two of the distribution;
    // and the timeline's drawings.
    assert_readable(&page, 2 * 2 + 2 * 3 + timeline(&page).matches("<svg").count());
}

/// The record made on an H100: 399 kernels and thousands of calls, and few elements.
#[test]
fn a_recorded_trace_becomes_a_light_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["report", "tests/records/traced.mcap", "--html"])
        .arg(&page)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("jetlag starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let page = std::fs::read_to_string(page).expect("the page");
    let frames = &page[page.find("<h2>Traced frames").expect("a section")..];
    let count = |what: &str| frames.matches(what).count();
    assert!(
        count("<path") < 400 && count("<rect") <= 120 * count("<svg"),
        "{}",
        count("<path")
    );
    assert!(page.len() < 800 << 10, "{} bytes", page.len());
}
