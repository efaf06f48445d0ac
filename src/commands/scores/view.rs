//! `jetlag view RUN --frame N -o x.png`: a frame of a run with what was found in it, and with the truth where it is known.

use std::io::BufWriter;
use std::path::Path;

use anyhow::Context;
use jetlag_draw::{Kind, Mark, Picture, View, above, captioned, draw, write_png};

use super::answers::{self, Answer, Answers};
use super::{Dataset, coco, dataset, is_the_same, kitti};
use crate::cli::ViewArgs;
use crate::commands::opening;
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::print;
use crate::commands::programs;
use crate::detector::Place;
use crate::scenario::SourceSpec;
use crate::source::recordings::Opened;
use crate::source::{Content, Frame, Source};
use crate::whole;

/// Pixels along the longer side of a sweep seen from above.
const ABOVE: usize = 1000;

/// Draws a frame.
///
/// # Errors
/// [`WrongUse`] for a run without detections, a frame that is not there or has no content, a source that has changed.
pub(in crate::commands) fn view(args: &ViewArgs) -> anyhow::Result<Outcome> {
    if !args
        .output
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
    {
        let given = args.output.display();
        return Err(WrongUse(format!(
            "-o {given}: the picture is a PNG; name a file that ends in .png"
        ))
        .into());
    }
    let all = answers::read(&args.run, args.tenant.as_deref())?;
    let [answers] = &all[..] else {
        let names: Vec<&str> = all.iter().map(|answers| answers.tenant.as_str()).collect();
        return Err(WrongUse(format!(
            "{} has detections of {}: name one with --tenant",
            args.run.display(),
            names.join(", ")
        ))
        .into());
    };
    let answer = pick(answers, args.frame)?;
    let frame = content(answers, answer, args.data.as_deref())?;
    let truth = truth(answers, answer, args.data.as_deref());
    let picture = picture(&frame, &marks(answers, answer, &truth))?;
    let response = answer.finished.map_or("no answer".to_owned(), |finished| {
        format!(
            "answered after {:.1} ms",
            (finished.since(answer.released)).as_secs_f64() * 1e3
        )
    });
    let legend = if truth.is_empty() {
        "solid: found"
    } else {
        "solid: found, dashed: truth"
    };
    let first = format!(
        "{}, frame {}: {response}, {} found",
        answers.tenant,
        answer.sequence,
        answer.found.len()
    );
    let picture = captioned(picture, &[&first, legend])?;
    let file = whole::create(&args.output, args.force).map_err(|error| {
        WrongUse(match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                format!(
                    "{} exists; choose another name, or --force",
                    args.output.display()
                )
            }
            _ => format!("{}: {error}", args.output.display()),
        })
    })?;
    write_png(&picture, BufWriter::new(file)).with_context(|| args.output.display().to_string())?;
    print(&format!("wrote {}\n", args.output.display()))?;
    Ok(Outcome::Done)
}

fn pick(answers: &Answers, number: u64) -> Result<&Answer, WrongUse> {
    let frames = &answers.frames;
    let found = frames.iter().find(|answer| answer.sequence == number);
    let Some(answer) = found else {
        return Err(WrongUse(match (frames.first(), frames.last()) {
            (Some(first), Some(last)) => format!(
                "tenant {} has no measured frame {number}; its frames are {} to {}",
                answers.tenant, first.sequence, last.sequence
            ),
            _ => format!("tenant {} has no measured frame", answers.tenant),
        }));
    };
    if answer.content.is_none() {
        return Err(WrongUse(format!(
            "frame {number} of tenant {} was dropped before its content was fetched; there is nothing to draw",
            answers.tenant
        )));
    }
    Ok(answer)
}

/// The frame's image or sweep, read again from its source.
fn content(answers: &Answers, answer: &Answer, data: Option<&Path>) -> anyhow::Result<Frame> {
    let mut spec = answers.source.clone();
    if let Some(folder) = data.filter(|path| path.is_dir()) {
        move_to(&mut spec, folder);
    }
    let mut source = source(&spec).map_err(|error| match data {
        None if !spec.is_live() => WrongUse(format!(
            "{error:#}; if the dataset has moved, say with --data where it is now"
        ))
        .into(),
        _ => error,
    })?;
    is_the_same(answers, source.info().selection.as_ref(), data)?;
    let wanted = answer.content.unwrap_or_default();
    source.skip(wanted).map_err(WrongUse::because)?;
    let mut frame = Frame::default();
    next(source.as_mut(), wanted, &mut frame)?;
    Ok(frame)
}

/// Reads the frame that comes next, which is to be this one.
pub(super) fn next(source: &mut dyn Source, wanted: u64, frame: &mut Frame) -> anyhow::Result<()> {
    if !source.acquire(frame)? || frame.index != wanted {
        return Err(WrongUse(format!(
            "{} has no frame {wanted} any more",
            source.info().description
        ))
        .into());
    }
    source.decode(frame)?;
    Ok(())
}

/// Puts a source's dataset where it is now. Sources that are no dataset's are read where they were.
fn move_to(source: &mut SourceSpec, folder: &Path) {
    match source {
        SourceSpec::NuScenes(spec) => folder.clone_into(&mut spec.path),
        SourceSpec::Kitti(spec) => folder.clone_into(&mut spec.path),
        // A folder of KITTI's object layout, named as such: `image_2` or `velodyne` beside the labels.
        SourceSpec::Images { path, .. } | SourceSpec::Points { path, .. }
            if folder.join("label_2").is_dir() =>
        {
            *path = folder.join(path.file_name().unwrap_or_default());
        }
        SourceSpec::Cameras(all) => all.iter_mut().for_each(|camera| move_to(camera, folder)),
        _ => {}
    }
}

/// A tenant's source, to be read again.
pub(super) fn source(source: &SourceSpec) -> anyhow::Result<Box<dyn Source>> {
    if source.is_live() {
        return Err(
            WrongUse("a camera's images are not kept, so there is nothing to draw on".to_owned()).into(),
        );
    }
    // Whoever made the run file named its programs.
    let mut opened = Opened::guarded_by(std::env::current_exe().ok(), programs::allowed(false));
    Ok(opening::source(source, &mut opened).map_err(WrongUse::because)?)
}

pub(super) fn picture(frame: &Frame, marks: &[Mark<'_>]) -> anyhow::Result<Picture> {
    Ok(match frame.content() {
        Content::Image(image) => {
            let mut picture = Picture {
                size: [image.width, image.height],
                rgb: image.rgb.clone(),
            };
            draw(&mut picture.rgb, picture.size, marks)?;
            picture
        }
        Content::Points(cloud) => {
            let far = |axis: usize| {
                let along = cloud
                    .points
                    .iter()
                    .map(|point| point[axis])
                    .filter(|v| v.is_finite());
                let [low, high] = along.fold([0.0f32; 2], |[low, high], v| [low.min(v), high.max(v)]);
                // What lies beyond hides what lies near.
                [low.max(-60.0), high.min(60.0)]
            };
            above(&cloud.points, marks, View::of(far(0), far(1), ABOVE))?
        }
        Content::Empty | Content::Set(_) => {
            return Err(WrongUse("the tenant's frames have no content to draw on".to_owned()).into());
        }
    })
}

/// A true object: its class, and where it is.
pub(super) struct Known {
    pub(super) class: String,
    pub(super) place: Place,
}

/// What a dataset says is there in a frame.
pub(super) fn known(dataset: &Dataset, answer: &Answer) -> anyhow::Result<Vec<Known>> {
    match dataset {
        Dataset::Kitti(folder) => folder.known(answer),
        Dataset::Coco(annotations) => annotations.known(answer),
        #[cfg(feature = "recordings")]
        Dataset::Raw(drive) => drive.known(answer),
        #[cfg(feature = "recordings")]
        Dataset::NuScenes(annotations) => annotations.known(answer),
    }
}

fn truth(answers: &Answers, answer: &Answer, data: Option<&Path>) -> Vec<Known> {
    let known = dataset(answers, data).and_then(|dataset| known(&dataset, answer));
    known.unwrap_or_else(|error| {
        log::info!("without truth: {error}");
        Vec::new()
    })
}

pub(super) fn marks<'a>(answers: &'a Answers, answer: &Answer, truth: &'a [Known]) -> Vec<Mark<'a>> {
    let number = |name: &str| {
        let same = |class: &String| class.eq_ignore_ascii_case(name);
        answers
            .classes
            .iter()
            .position(same)
            .map_or(u16::MAX, |class| class as u16)
    };
    let found = answer.found.iter().map(|detection| {
        let class = answers.classes.get(usize::from(detection.class));
        Mark {
            kind: Kind::Found,
            class: detection.class,
            text: format!("{} {:.2}", class.map_or("?", String::as_str), detection.score).into(),
            place: detection.place,
        }
    });
    let there = truth.iter().map(|known| Mark {
        kind: Kind::Truth,
        class: number(&known.class),
        text: known.class.as_str().into(),
        place: known.place,
    });
    found.chain(there).collect()
}

impl kitti::Folder {
    /// What the labels say is there, in the frame of what was found.
    fn known(&self, answer: &Answer) -> anyhow::Result<Vec<Known>> {
        let in_space = answer
            .found
            .iter()
            .any(|found| matches!(found.place, Place::Space(_)))
            || self.is_of_sweeps();
        let labels = self.labels(answer)?;
        let known = labels
            .into_iter()
            .filter(|label| !label.dont_care)
            .filter_map(|label| {
                let place = match in_space {
                    true => Place::Space(label.box3d?),
                    false => Place::Image(label.box2d),
                };
                Some(Known {
                    class: label.class,
                    place,
                })
            });
        Ok(known.collect())
    }
}

impl coco::Annotations {
    fn known(&self, answer: &Answer) -> anyhow::Result<Vec<Known>> {
        Ok(self
            .truths_of(self.number(answer)?)
            .map(|(class, place)| Known {
                class: class.to_owned(),
                place: Place::Image(place),
            })
            .collect())
    }
}
