//! Does the interval of a prediction hold what a network takes that nobody fitted?
//!
//! Networks are made up, and so is the board: a time for each layer from its work and traffic, with an efficiency that each network has
//! for itself, as kernels suit one better than another. A model is fitted on some of them, and asked about the next one.

use jetlag_predict::dataset::{Dataset, Row as Measured, Target};
use jetlag_predict::{Device, FeatureSet, FitOptions, Layer, LayerTable, Question, Stage, fit};
use rand_distr::{Distribution, LogNormal, Normal, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::Cell;
use crate::table::{Promise, Row};

const PART: &str = "predict";
const BATCHES: [u32; 4] = [1, 4, 16, 64];
/// How much a network's own efficiency scatters, and how much each of its layers and measurements: about what boards show.
const OF_NETWORKS: f64 = 0.15;
const OF_LAYERS: f64 = 0.3;
const OF_ROWS: f64 = 0.02;

pub(crate) fn cells() -> Vec<Cell> {
    let cell = |networks| Cell {
        part: PART,
        rows: Box::new(move |seeds| rows(networks, seeds)),
    };
    [4, 8, 12, 30].map(cell).into()
}

/// A network's layers with its milliseconds for each batch.
struct Network {
    table: LayerTable,
    measured: [f64; BATCHES.len()],
}

fn network(random: &mut Pcg64) -> Network {
    let mut whole = |least: u32, most: u32| {
        Uniform::new_inclusive(least, most)
            .expect("a range")
            .sample(random)
    };
    let mut size = 32 * whole(3, 8);
    let mut channels = 8 * whole(2, 6);
    let separable = whole(0, 2) == 0;
    let mut layers = vec![Layer::convolution("stem", [3, channels], 3, 2, 1, 1, size)];
    size = size.div_ceil(2);
    for stage in 0..whole(3, 5) {
        let next = channels * whole(1, 2);
        for block in 0..whole(1, 4) {
            let from = if block == 0 { channels } else { next };
            let stride = if block == 0 && stage > 0 && size > 7 { 2 } else { 1 };
            let kernel = 1 + 2 * whole(0, 2);
            let name = format!("{stage}.{block}");
            if separable {
                layers.push(Layer::convolution(&name, [from, from], 3, stride, 1, from, size));
                size = size.div_ceil(stride);
                layers.push(Layer::convolution(&name, [from, next], 1, 1, 0, 1, size));
            } else {
                layers.push(Layer::convolution(
                    &name,
                    [from, next],
                    kernel,
                    stride,
                    kernel / 2,
                    1,
                    size,
                ));
                size = size.div_ceil(stride);
            }
        }
        channels = next;
    }
    let mut factor = |sd: f64| LogNormal::new(0.0, sd).expect("a deviation").sample(random);
    let own = factor(OF_NETWORKS);
    let efficiencies: Vec<f64> = layers.iter().map(|_| own * factor(OF_LAYERS)).collect();
    let took = |batch: u32| -> f64 {
        let of_layer = |(layer, efficiency): (&Layer, &f64)| {
            let [height, width] = layer.output.map(f64::from);
            let area = height * width * f64::from(batch);
            let weights = f64::from(layer.kernel[0] * layer.kernel[1])
                * f64::from(layer.in_channels / layer.groups)
                * f64::from(layer.out_channels);
            // 2 TFLOP/s, 40 GB/s of outputs and weights, and 15 µs for a launch.
            let work = 2.0 * weights * area / 2e9;
            let traffic = 4.0 * (area * f64::from(layer.out_channels) + weights) / 40e6;
            (work + traffic) * efficiency + 0.015
        };
        layers.iter().zip(&efficiencies).map(of_layer).sum()
    };
    let scatter = Normal::new(0.0, OF_ROWS).expect("a deviation");
    let measured = BATCHES.map(|batch| took(batch) * f64::exp(scatter.sample(random)));
    let table = LayerTable::new(layers).expect("layers follow each other");
    Network { table, measured }
}

fn data(networks: &[Network]) -> Dataset {
    let name = |number: usize| format!("network{number}");
    let row = |network: usize, batch: u32, value| Measured {
        device: 0,
        stage: Stage::Inference,
        target: Target::Latency,
        network: name(network),
        variant: "0".to_owned(),
        batch,
        value,
        stalled: false,
    };
    let measured = |(number, network): (usize, &Network)| {
        let rows = BATCHES.into_iter().zip(network.measured);
        rows.map(move |(batch, ms)| row(number, batch, ms))
            .collect::<Vec<Measured>>()
    };
    let tables = networks.iter().enumerate();
    Dataset {
        devices: vec![Device::unknown("made")],
        networks: tables
            .map(|(number, network)| ((name(number), "0".to_owned()), network.table.clone()))
            .collect(),
        rows: networks.iter().enumerate().flat_map(measured).collect(),
        failed: Vec::new(),
        undescribed: Vec::new(),
        stalls: Vec::new(),
        hash: String::new(),
    }
}

fn rows(networks: usize, seeds: u64) -> Vec<Row> {
    let options = FitOptions {
        features: Some(FeatureSet::Jetlag),
        trees: 30,
        threads: 1,
        ..FitOptions::default()
    };
    let (mut held, mut given) = (0, 0);
    let mut widths = Vec::new();
    for seed in 0..seeds {
        let mut random = Pcg64::seed_from_u64(seed);
        let fitted: Vec<Network> = (0..networks).map(|_| network(&mut random)).collect();
        let next = network(&mut random);
        let model = fit(&data(&fitted), &options).expect("the rows differ");
        // One batch of each: those of a network err alike.
        let place = seed as usize % BATCHES.len();
        let answer = model.apply(&Question {
            table: &next.table,
            batch: BATCHES[place],
            stage: Stage::Inference,
            device: None,
            deadline_ms: None,
        });
        let answer = answer.expect("a question within the ranges");
        let interval = answer.of(Target::Latency).and_then(|latency| latency.interval);
        let Some(interval) = interval else { continue };
        given += 1;
        let truth = next.measured[place];
        held += u64::from(interval.low <= truth && truth <= interval.high);
        widths.push((interval.high / interval.low).sqrt() - 1.0);
    }
    widths.sort_by(f64::total_cmp);
    let row = Row::new(
        PART,
        format!("{networks} fitted networks, another one"),
        "90 % interval of its latency holds it",
        (held, given),
        Promise::AtLeast(0.87),
    );
    vec![row.width(widths.get(widths.len() / 2).copied())]
}
