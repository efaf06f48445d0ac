//! Rules that find known problems in the layers of a built engine.
//!
//! They read what TensorRT's engine inspector tells: names alone, or each layer's type, format and shapes where the
//! plan was built with `--profiling-verbosity detailed`. Each is a suspicion with what to try, not a measurement: how
//! much time a layer takes, the profile says.

use serde::{Serialize, Serializer};

use crate::analysis::finding::{Facts, Finding};
use crate::record::LayerFacts;

/// Reformat layers that every engine may have: at its inputs and outputs.
const USUAL_REFORMATS: usize = 2;
/// Layers in a row of another precision that are an island rather than a part.
const ISLAND: usize = 3;
/// Bytes that tensor cores read at once; channels that do not fill them are padded.
const ALIGNED_BYTES: u64 = 16;
/// Channels up to which an input is an image and nobody's mistake.
const IMAGE_CHANNELS: u64 = 4;
/// Names given as examples.
const EXAMPLES: usize = 3;

/// One layer, as the rules see it.
#[derive(Clone, Debug)]
struct Layer<'a> {
    name: &'a str,
    /// Its type; empty where only names are kept.
    kind: &'a str,
    precision: Option<Precision>,
    /// Channels that come in and go out.
    channels: Option<(u64, u64)>,
    /// Whether each channel is computed by itself, so that channels need no alignment.
    grouped: bool,
}

/// Formats that layers compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Precision {
    Fp32,
    Fp16,
    Bf16,
    Int8,
    Fp8,
}

impl Precision {
    fn named(format: &str) -> Option<Self> {
        match format {
            "fp32" => Some(Precision::Fp32),
            "fp16" => Some(Precision::Fp16),
            "bf16" => Some(Precision::Bf16),
            "int8" => Some(Precision::Int8),
            "fp8" => Some(Precision::Fp8),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "FP32",
            Precision::Fp16 => "FP16",
            Precision::Bf16 => "BF16",
            Precision::Int8 => "INT8",
            Precision::Fp8 => "FP8",
        }
    }

    /// Channels that fill what is read at once.
    fn aligned_channels(self) -> u64 {
        ALIGNED_BYTES
            / match self {
                Precision::Fp32 => 4,
                Precision::Fp16 | Precision::Bf16 => 2,
                Precision::Int8 | Precision::Fp8 => 1,
            }
    }
}

/// What the layers of an engine, in the order of execution, point at.
pub fn findings(layers: &[LayerFacts]) -> Vec<Finding> {
    let layers: Vec<Layer<'_>> = layers.iter().map(Layer::of).collect();
    [reformats(&layers), islands(&layers), unaligned(&layers)]
        .into_iter()
        .flatten()
        .map(Finding::from)
        .collect()
}

/// By its name.
impl Serialize for Layer<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.name)
    }
}

impl<'a> Layer<'a> {
    fn of(told: &'a LayerFacts) -> Self {
        let channels = |shape: &Option<String>| shape.as_ref()?.split('x').nth(1)?.parse().ok();
        Layer {
            name: &told.name,
            kind: told.kind.as_deref().unwrap_or_default(),
            precision: told.precision.as_deref().and_then(Precision::named),
            channels: channels(&told.input_shape).zip(channels(&told.output_shape)),
            grouped: told.groups.is_some_and(|groups| groups > 1),
        }
    }

    fn is_reformat(&self) -> bool {
        self.kind.eq_ignore_ascii_case("reformat") || self.name.starts_with("Reformatting CopyNode")
    }

    fn is_convolution(&self) -> bool {
        self.kind.to_ascii_lowercase().contains("convolution")
    }
}

fn reformats<'a>(layers: &'a [Layer<'a>]) -> Option<Suspicion<'a>> {
    let found: Vec<&Layer<'_>> = layers.iter().filter(|layer| layer.is_reformat()).collect();
    (found.len() > USUAL_REFORMATS).then_some(Suspicion::Reformats {
        found,
        of: layers.len(),
    })
}

/// Few layers of a wider precision between others that are narrower.
fn islands<'a>(layers: &'a [Layer<'a>]) -> Option<Suspicion<'a>> {
    let known: Vec<(&Layer<'_>, Precision)> = layers
        .iter()
        .filter(|layer| !layer.is_reformat())
        .filter_map(|layer| Some((layer, layer.precision?)))
        .collect();
    let runs: Vec<&[(&Layer<'_>, Precision)]> = known.chunk_by(|a, b| a.1 == b.1).collect();
    let is_island = |window: &&[&[(&Layer<'_>, Precision)]]| {
        let [before, run, after] = window else {
            return false;
        };
        let around = before[0].1;
        around == after[0].1
            && run.len() <= ISLAND
            && run[0].1.aligned_channels() < around.aligned_channels()
            && before.len().min(after.len()) >= run.len()
    };
    let found: Vec<_> = runs.windows(3).filter(is_island).collect();
    let first = found.first()?;
    Some(Suspicion::Islands {
        found: found
            .iter()
            .flat_map(|window| window[1].iter().map(|(layer, _)| *layer))
            .collect(),
        precision: first[1][0].1,
        around: first[0][0].1,
    })
}

fn unaligned<'a>(layers: &'a [Layer<'a>]) -> Option<Suspicion<'a>> {
    let misses = |layer: &&Layer<'_>| {
        let (Some(precision), Some((inwards, outwards))) = (layer.precision, layer.channels) else {
            return false;
        };
        let unit = precision.aligned_channels();
        let input = inwards > IMAGE_CHANNELS && !inwards.is_multiple_of(unit);
        layer.is_convolution() && !layer.grouped && (input || !outwards.is_multiple_of(unit))
    };
    let found: Vec<&Layer<'_>> = layers.iter().filter(misses).collect();
    let first = found.first()?;
    Some(Suspicion::Unaligned {
        precision: first.precision?,
        channels: first.channels?,
        found,
    })
}

/// What the layers point at; its code, message and advice are made here.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Suspicion<'a> {
    /// Layers that only change layout or format, of all that there are.
    Reformats {
        #[serde(rename = "layers")]
        found: Vec<&'a Layer<'a>>,
        of: usize,
    },
    /// Layers of one precision between others of another.
    Islands {
        #[serde(rename = "layers")]
        found: Vec<&'a Layer<'a>>,
        precision: Precision,
        around: Precision,
    },
    /// Convolutions whose channels do not fill what is read at once; of the first its precision and channels.
    Unaligned {
        #[serde(rename = "layers")]
        found: Vec<&'a Layer<'a>>,
        precision: Precision,
        channels: (u64, u64),
    },
}

impl Suspicion<'_> {
    fn code(&self) -> &'static str {
        match self {
            Suspicion::Reformats { .. } => "reformat-layers",
            Suspicion::Islands { .. } => "precision-islands",
            Suspicion::Unaligned { .. } => "unaligned-convolutions",
        }
    }

    fn message(&self) -> String {
        match self {
            Suspicion::Reformats { found, of } => format!(
                "{} of {of} layers only change the layout or the number format of tensors: {}.",
                found.len(),
                examples(found)
            ),
            Suspicion::Islands {
                found,
                precision,
                around,
            } => format!(
                "{} {} in {} between layers in {}: {}.",
                found.len(),
                match found.len() {
                    1 => "layer computes",
                    _ => "layers compute",
                },
                precision.name(),
                around.name(),
                examples(found)
            ),
            Suspicion::Unaligned {
                found,
                precision,
                channels: (inwards, outwards),
            } => format!(
                "{} {} a number of channels that tensor cores must pad, such as {inwards} to {outwards} where {} \
                 needs multiples of {}: {}.",
                found.len(),
                match found.len() {
                    1 => "convolution has",
                    _ => "convolutions have",
                },
                precision.name(),
                precision.aligned_channels(),
                examples(found)
            ),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Suspicion::Reformats { .. } => {
                "Look at the layers before and after them: one precision throughout, or an operator that takes its \
                 neighbour's layout, removes them. A profile shows how much time they take."
            }
            Suspicion::Islands { .. } => {
                "Each such island converts its tensors twice. Let these layers compute in their neighbours' precision if the \
                 detector's accuracy holds (`jetlag eval`)."
            }
            Suspicion::Unaligned { .. } => {
                "Padding costs as much as real channels: rounded up to that multiple, these layers take the same \
                 time. The last layer of a head often cannot be changed."
            }
        }
    }
}

impl From<Suspicion<'_>> for Finding {
    fn from(suspicion: Suspicion<'_>) -> Finding {
        Finding {
            code: suspicion.code().to_owned(),
            tenant: None,
            message: suspicion.message(),
            advice: suspicion.advice().to_owned(),
            facts: Facts::of(&suspicion),
        }
    }
}

fn examples(layers: &[&Layer<'_>]) -> String {
    let names: Vec<&str> = layers.iter().take(EXAMPLES).map(|layer| layer.name).collect();
    let more = if layers.len() > EXAMPLES { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conv(name: &str, format: &str, inwards: u64, outwards: u64) -> LayerFacts {
        let shape = |channels: u64| Some(format!("1x{channels}x80x80"));
        LayerFacts {
            name: name.to_owned(),
            kind: Some("CaskConvolution".to_owned()),
            precision: Some(format.to_owned()),
            input_shape: shape(inwards),
            output_shape: shape(outwards),
            groups: Some(1),
            ..LayerFacts::default()
        }
    }

    fn named(name: &str) -> LayerFacts {
        LayerFacts {
            name: name.to_owned(),
            ..LayerFacts::default()
        }
    }

    fn reformat(name: &str) -> LayerFacts {
        LayerFacts {
            kind: Some("Reformat".to_owned()),
            ..named(name)
        }
    }

    fn codes(layers: Vec<LayerFacts>) -> Vec<String> {
        findings(&layers).into_iter().map(|found| found.code).collect()
    }

    const HALF: &str = "fp16";
    const FLOAT: &str = "fp32";

    #[test]
    fn a_sound_engine_has_no_finding() {
        let layers = vec![
            reformat("Reformatting CopyNode for Input Tensor 0 to conv1"),
            conv("conv1", HALF, 3, 32),
            conv("conv2", HALF, 32, 64),
            conv("conv3", HALF, 64, 64),
            reformat("Reformatting CopyNode for Output Tensor 0 to conv3"),
        ];
        assert!(codes(layers).is_empty());
        assert!(codes(Vec::new()).is_empty());
    }

    #[test]
    fn reformats_are_counted_also_where_only_names_are_known() {
        let names = (0..4).map(|n| named(&format!("Reformatting CopyNode for Input Tensor {n} to add")));
        let layers: Vec<LayerFacts> = names.chain([named("conv1 + relu")]).collect();
        let found = findings(&layers);
        assert_eq!(found[0].code, "reformat-layers");
        assert_eq!(found[0].facts["layers"].as_array().unwrap().len(), 4);
        assert_eq!(found[0].facts["of"], 5);
    }

    #[test]
    fn few_wide_layers_between_narrow_ones_are_an_island_and_a_wide_head_is_none() {
        let island = vec![
            conv("a", HALF, 32, 32),
            conv("b", HALF, 32, 32),
            conv("softmax", FLOAT, 32, 32),
            conv("c", HALF, 32, 32),
            conv("d", HALF, 32, 32),
        ];
        let found = findings(&island);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, "precision-islands");
        let facts = &found[0].facts;
        assert_eq!(facts["layers"], json!(["softmax"]));
        assert_eq!(
            (&facts["precision"], &facts["around"]),
            (&json!(FLOAT), &json!(HALF))
        );
        let head = vec![
            conv("a", HALF, 32, 32),
            conv("b", HALF, 32, 32),
            conv("head", FLOAT, 32, 32),
        ];
        assert!(codes(head).is_empty());
        // Narrow between wide ones is what someone asked for.
        let narrow = vec![
            conv("a", FLOAT, 32, 32),
            conv("b", HALF, 32, 32),
            conv("c", FLOAT, 32, 32),
        ];
        assert!(codes(narrow).is_empty());
    }

    #[test]
    fn channels_are_held_against_the_precision_and_images_and_groups_are_excused() {
        assert_eq!(codes(vec![conv("a", HALF, 50, 25)]), ["unaligned-convolutions"]);
        assert_eq!(codes(vec![conv("a", "int8", 24, 32)]), ["unaligned-convolutions"]);
        assert!(codes(vec![conv("a", HALF, 24, 32)]).is_empty());
        assert!(codes(vec![conv("image", HALF, 3, 32)]).is_empty());
        let mut depthwise = conv("depthwise", HALF, 50, 50);
        depthwise.groups = Some(50);
        assert!(codes(vec![depthwise]).is_empty());
    }

    #[test]
    fn a_long_stretch_of_wide_layers_and_one_between_different_precisions_are_no_islands() {
        let several = |name: &str, format: &str, count: usize| -> Vec<LayerFacts> {
            (0..count)
                .map(|n| conv(&format!("{name}{n}"), format, 32, 32))
                .collect()
        };
        let between = |before: &str, wide: usize, after: &str| {
            codes(
                [
                    several("a", before, 5),
                    several("b", FLOAT, wide),
                    several("c", after, 5),
                ]
                .concat(),
            )
        };
        assert_eq!(between(HALF, 3, HALF), ["precision-islands"]);
        assert!(between(HALF, 4, HALF).is_empty(), "someone asked for it");
        assert!(
            between("int8", 2, HALF).is_empty(),
            "no way back to what was before"
        );
    }

    #[test]
    fn channels_of_other_operators_are_not_held_against_anything() {
        let mut pooling = conv("pool", HALF, 50, 25);
        pooling.kind = Some("CaskPooling".to_owned());
        assert!(codes(vec![pooling]).is_empty());
    }

    #[test]
    fn one_wide_layer_between_single_narrow_ones_is_an_island() {
        let island =
            [("a", HALF), ("b", FLOAT), ("c", HALF)].map(|(name, format)| conv(name, format, 32, 32));
        assert_eq!(codes(island.to_vec()), ["precision-islands"]);
    }

    #[test]
    fn another_sixteen_bit_format_between_layers_is_no_island() {
        let layers = [HALF, HALF, "bf16", HALF, HALF]
            .into_iter()
            .enumerate()
            .map(|(n, format)| conv(&format!("a{n}"), format, 32, 32));
        assert!(codes(layers.collect()).is_empty(), "as narrow as what is around");
    }

    #[test]
    fn four_channels_are_still_an_image_and_five_are_none() {
        assert!(codes(vec![conv("with alpha", HALF, 4, 32)]).is_empty());
        assert_eq!(codes(vec![conv("a", HALF, 5, 32)]), ["unaligned-convolutions"]);
    }
}
