//! Every figure of the table is found in a run that has everything, and what a run lists is what it promises by.

use std::collections::BTreeSet;

use jetlag::analysis::figures;
use jetlag::analysis::figures::key::{OfRail, Part, PerFrame, Plain, Power, Series, Statistic, Whole};
use jetlag::analysis::figures::{Figure, Key};
use jetlag::analysis::summary::{Estimate, MemorySummary, Slowdown, Summary, Synchronised};
use jetlag::record::Sampled;
use jetlag::report::html::{self, Reported};
use jetlag::report::{Style, github, json, junit, markdown, text};
use jetlag_figure::{Known, Support};

use crate::summary::{made_up, output, submission};

/// A run that has everything.
fn whole() -> Summary {
    let mut summary = output::powered();
    let submitted = submission::submitted("tensorrt", Some(0.98), Some(false));
    let [tenant, ..] = &mut summary.tenants[..] else {
        panic!("a run has tenants")
    };
    let stats = tenant.response_ms;
    tenant.submitting = submitted.tenants[0].submitting;
    tenant.submission_ms = Some(stats);
    tenant.age_ms = Some(stats);
    tenant.sampled = Some(Sampled {
        repeated: 3,
        skipped: 4,
    });
    tenant.synchronised = Some(Synchronised {
        complete: 10,
        incomplete: 2,
        incomplete_share: Some(1.0 / 6.0),
        rate_hz: Some(9.9),
        skew_ms: Some(stats),
    });
    tenant.slowdown = Some(Slowdown {
        p50: Estimate::of_run(1.5),
        p90: Estimate::of_run(1.75),
        p99: Estimate::of_run(2.0),
        ..Slowdown::default()
    });
    tenant.batch = Some(4);
    tenant.memory = Some(MemorySummary {
        networks_bytes: Some(1),
        contexts_bytes: Some(2),
        device_tensors_bytes: Some(3),
        pinned_bytes: Some(4),
        host_tensors_bytes: Some(5),
        device_bytes: Some(6),
        device_peak_bytes: Some(7),
        process_peak_bytes: Some(8),
        unknown: Vec::new(),
    });
    tenant.predictability.steady.settling = Some(0.1);
    tenant.predictability.steady.drift = Some(-0.1);
    for rail in &mut summary.power {
        rail.counter_mj = Some(rail.energy_mj);
        rail.window_ms = Some(100.0);
        rail.step_mw = Some(1.0);
    }
    summary.host = summary.host.or_else(|| {
        let (manifest, events) = made_up::demo(70);
        made_up::summarize(&manifest, &events).host
    });
    summary
}

#[test]
fn every_figure_of_the_table_is_found_in_a_run_that_has_everything() {
    let summary = whole();
    let found: BTreeSet<String> = figures(&summary)
        .iter()
        .map(|figure| figure.key.to_string())
        .collect();
    let tenant = &summary.tenants[0];
    let rail = &summary.power[0].rail;
    let stages: Vec<&str> = tenant.stages_ms.iter().map(|(stage, _)| *stage).collect();
    let occurred = |key: &Key| match key {
        Key::Stage(_, stage, _) | Key::TimeShare(_, Part::Stage(stage)) => stages.contains(&stage.name()),
        _ => true,
    };
    let of_tenant = Key::all_of_tenant(&tenant.name).filter(occurred);
    let of_tenant = of_tenant.map(|key| key.to_string());
    let energy = Whole::ALL.iter().map(|whole| format!("energy.{}", whole.name()));
    let total = Power::ALL
        .iter()
        .map(|power| format!("power.total.{}", power.name()));
    let power = Power::ALL
        .iter()
        .map(|power| format!("power.{rail}.{}", power.name()));
    let rails = OfRail::ALL.iter().map(|of| format!("power.{rail}.{}", of.name()));
    let host = ["cpu_load", "others", "memory_peak", "samples"].map(|host| format!("host.{host}"));
    let all = of_tenant
        .chain(energy)
        .chain(total)
        .chain(power)
        .chain(rails)
        .chain(host);
    let missing: Vec<String> = all.filter(|name| !found.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {found:?}");
    assert_eq!(found.len(), figures(&summary).len(), "each is listed once");
}

#[test]
fn what_a_figure_stands_on_is_said() {
    let summary = whole();
    let all = figures(&summary);
    let name = summary.tenants[0].name.clone();
    let figure = |key: Key| -> &Figure {
        let mut found = all.iter().filter(|figure| figure.key == key);
        found.next().unwrap_or_else(|| panic!("{key}"))
    };
    let response = |statistic| figure(Key::Time(name.clone(), Series::Response, statistic));
    let plain = |plain| figure(Key::Plain(name.clone(), plain));
    let p99 = response(Statistic::P99);
    assert_eq!(p99.value(), summary.tenants[0].response_ms.p99.value);
    assert_eq!(p99.support.interval(), summary.tenants[0].response_ms.p99.ci95);
    assert!(p99.support.interval().is_some());
    let rare = response(Statistic::P99_9);
    assert!(
        matches!((&rare.known, rare.support), (Known::Needs(frames), Support::Nothing) if *frames >= 6_636)
    );
    assert_eq!(plain(Plain::Dropped).support, Support::Exact);
    assert_eq!(plain(Plain::Throughput).support, Support::ThisRun);
    assert!(plain(Plain::MissRate).support.interval().is_some());
    let energy = figure(Key::Frames(name.clone(), PerFrame::Total));
    assert_eq!(
        energy.support.interval(),
        summary.tenants[0].energy_mj_per_frame.and_then(|one| one.ci95)
    );
}

/// A figure that the table of tenants' frames shows is in every format by its line of the table alone.
#[test]
fn items_of_a_batch_are_in_every_format() {
    let summary = whole();
    let tenant = &summary.tenants[0];
    let key = Key::Plain(tenant.name.clone(), Plain::ThroughputItems);
    let all = figures(&summary);
    let figure = all.iter().find(|figure| figure.key == key).unwrap();
    let items = tenant.throughput_fps.unwrap() * tenant.batch.unwrap() as f64;
    assert_eq!(figure.value(), Some(items));
    let (manifest, _) = made_up::demo(70);
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    let page = Reported {
        manifest: manifest.clone(),
        summary: summary.clone(),
        roofline: None,
    };
    for text in [
        written(&|out| text::write(&summary, out, &Style::default()).unwrap()),
        written(&|out| markdown::write(&summary, out).unwrap()),
        written(&|out| html::write(std::slice::from_ref(&page), None, out).unwrap()),
        written(&|out| github::write(&summary, out).unwrap()),
        written(&|out| junit::write(&[(&manifest, &summary)], out).unwrap()),
    ] {
        assert!(text.contains("items/s"), "{text}");
    }
    let json = written(&|out| json::write(&summary, out).unwrap());
    assert!(json.contains(&format!("\"{key}\"")));
}
