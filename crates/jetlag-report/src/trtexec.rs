//! trtexec's performance summary, line by line as trtexec prints it (without the date before each), so that programs
//! that parse its log can parse this. The text above says whose figures these are, the text below what they lack.
//! None of our own figures is in it.

use std::io::{self, Write};

use crate::analysis::trtexec::{Figures, PERCENTILES, Performance, Version, Warning};

/// Writes the summary of `subject`: a tenant of a run, or a file.
pub fn write(subject: &str, of: &Performance, out: &mut dyn Write) -> io::Result<()> {
    let version = match of.version {
        Version::Trtexec10 => "10",
        Version::Trtexec11 => "11",
    };
    writeln!(
        out,
        "{subject}: {}; defaults of trtexec {version}, {} queries",
        of.definition, of.queries
    )?;
    let mut line = |text: String| writeln!(out, "[I] {text}");
    line("=== Performance summary ===".to_owned())?;
    if let Some(throughput) = of.throughput_qps {
        line(format!("Throughput: {} qps", number(throughput)))?;
    }
    line(format!("Latency: {}", figures(&of.latency_ms)))?;
    match &of.enqueue_ms {
        Some(enqueue) => line(format!("Enqueue Time: {}", figures(enqueue)))?,
        None => line("Enqueue Time: not recorded".to_owned())?,
    }
    line(format!("H2D Latency: {}", figures(&of.h2d_ms)))?;
    line(format!("GPU Compute Time: {}", figures(&of.compute_ms)))?;
    line(format!("D2H Latency: {}", figures(&of.d2h_ms)))?;
    if let Some(wall) = of.walltime_s {
        line(format!("Total Host Walltime: {} s", number(wall)))?;
    }
    line(format!(
        "Total GPU Compute Time: {} s",
        number(of.total_compute_s)
    ))?;
    for warning in &of.warnings {
        for text in warning_lines(*warning) {
            writeln!(out, "[W] {text}")?;
        }
    }
    for note in &of.notes {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

fn figures(of: &Figures) -> String {
    let mut text = format!(
        "min = {} ms, max = {} ms, mean = {} ms, median = {} ms",
        number(of.min),
        number(of.max),
        number(of.mean),
        number(of.median)
    );
    for (p, ms) in PERCENTILES.into_iter().zip(of.percentiles) {
        text.push_str(&format!(", percentile({p}%) = {} ms", number(ms)));
    }
    text
}

fn warning_lines(warning: Warning) -> [String; 2] {
    let bound = |by: &str| {
        format!(
            "* Throughput may be bound by {by} rather than GPU Compute and the GPU may be under-utilized."
        )
    };
    match warning {
        Warning::EnqueueBound => [
            bound("Enqueue Time"),
            "  If not already in use, --useCudaGraph (utilize CUDA graphs where possible) may increase the throughput."
                .to_owned(),
        ],
        Warning::H2dBound => [
            bound("host-to-device transfers for the inputs"),
            "  Add --noDataTransfers flag to disable data transfers.".to_owned(),
        ],
        Warning::D2hBound => [
            bound("device-to-host transfers for the outputs"),
            "  Add --noDataTransfers flag to disable data transfers.".to_owned(),
        ],
        Warning::Unstable(percent) => [
            format!(
                "* GPU compute time is unstable, with coefficient of variance = {}%.",
                number(percent)
            ),
            "  If not already in use, locking GPU clock frequency or adding --useSpinWait may improve the stability."
                .to_owned(),
        ],
    }
}

/// A number as C++ streams print it by default (`%g`): six digits without trailing zeros, in exponent notation if it
/// is very small or very large.
pub fn number(x: f32) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string() };
    }
    let x = f64::from(x);
    let scientific = format!("{x:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{x:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

fn trimmed(decimal: &str) -> String {
    match decimal.contains('.') {
        true => decimal.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => decimal.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_its_logs() {
        for (x, shown) in [
            (0.17041, "0.17041"),
            (11.1703, "11.1703"),
            (0.110_107_42, "0.110107"),
            (1.294_77e8, "1.29477e+08"),
            (0.000_012_5, "1.25e-05"),
            (100_000.0, "100000"),
            (999_999.9, "1e+06"),
            (3.0, "3"),
            (0.0, "0"),
            (181.088, "181.088"),
        ] {
            assert_eq!(number(x), shown);
        }
    }
}
