//! Power rails of Jetson boards: INA3221 and INA238 chips through hwmon (L4T R34 and later), INA3221 through
//! the older driver (R28 to R32).
//!
//! Rails are found by their labels, never by number. The chip averages by itself, as its driver's `samples` and
//! `update_interval` tell; how is in [`super::ina3221`]. Its alarms (`currN_crit_alarm`, `currN_max_alarm`) are not read:
//! reading them clears them, for everybody. Channels labelled NC are not connected; channel 7 of newer drivers is a sum of shunt
//! voltages and no rail. The kernel hides the label of a channel that the device tree gives none: one that is on and measures is
//! `unnamed_` and its number, and what it supplies is not known. Of rails with one label the first keeps it and the next are numbered: which of them is the
//! one that the board's table means cannot be told, and added both would count twice.

use super::file::NumberFile;
use super::files::{Channel, Files, Formula};
use super::ina3221;
use super::thermal::Names;
use crate::board::Roots;
use crate::board::modules::{self, Rails};
use crate::record::{Averaging, Measurand, Part, Quantity, RailRole, SignalRecord};
use crate::units::Nanos;

/// More than any Jetson takes; what is beyond is no reading. Idle rails may read a little below zero.
const PLAUSIBLE_MW: (f64, f64) = (-20_000.0, 500_000.0);
/// One bus register takes half a millisecond to read: faster, the bus is what is measured.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// Of the INA3221: one step of the bus voltage, and of the shunt voltage.
const BUS_STEP_MV: f64 = 8.0;
const SHUNT_STEP_UV: f64 = 40.0;
/// Rails of the TX2 as tegrastats of R28 names them, and the names since R32 that jetson/boards.ron has. (Lines of
/// both releases; the supplies are the same.)
const RENAMED: [(&str, &str); 5] = [
    ("VDD_GPU", "VDD_SYS_GPU"),
    ("VDD_CPU", "VDD_SYS_CPU"),
    ("VDD_SOC", "VDD_SYS_SOC"),
    ("VDD_DDR", "VDD_SYS_DDR"),
    ("VDD_WIFI", "VDD_4V0_WIFI"),
];

/// The sampler of all rails; none where no chip is found.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Files> {
    let mut channels = hwmon(roots);
    if channels.is_empty() {
        channels = older(roots);
    }
    let names: Vec<String> = channels.iter().map(|c| c.signal.signal.clone()).collect();
    let known = modules::rails_of_machine(roots);
    let known = known.or_else(|| by_names(names.iter().map(String::as_str)));
    for channel in channels.iter_mut().filter(|c| c.signal.unit == "mw") {
        (channel.signal.role, channel.signal.within) = role(known, &channel.signal.signal);
    }
    // A chip of 7 ms that is read every 100 ms sees 7 % of the time.
    Files::new("rails", interval.max(SHORTEST), channels).map(Files::read_at_random)
}

/// What a rail is to the whole, on a board whose rails are known or not.
pub(super) fn role(rails: Option<&Rails>, rail: &str) -> (RailRole, Option<String>) {
    let Some(rails) = rails else {
        return (RailRole::Unknown, None);
    };
    match rails.role(rail) {
        // On other boards the new name is not known either.
        (RailRole::Unknown, _) => rails.role(today(rail)),
        found => found,
    }
}

/// The rails of a board that is not known, by the names that its sensors show.
pub(super) fn by_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<&'static Rails> {
    // Renamed first: some of the old names are those of another board, which has fewer.
    modules::rails_by_names(names.clone().map(today)).or_else(|| modules::rails_by_names(names))
}

/// The name that a rail has since it was renamed.
fn today(rail: &str) -> &str {
    let renamed = RENAMED.iter().find(|(old, _)| *old == rail);
    renamed.map_or(rail, |(_, new)| new)
}

/// The chips of the mainline drivers.
fn hwmon(roots: &Roots) -> Vec<Channel> {
    let mut channels = Vec::new();
    // By source, as a signal is known by its source and its name.
    let (mut of_ina3221, mut of_ina238) = (Names::default(), Names::default());
    for folder in roots.names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{folder}");
        match roots.text(&format!("{folder}/name")).as_deref() {
            Some("ina3221") => ina3221(roots, &folder, &mut of_ina3221, &mut channels),
            Some("ina238") => ina238(roots, &folder, &mut of_ina238, &mut channels),
            _ => {}
        }
    }
    channels
}

fn ina3221(roots: &Roots, folder: &str, names: &mut Names, channels: &mut Vec<Channel>) {
    let averages = averages(roots, folder);
    let (averaging, refresh, window) = match averages {
        None => (Averaging::Mean, None, None),
        Some(averages) => match averages.lag {
            None => (Averaging::Mean, Some(averages.cycle), Some(averages.cycle)),
            Some(lag) => (Averaging::Filter, Some(averages.cycle), Some(lag)),
        },
    };
    for n in 1..=3 {
        let (volts, amperes) = (format!("{folder}/in{n}_input"), format!("{folder}/curr{n}_input"));
        let is_on = number(roots, &format!("{folder}/in{n}_enable")) != Some(0.0);
        let measures = || is_on && roots.file(&volts).exists() && roots.file(&amperes).exists();
        let Some(label) = label(roots, &format!("{folder}/in{n}_label"), n, measures) else {
            continue;
        };
        let label = names.unique(label);
        // Resistance in micro-ohms, where the driver tells it, gives the size of a step.
        let step = number(roots, &format!("{folder}/shunt{n}_resistor")).and_then(|micro_ohms| {
            let mv = number(roots, &volts)?;
            step_mw(micro_ohms, mv)
        });
        channels.push(Channel {
            signal: SignalRecord {
                averaging,
                window,
                ..rail(
                    "ina3221",
                    &label,
                    format!("{volts} × curr{n}_input"),
                    refresh,
                    step,
                )
            },
            formula: Formula::Product(file(roots, &volts), file(roots, &amperes), 1e-3),
            plausible: PLAUSIBLE_MW,
        });
    }
}

/// The critical limits of current that are set, in mA: of each rail, and of all rails of a chip together (`curr4_crit`).
/// Reading a limit clears nothing, unlike reading its alarm.
pub(super) fn limits(roots: &Roots) -> Vec<(String, f64)> {
    // What the chip can measure at most, and holds where nothing was set: 163.8 mV at the shunt.
    const NO_LIMIT_NV: f64 = 163e6;
    let mut limits = Vec::new();
    for folder in roots.names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{folder}");
        if roots.text(&format!("{folder}/name")).as_deref() != Some("ina3221") {
            continue;
        }
        let shunts = (1..=3).filter_map(|n| number(roots, &format!("{folder}/shunt{n}_resistor")));
        let shunt = shunts.fold(0.0, f64::max);
        for n in 1..=4 {
            let label = match n {
                4 => Some("all rails of one sensor".to_owned()),
                n => label(roots, &format!("{folder}/in{n}_label"), n, || true),
            };
            let limit = number(roots, &format!("{folder}/curr{n}_crit"));
            let set = limit.filter(|milliamperes| *milliamperes > 0.0 && milliamperes * shunt < NO_LIMIT_NV);
            limits.extend(label.zip(set));
        }
    }
    limits
}

/// How this chip averages, as its driver tells.
fn averages(roots: &Roots, folder: &str) -> Option<ina3221::Averages> {
    let whole = |name: &str| {
        let number = number(roots, &format!("{folder}/{name}"))?;
        (number >= 0.0).then_some(number as u32)
    };
    let enabled = (1..=3).map(|n| whole(&format!("in{n}_enable")));
    // What the driver does not tell may be all three.
    let channels = match enabled.clone().any(|enable| enable.is_some()) {
        true => enabled.filter(|enable| *enable == Some(1)).count() as u32,
        false => 3,
    };
    ina3221::averages(channels, whole("samples").unwrap_or(1), whole("update_interval")?)
}

/// How long after a load has changed the rails' values may still tell of what was before; zero where nothing averages.
pub(super) fn settle(roots: &Roots) -> Nanos {
    let channels = match hwmon(roots) {
        found if found.is_empty() => older(roots),
        found => found,
    };
    let lag = |channel: &Channel| match (channel.signal.source.as_str(), channel.signal.averaging) {
        (_, Averaging::Filter) => channel.signal.window,
        ("ina3221x", _) => Some(ina3221::UNTOLD),
        _ => channel.signal.window,
    };
    ina3221::settled(channels.iter().filter_map(lag).max().unwrap_or(Nanos::ZERO))
}

fn ina238(roots: &Roots, folder: &str, names: &mut Names, channels: &mut Vec<Channel>) {
    let label = connected(roots, &format!("{folder}/label"))
        .or_else(|| connected(roots, &format!("{folder}/in1_label")))
        .unwrap_or_else(|| "VIN".to_owned());
    let power = format!("{folder}/power1_input");
    let (origin, formula) = if roots.file(&power).exists() {
        (power.clone(), Formula::Scaled(file(roots, &power), 1e-3))
    } else {
        let (volts, amperes) = (format!("{folder}/in1_input"), format!("{folder}/curr1_input"));
        if !roots.file(&amperes).exists() {
            return;
        }
        let formula = Formula::Product(file(roots, &volts), file(roots, &amperes), 1e-3);
        (format!("{volts} × curr1_input"), formula)
    };
    let refresh = number(roots, &format!("{folder}/update_interval")).filter(|ms| *ms > 0.0);
    let label = names.unique(label);
    channels.push(Channel {
        signal: rail(
            "ina238",
            &label,
            origin,
            refresh.map(|ms| Nanos((ms * 1e6) as i64)),
            None,
        ),
        formula,
        plausible: PLAUSIBLE_MW,
    });
}

/// The driver of R28 to R32.
fn older(roots: &Roots) -> Vec<Channel> {
    let mut channels = Vec::new();
    let mut names = Names::default();
    let base = "/sys/bus/i2c/drivers/ina3221x";
    for chip in roots.names(base) {
        for device in roots.names(&format!("{base}/{chip}")) {
            if !device.starts_with("iio:device") {
                continue;
            }
            let folder = format!("{base}/{chip}/{device}");
            for n in 0..3 {
                let power = format!("{folder}/in_power{n}_input");
                let measures = || roots.file(&power).exists();
                let Some(label) = label(roots, &format!("{folder}/rail_name_{n}"), n + 1, measures) else {
                    continue;
                };
                let label = names.unique(label);
                channels.push(Channel {
                    signal: rail("ina3221x", &label, power.clone(), None, None),
                    formula: Formula::Scaled(file(roots, &power), 1.0),
                    plausible: PLAUSIBLE_MW,
                });
            }
        }
    }
    channels
}

fn rail(
    source: &str,
    label: &str,
    origin: String,
    refresh: Option<Nanos>,
    step: Option<f64>,
) -> SignalRecord {
    SignalRecord {
        source: source.to_owned(),
        signal: label.to_owned(),
        unit: "mw".to_owned(),
        measurand: Measurand::new(Quantity::Power, Part::Board),
        origin,
        refresh,
        step,
        ..SignalRecord::default()
    }
}

/// One step of the power that an INA3221 tells, in mW: a step of current at this voltage, and of voltage at the
/// current that belongs to one step more.
fn step_mw(micro_ohms: f64, millivolts: f64) -> Option<f64> {
    let milliamperes = SHUNT_STEP_UV / micro_ohms * 1e3;
    let step = milliamperes * (millivolts + BUS_STEP_MV) * 1e-3;
    (micro_ohms > 0.0 && step.is_finite() && step > 0.0).then_some(step)
}

/// A rail's label if something is connected, and a name for a channel that has none and measures.
fn label(roots: &Roots, path: &str, number: u32, measures: impl FnOnce() -> bool) -> Option<String> {
    match roots.text(path).filter(|label| !label.is_empty()) {
        Some(_) => connected(roots, path),
        None => measures().then(|| format!("unnamed_{number}")),
    }
}

/// A rail's label, if something is connected.
fn connected(roots: &Roots, path: &str) -> Option<String> {
    roots
        .text(path)
        .filter(|label| label != "NC" && !label.to_ascii_lowercase().starts_with("sum of"))
}

fn number(roots: &Roots, path: &str) -> Option<f64> {
    roots.text(path)?.split_whitespace().next()?.parse().ok()
}

fn file(roots: &Roots, path: &str) -> NumberFile {
    NumberFile::new(roots.file(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn a_channel_without_a_label_is_unnamed_and_one_that_is_off_is_none() {
        let chip = "/sys/class/hwmon/hwmon1";
        let files: Vec<(String, &str)> = [
            ("name", "ina3221"),
            ("in1_label", "VDD_IN"),
            ("in1_input", "5000"),
            ("curr1_input", "1000"),
            ("in2_enable", "1"),
            ("in2_input", "5000"),
            ("curr2_input", "200"),
            ("in3_enable", "0"),
            ("in3_input", "5000"),
            ("curr3_input", "0"),
        ]
        .iter()
        .map(|(name, text)| (format!("{chip}/{name}"), *text))
        .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let root = tree(&files);
        let rails = find(&Roots::at(root.path()), Nanos::from_millis(10)).unwrap();
        let names: Vec<String> = rails.signals().map(|signal| signal.signal.clone()).collect();
        assert_eq!(names, ["VDD_IN", "unnamed_2"]);
    }

    #[test]
    fn rails_of_an_agx_orin_are_found_by_label_with_their_place_in_the_whole() {
        let root = tree(&[
            (
                "/proc/device-tree/compatible",
                "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0",
            ),
            ("/sys/class/hwmon/hwmon0/name", "pwmfan"),
            ("/sys/class/hwmon/hwmon3/name", "ina3221"),
            ("/sys/class/hwmon/hwmon3/update_interval", "7"),
            ("/sys/class/hwmon/hwmon3/in1_label", "VDD_GPU_SOC"),
            ("/sys/class/hwmon/hwmon3/in1_input", "19000"),
            ("/sys/class/hwmon/hwmon3/curr1_input", "120"),
            // Reading it would clear it.
            ("/sys/class/hwmon/hwmon3/curr1_crit_alarm", "0"),
            ("/sys/class/hwmon/hwmon3/shunt1_resistor", "5000"),
            ("/sys/class/hwmon/hwmon3/in2_label", "VDD_CPU_CV"),
            ("/sys/class/hwmon/hwmon3/in2_input", "19000"),
            ("/sys/class/hwmon/hwmon3/in7_label", "sum of shunt voltages"),
            ("/sys/class/hwmon/hwmon4/name", "ina3221"),
            ("/sys/class/hwmon/hwmon4/in1_label", "NC"),
            ("/sys/class/hwmon/hwmon4/in2_label", "VDDQ_VDD2_1V8AO"),
            ("/sys/class/hwmon/hwmon4/in2_input", "5000"),
            ("/sys/class/hwmon/hwmon4/curr2_input", "-4"),
        ]);
        let mut rails = find(&Roots::at(root.path()), Nanos::from_millis(1)).unwrap();
        let roles: Vec<_> = rails
            .signals()
            .map(|s| (s.signal.as_str(), s.role, s.refresh, s.period))
            .collect();
        let ten = Some(Nanos::from_millis(10));
        // The chip's own cycle, which its driver states as 7 ms.
        let cycle = Some(Nanos(6_600_000));
        assert_eq!(
            roles,
            [
                ("VDD_GPU_SOC", RailRole::Summand, cycle, ten),
                ("VDD_CPU_CV", RailRole::Summand, cycle, ten),
                ("VDDQ_VDD2_1V8AO", RailRole::Within, None, ten),
            ]
        );
        let step = rails.signals().next().unwrap().step.unwrap();
        assert!((step - 152.0).abs() < 0.1, "40 µV over 5 mΩ at 19 V: {step}");
        let values = readings(&mut rails);
        assert_eq!(values["VDD_GPU_SOC"], Some(2280.0));
        assert_eq!(
            values["VDD_CPU_CV"], None,
            "no current to read: not measured, and not zero"
        );
        assert_eq!(values["VDDQ_VDD2_1V8AO"], Some(-20.0), "an offset of the sensor");
    }

    #[test]
    fn a_chip_that_averages_over_many_samples_is_a_filter_as_either_driver_tells_it() {
        // L4T R35 states the interval of all samples; R36 and later that of one.
        for (update, lag_ms) in [("430", 430.08), ("1", 626.688)] {
            let root = tree(&[
                ("/sys/class/hwmon/hwmon1/name", "ina3221"),
                ("/sys/class/hwmon/hwmon1/samples", "512"),
                ("/sys/class/hwmon/hwmon1/update_interval", update),
                ("/sys/class/hwmon/hwmon1/in1_label", "VDD_IN"),
                ("/sys/class/hwmon/hwmon1/in1_input", "5000"),
                ("/sys/class/hwmon/hwmon1/curr1_input", "1000"),
            ]);
            let roots = Roots::at(root.path());
            let rails = find(&roots, Nanos::from_millis(100)).unwrap();
            let signal = rails.signals().next().unwrap();
            assert_eq!(signal.averaging, Averaging::Filter, "{update}");
            let lag = signal.window.unwrap().as_millis_f64();
            assert!((lag - lag_ms).abs() < 1e-6, "{update}: {lag}");
            assert!((settle(&roots).as_millis_f64() - 5.0 * lag).abs() < 1e-6);
        }
        assert_eq!(settle(&Roots::at(tree(&[]).path())), Nanos::ZERO);
    }

    #[test]
    fn rails_of_the_older_driver_are_found() {
        let folder = "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0";
        let root = tree(&[
            (
                "/proc/device-tree/compatible",
                "nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0",
            ),
            (&format!("{folder}/rail_name_0"), "POM_5V_IN"),
            (&format!("{folder}/in_power0_input"), "2053"),
            (&format!("{folder}/rail_name_1"), "POM_5V_GPU"),
            (&format!("{folder}/in_power1_input"), "0"),
        ]);
        let mut rails = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        assert_eq!(rails.signals().next().unwrap().role, RailRole::Total);
        let values = readings(&mut rails);
        assert_eq!(values["POM_5V_IN"], Some(2053.0));
        assert_eq!(values["POM_5V_GPU"], Some(0.0), "0 mW is a reading");
    }

    #[test]
    fn rails_with_one_label_are_told_apart_and_only_the_first_is_the_total() {
        let root = tree(&[
            (
                "/proc/device-tree/compatible",
                "nvidia,p3509-0000+p3668-0000\0nvidia,tegra194\0",
            ),
            ("/sys/class/hwmon/hwmon1/name", "ina3221"),
            ("/sys/class/hwmon/hwmon1/in1_label", "VDD_IN"),
            ("/sys/class/hwmon/hwmon1/in1_input", "5000"),
            ("/sys/class/hwmon/hwmon1/curr1_input", "1000"),
            ("/sys/class/hwmon/hwmon1/curr1_crit_alarm", "0"),
            ("/sys/class/hwmon/hwmon2/name", "ina3221"),
            ("/sys/class/hwmon/hwmon2/in1_label", "VDD_IN"),
            ("/sys/class/hwmon/hwmon2/in1_input", "5000"),
            ("/sys/class/hwmon/hwmon2/curr1_input", "300"),
            ("/sys/class/hwmon/hwmon2/curr1_crit_alarm", "1"),
            ("/sys/class/hwmon/hwmon3/name", "ina238"),
            ("/sys/class/hwmon/hwmon3/power1_input", "7000000"),
            ("/sys/class/hwmon/hwmon4/name", "ina238"),
            ("/sys/class/hwmon/hwmon4/power1_input", "9000000"),
        ]);
        let mut rails = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        let roles: Vec<_> = rails
            .signals()
            .map(|s| (s.source.as_str(), s.signal.as_str(), s.role))
            .collect();
        assert_eq!(
            roles,
            [
                ("ina3221", "VDD_IN", RailRole::Total),
                ("ina3221", "VDD_IN_2", RailRole::Unknown),
                ("ina238", "VIN", RailRole::Unknown),
                ("ina238", "VIN_2", RailRole::Unknown),
            ]
        );
        let values = readings(&mut rails);
        assert_eq!(values.len(), 4);
        assert_eq!(
            (values["VDD_IN"], values["VDD_IN_2"]),
            (Some(5000.0), Some(1500.0))
        );
        assert_eq!((values["VIN"], values["VIN_2"]), (Some(7000.0), Some(9000.0)));
    }

    #[test]
    fn rails_of_a_tx2_are_known_by_their_names_of_both_releases() {
        let r28 = ["VDD_IN", "VDD_CPU", "VDD_GPU", "VDD_SOC", "VDD_WIFI", "VDD_DDR"];
        let r32 = [
            "VDD_SYS_GPU",
            "VDD_SYS_SOC",
            "VDD_4V0_WIFI",
            "VDD_IN",
            "VDD_SYS_CPU",
            "VDD_SYS_DDR",
        ];
        let tx2 = modules::find("p3310-1000").and_then(|module| module.rails.as_ref());
        for names in [r28, r32] {
            for rails in [by_names(names.into_iter()), tx2] {
                for name in names {
                    let wanted = match name {
                        "VDD_IN" => RailRole::Total,
                        _ => RailRole::Part,
                    };
                    assert_eq!(role(rails, name).0, wanted, "{name}");
                }
            }
        }
        // Another board's rails that have some of these names stay what they are.
        let tx1 = by_names(["VDD_IN", "VDD_CPU", "VDD_GPU"].into_iter());
        assert_eq!(role(tx1, "VDD_GPU").0, RailRole::Part);
        assert_eq!(role(tx1, "VDD_SOC").0, RailRole::Unknown);
        let nx = by_names(["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"].into_iter());
        assert_eq!(role(nx, "VDD_SOC").0, RailRole::Part);
    }

    #[test]
    fn thors_input_is_in_microwatts_and_unknown_rails_stay_unknown() {
        let root = tree(&[
            ("/sys/class/hwmon/hwmon1/name", "ina238"),
            ("/sys/class/hwmon/hwmon1/label", "VIN"),
            ("/sys/class/hwmon/hwmon1/power1_input", "37500000"),
            ("/sys/class/hwmon/hwmon2/name", "ina3221"),
            ("/sys/class/hwmon/hwmon2/in1_label", "VDD_MYSTERY"),
            ("/sys/class/hwmon/hwmon2/in1_input", "oops"),
            ("/sys/class/hwmon/hwmon2/curr1_input", "5"),
        ]);
        let mut rails = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        assert!(rails.signals().all(|s| s.role == RailRole::Unknown));
        let values = readings(&mut rails);
        assert_eq!((values["VIN"], values["VDD_MYSTERY"]), (Some(37_500.0), None));
        assert!(find(&Roots::at(tree(&[]).path()), Nanos::from_millis(100)).is_none());
    }
}
