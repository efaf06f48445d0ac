//! What is said of a line of `expect` that could not be parsed.

use crate::analysis::figures::KeyError;

use crate::units::QuantityError;

/// Why a line could not be parsed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpectationError {
    /// There is no comparison in it.
    #[error(
        "`{text}`: it compares nothing: write TENANT.METRIC, one of < <= > >= ==, and a limit, such as \"camera.response.p99 < 33ms\""
    )]
    NoComparison {
        /// The line of `expect`, as written.
        text: String,
    },
    /// What stands before the comparison is no figure.
    #[error("`{text}`: {problem}")]
    Name {
        /// The line of `expect`, as written.
        text: String,
        /// What is wrong with the name.
        problem: KeyError,
    },
    /// A limit beyond all values that the figure can have.
    #[error("`{text}`: it {}, since the figure is never {bound}; write another limit", if *.always { "always holds" } else { "can never hold" })]
    SaysNothing {
        /// The line of `expect`, as written.
        text: String,
        /// Whether every value keeps it.
        always: bool,
        /// Where the values end.
        bound: &'static str,
    },
    /// A limit that is not a time, for a metric that is.
    #[error("`{text}`: {problem}")]
    BadDuration {
        /// The line of `expect`, as written.
        text: String,
        /// What is wrong with the limit.
        problem: QuantityError,
    },
    /// A limit that is not a number of the metric's kind.
    #[error("`{text}`: `{limit}` is not {wanted}")]
    BadLimit {
        /// The line of `expect`, as written.
        text: String,
        /// The text that stands where the limit should.
        limit: String,
        /// What the metric is compared with.
        wanted: &'static str,
    },
}
