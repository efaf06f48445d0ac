//! Fans: how hard they are driven, and how fast they turn.

use super::file::NumberFile;
use super::files::{Channel, Files, Formula};
use super::thermal::Names;
use crate::board::Roots;
use crate::record::{Averaging, Measurand, Part, Quantity, SignalRecord};
use crate::units::Nanos;

/// Shortest interval that is sampled: fans change their speed slowly.
const SHORTEST: Nanos = Nanos::from_millis(1000);

/// The sampler; none where no fan is found.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Files> {
    let mut channels = Vec::new();
    let mut names = Names::default();
    let mut add = |name: String, quantity: Quantity, unit: &str, path: String, factor: f64, most: f64| {
        if roots.file(&path).exists() {
            channels.push(Channel {
                signal: SignalRecord {
                    source: "fan".to_owned(),
                    signal: names.unique(name),
                    unit: unit.to_owned(),
                    measurand: Measurand::new(quantity, Part::Board),
                    origin: path.clone(),
                    averaging: Averaging::Instant,
                    ..SignalRecord::default()
                },
                formula: Formula::Scaled(NumberFile::new(roots.file(&path)), factor),
                plausible: (0.0, most),
            });
        }
    };
    let percent = 100.0 / 255.0;
    add(
        "fan_drive".to_owned(),
        Quantity::FanDrive,
        "percent",
        "/sys/devices/pwm-fan/target_pwm".to_owned(),
        percent,
        100.0,
    );
    for hwmon in roots.names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{hwmon}");
        match roots.text(&format!("{folder}/name")).as_deref() {
            Some("pwmfan") => add(
                "fan_drive".to_owned(),
                Quantity::FanDrive,
                "percent",
                format!("{folder}/pwm1"),
                percent,
                100.0,
            ),
            Some("pwm_tach") => add(
                "fan_speed".to_owned(),
                Quantity::FanSpeed,
                "rpm",
                format!("{folder}/rpm"),
                1.0,
                1e5,
            ),
            Some(name) => add(
                format!("{name}_fan_speed"),
                Quantity::FanSpeed,
                "rpm",
                format!("{folder}/fan1_input"),
                1.0,
                1e5,
            ),
            None => {}
        }
    }
    Files::new("fan", interval.max(SHORTEST), channels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn fans_of_both_drivers_are_found() {
        let new = tree(&[
            ("/sys/class/hwmon/hwmon0/name", "pwmfan"),
            ("/sys/class/hwmon/hwmon0/pwm1", "51"),
            ("/sys/class/hwmon/hwmon1/name", "pwm_tach"),
            ("/sys/class/hwmon/hwmon1/rpm", "1580"),
        ]);
        let values = readings(&mut find(&Roots::at(new.path()), Nanos::from_millis(10)).unwrap());
        assert_eq!(values["fan_speed"], Some(1580.0));
        assert!((values["fan_drive"].unwrap() - 20.0).abs() < 1e-9);
        let two = tree(&[
            ("/sys/class/hwmon/hwmon0/name", "pwmfan"),
            ("/sys/class/hwmon/hwmon0/pwm1", "0"),
            ("/sys/class/hwmon/hwmon1/name", "pwmfan"),
            ("/sys/class/hwmon/hwmon1/pwm1", "255"),
        ]);
        let values = readings(&mut find(&Roots::at(two.path()), Nanos::from_millis(10)).unwrap());
        assert_eq!(
            (values["fan_drive"], values["fan_drive_2"]),
            (Some(0.0), Some(100.0))
        );
        let old = tree(&[("/sys/devices/pwm-fan/target_pwm", "0")]);
        let values = readings(&mut find(&Roots::at(old.path()), Nanos::from_millis(10)).unwrap());
        assert_eq!(values["fan_drive"], Some(0.0), "a fan that stands still");
    }
}
