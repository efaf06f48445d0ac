//! `jetlag ceilings`: measures what this machine reaches at most, and writes it down.

use std::path::Path;

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::run_path::spare_files;
use crate::analysis::roofline::{Bandwidth, CEILINGS_SCHEMA, Ceilings, Peak, Processor};
use crate::board::{self, Roots};
use crate::ceilings::{DevicePeak, DeviceRate, Effort, Measured, Moved, OfDevice, of_device, of_processor};
use crate::cli::{CeilingsArgs, CeilingsBackend, Format};
use crate::report::text::roofline::of_ceilings;
use crate::units::parse_duration;
use crate::whole;

/// Measures, prints, and writes the file that was asked for.
///
/// # Errors
/// [`WrongUse`] for a duration that is none, a file that is there; the embedded backend is not in this jetlag, or there is no GPU.
pub(super) fn run(args: &CeilingsArgs) -> anyhow::Result<Outcome> {
    let each = parse_duration(&args.each).map_err(|problem| WrongUse(format!("--each: {problem}")))?;
    if let Some(file) = &args.output {
        spare_files(file, args.force)?;
    }
    let wrong = match (args.backend, args.gpu, args.threads) {
        (CeilingsBackend::Cpu, Some(_), _) => Some("--gpu is the number of a GPU: add --backend gpu"),
        (CeilingsBackend::Gpu, _, Some(_)) => {
            Some("--threads are the processor's: leave it out with --backend gpu")
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(WrongUse(wrong.to_owned()).into());
    }
    let measured = match args.backend {
        CeilingsBackend::Cpu => {
            let all = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = args.threads.map_or(all, usize::from).min(all);
            let roots = Roots::system();
            ceilings(of_processor(&roots, Effort { threads, each })?, &roots)
        }
        CeilingsBackend::Gpu => device(of_device(args.gpu.unwrap_or_default(), each)?),
    };
    let json = serde_json::to_string_pretty(&measured)? + "\n";
    if let Some(file) = &args.output {
        write(file, &json, &measured)?;
    }
    match args.format {
        Format::Json => print(&json)?,
        Format::Text => print(&of_ceilings(&measured, &super::output::style()))?,
    }
    Ok(Outcome::Done)
}

fn write(file: &Path, json: &str, measured: &Ceilings) -> anyhow::Result<()> {
    whole::write(file, json, true).with_context(|| format!("cannot write {}", file.display()))?;
    say(&format!(
        "{}: {}, {}; hold runs against it: jetlag roofline RUN --ceilings {}",
        file.display(),
        measured.name,
        measured.source,
        crate::shell::path(file)
    ));
    Ok(())
}

/// What was measured of a GPU, as roofs are taken of it.
fn device(measured: OfDevice) -> Ceilings {
    let rates = |rates: Vec<DeviceRate>| -> Vec<Bandwidth> {
        let rate = |rate: DeviceRate| Bandwidth {
            name: rate.name,
            threads: None,
            bytes_per_s: rate.bytes_per_s,
            working_set: rate.working_set,
            how: rate.how.to_owned(),
        };
        rates.into_iter().map(rate).collect()
    };
    let peak = |peak: DevicePeak| Peak {
        precision: peak.precision.to_owned(),
        threads: None,
        flops_per_s: peak.flops_per_s,
        how: peak.how,
    };
    let mut notes = measured.missing;
    notes.push(
        "They hold at the clocks that the GPU had: `sudo jetlag clocks max` holds a board's at their maximum, here and in the runs."
            .to_owned(),
    );
    Ceilings {
        schema: CEILINGS_SCHEMA,
        name: measured.name,
        processor: Processor::Gpu,
        source: format!("measured by jetlag {}", env!("CARGO_PKG_VERSION")),
        peaks: measured.peaks.into_iter().map(peak).collect(),
        bandwidths: rates(measured.bandwidths),
        copies: rates(measured.copies),
        notes,
    }
}

/// What was measured of the processor, as roofs are taken of it.
fn ceilings(measured: Measured, roots: &Roots) -> Ceilings {
    let threads = |threads: usize| u32::try_from(threads).ok();
    let bandwidths = |all: Vec<Moved>, how: &str| -> Vec<Bandwidth> {
        all.into_iter()
            .map(|one| Bandwidth {
                name: one.name,
                threads: threads(one.threads),
                bytes_per_s: one.bytes_per_s,
                working_set: Some(one.bytes),
                how: how.to_owned(),
            })
            .collect()
    };
    let name = board::facts(roots).get("cpu").cloned();
    Ceilings {
        schema: CEILINGS_SCHEMA,
        name: name.unwrap_or_else(|| "this processor".to_owned()),
        processor: Processor::Cpu,
        source: format!("measured by jetlag {}", env!("CARGO_PKG_VERSION")),
        peaks: measured
            .products
            .iter()
            .map(|product| Peak {
                precision: "fp32".to_owned(),
                threads: threads(product.threads),
                flops_per_s: product.flops_per_s,
                how: format!("product of two {0} x {0} matrices, cpu backend", product.size),
            })
            .collect(),
        bandwidths: bandwidths(measured.reads, "read"),
        copies: bandwidths(measured.copies, "bytes read and written"),
        notes: vec![
            "fp32 is what the cpu backend's own kernels reach, a little less than the silicon could; fp16 and int8 are not measured."
                .to_owned(),
        ],
    }
}
