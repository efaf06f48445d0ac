//! Parses and judges `--fail-if` texts such as `camera.response.p99 +5%`.

use super::FIGURES;
use crate::nearest::nearest;

/// A largest allowed change, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub(super) text: String,
    pub(super) tenant: String,
    pub(super) figure: &'static str,
    /// As a share; below zero for a limit on a decrease.
    pub(super) change: f64,
}

/// Why a `--fail-if` text could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// It has not the form TENANT.FIGURE ±PERCENT%.
    #[error(
        "`{text}` names no change: write TENANT.FIGURE and a signed percentage, such as \"camera.response.p99 +5%\""
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
    let known = tenants
        .iter()
        .filter_map(|tenant| Some((*tenant, path.strip_prefix(tenant)?.strip_prefix('.')?)))
        .max_by_key(|(tenant, _)| tenant.len());
    let Some((tenant, figure)) = known else {
        let tenant = path.split('.').next().unwrap_or(path);
        return Err(LimitError::UnknownTenant {
            text: text.to_owned(),
            tenant: tenant.to_owned(),
            nearest: nearest(tenant, tenants.iter().copied()).map(str::to_owned),
            tenants: tenants.join(", "),
        });
    };
    let Some(&figure) = FIGURES.iter().find(|&&known| known == figure) else {
        return Err(LimitError::UnknownFigure {
            text: text.to_owned(),
            figure: figure.to_owned(),
            nearest: nearest(figure, FIGURES.iter().copied()).map(str::to_owned),
        });
    };
    Ok(Limit {
        text: text.to_owned(),
        tenant: tenant.to_owned(),
        figure,
        change: percent / 100.0,
    })
}

impl Limit {
    /// Whether all of an interval of the change lies beyond the limit.
    pub(super) fn is_passed(&self, [low, high]: [f64; 2]) -> bool {
        // `-0%` too: no decrease is allowed.
        if self.change.is_sign_negative() {
            high < self.change
        } else {
            low > self.change
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANTS: [&str; 2] = ["camera", "cam-front"];

    #[test]
    fn lines_are_read_with_their_sign() {
        for (text, tenant, figure, change) in [
            ("camera.response.p99 +5%", "camera", "response.p99", 0.05),
            ("camera.response.p50 -2.5 %", "camera", "response.p50", -0.025),
            ("cam-front.miss_rate +0%", "cam-front", "miss_rate", 0.0),
            ("camera.energy+10%", "camera", "energy", 0.1),
        ] {
            let limit = parse(text, &TENANTS).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                (limit.tenant.as_str(), limit.figure, limit.change),
                (tenant, figure, change)
            );
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
    fn a_limit_is_passed_when_the_whole_interval_is_beyond_it() {
        let limit = parse("camera.response.p99 +5%", &TENANTS).unwrap();
        assert!(limit.is_passed([0.051, 0.09]) && !limit.is_passed([0.049, 0.09]));
        let limit = parse("camera.response.p99 -5%", &TENANTS).unwrap();
        assert!(limit.is_passed([-0.2, -0.06]) && !limit.is_passed([-0.2, -0.04]));
    }

    #[test]
    fn of_no_change_at_all_the_sign_says_which_way_is_too_much() {
        let limit = parse("camera.response.p99 +0%", &TENANTS).unwrap();
        assert!(limit.is_passed([0.01, 0.1]) && !limit.is_passed([-0.1, -0.01]));
        assert!(!limit.is_passed([-0.01, 0.1]));
        for text in ["camera.response.p99 -0%", "camera.response.p99 −0%"] {
            let limit = parse(text, &TENANTS).unwrap();
            assert!(
                limit.is_passed([-0.1, -0.01]) && !limit.is_passed([0.01, 0.1]),
                "{text}"
            );
            assert!(!limit.is_passed([-0.1, 0.01]), "{text}");
        }
        // A name with a hyphen in it is no sign.
        let limit = parse("cam-front.miss_rate +5%", &TENANTS).unwrap();
        assert!(limit.is_passed([0.06, 0.1]) && !limit.is_passed([-0.1, -0.06]));
    }

    #[test]
    fn the_sign_of_the_change_counts_and_not_a_hyphen_of_a_name() {
        let limit = parse("cam-front.miss_rate +0%", &TENANTS).unwrap();
        assert!(limit.is_passed([0.1, 0.2]) && !limit.is_passed([-0.2, -0.1]));
        let limit = parse("cam-front.miss_rate −0%", &TENANTS).unwrap();
        assert!(limit.is_passed([-0.2, -0.1]) && !limit.is_passed([0.1, 0.2]));
    }
}
