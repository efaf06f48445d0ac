//! What people and programs read of a run. `JETLAG_BLESS=1` writes the golden files anew.

use std::path::PathBuf;

use jetlag::analysis::Summary;
use jetlag::record::{Covariance, EndReason, Event, NetworkManifest, NodeRecord, Outcome, Phase, RailRole};
use jetlag::report::contents::Contents;
use jetlag::report::details::{Form, kernels, recording};
use jetlag::report::log::LogTally;
use jetlag::report::{Style, json, markdown, text};
use jetlag::scenario::{Arrival, BackendChoice, Provider};
use jetlag::units::Nanos;

use crate::common::planned::Planned as _;
use crate::summary::{input_size, made_up, power, submission, traced};

fn rendered(summary: &Summary, style: &Style) -> String {
    let mut out = Vec::new();
    text::write(summary, &mut out, style).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("JETLAG_BLESS").is_some() {
        std::fs::write(&path, found).expect("golden file is writable");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == found,
        "{name} differs; JETLAG_BLESS=1 writes it anew. Found:\n{found}"
    );
}

fn plain(width: u16) -> Style {
    Style { colour: false, width }
}

/// Long enough for every figure.
fn valid() -> Summary {
    let (manifest, events) = made_up::demo(70);
    made_up::summarize(&manifest, &events)
}

/// With the rails of an Orin NX beside it.
pub(crate) fn powered() -> Summary {
    let part = |rail, mw| power::line("ina3221", rail, RailRole::Part, mw);
    let lines = [
        power::line("ina3221", "VDD_IN", RailRole::Total, power::module),
        part("VDD_CPU_GPU_CV", |t| Some(if t < -0.5 { 400.0 } else { 6_100.0 })),
        part("VDD_SOC", |_| Some(3_150.0)),
    ];
    power::powered(&lines, 70)
}

/// Everything at once that can be said against a run.
fn troubled() -> Summary {
    let (mut manifest, mut events) = made_up::demo(10);
    manifest.plan().expect.push("lidar.slowdown.p99 < 1.5".to_owned());
    manifest.plan().expect.push("lidar.dropped == 0".to_owned());
    manifest.plan().tenants[1].name = "a-lidar-on-the-roof-with-a-long-name".to_owned();
    manifest.plan().expect.retain(|line| line.starts_with("camera"));
    manifest
        .plan()
        .expect
        .push("a-lidar-on-the-roof-with-a-long-name.dropped == 0".to_owned());
    manifest
        .plan()
        .expect
        .push("camera.response.p99_9 < 50ms".to_owned());
    manifest
        .plan()
        .expect
        .push("camera.response.p50 < 14.5ms".to_owned());
    for event in &mut events {
        match event {
            Event::Frame(frame) if frame.phase == Phase::Together && frame.tenant == 1 => {
                if frame.sequence % 6 == 5 {
                    frame.outcome = Outcome::Dropped;
                }
                frame.lateness = Nanos::from_micros(180 + (frame.sequence as i64 % 50));
            }
            Event::Phase(phase) if phase.tenant == 0 && phase.phase == Phase::Together => {
                phase.reason = EndReason::Interrupted;
                phase.measured_to = phase.measured_from + Nanos::from_millis(9_300);
                phase.lost_records = 3;
            }
            Event::Sample(sample) if sample.signal == "cpu_load" => sample.value = Some(97.0),
            _ => {}
        }
    }
    made_up::summarize(&manifest, &events)
}

/// Only jetlag itself.
fn null() -> Summary {
    let mut tenant = made_up::tenant("null", 0.0, 1.0);
    (tenant.arrival, tenant.deadline) = (Arrival::Closed, None);
    let mut manifest = made_up::manifest(1, vec![tenant]);
    manifest.tenants[0].backend = "null".to_owned();
    let mut events: Vec<Event> = (0..10_000u64)
        .map(|i| {
            let service = Nanos(2_100 + (i as i64 * 37) % 900 + if i % 400 == 3 { 9_000 } else { 0 });
            Event::Frame(made_up::frame(i, Nanos(i as i64 * 100_000), Nanos::ZERO, service))
        })
        .collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 1)));
    made_up::summarize(&manifest, &events)
}

/// The camera's network node by node, with names longer than a line and more nodes than a report shows.
fn profiled() -> Summary {
    profiled_on(None)
}

/// The same on another backend.
fn profiled_on(backend: Option<BackendChoice>) -> Summary {
    let (mut manifest, mut events) = made_up::demo(70);
    if let Some(backend) = backend {
        manifest.plan().tenants[0].backend = backend;
    }
    let node = |name: String, operator: &str, us: i64| {
        Event::Node(NodeRecord {
            tenant: 0,
            phase: Phase::Together,
            name,
            operator: operator.to_owned(),
            count: 2100,
            mean: Nanos::from_micros(us),
            max: Nanos::from_micros(us * 3 + 5),
            with_response: Some(Covariance {
                variance: 1e10,
                response_variance: 9e12,
                covariance: if us == 90 + 200 * 3 { 2.7e11 } else { 2e10 },
            }),
        })
    };
    for layer in 0..14 {
        let name = format!("/backbone/stage.{layer}/a-block-with-a-long-name/branch.{layer}/conv/Conv");
        events.push(node(name, "Conv", 90 + 200 * layer));
    }
    events.push(node(
        "/backbone/act/Mul".to_owned(),
        "Sigmoid+Mul+Add+HardSigmoid",
        1250,
    ));
    events.push(node(String::new(), "Resize", 1250));
    made_up::summarize(&manifest, &events)
}

#[test]
fn layers_come_largest_first() {
    let summary = profiled();
    let nodes = &summary.tenants[0].nodes;
    assert!(nodes.is_sorted_by(|a, b| a.mean_ms >= b.mean_ms));
    assert_eq!(
        (nodes[0].mean_ms, nodes[0].max_ms, nodes[0].count),
        (2.69, 8.075, 2100)
    );
    // 14 × 90 + 200 × (0 + … + 13) + 2 × 1250 µs.
    let all = 21.96;
    assert!((nodes[0].share - 2.69 / all).abs() < 1e-6);
    assert!((nodes.iter().map(|node| node.share).sum::<f64>() - 1.0).abs() < 1e-4);
    assert!(summary.tenants[1].nodes.is_empty());
}

#[test]
fn frames_cut_off_after_their_deadline_have_a_column_where_there_are_any() {
    assert!(!rendered(&valid(), &plain(80)).contains("overdue"));
    let (manifest, mut events) = made_up::demo(70);
    for event in &mut events {
        if let Event::Frame(frame) = event
            && (frame.phase, frame.tenant, frame.sequence) == (Phase::Together, 1, 699)
        {
            frame.outcome = Outcome::Unfinished;
            frame.finished = frame.released + Nanos::from_secs(1);
        }
    }
    let text = rendered(&made_up::summarize(&manifest, &events), &plain(80));
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("FRAMES"))
        .collect();
    let end = lines[1].find("overdue").expect("the column") + "overdue".len();
    assert_eq!(
        (&lines[2][end - 2..end], &lines[3][end - 2..end]),
        (" 0", " 1"),
        "{text}"
    );
}

#[test]
fn the_report_reads_as_agreed_at_100_and_80_columns() {
    for width in [100, 80] {
        for (name, summary) in [
            ("valid", valid()),
            ("troubled", troubled()),
            ("null", null()),
            ("profiled", profiled()),
            ("powered", powered()),
        ] {
            golden(
                &format!("summary-{name}-{width}.txt"),
                &rendered(&summary, &plain(width)),
            );
        }
        let style = plain(width);
        let traced = kernels::text(&[traced::summary()], Form::Terminal(&style));
        golden(&format!("kernels-{width}.txt"), &traced);
    }
}

#[test]
fn what_a_busy_host_explains_is_one_line_on_a_terminal_and_whole_where_there_is_room() {
    let summary = troubled();
    let mut document = Vec::new();
    markdown::write(&summary, &mut document).expect("writing to memory");
    let document = String::from_utf8(document).expect("text");
    let screen = rendered(&summary, &plain(100));
    let explained = &summary.run.explained;
    assert!(explained.len() > 1, "{explained:?}");
    for of in explained {
        let words = of
            .finding
            .message
            .split(' ')
            .take(4)
            .collect::<Vec<_>>()
            .join(" ");
        assert!(screen.contains(&of.finding.code), "{screen}");
        assert!(!screen.contains(&words), "{words}: {screen}");
        assert!(document.contains(&words), "{words}: {document}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for summary in [valid(), troubled(), null(), profiled(), powered()] {
        for width in [80, 87, 100, 160] {
            for line in rendered(&summary, &plain(width)).lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_escape_sequences_and_changes_no_word() {
    for summary in [valid(), troubled(), null(), profiled(), powered()] {
        let coloured = rendered(
            &summary,
            &Style {
                colour: true,
                width: 100,
            },
        );
        let bare = rendered(&summary, &plain(100));
        assert!(coloured.contains('\u{1b}') && !bare.contains('\u{1b}'));
        let mut stripped = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            stripped.push_str(before);
            rest = after.split_once('m').expect("a complete sequence").1;
        }
        stripped.push_str(rest);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&stripped), words(&bare));
    }
}

#[test]
fn the_json_example_in_the_documentation_is_what_is_written() {
    let mut out = Vec::new();
    let mut summary = valid();
    summary.run.file = Some("runs/two-detectors.mcap".to_owned());
    json::write(&summary, &mut out).expect("writing to memory");
    golden("summary.json", std::str::from_utf8(&out).expect("text"));
}

#[test]
fn every_field_that_is_written_is_documented() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let documentation = std::fs::read_to_string(path).expect("docs/json.md");
    let submitted = submission::submitted("tensorrt", Some(0.98), Some(false));
    for summary in [
        valid(),
        troubled(),
        profiled(),
        powered(),
        submitted,
        traced::summary(),
        input_size::sized().1,
    ] {
        let mut out = Vec::new();
        json::write(&summary, &mut out).expect("writing to memory");
        let text = std::str::from_utf8(&out).expect("text");
        for line in text.lines() {
            if let Some((name, _)) = line
                .trim_start()
                .strip_prefix('"')
                .and_then(|rest| rest.split_once("\":"))
            {
                assert!(
                    documentation.contains(&format!("`{name}`")),
                    "{name} is not documented"
                );
            }
        }
    }
}

/// On ONNX Runtime's CUDA provider: what the device took is in no node, so nothing is said of the response time.
#[test]
fn times_of_a_launch_are_not_taken_for_those_of_an_execution() {
    let on = |provider| {
        profiled_on(Some(BackendChoice::OnnxRuntime {
            provider,
            threads: 1,
            profile: true,
        }))
    };
    let tenant = serde_json::to_value(&on(Provider::Cuda).tenants[0]).expect("JSON");
    assert_eq!(tenant["node_time"], "submission");
    assert!(tenant["nodes"][0]["response"].is_null());
    let tenant = serde_json::to_value(&on(Provider::Cpu).tenants[0]).expect("JSON");
    assert_eq!(tenant["node_time"], "execution");
    assert!(tenant["nodes"][0]["response"].is_object());
    let tenant = serde_json::to_value(&valid().tenants[0]).expect("JSON");
    assert!(tenant["node_time"].is_null());
}

#[test]
fn quantiles_that_the_sample_does_not_support_are_null_and_not_zero() {
    let mut out = Vec::new();
    json::write(&troubled(), &mut out).expect("writing to memory");
    let value: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let response = &value["tenants"][0]["response_ms"];
    assert!(response["p90"].is_f64() && response["ci95"]["p90"].is_array());
    for unsupported in ["p99", "p99_9"] {
        assert!(response[unsupported].is_null() && response["ci95"][unsupported].is_null());
    }
    assert!(value["tenants"][0]["jitter_ms"].is_null());
    assert!(value["tenants"][0]["slowdown"]["p99"].is_null());
    assert!(value["tenants"][0]["energy_mj_per_frame"].is_null());
    assert_eq!(value["run"]["verdict"], "limited");
}

#[test]
fn the_manifest_says_of_what_a_run_was() {
    let (mut run, _) = made_up::demo(10);
    run.machine.insert("cpu".to_owned(), "two cores".to_owned());
    run.tenants[0].networks.push(NetworkManifest {
        name: "camera.onnx".to_owned(),
        blake3: "0123456789abcdef0123456789abcdef".to_owned(),
        bytes: 4096,
        ..NetworkManifest::default()
    });
    let (contents, log) = (Contents::default(), LogTally::default());
    let text = recording::text(&run, &contents, &log, Form::Terminal(&plain(100)));
    golden("recording.txt", &text);
}
