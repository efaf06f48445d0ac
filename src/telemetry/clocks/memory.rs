//! The clock of a Jetson's memory controller, up to Orin: held by a lock and a rate in debugfs, as jetson_clocks does.
//!
//! Thor's is a devfreq device, which is left to [`super::kernel`]; where its firmware shows the clock in debugfs too, that is
//! held as well.

use super::state::Change;
use crate::board::Roots;

/// What caps it in the present power mode, Hz; 0 means nothing does. The first is of R36 and later (the highest rate that
/// the clock may take), the second of the releases before.
const CAPS: [&str; 2] = [
    "/sys/kernel/nvpmodel_clk_cap/emc",
    "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap",
];

/// The files of one generation.
pub(super) struct Memory {
    pub(super) min: &'static str,
    max: &'static str,
    pub(super) current: &'static str,
    /// Where a rate is asked for.
    rate: &'static str,
    /// 1: the rate asked for holds, whatever clients of the memory want.
    lock: &'static str,
}

const GENERATIONS: [Memory; 2] = [
    // TX2 to Orin.
    Memory {
        min: "/sys/kernel/debug/bpmp/debug/clk/emc/min_rate",
        max: "/sys/kernel/debug/bpmp/debug/clk/emc/max_rate",
        current: "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
        rate: "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
        lock: "/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked",
    },
    // Nano and TX1.
    Memory {
        min: "/sys/kernel/debug/tegra_bwmgr/emc_min_rate",
        max: "/sys/kernel/debug/tegra_bwmgr/emc_max_rate",
        current: "/sys/kernel/debug/clk/override.emc/clk_rate",
        rate: "/sys/kernel/debug/clk/override.emc/clk_update_rate",
        lock: "/sys/kernel/debug/clk/override.emc/clk_state",
    },
];

/// This machine's; none on other machines, on Thor, and without root.
pub(super) fn find(roots: &Roots) -> Option<Memory> {
    GENERATIONS
        .into_iter()
        .find(|memory| roots.file(memory.current).exists())
}

/// This rate, or the cap of the power mode where that is lower.
pub(super) fn capped(roots: &Roots, hz: u64) -> u64 {
    let caps = CAPS.into_iter().filter_map(|path| number(roots, path));
    caps.filter(|cap| *cap > 0).fold(hz, u64::min)
}

fn number(roots: &Roots, path: &str) -> Option<u64> {
    roots.text(path)?.parse().ok()
}

impl Memory {
    /// The highest rate that the power mode allows, Hz.
    pub(super) fn highest(&self, roots: &Roots) -> Option<u64> {
        Some(capped(roots, number(roots, self.max)?))
    }

    pub(super) fn held(&self, roots: &Roots) -> bool {
        roots.text(self.lock).as_deref() == Some("1")
    }

    /// First the lock, then the rate: before it is locked, the rate that is seen now may be another a moment later, so
    /// it is asked for even where it already is the highest. Nothing where either is missing: a lock at whatever rate
    /// there is now would not be the highest.
    pub(super) fn plan(&self, roots: &Roots) -> Vec<Change> {
        let (Some(highest), Some(lock), Some(current)) = (
            self.highest(roots),
            roots.text(self.lock),
            roots.text(self.current),
        ) else {
            return Vec::new();
        };
        let highest = highest.to_string();
        if lock == "1" && current == highest {
            return Vec::new();
        }
        let change = |path: &str, earlier: String, value: String| Change {
            path: path.to_owned(),
            earlier,
            value,
        };
        vec![
            change(self.lock, lock, "1".to_owned()),
            // Nano's file of the rate asked for need not be readable.
            change(self.rate, roots.text(self.rate).unwrap_or(current), highest),
        ]
    }
}
