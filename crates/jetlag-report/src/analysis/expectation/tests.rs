//! Lines as they are written: which are read and which refused, in which words, and how they are judged.

use super::*;

const TENANTS: [&str; 2] = ["camera", "lidar"];

fn error(text: &str) -> String {
    parse(text, &TENANTS).unwrap_err().to_string()
}

#[test]
fn every_kind_of_line_is_read() {
    for (text, limit) in [
        ("camera.response.p99 < 33ms", 33.0),
        ("lidar.miss_rate < 1%", 0.01),
        ("lidar.miss_rate <= 0.01", 0.01),
        ("camera.throughput >= 29.5", 29.5),
        ("camera.throughput_fps > 29.5 fps", 29.5),
        ("camera.stages.compute.p90 < 20ms", 20.0),
        ("camera.dropped == 0", 0.0),
        ("camera.frames.dropped==0", 0.0),
        ("camera.slowdown.p50 < 1.5x", 1.5),
        ("lidar.response.p99.9 <250us", 0.25),
        ("lidar.jitter < 2ms", 2.0),
        ("power.total.mean < 15W", 15_000.0),
        ("power.VDD_GPU_SOC.p95 <= 800 mW", 800.0),
        ("energy.camera.per_frame < 200mJ", 200.0),
        ("camera.energy.per_frame < 200mJ", 200.0),
        ("camera.energy < 200mJ", 200.0),
        ("host.others < 20%", 20.0),
        ("camera.memory.device_peak < 2GiB", 2_147_483_648.0),
        ("energy.total<2kJ", 2e6),
        ("energy.camera.frames_per_joule > 5", 5.0),
        ("temperature.tj.max < 90C", 90.0),
        ("clock.gpu.min > 1GHz", 1_000.0),
    ] {
        let expectation = parse(text, &TENANTS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(expectation.limit, limit, "{text}");
        assert_eq!(expectation.text(), text);
    }
}

#[test]
fn a_tenants_own_metrics_come_before_those_of_the_machine() {
    let of = |text: &str| parse(text, &["power", "camera"]).map(|line| line.tenant().map(str::to_owned));
    assert_eq!(of("power.response.p99 < 33ms"), Ok(Some("power".to_owned())));
    assert_eq!(of("power.total.mean < 15W"), Ok(None));
    let error = of("power.respnse.p99 < 33ms").unwrap_err().to_string();
    assert!(error.contains("no metric `respnse.p99`"), "{error}");
}

#[test]
fn a_figure_of_the_machine_that_is_none_is_answered_with_all() {
    let message = error("power.total.peek < 15W");
    assert!(
        message.contains("no figure `peek` (did you mean `peak`?)"),
        "{message}"
    );
    assert!(message.contains("temperature.SENSOR"), "{message}");
    assert!(error("energy.camra.per_frame < 1J").contains("did you mean `camera`?"));
    assert!(error("pwer.total.mean < 15W").contains("did you mean `power`?"));
    let message = error("power.mean < 15W");
    assert!(
        message.contains("`power.mean` is not complete: write `power.total.mean` or `power.RAIL.mean`")
            && !message.contains("did you mean"),
        "{message}"
    );
}

#[test]
fn names_of_other_tools_and_halves_of_names_lead_to_the_whole() {
    for (text, meant) in [
        ("camera.latency.p99 < 33ms", "did you mean `response.p99`?"),
        ("camera.latency < 33ms", "did you mean `response.p99`?"),
        ("camera.response < 33ms", "did you mean `response.p99`?"),
        ("camera.p99 < 33ms", "did you mean `response.p99`?"),
        ("camera.p999 < 33ms", "did you mean `response.p99_9`?"),
        ("camera.latency.p999 < 33ms", "did you mean `response.p99_9`?"),
        (
            "camera.energy.total < 1J",
            "did you mean `energy.camera.per_frame`?",
        ),
        (
            "camera.stages.compute < 33ms",
            "did you mean `stages.compute.p99`?",
        ),
        ("camera.fps > 29", "did you mean `throughput`?"),
        ("camera.drops == 0", "did you mean `dropped`?"),
        (
            "p99 < 33ms",
            "it names no tenant: write `camera.response.p99 < 33ms`",
        ),
        (
            "camera < 33ms",
            "`camera` is not complete: write `camera.response.p99`",
        ),
    ] {
        assert!(error(text).contains(meant), "{text}: {}", error(text));
    }
}

#[test]
fn limits_that_every_run_keeps_or_none_does_are_refused() {
    for (text, holds) in [
        ("camera.dropped > -1", true),
        ("camera.dropped >= 0", true),
        ("camera.dropped < 0", false),
        ("camera.dropped <= -0.5", false),
        ("camera.dropped == -3", false),
        ("camera.response.p99 < 0ms", false),
        ("power.total.mean > -15W", true),
        ("clock.gpu.min >= -1GHz", true),
        ("energy.camera.per_frame < -2J", false),
        ("camera.miss_rate < -1%", false),
        ("camera.miss_rate <= 100%", true),
        ("camera.miss_rate < 2", true),
        ("camera.miss_rate > 100%", false),
    ] {
        match parse(text, &TENANTS).unwrap_err() {
            ExpectationError::SaysNothing { always, .. } => assert_eq!(always, holds, "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
    for text in [
        "camera.dropped <= 0",
        "camera.dropped == 0",
        "camera.dropped > 0",
        "camera.miss_rate < 100%",
        "camera.miss_rate == 100%",
        "temperature.tj.min > -20C",
        "energy.above_idle > -1J",
        "energy.camera.per_frame_above_idle >= 0J",
    ] {
        assert!(parse(text, &TENANTS).is_ok(), "{text}");
    }
}

#[test]
fn the_opposite_holds_exactly_where_the_line_does_not() {
    for operator in ["<", "<=", ">", ">=", "=="] {
        let line = parse(&format!("camera.throughput {operator} 30"), &TENANTS).unwrap();
        for value in [30.0_f64.next_down(), 30.0, 30.0_f64.next_up()] {
            assert_ne!(
                line.holds_for(value),
                line.opposite().holds_for(value),
                "{operator} {value}"
            );
        }
        assert_eq!(line.opposite().opposite(), line);
    }
}

#[test]
fn each_operator_decides_as_it_is_written_below_at_and_above_its_limit() {
    for (operator, holds) in [
        ("<", [true, false, false]),
        ("<=", [true, true, false]),
        (">", [false, false, true]),
        (">=", [false, true, true]),
        ("==", [false, true, false]),
    ] {
        for blank in ["", " "] {
            let text = format!("camera.throughput{blank}{operator}{blank}30");
            let expectation = parse(&text, &TENANTS).unwrap();
            let next = 30.0_f64.next_up();
            let found = [30.0_f64.next_down(), 30.0, next].map(|value| expectation.holds_for(value));
            assert_eq!(found, holds, "{text}");
        }
    }
}

#[test]
fn a_line_is_certain_where_its_whole_interval_is_on_the_estimates_side_of_the_limit() {
    let judged = |line: &str, [low, value, high]: [f64; 3]| {
        let found = Found {
            value,
            support: Support::Interval([low, high]),
            doubt: None,
        };
        let result = parse(line, &TENANTS).unwrap().judge(Some(found));
        (result.holds, result.certain)
    };
    for (line, [low, value, high], holds, certain) in [
        ("camera.response.p50 < 7ms", [4.0, 5.0, 6.0], true, true),
        ("camera.response.p50 < 6ms", [4.0, 5.0, 6.0], true, false),
        ("camera.response.p50 <= 6ms", [4.0, 5.0, 6.0], true, true),
        ("camera.response.p50 < 5ms", [4.0, 5.0, 6.0], false, false),
        ("camera.response.p50 < 4ms", [4.0, 5.0, 6.0], false, true),
        ("camera.response.p50 <= 4ms", [4.0, 5.0, 6.0], false, false),
        ("camera.response.p50 > 4ms", [4.0, 5.0, 6.0], true, false),
        ("camera.response.p50 >= 4ms", [4.0, 5.0, 6.0], true, true),
        ("camera.response.p50 > 6ms", [4.0, 5.0, 6.0], false, true),
        ("camera.response.p50 >= 6ms", [4.0, 5.0, 6.0], false, false),
        ("camera.response.p50 == 5ms", [5.0, 5.0, 5.0], true, true),
        ("camera.response.p50 == 5ms", [4.0, 5.0, 6.0], true, false),
        ("camera.response.p50 == 5ms", [4.0, 5.5, 6.0], false, false),
        ("camera.response.p50 == 5ms", [5.5, 6.0, 7.0], false, true),
        ("camera.response.p50 == 5ms", [5.0, 6.0, 7.0], false, false),
    ] {
        assert_eq!(judged(line, [low, value, high]), (holds, Some(certain)), "{line}");
    }
}

#[test]
fn a_tenant_with_dots_in_its_name_is_found_whole() {
    let expectation = parse("cam.front.response.p50 < 1ms", &["cam", "cam.front"]).unwrap();
    assert_eq!(expectation.tenant(), Some("cam.front"));
}

#[test]
fn an_unknown_tenant_is_answered_with_the_nearest_and_all() {
    assert_eq!(
        error("camra.response.p99 < 33ms"),
        "`camra.response.p99 < 33ms`: no tenant is named `camra` (did you mean `camera`?); \
         the tenants are camera, lidar; figures of the machine begin with power, energy, temperature, clock, load or host"
    );
    assert_eq!(
        error("response.p99 < 33ms"),
        "`response.p99 < 33ms`: it names no tenant: write `camera.response.p99 < 33ms`; \
         the tenants are camera, lidar"
    );
}

#[test]
fn an_unknown_metric_is_answered_with_the_nearest_and_all() {
    let message = error("camera.respnse.p99 < 33ms");
    assert!(
        message.contains("no metric `respnse.p99` (did you mean `response.p99`?)"),
        "{message}"
    );
    assert!(message.contains("miss_rate"), "{message}");
    assert!(error("camera.response.p98 < 33ms").contains("response.p9"));
}

#[test]
fn a_limit_of_the_wrong_kind_says_what_is_wanted() {
    assert!(error("camera.response.p99 < 33").contains("has no unit: write \"33ms\""));
    assert!(error("camera.miss_rate < few").contains("`few` is not a share"));
    assert!(error("camera.throughput > 30ms").contains("not a rate"));
    assert!(error("camera.dropped == none").contains("not a number of frames"));
    assert!(error("camera.miss_rate < nan").contains("not a share"));
}

#[test]
fn a_line_that_compares_nothing_shows_how_one_looks() {
    for text in [
        "",
        "camera.response.p99",
        "camera.response.p99 <",
        "< 33ms",
        "camera.dropped = 0",
    ] {
        let refused = parse(text, &TENANTS).unwrap_err();
        assert!(matches!(refused, ExpectationError::NoComparison { .. }), "{text}");
    }
}
