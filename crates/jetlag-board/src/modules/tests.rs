//! The table of modules: whole, found by part number, and its modes' clocks.

use std::collections::HashSet;

use super::*;

#[test]
fn the_table_in_the_binary_is_whole() {
    MODULES.as_ref().unwrap();
    let mut names = HashSet::new();
    let mut parts = HashSet::new();
    for module in modules() {
        let name = &module.name;
        assert!(names.insert(name), "{name}: twice");
        for part in &module.parts {
            assert!(part.len() == 10 && part.starts_with('p'), "{name}: {part}");
            assert!(
                parts.insert((part, &module.carriers)),
                "{name}: {part} is of two modules"
            );
        }
        assert!(
            module.parts.iter().any(|part| module.tree().contains(part)) || name == "Jetson Xavier NX 16GB"
        );
        assert!(module.sms.is_none_or(|(sms, _)| sms >= 1), "{name}");
        let flashes: Vec<Flash> = module.configurations.iter().map(|c| c.flash).collect();
        assert!(
            flashes == [Flash::Plain] || flashes == [Flash::Plain, Flash::Super],
            "{name}"
        );
    }
}

#[test]
fn each_set_of_modes_has_a_source_one_default_and_each_id_and_name_once() {
    let head = TABLE.split("\n[").next().unwrap();
    for (module, configuration) in all() {
        let name = format!("{} {:?}", module.name, configuration.flash);
        let modes = &configuration.modes;
        let Some(from) = &configuration.modes_from else {
            assert!(modes.is_empty(), "{name}: modes of no source");
            continue;
        };
        for tag in from.split(':').next().unwrap().split(" and ") {
            assert!(
                head.contains(&format!("\n//   {tag} ")),
                "{name}: {tag} is not said at the head"
            );
        }
        let ids: HashSet<u32> = modes.iter().map(|m| m.id).collect();
        let names: HashSet<&str> = modes.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(
            (ids.len(), names.len()),
            (modes.len(), modes.len()),
            "{name}: a mode twice"
        );
        assert_eq!(modes.iter().filter(|m| m.default).count(), 1, "{name}");
    }
}

#[test]
fn no_cap_is_above_what_the_module_has() {
    for (module, configuration) in all() {
        for mode in &configuration.modes {
            let name = format!("{} {:?} {}", module.name, configuration.flash, mode.name);
            let caps = mode.caps.unwrap_or_default();
            let below = |cap: Option<f64>, most: Option<Sourced<f64>>| match (cap, most) {
                (Some(cap), Some((most, _))) => cap > 0.0 && cap <= most,
                _ => true,
            };
            let within = |part: Option<u32>, all: Option<Sourced<u32>>| match (part, all) {
                (Some(part), Some((all, _))) => part >= 1 && part <= all,
                (Some(_), None) => false,
                _ => true,
            };
            assert!(below(caps.gpu_mhz, configuration.gpu_mhz), "{name}");
            assert!(below(caps.cpu_mhz, configuration.cpu_mhz), "{name}");
            assert!(below(caps.emc_mhz, configuration.emc_mhz), "{name}");
            assert!(
                caps.gpu_in_force_mhz.is_none_or(|mhz| Some(mhz) < caps.gpu_mhz),
                "{name}"
            );
            assert!(
                within(caps.cores, module.cpu_cores) && within(caps.sms, module.sms),
                "{name}"
            );
            assert!(!(caps.sms_unknown && caps.sms.is_some()), "{name}");
            if mode.name.starts_with("MAXN") {
                assert!(
                    caps.is_nothing_but_parts() && caps.cores.is_none() && caps.sms.is_none(),
                    "{name}"
                );
            }
            let (least, most) = configuration.watts.map_or((0.0, f64::MAX), |(watts, _)| watts);
            assert!(mode.watts.is_none_or(|w| least <= w && w <= most), "{name}");
        }
    }
}

#[test]
fn a_mode_of_more_watts_has_no_smaller_peak_and_super_no_smaller_one_than_plain() {
    for (module, configuration) in all() {
        let rate = |mode: &PowerMode| {
            let caps = mode.caps.filter(|caps| !caps.sms_unknown)?;
            let sms = caps.sms.or(module.sms.map(|(sms, _)| sms))?;
            Some(f64::from(sms) * caps.gpu_mhz.or(configuration.gpu_mhz.map(|(mhz, _)| mhz))?)
        };
        let watts = |mode: &PowerMode| match mode.name.starts_with("MAXN") {
            true => Some(f64::MAX),
            false => mode.watts,
        };
        for a in &configuration.modes {
            for b in &configuration.modes {
                if let (Some(a_w), Some(b_w), Some(a_r), Some(b_r)) = (watts(a), watts(b), rate(a), rate(b)) {
                    let climbs = a_w >= b_w || a_r <= b_r;
                    // The desktop modes spare the GPU for the processors.
                    let desktop = a.name.ends_with("DESKTOP") || b.name.ends_with("DESKTOP");
                    assert!(climbs || desktop, "{}: {} and {}", module.name, a.name, b.name);
                }
            }
        }
        if configuration.flash == Flash::Super {
            let plain = module.configuration(Flash::Plain).unwrap();
            let fp16 = |c: &Configuration| c.peaks.as_ref().map(|peaks| peaks.fp16_tflops.0);
            assert!(fp16(configuration) > fp16(plain), "{}", module.name);
            assert!(
                configuration.emc_mhz.map(|e| e.0) >= plain.emc_mhz.map(|e| e.0),
                "{}",
                module.name
            );
        }
    }
}

#[test]
fn derived_peaks_follow_from_the_figures_before_them() {
    let close = |a: f64, b: f64| (a - b).abs() <= 0.01 * b.max(0.05);
    for (module, configuration) in all() {
        let name = format!("{} {:?}", module.name, configuration.flash);
        if let (Some(peaks), Some((mhz, _))) = (&configuration.peaks, configuration.gpu_mhz) {
            let fp32 = f64::from(module.cuda_cores.unwrap().0) * 2.0 * mhz / 1e6;
            assert!(close(peaks.fp32_tflops.0, fp32), "{name}: {fp32}");
            let per_sm = match module.compute_capability.as_str() {
                "7.2" => 1024.0,
                "8.7" => 2048.0,
                "11.0" => 8192.0,
                _ => 0.0,
            };
            let fp16 = match per_sm {
                0.0 => 2.0 * fp32,
                rate => f64::from(module.sms.unwrap().0) * rate * mhz / 1e6,
            };
            assert!(close(peaks.fp16_tflops.0, fp16), "{name}: {fp16}");
            assert!(
                peaks.int8_tops.is_none_or(|(int8, _)| close(int8, 2.0 * fp16)),
                "{name}"
            );
        }
        if let (Some((rate, _)), Some((emc, _))) = (configuration.bandwidth_gb_s, configuration.emc_mhz) {
            let bandwidth = f64::from(module.bus_bits.unwrap().0) / 8.0 * emc * 2.0 / 1e3;
            assert!(close(rate, bandwidth), "{name}: {bandwidth}");
        }
    }
}

#[test]
fn every_rail_of_a_sum_feeds_something_and_rails_within_others_are_no_summands() {
    for module in modules() {
        let Some(rails) = &module.rails else { continue };
        if let Total::Sum(all) = &rails.total {
            for rail in all {
                assert!(
                    rails.parts.iter().any(|(name, _)| name == rail),
                    "{}: {rail}",
                    module.name
                );
                assert_eq!(rails.role(rail).0, RailRole::Summand);
            }
        }
        for (rail, parent) in &rails.within {
            assert_eq!(rails.role(rail), (RailRole::Within, Some(parent.clone())));
            assert!(rails.parts.iter().any(|(name, _)| name == parent));
        }
    }
    let rails = |part: &str| find(part).unwrap().rails.as_ref().unwrap();
    assert_eq!(rails("p3701-0005").role("VDDQ_VDD2_1V8AO").0, RailRole::Within);
    assert_eq!(rails("p3701-0005").role("VDD_NEW").0, RailRole::Unknown);
    assert_eq!(rails("p3834-0008").role("VIN").0, RailRole::Input);
    assert_eq!(rails("p3310-1000").role("VDD_MUX").0, RailRole::Input);
}

#[test]
fn modules_are_found_by_part_number_and_never_the_nearest() {
    assert_eq!(find("p3767-0003").unwrap().name, find("p3767-0005").unwrap().name);
    assert_eq!(find("p3834-0000").unwrap().name, "Jetson T4000");
    assert_eq!(find("p3834-0008").unwrap().name, "Jetson T5000");
    for unknown in [
        "p3767-9999",
        "p3668-9999",
        "p3834-0005",
        "p9999-0000",
        "p3767",
        "",
    ] {
        assert!(find(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn carrier_and_memory_tell_modules_of_one_name_apart() {
    let of = |part: &str, carrier: Option<&str>, gib: Option<f64>| {
        let identity = Identity {
            text: part.to_owned(),
            part: part.to_owned(),
            carrier: carrier.map(str::to_owned),
            flash: Some(Flash::Plain),
        };
        by_tree(&identity, gib.map(|gib| gib * f64::from(1 << 20))).map(|module| module.name.as_str())
    };
    for (part, carrier, gib, name) in [
        ("p2888-0001", None, Some(15.4), Some("Jetson AGX Xavier 16GB")),
        ("p2888-0001", None, Some(31.2), Some("Jetson AGX Xavier 32GB")),
        ("p2888-0001", None, Some(62.0), Some("Jetson AGX Xavier 64GB")),
        ("p2972-0000", None, Some(31.2), Some("Jetson AGX Xavier 32GB")),
        ("jetson-xavier", None, Some(15.4), Some("Jetson AGX Xavier 16GB")),
        ("p2888-0001", None, Some(3.0), None),
        ("p2888-0001", None, None, None),
        (
            "p3701-0000",
            None,
            Some(29.8),
            Some("Jetson AGX Orin developer kit of 32 GB"),
        ),
        ("p3701-0000", None, Some(61.4), Some("Jetson AGX Orin 64GB")),
        ("p3668-0000", None, Some(6.5), Some("Jetson Xavier NX 8GB")),
        ("p3668-0001", None, Some(14.7), Some("Jetson Xavier NX 16GB")),
        (
            "p3701-0008",
            Some("p3737-0000"),
            None,
            Some("Jetson AGX Orin Industrial"),
        ),
        ("p3701-0008", Some("p3740-0002"), None, Some("IGX Orin")),
        ("p3834-0008", Some("p4071-0000"), None, Some("Jetson T5000")),
        ("p3834-0008", Some("p4071-0008"), None, Some("IGX Thor")),
        ("p2371-2180", None, None, Some("Jetson TX1")),
        ("jetson-nano", None, Some(1.9), Some("Jetson Nano 2GB")),
        ("p3450-0000", None, Some(3.9), Some("Jetson Nano 4GB")),
        (
            "jetson-xavier-industrial",
            None,
            None,
            Some("Jetson AGX Xavier Industrial"),
        ),
        ("p3489-0000", None, None, Some("Jetson TX2i")),
        ("p3489-0888", None, None, Some("Jetson TX2 4GB")),
        ("p3834-0005", None, Some(61.0), None),
    ] {
        assert_eq!(of(part, carrier, gib), name, "{part} {carrier:?} {gib:?}");
    }
}

#[test]
fn a_board_that_is_not_known_is_read_by_the_names_of_its_rails() {
    let names = ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO"];
    let rails = rails_by_names(names.into_iter()).unwrap();
    assert_eq!(rails.role("VDD_CPU_CV").0, RailRole::Summand);
    assert!(rails_by_names(["VDD_SOMETHING"].into_iter()).is_none());
}

fn all() -> impl Iterator<Item = (&'static Module, &'static Configuration)> {
    modules()
        .iter()
        .flat_map(|module| module.configurations.iter().map(move |c| (module, c)))
}
