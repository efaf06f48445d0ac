//! With ffmpeg itself, on small videos that it makes, and with programs that misbehave.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use jetlag_video::{Ffmpeg, Frames, Guard, Launch, Layout, Reading, Size, VideoError, probe};
use nvidia_doubles::machine;

mod bad;
mod reading;
mod writing;

/// Whether ffmpeg is here; a test without it is skipped, or fails where it was asked for.
fn has_ffmpeg() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let runs = |program| Command::new(program).arg("-version").output().is_ok();
    let has = *HAS.get_or_init(|| runs("ffmpeg") && runs("ffprobe"));
    if !has {
        machine::missing(
            &["JETLAG_REQUIRE_FFMPEG"],
            "no ffmpeg and ffprobe in PATH (scripts/setup.sh --test installs them)",
        );
    }
    has
}

/// Has ffmpeg make a video of the test picture; answers where it is.
fn made(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i"])
        .args(arguments)
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    path
}

fn ffprobe() -> &'static Path {
    Path::new("ffprobe")
}

/// All frames of a video: their times in microseconds, and the size of each.
fn decoded(path: &Path) -> Result<(Vec<i64>, Vec<Size>), VideoError> {
    let reading = Reading::default();
    let facts = probe(ffprobe(), path, None, &reading)?;
    let (launch, layout) = Ffmpeg::find(None, &reading)?.file(path, &facts, None);
    let mut frames = Frames::start(&launch, None, layout, &reading)?;
    let (mut times, mut sizes, mut rgb) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(shown) = frames.next(&mut rgb)? {
        assert_eq!(rgb.len(), shown.size.bytes());
        times.push(shown.at_ns.unwrap() / 1000);
        sizes.push(shown.size);
    }
    Ok((times, sizes))
}

/// A shell's lines as a program. It is the test's own choice: nothing else here uses a shell.
fn script(lines: &str) -> Launch {
    Launch::of("sh").with(["-c", lines])
}

fn size(text: &str) -> Size {
    text.parse().unwrap()
}

/// A program that a shell's lines are, and that stalls. What it gives before it makes the file `$ready` is there already; nobody has
/// patience for what never comes.
fn stalled(lines: &str) -> Frames {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let launch = script(&format!("ready='{}'; {lines}", ready.display()));
    let reading = Reading {
        patience: Duration::from_secs(1),
        ..Reading::default()
    };
    let frames = Frames::start(&launch, None, Layout::Rgb(size("1x1")), &reading).unwrap();
    let begun = Instant::now();
    while !ready.exists() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it gives nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    frames
}
