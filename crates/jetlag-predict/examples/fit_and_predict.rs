//! The time of fitting 4 000 rows and predicting 10 000, alone: `… --example fit_and_predict -- [THREADS]`, for a profiler.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use jetlag_predict::trees::{Forest, Rows, TreeOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads = std::env::args().nth(1).map_or(Ok(2), |threads| threads.parse())?;
    let mut state = 1_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rows: Vec<Vec<f64>> = (0..14_000)
        .map(|_| (0..60).map(|_| uniform()).collect())
        .collect();
    let targets: Vec<f64> = rows
        .iter()
        .map(|row| 3.0 * row[0] + row[1] * row[2] + 0.1 * uniform())
        .collect();
    for min_leaf in [1, 8] {
        let options = TreeOptions {
            trees: 300,
            min_leaf,
            seed: 0,
            threads,
        };
        let begin = Instant::now();
        let forest = Forest::fit(&Rows::new(&rows[..4_000])?, &targets[..4_000], options)?;
        let fitted = begin.elapsed();
        let begin = Instant::now();
        let said = forest.predict(&Rows::new(&rows[4_000..])?);
        println!(
            "leaves of {min_leaf}: fit {fitted:.0?}, predict {:.0?} ({:.6}), {} nodes",
            begin.elapsed(),
            said[0].mean,
            forest.nodes()
        );
    }
    Ok(())
}
