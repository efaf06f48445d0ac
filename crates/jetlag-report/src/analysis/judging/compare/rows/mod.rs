//! Compares two sides row by row: stage by stage, layer by layer, or kernel by kernel.
//!
//! A row's figure is its median time a frame; layers that are matched together count together. All intervals of one comparison
//! hold *jointly* with 95 % confidence: each of m rows, of all tenants and candidates, is computed at 1 − 0.05 ÷ m (Bonferroni), in
//! the same way as the figures of `effect`, with the autocorrelation of the frames; where none is detected its upper bound is used, since
//! few frames may hide it, and one row of many shows it. Rows of one run depend on each other, which
//! Bonferroni's bound allows. Stamps of a tracer come in steps, so a bound is moved out by one step: what the clock cannot tell is
//! no difference.

mod nodes;
mod series;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jetlag_stats::quantile::Quantile;
use serde::Serialize;

use super::{Side, Verdict, jointly, label, match_tenants};
use crate::analysis::gathering::effect::{Effect, Unknown, because, of_row};
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::stats::{ns_to_ms, six_decimals};
pub(in crate::analysis) use series::Lacking;
pub(super) use series::{Collector, OfRun};
use series::{Key, OfTenant};

/// What rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The stages of a frame, from the measured frames.
    Stages,
    /// Layers of networks, from traced frames.
    Layers,
    /// Kernels within layers, from traced frames.
    Kernels,
}

/// The rows of all candidates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows {
    /// What they are of.
    pub by: By,
    /// Rows with an interval, which hold jointly.
    pub judged: u64,
    /// Each candidate.
    pub candidates: Vec<CandidateRows>,
}

/// The rows of one candidate beside the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateRows {
    /// Its letter.
    pub side: String,
    /// Why there are none, and what they would need; `None` where there are some.
    pub needs: Option<String>,
    /// Each tenant that both have.
    pub tenants: Vec<TenantRows>,
}

impl CandidateRows {
    /// Whether any row differs.
    pub fn differs(&self) -> bool {
        let mut rows = self.tenants.iter().flat_map(|tenant| &tenant.rows);
        rows.any(|row| row.verdict.is_difference())
    }

    /// Whether a conclusion is possible on any row.
    pub fn is_judged(&self) -> bool {
        let mut rows = self.tenants.iter().flat_map(|tenant| &tenant.rows);
        rows.any(|row| row.verdict != Verdict::Unknown)
    }
}

/// One tenant's rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantRows {
    /// Its name.
    pub tenant: String,
    /// Frames of the baseline and of the candidate that they are of.
    pub frames: [u64; 2],
    /// Share of each side's time that the rows cover.
    pub covered: [f64; 2],
    /// What both have, most time first.
    pub rows: Vec<RowComparison>,
    /// What only one of them has, most time first.
    pub unmatched: Vec<Unmatched>,
    /// Of rows of layers: work whose layer is not known, which may be another in each, so it is in no row.
    pub no_layer: Option<OfNoLayer>,
}

/// Work whose layer is not known, in the baseline and in the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfNoLayer {
    /// Mean time a frame, in milliseconds.
    pub ms: [f64; 2],
    /// That as shares of the two sides' time.
    pub shares: [f64; 2],
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowComparison {
    /// The layer or layers that the row is in, or that it is; `None` of stages, and where no layer is known.
    pub layer: Option<String>,
    /// The stage or the kernel; `None` of a layer as a whole.
    pub name: Option<String>,
    /// The baseline's layers that are counted together, where there are several or they have another name than the candidate's.
    pub layers_baseline: Vec<String>,
    /// The candidate's.
    pub layers_candidate: Vec<String>,
    /// Median time a frame in the baseline, in milliseconds.
    pub baseline: Option<f64>,
    /// The same in the candidate.
    pub candidate: Option<f64>,
    /// Share of all time of the baseline's frames, and of the candidate's.
    pub shares: [f64; 2],
    /// Relative change: candidate over baseline, less one.
    pub change: Option<f64>,
    /// Its interval; all of a comparison hold jointly with 95 % confidence.
    pub interval: Option<[f64; 2]>,
    /// What may be concluded.
    pub verdict: Verdict,
    /// If it is `same`: the largest difference that the interval allows.
    pub within: Option<f64>,
    /// If it is `unknown`: what is missing.
    pub reason: Option<String>,
}

/// What one side alone has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    /// The side's letter.
    pub side: String,
    /// As of a row.
    pub layer: Option<String>,
    /// As of a row.
    pub name: Option<String>,
    /// Mean time a frame, in milliseconds.
    pub ms: f64,
    /// That as a share of its side's time.
    pub share: f64,
}

/// The rows of every side beside the first. The sides are known to be comparable.
pub(super) fn compare(by: By, sides: &[Side]) -> Rows {
    let Some((baseline, others)) = sides.split_first() else {
        return Rows {
            by,
            judged: 0,
            candidates: Vec::new(),
        };
    };
    let matched: Vec<CandidateMatch> = others
        .iter()
        .enumerate()
        .map(|(nth, other)| CandidateMatch::of(by, baseline, other, label(nth + 1)))
        .collect();
    let candidates = judged(&matched);
    Rows {
        by,
        judged: intervals(&candidates) as u64,
        candidates,
    }
}

/// The rows of all candidates, whose intervals hold jointly.
fn judged(matched: &[CandidateMatch]) -> Vec<CandidateRows> {
    let at = |confidence: f64| -> Vec<CandidateRows> {
        matched
            .iter()
            .map(|candidate| candidate.rows(confidence))
            .collect()
    };
    jointly(at, |candidates| intervals(candidates))
}

/// Rows with an interval.
fn intervals(candidates: &[CandidateRows]) -> usize {
    let tenants = candidates.iter().flat_map(|candidate| &candidate.tenants);
    let rows = tenants.flat_map(|tenant| &tenant.rows);
    rows.filter(|row| row.interval.is_some()).count()
}

/// What two sides have in common, before it is judged.
struct CandidateMatch {
    side: String,
    needs: Option<String>,
    tenants: Vec<TenantMatch>,
}

struct TenantMatch {
    tenant: String,
    label: String,
    a: Vec<OfTenant>,
    b: Vec<OfTenant>,
    pairs: Vec<Pair>,
    /// What is of no known layer, where rows are layers.
    no_layer: Option<Pair>,
    /// The step of the clock that the times were taken with.
    step: i64,
}

/// Keys of both sides that are one row; without any on one side, what cannot be matched.
#[derive(Default)]
struct Pair {
    a: Vec<Key>,
    b: Vec<Key>,
}

impl CandidateMatch {
    fn of(by: By, a: &Side, b: &Side, label: String) -> CandidateMatch {
        let lacking = [("A", a), (label.as_str(), b)]
            .into_iter()
            .find_map(|(letter, side)| {
                side.runs.iter().find_map(|run| {
                    let lacks = run.rows().as_ref().err().copied()?;
                    Some(needs(letter, lacks, Recorded::of(&run.manifest)))
                })
            });
        let tenants = match (&lacking, match_tenants(a, b, &label)) {
            (None, Ok(tenants)) => tenants,
            _ => Vec::new(),
        };
        let of = |side: &Side, tenant: &str| -> Option<Vec<OfTenant>> {
            let runs = side
                .runs
                .iter()
                .map(|run| run.rows().as_ref().ok()?.get(tenant).cloned());
            runs.collect()
        };
        let tenants = tenants.into_iter().filter(|(_, reason)| reason.is_none());
        let tenants: Vec<TenantMatch> = tenants
            .filter_map(|(tenant, _)| {
                let (a, b) = (of(a, &tenant)?, of(b, &tenant)?);
                let (pairs, no_layer) = pairs(by, &keys(&a), &keys(&b));
                Some(TenantMatch {
                    no_layer,
                    step: step(a.iter().chain(&b)),
                    tenant,
                    label: label.clone(),
                    a,
                    b,
                    pairs,
                })
            })
            .collect();
        let none = || "no tenant has such times in every run of both sides".to_owned();
        CandidateMatch {
            needs: lacking.or_else(|| tenants.is_empty().then(none)),
            side: label,
            tenants,
        }
    }

    fn rows(&self, confidence: f64) -> CandidateRows {
        CandidateRows {
            side: self.side.clone(),
            needs: self.needs.clone(),
            tenants: self
                .tenants
                .iter()
                .map(|tenant| tenant.rows(confidence))
                .collect(),
        }
    }
}

fn needs(side: &str, lacks: Lacking, recorded: Recorded) -> String {
    let is_program = recorded == Recorded::Program;
    match lacks {
        Lacking::Unread | Lacking::Trace if is_program => format!(
            "{side} has a run whose GPU was not traced: record it with `jetlag trace`, without `--no-gpu`, where `jetlag doctor` says \
             that tracing is allowed"
        ),
        Lacking::Layers if is_program => format!(
            "{side} has a run in whose trace no layer is known: a program's layers are the NVTX ranges around its launches; `--kernels` \
             compares without layers"
        ),
        Lacking::Unread | Lacking::Trace => {
            format!("{side} has a run without a traced phase: record it with `jetlag run SCENARIO --trace`")
        }
        Lacking::Work => format!(
            "{side} has a run whose trace has no work on a GPU: trace tenants that use one, where `jetlag doctor` says that tracing is \
             allowed"
        ),
        Lacking::Layers => format!(
            "{side} has a run in whose trace no layer is known: TensorRT's are with its ranges, ONNX Runtime's with `profile: true`; \
             `--kernels` compares without layers"
        ),
    }
}

fn keys(runs: &[OfTenant]) -> Vec<Key> {
    let all: BTreeSet<&Key> = runs.iter().flat_map(|run| run.times.keys()).collect();
    all.into_iter().cloned().collect()
}

/// Which keys of two sides are one row; of layers also those of no known layer, which are none: they may be different work.
fn pairs(by: By, a: &[Key], b: &[Key]) -> (Vec<Pair>, Option<Pair>) {
    let layers = |keys: &[Key]| -> Vec<String> {
        let all: BTreeSet<&String> = keys.iter().filter_map(|key| key.layer.as_ref()).collect();
        all.into_iter().cloned().collect()
    };
    let (in_a, in_b) = (layers(a), layers(b));
    let [names_a, names_b] =
        [&in_a, &in_b].map(|layers| layers.iter().map(String::as_str).collect::<Vec<&str>>());
    let groups = nodes::groups(&names_a, &names_b);
    let mut group_of: [BTreeMap<&str, usize>; 2] = Default::default();
    for (number, group) in groups.iter().enumerate() {
        group_of[0].extend(group.a.iter().map(|&place| (in_a[place].as_str(), number)));
        group_of[1].extend(group.b.iter().map(|&place| (in_b[place].as_str(), number)));
    }
    let mut rows: BTreeMap<(Option<usize>, &str), Pair> = BTreeMap::new();
    for (side, keys) in [a, b].into_iter().enumerate() {
        for key in keys {
            let group = key
                .layer
                .as_deref()
                .and_then(|layer| group_of[side].get(layer).copied());
            let pair = rows.entry((group, key.name.as_str())).or_default();
            match side {
                0 => pair.a.push(key.clone()),
                _ => pair.b.push(key.clone()),
            }
        }
    }
    let no_layer = match by {
        By::Layers => rows.remove(&(None, "")),
        By::Stages | By::Kernels => None,
    };
    (rows.into_values().collect(), no_layer)
}

impl TenantMatch {
    fn rows(&self, confidence: f64) -> TenantRows {
        let mean = |runs: &[OfTenant], keys: &[Key]| {
            let frames: usize = runs.iter().map(|run| run.frames).sum();
            let sum: f64 = runs
                .iter()
                .map(|run| run.mean(keys.iter()) * run.frames as f64)
                .sum();
            sum / frames.max(1) as f64
        };
        let all = [mean(&self.a, &keys(&self.a)), mean(&self.b, &keys(&self.b))];
        let share = |side: usize, ns: f64| if all[side] > 0.0 { ns / all[side] } else { 0.0 };
        let (mut rows, mut unmatched, mut covered) = (Vec::new(), Vec::new(), [0.0; 2]);
        for pair in &self.pairs {
            let means = [mean(&self.a, &pair.a), mean(&self.b, &pair.b)];
            let shares = [share(0, means[0]), share(1, means[1])];
            match (pair.a.first(), pair.b.first()) {
                (Some(_), Some(_)) => {
                    covered = [covered[0] + shares[0], covered[1] + shares[1]];
                    rows.push(self.row(pair, shares, confidence));
                }
                (a, b) => unmatched.extend(a.or(b).map(|key| {
                    let side = usize::from(a.is_none());
                    let keys = if side == 0 { &pair.a } else { &pair.b };
                    Unmatched {
                        side: if side == 0 {
                            "A".to_owned()
                        } else {
                            self.label.clone()
                        },
                        layer: joined(keys),
                        name: named(key),
                        ms: ns_to_ms(means[side]),
                        share: six_decimals(shares[side]),
                    }
                })),
            }
        }
        let no_layer = self.no_layer.as_ref().map(|pair| {
            let means = [mean(&self.a, &pair.a), mean(&self.b, &pair.b)];
            OfNoLayer {
                ms: means.map(ns_to_ms),
                shares: [share(0, means[0]), share(1, means[1])].map(six_decimals),
            }
        });
        let most = |shares: [f64; 2]| shares[0].max(shares[1]);
        rows.sort_by(|a: &RowComparison, b| most(b.shares).total_cmp(&most(a.shares)));
        unmatched.sort_by(|a, b| b.share.total_cmp(&a.share));
        let frames = |runs: &[OfTenant]| runs.iter().map(|run| run.frames as u64).sum();
        TenantRows {
            tenant: self.tenant.clone(),
            frames: [frames(&self.a), frames(&self.b)],
            covered: covered.map(|share| six_decimals(share.min(1.0))),
            rows,
            unmatched,
            no_layer,
        }
    }

    fn row(&self, pair: &Pair, shares: [f64; 2], confidence: f64) -> RowComparison {
        let series = |runs: &[OfTenant], keys: &[Key]| -> Vec<Vec<i64>> {
            runs.iter().map(|run| run.series(keys.iter())).collect()
        };
        let (a, b) = (series(&self.a, &pair.a), series(&self.b, &pair.b));
        let layers =
            |keys: &[Key]| -> Vec<String> { keys.iter().filter_map(|key| key.layer.clone()).collect() };
        let (in_a, in_b) = (layers(&pair.a), layers(&pair.b));
        let differ = in_a != in_b || in_a.len() > 1;
        let mut row = RowComparison {
            layer: joined(&pair.a),
            name: pair.a.first().and_then(named),
            layers_baseline: if differ { in_a } else { Vec::new() },
            layers_candidate: if differ { in_b } else { Vec::new() },
            baseline: None,
            candidate: None,
            shares: shares.map(six_decimals),
            change: None,
            interval: None,
            verdict: Verdict::Unknown,
            within: None,
            reason: None,
        };
        match of_row(Quantile::P50, [&a, &b], confidence).map(|effect| stepped(effect, self.step)) {
            Ok(effect) => {
                let interval = effect.interval.map(six_decimals);
                row.baseline = Some(ns_to_ms(effect.baseline));
                row.candidate = Some(ns_to_ms(effect.candidate));
                row.change = Some(six_decimals(effect.change));
                row.interval = Some(interval);
                (row.verdict, row.within) = Verdict::of_interval(interval);
            }
            Err(Unknown::NoRatio) => {
                row.reason =
                    Some("most frames of a side have nothing of it, so there is no ratio".to_owned());
            }
            Err(why) => {
                let frames = |runs: &[Vec<i64>]| runs.iter().map(Vec::len).sum();
                row.reason = Some(because(why, [frames(&a), frames(&b)]));
            }
        }
        row
    }
}

/// Layers as one name.
fn joined(keys: &[Key]) -> Option<String> {
    let layers: BTreeSet<&str> = keys.iter().filter_map(|key| key.layer.as_deref()).collect();
    (!layers.is_empty()).then(|| layers.into_iter().collect::<Vec<_>>().join(", "))
}

fn named(key: &Key) -> Option<String> {
    (!key.name.is_empty()).then(|| key.name.clone())
}

/// The step of the clock that these times were taken with: the smallest difference between two of them.
fn step<'a>(runs: impl Iterator<Item = &'a OfTenant>) -> i64 {
    let times = runs.flat_map(|run| run.times.values()).flatten();
    let mut all: Vec<i64> = times.map(|(_, took)| *took).collect();
    all.sort_unstable();
    all.dedup();
    let steps = all.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    steps.min().unwrap_or(0)
}

/// An effect whose interval is a step wider on each side: medians of times in steps are right to a step alone.
fn stepped(effect: Effect, step: i64) -> Effect {
    let width = step as f64 / effect.baseline.max(1.0);
    let [low, high] = effect.interval;
    Effect {
        interval: [low - width, high + width],
        ..effect
    }
}
