//! Fitting and predicting beside scikit-learn's `ExtraTreesRegressor`, taking turns in one run: medians and their ratio.
//!
//! `cargo run --release -p jetlag-predict --example beside_scikit_learn` (with scikit-learn: `scripts/setup.sh --test`). 4 000
//! rows of 60 features, 300 trees down to single rows, two threads; then 10 000 rows predicted; and the same with the leaves
//! that `fit` gives so many rows, whose model file is measured too.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use jetlag_predict::quantile;
use jetlag_predict::trees::{Forest, Rows, TreeOptions};

const FIT: usize = 4_000;
const PREDICT: usize = 10_000;
const FEATURES: usize = 60;
const TURNS: usize = 3;

/// Answers a line with `fit` or `predict` by the seconds that it took.
const PYTHON: &str = "
import sys, time, numpy as np
from sklearn.ensemble import ExtraTreesRegressor
fit, predict, features = map(int, sys.argv[1:4])
data = np.fromfile(sys.argv[4], dtype='<f8').reshape(fit + predict, features + 1)
X, y = data[:, :-1], data[:, -1]
print('ready', flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    if line.strip() == 'fit':
        model = ExtraTreesRegressor(300, n_jobs=2, random_state=0).fit(X[:fit], y[:fit])
    else:
        said = model.predict(X[fit:])
    took = time.perf_counter() - begin
    print(took, float(np.mean(np.abs(model.predict(X[fit:]) - y[fit:]))) if line.strip() == 'fit' else 0, flush=True)
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rows, targets) = made();
    let file = tempfile::NamedTempFile::new()?;
    let mut bytes = Vec::new();
    for (row, target) in rows.iter().zip(&targets) {
        row.iter()
            .chain([target])
            .for_each(|x| bytes.extend(x.to_le_bytes()));
    }
    file.as_file().write_all(&bytes)?;
    let Some(python) = nvidia_doubles::machine::python("sklearn") else {
        return Ok(());
    };
    let mut child = Command::new(python)
        .args([
            "-c",
            PYTHON,
            &FIT.to_string(),
            &PREDICT.to_string(),
            &FEATURES.to_string(),
        ])
        .arg(file.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("no pipe")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    from.next().ok_or("scikit-learn did not start")??;
    let mut theirs = |what: &str| -> Result<(f64, f64), Box<dyn std::error::Error>> {
        writeln!(to, "{what}")?;
        let line = from.next().ok_or("scikit-learn ended")??;
        let (took, error) = line.split_once(' ').ok_or("no answer")?;
        Ok((took.parse()?, error.parse()?))
    };

    let mut times: [Vec<f64>; 6] = Default::default();
    let (mut error_ours, mut error_theirs, mut nodes) = (0.0, 0.0, 0);
    let deep = TreeOptions {
        trees: 300,
        min_leaf: 1,
        seed: 0,
        threads: 2,
    };
    for _ in 0..TURNS {
        let begin = Instant::now();
        let forest = Forest::fit(&Rows::new(&rows[..FIT])?, &targets[..FIT], deep)?;
        times[0].push(begin.elapsed().as_secs_f64());
        let (took, error) = theirs("fit")?;
        times[1].push(took);
        error_theirs = error;
        let begin = Instant::now();
        let said = forest.predict(&Rows::new(&rows[FIT..])?);
        times[2].push(begin.elapsed().as_secs_f64());
        error_ours = said
            .iter()
            .zip(&targets[FIT..])
            .map(|(said, y)| (said.mean - y).abs())
            .sum::<f64>()
            / PREDICT as f64;
        times[3].push(theirs("predict")?.0);
        let begin = Instant::now();
        let shallow = Forest::fit(
            &Rows::new(&rows[..FIT])?,
            &targets[..FIT],
            TreeOptions { min_leaf: 8, ..deep },
        )?;
        times[4].push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        shallow.predict(&Rows::new(&rows[FIT..])?);
        times[5].push(begin.elapsed().as_secs_f64());
        nodes = shallow.nodes();
    }
    drop(to);
    child.wait()?;
    let [fit, fit_theirs, predict, predict_theirs, shallow, shallow_predict] =
        times.map(|times| 1e3 * quantile(&times, 0.5).unwrap_or(f64::NAN));
    println!("{FIT} rows x {FEATURES} features x 300 trees, medians of {TURNS}:");
    println!(
        "  fit      ours {fit:.0} ms, scikit-learn {fit_theirs:.0} ms, ratio {:.2}",
        fit / fit_theirs
    );
    println!(
        "  predict {PREDICT} rows: ours {predict:.0} ms, scikit-learn {predict_theirs:.0} ms, ratio {:.2}",
        predict / predict_theirs
    );
    println!("  mean absolute error on those rows: ours {error_ours:.4}, scikit-learn {error_theirs:.4}");
    println!(
        "leaves of 8 rows, as `fit` has them for 4 000: fit {shallow:.0} ms, predict {shallow_predict:.0} ms, {:.2} MB before compression",
        nodes as f64 * 5.0 / 1e6
    );
    Ok(())
}

/// Rows and targets that a generator of Knuth's makes: sums and products of some features, with noise.
fn made() -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rows: Vec<Vec<f64>> = (0..FIT + PREDICT)
        .map(|_| (0..FEATURES).map(|_| uniform()).collect())
        .collect();
    let target =
        |row: &Vec<f64>| 3.0 * row[0] + row[1] * row[2] + row[3].max(row[4]) + (row[5] - 0.5) * row[6];
    let targets = rows.iter().map(|row| target(row) + 0.1 * uniform()).collect();
    (rows, targets)
}
