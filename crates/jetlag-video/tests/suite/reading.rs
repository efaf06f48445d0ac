//! What comes out of a video: every frame, once, with its time.

use super::*;

#[test]
fn a_video_of_constant_rate_gives_every_frame_with_its_time() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // With frames that are decoded in another order than shown.
    let video = made(
        folder.path(),
        "-a 'b' $c.mp4",
        &[
            "testsrc2=size=64x48:rate=30",
            "-t",
            "1",
            "-c:v",
            "libx264",
            "-bf",
            "2",
        ],
    );
    let facts = probe(ffprobe(), &video, None, &Reading::default()).unwrap();
    assert_eq!(
        (facts.codec(), facts.size(), facts.frames()),
        ("h264", size("64x48"), 30)
    );
    let (times, sizes) = decoded(&video).unwrap();
    let wanted: Vec<i64> = (0..30).map(|n| (n * 100_000 + 1) / 3).collect();
    let off = |(found, wanted): (&i64, &i64)| (found - wanted).abs();
    assert_eq!(times.len(), 30);
    assert!(
        times.iter().zip(&wanted).map(off).all(|off| off <= 1),
        "{times:?}"
    );
    assert!(sizes.iter().all(|found| *found == size("64x48")));
}

#[test]
fn a_video_of_variable_rate_keeps_its_gaps_in_every_container() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Twenty frames of which the second ten come three times as slowly.
    let slower = "setpts='if(lt(N,10),N,10+(N-10)*3)'";
    for name in ["v.mp4", "v.mkv", "v.ts", "v.mov"] {
        let video = made(
            folder.path(),
            name,
            &[
                "testsrc2=size=64x48:rate=20",
                "-frames:v",
                "20",
                "-vf",
                slower,
                "-vsync",
                "0",
                "-c:v",
                "libx264",
            ],
        );
        let facts = probe(ffprobe(), &video, None, &Reading::default()).unwrap();
        let told: Vec<i64> = facts.times_ns().map(|ns| ns / 1000).collect();
        let (times, _) = decoded(&video).unwrap();
        let wanted = (0..20).map(|n: i64| {
            if n < 10 {
                n * 50_000
            } else {
                500_000 + (n - 10) * 150_000
            }
        });
        let wanted: Vec<i64> = wanted.collect();
        // Matroska counts milliseconds, a transport stream 90 000ths.
        let near = |found: &[i64]| {
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(&wanted)
                    .all(|(found, wanted)| (found - wanted).abs() <= 1_000)
        };
        assert!(near(&told), "{name}: {told:?}");
        assert!(near(&times), "{name}: {times:?}");
        // What was told before is what comes.
        assert!(
            times
                .iter()
                .zip(&told)
                .all(|(found, told)| (found - told).abs() <= 2),
            "{name}: {times:?} {told:?}"
        );
    }
}

#[test]
fn times_count_from_the_first_frame_though_sound_begins_before_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = made(
        folder.path(),
        "plain.mp4",
        &["testsrc2=size=64x48:rate=10", "-t", "0.5", "-c:v", "libx264"],
    );
    let late = folder.path().join("late.mkv");
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-itsoffset", "0.7", "-i"])
        .arg(&plain)
        .args([
            "-f",
            "lavfi",
            "-i",
            "sine=duration=1",
            "-map",
            "0:v",
            "-map",
            "1:a",
            "-c:v",
            "copy",
        ])
        .arg(&late)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(decoded(&late).unwrap().0, [0, 100_000, 200_000, 300_000, 400_000]);
}

#[test]
fn a_container_without_times_of_showing_is_given_some() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let video = made(
        folder.path(),
        "v.avi",
        &[
            "testsrc2=size=64x48:rate=10",
            "-t",
            "1",
            "-c:v",
            "libx264",
            "-bf",
            "0",
        ],
    );
    let facts = probe(ffprobe(), &video, None, &Reading::default()).unwrap();
    assert_eq!(facts.frames(), 10);
    let (times, _) = decoded(&video).unwrap();
    let told: Vec<i64> = facts.times_ns().map(|ns| ns / 1000).collect();
    assert!(
        times.len() == 10 && times.iter().zip(&told).all(|(a, b)| (a - b).abs() <= 2),
        "{times:?} {told:?}"
    );
}

#[test]
fn pixels_are_red_green_blue_and_a_turned_video_is_upright() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let red = made(
        folder.path(),
        "red.mp4",
        &["color=c=red:size=64x32:rate=5", "-t", "0.4", "-c:v", "libx264"],
    );
    let turned = folder.path().join("turned.mp4");
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .arg(&red)
        .args(["-c", "copy", "-metadata:s:v:0", "rotate=90"])
        .arg(&turned)
        .output()
        .unwrap();
    assert!(output.status.success());
    let reading = Reading::default();
    let facts = probe(ffprobe(), &turned, None, &reading).unwrap();
    let (launch, layout) = Ffmpeg::find(None, &reading).unwrap().file(&turned, &facts, None);
    let mut frames = Frames::start(&launch, None, layout, &reading).unwrap();
    let mut rgb = Vec::new();
    let shown = frames.next(&mut rgb).unwrap().unwrap();
    assert!(rgb[0] > 240 && rgb[1] < 20 && rgb[2] < 20, "{:?}", &rgb[..3]);
    // Newer programs than 5 write no turn that is told them so.
    if shown.size != size("64x32") {
        assert_eq!(shown.size, size("32x64"));
    }
}

#[test]
fn another_program_s_frames_have_a_stated_size_and_no_times() {
    let launch = script("printf abcdefghijkl; printf ABCDEFGHIJKL");
    let layout = Layout::Rgb(size("2x2"));
    let mut frames = Frames::start(&launch, None, layout, &Reading::default()).unwrap();
    let mut rgb = Vec::new();
    let shown = frames.next(&mut rgb).unwrap().unwrap();
    assert_eq!(
        (shown.size, shown.at_ns, rgb.as_slice()),
        (size("2x2"), None, &b"abcdefghijkl"[..])
    );
    assert!(frames.next(&mut rgb).unwrap().is_some());
    assert_eq!(rgb, b"ABCDEFGHIJKL");
    assert_eq!(frames.next(&mut rgb).unwrap(), None);
    assert_eq!(frames.next(&mut rgb).unwrap(), None, "however often");
}

#[test]
fn arguments_reach_a_program_as_they_are() {
    let odd = "a b;$(exit 3)'\"";
    let launch = Launch::of("printf").with(["%s", odd]);
    let wide = Size::new(5, 1).unwrap();
    assert_eq!(odd.len(), wide.bytes());
    let mut frames = Frames::start(&launch, None, Layout::Rgb(wide), &Reading::default()).unwrap();
    let mut rgb = Vec::new();
    frames.next(&mut rgb).unwrap().unwrap();
    assert_eq!(rgb, odd.as_bytes());
}

#[test]
fn a_guard_becomes_the_program() {
    let guard = Guard {
        program: "/usr/bin/env".into(),
        arguments: vec!["GREETING=abc".into()],
    };
    let launch = script("printf %s $GREETING");
    let layout = Layout::Rgb(size("1x1"));
    let mut frames = Frames::start(&launch, Some(&guard), layout, &Reading::default()).unwrap();
    let mut rgb = Vec::new();
    frames.next(&mut rgb).unwrap().unwrap();
    assert_eq!(rgb, b"abc");
}

#[test]
fn colours_are_those_that_ffmpeg_makes_of_them() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (tv, pc, odd) = ("scale=out_range=tv", "scale=out_range=pc", "scale=321:241");
    let (h264, vp9) = ("libx264", "libvpx-vp9");
    for (name, codec, pixels, more, is_ours) in [
        ("unknown.mp4", h264, "yuv420p", ["-vf", tv, "-g", "5"], true),
        (
            "601.mp4",
            h264,
            "yuv420p",
            ["-vf", tv, "-colorspace", "smpte170m"],
            true,
        ),
        (
            "709.mp4",
            h264,
            "yuv420p",
            ["-vf", tv, "-colorspace", "bt709"],
            true,
        ),
        (
            "full.mp4",
            h264,
            "yuvj420p",
            ["-vf", pc, "-colorspace", "bt709"],
            true,
        ),
        (
            "full.webm",
            vp9,
            "yuv420p",
            ["-vf", pc, "-color_range", "pc"],
            true,
        ),
        ("odd.mkv", "ffv1", "yuv420p", ["-vf", odd, "-g", "5"], false),
        ("444.mp4", h264, "yuv444p", ["-vf", tv, "-g", "5"], false),
        ("deep.mp4", h264, "yuv420p10le", ["-vf", tv, "-g", "5"], false),
        (
            "2020.mp4",
            h264,
            "yuv420p",
            ["-vf", tv, "-colorspace", "bt2020nc"],
            false,
        ),
    ] {
        let arguments = [
            "testsrc2=size=320x240:rate=10",
            "-frames:v",
            "3",
            "-c:v",
            codec,
            "-pix_fmt",
            pixels,
        ];
        let video = made(folder.path(), name, &[&arguments[..], &more].concat());
        let reading = Reading::default();
        let facts = probe(ffprobe(), &video, None, &reading).unwrap();
        let (launch, layout) = Ffmpeg::find(None, &reading).unwrap().file(&video, &facts, None);
        assert_eq!(matches!(layout, Layout::NutOf(_)), is_ours, "{name}: {layout:?}");
        let mut frames = Frames::start(&launch, None, layout, &reading).unwrap();
        let (mut rgb, mut all) = (Vec::new(), Vec::new());
        while frames.next(&mut rgb).unwrap().is_some() {
            all.extend_from_slice(&rgb);
        }
        // Its fast conversion is off by up to three, and is darker.
        let exactly = ["-sws_flags", "neighbor+accurate_rnd+full_chroma_int"];
        let output = Command::new("ffmpeg")
            .args(["-v", "error", "-nostdin", "-i"])
            .arg(&video)
            .args(if is_ours { &exactly[..] } else { &[] })
            .args(["-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1"])
            .output()
            .unwrap();
        assert_eq!(all.len(), output.stdout.len(), "{name}");
        let off: Vec<u8> = all
            .iter()
            .zip(&output.stdout)
            .map(|(a, b)| a.abs_diff(*b))
            .collect();
        let most = if is_ours { 1 } else { 0 };
        assert!(
            off.iter().all(|off| *off <= most),
            "{name}: {:?}",
            off.iter().max()
        );
        let share = off.iter().filter(|off| **off > 0).count() as f64 / off.len() as f64;
        assert!(share < 0.01, "{name}: {share}");
    }
}

#[test]
fn planes_are_refused_where_nobody_said_what_they_mean() {
    if !has_ffmpeg() {
        return;
    }
    let launch = Launch::of("ffmpeg")
        .with([
            "-v",
            "error",
            "-nostdin",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=64x48:rate=30",
        ])
        .with([
            "-frames:v",
            "2",
            "-pix_fmt",
            "yuv420p",
            "-c:v",
            "rawvideo",
            "-f",
            "nut",
            "pipe:1",
        ]);
    let mut frames = Frames::start(&launch, None, Layout::Nut, &Reading::default()).unwrap();
    let error = frames.next(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("I420"), "{error}");
}
