//! Layers of networks as models of latency take them: whose weights, which batch, and what only computes with sizes.

use jetlag_work::{Given, Graph, LayerShape, Layers, layers};

use crate::build::{Net, Set};

fn of(net: &Net) -> Layers {
    layers(&Graph::from_bytes(&net.bytes()).unwrap(), &Given::default()).unwrap()
}

fn operators(layers: &Layers) -> Vec<&str> {
    layers
        .layers
        .iter()
        .map(|layer| layer.operator.as_str())
        .collect()
}

#[test]
fn weights_that_are_named_anew_are_those_that_are_stored() {
    let mut net = Net::new(17);
    net.input("x", "2 4 8 8")
        .weight("w", &[4, 4, 1, 1])
        .weight("bias", &[4])
        .node("Identity", "w", "again", &[])
        .node("Identity", "again", "and-again", &[])
        .node("Conv", "x w bias", "a", &[])
        .node("Conv", "a and-again", "b", &[])
        .output("b");
    let all = of(&net);
    assert_eq!((all.batch, operators(&all)), (2, vec!["Conv", "Conv"]));
    assert!(
        all.layers
            .iter()
            .all(|layer| layer.weights.as_deref() == Some("w"))
    );
    assert_eq!(all.layers[1].reads, [0]);
}

#[test]
fn what_two_tensors_make_has_no_weights() {
    let mut net = Net::new(17);
    net.input("x", "1 2 5 3")
        .weight("w", &[3, 3])
        .node("Transpose", "x", "t", &[Set::Ints("perm", &[0, 1, 3, 2])])
        .node("MatMul", "x t", "scores", &[])
        .node("MatMul", "x w", "y", &[])
        .output("scores")
        .output("y");
    let all = of(&net);
    let weights: Vec<Option<&str>> = all.layers.iter().map(|layer| layer.weights.as_deref()).collect();
    assert_eq!(operators(&all), ["Transpose", "MatMul", "MatMul"]);
    assert_eq!(weights, [None, None, Some("w")]);
}

#[test]
fn nodes_that_compute_with_sizes_are_told_apart_and_nothing_reads_them() {
    let mut net = Net::new(13);
    net.input("x", "3 12 5 7")
        .node("Shape", "x", "s", &[])
        .list("two", &[2])
        .list("four", &[4])
        .node("Slice", "s two four", "sides", &[])
        .node("Mul", "sides two", "twice", &[])
        .list("c", &[9, 1])
        .node("Concat", "c twice", "shape", &[Set::Int("axis", 0)])
        .node("Relu", "x", "r", &[])
        .node("Reshape", "r shape", "y", &[])
        .node("Neg", "y", "z", &[])
        .output("z");
    let all = of(&net);
    // The first node is of sizes, and the batch is the input's.
    assert_eq!(all.batch, 3);
    assert_eq!(operators(&all), ["Slice", "Mul", "Concat", "Relu", "Neg"]);
    let is_of_sizes: Vec<bool> = all.layers.iter().map(|layer| layer.is_of_sizes).collect();
    assert_eq!(is_of_sizes, [true, true, true, false, false]);
    let reads: Vec<&Vec<usize>> = all.layers.iter().map(|layer: &LayerShape| &layer.reads).collect();
    assert_eq!(reads[4], &[3]);
    assert!(reads[..4].iter().all(|reads| reads.is_empty()));
}
