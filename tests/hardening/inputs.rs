//! Everything that jetlag reads and did not write itself, as functions of bytes: none may panic, hang, or take memory without
//! end, whatever the bytes are. Fuzzed by scripts/hardening/fuzz.sh; a little with the tests.

use std::path::Path;

use jetlag::analysis::{Summarizer, cvcuda, trtexec};
use jetlag::record::{RunReader, wire};
use jetlag::source::images::decode_image_of;
use jetlag::source::{Frame, Image, Source, points};

type Read = fn(&[u8]);

/// By name: what reads them.
pub(crate) const INPUTS: [(&str, Read); 16] = [
    ("run_file", run_file),
    ("messages", messages),
    ("scenario", scenario),
    ("spec", spec),
    ("onnx", onnx),
    ("plan_manifest", plan_manifest),
    ("tegrastats", tegrastats),
    ("images", images),
    ("points", point_files),
    ("trtexec", trtexec_times),
    ("cvcuda", cvcuda_files),
    ("board", board),
    ("deploy", deploy),
    ("wire", processes),
    ("activity", activity),
    ("spool", spools),
];

/// A folder for those that are read from files.
fn folder() -> &'static Path {
    static FOLDER: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    FOLDER
        .get_or_init(|| tempfile::tempdir().expect("a folder"))
        .path()
}

/// Reads it, and sums up what there is.
fn run_file(bytes: &[u8]) {
    let Ok(mut reader) = RunReader::over(bytes, bytes.len() as u64, Path::new("x.mcap")) else {
        return;
    };
    let mut summarizer = Summarizer::new(reader.manifest());
    for event in reader.by_ref().map_while(Result::ok) {
        summarizer.push(&event);
    }
    let summary = summarizer.finish(None);
    let _ = jetlag::report::text::write(&summary, &mut std::io::sink(), &Default::default());
}

/// The content of a chunk whose checksum is right: behind what every damage is caught by.
fn messages(bytes: &[u8]) {
    const HEAD: &[u8] = include_bytes!("../records/v1.6.mcap");
    // The header and the manifest of a whole file, then this chunk.
    let mut at = 8;
    while HEAD[at] != 6 {
        let length: [u8; 8] = HEAD[at + 1..at + 9].try_into().expect("eight bytes");
        at += 9 + u64::from_le_bytes(length) as usize;
    }
    let mut file = HEAD[..at].to_vec();
    let size = (bytes.len() as u64).to_le_bytes();
    file.push(6);
    file.extend((40 + bytes.len() as u64).to_le_bytes());
    file.extend([0; 16]);
    file.extend(size);
    file.extend(crc32fast::hash(bytes).to_le_bytes());
    file.extend([0; 4]);
    file.extend(size);
    file.extend(bytes);
    run_file(&file);
}

fn scenario(bytes: &[u8]) {
    use jetlag::scenario::{ResolveEnv, from_str};
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // The last lines are overrides.
    let (text, sets) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let sets: Vec<String> = sets.lines().map(str::to_owned).collect();
    let _ = from_str(
        text,
        "x.ron",
        Path::new(""),
        &sets,
        &ResolveEnv::of_this_machine(),
    );
}

fn spec(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = jetlag::detector::spec::from_str(text, "x.ron", Path::new("/nowhere"), &|_| None);
}

fn onnx(bytes: &[u8]) {
    let _ = jetlag::engine::network::facts(bytes);
}

fn plan_manifest(bytes: &[u8]) {
    let plan = folder().join("x.plan");
    let path = jetlag::engine::manifest::path_of(&plan);
    std::fs::write(path, bytes).expect("a file");
    let _ = jetlag::engine::manifest::read(&plan);
}

fn tegrastats(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for line in text.lines() {
        let _ = tegrastats_parser::parse_line(line);
    }
}

fn images(bytes: &[u8]) {
    let mut image = Image::default();
    let _ = decode_image_of(bytes, &mut image, 1 << 16);
}

/// The first byte says which kind of file.
fn point_files(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else {
        return;
    };
    let folder = folder().join("points");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a folder");
    let name = if kind & 1 == 0 { "x.bin" } else { "x.pcd" };
    std::fs::write(folder.join(name), content).expect("a file");
    let listed = points::open(&folder, false, Default::default(), 10_000);
    let Ok(mut source) = listed.and_then(|listed| listed.read(Default::default())) else {
        return;
    };
    let mut frame = Frame::default();
    if source.acquire(&mut frame).is_ok_and(|more| more) {
        let _ = source.decode(&mut frame);
    }
}

fn trtexec_times(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = trtexec::of_times(text, trtexec::Version::Trtexec10);
}

fn cvcuda_files(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match cvcuda::read(text) {
        Ok(cvcuda::Input::One { recording, warmup }) => {
            let _ = cvcuda::expand(&recording, warmup.unwrap_or(1));
        }
        Ok(cvcuda::Input::Several {
            processes,
            gpu_metrics,
            warmup,
            multiplier,
        }) => {
            let _ = cvcuda::mean(&processes, &gpu_metrics, warmup.unwrap_or(1), multiplier);
        }
        Err(_) => {}
    }
}

/// What a board's files say: parts of the bytes, each in a file of the kernel's.
fn board(bytes: &[u8]) {
    let root = folder().join("board");
    let files = [
        "proc/device-tree/model",
        "proc/device-tree/compatible",
        "etc/nv_tegra_release",
        "proc/cpuinfo",
        "proc/meminfo",
        "etc/nvpmodel.conf",
        "var/lib/nvpmodel/status",
        "sys/class/hwmon/hwmon1/name",
        "sys/class/hwmon/hwmon1/in1_label",
    ];
    for (file, content) in files.iter().zip(bytes.split(|byte| *byte == 0xff)) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    let _ = jetlag::board::facts(&jetlag::board::Roots::at(&root));
}

/// What a board answers, and the archive that it sends.
fn deploy(bytes: &[u8]) {
    let work = folder().join("deploy");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir(&work).expect("a folder");
    let _ = jetlag::deploy::unpack::unpack(bytes, "run", &work, jetlag::units::Bytes(1 << 20));
}

/// Records between processes.
fn processes(bytes: &[u8]) {
    let mut inbox = wire::Inbox::new(bytes);
    while let Ok(Some(_)) = inbox.receive() {}
}

/// A buffer of CUPTI's records. The first byte says what the library that wrote it states of their lengths.
fn activity(bytes: &[u8]) {
    use cupti_dyn::record::{Counts, read_buffer};
    use cupti_dyn::text::{MOST_BYTES, Names, NoTexts};
    let Some((release, buffer)) = bytes.split_first() else {
        return;
    };
    let length = |kind: cupti_dyn::Kind| {
        let row = kind.row().filter(|row| row.newest > 0);
        match release % 4 {
            0 => row.map(|row| row.oldest),
            1 => row.map(|row| row.newest),
            2 => Some(row.map_or(48, |row| row.newest + 16)),
            // Shorter than any, of no length at all, or longer than the buffer.
            _ => usize::try_from(kind.0)
                .ok()
                .map(|kind| kind.wrapping_mul(usize::from(*release))),
        }
    };
    let mut counts = Counts::default();
    let mut records = 0;
    read_buffer(buffer, length, &mut NoTexts, &mut counts, &mut |record| {
        records += 1;
        let _ = (record.kind(), record.has_lost_stamps(), format!("{record:?}"));
    });
    assert_eq!(records, counts.records);
    assert!(counts.left_bytes <= buffer.len() as u64);
    // And as the name of a kernel, whole and cut.
    let mut names = Names::default();
    names.of_bytes(buffer, false);
    names.of_bytes(&buffer[..buffer.len().min(MOST_BYTES)], true);
}

/// What a process that is traced from within passes on (`jetlag trace`), which may have died anywhere.
fn spools(bytes: &[u8]) {
    if let Ok(Some(mut found)) = jetlag_activity::spool::read(bytes, 7) {
        jetlag_activity::attribute(&mut found.gathered, Vec::new());
        let _ = found.gathered.names.definitions();
    }
}
