//! Layers placed on nodes, what nodes together move, ceilings as files.

use super::ceilings::{CEILINGS_SCHEMA, Ceilings};
use super::placing::{NodeName, place};
use super::roofs::{Limit, Roofs};
use super::traffic::Tensors;
use crate::record::{MovedTensor, WorkRecord};

fn nodes<'a>(all: &[(&'a str, &'a str)]) -> Vec<NodeName<'a>> {
    all.iter()
        .map(|(name, operator)| NodeName {
            name,
            operator,
            at_load: operator.is_empty(),
        })
        .collect()
}

const NETWORK: [(&str, &str); 8] = [
    ("/stem/Conv", "Conv"),
    ("/stem/Sigmoid", "Sigmoid"),
    ("/stem/Mul", "Mul"),
    ("folded", ""),
    ("/a/MatMul", "MatMul"),
    ("/a/Add", "Add"),
    ("t9", "Relu"),
    ("/head/Conv", "Conv"),
];

#[test]
fn layers_of_every_backend_lead_to_their_nodes() {
    for (layers, wanted) in [
        // The embedded backend: named after the last, operators in order.
        (
            vec![
                ("/stem/Mul", "Conv+Sigmoid+Mul"),
                ("/a/Add", "MatMul+Add"),
                ("", "Relu"),
                ("/head/Conv", "Conv"),
            ],
            vec![vec![0, 1, 2], vec![4, 5], vec![6], vec![7]],
        ),
        // TensorRT.
        (
            vec![
                (
                    "/stem/Conv + PWN(PWN(/stem/Sigmoid), /stem/Mul)",
                    "Conv+Sigmoid+Mul",
                ),
                (
                    "Reformatting CopyNode for Input Tensor 0 to /a/MatMul",
                    "Reformat",
                ),
                ("{ForeignNode[/a/MatMul.../head/Conv]}", "ForeignNode"),
            ],
            vec![vec![0, 1, 2], vec![], vec![4, 5, 6, 7]],
        ),
        // A span does not take what another layer has, wherever that comes.
        (
            vec![
                ("{ForeignNode[/stem/Conv.../a/Add]}", ""),
                ("/stem/Mul", "Mul"),
                ("node_of_t9", "Relu"),
            ],
            vec![vec![0, 1, 4, 5], vec![2], vec![6]],
        ),
        // ONNX Runtime.
        (
            vec![("fused /stem/Conv", "FusedConv"), ("/head/Conv_nchwc", "Conv")],
            vec![vec![0], vec![7]],
        ),
        // What leads nowhere has no node, and no node is in two layers.
        (
            vec![
                ("nowhere", "Conv"),
                ("", ""),
                ("/stem/Conv", "Conv"),
                ("/stem/Conv", "Conv"),
                ("{ForeignNode[", ""),
            ],
            vec![vec![], vec![], vec![0], vec![], vec![]],
        ),
    ] {
        let placing = place(&layers, &nodes(&NETWORK));
        assert_eq!(placing.nodes, wanted, "{layers:?}");
        let count: usize = wanted.iter().map(Vec::len).sum();
        assert_eq!(placing.without_layer.len(), NETWORK.len() - 1 - count);
        assert!(!placing.without_layer.contains(&3), "it is computed at load");
    }
}

#[test]
fn of_equal_names_the_first_that_is_free_is_taken() {
    let network = [("/Conv", "Conv"), ("/Conv", "Conv"), ("/Conv", "Conv")];
    let placing = place(&[("/Conv", "Conv"), ("/Conv", "Conv")], &nodes(&network));
    assert_eq!(placing.nodes, [[0], [1]]);
    assert_eq!(placing.without_layer, [2]);
}

proptest::proptest! {
    #[test]
    fn any_names_place_each_node_at_most_once(
        layers in proptest::collection::vec(("[a-c/+ |PWN(){}Foreign\\[\\].]{0,12}", "[A-C+]{0,5}"), 0..12),
        names in proptest::collection::vec(("[a-c/]{0,3}", "[A-C]?"), 0..12),
    ) {
        let layers: Vec<(&str, &str)> = layers.iter().map(|(name, of)| (name.as_str(), of.as_str())).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|(name, of)| (name.as_str(), of.as_str())).collect();
        let placing = place(&layers, &nodes(&names));
        let mut seen: Vec<usize> = placing.nodes.concat();
        seen.extend(&placing.without_layer);
        seen.sort_unstable();
        let counted = nodes(&names).iter().filter(|node| !node.at_load).count();
        let once = seen.windows(2).all(|pair| pair[0] != pair[1]);
        proptest::prop_assert!(once && seen.len() == counted, "{placing:?}");
    }
}

fn moved(tensor: u32, bytes: u64, leaves: bool) -> MovedTensor {
    MovedTensor {
        tensor,
        bytes,
        leaves,
    }
}

/// A convolution, its activation, and a sum that takes both and is the network's output.
fn chain() -> Vec<WorkRecord> {
    let node = |reads: &[(u32, u64)], writes: MovedTensor| WorkRecord {
        bytes_read: Some(reads.iter().map(|(_, bytes)| bytes).sum()),
        bytes_written: Some(writes.bytes),
        reads: reads
            .iter()
            .map(|(tensor, bytes)| moved(*tensor, *bytes, false))
            .collect(),
        writes: vec![writes],
        ..WorkRecord::default()
    };
    vec![
        node(&[(0, 100), (1, 30)], moved(2, 200, false)),
        node(&[(2, 200)], moved(3, 200, false)),
        node(&[(2, 200), (3, 200)], moved(4, 200, true)),
    ]
}

#[test]
fn what_stays_among_nodes_is_not_moved() {
    let all = chain();
    let tensors = Tensors::of(&all);
    assert_eq!(tensors.moved(&[0]), Some(330));
    // The convolution's output goes on to the sum, so it is written; its activation likewise.
    assert_eq!(tensors.moved(&[0, 1]), Some(130 + 400));
    assert_eq!(tensors.moved(&[0, 1, 2]), Some(130 + 200));
    assert_eq!(tensors.moved(&[1, 2]), Some(200 + 200));
    assert_eq!(tensors.moved(&[]), Some(0));
    let mut unknown = all.clone();
    unknown[1].bytes_read = None;
    assert_eq!(Tensors::of(&unknown).moved(&[0, 1]), None);
}

#[test]
fn the_longer_of_two_times_is_the_shortest_possible() {
    let roofs = Roofs {
        peak_flops_per_s: 1e9,
        bytes_per_s: 1e8,
    };
    assert_eq!(roofs.least(2e9, 1e8), Some((2.0, Limit::Compute)));
    assert_eq!(roofs.least(0.0, 1e8), Some((1.0, Limit::Memory)));
    assert_eq!(roofs.least(0.0, 0.0), None);
    assert_eq!(roofs.least(-1.0, 1.0), None);
}

const FILE: &str = r#"{"schema": 1, "name": "made", "processor": "cpu", "source": "by hand",
    "peaks": [{"precision": "fp32", "threads": 1, "flops_per_s": 1e10}, {"precision": "fp32", "threads": 8, "flops_per_s": 7e10}],
    "bandwidths": [{"name": "L1", "bytes_per_s": 9e11}, {"name": "memory", "threads": 1, "bytes_per_s": 1e10},
        {"name": "memory", "threads": 8, "bytes_per_s": 2e10}]}"#;

#[test]
fn roofs_are_those_of_the_threads_that_ran() {
    let ceilings = Ceilings::read(FILE).unwrap();
    assert_eq!(ceilings.schema, CEILINGS_SCHEMA);
    let peak = |threads| ceilings.roofs("fp32", threads).unwrap().peak_flops_per_s;
    assert_eq!((peak(Some(1)), peak(Some(8)), peak(Some(4))), (1e10, 7e10, 7e10));
    assert_eq!((peak(Some(64)), peak(None)), (7e10, 7e10));
    assert_eq!(ceilings.roofs("fp32", Some(1)).unwrap().bytes_per_s, 1e10);
    assert!(ceilings.roofs("int8", None).is_err());
}

#[test]
fn files_that_are_no_ceilings_are_refused_in_a_sentence() {
    for (text, said) in [
        (String::new(), "no ceilings"),
        ("{}".to_owned(), "missing field"),
        (FILE.replace("\"schema\": 1", "\"schema\": 2"), "version 2"),
        (FILE.replace("\"memory\"", "\"L2\""), "bandwidth of `memory`"),
        (FILE.replace("9e11", "0"), "rate of `L1` is 0"),
        (FILE.replace("7e10", "-7e10"), "not above 0"),
    ] {
        let error = Ceilings::read(&text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
