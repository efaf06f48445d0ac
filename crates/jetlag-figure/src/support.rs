//! What is known of a figure, and what its value supports.

/// What a run knows of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Its value, in the figure's unit.
    Measured(f64),
    /// Nothing yet: it needs so many frames.
    Needs(u64),
    /// There is none, for a reason that frames do not cure.
    Withheld(String),
    /// Nothing measured it.
    NotMeasured,
}

/// What may be said of other runs by the value of this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Support {
    /// Its 95 % interval.
    Interval([f64; 2]),
    /// It was counted: of this run it is exact.
    Exact,
    /// It is of this run, and no interval is known for it; a promise is judged by the value.
    ThisRun,
    /// It is an estimate that lacks its interval: it describes this run, and is no basis of a promise.
    Nothing,
}

impl Support {
    /// The interval where there is one, else that it is of this run.
    pub fn of(interval: Option<[f64; 2]>) -> Support {
        interval.map_or(Support::ThisRun, Support::Interval)
    }

    /// The interval where there is one, else nothing.
    pub fn estimate(interval: Option<[f64; 2]>) -> Support {
        interval.map_or(Support::Nothing, Support::Interval)
    }

    /// The 95 % interval.
    pub fn interval(self) -> Option<[f64; 2]> {
        match self {
            Support::Interval(ends) => Some(ends),
            Support::Exact | Support::ThisRun | Support::Nothing => None,
        }
    }

    /// As JSON has it.
    pub fn word(self) -> &'static str {
        match self {
            Support::Interval(_) => "interval",
            Support::Exact => "exact",
            Support::ThisRun => "this-run",
            Support::Nothing => "nothing",
        }
    }

    fn read(word: &str, interval: Option<[f64; 2]>) -> Option<Support> {
        match word {
            "interval" => interval.map(Support::Interval),
            "exact" => Some(Support::Exact),
            "this-run" => Some(Support::ThisRun),
            "nothing" => Some(Support::Nothing),
            _ => None,
        }
    }

    /// From its word and its interval, as JSON has them.
    ///
    /// # Errors
    /// The word is none, or its interval is missing.
    pub fn of_json(word: &str, interval: Option<[f64; 2]>) -> Result<Support, String> {
        Support::read(word, interval)
            .ok_or_else(|| format!("`{word}` is no support of a figure, or lacks its interval"))
    }
}
