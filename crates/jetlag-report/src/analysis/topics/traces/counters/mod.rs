//! What the hardware counted while a network ran, as Nsight Compute (`ncu`) writes it: floating-point operations by pipe, bytes of DRAM,
//! L2 and L1, per kernel and per layer.
//!
//! Nothing here starts a profiler or reads a file: text goes in, counts come out. docs/models.md has the definitions.
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | ncu's CSV, both pages |
//! | `number`, `unit` | one cell of it |
//! | `ranges` | whose frame and which layer a kernel belongs to, from its NVTX ranges |
//! | `metrics` | which metrics are asked for, and what each says |
//! | `nvprof` | what metrics were called in nvprof |
//! | `mma` | how much one tensor instruction computes, from its kernel's name |
//! | `flops` | one kernel's counts |
//! | `gather` | sums by frame, layer and kernel |
//! | `result` | what comes out |

mod flops;
mod gather;
mod metrics;
mod mma;
mod number;
mod nvprof;
mod ranges;
mod result;
mod table;
mod unit;

#[cfg(test)]
mod tests;

pub use gather::{Asked, measurement};
pub use metrics::{KNOWN, KnownMetric, wanted};
pub use nvprof::{NVPROF, Renamed, renamed};
pub use result::{
    COUNTERS_SCHEMA, Caches, Counted, Counters, CountersError, KernelCounts, LayerCounts, Measurement,
};
pub use table::{Launch, Table, TableError, complaint, is_table, read};
