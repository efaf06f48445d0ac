//! Training steps, held against PyTorch's counter: 2.15.0, `torch.utils.flop_counter.FlopCounterMode` around the forward pass,
//! and around forward and backward. It counts matrix products and convolutions alone.

use jetlag_work::{Given, Graph, Optimiser, Options, TrainingWork, Work, work};

use crate::build::{Net, Set};
use crate::networks::resnet50;

fn step(net: &Net, given: &Given) -> Work {
    let options = Options {
        training: Some(Optimiser::Adam),
        ..Options::default()
    };
    work(&Graph::from_bytes(&net.bytes()).unwrap(), given, &options).unwrap()
}

fn training(net: &Net) -> TrainingWork {
    step(net, &Given::default()).training.unwrap()
}

#[test]
fn resnet50_is_what_pytorch_counts_forward_and_back() {
    let mut given = Given::default();
    given.dim("batch=2").unwrap();
    let step = step(&resnet50("batch"), &given).training.unwrap();
    assert_eq!(2 * step.forward_macs, 2 * 8_178_368_512);
    assert_eq!(2 * (step.forward_macs + step.backward_macs), 48_598_155_264);
}

/// A gated network over 8 steps of batch 4 from 64 to 128, and a layer to 10. The state before the first step has no gradient.
#[test]
fn a_gated_network_is_what_pytorch_counts() {
    let mut net = Net::new(17);
    net.input("x", "8 4 64")
        .weight("w", &[1, 384, 64])
        .weight("r", &[1, 384, 128])
        .weight("b", &[1, 768])
        .node(
            "GRU",
            "x w r b",
            "y",
            &[Set::Int("hidden_size", 128), Set::Int("linear_before_reset", 1)],
        )
        .list("axes", &[1])
        .node("Squeeze", "y axes", "s", &[])
        .weight("f", &[128, 10])
        .node("MatMul", "s f", "o", &[])
        .output("o");
    let step = training(&net);
    assert_eq!(2 * step.forward_macs, 4_800_512);
    assert_eq!(2 * (step.forward_macs + step.backward_macs), 12_435_456);
}

/// PyTorch's counter takes the gradient of a grouped convolution's weight as if it had no groups: with 8 groups, 8 times. Ours
/// does not; the difference is just that.
#[test]
fn grouped_convolutions_differ_from_pytorch_by_the_groups_of_the_weights_gradient() {
    let mut net = Net::new(17);
    let conv = |stride: i64, groups: i64| {
        vec![
            Set::Ints("kernel_shape", if stride == 1 { &[1, 1] } else { &[3, 3] }),
            Set::Ints("strides", if stride == 1 { &[1, 1] } else { &[2, 2] }),
            Set::Ints("pads", if stride == 1 { &[0; 4] } else { &[1; 4] }),
            Set::Int("group", groups),
        ]
    };
    net.input("x", "2 3 64 64")
        .weight("w1", &[16, 3, 3, 3])
        .node("Conv", "x w1", "a", &conv(2, 1))
        .node("Sigmoid", "a", "as", &[])
        .node("Mul", "a as", "b", &[])
        .weight("w2", &[32, 2, 3, 3])
        .node("Conv", "b w2", "c", &conv(2, 8))
        .weight("w3", &[32, 8, 4, 4])
        .node(
            "ConvTranspose",
            "c w3",
            "d",
            &[
                Set::Ints("strides", &[2, 2]),
                Set::Ints("pads", &[1; 4]),
                Set::Int("group", 2),
            ],
        )
        .floats("scales", &[1.0, 1.0, 2.0, 2.0])
        .node("Resize", "d - scales", "e", &[Set::Text("mode", "linear")])
        .weight("w4", &[5, 16, 1, 1])
        .node("Conv", "e w4", "f", &conv(1, 1))
        .output("f");
    let step = training(&net);
    assert_eq!(2 * step.forward_macs, 7_864_320);
    let (grouped, transposed) = (294_912, 2_097_152);
    let extra = grouped * 7 + transposed;
    assert_eq!(2 * (step.forward_macs + step.backward_macs + extra), 30_146_560);
}

#[test]
fn a_product_of_two_activations_goes_back_twice_and_a_picture_has_no_gradient() {
    let mut net = Net::new(17);
    net.input("x", "5 7")
        .weight("w", &[7, 6])
        .node("MatMul", "x w", "a", &[])
        .node("Transpose", "a", "t", &[])
        .node("MatMul", "a t", "o", &[])
        .output("o");
    let step = training(&net);
    let (first, second) = (5 * 7 * 6, 5 * 6 * 5);
    assert_eq!(step.forward_macs, first + second);
    assert_eq!(step.backward_macs, first + 2 * second);
    assert_eq!(step.trained_params, 42);
    assert_eq!(step.optimiser_flops, 42 * Optimiser::Adam.flops_per_parameter());
    // What is multiplied is kept: the picture, and the two activations.
    assert_eq!(step.kept_activation_bytes, Some(4 * (35 + 30 + 30)));
}

#[test]
fn without_weights_nothing_comes_back() {
    let mut net = Net::new(17);
    net.input("x", "5 7").node("Relu", "x", "y", &[]).output("y");
    let step = training(&net);
    assert_eq!(
        (step.backward_flops, step.optimiser_flops, step.trained_params),
        (0, 0, 0)
    );
}
