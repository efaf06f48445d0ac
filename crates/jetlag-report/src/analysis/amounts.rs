//! Reads amounts with their units, as limits of expectations and power budgets are written: `33ms`, `1%`, `15W`,
//! `200mJ`, `90C`, `1GHz`.

use jetlag_figure::Unit;

use crate::units::{QuantityError, parse_duration};

/// Why an amount could not be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unreadable {
    /// It should be a time.
    Duration(QuantityError),
    /// It is none of what is wanted: in words, with an example.
    Not(&'static str),
}

/// Milliwatts of `1W`, and so on.
const POWERS: [(&str, f64); 4] = [("kW", 1e6), ("mW", 1.0), ("uW", 1e-3), ("W", 1e3)];
/// Millijoules.
const ENERGIES: [(&str, f64); 4] = [("kJ", 1e6), ("mJ", 1.0), ("uJ", 1e-3), ("J", 1e3)];
/// Degrees Celsius.
const TEMPERATURES: [(&str, f64); 2] = [("°C", 1.0), ("C", 1.0)];
/// Megahertz; `Hz` last, since the others end so too.
const CLOCKS: [(&str, f64); 4] = [("GHz", 1e3), ("MHz", 1.0), ("kHz", 1e-3), ("Hz", 1e-6)];
/// Bytes; `B` last, since the others end so too.
const MEMORY: [(&str, f64); 7] = [
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1_024.0),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
];

const A_POWER: &str = "a power with its unit, W or mW: write \"15W\" or \"800mW\"";

/// Reads an amount in this unit; a bare number only of what has no unit.
pub(super) fn read(text: &str, unit: Unit) -> Result<f64, Unreadable> {
    match unit {
        Unit::Ms => match parse_duration(text) {
            Ok(duration) => Ok(duration.as_millis_f64()),
            Err(problem) => Err(Unreadable::Duration(problem)),
        },
        Unit::S => match parse_duration(text) {
            Ok(duration) => Ok(duration.as_secs_f64()),
            Err(problem) => Err(Unreadable::Duration(problem)),
        },
        Unit::Percent => number(text.strip_suffix('%').unwrap_or(text), "a load: write \"50%\""),
        Unit::Bytes => with_unit(
            text,
            &MEMORY,
            "an amount of memory with its unit: write \"2GiB\" or \"800MB\"",
        ),
        Unit::Ratio => {
            const WANTED: &str = "a share: write \"1%\" or 0.01";
            match text.strip_suffix('%') {
                Some(percent) => Ok(number(percent, WANTED)? / 100.0),
                None => number(text, WANTED),
            }
        }
        Unit::Fps => {
            let bare = ["fps", "Hz", "/s"]
                .iter()
                .find_map(|unit| text.strip_suffix(unit));
            number(bare.unwrap_or(text), "a rate: write 29.5 or \"29.5fps\"")
        }
        Unit::Count => number(text, "a number of frames or objects, such as 0"),
        Unit::Factor => number(text.strip_suffix('x').unwrap_or(text), "a number, such as 1.5"),
        Unit::FramesPerJoule => {
            const WANTED: &str = "a number of frames per joule, such as 5";
            number(text.strip_suffix("/J").unwrap_or(text), WANTED)
        }
        Unit::Mw => with_unit(text, &POWERS, A_POWER),
        Unit::Mj => with_unit(
            text,
            &ENERGIES,
            "an energy with its unit, J or mJ: write \"2J\" or \"200mJ\"",
        ),
        Unit::C => with_unit(text, &TEMPERATURES, "a temperature with its unit: write \"90C\""),
        Unit::Mhz => with_unit(
            text,
            &CLOCKS,
            "a clock with its unit, MHz or GHz: write \"1GHz\" or \"900MHz\"",
        ),
    }
}

/// A power above zero, in milliwatts, as `--budget` takes it.
pub fn parse_power(text: &str) -> Result<f64, String> {
    let read = with_unit(text.trim(), &POWERS, A_POWER).ok();
    match read.filter(|mw| *mw > 0.0) {
        Some(mw) => Ok(mw),
        None => Err(format!("`{text}` is not {A_POWER}")),
    }
}

fn with_unit(text: &str, units: &[(&str, f64)], wanted: &'static str) -> Result<f64, Unreadable> {
    let found = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (bare, scale) = found.ok_or(Unreadable::Not(wanted))?;
    let value = number(bare, wanted)? * scale;
    value.is_finite().then_some(value).ok_or(Unreadable::Not(wanted))
}

fn number(text: &str, wanted: &'static str) -> Result<f64, Unreadable> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| value.is_finite())
        .ok_or(Unreadable::Not(wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_read_in_each_of_their_units() {
        for (text, unit, value) in [
            ("15W", Unit::Mw, 15_000.0),
            ("15 W", Unit::Mw, 15_000.0),
            ("0.8W", Unit::Mw, 800.0),
            ("800mW", Unit::Mw, 800.0),
            ("1kW", Unit::Mw, 1e6),
            ("2J", Unit::Mj, 2_000.0),
            ("200mJ", Unit::Mj, 200.0),
            ("90C", Unit::C, 90.0),
            ("-5 °C", Unit::C, -5.0),
            ("1GHz", Unit::Mhz, 1_000.0),
            ("900MHz", Unit::Mhz, 900.0),
            ("5", Unit::FramesPerJoule, 5.0),
            ("5/J", Unit::FramesPerJoule, 5.0),
            ("2s", Unit::S, 2.0),
            ("50 %", Unit::Percent, 50.0),
            ("2GiB", Unit::Bytes, 2_147_483_648.0),
            ("800 MB", Unit::Bytes, 8e8),
        ] {
            assert_eq!(read(text, unit), Ok(value), "{text}");
        }
        for (text, unit) in [
            ("15", Unit::Mw),
            ("15w", Unit::Mw),
            ("15MW", Unit::Mw),
            ("W", Unit::Mw),
            ("15J", Unit::Mw),
            ("1e308kW", Unit::Mw),
            ("nanW", Unit::Mw),
            ("200", Unit::Mj),
            ("90", Unit::C),
            ("90F", Unit::C),
            ("1000", Unit::Mhz),
        ] {
            assert!(matches!(read(text, unit), Err(Unreadable::Not(_))), "{text}");
        }
    }

    #[test]
    fn a_budget_is_a_power_above_zero() {
        assert_eq!(parse_power(" 15W "), Ok(15_000.0));
        for text in ["15", "0W", "-3W", "infW", "", "fifteen"] {
            let problem = parse_power(text).unwrap_err();
            assert!(problem.contains("W or mW"), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_or_refused(text in ".{0,20}") {
            for unit in Unit::ALL {
                prop_assert!(read(&text, unit).map_or(true, f64::is_finite));
            }
        }

        #[test]
        fn watts_and_milliwatts_are_the_same_power(mw in 1u32..1_000_000) {
            let watts = read(&format!("{}W", f64::from(mw) / 1e3), Unit::Mw).unwrap();
            let milliwatts = read(&format!("{mw}mW"), Unit::Mw).unwrap();
            prop_assert!((watts - milliwatts).abs() < 1e-6);
        }
    }
}
