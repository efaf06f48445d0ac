//! What is in a run file: how many records of each kind, of whom, and the phases. Results are the report's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jetlag_figure::section::{Cell, Section, Table, Tone};
use serde::Serialize;

use crate::record::{Event, FrameRecord, Manifest, OVERHEAD_TENANT, Phase, PhaseSpec};
use crate::sections::Drawing;

/// Frames of one tenant in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FramesOf {
    /// Whose frames; `overhead` for jetlag's own cost.
    pub tenant: String,
    /// `together`, `alone`, `overhead` or `phase-3`.
    pub phase: String,
    /// Those of the warm-up among them.
    pub warmup: u64,
    /// All of them.
    pub frames: u64,
}

/// A phase as the file describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseOf {
    /// As frames refer to it.
    pub phase: String,
    /// In words; empty where the file has none.
    pub label: String,
    /// Names of the tenants that run in it.
    pub tenants: Vec<String>,
    /// The sharing mode, as a scenario writes it.
    pub sharing: String,
    /// Whether the GPU was traced.
    pub traced: bool,
    /// The round that it is a turn of; `None` of a phase that is no turn.
    pub round: Option<u16>,
}

impl PhaseOf {
    /// Whether the two are turns of the same tenants, sharing in the same way.
    fn is_turn_like(&self, other: &PhaseOf) -> bool {
        let turns = self.round.is_some() && other.round.is_some();
        turns && self.tenants == other.tenants && self.sharing == other.sharing && self.label == other.label
    }
}

/// The records of a run file, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Contents {
    /// By tenant and phase.
    pub frames: Vec<FramesOf>,
    /// In the order of the file.
    pub phases: Vec<PhaseOf>,
    /// Readings of each sampler, by name, with its signals.
    pub samplers: BTreeMap<String, Readings>,
    /// Other records, by what they are; kinds that the file has none of are absent.
    pub records: BTreeMap<&'static str, u64>,
}

/// What one sampler recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Readings {
    /// Names of its signals.
    pub signals: BTreeSet<String>,
    /// Readings of all of them.
    pub readings: u64,
}

/// Counts the records of a file.
#[derive(Debug)]
pub struct ContentsTally {
    tenants: Vec<String>,
    /// All frames and those of the warm-up, by tenant and phase.
    frames: HashMap<(u16, Phase), (u64, u64)>,
    found: Contents,
}

impl ContentsTally {
    /// For a file of this manifest.
    pub fn new(manifest: &Manifest) -> Self {
        ContentsTally {
            tenants: manifest
                .tenants
                .iter()
                .map(|tenant| tenant.name.clone())
                .collect(),
            frames: HashMap::new(),
            found: Contents::default(),
        }
    }

    /// Counts a record.
    pub fn push(&mut self, event: &Event) {
        let mut count = |what: &'static str, number: u64| {
            *self.found.records.entry(what).or_default() += number;
        };
        match event {
            Event::Frame(frame) => self.frame(frame),
            Event::PhaseSpec(spec) => {
                let phase = self.phase(spec);
                self.found.phases.push(phase);
            }
            Event::Sample(sample) => {
                let of = self.found.samplers.entry(sample.source.clone()).or_default();
                of.readings += 1;
                if !of.signals.contains(&sample.signal) {
                    of.signals.insert(sample.signal.clone());
                }
            }
            Event::Detections(_) => count("results of frames", 1),
            Event::Node(_) => count("times of nodes", 1),
            Event::Work(_) => count("work of nodes", 1),
            Event::Output(_) => count("outputs of networks", 1),
            Event::Range(_) => count("ranges", 1),
            Event::Activities(batch) => count("traced activities", batch.activities.len() as u64),
            Event::Finding(_) => count("findings", 1),
            Event::Log(_) => count("lines of the log", 1),
            // They describe the others.
            Event::Phase(_)
            | Event::Signal(_)
            | Event::Window(_)
            | Event::Definition(_)
            | Event::Trace(_) => {}
        }
    }

    fn frame(&mut self, frame: &FrameRecord) {
        let (frames, warmup) = self.frames.entry((frame.tenant, frame.phase)).or_default();
        *frames += 1;
        *warmup += u64::from(frame.warmup);
    }

    fn phase(&self, spec: &PhaseSpec) -> PhaseOf {
        PhaseOf {
            phase: name_of(spec.phase),
            label: spec.label.clone(),
            tenants: spec.members.iter().map(|&member| self.tenant(member)).collect(),
            sharing: spec.sharing.clone(),
            traced: spec.traced,
            round: spec.round,
        }
    }

    /// Its name, or its number where the manifest does not list it.
    fn tenant(&self, number: u16) -> String {
        match self.tenants.get(usize::from(number)) {
            _ if number == OVERHEAD_TENANT => "overhead".to_owned(),
            Some(name) => name.clone(),
            None => format!("tenant {number}"),
        }
    }

    /// What was counted.
    pub fn finish(mut self) -> Contents {
        let mut counted: Vec<_> = std::mem::take(&mut self.frames).into_iter().collect();
        counted.sort_by_key(|((tenant, phase), _)| (*tenant, name_of(*phase)));
        self.found.frames = counted
            .into_iter()
            .map(|((tenant, phase), (frames, warmup))| FramesOf {
                tenant: self.tenant(tenant),
                phase: name_of(phase),
                warmup,
                frames,
            })
            .collect();
        self.found
    }
}

fn name_of(phase: Phase) -> String {
    crate::export::phase_name(phase).into_owned()
}

/// The phases, each with the names of its turns; of turns of the same kind, the first with the names of all.
fn cells(contents: &Contents) -> Vec<(&PhaseOf, Vec<&str>)> {
    let mut cells: Vec<(&PhaseOf, Vec<&str>)> = Vec::new();
    for phase in &contents.phases {
        let like = cells.iter_mut().find(|(first, _)| first.is_turn_like(phase));
        match like {
            Some((_, turns)) => turns.push(&phase.phase),
            None => cells.push((
                phase,
                phase.round.map_or_else(Vec::new, |_| vec![phase.phase.as_str()]),
            )),
        }
    }
    cells
}

impl Contents {
    /// The sections for people.
    pub(crate) fn sections(&self) -> Vec<Section<Drawing>> {
        let cells = cells(self);
        let mut phases = Table::new("")
            .words("phase")
            .words("")
            .words("tenants")
            .optional_words("sharing")
            .words("");
        for (phase, turns) in &cells {
            phases.row([
                Cell::new(&phase.phase),
                Cell::new(&phase.label),
                Cell::new(phase.tenants.join(", ")),
                Cell::new(&phase.sharing),
                Cell::new(match (phase.traced, phase.round) {
                    (true, _) => "traced".to_owned(),
                    (false, Some(_)) => format!("and its other turns, {} in all", turns.len()),
                    (false, None) => String::new(),
                }),
            ]);
        }
        let mut frames = Table::new("")
            .words("frames of")
            .words("phase")
            .numbers(["frames", "of them warm-up"]);
        for of in of_cells(&self.frames, &cells) {
            frames.row([
                Cell::new(of.tenant),
                Cell::new(of.phase),
                Cell::new(of.frames.to_string()),
                Cell::new(of.warmup.to_string()),
            ]);
        }
        let mut rest = Table::new("").words("records").number("number").words("");
        for (sampler, of) in &self.samplers {
            rest.row([
                Cell::new(format!("readings by {sampler}")),
                Cell::new(of.readings.to_string()),
                Cell::new(format!("signals: {}", of.signals.len())).tone(Tone::Dim),
            ]);
        }
        for (what, number) in &self.records {
            rest.row([Cell::new(*what), Cell::new(number.to_string())]);
        }
        let all = [
            ("phases", "Phases", phases),
            ("frames", "Frames", frames),
            ("records", "Records", rest),
        ];
        all.into_iter()
            .filter_map(|(id, title, table)| Section::new(id, title, "").table(table).unless_empty())
            .collect()
    }
}

/// Frames by tenant and cell: turns are told with the first of theirs.
fn of_cells(frames: &[FramesOf], cells: &[(&PhaseOf, Vec<&str>)]) -> Vec<FramesOf> {
    let mut rows: Vec<FramesOf> = Vec::new();
    for of in frames {
        let cell = cells.iter().find(|(_, turns)| turns.contains(&of.phase.as_str()));
        let phase = cell.map_or(&of.phase, |(first, _)| &first.phase);
        match rows
            .iter_mut()
            .find(|row| row.tenant == of.tenant && row.phase == *phase)
        {
            Some(row) => {
                row.frames += of.frames;
                row.warmup += of.warmup;
            }
            None => rows.push(FramesOf {
                phase: phase.clone(),
                ..of.clone()
            }),
        }
    }
    rows
}
