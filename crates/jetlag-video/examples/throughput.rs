//! `cargo run --release -p jetlag-video --example throughput -- VIDEO`: how fast a video's frames come through the pipe, beside ffmpeg
//! that decodes and throws away, with and without the conversion to RGB.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use jetlag_video::{Ffmpeg, Frames, Layout, Reading, probe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a video")?;
    let reading = Reading::default();
    let facts = probe(Path::new("ffprobe"), Path::new(&path), None, &reading)?;
    let all = facts.frames() as f64;
    println!("{} {}, {all} frames", facts.codec(), facts.size());
    let rgb: &[&str] = &["-pix_fmt", "rgb24", "-c:v", "rawvideo"];
    let null = |more: &[&str]| -> Result<f64, Box<dyn std::error::Error>> {
        let begin = Instant::now();
        let file = format!("file:{path}");
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-nostdin", "-i", &file, "-map", "0:V:0"]);
        let status = command.args(more).args(["-f", "null", "-"]).status()?;
        match status.success() {
            true => Ok(all / begin.elapsed().as_secs_f64()),
            false => Err(status.to_string().into()),
        }
    };
    let ours = || -> Result<f64, Box<dyn std::error::Error>> {
        let launch = Ffmpeg::find(None, &reading)?.file(Path::new(&path), &facts, None);
        let begin = Instant::now();
        let mut frames = Frames::start(&launch, None, Layout::Nut, &reading)?;
        let mut pixels = Vec::new();
        while frames.next(&mut pixels)?.is_some() {}
        Ok(frames.given() as f64 / begin.elapsed().as_secs_f64())
    };
    for _ in 0..3 {
        let (decoded, converted, read) = (null(&[])?, null(rgb)?, ours()?);
        println!(
            "decoded {decoded:.1}/s, and made RGB {converted:.1}/s; read through the pipe {read:.1}/s: {:.2} and {:.2} of these",
            read / decoded,
            read / converted
        );
    }
    Ok(())
}
