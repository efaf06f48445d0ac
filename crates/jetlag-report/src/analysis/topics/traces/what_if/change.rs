//! What is to be different: `camera: kernel "winograd*" x0.5`, `camera: h2d x0`, `without load`, `camera: graph`.
//!
//! A line names a tenant, what of its work, and by which factor its time changes; or a tenant that does not run; or a tenant whose
//! launches become one launch of a graph. Whether a pattern matches anything only the trace can tell.

use crate::nearest::nearest;
use crate::record::Stage;

/// A change of a traced run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The line as written.
    pub text: String,
    /// Position in the scenario of the tenant that it is about.
    pub tenant: u16,
    /// What happens to the tenant.
    pub what: Alteration,
}

/// What happens to a tenant.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    /// Some of its work takes another time; with factor 0 it is not asked for either.
    Scale {
        /// The work.
        work: Scaled,
        /// The factor of its duration.
        factor: f64,
    },
    /// It does not run.
    Without,
    /// What it launches between two waits becomes one launch of a graph.
    Graph,
}

/// Work whose time changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// Kernels by name.
    Kernel(Pattern),
    /// All work of layers, by the layer's name.
    Layer(Pattern),
    /// Host time in calls of CUDA, by name.
    Call(Pattern),
    /// Copies to the device.
    H2d,
    /// Copies from the device.
    D2h,
    /// Host time in a stage: acquire, decode, preprocess or postprocess.
    Stage(Stage),
}

/// A name in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether a name as a whole fits it.
    pub fn fits(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or("");
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let mut parts: Vec<&str> = parts.collect();
        // Without a `*` there is only the first part.
        let Some(last) = parts.pop() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.len() >= last.len() && rest.ends_with(last)
    }
}

/// Words that may follow a tenant, as a list for people.
const WORDS: &str = "kernel \"NAME*\" xF, layer \"NAME*\" xF, call \"NAME*\" xF, h2d xF, d2h xF, acquire xF, decode xF, \
                     preprocess xF, postprocess xF, graph";

/// Why a line could not be understood, or says nothing about the trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// Neither `TENANT: …` nor `without TENANT`.
    #[error(
        "`{text}` is no change: write `TENANT: WHAT` or `without TENANT`, such as `{example}`; the tenants are {tenants}"
    )]
    NoTenant {
        /// The line, as written.
        text: String,
        /// A line that would be right.
        example: String,
        /// The names of all tenants.
        tenants: String,
    },
    /// No such tenant.
    #[error("`{text}`: no tenant is named `{tenant}`{}; the tenants are {tenants}", did_you_mean(.nearest.as_deref()))]
    UnknownTenant {
        /// The line, as written.
        text: String,
        /// What stands where the tenant should.
        tenant: String,
        /// The tenant whose name is nearest.
        nearest: Option<String>,
        /// The names of all tenants.
        tenants: String,
    },
    /// Something else than the words that may follow a tenant.
    #[error("`{text}`: `{found}` is nothing that can be changed{}; write {WORDS}", did_you_mean(.nearest.as_deref()))]
    UnknownWork {
        /// The line, as written.
        text: String,
        /// What was found.
        found: String,
        /// The word that is nearest.
        nearest: Option<String>,
    },
    /// A pattern was due.
    #[error(
        "`{text}`: after `{word}` comes a name in quotes, in which * stands for any text: {word} \"conv*\" x0.5"
    )]
    NoPattern {
        /// The line, as written.
        text: String,
        /// The word before it.
        word: String,
    },
    /// A factor was due.
    #[error(
        "`{text}`: `{found}` is no factor: write x and a number from 0 up, such as x0.5 for half the time or x0 for none"
    )]
    NoFactor {
        /// The line, as written.
        text: String,
        /// What was found.
        found: String,
    },
    /// More than a change.
    #[error("`{text}`: `{found}` is too much; write several changes as several --what-if")]
    TooMuch {
        /// The line, as written.
        text: String,
        /// What was found.
        found: String,
    },
    /// Nothing in the trace is like that.
    #[error("`{text}`: the trace has no {wanted} of {tenant}{}{}", did_you_mean(.nearest.as_deref()), known_list(.known))]
    NothingSuch {
        /// The line, as written.
        text: String,
        /// What was looked for.
        wanted: String,
        /// The tenant.
        tenant: String,
        /// The name that is nearest.
        nearest: Option<String>,
        /// Names that there are, the longest in time first.
        known: Vec<String>,
    },
    /// A tenant is changed that another change takes away, or no tenant is left.
    #[error("`{text}`: {tenant} does not run then; {advice}")]
    NotThere {
        /// The line, as written.
        text: String,
        /// The tenant.
        tenant: String,
        /// What to do.
        advice: &'static str,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn known_list(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!("; there are {}", known.join(", ")),
    }
}

/// Reads a line; tenants are known by name.
///
/// # Errors
/// It is no change of these tenants.
pub fn parse(text: &str, tenants: &[&str]) -> Result<Change, ChangeError> {
    let tenant = |name: &str| -> Result<u16, ChangeError> {
        let place = tenants.iter().position(|known| *known == name);
        place
            .and_then(|place| u16::try_from(place).ok())
            .ok_or_else(|| ChangeError::UnknownTenant {
                text: text.to_owned(),
                tenant: name.to_owned(),
                nearest: nearest(name, tenants.iter().copied()).map(str::to_owned),
                tenants: tenants.join(", "),
            })
    };
    let made = |tenant, what| Change {
        text: text.trim().to_owned(),
        tenant,
        what,
    };
    if let Some(name) = text.trim().strip_prefix("without ") {
        return Ok(made(tenant(name.trim())?, Alteration::Without));
    }
    // The longest name that the line begins with, since a name may hold a colon itself.
    let named = tenants
        .iter()
        .filter_map(|name| {
            Some((
                *name,
                text.trim().strip_prefix(name)?.trim_start().strip_prefix(':')?,
            ))
        })
        .max_by_key(|(name, _)| name.len());
    let Some((name, rest)) = named.or_else(|| text.trim().split_once(':')) else {
        return Err(ChangeError::NoTenant {
            text: text.to_owned(),
            example: format!("{}: h2d x0", tenants.first().unwrap_or(&"camera")),
            tenants: tenants.join(", "),
        });
    };
    let tenant = tenant(name.trim())?;
    Ok(made(tenant, alteration(text, rest.trim())?))
}

fn alteration(text: &str, rest: &str) -> Result<Alteration, ChangeError> {
    let end = rest
        .find(|c: char| c.is_whitespace() || c == '"')
        .unwrap_or(rest.len());
    let (word, rest) = (&rest[..end], rest[end..].trim());
    let too_much = |rest: &str| match rest {
        "" => Ok(()),
        rest => Err(ChangeError::TooMuch {
            text: text.to_owned(),
            found: rest.to_owned(),
        }),
    };
    let named: Option<fn(Pattern) -> Scaled> = match word {
        "kernel" => Some(Scaled::Kernel),
        "layer" => Some(Scaled::Layer),
        "call" => Some(Scaled::Call),
        _ => None,
    };
    let plain = match word {
        "h2d" => Some(Scaled::H2d),
        "d2h" => Some(Scaled::D2h),
        "acquire" => Some(Scaled::Stage(Stage::Acquire)),
        "decode" => Some(Scaled::Stage(Stage::Decode)),
        "preprocess" => Some(Scaled::Stage(Stage::Preprocess)),
        "postprocess" => Some(Scaled::Stage(Stage::Postprocess)),
        _ => None,
    };
    let (work, rest) = match (named, plain) {
        (Some(of), _) => {
            let (name, rest) = quoted(rest).ok_or_else(|| ChangeError::NoPattern {
                text: text.to_owned(),
                word: word.to_owned(),
            })?;
            (of(Pattern(name.to_owned())), rest)
        }
        (None, Some(plain)) => (plain, rest),
        (None, None) if word == "graph" => {
            too_much(rest)?;
            return Ok(Alteration::Graph);
        }
        (None, None) => {
            const KNOWN: [&str; 10] = [
                "kernel",
                "layer",
                "call",
                "h2d",
                "d2h",
                "acquire",
                "decode",
                "preprocess",
                "postprocess",
                "graph",
            ];
            return Err(ChangeError::UnknownWork {
                text: text.to_owned(),
                found: word.to_owned(),
                nearest: nearest(word, KNOWN).map(str::to_owned),
            });
        }
    };
    let (found, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let factor: Option<f64> = found
        .strip_prefix(['x', 'X', '×'])
        .and_then(|number| number.parse().ok())
        .filter(|factor: &f64| factor.is_finite() && (0.0..=1e6).contains(factor));
    let factor = factor.ok_or_else(|| ChangeError::NoFactor {
        text: text.to_owned(),
        found: found.to_owned(),
    })?;
    too_much(rest.trim())?;
    Ok(Alteration::Scale { work, factor })
}

/// A name in quotes, or a word, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(inner) => inner.split_once('"')?,
        None => text.split_once(char::is_whitespace)?,
    };
    (!name.is_empty()).then_some((name, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANTS: [&str; 3] = ["camera", "lidar", "load: gemm"];

    fn said(text: &str) -> String {
        parse(text, &TENANTS).unwrap_err().to_string()
    }

    #[test]
    fn lines_are_read_as_they_are_meant() {
        let read = |text| {
            let change = parse(text, &TENANTS).unwrap();
            (change.tenant, change.what)
        };
        let scale = |work, factor| Alteration::Scale { work, factor };
        let pattern = |text: &str| Pattern(text.to_owned());
        assert_eq!(
            read("camera: kernel \"winograd*\" x0.5"),
            (0, scale(Scaled::Kernel(pattern("winograd*")), 0.5))
        );
        assert_eq!(
            read(" lidar :layer conv1* ×0.8 "),
            (1, scale(Scaled::Layer(pattern("conv1*")), 0.8))
        );
        assert_eq!(
            read("camera: kernel\"void f(int, int)\"x2"),
            (0, scale(Scaled::Kernel(pattern("void f(int, int)")), 2.0))
        );
        assert_eq!(read("camera: h2d x0"), (0, scale(Scaled::H2d, 0.0)));
        assert_eq!(
            read("camera: preprocess x1"),
            (0, scale(Scaled::Stage(Stage::Preprocess), 1.0))
        );
        assert_eq!(read("camera: graph"), (0, Alteration::Graph));
        assert_eq!(read("without load: gemm"), (2, Alteration::Without));
        assert_eq!(read("load: gemm: graph"), (2, Alteration::Graph));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_there_is() {
        assert!(said("faster").contains("such as `camera: h2d x0`; the tenants are camera, lidar"));
        assert!(said("camra: graph").contains("did you mean `camera`?"));
        assert!(said("without lidr").contains("did you mean `lidar`?"));
        assert!(said("camera: kernal \"a\" x1").contains("did you mean `kernel`?"));
        assert!(said("camera: kernel x0.5").contains("a name in quotes"));
        assert!(said("camera: kernel \"a x0.5").contains("a name in quotes"));
        assert!(said("camera: h2d").contains("`` is no factor"));
        for factor in ["0.5", "x-1", "xNaN", "xinf", "x1e300", "x"] {
            assert!(
                said(&format!("camera: h2d {factor}")).contains("is no factor"),
                "{factor}"
            );
        }
        assert!(said("camera: h2d x0 d2h x0").contains("several --what-if"));
        assert!(said("camera: graph x2").contains("`x2` is too much"));
    }

    #[test]
    fn a_star_stands_for_any_text() {
        let fits = |pattern: &str, name| Pattern(pattern.to_owned()).fits(name);
        assert!(
            fits("conv*", "conv1") && fits("*", "") && fits("*gemm*", "sgemm_128") && fits("a*b*c", "a1b2c")
        );
        assert!(fits("relu", "relu") && fits("a*a", "aa"));
        assert!(
            !fits("relu", "relu2") && !fits("conv*", "my_conv") && !fits("a*a", "a") && !fits("a*b*c", "acb")
        );
    }
}
