//! `jetlag init` where paths, names, sizes and classes are odd: what it writes runs, or it says what to change first.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rten_onnx::onnx::{
    DataType, ModelProto, NodeProto, StringStringEntryProto, TensorProto, TensorShapeProto, ValueInfoProto,
};

use super::{BACKBONE, network, tenant_of};
use crate::common::output::{assert_refused, run, stderr, stdout};

/// Changes a network's file.
fn changed(path: &str, change: impl FnOnce(&mut ModelProto)) {
    let mut model = ModelProto::parse_buf(&fs::read(path).unwrap()).unwrap();
    change(&mut model);
    fs::write(path, model.write_buf().unwrap()).unwrap();
}

fn noted(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    }
}

/// A camera network of an image of these extents, which answers for 32 × 32 pixels and two classes as YOLOv8 does.
fn camera(folder: &Path, name: &str, extents: &[&str], metadata: &[(&str, &str)]) -> String {
    let path = network(folder, name, &[("images", DataType::FLOAT, extents)]);
    let node = |operator: &str, inputs: &[&str], output: &str| NodeProto {
        name: Some(output.to_owned()),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    };
    changed(&path, |model| {
        model.metadata_props = metadata.iter().map(|(key, value)| noted(key, value)).collect();
        let graph = model.graph.as_mut().unwrap();
        graph.node = vec![
            node("Reshape", &["images", "flat"], "line"),
            node("ReduceMax", &["line"], "most"),
            node("Add", &["base", "most"], "output0"),
        ];
        graph.initializer = vec![
            TensorProto {
                name: Some("flat".to_owned()),
                data_type: Some(DataType::INT64),
                dims: vec![1],
                int64_data: vec![-1],
                ..TensorProto::default()
            },
            TensorProto {
                name: Some("base".to_owned()),
                data_type: Some(DataType::FLOAT),
                dims: vec![1, 6, 21],
                float_data: vec![0.0; 6 * 21],
                ..TensorProto::default()
            },
        ];
        let output = &mut graph.output[0];
        output.name = Some("output0".to_owned());
        let shape = shape_of(output);
        shape.dim.truncate(3);
        for (dim, extent) in shape.dim.iter_mut().zip([1, 6, 21]) {
            dim.dim_value = Some(extent);
            dim.dim_param = None;
        }
    });
    path
}

/// The shape that a network says of an input or output.
fn shape_of(value: &mut ValueInfoProto) -> &mut TensorShapeProto {
    let tensor = value.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
    tensor.shape.as_mut().unwrap()
}

/// The command that was suggested, as a shell reads it.
fn suggested(said: &str) -> Vec<String> {
    let (_, command) = said.rsplit_once("jetlag ").unwrap();
    let script = format!("printf '%s\\n' {}", command.lines().next().unwrap());
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    words.lines().map(str::to_owned).collect()
}

#[test]
fn paths_lead_out_of_a_folder_below_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    network(root, "net.onnx", &[("x", DataType::FLOAT, &["1", "4"])]);
    fs::create_dir_all(root.join("elsewhere/deep")).unwrap();
    symlink(root.join("elsewhere/deep"), root.join("link")).unwrap();
    for out in ["link", "link/new", "link/newer/still"] {
        let output = run(&["init", "net.onnx", "-o", out], root);
        assert!(output.status.success(), "{}", stderr(&output));
        tenant_of(&[&format!("{out}/net-scenario.ron")], root);
    }
    // A network that is a link keeps its name, since what belongs to it lies beside the link.
    fs::create_dir(root.join("blobs")).unwrap();
    fs::rename(root.join("net.onnx"), root.join("blobs/1f3a")).unwrap();
    symlink("blobs/1f3a", root.join("linked.onnx")).unwrap();
    let output = run(&["init", "linked.onnx", "-o", "mine"], root);
    assert!(output.status.success(), "{}", stderr(&output));
    let spec = fs::read_to_string(root.join("mine/linked.ron")).unwrap();
    assert!(spec.contains("\"../linked.onnx\""), "{spec}");
    tenant_of(&["mine/linked-scenario.ron"], root);
}

#[test]
fn the_size_that_a_file_notes_is_taken_where_its_input_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let open = ["batch", "3", "height", "width"];
    camera(folder.path(), "open.onnx", &open, &[("imgsz", "[32, 32]")]);
    let output = run(&["init", "open.onnx"], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    let phrase = "the 32 × 32 pixels that the file notes as `imgsz`";
    assert!(stdout(&output).contains(phrase), "{}", stdout(&output));
    let spec = fs::read_to_string(folder.path().join("open.ron")).unwrap();
    assert!(
        spec.contains("width: 32, height: 32") && spec.contains(phrase),
        "{spec}"
    );
    tenant_of(&["open-scenario.ron"], folder.path());
}

#[test]
fn names_that_a_shell_or_a_format_reads_as_something_else_are_written_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for (number, name) in [
        "{whole} {0} {}.onnx",
        "it's $HOME.onnx",
        "a\"b\\c.onnx",
        "ends */ and // begins.onnx",
        "tab\there.onnx",
        "-o.onnx",
    ]
    .iter()
    .enumerate()
    {
        let odd = folder.path().join(format!("{{encoder}} of {number}"));
        fs::create_dir(&odd).unwrap();
        let name = name.replace('/', "\u{2215}");
        let inside = network(&odd, &name, &[("x {y}", DataType::FLOAT, &["n", "4"])]);
        let out = format!("out {number} & more");
        let output = run(&["init", "-o", &out, "--", &inside], folder.path());
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let words = suggested(&stdout(&output));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words[0], "run", "{}", stdout(&output));
        tenant_of(&words[1..], folder.path());
    }
    // Where it is inspected, the command that is suggested names the file as well.
    let half = folder.path().join("{backbone} half.onnx");
    fs::copy(BACKBONE, &half).unwrap();
    let text = stdout(&run(&["inspect", half.to_str().unwrap()], folder.path()));
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("jetlag init"));
    let quoted = format!("jetlag init '{}'", half.display());
    assert!(line.unwrap().contains(&quoted), "{text}");
}

#[test]
fn classes_that_a_file_leaves_empty_or_repeats_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let sized = ["1", "3", "32", "32"];
    for (name, names, classes) in [
        ("twice.onnx", "{0: 'car', 1: 'car'}", "[\"car\", \"car-1\"]"),
        ("empty.onnx", "{0: '', 1: ' '}", "[\"class-0\", \"class-1\"]"),
    ] {
        camera(folder.path(), name, &sized, &[("names", names)]);
        let output = run(&["init", name], folder.path());
        assert!(output.status.success(), "{}", stderr(&output));
        let stem = name.trim_end_matches(".onnx");
        let spec = fs::read_to_string(folder.path().join(format!("{stem}.ron"))).unwrap();
        assert!(
            spec.contains(&format!("classes: {classes}")) && spec.contains("got a number"),
            "{spec}"
        );
        tenant_of(&[&format!("{stem}-scenario.ron")], folder.path());
    }
}

#[test]
fn what_does_not_run_is_written_with_what_to_change_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // An operator that the embedded backend lacks.
    let lacks = network(root, "lacks.onnx", &[("x", DataType::FLOAT, &["1", "4", "4"])]);
    changed(&lacks, |model| {
        let graph = model.graph.as_mut().unwrap();
        graph.node[0].op_type = Some("Det".to_owned());
        graph.output[0].r#type = None;
    });
    // Sizes whose product no memory holds, nor a count of elements.
    let side = (1_u64 << 36).to_string();
    network(
        root,
        "vast.onnx",
        &[("x", DataType::FLOAT, &["1", "3", &side, &side])],
    );
    // A type that it lacks.
    network(root, "half.onnx", &[("x", DataType::FLOAT16, &["1", "4"])]);
    for (name, phrase) in [("lacks", "Det"), ("vast", "68719476736"), ("half", "f16")] {
        let output = run(&["init", &format!("{name}.onnx")], root);
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stdout(&output);
        let (_, behind) = said
            .split_once("it does not run here as it is; change first:")
            .expect(&said);
        assert!(behind.contains(phrase), "{said}");
        assert!(!said.contains("next: jetlag run"), "{said}");
        // `jetlag run` says no more and no less.
        let scenario = format!("{name}-scenario.ron");
        let checked = run(&["run", &scenario, "--dry-run"], root);
        assert_refused(&checked, 2, &[phrase]);
        // `init` was asked for a file of this folder, and names it so.
        let problem = behind.lines().nth(1).unwrap().trim().replace("./", "");
        assert!(
            stderr(&checked).contains(&problem),
            "{problem}\n{}",
            stderr(&checked)
        );
        assert_refused(&run(&["run", &scenario], root), 2, &[phrase]);
    }
    // More pixels than the preprocessing makes: that is told, and the network is timed.
    camera(root, "large.onnx", &["1", "3", "20000", "20000"], &[]);
    changed(&root.join("large.onnx").display().to_string(), |model| {
        let output = &mut model.graph.as_mut().unwrap().output[0];
        let shape = shape_of(output);
        // The cells of 20000 pixels at strides 8 and 16.
        shape.dim[2].dim_value = Some(2500 * 2500 + 1250 * 1250);
    });
    let output = run(&["init", "large.onnx"], root);
    assert!(output.status.success(), "{}", stderr(&output));
    for phrase in ["20000 × 20000 pixels", "it is written as a bare network"] {
        assert!(stdout(&output).contains(phrase), "{}", stdout(&output));
    }
}
