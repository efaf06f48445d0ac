//! Reads the names of figures as people write them, and says what was meant where there is none of that name.

use jetlag_figure::Unit;
use jetlag_record::Stage;
use jetlag_record::nearest::nearest;

use super::{
    Host, Key, Kind, Level, Line, OfRail, Part, PerFrame, Plain, Power, Series, Statistic, Whole, listed,
};

/// What names of figures of the machine begin with.
pub const FAMILIES: [&str; 6] = ["power", "energy", "temperature", "clock", "load", "host"];

/// Why a name is none of a figure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KeyError {
    /// It starts with no tenant.
    #[error("no tenant is named `{tenant}`{}; the tenants are {tenants}; figures of the machine begin with power, energy, temperature, clock, load or host", did_you_mean(.nearest.as_deref()))]
    Tenant {
        /// What stands where the tenant should.
        tenant: String,
        /// The tenant or family whose name is nearest.
        nearest: Option<String>,
        /// The names of all tenants, separated by commas.
        tenants: String,
    },
    /// A figure of a tenant, without a tenant before it.
    #[error("it names no tenant: write `{example}`; the tenants are {tenants}")]
    NoTenant {
        /// With a tenant before it.
        example: String,
        /// The names of all tenants, separated by commas.
        tenants: String,
    },
    /// A tenant's, and no figure.
    #[error("there is no metric `{metric}`{}; the metrics are {}", did_you_mean(.nearest.as_deref()), listed())]
    Metric {
        /// What stands where the figure should.
        metric: String,
        /// The figure whose name is nearest.
        nearest: Option<String>,
    },
    /// Of the machine, and no figure.
    #[error("there is no figure `{figure}`{}; the metrics are {}", did_you_mean(.nearest.as_deref()), super::list::of_machine())]
    Figure {
        /// The word that stands where the figure should.
        figure: String,
        /// The figure whose name is nearest.
        nearest: Option<String>,
    },
    /// It does not say of what, or which figure.
    #[error("`{path}` is not complete: write {examples}")]
    Incomplete {
        /// The name as written.
        path: String,
        /// What to write in its place.
        examples: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// What other tools call figures, and what they are called here.
const SYNONYMS: [(&str, &str); 6] = [
    ("latency", "response"),
    ("fps", "throughput"),
    ("frame_rate", "throughput"),
    ("drops", "dropped"),
    ("misses", "missed"),
    ("failures", "failed"),
];

impl Key {
    /// The figure of this name. A tenant may be called `power` or `clock`: its own figures come first. `p99.9`, `frames.dropped`,
    /// `throughput_fps` and `camera.energy.per_frame` are understood too.
    ///
    /// # Errors
    /// There is none: what was meant, or what there is.
    pub fn parse(path: &str, tenants: &[&str]) -> Result<Key, KeyError> {
        let split = split_tenant(path, tenants);
        let own = |(tenant, rest): (&str, &str)| match rest {
            "energy" => Some(Key::Frames(tenant.to_owned(), PerFrame::Total)),
            rest => of_tenant(tenant, rest),
        };
        if let Some(key) = split.and_then(own) {
            return Ok(key);
        }
        match (of_machine(path, tenants), split) {
            (Some(Ok(key)), _) => Ok(key),
            (Some(Err(error)), None) => Err(error),
            (_, Some((tenant, rest))) => Err(KeyError::Metric {
                metric: rest.to_owned(),
                nearest: meant(tenant, rest).or_else(|| nearest_of(tenant, rest)),
            }),
            (None, None) => Err(of_nobody(path, tenants)),
        }
    }

    /// The figure that this name most likely is, of a table that does not say who its tenants are.
    pub fn guess(name: &str) -> Option<Key> {
        let of_whom = |(at, _): (usize, &str)| {
            let tenant = name.get(..at)?;
            of_tenant(tenant, name.get(at + 1..)?)
        };
        if let Some(key) = name.match_indices('.').find_map(of_whom) {
            return Some(key);
        }
        let tenant = name
            .strip_prefix("energy.")
            .and_then(|rest| rest.rsplit_once('.'));
        let tenants: Vec<&str> = tenant.iter().map(|(tenant, _)| *tenant).collect();
        of_machine(name, &tenants)?.ok()
    }

    /// A tenant's figure by its name without the tenant.
    pub fn of_tenant(tenant: &str, name: &str) -> Option<Key> {
        of_tenant(tenant, name)
    }
}

fn of_tenant(tenant: &str, name: &str) -> Option<Key> {
    let exact = |name: &str| {
        let own = || tenant.to_owned();
        if let Some(plain) = Plain::named(name) {
            return Some(Key::Plain(own(), plain));
        }
        let (of, word) = name.rsplit_once('.')?;
        if let Some(statistic) = Statistic::named(word) {
            if let Some(series) = Series::named(of) {
                return Some(Key::Time(own(), series, statistic));
            }
            let stage = of.strip_prefix("stages.")?;
            let stage = Stage::ALL.into_iter().find(|known| known.name() == stage)?;
            return Some(Key::Stage(own(), stage, statistic));
        }
        match of {
            "energy" => PerFrame::named(word).map(|figure| Key::Frames(own(), figure)),
            "time_share" => Part::all()
                .find(|part| part.name() == word)
                .map(|part| Key::TimeShare(own(), part)),
            _ => None,
        }
    };
    let name = name.replace("p99.9", "p99_9");
    let name = name.strip_prefix("frames.").unwrap_or(&name);
    exact(name).or_else(|| {
        let (name, unit) = Unit::split(name)?;
        exact(name).filter(|key| key.unit() == unit)
    })
}

/// The figure of this name; nothing if it begins like none of the machine.
fn of_machine(path: &str, tenants: &[&str]) -> Option<Result<Key, KeyError>> {
    let (family, rest) = path.split_once('.').unwrap_or((path, ""));
    if !FAMILIES.contains(&family) {
        return None;
    }
    let word = rest.rsplit_once('.').map_or(rest, |(_, word)| word);
    Some(
        match (complete(family, rest), incomplete(family, rest, tenants)) {
            (Some(Key::Frames(tenant, _)), _) if !tenants.contains(&tenant.as_str()) => {
                Err(unknown_tenant(&tenant, tenants))
            }
            (Some(key), _) => Ok(key),
            (None, Some(examples)) => Err(KeyError::Incomplete {
                path: path.to_owned(),
                examples,
            }),
            (None, None) => Err(KeyError::Figure {
                figure: word.to_owned(),
                nearest: nearest(word, words(family)).map(str::to_owned),
            }),
        },
    )
}

fn complete(family: &str, rest: &str) -> Option<Key> {
    let exact = |rest: &str| {
        if family == "host" {
            return Host::named(rest).map(Key::Host);
        }
        if let Some(whole) = Whole::named(rest).filter(|_| family == "energy") {
            return Some(Key::Energy(whole));
        }
        let (of, word) = rest.rsplit_once('.').filter(|(of, _)| !of.is_empty())?;
        match (family, of) {
            ("power", "total") => power(word).map(|power| Key::Power(Line::Total, power)),
            ("power", rail) => {
                let power = power(word).map(|power| Key::Power(Line::Rail(rail.to_owned()), power));
                power.or_else(|| Some(Key::Rail(rail.to_owned(), OfRail::named(word)?)))
            }
            ("energy", tenant) => PerFrame::named(word).map(|figure| Key::Frames(tenant.to_owned(), figure)),
            (kind, sensor) => Some(Key::Sensor(Kind::named(kind)?, sensor.to_owned(), level(word)?)),
        }
    };
    exact(rest).or_else(|| {
        let (rest, unit) = Unit::split(rest)?;
        exact(rest).filter(|key| key.unit() == unit)
    })
}

/// `p50` and `max` are understood too.
fn power(word: &str) -> Option<Power> {
    match word {
        "p50" => Some(Power::Median),
        "max" => Some(Power::Peak),
        word => Power::named(word),
    }
}

fn level(word: &str) -> Option<Level> {
    match word {
        "p50" => Some(Level::Median),
        word => Level::named(word),
    }
}

/// The last words that figures of a family have.
fn words(family: &str) -> Vec<&'static str> {
    let names = |all: &[Level]| all.iter().map(|level| level.name()).collect();
    match family {
        "power" => {
            let of_rail = OfRail::ALL.iter().map(|figure| figure.name());
            Power::ALL
                .iter()
                .map(|power| power.name())
                .chain(["max"])
                .chain(of_rail)
                .collect()
        }
        "energy" => PerFrame::ALL.iter().map(|figure| figure.name()).collect(),
        "host" => Host::ALL.iter().map(|host| host.name()).collect(),
        _ => names(Level::ALL),
    }
}

/// What to write in place of a family's name alone, or with a single word: the figure without what it is of, or that without a figure.
fn incomplete(family: &str, word: &str, tenants: &[&str]) -> Option<String> {
    let of: &[&str] = match family {
        _ if word.contains('.') => return None,
        "power" => &["total", "RAIL"],
        "temperature" | "load" => &["SENSOR"],
        "clock" => &["CLOCK"],
        "energy" if Whole::named(word).is_some() => return None,
        "energy" => &["TENANT"],
        _ if word.is_empty() => return Some("`host.cpu_load`".to_owned()),
        _ => return None,
    };
    let figures = words(family);
    let written = |of: &str, figure: &str| format!("`{family}.{of}.{figure}`");
    let usual = if family == "energy" { "per_frame" } else { "mean" };
    let near = nearest(word, figures.iter().copied());
    let of_all = |figure: &str| of.iter().map(|of| written(of, figure)).collect();
    let examples: Vec<String> = match figures.iter().find(|name| **name == word) {
        Some(figure) => of_all(figure),
        None if word.is_empty() => of_all(usual),
        None if family == "energy" && !tenants.contains(&word) => {
            vec![
                "`energy.total`".to_owned(),
                written("TENANT", near.unwrap_or(usual)),
            ]
        }
        None => match near.filter(|_| word != "total") {
            Some(figure) => of_all(figure),
            None => vec![written(word, usual)],
        },
    };
    Some(examples.join(" or "))
}

/// The longest tenant name that the path starts with, since a name may hold dots itself; and the rest.
fn split_tenant<'a>(path: &'a str, tenants: &[&'a str]) -> Option<(&'a str, &'a str)> {
    tenants
        .iter()
        .filter_map(|tenant| Some((*tenant, path.strip_prefix(tenant)?.strip_prefix('.')?)))
        .max_by_key(|(tenant, _)| tenant.len())
}

/// What is said of a name that begins with neither a tenant nor a family.
fn of_nobody(path: &str, tenants: &[&str]) -> KeyError {
    if tenants.contains(&path) {
        return KeyError::Incomplete {
            path: path.to_owned(),
            examples: format!("`{path}.response.p99`, or another metric of it"),
        };
    }
    if let Some(first) = tenants.first()
        && let Some(metric) = meant(first, path)
    {
        return KeyError::NoTenant {
            example: format!("{first}.{metric}"),
            tenants: tenants.join(", "),
        };
    }
    unknown_tenant(path.split('.').next().unwrap_or(path), tenants)
}

fn unknown_tenant(tenant: &str, tenants: &[&str]) -> KeyError {
    let known = tenants.iter().copied().chain(FAMILIES);
    KeyError::Tenant {
        tenant: tenant.to_owned(),
        nearest: nearest(tenant, known).map(str::to_owned),
        tenants: tenants.join(", "),
    }
}

/// The figure that was meant by a name that other tools have, or that lacks its statistic or its series.
fn meant(tenant: &str, name: &str) -> Option<String> {
    let name = &name.replace("p99.9", "p99_9").replace("p999", "p99_9");
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    if first == "energy" {
        return Some(Key::Frames(tenant.to_owned(), PerFrame::Total).to_string());
    }
    let synonym = SYNONYMS.iter().find(|(known, _)| *known == first);
    let first = synonym.map_or(first, |(_, ours)| ours);
    let whole = match rest {
        "" => first.to_owned(),
        rest => format!("{first}.{rest}"),
    };
    let all = [
        whole,
        format!("{name}.p99"),
        format!("{first}.p99"),
        format!("response.{name}"),
    ];
    all.into_iter().find(|name| of_tenant(tenant, name).is_some())
}

fn nearest_of(tenant: &str, name: &str) -> Option<String> {
    let names: Vec<_> = Key::all_of_tenant(tenant).map(|key| key.within()).collect();
    nearest(name, names.iter().map(AsRef::as_ref)).map(str::to_owned)
}
