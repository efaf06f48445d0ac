//! What is wrong with a plan, and with a metric that a table does not have.

/// Why a plan has no points that could be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More combinations than are ever written out.
    #[error(
        "the grid has {points} points, and at most {most} are written out; take a random part of it, sample: (count: 200, seed: 0), or fewer values"
    )]
    TooManyPoints {
        /// Combinations of all axes.
        points: u128,
        /// As many as are taken.
        most: u128,
    },
    /// A sample of more points than are ever written out.
    #[error("`sample` asks for {count} points, and at most {most} are written out; take a smaller count")]
    LargeSample {
        /// As many as are asked for.
        count: u64,
        /// As many as are taken.
        most: u128,
    },
    /// More runs than a journal keeps.
    #[error(
        "{points} points with {repeats} repeats are {runs} runs, and at most {most} are kept in one folder; take fewer points or repeats"
    )]
    TooManyRuns {
        /// Points that are left.
        points: u64,
        /// Runs of each.
        repeats: u32,
        /// Points times repeats.
        runs: u128,
        /// As many as are taken.
        most: u64,
    },
    /// An axis that has no value.
    #[error("the axis {axis} has no value; name at least one")]
    NoValues {
        /// The path that it sets.
        axis: String,
    },
    /// Two axes that set the same.
    #[error("two axes set {axis}; let one axis have the values of both")]
    SameAxis {
        /// The path that both set.
        axis: String,
    },
    /// One value twice.
    #[error(
        "the axis {axis} has the value {value} twice; a point is run once, or as often as `repeats` says"
    )]
    SameValue {
        /// The path that it sets.
        axis: String,
        /// The value.
        value: String,
    },
    /// One point twice.
    #[error("the point {point} is named twice; a point is run once, or as often as `repeats` says")]
    SamePoint {
        /// Its settings.
        point: String,
    },
    /// A point with two values of one path.
    #[error("the point {point} sets {path} twice; name one value, or two points")]
    SamePath {
        /// Its settings.
        point: String,
        /// The path.
        path: String,
    },
    /// An exclusion of what no axis sets.
    #[error("`without` names {path}={value}, {why}")]
    UnknownExclusion {
        /// The path.
        path: String,
        /// The value.
        value: String,
        /// What no axis has, and what is near.
        why: String,
    },
    /// An empty list of points.
    #[error("`points` is empty; name at least one point, or axes")]
    NoPoints,
    /// Nothing is left.
    #[error("`without` excludes every point; nothing is left to be run")]
    NothingLeft,
    /// No repeat.
    #[error("`repeats` is 0, and must be at least 1")]
    NoRepeats,
}

/// Why a table cannot answer a question about a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// It has no such figure.
    #[error("no run has the figure {metric}{}; {}", .nearest.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default(), examples(.known))]
    Unknown {
        /// As asked for.
        metric: String,
        /// The figure whose name is nearest.
        nearest: Option<String>,
        /// Some that there are.
        known: Vec<String>,
    },
    /// Several tenants have it.
    #[error("{metric} is a figure of several tenants; write {}", .known.join(" or "))]
    OfSeveral {
        /// As asked for.
        metric: String,
        /// The figures in full.
        known: Vec<String>,
    },
    /// No run knows its value.
    #[error(
        "no run has a value of {metric}: it needs more frames, or what measures it (docs/measurement.md); its column is empty"
    )]
    NoValue {
        /// The figure.
        metric: String,
    },
    /// It has no such axis.
    #[error("the table has no axis {axis}{}; its axes are {}", .nearest.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default(), .known.join(", "))]
    NoAxis {
        /// As asked for.
        axis: String,
        /// The axis whose name is nearest.
        nearest: Option<String>,
        /// All axes.
        known: Vec<String>,
    },
    /// An axis along which nothing is higher or lower.
    #[error("the axis {axis} has the value {value}, which is no number; a knee needs numbers")]
    NoNumber {
        /// The axis.
        axis: String,
        /// The value.
        value: String,
    },
}

/// Figures that there are; a table whose runs all failed has none.
fn examples(known: &[String]) -> String {
    match known {
        [] => "the table has no figures, so no run was completed".to_owned(),
        known => format!("it has, for example, {}", known.join(", ")),
    }
}
