//! Whether a network is like those that a model was fitted on.

use serde::{Deserialize, Serialize};

use crate::features::{Term, Terms};
use crate::words::{number, size};

/// Numbers that say what kind of network it is.
const WIDTH: usize = 7;
/// Shares of work or traffic below this do not matter.
const SHARE: f64 = 0.05;
/// How far beyond the fitted range a size may lie before it is said.
const BEYOND: f64 = 1.5;

/// Whether the model was fitted on variants of this network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kin {
    /// It resembles a fitted network as much as that network's variants resemble each other.
    Fitted,
    /// It is another network.
    Other,
}

/// Why a prediction is further from the data than it looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Not a variant of a fitted network.
    #[error(
        "unlike every fitted network; the nearest is {nearest}, {times:.1} times as far as variants of one network lie apart"
    )]
    Network {
        /// The nearest fitted one.
        nearest: String,
        /// Its distance over the largest within a network.
        times: f64,
    },
    /// A class of layers that the data hardly have.
    #[error(
        "{share_pct:.0} % of {what} is in {class}, of which the fitted networks have at most {fitted_pct:.0} %"
    )]
    Class {
        /// Work or traffic.
        what: String,
        /// The class.
        class: String,
        /// Its share here.
        share_pct: f64,
        /// Its largest share in the data.
        fitted_pct: f64,
    },
    /// A size outside of what was measured.
    #[error(
        "{what} is {}, and was {} to {} in the data",
        size(*found, unit), number(*least, unit), size(*most, unit)
    )]
    Beyond {
        /// Which size.
        what: String,
        /// Its unit; empty for counts.
        unit: String,
        /// Here.
        found: f64,
        /// Least in the data.
        least: f64,
        /// Greatest in the data.
        most: f64,
    },
}

impl Reason {
    /// A size outside of what was measured.
    pub(super) fn beyond(what: &str, unit: &str, found: f64, [least, most]: [f64; 2]) -> Self {
        Self::Beyond {
            what: what.to_owned(),
            unit: unit.to_owned(),
            found,
            least,
            most,
        }
    }
}

/// What a model remembers of its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    networks: Vec<String>,
    /// Of each variant: place of its network, and what kind it is.
    variants: Vec<(usize, [f64; WIDTH])>,
    scale: [f64; WIDTH],
    /// Largest distance from a variant to the nearest of its network.
    within: f64,
    /// Least and greatest sizes of rows: batch, work, traffic, weights, layers.
    ranges: [[f64; 2]; 5],
    /// Largest shares of classes.
    classes: [f64; 4],
}

const SIZES: [(&str, &str); 5] = [
    ("the batch", ""),
    ("the work of a batch", "GMAC"),
    ("what a batch writes", "MiB"),
    ("the size of the weights", "MiB"),
    ("the number of layers with weights", ""),
];

fn sizes(terms: &Terms) -> [f64; 5] {
    let get = |term| terms.get(term);
    [
        get(Term::Batch),
        terms.work(),
        get(Term::Written),
        get(Term::Weights),
        get(Term::Layers),
    ]
}

const CLASSES: [(&str, &str); 4] = [
    ("work", "convolutions of 1 × 1 and matrix multiplies"),
    ("work", "convolutions with larger kernels"),
    ("what is written", "depthwise convolutions"),
    ("what is written", "layers without weights"),
];

fn classes(terms: &Terms) -> [f64; 4] {
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (work, written) = (terms.work(), terms.get(Term::Written));
    [
        share(terms.get(Term::Pointwise), work),
        share(terms.get(Term::Spatial), work),
        share(terms.get(Term::WrittenDepthwise), written),
        share(terms.get(Term::WrittenOther), written),
    ]
}

/// Free of the batch.
fn kind(terms: &Terms) -> [f64; WIDTH] {
    let log = |x: f64| libm::log(x.max(1e-9));
    let batch = terms.get(Term::Batch).max(1.0);
    let [pointwise, _, depthwise, other] = classes(terms);
    let (work, written) = (terms.work() / batch, terms.get(Term::Written) / batch);
    [
        pointwise,
        depthwise,
        other,
        log(terms.get(Term::Layers)),
        log(written) - log(work),
        log(terms.get(Term::Weights)) - log(work),
        log(work),
    ]
}

impl Known {
    /// Of rows: the network's name, its variant, and its terms.
    pub(super) fn of(rows: &[(&str, &str, &Terms)]) -> Self {
        let (mut networks, mut variants, mut seen) = (
            Vec::<String>::new(),
            Vec::new(),
            std::collections::BTreeSet::new(),
        );
        let mut ranges = [[f64::MAX, 0.0]; 5];
        let mut most = [0.0_f64; 4];
        for (network, variant, terms) in rows {
            for (range, size) in ranges.iter_mut().zip(sizes(terms)) {
                *range = [range[0].min(size), range[1].max(size)];
            }
            if !seen.insert((*network, *variant)) {
                continue;
            }
            let place = networks
                .iter()
                .position(|known| known == network)
                .unwrap_or_else(|| {
                    networks.push((*network).to_owned());
                    networks.len() - 1
                });
            variants.push((place, kind(terms)));
            for (most, share) in most.iter_mut().zip(classes(terms)) {
                *most = most.max(share);
            }
        }
        let count = variants.len().max(1) as f64;
        let mut scale = [0.0; WIDTH];
        for (at, scale) in scale.iter_mut().enumerate() {
            let mean = variants.iter().map(|(_, kind)| kind[at]).sum::<f64>() / count;
            let square = |(_, kind): &(usize, [f64; WIDTH])| (kind[at] - mean) * (kind[at] - mean);
            let deviation = libm::sqrt(variants.iter().map(square).sum::<f64>() / count);
            // Where all are alike, a tenth is still no difference.
            *scale = deviation.max(0.1);
        }
        let mut known = Self {
            networks,
            variants,
            scale,
            within: 0.0,
            ranges,
            classes: most,
        };
        let nearest = |(at, (network, kind)): (usize, &(usize, [f64; WIDTH]))| {
            let others = known
                .variants
                .iter()
                .enumerate()
                .filter(|(other, (own, _))| *other != at && own == network);
            let nearest = others
                .map(|(_, (_, other))| known.distance(kind, other))
                .fold(f64::INFINITY, f64::min);
            nearest.is_finite().then_some(nearest)
        };
        let within = known
            .variants
            .iter()
            .enumerate()
            .filter_map(nearest)
            .fold(0.0_f64, f64::max);
        known.within = within;
        known
    }

    fn distance(&self, a: &[f64; WIDTH], b: &[f64; WIDTH]) -> f64 {
        let squares = a
            .iter()
            .zip(b)
            .zip(self.scale)
            .map(|((a, b), scale)| (a - b) * (a - b) / (scale * scale));
        libm::sqrt(squares.sum())
    }

    pub(super) fn is_sound(&self) -> bool {
        let places = self
            .variants
            .iter()
            .all(|(place, kind)| *place < self.networks.len() && kind.iter().all(|x| x.is_finite()));
        let scales = self.scale.iter().all(|x| x.is_finite() && *x > 0.0);
        !self.variants.is_empty() && places && scales && self.within.is_finite()
    }

    /// The first size that is far larger than in all rows.
    pub(super) fn larger(&self, terms: &Terms) -> Option<Reason> {
        let mut sizes = sizes(terms).into_iter().zip(self.ranges).zip(SIZES);
        sizes.find_map(|((found, range), (what, unit))| {
            (found > BEYOND * range[1]).then(|| Reason::beyond(what, unit, found, range))
        })
    }

    /// Whether these terms are of a variant of a fitted network, and every reason to doubt.
    pub(super) fn judge(&self, terms: &Terms) -> (Kin, Vec<Reason>) {
        let own = kind(terms);
        let mut reasons = Vec::new();
        let nearest = self
            .variants
            .iter()
            .map(|(place, kind)| (self.distance(&own, kind), *place))
            .fold(
                (f64::INFINITY, 0),
                |best, next| if next.0 < best.0 { next } else { best },
            );
        // With one variant for each network nothing tells how far variants lie apart: only the very same one is near.
        let limit = self.within.max(1e-3);
        let kin = if nearest.0 <= limit {
            Kin::Fitted
        } else {
            Kin::Other
        };
        if kin == Kin::Other {
            let name = self.networks.get(nearest.1).cloned().unwrap_or_default();
            reasons.push(Reason::Network {
                nearest: name,
                times: nearest.0 / limit,
            });
        }
        for ((share, most), (what, class)) in classes(terms).into_iter().zip(self.classes).zip(CLASSES) {
            if share > SHARE && share > 2.0 * most + SHARE {
                reasons.push(Reason::Class {
                    what: what.to_owned(),
                    class: class.to_owned(),
                    share_pct: 100.0 * share,
                    fitted_pct: 100.0 * most,
                });
            }
        }
        for ((found, [least, most]), (what, unit)) in sizes(terms).into_iter().zip(self.ranges).zip(SIZES) {
            if found > BEYOND * most || found < least / BEYOND {
                reasons.push(Reason::beyond(what, unit, found, [least, most]));
            }
        }
        (kin, reasons)
    }
}
