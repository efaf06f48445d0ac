//! Pagoda's published constants, by its rules on networks written down from their public definitions.

use jetlag_work::{Given, Graph, Options, Pagoda, pagoda, work};
use nvidia_doubles::machine::shared;

use crate::build::{Net, Set};
use crate::networks::{mobilenet_v3_large, resnet50};

fn estimate(net: &Net, batch: u64) -> Pagoda {
    let graph = Graph::from_bytes(&net.bytes()).unwrap();
    pagoda(&graph, &Given::default(), batch, false).unwrap()
}

/// Rows of a table, as numbers by column; the first column is a name.
fn rows(path: &str) -> Option<Vec<(String, Vec<f64>)>> {
    let text = std::fs::read_to_string(shared(path)?).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',');
        let name = cells.next().unwrap().to_owned();
        (name, cells.map(|cell| cell.trim().parse().unwrap()).collect())
    };
    Some(text.lines().skip(1).map(row).collect())
}

#[test]
fn two_networks_have_the_published_constants_at_every_batch() {
    let Some(rows) = rows("data/pagoda/static_estimates.csv") else {
        return;
    };
    let mut checked = 0;
    for (model, columns) in rows {
        let [batch, flops, params, bytes, intensity] = columns[..] else {
            panic!("{columns:?}")
        };
        let made = match &*model {
            "resnet50" => estimate(&resnet50("batch"), batch as u64),
            "mobnet" => estimate(&mobilenet_v3_large("batch"), batch as u64),
            _ => continue,
        };
        assert_eq!(
            (made.flops as f64, made.param_bytes as f64, made.bytes as f64),
            (flops, params, bytes),
            "{model} at {batch}"
        );
        assert!((made.intensity.unwrap() - intensity).abs() < 1e-9);
        checked += 1;
    }
    assert_eq!(checked, 22);
}

#[test]
fn resnet50_has_the_published_table_by_operator() {
    let Some(rows) = rows("data/pagoda/per_operator_resnet50_b1.csv") else {
        return;
    };
    let made = estimate(&resnet50("1"), 1);
    for (operator, columns) in rows {
        // An exporter writes them for weights of equal content, and they cost nothing by these rules.
        if operator == "Identity" {
            continue;
        }
        let share = made.operators[&operator];
        let found = [share.nodes, share.flops, share.bytes, share.param_bytes].map(|count| count as f64);
        assert_eq!(found[..], columns[..], "{operator}");
    }
}

/// 4 243 456 of each of the two layers, whatever the batch: the batch is the node's, and the factor is not used.
#[test]
fn an_lstm_is_half_of_itself_and_does_not_know_the_batch() {
    let mut net = Net::new(14);
    net.input("x", "8 1 256")
        .weight("w", &[1, 1024, 256])
        .weight("r", &[1, 1024, 256])
        .node("LSTM", "x w r", "y", &[Set::Int("hidden_size", 256)])
        .output("y");
    assert_eq!(estimate(&net, 1).flops, 4_243_456);
    assert_eq!(estimate(&net, 2).flops, 4_243_456);
    let true_count = work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(true_count.totals.macs, 4 * (256 * 256 + 256 * 256) * 8);
}

#[test]
fn a_training_step_is_three_times_an_inference() {
    let graph = Graph::from_bytes(&resnet50("1").bytes()).unwrap();
    let (once, step) = (
        pagoda(&graph, &Given::default(), 1, false).unwrap(),
        pagoda(&graph, &Given::default(), 1, true).unwrap(),
    );
    assert_eq!(
        (step.flops, step.bytes, step.param_bytes),
        (3 * once.flops, 3 * once.bytes, once.param_bytes)
    );
}

/// What differs from the true count, for ResNet-50: the bias of the last layer's thousand values, and the bytes of biases.
#[test]
fn the_true_count_differs_where_the_rules_leave_something_out() {
    let graph = Graph::from_bytes(&resnet50("1").bytes()).unwrap();
    let (theirs, ours) = (
        pagoda(&graph, &Given::default(), 1, false).unwrap(),
        work(&graph, &Given::default(), &Options::default()).unwrap(),
    );
    assert_eq!(ours.totals.flops, theirs.flops + 1000);
    let biases = ours.totals.params - theirs.param_bytes / 4;
    // Biases are read; the flattening of 2048 values, which moves nothing, is not.
    assert_eq!(
        ours.totals.round_trip_bytes,
        theirs.bytes + 4 * biases - 2 * 4 * 2048
    );
}
