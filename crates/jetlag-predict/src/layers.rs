//! The layers of a network: a plain table that a reader of ONNX, or of a CSV file, fills.

use serde::{Deserialize, Serialize};

use crate::error::LayerError;

/// Most layers of a network.
pub const MOST_LAYERS: usize = 100_000;
/// Largest size in any direction; six of them multiplied stay exact enough in `f64`, and far from infinity.
const LARGEST: u32 = 1 << 20;

/// What a layer does, as far as its cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A convolution, also a transposed one (with its output as output).
    Convolution,
    /// A matrix multiply with weights: a 1 × 1 image of `in_channels`; sequences are images of width 1.
    Linear,
    /// Maximum or average over windows.
    Pool,
    /// Sums, products, activations, normalisation: as many values out as in.
    Elementwise,
    /// A scale and an offset for each channel that do not change (batch normalisation): runtimes fold them into the weights of a
    /// convolution before it.
    BatchNorm,
    /// Moves values without arithmetic: concatenation, resize, transpose, slice.
    Move,
    /// Computes with sizes on the host, as exporters write it for a reshape. No other layer counts as reading it.
    Sizes,
    /// Anything else, counted by its traffic.
    Other,
}

/// Where the weights of a convolution or a matrix multiply come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// It has its own.
    #[default]
    Own,
    /// An earlier layer has the same: they are read again, and held once. Heads of detectors do so at each scale.
    Shared,
    /// Another layer makes them for each item, as in attention: they are read, and no memory is held for them.
    Made,
}

/// One layer, for a batch of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name, for messages.
    pub name: String,
    /// What it does.
    pub kind: LayerKind,
    /// Channels that go in.
    pub in_channels: u32,
    /// Channels that come out.
    pub out_channels: u32,
    /// Height and width of the kernel; 1 × 1 where there is none.
    pub kernel: [u32; 2],
    /// Stride down and across.
    pub stride: [u32; 2],
    /// Padding above (and below), left (and right).
    pub padding: [u32; 2],
    /// Groups of channels that do not see each other.
    pub groups: u32,
    /// Height and width of the input.
    pub input: [u32; 2],
    /// Height and width of the output.
    pub output: [u32; 2],
    /// Indices of the layers whose outputs this one reads; empty means the one before (for the first: the network's input).
    #[serde(default)]
    pub reads: Vec<usize>,
    /// Whose weights it multiplies by, if it does.
    #[serde(default)]
    pub weights: Weights,
}

impl Layer {
    /// A convolution with a square kernel, stride and input. `size` is the input's height and width; the output follows.
    pub fn convolution(
        name: &str,
        channels: [u32; 2],
        kernel: u32,
        stride: u32,
        padding: u32,
        groups: u32,
        size: u32,
    ) -> Self {
        let reach = (u64::from(size) + 2 * u64::from(padding)).saturating_sub(u64::from(kernel));
        let out = u32::try_from(1 + reach / u64::from(stride.max(1))).unwrap_or(u32::MAX);
        Self {
            name: name.to_owned(),
            kind: LayerKind::Convolution,
            in_channels: channels[0],
            out_channels: channels[1],
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [padding; 2],
            groups,
            input: [size; 2],
            output: [out; 2],
            reads: Vec::new(),
            weights: Weights::Own,
        }
    }

    /// Whether it has weights that its work is proportional to.
    pub fn has_weights(&self) -> bool {
        matches!(self.kind, LayerKind::Convolution | LayerKind::Linear)
    }

    /// Whether each group has a single channel on one side, so that there is no matrix to multiply.
    pub fn is_depthwise(&self) -> bool {
        self.groups > 1 && (self.in_channels == self.groups || self.out_channels == self.groups)
    }

    /// Whether it is of the kind whose output can take the place of its input.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.kind, LayerKind::Elementwise | LayerKind::BatchNorm)
    }

    /// Values of a channel that its kernel is laid over: those of the output, and those of the input of a transposed convolution, which
    /// makes several outputs of each.
    pub(crate) fn kernel_places(&self) -> f64 {
        let area = |sides: [u32; 2]| f64::from(sides[0]) * f64::from(sides[1]);
        let grows = self.stride.iter().any(|stride| *stride > 1)
            && self.output[0] > self.input[0]
            && self.output[1] > self.input[1];
        match self.kind == LayerKind::Convolution && grows {
            true => area(self.input),
            false => area(self.output),
        }
    }

    fn check(&self, index: usize) -> Result<(), LayerError> {
        let sizes = [
            ("input channels", self.in_channels),
            ("output channels", self.out_channels),
            ("kernel height", self.kernel[0]),
            ("kernel width", self.kernel[1]),
            ("stride", self.stride[0].min(self.stride[1])),
            ("groups", self.groups),
            ("input height", self.input[0]),
            ("input width", self.input[1]),
            ("output height", self.output[0]),
            ("output width", self.output[1]),
        ];
        let size = |what, found: u32| LayerError::Size {
            layer: self.name.clone(),
            what,
            found: u64::from(found),
            wanted: "1 to 1048576",
        };
        if let Some((what, found)) = sizes
            .into_iter()
            .find(|(_, value)| !(1..=LARGEST).contains(value))
        {
            return Err(size(what, found));
        }
        if let Some(found) = self
            .padding
            .into_iter()
            .chain(self.stride)
            .find(|value| *value > LARGEST)
        {
            return Err(size("padding or stride", found));
        }
        let groups = |channels, side| LayerError::Groups {
            layer: self.name.clone(),
            groups: self.groups,
            channels,
            side,
        };
        if self.has_weights() {
            for (channels, side) in [(self.in_channels, "input"), (self.out_channels, "output")] {
                if channels % self.groups != 0 {
                    return Err(groups(channels, side));
                }
            }
        }
        let reach = self.input[0] + 2 * self.padding[0];
        if self.kind == LayerKind::Convolution && self.kernel[0] > reach {
            return Err(LayerError::Kernel {
                layer: self.name.clone(),
                kernel: self.kernel[0],
                input: self.input[0],
                padding: self.padding[0],
            });
        }
        if let Some(from) = self.reads.iter().find(|from| **from >= index) {
            return Err(LayerError::Order {
                layer: self.name.clone(),
                index,
                from: *from,
            });
        }
        Ok(())
    }
}

/// The layers of one network variant, in the order of execution. Sizes were checked when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Layer>", into = "Vec<Layer>")]
pub struct LayerTable(Vec<Layer>);

impl LayerTable {
    /// Checks the layers and takes them.
    ///
    /// # Errors
    /// No layers, more than [`MOST_LAYERS`], a size of 0 or above 2²⁰, groups that do not divide the channels, a kernel larger
    /// than its input, a layer that reads a later one.
    pub fn new(layers: Vec<Layer>) -> Result<Self, LayerError> {
        if layers.is_empty() {
            return Err(LayerError::Empty);
        }
        if layers.len() > MOST_LAYERS {
            return Err(LayerError::TooMany {
                found: layers.len(),
                limit: MOST_LAYERS,
            });
        }
        for (index, layer) in layers.iter().enumerate() {
            layer.check(index)?;
        }
        Ok(Self(layers))
    }

    /// The layers, in the order of execution.
    pub fn layers(&self) -> &[Layer] {
        &self.0
    }

    /// Only the layers with weights; what such tables as perf4sight's hold of a network.
    ///
    /// # Errors
    /// There are none.
    pub fn with_weights(&self) -> Result<Self, LayerError> {
        let layers: Vec<Layer> = self
            .0
            .iter()
            .filter(|layer| layer.has_weights())
            .map(|layer| Layer {
                reads: Vec::new(),
                ..layer.clone()
            })
            .collect();
        match layers.is_empty() {
            true => Err(LayerError::NoConvolution),
            false => Ok(Self(layers)),
        }
    }

    /// Whether every layer has weights.
    pub fn has_only_weights(&self) -> bool {
        self.0.iter().all(Layer::has_weights)
    }
}

impl TryFrom<Vec<Layer>> for LayerTable {
    type Error = LayerError;

    fn try_from(layers: Vec<Layer>) -> Result<Self, LayerError> {
        Self::new(layers)
    }
}

impl From<LayerTable> for Vec<Layer> {
    fn from(table: LayerTable) -> Self {
        table.0
    }
}
