//! What a network looks like: from the names, types and shapes of its inputs and outputs to detectors that may be it, best first,
//! each with its reasons.
//!
//! Nothing is executed and no file is read here. The rules are tables over shapes: `camera` has those of images, `lidar` those of
//! pillars and points; a family that no head of ours reads is named all the same, so that nobody takes another head for it.
//! A draft is a spec as text, and what is not in the network's file (colour order, anchors) is that family's usual value, marked
//! as such by `draft`. Whether a proposal finds anything is for whoever has images and a backend.

mod camera;
mod draft;
mod lidar;
mod seen;
mod told_size;

pub use draft::{CameraDraft, ClassNames, LidarDraft, Piece, Place, Scaling, one_line};
pub use lidar::{Maker, Outputs, Part, pair};

use crate::engine::network::NetworkFacts;
use seen::Seen;
pub use seen::USUAL_SIDE;

/// One answer to what a network may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The family of networks: `YOLOX`.
    pub family: &'static str,
    /// How well it fits, to 100; only the order means anything.
    pub fit: u8,
    /// What speaks for it; each is a phrase.
    pub reasons: Vec<String>,
    /// What comes of it.
    pub draft: Draft,
}

/// What comes of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// A camera detector.
    Camera(Box<CameraDraft>),
    /// A LiDAR detector of one network.
    Lidar(Box<LidarDraft>),
    /// One of two networks of a LiDAR detector.
    Part(Part),
    /// No head here reads it; it can be timed. Why, as a phrase.
    TimeOnly(String),
}

impl Proposal {
    /// The head that reads it, by its name in specs.
    pub fn head(&self) -> Option<&'static str> {
        match &self.draft {
            Draft::Camera(draft) => Some(draft.head_name()),
            Draft::Lidar(_) | Draft::Part(Part::Backbone { .. }) => Some("Anchors"),
            Draft::Part(Part::Encoder { .. }) | Draft::TimeOnly(_) => None,
        }
    }

    /// Whether so little speaks for it that its head needs images that show it.
    pub fn is_doubtful(&self) -> bool {
        self.fit < LEAST
    }

    /// Whether a spec can be written of this network alone.
    pub fn has_spec(&self) -> bool {
        matches!(self.draft, Draft::Camera(_) | Draft::Lidar(_))
    }

    /// In one sentence: `YOLOX (head YoloxGrid): …`.
    pub fn sentence(&self) -> String {
        let reasons = self.reasons.join("; ");
        match (&self.draft, self.head()) {
            (Draft::TimeOnly(why), _) => format!("{}, {why}: {reasons}", self.family),
            (_, Some(head)) => format!("{} (head {head}): {reasons}", self.family),
            (_, None) => format!("{}: {reasons}", self.family),
        }
    }
}

/// How far a guess can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// The network's file says it itself.
    Stated,
    /// Nothing else that is known here has these inputs and outputs.
    Likely,
    /// Other networks have inputs and outputs like these.
    Guess,
}

impl Confidence {
    /// Of the best of these proposals.
    pub fn of(all: &[Proposal]) -> Option<Self> {
        let best = all.first()?;
        let rival = |other: &Proposal| other.fit + MARGIN > best.fit;
        Some(match best.fit {
            STATED.. => Confidence::Stated,
            LIKELY.. if !all[1..].iter().any(rival) => Confidence::Likely,
            _ => Confidence::Guess,
        })
    }

    /// With what else it may be.
    pub fn sentence(self, others: &[Proposal]) -> String {
        let how = match self {
            Confidence::Stated => "certain, since its file says so",
            Confidence::Likely => "likely, since no other family that is known here fits nearly as well",
            Confidence::Guess => "a guess, since networks of other kinds have such inputs and outputs",
        };
        let others: Vec<&str> = others.iter().map(|other| other.family).collect();
        match others.is_empty() {
            true => format!("how sure: {how}"),
            false => format!("how sure: {how}; it may also be: {}", others.join("; ")),
        }
    }
}

/// A fit that only what the file itself says can reach.
const STATED: u8 = 98;
/// The least fit of what is likely, and the distance to the next.
const LIKELY: u8 = 75;
const MARGIN: u8 = 10;
/// Below this fit a head is as often wrong as right: it is only tried.
const LEAST: u8 = 65;

/// Class names that a network's exporter wrote into the file, by number.
pub fn class_names(facts: &NetworkFacts) -> Option<Vec<String>> {
    Seen::of(facts).names
}

/// Width and height of the image, as a network's exporter noted them in the file.
pub fn noted_size(facts: &NetworkFacts) -> Option<[usize; 2]> {
    seen::noted_size(facts)
}

/// A spec with more names would be larger than specs may be; no detector has them.
const MOST_CLASSES: usize = 20_000;

/// What a network may be, best first; empty where nothing fits.
pub fn propose(facts: &NetworkFacts) -> Vec<Proposal> {
    let seen = Seen::of(facts);
    let mut all: Vec<Proposal> = camera::RULES
        .iter()
        .chain([&told_size::RULE])
        .chain(lidar::RULES)
        .filter_map(|rule| rule(&seen))
        .filter(|proposal| !matches!(&proposal.draft, Draft::Camera(draft) if draft.classes.count() > MOST_CLASSES))
        .map(|proposal| with_all_inputs(proposal, &seen))
        .collect();
    // Stable, so that equal ones stay in the order of the tables.
    all.sort_by_key(|proposal| std::cmp::Reverse(proposal.fit));
    all
}

/// A camera's preprocessing fills the image and what `also` has; where the network takes more, its time is all that can be had.
fn with_all_inputs(proposal: Proposal, seen: &Seen<'_>) -> Proposal {
    let Draft::Camera(draft) = &proposal.draft else {
        return proposal;
    };
    if seen.inputs.len() <= draft.also.len() + 1 {
        return proposal;
    }
    let others: Vec<String> = seen
        .inputs
        .iter()
        .filter(|input| input.name != draft.tensor)
        .map(|input| format!("`{}`", input.name))
        .collect();
    let why = format!(
        "which takes {} beside the image, and its file does not say what that is: time only; a spec by hand fills it with `also`",
        others.join(", ")
    );
    Proposal {
        draft: Draft::TimeOnly(why),
        fit: proposal.fit.min(LEAST),
        ..proposal
    }
}

#[cfg(test)]
mod tests;
