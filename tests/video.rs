//! Videos and cameras as sources of tenants, with ffmpeg itself: what a run makes of their times, and of what goes wrong with them.
//! A camera is a made picture that ffmpeg gives at a camera's rate.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jetlag::record::{Event, FrameRecord, Outcome, Phase, RunReader};
use jetlag_bags::message::Image;
use jetlag_bags::{Bag, Limits};
use jetlag_video::{Ffmpeg, Frames, Reading, probe};
use nvidia_doubles::machine;
use serde_json::Value;

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

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

/// Has ffmpeg make a video of the test picture.
fn video(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i"])
        .args(arguments)
        .args(["-c:v", "libx264"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    path
}

/// Ten frames, of which the second five come three times as slowly: 20 and 6⅔ a second.
fn of_variable_rate(folder: &Path) -> PathBuf {
    let slower = "setpts='if(lt(N,5),N,5+(N-5)*3)'";
    let picture = "testsrc2=size=64x48:rate=20";
    video(
        folder,
        "v.mp4",
        &[picture, "-frames:v", "10", "-vf", slower, "-vsync", "0"],
    )
}

/// When they are to be shown, in milliseconds.
const SHOWN_MS: [i64; 10] = [0, 50, 100, 150, 200, 250, 400, 550, 700, 850];

fn scenario(folder: &Path, duration: &str, tenants: &[&str]) -> Command {
    let file = folder.join("s.ron");
    let text = format!(
        "Scenario(duration: \"{duration}\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]), tenants: [{}])",
        tenants.join(",\n")
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.arg("run").arg(file).args([
        "--quiet",
        "--force",
        "--allow-commands",
        "--format",
        "json",
        "--out",
    ]);
    command.arg(folder.join("run.mcap"));
    command
}

fn run(folder: &Path, duration: &str, tenants: &[&str]) -> Output {
    scenario(folder, duration, tenants).output().unwrap()
}

fn tenants(output: &Output) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)));
    report["tenants"].as_array().unwrap().clone()
}

/// A tenant's frames of the measurement, in order of their release.
fn frames(folder: &Path, tenant: u16) -> Vec<FrameRecord> {
    let mut reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let mut frames: Vec<FrameRecord> = reader
        .by_ref()
        .map(Result::unwrap)
        .filter_map(|event| match event {
            Event::Frame(frame) if frame.phase == Phase::Together && frame.tenant == tenant => Some(frame),
            _ => None,
        })
        .collect();
    frames.sort_by_key(|frame| frame.sequence);
    frames
}

/// A camera that gives so many pictures a second, and what is said to the shell after it.
fn camera(hz: u32, arguments: &str) -> String {
    format!(
        "Camera(command: [\"ffmpeg\", \"-v\", \"error\", \"-nostdin\", \"-re\", \"-f\", \"lavfi\", \"-i\", \
         \"testsrc2=size=64x48:rate={hz}\", {arguments} \"-pix_fmt\", \"rgb24\", \"-f\", \"rawvideo\", \"-flush_packets\", \"1\", \
         \"pipe:1\"], size: \"64x48\")"
    )
}

#[test]
fn a_video_is_replayed_at_its_own_times_round_after_round() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = of_variable_rate(folder.path());
    let tenant = format!(
        "Tenant(name: \"t\", backend: Null, source: Video(\"{}\"), arrival: Replay(4), overload: Queue(100), frames: 45)",
        path.display()
    );
    // Ends with its frames.
    let output = run(folder.path(), "600s", &[&tenant]);
    let told = tenants(&output);
    let frames = frames(folder.path(), 0);
    // One round is 850 ms and the mean gap; at four times the speed there are four rounds and more.
    assert!(frames.len() >= 40, "{}", said(&output));
    let first = frames[0].released;
    let round = 850_000_000 + 850_000_000 / 9;
    for (n, frame) in frames.iter().enumerate() {
        let shown = SHOWN_MS[n % 10] * 1_000_000 + (n / 10) as i64 * round;
        let off = (frame.released - first).0 - shown / 4;
        assert!(off.abs() < 2_000_000, "frame {n}: {off} ns");
        assert_eq!(frame.captured, Some(frame.released));
        assert_eq!(
            (frame.source_index, frame.outcome),
            ((n % 10) as u64, Outcome::Completed),
            "{}",
            said(&output)
        );
    }
    assert!(told[0]["age_ms"]["mean"].is_number());
}

#[cfg(feature = "cpu")]
#[test]
fn a_camera_detector_works_on_a_video_as_the_shipped_scenario_has_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = video(
        folder.path(),
        "v.mp4",
        &["testsrc2=size=320x240:rate=10", "-t", "1"],
    );
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/video.ron");
    let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["run", shipped, "--quiet", "--format", "json", "--set"])
        .arg(format!("tenants.camera.source.path={}", path.display()))
        .args(["--set", "tenants.camera.frames=3", "--set", "warmup=0s", "--out"])
        .arg(folder.path().join("run.mcap"))
        .output()
        .unwrap();
    let told = tenants(&output);
    assert!(
        told[0]["frames"]["offered"].as_u64() >= Some(3),
        "{}",
        said(&output)
    );
    let frames = frames(folder.path(), 0);
    assert!(
        frames.iter().any(|frame| frame.input_size == 320 * 240),
        "{frames:?}"
    );
    let reader = RunReader::open(&folder.path().join("run.mcap")).unwrap();
    let source = &reader.manifest().tenants[0].source;
    assert!(
        source.contains("h264, 320x240, decoded by ffmpeg") && source.contains("read 4 ahead"),
        "{source}"
    );
}

#[test]
fn a_timer_takes_the_newest_frame_and_all_may_be_decoded_before() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = of_variable_rate(folder.path());
    let tenant = |reading: &str, arrival: &str| {
        format!(
            "Tenant(name: \"t\", backend: Null, source: Video(path: \"{}\", repeat: false, {reading}), arrival: {arrival})",
            path.display()
        )
    };
    let output = run(folder.path(), "600s", &[&tenant("ahead: 2", "Sampled(hz: 8)")]);
    // At 0, 125, 250, … ms: frames 0, 2, 5, 5, 6, 7, 8, 9.
    let sampled = tenants(&output)[0]["sampled"].clone();
    assert_eq!(
        (&sampled["repeated"], &sampled["skipped"]),
        (&1.into(), &3.into()),
        "{}",
        said(&output)
    );
    let output = run(folder.path(), "600s", &[&tenant("preload: true", "Closed")]);
    assert_eq!(
        tenants(&output)[0]["frames"]["completed"],
        10,
        "{}",
        said(&output)
    );
}

#[test]
fn a_program_of_one_s_own_decodes_and_its_frames_are_counted() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = of_variable_rate(folder.path());
    let source = format!(
        "Video(path: \"{}\", repeat: false, command: [\"ffmpeg\", \"-v\", \"error\", \"-i\", \"{{path}}\", \"-vsync\", \"0\", \"-vf\", \
         \"scale=32:24\", \"-pix_fmt\", \"rgb24\", \"-f\", \"rawvideo\", \"pipe:1\"], size: \"32x24\")",
        path.display()
    );
    let tenant = format!(
        "Tenant(name: \"t\", backend: Null, source: {source}, arrival: Replay(4), overload: Queue(100))"
    );
    let output = run(folder.path(), "600s", &[&tenant]);
    assert_eq!(
        tenants(&output)[0]["frames"]["completed"],
        10,
        "{}",
        said(&output)
    );
    let frames = frames(folder.path(), 0);
    assert_eq!((frames[6].released - frames[5].released).0 / 1_000_000, 37);
}

#[test]
fn a_camera_s_frames_are_released_when_they_come() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tenant = format!(
        "Tenant(name: \"t\", backend: Null, source: {}, depth: 2, frames: 40)",
        camera(50, "")
    );
    // Ends with its frames.
    let output = run(folder.path(), "600s", &[&tenant]);
    let frames = frames(folder.path(), 0);
    assert_eq!(frames.len(), 40, "{}", said(&output));
    for (n, frame) in frames.iter().enumerate() {
        assert_eq!((frame.sequence, frame.captured), (n as u64, Some(frame.released)));
        assert!(
            frame.started >= frame.released || frame.outcome != Outcome::Completed,
            "{frame:?}"
        );
    }
    assert!(frames.windows(2).all(|pair| pair[0].released < pair[1].released));
    let completed: Vec<&FrameRecord> = frames
        .iter()
        .filter(|frame| frame.outcome == Outcome::Completed)
        .collect();
    assert!(completed.iter().all(|frame| frame.source_index == frame.sequence));
    assert!(tenants(&output)[0]["age_ms"]["mean"].is_number());
}

#[test]
fn a_slow_tenant_drops_a_camera_s_frames_by_its_policy() {
    if !has_ffmpeg() {
        return;
    }
    for (overload, newest) in [("DropOldest(1)", true), ("DropNewest(1)", false)] {
        let folder = tempfile::tempdir().unwrap();
        let tenant = format!(
            "Tenant(name: \"t\", backend: Sim(Fixed(\"150ms\")), source: {}, overload: {overload}, deadline: \"400ms\", frames: 75)",
            camera(50, "")
        );
        // Ends with its frames.
        let output = run(folder.path(), "600s", &[&tenant]);
        let told = tenants(&output)[0].clone();
        let count = |name: &str| told["frames"][name].as_u64().unwrap();
        assert!(
            count("dropped") > count("completed"),
            "{overload}: {}",
            said(&output)
        );
        assert_eq!(count("failed"), 0, "{overload}: {}", said(&output));
        let frames = frames(folder.path(), 0);
        let served: Vec<&FrameRecord> = frames
            .iter()
            .filter(|frame| frame.outcome == Outcome::Completed)
            .collect();
        assert!(served.iter().all(|frame| frame.source_index == frame.sequence));
        // A dropped frame's record ends with the release of the one that displaced it, which is the next; or is it itself.
        for (frame, next) in frames.iter().zip(&frames[1..]) {
            if frame.outcome == Outcome::Dropped {
                let displaced_by = if newest { next } else { frame };
                assert_eq!(frame.finished, displaced_by.released, "{overload}");
            }
        }
    }
}

#[test]
fn a_camera_that_gives_nothing_more_holds_up_no_phase_and_one_that_is_gone_ends_its_tenant() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let silent = "Tenant(name: \"silent\", backend: Null, source: Camera(command: [\"sh\", \"-c\", \"printf abc; exec sleep 1000\"], size: \"1x1\"))";
    let gone = "Tenant(name: \"gone\", backend: Null, source: Camera(command: [\"sh\", \"-c\", \
                \"printf abc; sleep 0.3; echo No such device >&2; exit 19\"], size: \"1x1\"))";
    let over = format!(
        "Tenant(name: \"over\", backend: Null, source: {})",
        camera(20, "\"-t\", \"0.5\",")
    );
    let well = "Tenant(name: \"well\", backend: Null, arrival: Periodic(5))";
    // Long enough for ffmpeg to begin and end beside many other programs.
    let output = run(folder.path(), "6s", &[silent, gone, &over, well]);
    let told = tenants(&output);
    assert_eq!(told[0]["frames"]["failed"], 0, "{}", said(&output));
    let text = said(&output);
    assert!(
        text.contains(
            "tenant gone: the camera of sh: sh ended (exit status: 19) after 1 frames: No such device"
        ),
        "{text}"
    );
    assert_eq!(told[3]["frames"]["offered"], 30, "{text}");
    let reasons: Vec<_> = RunReader::open(&folder.path().join("run.mcap"))
        .unwrap()
        .map(Result::unwrap)
        .filter_map(|event| match event {
            Event::Phase(end) if end.phase == Phase::Together => Some((end.tenant, end.reason)),
            _ => None,
        })
        .collect();
    use jetlag::record::EndReason::{Duration, EndOfSource, Failed};
    for wanted in [(0, Duration), (1, Failed), (2, EndOfSource), (3, Duration)] {
        assert!(reasons.contains(&wanted), "no {wanted:?} in {reasons:?}: {text}");
    }
}

#[test]
fn what_cannot_be_played_is_told_before_the_run_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("v.mp4");
    std::fs::write(&file, "no video").unwrap();
    let source = format!("Video(\"{}\")", file.display());
    let tenant = |source: &str| format!("Tenant(name: \"t\", backend: Null, source: {source})");
    // Without a program.
    let output = scenario(folder.path(), "1s", &[&tenant(&source)])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("cannot find the program `ffprobe`: install ffmpeg"),
        "{}",
        said(&output)
    );
    let refused = |source: &str, words: &[&str]| {
        let output = run(folder.path(), "1s", &[&tenant(source)]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let text = said(&output);
        assert!(
            words.iter().all(|word| text.contains(word)),
            "no {words:?} in {text}"
        );
    };
    refused(
        "Camera(command: [\"no-such-program\"], size: \"1x1\")",
        &["`no-such-program`", "PATH"],
    );
    refused(
        "Camera(command: [\"sh\", \"-c\", \"echo no lens >&2; exit 1\"], size: \"1x1\")",
        &["after 0 frames: no lens"],
    );
    refused(
        "Camera(command: [\"yes\"], size: \"9000x9000\")",
        &["9000x9000", "max_megapixels"],
    );
    if !has_ffmpeg() {
        return;
    }
    refused(&source, &["v.mp4 has no video", "Invalid data"]);
    refused(
        "Camera(\"/dev/no-camera\")",
        &["the camera /dev/no-camera", "No such file"],
    );
    let small = video(
        folder.path(),
        "small.mp4",
        &["testsrc2=size=64x48:rate=10", "-t", "0.2"],
    );
    let wrong = format!(
        "Video(path: \"{}\", decoder: \"no_such_decoder\")",
        small.display()
    );
    refused(&wrong, &["small.mp4: ffmpeg ended", "no_such_decoder"]);
}

#[test]
fn a_decoder_that_dies_in_the_middle_ends_its_tenant_and_no_other() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = video(
        folder.path(),
        "v.mp4",
        &["testsrc2=size=64x48:rate=100", "-t", "1"],
    );
    // 64 × 48 pixels, five times; then it dies. It plays once before the run.
    let source = format!(
        "Video(path: \"{}\", command: [\"sh\", \"-c\", \"head -c 46080 /dev/zero; echo it broke >&2; kill -9 $$\"])",
        path.display()
    );
    let broken = format!(
        "Tenant(name: \"broken\", backend: Null, source: {source}, arrival: Replay, overload: Queue(100))"
    );
    let well = "Tenant(name: \"well\", backend: Null, arrival: Periodic(20), frames: 20)";
    // One gives up, the other ends with its frames.
    let output = run(folder.path(), "600s", &[&broken, well]);
    let (told, text) = (tenants(&output), said(&output));
    assert_eq!(told[0]["frames"]["completed"], 5, "{text}");
    assert_eq!(told[0]["frames"]["failed"], 10, "{text}");
    assert!(
        text.contains("sh ended (signal: 9 (SIGKILL)) after 5 frames: it broke"),
        "{text}"
    );
    assert_eq!(told[1]["frames"]["offered"], 20, "{text}");
}

#[test]
fn a_decoder_ends_with_jetlag_even_if_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("number");
    let source = format!(
        "Camera(command: [\"sh\", \"-c\", \"echo $$ > {0}.new; mv {0}.new {0}; printf abc; exec sleep 1000\"], size: \"1x1\")",
        mark.display()
    );
    let tenant = format!("Tenant(name: \"t\", backend: Null, source: {source})");
    let mut run = scenario(folder.path(), "1000s", &[&tenant]).spawn().unwrap();
    let began = std::time::Instant::now();
    let patience = std::time::Duration::from_secs(300);
    while !mark.exists() && began.elapsed() < patience {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let number: u32 = std::fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z") && !stat.contains(") X")
    };
    assert!(runs());
    run.kill().unwrap();
    run.wait().unwrap();
    while runs() && began.elapsed() < patience {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!runs(), "{number} runs on");
}

/// Pixels and times of the bag, beside what the same video gives as a source.
#[test]
fn a_video_becomes_a_bag_with_its_pixels_and_times() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (of_variable_rate(folder.path()), folder.path().join("v.mcap"));
    let convert = |path: &Path, out: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command.args(["data", "convert"]).arg(path).arg("-o").arg(out);
        command.output().unwrap()
    };
    let output = convert(&path, &out);
    assert!(output.status.success(), "{}", said(&output));

    let reading = Reading::default();
    let facts = probe(Path::new("ffprobe"), &path, None, &reading).unwrap();
    let (launch, layout) = Ffmpeg::find(None, &reading).unwrap().file(&path, &facts, None);
    let mut frames = Frames::start(&launch, None, layout, &reading).unwrap();
    let bag = Bag::open(&out, &Limits::default()).unwrap();
    let [topic] = bag.topics() else {
        panic!("one topic was to be written")
    };
    assert_eq!(
        (topic.name(), topic.kind()),
        ("/camera/image_raw", "sensor_msgs/msg/Image")
    );
    let (mut reader, mut message, mut rgb) = (bag.reader(), Vec::new(), Vec::new());
    let mut shown_ms = Vec::new();
    for entry in topic.entries() {
        reader.read(entry, &mut message).unwrap();
        let image = Image::decode(&message).unwrap();
        assert_eq!(
            (image.width, image.height, image.step, image.encoding.name()),
            (64, 48, 192, "rgb8")
        );
        assert_eq!(image.header.stamp, entry.log_time());
        frames.next(&mut rgb).unwrap().unwrap();
        assert!(image.data == rgb, "frame {}", shown_ms.len());
        shown_ms.push((entry.log_time().0 - topic.entries()[0].log_time().0 + 500_000) / 1_000_000);
    }
    assert_eq!(shown_ms, SHOWN_MS);

    // The half of an AVI, whose head counts its frames.
    let whole = video(
        folder.path(),
        "v.avi",
        &["testsrc2=size=64x48:rate=20", "-t", "3", "-g", "5"],
    );
    let bytes = std::fs::read(&whole).unwrap();
    let cut = folder.path().join("cut.avi");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = convert(&cut, &folder.path().join("cut.mcap"));
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(
        said(&output).contains("could not be read and are left out"),
        "{}",
        said(&output)
    );
}
