//! Which colour order and scaling to take, from what each found in a few images. Pure.
//!
//! No truth is known. More boxes, or surer ones, are not better: NanoDet finds four times as many with pixels that are scaled wrongly.
//! So the family's usual variant stays where it finds something, and another is taken only on evidence: in several images, several
//! boxes, much surer than the usual variant's and than those of every other scaling. Without it the question stays open, and is told.

use crate::detector::camera::preprocess::Colour;
use crate::detector::propose::Scaling;

/// Boxes of a frame that count, the best ones.
const COUNTED: usize = 3;
/// More boxes than this in one frame are noise.
const MOST_BOXES: usize = 100;
/// Frames with a box, and boxes, below which a find may be chance.
const LEAST_FRAMES: usize = 2;
const LEAST_BOXES: usize = 3;
/// Times the merit of the usual variant, and of another scaling, that decide against them.
const OVER_USUAL: f64 = 2.0;
const OVER_OTHERS: f64 = 1.5;

/// What a variant found in all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    frames: usize,
    /// Frames with a box, and not so many that they are noise.
    sensible: usize,
    pub(super) boxes: usize,
    /// Sum of scores.
    scores: f64,
    merit: f64,
}

impl Found {
    /// Adds a frame, by the scores of its boxes, the best first.
    pub(super) fn add(&mut self, scores: &[f32]) {
        self.frames += 1;
        self.sensible += usize::from((1..=MOST_BOXES).contains(&scores.len()));
        self.boxes += scores.len();
        self.scores += scores.iter().copied().map(f64::from).sum::<f64>();
        self.merit += merit(scores);
    }

    /// `3 boxes, mean score 0.71`.
    pub(super) fn words(&self) -> String {
        match self.boxes {
            0 => "nothing".to_owned(),
            1 => format!("1 box, score {:.2}", self.scores),
            boxes => format!("{boxes} boxes, mean score {:.2}", self.scores / boxes as f64),
        }
    }

    /// Whether that many boxes in that many frames are more than chance.
    fn is_evidence(&self) -> bool {
        self.sensible >= LEAST_FRAMES && 2 * self.sensible >= self.frames && self.boxes >= LEAST_BOXES
    }
}

/// How certain the best boxes of a frame, which come first, are of themselves: squares, so that one sure box is more than two vague
/// ones. So many that they are noise are none.
fn merit(scores: &[f32]) -> f64 {
    if scores.len() > MOST_BOXES {
        return 0.0;
    }
    let best = scores.iter().take(COUNTED);
    best.map(|score| f64::from(*score).powi(2)).sum()
}

/// A variant that was tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub(super) colour: Colour,
    pub(super) scaling: Scaling,
    pub(super) found: Found,
}

/// What to take of the variants, of which the first is the family's usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The usual one, which finds something.
    Usual,
    /// Another one, by its place.
    Other(usize),
    /// Nothing can be told, so the usual one.
    Undecided(Doubt),
}

/// Why nothing can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// No variant finds anything.
    Nothing,
    /// Too few frames were there.
    FewFrames,
    /// What was found may be chance.
    FewBoxes,
    /// Another variant finds something, but not much surer boxes than the usual one or another scaling.
    NoMargin,
}

impl Doubt {
    /// The reason, as the rest of a sentence.
    pub(super) fn words(self) -> String {
        match self {
            Doubt::Nothing => "none of them finds anything".to_owned(),
            Doubt::FewFrames => format!("at least {LEAST_FRAMES} images are needed to tell"),
            Doubt::FewBoxes => format!(
                "a variant needs at least {LEAST_BOXES} boxes, in at least {LEAST_FRAMES} images and in half of them, to be more than chance"
            ),
            Doubt::NoMargin => "no variant is clearly surer of its boxes than the others".to_owned(),
        }
    }
}

impl Verdict {
    /// The place of the variant to take.
    pub(super) fn place(self) -> usize {
        match self {
            Verdict::Other(place) => place,
            Verdict::Usual | Verdict::Undecided(_) => 0,
        }
    }
}

/// Decides.
pub(super) fn decide(all: &[Tried]) -> Verdict {
    let Some(usual) = all.first() else {
        return Verdict::Undecided(Doubt::Nothing);
    };
    if usual.found.is_evidence() {
        return Verdict::Usual;
    }
    if all.iter().all(|tried| tried.found.boxes == 0) {
        return Verdict::Undecided(Doubt::Nothing);
    }
    if usual.found.frames < LEAST_FRAMES {
        return Verdict::Undecided(Doubt::FewFrames);
    }
    let merit = |place: &usize| all[*place].found.merit;
    let evident = (0..all.len()).filter(|place| all[*place].found.is_evidence());
    // The first of equals.
    let Some(best) = evident.max_by(|a, b| merit(a).total_cmp(&merit(b)).then(b.cmp(a))) else {
        return Verdict::Undecided(Doubt::FewBoxes);
    };
    let most = merit(&best);
    let is_clear = most > 0.0 && most >= OVER_USUAL * usual.found.merit;
    let rival = |tried: &&Tried| tried.scaling != all[best].scaling && most < OVER_OTHERS * tried.found.merit;
    if !is_clear || all.iter().any(|tried| rival(&tried)) {
        return Verdict::Undecided(Doubt::NoMargin);
    }
    // The scaling is decided. The family's order of colours stays with it, unless the other one is clearly surer.
    let of_family = all.iter().position(|tried| {
        tried.scaling == all[best].scaling
            && tried.colour == usual.colour
            && tried.found.is_evidence()
            && most < OVER_OTHERS * tried.found.merit
    });
    match of_family.unwrap_or(best) {
        0 => Verdict::Usual,
        place => Verdict::Other(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(frames: &[&[f32]]) -> Found {
        let mut found = Found::default();
        frames.iter().for_each(|scores| found.add(scores));
        found
    }

    /// The usual variant, its other colour, and another scaling in both.
    fn of(frames: [&[&[f32]]; 4]) -> Verdict {
        let kinds = [
            (Colour::Rgb, Scaling::Unit),
            (Colour::Bgr, Scaling::Unit),
            (Colour::Rgb, Scaling::Bytes),
            (Colour::Bgr, Scaling::Bytes),
        ];
        let all: Vec<Tried> = kinds
            .iter()
            .zip(frames)
            .map(|((colour, scaling), frames)| Tried {
                colour: *colour,
                scaling: *scaling,
                found: found(frames),
            })
            .collect();
        decide(&all)
    }

    const NONE: &[&[f32]] = &[&[], &[], &[], &[]];
    const SURE: &[&[f32]] = &[&[0.9, 0.8], &[0.9], &[0.8, 0.9], &[0.9]];

    #[test]
    fn the_usual_variant_stays_where_it_finds_something() {
        let vague: &[&[f32]] = &[&[0.4], &[0.4, 0.4], &[0.5], &[]];
        assert_eq!(of([vague, NONE, SURE, NONE]), Verdict::Usual);
        assert_eq!(decide(&[]), Verdict::Undecided(Doubt::Nothing));
        assert_eq!(of([NONE; 4]), Verdict::Undecided(Doubt::Nothing));
    }

    #[test]
    fn one_box_decides_nothing() {
        let chance: &[&[f32]] = &[&[], &[0.95], &[], &[]];
        assert_eq!(
            of([NONE, NONE, chance, NONE]),
            Verdict::Undecided(Doubt::FewBoxes)
        );
        // As many as one likes, but in one image of four.
        let crowd: &[&[f32]] = &[&[], &[0.95, 0.9, 0.9, 0.9], &[], &[]];
        assert_eq!(of([NONE, NONE, crowd, NONE]), Verdict::Undecided(Doubt::FewBoxes));
        let single: &[&[f32]] = &[&[0.9, 0.9, 0.9]];
        assert_eq!(
            of([&[&[]], &[&[]], single, &[&[]]]),
            Verdict::Undecided(Doubt::FewFrames)
        );
        // And one of the usual variant's does not keep it.
        assert_eq!(of([chance, NONE, SURE, NONE]), Verdict::Other(2));
    }

    #[test]
    fn another_is_taken_where_it_is_much_surer_than_all_of_another_scaling() {
        assert_eq!(of([NONE, NONE, NONE, SURE]), Verdict::Other(3));
        // The other colours find nearly as much: the family's own stay.
        let nearly: &[&[f32]] = &[&[0.9], &[0.8], &[0.8, 0.8], &[0.9]];
        assert_eq!(of([NONE, NONE, nearly, SURE]), Verdict::Other(2));
        // Two scalings find about as much.
        assert_eq!(
            of([NONE, nearly, NONE, SURE]),
            Verdict::Undecided(Doubt::NoMargin)
        );
        // The usual one finds nearly as much, but in too few frames.
        let half: &[&[f32]] = &[&[0.99, 0.99, 0.99], &[], &[], &[]];
        assert_eq!(of([half, NONE, SURE, NONE]), Verdict::Undecided(Doubt::NoMargin));
    }

    #[test]
    fn a_frame_full_of_boxes_counts_for_nothing() {
        let noise: &[&[f32]] = &[&[0.9; 150], &[0.9; 150], &[0.9; 150], &[0.9; 150]];
        assert_eq!(of([noise, NONE, SURE, NONE]), Verdict::Other(2));
        assert_eq!(of([NONE, NONE, noise, NONE]), Verdict::Undecided(Doubt::FewBoxes));
        assert_eq!(found(&[&[0.5, 0.7]]).words(), "2 boxes, mean score 0.60");
    }
}
