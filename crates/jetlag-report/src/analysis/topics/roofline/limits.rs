//! What limits the meaning of a run's points, and the words for it.

use serde::Serialize;

use crate::analysis::finding::{Facts, Finding};

/// Something about a run's points that a reader should know.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum RooflineLimit<'a> {
    /// What no execution can reach was reached.
    AboveTheRoof {
        /// Of what its roof allows, where the network as a whole is above it.
        share: Option<f64>,
        /// The layers above it, of all.
        above: Vec<&'a str>,
        layers: usize,
    },
    /// Nodes are in no sum.
    WorkNotCounted {
        network: &'a str,
        share: f64,
        operators: Vec<&'a str>,
    },
    /// The names of its layers lead to this share of the work.
    LayersNotPlaced { share: f64 },
    /// The work of so many nodes depends on data.
    WorkUpperBound { nodes: usize, of: usize },
    /// So many tenants ran at the same time.
    OtherTenants { tenants: usize },
    /// The work was counted again, and why.
    WorkRecounted { why: &'a str },
}

impl RooflineLimit<'_> {
    /// The finding, of a tenant if it concerns one.
    pub(super) fn of(&self, tenant: Option<&str>) -> Finding {
        Finding {
            code: self.code().to_owned(),
            tenant: tenant.map(str::to_owned),
            message: self.message(),
            advice: self.advice().to_owned(),
            facts: Facts::of(self),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            RooflineLimit::AboveTheRoof { .. } => "above-the-roof",
            RooflineLimit::WorkNotCounted { .. } => "work-not-counted",
            RooflineLimit::LayersNotPlaced { .. } => "layers-not-placed",
            RooflineLimit::WorkUpperBound { .. } => "work-upper-bound",
            RooflineLimit::OtherTenants { .. } => "other-tenants",
            RooflineLimit::WorkRecounted { .. } => "work-recounted",
        }
    }

    fn message(&self) -> String {
        match self {
            RooflineLimit::AboveTheRoof { share, above, layers } => {
                let whole = share.map(|share| format!("It reaches {share:.2} of what its roof allows"));
                let of_layers = above.first().map(|first| {
                    format!(
                        "{} of {layers} layers lie above the roof, as {first}",
                        above.len()
                    )
                });
                let told: Vec<String> = whole.into_iter().chain(of_layers).collect();
                format!("{}: no execution can.", told.join("; "))
            }
            RooflineLimit::WorkNotCounted {
                network,
                share,
                operators,
            } => format!(
                "{:.1} % of the nodes of {network} are in no sum ({}): the true work is larger.",
                100.0 * share,
                operators.join(", ")
            ),
            RooflineLimit::LayersNotPlaced { share } => format!(
                "The names of its layers lead to {:.0} % of the network's work; the rest of the layers have no work beside their time.",
                100.0 * share
            ),
            RooflineLimit::WorkUpperBound { nodes, of } => format!(
                "The work of {nodes} of {of} nodes depends on data: what is counted is the most that can occur, and the shares are too high by that."
            ),
            RooflineLimit::OtherTenants { tenants } => format!(
                "{tenants} tenants ran at the same time: the shares are of what was left to each, not of what its network could reach."
            ),
            RooflineLimit::WorkRecounted { why } => (*why).to_owned(),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            RooflineLimit::AboveTheRoof { .. } => {
                "The ceilings are of another number format, clock or number of threads, or were measured on a busy machine, or the \
                 engine computes less than the network states: give those of this device and mode (--ceilings), and compare the precision."
            }
            RooflineLimit::WorkNotCounted { .. } => "See which and why: jetlag inspect --work.",
            RooflineLimit::LayersNotPlaced { .. } => {
                "Build the plan with --profiling-verbosity detailed, so that layers keep the names of their nodes."
            }
            RooflineLimit::WorkUpperBound { .. } => "Compare runs of the same data.",
            RooflineLimit::OtherTenants { .. } => "Run each tenant by itself for the distance to the roof.",
            RooflineLimit::WorkRecounted { .. } => {
                "Runs of this version have the work in the run file; record again where it was not found."
            }
        }
    }
}
