//! Parses `--fail-if` texts: a change, such as `camera.response.p99 +5%` or `power.total.mean +5%`, or a comparison with a
//! limit, such as `power.total.mean > 15W`. `gate` judges them.

use super::FIGURES;
use crate::analysis::expectation::{self, Expectation, ExpectationError};
use crate::analysis::machine::{self, Kind as Sensor, MachineMetric, PerFrame, Unnamed};
use crate::nearest::nearest;

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
    Change { of: ChangeOf, change: f64 },
    /// A figure of the candidate, compared as in an expectation.
    Condition(Expectation),
}

/// The figure that changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ChangeOf {
    /// One of [`FIGURES`].
    Tenant {
        tenant: String,
        figure: &'static str,
    },
    Machine(MachineMetric),
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
    /// A figure of the machine that does not exist.
    #[error("`{text}`: there is no figure `{figure}`{}; the figures are {}", did_you_mean(.nearest.as_deref()), machine::list())]
    UnknownMachineFigure {
        /// The whole `--fail-if` text.
        text: String,
        /// The word that stands where the figure should.
        figure: String,
        /// The figure whose name is most similar, if any is.
        nearest: Option<String>,
    },
    /// A figure of the machine without what it is of, or without its last word.
    #[error("`{text}`: `{path}` is not complete: write {examples}")]
    Incomplete {
        /// The whole `--fail-if` text.
        text: String,
        /// What stands before the change.
        path: String,
        /// What to write in its place.
        examples: String,
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
    /// No tenant of that name is in both runs.
    #[error("`{text}`: no tenant that can be compared is named `{tenant}`{}; they are {tenants}", did_you_mean(.nearest.as_deref()))]
    UnknownTenant {
        /// The whole `--fail-if` text.
        text: String,
        /// What stands where the tenant should.
        tenant: String,
        /// The tenant whose name is most similar, if any is.
        nearest: Option<String>,
        /// The names of all tenants that can be compared, separated by commas.
        tenants: String,
    },
    /// The figure is not one of [`FIGURES`].
    #[error("`{text}`: `{figure}` is not compared{}; the figures are {}", did_you_mean(.nearest.as_deref()), FIGURES.join(", "))]
    UnknownFigure {
        /// The whole `--fail-if` text.
        text: String,
        /// The word that stands where the figure should.
        figure: String,
        /// The figure whose name is most similar, if any is.
        nearest: Option<String>,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" (did you mean `{name}`?)"))
        .unwrap_or_default()
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

/// What the words before the change name. A tenant may be called `power`: its own figures come first.
fn subject(text: &str, path: &str, tenants: &[&str]) -> Result<ChangeOf, LimitError> {
    let of_tenant = |tenant: &str, figure| ChangeOf::Tenant {
        tenant: tenant.to_owned(),
        figure,
    };
    let known = tenants
        .iter()
        .filter_map(|tenant| Some((*tenant, path.strip_prefix(tenant)?.strip_prefix('.')?)))
        .max_by_key(|(tenant, _)| tenant.len());
    if let Some((tenant, figure)) = known
        && let Some(&figure) = FIGURES.iter().find(|&&known| known == figure)
    {
        return Ok(of_tenant(tenant, figure));
    }
    match machine::named(path, tenants) {
        Some(Ok(MachineMetric::Frames(tenant, PerFrame::Total))) => return Ok(of_tenant(&tenant, "energy")),
        Some(Ok(MachineMetric::Sensor(Sensor::Temperature, ..))) => {
            return Err(LimitError::NoRatio {
                text: text.to_owned(),
            });
        }
        Some(Ok(metric)) => return Ok(ChangeOf::Machine(metric)),
        Some(Err(Unnamed::Figure { written, nearest })) if known.is_none() => {
            return Err(LimitError::UnknownMachineFigure {
                text: text.to_owned(),
                figure: written,
                nearest,
            });
        }
        Some(Err(Unnamed::Incomplete(examples))) if known.is_none() => {
            return Err(LimitError::Incomplete {
                text: text.to_owned(),
                path: path.to_owned(),
                examples,
            });
        }
        Some(Err(Unnamed::Tenant(tenant))) if known.is_none() => {
            return Err(unknown_tenant(text, &tenant, tenants));
        }
        _ => {}
    }
    match known {
        None => Err(unknown_tenant(
            text,
            path.split('.').next().unwrap_or(path),
            tenants,
        )),
        Some((_, figure)) => Err(LimitError::UnknownFigure {
            text: text.to_owned(),
            figure: figure.to_owned(),
            nearest: nearest(figure, FIGURES.iter().copied()).map(str::to_owned),
        }),
    }
}

fn unknown_tenant(text: &str, tenant: &str, tenants: &[&str]) -> LimitError {
    let known = tenants.iter().copied().chain(machine::FAMILIES);
    LimitError::UnknownTenant {
        text: text.to_owned(),
        tenant: tenant.to_owned(),
        nearest: nearest(tenant, known).map(str::to_owned),
        tenants: tenants.join(", "),
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

    fn of_tenant(tenant: &str, figure: &'static str, change: f64) -> Kind {
        Kind::Change {
            of: ChangeOf::Tenant {
                tenant: tenant.to_owned(),
                figure,
            },
            change,
        }
    }

    #[test]
    fn lines_are_read_with_their_sign() {
        for (text, tenant, figure, change) in [
            ("camera.response.p99 +5%", "camera", "response.p99", 0.05),
            ("camera.response.p50 -2.5 %", "camera", "response.p50", -0.025),
            ("cam-front.miss_rate +0%", "cam-front", "miss_rate", 0.0),
            ("camera.energy+10%", "camera", "energy", 0.1),
        ] {
            assert_eq!(kind(text), of_tenant(tenant, figure, change), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_what_can() {
        let error = |text: &str| parse(text, &TENANTS).unwrap_err().to_string();
        for text in [
            "",
            "camera.response.p99",
            "camera.response.p99 +5",
            "+5%",
            "camera.response.p99 +five%",
            "camera.response.p99 +nan%",
        ] {
            assert!(error(text).contains("names no change"), "{text}: {}", error(text));
        }
        assert!(error("camra.response.p99 +5%").contains("did you mean `camera`?"));
        assert!(error("camera.response.p98 +5%").contains("the figures are response.p50"));
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
    fn figures_of_the_machine_are_read_too() {
        assert!(matches!(
            kind("power.total.mean +5%"),
            Kind::Change { of: ChangeOf::Machine(_), change } if change == 0.05
        ));
        assert_eq!(
            kind("energy.camera.per_frame +5%"),
            of_tenant("camera", "energy", 0.05)
        );
        assert!(matches!(kind("power.total.mean > 15W"), Kind::Condition(_)));
        assert!(matches!(kind("camera.response.p99 >= 33ms"), Kind::Condition(_)));
        let error = |text: &str| parse(text, &TENANTS).unwrap_err().to_string();
        assert!(error("temperature.tj.max +5%").contains("no change in percent"));
        assert!(error("power.total.peek +5%").contains("did you mean `peak`?"));
        assert!(error("power.total.mean > 15").contains("a power with its unit"));
        assert!(error("energy.camra.per_frame +5%").contains("did you mean `camera`?"));
    }
}
