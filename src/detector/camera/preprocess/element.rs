//! Element types of a camera's input besides `f32`: made of the same values, in a pass of its own.

use crate::tensor::{ElementType, HostTensor, TensorError};

/// The type of an input's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Element {
    /// 32 bits, of which the resize writes directly.
    #[default]
    F32,
    /// 16 bits, rounded to nearest even.
    F16,
    /// Whole numbers from 0 to 255, rounded and held within them: for networks that normalise by themselves.
    U8,
}

impl Element {
    /// The same among all element types.
    pub fn of_tensor(self) -> ElementType {
        match self {
            Element::F32 => ElementType::F32,
            Element::F16 => ElementType::F16,
            Element::U8 => ElementType::U8,
        }
    }

    /// Writes values to a tensor of this type and of as many elements.
    pub(super) fn write(self, values: &[f32], tensor: &mut HostTensor) -> Result<(), TensorError> {
        let wanted = self.of_tensor();
        if tensor.element() != wanted {
            return Err(TensorError::WrongType {
                name: tensor.name().to_owned(),
                wanted: wanted.name(),
                found: tensor.element().name(),
            });
        }
        self.write_bytes(values, tensor.host_bytes_mut()?);
        Ok(())
    }

    /// Writes values to the bytes of as many elements.
    pub(super) fn write_bytes(self, values: &[f32], bytes: &mut [u8]) {
        match self {
            Element::F32 => {
                for (out, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                    *out = value.to_ne_bytes();
                }
            }
            Element::F16 => {
                for (out, value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                    *out = half::f16::from_f32(*value).to_ne_bytes();
                }
            }
            Element::U8 => {
                for (out, value) in bytes.iter_mut().zip(values) {
                    // `as` holds it within 0 and 255, and makes 0 of NaN.
                    *out = value.round_ties_even() as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Numbers, Shape};

    #[test]
    fn values_are_rounded_to_the_type_and_held_within_it() {
        let values = [-3.0, 0.5, 1.5, 254.6, 300.0, 0.1];
        let written = |element: Element| {
            let shape = Shape::new(&[6]).unwrap();
            let mut tensor = HostTensor::zeroed("in", element.of_tensor(), shape);
            element.write(&values, &mut tensor).unwrap();
            let numbers = Numbers::of(&tensor).unwrap();
            (0..6).map(|i| numbers.at(i).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(written(Element::F32), values);
        assert_eq!(written(Element::U8), [0.0, 0.0, 2.0, 255.0, 255.0, 0.0]);
        // Eleven bits of mantissa: 254.6 lies between 254.5 and 254.625.
        assert_eq!(
            written(Element::F16),
            [-3.0, 0.5, 1.5, 254.625, 300.0, 0.099_975_586]
        );
    }

    #[test]
    fn a_tensor_of_another_type_is_refused() {
        let mut tensor = HostTensor::zeroed("in", ElementType::I32, Shape::new(&[1]).unwrap());
        let error = Element::U8.write(&[1.0], &mut tensor).unwrap_err().to_string();
        assert!(error.contains("`in` has type i32, not u8"), "{error}");
    }
}
