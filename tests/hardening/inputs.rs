//! Everything that jetlag reads and did not write itself, as functions of bytes: none may panic, hang, or take memory without
//! end, whatever the bytes are. Fuzzed by scripts/hardening/fuzz.sh; a little with the tests.

use std::path::Path;

use jetlag::analysis::{Summarizer, cvcuda, trtexec};
use jetlag::backend::NetworkSource;
use jetlag::detector::Carry;
use jetlag::detector::spec::{self, DetectorSpec};
use jetlag::record::{RunReader, wire};
use jetlag::source::images::decode_image_of;
use jetlag::source::{Content, Frame, Image, Source, points};
use jetlag::tensor::{ElementType, HostTensor, Shape, TensorSet};

type Read = fn(&[u8]);

/// By name: what reads them.
pub(crate) const INPUTS: [(&str, Read); 24] = [
    ("run_file", run_file),
    ("messages", messages),
    ("scenario", scenario),
    ("spec", specs),
    ("heads", heads),
    ("coco", coco_annotations),
    ("kitti", kitti_labels),
    ("tracklets", tracklets),
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
    ("video", videos),
    ("counters", counters),
    ("journal", journals),
    ("table", tables),
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
    const HEAD: &[u8] = include_bytes!("../records/run.mcap");
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

fn specs(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = spec::from_str(text, "x.ron", Path::new("/nowhere"), &|_| None);
}

/// Outputs of a detector's network: a spec, then a line for each output (`out f32 1x12x6`), each behind a zero; the rest is what the
/// outputs hold, again and again.
fn heads(bytes: &[u8]) {
    let _ = decoded(bytes);
}

/// Whether the spec is one, and its head reads the outputs.
pub(crate) fn decoded(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let text = |part: Option<&'_ [u8]>| {
        std::str::from_utf8(part.unwrap_or_default())
            .unwrap_or("")
            .to_owned()
    };
    let (written, outputs) = (text(parts.next()), text(parts.next()));
    let values = parts.next().unwrap_or_default();
    let Ok(spec) = spec::read(&written, "x.ron") else {
        return false;
    };
    // A spec may ask for gigabytes; what it gets is not what is looked for here.
    const MOST: usize = 1 << 16;
    let is_small = match &spec {
        DetectorSpec::Camera(of) => of.input.width * of.input.height <= MOST,
        DetectorSpec::Lidar(of) => {
            let [across, down] = of.grid().cells.map(|cells| cells as usize);
            let points = of.max_pillars as usize * of.max_points as usize;
            across * down <= MOST && points <= MOST && of.cameras.is_none()
        }
        DetectorSpec::Network(_) => false,
    };
    let network = |name: &str| {
        (!name.is_empty()).then(|| NetworkSource::Embedded {
            name: "network",
            bytes: std::sync::Arc::from([]),
        })
    };
    let made = is_small.then(|| spec::from_str(&written, "x.ron", Path::new("/nowhere"), &network));
    let Some(Ok(mut detector)) = made else {
        return false;
    };
    let mut tensors = TensorSet::default();
    for tensor in outputs
        .lines()
        .take(16)
        .filter_map(|line| output(line, values, MOST))
    {
        tensors.push(tensor);
    }
    let mut carry = Carry::default();
    let mut inputs = TensorSet::default();
    for of in &detector.program.host_tensors {
        if of.max_shape.len() <= 3 * MOST {
            inputs.push(HostTensor::zeroed(of.name.clone(), of.element, of.max_shape));
        }
    }
    let side = |at: usize| 1 + usize::from(values.get(at).copied().unwrap_or(7));
    let (width, height) = (side(0), side(1));
    let frame = Frame {
        content: Content::Image(Image {
            width,
            height,
            rgb: vec![99; width * height * 3],
        }),
        ..Frame::default()
    };
    let _ = detector.preprocess.run(&frame, &mut inputs, &mut carry);
    let mut found = Vec::new();
    let is_read = detector.postprocess.run(&tensors, &carry, &mut found).is_ok();
    assert!(
        !is_read
            || found
                .iter()
                .all(|of| usize::from(of.class) < detector.classes.len())
    );
    is_read
}

/// An output as a line says it, of so many elements at most, filled with these bytes.
fn output(line: &str, values: &[u8], most: usize) -> Option<HostTensor> {
    let mut words = line.split_whitespace();
    let (name, element, dims) = (words.next()?, words.next()?, words.next()?);
    let element = match element {
        "f32" => ElementType::F32,
        "f16" => ElementType::F16,
        "i32" => ElementType::I32,
        "i64" => ElementType::I64,
        _ => ElementType::U8,
    };
    let dims: Option<Vec<usize>> = dims.split('x').map(|extent| extent.parse().ok()).collect();
    let shape = Shape::new(&dims?)?;
    if shape.len() > most {
        return None;
    }
    let mut tensor = HostTensor::zeroed(name, element, shape);
    let all = values.iter().cycle();
    for (byte, value) in tensor.bytes_mut().iter_mut().zip(all) {
        *byte = *value;
    }
    Some(tensor)
}

/// What COCO's datasets say of their images, scored as if all of it had been found.
fn coco_annotations(bytes: &[u8]) {
    use jetlag_score::coco::{Annotations, Coco, Found, Image};
    use jetlag_score::report::{Mode, Scores};
    let Ok(read) = Annotations::read(bytes) else {
        return;
    };
    let found = |truth: &jetlag_score::coco::Truth| Found {
        class: truth.class,
        bbox: truth.bbox,
        score: truth.area,
    };
    let images: Vec<Image> = read
        .truths
        .into_values()
        .map(|truths| Image {
            found: truths.iter().map(found).collect(),
            truths,
        })
        .collect();
    let names: Vec<String> = read.categories.into_iter().map(|(_, name)| name).collect();
    if let Ok(coco) = Coco::new(&names, &images) {
        let _ = Scores::plain(&coco, Mode::Still).section("camera");
    }
}

/// A frame's labels and its calibration, with a zero between them.
fn kitti_labels(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let paths = ["label.txt", "calib.txt"].map(|name| folder().join(name));
    for path in &paths {
        std::fs::write(path, parts.next().unwrap_or_default()).expect("a file");
    }
    let Ok(labels) = jetlag::source::kitti::read_labels(&paths[0], &paths[1]) else {
        return;
    };
    for label in labels {
        let _ = label.counts_for_camera();
    }
}

/// The annotated objects of a raw drive.
fn tracklets(bytes: &[u8]) {
    let path = folder().join("tracklet_labels.xml");
    std::fs::write(&path, bytes).expect("a file");
    if let Ok(all) = jetlag_datasets::kitti::Tracklets::read(&path) {
        (0..20).for_each(|frame| all.at(frame).for_each(drop));
    }
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

/// What ffmpeg writes of a video, or anything else that was named in its place.
fn videos(bytes: &[u8]) {
    use jetlag_video::{Colours, Frames, Launch, Layout, Matrix, Range, Reading};
    let path = folder().join("x.nut");
    std::fs::write(&path, bytes).expect("a file");
    let colours = Colours {
        range: Range::Limited,
        matrix: Matrix::Bt601,
    };
    let reading = Reading {
        most_pixels: 1 << 16,
        ..Reading::default()
    };
    let launch = Launch::of("cat").with([path]);
    let mut frames = Frames::start(&launch, None, Layout::NutOf(colours), &reading).expect("a program");
    let mut rgb = Vec::new();
    while let Ok(Some(shown)) = frames.next(&mut rgb) {
        assert_eq!(rgb.len(), shown.size.bytes());
    }
}

/// A table of Nsight Compute's, and the counts that are taken from it.
fn counters(bytes: &[u8]) {
    use jetlag::analysis::counters::{Asked, complaint, is_table, measurement, read};
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = (is_table(text), complaint(text));
    if let Ok(table) = read(text) {
        let _ = measurement(&table, &Asked::default());
    }
}

/// A sweep's journal: as it is, and with checksums that fit.
fn journals(bytes: &[u8]) {
    use jetlag_sweep::journal::Journal;
    use jetlag_sweep::table::write_csv;
    use jetlag_sweep::{Table, write_page};
    const MIDDLE: &[u8] = b",\"entry\":";
    let mut fitting = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let at = line.windows(MIDDLE.len()).position(|part| part == MIDDLE);
        let entry = at.and_then(|at| line[at + MIDDLE.len()..].strip_suffix(b"}\n"));
        match entry {
            Some(entry) => {
                fitting.extend(format!("{{\"crc32\":{},\"entry\":", crc32fast::hash(entry)).bytes());
                fitting.extend_from_slice(entry);
                fitting.extend(b"}\n");
            }
            None => fitting.extend_from_slice(line),
        }
    }
    for text in [bytes, &fitting] {
        let journal = Journal::read(text).expect("bytes can be read");
        let Some(header) = &journal.header else { continue };
        let table = match (&header.knee, header.plan.points()) {
            (Some(knee), _) => Table::of_search(header, &knee.path, &journal),
            (None, Ok(points)) => Table::of(header, &points, &journal),
            (None, Err(_)) => continue,
        };
        let _ = write_csv(&table, std::io::sink());
        let _ = write_page(&table, std::io::sink());
        let _ = table.points_of_changed_networks();
    }
}

/// A sweep's table as CSV, and the points that no other beats.
fn tables(bytes: &[u8]) {
    use jetlag_sweep::pareto::{metrics, out, standings};
    if let Ok(table) = jetlag_sweep::table::read_csv(bytes) {
        let points = table.points();
        if let Ok(metrics) = metrics("a.response.p99,a.miss_rate", &table) {
            let _ = out(&standings(&points, &metrics));
        }
        let _ = jetlag_sweep::write_page(&table, std::io::sink());
        let mut written = Vec::new();
        let _ = jetlag_sweep::table::write_csv(&table, &mut written);
    }
}
