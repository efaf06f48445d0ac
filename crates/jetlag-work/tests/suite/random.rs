//! Random graphs and damaged files: no panic, and what must hold of every network.

use jetlag_work::{As, Given, Graph, Optimiser, Options, Work, WorkError, pagoda, text, work};
use proptest::prelude::*;

use crate::build::{INT64, Net, Set};
use crate::networks::resnet50;

/// A node of a random graph: which operator, what it takes, and numbers for its settings.
type Draft = (u8, usize, usize, [i64; 4]);

fn build(shape: &[u64], drafts: &[Draft]) -> Net {
    let mut net = Net::new(17);
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    net.input("t0", &dims.join(" "))
        .weight("w", &[3, 3])
        .weight("k", &[4, 3, 3, 3])
        .typed_input("i", INT64, "2 2");
    let names = ["t0", "w", "k", "i"];
    let mut made: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for (at, (operator, a, b, numbers)) in drafts.iter().enumerate() {
        let (a, b) = (&made[a % made.len()].clone(), &made[b % made.len()].clone());
        let to = format!("n{at}");
        let list = format!("l{at}");
        net.list(&list, numbers);
        let [one, two, three, four] = *numbers;
        let both = format!("{a} {b}");
        let with_list = format!("{a} {list}");
        match operator % 26 {
            0 => net.node("Relu", a, &to, &[]),
            1 => net.node("Add", &both, &to, &[]),
            2 => net.node("MatMul", &both, &to, &[]),
            3 => net.node(
                "Conv",
                &both,
                &to,
                &[Set::Ints("strides", &[one, two]), Set::Int("group", three)],
            ),
            4 => net.node(
                "ConvTranspose",
                &both,
                &to,
                &[Set::Ints("pads", &[one, two, three, four])],
            ),
            5 => net.node("Reshape", &with_list, &to, &[]),
            6 => net.node("Concat", &both, &to, &[Set::Int("axis", one)]),
            7 => net.node("Transpose", a, &to, &[]),
            8 => net.node("Slice", &format!("{a} {list} {list}"), &to, &[]),
            9 => net.node("Gather", &both, &to, &[Set::Int("axis", one)]),
            10 => net.node("Shape", a, &to, &[Set::Int("start", one), Set::Int("end", two)]),
            11 => net.node(
                "MaxPool",
                a,
                &to,
                &[Set::Ints("kernel_shape", &[one, two]), Set::Int("ceil_mode", 1)],
            ),
            12 => net.node("ReduceSum", &with_list, &to, &[Set::Int("keepdims", one & 1)]),
            13 => net.node("Softmax", a, &to, &[]),
            14 => net.node(
                "Resize",
                &format!("{a} - - {list}"),
                &to,
                &[Set::Text("mode", "linear")],
            ),
            15 => net.node("Tile", &with_list, &to, &[]),
            16 => net.node("Expand", &with_list, &to, &[]),
            17 => net.node("Pad", &with_list, &to, &[]),
            18 => net.node("ConstantOfShape", b, &to, &[]),
            19 => net.node("LSTM", &format!("{a} {b} {a}"), &to, &[]),
            20 => net.node("Einsum", &both, &to, &[Set::Text("equation", "ij,jk->ik")]),
            21 => net.node("Split", a, &format!("{to} {to}x"), &[Set::Int("axis", one)]),
            22 => net.node("Range", &format!("{a} {b} {a}"), &to, &[]),
            23 => net.node("NonZero", a, &to, &[]),
            24 => net.node("Unsqueeze", &with_list, &to, &[]),
            _ => net.node("Gemm", &both, &to, &[Set::Int("transB", one & 1)]),
        };
        made.push(to);
    }
    net.output(made.last().unwrap());
    net
}

/// Everything that there is to count, on bytes that may be anything.
fn all(bytes: &[u8]) -> Result<Work, WorkError> {
    let graph = Graph::from_bytes(bytes)?;
    let _ = pagoda(&graph, &Given::default(), 3, true);
    let options = Options {
        element: As::Fp16,
        training: Some(Optimiser::Adam),
    };
    let made = work(&graph, &Given::default(), &options)?;
    let _ = text(&made, 80);
    Ok(made)
}

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let numbers = prop::array::uniform4(prop_oneof![4 => -2_i64..9, 1 => any::<i64>()]);
    prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>(), numbers), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_are_counted_or_refused_in_a_sentence(
        shape in prop::collection::vec(prop_oneof![0_u64..9, Just(1 << 40)], 0..5),
        drafts in drafts(),
    ) {
        match all(&build(&shape, &drafts).bytes()) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(made) => {
                let totals = &made.totals;
                prop_assert_eq!(totals.nodes, drafts.len());
                // What stays on the chip does not cross its border more often.
                if made.unknown.nodes == 0 {
                    prop_assert!(totals.fused_bytes <= totals.round_trip_bytes, "{:?}", totals);
                }
                let nodes = made.nodes.iter().filter(|node| !node.at_load);
                let sum: u64 = nodes.map(|node| node.flops.unwrap_or(0)).sum();
                prop_assert_eq!(sum, totals.flops);
                prop_assert!(totals.flops >= 2 * totals.macs);
            }
        }
    }

    #[test]
    fn changed_bytes_are_counted_or_refused(
        drafts in drafts(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = build(&[2, 3, 8, 8], &drafts).bytes();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = all(&bytes);
    }

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = all(&bytes);
    }
}

#[test]
fn twice_the_batch_is_twice_the_work_and_the_weights_are_read_once() {
    let graph = Graph::from_bytes(&resnet50("batch").bytes()).unwrap();
    let of = |batch: u64| {
        let mut given = Given::default();
        given.dims.insert("batch".to_owned(), batch);
        work(&graph, &given, &Options::default()).unwrap().totals
    };
    let (one, eight) = (of(1), of(8));
    assert_eq!(eight.flops, 8 * one.flops);
    assert_eq!((eight.params, eight.params_bytes), (one.params, one.params_bytes));
    let moved = |totals: &jetlag_work::Totals| {
        [
            totals.round_trip_bytes - totals.params_bytes,
            totals.fused_bytes - totals.params_bytes,
        ]
    };
    assert_eq!(moved(&eight), moved(&one).map(|bytes| 8 * bytes));
    assert_eq!(
        eight.peak_activation_bytes.unwrap(),
        8 * one.peak_activation_bytes.unwrap()
    );
}
