//! The checksum that stands for OpenCV's pixels in tests: tests/images/checksum.py has the same.

/// A number without a pattern for each index.
pub(crate) fn mixed(index: usize) -> u32 {
    let mut value = (index as u32).wrapping_mul(0x9E37_79B1);
    value ^= value >> 15;
    value = value.wrapping_mul(0x2C1B_3C6D);
    value ^ (value >> 12)
}

/// Of levels with their index in RGB order, row by row; the order in which they come does not matter.
pub(crate) fn checksum(levels: impl Iterator<Item = (usize, u8)>) -> u32 {
    let each = levels.map(|(i, level)| (u32::from(level) + 1).wrapping_mul(mixed(i)));
    each.fold(0, u32::wrapping_add)
}
