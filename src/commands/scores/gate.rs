//! `--fail-if 'camera.ap < 0.5'`: limits on scores.

use jetlag_score::report::Scores;
use serde_json::{Value, json};

use crate::commands::outcome::WrongUse;

/// A limit that a score must not pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gate {
    text: String,
    tenant: String,
    figure: String,
    below: bool,
    limit: f64,
}

/// A limit, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    text: String,
    /// What it is; `None` where it cannot be known.
    value: Option<f64>,
    why: Option<String>,
    /// Whether the command fails for it: also where the score is not known.
    pub(super) fails: bool,
}

impl Gate {
    /// Reads all of them; those that are wrong are told at once.
    pub(super) fn all(texts: &[String], tenants: &[&str]) -> Result<Vec<Gate>, WrongUse> {
        let read: Vec<Result<Gate, String>> = texts.iter().map(|text| Gate::read(text, tenants)).collect();
        let wrong: Vec<&String> = read.iter().filter_map(|gate| gate.as_ref().err()).collect();
        if !wrong.is_empty() {
            let lines: Vec<&str> = wrong.into_iter().map(String::as_str).collect();
            return Err(WrongUse(lines.join("\n       ")));
        }
        Ok(read.into_iter().flatten().collect())
    }

    fn read(text: &str, tenants: &[&str]) -> Result<Gate, String> {
        let example = "--fail-if 'camera.ap < 0.5'";
        let (left, right, below) = match (text.split_once('<'), text.split_once('>')) {
            (Some((left, right)), None) => (left, right, true),
            (None, Some((left, right))) => (left, right, false),
            _ => return Err(format!("--fail-if `{text}`: needs one < or >, as in {example}")),
        };
        let limit: f64 = right
            .trim()
            .parse()
            .ok()
            .filter(|limit: &f64| limit.is_finite())
            .ok_or_else(|| {
                format!(
                    "--fail-if `{text}`: `{}` is not a number, as in {example}",
                    right.trim()
                )
            })?;
        let name = left.trim();
        let tenant = tenants
            .iter()
            .filter(|tenant| {
                name.strip_prefix(**tenant)
                    .is_some_and(|rest| rest.starts_with('.'))
            })
            .max_by_key(|tenant| tenant.len());
        let Some(tenant) = tenant else {
            return Err(format!(
                "--fail-if `{text}`: begins with no tenant of this run (`{}`), as in {example}",
                tenants.join("`, `")
            ));
        };
        Ok(Gate {
            text: text.to_owned(),
            tenant: (*tenant).to_owned(),
            figure: name[tenant.len() + 1..].to_owned(),
            below,
            limit,
        })
    }

    fn judge(&self, scored: &[(String, Scores)]) -> Judged {
        let scores = scored
            .iter()
            .find(|(tenant, _)| *tenant == self.tenant)
            .map(|(_, scores)| scores);
        let figure = scores.and_then(|scores| scores.figure(&self.figure));
        let why = match (scores, figure) {
            (Some(scores), None) => {
                let known = scores.figures.iter().map(|scored| scored.figure.name.as_str());
                let meant = crate::nearest::nearest(&self.figure, known.clone());
                let all: Vec<&str> = known.take(12).collect();
                Some(meant.map_or_else(
                    || {
                        format!(
                            "there is no figure `{}`; there are {}, …",
                            self.figure,
                            all.join(", ")
                        )
                    },
                    |meant| format!("there is no figure `{}`; did you mean `{meant}`?", self.figure),
                ))
            }
            _ => figure.and_then(|figure| figure.why).map(str::to_owned),
        };
        let value = figure.and_then(|figure| figure.value);
        let passes = value.is_some_and(|value| match self.below {
            true => value >= self.limit,
            false => value <= self.limit,
        });
        Judged {
            text: self.text.clone(),
            value,
            why,
            fails: !passes,
        }
    }
}

/// What came of each.
pub(super) fn judge(gates: &[Gate], scored: &[(String, Scores)]) -> Vec<Judged> {
    gates.iter().map(|gate| gate.judge(scored)).collect()
}

impl Judged {
    /// A line for people.
    pub(super) fn to_text(&self) -> String {
        let verdict = if self.fails { "fails" } else { "holds" };
        match (self.value, &self.why) {
            (Some(value), _) => format!("{verdict}: not {} (it is {value:.4})", self.text),
            (None, Some(why)) => format!("{verdict}: not {}, because it is not known: {why}", self.text),
            (None, None) => format!("{verdict}: not {}, because it is not known", self.text),
        }
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        json!({ "text": self.text, "value": self.value, "why": self.why, "fails": self.fails })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_a_tenant_a_figure_and_a_number() {
        let tenants = ["camera", "camera.front"];
        let gate = Gate::read("camera.front.car.ap50 < 0.5", &tenants).unwrap();
        assert_eq!(
            (gate.tenant.as_str(), gate.figure.as_str()),
            ("camera.front", "car.ap50")
        );
        assert!(gate.below && (gate.limit - 0.5).abs() < 1e-12);
        for (text, said) in [
            ("camera.ap", "needs one < or >"),
            ("camera.ap < much", "`much` is not a number"),
            (
                "lidar.ap < 0.5",
                "begins with no tenant of this run (`camera`, `camera.front`)",
            ),
            ("camera.ap < NaN", "is not a number"),
        ] {
            let error = Gate::read(text, &tenants).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let both = Gate::all(&["x".to_owned(), "camera.ap < y".to_owned()], &tenants).unwrap_err();
        assert_eq!(both.0.lines().count(), 2, "{both}");
    }
}
