//! The table for a terminal.

use jetlag_work::{Given, Graph, Optimiser, Options, text, work};

use crate::build::Net;
use crate::networks::resnet50;

#[test]
fn the_table_has_operators_nodes_and_totals() {
    let graph = Graph::from_bytes(&resnet50("1").bytes()).unwrap();
    let options = Options {
        training: Some(Optimiser::Adam),
        ..Options::default()
    };
    let made = work(&graph, &Given::default(), &options).unwrap();
    for width in [60, 80, 120] {
        let shown = text(&made, width);
        let longest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{longest} of {width}:\n{shown}");
    }
    let shown = text(&made, 100);
    for part in [
        "Conv",
        "99.7 %",
        "4.09 G multiply-adds",
        "25.5 M",
        "training step",
        "by Adam",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(!shown.contains("NOT COUNTED"));
}

#[test]
fn what_is_not_counted_is_said() {
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .node_of("vendor", "Mag\u{1b}[2Jic", "x", "y", &[])
        .node("Relu", "x", "z", &[])
        .output("y");
    let made = work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap();
    let shown = text(&made, 80);
    assert!(shown.contains("NOT COUNTED: 1 of 2 nodes (50.0 %)"), "{shown}");
    assert!(shown.contains("≥ 6"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn it_can_be_serialised() {
    let graph = Graph::from_bytes(&resnet50("1").bytes()).unwrap();
    let made = work(&graph, &Given::default(), &Options::default()).unwrap();
    let json = serde_json::to_value(&made).unwrap();
    assert_eq!(json["totals"]["macs"], 4_089_184_256_u64);
    assert_eq!(json["nodes"][0]["bound"], "exact");
    assert_eq!(json["element"], "stored");
}
