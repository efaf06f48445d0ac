//! Known answers of small networks, by hand.

use super::*;
use crate::layers::{Layer, LayerKind, LayerTable, Weights};

fn table(layers: Vec<Layer>) -> LayerTable {
    LayerTable::new(layers).unwrap()
}

fn term(table: &LayerTable, batch: u32, name: &str) -> f64 {
    let at = TERM_NAMES.iter().position(|known| *known == name).unwrap();
    jetlag(table, batch, &Device::unknown("none"))[at]
}

#[test]
fn terms_of_two_layers() {
    let two = table(vec![
        Layer::convolution("a", [3, 33], 3, 1, 1, 1, 8),
        Layer::convolution("b", [33, 16], 1, 1, 0, 1, 8),
    ]);
    assert_eq!(term(&two, 2, "batch"), 2.0);
    assert_eq!(term(&two, 2, "layers_with_weights"), 2.0);
    let near = |name: &str, wanted: f64| {
        let own = term(&two, 2, name);
        assert!(
            (own - wanted).abs() < 1e-12 * wanted.max(1.0),
            "{name}: {own}, wanted {wanted}"
        );
    };
    near("work_spatial_gmac", 2.0 * 33.0 * 27.0 * 64.0 / 1e9);
    near("work_pointwise_gmac", 2.0 * 33.0 * 16.0 * 64.0 / 1e9);
    // Forward pads 16 to 32, the input's gradient 33 to 64, the weights' gradient both.
    near(
        "work_pointwise_tile_32_gmac",
        2.0 * 33.0 * 16.0 * 64.0 / 1e9 * (2.0 + 64.0 / 33.0 + 2.0 * 64.0 / 33.0) / 3.0,
    );
    near("written_mib", 2.0 * 4.0 * (33.0 + 16.0) * 64.0 / 1_048_576.0);
    near("weights_mib", 4.0 * (33.0 * 27.0 + 33.0 * 16.0) / 1_048_576.0);
    near(
        "transform_mib",
        4.0 * 36.0 * (2.0 * 4.0 * 36.0 + 99.0) / 1_048_576.0,
    );
    near("live_peak_mib", 2.0 * 4.0 * 49.0 * 64.0 / 1_048_576.0);
}

#[test]
fn the_live_peak_follows_who_reads() {
    let mut layers: Vec<Layer> = (0..3)
        .map(|at| Layer::convolution(&at.to_string(), [4, 4], 1, 1, 0, 1, 10))
        .collect();
    layers.push(Layer {
        kind: LayerKind::Elementwise,
        reads: vec![0, 2],
        ..layers[0].clone()
    });
    // The first output lives until the sum: three tensors of 400 at once.
    assert_eq!(peak_live_values(&table(layers.clone())), 1200.0);
    layers[3].reads = vec![2];
    assert_eq!(peak_live_values(&table(layers)), 800.0);
}

/// A stem of 16 channels, a norm on it, a narrow layer of 4, and a wide one of 12 that reads it.
fn normed() -> Vec<Layer> {
    let layer = |kind, channels: [u32; 2], reads: Vec<usize>| Layer {
        kind,
        reads,
        ..Layer::convolution("layer", channels, 1, 1, 0, 1, 10)
    };
    vec![
        layer(LayerKind::Convolution, [3, 16], vec![]),
        layer(LayerKind::BatchNorm, [16, 16], vec![0]),
        layer(LayerKind::Convolution, [16, 4], vec![1]),
        layer(LayerKind::Convolution, [4, 12], vec![2]),
    ]
}

#[test]
fn a_block_is_reused_whole_and_what_no_block_holds_takes_a_new_one() {
    let mib = |values: f64| 4.0 * values / 1_048_576.0;
    let layers = normed();
    // The norm works in place; the narrow layer takes a new block while the wide one lives, and the last takes the stem's.
    assert_eq!(term(&table(layers.clone()), 1, "blocks_mib"), mib(2000.0));
    assert_eq!(term(&table(layers.clone()), 3, "blocks_mib"), 3.0 * mib(2000.0));
    // Three channels go in, twelve come out.
    assert_eq!(term(&table(layers.clone()), 1, "ends_mib"), mib(1500.0));
    // A last layer that is larger than every free block.
    let mut wider = layers;
    wider[3].out_channels = 17;
    assert_eq!(term(&table(wider), 1, "blocks_mib"), mib(3700.0));
}

#[test]
fn a_norm_that_is_folded_copies_the_weights_before_it() {
    let mib = |values: f64| 4.0 * values / 1_048_576.0;
    let all = 48.0 + 64.0 + 48.0;
    assert_eq!(term(&table(normed()), 1, "weights_held_mib"), mib(all + 48.0));
    // Somebody else needs what the norm reads: nothing is folded.
    let mut shared = normed();
    shared[3].reads = vec![0, 2];
    assert_eq!(term(&table(shared), 1, "weights_held_mib"), mib(all));
    assert_eq!(term(&table(normed()), 1, "largest_kernel_mib"), mib(64.0));
}

#[test]
fn nodes_that_compute_with_sizes_are_launched_and_change_nothing_else() {
    let plain = table(normed());
    // Two before the first layer and one behind each other one, as exporters write them.
    let sizes = Layer {
        kind: LayerKind::Sizes,
        ..Layer::convolution("size", [1, 1], 1, 1, 0, 1, 1)
    };
    let mut all = vec![sizes.clone(), sizes.clone()];
    for (at, mut layer) in normed().into_iter().enumerate() {
        layer.reads = layer.reads.iter().map(|from| 2 * from + 2).collect();
        all.push(layer);
        assert_eq!(all.len(), 2 * at + 3);
        all.push(sizes.clone());
    }
    let with_sizes = table(all);
    for name in TERM_NAMES {
        let more = if name == "other_layers" { 6.0 } else { 0.0 };
        assert_eq!(term(&with_sizes, 3, name), term(&plain, 3, name) + more, "{name}");
    }
}

#[test]
fn a_transposed_convolution_multiplies_for_each_of_its_inputs() {
    let up = Layer {
        kernel: [2, 2],
        stride: [2, 2],
        output: [20, 20],
        ..Layer::convolution("up", [8, 4], 1, 1, 0, 1, 10)
    };
    let work = 8.0 * 4.0 * 4.0 * 100.0 / 1e9;
    assert_eq!(term(&table(vec![up]), 1, "work_spatial_gmac"), work);
    let down = Layer::convolution("down", [8, 4], 2, 2, 0, 1, 20);
    assert_eq!(term(&table(vec![down]), 1, "work_spatial_gmac"), work);
}

#[test]
fn depthwise_layers_are_traffic() {
    let one = table(vec![Layer::convolution("dw", [32, 32], 3, 1, 1, 32, 8)]);
    assert_eq!(term(&one, 1, "work_spatial_tile_64_gmac"), 0.0);
    assert!(term(&one, 1, "work_depthwise_gmac") > 0.0 && term(&one, 1, "written_depthwise_mib") > 0.0);
}

#[test]
fn layers_without_weights_are_left_aside() {
    let mixed = table(vec![
        Layer::convolution("a", [3, 8], 3, 1, 1, 1, 8),
        Layer {
            kind: LayerKind::Pool,
            ..Layer::convolution("p", [8, 8], 2, 2, 0, 1, 8)
        },
    ]);
    assert!(!mixed.has_only_weights() && term(&mixed, 1, "other_layers") == 1.0);
    let reduced = mixed.with_weights().unwrap();
    assert_eq!(
        (reduced.layers().len(), term(&reduced, 1, "written_other_mib")),
        (1, 0.0)
    );
    assert_eq!(
        perf4sight(&mixed, 3, Stage::Training),
        perf4sight(&reduced, 3, Stage::Training)
    );
    assert_eq!(perf4sight(&mixed, 3, Stage::Inference).len(), 15);
}

#[test]
fn shared_weights_are_held_once_and_read_twice_and_made_ones_are_not_held() {
    let of = |second: Weights| {
        let layer = |weights| Layer {
            weights,
            ..Layer::convolution("layer", [4, 4], 1, 1, 0, 1, 10)
        };
        table(vec![layer(Weights::Own), layer(second)])
    };
    let one = 4.0 * 16.0 / 1_048_576.0;
    let count = |second, batch, name| (term(&of(second), batch, name) / one).round();
    for (second, read, held) in [
        (Weights::Own, 2.0, 2.0),
        (Weights::Shared, 2.0, 1.0),
        (Weights::Made, 1.0, 1.0),
    ] {
        assert_eq!(count(second, 3, "weights_mib"), read);
        assert_eq!(count(second, 3, "weights_held_mib"), held);
    }
    // What is made is read for each item.
    let more = count(Weights::Made, 3, "read_mib") - count(Weights::Own, 3, "read_mib");
    assert_eq!(more, 3.0);
}
