//! The total power that the dashboard shows: that of the module, else of the cards and processors that are measured.

use super::{LiveSignal, LiveView};
use crate::record::{Quantity, RailRole};

/// Sources of a board's own rails.
const BOARD_SOURCES: [&str; 4] = ["ina3221", "ina238", "ina3221x", "tegrastats"];

/// What is drawn in total.
#[derive(Clone, Debug, PartialEq)]
pub struct TotalPower {
    /// What it covers: `module`, `GPU`, ….
    pub of: &'static str,
    /// The latest readings together, mW; none if one of them has no value.
    pub now_mw: Option<f64>,
    /// The highest of the readings kept, mW.
    pub highest_mw: Option<f64>,
    /// The latest ones, the oldest first.
    pub history: Vec<Option<f64>>,
}

impl LiveView {
    /// The total power; none where no line tells it. The same lines make up the total of a report
    /// (docs/measurement.md), and which of them are complete is seen at the end only.
    pub fn total_power(&self) -> Option<TotalPower> {
        let rails: Vec<(&str, &LiveSignal)> = self
            .current()
            .filter(|(.., signal)| signal.measurand.quantity == Quantity::Power)
            .map(|(source, _, signal)| (source, signal))
            .collect();
        let of = |source: &str, role: RailRole| -> Vec<&LiveSignal> {
            let fits = rails
                .iter()
                .filter(|(s, signal)| *s == source && signal.role == role);
            fits.map(|(_, signal)| *signal).collect()
        };
        for (role, what) in [
            (RailRole::Total, "module"),
            (RailRole::Summand, "module"),
            (RailRole::Input, "board input"),
        ] {
            for source in BOARD_SOURCES {
                let found = of(source, role);
                match (role, &found[..]) {
                    (_, []) => {}
                    (RailRole::Input, [first, ..]) => return Some(together(what, &[*first])),
                    (_, all) => return Some(together(what, all)),
                }
            }
        }
        if rails.iter().any(|(source, _)| BOARD_SOURCES.contains(source)) {
            return None;
        }
        let (gpus, processors) = (of("nvml", RailRole::Total), of("rapl", RailRole::Total));
        let what = match (gpus.len(), processors.is_empty()) {
            (0, true) => return None,
            (0, false) => "processor",
            (1, true) => "GPU",
            (_, true) => "all GPUs",
            (1, false) => "GPU and processor",
            (_, false) => "all GPUs and processor",
        };
        let all: Vec<&LiveSignal> = gpus.into_iter().chain(processors).collect();
        Some(together(what, &all))
    }
}

fn together(of: &'static str, rails: &[&LiveSignal]) -> TotalPower {
    let length = rails.iter().map(|rail| rail.history.len()).min().unwrap_or(0);
    let at = |back: usize| -> Option<f64> {
        let readings = rails.iter().map(|rail| {
            let place = rail.history.len().checked_sub(back + 1)?;
            rail.history.get(place).copied().flatten()
        });
        readings.sum()
    };
    let history: Vec<Option<f64>> = (0..length).rev().map(at).collect();
    TotalPower {
        of,
        now_mw: rails.iter().map(|rail| rail.value).sum(),
        highest_mw: history.iter().flatten().copied().reduce(f64::max),
        history,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Event, Measurand, Part, SampleRecord, SignalRecord};
    use crate::units::Stamp;

    type Rail = (&'static str, &'static str, RailRole, &'static [Option<f64>]);

    fn view(rails: &[Rail]) -> LiveView {
        let mut view = LiveView::new("x".into(), &[]);
        for (source, name, role, values) in rails {
            view.event(&Event::Signal(SignalRecord {
                source: (*source).into(),
                signal: (*name).into(),
                unit: "mw".into(),
                measurand: Measurand::new(Quantity::Power, Part::Board),
                role: *role,
                ..SignalRecord::default()
            }));
            for (at, value) in values.iter().enumerate() {
                view.event(&Event::Sample(SampleRecord {
                    at: Stamp(1 + at as i64),
                    source: (*source).into(),
                    signal: (*name).into(),
                    value: *value,
                    unit: "mw".into(),
                }));
            }
        }
        view
    }

    #[test]
    fn a_total_is_the_module_s_line_else_the_sum_of_its_lines() {
        let part: &'static [_] = &[Some(1.0), Some(2.0)];
        let of = |rails: &[Rail]| view(rails).total_power();
        let total = of(&[
            ("ina3221", "VDD_IN", RailRole::Total, &[Some(9.0), Some(8.0)]),
            ("ina3221", "VDD_SOC", RailRole::Part, part),
        ]);
        let total = total.expect("there is one");
        assert_eq!(
            (total.of, total.now_mw, total.highest_mw),
            ("module", Some(8.0), Some(9.0))
        );
        let two = |second: &'static [Option<f64>]| {
            of(&[
                ("ina3221", "VDD_GPU", RailRole::Summand, part),
                ("ina3221", "VDD_CPU", RailRole::Summand, second),
                ("ina3221", "VIN", RailRole::Input, &[Some(99.0)]),
            ])
        };
        let total = two(&[Some(5.0), Some(3.0)]).expect("there is one");
        assert_eq!((total.now_mw, total.highest_mw), (Some(5.0), Some(6.0)));
        assert_eq!(total.history, [Some(6.0), Some(5.0)]);
        // What lacks a line is no total.
        assert_eq!(two(&[Some(5.0), None]).expect("there is one").now_mw, None);
    }

    #[test]
    fn a_desktop_s_total_says_what_it_covers_and_an_unknown_line_is_none() {
        let watts: &'static [_] = &[Some(50.0)];
        let of = |rails: &[Rail]| view(rails).total_power().map(|total| (total.of, total.now_mw));
        let gpu = ("nvml", "gpu0_power", RailRole::Total, watts);
        let cpu = ("rapl", "package-0", RailRole::Total, watts);
        assert_eq!(of(&[gpu]), Some(("GPU", Some(50.0))));
        assert_eq!(of(&[gpu, cpu]), Some(("GPU and processor", Some(100.0))));
        assert_eq!(of(&[cpu]), Some(("processor", Some(50.0))));
        assert_eq!(of(&[("ina3221", "VDD_X", RailRole::Unknown, watts), gpu]), None);
        assert_eq!(of(&[]), None);
    }
}
