//! `jetlag eval RUN.mcap`: what a run's answers are worth, by the rules of the dataset that it ran on.
//!
//! ```text
//! $ jetlag eval fused.mcap --data drive --mode stream
//! lidar  nuScenes, stream: truth at the moment when the answer was ready; 392 frames
//! figure       value  95 %
//! ap          0.4312  0.41 to 0.45
//! …
//! ```
//! The run file says what was found and when; the dataset says what was there. Which rules are meant follows from the dataset: those
//! of nuScenes, of KITTI, or of COCO.

mod answers;
mod coco;
mod export;
mod gate;
mod kitti;
#[cfg(feature = "recordings")]
mod nuscenes;
mod pictures;
#[cfg(feature = "recordings")]
mod raw;
mod view;

use std::path::Path;

use jetlag_score::Benchmark;
use jetlag_score::bootstrap::{Settings, Units};
use jetlag_score::report::{Comparison, Mode, Scores, Section};

use super::outcome::{Outcome, WrongUse};
use super::output::print;
use super::section::{Medium, print_sections};
use crate::cli::{EvalArgs, EvalMode, TableFormat};
use crate::record::Selection;
#[cfg(feature = "recordings")]
use crate::scenario::KittiLayout;
use crate::scenario::{NuScenesSpec, SourceSpec};
use answers::{Answer, Answers};
pub(super) use export::export;
use gate::Gate;
pub(super) use pictures::pictures;
pub(super) use view::view;

/// What a tenant's answers were held against.
struct Held {
    tenant: String,
    benchmark: Box<dyn Benchmark>,
    /// The scene of each scored frame; all 0 where single images are no scenes.
    scenes: Vec<u32>,
    /// What a reader must know of this run.
    notes: Vec<String>,
}

/// The dataset that a tenant ran on.
enum Dataset {
    Kitti(kitti::Folder),
    Coco(coco::Annotations),
    #[cfg(feature = "recordings")]
    Raw(raw::Drive),
    #[cfg(feature = "recordings")]
    NuScenes(nuscenes::Annotations),
}

/// Scores a run's answers, and those of another run beside them.
///
/// # Errors
/// [`WrongUse`] for a file that is no run, a run without detections, a dataset that is not there or is another one.
pub(super) fn run(args: &EvalArgs) -> anyhow::Result<Outcome> {
    let mode = match args.mode.unwrap_or_default() {
        EvalMode::Still => Mode::Still,
        EvalMode::Stream => Mode::Stream,
    };
    let of = |path: &Path| -> anyhow::Result<Vec<Held>> {
        let all = answers::read(path, args.tenant.as_deref())?;
        all.iter()
            .map(|answers| held(answers, args.data.as_deref(), mode))
            .collect()
    };
    let first = of(Path::new(&args.detector))?;
    let names: Vec<&str> = first.iter().map(|held| held.tenant.as_str()).collect();
    let gates = Gate::all(&args.fail_if, &names)?;
    if let Some(second) = &args.against {
        return compare(args, mode, &first, &of(second)?, &gates);
    }
    let mut scored = Vec::new();
    for held in &first {
        let units = Units::choose(&held.scenes);
        let settings = Settings::default();
        let mut scores = Scores::with_intervals(held.benchmark.as_ref(), mode, &units, &settings)?;
        scores.notes.extend(held.notes.iter().cloned());
        scored.push((held.tenant.clone(), scores));
    }
    let judged = gate::judge(&gates, &scored);
    let tenants = scored
        .iter()
        .map(|(name, scores)| (name.as_str(), scores.section(name), scores.to_json()));
    present(args.format, tenants.collect(), &judged)
}

/// Prints what is said of each tenant, and what came of each limit.
fn present(
    format: TableFormat,
    tenants: Vec<(&str, Section, serde_json::Value)>,
    judged: &[gate::Judged],
) -> anyhow::Result<Outcome> {
    match Medium::of(format) {
        None => {
            let tenants: serde_json::Map<String, serde_json::Value> = tenants
                .into_iter()
                .map(|(name, _, json)| (name.to_owned(), json))
                .collect();
            let gates: Vec<serde_json::Value> = judged.iter().map(gate::Judged::to_json).collect();
            let all = serde_json::json!({ "tenants": tenants, "gates": gates });
            print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        }
        Some(medium) => {
            let mut sections: Vec<Section> = tenants.into_iter().map(|(_, section, _)| section).collect();
            let limits = Section::new("limits", "Limits", "");
            sections.extend(
                limits
                    .texts(judged.iter().map(gate::Judged::to_text))
                    .unless_empty(),
            );
            print_sections(&sections, medium)?;
        }
    }
    Ok(match judged.iter().any(|judged| judged.fails) {
        true => Outcome::ExpectationBroken,
        false => Outcome::Done,
    })
}

fn compare(
    args: &EvalArgs,
    mode: Mode,
    first: &[Held],
    second: &[Held],
    gates: &[Gate],
) -> anyhow::Result<Outcome> {
    let other = args.against.as_deref().unwrap_or(Path::new(""));
    let names = [args.detector.clone(), other.display().to_string()];
    let mut compared = Vec::new();
    for held in first {
        let Some(with) = second.iter().find(|with| with.tenant == held.tenant) else {
            return Err(WrongUse(format!(
                "{} has no detections of tenant `{}`",
                names[1], held.tenant
            ))
            .into());
        };
        let units = Units::choose(&held.scenes);
        let runs = [held.benchmark.as_ref(), with.benchmark.as_ref()];
        let mut comparison = Comparison::of(names.clone(), runs, mode, &units, &Settings::default())
            .map_err(|error| WrongUse(format!("tenant {}: {error}", held.tenant)))?;
        for note in held.notes.iter().chain(&with.notes) {
            if !comparison.notes.contains(note) {
                comparison.notes.push(note.clone());
            }
        }
        compared.push((held, with, comparison));
    }
    // Limits hold for the second run, the new one.
    let scored: Vec<(String, Scores)> = compared
        .iter()
        .map(|(_, with, _)| (with.tenant.clone(), Scores::plain(with.benchmark.as_ref(), mode)))
        .collect();
    let judged = gate::judge(gates, &scored);
    let tenants = compared.iter().map(|(held, _, comparison)| {
        (
            held.tenant.as_str(),
            comparison.section(&held.tenant),
            comparison.to_json(),
        )
    });
    present(args.format, tenants.collect(), &judged)
}

impl Dataset {
    /// Which frames the tenant's source has in it now.
    fn selection(&self) -> Selection {
        match self {
            Dataset::Kitti(folder) => folder.selection(),
            Dataset::Coco(annotations) => annotations.selection(),
            #[cfg(feature = "recordings")]
            Dataset::Raw(drive) => drive.selection(),
            #[cfg(feature = "recordings")]
            Dataset::NuScenes(annotations) => annotations.selection(),
        }
    }
}

/// What a tenant ran on, if its truth is at hand and it is still the same.
fn dataset(answers: &Answers, data: Option<&Path>) -> anyhow::Result<Dataset> {
    let dataset = at_hand(answers, data)?;
    is_the_same(answers, Some(&dataset.selection()), data)?;
    Ok(dataset)
}

/// Whether a recording still has the frames that the run had. Files of versions before 1.16 do not say which these were.
/// `data` is where it was looked for, if not where it was.
fn is_the_same(answers: &Answers, now: Option<&Selection>, data: Option<&Path>) -> Result<(), WrongUse> {
    let (Some(then), Some(now)) = (&answers.selection, now) else {
        return Ok(());
    };
    if (then.frames, &then.hash) == (now.frames, &now.hash) {
        return Ok(());
    }
    let what = match then.frames == now.frames {
        true => format!("it has as many frames ({}), and they are others", now.frames),
        false => format!("it has {} frames, and the run had {}", now.frames, then.frames),
    };
    let place = data.map_or_else(
        || source_words(&answers.source),
        |data| data.display().to_string(),
    );
    Err(WrongUse(format!(
        "tenant {}: {place} is not what the run was recorded with: {what}; say with --data where that dataset is",
        answers.tenant
    )))
}

fn at_hand(answers: &Answers, data: Option<&Path>) -> anyhow::Result<Dataset> {
    if let Some(file) = data.filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
        return Ok(Dataset::Coco(coco::read(&answers.source, file)?));
    }
    let channels = of_nuscenes(&answers.source);
    if let Some(spec) = channels.first() {
        #[cfg(feature = "recordings")]
        return match channels.len() > 1 || crate::source::recordings::is_camera(&spec.sensor) {
            false => Ok(Dataset::NuScenes(nuscenes::open(spec, data, answers.selection.as_ref())?)),
            true => Err(WrongUse(format!(
                "tenant {}: nuScenes has boxes in space and none in images, so what was found in {} cannot be scored; name the LiDAR's tenant with --tenant",
                answers.tenant,
                channels
                    .iter()
                    .map(|of| of.sensor.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            ))
            .into()),
        };
        #[cfg(not(feature = "recordings"))]
        return Err(WrongUse(format!(
            "{}: this jetlag reads no datasets; build it with the feature `recordings`",
            spec.path.display()
        ))
        .into());
    }
    #[cfg(feature = "recordings")]
    if let SourceSpec::Kitti(spec) = &answers.source
        && spec.layout == KittiLayout::Raw
    {
        return Ok(Dataset::Raw(raw::open(spec, data)?));
    }
    match kitti::folder(&answers.source, data)? {
        Some(folder) => Ok(Dataset::Kitti(folder)),
        None => Err(WrongUse(format!(
            "tenant {}: nothing is known of what was there in {}; labels are read from KITTI's object layout and raw drives, nuScenes, and COCO's annotations (--data FILE.json, of `source: Images(…)`)",
            answers.tenant,
            source_words(&answers.source)
        ))
        .into()),
    }
}

/// The channels of nuScenes that a source is of: one, or several cameras.
fn of_nuscenes(source: &SourceSpec) -> Vec<&NuScenesSpec> {
    match source {
        SourceSpec::NuScenes(spec) => vec![spec],
        SourceSpec::Cameras(all) => all.iter().flat_map(of_nuscenes).collect(),
        _ => Vec::new(),
    }
}

fn source_words(source: &SourceSpec) -> String {
    match source {
        SourceSpec::Empty => "frames without content".to_owned(),
        SourceSpec::Images { path, .. } | SourceSpec::Points { path, .. } => path.display().to_string(),
        SourceSpec::NuScenes(spec) => spec.path.display().to_string(),
        SourceSpec::Kitti(spec) => spec.path.display().to_string(),
        SourceSpec::Bag(spec) => format!("the bag {}", spec.path.display()),
        SourceSpec::Synchronised(set) => source_words(&set.lidar),
        SourceSpec::Cameras(all) => all.first().map_or_else(String::new, source_words),
        SourceSpec::Video(_) => "a video".to_owned(),
        SourceSpec::Camera(_) => "a camera".to_owned(),
        SourceSpec::Synthetic { .. } => {
            "the synthetic world (write it with `jetlag data synth` and run on that folder)".to_owned()
        }
    }
}

fn held(answers: &Answers, data: Option<&Path>, mode: Mode) -> anyhow::Result<Held> {
    let dataset = dataset(answers, data)?;
    let mut notes = Vec::new();
    if answers.selection.is_none() {
        notes.push(
            "the run file does not say which frames of the dataset it had (it is of a version before 1.16): a dataset that has changed is noticed by its number of frames alone"
                .to_owned(),
        );
    }
    if answers.lost > 0 {
        notes.push(format!(
            "the detections of {} frames were lost while recording, and these frames are left out",
            answers.lost
        ));
    }
    let answered: Vec<&Answer> = answers
        .frames
        .iter()
        .filter(|answer| answer.finished.is_some() && answer.content.is_some())
        .collect();
    if mode == Mode::Still {
        let silent = answers.frames.len() - answered.len();
        if silent > 0 {
            notes.push(format!(
                "{silent} of {} frames have no answer (dropped or failed) and are left out; `--mode stream` counts them",
                answers.frames.len()
            ));
        }
    }
    let still_only = || {
        WrongUse(format!(
            "tenant {}: --mode stream needs to know where objects are between labels, and these labels have no identities; nuScenes's and those of KITTI's raw drives have (`jetlag data synth --format nuscenes` or `kitti` makes a drive)",
            answers.tenant
        ))
    };
    let (benchmark, scenes, map): (Box<dyn Benchmark>, Vec<u32>, _) = match &dataset {
        Dataset::Kitti(_) | Dataset::Coco(_) if mode == Mode::Stream => return Err(still_only().into()),
        Dataset::Kitti(folder) => {
            let (benchmark, few) = folder.score(answers, &answered)?;
            notes.extend(few);
            // Frames of KITTI's object layout are single: each is a scene.
            let scenes = (0..answered.len() as u32).collect();
            (Box::new(benchmark), scenes, kitti::class_map(&answers.classes))
        }
        Dataset::Coco(annotations) => {
            let benchmark = annotations.score(answers, &answered)?;
            let scenes = (0..answered.len() as u32).collect();
            (
                Box::new(benchmark),
                scenes,
                annotations.class_map(&answers.classes),
            )
        }
        #[cfg(feature = "recordings")]
        Dataset::Raw(drive) => {
            let matched = match mode {
                Mode::Still => drive.still(answers, &answered)?,
                Mode::Stream => drive.stream(answers)?,
            };
            notes.extend(matched.notes);
            // One drive: its blocks of frames are drawn.
            let scenes = vec![0; matched.benchmark.frames()];
            (
                Box::new(matched.benchmark),
                scenes,
                kitti::class_map(&answers.classes),
            )
        }
        #[cfg(feature = "recordings")]
        Dataset::NuScenes(annotations) => {
            let matched = match mode {
                Mode::Still => annotations.still(answers)?,
                Mode::Stream => annotations.stream(answers)?,
            };
            notes.extend(annotations.notes()?);
            if matched.left_out > 0 {
                notes.push(match mode {
                    Mode::Still => format!(
                        "annotated captures without an answer, left out: {}",
                        matched.left_out
                    ),
                    Mode::Stream => {
                        format!("moments outside the annotations, left out: {}", matched.left_out)
                    }
                });
            }
            (
                Box::new(matched.benchmark),
                matched.scenes,
                nuscenes::class_map(&answers.classes),
            )
        }
    };
    let unknown: Vec<&str> = map.unknown().collect();
    if !unknown.is_empty() {
        notes.push(format!(
            "the dataset has no class {}: detections of it are not scored",
            unknown.join(", ")
        ));
    }
    if !answers.classes.is_empty() && unknown.len() == answers.classes.len() {
        return Err(WrongUse(format!(
            "tenant {}: the dataset has none of its detector's classes ({}), so nothing can be scored; name the classes in the \
             detector's spec as the dataset does",
            answers.tenant,
            unknown.join(", ")
        ))
        .into());
    }
    if benchmark.frames() == 0 {
        return Err(WrongUse(format!(
            "tenant {}: no frame of the run can be scored; it has {} measured frames, {} of them answered",
            answers.tenant,
            answers.frames.len(),
            answered.len()
        ))
        .into());
    }
    Ok(Held {
        tenant: answers.tenant.clone(),
        benchmark,
        scenes,
        notes,
    })
}
