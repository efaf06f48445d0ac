//! perf4sight's measurements, against the scores that its method description gives.

use jetlag_figure::section::markdown;
use jetlag_predict::{
    Dataset, EvalOptions, Evaluation, FeatureSet, FitOptions, Kin, Protocol, Question, Stage, Target,
    Unanswered, Unknown, Verdict, dataset, eval, fit, sections,
};

pub(crate) fn perf4sight() -> Option<Dataset> {
    let folder = nvidia_doubles::machine::shared("data/perf4sight")?;
    Some(dataset::open(&folder).unwrap())
}

fn evaluated(data: &Dataset, features: Option<FeatureSet>, protocol: Protocol) -> Evaluation {
    let options = EvalOptions {
        fit: FitOptions {
            features,
            ..FitOptions::default()
        },
        protocol,
        ..EvalOptions::default()
    };
    eval(data, None, &options).unwrap()
}

fn mean(evaluation: &Evaluation, target: Target) -> f64 {
    evaluation
        .means
        .iter()
        .find(|mean| mean.target == target)
        .unwrap()
        .mean_pct
}

fn of(evaluation: &Evaluation, target: Target, network: &str) -> (usize, usize, f64) {
    let score = evaluation
        .scores
        .iter()
        .find(|score| score.target == target && score.network == network)
        .unwrap();
    (score.fit_rows, score.errors.rows, score.errors.mean_pct)
}

#[test]
fn the_published_features_score_as_described() {
    let Some(data) = perf4sight() else { return };
    let found = evaluated(&data, Some(FeatureSet::Perf4sight), Protocol::SameNetwork);
    let wanted = [
        ("resnet18", (103, 172, 7.2), (100, 167, 6.5)),
        ("resnet50", (43, 114, 1.8), (44, 113, 3.5)),
        ("mobilenetv2", (76, 117, 3.3), (78, 121, 7.6)),
        ("squeezenet", (95, 148, 3.7), (94, 147, 5.5)),
    ];
    for (network, memory, latency) in wanted {
        for (target, (fitted, scored, error)) in [(Target::Memory, memory), (Target::Latency, latency)] {
            let (own_fitted, own_scored, own) = of(&found, target, network);
            assert_eq!((own_fitted, own_scored), (fitted, scored), "{network} {target}");
            assert!(
                (own - error).abs() <= 0.3,
                "{network} {target}: {own}, described as {error}"
            );
        }
    }
    assert!(mean(&found, Target::Memory) < 4.05 && mean(&found, Target::Latency) < 5.75);
}

#[test]
fn our_features_do_better_on_variants_of_a_network() {
    let Some(data) = perf4sight() else { return };
    let found = evaluated(&data, Some(FeatureSet::Jetlag), Protocol::SameNetwork);
    let (memory, latency) = (mean(&found, Target::Memory), mean(&found, Target::Latency));
    assert!(
        memory < 4.0 && latency < 5.0,
        "{}",
        markdown::section(&sections::evaluation(&found))
    );
    let stalls: Vec<_> = found
        .stalls
        .iter()
        .map(|stall| (stall.network.as_str(), stall.variant.as_str(), stall.batch))
        .collect();
    assert_eq!(stalls, [("mobilenetv2", "35", 110)]);
}

#[test]
fn our_features_do_better_on_a_network_left_out() {
    let Some(data) = perf4sight() else { return };
    let found = evaluated(&data, Some(FeatureSet::Jetlag), Protocol::LeaveOneNetworkOut);
    let (memory, latency) = (mean(&found, Target::Memory), mean(&found, Target::Latency));
    assert!(
        memory < 9.7 && latency < 18.5,
        "{}",
        markdown::section(&sections::evaluation(&found))
    );
}

/// Three networks tell of the fourth: what describes it and how wide its interval is were both chosen without it.
#[test]
fn features_and_intervals_chosen_without_a_network_hold_for_it() {
    let Some(data) = perf4sight() else { return };
    let found = evaluated(&data, None, Protocol::LeaveOneNetworkOut);
    let said = markdown::section(&sections::evaluation(&found));
    println!("{said}");
    let (memory, latency) = (mean(&found, Target::Memory), mean(&found, Target::Latency));
    assert!(memory < 7.6 && latency < 9.8, "{said}");
    for target in [Target::Memory, Target::Latency] {
        let own = found.scores.iter().filter(|score| score.target == target);
        let held: Vec<f64> = own.map(|score| score.coverage.unwrap().found_pct).collect();
        let mean = held.iter().sum::<f64>() / held.len() as f64;
        assert!(mean > 85.0 && held.iter().all(|own| *own > 70.0), "{said}");
    }
}

/// A model says how far off it is on networks that it has not seen, for each target.
#[test]
fn a_model_says_how_it_did_on_networks_left_out() {
    let Some(data) = perf4sight() else { return };
    let options = FitOptions {
        trees: 90,
        ..FitOptions::default()
    };
    let model = fit(&data, &options).unwrap();
    let said = markdown::section(&sections::model(&model));
    println!("{said}");
    for target in model.targets() {
        let own = target.held_out.unwrap();
        assert_eq!(own.networks, 4);
        assert!(
            own.mean_pct < 15.0 && own.inside_pct > 80.0 && own.aimed_pct == 90.0,
            "{said}"
        );
    }
}

#[test]
fn a_question_is_answered_with_an_interval_and_doubts() {
    let Some(data) = perf4sight() else { return };
    let model = fit(
        &data,
        &FitOptions {
            trees: 90,
            ..FitOptions::default()
        },
    )
    .unwrap();
    let ask = |table, batch| {
        let question = Question {
            table,
            batch,
            stage: Stage::Training,
            device: None,
            deadline_ms: Some(5000.0),
        };
        model.apply(&question).unwrap()
    };
    let known = &data.networks[&("resnet50".to_owned(), "40".to_owned())];
    let answer = ask(known, 32);
    assert!(
        answer
            .predictions
            .iter()
            .all(|said| said.kin == Kin::Fitted && said.unlike.is_empty()),
        "{answer:?}"
    );
    assert_eq!(
        (answer.fits.unwrap().verdict, answer.late.unwrap().in_time),
        (Verdict::Yes, Verdict::Yes)
    );
    let row = data.rows.iter().find(|row| {
        row.target == Target::Latency && row.network == "resnet50" && row.variant == "40" && row.batch == 32
    });
    let interval = answer.of(Target::Latency).unwrap().interval.unwrap();
    assert!((interval.low..=interval.high).contains(&row.unwrap().value));

    // As many images as no board of 8 GB has room for.
    let answer = ask(known, 512);
    assert_eq!(answer.fits.unwrap().verdict, Verdict::No, "{answer:?}");
    // Its peak would be what the board has: withheld, with a lower bound, of which the room is told.
    let why = &answer.withheld[0];
    let Unknown::BeyondBoard { at_least_mib, .. } = why.why else {
        panic!("{why:?}");
    };
    assert!(answer.of(Target::Memory).is_none() && why.target == Target::Memory);
    assert!(at_least_mib > answer.fits.unwrap().limit_mib && answer.fits.unwrap().is_least);

    // Trees alone say nothing larger than they have seen, of no target.
    let blind = FitOptions {
        trees: 9,
        features: Some(FeatureSet::Perf4sight),
        ..FitOptions::default()
    };
    let question = Question {
        table: known,
        batch: 512,
        stage: Stage::Training,
        device: None,
        deadline_ms: None,
    };
    let answer = fit(&data, &blind).unwrap().apply(&question).unwrap();
    assert!(
        answer.predictions.is_empty() && answer.fits.is_none(),
        "{answer:?}"
    );
    let are_trees = |none: &Unanswered| matches!(none.why, Unknown::Trees { .. });
    assert!(answer.withheld.len() == 2 && answer.withheld.iter().all(are_trees));

    let layers = vec![jetlag_predict::Layer::convolution(
        "only",
        [3, 2048],
        7,
        1,
        3,
        1,
        512,
    )];
    let strange = jetlag_predict::LayerTable::new(layers).unwrap();
    let answer = ask(&strange, 4);
    assert!(
        answer
            .predictions
            .iter()
            .all(|said| said.kin == Kin::Other && !said.unlike.is_empty())
    );

    // A file gives the same answers.
    let read = jetlag_predict::Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(read, model);
    assert_eq!(model.facts().data_hash, data.hash);
    assert!(model.to_bytes().len() < 5_000_000);
}
