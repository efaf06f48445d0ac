//! Plans that `jetlag build` makes beside the doubles, held against what each release asks of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nvidia_doubles::cuda::Control;
use nvidia_doubles::{machine, tensorrt};

use super::scene::{DEMO_CAMERA, Scene, number};

const ENCODER: &str = "double-network\ninput pillar_points f32 1xpillarsx16x9\noutput pillar_features f32 1xpillarsx32 only\n\
                       layer only Conv\n";
const BACKBONE: &str = "double-network\ninput spatial_features f32 1x32x128x128\noutput box_preds f32 1x64x64x14 only\n\
                        output cls_preds f32 1x64x64x2 only\noutput dir_cls_preds f32 1x64x64x4 only\nlayer only Conv\n";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `jetlag build` of these words, which has to succeed.
fn build(scene: &Scene, control: &Control, words: &[&str]) -> Option<()> {
    let output = scene.jetlag(control, &[&["build"], words].concat())?;
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    Some(())
}

/// Before 8.6.1 a profile serves one context, and from there to 9.x too unless the plan was built to share it.
#[test]
fn a_plan_that_is_built_for_a_tenant_serves_all_of_its_slots() {
    for version in ["trt 8.5", "trt 8.6"] {
        let Some(scene) = Scene::of_version(version) else {
            continue;
        };
        scene.onnx("lidar_encoder", ENCODER);
        scene.onnx("lidar_backbone", BACKBONE);
        std::fs::write(scene.path("demo.ron"), include_str!("../../engines/lidar.ron")).unwrap();
        let text = "Scenario(duration: \"10min\", warmup: \"200ms\", tenants: [Tenant(name: \"lidar\", detector: \"demo.ron\", depth: 3, \
                    arrival: Closed, frames: 10, source: Synthetic(sensor: Lidar, scenes: 1), record_detections: false, \
                    backend: TensorRt())])";
        let scenario = scene.path("scenario.ron");
        std::fs::write(&scenario, text).unwrap();
        let Some(summary) = scene.run(&Control::default(), &scenario) else {
            return;
        };
        assert_eq!(
            summary["tenants"][0]["backend"], "tensorrt",
            "{version}: {summary}"
        );
        assert_eq!(number(&summary, "lidar", "/frames/failed"), 0.0, "{version}");
        assert!(number(&summary, "lidar", "/frames/completed") > 0.0, "{version}");
    }
}

/// The double's builder refuses INT8 for tensors of which nobody said how they are scaled, as the real one does.
#[test]
fn the_best_precision_leaves_int8_out_where_scales_are_unknown() {
    let Some(scene) = Scene::of_era('B') else { return };
    let network = scene.onnx("camera", DEMO_CAMERA);
    build(
        &scene,
        &Control::default(),
        &[network.to_str().unwrap(), "--precision", "best"],
    );
}

/// All Orins have one name: the multiprocessors that are on, and which of them are off, tell their plans apart.
#[test]
fn a_jetson_has_a_plan_for_each_power_mode() {
    let Some(scene) = Scene::new() else { return };
    let network = scene.onnx("camera", DEMO_CAMERA);
    let root = scene.path("root");
    let mask = root.join("sys/devices/gpu.0/tpc_pg_mask");
    std::fs::create_dir_all(mask.parent().unwrap()).unwrap();
    for (sms, off, wanted) in [(8, "240", 1), (16, "240", 2), (16, "15", 3), (8, "240", 3)] {
        std::fs::write(&mask, off).unwrap();
        let control = Control::default()
            .integrated()
            .name("Orin")
            .multiprocessors(sms)
            .variable("JETLAG_ROOT", &root);
        let Some(()) = build(&scene, &control, &[network.to_str().unwrap()]) else {
            return;
        };
        let files = std::fs::read_dir(scene.path("cache")).unwrap();
        let plans = files.filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_str().unwrap().ends_with(".plan")
        });
        assert_eq!(plans.count(), wanted, "{sms} multiprocessors, mask {off}");
    }
}

/// The double with NVIDIA's library of plugins beside it, which the real one has there.
fn with_nvidias_plugins(scene: &Scene) -> Option<PathBuf> {
    let double = tensorrt::era('C')?;
    let folder = scene.path("libraries");
    std::fs::create_dir(&folder).unwrap();
    let copy = |from: &Path, name: &std::ffi::OsStr| {
        std::fs::copy(from, folder.join(name)).unwrap();
    };
    for file in std::fs::read_dir(&double.folder).unwrap() {
        let file = file.unwrap();
        copy(&file.path(), &file.file_name());
    }
    let name = "libnvinfer_plugin.so.11";
    copy(&tensorrt::plugins(name, "PLUGINS_INITIALISE")?, name.as_ref());
    Some(folder)
}

/// Layers such as EfficientNMS_TRT are known when the library that has them was asked to register them: for building, and again
/// where the plan is loaded.
#[test]
fn nvidias_own_plugins_are_registered_for_a_network_that_has_their_layers() {
    let Some(scene) = Scene::new() else { return };
    let Some(libraries) = with_nvidias_plugins(&scene) else {
        return;
    };
    // A node of that type in the model's graph: field 7 of the model, 1 of the graph, 4 of the node.
    let operator = "EfficientNMS_TRT";
    let field = |number: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).unwrap();
        [&[number << 3 | 2, length], content].concat()
    };
    let node = field(7, &field(1, &field(4, operator.as_bytes())));
    let text = DEMO_CAMERA.replace("layer only Conv", &format!("layer only {operator}"));
    let network = scene.onnx_with("camera", &node, &text);
    let control = Control::default().variable("JETLAG_TENSORRT", &libraries);
    let plan = scene.path("camera.plan");
    let words = [network.to_str().unwrap(), "--output", plan.to_str().unwrap()];
    let Some(()) = build(&scene, &control, &words) else {
        return;
    };
    let output = scene.jetlag(&control, &["inspect", "camera.plan"]).unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.contains("EfficientNMS_TRT") && !shown.contains("not loaded"),
        "{shown}"
    );
}

/// The plan brings them along, and a plugin cannot be registered twice; nor need the library be where it was.
#[test]
fn what_a_version_compatible_plan_carries_is_not_loaded_before_it() {
    let Some(scene) = Scene::of_era('B') else { return };
    let Some(made) = tensorrt::plugins("libcarried.so", "PLUGINS_TELL") else {
        return;
    };
    let network = scene.onnx("camera", DEMO_CAMERA);
    let plugins = scene.path("libcarried.so");
    for (more, carries) in [(["--version-compatible"].as_slice(), true), (&[], false)] {
        std::fs::copy(&made, &plugins).unwrap();
        let plan = scene.path("out.plan");
        let (network, plugins) = (network.to_str().unwrap(), plugins.to_str().unwrap());
        let words = [network, "--plugin", plugins, "--output", plan.to_str().unwrap()];
        let Some(()) = build(&scene, &Control::default(), &[words.as_slice(), more].concat()) else {
            return;
        };
        std::fs::remove_file(plugins).unwrap();
        let arguments = ["inspect", "out.plan", "--allow-host-code"];
        let output = scene.jetlag(&Control::default(), &arguments).unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("built by"), "{more:?}: {}", said(&output));
        assert_eq!(!shown.contains("not loaded"), carries, "{more:?}: {shown}");
    }
}

/// What is drawn on a terminal of 200 columns, had through util-linux's `script`; none where there is none.
fn on_a_terminal(command: &Command) -> Option<String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let line = format!("stty rows 24 cols 200; exec {}", line.join(" "));
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let started = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"])
        .envs(variables)
        .env("TERM", "xterm-256color")
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        machine::skip("no `script` of util-linux to have a terminal from");
        return None;
    };
    // Its end would be the terminal's.
    let _stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    let drawn = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{drawn}");
    Some(drawn)
}

/// TensorRT before 9.1 has no progress monitor, and a build on a board takes minutes.
#[test]
fn a_build_without_progress_shows_how_long_the_last_one_of_this_network_took() {
    let Some(scene) = Scene::of_version("trt 8.5") else {
        return;
    };
    let network = scene.onnx("camera", DEMO_CAMERA);
    for (precision, wanted) in [
        ("tf32", "reports no progress; a first build can take many minutes"),
        ("fp16", "reports no progress; the last build of this network took"),
    ] {
        let words = ["build", network.to_str().unwrap(), "--precision", precision];
        let Some(command) = scene.command(&Control::default(), &words) else {
            return;
        };
        let Some(drawn) = on_a_terminal(&command) else {
            return;
        };
        assert!(drawn.contains(wanted), "{precision}: {drawn}");
    }
}

/// Made inputs, of the sizes that its plan is then built for.
#[test]
fn a_network_alone_is_built_and_runs() {
    let Some(scene) = Scene::new() else { return };
    let camera = scene.onnx("camera", DEMO_CAMERA);
    let encoder = scene.onnx("lidar_encoder", ENCODER);
    for (network, tenant, shapes) in [
        (&camera, "camera", None),
        (&encoder, "lidar_encoder", Some("pillar_points:1x100x16x9")),
    ] {
        let backend = format!("tenants.{tenant}.backend=TensorRt()");
        let frames = format!("tenants.{tenant}.frames=5");
        let mut arguments = vec![
            "run",
            network.to_str().unwrap(),
            "--out",
            "run.mcap",
            "--force",
            "--format",
            "json",
            "--quiet",
        ];
        for set in [backend.as_str(), &frames, "duration=900s", "warmup=0s"] {
            arguments.extend(["--set", set]);
        }
        arguments.extend(shapes.iter().flat_map(|shapes| ["--shapes", shapes]));
        // Nothing is built for a check, which says so.
        let dry: Vec<&str> = arguments
            .iter()
            .copied()
            .filter(|word| *word != "--quiet")
            .chain(["--dry-run"])
            .collect();
        let Some(output) = scene.jetlag(&Control::default(), &dry) else {
            return;
        };
        assert!(output.status.success(), "{}", said(&output));
        assert!(
            said(&output).contains("is in the cache; the run builds it first"),
            "{}",
            said(&output)
        );
        let Some(output) = scene.jetlag(&Control::default(), &arguments) else {
            return;
        };
        assert!(output.status.success(), "{}", said(&output));
        let built = scene.jetlag(&Control::default(), &dry).unwrap();
        assert!(
            built.status.success() && !said(&built).contains("in the cache"),
            "{}",
            said(&built)
        );
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["tenants"][0]["backend"], "tensorrt", "{summary}");
        assert_eq!(number(&summary, tenant, "/frames/completed"), 5.0, "{summary}");
        assert!(
            number(&summary, tenant, "/stages_ms/h2d/count") >= 5.0,
            "{summary}"
        );
    }
}
