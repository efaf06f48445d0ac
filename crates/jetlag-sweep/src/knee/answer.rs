//! What is known of the knee once some values are judged.

use super::Verdict;

/// Where the knee is.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The highest value that holds for certain, below the lowest that breaks; none where none does.
    pub holds_at: Option<f64>,
    /// The lowest value that breaks for certain; none where none does.
    pub breaks_at: Option<f64>,
    /// Values between them that intervals do not decide.
    pub unclear: Vec<f64>,
    /// Values above one that breaks at which it holds again: then it is no knee.
    pub again: Vec<f64>,
    /// Values without a figure to judge by.
    pub unknown: Vec<f64>,
    /// Values that were tried.
    pub tried: usize,
    /// Runs that it took.
    pub runs: usize,
}

impl Knee {
    /// In words; `what` is the axis, `unit` may be empty.
    pub fn sentence(&self, what: &str, low: f64, high: f64) -> String {
        let listed = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let mut close = String::new();
        if !self.unclear.is_empty() {
            close += &format!("; at {} the intervals do not decide", listed(&self.unclear));
        }
        if !self.unknown.is_empty() {
            close += &format!(
                "; at {} too few frames support the figure: raise duration",
                listed(&self.unknown)
            );
        }
        if !self.again.is_empty() {
            return format!(
                "it breaks at {what} = {}, and holds again at {}: the promise does not end at one value, so there is no highest one",
                self.breaks_at.unwrap_or(low),
                listed(&self.again)
            );
        }
        match (self.holds_at, self.breaks_at) {
            (Some(holds), Some(breaks)) => {
                format!("{what} from {holds} (holds) to {breaks} (breaks){close}")
            }
            (Some(holds), None) if holds >= high => {
                format!("{what} at least {high}: it holds up to the end of the range")
            }
            (Some(holds), None) => {
                format!("{what} at least {holds} (holds); where it breaks is not known up to {high}{close}")
            }
            (None, Some(breaks)) if breaks <= low => {
                format!("{what} below {low}: it breaks at the begin of the range already")
            }
            (None, Some(breaks)) => format!("{what} below {breaks} (breaks), perhaps below {low}{close}"),
            (None, None) if !self.unknown.is_empty() => format!(
                "not known: at {what} = {} the runs have no figure to judge by",
                listed(&self.unknown)
            ),
            (None, None) => {
                format!("not known: between {low} and {high} the intervals decide nothing{close}")
            }
        }
    }
}

/// The knee by judged values, in any order.
pub fn answer(judged: &[(f64, Verdict)], runs: usize) -> Knee {
    let of = |wanted: Verdict| {
        let mut all: Vec<f64> = judged
            .iter()
            .filter(|(_, verdict)| *verdict == wanted)
            .map(|(value, _)| *value)
            .collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let holds = of(Verdict::Holds);
    let breaks_at = of(Verdict::Breaks).first().copied();
    let below = |value: &f64| breaks_at.is_none_or(|breaks| *value < breaks);
    let holds_at = holds.iter().copied().rfind(below);
    let between = |value: &f64| below(value) && holds_at.is_none_or(|holds| *value > holds);
    Knee {
        holds_at,
        breaks_at,
        unclear: of(Verdict::Unclear).into_iter().filter(between).collect(),
        again: holds.into_iter().filter(|value| !below(value)).collect(),
        unknown: of(Verdict::Unknown).into_iter().filter(between).collect(),
        tried: judged.len(),
        runs,
    }
}
