//! How much memory of this machine is free.

/// Bytes that programs can still have without swapping, as the kernel estimates; `None` where it does not tell.
pub(crate) fn available() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::available_in;

    #[test]
    fn the_kernels_estimate_is_taken() {
        let told = "MemTotal:       16000 kB\nMemFree:         100 kB\nMemAvailable:   12000 kB\n";
        assert_eq!(available_in(told), Some(12_000 * 1024));
        assert_eq!(available_in("MemAvailable: much kB"), None);
        assert_eq!(available_in(""), None);
    }
}
