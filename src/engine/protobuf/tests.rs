use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// A field with a length.
fn with_length(field: u64, content: &[u8]) -> Vec<u8> {
    let mut out = number(field << 3 | 2);
    out.extend(number(content.len() as u64));
    out.extend_from_slice(content);
    out
}

fn with_number(field: u64, value: u64) -> Vec<u8> {
    [number(field << 3), number(value)].concat()
}

fn number(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return out;
        }
        out.push(low | 0x80);
    }
}

fn checked(bytes: &[u8]) -> Result<Claims, Fault> {
    check(Cursor::new(bytes), bytes.len() as u64)
}

/// A model whose graph has this one initializer.
fn of_tensor(tensor: &[u8]) -> Result<Claims, Fault> {
    checked(&with_length(7, &with_length(5, tensor)))
}

fn tensor(dims: &[u64], data_type: u64, raw: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = dims.iter().flat_map(|dim| with_number(1, *dim)).collect();
    out.extend(with_number(2, data_type));
    out.extend(with_length(8, b"weights"));
    out.extend(with_length(9, raw));
    out
}

/// A tensor of two floats that are kept elsewhere.
fn external(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut out = [with_number(1, 2), with_number(2, 1), with_number(14, 1)].concat();
    for (key, value) in entries {
        let entry = [with_length(1, key.as_bytes()), with_length(2, value.as_bytes())].concat();
        out.extend(with_length(13, &entry));
    }
    out
}

/// Graphs in attributes of nodes of graphs.
fn nested(graphs: usize) -> Vec<u8> {
    let mut graph = Vec::new();
    for _ in 1..graphs {
        graph = with_length(1, &with_length(5, &with_length(6, &graph)));
    }
    with_length(7, &graph)
}

#[test]
fn the_networks_of_the_binary_pass() {
    for name in ["camera", "lidar_backbone", "lidar_encoder"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("engines/{name}.onnx"));
        assert_eq!(checked(&std::fs::read(path).unwrap()).unwrap(), Claims::new());
    }
}

#[test]
fn a_length_beyond_what_holds_it_says_where() {
    // The graph claims 29 GB.
    let mut bytes = with_number(1, 8);
    let at = bytes.len() as u64;
    bytes.extend([number(7 << 3 | 2), number(29 << 30), vec![0; 4]].concat());
    let fault = checked(&bytes).unwrap_err();
    assert!(
        matches!(fault, Fault::TooLong { at: found, wanted, found: 4, .. } if found == at && wanted == 29 << 30),
        "{fault}"
    );
    assert_eq!(
        fault.to_string(),
        "at byte 2, a field of a model claims 31138512896 bytes, but only 4 are left"
    );
    // A name that is longer than its node and not longer than the file.
    let node = [number(3 << 3 | 2), number(9)].concat();
    let bytes = [with_length(7, &with_length(1, &node)), vec![8; 100]].concat();
    let fault = checked(&bytes).unwrap_err();
    assert!(matches!(fault, Fault::TooLong { message: "node", .. }), "{fault}");
    // The longest that there is.
    let bytes = [number(7 << 3 | 2), number(u64::MAX)].concat();
    assert!(matches!(checked(&bytes), Err(Fault::TooLong { .. })));
}

#[test]
fn graphs_lie_as_deep_as_protobuf_lets_them_and_no_deeper() {
    assert!(checked(&nested(34)).is_ok());
    let fault = checked(&nested(35)).unwrap_err();
    assert!(matches!(fault, Fault::TooDeep { .. }), "{fault}");
    assert!(matches!(checked(&nested(20_000)), Err(Fault::TooDeep { .. })));
    // Types within types, which parsers follow as well.
    let mut of_type = Vec::new();
    for _ in 0..200 {
        of_type = with_length(4, &with_length(1, &of_type));
    }
    let bytes = with_length(7, &with_length(11, &with_length(2, &of_type)));
    assert!(matches!(checked(&bytes), Err(Fault::TooDeep { .. })));
}

#[test]
fn more_messages_than_any_network_has_are_refused() {
    let graph = with_length(1, &[]).repeat(MOST_MESSAGES);
    assert!(matches!(
        checked(&with_length(7, &graph)),
        Err(Fault::TooMany { .. })
    ));
}

#[test]
fn what_is_no_field_is_refused() {
    for bytes in [&[0x0b][..], &[0x0c], &[0x0e], &[0x00, 0x00]] {
        assert!(
            matches!(checked(bytes), Err(Fault::Field { at: 0, .. })),
            "{bytes:?}"
        );
    }
    for bytes in [&[0x08][..], &[0x08, 0x80], &[0xff; 12]] {
        assert!(matches!(checked(bytes), Err(Fault::Number { .. })), "{bytes:?}");
    }
}

#[test]
fn packed_numbers_are_whole() {
    let endless = [0xff; 12];
    for (field, whole, parts) in [
        (4, &[0; 8][..], &[0; 7][..]),
        (10, &[0; 16], &[0; 2]),
        (5, &[1, 0x81, 1], &[0x81]),
        (7, &[0xff, 0xff, 3], &endless),
        (11, &[], &endless),
    ] {
        let named = |data| [with_length(8, b"w"), with_length(field, data)].concat();
        assert!(of_tensor(&named(whole)).is_ok(), "{field}");
        let found = of_tensor(&named(parts)).unwrap_err();
        assert!(matches!(found, Fault::Number { .. }), "{field}: {found}");
    }
    for (field, whole, parts) in [(7, [0; 8], &[0; 5][..]), (8, [1; 8], &endless)] {
        let attribute = |data| with_length(7, &with_length(1, &with_length(5, &with_length(field, data))));
        assert!(checked(&attribute(&whole)).is_ok(), "{field}");
        let found = checked(&attribute(parts)).unwrap_err();
        assert!(matches!(found, Fault::Number { .. }), "{field}: {found}");
    }
}

#[test]
fn a_tensor_has_the_data_that_its_dimensions_say() {
    assert!(of_tensor(&tensor(&[2], 1, &[0; 8])).is_ok());
    assert!(of_tensor(&tensor(&[], 7, &[0; 8])).is_ok());
    assert!(
        of_tensor(&tensor(&[3], 22, &[0; 2])).is_ok(),
        "two of 4 bits are in a byte"
    );
    assert!(of_tensor(&tensor(&[0, 1 << 40], 1, &[])).is_ok());
    let packed = [
        with_length(1, &[2, 3]),
        with_number(2, 1),
        with_length(9, &[0; 24]),
    ]
    .concat();
    assert!(of_tensor(&packed).is_ok());
    for (dims, problem) in [
        (&[1_000_000_000_000][..], "its data has 8"),
        (&[3], "or 12 bytes, but its data has 8"),
        (&[u64::MAX, 2], "has invalid dimensions"),
        (&[1 << 40, 1 << 40], "has invalid dimensions"),
        (&[0, 1 << 40, 1 << 40], "has invalid dimensions"),
        (&[1 << 62], "more than fit in memory"),
        (&[1; 65], "has invalid dimensions"),
    ] {
        let fault = of_tensor(&tensor(dims, 1, &[0; 8])).unwrap_err().to_string();
        assert!(fault.contains("`weights`") && fault.contains(problem), "{fault}");
    }
    // The same without any data, packed or not.
    let fault = of_tensor(&tensor(&[1_000_000_000], 1, &[]))
        .unwrap_err()
        .to_string();
    assert!(fault.contains("its data has 0 bytes"), "{fault}");
    let sparse = with_length(7, &with_length(15, &with_number(3, 1 << 33)));
    assert!(checked(&sparse).unwrap_err().to_string().contains("sparse"));
}

#[test]
fn weights_elsewhere_lie_in_the_networks_folder_and_are_added_up() {
    let within = [("location", "a.data"), ("offset", "100"), ("length", "8")];
    let claims = of_tensor(&external(&within)).unwrap();
    assert_eq!(claims["a.data"], Claim { end: 108, total: 8 });
    let claims = of_tensor(&external(&[("location", "below/./a.data")])).unwrap();
    assert_eq!(claims["below/./a.data"], Claim { end: 8, total: 8 });
    let long = [
        ("location", "a.data"),
        ("offset", "0"),
        ("length", "1000000000000"),
    ];
    assert!(
        of_tensor(&external(&long))
            .unwrap_err()
            .to_string()
            .contains("8 bytes by its dimensions")
    );
    for outside in ["/etc/passwd", "../a.data", "a/../../b", "", "a\0b"] {
        let fault = of_tensor(&external(&[("location", outside)])).unwrap_err();
        assert!(matches!(fault, Fault::Outside { .. }), "{fault}");
    }
}

#[test]
fn a_name_is_shown_without_what_a_terminal_would_do() {
    let mut named = tensor(&[3], 1, &[0; 8]);
    named.extend(with_length(8, b"\x1b[2J"));
    let fault = of_tensor(&named).unwrap_err().to_string();
    assert!(fault.contains("\\u{1b}[2J") && !fault.contains('\x1b'), "{fault}");
}

proptest! {
    #[test]
    fn no_bytes_at_all_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = checked(&bytes);
    }

    #[test]
    fn no_damage_makes_a_parser_panic(places in prop::collection::vec((0usize..1 << 20, any::<u8>()), 1..8)) {
        let mut bytes = include_bytes!("../../../engines/lidar_encoder.onnx").to_vec();
        for (place, byte) in places {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        // The parser is called with what passes alone.
        let _ = crate::engine::network::facts(&bytes);
    }
}
