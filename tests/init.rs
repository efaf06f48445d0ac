//! From a network's file to a run: `jetlag init`, bare networks, and `jetlag run` of a network or a detector spec. What networks
//! look like is tested on shapes in src/detector/propose/tests.rs; here are files that run.

mod contradictions;
mod kinds;
mod odd;
mod outputs;

use std::fs;
use std::path::{Path, PathBuf};

use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
use serde_json::Value;

use crate::common::onnx;
use crate::common::output::{assert_refused, run, stderr, stdout};

const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
const BACKBONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/lidar_backbone.onnx");

/// Writes a network of one operator, `y` of each of these inputs' first; extents that are no numbers are dynamic.
pub(crate) fn network(folder: &Path, name: &str, inputs: &[(&str, DataType, &[&str])]) -> String {
    let dimension = |extent: &&str| match extent.parse() {
        Ok(number) => Dimension {
            dim_value: Some(number),
            dim_param: None,
        },
        Err(_) => Dimension {
            dim_value: None,
            dim_param: Some((*extent).to_owned()),
        },
    };
    let value = |name: &str, element, shape: &[&str]| {
        onnx::port(name, element, shape.iter().map(dimension).collect())
    };
    let node = |number: usize, input: &str| NodeProto {
        name: Some(format!("node{number}")),
        op_type: Some("Identity".to_owned()),
        input: vec![input.to_owned()],
        output: vec![format!("y{number}")],
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: inputs
            .iter()
            .enumerate()
            .map(|(number, (name, ..))| node(number, name))
            .collect(),
        input: inputs
            .iter()
            .map(|(name, element, shape)| value(name, *element, shape))
            .collect(),
        output: inputs
            .iter()
            .enumerate()
            .map(|(number, (_, element, shape))| value(&format!("y{number}"), *element, shape))
            .collect(),
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(13),
        }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    let path = folder.join(name);
    fs::write(&path, model.write_buf().unwrap()).unwrap();
    path.display().to_string()
}

/// A run of a few frames; its only tenant.
fn tenant_of(arguments: &[&str], folder: &Path) -> Value {
    let short = [
        "--set",
        "duration=600s",
        "--set",
        "warmup=0s",
        "--set",
        "tenants.0.frames=6",
        "--format",
        "json",
    ];
    let output = run(&[&["run"], arguments, &short].concat(), folder);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tenants = summary["tenants"].as_array().unwrap();
    assert_eq!(tenants.len(), 1);
    assert_eq!(tenants[0]["frames"]["completed"], 6, "{summary}");
    assert_eq!(tenants[0]["frames"]["failed"], 0, "{summary}");
    tenants[0].clone()
}

/// Made scenes with cars, people and bicycles.
fn scenes(folder: &Path) {
    let made = run(
        &[
            "data", "synth", "--out", "scenes", "--count", "4", "--seed", "9001",
        ],
        folder,
    );
    assert!(made.status.success(), "{}", stderr(&made));
}

#[test]
fn a_network_becomes_a_spec_and_a_scenario_that_find_something() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let init = ["init", CAMERA, "--images", "scenes/image_2", "-o", "mine"];
    let output = run(&init, folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    for phrase in [
        "looks like YOLOv8, YOLOv9, YOLO11 (head YoloAnchorFree)",
        " of scenes/image_2: the family's usual colour order and scaling find something",
        "jetlag run mine/camera-scenario.ron",
    ] {
        assert!(said.contains(phrase), "{phrase}: {said}");
    }
    let spec = fs::read_to_string(folder.path().join("mine/camera.ron")).unwrap();
    // What the detector that ships says of itself.
    for phrase in [
        "width: 640, height: 384, colour: Rgb",
        "0.00392156862745098",
        "<- taken",
    ] {
        assert!(spec.contains(phrase), "{phrase}: {spec}");
    }
    let tenant = tenant_of(&["mine/camera-scenario.ron"], folder.path());
    assert!(tenant["detections"].as_u64().unwrap() > 0, "{tenant}");

    // Nothing is overwritten, and nothing is written where half of it would be.
    let scenario = folder.path().join("mine/camera-scenario.ron");
    let before = (spec, fs::read_to_string(&scenario).unwrap());
    let phrases = ["camera.ron", "would be overwritten", "another folder with -o"];
    assert_refused(&run(&init, folder.path()), 2, &phrases);
    fs::remove_file(folder.path().join("mine/camera.ron")).unwrap();
    assert_refused(&run(&init, folder.path()), 2, &["camera-scenario.ron", "exists"]);
    assert!(!folder.path().join("mine/camera.ron").exists());
    assert_eq!(fs::read_to_string(&scenario).unwrap(), before.1);
}

#[test]
fn a_spec_gets_a_scenario_alone() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/lidar.ron");
    let wrong = run(&["init", spec, "--images", "scenes/image_2"], folder.path());
    assert_refused(
        &wrong,
        2,
        &["--images", "takes sweeps: name a folder with --sweeps"],
    );
    let output = run(&["init", spec, "--sweeps", "scenes/velodyne"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("in 4 sweeps of scenes/velodyne it finds "),
        "{}",
        stdout(&output)
    );
    assert!(!folder.path().join("lidar.ron").exists());
    let tenant = tenant_of(&["lidar-scenario.ron"], folder.path());
    assert!(tenant["detections"].as_u64().unwrap() > 0, "{tenant}");
}

#[test]
fn what_no_head_reads_becomes_a_bare_network_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = network(
        folder.path(),
        "odd one.onnx",
        &[
            ("a:0", DataType::FLOAT, &["batch", "8"]),
            ("ids", DataType::INT64, &["1", "4"]),
        ],
    );
    let output = run(&["init", &path, "-o", "here"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    for phrase in [
        "looks like no detector",
        "time only, no boxes",
        "a batch of one was taken",
    ] {
        assert!(stdout(&output).contains(phrase), "{}", stdout(&output));
    }
    let spec = fs::read_to_string(folder.path().join("here/odd-one.ron")).unwrap();
    assert!(spec.contains("shapes: \"a:0:1x8\""), "{spec}");
    let tenant = tenant_of(&["here/odd-one-scenario.ron"], folder.path());
    assert_eq!(tenant["detections"], 0);
    let inspected = run(&["inspect", "here/odd-one.ron"], folder.path());
    assert!(
        stdout(&inspected).contains("bare network odd one, made inputs, time only"),
        "{}",
        stdout(&inspected)
    );
    let eval = run(&["eval", "here/odd-one.ron", "--data", "."], folder.path());
    assert_refused(&eval, 2, &["a bare network finds no boxes"]);
}

#[test]
fn a_network_alone_runs_in_a_closed_loop_on_made_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = network(
        folder.path(),
        "all.onnx",
        &[
            ("f", DataType::FLOAT, &["1", "64"]),
            ("i", DataType::INT32, &["2"]),
            ("l", DataType::INT64, &["3"]),
            ("b", DataType::UINT8, &["4"]),
        ],
    );
    for fill in ["Zeros", "Ones", "Random(seed: 3)"] {
        let set = format!("tenants.all.detector.fill={fill}");
        let tenant = tenant_of(&[&path, "--set", &set], folder.path());
        assert_eq!(tenant["backend"], "cpu");
        assert_eq!(tenant["detections"], 0);
        assert!(
            tenant["stages_ms"]["compute"]["count"].as_u64().unwrap() >= 6,
            "{tenant}"
        );
        assert!(tenant["stages_ms"]["postprocess"].is_null(), "{tenant}");
    }
    // Several frames in flight have inputs of their own.
    let tenant = tenant_of(&[&path, "--set", "tenants.all.depth=3"], folder.path());
    assert_eq!(tenant["name"], "all");
    // One that looks like a detector says which way leads on.
    let camera = run(
        &[
            "run",
            CAMERA,
            "--set",
            "duration=600s",
            "--set",
            "warmup=0s",
            "--set",
            "tenants.camera.frames=1",
        ],
        folder.path(),
    );
    assert!(camera.status.success(), "{}", stderr(&camera));
    assert!(
        stderr(&camera).contains("it looks like YOLOv8") && stderr(&camera).contains("jetlag init"),
        "{}",
        stderr(&camera)
    );
}

#[test]
fn a_bare_network_is_a_tenant_beside_others_in_a_scenario_and_in_processes() {
    let folder = tempfile::tempdir().unwrap();
    network(folder.path(), "net.onnx", &[("x", DataType::FLOAT, &["n", "16"])]);
    let text = |sharing: &str, detector: &str| {
        format!(
            "Scenario(duration: \"60s\", warmup: \"0s\", sharing: {sharing}, tenants: [\
             Tenant(name: \"net\", detector: {detector}, backend: Cpu(), frames: 5), \
             Tenant(name: \"camera\", detector: \"builtin:camera\", source: Synthetic(sensor: Camera, scenes: 1), backend: Cpu(), frames: 2)])"
        )
    };
    let bare = "Network(network: \"net.onnx\", shapes: \"net:2x16\", fill: Ones)";
    for sharing in ["Streams", "Processes"] {
        let good = bare.replace("net:2x16", "x:2x16");
        fs::write(folder.path().join("s.ron"), text(sharing, &good)).unwrap();
        let output = run(&["run", "s.ron", "--format", "json"], folder.path());
        assert!(output.status.success(), "{}", stderr(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["tenants"][0]["frames"]["completed"], 5, "{summary}");
    }
    fs::write(folder.path().join("s.ron"), text("Streams", bare)).unwrap();
    let refused = run(&["run", "s.ron"], folder.path());
    assert_refused(
        &refused,
        2,
        &["tenant net", "`shapes` has an input `net`", "its inputs: x"],
    );
}

#[test]
fn open_dimensions_are_told_all_at_once_with_the_spelling_that_gives_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = network(
        folder.path(),
        "open.onnx",
        &[
            ("images", DataType::FLOAT, &["batch", "2", "height", "width"]),
            ("boxes", DataType::FLOAT, &["count", "4", "8"]),
        ],
    );
    let output = run(&["run", &path], folder.path());
    let spelling = "--shapes images:1x2x128x128, or";
    assert_refused(
        &output,
        2,
        &["`batch`, `height`, `width` of input `images`", spelling],
    );
    let shapes = "images:1x2x8x8,boxes:5x4x8";
    tenant_of(&[&path, "--shapes", shapes], folder.path());
    // init guesses a batch of one, and asks for the rest, and so does run, with advice that can be pasted.
    assert_refused(&run(&["init", &path], folder.path()), 2, &["images:1x2x128x128"]);
    let output = run(
        &["run", &path, "--shapes", "images:1x2x8x8", "--dry-run"],
        folder.path(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("`boxes` [count, 4, 8]") && said.contains("--shapes boxes:4x4x8"),
        "{said}"
    );
    let output = run(&["init", &path, "--shapes", "images:1x2x8x8"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let wrong = run(&["run", &path, "--shapes", "images"], folder.path());
    assert_refused(&wrong, 2, &["write INPUT:1x3x640x640"]);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/null.ron");
    assert_refused(
        &run(&["run", scenario, "--shapes", shapes], folder.path()),
        2,
        &["only for a network"],
    );
}

#[test]
fn a_spec_runs_alone_on_made_scenes() {
    let folder = tempfile::tempdir().unwrap();
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.ron");
    let tenant = tenant_of(&[spec], folder.path());
    assert_eq!(tenant["name"], "camera");
    assert!(tenant["detections"].as_u64().unwrap() > 0, "{tenant}");
}

#[test]
fn half_of_a_detector_without_its_other_half_is_timed() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("backbone.onnx");
    fs::copy(BACKBONE, &alone).unwrap();
    let output = run(&["init", "backbone.onnx"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    for phrase in [
        "the backbone and head of a PointPillars",
        "its encoder was looked for beside it",
        "bare network",
    ] {
        assert!(stdout(&output).contains(phrase), "{}", stdout(&output));
    }
    tenant_of(&["backbone-scenario.ron"], folder.path());
}

/// A bag has both sensors: a camera's network takes the images, a LiDAR's the sweeps, and the scenario reads that topic.
#[cfg(feature = "recordings")]
#[test]
fn a_bag_s_topic_is_what_the_network_is_tried_on_and_what_the_scenario_reads() {
    let folder = tempfile::tempdir().unwrap();
    let made = [
        "data",
        "synth",
        "--format",
        "mcap",
        "--out",
        "drive.mcap",
        "--seconds",
        "1",
        "--seed",
        "5",
    ];
    let made = run(&made, folder.path());
    assert!(made.status.success(), "{}", stderr(&made));
    let output = run(
        &["init", CAMERA, "--bag", "drive.mcap", "-o", "mine"],
        folder.path(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.contains("of /cam_front/image_raw/compressed in drive.mcap"),
        "{said}"
    );
    let scenario = fs::read_to_string(folder.path().join("mine/camera-scenario.ron")).unwrap();
    assert!(
        scenario.contains("source: Bag(path: \"../drive.mcap\", topic: \"/cam_front/image_raw/compressed\")")
            && scenario.contains("// arrival: Replay"),
        "{scenario}"
    );
    tenant_of(&["mine/camera-scenario.ron"], folder.path());

    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/lidar.ron");
    let output = run(&["init", spec, "--bag", "drive.mcap"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let scenario = fs::read_to_string(folder.path().join("lidar-scenario.ron")).unwrap();
    assert!(scenario.contains("topic: \"/lidar_top\""), "{scenario}");

    let with = |topic| {
        run(
            &["init", CAMERA, "--bag", "drive.mcap", "--topic", topic],
            folder.path(),
        )
    };
    assert_refused(
        &with("/lidar_top"),
        2,
        &["`/lidar_top` has sweeps", "takes images", "--topic"],
    );
    assert_refused(&with("/lidar_tops"), 2, &["/lidar_tops", "/lidar_top"]);
    assert_refused(&with("/tf"), 2, &["`/tf`", "tf2_msgs/msg/TFMessage"]);
    assert_refused(
        &run(&["init", CAMERA, "--bag", "nothing"], folder.path()),
        2,
        &["nothing"],
    );
    assert_refused(
        &run(&["init", CAMERA, "--topic", "/tf"], folder.path()),
        2,
        &["--bag"],
    );
}

#[test]
fn what_init_does_not_take_is_refused_with_what_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    fs::write(folder.path().join("broken.onnx"), "no network").unwrap();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/null.ron");
    for (arguments, code, phrases) in [
        (
            &["init", "letter.txt"][..],
            2,
            &["init takes a network (.onnx)"][..],
        ),
        (
            &["init", "lettre.txt"],
            2,
            &["lettre.txt does not exist; did you mean letter.txt?"],
        ),
        (
            &["init", "broken.onnx"],
            2,
            &["broken.onnx", "incomplete or damaged"],
        ),
        (&["init", scenario], 2, &["this is a scenario already"]),
        (&["init", CAMERA, "--images", "nowhere"], 2, &["nowhere"]),
    ] {
        assert_refused(&run(arguments, folder.path()), code, phrases);
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing was written"
    );
}

/// A public network with its images, and what was decided of it.
fn of_public(folder: &Path, network: &Path, images: &Path) -> (String, String) {
    let out = tempfile::tempdir_in(folder).unwrap();
    let arguments = [
        "init",
        network.to_str().unwrap(),
        "--images",
        images.to_str().unwrap(),
        "-o",
        out.path().to_str().unwrap(),
    ];
    let output = run(&arguments, folder);
    assert!(output.status.success(), "{}", stderr(&output));
    let stem = network.file_stem().unwrap().to_str().unwrap();
    let spec = fs::read_to_string(out.path().join(format!("{stem}.ron"))).unwrap();
    (stdout(&output), spec)
}

#[test]
fn public_camera_networks_get_the_spec_that_was_written_for_them_by_hand() {
    let Some(models) = machine::shared("data/models") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (network, images, family, settings) in [
        (
            "yolox_nano/yolox_nano.onnx",
            "yolox_nano",
            "YOLOX (head YoloxGrid)",
            &[
                "classes: Coco80",
                "colour: Bgr",
                "scale: 1.0",
                "TopLeft, pad: 114, rounding: Down",
            ][..],
        ),
        (
            "nanodet_m_416/nanodet_m.onnx",
            "nanodet_m_416",
            "NanoDet (head NanoDet)",
            &[
                "colour: Bgr",
                "mean: [103.53, 116.28, 123.675]",
                "(scores: \"814\", boxes: \"817\", stride: 16)",
            ],
        ),
        (
            "ultraface_rfb_320/version-RFB-320.onnx",
            "ultraface_rfb_320",
            "SSD with decoded boxes (head PriorBoxes)",
            &["fit: Stretch", "mean: [127, 127, 127]", "background: 0"],
        ),
    ] {
        let (said, spec) = of_public(
            folder.path(),
            &models.join(network),
            &images_of(folder.path(), &models.join(images)),
        );
        assert!(said.contains(family), "{said}");
        for setting in settings {
            assert!(spec.contains(setting), "{setting}:\n{spec}");
        }
        assert!(spec.contains("<- taken"), "{spec}");
    }
}

/// A folder of the photos of a model's folder, without the pictures of results.
fn images_of(folder: &Path, model: &Path) -> PathBuf {
    let images = folder.join(model.file_name().unwrap());
    fs::create_dir_all(&images).unwrap();
    let mut found = 0;
    let mut folders = vec![model.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_photo = name.ends_with(".jpg") && !name.contains("boxes") && !name.contains("pixels");
            if is_photo {
                fs::copy(&path, images.join(name)).unwrap();
                found += 1;
            }
        }
    }
    assert!(found > 0, "{} has no photos", model.display());
    images
}

#[test]
fn a_public_pointpillars_finds_its_other_half_and_cars() {
    let Some(models) = machine::shared("data/models") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let half = models.join("pointpillars_kitti_car/pfe.onnx");
    let output = run(&["init", half.to_str().unwrap(), "-o", out], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("rpn_fp32.onnx"), "{}", stdout(&output));
    let spec = fs::read_to_string(folder.path().join("pfe.ron")).unwrap();
    for phrase in [
        "Planes(first_centre: (0.1, -39.9))",
        "drop_empty: true",
        "these are KITTI's",
        "rpn_int8_qdq.onnx",
    ] {
        assert!(spec.contains(phrase), "{phrase}:\n{spec}");
    }
    let inspected = run(&["inspect", "pfe.ron"], folder.path());
    assert!(inspected.status.success(), "{}", stderr(&inspected));
}

#[test]
fn inspect_says_what_a_network_looks_like() {
    let folder = tempfile::tempdir().unwrap();
    let text = stdout(&run(&["inspect", CAMERA], folder.path()));
    assert!(
        text.contains("looks like YOLOv8, YOLOv9, YOLO11 (head YoloAnchorFree)"),
        "{text}"
    );
    let json = run(&["inspect", CAMERA, "--format", "json"], folder.path());
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["looks_like"][0]["head"], "YoloAnchorFree");
    let odd = network(folder.path(), "odd.onnx", &[("x", DataType::FLOAT, &["1", "7"])]);
    let text = stdout(&run(&["inspect", &odd], folder.path()));
    assert!(
        text.contains("looks like no detector that is known here"),
        "{text}"
    );
}
