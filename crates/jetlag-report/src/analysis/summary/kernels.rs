//! What the GPU did in the traced phases of a run, per tenant, layer, kernel and frame.
//!
//! Durations are of the traced phase, and tracing takes time itself: [`super::observer`] says how much.

use serde::Serialize;

use super::Stats;
use crate::record::Phase;

/// The traced phases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kernels {
    /// In the order in which they ran.
    pub phases: Vec<KernelPhase>,
    /// Activities of the run file that were not analysed, since there were more than memory is set aside for.
    pub left_out: u64,
}

/// One traced phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelPhase {
    /// In words: `camera + lidar`.
    pub label: String,
    /// As a scenario writes it.
    pub sharing: Option<String>,
    /// Measured time in which all its tenants ran.
    pub measured_s: Option<f64>,
    /// Whether tracing changed a median response time by more than it may; `None` if it cannot be told.
    pub perturbed: Option<bool>,
    /// How it was traced, per process.
    pub traces: Vec<TraceSummary>,
    /// Each GPU that worked in it.
    pub gpus: Vec<GpuTime>,
    /// Each tenant that used a GPU in it.
    pub tenants: Vec<TenantKernels>,
    /// Work in the measured time that belongs to no tenant; it is in no tenant's figures.
    pub unowned: Vec<LooseWork>,
    #[serde(skip)]
    pub(in crate::analysis) phase: Phase,
}

/// How one process was traced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSummary {
    /// The process, by its number in the system.
    pub process: u32,
    /// The tracer, as `CUPTI of CUDA 13.0.1`.
    pub tracer: String,
    /// Whether nodes of graphs were traced, else graphs as a whole.
    pub graph_nodes: bool,
    /// Whether calls of CUDA were traced.
    pub calls: bool,
    /// Functions of CUDA whose calls were left out, since they only ask.
    pub calls_left_out: u32,
    /// Activities that were recorded.
    pub activities: u64,
    /// Records that the tracer dropped.
    pub dropped: u64,
    /// Kernels, copies and fills without stamps.
    pub lost_stamps: u64,
    /// Activities for which there was no room.
    pub not_kept: u64,
    /// The most that stamps are off by.
    pub clock_residual_us: f64,
    /// What limits the trace beside that.
    pub notes: Vec<String>,
}

/// How long one GPU worked in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuTime {
    /// Its number, as CUDA counts.
    pub gpu: u16,
    /// Its name; `None` where the tracer did not say.
    pub name: Option<String>,
    /// Time in which at least one kernel, copy or fill was on it.
    pub busy_ms: f64,
    /// The rest of the measured time.
    pub idle_ms: f64,
    /// Busy time as a share of the measured time.
    pub busy_share: f64,
    /// Time in which work of at least two tenants was on it.
    pub overlap_ms: f64,
    /// The same as a share of the measured time.
    pub overlap_share: f64,
    /// Each tenant's own busy time; last that of no tenant.
    pub tenants: Vec<BusyTenant>,
}

/// Time in which work of one tenant was on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyTenant {
    /// The tenant; `None` for work that belongs to none.
    pub tenant: Option<String>,
    /// Length of the union of its work.
    pub busy_ms: f64,
    /// The same as a share of the measured time.
    pub busy_share: f64,
}

/// One tenant's work on a GPU in a traced phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantKernels {
    /// Its name.
    pub tenant: String,
    /// Its frames: completed, after the warm-up.
    pub frames: u64,
    /// Those of them with work on a GPU.
    pub frames_with_work: u64,
    /// Sum of the durations of its kernels, copies, fills and graphs, mean per frame.
    pub device_ms: f64,
    /// That sum by layer, largest first.
    pub layers: Vec<LayerTime>,
    /// Kernels, fills and graphs by layer, name and launch, most time first.
    pub kernels: Vec<KernelTime>,
    /// Copies by direction and memory, most time first.
    pub copies: Vec<CopyTime>,
    /// Work in the measured time that belongs to the tenant and to none of these frames.
    pub outside_frames: Option<LooseWork>,
    /// Figures per frame; `None` where no frame has work.
    pub per_frame: Option<FrameTimes>,
    /// What was on the GPU in the gaps of frames that waited longer, and of those that waited less; `None` where it was
    /// alone, or there are too few frames.
    pub waits: Option<Waits>,
    /// Its slow frames beside the usual ones; `None` where there are too few frames.
    pub slow: Option<SlowFrames>,
    /// Frames that `slow` needs, where it is withheld.
    pub slow_needs: Option<u64>,
    /// Why kernels have no occupancy or waves, where they have none.
    pub occupancy_needs: Option<String>,
}

/// The time of one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerTime {
    /// Its name; `None` for what belongs to no known layer.
    pub layer: Option<String>,
    /// Kernels, copies, fills and graphs a frame.
    pub calls_per_frame: f64,
    /// Sum of their durations, mean per frame.
    pub ms: f64,
    /// That as a share of the tenant's.
    pub share: f64,
}

/// One kernel, launched in one shape, in one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTime {
    /// The layer; `None` where that is not known.
    pub layer: Option<String>,
    /// `kernel`, `fill`, or `graph` for a graph that was traced as a whole.
    pub kind: &'static str,
    /// Its name; `None` of what has none.
    pub name: Option<String>,
    /// How often it ran.
    pub count: u64,
    /// The same, mean per frame.
    pub calls_per_frame: f64,
    /// Sum of its durations, mean per frame.
    pub ms: f64,
    /// That as a share of the tenant's.
    pub share: f64,
    /// Mean duration.
    pub mean_us: f64,
    /// Median of the durations seen; `None` below the sample size that supports it.
    pub p50_us: Option<f64>,
    /// The same of 99 %.
    pub p99_us: Option<f64>,
    /// How it was launched; `None` where that was not recorded.
    pub launch: Option<LaunchShape>,
}

/// How a kernel was launched, and how it fills the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LaunchShape {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Blocks of a cluster in each direction; `None` without clusters.
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block that the kernel declares.
    pub static_shared_bytes: u32,
    /// Shared memory of a block that the launch asks for.
    pub dynamic_shared_bytes: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Warps that fit on a multiprocessor as a share of those that it can hold.
    pub occupancy: Option<f64>,
    /// What limits that: `warps`, `blocks`, `registers` or `shared memory`.
    pub limited_by: Option<&'static str>,
    /// How often the whole GPU is filled: blocks ÷ those that fit at once.
    pub waves: Option<f64>,
}

/// Copies of one direction between the same kinds of memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyTime {
    /// `host to device`, `device to host`, `device to device`, `host to host`, `peer` or `unknown`.
    pub direction: &'static str,
    /// The memory that was read: `pageable`, `pinned`, `device`, `array`, `managed` or `unknown`.
    pub source: &'static str,
    /// The memory that was written.
    pub destination: &'static str,
    /// Whether it is `internal` (device to device) or `external` (between host and device); `None` for others.
    pub kind: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// The same, mean per frame.
    pub calls_per_frame: f64,
    /// Bytes, mean per frame.
    pub bytes: f64,
    /// Sum of their durations, mean per frame.
    pub ms: f64,
    /// That as a share of the tenant's; `None` for copies within the host, which are no work of the GPU.
    pub share: Option<f64>,
    /// Bytes ÷ duration, in 10⁹ bytes per second; `None` where they took no time.
    pub gb_per_s: Option<f64>,
}

/// Work that belongs to no frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LooseWork {
    /// `kernel`, `copy`, `fill` or `graph`; `None` for all of them together.
    pub kind: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// Sum of their durations.
    pub ms: f64,
    /// Bytes that were copied or filled.
    pub bytes: u64,
}

/// Figures of a tenant's frames with work on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameTimes {
    /// From the begin of a frame's first work on the GPU to the end of its last.
    pub turnaround_ms: Stats,
    /// Length of the union of its work.
    pub computation_ms: Stats,
    /// Turnaround less computation.
    pub wait_ms: Stats,
    /// Copies within the device.
    pub internal_ms: Stats,
    /// Bytes of these, mean per frame.
    pub internal_bytes: f64,
    /// Copies between host and device.
    pub external_ms: Stats,
    /// Bytes of these, mean per frame.
    pub external_bytes: f64,
    /// The part of the wait that lies between two kernels of one launch of a graph, mean per frame. The tracer itself
    /// pushes such kernels apart.
    pub graph_gaps_ms: f64,
    /// Time in which the whole GPU was idle while the host was still enqueuing the frame; `None` where calls were not
    /// traced.
    pub launch_bound_ms: Option<Stats>,
    /// The same as a share of the turnaround of all frames.
    pub launch_bound_share: Option<f64>,
}

/// The wait of a tenant's frames beside what was on the GPU meanwhile. It is an accounting, and names no cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waits {
    /// Median of the wait.
    pub median_ms: f64,
    /// Frames that waited longer.
    pub longer: WaitParts,
    /// The others.
    pub shorter: WaitParts,
    /// How much longer the first waited: the difference of their means.
    pub more_ms: f64,
    /// What other tenants had on the GPU in the frames' gaps, most of the difference first.
    pub while_ran: Vec<WhileRan>,
}

/// What the wait of some frames consists of, means per frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WaitParts {
    /// How many.
    pub frames: u64,
    /// Their wait: the sum of the next three.
    pub wait_ms: f64,
    /// While work of other tenants was on the GPU.
    pub co_runners_ms: f64,
    /// While only work of no tenant, or of the tenant's other frames, was on it.
    pub other_ms: f64,
    /// While nothing was on it.
    pub idle_ms: f64,
    /// Beside the wait: time in which the frame's own work and that of other tenants were on the GPU together.
    pub beside_ms: f64,
}

/// A co-runner's kernel in the gaps of a tenant's frames. Kernels that run side by side count each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhileRan {
    /// Whose; `None` for work of no tenant.
    pub tenant: Option<String>,
    /// The kernel, or what else it was.
    pub kernel: String,
    /// Time that it ran in the gaps of a frame that waited longer, mean.
    pub longer_ms: f64,
    /// Time that it ran in the gaps of the others, mean.
    pub shorter_ms: f64,
    /// The difference of the two.
    pub more_ms: f64,
    /// The first as a share of these frames' wait.
    pub share_of_wait: f64,
    /// Time that it ran in the whole measured time, as a share of that.
    pub share_of_time: f64,
    /// Time that it ran beside own work of a frame that waited longer, mean.
    pub beside_longer_ms: f64,
    /// The same of the others.
    pub beside_shorter_ms: f64,
}

/// Slow frames of a traced phase beside the usual ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowFrames {
    /// Response time from which frames count as slow: p95.
    pub from_ms: f64,
    /// Slow frames.
    pub frames: u64,
    /// Usual frames: those of the middle fifth of response times.
    pub usual_frames: u64,
    /// Mean response time of the slow ones.
    pub slow_ms: f64,
    /// That of the usual ones.
    pub usual_ms: f64,
    /// What the two consist of. The parts of each add up to its mean response time.
    pub parts: Vec<SlowFramePart>,
    /// Time that the host waited for the GPU, beside these parts; `None` where waits were not traced.
    pub host_waits: Option<SlowFramePart>,
    /// What other tenants had on the GPU in the frames' gaps, most of the difference first.
    pub while_ran: Vec<SlowWhileRan>,
}

/// A part of slow and usual frames, means per frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowFramePart {
    /// `before` (release to first work), `kernels`, `copies`, `co-runners`, `other work`, `launch-bound`, `idle`, `after` (last
    /// work to result); `host waits`.
    pub part: &'static str,
    /// In slow frames.
    pub slow_ms: f64,
    /// In usual frames.
    pub usual_ms: f64,
    /// The difference.
    pub more_ms: f64,
}

/// A co-runner's kernel in the gaps of slow and usual frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowWhileRan {
    /// Whose; `None` for work of no tenant.
    pub tenant: Option<String>,
    /// The kernel, or what else it was.
    pub kernel: String,
    /// Time that it ran in the gaps of a slow frame, mean.
    pub slow_ms: f64,
    /// The same of a usual one.
    pub usual_ms: f64,
    /// The difference.
    pub more_ms: f64,
}
