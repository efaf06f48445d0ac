//! Frames that lie side by side in the tensors of one inference, along their first dimension.
//!
//! Each is made and read in tensors of one frame, so that preprocessing and decoding know nothing of the others. Memory is taken with
//! the first frame.

use super::{ElementType, HostTensor, MAX_RANK, Shape, TensorError, TensorSet};

/// The tensors of one frame, of so many that have one inference.
pub struct SideBySide {
    size: usize,
    /// The inputs of one frame.
    inputs: TensorSet,
    /// The outputs of one frame, once they are known.
    outputs: TensorSet,
}

impl SideBySide {
    /// For `size` frames with these inputs each.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new<'t>(
        size: usize,
        inputs: impl IntoIterator<Item = (&'t str, ElementType, Shape)>,
    ) -> Result<SideBySide, TensorError> {
        let tensors = inputs
            .into_iter()
            .map(|(name, element, shape)| HostTensor::try_zeroed(name, element, shape));
        Ok(SideBySide {
            size,
            inputs: TensorSet::new(tensors.collect::<Result<_, _>>()?),
            outputs: TensorSet::default(),
        })
    }

    /// How many frames there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The inputs of one frame, to be filled.
    pub fn inputs_mut(&mut self) -> &mut TensorSet {
        &mut self.inputs
    }

    /// Lays the inputs into the place of this frame in those of all.
    ///
    /// # Errors
    /// These are not so many times as large.
    pub fn lay(&self, part: usize, all: &mut TensorSet) -> Result<(), TensorError> {
        for made in self.inputs.as_slice() {
            let whole = all.get_mut(made.name())?;
            let (element, shape) = (whole.element(), *whole.shape());
            let bytes = whole.host_bytes_mut()?;
            let place = part_of(bytes.len(), self.size, part).and_then(|part| bytes.get_mut(part));
            let place = place.ok_or_else(|| self.wrong(made.name(), shape))?;
            lay_as(element, made, place).map_err(|not| match not {
                NotLaid::Shape => self.wrong(made.name(), shape),
                NotLaid::Type => TensorError::WrongType {
                    name: made.name().to_owned(),
                    wanted: made.element().name(),
                    found: element.name(),
                },
            })?;
        }
        Ok(())
    }

    /// The outputs of this frame: its part of all tensors that the host has and that are outputs.
    ///
    /// # Errors
    /// Their first dimension is not so many, or there is no memory.
    pub fn lift(
        &mut self,
        part: usize,
        all: &TensorSet,
        is_output: impl Fn(&str) -> bool,
    ) -> Result<&TensorSet, TensorError> {
        for whole in all.as_slice() {
            let is_input = self.inputs.find(whole.name()).is_some();
            if is_input || !is_output(whole.name()) || whole.bytes().len() < whole.size() {
                continue;
            }
            let of_all = || self.wrong(whole.name(), *whole.shape());
            let [first, rest @ ..] = whole.shape().dims() else {
                return Err(of_all());
            };
            if *first != self.size {
                return Err(of_all());
            }
            let shape = one_of(rest).ok_or_else(of_all)?;
            let bytes = whole.bytes();
            let from = part_of(bytes.len(), self.size, part).and_then(|part| bytes.get(part));
            let from = from.ok_or_else(of_all)?;
            copy(&mut self.outputs, whole.name(), whole.element(), shape, from)?;
        }
        Ok(&self.outputs)
    }

    fn wrong(&self, name: &str, found: Shape) -> TensorError {
        TensorError::WrongShape {
            name: name.to_owned(),
            found,
            wanted: format!("a first dimension of {}, the frames of one inference,", self.size),
        }
    }
}

/// Why a tensor does not go where it should.
enum NotLaid {
    /// It has more elements, or fewer.
    Shape,
    /// The type there does not hold one of them.
    Type,
}

/// Copies a tensor to a place of the same length, or of a backend that keeps all whole numbers in 32 bits.
fn lay_as(element: ElementType, made: &HostTensor, place: &mut [u8]) -> Result<(), NotLaid> {
    let bytes = made.bytes();
    let (wholes, _) = place.as_chunks_mut::<4>();
    match (made.element(), element) {
        (ElementType::I64, ElementType::I32) if wholes.len() * 8 == bytes.len() => {
            for (whole, long) in wholes.iter_mut().zip(bytes.as_chunks::<8>().0) {
                let short = i32::try_from(i64::from_ne_bytes(*long)).map_err(|_| NotLaid::Type)?;
                *whole = short.to_ne_bytes();
            }
        }
        (ElementType::Bool, ElementType::I32) if wholes.len() == bytes.len() => {
            for (whole, flag) in wholes.iter_mut().zip(bytes) {
                *whole = i32::from(*flag).to_ne_bytes();
            }
        }
        _ if place.len() == bytes.len() => place.copy_from_slice(bytes),
        _ => return Err(NotLaid::Shape),
    }
    Ok(())
}

/// Makes the tensor of this name one of this shape with these bytes.
///
/// # Errors
/// The bytes are not those of the shape, or there is no memory.
pub fn copy(
    into: &mut TensorSet,
    name: &str,
    element: ElementType,
    shape: Shape,
    bytes: &[u8],
) -> Result<(), TensorError> {
    let made = || HostTensor::try_zeroed(name, element, shape);
    let at = match into.find(name) {
        Some(at) => at,
        None => {
            into.push(made()?);
            into.position(name)?
        }
    };
    let Some(one) = into.as_mut_slice().get_mut(at) else {
        return Ok(());
    };
    if one.shape() != &shape && one.set_shape(shape).is_err() {
        // A network whose outputs grow: rare, and the only other time that memory is taken.
        *one = made()?;
    }
    let place = one.bytes_mut();
    if place.len() != bytes.len() {
        return Err(TensorError::Elsewhere {
            name: name.to_owned(),
        });
    }
    place.copy_from_slice(bytes);
    Ok(())
}

/// The shape of one frame's part.
fn one_of(rest: &[usize]) -> Option<Shape> {
    let mut dims = [1; MAX_RANK];
    dims.get_mut(1..=rest.len())?.copy_from_slice(rest);
    Shape::new(dims.get(..=rest.len())?)
}

/// Where the bytes of a part lie among those of all.
fn part_of(bytes: usize, size: usize, part: usize) -> Option<std::ops::Range<usize>> {
    let each = bytes.checked_div(size)?;
    (each * size == bytes && part < size).then(|| part * each..(part + 1) * each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_side_by_side() {
        assert_eq!(part_of(12, 3, 0), Some(0..4));
        assert_eq!(part_of(12, 3, 2), Some(8..12));
        assert_eq!(part_of(12, 3, 3), None);
        assert_eq!(part_of(13, 3, 0), None);
        assert_eq!(part_of(13, 0, 0), None);
        assert_eq!(
            one_of(&[2, 3]).map(|shape| shape.dims().to_vec()),
            Some(vec![1, 2, 3])
        );
        assert_eq!(one_of(&[1; 8]), None);
    }

    #[test]
    fn whole_numbers_and_flags_are_laid_where_a_backend_keeps_them_in_32_bits() {
        let pair = Shape::new(&[1, 2]).unwrap();
        for (made, values) in [
            (ElementType::I64, [-3.0, 640.0]),
            (ElementType::Bool, [1.0, 0.0]),
            (ElementType::I32, [7.0, 8.0]),
        ] {
            let mut frames = SideBySide::new(2, [("sizes", made, pair)]).unwrap();
            for (at, value) in values.iter().enumerate() {
                let one = frames.inputs_mut().get_mut("sizes").unwrap();
                one.set_number(at, *value).unwrap();
            }
            let both = Shape::new(&[2, 2]).unwrap();
            let mut all = TensorSet::new(vec![HostTensor::zeroed("sizes", ElementType::I32, both)]);
            frames.lay(1, &mut all).unwrap();
            let [a, b] = values.map(|value| value as i32);
            assert_eq!(all.get("sizes").unwrap().i32().unwrap(), [0, 0, a, b]);
        }
        let mut frames = SideBySide::new(1, [("sizes", ElementType::I64, pair)]).unwrap();
        let one = frames.inputs_mut().get_mut("sizes").unwrap();
        one.set_number(0, 1e12).unwrap();
        let mut all = TensorSet::new(vec![HostTensor::zeroed("sizes", ElementType::I32, pair)]);
        let error = frames.lay(0, &mut all).unwrap_err().to_string();
        assert_eq!(error, "tensor `sizes` has type i32, not i64");
        let mut all = TensorSet::new(vec![HostTensor::zeroed("sizes", ElementType::F16, pair)]);
        assert!(frames.lay(0, &mut all).is_err());
    }
}
