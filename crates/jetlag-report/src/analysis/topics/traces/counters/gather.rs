//! Sums over launches: of a frame, by layer and by kernel.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::flops::counted;
use super::ranges::{Frame, frame_of, layer_of};
use super::result::{Caches, Counted, KernelCounts, LayerCounts, Measurement};
use super::table::Table;

/// What is known of a table beside what stands in it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The network, scenario or file.
    pub name: String,
    /// Shapes that were asked for.
    pub shapes: Option<String>,
    /// Frames, where no range names them.
    pub frames: Option<u64>,
    /// What was in the caches when a kernel began.
    pub caches: Caches,
    /// BLAKE3 of the networks' files, where they are known.
    pub networks: Vec<String>,
}

/// Sums that are known as long as each part is.
#[derive(Default)]
struct Sum {
    launches: u64,
    counted: Counted,
}

impl Sum {
    fn add(&mut self, one: &Counted) {
        let is_first = self.launches == 0;
        self.launches += 1;
        let sum = |to: &mut Option<f64>, part: Option<f64>| {
            *to = match is_first {
                true => part,
                false => to.zip(part).map(|(a, b)| a + b),
            };
        };
        let own = &mut self.counted;
        sum(&mut own.flops, one.flops);
        sum(&mut own.dram_bytes, one.dram_bytes);
        sum(&mut own.dram_read_bytes, one.dram_read_bytes);
        sum(&mut own.dram_written_bytes, one.dram_written_bytes);
        sum(&mut own.l2_bytes, one.l2_bytes);
        sum(&mut own.l1_bytes, one.l1_bytes);
        sum(&mut own.seconds, one.seconds);
        for (to, from) in [
            (&mut own.flops_by_pipe, &one.flops_by_pipe),
            (&mut own.tensor_instructions, &one.tensor_instructions),
        ] {
            for (name, value) in from {
                *to.entry(name.clone()).or_default() += value;
            }
        }
        // Shares and rates have no sum.
        for (name, value) in one.others.iter().filter(|(name, _)| name.ends_with(".sum")) {
            *own.others.entry(name.clone()).or_default() += value;
        }
        let rank = |name: &Option<String>| {
            let order = ["dmma", "imma", "mma.sync", "wgmma"];
            name.as_deref()
                .and_then(|name| order.iter().position(|own| *own == name))
        };
        if rank(&one.generation) > rank(&own.generation) {
            own.generation.clone_from(&one.generation);
        }
    }

    /// Of one of so many frames.
    fn per_frame(mut self, frames: f64) -> Counted {
        let own = &mut self.counted;
        for value in [
            &mut own.flops,
            &mut own.dram_bytes,
            &mut own.dram_read_bytes,
            &mut own.dram_written_bytes,
            &mut own.l2_bytes,
            &mut own.l1_bytes,
            &mut own.seconds,
        ] {
            *value = value.map(|value| value / frames);
        }
        for all in [
            &mut own.flops_by_pipe,
            &mut own.tensor_instructions,
            &mut own.others,
        ] {
            all.values_mut().for_each(|value| *value /= frames);
        }
        own.flops_by_pipe.retain(|_, flops| *flops > 0.0);
        self.counted
    }
}

/// The counts of a table.
pub fn measurement(table: &Table, asked: &Asked) -> Measurement {
    let mut notes = table.notes.clone();
    let mut frames: BTreeMap<String, BTreeSet<Frame>> = BTreeMap::new();
    for frame in table
        .launches
        .iter()
        .filter_map(|launch| frame_of(&launch.ranges))
    {
        frames.entry(frame.tenant.clone()).or_default().insert(frame);
    }
    let tenants = frames.len();
    let found: usize = frames.values().map(BTreeSet::len).sum();
    let divisor = match (found, asked.frames) {
        (0, Some(frames)) => frames.max(1),
        (0, None) => {
            notes.push(
                "No range names a frame (`camera 17 submit`): all launches were taken as one.".to_owned(),
            );
            1
        }
        (found, _) => found as u64,
    };
    if tenants > 1 {
        let names: Vec<&str> = frames.keys().map(String::as_str).take(4).collect();
        notes.push(format!(
            "Frames of {tenants} tenants are in it ({}): the figures are of an average frame of them all.",
            names.join(", ")
        ));
    }
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = Sum::default();
    let mut layers: Vec<(Option<&str>, Sum)> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::new();
    let mut kernels: HashMap<&str, Sum> = HashMap::new();
    for launch in &table.launches {
        let one = counted(launch, &mut unknown);
        total.add(&one);
        let layer = layer_of(&launch.ranges);
        let at = *places.entry(layer).or_insert_with(|| {
            layers.push((layer, Sum::default()));
            layers.len() - 1
        });
        if let Some((_, sum)) = layers.get_mut(at) {
            sum.add(&one);
        }
        kernels.entry(&launch.kernel).or_default().add(&one);
    }
    let launches = table.launches.len();
    for (what, times) in unknown {
        notes.push(match times == launches {
            true => format!("Not in the file, and in no sum: {what}."),
            false => format!("Of {times} of {launches} launches not known: {what}."),
        });
    }
    if asked.caches == Caches::Emptied {
        notes.push(
            "The caches were emptied before each kernel, so the bytes of memory hold what a kernel finds in the cache otherwise; --keep-caches counts without."
                .to_owned(),
        );
    }
    let each = divisor as f64;
    let mut by_kernel: Vec<KernelCounts> = kernels
        .into_iter()
        .map(|(name, sum)| KernelCounts {
            name: name.to_owned(),
            launches: sum.launches as f64 / each,
            counted: sum.per_frame(each),
        })
        .collect();
    let took = |one: &KernelCounts| one.counted.seconds.unwrap_or(0.0);
    by_kernel.sort_by(|a, b| took(b).total_cmp(&took(a)).then_with(|| a.name.cmp(&b.name)));
    Measurement {
        name: asked.name.clone(),
        shapes: asked.shapes.clone(),
        tenant: (tenants == 1).then(|| frames.into_keys().next()).flatten(),
        networks: asked.networks.clone(),
        frames: divisor,
        launches: launches as u64,
        compute_capability: table
            .launches
            .iter()
            .find_map(|launch| launch.compute_capability.clone()),
        caches: asked.caches,
        total: total.per_frame(each),
        layers: layers
            .into_iter()
            .map(|(name, sum)| LayerCounts {
                name: name.map(str::to_owned),
                launches: sum.launches as f64 / each,
                counted: sum.per_frame(each),
            })
            .collect(),
        kernels: by_kernel,
        notes,
    }
}
