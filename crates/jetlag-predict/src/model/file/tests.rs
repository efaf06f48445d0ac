//! Files whose checksum holds and whose content does not.

use proptest::prelude::*;

use super::*;
use crate::dataset::{Dataset, Row, Target};
use crate::features::{Device, Stage};
use crate::layers::{Layer, LayerTable};
use crate::model::{FitOptions, Question, fit};

fn data() -> Dataset {
    let networks = (1..=6_u32).map(|variant| {
        let layer = |at: u32| {
            Layer::convolution(
                "made",
                [8 * variant, 8 * variant],
                1 + 2 * (at % 2),
                1,
                at % 2,
                1,
                16,
            )
        };
        let table = LayerTable::new((0..3).map(layer).collect()).unwrap();
        ((format!("net{}", variant % 3), variant.to_string()), table)
    });
    let networks: std::collections::BTreeMap<_, _> = networks.collect();
    let mut rows = Vec::new();
    for (network, variant) in networks.keys() {
        for batch in 1..5 {
            for target in Target::ALL {
                let width: f64 = variant.parse().unwrap();
                let value = 3.0 + f64::from(batch) * width * width;
                let (network, variant) = (network.clone(), variant.clone());
                rows.push(Row {
                    device: 0,
                    stage: Stage::Training,
                    target,
                    network,
                    variant,
                    batch,
                    value,
                    stalled: false,
                });
            }
        }
    }
    let devices = vec![Device::unknown("made")];
    Dataset {
        devices,
        networks,
        rows,
        failed: Vec::new(),
        undescribed: Vec::new(),
        stalls: Vec::new(),
        hash: "made".into(),
    }
}

fn body() -> Vec<u8> {
    let model = fit(
        &data(),
        &FitOptions {
            trees: 4,
            ..FitOptions::default()
        },
    )
    .unwrap();
    sealed::open(&KIND, &model.to_bytes()).unwrap()
}

/// A file with this content and a checksum that holds.
fn file(body: &[u8]) -> Vec<u8> {
    sealed::seal(&KIND, &Writer(body.to_vec()))
}

fn ask(model: &Model) {
    let table = LayerTable::new(vec![Layer::convolution("asked", [3, 64], 7, 2, 3, 1, 224)]).unwrap();
    for batch in [1, 1 << 20] {
        let question = Question {
            table: &table,
            batch,
            stage: Stage::Training,
            device: None,
            deadline_ms: Some(1.0),
        };
        if let Ok(answer) = model.apply(&question) {
            assert!(!crate::sections::answer(&answer).blocks.is_empty());
        }
    }
}

#[test]
fn every_byte_of_the_content_may_be_wrong() {
    let body = body();
    ask(&Model::from_bytes(&file(&body)).unwrap());
    for at in (0..body.len()).step_by(11) {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = body.clone();
            changed[at] ^= flip;
            if let Ok(model) = Model::from_bytes(&file(&changed)) {
                ask(&model);
            }
        }
    }
    for cut in (0..body.len()).step_by(131) {
        assert!(Model::from_bytes(&file(&body[..cut])).is_err());
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Model::from_bytes(&bytes).is_err());
        prop_assert!(Model::from_bytes(&file(&bytes)).is_err());
    }
}
