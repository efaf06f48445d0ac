//! `jetlag annotate`: a made street as a video, through the detector and ffmpeg, and back; and what goes wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag::detector::{Detection, Place};
use jetlag::record::{Event, Outcome, RunReader};
use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, jetlag, run, stderr, stdout};

/// Frames of the street.
const FRAMES: usize = 8;

/// Whether ffmpeg is here; a test without it is skipped, or fails where it was asked for.
fn has_ffmpeg() -> bool {
    let runs = |program| Command::new(program).arg("-version").output().is_ok();
    let has = runs("ffmpeg") && runs("ffprobe");
    if !has {
        machine::missing(
            &["JETLAG_REQUIRE_FFMPEG"],
            "no ffmpeg and ffprobe in PATH (scripts/setup.sh --test installs them)",
        );
    }
    has
}

fn ffmpeg(folder: &Path, arguments: &[&str]) {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// A video of made scenes, ten frames a second.
fn street(folder: &Path) {
    let count = FRAMES.to_string();
    let synth = [
        "data", "synth", "--out", "scenes", "--count", &count, "--seed", "9001",
    ];
    let made = run(&synth, folder);
    assert!(made.status.success(), "{}", stderr(&made));
    let images = ["-framerate", "10", "-i", "scenes/image_2/%06d.png"];
    let coded = [
        "-c:v",
        "libx264",
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "+faststart",
        "street.mp4",
    ];
    ffmpeg(folder, &[&images[..], &coded[..]].concat());
}

/// The times of a video's frames in milliseconds, as ffprobe has them.
fn times(folder: &Path, video: &str) -> Vec<i64> {
    let output = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-select_streams",
            "v:0",
            "-show_entries",
            "packet=pts_time",
            "-of",
            "csv=p=0",
        ])
        .arg(video)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = stdout(&output);
    let lines = text
        .lines()
        .filter_map(|line| line.trim_end_matches(',').parse::<f64>().ok());
    let mut times: Vec<i64> = lines.map(|seconds| (seconds * 1000.0).round() as i64).collect();
    times.sort_unstable();
    times
}

/// All pixels of a video.
fn pixels(folder: &Path, video: &str) -> Vec<u8> {
    let output = Command::new("ffmpeg")
        .args([
            "-v", "error", "-nostdin", "-i", video, "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    output.stdout
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

const ANNOTATE: [&str; 6] = [
    "annotate",
    "street.mp4",
    "-o",
    "boxes.mp4",
    "--detector",
    "builtin:camera",
];

fn annotate(folder: &Path, more: &[&str]) -> std::process::Output {
    run(&[&ANNOTATE[..], &["--quiet"], more].concat(), folder)
}

#[test]
fn a_video_keeps_its_frames_and_times_and_has_the_boxes_that_its_run_file_has() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    street(folder);
    let more = [
        "--backend",
        "Cpu(threads: 1)",
        "--baseline",
        "Cpu(threads: 1)",
        "--run",
        "a.mcap",
        "--format",
        "json",
    ];
    let output = annotate(folder, &more);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = json(&output);
    assert_eq!(said["figures"]["frames"], FRAMES, "{said}");
    for rate in ["inference_fps", "end_to_end_fps"] {
        assert!(said["figures"][rate].as_f64().unwrap() > 0.0, "{said}");
        assert!(
            said["baseline"]["figures"][rate].as_f64().unwrap() > 0.0,
            "{said}"
        );
    }
    assert!(said["ratios"]["inference"].as_f64().unwrap() > 0.0);
    let parts = said["figures"]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["read", "prepare", "inference", "postprocess", "draw", "encode"]
    );
    // Each part is a thread, so none is busy for longer than the whole took.
    assert!(
        parts
            .iter()
            .all(|part| (0.0..=1.0).contains(&part["share"].as_f64().unwrap())),
        "{said}"
    );

    assert_eq!(
        times(folder, "boxes.mp4"),
        (0..FRAMES as i64).map(|n| n * 100).collect::<Vec<_>>()
    );
    let (mut frames, mut ranges, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for event in RunReader::open(&folder.join("a.mcap")).unwrap() {
        match event.unwrap() {
            Event::Frame(frame) => frames.push(frame),
            Event::Range(range) => ranges.push((range.path, range.batch)),
            Event::Detections(record) => found.push((record.source_index as usize, record.detections)),
            _ => {}
        }
    }
    assert!(frames.iter().all(|frame| frame.outcome == Outcome::Completed));
    assert!(
        (0..)
            .zip(&frames)
            .all(|(n, frame)| frame.sequence == n && frame.source_index == n)
    );
    for path in ["draw", "encode"] {
        let of: Vec<u64> = ranges
            .iter()
            .filter(|(name, _)| name == path)
            .filter_map(|(_, batch)| *batch)
            .collect();
        assert_eq!(of, (0..FRAMES as u64).collect::<Vec<_>>());
    }
    let boxes: usize = found.iter().map(|(_, detections)| detections.len()).sum();
    assert_eq!(said["figures"]["boxes"], boxes);
    assert!(boxes > 0, "a street without anything on it");
    let report = run(&["report", "a.mcap"], folder);
    assert!(stdout(&report).contains("detector"), "{}", stderr(&report));
    are_drawn(folder, &found);

    // The run is as any other: its frames can be looked at, and its worst and slowest are in its page.
    let view = ["view", "a.mcap", "--frame", "3", "-o", "frame.png"];
    assert!(run(&view, folder).status.success());
    let page = run(
        &["report", "a.mcap", "--html", "a.html", "--pictures", "4"],
        folder,
    );
    assert!(folder.join("a.html").is_file(), "{}", stderr(&page));
    let html = fs::read_to_string(folder.join("a.html")).unwrap();
    assert_eq!(html.matches("src=\"data:image/jpeg;base64,").count(), 4);
    assert!(
        html.contains("lowest mean score"),
        "it says how the worst were chosen"
    );
    assert!(html.len() < 5_000_000, "{}", html.len());
}

/// On the sides of the boxes the video differs from the one without them, and elsewhere it hardly does.
fn are_drawn(folder: &Path, found: &[(usize, Vec<Detection>)]) {
    let (before, after) = (pixels(folder, "street.mp4"), pixels(folder, "boxes.mp4"));
    assert_eq!(before.len(), after.len());
    let frame_bytes = before.len() / FRAMES;
    let probe = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-show_entries",
            "stream=width",
            "-of",
            "csv=p=0",
            "street.mp4",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    let width: usize = stdout(&probe).trim().trim_end_matches(',').parse().unwrap();
    let height = frame_bytes / 3 / width;
    let differs = |frame: usize, x: usize, y: usize| -> f64 {
        let at = frame * frame_bytes + (y * width + x) * 3;
        let levels = before[at..at + 3].iter().zip(&after[at..at + 3]);
        levels
            .map(|(one, other)| f64::from(one.abs_diff(*other)))
            .sum::<f64>()
            / 3.0
    };
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for (frame, detections) in found {
        let mut near = vec![false; width * height];
        for detection in detections {
            let Place::Image(place) = detection.place else {
                panic!("a camera's detector finds boxes in the image");
            };
            let clamp = |v: f32, most: usize| (v.max(0.0) as usize).min(most - 1);
            let (x1, x2) = (clamp(place.x1, width), clamp(place.x2, width));
            let (y1, y2) = (clamp(place.y1, height), clamp(place.y2, height));
            for x in x1..x2 {
                on.push(differs(*frame, x, y1));
            }
            // Lines, the label above or below, and what the encoder makes of their surroundings.
            for y in y1.saturating_sub(40)..(y2 + 40).min(height) {
                for x in x1.saturating_sub(20)..(x2 + 220).min(width) {
                    near[y * width + x] = true;
                }
            }
        }
        for y in (0..height).step_by(7) {
            for x in (0..width).step_by(7) {
                if !near[y * width + x] {
                    off.push(differs(*frame, x, y));
                }
            }
        }
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    assert!(mean(&on) > 20.0, "boxes differ by {}", mean(&on));
    assert!(mean(&off) < 6.0, "the rest differs by {}", mean(&off));
}

#[test]
fn what_cannot_be_annotated_is_told_before_anything_is_written() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ffmpeg(
        folder,
        &[
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=64x48:rate=10",
            "-frames:v",
            "3",
            "street.mp4",
        ],
    );
    fs::write(folder.join("no.mp4"), "no video").unwrap();
    fs::write(folder.join("there.mp4"), "").unwrap();
    let refused = |arguments: &[&str], phrases: &[&str]| {
        let output = run(&[&["annotate", "--quiet"], arguments].concat(), folder);
        assert_refused(&output, 2, phrases);
    };
    let camera = ["--detector", "builtin:camera"];
    let with = |more: &[&'static str]| -> Vec<&str> { [more, &camera[..]].concat() };
    refused(
        &with(&["absent.mp4", "-o", "o.mp4"]),
        &["absent.mp4", "No such file"],
    );
    refused(&with(&["no.mp4", "-o", "o.mp4"]), &["no.mp4", "no video"]);
    refused(
        &with(&["street.mp4", "-o", "o.avi"]),
        &["must end in .mp4, .mkv, .mov"],
    );
    refused(
        &with(&["street.mp4", "-o", "there.mp4"]),
        &["there.mp4 exists", "--force"],
    );
    refused(
        &with(&["street.mp4", "-o", "street.mp4", "--force"]),
        &["is the video itself"],
    );
    refused(
        &with(&["street.mp4", "-o", "nowhere/o.mp4"]),
        &["cannot write nowhere/o.mp4"],
    );
    refused(
        &with(&["street.mp4", "-o", "o.mp4", "--encoder", "h266_dreamt"]),
        &["no encoder `h266_dreamt`"],
    );
    refused(
        &with(&["street.mp4", "-o", "o.mp4", "--backend", "Fpga()"]),
        &["Fpga"],
    );
    refused(
        &with(&["street.mp4", "-o", "o.mp4", "--backend", "Null"]),
        &["finds no boxes to draw"],
    );
    refused(
        &["street.mp4", "-o", "o.mp4", "--detector", "net.onnx"],
        &["a bare network finds no boxes"],
    );
    refused(
        &["street.mp4", "-o", "o.mp4", "--detector", "builtin:lidar"],
        &["builtin:lidar takes sweeps"],
    );
    let left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter().all(|name| !name.to_string_lossy().contains("part")),
        "{left:?}"
    );
    assert!(
        !folder.join("o.mp4").exists() && !folder.join("runs").exists(),
        "{left:?}"
    );
    // Without ffmpeg.
    let mut bare = jetlag(&ANNOTATE, folder);
    let output = bare.env("PATH", folder).output().unwrap();
    assert_refused(
        &output,
        2,
        &["cannot find the program `ffmpeg`", "install ffmpeg"],
    );
}

#[test]
fn a_video_that_ends_early_is_written_as_far_as_it_goes() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    street(folder);
    let whole = fs::read(folder.join("street.mp4")).unwrap();
    fs::write(folder.join("street.mp4"), &whole[..whole.len() * 7 / 10]).unwrap();
    let output = annotate(folder, &["--backend", "Cpu(threads: 1)", "--run", "a.mcap"]);
    assert_refused(
        &output,
        1,
        &["street.mp4 ends early", "less than its head counts"],
    );
    let written = times(folder, "boxes.mp4");
    assert!(!written.is_empty() && written.len() < FRAMES, "{written:?}");
    assert!(
        stdout(&output).contains(&format!("boxes.mp4: {} frames", written.len())),
        "{}",
        stdout(&output)
    );
}

/// An ffmpeg that decodes as ever, and whose encoder finds the disk full.
fn with_full_disk(folder: &Path) -> PathBuf {
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let script = "case \" $* \" in *' pipe:0 '*) head -c 500000 > /dev/null; \
                  echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 228;; esac\n\
                  PATH=${PATH#*:}; export PATH; exec ffmpeg \"$@\"";
    nvidia_doubles::script(&programs.join("ffmpeg"), script);
    programs
}

#[test]
fn an_encoder_that_finds_the_disk_full_leaves_no_video_and_the_run() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    street(folder);
    let programs = with_full_disk(folder);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let arguments = [
        &ANNOTATE[..],
        &["--quiet", "--backend", "Cpu(threads: 1)", "--run", "a.mcap"],
    ]
    .concat();
    let output = jetlag(&arguments, folder).env("PATH", path).output().unwrap();
    assert_refused(
        &output,
        1,
        &[
            "no video was written",
            "No space left on device",
            "jetlag report a.mcap",
        ],
    );
    let left: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.contains("part") || name == "boxes.mp4"),
        "{left:?}"
    );
    assert!(RunReader::open(&folder.join("a.mcap")).unwrap().count() > 0);
}
