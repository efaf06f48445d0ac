//! The CDFs of compared runs over one another, in the page of a comparison.

use jetlag::analysis::compare::{Side, compare};
use jetlag::record::{Event, Manifest, Phase};
use jetlag::report::html::{self, Reported};
use jetlag::units::Nanos;

use crate::summary::html::{assert_readable, assert_self_contained};
use crate::summary::made_up;

/// The demo's run, and the same with a camera that takes this much longer.
fn runs(seconds: i64, more: Nanos) -> [(Manifest, Vec<Event>); 2] {
    let (manifest, events) = made_up::demo(seconds);
    let mut slower = events.clone();
    for event in &mut slower {
        if let Event::Frame(frame) = event
            && frame.tenant == 0
            && frame.phase == Phase::Together
        {
            frame.finished = frame.finished + more;
        }
    }
    [(manifest.clone(), events), (manifest, slower)]
}

fn page(runs: &[(Manifest, Vec<Event>)]) -> String {
    let sides: Vec<Side> = ["before", "after", "later"]
        .into_iter()
        .zip(runs)
        .map(|(name, (manifest, events))| Side {
            in_turns: false,
            repeated: Vec::new(),
            name: name.to_owned(),
            files: vec![format!("{name}.mcap")],
            runs: vec![made_up::sample(manifest, events)],
        })
        .collect();
    let reported: Vec<Reported> = runs
        .iter()
        .map(|(manifest, events)| Reported {
            manifest: manifest.clone(),
            summary: made_up::summarize(manifest, events),
            roofline: None,
        })
        .collect();
    let mut out = Vec::new();
    let compared = compare(&sides, &[]);
    html::write(&reported, Some(&compared), &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

/// The comparison's part of a page.
fn comparison(page: &str) -> &str {
    let from = page.find("<section id=\"comparison\"").expect("a section");
    let rest = &page[from..];
    &rest[..rest.find("<article").expect("runs follow")]
}

/// Lines of the intervals in B's colour, three for each and width.
fn whiskers(part: &str) -> usize {
    part.matches("stroke=\"#D55E00\" stroke-width=\"10\"").count()
}

#[test]
fn compared_runs_lie_over_one_another_with_deadline_and_intervals() {
    let page = page(&runs(70, Nanos::from_millis(2)));
    assert_self_contained(&page);
    let part = comparison(&page);
    // Both tenants, each drawn for two widths.
    assert_eq!(part.matches("<svg").count(), 4);
    assert_eq!(
        part.matches(">deadline</text>").count() + part.matches(">\ndeadline\n</text>").count(),
        4
    );
    // 2 ms lie between the curves: somewhere A has nearly all of its frames behind it, and B none.
    let told: Vec<&str> = part.split("<title>").skip(1).collect();
    let camera = told.iter().filter(|text| text.contains(": A ")).take(80);
    let apart = camera.filter(|text| {
        let share = |run: &str| -> f64 {
            let (_, rest) = text.split_once(run).expect("the run is told");
            rest.split(' ').next().expect("a share").parse().unwrap_or(0.0)
        };
        share("A ") - share("B ") > 50.0
    });
    assert!(apart.count() > 0, "the curves lie apart");
    // Every stripe tells both.
    assert!(
        told.iter()
            .filter(|text| text.contains("at most"))
            .all(|text| text.contains(", B "))
    );
    // A and B, once for the tenant that differs: median and p99 with both widths, as thick lines in B's colour.
    let whiskers = whiskers(part);
    assert!(
        whiskers > 0 && whiskers.is_multiple_of(6),
        "{whiskers}: three lines each"
    );
    // The comparison's two, and those of each run.
    assert_readable(&page, 2 + 2 * (2 + 4));
}

#[test]
fn an_interval_that_is_withheld_is_not_drawn() {
    let [few, many] = [6, 70].map(|seconds| page(&runs(seconds, Nanos::from_millis(2))));
    assert_eq!(comparison(&few).matches("<svg").count(), 4);
    assert!(whiskers(comparison(&few)) < whiskers(comparison(&many)));
}

#[test]
fn a_tenant_that_only_one_run_has_is_not_overlaid() {
    let [a, (mut manifest, events)] = runs(70, Nanos::ZERO);
    {
        use crate::common::planned::Planned as _;
        manifest.plan().tenants[1].name = "radar".to_owned();
    }
    manifest.tenants[1].name = "radar".to_owned();
    let page = page(&[a, (manifest, events)]);
    let part = comparison(&page);
    assert!(
        part.contains("camera: CDF") && !part.contains("lidar: CDF"),
        "{part}"
    );
}
