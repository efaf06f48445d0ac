//! Lines of `tegrastats`, the resource monitor of NVIDIA Jetson boards, as typed samples.
//!
//! [`parse_line`] takes one line of any board (TK1, TX1, TX2, Nano, Xavier, Orin, Thor) and any L4T release (R21 to
//! R39) and gives a [`Sample`], or a [`LineError`] that names the offending token and its column. Board and
//! release need not be known: fields are told apart by shape. Text in, values out: no process is started, no file
//! read, no clock asked.
//!
//! ```
//! use tegrastats_parser::{parse_line, Activity, Clocks};
//!
//! let line = "11-15-2024 08:38:09 RAM 6185/7620MB (lfb 8x2MB) SWAP 851/3810MB (cached 1MB) \
//!     CPU [15%@729,11%@729,14%@729,13%@729,11%@729,8%@729] EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] NVDEC off \
//!     NVJPG off NVJPG1 off VIC off OFA off APE 200 cpu@53.968C soc2@52.437C soc0@50.75C gpu@53.343C tj@53.968C \
//!     soc1@51.656C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 4667mW/4667mW VDD_SOC 2817mW/2817mW";
//! let sample = parse_line(line)?;
//!
//! let gpu = sample.gr3d.as_ref().unwrap();
//! assert_eq!(gpu.load_percent(), Some(63));
//! assert_eq!(gpu.freqs_mhz(), [621]);
//! assert_eq!(sample.engines[0].activity, Activity::Off);
//! assert_eq!(sample.engines[5].activity, Activity::On { load_percent: None, freq_mhz: Clocks::One(200) });
//! assert_eq!(sample.temperatures[4].c, Some(53.968));
//! assert_eq!(sample.rails[0].name, "VDD_IN");
//! assert_eq!(sample.rails[0].instant_mw, 12479);
//! # Ok::<(), tegrastats_parser::LineError>(())
//! ```
//!
//! # What is kept apart
//!
//! - Absent, `off` and 0. A field the line does not hold is `None` or an empty list; an engine or core printed
//!   `off` is [`Activity::Off`] or [`Core::Offline`]; 0 is 0 only where the line prints it.
//! - The latest reading of a rail and its mean since tegrastats started ([`Rail`]).
//! - Placeholders and measurements: `-256C` ([`Temperature::c`]), `PMIC@100C`
//!   ([`Temperature::is_placeholder`]), `EMC_FREQ 0%` without a clock ([`Sample::emc_load_percent`]).
//!
//! # What is refused, and what is kept
//!
//! Unknown tokens never fail a line; [`Sample::unknown`] holds them. A line fails where it is other text, where a
//! field of a fixed name (memory, CPU list, EMC, GPU, MTS, EDP) is malformed, or where one of these comes twice:
//! such a line was cut, garbled or mixed with another, and its numbers cannot be trusted. No input panics.
//!
//! A cut inside the last number of a line cannot always be seen ([`Sample::ends_cleanly`]): parse only lines that
//! end in a newline.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod begin;
mod cursor;
mod error;
mod fields;
mod line;
mod sample;

pub use error::{LineError, LineErrorKind};
pub use line::parse_line;
pub use sample::{
    Activity, Clocks, Core, Engine, FreeBlocks, Iram, Mts, Rail, Ram, Sample, Swap, Temperature, Timestamp,
    Token,
};

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
