//! The search: both ends, then halves, until what holds and what breaks are neighbours or only unclear values are between them.
//!
//! It keeps nothing but what was told, so that a search that was interrupted goes on from its journal with the same next question.

use super::{Knee, Promise, Told, Verdict, answer, verdict};

/// A run that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Position of its value.
    pub place: usize,
    /// Which of the value's runs, from 0.
    pub repeat: u32,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This run.
    Run(Probe),
    /// Nothing: this is the answer.
    Done(Knee),
}

/// A search along an axis.
pub struct Search<'p> {
    values: &'p [f64],
    promises: Vec<Promise<'p>>,
    /// Runs of a value that is close.
    repeats: u32,
    /// Runs altogether.
    most_runs: usize,
    told: Vec<Vec<Told>>,
}

impl<'p> Search<'p> {
    /// Over values in ascending order; `repeats` is how often an unclear value is run at most, `most_runs` how many runs there are at
    /// most.
    pub fn new(values: &'p [f64], promises: Vec<Promise<'p>>, repeats: u32, most_runs: u32) -> Self {
        Search {
            values,
            promises,
            repeats: repeats.max(1),
            most_runs: most_runs as usize,
            told: vec![Vec::new(); values.len()],
        }
    }

    /// Tells what came of a run.
    pub fn tell(&mut self, probe: Probe, told: Told) {
        if let Some(runs) = self.told.get_mut(probe.place) {
            runs.push(told);
        }
    }

    /// Runs so far.
    pub fn runs(&self) -> usize {
        self.told.iter().map(Vec::len).sum()
    }

    fn verdict(&self, place: usize) -> Option<Verdict> {
        let runs = self.told.get(place).filter(|runs| !runs.is_empty())?;
        Some(verdict(runs, &self.promises))
    }

    /// The next run of a place that is not decided yet; none where it is, or was run often enough.
    fn undecided(&self, place: usize) -> Option<Probe> {
        let made = self.told.get(place)?.len() as u32;
        match self.verdict(place) {
            None => Some(Probe { place, repeat: 0 }),
            Some(Verdict::Unclear) if made < self.repeats => Some(Probe { place, repeat: made }),
            Some(_) => None,
        }
    }

    /// What comes next.
    pub fn step(&self) -> Step {
        match self.wanted().filter(|_| self.runs() < self.most_runs) {
            Some(probe) => Step::Run(probe),
            None => Step::Done(self.answer()),
        }
    }

    fn wanted(&self) -> Option<Probe> {
        let last = self.values.len().checked_sub(1)?;
        if let Some(probe) = self.undecided(0).or_else(|| self.undecided(last)) {
            return Some(probe);
        }
        let of = |wanted: Verdict| (0..=last).filter(move |&place| self.verdict(place) == Some(wanted));
        // Without a figure at either end there is nothing to search by.
        if [0, last].map(|end| self.verdict(end)) == [Some(Verdict::Unknown); 2] {
            return None;
        }
        let breaks = of(Verdict::Breaks).min();
        let holds = of(Verdict::Holds)
            .filter(|place| breaks.is_none_or(|breaks| *place < breaks))
            .max();
        // Where an end is unclear, what lies beyond it is of no interest; and where both ends agree, nothing is between them.
        if self.verdict(0) == Some(Verdict::Breaks) || self.verdict(last) == Some(Verdict::Holds) {
            return None;
        }
        let low = holds.unwrap_or(0);
        let high = breaks.unwrap_or(last);
        let started = (low + 1..high).find_map(|place| {
            let begun = self.told.get(place).is_some_and(|runs| !runs.is_empty());
            self.undecided(place).filter(|_| begun)
        });
        if started.is_some() {
            return started;
        }
        // Gaps between what is judged, below the lowest unclear value and above the highest: what is among unclear values cannot
        // narrow the interval.
        let unclear: Vec<usize> = (low..=high)
            .filter(|&place| matches!(self.verdict(place), Some(Verdict::Unclear | Verdict::Unknown)))
            .collect();
        let gaps = match (unclear.first(), unclear.last()) {
            (Some(&first), Some(&last)) => [(low, first), (last, high)],
            _ => [(low, high), (high, high)],
        };
        let (from, to) = gaps
            .into_iter()
            .max_by_key(|(from, to)| to.saturating_sub(*from))?;
        (to.saturating_sub(from) > 1).then(|| Probe {
            place: from + (to - from) / 2,
            repeat: 0,
        })
    }

    /// The knee by what is known so far.
    pub fn answer(&self) -> Knee {
        let judged: Vec<(f64, Verdict)> = self
            .values
            .iter()
            .enumerate()
            .filter_map(|(place, value)| Some((*value, self.verdict(place)?)))
            .collect();
        answer(&judged, self.runs())
    }
}
