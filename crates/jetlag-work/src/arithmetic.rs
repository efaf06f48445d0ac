//! Products and sums of counts that stop at 64 bits instead of wrapping.

use crate::call::Stop;

/// All factors multiplied.
pub(crate) fn times(factors: &[u64]) -> Result<u64, Stop> {
    crate::value::product(factors).ok_or(Stop::Overflow)
}

/// All terms added.
pub(crate) fn sum(terms: &[u64]) -> Result<u64, Stop> {
    terms
        .iter()
        .try_fold(0_u64, |all, term| all.checked_add(*term))
        .ok_or(Stop::Overflow)
}
