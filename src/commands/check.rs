//! What can be told of a scenario before anything runs: whether its detectors and their networks go together, whether sources yield frames,
//! and whether each tenant can be opened here.

use super::fits::{self, Checked};
use super::opening;
use super::programs;
use super::tenants;
use crate::board::Roots;
use crate::detector::Detector;
use crate::scenario::{BackendChoice, DetectorRef, Scenario, Tenant};
use crate::source::recordings::Opened;
use crate::source::{Content, ContentKind, Frame};
use crate::telemetry::clocks;

/// Checks all tenants of a scenario; each word of it begins with its tenant.
pub(super) fn scenario(scenario: &Scenario) -> Checked {
    let mut all = Checked {
        problems: tenants::without_gpu(scenario),
        notes: Vec::new(),
    };
    if let Some(wanted) = &scenario.power_mode
        && let Err(error) = clocks::mode(&Roots::system(), wanted)
    {
        all.problems.push(format!("power_mode: {error}"));
    }
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        let checked = one(scenario, number, tenant);
        let of = |text: String| format!("tenant {}: {text}", tenant.name);
        all.problems.extend(checked.problems.into_iter().map(of));
        all.notes.extend(checked.notes.into_iter().map(of));
    }
    all
}

/// The tenant's detector, or why it is none of this tenant.
fn opened(reference: &DetectorRef, tenant: &Tenant) -> Result<Detector, String> {
    let detector = opening::fed(reference, tenant.made.as_ref()).map_err(|error| error.to_string())?;
    match opening::only_in_fusion(reference, &detector) {
        Some(only) => Err(only.to_string()),
        None => Ok(detector),
    }
}

fn one(scenario: &Scenario, number: usize, tenant: &Tenant) -> Checked {
    let mut checked = match &tenant.detector {
        None => Checked::default(),
        Some(reference) => match opened(reference, tenant) {
            Err(problem) => Checked {
                problems: vec![problem],
                notes: Vec::new(),
            },
            // What only simulates does not read its networks.
            Ok(_) if !tenant.backend.executes() => Checked::default(),
            // Its outputs are those of several frames, which are told apart when they are there.
            Ok(detector) if !tenant.batch.is_single() => match detector.program.batched(tenant.batch.size) {
                Ok(_) => Checked {
                    problems: Vec::new(),
                    notes: vec![format!(
                        "its network executes {} frames at once, so the head is checked on the first batch",
                        tenant.batch.size
                    )],
                },
                Err(error) => Checked {
                    problems: vec![error.to_string()],
                    notes: Vec::new(),
                },
            },
            Ok(mut detector) => of_files(fits::detector(&mut detector), &tenant.backend),
        },
    };
    // Whoever wrote the scenario named them, and nothing of it is started here.
    let starts = programs::named(tenant);
    if starts.is_empty()
        && let Err(problem) = first_frame(tenant)
    {
        checked.problems.push(problem);
    }
    checked.notes.extend(opening::batch_note(tenant));
    checked.notes.extend(starts.iter().map(|line| {
        format!("its frames are those of `{line}`, which is not started here; a run starts it with --allow-commands")
    }));
    if !checked.problems.is_empty() || !starts.is_empty() {
        return checked;
    }
    match tenants::unbuilt(tenant) {
        Ok(names) if names.is_empty() => {}
        Ok(names) => {
            checked.notes.push(format!(
                "no plan of {} is in the cache; the run builds it first, which may take minutes",
                names.join(", ")
            ));
            return checked;
        }
        Err(problem) => {
            checked.problems.push(problem);
            return checked;
        }
    }
    // With one frame in flight, which takes the least memory.
    let mut small = scenario.clone();
    small.tenants[number].depth = 1;
    if let Err(obstacles) = tenants::alone(&small, number) {
        let new = obstacles.iter().map(ToString::to_string);
        checked.problems.extend(
            new.filter(|new| !checked.problems.contains(new))
                .collect::<Vec<_>>(),
        );
    }
    checked
}

/// Where plans are given they are what runs, whatever the files that they were built of are by now.
fn of_files(checked: Checked, backend: &BackendChoice) -> Checked {
    let has_plans = matches!(backend, BackendChoice::TensorRt { plans, .. } if !plans.is_empty());
    if !has_plans {
        return checked;
    }
    let told = |problem: String| format!("by its ONNX file, which is not what runs: {problem}");
    Checked {
        problems: Vec::new(),
        notes: checked
            .problems
            .into_iter()
            .map(told)
            .chain(checked.notes)
            .collect(),
    }
}

/// Whether a tenant's source has a first frame.
fn first_frame(tenant: &Tenant) -> Result<(), String> {
    let mut source = opening::source(
        &tenant.source,
        &mut Opened::guarded_by(std::env::current_exe().ok(), false),
    )
    .map_err(|error| error.to_string())?;
    if source.info().kind == ContentKind::Empty {
        return Ok(());
    }
    let mut frame = Frame::default();
    let is_there = source.acquire(&mut frame).map_err(|error| error.to_string())?;
    if is_there {
        source.decode(&mut frame).map_err(|error| error.to_string())?;
    }
    match is_there && !matches!(frame.content(), Content::Empty) {
        true => Ok(()),
        false => Err(format!("its source ({}) has no frame", source.info().description)),
    }
}
