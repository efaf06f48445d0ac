//! The clock of a Jetson's memory controller, up to Orin: held by a lock and a rate in debugfs, as jetson_clocks does.
//!
//! Thor's is a devfreq device like any other, and is left to [`super::kernel`].

use super::state::Change;
use crate::board::Roots;

/// What caps it in the present power mode, Hz; 0 means nothing does.
const CAP: &str = "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap";

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

impl Memory {
    /// The highest rate that the power mode allows, Hz.
    pub(super) fn highest(&self, roots: &Roots) -> Option<u64> {
        let number = |path: &str| -> Option<u64> { roots.text(path)?.parse().ok() };
        let highest = number(self.max)?;
        Some(
            number(CAP)
                .filter(|cap| *cap > 0)
                .map_or(highest, |cap| cap.min(highest)),
        )
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
