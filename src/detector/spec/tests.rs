use std::sync::Arc;

use super::*;
use crate::source::ContentKind;

/// A spec that is right, for tests to spoil.
const GOOD: &str = r#"Camera(
        classes: ["car", "person"],
        network: "net.onnx",
        input: (tensor: "images", width: 64, height: 32),
        head: YoloxGrid(output: "output"),
    )"#;

fn built(text: &str) -> Result<Detector, DetectorError> {
    from_str(text, "spec.ron", Path::new("/nowhere"), &|name| {
        (name == "net.onnx").then(|| NetworkSource::Embedded {
            name: "net",
            bytes: Arc::from(&b""[..]),
        })
    })
}

fn told(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    match built(&GOOD.replace(from, to)) {
        Ok(_) => panic!("accepted: {to}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_short_spec_builds_with_everything_else_at_its_default() {
    let detector = built(GOOD).unwrap();
    assert_eq!(detector.name, "spec.ron");
    assert_eq!(detector.input, ContentKind::Image);
    assert_eq!(detector.classes, ["car", "person"]);
    assert!(matches!(
        detector.program.engines[..],
        [NetworkSource::Embedded { .. }]
    ));
    assert_eq!(detector.program.host_tensors[0].max_shape.dims(), [1, 3, 32, 64]);
}

#[test]
fn a_file_that_is_too_long_for_a_spec_is_not_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.ron");
    std::fs::File::create(&path).unwrap().set_len(3 << 30).unwrap();
    let error = load(&path).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("larger than 4.0 MiB"), "{error}");
}

#[test]
fn known_classes_are_written_by_their_name() {
    let detector = built(&GOOD.replace(r#"["car", "person"]"#, "Coco80")).unwrap();
    assert_eq!(detector.classes.len(), 80);
    assert_eq!(detector.classes[79], "toothbrush");
    let text = told(r#"["car", "person"]"#, "Coco81");
    assert!(
        text.contains("unknown set of classes `Coco81`; did you mean `Coco80`?"),
        "{text}"
    );
}

#[test]
fn every_head_and_field_can_be_written_as_documented() {
    let input = r#"(tensor: "images", width: 64, height: 32)"#;
    let full = r#"(tensor: "images", width: 64, height: 32, layout: Nhwc, colour: Bgr,
            fit: Letterbox(align: TopLeft, pad: 0, rounding: Down), scale: 0.5, mean: [1, 2, 3.5], std: [1, 1, 2])"#;
    let head = r#"YoloxGrid(output: "output"),"#;
    let thinned = "score_threshold: 0.4, nms: (iou: 0.5, class_aware: false, max_detections: 9, max_candidates: 99, labels: Every)";
    for other in [
        r#"YoloxGrid(output: "o", strides: [8, 16])"#,
        r#"YoloAnchors(Decoded(output: "o"))"#,
        r#"YoloAnchors(Maps(logits: false, levels: [(output: "p3", stride: 8, anchors: [[10, 13], [16, 30]])]))"#,
        r#"YoloAnchorFree(output: "output0")"#,
        r#"NanoDet(bins: 8, cell_centre: Corner, levels: [(scores: "792", boxes: "795", stride: 8)])"#,
        r#"PriorBoxes(scores: "s", boxes: "b")"#,
        r#"PriorBoxes(scores: "s", boxes: "b", background: 0)"#,
        r#"PriorBoxes(scores: "s", boxes: "b", background: Some(2))"#,
    ] {
        let text = GOOD
            .replace(input, full)
            .replace(head, &format!(r#"{other}, name: "mine", {thinned}"#));
        let detector = built(&text).unwrap_or_else(|error| panic!("{other}: {error}"));
        assert_eq!(detector.name, "mine");
    }
    assert!(
        built(&GOOD.replace(
            input,
            &full.replace("Letterbox(align: TopLeft, pad: 0, rounding: Down)", "Stretch")
        ))
        .is_ok()
    );
}

#[test]
fn an_unknown_field_is_named_with_its_line_and_what_exists() {
    let text = told("tensor: \"images\",", "tensr: \"images\",");
    let unknown =
        "spec.ron:4:17: unknown field `tensr` in input; did you mean `tensor`? fields here: tensor, width,";
    assert!(text.contains(unknown), "{text}");
    let text = told("network:", "score: 0.4, network:");
    assert!(
        text.contains("`score` in a camera detector; did you mean `score_threshold`?"),
        "{text}"
    );
    let text = told("output: \"output\"", "output: \"output\", stride: [8]");
    assert!(
        text.ends_with("did you mean `strides`? fields here: output, strides"),
        "{text}"
    );
    let text = told("output: \"output\"", "output: \"output\", bins: 8");
    assert!(
        text.contains("`YoloxGrid` has no field `bins`; fields here: output, strides. NanoDet, Grid have it"),
        "{text}"
    );
    let text = told("YoloxGrid", "YoloX");
    assert!(
        text.contains("unknown head `YoloX`; did you mean `YoloxGrid`? choices: YoloxGrid, "),
        "{text}"
    );
    let text = told("YoloxGrid(output", "Rtdetr(output");
    assert!(
        text.contains("choices: YoloxGrid, ") && !text.contains("did you mean"),
        "{text}"
    );
}

#[test]
fn what_is_missing_or_of_the_wrong_kind_is_said_in_plain_words_with_its_place() {
    for (from, to, phrase) in [
        (
            r#"classes: ["car", "person"],"#,
            "",
            "a camera detector has no `classes`: add classes: [",
        ),
        (
            "width: 64,",
            "width: 64, width: 64,",
            "`width` of input is given twice; the first is at 4:",
        ),
        (
            "width: 64",
            "width: -64",
            "`width` takes a whole number that is not negative, found the number -64",
        ),
        ("Camera(", "Scenario(", "this is a scenario"),
        (
            "network: \"net.onnx\",",
            "network: 3,",
            "`network` takes text in quotes, found the number 3",
        ),
    ] {
        let text = told(from, to);
        assert!(text.contains(phrase), "`{to}` said: {text}");
        let place = text.strip_prefix("spec.ron:").unwrap();
        assert!(place.starts_with(|c: char| c.is_ascii_digit()), "{text}");
    }
    let text = built("Camera(classes: [").err().unwrap().to_string();
    assert!(text.contains("the file ends"), "{text}");
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_what_was_expected() {
    for (from, to, phrase) in [
        (
            "width: 64",
            "width: 0",
            "`input.width` is 0, and must be from 1 to",
        ),
        ("height: 32", "height: 1000000", "`input.height` is 1000000"),
        ("[\"car\", \"person\"]", "[]", "`classes` is an empty list"),
        (
            "\"person\"",
            "\"car\"",
            "`car` in `classes` is given twice; the first is at 2:",
        ),
        ("height: 32", "height: 32, std: [1, 0, 1]", "`input.std` is"),
        ("height: 32", "height: 32, mean: [1, NaN, 1]", "`input.mean` is"),
        (
            "height: 32",
            "height: 32, mean: [1, 2]",
            "`mean` is a list of 2, and must be 3 numbers",
        ),
        ("height: 32", "height: 32, scale: 0.0", "`input.scale` is 0"),
        (
            "height: 32",
            "height: 40",
            "`head.strides[1]` is 16, and must be a divisor of the input's height, 40 pixels",
        ),
        (
            "output: \"output\"",
            "output: \"output\", strides: [0]",
            "`head.strides[0]` is 0, and must be a divisor",
        ),
        (
            "output: \"output\"",
            "output: \"output\", strides: []",
            "must be at least one stride",
        ),
        (
            "output: \"output\"",
            "output: \"\"",
            "an output of `head` has no name",
        ),
        (
            "network:",
            "score_threshold: 1.5, network:",
            "`score_threshold` is 1.5, and must be from 0 to 1",
        ),
        (
            "network:",
            "nms: (iou: NaN), network:",
            "`nms.iou` is NaN, and must be from 0 to 1",
        ),
        (
            "network:",
            "nms: (max_detections: 0), network:",
            "`nms.max_detections` is 0",
        ),
        (
            "YoloxGrid(output: \"output\")",
            "PriorBoxes(scores: \"s\", boxes: \"b\", background: 3)",
            "`head.background` is 3",
        ),
        (
            "YoloxGrid(output: \"output\")",
            "NanoDet(levels: [])",
            "must be at least one stride",
        ),
        (
            "net.onnx",
            "other.onnx",
            "network not found; looked for /nowhere/other.onnx",
        ),
    ] {
        let text = told(from, to);
        assert!(text.contains(phrase), "`{to}` said: {text}");
        assert!(text.starts_with("spec.ron"), "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let text = told("width: 64, height: 32", "width: 0, height: 32, std: [0, 0, 0]");
    assert!(
        text.contains("`input.width`") && text.contains("`input.std`") && text.lines().count() == 2,
        "{text}"
    );
}

#[test]
fn every_network_that_is_not_there_is_named_with_its_path() {
    let text = r#"Lidar(
            name: "pair", classes: ["Car"],
            range: (x: (0.0, 8.0), y: (-4.0, 4.0), z: (-3.0, 1.0)), voxel: (0.5, 0.5, 4.0),
            max_points: 4, max_pillars: 20,
            encoder: (
                network: "encoder.onnx", layout: PillarsPointsFeatures(tensor: "points", features: [X, Y, Z]),
                output: "features", channels: 8,
            ),
            scatter: (tensor: "canvas"), backbone: (network: "backbone.onnx"),
            head: Anchors(
                boxes: "boxes", classes: "scores", stride: 2,
                anchors: [(class: 0, size: (3.9, 1.6, 1.56), z: -1.0, rotations: [0.0])],
            ),
        )"#;
    let text = built(text).err().unwrap().to_string();
    for name in ["encoder", "backbone"] {
        let phrase = format!("network not found; looked for /nowhere/{name}.onnx");
        assert!(text.contains(&phrase), "{text}");
    }
}

#[test]
fn a_spec_that_is_not_there_says_so() {
    let error = load(Path::new("/nowhere/spec.ron")).err().unwrap().to_string();
    assert!(
        error.contains("/nowhere/spec.ron: cannot read the detector spec"),
        "{error}"
    );
}

#[test]
fn an_unknown_word_is_told_from_a_scenario_in_a_spec_s_place() {
    let text = told("Camera(", "Kamera(");
    assert!(
        text.contains("unknown detector `Kamera`; did you mean `Camera`? choices: Camera, Lidar"),
        "{text}"
    );
    let text = told("YoloxGrid(", "Scenario(");
    assert!(text.contains("unknown head `Scenario`"), "{text}");
}

#[test]
fn what_is_not_written_is_as_documented() {
    use crate::detector::camera::head::{AnchorMaps, CellCentre, Head, NanoDet, YoloAnchors};
    use crate::detector::camera::nms::{Labels, Nms};
    let camera = |head: &str| {
        let text = GOOD.replace(r#"YoloxGrid(output: "output")"#, head);
        match read(&text, "spec.ron").unwrap() {
            DetectorSpec::Camera(camera) => camera,
            _ => panic!("a camera"),
        }
    };
    let spec = camera(r#"YoloxGrid(output: "output")"#);
    assert_eq!(spec.score_threshold, 0.25);
    assert_eq!(
        spec.nms,
        Nms {
            iou: 0.45,
            class_aware: true,
            max_detections: 300,
            max_candidates: 3000,
            labels: Labels::Best,
        }
    );
    assert!(matches!(spec.head, Head::YoloxGrid(grid) if grid.strides == [8, 16, 32]));
    assert!(matches!(
        camera(r#"NanoDet(levels: [(scores: "s", boxes: "b", stride: 8)])"#).head,
        Head::NanoDet(NanoDet {
            bins: 8,
            cell_centre: CellCentre::Middle,
            logits: false,
            ..
        })
    ));
    assert!(matches!(
        camera(r#"YoloAnchors(Maps(levels: [(output: "p", stride: 8, anchors: [[1, 2]])]))"#).head,
        Head::YoloAnchors(YoloAnchors::Maps(AnchorMaps { logits: true, .. }))
    ));
}

#[test]
fn a_head_that_makes_no_sense_is_refused_with_what_was_expected() {
    let maps = |stride: u32, anchors: &str| {
        format!(r#"YoloAnchors(Maps(levels: [(output: "p3", stride: {stride}, anchors: {anchors})]))"#)
    };
    let nanodet = |bins: usize, scores: &str, boxes: &str| {
        format!(r#"NanoDet(bins: {bins}, levels: [(scores: "{scores}", boxes: "{boxes}", stride: 8)])"#)
    };
    let sides = "and must be width and height in pixels, both above 0";
    let unnamed = "an output of `head` has no name";
    for (head, phrase) in [
        (maps(8, "[]"), "`head.levels[0].anchors` is an empty list"),
        (
            maps(24, "[[1, 2]]"),
            "`head.levels[0].stride` is 24, and must be a divisor of the input's width, 64 pixels",
        ),
        (maps(8, "[[1, 2], [0, 2]]"), sides),
        (maps(8, "[[1, -2]]"), sides),
        (maps(8, "[[1, inf]]"), sides),
        (maps(8, "[[NaN, 2]]"), sides),
        (maps(8, "[[1, 2]]").replace("p3", ""), unnamed),
        (r#"YoloAnchors(Decoded(output: ""))"#.to_owned(), unnamed),
        (r#"YoloAnchorFree(output: "")"#.to_owned(), unnamed),
        (nanodet(1, "s", "b"), "`head.bins` is 1, and must be at least 2"),
        (nanodet(8, "", "b"), unnamed),
        (nanodet(8, "s", ""), unnamed),
        (r#"PriorBoxes(scores: "", boxes: "b")"#.to_owned(), unnamed),
        (r#"PriorBoxes(scores: "s", boxes: "")"#.to_owned(), unnamed),
    ] {
        let text = told(r#"YoloxGrid(output: "output")"#, &head);
        assert!(text.contains(phrase), "`{head}` said: {text}");
    }
    for head in [nanodet(2, "s", "b"), maps(8, "[[0.5, 2]]")] {
        let text = GOOD.replace(r#"YoloxGrid(output: "output")"#, &head);
        assert!(built(&text).is_ok(), "{head}");
    }
}

#[test]
fn an_input_may_be_as_large_as_is_said_and_no_larger() {
    let sized = |width: usize| GOOD.replace("width: 64", &format!("width: {width}"));
    assert!(built(&sized(16_384)).is_ok());
    let text = built(&sized(16_416)).err().unwrap().to_string();
    assert!(
        text.contains("`input.width` is 16416, and must be from 1 to 16384 pixels"),
        "{text}"
    );
}

#[test]
fn both_spellings_of_the_middle_are_read() {
    for align in ["Centre", "Center", "TopLeft"] {
        let fit = format!("height: 32, fit: Letterbox(align: {align})");
        assert!(built(&GOOD.replace("height: 32", &fit)).is_ok(), "{align}");
    }
}

#[test]
fn a_number_is_rounded_once_to_the_precision_of_its_field() {
    let text = GOOD.replace("height: 32", "height: 32, scale: 1.0000000596046447754");
    match read(&text, "spec.ron").unwrap() {
        DetectorSpec::Camera(camera) => assert_eq!(camera.input.scale, 1.000_000_1),
        _ => panic!("a camera"),
    }
}

#[test]
fn as_many_classes_as_a_detection_can_name_are_taken_and_no_more() {
    let with = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("\"{n}\"")).collect();
        let text = GOOD.replace("[\"car\", \"person\"]", &format!("[{}]", names.join(",")));
        read(&text, "spec.ron").map_err(|problems| problems.to_string())
    };
    assert!(with(65_535).is_ok());
    let refused = with(65_536).unwrap_err();
    assert!(refused.contains("at most 65535 names"), "{refused}");
}

#[test]
fn another_network_stands_in_for_the_only_one_of_a_spec() {
    let other = Path::new("engines/camera.onnx");
    let of = |text: &str| with_network(text, "spec.ron", Path::new("/nowhere"), other);
    // The spec's own is not there.
    let detector = of(GOOD).unwrap();
    let [NetworkSource::File(file)] = &detector.program.engines[..] else {
        panic!("{:?}", detector.program.engines);
    };
    assert_eq!(file, other);
    let lidar = include_str!("../../../engines/lidar.ron");
    let refused = of(lidar).map(|_| ()).unwrap_err().to_string();
    assert!(
        refused.contains("stands in for the only network of a spec, and this one has 2"),
        "{refused}"
    );
}
