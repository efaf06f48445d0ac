//! `IOptimizationProfile`: the range of shapes that a plan with dynamic inputs accepts.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use crate::NotSync;
use crate::builder::BuilderObject;
use crate::error::{Error, Result};
use crate::object::{Object, call, check};
use crate::shape::{Dims, from_dims32, from_dims64, is_valid, to_dims32, to_dims64};
use crate::sys::slots_builder::profile;
use crate::sys::values::ProfileSelector;

/// Min, opt and max shapes of the inputs; belongs to its builder.
#[derive(Debug)]
pub struct OptimizationProfile {
    pub(crate) object: Object,
    _builder: Arc<BuilderObject>,
    not_sync: NotSync,
}

impl OptimizationProfile {
    pub(crate) fn new(object: Object, builder: Arc<BuilderObject>) -> Self {
        Self {
            object,
            _builder: builder,
            not_sync: NotSync::default(),
        }
    }

    /// Sets one of an input's three shapes (for tensors of data).
    ///
    /// # Errors
    /// The library refuses it: shapes not in order, a name with NUL, too many dimensions.
    #[doc(alias = "setDimensions")]
    pub fn set_dimensions(&self, input: &str, selector: ProfileSelector, shape: &[i64]) -> Result<()> {
        let name = CString::new(input).map_err(|error| Error::nul("an input's name", &error))?;
        let selector = self.selector(selector)?;
        if self.object.library().version().era().has_32_bit_dims() {
            return check!(
                self.object,
                profile::SET_DIMENSIONS_8,
                name.as_ptr(),
                selector,
                to_dims32(shape)?
            );
        }
        let shape = to_dims64(shape)?;
        check!(
            self.object,
            profile::SET_DIMENSIONS,
            name.as_ptr(),
            selector,
            &raw const shape
        )
    }

    /// One of an input's three shapes; `None` if it was not set.
    ///
    /// # Errors
    /// A name with NUL.
    #[doc(alias = "getDimensions")]
    pub fn dimensions(&self, input: &str, selector: ProfileSelector) -> Result<Option<Dims>> {
        let name = CString::new(input).map_err(|error| Error::nul("an input's name", &error))?;
        let selector = self.selector(selector)?;
        if self.object.library().version().era().has_32_bit_dims() {
            let dims = call!(self.object, profile::GET_DIMENSIONS_8, name.as_ptr(), selector)?;
            return Ok(is_valid(dims.count).then(|| from_dims32(dims)));
        }
        let dims = call!(self.object, profile::GET_DIMENSIONS, name.as_ptr(), selector)?;
        Ok(is_valid(dims.count).then(|| from_dims64(dims)))
    }

    /// Sets one of the three values of an input that is itself a shape.
    ///
    /// # Errors
    /// The library refuses it, or the release takes 32-bit values and one does not fit.
    #[doc(alias = "setShapeValuesV2")]
    #[doc(alias = "setShapeValues")]
    pub fn set_shape_values(&self, input: &str, selector: ProfileSelector, values: &[i64]) -> Result<()> {
        let name: &CStr = &CString::new(input).map_err(|error| Error::nul("an input's name", &error))?;
        let selector = self.selector(selector)?;
        let count = i32::try_from(values.len()).unwrap_or(i32::MAX);
        if self.object.has(&profile::SET_SHAPE_VALUES_V2) {
            return check!(
                self.object,
                profile::SET_SHAPE_VALUES_V2,
                name.as_ptr(),
                selector,
                values.as_ptr(),
                count
            );
        }
        let narrow: std::result::Result<Vec<i32>, _> =
            values.iter().map(|value| i32::try_from(*value)).collect();
        let narrow = narrow.map_err(|_| Error::Shape {
            shape: values.to_vec(),
            bits: 32,
        })?;
        check!(
            self.object,
            profile::SET_SHAPE_VALUES,
            name.as_ptr(),
            selector,
            narrow.as_ptr(),
            count
        )
    }

    /// Whether the shapes set so far are consistent.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "isValid")]
    pub fn is_valid(&self) -> Result<bool> {
        call!(self.object, profile::IS_VALID)
    }

    fn selector(&self, selector: ProfileSelector) -> Result<i32> {
        self.object
            .library()
            .value(selector.value(self.object.library().version()), selector.name())
    }
}
