//! `jetlag init NETWORK`: a detector spec and a scenario that run at once, from what the network's file tells.
//!
//! ```text
//! $ jetlag init camera.onnx --images scenes/image_2 -o mine
//! camera.onnx looks like YOLOv8, YOLOv9, YOLO11 (head YoloAnchorFree): output `output0` [1, 7, 5040] has …
//! wrote mine/camera.ron and mine/camera-scenario.ron; next: jetlag run mine/camera-scenario.ron
//! ```
//! What a network looks like is decided by `detector::propose` from shapes alone; `observe` has the shapes that a file leaves open,
//! `trial` runs a few frames where a proposal leaves a choice, `verdict` decides by what they found, and `files` writes. What no head
//! reads becomes a bare network. What was written is checked as `jetlag run --dry-run` checks it.

mod files;
pub(super) mod names;
mod observe;
mod partner;
mod topics;
mod trial;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::print;
use super::{check, here, opening};
use crate::cli::InitArgs;
use crate::detector::network::stem;
use crate::detector::propose::{CameraDraft, Confidence, Draft, Place, Proposal, one_line, propose};
use crate::engine::network;
use crate::scenario::{self, DetectorRef, Fill};
use crate::shell;
use crate::source::ContentKind;
use crate::written::root_name;
use files::{Spec, Written};
use observe::Observed;
use trial::Frames;

/// Writes a spec and a scenario for a network, or a scenario for a spec.
///
/// # Errors
/// [`WrongUse`] for a file that is neither, frames of the other kind, sizes that are missing, and files that are there already.
pub fn run(args: &InitArgs) -> anyhow::Result<Outcome> {
    let input = &args.input;
    super::words::there(input, "a network (.onnx) or a detector spec (.ron)")?;
    if opening::is_network(input) {
        print(&of_network(args)?)?;
        return Ok(Outcome::Done);
    }
    let said = match root_name(input).as_deref() {
        Some("Camera" | "Lidar" | "Network") => of_spec(args)?,
        Some("Scenario") => {
            let problem = format!(
                "{}: this is a scenario already; run it: jetlag run {}",
                input.display(),
                shell::path(input)
            );
            return Err(WrongUse(problem).into());
        }
        _ => {
            let problem = format!(
                "{}: init takes a network (.onnx) or a detector spec (.ron); export the network to ONNX first",
                input.display()
            );
            return Err(WrongUse(problem).into());
        }
    };
    print(&said)?;
    Ok(Outcome::Done)
}

/// The frames that were named, if any. `wanted` is the kind that the network takes, where that is known: of a bag, it decides which
/// topic they are of.
fn frames(args: &InitArgs, wanted: Option<ContentKind>) -> anyhow::Result<Option<Frames>> {
    Ok(match (&args.images, &args.sweeps, &args.bag) {
        (Some(folder), _, _) => Some(Frames::images(folder).map_err(WrongUse::because)?),
        (None, Some(folder), _) => Some(Frames::sweeps(folder).map_err(WrongUse::because)?),
        (None, None, Some(bag)) => {
            let topic = match &args.topic {
                Some(topic) => topic.clone(),
                None => topics::of_kind(bag, wanted)?,
            };
            Some(Frames::bag(bag, &topic).map_err(WrongUse::because)?)
        }
        (None, None, None) => None,
    })
}

/// A scenario for a spec that there is already.
fn of_spec(args: &InitArgs) -> anyhow::Result<String> {
    let path = &args.input;
    if args.shapes.is_some() {
        let problem = "--shapes is for networks; a spec has its own";
        return Err(WrongUse(problem.to_owned()).into());
    }
    let detector = opening::detector(&DetectorRef::File(path.clone())).map_err(WrongUse::because)?;
    let frames = frames(args, Some(detector.input))?;
    fits(frames.as_ref(), detector.input, &path.display().to_string())?;
    let kind = detector.input;
    let mut said = String::new();
    if let Some(frames) = &frames {
        said += &format!("{}\n", trial::of_detector(detector, frames));
    }
    let spec = Spec::There(path.clone());
    let tenant = files::Tenant {
        kind,
        batch: 1,
        frames: frames.as_ref(),
    };
    let written = files::write(args, &stem(path), &spec, &tenant)?;
    Ok(said + &next_steps(&written, None))
}

/// Frames must be of the kind that the detector takes.
fn fits(frames: Option<&Frames>, wanted: ContentKind, what: &str) -> Result<(), WrongUse> {
    let Some(frames) = frames.filter(|frames| frames.kind() != wanted) else {
        return Ok(());
    };
    let option = match (frames.topic(), frames.kind()) {
        (Some(topic), ContentKind::Image) => format!("--bag: `{topic}` has images"),
        (Some(topic), _) => format!("--bag: `{topic}` has sweeps"),
        (None, ContentKind::Image) => "--images".to_owned(),
        (None, _) => "--sweeps".to_owned(),
    };
    let (takes, with) = match wanted {
        ContentKind::Image => ("takes images", "--images"),
        ContentKind::Points => ("takes sweeps", "--sweeps"),
        ContentKind::Empty => {
            return Err(WrongUse(format!(
                "{option}: {what} runs on made inputs: leave it out"
            )));
        }
        ContentKind::Set => {
            return Err(WrongUse(format!(
                "{option}: {what} takes sets of sensors: leave it out"
            )));
        }
    };
    Err(WrongUse(match frames.topic() {
        Some(_) => format!("{option}, and {what} {takes}: name another topic with --topic"),
        None => format!("{option}: {what} {takes}: name a folder with {with}"),
    }))
}

/// A spec as decided: its text, the kind of frames that it takes, and what is said of it.
struct Decided {
    text: String,
    kind: ContentKind,
    /// Images of an inference.
    batch: usize,
    said: String,
}

fn of_network(args: &InitArgs) -> anyhow::Result<String> {
    let path = &args.input;
    let facts = network::read(path)?;
    let observed = match observe::complete(path, &facts, args.shapes.as_ref()) {
        Ok(observed) => observed,
        // A LiDAR's numbers of points and pillars are the spec's to say.
        Err(error) if propose(&facts).first().is_some_and(is_lidar) => Observed::open(facts, error),
        Err(error) => return Err(WrongUse::because(error).into()),
    };
    let proposals = propose(&observed.facts);
    let wanted = proposals.first().map(|best| match best.draft {
        Draft::Camera(_) => ContentKind::Image,
        Draft::Lidar(_) | Draft::Part(_) => ContentKind::Points,
        Draft::TimeOnly(_) => ContentKind::Empty,
    });
    let frames = frames(args, wanted)?;
    fits(
        frames.as_ref(),
        wanted.unwrap_or(ContentKind::Empty),
        &path.display().to_string(),
    )?;
    let decided = decide(args, &observed, &proposals, frames.as_ref())?;
    // Images that show nothing of a doubtful head have been used, and a bare network reads none.
    let frames = frames.filter(|frames| frames.kind() == decided.kind);
    let spec = Spec::New(decided.text);
    let tenant = files::Tenant {
        kind: decided.kind,
        batch: decided.batch,
        frames: frames.as_ref(),
    };
    let written = files::write(args, &stem(path), &spec, &tenant)?;
    Ok(format!(
        "{}\n{}",
        decided.said,
        next_steps(&written, Some(decided.kind))
    ))
}

fn is_lidar(proposal: &Proposal) -> bool {
    matches!(proposal.draft, Draft::Lidar(_) | Draft::Part(_))
}

/// The spec of the best proposal that can be written.
fn decide(
    args: &InitArgs,
    observed: &Observed,
    proposals: &[Proposal],
    frames: Option<&Frames>,
) -> anyhow::Result<Decided> {
    let path = &args.input;
    let shown = path.display().to_string();
    let images = frames.filter(|frames| frames.kind() == ContentKind::Image);
    let tried = images.and_then(|images| trial::of_proposals(proposals, path, images));
    let place = tried.as_ref().map_or(0, |tried| tried.place);
    // What was found goes before what shapes tell.
    let mut order: Vec<Proposal> = proposals.to_vec();
    order[..(place + 1).min(proposals.len())].rotate_right(usize::from(place > 0));
    let sure = match (place, Confidence::of(&order)) {
        (_, None) => String::new(),
        (0, Some(sure)) => sure.sentence(&order[1..]),
        (_, Some(_)) => Confidence::Guess.sentence(&order[1..]),
    };
    let header = header(path, &order, &sure);
    let looks = |proposal: &Proposal| format!("{shown} looks like {}\n{sure}", proposal.sentence());
    let beside = files::from_folder(&args.out, path)?;
    let name = stem(path);
    let Some(best) = order.first() else {
        let said = format!(
            "{shown} looks like no detector that is known here; it is written as a bare network: time only, no boxes"
        );
        return bare(&header, args, observed, said);
    };
    match &best.draft {
        Draft::Camera(_) if best.is_doubtful() && !tried.as_ref().is_some_and(|tried| tried.finds) => {
            let why = match &tried {
                None => "that is too little to write its spec: `--images DIR` tries it".to_owned(),
                Some(tried) => tried.lines.join("\n"),
            };
            let said = format!(
                "{}\n{why}\nit is written as a bare network: time only, no boxes",
                looks(best)
            );
            bare(&header, args, observed, said)
        }
        Draft::Camera(draft) => {
            let (draft, lines): (CameraDraft, Vec<String>) = match tried {
                None => {
                    let untried = "Colour and scaling are the family's usual ones, not tried: `--images DIR` tries them.";
                    ((**draft).clone(), vec![untried.to_owned()])
                }
                Some(tried) => (tried.draft, tried.lines),
            };
            let said = std::iter::once(looks(best))
                .chain(observed.guesses.iter().cloned())
                .chain(images.map(|_| lines.join("\n")))
                .collect::<Vec<_>>();
            let evidence = [&observed.guesses[..], &lines].concat();
            Ok(Decided {
                text: header + &draft.ron(&name, &beside, &evidence),
                kind: ContentKind::Image,
                batch: draft.batch,
                said: said.join("\n"),
            })
        }
        Draft::Lidar(draft) => Ok(Decided {
            text: header + &draft.ron(&name, &[(Place::Whole, &beside)], &[]),
            kind: ContentKind::Points,
            batch: 1,
            said: looks(best),
        }),
        Draft::Part(part) => match partner::find(path, part) {
            Ok(found) => {
                let other = files::from_folder(&args.out, &found.path)?;
                let (encoder, backbone) = match found.is_encoder {
                    true => (&other, &beside),
                    false => (&beside, &other),
                };
                let networks = [
                    (Place::Encoder, encoder.as_str()),
                    (Place::Backbone, backbone.as_str()),
                ];
                let said = format!("{}\nits other half is {}", looks(best), found.path.display());
                let evidence: Vec<String> = found
                    .others
                    .iter()
                    .map(|other| format!("Another half that fits: {}.", other.display()))
                    .collect();
                Ok(Decided {
                    text: header + &found.draft.ron(&name, &networks, &evidence),
                    kind: ContentKind::Points,
                    batch: 1,
                    said,
                })
            }
            Err(why) => {
                let said = format!(
                    "{}\n{why}; it is written as a bare network: time only, no boxes",
                    looks(best)
                );
                bare(&header, args, observed, said)
            }
        },
        Draft::TimeOnly(_) => {
            let said = format!(
                "{}\nit is written as a bare network: time only, no boxes",
                looks(best)
            );
            bare(&header, args, observed, said)
        }
    }
}

/// What stands above a spec.
fn header(path: &Path, proposals: &[Proposal], sure: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!(
        "// Written by `jetlag init` for {}. docs/detectors.md has every field.\n",
        one_line(&name)
    );
    for (number, proposal) in proposals.iter().enumerate() {
        let begin = if number == 0 {
            "It looks like"
        } else {
            "Next candidate:"
        };
        out += &format!("// {begin} {}.\n", one_line(&proposal.sentence()));
    }
    if !sure.is_empty() {
        out += &format!("// {}.\n", one_line(sure));
    }
    out
}

/// A spec that measures time alone.
fn bare(header: &str, args: &InitArgs, observed: &Observed, said: String) -> anyhow::Result<Decided> {
    if let Some(problem) = &observed.problem {
        return Err(WrongUse(format!("{said}, but {problem}")).into());
    }
    let network = files::from_folder(&args.out, &args.input)?;
    let mut text = format!(
        "{header}// A bare network: made inputs, time only, no boxes.\nNetwork(\n    name: {:?},\n    network: {network:?},\n",
        stem(&args.input)
    );
    for guess in &observed.guesses {
        text += &format!("    // {}\n", one_line(guess));
    }
    if !observed.shapes.0.is_empty() {
        text += &format!("    shapes: {:?},\n", observed.shapes.to_string());
    }
    text += &format!("    // Or Zeros, or Ones.\n    fill: {},\n)\n", Fill::default());
    let guesses: String = observed
        .guesses
        .iter()
        .map(|guess| format!("\n{guess}"))
        .collect();
    Ok(Decided {
        text,
        kind: ContentKind::Empty,
        batch: 1,
        said: said + &guesses,
    })
}

/// What was written, what keeps it from running, and what to do with it.
fn next_steps(written: &Written, kind: Option<ContentKind>) -> String {
    let scenario = written.scenario.display();
    let run = format!("jetlag run {}", shell::path(&written.scenario));
    let wrote = match &written.spec {
        Some(spec) => format!("wrote {} and {scenario}", spec.display()),
        None => format!("wrote {scenario}"),
    };
    let problems = problems(&written.scenario);
    if !problems.is_empty() {
        return format!(
            "{wrote}; it does not run here as it is; change first:\n  {}\nthen: {run}\n",
            problems.join("\n  ")
        );
    }
    let check = match kind {
        Some(ContentKind::Image | ContentKind::Points) => "check what its comments say is assumed, then: ",
        _ => "next: ",
    };
    format!("{wrote}; {check}{run}\n")
}

/// What keeps a scenario from running, as `jetlag run --dry-run` tells it.
fn problems(path: &Path) -> Vec<String> {
    match scenario::load(path, &[], &here::env()) {
        Ok(scenario) => check::scenario(&scenario).problems,
        Err(problems) => vec![problems.to_string()],
    }
}

/// The folder of a file, `.` where it has none.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A path as text, which RON needs.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8; rename it", path.display()))?;
    Ok(text.to_owned())
}
