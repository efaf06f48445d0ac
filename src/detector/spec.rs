//! Detector specs: RON text to a [`Detector`]. The format is described in docs/detectors.md.
//!
//! Here are reading, finding the networks, and errors with their place in the file; the fields of each
//! kind and their meaning are in [`camera::spec`](super::camera::spec) and
//! [`lidar::spec`](super::lidar::spec).

use std::io::Read as _;
use std::path::Path;

use ron::extensions::Extensions;
use serde::Deserialize;

use super::camera::spec::CameraSpec;
use super::lidar::spec::LidarSpec;
use super::{Detector, DetectorError};
use crate::backend::NetworkSource;
use crate::files;
use crate::nearest::nearest;

/// A spec as written: the kind of detector, and its fields.
#[derive(Deserialize)]
enum DetectorSpec {
    Camera(Box<CameraSpec>),
    Lidar(Box<LidarSpec>),
}

/// As long as a spec may be: 65 535 classes of 60 letters.
const LONGEST_SPEC: u64 = 4 << 20;

/// Reads the spec at `path`; paths in it start from its folder.
///
/// # Errors
/// [`DetectorError::BadSpec`], with the file and, for what cannot be parsed, line and column.
pub fn load(path: &Path) -> Result<Detector, DetectorError> {
    let name = path.display().to_string();
    let unreadable = |problem: String| DetectorError::BadSpec {
        spec: name.clone(),
        problem: format!("cannot read the detector spec: {problem}"),
    };
    let mut text = String::new();
    let file = files::open_given(path).map_err(|error| unreadable(error.to_string()))?;
    file.take(LONGEST_SPEC + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > LONGEST_SPEC {
        return Err(unreadable(format!(
            "it is larger than {LONGEST_SPEC} bytes; is it the right file?"
        )));
    }
    let base = path.parent().unwrap_or(Path::new(""));
    from_str(&text, &name, base, &|_| None)
}

/// Reads a spec from `text`, which messages call `name`.
///
/// Each network is first asked of `embedded`, by the path as the spec has it, so that the binary can
/// bring its own; what it does not know must be a file, found from `base`.
///
/// # Errors
/// [`DetectorError::BadSpec`], with `name` and, for what cannot be parsed, line and column.
pub fn from_str(
    text: &str,
    name: &str,
    base: &Path,
    embedded: &dyn Fn(&str) -> Option<NetworkSource>,
) -> Result<Detector, DetectorError> {
    let spec = format()
        .from_str::<DetectorSpec>(text)
        .map_err(|error| DetectorError::BadSpec {
            spec: format!("{name}:{}:{}", error.span.start.line, error.span.start.col),
            problem: complaint(&error.code),
        })?;
    let mut detector = match spec {
        DetectorSpec::Camera(camera) => camera.build(base, name)?,
        DetectorSpec::Lidar(lidar) => lidar.build(base, name)?,
    };
    let missing: Vec<String> = detector
        .program
        .engines
        .iter_mut()
        .filter_map(|engine| find_network(engine, base, embedded).err())
        .collect();
    if missing.is_empty() {
        Ok(detector)
    } else {
        Err(DetectorError::BadSpec {
            spec: name.to_owned(),
            problem: missing.join("; "),
        })
    }
}

/// What the parser says, in plain words, with the name that was probably meant where one is unknown.
fn complaint(error: &ron::Error) -> String {
    use ron::Error;
    let of = |outer: &Option<String>| match outer {
        Some(outer) => format!(" of `{}`", plain_name(outer)),
        None => String::new(),
    };
    match error {
        Error::NoSuchEnumVariant { expected, found, .. }
            if found == "Scenario" && expected.contains(&"Lidar") =>
        {
            "this is a scenario, not a detector spec; `jetlag run` takes scenarios".to_owned()
        }
        Error::NoSuchEnumVariant { expected, found, .. } => {
            format!("unknown `{found}`; {}", choice(found, expected))
        }
        Error::NoSuchStructField {
            expected,
            found,
            outer,
        } => format!(
            "unknown field `{found}`{}; {}",
            of(outer),
            choice(found, expected)
        ),
        Error::MissingStructField { field, outer } => format!("field `{field}`{} is missing", of(outer)),
        Error::DuplicateStructField { field, outer } => {
            format!("field `{field}`{} is given twice", of(outer))
        }
        Error::InvalidValueForType { expected, found } => format!("expected {expected}, found {found}"),
        Error::ExpectedDifferentLength { expected, found } => {
            format!("expected {expected}, found {found} values")
        }
        Error::Eof => "the file ends before the spec does".to_owned(),
        Error::TrailingCharacters => "there is text after the end of the spec".to_owned(),
        Error::ExpectedInteger => "a whole number is expected".to_owned(),
        Error::ExpectedFloat => "a number is expected".to_owned(),
        Error::ExpectedBoolean => "`true` or `false` is expected".to_owned(),
        Error::ExpectedString => "text in quotes is expected".to_owned(),
        Error::ExpectedComma => "a comma is missing before this".to_owned(),
        Error::ExpectedArray => "a list in brackets, `[…]`, is expected".to_owned(),
        Error::ExpectedArrayEnd => "the list is not closed with `]`".to_owned(),
        Error::ExpectedMapColon => "a colon is missing after the field's name".to_owned(),
        Error::ExpectedStructLike | Error::ExpectedNamedStructLike(_) => {
            "fields in parentheses, `(…)`, are expected".to_owned()
        }
        Error::ExpectedStructLikeEnd | Error::ExpectedOptionEnd => {
            "a closing `)` is missing before this".to_owned()
        }
        Error::IntegerOutOfBounds => "the number is negative or too large for this field".to_owned(),
        other => other.to_string(),
    }
}

/// What a type of ours is called in a spec: `CameraSpec` is written `Camera`.
fn plain_name(outer: &str) -> &str {
    outer.strip_suffix("Spec").unwrap_or(outer)
}

/// The names there are, and the one that was probably meant.
fn choice(found: &str, known: &[&str]) -> String {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let there_are = match &names[..] {
        [] => "there are no choices".to_owned(),
        [only] => format!("the only choice is {only}"),
        names => format!("choices: {}", names.join(", ")),
    };
    match nearest(found, known.iter().copied()) {
        Some(name) => format!("{there_are}; did you mean `{name}`?"),
        None => there_are,
    }
}

/// RON with its parentheses as people write them: `name: "x"` for an optional field, `Camera(name: …)`
/// for a variant that holds a struct.
fn format() -> ron::Options {
    ron::Options::default().with_default_extension(
        Extensions::IMPLICIT_SOME | Extensions::UNWRAP_NEWTYPES | Extensions::UNWRAP_VARIANT_NEWTYPES,
    )
}

/// Replaces a network that the binary holds, and makes sure that any other is a file; a phrase where it is not.
fn find_network(
    engine: &mut NetworkSource,
    base: &Path,
    embedded: &dyn Fn(&str) -> Option<NetworkSource>,
) -> Result<(), String> {
    let NetworkSource::File(path) = engine else {
        return Ok(());
    };
    let written = path.strip_prefix(base).unwrap_or(path).to_str();
    if let Some(held) = written.and_then(embedded) {
        *engine = held;
        return Ok(());
    }
    if path.is_file() {
        return Ok(());
    }
    Err(format!(
        "network {} does not exist; its path is relative to the spec's folder",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
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
        assert!(error.contains("longer than 4194304 bytes"), "{error}");
    }

    #[test]
    fn known_classes_are_written_by_their_name() {
        let detector = built(&GOOD.replace(r#"["car", "person"]"#, "Coco80")).unwrap();
        assert_eq!(detector.classes.len(), 80);
        assert_eq!(detector.classes[79], "toothbrush");
        let text = told(r#"["car", "person"]"#, "Coco81");
        assert!(text.contains("known set (Coco80) or a list of names"), "{text}");
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
        assert!(text.starts_with("spec.ron:4:"), "{text}");
        assert!(text.ends_with("did you mean `tensor`?"), "{text}");
        assert!(text.contains("`tensr`") && text.contains("`colour`"), "{text}");
        let text = told("network:", "score: 0.4, network:");
        assert!(
            text.contains("`score`") && text.ends_with("did you mean `score_threshold`?"),
            "{text}"
        );
        let text = told("output: \"output\"", "output: \"output\", stride: [8]");
        assert!(text.contains("`stride`") && text.contains("`strides`"), "{text}");
        let text = told("YoloxGrid", "YoloX");
        assert!(text.ends_with("did you mean `YoloxGrid`?"), "{text}");
        let text = told("YoloxGrid(output", "Rtdetr(output");
        assert!(
            text.contains("`YoloxGrid`") && !text.contains("did you mean"),
            "{text}"
        );
    }

    #[test]
    fn what_is_missing_or_of_the_wrong_kind_is_said_in_plain_words_with_its_place() {
        for (from, to, phrase) in [
            (
                r#"classes: ["car", "person"],"#,
                "",
                "field `classes` of `Camera` is missing",
            ),
            ("width: 64,", "width: 64, width: 64,", "field `width`"),
            ("width: 64,", "width: 64, width: 64,", "is given twice"),
            ("width: 64", "width: -64", "spec.ron:4:"),
            ("Camera(", "Scenario(", "this is a scenario"),
            (
                "network: \"net.onnx\",",
                "network: 3,",
                "text in quotes is expected",
            ),
        ] {
            let text = told(from, to);
            assert!(text.contains(phrase), "`{to}` said: {text}");
            assert!(
                !text.contains("Unexpected") && !text.contains("Expected"),
                "{text}"
            );
            let place = text.strip_prefix("spec.ron:").unwrap();
            assert!(place.starts_with(|c: char| c.is_ascii_digit()), "{text}");
        }
        assert!(
            built("Camera(classes: [")
                .err()
                .unwrap()
                .to_string()
                .contains("the file ends before the spec does")
        );
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused_with_what_was_expected() {
        for (from, to, phrase) in [
            ("width: 64", "width: 0", "input.width: 0 pixels, expected 1 to"),
            ("height: 32", "height: 1000000", "input.height: 1000000 pixels"),
            ("[\"car\", \"person\"]", "[]", "classes: the list is empty"),
            ("\"person\"", "\"car\"", "`car` is listed twice"),
            ("height: 32", "height: 32, std: [1, 0, 1]", "input.std"),
            ("height: 32", "height: 32, mean: [1, NaN, 1]", "input.mean"),
            (
                "height: 32",
                "height: 32, mean: [1, 2]",
                "expected 3 numbers in brackets, found 2",
            ),
            ("height: 32", "height: 32, scale: 0.0", "input.scale: 0"),
            (
                "height: 32",
                "height: 40",
                "stride 16 does not divide the input's height of 40",
            ),
            (
                "output: \"output\"",
                "output: \"output\", strides: [0]",
                "stride 0 does not divide",
            ),
            (
                "output: \"output\"",
                "output: \"output\", strides: []",
                "no stride; write",
            ),
            ("output: \"output\"", "output: \"\"", "an output has no name"),
            (
                "network:",
                "score_threshold: 1.5, network:",
                "score_threshold: 1.5, expected 0 to 1",
            ),
            (
                "network:",
                "nms: (iou: NaN), network:",
                "nms.iou: NaN, expected 0 to 1",
            ),
            (
                "network:",
                "nms: (max_detections: 0), network:",
                "nms.max_detections: 0",
            ),
            (
                "YoloxGrid(output: \"output\")",
                "PriorBoxes(scores: \"s\", boxes: \"b\", background: 3)",
                "background is column 3",
            ),
            (
                "YoloxGrid(output: \"output\")",
                "NanoDet(levels: [])",
                "no stride; write",
            ),
            (
                "net.onnx",
                "other.onnx",
                "network /nowhere/other.onnx is not there",
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
            text.contains("input.width") && text.contains("input.std"),
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
            let phrase = format!("network /nowhere/{name}.onnx is not there");
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
        assert!(text.ends_with("did you mean `Camera`?"), "{text}");
        let text = told("YoloxGrid(", "Scenario(");
        assert!(text.contains("unknown `Scenario`"), "{text}");
    }

    #[test]
    fn what_is_not_written_is_as_documented() {
        use crate::detector::camera::head::{AnchorMaps, CellCentre, Head, NanoDet, YoloAnchors};
        use crate::detector::camera::nms::{Labels, Nms};
        let camera = |head: &str| {
            let text = GOOD.replace(r#"YoloxGrid(output: "output")"#, head);
            match format().from_str(&text).unwrap() {
                DetectorSpec::Camera(camera) => camera,
                DetectorSpec::Lidar(_) => panic!("a camera"),
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
            camera("NanoDet(levels: [])").head,
            Head::NanoDet(NanoDet {
                bins: 8,
                cell_centre: CellCentre::Middle,
                logits: false,
                ..
            })
        ));
        assert!(matches!(
            camera("YoloAnchors(Maps(levels: []))").head,
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
        let sides = "sides are pixels above 0";
        let unnamed = "an output has no name";
        for (head, phrase) in [
            (maps(8, "[]"), "output `p3` has no anchors"),
            (
                maps(24, "[[1, 2]]"),
                "stride 24 does not divide the input's width of 64",
            ),
            (maps(8, "[[1, 2], [0, 2]]"), sides),
            (maps(8, "[[1, -2]]"), sides),
            (maps(8, "[[1, inf]]"), sides),
            (maps(8, "[[NaN, 2]]"), sides),
            (maps(8, "[[1, 2]]").replace("p3", ""), unnamed),
            (r#"YoloAnchors(Decoded(output: ""))"#.to_owned(), unnamed),
            (r#"YoloAnchorFree(output: "")"#.to_owned(), unnamed),
            (nanodet(1, "s", "b"), "bins is 1, expected at least 2"),
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
            text.contains("input.width: 16416 pixels, expected 1 to 16384"),
            "{text}"
        );
    }
}
