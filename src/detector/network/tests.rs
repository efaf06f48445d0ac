//! Inputs of bare networks: their shapes and what they hold.

use super::*;

fn port(name: &str, element: &str, shape: &[&str]) -> Port {
    Port {
        name: name.to_owned(),
        element: element.to_owned(),
        shape: shape.iter().map(|extent| (*extent).to_owned()).collect(),
        is_shaped: true,
        made_by: None,
    }
}

fn with(inputs: &[Port], shapes: &str) -> Result<Vec<TensorSpec>, Vec<String>> {
    let facts = NetworkFacts {
        inputs: inputs.to_vec(),
        ..NetworkFacts::default()
    };
    let shapes = match shapes {
        "" => Default::default(),
        given => given.parse().unwrap(),
    };
    let made = MadeInputs {
        shapes,
        ..MadeInputs::default()
    };
    super::inputs(&facts, &made)
}

#[test]
fn an_input_without_a_shape_is_no_single_number() {
    let number = port("a", "float", &[]);
    let unknown = Port {
        is_shaped: false,
        made_by: None,
        ..number.clone()
    };
    assert_eq!(with(&[number], "").unwrap()[0].max_shape.dims().len(), 0);
    let said = with(std::slice::from_ref(&unknown), "").unwrap_err();
    assert!(
        said[0].contains("all of input `a`, whose shape the network leaves out"),
        "{said:?}"
    );
    assert_eq!(with(&[unknown], "a:2x3").unwrap()[0].max_shape.dims(), [2, 3]);
}

#[test]
fn all_open_dimensions_are_told_at_once_with_the_spelling_that_gives_them() {
    let ports = [
        port("images", "float", &["batch", "3", "height", "width"]),
        port("orig_target_sizes", "int64", &["?", "2"]),
        port("scale", "float", &["1"]),
    ];
    let problems = with(&ports, "").unwrap_err();
    assert_eq!(
        problems,
        [
            "dynamic dimensions without a size: `batch`, `height`, `width` of input `images` [batch, 3, height, width]; give each a \
             number, such as: --shapes images:1x3x640x640, or in a file shapes: \"images:1x3x640x640\""
        ]
    );
    let made = with(&ports, "images:1x3x32x64,orig_target_sizes:1x2").unwrap();
    let shapes: Vec<String> = made.iter().map(|tensor| tensor.max_shape.to_string()).collect();
    assert_eq!(shapes, ["[1, 3, 32, 64]", "[1, 2]", "[1]"]);
    assert_eq!(made[1].element, ElementType::I64);
}

#[test]
fn a_batch_that_alone_is_open_is_one_and_that_is_said() {
    let ports = [
        port("images", "float", &["batch", "3", "8", "8"]),
        port("ids", "int64", &["n", "sequence"]),
        port("fixed", "float", &["2", "3"]),
    ];
    let problems = with(&ports, "").unwrap_err().join("\n");
    assert!(
        problems.contains("`sequence`")
            && problems.contains("--shapes ids:1x128")
            && !problems.contains("images"),
        "{problems}"
    );
    let made = with(&ports, "ids:1x16").unwrap();
    assert_eq!(made[0].max_shape.dims(), [1, 3, 8, 8]);
    let facts = NetworkFacts {
        inputs: ports.to_vec(),
        ..NetworkFacts::default()
    };
    let note = batch_note(&facts, &Shapes::default()).unwrap();
    assert!(
        note.contains("`images` [batch, 3, 8, 8]") && note.contains("--shapes images:4x3x8x8"),
        "{note}"
    );
    assert_eq!(batch_note(&facts, &"images:2x3x8x8".parse().unwrap()), None);
}

#[test]
fn what_does_not_fit_the_network_is_told_with_what_it_has() {
    let ports = [
        port("images", "float", &["1", "3", "h", "w"]),
        port("text", "string", &["1"]),
    ];
    let told = with(&ports, "image:1x3x8x8,images:1x4x8x8")
        .unwrap_err()
        .join("\n");
    for phrase in [
        "`shapes` has an input `image`, which the network lacks; did you mean `images`?",
        "`shapes` has 1x4x8x8 for input `images`, which is [1, 3, h, w] in the network",
        "its input `text` has type string",
    ] {
        assert!(told.contains(phrase), "{told}");
    }
}

#[test]
fn inputs_hold_what_was_asked_for_whatever_their_type() {
    let types = [
        ElementType::F32,
        ElementType::F16,
        ElementType::I8,
        ElementType::U8,
        ElementType::I32,
        ElementType::I64,
        ElementType::Bool,
    ];
    for element in types {
        let filled = |what, number| {
            let mut tensor = HostTensor::zeroed("x", element, Shape::new(&[64]).unwrap());
            fill(&mut tensor, &what, number).unwrap();
            tensor.bytes().to_vec()
        };
        let usual = Fill::Random { seed: 1, max: None };
        let random = filled(usual.clone(), 0);
        assert_eq!(random, filled(usual.clone(), 0), "{element:?}");
        assert_ne!(random, filled(usual, 1), "{element:?}");
        assert!(filled(Fill::Zeros, 0).iter().all(|byte| *byte == 0));
        let one = match element {
            ElementType::F32 => 1_f32.to_ne_bytes().to_vec(),
            ElementType::F16 => 0x3c00_u16.to_ne_bytes().to_vec(),
            ElementType::I8 | ElementType::U8 | ElementType::Bool => vec![1],
            ElementType::I32 => 1_i32.to_ne_bytes().to_vec(),
            ElementType::I64 => 1_i64.to_ne_bytes().to_vec(),
        };
        assert_eq!(filled(Fill::Ones, 0), one.repeat(64), "{element:?}");
    }
    let floats = |random: Vec<u8>| {
        random
            .chunks_exact(4)
            .map(|b| f32::from_ne_bytes(b.try_into().unwrap()))
            .collect::<Vec<_>>()
    };
    let mut tensor = HostTensor::zeroed("x", ElementType::F32, Shape::new(&[1000]).unwrap());
    fill(&mut tensor, &Fill::default(), 0).unwrap();
    let values = floats(tensor.bytes().to_vec());
    assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
    let mean = values.iter().sum::<f32>() / 1000.0;
    assert!((mean - 0.5).abs() < 0.05, "{mean}");
}

#[test]
fn integers_reach_up_to_what_was_said() {
    let mut tensor = HostTensor::zeroed("words", ElementType::I64, Shape::new(&[1000]).unwrap());
    let words = Fill::Random {
        seed: 3,
        max: std::num::NonZeroU32::new(30522),
    };
    fill(&mut tensor, &words, 0).unwrap();
    let words = tensor
        .bytes()
        .chunks_exact(8)
        .map(|b| i64::from_ne_bytes(b.try_into().unwrap()));
    let (least, most) = (words.clone().min().unwrap(), words.max().unwrap());
    assert!(
        (0..300).contains(&least) && (30200..30522).contains(&most),
        "{least} to {most}"
    );
}

#[test]
fn halves_are_rounded_down() {
    for (value, bits) in [(0.0, 0), (1.0, 0x3c00), (0.5, 0x3800), (0.75, 0x3a00), (1e-9, 0)] {
        assert_eq!(half(value), bits, "{value}");
    }
}
