//! What somebody who means harm hands over: a sweep's folder, a scenario, a detector's spec, a network, a board's answers, made up at
//! random of links, pipes, devices, paths that lead out, programs and sequences that a terminal obeys. Whatever is done with it, nothing
//! outside changes, no program runs that was not allowed, every call ends by itself, and a terminal is told nothing that it obeys.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::campaign::{Campaign, Random};
use crate::deploy::hostile::Hostile;

const OWNED: &str = "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}y";
const TENANT: &str = "Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 50))";
const SWEEP: &str =
    "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.a.arrival.hz\", values: [10, 20])])";
const KNEE: [&str; 6] = [
    "--knee",
    "tenants.a.arrival.hz in 10..20",
    "--step",
    "10",
    "--while",
    "a.miss_rate < 1%",
];

/// `outside/`, in which nothing may change; `inside/`, where jetlag is started and what is hostile lies.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for folder in ["outside/deep", "inside", "temporary", "home"] {
            fs::create_dir_all(place.at(folder)).unwrap();
        }
        for file in ["keep.txt", "keep.mcap", "deep/output0.npy", "deep/keep.png"] {
            fs::write(place.at("outside").join(file), "dear\n").unwrap();
        }
        let ran = format!("#!/bin/sh\necho \"$0\" >>'{}'\n", place.at("ran").display());
        nvidia_doubles::script(&place.at("mark"), &ran);
        // Nobody looks for programs where somebody else's files are.
        for program in ["ffmpeg", "ffprobe", "ssh", "ncu", "sh", "nvidia-smi"] {
            nvidia_doubles::script(&place.at("inside").join(program), &ran);
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts what leads elsewhere into a folder, under names that [`name`] gives.
    fn lay(&self, folder: &Path) {
        for (link, to) in [
            ("link", self.at("outside/keep.txt")),
            ("broken", self.at("outside/new")),
            ("deep", self.at("outside/deep")),
            ("zero", PathBuf::from("/dev/zero")),
        ] {
            symlink(to, folder.join(link)).unwrap();
        }
        mknodat(
            CWD,
            folder.join("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
    }

    fn call(&self, arguments: &[&str]) -> Output {
        Command::new("sh")
            .current_dir(self.at("inside"))
            // In KiB. What is not done in a minute waits for something that never comes.
            .args(["-c", "ulimit -v 4194304; exec timeout -s KILL 120 \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_jetlag"))
            .args(arguments)
            .env_remove("RUST_LOG")
            .env_remove("JETLAG_ALLOW_COMMANDS")
            .env("MALLOC_ARENA_MAX", "2")
            .env("HOME", self.at("home"))
            .env("TMPDIR", self.at("temporary"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What must hold after a call, whatever it was of.
    fn assert_safe(&self, before: &Seen, arguments: &[&str], output: &Output, counted: &mut Counted) {
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let code = output.status.code();
        assert!(
            matches!(code, Some(0..=4)) && !said.contains("panicked"),
            "{arguments:?}: {:?}: {said}",
            output.status
        );
        assert!(
            !said.contains(jetlag::shown::is_obeyed),
            "{arguments:?} says {said:?}"
        );
        assert!(
            !self.at("ran").exists(),
            "{arguments:?} ran {:?}",
            fs::read_to_string(self.at("ran"))
        );
        let mut after = seen(&self.at("outside"));
        // New arrays are what a scenario may have kept, and nothing is replaced by them.
        after.retain(|path, _| before.contains_key(path) || path.extension().is_none_or(|of| of != "npy"));
        assert_eq!(&after, before, "{arguments:?}: {said}");
        counted.calls += 1;
        counted.codes[code.unwrap() as usize] += 1;
    }
}

type Seen = BTreeMap<PathBuf, Vec<u8>>;

/// All that is below a folder: files with their content, links with where they lead. No link is followed.
fn seen(folder: &Path) -> Seen {
    let mut found = Seen::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let content = match (kind.is_symlink(), kind.is_file(), kind.is_dir()) {
            (true, ..) => fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes(),
            (_, true, _) => fs::read(&path).unwrap(),
            (.., true) => {
                found.extend(seen(&path));
                b"a folder".to_vec()
            }
            _ => b"a pipe".to_vec(),
        };
        found.insert(path, content);
    }
    found
}

#[derive(Default)]
struct Counted {
    calls: u64,
    codes: [u64; 5],
}

fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

/// A name or a text in which somebody hides something; of a file in `inside/`, or of none.
fn name(place: &Place, random: &mut Random) -> String {
    let outside = place.at("outside").display().to_string();
    let mark = place.at("mark").display().to_string();
    match random.below(20) {
        0 => "../outside/keep.txt".to_owned(),
        1 => format!("{outside}/keep.txt"),
        2 => "../outside/deep".to_owned(),
        3 => format!("{outside}/new"),
        4 => "/dev/zero".to_owned(),
        5 => "/dev/stdin".to_owned(),
        6 => OWNED.to_owned(),
        7 => format!("$({mark})"),
        8 => format!("`{mark}`"),
        9 => format!("x; {mark}"),
        10 => format!("|{mark}"),
        11 => "--allow-commands".to_owned(),
        12 => format!("../outside/{OWNED}"),
        13 => "%s%n".to_owned(),
        14 => format!("concat:{outside}/keep.txt"),
        15 => String::new(),
        16 => "a/../../outside/keep.mcap".to_owned(),
        _ => one(random, &["link", "broken", "deep", "zero", "pipe"]).to_owned(),
    }
}

/// A text as RON and JSON both write it, if it has no control character but those of `\u{…}`.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if jetlag::shown::is_obeyed(c) => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Puts something in the place of a file or a folder.
fn replace(place: &Place, path: &Path, random: &mut Random) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
    let outside = place.at("outside");
    match random.below(8) {
        0 => symlink(outside.join("keep.txt"), path).unwrap(),
        1 => symlink(outside.join("deep"), path).unwrap(),
        2 => symlink(outside.join("new"), path).unwrap(),
        3 => symlink("/dev/zero", path).unwrap(),
        4 => symlink(outside.join("keep.mcap"), path).unwrap(),
        5 => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        6 => fs::create_dir(path).unwrap(),
        _ => fs::write(path, name(place, random)).unwrap(),
    }
}

/// Changes a text somewhere in a document.
fn change(value: &mut Value, place: &Place, random: &mut Random) {
    match value {
        Value::String(text) => *text = name(place, random),
        Value::Array(all) if !all.is_empty() => {
            let at = random.below(all.len());
            change(&mut all[at], place, random);
        }
        Value::Object(all) if !all.is_empty() => {
            let at = random.below(all.len());
            change(all.values_mut().nth(at).unwrap(), place, random);
        }
        _ => {}
    }
}

/// A journal in which lines were changed and given checksums that fit.
fn changed_journal(text: &str, place: &Place, random: &mut Random) -> String {
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for _ in 0..=random.below(8) {
        let at = random.below(lines.len());
        change(&mut lines[at]["entry"], place, random);
    }
    let line = |line: &Value| {
        let entry = line["entry"].to_string();
        format!(
            "{{\"crc32\":{},\"entry\":{entry}}}\n",
            crc32fast::hash(entry.as_bytes())
        )
    };
    lines.iter().map(line).collect()
}

fn sweeps(random: &mut Random, counted: &mut Counted) {
    let place = Place::new();
    let at = place.at("inside");
    fs::write(
        at.join("base.ron"),
        format!("Scenario(duration: \"1s\", warmup: \"0s\", clock: Virtual, tenants: [{TENANT}])"),
    )
    .unwrap();
    fs::write(at.join("s.ron"), SWEEP).unwrap();
    let knee = random.below(3) == 0;
    let line: Vec<&str> = match knee {
        true => [&["sweep", "base.ron"][..], &KNEE, &["-o", "sweep", "--quiet"]].concat(),
        false => vec!["sweep", "s.ron", "-o", "sweep", "--quiet"],
    };
    let made = place.call(&line);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let sweep = at.join("sweep");
    let runs: Vec<PathBuf> = fs::read_dir(sweep.join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let mut parts: Vec<PathBuf> = [
        "lock",
        "runs",
        "table.csv",
        "table.parquet",
        "index.html",
        "table.part",
    ]
    .map(|name| sweep.join(name))
    .to_vec();
    parts.extend(runs);
    if random.below(4) == 0 {
        parts.push(sweep.join("journal.jsonl"));
    }
    if random.below(3) > 0 {
        let journal = sweep.join("journal.jsonl");
        let text = changed_journal(&fs::read_to_string(&journal).unwrap(), &place, random);
        fs::write(&journal, text).unwrap();
    }
    for _ in 0..random.below(4) {
        let part = &parts[random.below(parts.len())];
        if part.parent().is_some_and(Path::is_dir) {
            replace(&place, part, random);
        }
    }
    let before = seen(&place.at("outside"));
    let shown = seen(&sweep);
    for show in [
        vec!["sweep", "sweep"],
        vec!["sweep", "sweep", "--format", "csv"],
        vec!["sweep", "sweep", "--format", "json"],
        vec!["sweep", "sweep", "--pareto", "response.p99,miss_rate"],
        vec![
            "sweep",
            "sweep",
            KNEE[0],
            "tenants.a.arrival.hz",
            KNEE[4],
            KNEE[5],
        ],
    ] {
        let output = place.call(&show);
        place.assert_safe(&before, &show, &output, counted);
        assert_eq!(seen(&sweep), shown, "{show:?} writes nothing");
    }
    for line in [line, vec!["sweep", "s.ron", "-o", "sweep", "--extend"]] {
        let output = place.call(&line);
        place.assert_safe(&before, &line, &output, counted);
    }
}

/// A source that leads elsewhere or starts something.
fn source(place: &Place, random: &mut Random) -> String {
    let path = quoted(&name(place, random));
    let mark = quoted(&place.at("mark").display().to_string());
    match random.below(12) {
        0 => format!("Camera(command: [{mark}], size: \"8x8\")"),
        1 => format!("Video(path: {path}, command: [{mark}, {path}])"),
        2 => format!("Camera(device: {path}, size: \"8x8\", hz: 30)"),
        3 | 4 => format!("Video(path: {path})"),
        5 => format!("Images({path})"),
        6 => format!("Points({path})"),
        7 => format!("Bag(path: {path}, topic: {path})"),
        8 => format!("NuScenes(path: {path}, sensor: {path})"),
        9 => format!("Kitti(path: {path}, layout: Object, sensor: Camera)"),
        10 => "Synthetic(Camera)".to_owned(),
        _ => "Empty".to_owned(),
    }
}

/// A tenant that somebody else wrote down.
fn tenant(place: &Place, random: &mut Random) -> String {
    // Much is as it should be, so that what is not is met behind the first check.
    let mut or = |fine: &str| match random.below(3) {
        0 => quoted(&name(place, random)),
        _ => format!("\"{fine}\""),
    };
    let [called, network, kept, file] = ["a", "net.onnx", "kept", "input.bin"].map(&mut or);
    let what = match random.below(6) {
        0 => format!("backend: Null, source: {}", source(place, random)),
        1 => format!(
            "backend: Cpu(), detector: {network}, source: {}",
            source(place, random)
        ),
        2 => format!(
            "backend: Cpu(), detector: \"spec.ron\", source: {}",
            source(place, random)
        ),
        3 => format!("backend: Cpu(), detector: Network(network: {network})"),
        4 => format!(
            "backend: Cpu(), detector: Network(network: {network}, fill: Files([{file}]), record_outputs: (keep: {kept}))"
        ),
        _ => format!(
            "backend: Cpu(), detector: Network(network: {network}, record_outputs: (keep: {kept}, reference: \"deep\"))"
        ),
    };
    format!("Tenant(name: {called}, {what}, frames: 2)")
}

/// A number of a protobuf message.
fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn field(number: usize, content: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | 2)[..], &varint(content.len()), content].concat()
}

fn int(number: usize, value: usize) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// `output0 = images + w`, with `w` in these files, whose names are given one after another; said to be used or not.
fn network(files: &[String], is_external: bool) -> Vec<u8> {
    let shape: Vec<u8> = [1, 3, 8, 8]
        .iter()
        .flat_map(|dim| field(1, &int(1, *dim)))
        .collect();
    let value = |name: &[u8]| {
        let tensor = [int(1, 1), field(2, &shape)].concat();
        [field(1, name), field(2, &field(1, &tensor))].concat()
    };
    let entry = |file: &String| field(13, &[field(1, b"location"), field(2, file.as_bytes())].concat());
    let mut weights = [int(1, 1), int(2, 1), field(8, b"w")].concat();
    weights.extend(files.iter().flat_map(entry));
    weights.extend(match is_external {
        true => int(14, 1),
        false => field(9, &[0; 4]),
    });
    let node = [
        field(1, b"images"),
        field(1, b"w"),
        field(2, b"output0"),
        field(4, b"Add"),
    ]
    .concat();
    let graph = [
        field(1, &node),
        field(2, b"g"),
        field(5, &weights),
        field(11, &value(b"images")),
        field(12, &value(b"output0")),
    ]
    .concat();
    [int(1, 8), field(7, &graph), field(8, &int(2, 17))].concat()
}

fn spec(place: &Place, random: &mut Random) -> String {
    let [of, path, class] = [0; 3].map(|_| quoted(&name(place, random)));
    let network = if random.below(2) == 0 {
        path
    } else {
        "\"net.onnx\"".to_owned()
    };
    format!(
        "Camera(name: {of}, classes: [{class}], network: {network}, input: (tensor: \"images\", width: 8, height: 8), \
         head: YoloAnchorFree(output: \"output0\"))"
    )
}

fn scenarios(random: &mut Random, counted: &mut Counted) {
    let place = Place::new();
    let at = place.at("inside");
    place.lay(&at);
    fs::write(at.join("net.onnx"), network(&[], false)).unwrap();
    fs::write(at.join("input.bin"), [0; 4 * 3 * 8 * 8]).unwrap();
    fs::write(at.join("spec.ron"), spec(&place, random)).unwrap();
    let called = match random.below(5) {
        0 => quoted(&name(&place, random)),
        _ => "\"s\"".to_owned(),
    };
    let tenants: Vec<String> = (0..=random.below(2)).map(|_| tenant(&place, random)).collect();
    let text = format!(
        "Scenario(name: {called}, duration: \"200ms\", warmup: \"0s\", sharing: {}, telemetry: (sources: [Host]), tenants: [{}])",
        one(random, &["Streams", "Processes"]),
        tenants.join(", ")
    );
    fs::write(at.join("s.ron"), text).unwrap();
    fs::write(
        at.join("sweep.ron"),
        format!(
            "Sweep(base: {}, axes: [Axis(set: \"seed\", values: [1, {}])])",
            quoted(&if random.below(4) > 0 {
                "s.ron".to_owned()
            } else {
                name(&place, random)
            }),
            if random.below(4) > 0 {
                "2".to_owned()
            } else {
                quoted(&name(&place, random))
            },
        ),
    )
    .unwrap();
    let before = seen(&place.at("outside"));
    let all = seen(&at);
    let dry = ["run", "s.ron", "--dry-run"];
    let output = place.call(&dry);
    place.assert_safe(&before, &dry, &output, counted);
    assert!(seen(&at) == all, "a dry run writes nothing");
    for line in [
        &["run", "s.ron", "--quiet"][..],
        &[
            "run",
            "s.ron",
            "--quiet",
            "--set",
            "duration=100ms",
            "--out",
            "run.mcap",
        ],
        &["sweep", "sweep.ron", "-o", "sweep", "--quiet"],
        &["compare", "--ab", "s.ron", "s.ron", "--rounds", "1", "-o", "ab"],
        &["inspect", "spec.ron"],
        &["inspect", "s.ron"],
        &["report", "run.mcap"],
    ] {
        let output = place.call(line);
        place.assert_safe(&before, line, &output, counted);
    }
}

fn networks(random: &mut Random, counted: &mut Counted) {
    let place = Place::new();
    let at = place.at("inside");
    place.lay(&at);
    let files: Vec<String> = (0..1 + random.below(3)).map(|_| name(&place, random)).collect();
    let bytes = network(&files, random.below(2) == 0);
    fs::write(at.join("net.onnx"), &bytes).unwrap();
    fs::write(at.join("spec.ron"), spec(&place, random)).unwrap();
    let before = seen(&place.at("outside"));
    let tenant = "Tenant(name: \"a\", backend: Cpu(), detector: Network(network: \"net.onnx\"), frames: 2)";
    fs::write(
        at.join("s.ron"),
        format!("Scenario(duration: \"1s\", warmup: \"0s\", tenants: [{tenant}])"),
    )
    .unwrap();
    for line in [
        &["inspect", "net.onnx", "--format", "json"][..],
        &["inspect", "net.onnx"],
        &["init", "net.onnx", "--out", "new"],
        &["run", "s.ron", "--quiet"],
    ] {
        let output = place.call(line);
        place.assert_safe(&before, line, &output, counted);
        // What a network names is brought to boards, and is part of what is known of it.
        if line[1] == "net.onnx" && output.status.code() == Some(0) {
            let outside = |file: &String| file.starts_with('/') || file.contains("..");
            assert!(!files.iter().any(outside), "{files:?}");
        }
    }
}

/// What a board sends as its archive.
fn archive(board: &Hostile, random: &mut Random) -> Vec<u8> {
    let victim = board.path("victim").display().to_string();
    let mut archive = Vec::new();
    // As it should be, now and then.
    let is_good = random.below(3) == 0;
    let entries = if is_good { 1 } else { 1 + random.below(5) };
    for _ in 0..entries {
        let path = match random.below(9) {
            _ if is_good => "./run.mcap".to_owned(),
            0 => "../victim/keep.mcap".to_owned(),
            1 => format!("{victim}/keep.mcap"),
            2 => "run/../../victim/new".to_owned(),
            3 => OWNED.to_owned(),
            4 => String::new(),
            5 => "run/run.mcap/below".to_owned(),
            _ => one(random, &["run.mcap", "./run.mcap", "run.log", "run", "run/"]).to_owned(),
        };
        let link = one(
            random,
            &["../victim/keep.mcap", "/etc/passwd", "run.mcap", "..", ""],
        )
        .to_owned();
        let content = match random.below(3) {
            number if is_good || number == 0 => include_bytes!("../records/run.mcap").to_vec(),
            _ => vec![random.byte(); random.below(2000)],
        };
        // The fields are written as they are, since a builder of archives refuses such names.
        let mut header = [0_u8; 512];
        let put = |header: &mut [u8; 512], at: usize, text: &str, most: usize| {
            let bytes = &text.as_bytes()[..text.len().min(most)];
            header[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(&mut header, 0, &path, 100);
        put(&mut header, 100, "0000644\0", 8);
        put(&mut header, 124, &format!("{:011o}", content.len()), 12);
        put(&mut header, 136, "00000000000", 12);
        header[156] = if is_good {
            b'0'
        } else {
            b"00001234567Lxg"[random.below(14)]
        };
        put(&mut header, 157, &link, 100);
        put(&mut header, 257, "ustar\x0000", 8);
        put(&mut header, 148, "        ", 8);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        put(&mut header, 148, &format!("{sum:06o}\0 "), 8);
        archive.extend(header);
        archive.extend(&content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend([0; 1024]);
    if !is_good && random.below(4) == 0 {
        archive.truncate(random.below(archive.len()));
    }
    archive
}

fn boards(random: &mut Random, counted: &mut Counted) {
    let board = Hostile::new();
    let outside = tempfile::tempdir().unwrap();
    let sent = outside.path().join("sent.tar");
    fs::write(&sent, archive(&board, random)).unwrap();
    let run = match random.below(4) {
        0 => one(
            random,
            &["../victim/keep", "..", "-", OWNED, "$(touch ran)", "a b"],
        ),
        _ => "run",
    };
    let state = one(random, &["ended 0", "ended 9999999999999", OWNED, ""]);
    fs::write(board.path("state"), state).unwrap();
    let before = seen(&board.path("victim"));
    let mut command = board.fetch(run, &format!("cat '{}'", sent.display()));
    let output = command
        .args(["--format", one(random, &["text", "json"])])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let code = output.status.code();
    assert!(
        matches!(code, Some(0..=4)) && !said.contains("panicked"),
        "{:?}: {said}",
        output.status
    );
    assert!(!said.contains(jetlag::shown::is_obeyed), "{said:?}");
    assert_eq!(seen(&board.path("victim")), before, "{said}");
    assert!(!board.path("ran").exists() && !board.path("out/ran").exists());
    for (path, _) in seen(&board.path(".")) {
        let known = ["bin", "victim", "out", "state", "bringing", "follows", "asked"];
        let place = path
            .strip_prefix(board.path("."))
            .unwrap()
            .components()
            .next()
            .unwrap();
        assert!(
            known.iter().any(|name| place.as_os_str() == *name),
            "{}: {said}",
            path.display()
        );
        assert!(!path.is_symlink(), "{}: {said}", path.display());
    }
    counted.calls += 1;
    counted.codes[code.unwrap() as usize] += 1;
}

#[test]
fn hostile_things() {
    type Round = fn(&mut Random, &mut Counted);
    let kinds: [(&str, Round); 4] = [
        ("sweeps", sweeps),
        ("scenarios", scenarios),
        ("networks", networks),
        ("boards", boards),
    ];
    for (name, round) in kinds {
        let mut campaign = Campaign::new(2);
        let mut counted = Counted::default();
        for (seed, mut random) in campaign.by_ref() {
            let of = std::panic::AssertUnwindSafe(|| round(&mut random, &mut counted));
            if let Err(panic) = std::panic::catch_unwind(of) {
                eprintln!("{name}, seed {seed}:");
                std::panic::resume_unwind(panic);
            }
        }
        // What is always refused at its first word shows nothing. A run that is fetched may have missed its deadlines or be cut.
        let [good, _, _, missed, incomplete] = counted.codes;
        let done = good + missed + incomplete;
        assert!(done > 0 || campaign.done() < 50, "{name}: {:?}", counted.codes);
        println!(
            "{name:<10} {:>6} made, {} calls (exit codes 0 to 4: {:?}), nothing outside changed, nothing ran   {}",
            campaign.done(),
            counted.calls,
            counted.codes,
            campaign.seeds()
        );
    }
}
