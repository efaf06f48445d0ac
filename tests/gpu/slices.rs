//! Whole runs of two tenants in processes, whose CUPTI tells when the GPU was switched between contexts.

use nvidia_doubles::cuda::Control;
use nvidia_doubles::cupti;
use serde_json::Value;

use super::scene::Scene;

/// A traced run of two tenants in processes beside a CUPTI of this release, with these orders: `report --kernels` as JSON and text, and
/// the run's scene. None where there are no doubles.
fn run(release: &'static str, orders: &str) -> Option<(Value, String, Scene, Control)> {
    let scene = Scene::new()?;
    let double = cupti::release(release)?.double()?;
    let control = Control::default()
        .driver(13000)
        .variable("JETLAG_CUPTI", double.library)
        .variable("CUPTI_DOUBLE_ORDERS", orders);
    scene.demo(2_000, 4_000);
    let scenario = scene.scenario(
        "sharing: Processes, trace: (duration: \"2s\"),",
        "arrival: Periodic(20)",
        "arrival: Periodic(20)",
    );
    scene.run(&control, &scenario)?;
    let report = |format: &[&str]| {
        let mut arguments = vec!["report", "run.mcap", "--kernels"];
        arguments.extend(format);
        let output = scene.jetlag(&control, &arguments).unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&report(&["--format", "json"])).unwrap();
    let phase = json["kernels"]["phases"][0].clone();
    let text = report(&[]);
    println!("{text}");
    Some((phase, text, scene, control))
}

fn sum(phase: &Value, what: &str) -> u64 {
    let traces = phase["traces"].as_array().unwrap();
    let told = traces.iter().map(|trace| trace["slices"][what].as_u64().unwrap());
    told.sum()
}

#[test]
fn each_tenant_has_its_slices_placed_around_its_kernels() {
    let Some((phase, text, scene, control)) = run("13.5", "") else {
        return;
    };
    let rows = phase["slices"].as_array().unwrap();
    let tenants: Vec<&str> = rows.iter().map(|row| row["tenant"].as_str().unwrap()).collect();
    assert_eq!(tenants, ["camera", "lidar"], "{rows:?}");
    let all = phase["tenants"].as_array().unwrap();
    for (row, tenant) in rows.iter().zip(all) {
        // Every kernel is in a slice; those at the edges of the measured time may count on one side alone.
        let ms = |row: &Value| row["ms"].as_f64().unwrap();
        let kernels: f64 = tenant["kernels"].as_array().unwrap().iter().map(ms).sum();
        let kernels = kernels * tenant["frames"].as_f64().unwrap();
        let slices = row["mean_us"].as_f64().unwrap() / 1e3 * row["slices"].as_f64().unwrap();
        assert!(
            slices > 0.8 * kernels,
            "{slices} ms of slices, {kernels} ms of kernels: {row}"
        );
        let share = row["share"].as_f64().unwrap();
        assert!(share > 0.0 && share < 1.0, "{row}");
        assert!(row["gap_mean_us"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["p99_us"], Value::Null, "two seconds have too few: {row}");
    }
    for trace in phase["traces"].as_array().unwrap() {
        let slices = &trace["slices"];
        assert_eq!(slices["unknown"], 0, "{slices}");
        assert!(slices["stamps"].as_u64().unwrap() >= 20, "{slices}");
        assert!(slices["within_us"].as_f64().unwrap() > 0.0, "{slices}");
    }
    assert_eq!(phase["slices_needs"], Value::Null);
    assert!(
        text.contains("TIME SLICES") && text.contains("placed by kernels within"),
        "{text}"
    );

    // In tables each is a row of its tenant, and says how certain its place is.
    let arguments = ["export", "run.mcap", "--format", "csv", "-o", "tables"];
    assert!(scene.jetlag(&control, &arguments).unwrap().status.success());
    let table = std::fs::read_to_string(scene.path("tables/kernels.csv")).unwrap();
    let slices: Vec<&str> = table.lines().filter(|line| line.contains(",slice,")).collect();
    for tenant in tenants {
        let own = slices
            .iter()
            .filter(|line| line.starts_with(&format!("{tenant},")));
        assert!(own.count() >= 2, "{tenant}: {slices:?}");
    }
    assert!(slices[0].contains("time slice, placed within"), "{}", slices[0]);
    let arguments = [
        "export",
        "run.mcap",
        "--format",
        "perfetto",
        "-o",
        "run.perfetto-trace",
    ];
    assert!(scene.jetlag(&control, &arguments).unwrap().status.success());
    let trace = std::fs::read(scene.path("run.perfetto-trace")).unwrap();
    let track = b"GPU 0 time slices";
    let tracks = trace.windows(track.len()).filter(|bytes| bytes == track);
    assert_eq!(tracks.count(), 2, "one of each process");
}

#[test]
fn a_release_that_does_not_tell_them_is_said_in_one_line() {
    let Some((phase, text, ..)) = run("13.0", "") else {
        return;
    };
    assert_eq!(phase["slices"], Value::Array(Vec::new()));
    assert_eq!(phase["traces"][0]["slices"], Value::Null);
    assert_eq!(phase["traces"][0]["notes"], Value::Array(Vec::new()));
    assert!(
        phase["slices_needs"].to_string().contains("13.1 and later"),
        "{phase}"
    );
    assert!(text.contains("Withheld; needs records of switches"), "{text}");
}

#[test]
fn switches_that_do_not_fit_are_counted_and_make_no_slice() {
    let Some((plain, ..)) = run("13.5", "") else {
        return;
    };
    let Some((phase, text, ..)) = run("13.5", "@150 stranger 4711;@400 stays 1") else {
        return;
    };
    assert_eq!(sum(&plain, "unknown"), 0);
    assert!(sum(&phase, "unknown") >= 1, "{}", phase["traces"]);
    assert_eq!(sum(&plain, "unpaired"), 0);
    assert!(sum(&phase, "unpaired") >= 1, "{}", phase["traces"]);
    assert!(text.contains("without their other half"), "{text}");
    assert!(!phase["slices"].as_array().unwrap().is_empty());
}

#[test]
fn slices_that_no_kernel_lies_in_are_withheld() {
    // Ten seconds later: no offset within reach makes them fit.
    let Some((phase, text, ..)) = run("13.5", "elsewhere 10000000000") else {
        return;
    };
    assert_eq!(phase["slices"], Value::Array(Vec::new()));
    assert!(
        phase["slices_needs"].to_string().contains("agree with kernels"),
        "{phase}"
    );
    assert!(
        text.contains("TIME SLICES") && text.contains("Withheld"),
        "{text}"
    );
}
