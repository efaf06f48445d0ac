//! A run's tenants, their networks and layers, placed below the roofs.

use super::apart::{apart, point};
use super::ceilings::{Ceilings, Processor};
use super::gather::Gathered;
use super::limits::RooflineLimit;
use super::operators::by_operator;
use super::placing::{NodeName, Placing, place};
use super::result::{
    Bound, EnergyPoint, LayerPoint, NetworkApart, NetworkPoint, Placed, RunRoofline, TenantRoofline, Work,
};
use super::roofs::Roofs;
use super::told::{told, why_not_told};
use super::traffic::Tensors;
use crate::analysis::Summary;
use crate::analysis::summary::{Device, Finding, NodeTime, TenantSummary};
use crate::analysis::topics::traces::layers;
use crate::record::{EngineLayers, NetworkManifest, NodeRecord, Sureness, TenantManifest, WorkRecord};
use crate::scenario::BackendChoice;

/// A share above 1 by more than this is no rounding, and no scatter of a clock.
const ABOVE: f64 = 1.05;
/// A layer whose shortest time is less than this takes about as long to start …
const SHORT_S: f64 = 2e-6;
/// … if it took several times that.
const FAR_BELOW: f64 = 0.25;
/// A share of nodes or time that is missing without a word.
const NEGLIGIBLE: f64 = 0.02;

/// The rooflines of one run; without ceilings, `why_none` says why.
pub fn of_run(
    gathered: &Gathered,
    summary: &Summary,
    ceilings: Option<&Ceilings>,
    why_none: Option<&str>,
) -> RunRoofline {
    let manifest = &gathered.manifest;
    // Frames that the file lacks are lacking in the points as well.
    let gaps = summary
        .run
        .findings
        .iter()
        .filter(|finding| Summary::is_gap(finding));
    let mut findings: Vec<Finding> = gaps.cloned().collect();
    let recounted = gathered.notes.iter();
    findings.extend(recounted.map(|why| RooflineLimit::WorkRecounted { why }.of(None)));
    let mut tenants = Vec::new();
    for (number, (own, figures)) in manifest.tenants.iter().zip(&summary.tenants).enumerate() {
        if own.networks.is_empty() || figures.device == Device::None {
            continue;
        }
        let scenario = manifest
            .scenario()
            .and_then(|scenario| scenario.tenants.get(number));
        let of = Of {
            manifest: own,
            figures,
            work: gathered.work.get(number).map_or(&[][..], Vec::as_slice),
            layers: gathered.layers.get(number).map_or(&[][..], Vec::as_slice),
            threads: scenario.and_then(|tenant| threads(&tenant.backend)),
        };
        let mut tenant = of.tenant(ceilings, why_none);
        tenant.energy = energy(&tenant, figures, summary, manifest.tenants.len());
        findings.extend(of.findings(&tenant));
        tenants.push(tenant);
    }
    if tenants.len() > 1 {
        findings.push(
            RooflineLimit::OtherTenants {
                tenants: tenants.len(),
            }
            .of(None),
        );
    }
    RunRoofline {
        name: summary.run.name.clone(),
        file: summary.run.file.clone(),
        ceilings: ceilings.cloned(),
        tenants,
        findings,
    }
}

/// Threads of a backend on the processor; none where it takes all, or is elsewhere.
fn threads(backend: &BackendChoice) -> Option<u32> {
    let threads = match backend {
        BackendChoice::Cpu { threads, .. } | BackendChoice::OnnxRuntime { threads, .. } => *threads,
        _ => 0,
    };
    u32::try_from(threads).ok().filter(|threads| *threads > 0)
}

/// One tenant, as the file has it.
struct Of<'a> {
    manifest: &'a TenantManifest,
    figures: &'a TenantSummary,
    work: &'a [WorkRecord],
    layers: &'a [NodeRecord],
    threads: Option<u32>,
}

/// The work of all a tenant's networks.
struct Total {
    flops: u64,
    bytes: u64,
    round_trip: u64,
    precision: String,
    is_upper_bound: bool,
}

impl Of<'_> {
    /// Items of completed frames per second.
    fn items_per_second(&self) -> Option<f64> {
        Some(self.figures.throughput_fps? * self.manifest.batch? as f64)
    }

    fn tenant(&self, ceilings: Option<&Ceilings>, why_none: Option<&str>) -> TenantRoofline {
        let total = self.total();
        let roofs = match (&total, ceilings) {
            (Err(why), _) => Err(why.clone()),
            (Ok(_), None) => Err(why_none.unwrap_or("no ceilings were given").to_owned()),
            (Ok(total), Some(ceilings)) => self.roofs(ceilings, &total.precision),
        };
        let network = match (&total, &roofs) {
            (Ok(total), Ok(roofs)) => self.network(total, roofs),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        let placing = place(&self.layer_names(), &self.node_names());
        let mut layers = self.points(&placing, roofs.as_ref().ok());
        for layer in &mut layers {
            layer.is_above = self.is_above(layer, roofs.as_ref().ok(), ceilings);
        }
        let (apart, why_together) = match self.apart(&layers, roofs.as_ref().ok()) {
            Ok(all) => (all, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        TenantRoofline {
            name: self.manifest.name.clone(),
            backend: self.manifest.backend.clone(),
            networks: self
                .manifest
                .networks
                .iter()
                .map(|network| network.name.clone())
                .collect(),
            batch: self.manifest.batch,
            throughput_items: self.items_per_second(),
            precision: total.as_ref().ok().map(|total| total.precision.clone()),
            roofs: roofs.ok(),
            operators: by_operator(&layers),
            placed: (!layers.is_empty()).then(|| self.placed(&placing)),
            why_not_told: (!layers.is_empty())
                .then(|| why_not_told(&self.manifest.networks, &self.manifest.backend))
                .flatten(),
            layers,
            why_not: network.as_ref().err().cloned(),
            network: network.ok(),
            apart,
            why_together,
            energy: None,
            work: total.as_ref().ok().map(|total| Work {
                flops: total.flops,
                fused_bytes: total.bytes,
                round_trip_bytes: total.round_trip,
            }),
            counters: None,
            no_counters: None,
        }
    }

    /// The sums over all networks; why there are none.
    fn total(&self) -> Result<Total, String> {
        let mut total = Total {
            flops: 0,
            bytes: 0,
            round_trip: 0,
            precision: String::new(),
            is_upper_bound: false,
        };
        let mut most = None;
        for NetworkManifest {
            name, work, no_work, ..
        } in &self.manifest.networks
        {
            let work = work.as_ref().ok_or_else(|| match no_work {
                Some(why) => format!("the work of {name} is not known: {why}"),
                None => format!(
                    "the work of {name} is not in the run file: a version of jetlag recorded it that did not count, or was built without models"
                ),
            })?;
            let sum = |a: u64, b: u64| a.checked_add(b).ok_or("the work is more than 64 bits hold");
            total.flops = sum(total.flops, work.flops)?;
            total.bytes = sum(total.bytes, work.fused_bytes)?;
            total.round_trip = sum(total.round_trip, work.round_trip_bytes)?;
            total.is_upper_bound |= work.nodes_bound > 0;
            if most.is_none_or(|most| work.flops > most) {
                most = Some(work.flops);
                total.precision.clone_from(&work.precision);
            }
        }
        Ok(total)
    }

    fn roofs(&self, ceilings: &Ceilings, precision: &str) -> Result<Roofs, String> {
        let wanted = match self.figures.device.is_gpu() {
            true => Processor::Gpu,
            false => Processor::Cpu,
        };
        if ceilings.processor != wanted {
            return Err(format!(
                "{} has ceilings of {}, and it ran on {}; measure those: jetlag ceilings --backend {} -o FILE",
                ceilings.name,
                ceilings.processor.word(),
                wanted.word(),
                if wanted == Processor::Gpu { "gpu" } else { "cpu" },
            ));
        }
        ceilings.roofs(precision, self.threads)
    }

    fn network(&self, total: &Total, roofs: &Roofs) -> Result<NetworkPoint, String> {
        let stage = self.figures.stages_ms.iter().find(|(name, _)| *name == "compute");
        let ms = stage
            .and_then(|(_, stats)| stats.mean.value)
            .ok_or("no frame was completed, or its backend does not tell the time of compute")?;
        let counts = [total.flops, total.bytes, total.round_trip];
        let point = point(roofs, counts, ms)
            .ok_or("its networks compute nothing or move nothing, or took no time")?;
        Ok(NetworkPoint {
            bound: self.bound(ms).unwrap_or(point.bound),
            is_upper_bound: total.is_upper_bound,
            ..point
        })
    }

    /// Each network by itself, where there are several; none without roofs.
    fn apart(&self, layers: &[LayerPoint], roofs: Option<&Roofs>) -> Result<Vec<NetworkApart>, String> {
        let networks = &self.manifest.networks;
        let Some(roofs) = roofs.filter(|_| networks.len() > 1) else {
            return Ok(Vec::new());
        };
        if self.figures.node_time == Some(NodeTime::Submission) {
            return Err(
                "times of its layers are the host's, to submit them, so its networks are one point"
                    .to_owned(),
            );
        }
        apart(networks, layers, roofs)
    }

    /// Launches or the host, where the times say so.
    fn bound(&self, ms: f64) -> Option<Bound> {
        let submitting = self.figures.submitting.as_ref();
        if submitting.is_some_and(|submitting| submitting.host_bound == Some(true)) {
            return Some(Bound::Launch);
        }
        let others = self.figures.stages_ms.iter().filter(|(name, _)| {
            // Waiting for the device is nobody's work.
            !["compute", "queue"].contains(name)
        });
        let host: f64 = others.filter_map(|(_, stats)| stats.mean.value).sum();
        (host > ms).then_some(Bound::Host)
    }

    fn layer_names(&self) -> Vec<(&str, &str)> {
        let names = self.layers.iter();
        names
            .map(|layer| (layer.name.as_str(), layer.operator.as_str()))
            .collect()
    }

    fn node_names(&self) -> Vec<NodeName<'_>> {
        let nodes = self.work.iter();
        nodes
            .map(|node| NodeName {
                name: &node.name,
                operator: &node.operator,
                at_load: node.at_load,
            })
            .collect()
    }

    fn points(&self, placing: &Placing, roofs: Option<&Roofs>) -> Vec<LayerPoint> {
        let works = LayerPoint::work_of(placing, self.work);
        let all: f64 = self.layers.iter().map(seconds).sum();
        // The host's time to submit a node is not that of its execution.
        let roofs = roofs.filter(|_| self.figures.node_time != Some(NodeTime::Submission));
        let told = told(&self.manifest.networks, self.layers);
        let each = self.layers.iter().zip(&placing.nodes).zip(works).zip(told);
        each.map(|(((layer, own), work), told)| {
            let nodes: Vec<&WorkRecord> = own.iter().filter_map(|at| self.work.get(*at)).collect();
            let facts = told.map(|(_, facts)| facts);
            let took = seconds(layer);
            let (flops, bytes) = work.unwrap_or((None, None));
            let least = roofs.and_then(|roofs| roofs.least(flops? as f64, bytes? as f64));
            let share = least.filter(|_| took > 0.0).map(|(least, _)| least / took);
            LayerPoint {
                name: layer.name.clone(),
                operator: layer.operator.clone(),
                network: network_of(&nodes).or(told.map(|(network, _)| network)),
                precision: facts
                    .and_then(|facts| facts.precision.clone())
                    .or_else(|| nodes.last().map(|node| format(&node.element))),
                tactic: facts.and_then(|facts| facts.tactic.clone()),
                input_shape: nodes
                    .first()
                    .and_then(|node| node.input_shape.clone())
                    .or_else(|| facts?.input_shape.clone()),
                output_shape: nodes
                    .last()
                    .and_then(|node| node.output_shape.clone())
                    .or_else(|| facts?.output_shape.clone()),
                nodes: nodes.len(),
                ms: took * 1e3,
                time_share: if all > 0.0 { took / all } else { 0.0 },
                flops,
                bytes,
                tensors_bytes: facts.and_then(|facts| facts.tensors_bytes),
                weights_bytes: facts.and_then(|facts| facts.weights_bytes),
                intensity: flops
                    .zip(bytes)
                    .filter(|(_, bytes)| *bytes > 0)
                    .map(|(flops, bytes)| flops as f64 / bytes as f64),
                achieved_flops_per_s: flops.filter(|_| took > 0.0).map(|flops| flops as f64 / took),
                share,
                bound: least.zip(share).map(|((least, limit), share)| {
                    match least < SHORT_S && share < FAR_BELOW {
                        true => Bound::Launch,
                        false => limit.into(),
                    }
                }),
                is_above: false,
            }
        })
        .collect()
    }

    fn placed(&self, placing: &Placing) -> Placed {
        let counted = self.work.iter().filter(|node| !node.at_load);
        let flops = |node: &WorkRecord| node.flops.unwrap_or(0) as f64;
        let (nodes, all) = counted.fold((0_usize, 0.0), |(nodes, all), node| {
            (nodes + 1, all + flops(node))
        });
        let left = placing.without_layer.iter().filter_map(|at| self.work.get(*at));
        let missing: f64 = left.map(flops).sum();
        let took = |has_nodes: bool| -> f64 {
            let each = self.layers.iter().zip(&placing.nodes);
            each.filter(|(_, own)| !own.is_empty() || !has_nodes)
                .map(|(layer, _)| seconds(layer))
                .sum()
        };
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        Placed {
            work: share(all - missing, all),
            nodes: share(
                (nodes.saturating_sub(placing.without_layer.len())) as f64,
                nodes as f64,
            ),
            time: share(took(true), took(false)),
        }
    }

    /// Whether a layer was faster than can be: what fits into a cache may be faster than memory.
    fn is_above(&self, layer: &LayerPoint, roofs: Option<&Roofs>, ceilings: Option<&Ceilings>) -> bool {
        let (Some(roofs), Some(ceilings), true) = (roofs, ceilings, layer.share > Some(ABOVE)) else {
            return false;
        };
        let (Some(flops), Some(bytes)) = (layer.flops, layer.bytes) else {
            return false;
        };
        let faster = Roofs {
            bytes_per_s: ceilings
                .nearest_bandwidth(bytes, self.threads)
                .map_or(roofs.bytes_per_s, |cached| cached.max(roofs.bytes_per_s)),
            ..*roofs
        };
        let least = faster.least(flops as f64, bytes as f64);
        least.is_some_and(|(least, _)| least * 1e3 > layer.ms * ABOVE)
    }

    fn findings(&self, tenant: &TenantRoofline) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |limit: RooflineLimit<'_>| found.push(limit.of(Some(&tenant.name)));
        let above = tenant.layers.iter().filter(|layer| layer.is_above);
        let above: Vec<&str> = above.map(|layer| layer.name.as_str()).collect();
        let network = tenant.network.as_ref();
        let share = network
            .filter(|point| point.share > ABOVE && !point.is_upper_bound)
            .map(|point| point.share);
        if share.is_some() || !above.is_empty() {
            add(RooflineLimit::AboveTheRoof {
                share,
                above,
                layers: tenant.layers.len(),
            });
        }
        for network in &self.manifest.networks {
            let Some(work) = network
                .work
                .as_ref()
                .filter(|work| work.not_counted_share() > 0.0)
            else {
                continue;
            };
            add(RooflineLimit::WorkNotCounted {
                network: &network.name,
                share: work.not_counted_share(),
                operators: work.not_counted.keys().take(4).map(String::as_str).collect(),
            });
        }
        if let Some(placed) = tenant.placed.filter(|placed| placed.work < 1.0 - NEGLIGIBLE)
            && !self.work.is_empty()
        {
            add(RooflineLimit::LayersNotPlaced { share: placed.work });
        }
        for network in &self.manifest.networks {
            let told = network.layers.as_ref().map_or(&[][..], EngineLayers::told);
            found.extend(layers::findings(told).into_iter().map(|suspicion| Finding {
                tenant: Some(tenant.name.clone()),
                message: match self.manifest.networks.len() {
                    1 => suspicion.message,
                    _ => format!("{}: {}", network.name, suspicion.message),
                },
                ..suspicion
            }));
        }
        let bounds = self
            .work
            .iter()
            .filter(|node| node.sureness == Sureness::UpperBound)
            .count();
        if bounds > 0 {
            let of = self.work.len();
            found.push(RooflineLimit::WorkUpperBound { nodes: bounds, of }.of(Some(&tenant.name)));
        }
        found
    }
}

impl LayerPoint {
    /// For each layer the operations and the bytes of its nodes together; none where it has no node.
    pub(in crate::analysis) fn work_of(
        placing: &Placing,
        work: &[WorkRecord],
    ) -> Vec<Option<(Option<u64>, Option<u64>)>> {
        let tensors = Tensors::of(work);
        let flops = |own: &[usize]| {
            let mut nodes = own.iter().filter_map(|at| work.get(*at));
            nodes.try_fold(0_u64, |sum, node| sum.checked_add(node.flops?))
        };
        let each = placing.nodes.iter();
        each.map(|own| (!own.is_empty()).then(|| (flops(own), tensors.moved(own))))
            .collect()
    }
}

/// The one network that all of these nodes are of.
fn network_of(nodes: &[&WorkRecord]) -> Option<usize> {
    let first = nodes.first()?.network;
    let only = nodes.iter().all(|node| node.network == first);
    only.then_some(usize::from(first))
}

fn seconds(layer: &NodeRecord) -> f64 {
    layer.mean.0.max(0) as f64 / 1e9
}

/// The number format of an element type, as ceilings call it.
fn format(element: &str) -> String {
    match element {
        "float" => "fp32",
        "float16" => "fp16",
        "bfloat16" => "bf16",
        "double" => "fp64",
        "float8" => "fp8",
        other => other,
    }
    .to_owned()
}

/// The energy of a frame, if the tenant was alone: what is divided among several is no measurement.
fn energy(
    tenant: &TenantRoofline,
    figures: &TenantSummary,
    summary: &Summary,
    tenants: usize,
) -> Option<EnergyPoint> {
    let charged = figures.energy_mj_per_frame.as_ref()?;
    // The work alone: what a byte costs can be told without knowing how many the board could move.
    let work = tenant
        .work
        .filter(|work| work.flops > 0 && work.fused_bytes > 0)?;
    let joules = charged.total / 1e3;
    let rate = figures.throughput_fps.filter(|rate| *rate > 0.0)?;
    (tenants == 1 && !charged.attributed && joules > 0.0).then(|| EnergyPoint {
        joules,
        seconds: 1.0 / rate,
        flops_per_joule: work.flops as f64 / joules,
        idle_w: summary
            .energy
            .as_ref()
            .and_then(|energy| energy.idle_mw)
            .map(|mw| mw / 1e3),
    })
}
