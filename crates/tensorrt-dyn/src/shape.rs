//! Shapes: what the library's `Dims` says, as a slice of extents.

use crate::error::{Error, Result};
use crate::sys::layout::{Dims32, Dims64, MAX_DIMS};

/// The extents of a tensor, outermost first; -1 where an extent is not fixed yet.
pub type Dims = Vec<i64>;

/// From the 64-bit form; a negative count ("invalid") gives `None` through [`valid`].
pub(crate) fn from_dims64(dims: Dims64) -> Dims {
    dims.extents[..count(dims.count)].to_vec()
}

/// From the 32-bit form.
pub(crate) fn from_dims32(dims: Dims32) -> Dims {
    dims.extents[..count(dims.count)]
        .iter()
        .map(|extent| i64::from(*extent))
        .collect()
}

fn count(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0).min(MAX_DIMS)
}

/// `Dims` with a count of -1 is the library's way of saying that a name or index is unknown.
pub(crate) fn is_valid(count: i32) -> bool {
    usize::try_from(count).is_ok_and(|count| count <= MAX_DIMS)
}

/// To the 64-bit form.
pub(crate) fn to_dims64(shape: &[i64]) -> Result<Dims64> {
    let mut extents = [0; MAX_DIMS];
    let count = i32::try_from(shape.len()).unwrap_or(i32::MAX);
    extents
        .get_mut(..shape.len())
        .ok_or_else(|| too_large(shape, 64))?
        .copy_from_slice(shape);
    Ok(Dims64 { count, extents })
}

/// To the 32-bit form.
pub(crate) fn to_dims32(shape: &[i64]) -> Result<Dims32> {
    let wide = to_dims64(shape).map_err(|_| too_large(shape, 32))?;
    let mut extents = [0; MAX_DIMS];
    for (narrow, wide) in extents.iter_mut().zip(wide.extents) {
        *narrow = i32::try_from(wide).map_err(|_| too_large(shape, 32))?;
    }
    Ok(Dims32 {
        count: wide.count,
        extents,
    })
}

fn too_large(shape: &[i64], bits: u32) -> Error {
    Error::Shape {
        shape: shape.to_vec(),
        bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_survive_both_forms() {
        for shape in [vec![], vec![1, 3, 640, 640], vec![-1, 4], vec![7; 8]] {
            assert_eq!(from_dims64(to_dims64(&shape).expect("fits")), shape);
            assert_eq!(from_dims32(to_dims32(&shape).expect("fits")), shape);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(to_dims64(&[1; 9]).is_err());
        assert!(to_dims32(&[1 << 40]).is_err());
        assert_eq!(from_dims64(to_dims64(&[1 << 40]).expect("fits")), [1 << 40]);
    }

    #[test]
    fn an_invalid_count_is_not_a_shape_and_never_reads_past_the_array() {
        assert!(!is_valid(-1));
        assert!(!is_valid(9));
        assert_eq!(
            from_dims64(Dims64 {
                count: -1,
                extents: [5; 8]
            }),
            [0i64; 0]
        );
        assert_eq!(
            from_dims32(Dims32 {
                count: 99,
                extents: [5; 8]
            })
            .len(),
            8
        );
    }
}
