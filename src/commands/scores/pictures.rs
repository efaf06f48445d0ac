//! `jetlag report RUN --html FILE --pictures N`: the slowest and the worst frames of a run, as pictures within its page.
//!
//! The page has room for so many bytes and no more: pictures are made smaller until they fit. What cannot be shown is told in a sentence,
//! on the page and beside it; the rest of the page does not depend on it.

use std::path::{Path, PathBuf};

use jetlag_draw::{Picture as Drawn, draw, write_png};
use libjpeg_turbo_rs::{PixelFormat, Subsampling};

use super::answers::{self, Answer, Answers};
use super::view::{self, Known};
use super::{dataset, is_the_same};
use crate::detector::eval::iou;
use crate::detector::{Box2d, Detection, Place};
use crate::report::html::{Picture, Pictures};
use crate::source::{Content, Frame, Image};

/// Bytes of all pictures of a page together. In the page they are a third longer, and it stays below 5 MB.
const ROOM: usize = 3_300_000;
/// Pixels along the longer side, and the quality of JPEG: tried in this order until a picture has its share of the room.
const SIZES: [(usize, u8); 4] = [(1280, 85), (960, 80), (720, 70), (480, 55)];
/// What is there in each of a tenant's frames; `None` where no truth is known.
type Truth = Option<Vec<Vec<Known>>>;

/// Least overlap of a box in the image with the true one that it finds.
const LEAST_IOU: f64 = 0.5;
/// Farthest centre, in metres, of a box in space from the true one that it finds: nuScenes' widest.
const FARTHEST: f32 = 2.0;

/// Pictures of each run.
///
/// # Errors
/// None: what cannot be had is told in [`Pictures::absent`].
pub(in crate::commands) fn pictures(runs: &[PathBuf], count: usize) -> anyhow::Result<Vec<Pictures>> {
    let room = ROOM / runs.len().max(1) / count.max(1);
    Ok(runs.iter().map(|run| of_run(run, count, room)).collect())
}

fn of_run(run: &Path, count: usize, room: usize) -> Pictures {
    let all = match answers::read(run, None) {
        Ok(all) => all,
        Err(error) => {
            return Pictures {
                absent: vec![format!("No pictures: {error}.")],
                ..Pictures::default()
            };
        }
    };
    let truths: Vec<Truth> = all.iter().map(truth).collect();
    let chosen = choose(&all, &truths, count);
    let by_truth = truths.iter().any(Option::is_some);
    let mut pictures = Pictures {
        note: note(by_truth, truths.iter().any(Option::is_none)),
        ..Pictures::default()
    };
    let mut shown: Vec<(usize, Picture)> = Vec::new();
    for (tenant, answers) in all.iter().enumerate() {
        let mut of_tenant: Vec<(usize, &Chosen)> = chosen
            .iter()
            .enumerate()
            .filter(|(_, chosen)| chosen.tenant == tenant)
            .collect();
        if of_tenant.is_empty() {
            continue;
        }
        // In the order in which the source has them, so that it is read through once.
        of_tenant.sort_by_key(|(_, chosen)| answers.frames[chosen.frame].content);
        let known = truths[tenant].as_deref();
        match of_source(answers, known, &of_tenant, room) {
            Ok(mut drawn) => shown.append(&mut drawn),
            Err(error) => pictures
                .absent
                .push(format!("No pictures of {}: {error:#}.", answers.tenant)),
        }
    }
    shown.sort_by_key(|(place, _)| *place);
    pictures.all = shown.into_iter().map(|(_, picture)| picture).collect();
    if pictures.all.is_empty() && pictures.absent.is_empty() {
        pictures
            .absent
            .push("No pictures: no frame of the measurement has an answer.".to_owned());
    }
    pictures
}

fn note(by_truth: bool, some_without: bool) -> String {
    let of_truth = "where the truth is known, the worst are those with the fewest right boxes: 2 · right / (found + true), a box being \
                    right at an overlap (IoU) of 0.5 in the image, or 2 m from the centre in space";
    let without = "where no truth is known, the worst are those whose detections have the lowest mean score";
    let worst = match (by_truth, some_without) {
        (true, true) => format!("{of_truth}; {without}"),
        (true, false) => of_truth.to_owned(),
        (false, _) => without.to_owned(),
    };
    format!("First the slowest, by response time; then the worst: {worst}. Solid: found; dashed: truth.")
}

/// What is there in each of a tenant's frames; `None` where no truth is known.
fn truth(answers: &Answers) -> Truth {
    let dataset = dataset(answers, None)
        .inspect_err(|error| log::info!("without truth: {error}"))
        .ok()?;
    let known = |answer: &Answer| match answer.content {
        Some(_) => view::known(&dataset, answer),
        None => Ok(Vec::new()),
    };
    let all: anyhow::Result<Vec<Vec<Known>>> = answers.frames.iter().map(known).collect();
    all.inspect_err(|error| log::info!("without truth: {error}")).ok()
}

/// A frame to be shown.
#[derive(Clone, Debug, PartialEq)]
struct Chosen {
    /// Positions of the tenant, and of the frame among its own.
    tenant: usize,
    frame: usize,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Why {
    Slow,
    /// This share of boxes is right.
    Wrong(f64),
    /// This is the mean score.
    Unsure(f64),
}

impl Why {
    fn words(self) -> String {
        match self {
            Why::Slow => "slow".to_owned(),
            Why::Wrong(right) => format!("{:.0} % of boxes right", right * 100.0),
            Why::Unsure(mean) => format!("mean score {mean:.2}"),
        }
    }
}

/// Half of them the slowest, rounded up, and then the worst that are not among these.
fn choose(all: &[Answers], truths: &[Truth], count: usize) -> Vec<Chosen> {
    let mut slow: Vec<(i64, Chosen)> = Vec::new();
    let mut bad: Vec<(f64, Chosen)> = Vec::new();
    for (tenant, (answers, truth)) in all.iter().zip(truths).enumerate() {
        for (frame, answer) in answers.frames.iter().enumerate() {
            let (Some(finished), Some(_)) = (answer.finished, answer.content) else {
                continue;
            };
            let chosen = |why| Chosen { tenant, frame, why };
            slow.push((finished.since(answer.released).0, chosen(Why::Slow)));
            let known = truth.as_ref().and_then(|truth| truth.get(frame));
            let judged = match known {
                Some(known) => right(&answer.found, known, &answers.classes).map(Why::Wrong),
                None => mean_score(&answer.found).map(Why::Unsure),
            };
            if let Some(why @ (Why::Wrong(badness) | Why::Unsure(badness))) = judged {
                bad.push((badness, chosen(why)));
            }
        }
    }
    slow.sort_by_key(|(response, _)| std::cmp::Reverse(*response));
    bad.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut chosen: Vec<Chosen> = Vec::with_capacity(count);
    let is_new = |chosen: &[Chosen], one: &Chosen| {
        // A source that repeats has one content in many frames: it is shown once.
        let content = |of: &Chosen| {
            (
                of.tenant,
                all.get(of.tenant)
                    .and_then(|of_all| of_all.frames.get(of.frame)?.content),
            )
        };
        chosen.iter().all(|other| content(other) != content(one))
    };
    for (most, candidates) in [
        (
            count.div_ceil(2),
            slow.into_iter().map(|(_, one)| one).collect::<Vec<_>>(),
        ),
        (count, bad.into_iter().map(|(_, one)| one).collect()),
    ] {
        for one in candidates {
            if chosen.len() >= most {
                break;
            }
            if is_new(&chosen, &one) {
                chosen.push(one);
            }
        }
    }
    chosen
}

fn mean_score(found: &[Detection]) -> Option<f64> {
    let sum: f64 = found.iter().map(|detection| f64::from(detection.score)).sum();
    (!found.is_empty()).then(|| sum / found.len() as f64)
}

/// The share of right boxes, `2 · right / (found + true)`, of the classes that the detector has; `None` where there is neither.
fn right(found: &[Detection], known: &[Known], classes: &[String]) -> Option<f64> {
    let number = |known: &Known| {
        classes
            .iter()
            .position(|class| class.eq_ignore_ascii_case(&known.class))
    };
    let there: Vec<(usize, &Place)> = known
        .iter()
        .filter_map(|known| Some((number(known)?, &known.place)))
        .collect();
    if found.is_empty() && there.is_empty() {
        return None;
    }
    let mut taken = vec![false; there.len()];
    let mut hits = 0;
    // The best first, as they are recorded: each takes the nearest that is left.
    for detection in found {
        let candidates = there.iter().enumerate().filter(|(at, (class, _))| {
            !taken.get(*at).copied().unwrap_or(true) && *class == usize::from(detection.class)
        });
        let nearness =
            candidates.filter_map(|(at, (_, place))| Some((at, agreement(&detection.place, place)?)));
        if let Some((at, _)) = nearness.max_by(|one, other| one.1.total_cmp(&other.1)) {
            taken[at] = true;
            hits += 1;
        }
    }
    Some(2.0 * f64::from(hits) / (found.len() + there.len()) as f64)
}

/// How well two boxes agree, the more the better; `None` where one does not find the other.
fn agreement(found: &Place, known: &Place) -> Option<f64> {
    match (found, known) {
        (Place::Image(_), Place::Image(_)) => Some(iou(found, known)).filter(|iou| *iou >= LEAST_IOU),
        (Place::Space(one), Place::Space(other)) => {
            let apart = (one.x - other.x).hypot(one.y - other.y);
            (apart <= FARTHEST).then(|| -f64::from(apart))
        }
        _ => None,
    }
}

/// Pictures of a tenant's frames, each with its place among all.
fn of_source(
    answers: &Answers,
    known: Option<&[Vec<Known>]>,
    chosen: &[(usize, &Chosen)],
    room: usize,
) -> anyhow::Result<Vec<(usize, Picture)>> {
    let mut source = view::source(&answers.source)?;
    is_the_same(answers, source.info().selection.as_ref(), None)?;
    let mut next = 0;
    let mut frame = Frame::default();
    let mut pictures = Vec::with_capacity(chosen.len());
    for (place, chosen) in chosen {
        let answer = &answers.frames[chosen.frame];
        let wanted = answer.content.unwrap_or_default();
        // Two frames of a run may have the same content, which is then here already.
        if next != wanted + 1 {
            source.skip(wanted.saturating_sub(next))?;
            view::next(source.as_mut(), wanted, &mut frame)?;
            next = wanted + 1;
        }
        let truth = known
            .and_then(|known| known.get(chosen.frame))
            .map_or(&[][..], Vec::as_slice);
        let (bytes, media, size) = encoded(&frame, answers, answer, truth, room)?;
        let response = answer.finished.map_or(0.0, |finished| {
            finished.since(answer.released).as_secs_f64() * 1e3
        });
        let there = match known {
            Some(_) => format!(", {} there", truth.len()),
            None => String::new(),
        };
        pictures.push((
            *place,
            Picture {
                title: format!(
                    "{}, frame {}: {}",
                    answers.tenant,
                    answer.sequence,
                    chosen.why.words()
                ),
                caption: format!(
                    "answered after {response:.1} ms, {} found{there}",
                    answer.found.len()
                ),
                bytes,
                media,
                size,
            },
        ));
    }
    Ok(pictures)
}

type Encoded = (Vec<u8>, &'static str, [usize; 2]);

/// A frame with its boxes, of at most `room` bytes.
fn encoded(
    frame: &Frame,
    answers: &Answers,
    answer: &Answer,
    truth: &[Known],
    room: usize,
) -> anyhow::Result<Encoded> {
    let marks = view::marks(answers, answer, truth);
    let Content::Image(image) = frame.content() else {
        let drawn = view::picture(frame, &marks)?;
        let mut png = Vec::new();
        write_png(&drawn, &mut png)?;
        if png.len() <= room {
            return Ok((png, "image/png", drawn.size));
        }
        return smaller(drawn.size, room, |longer| {
            Ok(scaled(&drawn.rgb, drawn.size, longer))
        });
    };
    smaller([image.width, image.height], room, |longer| {
        let mut drawn = scaled_image(image, longer)?;
        let by = [0, 1].map(|side| drawn.size[side] as f32 / [image.width, image.height][side].max(1) as f32);
        let marks: Vec<_> = marks
            .iter()
            .map(|mark| jetlag_draw::Mark {
                place: resized(mark.place, by),
                ..mark.clone()
            })
            .collect();
        draw(&mut drawn.rgb, drawn.size, &marks)?;
        Ok(drawn)
    })
}

/// The first of the sizes whose JPEG fits.
fn smaller(
    size: [usize; 2],
    room: usize,
    drawn: impl Fn(usize) -> anyhow::Result<Drawn>,
) -> anyhow::Result<Encoded> {
    let longer = size[0].max(size[1]);
    let mut fewest = usize::MAX;
    for (most, quality) in SIZES {
        let picture = drawn(most.min(longer))?;
        let [width, height] = picture.size;
        let jpeg = libjpeg_turbo_rs::compress(
            &picture.rgb,
            width,
            height,
            PixelFormat::Rgb,
            quality,
            Subsampling::S420,
        )?;
        if jpeg.len() <= room {
            return Ok((jpeg, "image/jpeg", picture.size));
        }
        fewest = fewest.min(jpeg.len());
    }
    anyhow::bail!(
        "a picture has {fewest} bytes at least, and there is room for {room}; ask for fewer with --pictures"
    )
}

fn scaled_image(image: &Image, longer: usize) -> anyhow::Result<Drawn> {
    if image
        .width
        .checked_mul(image.height)
        .and_then(|pixels| pixels.checked_mul(3))
        != Some(image.rgb.len())
    {
        anyhow::bail!("an image of the source is damaged");
    }
    Ok(scaled(&image.rgb, [image.width, image.height], longer))
}

/// An image whose longer side has at most so many pixels: each is the mean of those that it covers.
fn scaled(rgb: &[u8], [width, height]: [usize; 2], longer: usize) -> Drawn {
    let (long, most) = (width.max(height).max(1), longer.max(1));
    if long <= most {
        return Drawn {
            size: [width, height],
            rgb: rgb.to_vec(),
        };
    }
    let to = |side: usize| (side * most / long).max(1);
    let size = [to(width), to(height)];
    let span =
        |at: usize, from: usize, to: usize| (at * from / to)..((at + 1) * from / to).max(at * from / to + 1);
    let mut out = Vec::with_capacity(size[0] * size[1] * 3);
    for y in 0..size[1] {
        for x in 0..size[0] {
            let mut sums = [0usize; 3];
            let mut pixels = 0;
            for from_y in span(y, height, size[1]) {
                for from_x in span(x, width, size[0]) {
                    let at = (from_y * width + from_x) * 3;
                    if let Some(pixel) = rgb.get(at..at + 3) {
                        sums.iter_mut()
                            .zip(pixel)
                            .for_each(|(sum, level)| *sum += usize::from(*level));
                        pixels += 1;
                    }
                }
            }
            out.extend(sums.map(|sum| (sum / pixels.max(1)) as u8));
        }
    }
    Drawn { size, rgb: out }
}

fn resized(place: Place, by: [f32; 2]) -> Place {
    match place {
        Place::Image(Box2d { x1, y1, x2, y2 }) => Place::Image(Box2d {
            x1: x1 * by[0],
            y1: y1 * by[1],
            x2: x2 * by[0],
            y2: y2 * by[1],
        }),
        space => space,
    }
}

#[cfg(test)]
mod tests;
