//! The metrics that are asked for, and what each says. Names are those of Nsight Compute for compute capability 7.0 and later.

/// A metric that jetlag reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownMetric {
    /// ncu's name.
    pub name: &'static str,
    /// What it counts.
    pub says: &'static str,
}

/// Time of a kernel.
pub(super) const TIME: &str = "gpu__time_duration.sum";
pub(super) const DRAM_READ: &str = "dram__bytes_read.sum";
pub(super) const DRAM_WRITTEN: &str = "dram__bytes_write.sum";
/// Both together, where a file has only that.
pub(super) const DRAM: &str = "dram__bytes.sum";
pub(super) const L2: &str = "lts__t_bytes.sum";
/// The same in pieces of 32 bytes.
pub(super) const L2_SECTORS: &str = "lts__t_sectors.sum";
pub(super) const L1: &str = "l1tex__t_bytes.sum";

/// Instructions of the tensor cores, of all kinds.
pub(super) const TENSOR: &str = "sm__inst_executed_pipe_tensor.sum";
/// Products of halves, bfloat16, tf32 and fp8, those of warpgroups included.
pub(super) const TENSOR_HMMA: &str = "sm__inst_executed_pipe_tensor_op_hmma.sum";
/// Those of warpgroups (Hopper's wgmma) among them.
pub(super) const TENSOR_GMMA: &str = "sm__inst_executed_pipe_tensor_op_gmma.sum";
/// Products of 8-bit integers.
pub(super) const TENSOR_IMMA: &str = "sm__inst_executed_pipe_tensor_op_imma.sum";
/// Products of doubles.
pub(super) const TENSOR_DMMA: &str = "sm__inst_executed_pipe_tensor_op_dmma.sum";
/// Multiply-adds of pairs of halves that went through that pipe: no products, and counted under fp16.
pub(super) const TENSOR_HFMA2: &str = "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";

/// Operations of the tensor cores begin so.
pub(super) const OPS: &str = "sm__ops_path_tensor_";

/// The thread instructions of one number format: additions, multiplications, multiply-adds.
pub(super) fn thread_instructions(letter: char) -> [String; 3] {
    ["add", "mul", "fma"].map(|op| format!("smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"))
}

/// Everything that is asked for without `--metrics`. ncu leaves those out that the device does not have.
pub const KNOWN: &[KnownMetric] = &[
    metric(TIME, "time of the kernel"),
    metric(DRAM_READ, "bytes read from the device's memory"),
    metric(DRAM_WRITTEN, "bytes written to it"),
    metric(L2, "bytes through the L2 cache, reads and writes"),
    metric(L1, "bytes through the L1 cache, reads and writes"),
    metric(
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
        "fp32 additions",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
        "fp32 multiplications",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
        "fp32 multiply-adds, two operations each",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
        "fp16 additions",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum",
        "fp16 multiplications",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
        "fp16 multiply-adds, two operations each",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
        "fp64 additions",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
        "fp64 multiplications",
    ),
    metric(
        "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
        "fp64 multiply-adds, two operations each",
    ),
    metric(TENSOR, "warp instructions of the tensor cores, of all kinds"),
    metric(TENSOR_HMMA, "of those: halves, bf16, tf32, fp8 (with wgmma)"),
    metric(
        TENSOR_GMMA,
        "of those: of warpgroups (Hopper's wgmma: HGMMA, QGMMA)",
    ),
    metric(TENSOR_IMMA, "of those: 8-bit integers"),
    metric(TENSOR_DMMA, "of those: doubles"),
    metric(
        TENSOR_HFMA2,
        "of those: pairs of halves multiplied and added, which is no product of matrices",
    ),
    metric("sm__ops_path_tensor_src_fp16.sum", "operations on fp16 (Hopper)"),
    metric(
        "sm__ops_path_tensor_src_fp16_dst_fp16.sum",
        "operations on fp16, summed in fp16",
    ),
    metric(
        "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
        "operations on fp16, summed in fp32",
    ),
    metric("sm__ops_path_tensor_src_bf16_dst_fp32.sum", "operations on bf16"),
    metric("sm__ops_path_tensor_src_tf32_dst_fp32.sum", "operations on tf32"),
    metric("sm__ops_path_tensor_src_fp8.sum", "operations on fp8 (Hopper)"),
    metric(
        "sm__ops_path_tensor_src_fp8_dst_fp16.sum",
        "operations on fp8, summed in fp16",
    ),
    metric(
        "sm__ops_path_tensor_src_fp8_dst_fp32.sum",
        "operations on fp8, summed in fp32",
    ),
    metric("sm__ops_path_tensor_src_int8.sum", "operations on 8-bit integers"),
    metric("sm__ops_path_tensor_src_int4.sum", "operations on 4-bit integers"),
    metric("sm__ops_path_tensor_src_int1.sum", "operations on bits"),
    metric("sm__ops_path_tensor_src_fp64.sum", "operations on fp64"),
];

const fn metric(name: &'static str, says: &'static str) -> KnownMetric {
    KnownMetric { name, says }
}

/// The metrics for `ncu --metrics`: jetlag's own, and more that were asked for. nvprof's names become ncu's.
pub fn wanted(more: &[String]) -> Vec<String> {
    let mut all: Vec<String> = KNOWN.iter().map(|metric| metric.name.to_owned()).collect();
    for name in more
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        let names = match super::nvprof::renamed(name) {
            Some(renamed) => renamed.metrics(),
            None => vec![name.to_owned()],
        };
        for name in names {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}
