//! Where elements lie in small tensors.

use crate::call::size;
use crate::onnx::Data;

/// As many elements as are carried along.
pub(super) const MOST: u64 = 8192;

/// The elements of `data` at these places.
pub(super) fn at_places(data: &Data, places: impl Iterator<Item = Option<usize>>) -> Option<Data> {
    Some(match data {
        Data::Ints(values) => Data::Ints(
            places
                .map(|place| values.get(place?).copied())
                .collect::<Option<_>>()?,
        ),
        Data::Floats(values) => Data::Floats(
            places
                .map(|place| values.get(place?).copied())
                .collect::<Option<_>>()?,
        ),
    })
}

/// Every index of a shape, in order.
pub(super) fn indices(dims: &[u64]) -> impl Iterator<Item = Vec<usize>> {
    let total = size(dims).unwrap_or(0).min(MOST) as usize;
    let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
    (0..total).map(move |mut flat| {
        let mut index = vec![0; dims.len()];
        for (place, dim) in index.iter_mut().zip(&dims).rev() {
            *place = flat % dim;
            flat /= dim;
        }
        index
    })
}

/// Where an index lies in a tensor of this shape.
pub(super) fn place(index: &[usize], dims: &[u64]) -> Option<usize> {
    index.iter().zip(dims).try_fold(0_usize, |flat, (at, dim)| {
        flat.checked_mul(usize::try_from(*dim).ok()?)?.checked_add(*at)
    })
}

/// Where an index lies in a tensor that is stretched to its shape.
pub(super) fn stretched(index: &[usize], dims: &[u64]) -> Option<usize> {
    let own = index.get(index.len().checked_sub(dims.len())?..)?;
    let own: Vec<usize> = own
        .iter()
        .zip(dims)
        .map(|(at, dim)| if *dim == 1 { 0 } else { *at })
        .collect();
    place(&own, dims)
}
