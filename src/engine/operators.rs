//! Which operators a layer of a built engine is made of, for the table of time by operator: TensorRT's profiler tells a
//! layer's name alone.
//!
//! A layer is named after the ONNX nodes in it, or keeps their names as metadata, and the network says their operators:
//! `Conv+Relu`, as other backends write it. What comes from no node (a change of layout) has the type that the engine
//! inspector tells, where the plan was built with `--profiling-verbosity detailed`, or that its name shows.

use std::collections::HashMap;
use std::path::Path;

use rten_onnx::onnx::ModelProto;
use serde_json::Value;

use super::network;
use crate::files;

/// Operators that are written out of a layer that has more.
const MOST: usize = 4;

/// Operators of a network's nodes by their names, as TensorRT's parser names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOperators(HashMap<String, String>);

impl NodeOperators {
    /// Those of an ONNX file; of what is none, or cannot be read, there are none: the plan is what is executed.
    pub fn of_file(path: &Path) -> Self {
        files::read(path, files::NETWORK).map_or_else(|_| Self::default(), |bytes| Self::of(&bytes))
    }

    /// Those of an ONNX file in memory.
    pub fn of(bytes: &[u8]) -> Self {
        let checked = network::check_bytes(bytes).is_ok();
        let graph = checked
            .then(|| ModelProto::parse_buf(bytes).ok()?.graph)
            .flatten();
        let nodes = graph.map_or_else(Vec::new, |graph| graph.node);
        let named = nodes.into_iter().filter_map(|node| {
            let name = node.name.filter(|name| !name.is_empty());
            let name = name.or_else(|| Some(format!("node_of_{}", node.output.first()?)))?;
            Some((name, node.op_type?))
        });
        NodeOperators(named.collect())
    }

    /// The operators of these nodes, each once; none if none is known.
    fn together<'a>(&self, nodes: impl Iterator<Item = &'a str>) -> Option<String> {
        let mut found: Vec<&str> = Vec::new();
        for operator in nodes.filter_map(|node| self.0.get(node)) {
            if !found.contains(&operator.as_str()) {
                found.push(operator);
            }
        }
        if found.len() > MOST {
            found.truncate(MOST);
            found.push("…");
        }
        (!found.is_empty()).then(|| found.join("+"))
    }
}

/// Operators of an engine's layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerOperators {
    nodes: NodeOperators,
    /// What the inspector tells, by layer.
    told: HashMap<String, Told>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    kind: String,
    metadata: String,
}

impl LayerOperators {
    /// From what the engine inspector answers (JSON, or nothing of use), and from the network that the engine was built of.
    pub fn new(inspected: &Value, nodes: NodeOperators) -> Self {
        let layers = inspected["Layers"].as_array().map_or(&[][..], Vec::as_slice);
        let told = layers.iter().filter_map(|layer| {
            let text = |key: &str| layer[key].as_str().unwrap_or_default().to_owned();
            let told = Told {
                kind: text("LayerType"),
                metadata: text("Metadata"),
            };
            Some((layer["Name"].as_str()?.to_owned(), told))
        });
        LayerOperators {
            nodes,
            told: told.collect(),
        }
    }

    /// The operator of a layer, by its name; empty where nothing tells.
    pub fn of(&self, layer: &str) -> String {
        let told = self.told.get(layer);
        let kind = told
            .map(|told| told.kind.as_str())
            .filter(|kind| !kind.is_empty());
        // Named after, and with the metadata of, the layers beside it.
        if layer.starts_with("Reformatting CopyNode") || kind == Some("Reformat") {
            return "Reformat".to_owned();
        }
        let kept = || {
            self.nodes.together(
                told?
                    .metadata
                    .split("[ONNX Layer: ")
                    .skip(1)
                    .filter_map(until_bracket),
            )
        };
        let named = || self.nodes.together(nodes_in(layer));
        let by_itself = || kind.or_else(|| kind_in(layer)).map(str::to_owned);
        kept().or_else(named).or_else(by_itself).unwrap_or_default()
    }
}

fn until_bracket(text: &str) -> Option<&str> {
    Some(text.split_once(']')?.0)
}

/// The nodes that a layer is named after: `Conv_0 + PWN(Sigmoid_1, Mul_2) || Conv_3`.
fn nodes_in(layer: &str) -> impl Iterator<Item = &str> {
    let parts = layer.split(" + ").flat_map(|part| part.split(" || "));
    parts.flat_map(|part| part.split(", ")).map(|part| {
        let mut node = part.trim();
        while let Some(inner) = node.strip_prefix("PWN(").or_else(|| node.strip_prefix('(')) {
            node = inner;
        }
        node.trim_end_matches(')')
    })
}

/// What a name that comes from no node shows: `(Unnamed Layer* 3) [Shuffle]`, or a part of the network that is one layer.
fn kind_in(layer: &str) -> Option<&str> {
    if layer.starts_with("{ForeignNode[") {
        return Some("ForeignNode");
    }
    let (_, kind) = layer.strip_prefix("(Unnamed Layer*")?.split_once('[')?;
    until_bracket(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nodes() -> NodeOperators {
        let all = [
            ("/stem/conv/Conv", "Conv"),
            ("/stem/act/Sigmoid", "Sigmoid"),
            ("/stem/act/Mul", "Mul"),
            ("/head/Conv", "Conv"),
            ("node_of_t3", "Relu"),
            ("Add_4", "Add"),
            ("MatMul_5", "MatMul"),
        ];
        NodeOperators(
            all.iter()
                .map(|(name, of)| (name.to_string(), of.to_string()))
                .collect(),
        )
    }

    fn of(inspected: &Value, layer: &str) -> String {
        LayerOperators::new(inspected, nodes()).of(layer)
    }

    #[test]
    fn a_layer_s_name_leads_to_the_operators_of_its_nodes() {
        let names_only = json!({ "Layers": ["/stem/conv/Conv"], "Bindings": [] });
        for (layer, operator) in [
            ("/stem/conv/Conv", "Conv"),
            ("/stem/conv/Conv + node_of_t3", "Conv+Relu"),
            ("/stem/conv/Conv + /head/Conv", "Conv"),
            ("/stem/conv/Conv || /head/Conv", "Conv"),
            ("PWN(PWN(/stem/act/Sigmoid), /stem/act/Mul)", "Sigmoid+Mul"),
            ("Add_4 + (Unnamed Layer* 9) [Shuffle]", "Add"),
            (
                "/stem/conv/Conv + node_of_t3 + Add_4 + MatMul_5 + /stem/act/Mul",
                "Conv+Relu+Add+MatMul+…",
            ),
            ("(Unnamed Layer* 12) [Shuffle]", "Shuffle"),
            ("{ForeignNode[/stem/conv/Conv.../head/Conv]}", "ForeignNode"),
            ("Reformatting CopyNode for Input Tensor 0 to Add_4", "Reformat"),
            ("Layer 7", ""),
            ("(Unnamed Layer* 1", ""),
            ("", ""),
        ] {
            assert_eq!(of(&names_only, layer), operator, "{layer}");
        }
    }

    #[test]
    fn a_plan_with_details_tells_nodes_or_a_type_of_its_own() {
        let layer = |name: &str, kind: &str, metadata: &str| json!({ "Name": name, "LayerType": kind, "Metadata": metadata });
        let inspected = json!({ "Layers": [
            layer("__myl_fc_1", "kgen", "[ONNX Layer: /head/Conv]\u{1e}[ONNX Layer: node_of_t3]"),
            layer("__myl_move_2", "signal_wait", ""),
            layer("Add_4", "ElementWise", "[ONNX Layer: elsewhere"),
            layer("to_linear", "Reformat", "[ONNX Layer: /head/Conv]"),
            { "Name": 7 }, 3,
        ]});
        for (layer, operator) in [
            ("__myl_fc_1", "Conv+Relu"),
            ("__myl_move_2", "signal_wait"),
            ("Add_4", "Add"),
            ("to_linear", "Reformat"),
            ("unknown", ""),
        ] {
            assert_eq!(of(&inspected, layer), operator, "{layer}");
        }
        assert_eq!(of(&json!("Layers: bare text"), "/head/Conv"), "Conv");
    }

    #[test]
    fn nodes_of_a_file_are_named_as_tensorrt_names_them() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/camera.onnx");
        let NodeOperators(found) = NodeOperators::of_file(&file);
        let facts = network::read(&file).expect("a network");
        assert_eq!(found.len(), facts.operators.values().sum::<usize>());
        assert!(
            found
                .values()
                .all(|operator| facts.operators.contains_key(operator))
        );
        assert_eq!(NodeOperators::of(b"no network"), NodeOperators::default());
        assert_eq!(
            NodeOperators::of_file(Path::new("nowhere.onnx")),
            NodeOperators::default()
        );
    }
}
