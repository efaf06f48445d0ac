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

impl Eta {
    /// Of so many runs to come. `took_s` are the times of finished runs, with their cooling; `stated_s` is what the scenario says a
    /// run measures.
    pub fn of(left: u64, took_s: &[f64], stated_s: Option<f64>) -> Eta {
        let usable: Vec<f64> = took_s
            .iter()
            .copied()
            .filter(|took| took.is_finite() && *took >= 0.0)
            .collect();
        if usable.is_empty() {
            return Eta {
                seconds: stated_s.map(|stated| stated * left as f64),
                from: stated_s.map_or(Guess::Nothing, |_| Guess::Stated),
            };
        }
        // The mean, since the rest is a sum: a few long points are part of it.
        let mean = usable.iter().sum::<f64>() / usable.len() as f64;
        Eta {
            seconds: Some(mean * left as f64),
            from: Guess::Seen(usable.len() as u64),
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
