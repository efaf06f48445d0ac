//! What annotating a video took, part by part: rates, shares, and both beside a baseline.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::units::Nanos;

/// The parts of the work, in the order of a frame's way. They overlap: each has a thread of its own.
pub(super) const PARTS: [&str; 6] = ["read", "prepare", "inference", "postprocess", "draw", "encode"];

/// Which part the inference is.
const INFERENCE: usize = 2;

/// Time that each of [`PARTS`] was busy, for all frames together. Waiting for another part is not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Busy(pub(super) [Nanos; 6]);

impl Busy {
    /// Adds what a frame took.
    pub(super) fn add(&mut self, frame: Busy) {
        for (sum, took) in self.0.iter_mut().zip(frame.0) {
            *sum += took;
        }
    }
}

/// What a video took.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// The backend's name.
    pub(super) backend: String,
    /// Frames that were written.
    pub(super) frames: u64,
    /// Boxes on them.
    pub(super) boxes: u64,
    /// Frames in which the detector ran.
    pub(super) inferred: u64,
    /// From the first frame's reading until the video was whole.
    pub(super) took: Nanos,
    /// What the parts took of it.
    pub(super) busy: Busy,
}

impl Figures {
    /// Frames a second that the inference alone gives, one frame after another: copies to and from the device are in it.
    /// `None` where nothing was inferred, or the backend did not tell how long it took.
    pub(super) fn inference_fps(&self) -> Option<f64> {
        rate(self.inferred, self.busy.0[INFERENCE])
    }

    /// Frames a second from video to video. `None` without frames.
    pub(super) fn end_to_end_fps(&self) -> Option<f64> {
        rate(self.frames, self.took)
    }

    /// The share of the whole time in which each part was busy; `None` where nothing took time.
    fn shares(&self) -> Option<[f64; 6]> {
        (self.took > Nanos::ZERO).then(|| self.busy.0.map(|busy| busy.0 as f64 / self.took.0 as f64))
    }

    /// The part that was busy longest, and its share of the whole time: how near the whole comes to the rate of its slowest part.
    fn slowest(&self) -> Option<(&'static str, f64)> {
        let shares = PARTS.into_iter().zip(self.shares()?);
        shares.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// In lines, for people.
    pub(super) fn text(&self) -> String {
        let fps = |rate: Option<f64>| rate.map_or_else(|| "     –".to_owned(), |rate| format!("{rate:6.1}"));
        let mut text = format!(
            "inference   {} FPS  one frame after another on {}\n",
            fps(self.inference_fps()),
            self.backend
        );
        let _ = write!(text, "end to end  {} FPS", fps(self.end_to_end_fps()));
        if let Some((part, share)) = self.slowest() {
            let _ = write!(
                text,
                "  {:.0} % of the rate of its slowest part, {part}",
                share * 100.0
            );
        }
        let _ = write!(text, "\n\n{:<12} {:>8}  {:>5}\n", "part", "ms/frame", "busy");
        for (number, part) in PARTS.into_iter().enumerate() {
            let frames = if number == INFERENCE {
                self.inferred
            } else {
                self.frames
            };
            let each = per_frame(self.busy.0[number], frames);
            let each = each.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.2}"));
            let share = self.shares().map_or_else(
                || "–".to_owned(),
                |shares| format!("{:.0} %", shares[number] * 100.0),
            );
            let _ = writeln!(text, "{part:<12} {each:>8}  {share:>5}");
        }
        text
    }

    /// For programs: docs/json.md.
    pub(super) fn json(&self) -> Value {
        let shares = self.shares();
        let parts = PARTS.into_iter().enumerate().map(|(number, part)| {
            let frames = if number == INFERENCE {
                self.inferred
            } else {
                self.frames
            };
            json!({
                "part": part,
                "ms_per_frame": per_frame(self.busy.0[number], frames),
                "share": shares.map(|shares| shares[number]),
            })
        });
        json!({
            "backend": self.backend,
            "frames": self.frames,
            "boxes": self.boxes,
            "took_s": self.took.as_secs_f64(),
            "inference_fps": self.inference_fps(),
            "end_to_end_fps": self.end_to_end_fps(),
            "slowest_part": self.slowest().map(|(part, _)| part),
            "share_of_slowest": self.slowest().map(|(_, share)| share),
            "parts": parts.collect::<Vec<_>>(),
        })
    }
}

/// How many times the rate of a baseline: of the inference, and end to end. `None` where either rate is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratios {
    pub(super) inference: Option<f64>,
    pub(super) end_to_end: Option<f64>,
}

impl Ratios {
    pub(super) fn of(this: &Figures, baseline: &Figures) -> Ratios {
        let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other.filter(|rate| *rate > 0.0)?);
        Ratios {
            inference: ratio(this.inference_fps(), baseline.inference_fps()),
            end_to_end: ratio(this.end_to_end_fps(), baseline.end_to_end_fps()),
        }
    }

    pub(super) fn text(self) -> String {
        let times =
            |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2} ×"));
        format!(
            "inference {} the baseline's rate, end to end {}\n",
            times(self.inference),
            times(self.end_to_end)
        )
    }

    pub(super) fn json(self) -> Value {
        json!({ "inference": self.inference, "end_to_end": self.end_to_end })
    }
}

fn rate(frames: u64, took: Nanos) -> Option<f64> {
    (frames > 0 && took > Nanos::ZERO).then(|| frames as f64 / took.as_secs_f64())
}

fn per_frame(took: Nanos, frames: u64) -> Option<f64> {
    (frames > 0).then(|| took.as_secs_f64() * 1e3 / frames as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(busy_ms: [i64; 6], took_ms: i64) -> Figures {
        Figures {
            backend: "cpu".to_owned(),
            frames: 100,
            boxes: 7,
            inferred: 100,
            took: Nanos::from_millis(took_ms),
            busy: Busy(busy_ms.map(Nanos::from_millis)),
        }
    }

    #[test]
    fn rates_and_shares_are_those_of_the_parts_and_of_the_whole() {
        let made = figures([100, 200, 4_000, 50, 150, 2_500], 5_000);
        assert_eq!(made.inference_fps(), Some(25.0));
        assert_eq!(made.end_to_end_fps(), Some(20.0));
        assert_eq!(made.slowest(), Some(("inference", 0.8)));
        let text = made.text();
        assert!(text.contains("25.0 FPS") && text.contains("20.0 FPS"), "{text}");
        assert!(
            text.contains("80 % of the rate of its slowest part, inference"),
            "{text}"
        );
        assert!(
            text.lines()
                .any(|line| line.starts_with("encode") && line.contains("25.00") && line.ends_with("50 %")),
            "{text}"
        );
        let json = made.json();
        assert_eq!(json["parts"][2]["ms_per_frame"], 40.0);
        assert_eq!(json["share_of_slowest"], 0.8);
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let none = Figures {
            frames: 0,
            inferred: 0,
            ..figures([0; 6], 0)
        };
        assert_eq!(none.inference_fps(), None);
        assert_eq!(none.end_to_end_fps(), None);
        assert_eq!(none.json()["share_of_slowest"], Value::Null);
        assert!(none.text().contains('–'));
        let untold = figures([1, 1, 0, 1, 1, 1], 10);
        assert_eq!(
            untold.inference_fps(),
            None,
            "a backend that does not tell is not infinitely fast"
        );
        let ratios = Ratios::of(&untold, &none);
        assert_eq!(
            ratios,
            Ratios {
                inference: None,
                end_to_end: None
            }
        );
    }

    #[test]
    fn ratios_are_of_rates() {
        let (fast, slow) = (
            figures([0, 0, 1_000, 0, 0, 0], 2_000),
            figures([0, 0, 3_000, 0, 0, 0], 4_000),
        );
        let ratios = Ratios::of(&fast, &slow);
        assert_eq!(
            ratios,
            Ratios {
                inference: Some(3.0),
                end_to_end: Some(2.0)
            }
        );
        assert!(ratios.text().contains("inference 3.00 ×"));
    }
}
