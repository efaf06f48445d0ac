//! What is waited for before a run: a pause, and a machine that has cooled down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::board::Roots;
use crate::commands::output::say;
use crate::sweep::CoolDown;
use crate::units::Nanos;

const LOOK: Duration = Duration::from_millis(200);
/// In °C; sensors that are switched off answer with nonsense.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -40.0..=150.0;

/// Waits, and says where it gave up.
pub(super) fn down(asked: &CoolDown, stop: &AtomicBool) {
    let time = |nanos: Nanos| Duration::from_nanos(u64::try_from(nanos.0).unwrap_or(0));
    let began = Instant::now();
    let pause = asked.pause.map_or(Duration::ZERO, time);
    while began.elapsed() < pause && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK.min(pause.saturating_sub(began.elapsed())));
    }
    let (Some(below), Some(at_most)) = (asked.below_c, asked.at_most.map(time)) else {
        return;
    };
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let Some(hottest) = hottest(&Roots::system()) else {
            say(
                "cool_down: this machine shows no temperature, so nothing is waited for; give a pause instead",
            );
            return;
        };
        if hottest < below {
            return;
        }
        if began.elapsed() >= at_most {
            say(&format!(
                "cool_down: still {hottest:.0} °C after {:.0} s; the run begins all the same",
                at_most.as_secs_f64()
            ));
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// The highest temperature of all zones, in °C; those of a board's PMIC are constants.
fn hottest(roots: &Roots) -> Option<f64> {
    let folder = std::fs::read_dir(roots.file("sys/class/thermal")).ok()?;
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
    folder
        .filter_map(|entry| {
            let zone = entry.ok()?.path();
            let is_constant = read(zone.join("type"))?.to_ascii_uppercase().starts_with("PMIC");
            let celsius = read(zone.join("temp"))?.trim().parse::<f64>().ok()? / 1e3;
            (!is_constant && PLAUSIBLE.contains(&celsius)).then_some(celsius)
        })
        .max_by(f64::total_cmp)
}
