//! `jetlag annotate VIDEO -o OUT.mp4 --detector D`: a video in, the same video with boxes out.
//!
//! ```text
//! $ jetlag annotate street.mp4 -o boxes.mp4 --detector builtin:camera
//! boxes.mp4: 100 frames of 640x384 with 312 boxes
//! inference     41.3 FPS  one frame after another on cpu
//! end to end    38.9 FPS  94 % of the rate of its slowest part, inference
//! …
//! ```
//! The detector, its backend and the source are those of a scenario of one tenant, which the run file has: `jetlag report` and `jetlag
//! view` read it as any other. What is done with a frame is in `parts`, where it ends in `sink`.

mod figures;
mod parts;
mod place;
mod sink;
mod task;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget};
use jetlag_video::{Ffmpeg, Guard, Reading, probe};

use super::here;
use super::opening;
use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::run::manifest as manifest_of;
use super::run_path::Reserved;
use super::signals::stop_on_signals;
use super::tenants::{self, Ready};
use crate::cli::{AnnotateArgs, Format};
use crate::record::{EndReason, Phase, PhaseRecord, PhaseSpec};
use crate::scenario::{self, Scenario, Sharing};
use crate::shell;
use crate::source::recordings::guard;
use crate::tenant::PhasePlan;
use crate::units::{Nanos, Stamp};
use figures::{Figures, Ratios};
use parts::Went;
use place::Place;
use sink::{Sink, Video, Written};

/// The tenant's name.
const TENANT: &str = "detector";
/// Encoders that are used where none is named, the better first.
const ENCODERS: [&str; 2] = ["libx264", "mpeg4"];

/// Annotates a video.
///
/// # Errors
/// [`WrongUse`] for what can be told before the first frame: no such video, detector, backend or encoder, a file that is there
/// already. Else what kept the video or the run file from being written.
pub(super) fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    let place = Place::of(args)?;
    let guard = guard(std::env::current_exe().context("cannot find jetlag's executable")?);
    let reading = Reading::default();
    let ffmpeg = Ffmpeg::find(Some(&guard), &reading).map_err(WrongUse::because)?;
    let wanted = args
        .encoder
        .as_deref()
        .map_or(ENCODERS.to_vec(), |name| vec![name]);
    let encoder = ffmpeg
        .encoder(&wanted, Some(&guard), &reading)
        .map_err(WrongUse::because)?;
    let facts =
        probe(Path::new("ffprobe"), &args.input, Some(&guard), &reading).map_err(WrongUse::because)?;
    // Everything that may be refused is refused before anything is executed.
    let mut work = Prepared::new(args, args.backend.as_deref(), "")?;
    let baseline = match &args.baseline {
        Some(backend) => Some(Prepared::new(args, Some(backend), "-baseline")?),
        None => None,
    };
    let stop = stop_on_signals()?;
    let with = With {
        ffmpeg: &ffmpeg,
        guard: &guard,
        encoder,
        stop: &stop,
        quiet: args.quiet,
    };
    let file = place.file()?;
    let done = work.execute(&with, file.path())?;
    let written_to = place.put(file, &done.written)?;
    let beside = match baseline {
        Some(mut baseline) if done.reason == EndReason::EndOfSource => {
            drop(work);
            let file = place.file()?;
            Some(baseline.execute(&with, file.path()).context("--baseline")?)
        }
        _ => None,
    };
    show(args, &done, beside.as_ref(), written_to)?;
    if facts.missing() > 0 {
        say(&format!(
            "error: {} ends early: it has {} frames less than its head counts",
            args.input.display(),
            facts.missing()
        ));
    }
    Ok(match done.reason {
        EndReason::Interrupted => Outcome::Interrupted,
        _ if done.written.unread + done.written.undetected > 0 || facts.missing() > 0 => Outcome::Failed,
        _ => Outcome::Done,
    })
}

/// What all that is executed has in common.
struct With<'a> {
    ffmpeg: &'a Ffmpeg,
    guard: &'a Guard,
    encoder: &'a str,
    stop: &'a AtomicBool,
    quiet: bool,
}

/// A backend that is ready, and the run file that is its.
struct Prepared {
    scenario: Scenario,
    ready: tenants::All,
    reserved: Option<Reserved>,
}

/// A video that was written.
struct Annotated {
    figures: Figures,
    written: Written,
    reason: EndReason,
    run: PathBuf,
}

impl Prepared {
    fn new(args: &AnnotateArgs, backend: Option<&str>, suffix: &str) -> anyhow::Result<Prepared> {
        let named = stem(&args.input);
        let text = scenario_text(args, &named, backend)?;
        let from = format!("the scenario of {}", args.input.display());
        let scenario = scenario::from_str(&text, &from, Path::new("."), &[], &here::env())
            .map_err(|problems| WrongUse(problems.to_string()))?;
        let ready = tenants::all(&scenario).map_err(WrongUse::because)?;
        if !ready
            .tenants
            .iter()
            .all(|ready| ready.runner.postprocess.is_some() && ready.runner.failed.is_none())
        {
            let failed = ready.tenants.iter().find_map(|ready| ready.runner.failed.clone());
            return Err(WrongUse(failed.unwrap_or_else(|| {
                format!(
                    "{} on {} finds no boxes to draw; name a detector with classes, on a backend that executes it",
                    args.detector,
                    backend.unwrap_or("its backend")
                )
            }))
            .into());
        }
        let reserved = match &args.run {
            Some(path) if suffix.is_empty() => Reserved::asked(path, "--run", args.force)?,
            Some(path) => Reserved::asked(&place::with_suffix(path, suffix), "--run", args.force)?,
            None => Reserved::named(&format!("{named}-annotated{suffix}"))?,
        };
        Ok(Prepared {
            scenario,
            ready,
            reserved: Some(reserved),
        })
    }

    /// Sends the video through, to a file.
    fn execute(&mut self, with: &With<'_>, to: &Path) -> anyhow::Result<Annotated> {
        let reserved = self.reserved.take().context("a run file is recorded to once")?;
        let path = reserved.path().to_owned();
        let manifest = manifest_of(&self.scenario, &self.ready.tenants, None);
        let mut writer = reserved.record(&manifest)?;
        let Some(Ready { runner, manifest }) = self.ready.tenants.first_mut() else {
            anyhow::bail!("the scenario has no tenant");
        };
        runner.source.rewind()?;
        let epoch = task::now();
        let plan = PhasePlan {
            phase: Phase::Together,
            drawn_as: Phase::Together,
            sharing: Sharing::Streams,
            epoch,
            measured_from: epoch,
            end: Stamp(i64::MAX),
            traced: false,
        };
        for slot in &mut runner.slots {
            slot.restart(plan.beginning());
        }
        writer.phase_spec(&PhaseSpec {
            at: epoch,
            phase: Phase::Together,
            label: TENANT.to_owned(),
            sharing: format!("{:?}", plan.sharing),
            members: vec![0],
            rate: None,
            traced: false,
            round: None,
        })?;
        let target = match with.quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(runner.source.info().frames, target);
        let sink = Sink {
            video: Video {
                ffmpeg: with.ffmpeg,
                guard: Some(with.guard),
                encoder: with.encoder,
                to,
            },
            run: &mut writer,
            bar: &bar,
            tenant: TENANT,
        };
        let went = parts::run(runner, &manifest.classes, sink, with.stop);
        bar.finish_and_clear();
        let Went {
            reason,
            written,
            findings,
        } = went?;
        let reason = if written.is_err() {
            EndReason::Failed
        } else {
            reason
        };
        let ended = task::now();
        for mut finding in findings {
            finding.tenant = Some(TENANT.to_owned());
            finding.message = format!("{TENANT}: {}", finding.message);
            writer.finding(&finding)?;
        }
        writer.phase(&PhaseRecord {
            tenant: 0,
            phase: Phase::Together,
            epoch,
            measured_from: epoch,
            measured_to: ended,
            reason,
            lost_records: 0,
            sampled: None,
            process_peak: None,
        })?;
        writer.finish()?;
        let written = written.with_context(|| {
            format!(
                "no video was written; what was found is kept: jetlag report {}",
                shell::path(&path)
            )
        })?;
        let took = written.ended.map_or(Nanos::ZERO, |ended| ended - epoch);
        Ok(Annotated {
            figures: Figures {
                backend: manifest.backend.clone(),
                frames: written.frames,
                boxes: written.boxes,
                inferred: written.inferred,
                took,
                busy: written.busy,
            },
            written,
            reason,
            run: path,
        })
    }
}

/// A scenario of one tenant, that takes the video's frames as fast as it can.
fn scenario_text(args: &AnnotateArgs, name: &str, backend: Option<&str>) -> anyhow::Result<String> {
    let utf8 = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| WrongUse(format!("{} is not UTF-8; rename it", path.display())))
    };
    if opening::is_network(Path::new(&args.detector)) {
        return Err(WrongUse(format!(
            "{}: a bare network finds no boxes; describe its input and outputs in a spec: `jetlag init NET.onnx` proposes one",
            args.detector
        ))
        .into());
    }
    let backend = backend.map_or_else(String::new, |backend| format!(" backend: {backend},"));
    Ok(format!(
        "Scenario(name: {name:?}, duration: \"24h\", warmup: \"0s\", telemetry: (sources: []), tenants: [Tenant(\n    \
         name: {TENANT:?}, detector: {:?}, source: Video(path: {:?}, repeat: false), arrival: Closed(), depth: {},{backend} record_detections: true,\n)])\n",
        args.detector,
        utf8(&args.input)?,
        args.depth
    ))
}

/// The name of a file without its folder and ending, of letters that a run's name may have.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    match plain.trim_matches(['-', '.']) {
        "" => "video".to_owned(),
        plain => plain.to_owned(),
    }
}

fn show(
    args: &AnnotateArgs,
    done: &Annotated,
    baseline: Option<&Annotated>,
    written_to: bool,
) -> anyhow::Result<()> {
    let Written {
        frames,
        unread,
        undetected,
        why,
        size,
        ..
    } = &done.written;
    let why = why.as_deref().unwrap_or_default();
    if *unread > 0 {
        say(&format!(
            "error: {unread} frames could not be read and are not in the video; the first: {why}"
        ));
    }
    if *undetected > 0 {
        say(&format!(
            "error: {undetected} frames are in the video without boxes, since the detector failed; the first: {why}"
        ));
    }
    if done.reason == EndReason::Interrupted {
        say("interrupted: the video has the frames up to here");
    }
    if baseline.is_none() && args.baseline.is_some() {
        say("the baseline was not run, since this run was not whole");
    }
    let ratios = baseline.map(|baseline| Ratios::of(&done.figures, &baseline.figures));
    if args.format == Format::Json {
        let value = serde_json::json!({
            "output": written_to.then_some(&args.output),
            "run": done.run,
            "unread": unread,
            "undetected": undetected,
            "figures": done.figures.json(),
            "baseline": baseline.map(|baseline| serde_json::json!({ "run": baseline.run, "figures": baseline.figures.json() })),
            "ratios": ratios.map(Ratios::json),
        });
        return print(&(serde_json::to_string_pretty(&value)? + "\n"));
    }
    let mut text = match size {
        Some(size) => format!(
            "{}: {frames} frames of {size} with {} boxes\n",
            args.output.display(),
            done.figures.boxes
        ),
        None => format!("{} was not written: there is no frame\n", args.output.display()),
    };
    text.push_str(&done.figures.text());
    if let (Some(baseline), Some(ratios)) = (baseline, ratios) {
        text.push_str("\nbaseline\n");
        text.push_str(&baseline.figures.text());
        text.push('\n');
        text.push_str(&ratios.text());
    }
    text.push_str(&format!(
        "\nall frames: jetlag report {}\n",
        shell::path(&done.run)
    ));
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_its_video() {
        assert_eq!(stem(Path::new("a/street 1.mp4")), "street-1");
        assert_eq!(stem(Path::new("…")), "video");
        assert_eq!(stem(Path::new("")), "video");
    }
}
