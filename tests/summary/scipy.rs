//! Our statistics against SciPy's and NumPy's, on random series. Skipped where they are not installed
//! (`scripts/setup.sh --test` installs them).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use jetlag::units::Nanos;
use nvidia_doubles::machine::python;
use rand_distr::{Distribution, LogNormal, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::summary::made_up;

/// Series of all kinds: independent, correlated, of two modes, with many equal values, short.
fn series() -> Vec<Vec<i64>> {
    let mut random = Pcg64::seed_from_u64(11);
    let mut all = Vec::new();
    for (n, phi) in [
        (3, 0.0),
        (12, 0.0),
        (100, 0.3),
        (700, 0.0),
        (700, 0.7),
        (2000, 0.9),
        (7001, 0.5),
    ] {
        let mut x = 0.0f64;
        let correlated = (0..n).map(|_| {
            let noise: f64 = StandardNormal.sample(&mut random);
            x = phi * x + noise;
            (9e6 * (0.2 * x).exp()) as i64
        });
        all.push(correlated.collect());
    }
    let scatter = LogNormal::new(9e6f64.ln(), 0.4).expect("a distribution");
    all.push(
        (0..1500)
            .map(|i| {
                if i % 9 == 0 {
                    40_000_000
                } else {
                    scatter.sample(&mut random) as i64
                }
            })
            .collect(),
    );
    all.push(
        (0..900)
            .map(|_| scatter.sample(&mut random) as i64 / 2_000_000 * 2_000_000)
            .collect(),
    );
    all.push(vec![7_000_000; 200]);
    all
}

#[test]
fn statistics_of_random_series_agree_with_scipy() {
    let Some(python) = python("scipy, numpy") else {
        return;
    };
    let cases: Vec<serde_json::Value> = series()
        .into_iter()
        .map(|values| {
            let responses: Vec<Nanos> = values.iter().copied().map(Nanos).collect();
            let summary = made_up::with_responses(&responses);
            let tenant = &summary.tenants[0];
            serde_json::json!({
                "values": values,
                "response_ms": tenant.response_ms,
                "iqr_ms": tenant.iqr_ms,
                "cv": tenant.cv,
                "predictability": tenant.predictability,
            })
        })
        .collect();
    let said = judged(
        &python,
        "statistics_judge.py",
        &serde_json::to_vec(&cases).expect("JSON"),
    );
    assert!(
        said.starts_with(&format!("{} series agree", cases.len())),
        "{said}"
    );
}

/// What a judge of tests/python said of this input; it must not have complained.
pub(crate) fn judged(python: &Path, script: &str, input: &[u8]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let mut judge = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    judge
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input)
        .expect("the judge reads");
    let output = judge.wait_with_output().expect("the judge ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    said
}
