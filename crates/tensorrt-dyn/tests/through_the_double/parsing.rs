//! The ONNX parser, which is a library of its own.

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{Error, NetworkOptions, ParserErrorCode, ParserFlag};

use crate::scene::{STATIC, Scene};

pub fn models_are_parsed_from_memory_and_from_files(double: &'static Double) {
    let scene = Scene::new(double);
    let builder = scene.library.builder().unwrap();
    let network = || {
        builder
            .network(NetworkOptions::default())
            .unwrap()
            .parser()
            .unwrap()
    };
    let mut parser = network();
    parser.parse(STATIC.as_bytes(), "memory").unwrap();
    assert_eq!(parser.layer_count().unwrap(), 1);

    let folder = std::env::temp_dir().join(format!("through-the-double-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("a network.onnx");
    std::fs::write(&file, STATIC).unwrap();
    let mut parser = network();
    parser.parse_file(&file).unwrap();
    assert_eq!(parser.inputs().unwrap()[0].name().unwrap(), "x");
    scene.expect(&[&format!(
        "IParser::parseFromFile(\"{}\", 2) -> true",
        file.display()
    )]);
    let error = network().parse_file(&folder.join("absent.onnx")).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.to_string().contains("absent.onnx"), "{error}");

    // No bytes are no error to the parser; a network without anything is one to the binding.
    let mut parser = network();
    let error = parser.parse(&[], "nothing").unwrap_err();
    assert!(matches!(error, Error::EmptyNetwork { .. }), "{error}");
}

pub fn what_the_parser_complains_of_is_told_with_node_and_operator(double: &'static Double) {
    let scene = Scene::new(double);
    let builder = scene.library.builder().unwrap();
    let mut parser = builder
        .network(NetworkOptions::default())
        .unwrap()
        .parser()
        .unwrap();
    let unknown = "double-network\ninput x f32 4\noutput y f32 4\nlayer first Relu\nlayer /head/Frob Frob\n";
    let error = parser.parse(unknown.as_bytes(), "frob.onnx").unwrap_err();
    let Error::Parse { errors, source_name } = &error else {
        panic!("{error}")
    };
    assert_eq!(source_name, "frob.onnx");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].node, Some(1));
    assert_eq!(errors[0].code, Some(ParserErrorCode::InvalidNode));
    assert!(errors[0].description.contains("Plugin not found"), "{error}");
    assert!(errors[0].place.contains("checkFallbackPluginImporter"), "{error}");
    if scene.has("IParserError::nodeName") {
        assert_eq!(errors[0].node_name.as_deref(), Some("/head/Frob"));
        assert_eq!(errors[0].node_operator.as_deref(), Some("Frob"));
    }
    assert_eq!(parser.errors().unwrap().len(), 1);
    parser.clear_errors().unwrap();
    assert_eq!(parser.errors().unwrap().len(), 0);

    for (model, words) in [
        ("\x08\x07rubbish", "Failed to parse the ONNX model"),
        ("double-network\ninput x\n", "line 2"),
        (
            "double-network\ninput x f32 4\noutput y f32 4\nlayer a Relu\ndata_file weights.bin\n",
            "weights.bin",
        ),
    ] {
        let mut parser = builder
            .network(NetworkOptions::default())
            .unwrap()
            .parser()
            .unwrap();
        let error = parser
            .parse(model.as_bytes(), "bad.onnx")
            .unwrap_err()
            .to_string();
        assert!(error.contains("bad.onnx") && error.contains(words), "{error}");
    }
}

pub fn a_parser_answers_and_takes_flags(double: &'static Double) {
    let scene = Scene::new(double);
    let version = scene.version();
    let mut parser = scene.parsed(STATIC);
    assert!(parser.supports_operator("Conv").unwrap());
    assert!(!parser.supports_operator("Frob").unwrap());
    scene.expect(&[
        "IParser::supportsOperator(\"Conv\") -> true",
        "IParser::supportsOperator(\"Frob\") -> false",
    ]);
    let supported = parser.supports_model(STATIC.as_bytes());
    assert_ne!(
        scene.where_it_exists("IParser::supportsModelV2", supported),
        Some(false)
    );
    let cleared = parser.set_flags(0);
    let has_flags = scene.where_it_exists("IParser::setFlags", cleared).is_some();
    for flag in ParserFlag::ALL {
        match flag.value(version) {
            Some(bit) if has_flags => {
                parser.set_flag(*flag).unwrap();
                assert_eq!(parser.flags().unwrap() >> bit & 1, 1);
            }
            _ => assert!(parser.set_flag(*flag).is_err()),
        }
    }
    let other = scene.library.builder().unwrap();
    let config = other.config().unwrap();
    scene.where_it_exists("IParser::setBuilderConfig", parser.set_builder_config(&config));
    // The parser reads it later: it, and its builder, stay as long as the parser.
    drop(config);
    drop(other);
    drop(parser);
}
