//! Branches, loops and functions.

use jetlag_work::{Bound, Given, Graph, Options, Work, work};

use crate::build::{BOOL, INT64, Net, Set};

fn count(net: &Net) -> Work {
    work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap()
}

/// A body that multiplies what is carried with a matrix: `4x4` by `4x4`, 64 multiply-adds.
fn body(goes_on: &str) -> Net {
    let mut body = Net::new(17);
    body.typed_input("i", INT64, "")
        .typed_input("goes_on", BOOL, "")
        .input("a", "")
        .weight("m", &[4, 4])
        .node("MatMul", "a m", "b", &[]);
    match goes_on {
        "given" => body.node("Identity", "goes_on", "still", &[]),
        _ => body.node("Greater", "sum sum", "still", &[]),
    };
    if goes_on != "given" {
        let mut with_sum = Net::new(17);
        with_sum
            .typed_input("i", INT64, "")
            .typed_input("goes_on", BOOL, "")
            .input("a", "")
            .weight("m", &[4, 4])
            .node("MatMul", "a m", "b", &[])
            .node("ReduceMax", "b", "sum", &[Set::Int("keepdims", 0)])
            .node("Greater", "sum sum", "still", &[])
            .output("still")
            .output("b")
            .output("b");
        return with_sum;
    }
    body.output("still").output("b").output("b");
    body
}

fn looped(rounds: Option<i64>, goes_on: &str) -> Work {
    let mut net = Net::new(17);
    net.input("x", "4 4")
        .typed_input("n", INT64, "")
        .scalar("true", BOOL, 1);
    if let Some(rounds) = rounds {
        net.scalar("rounds", INT64, rounds);
    }
    let most = if rounds.is_some() { "rounds" } else { "n" };
    net.node(
        "Loop",
        &format!("{most} true x"),
        "last all",
        &[Set::Graph("body", &body(goes_on))],
    );
    net.output("last").output("all");
    count(&net)
}

#[test]
fn a_loop_of_known_length_is_exact() {
    let made = looped(Some(10), "given");
    assert_eq!((made.totals.macs, made.totals.nodes_bound), (640, 0));
    assert_eq!(made.outputs[0].1, Some(vec![4, 4]));
    assert_eq!(made.outputs[1].1, Some(vec![10, 4, 4]));
    let inner = made.nodes.iter().find(|node| node.operator == "MatMul").unwrap();
    assert_eq!((inner.times, &*inner.name), (10, "Loop_0/MatMul_0"));
    assert_eq!(made.totals.params, 16);
}

#[test]
fn a_loop_that_may_end_is_a_bound() {
    let made = looped(Some(10), "computed");
    assert_eq!(made.totals.macs, 640);
    let inner = made.nodes.iter().find(|node| node.operator == "MatMul").unwrap();
    assert_eq!(inner.bound, Bound::UpperBound);
}

#[test]
fn a_loop_without_a_number_is_not_known() {
    let made = looped(None, "given");
    let inner = made.nodes.iter().find(|node| node.operator == "MatMul").unwrap();
    assert_eq!((inner.flops, inner.bytes_read), (None, None));
    assert!(matches!(&inner.bound, Bound::Unknown(why) if why.contains("number of rounds depends on data")));
    assert!(made.unknown.share > 0.0);
    assert_eq!(made.outputs[0].1, Some(vec![4, 4]));
}

#[test]
fn a_number_that_no_loop_reaches_is_said_to_be_one() {
    let made = looped(Some(2_000_000_000), "given");
    let inner = made.nodes.iter().find(|node| node.operator == "MatMul").unwrap();
    assert!(
        matches!(&inner.bound, Bound::Unknown(why) if why.contains("more than 1000 million rounds")),
        "{:?}",
        inner.bound
    );
}

#[test]
fn a_loop_whose_shapes_grow_is_walked_round_by_round() {
    let mut body = Net::new(17);
    body.typed_input("i", INT64, "")
        .typed_input("goes_on", BOOL, "")
        .input("a", "")
        .node("Concat", "a a", "b", &[Set::Int("axis", 0)])
        .node("Relu", "b", "c", &[])
        .output("goes_on")
        .output("c");
    let mut net = Net::new(17);
    net.input("x", "1 3")
        .scalar("rounds", INT64, 4)
        .node("Loop", "rounds - x", "y", &[Set::Graph("body", &body)])
        .output("y");
    let made = count(&net);
    assert_eq!(made.totals.flops, 3 * (2 + 4 + 8 + 16));
    assert_eq!(made.outputs[0].1, Some(vec![16, 3]));
}

#[test]
fn a_scan_goes_along_its_axis() {
    let mut body = Net::new(17);
    body.input("s", "")
        .input("e", "")
        .node("Add", "s e", "t", &[])
        .node("Identity", "t", "u", &[])
        .output("t")
        .output("u");
    let mut net = Net::new(17);
    net.input("zero", "5")
        .input("x", "7 5")
        .node(
            "Scan",
            "zero x",
            "last all",
            &[Set::Graph("body", &body), Set::Int("num_scan_inputs", 1)],
        )
        .output("last")
        .output("all");
    let made = count(&net);
    assert_eq!(made.totals.flops, 35);
    assert_eq!(made.outputs[1].1, Some(vec![7, 5]));
}

#[test]
fn of_two_branches_the_larger_counts_and_is_a_bound() {
    let branch = |columns: i64| {
        let mut net = Net::new(17);
        net.weight("w", &[4, columns])
            .node("MatMul", "x w", "o", &[])
            .output("o");
        net
    };
    let (small, large) = (branch(3), branch(9));
    let settings = || {
        [
            Set::Graph("then_branch", &small),
            Set::Graph("else_branch", &large),
        ]
    };
    let mut net = Net::new(17);
    net.input("x", "2 4")
        .typed_input("c", BOOL, "")
        .node("If", "c", "y", &settings())
        .output("y");
    let made = count(&net);
    assert_eq!((made.totals.macs, made.totals.nodes_bound), (72, 1));
    assert_eq!(made.outputs[0].1, Some(vec![2, 9]));

    let mut net = Net::new(17);
    net.input("x", "2 4")
        .scalar("c", BOOL, 1)
        .node("If", "c", "y", &settings())
        .output("y");
    let made = count(&net);
    assert_eq!((made.totals.macs, made.totals.nodes_bound), (24, 0));
}

#[test]
fn functions_are_written_out_with_their_callers_attributes() {
    let mut body = Net::new(17);
    body.node("MatMul", "a w", "m", &[])
        .node("Softmax", "m", "b", &[Set::Reference("axis", "along")]);
    let mut net = Net::new(17);
    net.input("x", "2 4")
        .weight("w1", &[4, 8])
        .weight("w2", &[8, 3])
        .node_of("own", "layer", "x w1", "h", &[Set::Int("along", 1)])
        .node_of("own", "layer", "h w2", "y", &[Set::Int("along", 0)])
        .output("y")
        .function("layer", "a w", "b", &["along"], &body);
    let made = count(&net);
    assert_eq!(made.totals.macs, 2 * 4 * 8 + 2 * 8 * 3);
    assert_eq!(made.totals.params, 32 + 24);
    assert_eq!(made.nodes[0].name, "layer_0/MatMul_0");
    assert_eq!(made.outputs[0].1, Some(vec![2, 3]));
}
