//! One kernel's counts: operations by pipe, bytes, time.

use std::collections::BTreeMap;

use super::metrics::{
    DRAM, DRAM_READ, DRAM_WRITTEN, L1, L2, L2_SECTORS, OPS, TENSOR, TENSOR_DMMA, TENSOR_GMMA, TENSOR_HFMA2,
    TENSOR_HMMA, TENSOR_IMMA, TIME, thread_instructions,
};
use super::mma::shape;
use super::result::Counted;
use super::table::Launch;

/// Bytes of a sector of the L2 cache.
const SECTOR: f64 = 32.0;

/// What one launch counted; what its file does not tell is none, and what is missing is said in `unknown`. A pipe whose counters the file
/// has nowhere is in no sum; one that it has, and not of this launch, leaves the sum unknown.
pub(super) fn counted(launch: &Launch, unknown: &mut BTreeMap<String, usize>) -> Counted {
    if launch.is_cut {
        *unknown
            .entry("anything, for their lines are cut off".to_owned())
            .or_default() += 1;
        return Counted::default();
    }
    let value = |name: &str| launch.values.get(name).copied();
    let mut flops: BTreeMap<String, f64> = BTreeMap::new();
    let mut is_whole = true;
    for (pipe, letter) in [("fp32", 'f'), ("fp16", 'h'), ("fp64", 'd')] {
        let [add, mul, fma] = thread_instructions(letter).map(|name| {
            // The same counters exist by multiprocessor (sm__) and by its quarter (smsp__).
            value(&name).or_else(|| value(&name.replacen("smsp__", "sm__", 1)))
        });
        match (add, mul, fma) {
            (Some(add), Some(mul), Some(fma)) => {
                flops.insert(pipe.to_owned(), add + mul + 2.0 * fma);
            }
            _ => {
                let has_some = add.is_some() || mul.is_some() || fma.is_some();
                let lacks = thread_instructions(letter).iter().any(|name| {
                    launch.missing.contains(name.as_str())
                        || launch.missing.contains(&name.replacen("smsp__", "sm__", 1))
                });
                is_whole &= letter != 'f' && !has_some && !lacks;
                *unknown.entry(format!("{pipe} instructions")).or_default() += 1;
            }
        }
    }
    let (instructions, generation) = instructions(launch);
    match tensor(launch, &instructions) {
        Ok(by_type) => flops.extend(by_type),
        Err(why) => {
            is_whole = false;
            *unknown.entry(why).or_default() += 1;
        }
    }
    let dram_read = value(DRAM_READ);
    let dram_written = value(DRAM_WRITTEN);
    Counted {
        flops: is_whole.then(|| flops.values().sum()),
        flops_by_pipe: flops,
        tensor_instructions: instructions,
        generation,
        dram_bytes: dram_read
            .zip(dram_written)
            .map(|(read, written)| read + written)
            .or_else(|| value(DRAM)),
        dram_read_bytes: dram_read,
        dram_written_bytes: dram_written,
        l2_bytes: value(L2).or_else(|| value(L2_SECTORS).map(|sectors| sectors * SECTOR)),
        l1_bytes: value(L1),
        seconds: value(TIME),
        others: launch
            .values
            .iter()
            .filter(|(name, _)| !is_own(name))
            .map(|(name, value)| (name.clone(), *value))
            .collect(),
    }
}

/// Whether a metric is one of those that figures are made of.
fn is_own(name: &str) -> bool {
    super::metrics::KNOWN.iter().any(|known| known.name == name)
        || name.starts_with(OPS)
        || [DRAM, L2_SECTORS].contains(&name)
        || name.contains("_sass_thread_inst_executed_op_")
            && name.ends_with("_pred_on.sum")
            && ["add_", "mul_", "fma_"].iter().any(|op| name.contains(op))
}

/// Instructions of the tensor cores by generation, those that are no products left out; and the newest of them.
fn instructions(launch: &Launch) -> (BTreeMap<String, f64>, Option<String>) {
    let value = |name: &str| launch.values.get(name).copied();
    let not_products = value(TENSOR_HFMA2).unwrap_or(0.0);
    let wgmma = value(TENSOR_GMMA).unwrap_or(0.0);
    let mut all = BTreeMap::new();
    if let Some(hmma) = value(TENSOR_HMMA) {
        // On Hopper this counts those of warpgroups too.
        all.insert("mma.sync".to_owned(), (hmma - wgmma - not_products).max(0.0));
    } else if let Some(tensor) = value(TENSOR) {
        let others = [TENSOR_IMMA, TENSOR_DMMA]
            .iter()
            .filter_map(|name| value(name))
            .sum::<f64>();
        all.insert(
            "mma.sync".to_owned(),
            (tensor - wgmma - not_products - others).max(0.0),
        );
    }
    for (name, metric) in [
        ("wgmma", TENSOR_GMMA),
        ("imma", TENSOR_IMMA),
        ("dmma", TENSOR_DMMA),
    ] {
        if let Some(count) = value(metric) {
            all.insert(name.to_owned(), count);
        }
    }
    all.retain(|_, count| *count > 0.0);
    let newest = ["wgmma", "mma.sync", "imma", "dmma"];
    let generation = newest
        .into_iter()
        .find(|name| all.contains_key(*name))
        .map(str::to_owned);
    let has_any = [TENSOR_HMMA, TENSOR].iter().any(|name| value(name).is_some());
    if !has_any {
        return (all, None);
    }
    (all, generation)
}

/// Operations of the tensor cores by type: the device's own counter of operations, else instructions times what the kernel's name says.
fn tensor(launch: &Launch, instructions: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>, String> {
    let is_tensors = |name: &String| name.starts_with(OPS) || name.contains("_pipe_tensor_");
    if launch.missing.iter().any(is_tensors) {
        return Err("tensor cores: a cell of theirs holds no count".to_owned());
    }
    let by_type = operations(launch);
    let executed: f64 = instructions.values().sum();
    let counted = by_type.values().sum::<f64>();
    let has_ops = launch.values.keys().any(|name| name.starts_with(OPS));
    let has_instructions = [TENSOR, TENSOR_HMMA]
        .iter()
        .any(|name| launch.values.contains_key(*name));
    if has_ops && (counted > 0.0 || executed == 0.0) {
        return Ok(by_type);
    }
    if !has_instructions {
        return Err("tensor cores".to_owned());
    }
    if executed == 0.0 {
        return Ok(BTreeMap::new());
    }
    let shape = shape(&launch.kernel).ok_or_else(|| {
        "tensor cores: the file has no count of operations, and the kernel's name does not say what an instruction computes".to_owned()
    })?;
    let of_warpgroups = instructions.get("wgmma").copied().unwrap_or(0.0);
    if (of_warpgroups > 0.0) != shape.of_warpgroup {
        return Err(
            "tensor cores: the kernel's name states another kind of instruction than was executed".to_owned(),
        );
    }
    Ok(BTreeMap::from([(
        "tensor".to_owned(),
        executed * shape.flops_per_warp(),
    )]))
}

/// Sums of `sm__ops_path_tensor_src_TYPE…`: of each type the shortest name, which holds those that split it by what makes it.
fn operations(launch: &Launch) -> BTreeMap<String, f64> {
    // Type → (depth of the name, sum of the names of that depth).
    let mut best: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for (name, value) in &launch.values {
        let Some(rest) = name.strip_prefix(OPS).and_then(|rest| rest.strip_suffix(".sum")) else {
            continue;
        };
        let Some((before, after)) = rest.split_once("src_") else {
            continue;
        };
        let element = after.split("_dst_").next().unwrap_or(after);
        let element = element.split("_sparsity_").next().unwrap_or(element);
        // Names with the instruction or the sparsity in them are parts of those without.
        let depth = usize::from(after.contains("_dst_"))
            + 2 * usize::from(after.contains("_sparsity_"))
            + 4 * usize::from(!before.is_empty());
        let entry = best.entry(element.to_owned()).or_insert((depth, 0.0));
        if depth < entry.0 {
            *entry = (depth, *value);
        } else if depth == entry.0 {
            entry.1 += value;
        }
    }
    best.into_iter()
        .filter(|(_, (_, sum))| *sum > 0.0)
        .map(|(element, (_, sum))| (format!("tensor {element}"), sum))
        .collect()
}
