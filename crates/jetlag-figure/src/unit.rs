//! Units of figures: what each is called, and how a value in it is shown.

use serde::{Deserialize, Serialize};

use crate::number::{percent, short};

/// What a figure is measured in. Its values are in this unit in every machine form; people are shown watts for milliwatts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A time in milliseconds.
    Ms,
    /// A time in seconds.
    S,
    /// A rate in frames per second.
    Fps,
    /// A share from 0 to 1.
    Ratio,
    /// A load, 0 to 100 percent.
    Percent,
    /// A number of frames or objects.
    Count,
    /// A plain number, such as a slowdown.
    Factor,
    /// A power in milliwatts.
    Mw,
    /// An energy in millijoules.
    Mj,
    /// A temperature in degrees Celsius.
    C,
    /// A clock in megahertz.
    Mhz,
    /// An amount of memory.
    Bytes,
    /// Frames for each joule.
    FramesPerJoule,
}

impl Unit {
    /// All of them.
    pub const ALL: [Unit; 13] = [
        Unit::Ms,
        Unit::S,
        Unit::Fps,
        Unit::Ratio,
        Unit::Percent,
        Unit::Count,
        Unit::Factor,
        Unit::Mw,
        Unit::Mj,
        Unit::C,
        Unit::Mhz,
        Unit::Bytes,
        Unit::FramesPerJoule,
    ];

    /// As names of columns end with: `ms`; empty for what is only counted or divided.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::S => "s",
            Unit::Fps => "fps",
            Unit::Percent => "percent",
            Unit::Mw => "mw",
            Unit::Mj => "mj",
            Unit::C => "c",
            Unit::Mhz => "mhz",
            Unit::Bytes => "bytes",
            Unit::Ratio | Unit::Count | Unit::Factor | Unit::FramesPerJoule => "",
        }
    }

    /// As documents call it.
    pub fn in_words(self) -> &'static str {
        match self {
            Unit::Ratio => "share",
            Unit::Count => "count",
            Unit::Factor => "number",
            Unit::FramesPerJoule => "frames per joule",
            named => named.symbol(),
        }
    }

    /// A name with its unit, as the head of a table has it, in two parts: `camera.throughput` and its unit of `camera.throughput_fps`.
    pub fn split(head: &str) -> Option<(&str, Unit)> {
        let (name, symbol) = head.rsplit_once('_')?;
        let unit = Unit::ALL.into_iter().find(|unit| unit.symbol() == symbol)?;
        (!name.is_empty() && !symbol.is_empty()).then_some((name, unit))
    }

    /// A value for people, with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Ms => format!("{} ms", short(value)),
            Unit::S => format!("{} s", short(value)),
            Unit::Fps => format!("{} /s", short(value)),
            Unit::Ratio => percent(value),
            Unit::Percent => format!("{} %", short(value)),
            Unit::Count => format!("{value}"),
            Unit::Factor => short(value),
            Unit::Mw => format!("{} W", short(value / 1e3)),
            Unit::Mj if value.abs() < 1e3 => format!("{} mJ", short(value)),
            Unit::Mj => format!("{} J", short(value / 1e3)),
            Unit::C => format!("{} °C", short(value)),
            Unit::Mhz => format!("{} MHz", short(value)),
            Unit::Bytes => format!("{} MiB", short(value / f64::from(1 << 20))),
            Unit::FramesPerJoule => format!("{} frames/J", short(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_split_where_a_unit_ends_it() {
        assert_eq!(
            Unit::split("camera.throughput_fps"),
            Some(("camera.throughput", Unit::Fps))
        );
        for whole in [
            "camera.lost_records",
            "camera.response.p99_9",
            "_ms",
            "camera.cv",
            "camera.x_",
        ] {
            assert_eq!(Unit::split(whole), None, "{whole}");
        }
    }

    #[test]
    fn people_are_shown_watts_and_joules() {
        assert_eq!(Unit::Mw.show(15_250.0), "15.25 W");
        assert_eq!(Unit::Mj.show(999.0), "999.00 mJ");
        assert_eq!(Unit::Mj.show(2_000.0), "2.00 J");
        assert_eq!(Unit::Bytes.show(2_097_152.0), "2.00 MiB");
    }
}
