//! Findings about power and energy.

use std::borrow::Cow;

use serde::Serialize;

use super::fields;
use crate::analysis::code::Code;
use crate::units::Nanos;

/// Something that limits what energy figures mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum PowerLimit {
    /// A line of the whole gave no reading.
    NotMeasured { rail: String, source: String },
    /// There is nothing to subtract.
    IdleNotMeasured { why: NoIdle },
    /// Which of these make up the whole is not known.
    NoTotal { rails: Vec<String> },
    /// A line's counter went back.
    CounterReset { rail: String },
    /// A line's counter stood still while its sensor showed power.
    CounterStoodStill { rail: String },
    /// Integrated power is off the counter, by a share of it.
    CounterDisagrees { rail: String, off: f64 },
    /// The window holds too few values of the sensor.
    ShortForSensor {
        rail: String,
        #[serde(flatten)]
        pace: Pace,
        /// How far apart new values are.
        every_ms: f64,
        renewals: f64,
        /// Renewals that it takes.
        needed: f64,
        #[serde(rename = "length_s", serialize_with = "fields::seconds")]
        length: Nanos,
    },
    /// The named rails are this share of the total, which is these together.
    RailsDoNotAddUp { share: f64, total: Vec<String> },
    /// A line was not read for a part of the window.
    SamplerGaps {
        rail: String,
        missing_s: f64,
        #[serde(rename = "length_s", serialize_with = "fields::seconds")]
        length: Nanos,
    },
}

/// What decides how often there is a new value of a sensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "pace", rename_all = "kebab-case")]
pub(in super::super) enum Pace {
    /// The sensor's own renewal.
    Renewed,
    /// How often it was read; the sensor renews its value more often, as far as that is known.
    Read { renewed_ms: Option<f64> },
    /// How long its filter takes to settle.
    Settles,
}

/// Why there is no idle power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum NoIdle {
    /// The total was not read during the baseline.
    NoReadings,
    /// The machine has no power sensor that can be read.
    NoSensor,
}

impl PowerLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            PowerLimit::NotMeasured { .. } => Code::PowerNotMeasured,
            PowerLimit::IdleNotMeasured { .. } => Code::IdlePowerNotMeasured,
            PowerLimit::NoTotal { .. } => Code::NoTotalPower,
            PowerLimit::CounterReset { .. } => Code::CounterReset,
            PowerLimit::CounterStoodStill { .. } | PowerLimit::CounterDisagrees { .. } => {
                Code::EnergyDisagrees
            }
            PowerLimit::ShortForSensor { .. } => Code::ShortForSensor,
            PowerLimit::RailsDoNotAddUp { .. } => Code::RailsDoNotAddUp,
            PowerLimit::SamplerGaps { .. } => Code::SamplerGaps,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            PowerLimit::NotMeasured { rail, source } => {
                format!("{rail} ({source}) gave no reading while the tenants ran.")
            }
            PowerLimit::IdleNotMeasured { why } => format!(
                "`baseline.idle` was requested, but {}.",
                match why {
                    NoIdle::NoReadings => "the total power was not read during it",
                    NoIdle::NoSensor => "no power sensor could be read",
                }
            ),
            PowerLimit::NoTotal { rails } => format!(
                "It is unknown which of the sampled rails ({}) add up to the total power, so there is no energy per \
                 frame.",
                rails.join(", ")
            ),
            PowerLimit::CounterReset { rail } => format!(
                "The energy counter of {rail} went backwards during the run; its energy is integrated from power \
                 instead."
            ),
            PowerLimit::CounterStoodStill { rail } => {
                format!(
                    "{rail}: its energy counter did not move while its sensor showed power; energy is integrated \
                     from power instead."
                )
            }
            PowerLimit::CounterDisagrees { rail, off } => format!(
                "{rail}: integrated power differs from its energy counter by {:+.1} %; the counter is used.",
                off * 100.0
            ),
            PowerLimit::ShortForSensor {
                rail,
                pace,
                every_ms,
                renewals,
                needed,
                length,
            } => {
                // As many as there were in whole: fewer than are needed, whatever they would be rounded to.
                let (had, needed) = (renewals.floor(), needed.round());
                match pace {
                    Pace::Renewed => format!(
                        "{rail}'s sensor renews its value every {every_ms:.0} ms: {had:.0} times in {length}; energy needs {needed:.0} \
                         values."
                    ),
                    Pace::Read { renewed_ms } => format!(
                        "{rail} was read every {every_ms:.0} ms{}: {had:.0} values in {length}; energy needs {needed:.0}.",
                        match renewed_ms {
                            Some(ms) => format!(", and its sensor renews its value every {ms:.0} ms"),
                            None => String::new(),
                        }
                    ),
                    Pace::Settles => format!(
                        "{rail}'s sensor is a filter that takes {every_ms:.0} ms to follow: {had:.0} values in {length}; energy needs \
                         {needed:.0}."
                    ),
                }
            }
            PowerLimit::RailsDoNotAddUp { share, total } => format!(
                "The named rails add up to {:.0} % of {}: {}.",
                share * 100.0,
                total.join(" + "),
                if *share > 1.0 {
                    "one of them is counted twice, or its sensor is inaccurate"
                } else {
                    "the rest is unattributed: parts without a sensor of their own draw it, or a sensor is inaccurate"
                }
            ),
            PowerLimit::SamplerGaps {
                rail,
                missing_s,
                length,
            } => format!(
                "{rail} was not read for {missing_s:.1} s of {length}. Its power in that time is unknown: its mean \
                 is assumed, and its energy has no interval."
            ),
        }
    }

    pub(super) fn advice(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            PowerLimit::NotMeasured { .. } => {
                "`jetlag doctor` shows whether it can be read; this may need root."
            }
            PowerLimit::IdleNotMeasured { .. } => {
                "Energy above idle is not reported. `jetlag doctor` shows what can be read, and what needs root."
            }
            PowerLimit::NoTotal { .. } => {
                "Each rail's own figures are valid. Report the board and its rails to jetlag's developers, so that \
                 they can be added."
            }
            PowerLimit::CounterReset { .. } => {
                "Another program may have reloaded the driver; run again if the energy matters."
            }
            PowerLimit::CounterStoodStill { .. } => {
                "The driver does not count this card's energy; this is so where virtual machines share a card."
            }
            PowerLimit::CounterDisagrees { .. } => {
                "Run for longer, or sample more often (`telemetry: (interval: …)`): the sensor misses short loads."
            }
            PowerLimit::ShortForSensor {
                pace,
                every_ms,
                needed,
                ..
            } => {
                let enough = (needed * every_ms / 1e3).ceil();
                let or = match pace {
                    Pace::Read { .. } => ", or sample more often (`telemetry: (interval: …)`)",
                    Pace::Renewed | Pace::Settles => "",
                };
                return format!("Set `duration` to at least {enough:.0} s{or}.").into();
            }
            PowerLimit::RailsDoNotAddUp { .. } => {
                "Take energy from the total, as jetlag does, and do not subtract rails to get a part's power."
            }
            PowerLimit::SamplerGaps { .. } => {
                "Sample less often (`telemetry: (interval: …)`), or free a processor; the log shows how well \
                 samplers kept their interval."
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_renewals_are_never_said_to_be_as_many_as_it_takes() {
        let limit = PowerLimit::ShortForSensor {
            rail: "VDD_IN".to_owned(),
            pace: Pace::Renewed,
            every_ms: 242.0,
            renewals: 9.96,
            needed: 10.0,
            length: Nanos(2_410_000_000),
        };
        assert_eq!(limit.message().matches("10").count(), 1, "{}", limit.message());
    }
}
