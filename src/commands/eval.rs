//! `jetlag eval`: how well a detector finds what is labelled.
//!
//! ```text
//! $ jetlag eval engines/lidar.ron --data scenes
//! DETECTIONS OF LIDAR  100 frames of scenes, overlap at least 0.5 seen from above
//!   class   labels  found  missed  false positives  precision  recall
//!   Car        812    790      22            31      0.962   0.973
//! ```
//! Every frame of a labelled folder goes through the detector, one after the other: nothing is timed. The
//! matching is in `detector::eval`; which labels count is decided here, per sensor.

mod detections;

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jetlag_figure::section::{Cell, Section, Table};
use jetlag_record::classes::ClassMap;
use serde::Serialize;

use super::opening;
use super::outcome::{Outcome, WrongUse};
use super::output::print;
use super::section::{Medium, print_sections};
use crate::cli::EvalArgs;
use crate::detector::eval::{Counts, Evaluation, FrameTruth, Truth};
use crate::detector::{Box3d, Place};
use crate::scenario::{DetectorRef, MAX_MEGAPIXELS, MAX_POINTS, PointFormat, Reading};
use crate::source::kitti::{self, Label, root_of};
use crate::source::{Content, ContentKind, Frame, Source, SourceError, images, points};
use detections::Detections;

/// Overlap from which a box is a match, where `--iou` says nothing else.
const LEAST_IOU: f32 = 0.5;
/// Fewest points on an object that a LiDAR detector is expected to find.
const MIN_POINTS: usize = 10;

/// Evaluates a detector on a folder in KITTI's layout and prints the table.
///
/// # Errors
/// [`WrongUse`] for what can be told before the first frame: options out of range, no such detector, a
/// folder that is not in KITTI's layout.
pub fn run(args: &EvalArgs) -> anyhow::Result<Outcome> {
    if Path::new(&args.detector)
        .extension()
        .is_some_and(|ending| ending == "mcap")
    {
        only_of("a detector", &args.detector, &of_a_detector(args))?;
        return super::scores::run(args);
    }
    only_of("a run file (.mcap)", &args.detector, &of_a_run(args))?;
    let settings = settings(args)?;
    let named = args
        .data
        .as_deref()
        .ok_or_else(|| WrongUse(format!("name the labelled frames: {LAYOUT}")))?;
    let root = root_of(named).unwrap_or_else(|| named.to_owned());
    let data = root.as_path();
    let reference = match args.detector.strip_prefix("builtin:") {
        Some(name) => DetectorRef::Builtin(name.to_owned()),
        None => DetectorRef::File(PathBuf::from(&args.detector)),
    };
    let detector = opening::detector(&reference).map_err(WrongUse::because)?;
    if detector.input == ContentKind::Empty {
        return Err(WrongUse(format!(
            "{}: a bare network finds no boxes to evaluate; describe its input and outputs in a spec: `jetlag init NET.onnx` proposes one",
            args.detector
        ))
        .into());
    }
    if let Some(only) = opening::only_in_fusion(&reference, &detector) {
        return Err(WrongUse::because(only).into());
    }
    // The labels of a frame have its file's name: the source's own list says which that is.
    let (files, mut source): (Vec<PathBuf>, Box<dyn Source>) = match detector.input {
        ContentKind::Image => {
            let folder = images::open(&data.join("image_2"), false, MAX_MEGAPIXELS).map_err(not_kitti)?;
            (
                folder.files().to_vec(),
                Box::new(folder.read(Reading::default())?),
            )
        }
        _ => {
            let folder = points::open(&data.join("velodyne"), false, PointFormat::Kitti, MAX_POINTS)
                .map_err(not_kitti)?;
            (
                folder.files().to_vec(),
                Box::new(folder.read(Reading::default())?),
            )
        }
    };
    let most = args.limit.unwrap_or(usize::MAX);
    for file in files.iter().take(most) {
        for folder in ["label_2", "calib"] {
            there(&beside(data, folder, file), file)?;
        }
    }
    let known = known_classes(files.iter().take(most), data)?;
    let (classes, input, reach) = (detector.classes.clone(), detector.input, detector.reach);
    let name = detector.name.clone();
    let mut labels = |frame: &Frame| {
        let file = files
            .get(frame.index as usize)
            .context("more frames than files")?;
        let beside = |folder| beside(data, folder, file);
        let labels = kitti::read_labels(&beside("label_2"), &beside("calib"))?;
        Ok(match input {
            ContentKind::Image => camera_truth(&labels, &classes),
            _ => lidar_truth(&labels, &classes, frame.content(), reach),
        })
    };
    let mut detections = match &args.backend {
        None => Detections::here(detector)?,
        Some(backend) => Detections::of_run(&args.detector, data, input, backend, files.len().min(most))?,
    };
    let bar = indicatif::ProgressBar::new(settings.max_frames.unwrap_or(u64::MAX).min(files.len() as u64));
    let report = evaluate(
        (name.as_str(), classes.as_slice()),
        &mut detections,
        source.as_mut(),
        &mut labels,
        &ClassMap::by_name(&classes, &known),
        settings,
        &mut |n| bar.set_position(n),
    );
    bar.finish_and_clear();
    let report = report?;
    match Medium::of(args.format) {
        Some(medium) => print_sections(&[section(&report, named, input)], medium)?,
        None => print(&(serde_json::to_string_pretty(&report)? + "\n"))?,
    }
    Ok(Outcome::Done)
}

/// The options that are given, of those that say how a detector is evaluated.
fn of_a_detector(args: &EvalArgs) -> Vec<&'static str> {
    given([
        ("--iou", args.iou.is_some()),
        ("--threshold", args.threshold.is_some()),
        ("--limit", args.limit.is_some()),
        ("--backend", args.backend.is_some()),
    ])
}

/// The options that are given, of those that say how a run is scored.
fn of_a_run(args: &EvalArgs) -> Vec<&'static str> {
    given([
        ("--mode", args.mode.is_some()),
        ("--tenant", args.tenant.is_some()),
        ("--against", args.against.is_some()),
        ("--fail-if", !args.fail_if.is_empty()),
    ])
}

fn given<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    let given = options.into_iter().filter(|(_, given)| *given);
    given.map(|(option, _)| option).collect()
}

/// An option that would have no effect is refused: a limit that nothing is held against must not look kept.
fn only_of(what: &str, named: &str, given: &[&str]) -> Result<(), WrongUse> {
    match given {
        [] => Ok(()),
        _ => Err(WrongUse(format!(
            "only {what} takes {}, and {named} is none",
            given.join(" and ")
        ))),
    }
}

/// What was asked for, if it makes sense.
fn settings(args: &EvalArgs) -> Result<EvalSettings, WrongUse> {
    let refused = |problem: String| Err(WrongUse(problem));
    let iou = args.iou.unwrap_or(LEAST_IOU);
    if !(iou > 0.0 && iou <= 1.0) {
        return refused(format!("--iou {iou}: must be above 0 and at most 1, such as 0.5"));
    }
    if let Some(score) = args.threshold.filter(|score| !(0.0..=1.0).contains(score)) {
        return refused(format!("--threshold {score}: must be from 0 to 1, such as 0.3"));
    }
    if args.limit == Some(0) {
        return refused("--limit must be at least 1".to_owned());
    }
    Ok(EvalSettings {
        min_iou: f64::from(iou),
        min_score: args.threshold.unwrap_or(0.0),
        max_frames: args.limit.map(|n| n as u64),
    })
}

/// What `--data` must be.
const LAYOUT: &str = "--data must be a folder in KITTI's layout: image_2 or velodyne, label_2, calib";

fn not_kitti(error: SourceError) -> WrongUse {
    WrongUse(format!("{error}; {LAYOUT}"))
}

/// The text file in another folder of the layout that goes with an image or a sweep.
fn beside(data: &Path, folder: &str, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    data.join(folder).join(name).with_extension("txt")
}

fn there(wanted: &Path, file: &Path) -> Result<(), WrongUse> {
    if wanted.is_file() {
        return Ok(());
    }
    Err(WrongUse(format!(
        "{} does not exist, but {} does; {LAYOUT}",
        wanted.display(),
        file.display()
    )))
}

/// KITTI's classes, those of its labels that mean something.
const KITTI: [&str; 8] = [
    "Car",
    "Van",
    "Truck",
    "Pedestrian",
    "Person_sitting",
    "Cyclist",
    "Tram",
    "Misc",
];

/// The classes that a folder may have labels of: KITTI's, and what else its files name.
fn known_classes<'f>(
    files: impl Iterator<Item = &'f PathBuf>,
    data: &Path,
) -> Result<Vec<String>, SourceError> {
    let mut known: Vec<String> = KITTI.map(str::to_owned).to_vec();
    for file in files {
        for label in kitti::read_labels(&beside(data, "label_2", file), &beside(data, "calib", file))? {
            if !label.dont_care && !known.contains(&label.class) {
                known.push(label.class);
            }
        }
    }
    Ok(known)
}

/// The class of a label among the detector's, by docs/scores.md.
fn class_of(label: &Label, classes: &[String]) -> Option<u16> {
    let map = ClassMap::by_name(std::slice::from_ref(&label.class), classes);
    map.class(0).ok().flatten().map(|class| class as u16)
}

/// What a camera detector should find: labels of its classes, those too small or hidden counting neither way.
fn camera_truth(labels: &[Label], classes: &[String]) -> FrameTruth {
    let mut truth = FrameTruth::default();
    for label in labels {
        let place = Place::Image(label.box2d);
        match class_of(label, classes) {
            Some(class) if !label.dont_care => {
                truth.objects.push(Truth {
                    class,
                    place,
                    ignored: !label.counts_for_camera(),
                });
            }
            _ if label.dont_care => truth.dont_care.push(place),
            _ => {}
        }
    }
    truth
}

/// What a LiDAR detector should find: labels of its classes within its reach that hold enough points; others
/// count neither way.
fn lidar_truth(
    labels: &[Label],
    classes: &[String],
    content: &Content,
    reach: Option<[[f32; 2]; 2]>,
) -> FrameTruth {
    let mut truth = FrameTruth::default();
    for label in labels {
        let Some(place) = label.box3d else { continue };
        match class_of(label, classes) {
            Some(class) if !label.dont_care => {
                let within = reach
                    .is_none_or(|[x, y]| (x[0]..x[1]).contains(&place.x) && (y[0]..y[1]).contains(&place.y));
                let ignored = !within || points_in(content, &place) < MIN_POINTS;
                truth.objects.push(Truth {
                    class,
                    place: Place::Space(place),
                    ignored,
                });
            }
            _ if label.dont_care => truth.dont_care.push(Place::Space(place)),
            _ => {}
        }
    }
    truth
}

/// How many points of a sweep lie in a box, whose sides are taken 5 cm wider for the sensor's noise.
fn points_in(content: &Content, place: &Box3d) -> usize {
    const NOISE: f32 = 0.05;
    let Content::Points(cloud) = content else { return 0 };
    let (sin, cos) = place.yaw.sin_cos();
    cloud
        .points
        .iter()
        .filter(|[x, y, z, _]| {
            let (dx, dy, dz) = (x - place.x, y - place.y, z - place.z);
            (dx * cos + dy * sin).abs() <= place.l / 2.0 + NOISE
                && (dy * cos - dx * sin).abs() <= place.w / 2.0 + NOISE
                && dz.abs() <= place.h / 2.0 + NOISE
        })
        .count()
}

/// What counts as found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvalSettings {
    /// Least overlap with a label: of boxes in the image, or of boxes seen from above.
    pub min_iou: f64,
    /// Least score of a detection; the detector's own threshold holds besides.
    pub min_score: f32,
    /// Stop after this many frames.
    pub max_frames: Option<u64>,
}

impl Default for EvalSettings {
    fn default() -> Self {
        EvalSettings {
            min_iou: 0.5,
            min_score: 0.0,
            max_frames: None,
        }
    }
}

/// One line of the table: a class, or all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalRow {
    /// The class's name; `all` in the last row.
    pub class: String,
    /// How many labels of the class count, found or not.
    pub labels: u64,
    /// Of these, how many were found.
    pub found: u64,
    /// And how many were not.
    pub missed: u64,
    /// How many detections match no label.
    pub false_alarms: u64,
    /// Detections that count neither way.
    pub ignored: u64,
    /// Share of detections that are right; none without detections.
    pub precision: Option<f64>,
    /// Share of labels found; none without labels.
    pub recall: Option<f64>,
}

/// What an evaluation says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalReport {
    /// The name in the detector's spec.
    pub detector: String,
    /// Frames that were evaluated.
    pub frames: u64,
    /// What counted as found.
    pub settings: EvalSettings,
    /// One row a class, then `all`.
    pub rows: Vec<EvalRow>,
    /// Classes of the detector that the labels do not know: what it finds of them is not scored.
    pub not_scored: Vec<String>,
}

/// The name of the row for all classes.
const ALL: &str = "all";

/// Rows for these classes, then one for all.
pub fn rows(classes: &[String], evaluation: &Evaluation) -> Vec<EvalRow> {
    let row = |class: &str, counts: &Counts| EvalRow {
        class: class.to_owned(),
        labels: counts.matched + counts.missed,
        found: counts.matched,
        missed: counts.missed,
        false_alarms: counts.false_alarms,
        ignored: counts.ignored,
        precision: counts.precision(),
        recall: counts.recall(),
    };
    let named = classes.iter().zip(evaluation.per_class());
    let mut rows: Vec<EvalRow> = named.map(|(class, counts)| row(class, counts)).collect();
    rows.push(row(ALL, &evaluation.overall()));
    rows
}

/// Matches what is found in a source's frames with their labels. `progress` is called with the number of frames done.
fn evaluate(
    (name, classes): (&str, &[String]),
    detections: &mut Detections,
    source: &mut dyn Source,
    labels: &mut dyn FnMut(&Frame) -> anyhow::Result<FrameTruth>,
    map: &ClassMap,
    settings: EvalSettings,
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<EvalReport> {
    let mut evaluation = Evaluation::new(classes.len(), settings.min_iou, settings.min_score);
    let (mut frame, mut found) = (Frame::default(), Vec::new());
    while settings.max_frames.is_none_or(|most| evaluation.frames() < most) && source.acquire(&mut frame)? {
        source.decode(&mut frame)?;
        detections
            .of(&frame, &mut found)
            .with_context(|| format!("frame {}", frame.index))?;
        found.retain(|found| map.class(found.class).is_ok_and(|class| class.is_some()));
        evaluation.add(&found, &labels(&frame)?);
        progress(evaluation.frames());
    }
    let not_scored: Vec<String> = map.unknown().map(str::to_owned).collect();
    let mut rows = rows(classes, &evaluation);
    rows.retain(|row| !not_scored.contains(&row.class));
    Ok(EvalReport {
        rows,
        not_scored,
        detector: name.to_owned(),
        frames: evaluation.frames(),
        settings,
    })
}

/// For people; `data` is where the labels are.
fn section(report: &EvalReport, data: &Path, input: ContentKind) -> Section<Infallible> {
    let from_above = match input {
        ContentKind::Image => "",
        _ => " seen from above",
    };
    let note = format!(
        "{} frames of {}, overlap at least {}{from_above}",
        report.frames,
        data.display(),
        report.settings.min_iou
    );
    let mut table = Table::new("").words("class").numbers([
        "labels",
        "found",
        "missed",
        "false positives",
        "precision",
        "recall",
    ]);
    let share = |value: Option<f64>| Cell::of(value, |value| format!("{value:.3}"));
    let scored = report
        .rows
        .iter()
        .filter(|row| row.labels > 0 || row.class == ALL);
    for row in scored {
        let count = |count: u64| Cell::new(count.to_string());
        table.row([
            Cell::new(row.class.as_str()),
            count(row.labels),
            count(row.found),
            count(row.missed),
            count(row.false_alarms),
            share(row.precision),
            share(row.recall),
        ]);
    }
    Section::new("detections", format!("Detections of {}", report.detector), note)
        .table(table)
        .remarks(without_labels(report))
        .remarks(not_scored(report))
}

/// Classes without labels, which the table leaves out.
fn without_labels(report: &EvalReport) -> Option<String> {
    let without = report
        .rows
        .iter()
        .filter(|row| row.labels == 0 && row.class != ALL);
    let without = without.map(|row| match row.false_alarms {
        0 => row.class.clone(),
        1 => format!("{} (1 false positive)", row.class),
        alarms => format!("{} ({alarms} false positives)", row.class),
    });
    let without: Vec<String> = without.collect();
    (!without.is_empty()).then(|| format!("without labels: {}", without.join(", ")))
}

fn not_scored(report: &EvalReport) -> Option<String> {
    const FEW: usize = 5;
    let all = &report.not_scored;
    let few = all.get(..FEW).unwrap_or(all).join(", ");
    let more = if all.len() > FEW { ", …" } else { "" };
    (!all.is_empty()).then(|| {
        format!(
            "not scored, since these labels have no such class: {} of its classes ({few}{more})",
            all.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use jetlag_figure::section::markdown;

    use super::*;
    use crate::detector::eval::Truth;
    use crate::detector::{Box3d, Detection, Place};

    #[test]
    fn labels_are_of_the_detectors_classes_by_any_of_their_names() {
        let label = |class: &str| Label {
            class: class.to_owned(),
            dont_care: false,
            truncated: 0.0,
            occluded: 0,
            box2d: crate::detector::Box2d::default(),
            box3d: None,
            columns: [0.0; 14],
        };
        let classes = ["person", "bicycle", "car", "traffic light"].map(str::to_owned);
        let of = |class| class_of(&label(class), &classes);
        assert_eq!(
            ["Pedestrian", "Cyclist", "Car", "Traffic_Light", "Tram"].map(of),
            [Some(0), Some(1), Some(2), Some(3), None]
        );
    }

    #[test]
    fn the_table_has_a_row_a_class_with_labels_and_one_for_all() {
        let mut evaluation = Evaluation::new(2, 0.5, 0.0);
        let car = Place::Space(Box3d {
            l: 4.0,
            w: 2.0,
            ..Box3d::default()
        });
        let truth = FrameTruth {
            objects: vec![Truth {
                class: 0,
                place: car,
                ignored: false,
            }],
            dont_care: vec![],
        };
        evaluation.add(&[Detection::still(0, 0.9, car)], &truth);
        evaluation.add(&[], &truth);
        let rows = rows(&["car".to_owned(), "person".to_owned()], &evaluation);
        let shown: Vec<_> = rows
            .iter()
            .map(|r| (r.class.as_str(), r.precision, r.recall))
            .collect();
        let half = Some(0.5);
        assert_eq!(
            shown,
            [
                ("car", Some(1.0), half),
                ("person", None, None),
                ("all", Some(1.0), half)
            ]
        );
        let settings = EvalSettings::default();
        let report = EvalReport {
            detector: "lidar".to_owned(),
            frames: 2,
            settings,
            rows,
            not_scored: vec!["zebra".to_owned()],
        };
        let text = markdown::section(&section(&report, Path::new("scenes"), ContentKind::Image));
        assert!(
            text.contains("| car | 2 |") && !text.contains("| person |"),
            "{text}"
        );
        assert!(
            text.contains("without labels: person") && text.contains("1 of its classes (zebra)"),
            "{text}"
        );
        assert!(
            serde_json::to_string(&report)
                .unwrap()
                .contains("\"precision\":null")
        );
    }
}
