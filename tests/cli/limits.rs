//! Inputs that claim more memory than there is, in a process that has little: refused with a sentence, or frames that fail.
//! None ends the process.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use rten_onnx::onnx::{
    AttributeProto, DataLocation, DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use super::{assert_refused, camera_scenario, scenario, stderr};

/// Runs jetlag with this much address space. What threads reserve for their heaps counts too, and there would be more of those
/// on a machine of more processors.
fn run_within(gib: u64, args: &[&str], folder: &Path) -> Output {
    let kib = gib << 20;
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {kib}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_jetlag"))
        .args(args)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1")
        .env("MALLOC_ARENA_MAX", "2")
        .output()
        .unwrap()
}

/// The detector spec and the network of a folder.
fn detector(folder: &Path, network: &[u8]) -> (String, String) {
    let file = folder.join("network.onnx");
    fs::write(&file, network).unwrap();
    let spec = folder.join("detector.ron");
    fs::write(
        &spec,
        "Camera(name: \"t\", classes: [\"Car\"], network: \"network.onnx\", \
         input: (tensor: \"images\", width: 64, height: 64), head: YoloAnchorFree(output: \"output0\"))",
    )
    .unwrap();
    (spec.display().to_string(), file.display().to_string())
}

fn with_length(field: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![field << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
    out
}

fn value(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |size: &i64| Dimension {
        dim_value: Some(*size),
        dim_param: None,
    };
    let tensor = TypeProtoTensor {
        elem_type: Some(DataType::FLOAT),
        shape: Some(TensorShapeProto {
            dim: dims.iter().map(dim).collect(),
        }),
    };
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(tensor),
            ..TypeProto::default()
        }),
    }
}

/// A network of these nodes (operator and inputs; the last one's output is the network's) and initializers.
fn network(nodes: &[(&str, &[&str])], initializer: Vec<TensorProto>, input: &[i64]) -> Vec<u8> {
    let last = nodes.len() - 1;
    let node = |(place, (operator, inputs)): (usize, &(&str, &[&str]))| NodeProto {
        name: Some(format!("node{place}")),
        op_type: Some((*operator).to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![if place == last {
            "output0".to_owned()
        } else {
            format!("v{place}")
        }],
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: nodes.iter().enumerate().map(node).collect(),
        initializer,
        input: vec![value("images", input)],
        output: vec![value("output0", &[1, 5, 84])],
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: None,
            version: Some(17),
        }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    model.write_buf().unwrap()
}

fn sizes(name: &str, dims: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(DataType::INT64),
        dims: vec![dims.len() as i64],
        int64_data: dims.to_vec(),
        ..TensorProto::default()
    }
}

/// What `inspect` and `run` say of a network, each within 4 GiB.
fn refused(folder: &Path, bytes: &[u8], said: &[&str]) {
    let (spec, file) = detector(folder, bytes);
    assert_refused(&run_within(4, &["inspect", &file], folder), 2, said);
    refused_by_run(folder, &spec, said);
}

fn refused_by_run(folder: &Path, spec: &str, said: &[&str]) {
    let path = camera_scenario(folder, spec, "Synthetic(Camera)");
    assert_refused(&run_within(4, &["run", &path], folder), 2, said);
}

#[test]
fn a_network_whose_lengths_are_wrong_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // Four bytes of the graph's length: it has 29 GB.
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx")).unwrap();
    let graph = whole.windows(1).position(|tag| tag == [0x3a]).unwrap();
    let mut changed = whole.clone();
    changed[graph + 1..graph + 6].copy_from_slice(&[0x80, 0x80, 0x80, 0x80, 0x74]);
    refused(
        folder.path(),
        &changed,
        &["is incomplete or damaged", "claims 31138512896 bytes"],
    );
    // The same of a text within, which parsers set aside before they read.
    let name = [vec![0x1a], vec![0x80, 0x80, 0x80, 0x80, 0x74], b"name".to_vec()].concat();
    let bytes = with_length(7, &with_length(1, &name));
    refused(
        folder.path(),
        &bytes,
        &["is incomplete or damaged", "a node claims 31138512896 bytes"],
    );
}

#[test]
fn graphs_within_graphs_are_refused_beyond_what_protobuf_takes() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = Vec::new();
    while graph.len() < 570_000 {
        graph = with_length(1, &with_length(5, &with_length(6, &graph)));
    }
    refused(folder.path(), &with_length(7, &graph), &["more than 100 deep"]);
}

#[test]
fn as_many_graphs_within_each_other_as_are_taken_end_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = GraphProto::default();
    for _ in 0..32 {
        let branch = |name: &str| AttributeProto {
            name: Some(name.to_owned()),
            g: Some(graph.clone()),
            ..AttributeProto::default()
        };
        let node = NodeProto {
            op_type: Some("If".to_owned()),
            input: vec!["images".to_owned()],
            output: vec!["output0".to_owned()],
            attribute: vec![branch("then_branch")],
            ..NodeProto::default()
        };
        graph = GraphProto {
            node: vec![node],
            output: vec![value("output0", &[1])],
            ..GraphProto::default()
        };
    }
    let model = ModelProto {
        graph: Some(graph),
        ..ModelProto::default()
    };
    let (spec, file) = detector(folder.path(), &model.write_buf().unwrap());
    let output = run_within(4, &["inspect", &file], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
    refused_by_run(folder.path(), &spec, &["tenant camera", "network.onnx"]);
}

#[test]
fn many_empty_messages_are_refused_before_they_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    // 4 MB of nodes without anything; attributes are larger still in memory.
    let nodes = with_length(7, &with_length(1, &[]).repeat(2_000_001));
    refused(folder.path(), &nodes, &["more than 2000000 nodes"]);
    // As many as are taken.
    let attributes = with_length(7, &with_length(1, &with_length(5, &[]).repeat(1_999_998)));
    let (_, file) = detector(folder.path(), &attributes);
    let output = run_within(4, &["inspect", &file], folder.path());
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn tensors_have_the_data_that_they_claim() {
    let folder = tempfile::tempdir().unwrap();
    let claims = |dims: Vec<i64>, raw: Vec<u8>| TensorProto {
        name: Some("w".to_owned()),
        data_type: Some(DataType::FLOAT),
        dims,
        raw_data: Some(raw.into()),
        ..TensorProto::default()
    };
    for (dims, said) in [
        (
            vec![1_000_000, 1_000_000],
            "4000000000000 bytes, but its data has 8",
        ),
        (vec![1 << 40, 1 << 40], "has invalid dimensions"),
        (vec![-1, 2], "has invalid dimensions"),
        (vec![0, 1 << 40, 1 << 40], "has invalid dimensions"),
    ] {
        let bytes = network(
            &[("Add", &["images", "w"])],
            vec![claims(dims, vec![0; 8])],
            &[1, 3, 64, 64],
        );
        refused(folder.path(), &bytes, &["tensor `w`", said]);
    }
    // In a file beside it, which is shorter, or is none.
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let external = |file: &str| TensorProto {
        data_location: Some(DataLocation::EXTERNAL),
        external_data: vec![
            entry("location", file),
            entry("offset", "0"),
            entry("length", "4000000000000"),
        ],
        raw_data: None,
        ..claims(vec![1_000_000, 1_000_000], Vec::new())
    };
    fs::write(folder.path().join("w.data"), [0; 8]).unwrap();
    let with = |file: &str| {
        network(
            &[("Add", &["images", "w"])],
            vec![external(file)],
            &[1, 3, 64, 64],
        )
    };
    refused(
        folder.path(),
        &with("w.data"),
        &["claims 4000000000000 bytes of weights", "w.data, which has 8"],
    );
    refused(
        folder.path(),
        &with("/dev/zero"),
        &["`/dev/zero`", "only from files in the network's folder"],
    );
    // Named, and not said to be used; or named before another.
    let unused = TensorProto {
        data_location: None,
        ..external("../secret")
    };
    let mut twice = external("w.data");
    twice.external_data.insert(0, entry("location", "../secret"));
    for tensor in [unused, twice] {
        let bytes = network(&[("Add", &["images", "w"])], vec![tensor], &[1, 3, 64, 64]);
        let said = ["`../secret`", "only from files in the network's folder"];
        refused(folder.path(), &bytes, &said);
    }
    fs::create_dir(folder.path().join("x.data")).unwrap();
    refused(
        folder.path(),
        &with("x.data"),
        &["x.data, which is not a regular file"],
    );
}

#[test]
fn a_node_that_asks_for_more_than_there_is_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let huge = || vec![sizes("huge", &[1_000_000, 1_000_000])];
    let frame = [1, 3, 64, 64];
    for (node, inputs) in [
        ("ConstantOfShape", &["huge"][..]),
        ("Expand", &["images", "huge"]),
    ] {
        let bytes = network(&[(node, inputs)], huge(), &frame);
        let (spec, file) = detector(folder.path(), &bytes);
        let output = run_within(4, &["inspect", &file], folder.path());
        assert!(output.status.success(), "{}", stderr(&output));
        let said = [node, "needs a tensor of 1000000000000 elements"];
        refused_by_run(folder.path(), &spec, &said);
        let profile = run_within(4, &["inspect", &file, "--profile", "1"], folder.path());
        assert_refused(&profile, 1, &said);
    }
    // An input of that size, which the host fills.
    let bytes = network(&[("Relu", &["images"])], Vec::new(), &[1, 1_000_000, 1_000_000]);
    let (_, file) = detector(folder.path(), &bytes);
    let profile = run_within(4, &["inspect", &file, "--profile", "1"], folder.path());
    assert_refused(&profile, 1, &["`images`", "needs 4000000000000 bytes"]);
}

/// A PNG that claims this size in 16-bit colours with transparency, and holds nothing of it.
fn png(width: u32, height: u32) -> Vec<u8> {
    let chunk = |kind: &[u8], content: &[u8]| {
        let named = [kind, content].concat();
        let length = (content.len() as u32).to_be_bytes();
        [&length[..], &named, &crc32fast::hash(&named).to_be_bytes()].concat()
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[16, 6, 0, 0, 0]].concat();
    let data = [
        0x78, 0x01, 0x01, 0x01, 0x00, 0xfe, 0xff, 0x00, 0x00, 0x01, 0x00, 0x01,
    ];
    [
        &b"\x89PNG\r\n\x1a\n"[..],
        &chunk(b"IHDR", &header),
        &chunk(b"IDAT", &data),
        &chunk(b"IEND", b""),
    ]
    .concat()
}

/// What a run of one source says, whose frames all fail.
fn frames_fail(folder: &Path, detector: &str, source: &str, said: &[&str]) {
    // Closed, so that a machine that is busy drops none of them.
    let text = format!(
        "Scenario(name: \"t\", duration: \"10min\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", detector: {detector:?}, \
         backend: Cpu(threads: 1), source: {source}, arrival: Closed, frames: 6)])"
    );
    let path = scenario(folder, &text);
    let output = run_within(2, &["run", &path], folder);
    assert_refused(&output, 1, &["completed no frame"]);
    for said in said {
        assert!(stderr(&output).contains(said), "{said}: {}", stderr(&output));
    }
}

#[test]
fn an_image_that_claims_more_than_a_camera_has_is_a_frame_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    fs::create_dir(&images).unwrap();
    fs::write(images.join("a.png"), png(16_384, 16_384)).unwrap();
    // A JPEG of a few hundred bytes, whose header says as much as a camera may have and its data cannot hold.
    let mut jpeg = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images/grey.jpg")).unwrap();
    let header = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    jpeg[header + 5..header + 9].copy_from_slice(&[0x1F, 0x40, 0x1F, 0x40]);
    fs::write(images.join("b.jpg"), jpeg).unwrap();
    // Nothing is read of a file that no image fills.
    let long = fs::File::create(images.join("c.jpg")).unwrap();
    long.set_len(3 << 30).unwrap();
    frames_fail(
        folder.path(),
        "builtin:camera",
        &format!("Images({images:?})"),
        &[
            "a.png: the image is 16384 × 16384, more than 64 megapixels",
            "b.jpg: the JPEG claims 8000 × 8000 pixels",
            "c.jpg: the file has 3221225472 bytes",
        ],
    );
    // Whoever means it says so; of this one the decoder then misses the rest.
    fs::remove_file(images.join("b.jpg")).unwrap();
    fs::remove_file(images.join("c.jpg")).unwrap();
    fs::write(images.join("a.png"), png(300, 4000)).unwrap();
    let small = format!("Images(path: {images:?}, max_megapixels: 1)");
    frames_fail(
        folder.path(),
        "builtin:camera",
        &small,
        &["more than 1 megapixels"],
    );
    let large = format!("Images(path: {images:?}, max_megapixels: 2)");
    frames_fail(
        folder.path(),
        "builtin:camera",
        &large,
        &["a.png: the image cannot be decoded"],
    );
}

#[test]
fn a_sweep_that_is_longer_than_a_lidar_makes_is_a_frame_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps");
    fs::create_dir(&sweeps).unwrap();
    for name in ["a.bin", "b.pcd"] {
        let long = fs::File::create(sweeps.join(name)).unwrap();
        long.set_len(3 << 30).unwrap();
    }
    frames_fail(
        folder.path(),
        "builtin:lidar",
        &format!("Points({sweeps:?})"),
        &[
            "a.bin: the file has 3221225472 bytes, but one sweep has at most 64000000",
            "b.pcd: the file has 3221225472 bytes",
            "max_points",
        ],
    );
}

/// So many tenants that do nothing. The run ends once each has done it, however long a busy machine takes to get to all of them.
fn tenants(folder: &Path, count: usize) -> String {
    let tenants: String = (0..count)
        .map(|n| format!("Tenant(name: \"t{n}\", backend: Null, arrival: Periodic(hz: 1), frames: 1),"))
        .collect();
    scenario(
        folder,
        &format!("Scenario(name: \"t\", duration: \"60s\", warmup: \"0s\", tenants: [{tenants}])"),
    )
}

#[test]
fn tenants_are_as_many_as_a_run_has_memory_for() {
    let folder = tempfile::tempdir().unwrap();
    let many = tenants(folder.path(), 1000);
    let said = ["the number of `tenants`", "is 1000, and must be at most 256"];
    assert_refused(&run_within(4, &["run", &many], folder.path()), 2, &said);
    let most = tenants(folder.path(), 256);
    let output = run_within(4, &["run", &most], folder.path());
    let code = output.status.code();
    assert!(code == Some(0), "{code:?}: {}", stderr(&output));
}

#[test]
fn a_small_stack_is_enough_and_few_addresses_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = tenants(folder.path(), 2);
    let within = |limit: &str| {
        Command::new("sh")
            .args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_jetlag"))
            .args(["run", &path, "--quiet"])
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    for kib in [64, 128, 256, 512] {
        let output = within(&format!("-s {kib}"));
        assert_eq!(
            (output.status.code(), stderr(&output).contains("error")),
            (Some(0), false),
            "{kib}: {}",
            stderr(&output)
        );
    }
    let few = within(&format!("-v {}", 400 << 10));
    assert!(
        stderr(&few).contains("may address 400 MiB (ulimit -v)"),
        "{}",
        stderr(&few)
    );
}

/// Networks take more than that, or as much: what finds no memory ends the program by a sentence, and what needs none goes on.
#[test]
fn where_addresses_are_few_the_program_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for mib in [90, 130, 300] {
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -v {}; exec \"$@\"", mib << 10), "sh"])
            .arg(env!("CARGO_BIN_EXE_jetlag"))
            .args([
                "demo",
                "--duration",
                "1s",
                "--quiet",
                "--out",
                "x.mcap",
                "--force",
            ])
            .current_dir(folder.path())
            .env_remove("MALLOC_ARENA_MAX")
            .output()
            .unwrap();
        let said = stderr(&output);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 3)) || matches!(code, Some(1 | 2)) && said.contains("error: "),
            "{mib} MiB: {:?}: {said}",
            output.status
        );
        // With one arena there is enough.
        assert!(mib < 300 || matches!(code, Some(0 | 3)), "{mib} MiB: {said}");
    }
}

#[test]
fn a_matrix_of_more_turns_than_a_run_has_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let with = |count: usize, fields: &str| {
        let tenants: String = (0..count)
            .map(|n| {
                format!("Tenant(name: \"t{n}\", backend: Sim(Fixed(\"1ms\")), arrival: Periodic(hz: 10)),")
            })
            .collect();
        let text =
            format!("Scenario(name: \"m\", duration: \"1s\", clock: Virtual, {fields} tenants: [{tenants}])");
        scenario(folder.path(), &text)
    };
    let many = "matrix: (sharing: [Streams, SingleStream, Priority]),";
    for (count, fields, options, turns) in [
        (256, many, &["--dry-run"][..], "197382 turns"),
        (256, "", &["--dry-run", "--matrix"], "65794 turns"),
    ] {
        let path = with(count, fields);
        let arguments = [&["run", &path], options].concat();
        let said = [turns, "60000 at most", "leave tenants or ways of sharing out"];
        assert_refused(&run_within(4, &arguments, folder.path()), 2, &said);
    }
    // As many as fit are planned.
    let path = with(244, "");
    let output = run_within(4, &["run", &path, "--dry-run", "--matrix"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A run file, cut off before its end, with a record of its own there.
fn with_record(folder: &Path, record: &[u8]) -> String {
    if !folder.join("whole.mcap").exists() {
        let path = tenants(folder, 1);
        let output = run_within(4, &["run", &path, "--out", "whole.mcap"], folder);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let whole = fs::read(folder.join("whole.mcap")).unwrap();
    // Magic, header, and the manifest: what comes before the first chunk.
    let mut at = 8;
    while whole[at] != 6 {
        let length = u64::from_le_bytes(whole[at + 1..at + 9].try_into().unwrap());
        at += 9 + length as usize;
    }
    let path = folder.join("hostile.mcap");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(&whole[..at]).unwrap();
    file.write_all(record).unwrap();
    path.display().to_string()
}

#[test]
fn records_of_a_run_file_take_no_more_than_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let record = |opcode: u8, body: &[u8]| [&[opcode][..], &(body.len() as u64).to_le_bytes(), body].concat();
    let chunk = |uncompressed: u64, compression: &str, content: &[u8]| {
        let body = [
            &[0; 16][..],
            &uncompressed.to_le_bytes(),
            &crc32fast::hash(content).to_le_bytes(),
            &(compression.len() as u32).to_le_bytes(),
            compression.as_bytes(),
            &(content.len() as u64).to_le_bytes(),
            content,
        ]
        .concat();
        record(6, &body)
    };
    // Schemas and channels lie in chunks.
    let within = |record: Vec<u8>| chunk(record.len() as u64, "", &record);
    // 8 GB of zeros, in 16 bytes for each 128 KiB of them.
    let block = [[0x02, 0x00, 0x10, 0x00]; 65_536].concat();
    let bomb = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58][..], &block].concat();
    let claims = [&[0; 4][..], &u32::MAX.to_le_bytes(), b"topic"].concat();
    for (hostile, said) in [
        (chunk(8 << 30, "zstd", &bomb), "claims 8589934592 bytes"),
        (chunk(1 << 20, "zstd", &bomb), "cannot be decompressed"),
        (chunk(8 << 30, "lz4", &[0; 64]), "claims 8589934592 bytes"),
        (chunk(64, "lz4", &[0; 64]), "compressed by `lz4`"),
        (
            [&[6][..], &u64::MAX.to_le_bytes()].concat(),
            "claims 18446744073709551615 bytes",
        ),
        (within(record(4, &claims)), "is shorter than its fields"),
        (
            within(record(3, &[&[0; 2][..], &u32::MAX.to_le_bytes()].concat())),
            "is shorter than its fields",
        ),
    ] {
        let file = with_record(folder.path(), &hostile);
        let output = run_within(1, &["report", &file], folder.path());
        // Lines are broken anywhere.
        let told = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{said}: {:?} {told}", output.status);
        assert!(output.status.code().is_some(), "{said}: {:?}", output.status);
    }
}
