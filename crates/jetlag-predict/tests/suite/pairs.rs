//! Simulated devices of known truth: networks that share two resources beside loads and in pairs. A model of some pairs predicts the others.

use jetlag_predict::pairs::{Meeting, PairData, PairError, PairModel, Signature, eval_pairs, fit_pairs};
use jetlag_predict::{FitOptions, Kin, ModelError};

use crate::board::Chance;

/// How two users of a resource get on.
#[derive(Clone, Copy, PartialEq)]
enum Truth {
    /// Both go on at full speed until the resource is used up, and then share it.
    Saturating,
    /// Each slows the other down in proportion.
    Proportional,
    /// One resource of each kind.
    Both,
    /// The same, and networks queue for a third resource that no load is put on.
    Hidden,
}

/// Parts of a network's time on each resource (the third is the hidden one), and how much of it each takes then.
#[derive(Clone, Copy)]
struct Used {
    part: [f64; 3],
    takes: [f64; 3],
}

const RESOURCES: [&str; 2] = ["compute", "dram"];
const LEVELS: [f64; 2] = [0.5, 1.0];

/// What others demand waits in queues as well, so that it harms more than its share.
const CROWDING: f64 = 6.0;

/// How much longer it takes to use so much of a resource while others demand of it.
fn stretched(truth: Truth, resource: usize, takes: f64, demanded: f64) -> f64 {
    let saturates = match truth {
        Truth::Saturating => true,
        Truth::Proportional => false,
        Truth::Both | Truth::Hidden => resource == 0,
    };
    match (resource, saturates) {
        (2, _) => {
            1.0 + if truth == Truth::Hidden {
                CROWDING * demanded
            } else {
                0.0
            }
        }
        (_, true) => (takes + CROWDING * demanded).max(1.0),
        (_, false) => 1.0 + CROWDING * takes * demanded,
    }
}

impl Used {
    fn drawn(chance: &mut Chance) -> Self {
        let weights: Vec<f64> = (0..4).map(|_| 0.05 + chance.uniform()).collect();
        // Some are hardly ever on the device.
        let sum = weights[0] + weights[1] + 0.25 * weights[2] + 2.5 * weights[3] * weights[3];
        Self {
            part: [weights[0] / sum, weights[1] / sum, 0.25 * weights[2] / sum],
            takes: [0.4 + 0.6 * chance.uniform(), 0.4 + 0.6 * chance.uniform(), 1.0],
        }
    }

    /// Its slowdown beside others that demand so much.
    fn beside(&self, truth: Truth, demanded: [f64; 3]) -> f64 {
        let each =
            (0..3).map(|at| self.part[at] * (stretched(truth, at, self.takes[at], demanded[at]) - 1.0));
        1.0 + each.sum::<f64>()
    }

    /// What it demands while it is slowed down.
    fn demands(&self, slowdown: f64) -> [f64; 3] {
        [0, 1, 2].map(|at| self.part[at] * self.takes[at] / slowdown)
    }
}

/// Both run without a pause, so each demands less the more it is slowed down.
fn pair(truth: Truth, a: &Used, b: &Used) -> [f64; 2] {
    let mut slow = [1.0, 1.0];
    for _ in 0..100 {
        let next = [
            a.beside(truth, b.demands(slow[1])),
            b.beside(truth, a.demands(slow[0])),
        ];
        slow = [0.5 * (slow[0] + next[0]), 0.5 * (slow[1] + next[1])];
    }
    slow
}

/// A load demands what its level says, whatever befalls it.
fn meeting(truth: Truth, network: &Used, resource: usize, level: f64) -> Meeting {
    let mut demanded = [0.0; 3];
    demanded[resource] = 0.95 * level;
    let suffers = network.beside(truth, demanded);
    let causes = stretched(truth, resource, 0.95, network.demands(suffers)[resource]);
    Meeting {
        resource: RESOURCES[resource].to_owned(),
        level,
        suffers,
        causes,
    }
}

fn name(at: usize) -> String {
    format!("network {at}")
}

/// Networks beside all loads and beside each other, every slowdown off by 3 %.
fn measured(truth: Truth, networks: usize, seed: u64) -> PairData {
    let mut chance = Chance::new(seed);
    let used: Vec<Used> = (0..networks).map(|_| Used::drawn(&mut chance)).collect();
    let mut data = PairData::new("made");
    for (at, network) in used.iter().enumerate() {
        let mut meetings = Vec::new();
        for resource in 0..RESOURCES.len() {
            for level in LEVELS {
                let mut meeting = meeting(truth, network, resource, level);
                meeting.suffers *= (0.03 * chance.normal()).exp();
                meeting.causes *= (0.03 * chance.normal()).exp();
                meetings.push(meeting);
            }
        }
        data.add_network(&name(at), meetings).unwrap();
    }
    for a in 0..networks {
        for b in a + 1..networks {
            let both = pair(truth, &used[a], &used[b]);
            for (of, beside, slowdown) in [(a, b, both[0]), (b, a, both[1])] {
                let noisy = slowdown * (0.03 * chance.normal()).exp();
                data.add_pair(&name(of), &name(beside), noisy).unwrap();
            }
        }
    }
    data
}

fn options(seed: u64) -> FitOptions {
    FitOptions {
        trees: 30,
        seed,
        threads: 1,
        ..FitOptions::default()
    }
}

/// Errors in % of left-out pairs and networks, of taking the mean instead, and how often intervals held.
fn over_seeds(truth: Truth, seeds: u64) -> [[f64; 3]; 2] {
    let mut sums = [[0.0; 3]; 2];
    for seed in 0..seeds {
        let found = eval_pairs(&measured(truth, 10, seed), &options(seed)).unwrap();
        assert_eq!((found.networks, found.rows), (10, 90));
        for (sums, score) in sums.iter_mut().zip(&found.scores) {
            let own = [
                score.errors.mean_pct,
                score.without_model_pct,
                score.found_pct.unwrap(),
            ];
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own / seeds as f64;
            }
        }
    }
    println!(
        "left-out pairs {:.1?}, left-out networks {:.1?}",
        sums[0], sums[1]
    );
    sums
}

#[track_caller]
fn holds(truth: Truth) {
    let [pairs, networks] = over_seeds(truth, 8);
    for [error, without, _] in [pairs, networks] {
        assert!(error < 15.0 && 1.5 * error < without, "{error} {without}");
    }
    // With ten networks the interval of another one has to be as wide as any of them needed.
    let (of_pairs, of_networks) = (pairs[2], networks[2]);
    assert!((85.0..=97.0).contains(&of_pairs), "{of_pairs}");
    assert!(of_networks >= 85.0, "{of_networks}");
}

#[test]
fn pairs_that_were_not_run_follow_from_loads_where_resources_saturate() {
    holds(Truth::Saturating);
}

#[test]
fn pairs_that_were_not_run_follow_from_loads_where_they_do_not() {
    holds(Truth::Proportional);
}

#[test]
fn pairs_that_were_not_run_follow_from_loads_where_resources_differ() {
    holds(Truth::Both);
}

#[test]
fn pairs_that_were_not_run_follow_from_loads_where_no_load_shows_a_resource() {
    holds(Truth::Hidden);
}

#[test]
fn a_network_without_pairs_is_answered_and_said_to_be_another() {
    let all = measured(Truth::Both, 9, 3);
    let mut data = PairData::new("made");
    let signatures = measured(Truth::Both, 9, 3);
    for at in 0..8 {
        copy(&signatures, &mut data, at);
    }
    for pair in all.pairs() {
        if ![&pair.network, &pair.beside].contains(&&name(8)) {
            data.add_pair(&pair.network, &pair.beside, pair.slowdown).unwrap();
        }
    }
    let mut model = fit_pairs(&data, &options(0)).unwrap();
    assert_eq!(
        (model.rows(), model.networks().len(), model.place()),
        (56, 8, "made")
    );
    assert_eq!(model.loads().len(), 4);
    let wrong = model.apply("network 0", "network 8").unwrap_err();
    assert!(matches!(wrong, PairError::Unknown { .. }));
    model
        .add_network("network 8", signatures.signature("network 8").unwrap().clone())
        .unwrap();
    let twice = model.add_network("network 8", signatures.signature("network 7").unwrap().clone());
    assert!(matches!(twice, Err(PairError::Twice { .. })));
    let model = PairModel::from_bytes(&model.to_bytes()).unwrap();
    let known = model.apply("network 0", "network 1").unwrap();
    assert_eq!(known.kin, Kin::Fitted);
    let pairs = all.pairs().iter();
    let of_new = pairs.filter(|pair| pair.beside == name(8));
    let mut inside = 0;
    for pair in of_new {
        let answer = model.apply(&pair.network, &pair.beside).unwrap();
        assert_eq!(answer.kin, Kin::Other);
        let interval = answer.interval.unwrap();
        inside += usize::from((interval.low..=interval.high).contains(&pair.slowdown));
    }
    assert!(inside >= 6, "{inside} of 8");
}

fn copy(from: &PairData, to: &mut PairData, at: usize) {
    let signature = from.signature(&name(at)).unwrap();
    to.add_network(&name(at), signature.meetings().to_vec()).unwrap();
}

#[test]
fn equal_data_and_seeds_give_equal_models_and_damage_is_found() {
    let data = measured(Truth::Both, 5, 1);
    let model = fit_pairs(&data, &options(7)).unwrap();
    let threads = FitOptions {
        threads: 3,
        ..options(7)
    };
    let bytes = model.to_bytes();
    assert_eq!(bytes, fit_pairs(&data, &threads).unwrap().to_bytes());
    assert_eq!(PairModel::from_bytes(&bytes).unwrap(), model);
    for at in (0..bytes.len()).step_by(53) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x21;
        assert!(PairModel::from_bytes(&changed).is_err(), "{at}");
        assert!(PairModel::from_bytes(&bytes[..at]).is_err(), "{at}");
    }
    let other = jetlag_predict::Model::from_bytes(&bytes).unwrap_err();
    assert!(matches!(other, ModelError::Magic));
}

#[test]
fn scoring_four_networks_says_that_it_takes_five() {
    let wrong = eval_pairs(&measured(Truth::Both, 4, 1), &options(0)).unwrap_err();
    assert!(matches!(wrong, PairError::TooFewLeft { .. }), "{wrong}");
    let three = eval_pairs(&measured(Truth::Both, 3, 1), &options(0)).unwrap_err();
    assert!(matches!(three, PairError::TooFew { pairs: 6, .. }), "{three}");
}

#[test]
fn what_cannot_be_is_refused() {
    let meeting = |resource: &str, level, suffers| Meeting {
        resource: resource.to_owned(),
        level,
        suffers,
        causes: 1.2,
    };
    let mut data = PairData::new("made");
    for (meetings, said) in [
        (vec![], "no load"),
        (vec![meeting("compute", 1.0, 0.0)], "the slowdown is 0"),
        (vec![meeting("compute", 1.0, f64::NAN)], "the slowdown is NaN"),
        (vec![meeting("compute", 0.0, 1.1)], "the load's level is 0"),
        (
            vec![meeting("compute", 1.0, 1.1), meeting("compute", 1.0, 1.2)],
            "each load once",
        ),
    ] {
        let wrong = data.add_network("a", meetings).unwrap_err().to_string();
        assert!(wrong.contains(said), "{wrong}");
    }
    data.add_network("a", vec![meeting("compute", 1.0, 1.3)]).unwrap();
    let wrong = data
        .add_network("a", vec![meeting("compute", 1.0, 1.3)])
        .unwrap_err();
    assert!(matches!(wrong, PairError::Twice { .. }), "{wrong}");
    let wrong = data
        .add_network("b", vec![meeting("dram", 1.0, 1.3)])
        .unwrap_err();
    assert!(matches!(wrong, PairError::Loads { .. }), "{wrong}");
    let wrong = data.add_pair("a", "b", 1.2).unwrap_err().to_string();
    assert!(
        wrong.contains("b was not run beside loads; those that were are a"),
        "{wrong}"
    );
    data.add_network("b", vec![meeting("compute", 1.0, 1.3)]).unwrap();
    data.add_pair("a", "b", 1.2).unwrap();
    let wrong = fit_pairs(&data, &options(0)).unwrap_err().to_string();
    assert!(
        wrong.contains("1 slowdown in pairs of 2 networks; at least 8"),
        "{wrong}"
    );
    assert!(Signature::new("c", vec![meeting("compute", 2.0, 1.0)]).is_err());
}
