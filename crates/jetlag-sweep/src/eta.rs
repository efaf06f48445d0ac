//! How long the rest of a sweep takes, from the runs that were seen; before the first, from what the scenario says.

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// On so many runs of this sweep.
    Seen(u64),
    /// On the duration that the scenario states, which is a lower bound: starting takes time too.
    Stated,
    /// On nothing.
    Nothing,
}

/// An estimate of the time that is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eta {
    /// Seconds; none where nothing is known.
    pub seconds: Option<f64>,
    /// What it rests on.
    pub from: Guess,
}

/// The runs to come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rest {
    /// How many.
    pub runs: u64,
    /// What their scenarios say that they measure, in seconds and no longer than a time limit lets them. A run in simulated time has none.
    pub stated_s: f64,
}

impl Rest {
    /// With one run more, which states so much.
    pub fn add(&mut self, stated_s: f64) {
        self.runs += 1;
        self.stated_s += stated_s;
    }

    /// With one run less.
    pub fn take(&mut self, stated_s: f64) {
        self.runs = self.runs.saturating_sub(1);
        self.stated_s = (self.stated_s - stated_s).max(0.0);
    }
}

/// A finished run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// How long it took, with its cooling.
    pub took_s: f64,
    /// What its scenario says that it measures, as in [`Rest`].
    pub stated_s: f64,
}

impl Eta {
    /// Of these runs, as others took.
    ///
    /// What a run takes beyond what it states (starting, cooling, all of it in simulated time) is taken from those that were seen; what it
    /// states is its own, since an axis may go over `duration`.
    pub fn of(rest: Rest, seen: &[Seen]) -> Eta {
        let beyond: Vec<f64> = seen
            .iter()
            .map(|run| (run.took_s, run.took_s - run.stated_s))
            .filter(|(took, beyond)| *took >= 0.0 && beyond.is_finite())
            .map(|(_, beyond)| beyond)
            .collect();
        if beyond.is_empty() {
            let stated = (rest.stated_s > 0.0).then_some(rest.stated_s);
            return Eta {
                seconds: stated,
                from: stated.map_or(Guess::Nothing, |_| Guess::Stated),
            };
        }
        // The mean, since the rest is a sum: a few long points are part of it.
        let mean = beyond.iter().sum::<f64>() / beyond.len() as f64;
        Eta {
            seconds: Some((rest.stated_s + mean * rest.runs as f64).max(0.0)),
            from: Guess::Seen(beyond.len() as u64),
        }
    }

    /// In words: `about 12 min, as the 30 finished runs took`.
    pub fn shown(&self) -> String {
        let Some(seconds) = self.seconds else {
            return "a time that is not known yet".to_owned();
        };
        let time = duration(seconds);
        match self.from {
            Guess::Seen(1) => format!("about {time}, as the finished run took"),
            Guess::Seen(runs) => format!("about {time}, as the {runs} finished runs took"),
            Guess::Stated => format!("at least {time}, which is what the scenario measures"),
            Guess::Nothing => format!("about {time}"),
        }
    }
}

/// Seconds as a person says them.
fn duration(seconds: f64) -> String {
    match seconds {
        below if below < 0.95 => format!("{:.1} s", below.max(0.0)),
        below if below < 120.0 => format!("{:.0} s", below.ceil()),
        below if below < 2.0 * 3600.0 => format!("{:.0} min", (below / 60.0).ceil()),
        below if below < 48.0 * 3600.0 => format!("{:.1} h", below / 3600.0),
        seconds => format!("{:.0} days", (seconds / 86_400.0).ceil()),
    }
}
