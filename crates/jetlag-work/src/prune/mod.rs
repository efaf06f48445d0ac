//! Networks with fewer channels: whole filters of convolutions and of products with weights are taken out, and with them whatever
//! belongs to them in the rest of the graph.
//!
//! ```no_run
//! use jetlag_work::Given;
//! use jetlag_work::prune::{Mode, Pruner};
//!
//! let pruner = Pruner::new(std::fs::read("yolox_nano.onnx")?, &Given::default())?;
//! let order = pruner.order(Mode::Random { seed: 7 })?;
//! let half = pruner.variant(&order, 50)?;
//! std::fs::write("yolox_nano_50.onnx", &half.bytes)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A channel goes with all that other operators join with it: an Add ties the filters of its two sides, a depthwise convolution
//! those that it takes with those that it makes, a shuffle the same place of all groups. What reaches an output of the network
//! stays, and so does what an operator takes whose rule is not known; [`Pruner::left_whole`] says which and why. Every network that
//! is made is read again, and each of its tensors must have the shape that it should have.
//!
//! | module | what it holds |
//! |---|---|
//! | `channels` | channels, and which go together |
//! | `params`, `edits` | weights and numbers that change with them |
//! | `flow` | the rules: a file for each family of operators |
//! | `choose` | which channels go |
//! | `numbers`, `file` | weights and files written anew |

mod channels;
mod choose;
mod edits;
mod error;
mod file;
mod flow;
mod made;
mod numbers;
mod params;

use std::collections::BTreeMap;

use serde::Serialize;

use channels::{Channels, Ids};
use choose::Choice;
use edits::Edit;
pub use error::PruneError;
use flow::{Along, Flow, Layer, held};
use params::Params;

use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::{Dim, Graph};
use crate::walk::{Walk, walk};
use crate::work::{Options, Totals, work};

/// Which filters go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In an order that follows from this seed, the same on every machine.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Those with the smallest sum of absolute weights; of those that go together, the sum of all.
    L1,
}

/// In which order filters go: what goes at a level also goes at all higher ones.
#[derive(Debug)]
pub struct Order(choose::Order);

/// A network in memory whose channels are known.
#[derive(Debug)]
pub struct Pruner {
    bytes: Vec<u8>,
    graph: Graph,
    given: Given,
    walk: Walk,
    structure: Structure,
    totals: Totals,
}

/// What a walk along the channels found.
#[derive(Debug)]
struct Structure {
    channels: Channels,
    params: Params,
    tensors: BTreeMap<String, Along>,
    edits: Vec<Edit>,
    layers: Vec<Layer>,
}

/// A count in the network as it is, and in the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// As the network is.
    pub before: u64,
    /// In the variant.
    pub after: u64,
}

/// A network with fewer channels.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its file.
    pub bytes: Vec<u8>,
    /// What went.
    pub counts: Counts,
}

/// What went in a variant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// The share of each layer's filters that was asked for, in percent.
    pub asked_percent: u8,
    /// The share of all filters that went, in percent: less where filters stay, and as whole channels allow.
    pub reached_percent: f64,
    /// The share that went of the filters that may go, in percent.
    pub reached_of_free_percent: f64,
    /// Filters of all layers: output channels of convolutions and of products with weights.
    pub channels: Change,
    /// Elements of all weights.
    pub params: Change,
    /// Multiply-adds.
    pub macs: Change,
}

/// Filters of a layer that stay at every level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftWhole {
    /// The layer's name, or its first output's.
    pub layer: String,
    /// Its operator.
    pub operator: String,
    /// How many of its filters stay.
    pub channels: u64,
    /// How many it has.
    pub of: u64,
    /// Why, of the first of them.
    pub reason: String,
}

impl Pruner {
    /// Reads a network and follows its channels. Its first dimension, if open and of a name that stands nowhere else, is taken as 1:
    /// it is mostly the batch, on which nothing depends. `given` has the sizes of all others.
    ///
    /// # Errors
    /// No whole ONNX network, or one that contradicts itself, by itself or with a 1 for its first dimension; sizes that are missing;
    /// weights in another file; no filters that could go, with the reason.
    pub fn new(bytes: Vec<u8>, given: &Given) -> Result<Pruner, PruneError> {
        let graph = Graph::from_bytes(&bytes)?;
        let (given, assumed) = with_batch(&graph, given);
        let walk = walk(&graph, &resolve(&graph, &given, false)?).map_err(|error| blamed(error, assumed))?;
        let totals = work(&graph, &given, &Options::default())?.totals;
        let stored = made::stored(&bytes)?;
        let is_stored = |name: &str| stored.contains(name);
        let mut pruner = Pruner {
            structure: Structure::of(&graph, &walk, &is_stored, true),
            bytes,
            graph,
            given,
            walk,
            totals,
        };
        pruner.has_filters()?;
        // Shapes that are computed when the network runs mostly follow the tensors that they are of. Whether they do is tried, and
        // where they do not, whatever depends on them stays.
        if pruner.tried().is_err() {
            pruner.structure = Structure::of(&pruner.graph, &pruner.walk, &is_stored, false);
            pruner.has_filters()?;
            pruner.tried()?;
        }
        Ok(pruner)
    }

    /// Half of the filters taken out, to see whether it comes out as it should.
    fn tried(&self) -> Result<Variant, PruneError> {
        self.variant(&self.order(Mode::Random { seed: 0 })?, 50)
    }

    fn has_filters(&self) -> Result<(), PruneError> {
        if self.structure.layers.is_empty() {
            return Err(PruneError::NoLayers);
        }
        let left = self.left_whole();
        let all: u64 = self.structure.layers.iter().map(|layer| layer.filters).sum();
        match left.iter().map(|left| left.channels).sum::<u64>() == all {
            true => Err(PruneError::AllStay {
                first: left.into_iter().next(),
            }),
            false => Ok(()),
        }
    }

    /// Filters that stay at every level, layer by layer.
    pub fn left_whole(&self) -> Vec<LeftWhole> {
        let channels = &self.structure.channels;
        let left = self.structure.layers.iter().filter_map(|layer| {
            let (count, reason) = match &layer.channels {
                Err(why) => (layer.filters, why),
                Ok(ids) => {
                    let mut pins = ids.iter().filter_map(|id| channels.pinned(*id));
                    let first = pins.next()?;
                    (1 + pins.count() as u64, first)
                }
            };
            Some(LeftWhole {
                layer: layer.name.clone(),
                operator: layer.operator.clone(),
                channels: count,
                of: layer.filters,
                reason: reason.to_string(),
            })
        });
        left.collect()
    }

    /// In which order filters go.
    ///
    /// # Errors
    /// Weights that are damaged.
    pub fn order(&self, mode: Mode) -> Result<Order, PruneError> {
        let channels = &self.structure.channels;
        Ok(Order(match mode {
            Mode::Random { seed } => choose::Order::random(channels, seed),
            Mode::L1 => choose::Order::smallest(channels, &made::sizes(&self.bytes, &self.structure)?),
        }))
    }

    /// The network without this share of each layer's filters.
    ///
    /// # Errors
    /// A level that is not 1 to 99; a network that did not come out as it should have, which is not given out.
    pub fn variant(&self, order: &Order, level: u8) -> Result<Variant, PruneError> {
        if !(1..=99).contains(&level) {
            return Err(PruneError::Level { level });
        }
        let structure = &self.structure;
        let choice = order.0.choose(&structure.channels, level, structure.lists());
        let changes = made::changes(&self.graph, &self.walk, structure, &choice);
        let bytes = changes.apply(&self.bytes)?;
        let graph = Graph::from_bytes(&bytes)?;
        made::check(&graph, &self.given, &self.walk, &self.graph, &changes.sizes)?;
        let totals = work(&graph, &self.given, &Options::default())?.totals;
        Ok(Variant {
            bytes,
            counts: self.counts(level, &choice, &totals),
        })
    }

    fn counts(&self, level: u8, choice: &Choice, totals: &Totals) -> Counts {
        let channels = &self.structure.channels;
        let (mut before, mut free, mut gone) = (0_u64, 0_u64, 0_u64);
        for layer in &self.structure.layers {
            before += layer.filters;
            if let Ok(ids) = &layer.channels {
                free += ids.iter().filter(|id| channels.pinned(**id).is_none()).count() as u64;
                gone += (ids.len() - choice.kept(ids)) as u64;
            }
        }
        let percent = |of: u64| gone as f64 * 100.0 / of.max(1) as f64;
        Counts {
            asked_percent: level,
            reached_percent: percent(before),
            reached_of_free_percent: percent(free),
            channels: Change {
                before,
                after: before - gone,
            },
            params: Change {
                before: self.totals.params,
                after: totals.params,
            },
            macs: Change {
                before: self.totals.macs,
                after: totals.macs,
            },
        }
    }
}

impl Structure {
    fn of(graph: &Graph, walk: &Walk, is_stored: &dyn Fn(&str) -> bool, trusting: bool) -> Structure {
        let flow = Flow::of(graph, walk, Params::of(&graph.main, is_stored), trusting);
        Structure {
            channels: flow.channels,
            params: flow.params,
            tensors: flow.tensors,
            edits: flow.edits.into_values().collect(),
            layers: flow.layers,
        }
    }

    /// Every axis that holds channels, of tensors and of weights.
    fn lists(&self) -> impl Iterator<Item = &Ids> {
        let weights = self.params.all().iter().flat_map(|param| &param.axes);
        let tensors = self.tensors.values().map(|along| &along.ids);
        tensors.chain(weights.filter_map(held))
    }
}

/// Inputs whose first dimension is open get a 1 there; and the options that would give another.
fn with_batch(graph: &Graph, given: &Given) -> (Given, Vec<String>) {
    let (mut given, mut assumed) = (given.clone(), Vec::new());
    let inputs = graph.inputs();
    // A name that also stands at another place is no batch.
    let later = inputs.iter().filter_map(|input| input.shape.as_deref()?.get(1..));
    let later: Vec<&Dim> = later.flatten().collect();
    for input in &inputs {
        let Some([first, rest @ ..]) = input.shape.as_deref() else {
            continue;
        };
        match first {
            _ if given.shapes.contains_key(&input.name) || *first != Dim::Open && later.contains(&first) => {}
            Dim::Named(name) => {
                if !given.dims.contains_key(name) {
                    given.dims.insert(name.clone(), 1);
                    assumed.push(format!("--dim {name}=SIZE"));
                }
            }
            Dim::Open => {
                let size = |dim: &Dim| match dim {
                    Dim::Fixed(size) => Some(*size),
                    Dim::Named(name) => given.dims.get(name).copied(),
                    Dim::Open => None,
                };
                if let Some(rest) = rest.iter().map(size).collect::<Option<Vec<u64>>>() {
                    let sizes: String = rest.iter().map(|size| format!("x{size}")).collect();
                    assumed.push(format!("--shape {}:SIZE{sizes}", input.name));
                    let shape = std::iter::once(1).chain(rest).collect();
                    given.shapes.insert(input.name.clone(), shape);
                }
            }
            Dim::Fixed(_) => {}
        }
    }
    (given, assumed)
}

/// A contradiction may be that of the sizes that were assumed.
fn blamed(error: WorkError, assumed: Vec<String>) -> PruneError {
    match error {
        WorkError::Contradiction {
            node,
            operator,
            problem,
        } if !assumed.is_empty() => PruneError::Assumed {
            node,
            operator,
            problem,
            options: assumed,
        },
        error => error.into(),
    }
}
