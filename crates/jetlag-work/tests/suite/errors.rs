//! What cannot be counted is refused in one sentence that says what to do.

use jetlag_work::{Given, Graph, Options, WorkError, work};

use crate::build::{INT64, Net, Set};
use crate::networks::resnet50;

fn refused(net: &Net, given: &[&str]) -> String {
    refused_bytes(&net.bytes(), given)
}

fn refused_bytes(bytes: &[u8], given: &[&str]) -> String {
    let mut sizes = Given::default();
    let counted = given
        .iter()
        .try_for_each(|text| match text.contains(':') {
            true => sizes.shape(text),
            false => sizes.dim(text),
        })
        .and_then(|()| Graph::from_bytes(bytes))
        .and_then(|graph| work(&graph, &sizes, &Options::default()));
    counted.unwrap_err().to_string()
}

#[test]
fn every_open_size_is_named_at_once_with_the_way_to_give_it() {
    let mut net = Net::new(17);
    net.input("images", "batch 3 ? width")
        .input("scale", "batch 2")
        .input_without_shape("anything")
        .node("Relu", "images", "y", &[])
        .output("y");
    assert_eq!(
        refused(&net, &[]),
        "the graph leaves sizes open: `batch` of images, scale; `width` of images; `images` (?x3x?x?); `anything` (no shape); \
         give --dim batch=SIZE --dim width=SIZE --shape images:?x3x?x? --shape anything:1x3x224x224, with a size for each `?`"
    );
    let given = ["images:4x3x224x320", "anything:5"];
    let mut sizes = Given::default();
    given.iter().for_each(|text| sizes.shape(text).unwrap());
    let made = work(
        &Graph::from_bytes(&net.bytes()).unwrap(),
        &sizes,
        &Options::default(),
    )
    .unwrap();
    assert_eq!(made.inputs[1], ("scale".to_owned(), vec![4, 2]));
}

#[test]
fn versions_whose_operators_are_not_known_are_told() {
    let untried = [6, 7, 23, 24, 99].map(|opset| {
        let mut net = Net::new(opset);
        net.input("x", "1 2").node("Relu", "x", "y", &[]).output("y");
        Graph::from_bytes(&net.bytes()).unwrap().untried_opset()
    });
    assert_eq!(untried, [Some(6), None, None, Some(24), Some(99)]);
}

#[test]
fn sizes_for_what_is_not_there_are_refused() {
    let net = resnet50("batch");
    assert_eq!(
        refused(&net, &["bacth=4"]),
        "no input has a dimension named `bacth`; the named dimensions are `batch`"
    );
    assert_eq!(
        refused(&net, &["images:1x3x224x224"]),
        "the network has no input `images`; its inputs are `x`"
    );
    assert_eq!(
        refused(&net, &["batch"]),
        "`batch` is not a dimension's name and size, as batch=4"
    );
    assert_eq!(
        refused(&net, &["x:axb"]),
        "`x:axb` is not an input's name and shape, as images:4x3x224x224"
    );
}

#[test]
fn shapes_that_contradict_the_graph_are_refused() {
    let net = resnet50("batch");
    assert_eq!(
        refused(&net, &["x:1x4x224x224"]),
        "the shape given for input `x` contradicts the graph: its dimension 1 is 3 there, and 4 was given"
    );
    assert_eq!(
        refused(&net, &["x:1x3x224"]),
        "the shape given for input `x` contradicts the graph: it has 4 dimensions there, and 3 were given"
    );
    assert_eq!(
        refused(&net, &["x:1x3x224x224", "batch=2"]),
        "the shape given for input `x` contradicts the graph: its dimension 0 is `batch`, which is 2 elsewhere, and 1 was given"
    );
}

#[test]
fn nodes_that_cannot_work_on_their_inputs_are_refused() {
    let mut net = Net::new(17);
    net.input("x", "1 4 8 8")
        .weight("w", &[8, 3, 3, 3])
        .node("Conv", "x w", "y", &[])
        .output("y");
    assert_eq!(
        refused(&net, &[]),
        "node `Conv_0` (Conv) cannot work on its inputs: the input has 4 channels and the weight is for 3; check the given \
         sizes, or export the network again"
    );
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .input("y", "4 5")
        .node("MatMul", "x y", "z", &[])
        .output("z");
    assert!(refused(&net, &[]).contains("2x3 by 4x5"));
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .input("y", "4")
        .node("Add", "x y", "z", &[])
        .output("z");
    assert!(refused(&net, &[]).contains("2x3 and 4 do not broadcast"));
    let mut net = Net::new(17);
    net.input("x", "2 3")
        .list("s", &[4, -1])
        .node("Reshape", "x s", "z", &[])
        .output("z");
    assert!(refused(&net, &[]).contains("2x3 does not become [4, -1]"));
}

#[test]
fn circles_and_missing_tensors_are_refused() {
    let mut net = Net::new(17);
    net.input("x", "4")
        .node("Add", "x b", "a", &[])
        .node("Relu", "a", "b", &[])
        .output("b");
    assert_eq!(
        refused(&net, &[]),
        "the graph has a circle through `Add_0`, `Relu_1`; export the network again"
    );
    let mut net = Net::new(17);
    net.input("x", "4").node("Add", "x nothing", "a", &[]).output("a");
    assert!(refused(&net, &[]).starts_with("node `Add_0` takes `nothing`, which is no input"));
    let mut net = Net::new(17);
    net.input("x", "4")
        .node("Relu", "x", "a", &[])
        .node("Relu", "x", "a", &[])
        .output("a");
    assert!(refused(&net, &[]).contains("two nodes make the tensor `a`"));
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_smaller_network_and_never_a_panic() {
    let bytes = resnet50("1").bytes();
    for length in (0..bytes.len()).step_by(7) {
        match Graph::from_bytes(&bytes[..length]) {
            Err(error) => assert!(!error.to_string().contains('\n')),
            Ok(graph) => drop(work(&graph, &Given::default(), &Options::default())),
        }
    }
    assert!(refused_bytes(&bytes[..bytes.len() / 2], &[]).contains("incomplete or damaged"));
    assert_eq!(
        refused_bytes(b"", &[]),
        "the file holds no graph; name an ONNX network"
    );
    assert!(refused_bytes(b"no network at all", &[]).contains("damaged"));
}

#[test]
fn what_is_no_file_is_refused() {
    assert!(matches!(
        Graph::open("/nowhere/net.onnx"),
        Err(WorkError::Io { .. })
    ));
    assert!(matches!(
        Graph::open(std::env::temp_dir()),
        Err(WorkError::NotAFile { .. })
    ));
}

#[test]
fn numbers_beyond_64_bits_are_refused() {
    let mut net = Net::new(17);
    net.input("x", "n n").node("MatMul", "x x", "y", &[]).output("y");
    assert!(refused(&net, &["n=3000000000"]).contains("more than 64 bits hold"));
    let mut net = Net::new(17);
    net.input("x", "4")
        .list("r", &[i64::MAX])
        .node("Tile", "x r", "y", &[])
        .output("y");
    assert!(refused(&net, &[]).contains("more than 64 bits hold"));
    let mut net = Net::new(17);
    net.typed_input("n", INT64, "")
        .list("s", &[1 << 40, 1 << 40])
        .node("ConstantOfShape", "s", "y", &[])
        .node("Relu", "y", "z", &[])
        .output("z");
    assert!(
        refused(&net, &["n:"]).contains("more than 64 bits hold"),
        "{}",
        refused(&net, &["n:"])
    );
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let mut body = Net::new(17);
    body.node_of("own", "again", "a", "b", &[]);
    let mut net = Net::new(17);
    net.input("x", "4")
        .node_of("own", "again", "x", "y", &[])
        .output("y")
        .function("again", "a", "b", &[], &body);
    assert!(refused(&net, &[]).contains("functions call each other without end"));
}

#[test]
fn messages_within_messages_do_not_exhaust_the_stack() {
    let mut bytes = Vec::new();
    for _ in 0..20_000 {
        let mut outer = Vec::new();
        crate::build::bytes(&mut outer, 6, &bytes);
        let mut node = Vec::new();
        crate::build::bytes(&mut node, 5, &outer);
        bytes = Vec::new();
        crate::build::bytes(&mut bytes, 1, &node);
        if bytes.len() > 1 << 16 {
            break;
        }
    }
    let mut model = Vec::new();
    crate::build::bytes(&mut model, 7, &bytes);
    assert!(refused_bytes(&model, &[]).contains("nested more than"));
}

#[test]
fn a_length_beyond_the_file_sets_no_memory_aside() {
    let net = Net::new(17)
        .input("x", "4")
        .node("Relu", "x", "y", &[Set::Int("a", 1)])
        .output("y")
        .bytes();
    for at in 0..net.len() {
        for value in [0xff, 0x7f, 0x80] {
            let mut changed = net.clone();
            changed[at] = value;
            if let Ok(graph) = Graph::from_bytes(&changed) {
                drop(work(&graph, &Given::default(), &Options::default()));
            }
        }
    }
}
