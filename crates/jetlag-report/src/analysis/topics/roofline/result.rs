//! What rooflines come out as: the one type from which text, page and JSON are written.
//!
//! Serialised, it is the JSON of docs/json.md. `None` is "not known", and a sentence beside it says why.

use serde::Serialize;

use super::ceilings::Ceilings;
use super::energy::EnergyFit;
use super::roofs::{Limit, Roofs};
use crate::analysis::summary::Finding;
use crate::analysis::topics::traces::counters::Caches;

/// Rooflines of some runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Version of the JSON form.
    pub schema: u32,
    /// Each run, in the order in which they were named.
    pub runs: Vec<RunRoofline>,
    /// What work, traffic and time cost in energy, over all runs.
    pub energy: EnergyRoofline,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRoofline {
    /// Name of the run.
    pub name: String,
    /// Its file.
    pub file: Option<String>,
    /// What its device reaches at most.
    pub ceilings: Option<Ceilings>,
    /// Tenants that executed networks.
    pub tenants: Vec<TenantRoofline>,
    /// What limits the meaning of its points.
    pub findings: Vec<Finding>,
}

/// One tenant's networks and layers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantRoofline {
    /// The tenant's name.
    pub name: String,
    /// What executed its networks.
    pub backend: String,
    /// Its networks' files.
    pub networks: Vec<String>,
    /// Items of a frame, of a bare network.
    pub batch: Option<u64>,
    /// Items a second.
    pub throughput_items: Option<f64>,
    /// The format that most of its work is computed in.
    pub precision: Option<String>,
    /// The roofs above it.
    pub roofs: Option<Roofs>,
    /// All its networks together, in the time of the stage *compute*.
    pub network: Option<NetworkPoint>,
    /// Each of several networks by itself, in the time of its layers.
    pub apart: Vec<NetworkApart>,
    /// Why several networks cannot be told apart.
    pub why_together: Option<String>,
    /// Why there is no point, or none of its layers.
    pub why_not: Option<String>,
    /// Each layer that was timed, in the order of execution.
    pub layers: Vec<LayerPoint>,
    /// Layers by type, the one that takes longest first.
    pub operators: Vec<OperatorPoints>,
    /// How much of the work the layers' names led to; none without layers.
    pub placed: Option<Placed>,
    /// Why tactics and memory of layers are not known, or not all of them; none where they are, and without layers.
    pub why_not_told: Option<String>,
    /// Energy of a frame, where it is known.
    pub energy: Option<EnergyPoint>,
    /// The static work of a frame, also where there is no point; none where it is not known.
    pub work: Option<Work>,
    /// What the hardware counted beside the static work, where counters were given.
    pub counters: Option<Against>,
    /// Why none of them was set beside it, where counters were given.
    pub no_counters: Option<String>,
}

impl TenantRoofline {
    /// Whether anything but its time is known of a layer.
    pub fn has_more_than_times(&self) -> bool {
        self.layers.iter().any(|layer| layer.nodes > 0) || self.has_told()
    }

    /// Whether an engine's inspector told the tactic or the memory of a layer.
    pub fn has_told(&self) -> bool {
        let told = |layer: &LayerPoint| layer.tactic.is_some() || layer.tensors_bytes.is_some();
        self.layers.iter().any(told)
    }
}

/// The static work of a tenant's networks in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Operations.
    pub flops: u64,
    /// Bytes, if chains of operators stay on the chip.
    pub fused_bytes: u64,
    /// Bytes, if every operator goes through memory.
    pub round_trip_bytes: u64,
}

/// What keeps a rate from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The arithmetic's roof is the lower one.
    Compute,
    /// The memory's is.
    Memory,
    /// Starting work: the host's submission takes about as long as the device's execution, or a layer is too short for either roof.
    Launch,
    /// The host's stages of a frame take longer than the network.
    Host,
}

impl Bound {
    /// The word of JSON and text.
    pub fn word(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
            Bound::Launch => "launch",
            Bound::Host => "host",
        }
    }
}

impl From<Limit> for Bound {
    fn from(limit: Limit) -> Bound {
        match limit {
            Limit::Compute => Bound::Compute,
            Limit::Memory => Bound::Memory,
        }
    }
}

/// A tenant's networks in one frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkPoint {
    /// Operations.
    pub flops: u64,
    /// Bytes, if chains of operators stay on the chip.
    pub bytes: u64,
    /// Bytes, if every operator goes through memory.
    pub round_trip_bytes: u64,
    /// Mean time of *compute*, in milliseconds.
    pub ms: f64,
    /// Operations a byte.
    pub intensity: f64,
    /// Operations a second that the roofs allow at this intensity.
    pub attainable_flops_per_s: f64,
    /// Operations a second that were reached.
    pub achieved_flops_per_s: f64,
    /// The second of the first; above 1 the counts, the clock or the ceilings are not this execution's.
    pub share: f64,
    /// The lower roof.
    pub roof: Limit,
    /// What keeps it from being higher, from the times.
    pub bound: Bound,
    /// Whether some of the counts are upper bounds, so that the true share is lower.
    pub is_upper_bound: bool,
}

/// One of a tenant's networks in one frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkApart {
    /// Its file.
    pub name: String,
    /// Its point; the time is the sum of its layers' mean times.
    pub point: NetworkPoint,
}

/// A figure counted by the hardware, and the one counted from the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// What the hardware counted.
    pub counted: f64,
    /// What the network's file says.
    pub of_file: f64,
    /// The first over the second.
    pub ratio: f64,
}

impl Ratio {
    pub(super) fn of(counted: Option<f64>, of_file: u64) -> Option<Ratio> {
        let (counted, of_file) = (counted?, of_file as f64);
        (of_file > 0.0).then(|| Ratio {
            counted,
            of_file,
            ratio: counted / of_file,
        })
    }
}

/// A tenant's networks, counted and computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The measurement: its network or file.
    pub name: String,
    /// What was in the caches when a kernel began.
    pub caches: Caches,
    /// Operations.
    pub flops: Option<Ratio>,
    /// Bytes of memory, against those of chains that stay on the chip.
    pub fused: Option<Ratio>,
    /// The same against every operator through memory.
    pub round_trip: Option<Ratio>,
    /// Which of the two the bytes are nearer to, by their ratio: `fused` or `round_trip`.
    pub nearer: Option<&'static str>,
    /// Operations for each byte of memory, as counted.
    pub intensity: Option<f64>,
    /// Layers whose names lead to nodes of the network.
    pub layers: Vec<LayerAgainst>,
    /// What is to be said of it.
    pub notes: Vec<String>,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerAgainst {
    /// Its name, as the counters have it.
    pub name: String,
    /// Operations.
    pub flops: Option<Ratio>,
    /// Bytes of memory, against what its nodes together read and write.
    pub bytes: Option<Ratio>,
}

/// One layer in one frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerPoint {
    /// Its name, as the backend has it.
    pub name: String,
    /// Its type.
    pub operator: String,
    /// Position of its network in the tenant's networks; none where neither its name nor an engine leads to one alone.
    pub network: Option<usize>,
    /// Number format: as the engine's inspector has it, else as the network has it.
    pub precision: Option<String>,
    /// What computes it: the tactic's name or number, where the inspector tells.
    pub tactic: Option<String>,
    /// Shape of the first tensor that its first node takes, else that the engine's layer reads.
    pub input_shape: Option<String>,
    /// Shape of what its last node makes, else of what the engine's layer writes.
    pub output_shape: Option<String>,
    /// How many nodes of the network it is made of; 0 where its name leads to none.
    pub nodes: usize,
    /// Mean time, in milliseconds.
    pub ms: f64,
    /// Its share of the time of all layers.
    pub time_share: f64,
    /// Operations; none where they are not known.
    pub flops: Option<u64>,
    /// Bytes that its nodes together read and write; none where they are not known.
    pub bytes: Option<u64>,
    /// Bytes of the tensors that the engine's layer reads and writes, where the inspector tells.
    pub tensors_bytes: Option<u64>,
    /// Bytes of its weights and bias, where the inspector tells.
    pub weights_bytes: Option<u64>,
    /// Operations a byte; none where it moves nothing.
    pub intensity: Option<f64>,
    /// Operations a second that were reached.
    pub achieved_flops_per_s: Option<f64>,
    /// The shortest time that the roofs allow over the time that it took.
    pub share: Option<f64>,
    /// What keeps it from being faster.
    pub bound: Option<Bound>,
    /// Whether it was faster than can be, also if its tensors stayed in a cache whose bandwidth is known.
    pub is_above: bool,
}

impl LayerPoint {
    /// Bytes of its tensors and of the weights that are told; none where those of its tensors are not.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.tensors_bytes?.checked_add(self.weights_bytes.unwrap_or(0))
    }
}

/// All layers of one type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorPoints {
    /// The type.
    pub operator: String,
    /// How many layers.
    pub layers: usize,
    /// The sum of their mean times, in milliseconds.
    pub ms: f64,
    /// Their share of the time of all layers.
    pub time_share: f64,
    /// Operations; at least, where those of some are not known.
    pub flops: u64,
    /// Bytes, likewise.
    pub bytes: u64,
    /// Layers whose work is not known.
    pub unknown: usize,
    /// Bytes of their tensors and of the weights that are told; none where those of one are not known.
    pub memory_bytes: Option<u64>,
    /// The shortest time that the roofs allow them over the time that they took; none where the work of one is not known.
    pub share: Option<f64>,
}

/// How much of a network the layers' names led to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// Share of the work, 0 to 1.
    pub work: f64,
    /// Share of the nodes.
    pub nodes: f64,
    /// Share of the layers' time that is of layers with nodes.
    pub time: f64,
}

/// What a frame took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyPoint {
    /// Joules a frame, idle power included.
    pub joules: f64,
    /// Seconds of measured time for each frame.
    pub seconds: f64,
    /// Operations a joule.
    pub flops_per_joule: f64,
    /// Power at idle, in watts; none where it was not measured.
    pub idle_w: Option<f64>,
}

/// What work, traffic and time cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyRoofline {
    /// Runs whose energy entered.
    pub rows: usize,
    /// Prices; none where the runs tell none.
    pub fit: Option<EnergyFit>,
    /// Operations a byte at which work and traffic cost the same; none where a price is not known.
    pub balance: Option<f64>,
    /// Whether it pays to be done early.
    pub racing: Option<Racing>,
    /// What is not known, why, and which runs would tell, a sentence each.
    pub missing: Vec<String>,
}

/// Finishing early and then resting, against going slowly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Racing {
    /// Watts that are drawn while a network runs, whatever it does.
    pub p0_w: f64,
    /// Watts at idle.
    pub idle_w: f64,
    /// Watts saved while resting: the first less the second.
    pub saves_w: f64,
    /// Whether the interval of the first is above the second: then it pays to be done early.
    pub pays: bool,
}
