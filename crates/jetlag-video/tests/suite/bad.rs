//! Programs and files that are not as they should be: a sentence each, no panic, and nothing left running.

use super::*;

fn told(error: &VideoError, words: &[&str]) {
    let text = error.to_string();
    assert!(
        words.iter().all(|word| text.contains(word)),
        "no {words:?} in {text}"
    );
    assert!(!text.contains('\n'), "{text}");
}

/// The error after these frames.
fn fails(launch: &Launch, layout: Layout, reading: &Reading, after: u64) -> VideoError {
    fails_by_itself(Frames::start(launch, None, layout, reading).unwrap(), after)
}

/// The same of a program that was started.
fn fails_by_itself(mut frames: Frames, after: u64) -> VideoError {
    let mut rgb = Vec::new();
    loop {
        match frames.next(&mut rgb) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended well after {}", frames.given()),
            Err(error) => {
                assert_eq!(frames.given(), after, "{error}");
                return error;
            }
        }
    }
}

#[test]
fn a_program_that_is_not_there_is_named_with_what_to_do() {
    let launch = Launch::of("no-such-program");
    let error = Frames::start(&launch, None, Layout::Nut, &Reading::default()).unwrap_err();
    told(&error, &["no-such-program", "PATH"]);
    let error = probe(
        Path::new("/nowhere/ffprobe"),
        Path::new("v.mp4"),
        None,
        &Reading::default(),
    )
    .unwrap_err();
    told(&error, &["/nowhere/ffprobe"]);
    let absent = VideoError::Absent {
        program: "ffmpeg".into(),
    };
    told(&absent, &["apt-get install ffmpeg"]);
}

#[test]
fn what_is_no_video_is_told_with_ffprobe_s_words() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("v.mp4");
    std::fs::write(&file, "no video at all").unwrap();
    told(
        &decoded(&file).unwrap_err(),
        &["v.mp4", "no video", "Invalid data"],
    );
    told(
        &decoded(&folder.path().join("absent.mp4")).unwrap_err(),
        &["absent.mp4", "No such file"],
    );
    std::fs::write(&file, "").unwrap();
    told(&decoded(&file).unwrap_err(), &["v.mp4"]);
    let sound = made(folder.path(), "s.wav", &["sine=duration=0.1"]);
    told(&decoded(&sound).unwrap_err(), &["s.wav", "no video"]);
    // A list of other files is not followed.
    std::fs::write(&file, "ffconcat version 1.0\nfile s.wav\n").unwrap();
    told(&decoded(&file).unwrap_err(), &["v.mp4"]);
}

#[test]
fn a_video_without_times_is_refused_with_a_way_out() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let video = made(
        folder.path(),
        "v.h264",
        &[
            "testsrc2=size=64x48:rate=10",
            "-t",
            "0.5",
            "-c:v",
            "libx264",
            "-bf",
            "2",
        ],
    );
    match probe(ffprobe(), &video, None, &Reading::default()) {
        Err(error @ VideoError::NoTimes { .. }) => told(&error, &["v.h264", "-c copy out.mp4"]),
        // Some releases make up times of the nominal rate.
        found => assert_eq!(found.unwrap().frames(), 5),
    }
}

#[test]
fn a_video_that_was_cut_off_gives_what_is_there() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let video = made(
        folder.path(),
        "v.ts",
        &[
            "testsrc2=size=64x48:rate=10",
            "-t",
            "2",
            "-c:v",
            "libx264",
            "-g",
            "5",
            "-bf",
            "0",
        ],
    );
    let bytes = std::fs::read(&video).unwrap();
    std::fs::write(&video, &bytes[..bytes.len() / 2]).unwrap();
    let (times, _) = decoded(&video).unwrap();
    assert!((5..18).contains(&times.len()), "{times:?}");
    assert!(
        times.windows(2).all(|pair| pair[1] - pair[0] == 100_000),
        "{times:?}"
    );
    // Its index was to come at the end.
    let video = made(
        folder.path(),
        "v.mp4",
        &["testsrc2=size=64x48:rate=10", "-t", "1", "-c:v", "libx264"],
    );
    let bytes = std::fs::read(&video).unwrap();
    std::fs::write(&video, &bytes[..bytes.len() / 2]).unwrap();
    told(&decoded(&video).unwrap_err(), &["v.mp4", "moov atom not found"]);
}

#[test]
fn images_that_change_their_size_are_seen() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, picture: &str, offset: &str| {
        let video = made(
            folder.path(),
            name,
            &[
                picture,
                "-t",
                "0.5",
                "-output_ts_offset",
                offset,
                "-c:v",
                "mpeg2video",
                "-bf",
                "0",
            ],
        );
        std::fs::read(video).unwrap()
    };
    let mut both = part("a.ts", "testsrc2=size=64x48:rate=10", "0");
    both.extend(part("b.ts", "testsrc2=size=96x64:rate=10", "0.5"));
    let video = folder.path().join("ab.ts");
    std::fs::write(&video, both).unwrap();
    match decoded(&video) {
        // Newer programs end themselves.
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("change their size") || text.contains("ended"),
                "{text}"
            );
        }
        // Before 4.4 it cannot be told not to scale.
        Ok((_, sizes)) => assert!(sizes.iter().all(|found| *found == size("64x48"))),
    }
}

#[test]
fn a_program_that_dies_in_the_middle_is_told_with_its_last_words() {
    let two = "printf abc; printf def; echo 'the lens fell off' >&2;";
    let layout = Layout::Rgb(size("1x1"));
    let error = fails(&script(&format!("{two} exit 3")), layout, &Reading::default(), 2);
    told(
        &error,
        &[
            "sh ended",
            "exit status: 3",
            "after 2 frames",
            "the lens fell off",
        ],
    );
    let error = fails(
        &script(&format!("{two} kill -9 $$")),
        layout,
        &Reading::default(),
        2,
    );
    told(&error, &["signal: 9"]);
    // In the middle of a frame, and without a word.
    let error = fails(&script("printf abcde"), layout, &Reading::default(), 1);
    told(
        &error,
        &["within a frame", "2 bytes of the 3", "is the size right?"],
    );
    let error = fails(&script("printf abcde; exit 1"), layout, &Reading::default(), 1);
    told(&error, &["exit status: 1"]);
}

#[test]
fn what_is_no_nut_is_told() {
    let error = fails(&script("yes | head -c 1000"), Layout::Nut, &Reading::default(), 0);
    told(&error, &["no NUT", "does not begin as one"]);
    let error = fails(&script("exit 0"), Layout::Nut, &Reading::default(), 0);
    told(&error, &["after 0 frames"]);
}

#[test]
fn an_image_that_is_too_large_takes_no_memory() {
    let huge = Layout::Rgb(size("65536x65536"));
    let error = Frames::start(&script("yes"), None, huge, &Reading::default()).unwrap_err();
    told(&error, &["65536x65536", "max_megapixels"]);
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let video = made(
        folder.path(),
        "v.mp4",
        &["testsrc2=size=64x48:rate=10", "-t", "0.2", "-c:v", "libx264"],
    );
    let reading = Reading {
        most_pixels: 3000,
        ..Reading::default()
    };
    let facts = probe(ffprobe(), &video, None, &reading).unwrap();
    let (launch, layout) = Ffmpeg::find(None, &reading).unwrap().file(&video, &facts, None);
    told(
        &fails(&launch, layout, &reading, 0),
        &["64x48", "3000", "max_megapixels"],
    );
}

fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

#[test]
fn a_program_that_stalls_is_not_waited_for_for_ever_and_is_reaped() {
    let mut frames = stalled("printf abc; echo 'no light' >&2; : >\"$ready\"; sleep 1000");
    let mut rgb = Vec::new();
    frames.next(&mut rgb).unwrap().unwrap();
    told(
        &frames.next(&mut rgb).unwrap_err(),
        &["gave no frame for", "after 1 frames", "no light"],
    );
    let process = frames.process();
    assert!(!is_gone(process));
    drop(frames);
    assert!(is_gone(process), "no zombie either");
}

#[test]
fn reading_is_stopped_from_another_thread() {
    let reading = Reading {
        patience: Duration::from_secs(1000),
        ..Reading::default()
    };
    let mut frames = Frames::start(&script("sleep 1000"), None, Layout::Rgb(size("1x1")), &reading).unwrap();
    let stop = reading.stop.clone();
    let other = std::thread::spawn(move || stop.now());
    let error = frames.next(&mut Vec::new()).unwrap_err();
    assert!(matches!(error, VideoError::Stopped), "{error}");
    other.join().unwrap();
}

#[test]
fn a_program_that_talks_without_end_takes_no_memory() {
    // The first thousand lines fit into a pipe.
    let grumble = "yes grumble | head -n";
    let frames = stalled(&format!(
        "printf abc; {grumble} 1000 >&2; : >\"$ready\"; {grumble} 300000 >&2; sleep 1000"
    ));
    let error = fails_by_itself(frames, 1);
    told(&error, &["grumble; grumble; grumble"]);
    assert!(error.to_string().len() < 600);
}

#[test]
fn what_a_program_has_started_ends_with_it() {
    // The sleeper would keep the pipe open.
    let mut frames = stalled("sleep 1000 & printf '%03d' $! | head -c 3; echo $! >&2; : >\"$ready\"; wait");
    frames.next(&mut Vec::new()).unwrap().unwrap();
    let error = frames.next(&mut Vec::new()).unwrap_err().to_string();
    let sleeper: u32 = error.rsplit(' ').next().unwrap().parse().unwrap();
    drop(frames);
    // It was told to end, which it does when it next has a processor; then somebody else waits for it, who may take a moment too.
    let runs = || {
        let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        !(state.is_empty() || state.contains(") Z") || state.contains(") X"))
    };
    let until = Instant::now() + Duration::from_secs(120);
    while runs() {
        assert!(Instant::now() < until, "process {sleeper} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}
