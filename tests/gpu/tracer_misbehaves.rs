//! Whole runs whose CUPTI misbehaves: the measurement is as ever, and what the trace lacks is said.

use std::collections::BTreeSet;

use nvidia_doubles::cuda::Control;
use nvidia_doubles::cupti;
use serde_json::Value;

use super::scene::{Scene, launches};

/// What a run with a traced phase answered.
struct Told {
    summary: Value,
    /// `report --kernels`, as JSON and as text.
    kernels: Value,
    text: String,
}

impl Told {
    /// The text of the run's findings of this kind.
    fn finding(&self, code: &str) -> String {
        let all = self.summary["run"]["findings"].as_array().unwrap();
        let found = all.iter().filter(|finding| finding["code"] == code);
        found.map(Value::to_string).collect()
    }

    /// How the traced phase was traced.
    fn trace(&self) -> &Value {
        &self.kernels["kernels"]["phases"][0]["traces"][0]
    }
}

/// Runs a camera with a traced phase beside a CUPTI that has these orders. None where there are no doubles.
fn run(orders: &str) -> Option<Told> {
    let scene = Scene::new()?;
    let double = cupti::release("13.0")?.double()?;
    let control = Control::default()
        .driver(13000)
        .variable("JETLAG_CUPTI", double.library)
        .variable("CUPTI_DOUBLE_ORDERS", orders);
    scene.plan("camera.plan", &launches(5, 20, 100));
    // Both phases are ended by their frames, none of which is dropped: the orders come to their records on any machine.
    let camera = "arrival: Periodic(20), overload: Queue(capacity: 100)";
    let scenario = scene.scenario("trace: (duration: \"10min\"),", camera, "");
    let scenario = scene.by_frames(scenario, 20);
    let summary = scene.run(&control, &scenario)?;
    // The measurement is not touched, whatever becomes of the trace.
    assert_eq!(summary["tenants"][0]["frames"]["offered"], 20, "{orders}");
    assert_eq!(summary["tenants"][0]["frames"]["failed"], 0, "{orders}");
    let report = |format: &[&str]| {
        let mut arguments = vec!["report", "run.mcap", "--kernels"];
        arguments.extend(format);
        let output = scene.jetlag(&control, &arguments).unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    Some(Told {
        summary,
        kernels: serde_json::from_str(&report(&["--format", "json"])).unwrap(),
        text: report(&[]),
    })
}

#[test]
fn what_it_refuses_at_the_start_is_a_finding() {
    for (orders, said) in [
        ("held 1", "another tool"),
        ("nothing 1", "traces nothing here"),
        // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
        ("subscribe 35", "PRIVILEGES"),
        ("crash 1", "ended"),
    ] {
        let Some(told) = run(orders) else { return };
        let finding = told.finding("not-traced");
        println!("{orders}: {finding}");
        assert!(finding.contains(said), "{orders}: {finding}");
    }
}

#[test]
fn what_it_loses_on_the_way_is_counted_and_limits_the_verdict() {
    for (orders, counted) in [("@20 drop 30", "dropped"), ("@30 zero_stamps 5", "lost_stamps")] {
        let Some(told) = run(orders) else { return };
        let lost = told.trace()[counted].as_u64().unwrap();
        assert_eq!(
            lost,
            if counted == "dropped" { 30 } else { 5 },
            "{}",
            told.trace()
        );
        assert!(told.text.contains(&format!("{lost} ")), "{}", told.text);
        println!("{}", told.kernels["run"]);
        assert_eq!(
            told.kernels["run"]["verdict"], "limited",
            "{}",
            told.kernels["run"]
        );
    }
}

#[test]
fn what_it_delivers_that_nobody_knows_is_passed_over_and_said() {
    // Kind 200 with 64 bytes; kind 201 of which nobody knows the length.
    for (orders, said) in [
        ("@20 unknown 200:64", "passed over"),
        ("@20 stray 201", "not read to their end"),
        ("@20 cut 8", "not read to their end"),
        ("@20 keep 1", "what is in them is not part of the trace"),
        // CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ERROR_NOT_SUPPORTED
        ("refuse 17:27", "OVERHEAD"),
    ] {
        let Some(told) = run(orders) else { return };
        let notes = told.trace()["notes"].to_string();
        println!("{orders}: {notes}");
        assert!(
            notes.contains(said) || told.finding("not-traced").contains(said),
            "{orders}: {}",
            told.kernels
        );
    }
}

#[test]
fn longer_records_of_a_later_release_are_read_as_far_as_they_are_known() {
    let (Some(longer), Some(plain)) = (run("longer 16"), run("")) else {
        return;
    };
    let names = |told: &Told| -> BTreeSet<String> {
        let tenants = told.kernels["kernels"]["phases"][0]["tenants"]
            .as_array()
            .unwrap();
        let kernels = tenants
            .iter()
            .flat_map(|tenant| tenant["kernels"].as_array().unwrap());
        kernels
            .map(|kernel| kernel["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&longer), names(&plain));
    assert!(!names(&plain).is_empty(), "{}", plain.kernels);
    assert_eq!(longer.trace()["notes"], plain.trace()["notes"]);
}
