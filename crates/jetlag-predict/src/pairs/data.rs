//! Networks beside loads and beside each other, as they were measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::many;

/// Slowdowns that can be: a network may run a little faster by chance, and one that starves tells nothing.
const SLOWDOWNS: std::ops::RangeInclusive<f64> = 0.2..=1e4;
/// Most networks and loads.
const MOST: usize = 1000;

/// A network and a load of one resource, run together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meeting {
    /// The resource.
    pub resource: String,
    /// The load's level, above 0 to 1.
    pub level: f64,
    /// How many times slower the network is beside the load than alone.
    pub suffers: f64,
    /// How many times slower the load is beside the network than alone.
    pub causes: f64,
}

/// A network beside each load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// In the order of [`PairData::loads`].
    pub(super) meetings: Vec<Meeting>,
}

/// One network beside another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Whose slowdown it is.
    pub network: String,
    /// Beside which.
    pub beside: String,
    /// How many times slower than alone.
    pub slowdown: f64,
}

/// Networks with what was measured of them, all on one device and under one way of sharing.
#[derive(Debug, Clone, PartialEq)]
pub struct PairData {
    pub(super) place: String,
    pub(super) networks: BTreeMap<String, Signature>,
    pub(super) pairs: Vec<Measured>,
}

/// Why there are no such data, no model, or no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PairError {
    /// A slowdown or level that cannot be.
    #[error("{network} beside {beside}: {what} is {found}; expected {wanted}")]
    Number {
        /// Of which network.
        network: String,
        /// Beside what.
        beside: String,
        /// Which number.
        what: &'static str,
        /// Its value.
        found: f64,
        /// The range.
        wanted: &'static str,
    },
    /// Loads that differ from those of the first network.
    #[error(
        "{network} was run beside {found}, and the others beside {wanted}: run all networks beside the same loads"
    )]
    Loads {
        /// The network.
        network: String,
        /// Its loads.
        found: String,
        /// Those of the others.
        wanted: String,
    },
    /// A network twice.
    #[error("{network} has been measured beside the loads twice; leave one of the runs out")]
    Twice {
        /// The network.
        network: String,
    },
    /// A pair of a network that was not run beside loads.
    #[error("{network} was not run beside loads; those that were are {known}")]
    Unknown {
        /// The network.
        network: String,
        /// The others.
        known: String,
    },
    /// Too little to learn from.
    #[error(
        "{} in pairs of {}; at least {wanted} in pairs of {networks_wanted} networks are needed: run more networks together",
        many(*pairs, "slowdown"), many(*networks, "network")
    )]
    TooFew {
        /// Slowdowns of pairs.
        pairs: usize,
        /// Networks in pairs.
        networks: usize,
        /// The least slowdowns.
        wanted: usize,
        /// The least networks.
        networks_wanted: usize,
    },
    /// Too little, once something is left out.
    #[error(
        "without {left_out}, {} in pairs of {} are left, and a model takes {wanted} in pairs of {networks_wanted}: eval takes five networks, all in pairs",
        many(*pairs, "slowdown"), many(*networks, "network")
    )]
    TooFewLeft {
        /// A network, or both of a pair.
        left_out: String,
        /// Slowdowns that are left.
        pairs: usize,
        /// Networks in them.
        networks: usize,
        /// The least slowdowns.
        wanted: usize,
        /// The least networks.
        networks_wanted: usize,
    },
    /// An option or number that trees cannot take.
    #[error("{0}")]
    Fit(String),
    /// More than anybody measures.
    #[error("more than {MOST} {what}; leave some out")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
}

impl From<crate::PredictError> for PairError {
    fn from(error: crate::PredictError) -> Self {
        Self::Fit(error.to_string())
    }
}

impl PairData {
    /// Nothing yet, of this device and way of sharing.
    pub fn new(place: &str) -> Self {
        Self {
            place: place.to_owned(),
            networks: BTreeMap::new(),
            pairs: Vec::new(),
        }
    }

    /// The device and the way of sharing.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Resources and levels that every network was run beside.
    pub fn loads(&self) -> Vec<(String, f64)> {
        self.networks
            .values()
            .next()
            .map(Signature::loads)
            .unwrap_or_default()
    }

    /// Networks that were run beside the loads.
    pub fn networks(&self) -> Vec<&str> {
        self.networks.keys().map(String::as_str).collect()
    }

    /// A network as it was beside each load.
    pub fn signature(&self, network: &str) -> Option<&Signature> {
        self.networks.get(network)
    }

    /// Slowdowns of pairs.
    pub fn pairs(&self) -> &[Measured] {
        &self.pairs
    }

    /// Adds a network, as it was beside each load.
    ///
    /// # Errors
    /// A number that cannot be; other loads than those of the networks before; the same name again.
    pub fn add_network(&mut self, name: &str, meetings: Vec<Meeting>) -> Result<(), PairError> {
        let signature = Signature::new(name, meetings)?;
        let (own, wanted) = (signature.loads(), self.loads());
        if !self.networks.is_empty() && own != wanted {
            return Err(PairError::Loads {
                network: name.to_owned(),
                found: words(&own),
                wanted: words(&wanted),
            });
        }
        if self.networks.len() >= MOST {
            return Err(PairError::TooMany { what: "networks" });
        }
        match self.networks.insert(name.to_owned(), signature) {
            Some(_) => Err(PairError::Twice {
                network: name.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Adds how much a network was slowed down beside another one.
    ///
    /// # Errors
    /// A number that cannot be; a network that was not added before.
    pub fn add_pair(&mut self, network: &str, beside: &str, slowdown: f64) -> Result<(), PairError> {
        for name in [network, beside] {
            if !self.networks.contains_key(name) {
                return Err(PairError::Unknown {
                    network: name.to_owned(),
                    known: self.networks().join(", "),
                });
            }
        }
        check(network, beside, "the slowdown", slowdown)?;
        self.pairs.push(Measured {
            network: network.to_owned(),
            beside: beside.to_owned(),
            slowdown,
        });
        Ok(())
    }
}

impl Signature {
    /// Checks what was measured of a network, and takes it.
    ///
    /// # Errors
    /// A number that cannot be, the same load twice, no load.
    pub fn new(network: &str, mut meetings: Vec<Meeting>) -> Result<Self, PairError> {
        meetings.sort_by(|a, b| a.resource.cmp(&b.resource).then(a.level.total_cmp(&b.level)));
        for meeting in &meetings {
            let beside = &meeting.resource;
            check(network, beside, "the slowdown", meeting.suffers)?;
            check(network, beside, "the load's slowdown", meeting.causes)?;
            if !(meeting.level > 0.0 && meeting.level <= 1.0) {
                return Err(PairError::Number {
                    network: network.to_owned(),
                    beside: beside.clone(),
                    what: "the load's level",
                    found: meeting.level,
                    wanted: "above 0 and at most 1",
                });
            }
        }
        let signature = Self { meetings };
        let loads = signature.loads();
        if loads.is_empty() || loads.windows(2).any(|two| two[0] == two[1]) {
            return Err(PairError::Loads {
                network: network.to_owned(),
                found: words(&loads),
                wanted: "each load once".to_owned(),
            });
        }
        match loads.len() > MOST {
            true => Err(PairError::TooMany { what: "loads" }),
            false => Ok(signature),
        }
    }

    /// What was measured, by resource and level.
    pub fn meetings(&self) -> &[Meeting] {
        &self.meetings
    }

    pub(super) fn loads(&self) -> Vec<(String, f64)> {
        let load = |meeting: &Meeting| (meeting.resource.clone(), meeting.level);
        self.meetings.iter().map(load).collect()
    }
}

fn check(network: &str, beside: &str, what: &'static str, found: f64) -> Result<(), PairError> {
    match SLOWDOWNS.contains(&found) {
        true => Ok(()),
        false => Err(PairError::Number {
            network: network.to_owned(),
            beside: beside.to_owned(),
            what,
            found,
            wanted: "0.2 to 10000",
        }),
    }
}

fn words(loads: &[(String, f64)]) -> String {
    let word = |(resource, level): &(String, f64)| format!("{resource} at {level}");
    match loads {
        [] => "no load".to_owned(),
        _ => loads.iter().map(word).collect::<Vec<_>>().join(", "),
    }
}
