//! Parses `--fail-if` texts: a change, such as `camera.response.p99 +5%` or `power.total.mean +5%`, or a comparison with a
//! limit, such as `power.total.mean > 15W`. `gate` judges them.

use crate::analysis::figures::key::Better;
use crate::analysis::figures::{Key, KeyError};

use crate::analysis::expectation::{self, Expectation, ExpectationError};

/// What must not be, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// The two forms of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A change of a figure beyond this share; below zero for a limit on a decrease.
    Change { of: Key, change: f64 },
    /// A figure of the candidate, compared as in an expectation.
    Condition(Expectation),
}

/// Why a `--fail-if` text could not be parsed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// A comparison with a limit that cannot be read.
    #[error(transparent)]
    Condition(#[from] ExpectationError),
    /// A change of degrees, in percent.
    #[error(
        "`{text}`: a temperature has no change in percent; compare it with a limit, such as \"temperature.tj.max > 90C\""
    )]
    NoRatio {
        /// The whole `--fail-if` text.
        text: String,
    },
    /// A change of what is neither better nor worse.
    #[error("`{text}`: `{figure}` is neither better nor worse when it changes; compare it with a limit")]
    NoDirection {
        /// The whole `--fail-if` text.
        text: String,
        /// The figure.
        figure: String,
    },
    /// What stands before the change is no figure.
    #[error("`{text}`: {problem}")]
    Name {
        /// The whole `--fail-if` text.
        text: String,
        /// What is wrong with the name.
        problem: KeyError,
    },
    /// It has neither form.
    #[error(
        "`{text}` names no change: write TENANT.FIGURE and a signed percentage, such as \"camera.response.p99 +5%\", or a \
         comparison with a limit, such as \"power.total.mean > 15W\""
    )]
    NoChange {
        /// The whole `--fail-if` text.
        text: String,
    },
}

/// Parses a text; both sides' common tenants are known by name.
pub fn parse(text: &str, tenants: &[&str]) -> Result<Limit, LimitError> {
    let kind = match text.contains(['<', '>', '=']) {
        true => Kind::Condition(expectation::parse(text, tenants)?),
        false => change(text, tenants)?,
    };
    Ok(Limit {
        text: text.to_owned(),
        kind,
    })
}

fn change(text: &str, tenants: &[&str]) -> Result<Kind, LimitError> {
    let no_change = || LimitError::NoChange {
        text: text.to_owned(),
    };
    let at = text.rfind(['+', '-', '−']).ok_or_else(no_change)?;
    let (path, change) = text.split_at(at);
    let (path, change) = (path.trim(), change.replace('−', "-"));
    let number = change.trim().strip_suffix('%').ok_or_else(no_change)?;
    let percent: f64 = number.trim().parse().map_err(|_| no_change())?;
    if path.is_empty() || !percent.is_finite() {
        return Err(no_change());
    }
    Ok(Kind::Change {
        of: subject(text, path, tenants)?,
        change: percent / 100.0,
    })
}

/// What the words before the change name.
fn subject(text: &str, path: &str, tenants: &[&str]) -> Result<Key, LimitError> {
    let text = || text.to_owned();
    let key = Key::parse(path, tenants).map_err(|problem| LimitError::Name {
        text: text(),
        problem,
    })?;
    if !key.has_ratio() {
        return Err(LimitError::NoRatio { text: text() });
    }
    match key.better() {
        Better::Less | Better::More => Ok(key),
        Better::Neither => Err(LimitError::NoDirection {
            text: text(),
            figure: key.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANTS: [&str; 2] = ["camera", "cam-front"];

    fn kind(text: &str) -> Kind {
        parse(text, &TENANTS)
            .unwrap_or_else(|error| panic!("{error}"))
            .kind
    }

    fn change_of(figure: &str, change: f64) -> Kind {
        let of = Key::parse(figure, &TENANTS).unwrap();
        Kind::Change { of, change }
    }

    #[test]
    fn lines_are_read_with_their_sign() {
        for (text, figure, change) in [
            ("camera.response.p99 +5%", "camera.response.p99", 0.05),
            ("camera.response.p50 -2.5 %", "camera.response.p50", -0.025),
            ("cam-front.miss_rate +0%", "cam-front.miss_rate", 0.0),
            ("camera.energy+10%", "energy.camera.per_frame", 0.1),
            ("camera.energy.per_frame +5%", "energy.camera.per_frame", 0.05),
            ("energy.camera.per_frame +5%", "energy.camera.per_frame", 0.05),
            ("camera.throughput -5%", "camera.throughput", -0.05),
            ("camera.stages.compute.p90 +5%", "camera.stages.compute.p90", 0.05),
            ("power.total.mean +5%", "power.total.mean", 0.05),
        ] {
            assert_eq!(kind(text), change_of(figure, change), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_what_can() {
        let error = |text: &str| parse(text, &TENANTS).unwrap_err();
        for text in [
            "",
            "camera.response.p99",
            "camera.response.p99 +5",
            "+5%",
            "camera.response.p99 +five%",
            "camera.response.p99 +nan%",
        ] {
            assert!(matches!(error(text), LimitError::NoChange { .. }), "{text}");
        }
        for text in [
            "camra.response.p99 +5%",
            "camera.response.p98 +5%",
            "power.total.peek +5%",
        ] {
            assert!(matches!(error(text), LimitError::Name { .. }), "{text}");
        }
        assert!(matches!(
            error("camera.batch +5%"),
            LimitError::NoDirection { .. }
        ));
        assert!(matches!(
            error("temperature.tj.max +5%"),
            LimitError::NoRatio { .. }
        ));
    }

    #[test]
    fn the_sign_of_the_change_counts_and_not_a_hyphen_of_a_name() {
        for (text, negative) in [
            ("cam-front.miss_rate +0%", false),
            ("cam-front.miss_rate −0%", true),
        ] {
            let Kind::Change { change, .. } = kind(text) else {
                panic!("{text}")
            };
            assert_eq!((change, change.is_sign_negative()), (0.0, negative), "{text}");
        }
    }

    #[test]
    fn a_line_with_a_comparison_is_a_condition() {
        assert!(matches!(kind("power.total.mean > 15W"), Kind::Condition(_)));
        assert!(matches!(kind("camera.response.p99 >= 33ms"), Kind::Condition(_)));
        let refused = parse("power.total.mean > 15", &TENANTS);
        assert!(matches!(refused, Err(LimitError::Condition(_))));
    }
}
