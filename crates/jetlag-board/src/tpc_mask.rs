//! Which of a Jetson's texture processing clusters are off: the power mode and the module's grade decide.

use super::Roots;

/// The mask as the GPU's driver gives it, in hexadecimal without leading zeros: a bit that is set is a cluster that is off. None
/// where there is no such file (no Jetson, Thor) or none that can be read.
pub fn tpc_mask(roots: &Roots) -> Option<String> {
    let devices = roots.names("/sys/class/devfreq").into_iter();
    let mut files: Vec<String> = devices
        .map(|device| format!("/sys/class/devfreq/{device}/device/tpc_pg_mask"))
        .collect();
    files.push("/sys/devices/gpu.0/tpc_pg_mask".to_owned());
    files.iter().find_map(|file| {
        let text = roots.text(file)?;
        // Decimal, as nvpmodel's files have it too, or with a prefix.
        let mask = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => text.parse().ok()?,
        };
        Some(format!("{mask:x}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_read_where_the_driver_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::at(folder.path());
        assert_eq!(tpc_mask(&roots), None);
        let device = folder.path().join("sys/class/devfreq/17000000.gpu/device");
        std::fs::create_dir_all(&device).unwrap();
        std::fs::write(device.join("tpc_pg_mask"), "0x00fc\n").unwrap();
        assert_eq!(tpc_mask(&roots).as_deref(), Some("fc"));
        std::fs::write(device.join("tpc_pg_mask"), "240\n").unwrap();
        assert_eq!(tpc_mask(&roots).as_deref(), Some("f0"));
        std::fs::write(device.join("tpc_pg_mask"), "what\n").unwrap();
        assert_eq!(tpc_mask(&roots), None);
    }
}
