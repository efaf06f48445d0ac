//! What is waited for before a run: a pause, and a machine that has cooled down. Its sensors are the thermal zones, and the GPUs
//! through NVML: a desktop's card has no zone.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::board::Roots;
use crate::commands::output::say;
use crate::sweep::CoolDown;
use crate::telemetry::{Cards, open_cards};
use crate::units::Nanos;

const LOOK: Duration = Duration::from_millis(200);
/// In °C; sensors that are switched off answer with nonsense.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -40.0..=150.0;

/// Waits before each run of a sweep.
pub(super) struct Cooler {
    asked: CoolDown,
    roots: Roots,
    /// The GPUs, once they were looked for; none where NVML has none.
    cards: OnceCell<Option<Cards>>,
    /// Whether a wait is said that came to its end.
    says: bool,
}

/// A sensor and what it tells.
struct Heat {
    sensor: String,
    celsius: f64,
}

impl Cooler {
    pub(super) fn new(asked: CoolDown, says: bool) -> Cooler {
        Cooler {
            asked,
            roots: Roots::system(),
            cards: OnceCell::new(),
            says,
        }
    }

    /// Waits, and says for which sensor, and where it gave up.
    pub(super) fn down(&self, stop: &AtomicBool) {
        let time = |nanos: Nanos| Duration::from_nanos(u64::try_from(nanos.0).unwrap_or(0));
        let began = Instant::now();
        let pause = self.asked.pause.map_or(Duration::ZERO, time);
        while began.elapsed() < pause && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK.min(pause.saturating_sub(began.elapsed())));
        }
        let (Some(below), Some(at_most)) = (self.asked.below_c, self.asked.at_most.map(time)) else {
            return;
        };
        let began = Instant::now();
        let mut waited_for: Option<Heat> = None;
        while !stop.load(Ordering::Relaxed) {
            let Some(hottest) = self.hottest() else {
                say(
                    "cool_down: neither a thermal zone nor NVML shows a temperature of this machine, so nothing is waited for; give a pause \
                     instead",
                );
                return;
            };
            let waited = began.elapsed();
            if hottest.celsius < below {
                if let Some(before) = waited_for.filter(|_| self.says) {
                    say(&format!(
                        "cool_down: waited {:.1} s for {}, which was at {:.0} °C; all are below {below} °C",
                        waited.as_secs_f64(),
                        before.sensor,
                        before.celsius
                    ));
                }
                return;
            }
            if waited >= at_most {
                say(&format!(
                    "cool_down: {} is still at {:.0} °C after {:.0} s; the run begins all the same",
                    hottest.sensor,
                    hottest.celsius,
                    at_most.as_secs_f64()
                ));
                return;
            }
            // The last that is too hot is the one that was waited for; how hot it was is told of the beginning.
            match &mut waited_for {
                Some(before) if before.sensor == hottest.sensor => {}
                before => *before = Some(hottest),
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The hottest sensor.
    fn hottest(&self) -> Option<Heat> {
        let cards = self.cards.get_or_init(|| open_cards(&self.roots).ok());
        let cards = cards.iter().flat_map(Cards::temperatures);
        let cards = cards.map(|(sensor, celsius)| Heat { sensor, celsius });
        zones(&self.roots)
            .into_iter()
            .chain(cards)
            .filter(|heat| PLAUSIBLE.contains(&heat.celsius))
            .max_by(|a, b| a.celsius.total_cmp(&b.celsius))
    }
}

/// The thermal zones; those of a board's PMIC are constants.
fn zones(roots: &Roots) -> Vec<Heat> {
    let Ok(folder) = std::fs::read_dir(roots.file("sys/class/thermal")) else {
        return Vec::new();
    };
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
    folder
        .filter_map(|entry| {
            let zone = entry.ok()?.path();
            let kind = read(zone.join("type"))?;
            let is_constant = kind.to_ascii_uppercase().starts_with("PMIC");
            let celsius = read(zone.join("temp"))?.trim().parse::<f64>().ok()? / 1e3;
            (!is_constant).then(|| Heat {
                sensor: format!("the thermal zone {}", kind.trim()),
                celsius,
            })
        })
        .collect()
}
