//! What metrics were called in nvprof, which knows no GPU after Volta: NVIDIA's published table of its successor's names, for compute
//! capability 7.0 and later. Sums and factors are the table's.

/// A metric of nvprof's, and what it is in ncu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// nvprof's name.
    pub old: &'static str,
    /// ncu's: one metric, or a sum of several, some times a factor; empty where ncu has none.
    pub new: &'static str,
}

impl Renamed {
    /// The metrics of the sum, without factors.
    pub fn metrics(self) -> Vec<String> {
        let parts = self.new.split(" + ").filter(|part| !part.is_empty());
        parts
            .map(|part| part.split(" * ").next().unwrap_or(part).to_owned())
            .collect()
    }
}

/// What a metric of nvprof's is in ncu; none where nvprof had none of that name, or it is not in jetlag's table.
pub fn renamed(old: &str) -> Option<Renamed> {
    NVPROF.iter().find(|renamed| renamed.old == old).copied()
}

const fn row(old: &'static str, new: &'static str) -> Renamed {
    Renamed { old, new }
}

/// The table, by nvprof's names.
pub const NVPROF: &[Renamed] = &[
    row(
        "achieved_occupancy",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    row("dram_read_bytes", "dram__bytes_read.sum"),
    row("dram_read_throughput", "dram__bytes_read.sum.per_second"),
    row("dram_read_transactions", "dram__sectors_read.sum"),
    row(
        "dram_utilization",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    row("dram_write_bytes", "dram__bytes_write.sum"),
    row("dram_write_throughput", "dram__bytes_write.sum.per_second"),
    row("dram_write_transactions", "dram__sectors_write.sum"),
    row(
        "eligible_warps_per_cycle",
        "smsp__warps_eligible.sum.per_cycle_active",
    ),
    row(
        "flop_count_dp_add",
        "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
    ),
    row(
        "flop_count_dp_fma",
        "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    ),
    row(
        "flop_count_dp_mul",
        "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
    ),
    row(
        "flop_count_dp",
        "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum + smsp__sass_thread_inst_executed_op_dmul_pred_on.sum + smsp__sass_thread_inst_executed_op_dfma_pred_on.sum * 2",
    ),
    row(
        "flop_count_hp_add",
        "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
    ),
    row(
        "flop_count_hp_fma",
        "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
    ),
    row(
        "flop_count_hp_mul",
        "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum",
    ),
    row(
        "flop_count_hp",
        "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum + smsp__sass_thread_inst_executed_op_hmul_pred_on.sum + smsp__sass_thread_inst_executed_op_hfma_pred_on.sum * 2",
    ),
    row(
        "flop_count_sp_add",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    ),
    row(
        "flop_count_sp_fma",
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    ),
    row(
        "flop_count_sp_mul",
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    ),
    row("flop_count_sp_special", ""),
    row(
        "flop_count_sp",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum + smsp__sass_thread_inst_executed_op_fmul_pred_on.sum + smsp__sass_thread_inst_executed_op_ffma_pred_on.sum * 2",
    ),
    row(
        "flop_dp_efficiency",
        "smsp__sass_thread_inst_executed_ops_dadd_dmul_dfma_pred_on.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "flop_hp_efficiency",
        "smsp__sass_thread_inst_executed_ops_hadd_hmul_hfma_pred_on.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "flop_sp_efficiency",
        "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "gld_efficiency",
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    ),
    row(
        "gld_throughput",
        "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second",
    ),
    row(
        "gld_transactions",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    ),
    row(
        "global_load_requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    ),
    row(
        "global_store_requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    ),
    row(
        "gst_efficiency",
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    ),
    row(
        "gst_throughput",
        "l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum.per_second",
    ),
    row(
        "gst_transactions",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    ),
    row(
        "half_precision_fu_utilization",
        "smsp__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active",
    ),
    row("inst_executed", "smsp__inst_executed.sum"),
    row(
        "inst_fp_16",
        "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    ),
    row(
        "inst_fp_32",
        "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    ),
    row(
        "inst_fp_64",
        "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
    ),
    row(
        "inst_integer",
        "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    ),
    row("inst_issued", "smsp__inst_issued.sum"),
    row("inst_per_warp", "smsp__average_inst_executed_per_warp.ratio"),
    row("inst_replay_overhead", ""),
    row("ipc", "smsp__inst_executed.avg.per_cycle_active"),
    row(
        "issue_slot_utilization",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
    ),
    row(
        "l2_atomic_transactions",
        "lts__t_sectors_op_atom.sum * 2 + lts__t_sectors_op_red.sum * 2",
    ),
    row(
        "l2_read_transactions",
        "lts__t_sectors_op_read.sum + lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum",
    ),
    row("l2_tex_hit_rate", "lts__t_sector_hit_rate.pct"),
    row("l2_tex_read_hit_rate", "lts__t_sector_op_read_hit_rate.pct"),
    row(
        "l2_tex_read_transactions",
        "lts__t_sectors_srcunit_tex_op_read.sum",
    ),
    row("l2_tex_write_hit_rate", "lts__t_sector_op_write_hit_rate.pct"),
    row(
        "l2_tex_write_transactions",
        "lts__t_sectors_srcunit_tex_op_write.sum",
    ),
    row(
        "l2_utilization",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "l2_write_transactions",
        "lts__t_sectors_op_write.sum + lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum",
    ),
    row("ldst_executed", ""),
    row(
        "local_load_transactions",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    ),
    row(
        "local_store_transactions",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    ),
    row("pcie_total_data_received", "pcie__read_bytes.sum"),
    row("pcie_total_data_transmitted", "pcie__write_bytes.sum"),
    row(
        "shared_efficiency",
        "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct",
    ),
    row(
        "shared_load_transactions",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    row(
        "shared_store_transactions",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
    row(
        "shared_utilization",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "single_precision_fu_utilization",
        "smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    ),
    row(
        "sm_efficiency",
        "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    row(
        "special_fu_utilization",
        "smsp__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    ),
];
