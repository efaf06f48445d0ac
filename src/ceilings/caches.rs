//! The data caches of the processor, from the kernel's files.

use crate::board::Roots;

/// Where the kernel describes the first core's caches.
const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";

/// A cache that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cache {
    /// `L1`, `L2`, `L3`.
    pub(super) name: String,
    /// How much it holds.
    pub(super) bytes: u64,
    /// How many processors have it in common.
    pub(super) shared_by: u64,
}

/// The caches of the first core, the smallest first; none where the kernel does not say.
pub(super) fn of_machine(roots: &Roots) -> Vec<Cache> {
    let mut found: Vec<Cache> = roots
        .names(FOLDER)
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| one(roots, name))
        .collect();
    found.sort_by_key(|cache| cache.bytes);
    found.dedup_by(|a, b| a.name == b.name);
    found
}

fn one(roots: &Roots, index: &str) -> Option<Cache> {
    let text = |file: &str| roots.text(&format!("{FOLDER}/{index}/{file}"));
    if text("type")? == "Instruction" {
        return None;
    }
    Some(Cache {
        name: format!("L{}", text("level")?.parse::<u8>().ok()?),
        bytes: size(&text("size")?)?,
        shared_by: text("shared_cpu_list").map_or(1, |list| processors(&list)),
    })
}

/// `32K`, `1M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let by = match text.get(digits.len()..)? {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(by)
        .filter(|bytes| *bytes > 0)
}

/// How many are in `0-3,8`.
fn processors(list: &str) -> u64 {
    let parts = list.split(',').filter_map(|part| match part.split_once('-') {
        Some((from, to)) => {
            let (from, to) = (from.trim().parse::<u64>().ok()?, to.trim().parse::<u64>().ok()?);
            to.checked_sub(from)?.checked_add(1)
        }
        None => part.trim().parse::<u64>().ok().map(|_| 1),
    });
    parts.fold(0_u64, u64::saturating_add).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        assert_eq!(
            (size(""), size("K"), size("3X"), size("0K")),
            (None, None, None, None)
        );
        assert_eq!((processors("0-3,8"), processors("5"), processors("")), (5, 1, 1));
        assert_eq!(processors("9-3"), 1);
    }
}
