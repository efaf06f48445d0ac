//! Known answers, and what holds for all trees.

use proptest::prelude::*;

use super::*;

fn options(trees: usize) -> TreeOptions {
    TreeOptions {
        trees,
        min_leaf: 1,
        seed: 7,
        threads: 1,
    }
}

#[test]
fn single_rows_are_learnt_by_heart() {
    let rows: Vec<Vec<f64>> = (0..50).map(|x| vec![f64::from(x), 1.0]).collect();
    let targets: Vec<f64> = (0..50).map(|x| f64::from(x * x)).collect();
    let rows = Rows::new(&rows).unwrap();
    let forest = Forest::fit(&rows, &targets, options(5)).unwrap();
    for (said, target) in forest.predict(&rows).iter().zip(&targets) {
        assert!(
            (said.mean - target).abs() < 1e-3 && said.spread < 1e-3,
            "{said:?} {target}"
        );
    }
    // A tree of n different targets and distinguishable rows has n leaves.
    assert_eq!(forest.nodes(), 5 * 99);
}

#[test]
fn constant_targets_and_features_make_one_leaf() {
    let rows = Rows::new(&vec![vec![1.0]; 9]).unwrap();
    let targets: Vec<f64> = (0..9).map(f64::from).collect();
    let forest = Forest::fit(&rows, &targets, options(3)).unwrap();
    assert_eq!((forest.nodes(), forest.predict(&rows)[0].mean), (3, 4.0));
    let rows = Rows::new(&(0..9).map(|x| vec![f64::from(x)]).collect::<Vec<_>>()).unwrap();
    assert_eq!(Forest::fit(&rows, &[2.5; 9], options(3)).unwrap().nodes(), 3);
}

#[test]
fn wrong_rows_are_refused() {
    assert!(Rows::new(&[vec![1.0], vec![1.0, 2.0]]).is_err());
    assert!(
        Rows::new(&[vec![f64::NAN]]).is_err()
            && Rows::new(&[vec![1e300]]).is_err()
            && Rows::new(&[vec![]]).is_err()
    );
    let rows = Rows::new(&[vec![1.0], vec![2.0]]).unwrap();
    assert!(Forest::fit(&rows, &[1.0], options(1)).is_err());
    assert!(Forest::fit(&rows, &[1.0, f64::INFINITY], options(1)).is_err());
    assert!(Forest::fit(&rows, &[1.0, 2.0], options(0)).is_err());
    let forest = Forest::fit(&rows, &[1.0, 2.0], options(1)).unwrap();
    assert!(
        forest.predict(&Rows::new(&[vec![1.0, 2.0]]).unwrap())[0]
            .mean
            .is_nan()
    );
}

/// The same numbers on every machine: neither the generator nor the arithmetic depends on it.
#[test]
fn a_seed_gives_known_trees() {
    let mut random = SplitMix64::stream(1, 2);
    let rows: Vec<Vec<f64>> = (0..200)
        .map(|_| (0..5).map(|_| f64::from(random.unit_f32())).collect())
        .collect();
    let targets: Vec<f64> = rows.iter().map(|row| row[0] + row[1] * row[2]).collect();
    let rows = Rows::new(&rows).unwrap();
    let forest = Forest::fit(
        &rows,
        &targets,
        TreeOptions {
            min_leaf: 3,
            ..options(20)
        },
    )
    .unwrap();
    let mut bytes = crate::bytes::Writer::default();
    forest.write(&mut bytes);
    let hash = blake3::hash(&bytes.0).to_hex();
    assert_eq!(&hash.as_str()[..16], KNOWN);
}

const KNOWN: &str = "703d89ed9a7d826c";

proptest! {
    #[test]
    fn predictions_lie_between_the_targets(
        rows in prop::collection::vec((prop::collection::vec(-1e6..1e6f64, 3), -1e3..1e3f64), 1..60),
        asked in prop::collection::vec(prop::collection::vec(-2e6..2e6f64, 3), 1..30),
        min_leaf in 1..5usize,
    ) {
        let (rows, targets): (Vec<_>, Vec<f64>) = rows.into_iter().unzip();
        let forest = Forest::fit(&Rows::new(&rows).unwrap(), &targets, TreeOptions { min_leaf, ..options(4) }).unwrap();
        let least = targets.iter().copied().fold(f64::INFINITY, f64::min);
        let most = targets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let together = forest.predict(&Rows::new(&asked).unwrap());
        for (said, row) in together.iter().zip(&asked) {
            prop_assert!(said.mean >= least - 1e-3 && said.mean <= most + 1e-3);
            // Alone or abreast of others, a row gets the same.
            prop_assert_eq!(*said, forest.predict(&Rows::new(std::slice::from_ref(row)).unwrap())[0]);
        }
        let mut bytes = crate::bytes::Writer::default();
        forest.write(&mut bytes);
        prop_assert_eq!(Forest::read(&mut crate::bytes::Reader(&bytes.0)).unwrap(), forest);
    }
}

/// One row down one tree, step by step.
fn walked(tree: &Tree, row: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        let node = tree.0[at];
        at = match node.right {
            0 => return node.value,
            _ if row[node.feature as usize] <= node.value => at + 1,
            right => right as usize,
        };
    }
}

#[test]
fn rows_that_go_together_get_what_each_gets_alone() {
    let mut random = SplitMix64::stream(3, 1);
    let made: Vec<Vec<f64>> = (0..5000)
        .map(|_| (0..3).map(|_| f64::from(random.unit_f32())).collect())
        .collect();
    let targets: Vec<f64> = made.iter().map(|row| row[0] * row[1] + row[2]).collect();
    let forest = Forest::fit(&Rows::new(&made[..600]).unwrap(), &targets[..600], options(4)).unwrap();
    for count in [1, 2, 2047, 2048, 2049, 5000] {
        let rows = Rows::new(&made[..count]).unwrap();
        let said = forest.predict(&rows);
        assert_eq!(said.len(), count);
        for (row, said) in rows.values.chunks(3).zip(said) {
            let sum: f64 = forest.trees.iter().map(|tree| f64::from(walked(tree, row))).sum();
            assert_eq!(said.mean, sum / 4.0);
        }
    }
}
