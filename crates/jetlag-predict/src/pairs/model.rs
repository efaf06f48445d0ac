//! A model of slowdowns in pairs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::base::{Base, FORMS, share};
use super::data::{Measured, Meeting, PairData, PairError, Signature};
use crate::features::FeatureSet;
use crate::model::{FitOptions, Interval, Kin, Opinion, Trust, Unseen, Width, best_trust, joined};
use crate::trees::{Forest, Rows, TreeOptions};

/// Fewest slowdowns, and networks in pairs, that a model is made of.
pub(super) const LEAST_ROWS: usize = 8;
pub(super) const LEAST_NETWORKS: usize = 3;
/// How far beyond what fitted networks suffered or took another one may lie before it is said.
const BEYOND: f64 = 1.2;

/// Slowdowns of pairs on one device, under one way of sharing.
#[derive(Debug, Clone, PartialEq)]
pub struct PairModel {
    pub(super) facts: PairFacts,
    pub(super) members: Vec<PairMember>,
}

/// All of a model but its trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PairFacts {
    pub(super) place: String,
    pub(super) level: f64,
    pub(super) loads: Vec<(String, f64)>,
    pub(super) networks: BTreeMap<String, Signature>,
    /// Networks of fitted pairs.
    pub(super) paired: BTreeSet<String>,
    pub(super) rows: usize,
    /// How much of the trees' correction is used for networks of fitted pairs, and for others.
    pub(super) trust: [Trust; 2],
    pub(super) near: Option<Width>,
    pub(super) far: Option<Width>,
}

impl PairFacts {
    /// Whether read ones can be used.
    pub(super) fn is_sound(&self) -> bool {
        let part = |x: f64| (0.0..=1.0).contains(&x);
        let width = |width: &Option<Width>| width.is_none_or(Width::is_sound);
        let signatures = self.networks.iter().all(|(name, signature)| {
            signature.loads() == self.loads && Signature::new(name, signature.meetings.clone()).is_ok()
        });
        part(self.level)
            && self
                .trust
                .into_iter()
                .all(|trust| trust.is_sound(FeatureSet::Jetlag))
            && width(&self.near)
            && width(&self.far)
            && signatures
            && self.paired.iter().all(|name| self.networks.contains_key(name))
    }
}

/// One form of the base, with trees on what it leaves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairMember {
    pub(super) base: Base,
    pub(super) forest: Forest,
}

/// How much slower a network is beside another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairAnswer {
    /// Whose slowdown it is.
    pub network: String,
    /// Beside which.
    pub beside: String,
    /// How many times slower than alone.
    pub slowdown: f64,
    /// Where the measured value should lie; None where too few pairs were left out to tell.
    pub interval: Option<Interval>,
    /// Whether both are in pairs that were fitted.
    pub kin: Kin,
    /// Every reason to doubt.
    pub unlike: Vec<PairReason>,
}

/// Why a prediction is further from the data than it looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "{network} {what} {found:.2} beside {resource} at {level}, and networks of fitted pairs {least:.2} to {most:.2}"
)]
pub struct PairReason {
    /// Which network.
    pub network: String,
    /// `suffers` or `causes`.
    pub what: String,
    /// Beside which load.
    pub resource: String,
    /// Its level.
    pub level: f64,
    /// The slowdown here.
    pub found: f64,
    /// Least in the data.
    pub least: f64,
    /// Greatest in the data.
    pub most: f64,
}

/// A pair with its networks' signatures and its slowdown.
pub(super) type Row<'a> = (&'a Signature, &'a Signature, f64);

/// Fits a model to all pairs.
///
/// # Errors
/// An option outside of its range; too few pairs or networks in pairs.
pub fn fit_pairs(data: &PairData, options: &FitOptions) -> Result<PairModel, PairError> {
    let all: Vec<&Measured> = data.pairs.iter().collect();
    fit(data, &all, options)
}

/// The networks in these pairs.
pub(super) fn paired<'a>(pairs: &[&'a Measured]) -> BTreeSet<&'a str> {
    let ends = |pair: &&'a Measured| [pair.network.as_str(), pair.beside.as_str()];
    pairs.iter().flat_map(ends).collect()
}

/// Whether so many slowdowns, in pairs of so many networks, make a model.
pub(super) fn suffice(pairs: usize, networks: usize) -> bool {
    pairs >= LEAST_ROWS && networks >= LEAST_NETWORKS
}

/// Fits a model to these pairs of the data.
pub(super) fn fit(
    data: &PairData,
    pairs: &[&Measured],
    options: &FitOptions,
) -> Result<PairModel, PairError> {
    options.check()?;
    let paired = paired(pairs);
    if !suffice(pairs.len(), paired.len()) {
        return Err(PairError::TooFew {
            pairs: pairs.len(),
            networks: paired.len(),
            wanted: LEAST_ROWS,
            networks_wanted: LEAST_NETWORKS,
        });
    }
    let row = |pair: &&Measured| -> Option<Row<'_>> {
        let of = data.networks.get(&pair.network)?;
        Some((of, data.networks.get(&pair.beside)?, pair.slowdown))
    };
    let rows: Vec<Row<'_>> = pairs.iter().filter_map(row).collect();
    let members = members(&rows, options, options.trees)?;
    // A pair has two slowdowns, which go together.
    let ends = |pair: &&Measured| match pair.network < pair.beside {
        true => (pair.network.clone(), pair.beside.clone()),
        false => (pair.beside.clone(), pair.network.clone()),
    };
    let groups: BTreeSet<(String, String)> = pairs.iter().map(ends).collect();
    let groups: Vec<(String, String)> = groups.into_iter().collect();
    let fewer = options.trees.div_ceil(3);
    let mut near = Vec::new();
    for (group, both) in groups.iter().enumerate() {
        let is_held = |at: usize| ends(&pairs[at]) == *both;
        near.extend(leave_out(&rows, is_held, group, options, fewer)?);
    }
    let mut far = Vec::new();
    for (group, network) in paired.iter().enumerate() {
        let is_held = |at: usize| pairs[at].network == *network || pairs[at].beside == *network;
        far.extend(leave_out(&rows, is_held, group, options, fewer)?);
    }
    let all = Trust {
        features: FeatureSet::Jetlag,
        shrink: 1.0,
    };
    let trust = [&near, &far].map(|unseen| best_trust(unseen, &[FeatureSet::Jetlag]).unwrap_or(all));
    Ok(PairModel {
        facts: PairFacts {
            place: data.place.clone(),
            level: options.level,
            loads: data.loads(),
            networks: data.networks.clone(),
            paired: paired.into_iter().map(str::to_owned).collect(),
            rows: rows.len(),
            trust,
            near: Width::of(&near, trust[0], options.level, true),
            far: Width::of(&far, trust[1], options.level, true),
        },
        members,
    })
}

/// What a model of the other rows says of those that are held out; nothing where too few are left.
fn leave_out(
    rows: &[Row<'_>],
    is_held: impl Fn(usize) -> bool,
    group: usize,
    options: &FitOptions,
    trees: usize,
) -> Result<Vec<Unseen>, PairError> {
    let (held, kept): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|at| is_held(*at));
    if kept.len() < 4 {
        return Ok(Vec::new());
    }
    let kept: Vec<Row<'_>> = kept.into_iter().map(|at| rows[at]).collect();
    let held: Vec<Row<'_>> = held.into_iter().map(|at| rows[at]).collect();
    let members = members(&kept, options, trees)?;
    let said = opinions(&members, &held)?;
    let unseen = |((_, _, value), opinions): (&Row<'_>, Vec<Opinion>)| Unseen {
        opinions,
        value: *value,
        group,
        kin: Kin::Fitted,
    };
    Ok(held.iter().zip(said).map(unseen).collect())
}

fn members(rows: &[Row<'_>], options: &FitOptions, trees: usize) -> Result<Vec<PairMember>, PairError> {
    let mut members = Vec::with_capacity(FORMS.len());
    for (number, form) in FORMS.into_iter().enumerate() {
        let base = Base::fit(form, rows);
        let left: Vec<f64> = rows
            .iter()
            .map(|(of, beside, slowdown)| libm::log(*slowdown) - base.log(of, beside))
            .collect();
        let tree_options = TreeOptions {
            trees: trees.div_ceil(FORMS.len()),
            min_leaf: 1,
            seed: options.seed.wrapping_add(number as u64),
            threads: options.threads,
        };
        let forest = Forest::fit(&features(&base, rows)?, &left, tree_options)?;
        members.push(PairMember { base, forest });
    }
    Ok(members)
}

/// What members say of each row.
fn opinions(members: &[PairMember], rows: &[Row<'_>]) -> Result<Vec<Vec<Opinion>>, PairError> {
    let mut said = vec![Vec::with_capacity(members.len()); rows.len()];
    for member in members {
        let corrections = member.forest.predict(&features(&member.base, rows)?);
        for ((said, row), correction) in said.iter_mut().zip(rows).zip(corrections) {
            said.push(Opinion {
                log_base: member.base.log(row.0, row.1),
                correction: correction.mean,
                spread: correction.spread,
                excess: 1.0,
                is_of_sums: false,
            });
        }
    }
    Ok(said)
}

/// What trees see: the base, and what both suffer and take beside each load.
fn features(base: &Base, rows: &[Row<'_>]) -> Result<Rows, PairError> {
    let row = |(of, beside, _): &Row<'_>| -> Vec<f64> {
        let mut row = vec![base.log(of, beside)];
        for signature in [of, beside] {
            for meeting in &signature.meetings {
                row.extend([libm::log(meeting.suffers), share(meeting.causes)]);
            }
        }
        row
    };
    Ok(Rows::new(&rows.iter().map(row).collect::<Vec<_>>())?)
}

/// How many features trees have with so many loads.
pub(super) fn width(loads: usize) -> usize {
    1 + 4 * loads
}

impl PairModel {
    /// The device and the way of sharing.
    pub fn place(&self) -> &str {
        &self.facts.place
    }

    /// Networks that it can be asked about.
    pub fn networks(&self) -> Vec<&str> {
        self.facts.networks.keys().map(String::as_str).collect()
    }

    /// Resources and levels that networks have to be run beside.
    pub fn loads(&self) -> &[(String, f64)] {
        &self.facts.loads
    }

    /// Slowdowns that it was fitted on.
    pub fn rows(&self) -> usize {
        self.facts.rows
    }

    /// Takes a network that was run beside the same loads, and perhaps others, under a name of its own.
    ///
    /// # Errors
    /// Other loads, or a name that is taken.
    pub fn add_network(&mut self, name: &str, signature: Signature) -> Result<(), PairError> {
        let mut data = PairData {
            place: String::new(),
            networks: std::mem::take(&mut self.facts.networks),
            pairs: Vec::new(),
        };
        let added = match data.networks.contains_key(name) {
            true => Err(PairError::Twice {
                network: name.to_owned(),
            }),
            false => {
                let is_known = |meeting: &Meeting| {
                    let mut loads = self.facts.loads.iter();
                    loads.any(|(resource, level)| *resource == meeting.resource && *level == meeting.level)
                };
                let meetings = signature.meetings.into_iter().filter(is_known);
                data.add_network(name, meetings.collect())
            }
        };
        self.facts.networks = data.networks;
        added
    }

    /// How much slower `network` is beside `beside`.
    ///
    /// # Errors
    /// A network that was not run beside the loads.
    pub fn apply(&self, network: &str, beside: &str) -> Result<PairAnswer, PairError> {
        let of = self.signature(network)?;
        let other = self.signature(beside)?;
        let said = opinions(&self.members, &[(of, other, 1.0)])?;
        let is_paired = |name: &str| self.facts.paired.contains(name);
        let kin = match is_paired(network) && is_paired(beside) {
            true => Kin::Fitted,
            false => Kin::Other,
        };
        let (trust, width) = match kin {
            Kin::Fitted => (self.facts.trust[0], self.facts.near),
            Kin::Other => (self.facts.trust[1], self.facts.far),
        };
        let (log, spread) = joined(said.first().map_or(&[][..], Vec::as_slice), trust);
        let mut unlike = self.beyond(network, of);
        if beside != network {
            unlike.extend(self.beyond(beside, other));
        }
        Ok(PairAnswer {
            network: network.to_owned(),
            beside: beside.to_owned(),
            slowdown: libm::exp(log),
            interval: width.map(|width| width.around(log, spread, self.facts.level)),
            kin,
            unlike,
        })
    }

    fn signature(&self, network: &str) -> Result<&Signature, PairError> {
        self.facts
            .networks
            .get(network)
            .ok_or_else(|| PairError::Unknown {
                network: network.to_owned(),
                known: self.networks().join(", "),
            })
    }

    /// Where a network suffers or takes more or less than all of fitted pairs.
    fn beyond(&self, network: &str, signature: &Signature) -> Vec<PairReason> {
        let mut reasons = Vec::new();
        for (at, meeting) in signature.meetings.iter().enumerate() {
            for (what, found) in [("suffers", meeting.suffers), ("causes", meeting.causes)] {
                let fitted = self.facts.paired.iter().filter_map(|name| {
                    let meeting = self.facts.networks.get(name)?.meetings.get(at)?;
                    Some(if what == "suffers" {
                        meeting.suffers
                    } else {
                        meeting.causes
                    })
                });
                let (least, most) = fitted.fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
                if found > BEYOND * most || found < least / BEYOND {
                    reasons.push(PairReason {
                        network: network.to_owned(),
                        what: what.to_owned(),
                        resource: meeting.resource.clone(),
                        level: meeting.level,
                        found,
                        least,
                        most,
                    });
                }
            }
        }
        reasons
    }
}
