//! Every mistake gives one clear error with the library's own words, an exit code, and no half-written file.

use std::path::Path;
use std::process::Command;

use nvidia_doubles::c_library_of;

use super::{CAMERA, assert_refused, both, build, files, jetlag, plans, rtx};

#[test]
fn without_a_library_every_place_is_named_and_how_to_install_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = build(
        Path::new("/nowhere"),
        folder.path(),
        &[CAMERA, "--compute-capability", "89"],
    );
    let phrases = [
        "no TensorRT that can be used was found",
        "/nowhere (from JETLAG_TENSORRT): no such folder",
        "tensorrt_rtx_libs",
        "apt install",
        "pip install",
        "--tensorrt DIR",
    ];
    assert_refused(&output, 1, &phrases);
    // The option wins over the variable.
    let output = build(
        Path::new("/nowhere"),
        folder.path(),
        &[CAMERA, "--tensorrt", "/elsewhere"],
    );
    assert_refused(&output, 1, &["/elsewhere (from --tensorrt)"]);
}

/// Where nothing is mounted onto them, a container's places for the host's libraries are empty files, also on the loader's path.
#[test]
fn an_empty_file_that_the_loader_finds_by_name_is_no_library_that_was_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libnvinfer.so.10", "libnvinfer.so.8"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let mut command = jetlag(folder.path(), folder.path());
    command.env_remove("JETLAG_TENSORRT");
    let output = command
        .env("LD_LIBRARY_PATH", folder.path())
        .args(["build", CAMERA, "--compute-capability", "89"])
        .output()
        .unwrap();
    // With a TensorRT of the machine's own the build may even succeed.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !said.contains("unusable") && !said.contains("too short"),
        "{said}"
    );
}

#[test]
fn another_library_under_tensorrts_name_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join("libnvinfer.so.10");
    c_library_of(&fake, "int something_else(void) { return 1; }\n").unwrap();
    let output = build(
        folder.path(),
        folder.path(),
        &[CAMERA, "--compute-capability", "89"],
    );
    assert_refused(
        &output,
        1,
        &["libnvinfer.so.10 is not a TensorRT library", "getInferLibVersion"],
    );
    std::fs::write(&fake, b"not even a library").unwrap();
    let output = build(
        folder.path(),
        folder.path(),
        &[CAMERA, "--compute-capability", "89"],
    );
    assert_refused(&output, 1, &["cannot load", "libnvinfer.so.10"]);
}

#[test]
fn a_library_of_an_unknown_version_is_refused_before_anything_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for (number, phrase) in [
        ("120000", "a newer build is needed"),
        ("8403", "before 8.5"),
        ("20100", "a newer build"),
        ("-7", "not a TensorRT version"),
    ] {
        // Any call but the version would end the process.
        let text = format!(
            "#include <stdlib.h>\nint getInferLibVersion(void) {{ return {number}; }}\n\
             void *createInferBuilder_INTERNAL(void *l, int v) {{ abort(); }}\n\
             void *createInferRuntime_INTERNAL(void *l, int v) {{ abort(); }}\n"
        );
        let library = folder
            .path()
            .join(format!("libnvinfer.so.{}", number.trim_start_matches('-')));
        c_library_of(&library, &text).unwrap();
        let output = build(&library, folder.path(), &[CAMERA, "--compute-capability", "89"]);
        assert_refused(&output, 1, &[&format!("says version {number}"), phrase]);
    }
}

#[test]
fn networks_that_are_none_give_the_reason_and_the_place() {
    for library in both() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let good = std::fs::read(CAMERA).unwrap();
        let network = folder.path().join("bad.onnx");
        let args = [network.to_str().unwrap(), "--compute-capability", "89"];

        std::fs::write(&network, &good[..good.len() / 2]).unwrap();
        assert_refused(
            &build(&library, &cache, &args),
            2,
            &["bad.onnx is incomplete or damaged"],
        );

        // What would set 29 GB aside, and graphs within graphs: the parser never has them.
        let name = [&[0x1a, 0x80, 0x80, 0x80, 0x80, 0x74][..], b"name"].concat();
        std::fs::write(&network, within(7, &within(1, &name))).unwrap();
        let refused = [
            "bad.onnx is incomplete or damaged",
            "a node claims 31138512896 bytes",
        ];
        assert_refused(&build(&library, &cache, &args), 2, &refused);
        let nested = (0..20_000).fold(Vec::new(), |graph, _| within(1, &within(5, &within(6, &graph))));
        std::fs::write(&network, within(7, &nested)).unwrap();
        assert_refused(&build(&library, &cache, &args), 2, &["more than 100 deep"]);

        std::fs::write(&network, b"").unwrap();
        assert_refused(&build(&library, &cache, &args), 2, &["bad.onnx"]);

        let frob = String::from_utf8_lossy(b"Frob").into_owned();
        std::fs::write(&network, renamed(&good, b"Conv", frob.as_bytes())).unwrap();
        assert_refused(
            &build(&library, &cache, &args),
            1,
            &["bad.onnx was not accepted by TensorRT's ONNX parser", "(Frob)"],
        );

        let absent = [folder.path().join("absent.onnx").display().to_string()];
        assert_refused(
            &build(&library, &cache, &[&absent[0]]),
            2,
            &["absent.onnx", "No such file"],
        );
        assert_refused(
            &build(&library, &cache, &["network.pb"]),
            2,
            &["network.pb", ".onnx"],
        );
        assert!(
            files(&cache).iter().all(|name| name.ends_with(".lock")),
            "{:?}",
            files(&cache)
        );
    }
}

/// A field of protobuf with a length.
fn within(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

fn renamed(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len() - from.len())
        .filter(|at| &bytes[*at..at + from.len()] == from)
        .collect();
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn weights_in_a_file_that_is_not_there_are_named() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("external.onnx");
    std::fs::write(&network, with_external_data()).unwrap();
    let args = [network.to_str().unwrap(), "--compute-capability", "89"];
    let output = build(&library, folder.path(), &args);
    assert_refused(
        &output,
        2,
        &[
            "external.onnx",
            "weights.bin",
            "put that file next to the network",
        ],
    );
    std::fs::write(folder.path().join("weights.bin"), [0_u8; 8]).unwrap();
    let first = plans(&build(&library, folder.path(), &args));
    assert_eq!(
        first[0]["manifest"]["network"]["bytes"],
        std::fs::metadata(&network).unwrap().len() + 8
    );
    // Other weights are another network.
    std::fs::write(folder.path().join("weights.bin"), [1_u8; 8]).unwrap();
    let second = plans(&build(&library, folder.path(), &args));
    assert_eq!(second[0]["was_cached"], false);
    assert_ne!(first[0]["file"], second[0]["file"]);
}

/// y = x + w with w (two floats) in weights.bin, as protobuf written by hand.
fn with_external_data() -> Vec<u8> {
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend(bytes);
        out
    }
    fn value(number: u8, value: u8) -> Vec<u8> {
        vec![number << 3, value]
    }
    let entry = |key: &str, value: &str| {
        field(
            13,
            &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat(),
        )
    };
    let weights = [
        value(1, 2),
        value(2, 1),
        field(8, b"w"),
        entry("location", "weights.bin"),
        entry("offset", "0"),
        entry("length", "8"),
        value(14, 1),
    ]
    .concat();
    let shape = field(2, &field(1, &value(1, 2)));
    let tensor_type = field(1, &[value(1, 1), shape].concat());
    let port = |name: &str| [field(1, name.as_bytes()), field(2, &tensor_type)].concat();
    let node = [
        field(1, b"x"),
        field(1, b"w"),
        field(2, b"y"),
        field(3, b"add"),
        field(4, b"Add"),
    ]
    .concat();
    let graph = [
        field(1, &node),
        field(2, b"g"),
        field(5, &weights),
        field(11, &port("x")),
        field(12, &port("y")),
    ]
    .concat();
    let opset = field(8, &[field(1, b""), value(2, 17)].concat());
    [value(1, 8), field(7, &graph), opset].concat()
}

#[test]
fn impossible_options_are_refused_all_at_once_before_anything_is_built() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let shapes = [
        "--min-shapes",
        "images:2x3x384x640",
        "--max-shapes",
        "images:1x3x384x640",
    ];
    let args: Vec<&str> = [
        CAMERA,
        "--compute-capability",
        "87",
        "--precision",
        "fp16",
        "--dla-core",
        "0",
    ]
    .into_iter()
    .chain(shapes)
    .collect();
    let phrases = [
        "not in order",
        "takes precisions from the network alone",
        "does not support DLA",
        "compute capability 8.7",
    ];
    assert_refused(&build(&library, folder.path(), &args), 2, &phrases);

    let int8 = [CAMERA, "--compute-capability", "89", "--precision", "int8"];
    assert_refused(&build(&library, folder.path(), &int8), 2, &["no Q/DQ nodes"]);
    let wrong_shape = [
        CAMERA,
        "--compute-capability",
        "89",
        "--opt-shapes",
        "images:1x3x7x7",
    ];
    assert_refused(
        &build(&library, folder.path(), &wrong_shape),
        2,
        &["does not fit the network's [1, 3, 384, 640]"],
    );
    let unknown = [
        CAMERA,
        "--compute-capability",
        "89",
        "--opt-shapes",
        "imagse:1x3x384x640",
    ];
    assert_refused(
        &build(&library, folder.path(), &unknown),
        2,
        &["`imagse`", "the network's inputs are images"],
    );
    let encoder = CAMERA.replace("camera", "lidar_encoder");
    let dynamic = [encoder.as_str(), "--compute-capability", "89"];
    assert_refused(
        &build(&library, folder.path(), &dynamic),
        2,
        &["`pillar_points`", "is dynamic", "--min-shapes"],
    );
    let no_unit = [CAMERA, "--mem-pool-size", "workspace:1"];
    assert_refused(&build(&library, folder.path(), &no_unit), 2, &["workspace:1"]);
    let dla_pool = [
        CAMERA,
        "--compute-capability",
        "89",
        "--mem-pool-size",
        "dlaSRAM:1MiB",
    ];
    assert_refused(
        &build(&library, folder.path(), &dla_pool),
        2,
        &["dlaSRAM is only for DLA builds"],
    );
    let timings = [CAMERA, "--compute-capability", "89", "--timing-cache", "timings"];
    assert_refused(&build(&library, folder.path(), &timings), 2, &["no timing cache"]);
    let detector = [
        "engines/camera.ron",
        "--compute-capability",
        "89",
        "--opt-shapes",
        "nonsense:1x2",
    ];
    assert_refused(
        &build(&library, folder.path(), &detector),
        2,
        &["`nonsense`", "the network's inputs are images"],
    );
    let bare = [CAMERA, "--precision", "int8", "--calibrate", "synthetic"];
    assert_refused(
        &build(&library, folder.path(), &bare),
        2,
        &["name the detector spec"],
    );
    assert!(
        files(folder.path()).iter().all(|name| name.ends_with(".lock")),
        "{:?}",
        files(folder.path())
    );
}

#[test]
fn a_full_disk_is_said_and_nothing_half_written_stays() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("camera.plan");
    // A limit on file sizes fails the write as a full disk does; the signal that comes with it is ignored.
    let command = format!(
        "trap '' XFSZ; ulimit -f 200; exec {} build {CAMERA} --compute-capability 89 -o {} --quiet",
        env!("CARGO_BIN_EXE_jetlag"),
        plan.display()
    );
    let output = Command::new("bash")
        .args(["-c", &command])
        .env("JETLAG_TENSORRT", &library)
        .env("JETLAG_CACHE", folder.path().join("cache"))
        .output()
        .unwrap();
    assert_refused(&output, 1, &["cannot write", ".plan"]);
    assert!(!plan.exists());
    let left = files(&folder.path().join("cache"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}

#[test]
fn a_plan_that_is_damaged_or_no_plan_is_told_in_words() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("camera.plan");
    plans(&build(
        &library,
        folder.path(),
        &[CAMERA, "--compute-capability", "89", "-o", plan.to_str().unwrap()],
    ));
    let mut bytes = std::fs::read(&plan).unwrap();
    bytes.truncate(1000);
    std::fs::write(&plan, &bytes).unwrap();
    let inspect = || {
        jetlag(&library, folder.path())
            .arg("inspect")
            .arg(&plan)
            .output()
            .unwrap()
    };
    let output = inspect();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("does not match its manifest, so it is damaged"),
        "{text}"
    );
    std::fs::remove_file(folder.path().join("camera.plan.json")).unwrap();
    let output = inspect();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("the plan has no manifest") && text.contains("not loaded"),
        "{text}"
    );
}
