//! `cargo run --release -p jetlag-video --example throughput -- VIDEO [TURNS]`: how fast a video's frames come through the pipe as RGB,
//! beside ffmpeg that decodes and throws away, with and without the conversion to RGB, and ffmpeg's RGB on a pipe, read and thrown
//! away. Frames a second, and processor time, which other programs disturb less; medians of the turns.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use jetlag_video::{Ffmpeg, Frames, Launch, Layout, Reading, probe};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let path = std::env::args().nth(1).ok_or("give a video")?;
    let turns: usize = std::env::args().nth(2).map_or(Ok(5), |turns| turns.parse())?;
    let reading = Reading::default();
    let facts = probe(Path::new("ffprobe"), Path::new(&path), None, &reading)?;
    println!("{} {}, {} frames", facts.codec(), facts.size(), facts.frames());
    let file = format!("file:{path}");
    let decode = ["-v", "error", "-nostdin", "-i", &file, "-map", "0:V:0"];
    let rgb = ["-pix_fmt", "rgb24", "-c:v", "rawvideo"];
    let null = |more: &[&str]| -> Outcome {
        let mut command = Command::new("ffmpeg");
        let status = command
            .args(decode)
            .args(more)
            .args(["-f", "null", "-"])
            .status()?;
        status.success().then_some(()).ok_or(status.to_string().into())
    };
    let read = |launch: &Launch, layout| -> Outcome {
        let mut frames = Frames::start(launch, None, layout, &reading)?;
        let mut pixels = Vec::new();
        while frames.next(&mut pixels)?.is_some() {}
        Ok(())
    };
    let (ours, layout) = Ffmpeg::find(None, &reading)?.file(Path::new(&path), &facts, None);
    let theirs =
        Launch::of("ffmpeg")
            .with(decode)
            .with(rgb)
            .with(["-f", "nut", "-write_index", "0", "pipe:1"]);
    let ways: [(&str, &dyn Fn() -> Outcome); 4] = [
        ("decoded, thrown away", &|| null(&[])),
        ("made RGB, thrown away", &|| null(&rgb)),
        ("RGB through a pipe", &|| read(&theirs, Layout::Nut)),
        ("read as RGB by us", &|| read(&ours, layout)),
    ];
    let mut took = ways.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..turns {
        for ((_, way), (wall, processor)) in ways.iter().zip(&mut took) {
            let (begin, before) = (Instant::now(), processor_s()?);
            way()?;
            wall.push(begin.elapsed().as_secs_f64());
            processor.push(processor_s()? - before);
        }
    }
    let [.., (our_wall, our_processor)] = took.clone();
    let frames = facts.frames() as f64;
    for ((name, _), (wall, processor)) in ways.iter().zip(took) {
        let of = |theirs: &[f64], ours: &[f64]| median(theirs.iter().zip(ours).map(|(a, b)| a / b).collect());
        println!(
            "{name:22} {:6.1}/s, of which we reach {:.2}   {:5.1} ms of processors a frame, our part {:.2}",
            frames / median(wall.clone()),
            of(&wall, &our_wall),
            median(processor.clone()) * 1e3 / frames,
            of(&our_processor, &processor),
        );
    }
    Ok(())
}

/// Processor time of this program and of those that it waited for. In `/proc/self/stat` after its name in brackets, in hundredths.
fn processor_s() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat is not as it was")?;
    let fields = fields.split_whitespace().skip(11).take(4);
    let ticks: u64 = fields.map(|field| field.parse().unwrap_or(0_u64)).sum();
    Ok(ticks as f64 / 100.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
