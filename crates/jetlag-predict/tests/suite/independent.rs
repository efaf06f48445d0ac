//! NumPy's restatement of the published features, and scikit-learn's trees on them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use jetlag_predict::{EvalOptions, FeatureSet, FitOptions, Protocol, Stage, Target, eval, features};

use super::real::perf4sight;

fn python(script: &str, modules: &str, arguments: &[&Path]) -> Option<String> {
    let python = nvidia_doubles::machine::python(modules)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn published_features_equal_a_restatement_in_numpy() {
    let Some(data) = perf4sight() else { return };
    let folder = nvidia_doubles::machine::shared("data/perf4sight").unwrap();
    let Some(said) = python("features.py", "numpy", &[&folder]) else {
        return;
    };
    let mut compared = 0;
    for line in said.lines() {
        let mut cells = line.split(',');
        let [network, variant, stage, batch] = [(); 4].map(|()| cells.next().unwrap());
        let table = &data.networks[&(network.to_owned(), variant.to_owned())];
        let stage = if stage == "training" {
            Stage::Training
        } else {
            Stage::Inference
        };
        let own = features::perf4sight(table, batch.parse().unwrap(), stage);
        let theirs: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(own.len(), theirs.len());
        for (at, (own, theirs)) in own.iter().zip(&theirs).enumerate() {
            let apart = (own - theirs).abs() / theirs.abs().max(1.0);
            assert!(apart < 1e-12, "{line:.40}: value {at}: {own} and {theirs}");
        }
        compared += 1;
    }
    assert_eq!(compared, data.networks.len() * 2 * 3);
}

#[test]
fn scikit_learn_scores_the_same() {
    let Some(data) = perf4sight() else { return };
    let rows = tempfile::NamedTempFile::new().unwrap();
    let mut text = String::new();
    for row in data.rows.iter().filter(|row| !row.stalled) {
        let table = &data.networks[&(row.network.clone(), row.variant.clone())];
        let vector = features::perf4sight(table, row.batch, row.stage);
        write!(
            text,
            "{},{},{},{}",
            row.target, row.network, row.variant, row.value
        )
        .unwrap();
        vector.iter().for_each(|x| write!(text, ",{x}").unwrap());
        text.push('\n');
    }
    std::fs::write(rows.path(), text).unwrap();
    let Some(said) = python("scores.py", "sklearn", &[rows.path()]) else {
        return;
    };
    let seeds = 3;
    for protocol in [Protocol::SameNetwork, Protocol::LeaveOneNetworkOut] {
        let mut sums = std::collections::BTreeMap::new();
        for seed in 0..seeds {
            let options = EvalOptions {
                fit: FitOptions {
                    features: Some(FeatureSet::Perf4sight),
                    seed,
                    ..FitOptions::default()
                },
                protocol,
                ..EvalOptions::default()
            };
            for score in eval(&data, None, &options).unwrap().scores {
                let errors = score.errors_without_stalls.unwrap_or(score.errors);
                *sums.entry((score.target, score.network)).or_insert(0.0) += errors.mean_pct / seeds as f64;
            }
        }
        let name = if protocol == Protocol::SameNetwork {
            "same"
        } else {
            "unseen"
        };
        // By target: how far ours lie from scikit-learn's, network by network.
        let mut apart: std::collections::BTreeMap<Target, Vec<f64>> = std::collections::BTreeMap::new();
        for line in said
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(','))
        {
            let cells: Vec<&str> = line.split(',').collect();
            let target = if cells[0] == "latency" {
                Target::Latency
            } else {
                Target::Memory
            };
            let (own, theirs): (f64, f64) = (sums[&(target, cells[1].to_owned())], cells[2].parse().unwrap());
            println!("{name},{line}: ours {own:.2}");
            // On the hundred rows of one network chance alone is that large.
            let most = 0.05 * theirs + 0.3;
            assert!((own - theirs).abs() < most, "{name} {line}: ours {own}");
            apart.entry(target).or_default().push(own - theirs);
        }
        assert_eq!(apart.len(), 2);
        for (target, apart) in apart {
            assert_eq!(apart.len(), 4);
            let mean = apart.iter().sum::<f64>() / 4.0;
            // Of networks left out, latency lies 0.31 points above scikit-learn's: why is not known.
            let most = if name == "same" { 0.3 } else { 0.5 };
            assert!(
                mean.abs() < most,
                "{name} {target}: {mean} from scikit-learn's mean"
            );
        }
    }
}
