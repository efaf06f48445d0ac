//! Frames given to ffmpeg, and to programs that take none.

use jetlag_video::{Encoder, Stop, Writing};

use super::*;

fn pixels(size: Size, level: u8) -> Vec<u8> {
    vec![level; size.bytes()]
}

fn encoder(ffmpeg: &Ffmpeg, path: &Path, size: Size) -> Encoder {
    let name = ffmpeg
        .encoder(&["libx264", "mpeg4"], None, &Reading::default())
        .unwrap();
    Encoder::start(&ffmpeg.encode(path, name, size), None, size, &Writing::default()).unwrap()
}

#[test]
fn a_video_has_the_frames_and_the_times_that_were_given() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = Ffmpeg::find(None, &Reading::default()).unwrap();
    // Of a variable rate, and of an odd width, which is padded.
    let times_us = [0, 33_367, 66_733, 200_000, 200_900, 1_200_000];
    for (width, height, padded) in [(64, 48, (64, 48)), (65, 47, (66, 48))] {
        let size = Size::new(width, height).unwrap();
        let path = folder.path().join("-written.mp4");
        let mut encoder = encoder(&ffmpeg, &path, size);
        for (at, level) in times_us.iter().zip([0, 40, 80, 120, 160, 200]) {
            encoder.frame(&pixels(size, level), at * 1000).unwrap();
        }
        assert_eq!(encoder.finish().unwrap(), 6);
        let (times, sizes) = decoded(&path).unwrap();
        assert_eq!(times, times_us);
        assert_eq!(sizes[0], Size::new(padded.0, padded.1).unwrap());
    }
}

#[test]
fn an_encoder_that_is_not_there_is_told_before_anything_is_written() {
    if !has_ffmpeg() {
        return;
    }
    let ffmpeg = Ffmpeg::find(None, &Reading::default()).unwrap();
    let told = ffmpeg
        .encoder(&["h266_dreamt"], None, &Reading::default())
        .unwrap_err();
    let text = told.to_string();
    assert!(
        text.starts_with("this ffmpeg has no encoder `h266_dreamt`"),
        "{text}"
    );
    assert!(text.contains("such as"), "{text}");
}

#[test]
fn a_frame_of_another_size_is_refused() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = Ffmpeg::find(None, &Reading::default()).unwrap();
    let size = Size::new(16, 16).unwrap();
    let mut encoder = encoder(&ffmpeg, &folder.path().join("a.mp4"), size);
    let told = encoder.frame(&[0; 5], 0).unwrap_err();
    assert!(
        matches!(
            told,
            VideoError::OtherSize {
                found: 5,
                wanted: 768,
                ..
            }
        ),
        "{told}"
    );
}

fn shell(script: &str) -> Launch {
    Launch::of("sh").with(["-c", script])
}

#[test]
fn the_last_words_of_a_program_that_takes_no_more_are_told() {
    let size = Size::new(640, 480).unwrap();
    let script = "head -c 1000000 > /dev/null; echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1";
    let mut encoder = Encoder::start(&shell(script), None, size, &Writing::default()).unwrap();
    let rgb = pixels(size, 7);
    let told = (0..100).find_map(|n| encoder.frame(&rgb, n * 100_000_000).err());
    let told = told.unwrap().to_string();
    assert!(
        told.starts_with("sh ended (exit status: 1) when it had been given"),
        "{told}"
    );
    assert!(told.ends_with("No space left on device"), "{told}");
}

#[test]
fn one_that_only_fails_at_its_end_fails() {
    let size = Size::new(4, 4).unwrap();
    let script = "cat > /dev/null; echo 'cannot write the index' >&2; exit 3";
    let mut encoder = Encoder::start(&shell(script), None, size, &Writing::default()).unwrap();
    encoder.frame(&pixels(size, 7), 0).unwrap();
    let told = encoder.finish().unwrap_err().to_string();
    assert_eq!(
        told,
        "sh ended (exit status: 3) when it had been given 1 frames: cannot write the index"
    );
}

#[test]
fn one_that_stands_still_is_not_waited_for_forever() {
    let size = Size::new(1000, 1000).unwrap();
    let writing = Writing {
        patience: Duration::from_millis(200),
        stop: Stop::default(),
    };
    let mut encoder = Encoder::start(&shell("exec sleep 100"), None, size, &writing).unwrap();
    let told = encoder.frame(&pixels(size, 7), 0).unwrap_err();
    assert!(
        matches!(told, VideoError::TakesNothing { frames: 0, .. }),
        "{told}"
    );
    writing.stop.now();
    let told = encoder.frame(&pixels(size, 7), 0).unwrap_err();
    assert!(matches!(told, VideoError::Stopped), "{told}");
}
