//! What a report says of a tenant whose inputs differ in size, on the terminal, on the page and in JSON.

use jetlag::analysis::Summary;
use jetlag::record::{Event, Manifest, Phase, Stage};
use jetlag::report::html::{self, Reported};
use jetlag::report::json;
use jetlag::scenario::{Sensor, SourceSpec};
use jetlag::units::Nanos;

use crate::common::planned::Planned as _;
use crate::summary::made_up;

/// The demo, of which the LiDAR's sweeps have between 28 000 and 33 000 points, and each thousand takes its postprocessing a
/// millisecond; the camera's images have one size.
pub(crate) fn sized() -> (Manifest, Summary) {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().tenants[1].source = SourceSpec::Synthetic {
        sensor: Sensor::Lidar,
        scenes: 700,
        seed: 1,
    };
    for event in &mut events {
        let Event::Frame(frame) = event else { continue };
        match (frame.tenant, frame.phase) {
            (0, _) => frame.input_size = 640 * 640,
            (1, Phase::Together) => {
                // A number without a pattern that blocks of frames would show.
                let more = (frame.sequence * 7_919 % 5_003) as i64;
                let longer = Nanos(more * 1_000);
                let stage = &mut frame.stages[Stage::Postprocess as usize];
                *stage = Some(stage.unwrap_or_default() + longer);
                frame.finished = frame.finished + longer;
                frame.input_size = 28_000 + more as u32;
            }
            _ => {}
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    (manifest, summary)
}

#[test]
fn what_a_thousand_points_cost_is_told_with_its_stage() {
    let (_, summary) = sized();
    let effect = summary.tenants[1].input_effect.as_ref().expect("sizes");
    let service = effect.service.expect("a slope");
    let [low, high] = service.ci95.expect("an interval");
    // The detector's own time varies by more than what its points cost.
    assert!(0.0 < low && low <= 1.0 && 1.0 <= high, "{service:?}");
    assert_eq!(effect.most_in, Some("postprocess"));
}

#[test]
fn in_json_images_of_one_size_have_no_slope_and_a_tenant_without_sizes_is_null() {
    let written = |summary: &Summary| -> serde_json::Value {
        let mut out = Vec::new();
        json::write(summary, &mut out).expect("writing to memory");
        serde_json::from_slice(&out).expect("JSON")
    };
    let of = written(&sized().1);
    let camera = &of["tenants"][0]["input_effect"];
    assert_eq!(camera["withheld"]["why"], "sizes-alike");
    assert!(
        camera["service"].is_null()
            && camera["stages"]
                .as_object()
                .is_some_and(|stages| stages.is_empty())
    );
    let lidar = &of["tenants"][1]["input_effect"];
    assert_eq!(
        (&lidar["of"], &lidar["per"], &lidar["inputs"]),
        (&"points".into(), &1000.into(), &700.into())
    );
    assert!(
        lidar["stages"]["postprocess"]["slope_ms"].is_number() && lidar["response"]["withheld"].is_null()
    );
    let (manifest, events) = made_up::demo(70);
    assert!(written(&made_up::summarize(&manifest, &events))["tenants"][0]["input_effect"].is_null());
}

#[test]
fn the_page_has_dots_a_line_and_a_table() {
    let (manifest, summary) = sized();
    let mut out = Vec::new();
    html::write(
        &[Reported {
            manifest,
            summary,
            roofline: None,
        }],
        None,
        &mut out,
    )
    .expect("writing to memory");
    let page = String::from_utf8(out).expect("text");
    let (_, section) = page.split_once("id=\"run1-sizes\"").expect("a section");
    let (section, _) = section.split_once("</section>").expect("its end");
    assert!(section.matches("<circle").count() >= 300, "dots");
    assert!(
        section.matches("<polyline").count() >= 3,
        "a line and those of its interval"
    );
}
