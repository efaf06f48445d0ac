//! Networks with fewer channels: what goes together, what changes in the file, what stays and why.

use std::collections::BTreeMap;

use jetlag_work::prune::{Mode, PruneError, Pruner, Variant};
use jetlag_work::{Given, Graph, Options, work};

use proptest::prelude::*;

use crate::build::{Net, Set, bytes, number};

/// The half with the smallest weights taken out.
fn halved(net: &Net) -> Variant {
    let pruner = Pruner::new(net.bytes(), &Given::default()).unwrap();
    let order = pruner.order(Mode::L1).unwrap();
    pruner.variant(&order, 50).unwrap()
}

/// The first output of each node, by operator, as it is in the variant.
fn shapes(variant: &Variant) -> BTreeMap<String, Vec<u64>> {
    let graph = Graph::from_bytes(&variant.bytes).unwrap();
    let made = work(&graph, &Given::default(), &Options::default()).unwrap();
    let shape = |node: &jetlag_work::NodeWork| Some((node.name.clone(), node.outputs.first()?.clone()?));
    made.nodes.iter().filter_map(shape).collect()
}

fn left(net: &Net) -> Vec<(String, u64, String)> {
    let pruner = Pruner::new(net.bytes(), &Given::default()).unwrap();
    let left = pruner.left_whole().into_iter();
    left.map(|left| (left.layer, left.channels, left.reason))
        .collect()
}

fn refused(bytes: Vec<u8>) -> PruneError {
    Pruner::new(bytes, &Given::default()).unwrap_err()
}

/// An image, a convolution of 8 filters, and then whatever the test adds; a last convolution ends it.
fn begun() -> Net {
    let mut net = Net::new(17);
    net.input("x", "1 3 6 6")
        .filled("w", &[8, 3, 1, 1], 0.0)
        .node("Conv", "x w", "a", &[]);
    net
}

fn ended(mut net: Net, from: &str, channels: i64) -> Net {
    net.filled("last", &[2, channels, 1, 1], 1.0)
        .node("Conv", &format!("{from} last"), "y", &[])
        .output("y");
    net
}

#[test]
fn a_filter_goes_with_its_bias_its_norm_and_what_takes_it() {
    let mut net = begun();
    net.filled("s", &[8], 1.0)
        .node("BatchNormalization", "a s s s s", "b", &[])
        .node("Relu", "b", "c", &[]);
    let variant = halved(&ended(net, "c", 8));
    let shapes = shapes(&variant);
    assert_eq!(shapes["Conv_0"], [1, 4, 6, 6]);
    assert_eq!(shapes["Relu_2"], [1, 4, 6, 6]);
    // The output keeps its shape.
    assert_eq!(shapes["Conv_3"], [1, 2, 6, 6]);
    let counts = variant.counts;
    assert_eq!((counts.channels.before, counts.channels.after), (10, 6));
    assert_eq!(
        (counts.params.before, counts.params.after),
        (24 + 8 + 16, 12 + 4 + 8)
    );
    assert_eq!(
        (counts.reached_percent, counts.reached_of_free_percent),
        (40.0, 50.0)
    );
    // The filters count up, so the first four are the smallest; the last weight keeps the columns of the others.
    let kept: Vec<u8> = (12..24).flat_map(|at| (at as f32).to_le_bytes()).collect();
    assert!(variant.bytes.windows(kept.len()).any(|bytes| bytes == kept));
    let kept: Vec<u8> = [5.0_f32, 6.0, 7.0, 8.0, 13.0, 14.0, 15.0, 16.0]
        .iter()
        .flat_map(|at| at.to_le_bytes())
        .collect();
    assert!(variant.bytes.windows(kept.len()).any(|bytes| bytes == kept));
}

#[test]
fn joined_filters_go_together_by_the_sum_of_both() {
    let mut net = begun();
    // Its weights count down, and are larger, so that they decide.
    net.floats("f", &[80., 70., 60., 50., 40., 30., 20., 10.])
        .list("shape", &[8, 1, 1, 1])
        .node("Reshape", "f shape", "v", &[])
        .node("ReduceMean", "x", "m", &[Set::Ints("axes", &[1])])
        .node("Conv", "m v", "b", &[])
        .node("Add", "a b", "c", &[]);
    let net = ended(net, "c", 8);
    let variant = halved(&net);
    assert_eq!(shapes(&variant)["Add_4"], [1, 4, 6, 6]);
    let kept: Vec<u8> = [80_f32, 70., 60., 50.]
        .iter()
        .flat_map(|at| at.to_le_bytes())
        .collect();
    assert!(variant.bytes.windows(16).any(|bytes| bytes == kept));
    assert!(left(&net).iter().all(|(layer, ..)| layer == "Conv_5"));
}

#[test]
fn depthwise_convolutions_change_their_groups_and_small_groups_go_whole() {
    let mut net = begun();
    net.filled("d", &[16, 1, 3, 3], 1.0)
        .filled("g", &[16, 4, 1, 1], 1.0)
        .node("Conv", "a d", "b", &[Set::Int("group", 8)])
        .node("Conv", "b g", "c", &[Set::Int("group", 4)]);
    let variant = halved(&ended(net, "c", 16));
    let shapes = shapes(&variant);
    assert_eq!(shapes["Conv_0"], [1, 4, 6, 6]);
    assert_eq!(shapes["Conv_1"], [1, 8, 4, 4]);
    assert_eq!(shapes["Conv_2"], [1, 8, 4, 4]);
}

#[test]
fn a_list_that_two_nodes_have_becomes_one_for_each_that_needs_another() {
    let mut net = begun();
    net.filled("w2", &[4, 3, 1, 1], 0.0)
        .list("shape", &[1, 8, 36])
        .list("back", &[1, 8, 6, 6])
        .node("Reshape", "a shape", "b", &[])
        .node("Reshape", "b back", "c", &[])
        .node("Conv", "x w2", "d", &[])
        .node("Concat", "d d", "e", &[Set::Int("axis", 1)])
        .node("Reshape", "e shape", "f", &[])
        .node("Reshape", "f back", "g", &[])
        .node("Concat", "c g", "h", &[Set::Int("axis", 1)]);
    let shapes = shapes(&halved(&ended(net, "h", 16)));
    assert_eq!(shapes["Reshape_1"], [1, 4, 36]);
    assert_eq!(shapes["Reshape_5"], [1, 4, 36]);
    assert_eq!(shapes["Concat_7"], [1, 8, 6, 6]);
}

#[test]
fn what_no_rule_knows_stays_and_is_told_with_its_reason() {
    let mut net = begun();
    net.filled("w2", &[8, 8, 1, 1], 1.0)
        .node_of("own", "Strange", "a", "b", &[])
        .declare("b", 1, "1 8 6 6")
        .node("Conv", "b w2", "c", &[]);
    let net = ended(net, "c", 8);
    let left = left(&net);
    assert_eq!(left[0].0, "Conv_0");
    assert_eq!(left[0].1, 8);
    assert!(
        left[0].2.contains("`Strange_1` (Strange) is of a domain"),
        "{}",
        left[0].2
    );
    assert_eq!(left[1].2, "they reach the output `y`");
    assert_eq!(left.len(), 2);
    let shapes = shapes(&halved(&net));
    assert_eq!(
        (&*shapes["Conv_0"], &*shapes["Conv_2"]),
        (&[1, 8, 6, 6][..], &[1, 4, 6, 6][..])
    );
}

#[test]
fn a_shape_that_says_the_channels_when_the_network_runs_keeps_them() {
    let mut net = begun();
    // Half of the channels it had, computed: with fewer channels, the first part would be another.
    net.list("c", &[1])
        .list("three", &[3])
        .list("zero", &[0])
        .node("Shape", "a", "s", &[Set::Int("start", 1), Set::Int("end", 2)])
        .node("Sub", "s three", "n", &[])
        .node("Slice", "a zero n c", "b", &[]);
    let net = ended(net, "b", 5);
    let told = refused(net.bytes()).to_string();
    assert!(
        told.contains("no filter can be removed: those of `Conv_0` stay because `Shape_1` (Shape) takes a shape that is computed"),
        "{told}"
    );
}

#[test]
fn a_node_stays_as_long_as_any_of_its_outputs_is_taken() {
    // Each Reshape takes a part of one list; those of the second reach an output and keep theirs.
    let mut net = begun();
    net.filled("w2", &[8, 3, 1, 1], 1.0)
        .list("both", &[1, 8, 36, 1, 8, 36])
        .list("back", &[1, 8, 6, 6])
        .node("Split", "both", "one other", &[Set::Int("axis", 0)])
        .node("Reshape", "a one", "b", &[])
        .node("Reshape", "b back", "c", &[])
        .node("Conv", "x w2", "d", &[])
        .node("Reshape", "d other", "e", &[])
        .output("e");
    let net = ended(net, "c", 8);
    let pruner = Pruner::new(net.bytes(), &Given::default()).unwrap();
    let order = pruner.order(Mode::L1).unwrap();
    for level in [5, 20, 35, 50, 65, 80, 95] {
        pruner
            .variant(&order, level)
            .unwrap_or_else(|error| panic!("{level}: {error}"));
    }
}

#[test]
fn a_squeeze_without_axes_keeps_the_axis_of_its_channels() {
    let mut net = Net::new(17);
    net.input("x", "1 3 1 1")
        .filled("w", &[4, 3, 1, 1], 0.0)
        .filled("v", &[4, 2], 0.0)
        .list("row", &[1, 4])
        .node("Conv", "x w", "a", &[])
        .node("Squeeze", "a", "b", &[])
        .node("Reshape", "b row", "c", &[])
        .node("Gemm", "c v", "y", &[])
        .output("y");
    let pruner = Pruner::new(net.bytes(), &Given::default()).unwrap();
    let order = pruner.order(Mode::Random { seed: 0 }).unwrap();
    for level in 1..100 {
        let variant = pruner
            .variant(&order, level)
            .unwrap_or_else(|error| panic!("{level}: {error}"));
        assert!(shapes(&variant)["Conv_0"][1] >= 2);
    }
    let left = &pruner.left_whole()[0];
    assert_eq!(
        (left.channels, &*left.reason),
        (2, "`Squeeze_1` (Squeeze) would take out an axis of one")
    );
}

#[test]
fn a_first_dimension_that_is_no_batch_is_asked_for() {
    let mut net = Net::new(17);
    net.input("x", "points 4")
        .list("front", &[0])
        .filled("w", &[16, 4, 3], 0.0)
        .filled("v", &[2, 16, 1], 0.0)
        .node("Transpose", "x", "t", &[Set::Ints("perm", &[1, 0])])
        .node("Unsqueeze", "t front", "u", &[])
        .node("Conv", "u w", "a", &[])
        .node("Conv", "a v", "y", &[])
        .output("y");
    let told = refused(net.bytes()).to_string();
    assert!(
        told.contains("was taken as 1: give its size with --dim points=SIZE"),
        "{told}"
    );
    let mut given = Given::default();
    given.dim("points=5").unwrap();
    assert!(Pruner::new(net.bytes(), &given).is_ok());
    // A name that also stands for a height is not the batch's.
    let mut net = Net::new(17);
    net.input("x", "n 3 n 6")
        .filled("w", &[8, 3, 1, 1], 0.0)
        .node("Conv", "x w", "a", &[]);
    let told = refused(ended(net, "a", 8).bytes()).to_string();
    assert!(told.contains("--dim n=SIZE"), "{told}");
}

#[test]
fn what_the_reader_does_not_know_is_copied() {
    let mut model = ended(begun(), "a", 8).bytes();
    bytes(&mut model, 99, b"of another program");
    number(&mut model, 98, 7);
    let pruner = Pruner::new(model, &Given::default()).unwrap();
    let order = pruner.order(Mode::Random { seed: 1 }).unwrap();
    let made = pruner.variant(&order, 30).unwrap().bytes;
    let mut end = Vec::new();
    bytes(&mut end, 99, b"of another program");
    number(&mut end, 98, 7);
    assert!(made.ends_with(&end));
    // Equal seeds give equal files.
    let again = pruner.order(Mode::Random { seed: 1 }).unwrap();
    assert_eq!(pruner.variant(&again, 30).unwrap().bytes, made);
}

#[test]
fn levels_that_leave_all_or_nothing_are_refused() {
    let pruner = Pruner::new(ended(begun(), "a", 8).bytes(), &Given::default()).unwrap();
    let order = pruner.order(Mode::L1).unwrap();
    for level in [0, 100, 255] {
        let told = pruner.variant(&order, level).unwrap_err().to_string();
        assert_eq!(
            told,
            format!("{level} % is no level; levels are 1 to 99 % of the filters")
        );
    }
    // Of each layer a filter stays.
    assert_eq!(
        shapes(&pruner.variant(&order, 99).unwrap())["Conv_0"],
        [1, 1, 6, 6]
    );
}

#[test]
fn networks_without_filters_are_refused_with_the_reason() {
    let mut net = Net::new(17);
    net.input("x", "1 3").node("Relu", "x", "y", &[]).output("y");
    assert!(matches!(refused(net.bytes()), PruneError::NoLayers));
    let mut net = Net::new(17);
    net.input("x", "1 3 4 4")
        .filled("w", &[8, 3, 1, 1], 0.0)
        .node("Conv", "x w", "y", &[])
        .output("y");
    let told = refused(net.bytes()).to_string();
    assert_eq!(
        told,
        "no filter can be removed: those of `Conv_0` stay because they reach the output `y`"
    );
    let mut net = Net::new(17);
    net.input("x", "1 3 4 4")
        .weight("w", &[8, 3, 1, 1])
        .node("Conv", "x w", "y", &[])
        .output("y");
    let told = refused(net.bytes()).to_string();
    assert!(
        told.starts_with("the weight `w` lies in another file; save"),
        "{told}"
    );
    let whole = ended(begun(), "a", 8).bytes();
    for end in 0..whole.len() {
        let _ = refused_or_made(&whole[..end]);
    }
    assert!(matches!(refused(b"text".to_vec()), PruneError::Work(_)));
}

/// No panic, whatever it is.
fn refused_or_made(bytes: &[u8]) -> Result<(), PruneError> {
    let pruner = Pruner::new(bytes.to_vec(), &Given::default())?;
    let order = pruner.order(Mode::L1)?;
    pruner.variant(&order, 50).map(drop)
}

#[test]
fn damaged_files_are_an_error_or_a_network() {
    let mut net = begun();
    net.filled("d", &[8, 1, 3, 3], 1.0)
        .list("shape", &[0, 2, 4, -1])
        .node("Conv", "a d", "b", &[Set::Int("group", 8)])
        .node("Reshape", "b shape", "c", &[])
        .node("Transpose", "c", "e", &[Set::Ints("perm", &[0, 2, 1, 3])])
        .list("back", &[0, 8, 4, 4])
        .node("Reshape", "e back", "f", &[]);
    let whole = ended(net, "f", 8).bytes();
    let mut made = 0;
    for at in 0..whole.len() {
        for bit in [0, 2, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            made += usize::from(refused_or_made(&bytes).is_ok());
        }
    }
    assert!(made > 0);
}

/// A random network of operators that have rules: each takes what was made before it, where it can.
fn random_net(drafts: &[(u8, usize, usize, i64)]) -> Net {
    let mut net = Net::new(17);
    net.input("x", "1 4 4 4");
    let mut made: Vec<(String, [i64; 4])> = vec![("x".to_owned(), [1, 4, 4, 4])];
    for (at, (operator, one, other, size)) in drafts.iter().enumerate() {
        let (a, [_, c, h, w]) = made[one % made.len()].clone();
        let fitting: Vec<&(String, [i64; 4])> =
            made.iter().filter(|(_, dims)| *dims == [1, c, h, w]).collect();
        let b = fitting[other % fitting.len()].0.clone();
        let beside: Vec<&(String, [i64; 4])> = made.iter().filter(|(_, dims)| dims[2..] == [h, w]).collect();
        let (next, next_c) = {
            let (name, dims) = beside[other % beside.len()];
            (name.clone(), dims[1])
        };
        let to = format!("n{at}");
        let named = |what: &str| format!("{what}{at}");
        let dims = match operator % 17 {
            0 | 1 => {
                let filters = 2 * (1 + size % 6);
                net.filled(&named("w"), &[filters, c, 1, 1], 0.5).node(
                    "Conv",
                    &format!("{a} {}", named("w")),
                    &to,
                    &[],
                );
                [1, filters, h, w]
            }
            2 => {
                net.filled(&named("w"), &[2 * c, 1, 1, 1], 0.5).node(
                    "Conv",
                    &format!("{a} {}", named("w")),
                    &to,
                    &[Set::Int("group", c)],
                );
                [1, 2 * c, h, w]
            }
            3 if c % 2 == 0 => {
                net.filled(&named("w"), &[8, c / 2, 1, 1], 0.5).node(
                    "Conv",
                    &format!("{a} {}", named("w")),
                    &to,
                    &[Set::Int("group", 2)],
                );
                [1, 8, h, w]
            }
            4 if c % 2 == 0 => {
                net.filled(&named("w"), &[c, 3, 1, 1], 0.5).node(
                    "ConvTranspose",
                    &format!("{a} {}", named("w")),
                    &to,
                    &[Set::Int("group", 2)],
                );
                [1, 6, h, w]
            }
            5 => {
                net.node("Add", &format!("{a} {b}"), &to, &[]);
                [1, c, h, w]
            }
            6 if c + next_c < 40 => {
                net.node("Concat", &format!("{a} {next}"), &to, &[Set::Int("axis", 1)]);
                [1, c + next_c, h, w]
            }
            7 if c % 2 == 0 => {
                net.list(&named("s"), &[1, 2, c / 2, h, w])
                    .list(&named("r"), &[1, c, h, w])
                    .node("Reshape", &format!("{a} {}", named("s")), &named("p"), &[])
                    .node(
                        "Transpose",
                        &named("p"),
                        &named("q"),
                        &[Set::Ints("perm", &[0, 2, 1, 3, 4])],
                    )
                    .node("Reshape", &format!("{} {}", named("q"), named("r")), &to, &[]);
                [1, c, h, w]
            }
            8 if c > 2 => {
                net.list(&named("s"), &[1])
                    .list(&named("e"), &[1 + size % (c - 1)])
                    .node(
                        "Slice",
                        &format!("{a} {} {} {}", named("s"), named("e"), named("s")),
                        &to,
                        &[],
                    );
                match size % (c - 1) {
                    0 => continue,
                    size => [1, size, h, w],
                }
            }
            9 if c % 2 == 0 => {
                net.node("Split", &a, &format!("{to} {to}b"), &[Set::Int("axis", 1)]);
                made.push((format!("{to}b"), [1, c / 2, h, w]));
                [1, c / 2, h, w]
            }
            10 => {
                net.node("GlobalAveragePool", &a, &named("g"), &[]).node(
                    "Mul",
                    &format!("{a} {}", named("g")),
                    &to,
                    &[],
                );
                [1, c, h, w]
            }
            11 if c % 4 == 0 && h < 8 => {
                let mode = if size % 2 == 0 { "DCR" } else { "CRD" };
                net.node(
                    "DepthToSpace",
                    &a,
                    &to,
                    &[Set::Int("blocksize", 2), Set::Text("mode", mode)],
                );
                [1, c / 4, 2 * h, 2 * w]
            }
            12 if h % 2 == 0 && c < 10 => {
                net.node("SpaceToDepth", &a, &to, &[Set::Int("blocksize", 2)]);
                [1, 4 * c, h / 2, w / 2]
            }
            13 => {
                net.list(&named("s"), &[0, -1, 1, 1]).node(
                    "Reshape",
                    &format!("{a} {}", named("s")),
                    &to,
                    &[],
                );
                match c * h * w < 400 {
                    true => [1, c * h * w, 1, 1],
                    false => continue,
                }
            }
            14 => {
                net.filled(&named("f"), &[c, 1, 1], 0.5).node(
                    "PRelu",
                    &format!("{a} {}", named("f")),
                    &to,
                    &[],
                );
                [1, c, h, w]
            }
            15 => {
                net.filled(&named("m"), &[c, 6], 0.5)
                    .node("Transpose", &a, &named("t"), &[Set::Ints("perm", &[0, 2, 3, 1])])
                    .node(
                        "MatMul",
                        &format!("{} {}", named("t"), named("m")),
                        &named("u"),
                        &[],
                    )
                    .node("Transpose", &named("u"), &to, &[Set::Ints("perm", &[0, 3, 1, 2])]);
                [1, 6, h, w]
            }
            16 => {
                net.list(&named("p"), &[0, size % 3, 0, 0, 0, 1, 0, 0]).node(
                    "Pad",
                    &format!("{a} {}", named("p")),
                    &to,
                    &[],
                );
                [1, c + size % 3 + 1, h, w]
            }
            _ => continue,
        };
        made.push((to, dims));
    }
    let (last, [_, c, ..]) = made.last().unwrap().clone();
    ended(net, &last, c)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn networks_of_operators_with_rules_always_come_out_whole(
        drafts in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>(), 0_i64..1000), 1..20),
    ) {
        let pruner = match Pruner::new(random_net(&drafts).bytes(), &Given::default()) {
            Ok(pruner) => pruner,
            Err(PruneError::AllStay { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        for mode in [Mode::L1, Mode::Random { seed: 3 }] {
            let order = pruner.order(mode).unwrap();
            let mut before = u64::MAX;
            for level in [5, 35, 70, 99] {
                let counts = pruner.variant(&order, level).map_err(|error| TestCaseError::fail(error.to_string()))?.counts;
                prop_assert!(counts.channels.after <= before);
                prop_assert!(counts.macs.after <= counts.macs.before);
                before = counts.channels.after;
            }
        }
    }
}
