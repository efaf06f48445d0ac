//! Made folders: several boards, all four targets, networks of which the truth is known.

use std::fmt::Write as _;
use std::path::Path;

use jetlag_figure::section::markdown;
use jetlag_predict::{
    DataError, Device, EvalOptions, FitOptions, Model, ModelError, PredictError, Protocol, Question, Stage,
    Target, Verdict, dataset, eval, fit, sections,
};

/// Boards: TFLOP/s and GB/s.
const BOARDS: [(&str, f64, f64); 2] = [("small", 1.0, 60.0), ("large", 4.0, 200.0)];
const NETWORKS: [(&str, u32); 4] = [("alpha", 4), ("beta", 8), ("gamma", 12), ("delta", 20)];

/// Networks of equal blocks whose variants have fewer channels.
fn layers(depth: u32, width: u32) -> String {
    let mut text = "ic,oc,k_h,k_w,stride,pad_h,pad_w,groups,ip_h,ip_w,op_h,op_w\n".to_owned();
    writeln!(text, "3,{width},3,3,2,1,1,1,128,128,64,64").unwrap();
    for _ in 0..depth {
        writeln!(text, "{width},{width},3,3,1,1,1,1,64,64,64,64").unwrap();
        writeln!(text, "{width},{width},1,1,1,0,0,1,64,64,64,64").unwrap();
    }
    text
}

fn width(level: u32) -> u32 {
    64 - level / 2
}

/// Time, memory, energy of a frame and power: a roofline with launches, tensors with weights, joules for work and for time.
fn truth(board: usize, depth: u32, level: u32, batch: u32) -> [f64; 4] {
    let (_, tflops, gb_s) = BOARDS[board];
    let (w, n, d) = (f64::from(width(level)), f64::from(batch), f64::from(depth));
    let gmac = n * 4096.0 * (27.0 * w + d * 10.0 * w * w) / 1e9;
    let values = n * 4096.0 * w * (1.0 + 2.0 * d);
    let time = 2.0 * gmac / tflops / 0.6 + 8.0 * values / 1e6 / gb_s / 0.7 + 0.03 * (1.0 + 2.0 * d);
    let memory = 300.0 + 4.0 * d * 10.0 * w * w / 1_048_576.0 + 8.0 * values / 1_048_576.0;
    let energy = (20.0 * gmac + 4.0 * time) / n;
    [time, memory, energy, 1000.0 * energy * n / time]
}

pub(crate) fn make(folder: &Path) {
    std::fs::create_dir_all(folder.join("layers")).unwrap();
    std::fs::write(
        folder.join("devices.csv"),
        "device,tflops,gb_s,memory_mib\nsmall,1,60,2000\nlarge,4,200,8000\n",
    )
    .unwrap();
    for (name, depth) in NETWORKS {
        for level in [0, 10, 20, 30, 50, 70, 80, 90] {
            std::fs::write(
                folder.join(format!("layers/{name}_{level}.csv")),
                layers(depth, width(level)),
            )
            .unwrap();
        }
    }
    for (board, (device, ..)) in BOARDS.iter().enumerate() {
        for (at, target) in Target::ALL.into_iter().enumerate() {
            let own = folder.join(format!("{device}_inference_{target}"));
            std::fs::create_dir_all(&own).unwrap();
            for (name, depth) in NETWORKS {
                let mut text = format!("network,level,bs,passed,{}\n", target.column());
                for level in [0, 10, 20, 30, 50, 70, 80, 90] {
                    for batch in [1, 2, 4, 8, 16] {
                        let value = truth(board, depth, level, batch)[at];
                        writeln!(text, "{name},{level},{batch},True,{value}").unwrap();
                    }
                }
                std::fs::write(own.join(format!("{name}.csv")), text).unwrap();
            }
        }
    }
}

fn options(trees: usize) -> FitOptions {
    FitOptions {
        trees,
        ..FitOptions::default()
    }
}

#[test]
fn one_model_serves_two_boards_and_all_targets() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let data = dataset::open(folder.path()).unwrap();
    for protocol in [
        Protocol::SameNetwork,
        Protocol::Pooled,
        Protocol::LeaveOneNetworkOut,
    ] {
        let options = EvalOptions {
            fit: options(60),
            protocol,
            ..EvalOptions::default()
        };
        let found = eval(&data, None, &options).unwrap();
        assert_eq!(found.means.len(), 4);
        for mean in &found.means {
            assert!(
                mean.mean_pct < 12.0,
                "{protocol:?} {}",
                markdown::section(&sections::evaluation(&found))
            );
        }
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(
            serde_json::from_str::<jetlag_predict::Evaluation>(&json)
                .unwrap()
                .scores
                .len(),
            found.scores.len()
        );
    }
    // Data fitted on, and others scored; equal ones would be scored on what was fitted.
    let options_of = |trees| EvalOptions {
        fit: options(trees),
        ..EvalOptions::default()
    };
    let same = eval(&data, Some(&data), &options_of(9)).unwrap_err();
    assert!(matches!(same, PredictError::EqualData { .. }), "{same}");
    let other = dataset::Dataset {
        rows: data.rows.iter().step_by(2).cloned().collect(),
        hash: "another".to_owned(),
        ..data.clone()
    };
    let found = eval(
        &data,
        Some(&other),
        &EvalOptions {
            fit: options(60),
            ..EvalOptions::default()
        },
    )
    .unwrap();
    assert!(found.protocol.is_none() && found.means.iter().all(|mean| mean.mean_pct < 5.0));
}

#[test]
fn a_board_must_be_named_where_there_are_two() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let data = dataset::open(folder.path()).unwrap();
    let model = fit(&data, &options(30)).unwrap();
    let table = &data.networks[&("gamma".to_owned(), "20".to_owned())];
    let question = Question {
        table,
        batch: 4,
        stage: Stage::Inference,
        device: None,
        deadline_ms: Some(1e4),
    };
    let wrong = model.apply(&question).unwrap_err().to_string();
    assert!(wrong.contains("small") && wrong.contains("large"), "{wrong}");
    let answer = model
        .apply(&Question {
            device: Some(&data.devices[1]),
            ..question
        })
        .unwrap();
    assert_eq!(answer.late.unwrap().in_time, Verdict::Yes);
    assert_eq!(answer.fits.unwrap().verdict, Verdict::Yes);
    assert!(answer.joules_per_frame.is_some() && answer.of(Target::Power).is_some());
    let wrong = model.apply(&Question {
        stage: Stage::Training,
        device: Some(&data.devices[1]),
        ..question
    });
    assert!(matches!(wrong, Err(PredictError::NothingAsked { .. })));
    let unsound = Device {
        tflops: f64::NAN,
        ..Device::unknown("x")
    };
    assert!(
        model
            .apply(&Question {
                device: Some(&unsound),
                ..question
            })
            .is_err()
    );
    assert!(
        model
            .apply(&Question {
                batch: 0,
                device: Some(&data.devices[1]),
                ..question
            })
            .is_err()
    );
}

#[test]
fn models_are_equal_whatever_the_threads_and_differ_by_seed() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let data = dataset::open(folder.path()).unwrap();
    let bytes = |seed, threads| {
        fit(
            &data,
            &FitOptions {
                seed,
                threads,
                ..options(12)
            },
        )
        .unwrap()
        .to_bytes()
    };
    let one = bytes(0, 1);
    assert_eq!(one, bytes(0, 5));
    assert_ne!(one, bytes(1, 1));
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let data = dataset::open(folder.path()).unwrap();
    let model = fit(&data, &options(3)).unwrap();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), model);
    let bytes = std::fs::read(&path).unwrap();
    for cut in [0, 7, 8, 11, 12, 43, 44, 100, bytes.len() - 1] {
        assert!(Model::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        assert!(Model::from_bytes(&changed).is_err(), "{at}");
    }
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(matches!(
        Model::from_bytes(&other),
        Err(ModelError::Version { found: 9, .. })
    ));
    assert!(matches!(Model::load(folder.path()), Err(ModelError::File { .. })));
}

#[test]
fn few_networks_and_variants_withhold_intervals() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    for board in BOARDS {
        for target in Target::ALL {
            for network in ["beta", "gamma", "delta"] {
                std::fs::remove_file(
                    folder
                        .path()
                        .join(format!("{}_inference_{target}/{network}.csv", board.0)),
                )
                .unwrap();
            }
        }
    }
    let data = dataset::open(folder.path()).unwrap();
    let model = fit(&data, &options(6)).unwrap();
    assert!(
        model
            .targets()
            .iter()
            .all(|target| target.far_withheld.is_some() && target.near_withheld.is_none())
    );
    let table = &data.networks[&("delta".to_owned(), "0".to_owned())];
    let question = Question {
        table,
        batch: 4,
        stage: Stage::Inference,
        device: Some(&data.devices[0]),
        deadline_ms: Some(1.0),
    };
    let answer = model.apply(&question).unwrap();
    assert!(
        answer
            .predictions
            .iter()
            .all(|said| said.interval.is_none() && said.withheld.is_some())
    );
    // Without an interval nothing is sure.
    assert_eq!(answer.late.unwrap().in_time, Verdict::Open);
    let left = EvalOptions {
        fit: options(6),
        protocol: Protocol::LeaveOneNetworkOut,
        ..EvalOptions::default()
    };
    assert!(matches!(
        eval(&data, None, &left),
        Err(PredictError::OneNetwork { .. })
    ));
}

#[test]
fn two_boards_need_figures() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    std::fs::remove_file(folder.path().join("devices.csv")).unwrap();
    assert!(matches!(
        dataset::open(folder.path()),
        Err(DataError::Devices { .. })
    ));
}
