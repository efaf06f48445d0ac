use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataLocation, OperatorSetIdProto, StringStringEntryProto, TensorProto,
    TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use rten::Value;
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use super::*;
use crate::backend::NetworkSource;
use crate::backend::cpu::{load_model, mend};

/// A node with these inputs and outputs; its domain, where it has one, before a point.
fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (domain, operator) = operator.rsplit_once('.').unwrap_or(("", operator));
    NodeProto {
        name: Some(format!("the/{operator}")),
        domain: Some(domain.to_owned()),
        op_type: Some(operator.to_owned()),
        input: owned(inputs),
        output: owned(outputs),
        ..NodeProto::default()
    }
}

enum Setting {
    Int(i64),
    Ints(Vec<i64>),
    Text(&'static str),
}
use Setting::{Int, Ints, Text};

fn with(mut node: NodeProto, settings: &[(&str, Setting)]) -> NodeProto {
    node.attribute.extend(settings.iter().map(|(name, setting)| {
        let mut attribute = AttributeProto {
            name: Some((*name).to_owned()),
            ..AttributeProto::default()
        };
        let kind = match setting {
            Int(value) => {
                attribute.i = Some(*value);
                AttributeType::INT
            }
            Ints(values) => {
                attribute.ints = values.clone();
                AttributeType::INTS
            }
            Text(text) => {
                attribute.s = Some((*text).to_owned());
                AttributeType::STRING
            }
        };
        attribute.r#type = Some(kind);
        attribute
    }));
    node
}

fn value(name: &str, element: DataType, dims: &[i64]) -> ValueInfoProto {
    let dim = |size: &i64| rten_onnx::onnx::Dimension {
        dim_value: Some(*size),
        dim_param: None,
    };
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TypeProtoTensor {
                elem_type: Some(element),
                shape: Some(TensorShapeProto {
                    dim: dims.iter().map(dim).collect(),
                }),
            }),
            ..TypeProto::default()
        }),
    }
}

fn model(nodes: Vec<NodeProto>, inputs: Vec<ValueInfoProto>, outputs: &[&str], opset: i64) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            version: Some(opset),
            ..OperatorSetIdProto::default()
        }],
        graph: Some(GraphProto {
            node: nodes,
            input: inputs,
            output: outputs
                .iter()
                .map(|name| ValueInfoProto {
                    name: Some((*name).to_owned()),
                    ..ValueInfoProto::default()
                })
                .collect(),
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

fn source(model: &ModelProto) -> NetworkSource {
    NetworkSource::Embedded {
        name: "made-up",
        bytes: model.write_buf().unwrap().into(),
    }
}

/// What is said of one node whose first output leaves the network, with the types and shapes of some inputs known.
fn said(node: NodeProto, inputs: Vec<ValueInfoProto>, outputs: &[&str]) -> Option<String> {
    let mut model = model(vec![node], inputs, outputs, 17);
    mend::mend(&mut model);
    let mut found = unsupported(&model);
    assert!(found.len() <= 1);
    found.pop().map(|node| node.problem)
}

#[test]
fn what_is_lacking_is_said_and_what_is_not_used_of_it_does_not_matter() {
    let float = |name, dims| value(name, DataType::FLOAT, dims);
    let byte = |name| value(name, DataType::UINT8, &[4]);
    let window = |operator, settings: &[(&str, Setting)]| with(node(operator, &["x", "w"], &["y"]), settings);
    let square = |side| ("kernel_shape", Ints(vec![side, side]));
    let lower = || ("auto_pad", Text("SAME_LOWER"));
    let strides = || ("strides", Ints(vec![2, 2]));
    let norm = || node("LayerNormalization", &["x", "s"], &["y", "mean", "deviation"]);
    let past = |operator, outputs: &[&str]| node(operator, &["x"], outputs);
    let recurrent =
        |operator, inputs: &[&str]| with(node(operator, inputs, &["y"]), &[("linear_before_reset", Int(1))]);
    let seven = ["x", "w", "r", "b", "", "h", "c"];
    let nms = || node("NonMaxSuppression", &["boxes", "scores"], &["y"]);
    let conv_integer =
        |settings: &[(&str, Setting)]| with(node("ConvInteger", &["x", "w", "zero"], &["y"]), settings);
    let cases = [
        // Outputs: lacking where anybody reads them.
        (norm(), vec![], &["y"][..], None),
        (norm(), vec![], &["y", "mean"], Some("only its first")),
        (norm(), vec![], &["y", "deviation"], Some("only its first")),
        (window("MaxPool", &[square(2)]), vec![], &["y"], None),
        (
            with(node("MaxPool", &["x"], &["y", "i"]), &[square(2)]),
            vec![],
            &["y", "i"],
            Some("index output"),
        ),
        (past("Attention", &["y", "k", "v"]), vec![], &["y", "v"], None),
        (
            past("Attention", &["y", "", "", "s"]),
            vec![],
            &["s"],
            Some("score output"),
        ),
        (
            past("com.microsoft.SkipLayerNormalization", &["y", "", "", "sum"]),
            vec![],
            &["sum"],
            None,
        ),
        (
            past("com.microsoft.SkipLayerNormalization", &["y", "m"]),
            vec![],
            &["m"],
            Some("mean"),
        ),
        (past("BatchNormalization", &["y"]), vec![], &["y"], None),
        (
            past("BatchNormalization", &["y", "m"]),
            vec![],
            &["y"],
            Some("in training"),
        ),
        // Inputs.
        (recurrent("LSTM", &seven), vec![], &["y"], None),
        (
            recurrent("LSTM", &[&seven[..], &[""]].concat()),
            vec![],
            &["y"],
            None,
        ),
        (
            recurrent("LSTM", &[&seven[..], &["p"]].concat()),
            vec![],
            &["y"],
            Some("peephole"),
        ),
        (
            recurrent("LSTM", &["x", "w", "r", "b", "n", "", "", "p"]),
            vec![],
            &["y"],
            Some("peephole"),
        ),
        (
            recurrent("LSTM", &["x", "w", "r", "b", "n"]),
            vec![],
            &["y"],
            Some("sequence_lens"),
        ),
        (recurrent("GRU", &["x", "w", "r", "b"]), vec![], &["y"], None),
        (
            recurrent("GRU", &["x", "w", "r", "", "n"]),
            vec![],
            &["y"],
            Some("sequence_lens"),
        ),
        (
            node("GRU", &["x", "w", "r"], &["y"]),
            vec![],
            &["y"],
            Some("linear_before_reset"),
        ),
        (node("Pad", &["x", "pads", "value"], &["y"]), vec![], &["y"], None),
        (
            node("Pad", &["x", "pads", "", "axes"], &["y"]),
            vec![],
            &["y"],
            Some("axes"),
        ),
        // Windows.
        (window("Conv", &[square(3), lower()]), vec![], &["y"], None),
        (
            window("Conv", &[square(2), lower()]),
            vec![],
            &["y"],
            Some("SAME_LOWER"),
        ),
        (
            window("Conv", &[square(3), lower(), strides()]),
            vec![],
            &["y"],
            Some("SAME_LOWER"),
        ),
        (
            window("Conv", &[square(3), lower(), strides()]),
            vec![float("x", &[1, 3, 5, 7])],
            &["y"],
            None,
        ),
        (
            window("Conv", &[square(3), lower(), strides()]),
            vec![float("x", &[1, 3, 5, 8])],
            &["y"],
            Some("SAME_LOWER"),
        ),
        (
            window("ConvTranspose", &[square(4), lower(), strides()]),
            vec![],
            &["y"],
            None,
        ),
        (
            window("ConvTranspose", &[square(3), lower(), strides()]),
            vec![],
            &["y"],
            Some("SAME_LOWER"),
        ),
        (
            window("AveragePool", &[("kernel_shape", Ints(vec![3; 3]))]),
            vec![],
            &["y"],
            Some("spatial"),
        ),
        (window("Conv", &[]), vec![float("w", &[8, 3, 3, 3])], &["y"], None),
        (
            window("Conv", &[]),
            vec![float("w", &[8, 3, 3, 3, 3])],
            &["y"],
            Some("spatial"),
        ),
        (window("Conv", &[]), vec![], &["y"], Some("kernel_shape")),
        (conv_integer(&[square(3)]), vec![], &["y"], None),
        (
            conv_integer(&[square(3), ("pads", Ints(vec![1; 4]))]),
            vec![],
            &["y"],
            Some("zero point"),
        ),
        // Types and shapes, where they are known.
        (node("Add", &["x", "z"], &["y"]), vec![], &["y"], None),
        (
            node("Add", &["x", "z"], &["y"]),
            vec![byte("z")],
            &["y"],
            Some("8-bit"),
        ),
        (
            with(node("Cast", &["x"], &["y"]), &[("to", Int(9))]),
            vec![],
            &["y"],
            None,
        ),
        (
            with(node("Cast", &["x"], &["y"]), &[("to", Int(9))]),
            vec![float("x", &[2])],
            &["y"],
            Some("bool"),
        ),
        (
            with(node("Cast", &["x"], &["y"]), &[("to", Int(7))]),
            vec![float("x", &[2])],
            &["y"],
            None,
        ),
        (
            nms(),
            vec![float("scores", &[1, 1, 100])],
            &["y"],
            Some("rectangle around both"),
        ),
        (
            node("GridSample", &["x", "g"], &["y"]),
            vec![float("x", &[1, 2, 3, 4, 5])],
            &["y"],
            Some("3-D inputs"),
        ),
        (
            with(node("Resize", &["x"], &["y"]), &[("mode", Text("linear"))]),
            vec![],
            &["y"],
            None,
        ),
        (
            with(node("Resize", &["x"], &["y"]), &[("mode", Text("cubic"))]),
            vec![],
            &["y"],
            Some("linear"),
        ),
        (
            node("ReduceMean", &["x"], &["y"]),
            vec![value("x", DataType::INT64, &[4])],
            &["y"],
            Some("floats only"),
        ),
        (
            node("ReduceMean", &["x"], &["y"]),
            vec![float("x", &[4])],
            &["y"],
            None,
        ),
        (
            node("ReduceMax", &["x"], &["y"]),
            vec![value("x", DataType::BOOL, &[4])],
            &["y"],
            Some("flags"),
        ),
        (
            with(node("BitCast", &["x"], &["y"]), &[("to", Int(7))]),
            vec![value("x", DataType::INT32, &[4])],
            &["y"],
            Some("32 bits"),
        ),
        (
            with(node("BitCast", &["x"], &["y"]), &[("to", Int(6))]),
            vec![float("x", &[4])],
            &["y"],
            None,
        ),
        (
            node("Attention", &["x", "k", "v", "mask"], &["y"]),
            vec![float("k", &[2, 3, 6, 8]), float("mask", &[2, 3, 4, 4])],
            &["y"],
            Some("fewer positions"),
        ),
        (
            node("Attention", &["x", "k", "v", "mask"], &["y"]),
            vec![float("k", &[2, 3, 6, 8]), float("mask", &[2, 3, 4, 6])],
            &["y"],
            None,
        ),
        // Others' operators of the same name are others.
        (
            node("acme.GRU", &["x", "w", "r", "b", "n"], &["y"]),
            vec![],
            &["y"],
            None,
        ),
    ];
    for (node, inputs, outputs, wanted) in cases {
        let about = format!("{node:?}, {inputs:?}");
        match (said(node, inputs, outputs), wanted) {
            (None, None) => {}
            (Some(found), Some(wanted)) => assert!(found.contains(wanted), "{about}: {found}"),
            (found, wanted) => panic!("{about}: {found:?}, and should be {wanted:?}"),
        }
    }
}

#[test]
fn a_network_that_cannot_be_executed_names_operator_node_and_the_way_out_before_anything_runs() {
    let problem = |nodes: Vec<NodeProto>| {
        let inputs = vec![value("x", DataType::FLOAT, &[2, 4])];
        load_model(&source(&model(nodes, inputs, &["y"], 17)))
            .err()
            .unwrap()
            .to_string()
    };
    let roi = || node("RoiAlign", &["x", "rois", "batch"], &["y"]);
    let told = problem(vec![node("Relu", &["x"], &["a"]), roi()]);
    for part in [
        "cannot execute RoiAlign (node `the/RoiAlign`): there is no such operator",
        "backend: OnnxRuntime(provider: Cpu)",
        "docs/onnxruntime.md",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let told = problem(vec![
        NodeProto {
            name: None,
            ..node("Selu", &["x"], &["a"])
        },
        node("Selu", &["a"], &["b"]),
        with(node("ArgMax", &["b"], &["y"]), &[("select_last_index", Int(1))]),
    ]);
    for part in [
        "Selu (node `Selu #0` and 1 more): there is no such operator",
        "ArgMax (node `the/ArgMax`): error in attribute \"select_last_index\"",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let norm = node("LayerNormalization", &["x", "x"], &["a", "y"]);
    let told = problem(vec![norm]);
    assert!(
        told.contains("LayerNormalization (node `the/LayerNormalization`): only its first output"),
        "{told}"
    );
    // Also within the body of a loop.
    let mut body = model(vec![recurrent_within()], vec![], &["b"], 17);
    let mut round = node("Loop", &["x"], &["y"]);
    for name in ["body", "another"] {
        round.attribute.push(AttributeProto {
            name: Some(name.to_owned()),
            g: body.graph.clone(),
            r#type: Some(AttributeType::GRAPH),
            ..AttributeProto::default()
        });
    }
    body.graph = None;
    let told = problem(vec![round]);
    assert!(
        told.contains("LSTM (node `the/LSTM` and 1 more): its sequence lengths"),
        "{told}"
    );
}

fn recurrent_within() -> NodeProto {
    node("LSTM", &["x", "w", "r", "b", "n"], &["b"])
}

#[test]
fn many_kinds_of_nodes_are_told_by_the_first_few() {
    let found: Vec<Unsupported> = ["A", "B", "C", "A", "D", "E", "F"]
        .into_iter()
        .map(|operator| Unsupported {
            node: operator.to_lowercase(),
            operator: operator.to_owned(),
            problem: "lacking".to_owned(),
        })
        .collect();
    let told = sentence(&found);
    assert!(
        told.starts_with("it cannot execute A (node `a` and 1 more): lacking; B (node `b`): lacking; C"),
        "{told}"
    );
    assert!(
        told.contains("; and 2 more kinds of nodes. ONNX Runtime"),
        "{told}"
    );
}

#[test]
fn a_softmax_of_old_takes_all_axes_from_its_own_on() {
    use rten::Value;
    for (axis, dims, last_only) in [
        (None, &[2, 3, 4][..], false),
        (Some(1), &[2, 3, 4], false),
        (Some(2), &[2, 3, 4], true),
        (Some(-1), &[2, 3, 4], true),
        (None, &[1, 5, 1, 1], false),
        (None, &[2, 5], true),
    ] {
        for known in [true, false] {
            let settings: Vec<_> = axis.map(|axis| ("axis", Int(axis))).into_iter().collect();
            let softmax = with(node("Softmax", &["a"], &["y"]), &settings);
            let mut input = value(
                "x",
                DataType::FLOAT,
                &dims.iter().map(|d| *d as i64).collect::<Vec<_>>(),
            );
            if !known {
                input.r#type = None;
            }
            let model = model(
                vec![node("Identity", &["x"], &["a"]), softmax],
                vec![input.clone()],
                &["y"],
                11,
            );
            let mut model = model;
            if let (Some(graph), true) = (&mut model.graph, known) {
                input.name = Some("a".to_owned());
                graph.value_info.push(input);
            }
            let runs = load_model(&source(&model)).unwrap();
            let count: usize = dims.iter().product();
            let levels: Vec<f32> = (0..count).map(|i| (i % 5) as f32 * 0.3).collect();
            let x = rten_tensor::Tensor::from_data(dims, levels.clone());
            let found = runs.run_one(Value::from(x).into(), None).unwrap();
            assert_eq!(found.shape().to_vec(), dims);
            let found = rten_tensor::Tensor::<f32>::try_from(found).unwrap().to_vec();
            let together = if last_only {
                dims[dims.len() - 1]
            } else {
                dims[1..].iter().product()
            };
            for (levels, found) in levels.chunks(together).zip(found.chunks(together)) {
                let all: f32 = levels.iter().map(|level| level.exp()).sum();
                for (level, found) in levels.iter().zip(found) {
                    assert!(
                        (level.exp() / all - found).abs() < 1e-6,
                        "{axis:?} {dims:?} {known}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_a_pooling_or_a_quantisation_leaves_out_is_stated_and_nodes_have_names() {
    let pool = with(
        node("MaxPool", &["x"], &["y"]),
        &[("kernel_shape", Ints(vec![3, 2]))],
    );
    let nodes = vec![
        pool,
        node("QuantizeLinear", &["x", "s"], &["q"]),
        NodeProto {
            name: None,
            ..node("Relu", &["x", "", ""], &["r", ""])
        },
    ];
    let mut model = model(nodes, vec![], &["y"], 17);
    assert!(mend::mend(&mut model));
    let nodes = &model.graph.as_ref().unwrap().node;
    assert_eq!(attribute(&nodes[0], "strides").unwrap().ints, [1, 1]);
    assert_eq!(attribute(&nodes[1], "axis").unwrap().i, Some(1));
    assert_eq!(nodes[2].name.as_deref(), Some("Relu #2"));
    assert_eq!((nodes[2].input.len(), nodes[2].output.len()), (1, 1));
    assert!(!mend::mend(&mut model), "there is nothing left");
}

/// What one node of these inputs gives, all of one dimension.
fn answer(node: NodeProto, x: &[f32]) -> Vec<f32> {
    let mut model = model(
        vec![node],
        vec![value("x", DataType::FLOAT, &[x.len() as i64])],
        &["y"],
        18,
    );
    let limit = |name: &str, value: f32| TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(DataType::FLOAT),
        float_data: vec![value],
        ..TensorProto::default()
    };
    let no_axes = TensorProto {
        name: Some("axes".to_owned()),
        data_type: Some(DataType::INT64),
        dims: vec![0],
        ..TensorProto::default()
    };
    let first = TensorProto {
        name: Some("first".to_owned()),
        data_type: Some(DataType::INT64),
        int64_data: vec![0],
        ..TensorProto::default()
    };
    model.graph.as_mut().unwrap().initializer = vec![limit("low", -1.0), limit("high", 6.0), no_axes, first];
    let runs = load_model(&source(&model)).unwrap();
    let x = rten_tensor::Tensor::from_data(&[x.len()], x.to_vec());
    let found = runs.run_one(rten::Value::from(x).into(), None).unwrap();
    rten_tensor::Tensor::<f32>::try_from(found).unwrap().to_vec()
}

#[test]
fn edges_of_operators_are_those_of_onnx() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let edges = [nan, -inf, -2.0, -0.0, 0.5, 9.0, inf];
    let same = |found: &[f32], wanted: &[f32]| {
        let is_same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
        assert!(
            found.len() == wanted.len() && found.iter().zip(wanted).all(is_same),
            "{found:?} for {wanted:?}"
        );
    };
    let of = |operator: &str, inputs: &[&str]| answer(node(operator, inputs, &["y"]), &edges);
    same(&of("Relu", &["x"]), &[nan, 0.0, 0.0, 0.0, 0.5, 9.0, inf]);
    same(
        &of("Clip", &["x", "low", "high"]),
        &[nan, -1.0, -1.0, 0.0, 0.5, 6.0, 6.0],
    );
    same(
        &of("Clip", &["x", "", "high"]),
        &[nan, -inf, -2.0, 0.0, 0.5, 6.0, 6.0],
    );
    same(&of("Clip", &["x"]), &edges);
    let soft = answer(
        node("Softplus", &["x"], &["y"]),
        &[nan, -inf, 0.0, 89.0, 200.0, inf],
    );
    same(&soft, &[nan, 0.0, std::f32::consts::LN_2, 89.0, 200.0, inf]);
    same(&of("Sign", &["x"]), &[nan, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0]);
    let noop = || ("noop_with_empty_axes", Int(1));
    for (operator, wanted) in [
        ("ReduceMean", [-3.0, 2.0]),
        ("ReduceMax", [-3.0, 2.0]),
        ("ReduceL1", [3.0, 2.0]),
        ("ReduceL2", [3.0, 2.0]),
        ("ReduceSumSquare", [9.0, 4.0]),
    ] {
        for inputs in [&["x"][..], &["x", "axes"]] {
            let reduction = with(node(operator, inputs, &["y"]), &[noop()]);
            same(&answer(reduction, &[-3.0, 2.0]), &wanted);
        }
    }
    let sum = node("ReduceSum", &["x", "axes"], &["y"]);
    same(&answer(sum, &[-3.0, 2.0]), &[-1.0]);
    same(&of("Unsqueeze", &["x", "first"]), &edges);
}

#[test]
fn whole_numbers_beyond_32_bits_are_refused_where_they_count() {
    let large = |operator: &str, inputs: &[&str]| {
        let constant = TensorProto {
            name: Some("c".to_owned()),
            data_type: Some(DataType::INT64),
            dims: vec![1],
            int64_data: vec![i64::MAX],
            ..TensorProto::default()
        };
        let nodes = vec![node(operator, inputs, &["y"])];
        let mut model = model(nodes, vec![value("x", DataType::INT64, &[4])], &["y"], 17);
        model.graph.as_mut().unwrap().initializer.push(constant);
        unsupported(&model).pop().map(|node| node.problem)
    };
    assert!(large("Add", &["x", "c"]).unwrap().contains("32 bits"));
    assert_eq!(large("Slice", &["x", "x", "c"]), None, "to the end");
    assert_eq!(large("Min", &["x", "c"]), None);
}

#[test]
fn a_branch_that_is_not_taken_refuses_nothing() {
    let branch = |operator: &str| GraphProto {
        node: vec![node(operator, &["x"], &["b"])],
        output: vec![ValueInfoProto {
            name: Some("b".to_owned()),
            ..ValueInfoProto::default()
        }],
        ..GraphProto::default()
    };
    let attribute = |name: &str, graph: GraphProto| AttributeProto {
        name: Some(name.to_owned()),
        g: Some(graph),
        r#type: Some(AttributeType::GRAPH),
        ..AttributeProto::default()
    };
    for (condition, is_loaded) in [(1, true), (0, false)] {
        let mut choice = node("If", &["c"], &["y"]);
        choice.attribute = vec![
            attribute("then_branch", branch("Neg")),
            attribute("else_branch", branch("NoSuchOperator")),
        ];
        let mut model = model(vec![choice], vec![value("x", DataType::FLOAT, &[2])], &["y"], 17);
        model.graph.as_mut().unwrap().initializer.push(TensorProto {
            name: Some("c".to_owned()),
            data_type: Some(DataType::BOOL),
            int32_data: vec![condition],
            ..TensorProto::default()
        });
        assert_eq!(load_model(&source(&model)).is_ok(), is_loaded);
    }
}

#[test]
fn a_branch_of_a_condition_that_the_run_decides_fails_the_frames_that_take_it_alone() {
    let branch = |operator: &str| GraphProto {
        node: vec![node(operator, &["x"], &["b"])],
        output: vec![value("b", DataType::FLOAT, &[2])],
        ..GraphProto::default()
    };
    let attribute = |name: &str, graph: GraphProto| AttributeProto {
        name: Some(name.to_owned()),
        g: Some(graph),
        r#type: Some(AttributeType::GRAPH),
        ..AttributeProto::default()
    };
    let boxes = GraphProto {
        node: vec![node("NonMaxSuppression", &["x", "x"], &["b"])],
        ..branch("Neg")
    };
    for bad in [branch("NoSuchOperator"), boxes] {
        let mut choice = node("If", &["c"], &["y"]);
        choice.attribute = vec![
            attribute("then_branch", branch("Neg")),
            attribute("else_branch", bad.clone()),
        ];
        let inputs = vec![value("c", DataType::BOOL, &[]), value("x", DataType::FLOAT, &[2])];
        let model = model(vec![choice], inputs, &["y"], 17);
        let loaded = load_model(&source(&model)).unwrap();
        let run = |condition: i32| {
            let ids = loaded.input_ids();
            let values = vec![
                (ids[0], Value::from(Tensor::from(condition)).into()),
                (ids[1], Value::from(Tensor::from([1.0_f32, 2.0])).into()),
            ];
            loaded.run(values, loaded.output_ids(), None)
        };
        let right: Tensor<f32> = run(1).unwrap().remove(0).try_into().unwrap();
        assert_eq!(right.to_vec(), [-1.0, -2.0]);
        let told = run(0).unwrap_err().to_string();
        let operator = bad.node[0].op_type.clone().unwrap();
        assert!(
            told.contains(&format!(
                "{operator} `the/{operator}`, which the embedded backend does not execute"
            )),
            "{told}"
        );
    }
}

#[test]
fn a_convolution_without_its_kernel_gets_it_from_its_weights() {
    let tensor = |dims: &[i64]| TensorProto {
        name: Some("w".to_owned()),
        data_type: Some(DataType::FLOAT),
        dims: dims.to_vec(),
        ..TensorProto::default()
    };
    for (dims, expected) in [
        (&[8, 4, 1, 5][..], Some(&[1, 5][..])),
        (&[8, 4, 7], Some(&[7])),
        (&[8], None),
    ] {
        let mut model = model(vec![node("Conv", &["x", "w"], &["y"])], vec![], &["y"], 17);
        model.graph.as_mut().unwrap().initializer.push(tensor(dims));
        assert_eq!(mend::mend(&mut model), expected.is_some());
        let node = &model.graph.as_ref().unwrap().node[0];
        assert_eq!(
            attribute(node, "kernel_shape").map(|a| a.ints.as_slice()),
            expected
        );
    }
}

#[test]
fn a_network_whose_weights_lie_beside_it_is_mended_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    let load = |weights: &str| {
        let entry = |key: &str, value: &str| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
        };
        let tensor = TensorProto {
            name: Some("w".to_owned()),
            data_type: Some(DataType::FLOAT),
            dims: vec![2, 3, 1, 1],
            data_location: Some(DataLocation::EXTERNAL),
            external_data: vec![
                entry("location", weights),
                entry("offset", "0"),
                entry("length", "24"),
            ],
            ..TensorProto::default()
        };
        let pool = with(
            node("MaxPool", &["a"], &["y"]),
            &[("kernel_shape", Ints(vec![2, 2]))],
        );
        let nodes = vec![node("Conv", &["x", "w"], &["a"]), pool];
        let mut model = model(
            nodes,
            vec![value("x", DataType::FLOAT, &[1, 3, 4, 4])],
            &["y"],
            17,
        );
        model.graph.as_mut().unwrap().initializer.push(tensor);
        std::fs::write(&path, model.write_buf().unwrap()).unwrap();
        load_model(&NetworkSource::File(path.clone()))
    };
    let problem = |weights: &str| load(weights).err().unwrap().to_string();
    let told = problem("weights.data");
    assert!(told.contains("weights.data, which cannot be read"), "{told}");
    for weights in [
        "weights.bin",
        "../weights.data",
        "/etc/weights.data",
        "below/weights.data",
    ] {
        let told = problem(weights);
        assert!(
            told.contains(weights) && told.contains("only from files in the network's folder"),
            "{told}"
        );
    }
    let ones = 1f32.to_le_bytes().repeat(6);
    std::fs::write(folder.path().join("weights.data"), ones).unwrap();
    let runs = load("weights.data").unwrap();
    let x = rten_tensor::Tensor::<f32>::full(&[1, 3, 4, 4], 2.0);
    let found = runs.run_one(rten::Value::from(x).into(), None).unwrap();
    let found = rten_tensor::Tensor::<f32>::try_from(found).unwrap();
    assert_eq!(
        (found.shape(), found.to_vec()),
        (&[1, 2, 3, 3][..], vec![6.0; 18])
    );
}
