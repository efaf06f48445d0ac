//! Traffic in two models, element sizes, and what lives at once.

use jetlag_work::{As, Given, Graph, Options, Work, work};

use crate::build::{INT8, Net, Set};

fn count_as(net: &Net, element: As) -> Work {
    let options = Options {
        element,
        training: None,
    };
    work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &options,
    )
    .unwrap()
}

fn count(net: &Net) -> Work {
    count_as(net, As::Stored)
}

/// A convolution of 1x4x8x8 by 4 filters of 1x1, then what follows.
fn after_a_convolution() -> Net {
    let mut net = Net::new(17);
    net.input("x", "1 4 8 8")
        .weight("w", &[4, 4, 1, 1])
        .node("Conv", "x w", "a", &[]);
    net
}

const WHOLE: u64 = 4 * 256;
const FILTERS: u64 = 4 * 16;

#[test]
fn a_chain_stays_on_the_chip() {
    let mut net = after_a_convolution();
    net.node("Sigmoid", "a", "b", &[])
        .node("Mul", "a b", "c", &[])
        .output("c");
    let totals = count(&net).totals;
    assert_eq!(totals.round_trip_bytes, FILTERS + WHOLE * (2 + 2 + 3));
    assert_eq!(
        (totals.fused_bytes, totals.fused_groups),
        (FILTERS + 2 * WHOLE, 1)
    );
}

#[test]
fn what_somebody_else_takes_is_written() {
    let mut net = after_a_convolution();
    net.node("Relu", "a", "b", &[])
        .node("Softmax", "a", "c", &[])
        .output("b")
        .output("c");
    let totals = count(&net).totals;
    // The convolution and the Relu are one group and write both; the Softmax reads one of them.
    assert_eq!(totals.fused_bytes, FILTERS + WHOLE * (1 + 2) + 2 * WHOLE);
}

#[test]
fn a_sum_joins_the_later_of_the_two_it_takes() {
    let mut net = after_a_convolution();
    net.weight("v", &[4, 4, 1, 1])
        .node("Conv", "a v", "b", &[])
        .node("Add", "b a", "c", &[])
        .node("Relu", "c", "d", &[])
        .output("d");
    let made = count(&net);
    assert_eq!(made.totals.fused_bytes, 2 * (FILTERS + 2 * WHOLE));
    let groups: Vec<Option<usize>> = made.nodes.iter().map(|node| node.group).collect();
    assert_eq!(groups, [Some(0), Some(1), Some(1), Some(1)]);
}

#[test]
fn views_move_nothing() {
    let mut net = Net::new(17);
    net.input("x", "2 6")
        .list("s", &[3, 4])
        .node("Reshape", "x s", "y", &[])
        .node("Relu", "y", "z", &[])
        .output("z");
    let totals = count(&net).totals;
    assert_eq!((totals.round_trip_bytes, totals.fused_bytes), (96, 96));
    assert_eq!(totals.peak_activation_bytes, Some(96));
}

#[test]
fn quantised_tensors_are_read_as_they_are_stored() {
    let mut net = Net::new(17);
    net.input("x", "1 4 8 8")
        .weight("s", &[])
        .typed_weight("z", INT8, &[])
        .typed_weight("w", INT8, &[4, 4, 1, 1])
        .node("QuantizeLinear", "x s z", "q", &[])
        .node("DequantizeLinear", "q s z", "d", &[])
        .node("DequantizeLinear", "w s z", "v", &[])
        .node("Conv", "d v", "a", &[])
        .node("QuantizeLinear", "a s z", "p", &[])
        .node("DequantizeLinear", "p s z", "e", &[])
        .node("Softmax", "e", "o", &[])
        .output("o");
    let totals = count(&net).totals;
    let quantise = WHOLE + 256 + 5;
    let convolve = 256 + 16 + 256 + 5;
    let rest = 256 + WHOLE + 5;
    assert_eq!(totals.fused_bytes, quantise + convolve + rest);
    assert_eq!((totals.params, totals.params_bytes), (16, 16));
}

#[test]
fn other_element_sizes_change_floating_point_alone() {
    let mut net = Net::new(17);
    net.input("x", "8")
        .typed_input("i", 7, "4")
        .node("Gather", "x i", "y", &[])
        .output("y");
    let bytes = |element| count_as(&net, element).totals.round_trip_bytes;
    assert_eq!(
        [As::Stored, As::Fp16, As::Int8].map(bytes),
        [32 + 32, 16 + 32, 8 + 32]
    );
}

#[test]
fn the_peak_is_where_most_lives() {
    let mut net = Net::new(17);
    net.input("x", "100")
        .node("Relu", "x", "a", &[])
        .node("Concat", "a a a", "b", &[Set::Int("axis", 0)])
        .node("ReduceMax", "b", "c", &[])
        .node("Add", "c x", "d", &[])
        .output("d");
    let totals = count(&net).totals;
    // The input is still needed when the three are put together.
    assert_eq!(
        (totals.peak_activation_bytes, totals.peak_at.as_deref()),
        (Some(4 * 500), Some("Concat_1"))
    );
}

#[test]
fn constants_are_computed_at_load() {
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .list("shape", &[3, 4])
        .node("ConstantOfShape", "shape", "w", &[])
        .node("Relu", "w", "v", &[])
        .node("MatMul", "x v", "y", &[])
        .output("y");
    let made = count(&net);
    assert_eq!(
        (made.totals.nodes_at_load, made.totals.params, made.totals.flops),
        (2, 12, 48)
    );
    assert_eq!(made.totals.round_trip_bytes, 4 * (6 + 12 + 8));
    assert!(made.nodes[1].at_load && made.nodes[1].flops == Some(12));
}
