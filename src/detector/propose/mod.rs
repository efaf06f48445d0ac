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
        .collect();
    // Stable, so that equal ones stay in the order of the tables.
    all.sort_by_key(|proposal| std::cmp::Reverse(proposal.fit));
    all
}

#[cfg(test)]
mod tests;
