//! Sweep files as they are written: which are read and which refused, in which words.

use super::*;

/// A folder with a scenario and three networks, which are only named.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("base.ron"), "Scenario(tenants: [])").unwrap();
    std::fs::create_dir(folder.path().join("nets")).unwrap();
    for name in ["p10.onnx", "p5.onnx", "p (1).onnx", "other.txt"] {
        std::fs::write(folder.path().join("nets").join(name), name).unwrap();
    }
    folder
}

fn read(text: &str) -> Result<Sweep, String> {
    let folder = folder();
    from_str(text, "s.ron", folder.path()).map_err(|problems| problems.to_string())
}

#[test]
fn every_field_is_read() {
    let sweep = read(
        r#"Sweep(base: "base.ron", repeats: 3, order: Random(seed: 7), limit: "5min",
            cool_down: (below_c: 55, at_most: "60s", pause: "2s"), sample: (count: 4, seed: 1),
            without: [["a.hz=60", "a.backend=Null"]],
            axes: [Axis(set: "a.hz", values: [10, 30, 60]), Axis(set: "a.backend", values: ["Sim(Fixed(\"5ms\"))", Null]),
                   Axis(set: "a.detector", files: "nets/*.onnx", till_first_fail: true)])"#,
    )
    .unwrap();
    assert_eq!(
        (sweep.plan.repeats, sweep.plan.order),
        (3, Order::Random { seed: 7 })
    );
    assert_eq!(sweep.plan.choice, Choice::Sample { count: 4, seed: 1 });
    assert_eq!(sweep.plan.axes[1].values, ["Sim(Fixed(\"5ms\"))", "Null"]);
    assert_eq!(
        sweep.plan.axes[2].values,
        ["nets/p5.onnx", "nets/p10.onnx", "\"nets/p (1).onnx\""]
    );
    assert!(sweep.plan.axes[2].till_first_fail && sweep.files.len() == 3);
    assert_eq!(sweep.limit, Some(Nanos::from_secs(300)));
    assert_eq!(sweep.cool_down.below_c, Some(55.0));
    assert_eq!(sweep.plan.size(), 4);
}

#[test]
fn points_are_named_one_by_one() {
    let sweep = read(r#"Sweep(base: "base.ron", points: [["a.hz=10", "b.hz=20"], ["a.hz=30"]])"#).unwrap();
    assert_eq!(sweep.plan.paths(), ["a.hz", "b.hz"]);
    assert_eq!(sweep.plan.points().unwrap().len(), 2);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, said) in [
        (
            r#"Sweep(axes: [Axis(set: "a", values: [1])])"#,
            "a sweep has no `base`",
        ),
        (
            r#"Sweep(base: "bose.ron", axes: [Axis(set: "a", values: [1])])"#,
            "`base`: scenario not found",
        ),
        (r#"Sweep(base: "base.ron")"#, "a sweep has no `axes`"),
        (
            r#"Sweep(base: "base.ron", axis: [])"#,
            "unknown field `axis` in a sweep; did you mean `axes`?",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", value: [1])])"#,
            "did you mean `values`?",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a")])"#,
            "an axis has no `values`",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [])])"#,
            "the axis a has no value",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a=1", values: [1])])"#,
            "a path without a value",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [Fixed(1)])])"#,
            "what has brackets is written as a text",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", files: "nets/*.plan")])"#,
            "no file is called like *.plan",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", files: "*/x.onnx")])"#,
            "only the last part",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", files: "nothing/*")])"#,
            "cannot read the folder",
        ),
        (r#"Sweep(base: "base.ron", points: [["a"]])"#, "path=value"),
        (
            r#"Sweep(base: "base.ron", points: [["a=1"], ["a=1"]])"#,
            "named twice",
        ),
        (
            r#"Sweep(base: "base.ron", points: [["a=1"]], sample: (count: 1))"#,
            "leave one of them out",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1])], order: Randon(seed: 1))"#,
            "did you mean `Random`?",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1])], sample: (count: 0))"#,
            "at least 1",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1])], cool_down: (below_c: 50))"#,
            "has no `at_most`",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1])], limit: "0s")"#,
            "above zero",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a.hz", values: [1])], without: [["a.hs=1"]])"#,
            "did you mean a.hz?",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1])], without: [["a=1"]])"#,
            "excludes every point",
        ),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [1, 1])])"#,
            "the value 1 twice",
        ),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(said), "{text}\n{error}");
    }
    let error = read("Sweep(base: 1, repeats: \"a\", axes: 3)").unwrap_err();
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn a_huge_grid_is_a_sentence() {
    let values: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let text = format!(
        r#"Sweep(base: "base.ron", axes: [Axis(set: "a", values: [{values}]), Axis(set: "b", values: [{values}]), Axis(set: "c", values: [{values}])])"#
    );
    let error = read(&text).unwrap_err();
    assert!(error.contains("the grid has 1000000000 points"), "{error}");
}
