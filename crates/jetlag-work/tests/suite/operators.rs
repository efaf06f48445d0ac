//! Known answers for each family of operators, worked out by hand.

use jetlag_work::{Bound, Given, Graph, Options, Work, work};

use crate::build::{INT8, INT32, INT64, Net, Set};

fn count(net: &Net) -> Work {
    work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap()
}

/// Multiply-adds, other operations, and the first output's shape of the last node.
fn last(net: &Net) -> (u64, u64, Vec<u64>) {
    let made = count(net);
    let node = made.nodes.last().unwrap();
    let (flops, macs) = (node.flops.unwrap(), node.macs.unwrap());
    (macs, flops - 2 * macs, node.outputs[0].clone().unwrap())
}

#[test]
fn convolutions_of_all_kinds() {
    let same = &[Set::Ints("pads", &[1; 4])][..];
    let mut plain = Net::new(17);
    plain
        .input("x", "2 3 8 8")
        .weight("w", &[6, 3, 3, 3])
        .weight("b", &[6])
        .node("Conv", "x w b", "y", same);
    assert_eq!(last(&plain), (2 * 6 * 64 * 27, 2 * 6 * 64, vec![2, 6, 8, 8]));

    let mut grouped = Net::new(17);
    let settings = [
        Set::Int("group", 3),
        Set::Ints("strides", &[2, 2]),
        Set::Ints("dilations", &[2, 2]),
    ];
    grouped
        .input("x", "2 6 9 9")
        .weight("w", &[12, 2, 3, 3])
        .node("Conv", "x w", "y", &settings);
    assert_eq!(last(&grouped), (2 * 12 * 9 * 18, 0, vec![2, 12, 3, 3]));

    let mut line = Net::new(17);
    line.input("x", "1 4 10").weight("w", &[5, 4, 3]).node(
        "Conv",
        "x w",
        "y",
        &[Set::Text("auto_pad", "SAME_UPPER")],
    );
    assert_eq!(last(&line), (5 * 10 * 12, 0, vec![1, 5, 10]));

    let mut space = Net::new(17);
    space
        .input("x", "1 2 4 4 4")
        .weight("w", &[3, 2, 2, 2, 2])
        .node("Conv", "x w", "y", &[]);
    assert_eq!(last(&space), (3 * 27 * 16, 0, vec![1, 3, 3, 3, 3]));

    let mut transposed = Net::new(17);
    let settings = [
        Set::Ints("strides", &[2, 2]),
        Set::Int("group", 2),
        Set::Ints("output_padding", &[1, 1]),
    ];
    transposed
        .input("x", "1 4 5 5")
        .weight("w", &[4, 3, 3, 3])
        .weight("b", &[6])
        .node("ConvTranspose", "x w b", "y", &settings);
    assert_eq!(last(&transposed), (4 * 25 * 3 * 9, 6 * 144, vec![1, 6, 12, 12]));

    let mut deformable = Net::new(19);
    deformable
        .input("x", "1 4 6 6")
        .weight("w", &[8, 4, 3, 3])
        .input("offset", "1 18 4 4")
        .node("DeformConv", "x w offset", "y", &[]);
    assert_eq!(last(&deformable), (8 * 16 * 36, 4 * 9 * 16 * 7, vec![1, 8, 4, 4]));

    let mut quantised = Net::new(17);
    quantised
        .typed_input("x", INT8, "1 3 8 8")
        .typed_weight("w", INT8, &[4, 3, 3, 3])
        .typed_weight("b", INT32, &[4])
        .weight("s", &[])
        .typed_weight("z", INT8, &[])
        .node("QLinearConv", "x s z w s z s z b", "y", &[]);
    assert_eq!(last(&quantised), (4 * 36 * 27, 4 * 36 * 6, vec![1, 4, 6, 6]));
    let made = count(&quantised);
    // Bytes: the picture and the weights, the biases of 4, the scales (one tensor), the zero points.
    assert_eq!(made.nodes[0].bytes_read, Some(192 + 108 + 16 + 4 + 1));
    assert_eq!(
        (made.nodes[0].bytes_written, made.totals.params),
        (Some(144), 112)
    );
}

#[test]
fn products_of_matrices() {
    let mut gemm = Net::new(17);
    gemm.input("x", "5 7")
        .weight("w", &[6, 7])
        .weight("b", &[6])
        .node(
            "Gemm",
            "x w b",
            "y",
            &[Set::Int("transB", 1), Set::Float("alpha", 0.5)],
        );
    assert_eq!(last(&gemm), (210, 60, vec![5, 6]));

    let mut of_two = Net::new(17);
    of_two
        .input("q", "2 8 16 32")
        .input("k", "1 8 32 10")
        .node("MatMul", "q k", "y", &[]);
    assert_eq!(last(&of_two), (2 * 8 * 16 * 32 * 10, 0, vec![2, 8, 16, 10]));

    let mut vector = Net::new(17);
    vector
        .input("a", "3 4 5")
        .input("b", "5")
        .node("MatMul", "a b", "y", &[]);
    assert_eq!(last(&vector), (60, 0, vec![3, 4]));

    let mut einsum = Net::new(17);
    einsum.input("a", "2 3 4 5").input("b", "2 6 4 5").node(
        "Einsum",
        "a b",
        "y",
        &[Set::Text("equation", "bqhd,bkhd->bhqk")],
    );
    assert_eq!(last(&einsum), (2 * 4 * 3 * 6 * 5, 0, vec![2, 4, 3, 6]));

    let mut ellipsis = Net::new(17);
    ellipsis.input("a", "7 2 3").input("b", "3 4").node(
        "Einsum",
        "a b",
        "y",
        &[Set::Text("equation", "...ij,jk->...ik")],
    );
    assert_eq!(last(&ellipsis), (7 * 2 * 3 * 4, 0, vec![7, 2, 4]));
}

#[test]
fn attention_and_its_parts() {
    let mut whole = Net::new(23);
    whole
        .input("q", "2 4 64")
        .input("k", "2 6 32")
        .input("v", "2 6 32")
        .node(
            "Attention",
            "q k v",
            "y",
            &[Set::Int("q_num_heads", 8), Set::Int("kv_num_heads", 4)],
        );
    let scores = 2 * 8 * 4 * 6;
    assert_eq!(last(&whole), (scores * 8 * 2, scores * 6, vec![2, 4, 64]));

    let mut softmax = Net::new(17);
    softmax.input("x", "2 8 16 10").node("Softmax", "x", "y", &[]);
    assert_eq!(last(&softmax), (0, 5 * 2560, vec![2, 8, 16, 10]));

    let mut norm = Net::new(17);
    norm.input("x", "2 5 8").weight("s", &[8]).weight("b", &[8]).node(
        "LayerNormalization",
        "x s b",
        "y",
        &[],
    );
    assert_eq!(last(&norm), (0, 7 * 80, vec![2, 5, 8]));
}

#[test]
fn recurrent_networks_with_length_batch_and_directions() {
    let mut lstm = Net::new(17);
    lstm.input("x", "10 3 16")
        .weight("w", &[2, 80, 16])
        .weight("r", &[2, 80, 20])
        .weight("b", &[2, 160])
        .node(
            "LSTM",
            "x w r b",
            "y h c",
            &[
                Set::Int("hidden_size", 20),
                Set::Text("direction", "bidirectional"),
            ],
        );
    let steps = 10 * 3 * 2;
    assert_eq!(
        last(&lstm),
        (steps * 80 * 36, steps * 20 * 22, vec![10, 2, 3, 20])
    );
    assert_eq!(count(&lstm).totals.params, 2 * 80 * (16 + 20 + 2));

    let mut gru = Net::new(17);
    gru.input("x", "10 3 16")
        .weight("w", &[1, 60, 16])
        .weight("r", &[1, 60, 20])
        .node("GRU", "x w r", "y", &[Set::Int("hidden_size", 20)]);
    assert_eq!(last(&gru), (30 * 60 * 36, 30 * 20 * 14, vec![10, 1, 3, 20]));

    let mut lengths = Net::new(17);
    lengths
        .input("x", "10 3 16")
        .weight("w", &[1, 20, 16])
        .weight("r", &[1, 20, 20])
        .typed_input("lengths", INT32, "3")
        .node("RNN", "x w r - lengths", "y", &[Set::Int("hidden_size", 20)]);
    assert_eq!(count(&lengths).nodes[0].bound, Bound::UpperBound);
}

#[test]
fn pooling_resizing_and_sampling() {
    let mut max = Net::new(17);
    let settings = [
        Set::Ints("kernel_shape", &[3, 3]),
        Set::Ints("strides", &[2, 2]),
        Set::Int("ceil_mode", 1),
    ];
    max.input("x", "1 4 8 8").node("MaxPool", "x", "y", &settings);
    assert_eq!(last(&max), (0, 8 * 4 * 16, vec![1, 4, 4, 4]));

    let mut average = Net::new(17);
    average
        .input("x", "1 4 8 8")
        .node("AveragePool", "x", "y", &[Set::Ints("kernel_shape", &[2, 2])]);
    assert_eq!(last(&average), (0, 4 * 4 * 49, vec![1, 4, 7, 7]));

    let resize = |mode: &str| {
        let mut net = Net::new(17);
        net.input("x", "1 3 8 8").floats("s", &[1.0, 1.0, 2.0, 2.0]).node(
            "Resize",
            "x - s",
            "y",
            &[Set::Text("mode", mode)],
        );
        last(&net)
    };
    assert_eq!(resize("nearest"), (0, 0, vec![1, 3, 16, 16]));
    assert_eq!(resize("linear"), (0, 7 * 768, vec![1, 3, 16, 16]));
    assert_eq!(resize("cubic"), (0, 31 * 768, vec![1, 3, 16, 16]));

    let mut grid = Net::new(17);
    grid.input("x", "1 3 8 8")
        .input("g", "1 5 6 2")
        .node("GridSample", "x g", "y", &[]);
    assert_eq!(last(&grid), (0, 7 * 90 + 2 * 60, vec![1, 3, 5, 6]));
}

#[test]
fn reductions_and_what_stretches() {
    let mut mean = Net::new(18);
    mean.input("x", "2 3 4").list("axes", &[-1]).node(
        "ReduceMean",
        "x axes",
        "y",
        &[Set::Int("keepdims", 0)],
    );
    assert_eq!(last(&mean), (0, 24 + 6, vec![2, 3]));

    let mut stretched = Net::new(17);
    stretched
        .input("x", "2 1 4")
        .input("y", "3 1")
        .node("Mul", "x y", "z", &[]);
    assert_eq!(last(&stretched), (0, 24, vec![2, 3, 4]));
    let node = &count(&stretched).nodes[0];
    assert_eq!(
        (node.bytes_read, node.bytes_written),
        (Some(4 * 11), Some(4 * 24))
    );

    let mut squared = Net::new(17);
    squared.input("x", "6").node("Mul", "x x", "y", &[]);
    assert_eq!(count(&squared).nodes[0].bytes_read, Some(24));
}

#[test]
fn picking_reads_what_it_picks() {
    let mut gather = Net::new(17);
    gather
        .weight("table", &[30_000, 64])
        .typed_input("ids", INT64, "2 8")
        .node("Gather", "table ids", "y", &[]);
    let made = count(&gather);
    assert_eq!(made.nodes[0].bytes_read, Some(2 * 8 * 64 * 4 + 16 * 8));
    assert_eq!((made.totals.params, made.outputs.len()), (30_000 * 64, 0));

    let mut scatter = Net::new(18);
    scatter
        .input("x", "8 4")
        .typed_input("i", INT64, "3 1")
        .input("u", "3 4")
        .node("ScatterND", "x i u", "y", &[Set::Text("reduction", "add")]);
    assert_eq!(last(&scatter), (0, 12, vec![8, 4]));
}

#[test]
fn what_depends_on_data_is_a_bound() {
    let mut net = Net::new(17);
    net.input("boxes", "1 100 4")
        .input("scores", "1 5 100")
        .list("most", &[10])
        .node("NonMaxSuppression", "boxes scores most", "kept", &[]);
    let made = count(&net);
    let node = &made.nodes[0];
    assert_eq!(
        (&node.bound, node.outputs[0].clone()),
        (&Bound::UpperBound, Some(vec![50, 3]))
    );
    assert_eq!(node.flops, Some(5 * 100 * 10 * 13 + 5 * 100 * 7));
    assert_eq!(made.totals.nodes_bound, 1);
}

#[test]
fn an_unknown_operator_is_named_and_never_nothing() {
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .node_of("vendor", "Magic", "x", "y", &[])
        .node("Relu", "y", "z", &[])
        .node("Relu", "x", "v", &[])
        .output("z");
    let made = count(&net);
    assert_eq!((made.nodes[0].flops, made.nodes[0].bytes_written), (None, None));
    assert_eq!((made.unknown.nodes, made.totals.flops), (2, 6));
    assert!((made.unknown.share - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(
        made.unknown.operators["vendor.Magic"].1,
        "the domain `vendor` is not known here"
    );

    // A shape that the graph declares lets what follows be counted.
    net.declare("y", 1, "4 5");
    let made = count(&net);
    assert_eq!((made.unknown.nodes, made.totals.flops), (1, 20 + 6));
    assert_eq!(made.nodes[0].flops, None);
}

#[test]
fn shapes_that_are_computed_are_carried_along() {
    let mut net = Net::new(13);
    net.input("x", "2 12 5 7")
        .node("Shape", "x", "s", &[])
        .list("zero", &[0])
        .list("two", &[2])
        .node("Gather", "s zero", "n", &[])
        .list("four", &[4])
        .node("Slice", "s two four", "hw", &[])
        .node("Mul", "hw two", "twice", &[])
        .list("c", &[3])
        .node("Concat", "n c twice", "shape", &[Set::Int("axis", 0)])
        .node("Reshape", "x shape", "y", &[])
        .node("Relu", "y", "z", &[])
        .output("z");
    assert_eq!(last(&net), (0, 840, vec![2, 3, 10, 14]));
}

#[test]
fn old_operator_sets_keep_their_attributes() {
    let mut net = Net::new(7);
    net.input("x", "1 4 6 6")
        .node(
            "Slice",
            "x",
            "s",
            &[
                Set::Ints("starts", &[0]),
                Set::Ints("ends", &[2]),
                Set::Ints("axes", &[1]),
            ],
        )
        .node("Upsample", "s", "u", &[])
        .output("u");
    let error = work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("neither sizes nor scales"));

    let mut net = Net::new(9);
    net.input("x", "1 4 6 6")
        .node(
            "Slice",
            "x",
            "s",
            &[
                Set::Ints("starts", &[0]),
                Set::Ints("ends", &[2]),
                Set::Ints("axes", &[1]),
            ],
        )
        .node("Unsqueeze", "s", "u", &[Set::Ints("axes", &[0])])
        .node(
            "ReduceSum",
            "u",
            "r",
            &[Set::Ints("axes", &[-1]), Set::Int("keepdims", 0)],
        )
        .output("r");
    assert_eq!(last(&net), (0, 72, vec![1, 1, 2, 6]));
}
