//! `INetworkDefinition`, `ITensor` and `ILayer`: a network between parser and builder.

use std::ffi::CString;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::NotSync;
use crate::builder::BuilderObject;
use crate::callback::text;
use crate::error::{Error, Result};
use crate::object::{Object, Owned, call, check, object};
use crate::parser::OnnxParser;
use crate::shape::{Dims, from_dims32, from_dims64, to_dims32, to_dims64};
use crate::sys::slots_builder::{layer, network, tensor};
use crate::sys::values::{DataType, LayerType, NetworkFlag};
use crate::version::Version;

/// What a network is, fixed when it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Precisions come from the model alone (9.1 and later; always so in 11 and RTX 1.5 on).
    pub strongly_typed: bool,
}

impl NetworkOptions {
    /// `createNetworkV2`'s flags in a release.
    pub(crate) fn flags(self, version: Version) -> Result<u32> {
        let bit = |flag: NetworkFlag| flag.value(version).map_or(0, |bit| 1 << bit);
        let explicit_batch = bit(NetworkFlag::ExplicitBatch);
        if !self.strongly_typed {
            return Ok(explicit_batch);
        }
        match bit(NetworkFlag::StronglyTyped) {
            0 => Err(Error::MissingValue {
                value: NetworkFlag::StronglyTyped.name().to_owned(),
                version,
            }),
            strongly_typed => Ok(explicit_batch | strongly_typed),
        }
    }
}

/// A network to be filled by a parser.
#[derive(Debug)]
pub struct Network {
    pub(crate) object: Owned,
    _builder: Arc<BuilderObject>,
    not_sync: NotSync,
}

impl Network {
    pub(crate) fn new(object: Owned, builder: Arc<BuilderObject>) -> Self {
        Self {
            object,
            _builder: builder,
            not_sync: NotSync::default(),
        }
    }

    /// A parser of ONNX that fills this network and keeps it.
    ///
    /// # Errors
    /// The parser's library is not there.
    pub fn parser(self) -> Result<OnnxParser> {
        OnnxParser::new(self)
    }

    /// Number of layers.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbLayers")]
    pub fn layer_count(&self) -> Result<i32> {
        call!(self.object, network::GET_NB_LAYERS)
    }

    /// The layers, in the order of the network.
    ///
    /// # Errors
    /// The library refuses an index that it counted itself.
    #[doc(alias = "getLayer")]
    pub fn layers(&self) -> Result<Vec<Layer<'_>>> {
        let layer = |index| {
            Ok(Layer {
                object: object!(self.object, network::GET_LAYER, index)?,
                network: PhantomData,
            })
        };
        (0..self.layer_count()?).map(layer).collect()
    }

    /// The inputs.
    ///
    /// # Errors
    /// The library refuses an index that it counted itself.
    #[doc(alias = "getInput")]
    pub fn inputs(&self) -> Result<Vec<Tensor<'_>>> {
        let count = call!(self.object, network::GET_NB_INPUTS)?;
        (0..count)
            .map(|index| Ok(Tensor::new(object!(self.object, network::GET_INPUT, index)?)))
            .collect()
    }

    /// The outputs.
    ///
    /// # Errors
    /// The library refuses an index that it counted itself.
    #[doc(alias = "getOutput")]
    pub fn outputs(&self) -> Result<Vec<Tensor<'_>>> {
        let count = call!(self.object, network::GET_NB_OUTPUTS)?;
        (0..count)
            .map(|index| Ok(Tensor::new(object!(self.object, network::GET_OUTPUT, index)?)))
            .collect()
    }

    /// Makes a tensor an output.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "markOutput")]
    pub fn mark_output(&self, tensor: &Tensor<'_>) -> Result<()> {
        let tensor = self.object.taking("a tensor", &tensor.object)?;
        call!(self.object, network::MARK_OUTPUT, tensor)
    }

    /// Makes an output an inner tensor.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "unmarkOutput")]
    pub fn unmark_output(&self, tensor: &Tensor<'_>) -> Result<()> {
        let tensor = self.object.taking("a tensor", &tensor.object)?;
        call!(self.object, network::UNMARK_OUTPUT, tensor)
    }

    /// Names the network; the plan keeps the name.
    ///
    /// # Errors
    /// A NUL byte in the name.
    #[doc(alias = "setName")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = CString::new(name).map_err(|error| Error::nul("a network's name", &error))?;
        call!(self.object, network::SET_NAME, name.as_ptr())
    }

    /// The network's name.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getName")]
    pub fn name(&self) -> Result<String> {
        let name = call!(self.object, network::GET_NAME)?;
        // SAFETY: a C string that the network owns.
        Ok(unsafe { text(name) }.into_owned())
    }

    /// Whether precisions come from the model alone; `None` where the release does not say (before 9.1).
    #[doc(alias = "getFlags")]
    #[must_use]
    pub fn is_strongly_typed(&self) -> Option<bool> {
        let flags = call!(self.object, network::GET_FLAGS).ok()?;
        let bit = NetworkFlag::StronglyTyped.value(self.object.library().version())?;
        Some(flags >> bit & 1 == 1)
    }
}

/// A tensor of a network.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'network> {
    object: Object,
    network: PhantomData<&'network Network>,
}

impl Tensor<'_> {
    fn new(object: Object) -> Self {
        Self {
            object,
            network: PhantomData,
        }
    }

    fn version(&self) -> Version {
        self.object.library().version()
    }

    /// Its name.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getName")]
    pub fn name(&self) -> Result<String> {
        let name = call!(self.object, tensor::GET_NAME)?;
        // SAFETY: a C string that the tensor owns.
        Ok(unsafe { text(name) }.into_owned())
    }

    /// Renames it.
    ///
    /// # Errors
    /// A NUL byte in the name.
    #[doc(alias = "setName")]
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = CString::new(name).map_err(|error| Error::nul("a tensor's name", &error))?;
        call!(self.object, tensor::SET_NAME, name.as_ptr())
    }

    /// Its shape; -1 where it is dynamic.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getDimensions")]
    pub fn dimensions(&self) -> Result<Dims> {
        if self.version().era().has_32_bit_dims() {
            return call!(self.object, tensor::GET_DIMENSIONS_8).map(from_dims32);
        }
        call!(self.object, tensor::GET_DIMENSIONS).map(from_dims64)
    }

    /// Fixes its shape (inputs only).
    ///
    /// # Errors
    /// The shape does not fit into the library's type.
    #[doc(alias = "setDimensions")]
    pub fn set_dimensions(&self, shape: &[i64]) -> Result<()> {
        if self.version().era().has_32_bit_dims() {
            return call!(self.object, tensor::SET_DIMENSIONS_8, to_dims32(shape)?);
        }
        let shape = to_dims64(shape)?;
        call!(self.object, tensor::SET_DIMENSIONS, &raw const shape)
    }

    /// The type of its elements; `None` for a type that this build does not know.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getType")]
    pub fn data_type(&self) -> Result<Option<DataType>> {
        Ok(DataType::from_value(
            call!(self.object, tensor::GET_TYPE)?,
            self.version(),
        ))
    }

    /// Sets the type of a network's input or output (not in 11 and RTX 1.5 on).
    ///
    /// # Errors
    /// The release has no such call or type.
    #[doc(alias = "setType")]
    pub fn set_data_type(&self, data_type: DataType) -> Result<()> {
        let value = self
            .object
            .library()
            .value(data_type.value(self.version()), data_type.name())?;
        call!(self.object, tensor::SET_TYPE, value)
    }

    /// Sets the range of values for INT8 without calibration (TensorRT 8 to 10).
    ///
    /// # Errors
    /// The release has no such call, or refuses the range.
    #[doc(alias = "setDynamicRange")]
    pub fn set_dynamic_range(&self, min: f32, max: f32) -> Result<()> {
        check!(self.object, tensor::SET_DYNAMIC_RANGE, min, max)
    }

    /// Whether it has a range of values.
    ///
    /// # Errors
    /// The release has no such call.
    #[doc(alias = "dynamicRangeIsSet")]
    pub fn has_dynamic_range(&self) -> Result<bool> {
        call!(self.object, tensor::DYNAMIC_RANGE_IS_SET)
    }

    /// Limits the memory layouts of an input or output, as the library's bits (bit 0 is linear).
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setAllowedFormats")]
    pub fn set_allowed_formats(&self, formats: u32) -> Result<()> {
        call!(self.object, tensor::SET_ALLOWED_FORMATS, formats)
    }

    /// The memory layouts that an input or output may have, as the library's bits.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getAllowedFormats")]
    pub fn allowed_formats(&self) -> Result<u32> {
        call!(self.object, tensor::GET_ALLOWED_FORMATS)
    }

    /// Whether its values are a shape, read on the host.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "isShapeTensor")]
    pub fn is_shape_tensor(&self) -> Result<bool> {
        call!(self.object, tensor::IS_SHAPE_TENSOR)
    }

    /// Whether its values are data on the GPU.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "isExecutionTensor")]
    pub fn is_execution_tensor(&self) -> Result<bool> {
        call!(self.object, tensor::IS_EXECUTION_TENSOR)
    }
}

/// A layer of a network, before the builder fuses it with others.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'network> {
    pub(crate) object: Object,
    network: PhantomData<&'network Network>,
}

impl<'network> Layer<'network> {
    fn version(&self) -> Version {
        self.object.library().version()
    }

    /// Its name.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getName")]
    pub fn name(&self) -> Result<String> {
        let name = call!(self.object, layer::GET_NAME)?;
        // SAFETY: a C string that the layer owns.
        Ok(unsafe { text(name) }.into_owned())
    }

    /// Its kind; `None` for one that this build does not know.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getType")]
    pub fn kind(&self) -> Result<Option<LayerType>> {
        Ok(LayerType::from_value(
            call!(self.object, layer::GET_TYPE)?,
            self.version(),
        ))
    }

    /// Its inputs; optional ones that are absent are left out.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getInput")]
    pub fn inputs(&self) -> Result<Vec<Tensor<'network>>> {
        let count = call!(self.object, layer::GET_NB_INPUTS)?;
        Ok((0..count)
            .filter_map(|index| object!(self.object, layer::GET_INPUT, index).ok())
            .map(Tensor::new)
            .collect())
    }

    /// Its outputs.
    ///
    /// # Errors
    /// The library refuses an index that it counted itself.
    #[doc(alias = "getOutput")]
    pub fn outputs(&self) -> Result<Vec<Tensor<'network>>> {
        let count = call!(self.object, layer::GET_NB_OUTPUTS)?;
        (0..count)
            .map(|index| Ok(Tensor::new(object!(self.object, layer::GET_OUTPUT, index)?)))
            .collect()
    }

    /// Asks for a precision (not in 11 and RTX 1.5 on).
    ///
    /// # Errors
    /// The release has no such call or type.
    #[doc(alias = "setPrecision")]
    pub fn set_precision(&self, data_type: DataType) -> Result<()> {
        let value = self
            .object
            .library()
            .value(data_type.value(self.version()), data_type.name())?;
        call!(self.object, layer::SET_PRECISION, value)
    }

    /// Asks for the type of an output (not in 11 and RTX 1.5 on).
    ///
    /// # Errors
    /// The release has no such call or type.
    #[doc(alias = "setOutputType")]
    pub fn set_output_type(&self, index: i32, data_type: DataType) -> Result<()> {
        let value = self
            .object
            .library()
            .value(data_type.value(self.version()), data_type.name())?;
        call!(self.object, layer::SET_OUTPUT_TYPE, index, value)
    }
}
