//! The forms of each release, one by one, on lines written from the grammar.

use tegrastats_parser::{parse_line, Activity, Clocks, Core, FreeBlocks, Iram, Mts, Rail, Ram, Sample, Swap};

fn parse(line: &str) -> Sample<'_> {
    parse_line(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// A sample of `RAM` and these fields, all of them understood.
fn fields(text: &str) -> Sample<'static> {
    let line = Box::leak(format!("RAM 1/2MB (lfb 3x4MB) {text}").into_boxed_str());
    let sample = parse(line);
    assert_eq!(sample.unknown, [], "{text}");
    assert!(sample.ends_cleanly);
    sample
}

fn on(load_percent: Option<u16>, freq_mhz: Clocks) -> Activity {
    Activity::On {
        load_percent,
        freq_mhz,
    }
}

fn core(load_percent: u16, freq_mhz: Option<u32>) -> Core {
    Core::Online {
        load_percent,
        freq_mhz,
    }
}

fn engine(text: &'static str) -> (String, String, Activity) {
    let sample = fields(text);
    assert_eq!(sample.engines.len(), 1, "{text}");
    let engine = &sample.engines[0];
    (
        engine.label.to_owned(),
        engine.name().to_owned(),
        engine.activity.clone(),
    )
}

fn rail(name: &str, instant_mw: i32, average_mw: i32, peak_mw: Option<i32>) -> Rail<'_> {
    Rail {
        name,
        instant_mw,
        average_mw,
        peak_mw,
    }
}

fn temperatures(text: &str) -> Vec<(&'static str, Option<f64>, Option<f64>)> {
    fields(text)
        .temperatures
        .iter()
        .map(|zone| (zone.name, zone.c, zone.peak_c))
        .collect()
}

#[test]
fn memory_fields_keep_their_units() {
    let free = |count, block_kb| Some(FreeBlocks { count, block_kb });
    let ram = |line| parse(line).ram.unwrap();
    assert_eq!(
        ram("RAM 1/2MB (lfb 3x4MB)"),
        Ram {
            used_mb: 1,
            total_mb: 2,
            largest_free: free(3, 4096)
        }
    );
    assert_eq!(ram("RAM 1/2MB (lfb 1x512kB)").largest_free, free(1, 512));
    assert_eq!(ram("RAM 1/2MB").largest_free, None);
    let swap = |used_mb, total_mb, cached_mb| {
        Some(Swap {
            used_mb,
            total_mb,
            cached_mb,
        })
    };
    assert_eq!(fields("SWAP 5/6MB (cached 7MB)").swap, swap(5, 6, Some(7)));
    assert_eq!(fields("SWAP 5/6MB").swap, swap(5, 6, None));
    let iram = Some(Iram {
        used_kb: 8,
        total_kb: 252,
        largest_free_kb: Some(244),
    });
    assert_eq!(fields("IRAM 8/252kB(lfb 244kB)").iram, iram);
    assert_eq!(fields("IRAM 8/252kB (lfb 244kB)").iram, iram);
}

#[test]
fn a_core_that_is_off_is_not_a_core_at_zero() {
    assert_eq!(
        fields("CPU [0%@729,off,100%@2201]").cpus,
        [core(0, Some(729)), Core::Offline, core(100, Some(2201))]
    );
}

#[test]
fn one_clock_for_all_cores_goes_to_those_that_run() {
    assert_eq!(
        fields("cpu [25%,off]@2218").cpus,
        [core(25, Some(2218)), Core::Offline]
    );
    assert_eq!(fields("cpu [25%,1%]").cpus, [core(25, None), core(1, None)]);
}

#[test]
fn a_tx2_of_r28_1_prints_a_clock_a_core_under_the_old_name() {
    let sample = fields("cpu [1%@345,off] EMC 9%@665 APE 150 VDE 1203 GR3D 54%@114");
    assert_eq!(sample.cpus, [core(1, Some(345)), Core::Offline]);
    assert_eq!(sample.emc, Some(on(Some(9), Clocks::One(665))));
    assert_eq!(sample.gr3d, Some(on(Some(54), Clocks::One(114))));
    assert_eq!(sample.engines[1].activity, on(None, Clocks::One(1203)));
}

#[test]
fn swap_and_cpu_come_in_either_order() {
    let sample = fields("CPU [1%@345] SWAP 149/1024MB (cached 7MB) EMC_FREQ 2%@1866");
    assert!(sample.swap.is_some() && sample.emc.is_some());
    assert_eq!(sample.cpus.len(), 1);
}

#[test]
fn each_form_of_the_gpu_field_says_what_it_shows() {
    let gr3d = |text| fields(text).gr3d;
    assert_eq!(gr3d("GR3D 3%@76"), Some(on(Some(3), Clocks::One(76))));
    assert_eq!(gr3d("GR3D_FREQ 34%"), Some(on(Some(34), Clocks::NotShown)));
    assert_eq!(gr3d("GR3D_FREQ 0%@114"), Some(on(Some(0), Clocks::One(114))));
    assert_eq!(
        gr3d("GR3D_FREQ 42%@[305,306]"),
        Some(on(Some(42), Clocks::Each(vec![305, 306])))
    );
    assert_eq!(
        gr3d("GR3D_FREQ 63%@[621]"),
        Some(on(Some(63), Clocks::Each(vec![621])))
    );
    assert_eq!(
        gr3d("GR3D_FREQ @[0,0,0]"),
        Some(on(None, Clocks::Each(vec![0, 0, 0])))
    );
    assert_eq!(
        gr3d("GR3D_FREQ 12%@[1300,1300,1300]").unwrap().freqs_mhz(),
        [1300, 1300, 1300]
    );
    assert_eq!(gr3d("GR3D_FREQ off"), Some(Activity::Off));
    assert_eq!(gr3d("CPU@40C"), None);
}

#[test]
fn two_clusters_in_two_fields_stay_two() {
    let sample = fields("GR3D_FREQ 0% GR3D2_FREQ 0%@0");
    assert_eq!(sample.gr3d, Some(on(Some(0), Clocks::NotShown)));
    assert_eq!(sample.gr3d2, Some(on(Some(0), Clocks::One(0))));
}

#[test]
fn the_memory_controllers_load_without_a_clock_is_no_measurement() {
    assert_eq!(fields("EMC_FREQ 0%").emc_load_percent(), None);
    assert_eq!(fields("EMC_FREQ 0%@2133").emc_load_percent(), Some(0));
    assert_eq!(fields("GR3D_FREQ 0%").emc_load_percent(), None);
}

#[test]
fn engines_come_in_every_form_under_every_name() {
    let one = Clocks::One;
    let of = |text| engine(text);
    let is = |label: &str, name: &str, activity| (label.to_owned(), name.to_owned(), activity);
    assert_eq!(of("NVENC 716"), is("NVENC", "NVENC", on(None, one(716))));
    assert_eq!(of("MSENC 268"), is("MSENC", "MSENC", on(None, one(268))));
    assert_eq!(of("NVJPG1 729"), is("NVJPG1", "NVJPG1", on(None, one(729))));
    assert_eq!(of("VIC_FREQ 729"), is("VIC_FREQ", "VIC", on(None, one(729))));
    assert_eq!(
        of("VIC_FREQ 0%@192"),
        is("VIC_FREQ", "VIC", on(Some(0), one(192)))
    );
    assert_eq!(of("VIC 36%"), is("VIC", "VIC", on(Some(36), Clocks::NotShown)));
    assert_eq!(
        of("NVDLA0_FREQ @1395"),
        is("NVDLA0_FREQ", "NVDLA0", on(None, one(1395)))
    );
    assert_eq!(of("OFA_FREQ @0"), is("OFA_FREQ", "OFA", on(None, one(0))));
    assert_eq!(of("PVA0_FREQ off"), is("PVA0_FREQ", "PVA0", Activity::Off));
    assert_eq!(
        of("NVENC0 79%@166"),
        is("NVENC0", "NVENC0", on(Some(79), one(166)))
    );
    assert_eq!(
        of("NVDLA1 5%@[700,800]"),
        is("NVDLA1", "NVDLA1", on(Some(5), Clocks::Each(vec![700, 800])))
    );
    assert_eq!(of("NEWCORE7 off"), is("NEWCORE7", "NEWCORE7", Activity::Off));
    assert_eq!(
        of("NEWCORE7_FREQ @[5,6]"),
        is("NEWCORE7_FREQ", "NEWCORE7", on(None, Clocks::Each(vec![5, 6])))
    );
}

#[test]
fn engines_may_stand_among_the_rails() {
    let sample = fields("VDD_WIFI 19/19 NVENC 716 NVDEC 716 VDD_DDR 2702/2702");
    assert_eq!(
        sample.rails,
        [rail("VDD_WIFI", 19, 19, None), rail("VDD_DDR", 2702, 2702, None)]
    );
    assert_eq!(sample.engines.len(), 2);
}

#[test]
fn zones_take_any_name_and_any_sign() {
    assert_eq!(
        temperatures("BCPU@-45C tj@42.593C soc012@30.218C iwlwifi_1@50C PMIC-Die@100C nvme.0@38.85C"),
        [
            ("BCPU", Some(-45.0), None),
            ("tj", Some(42.593), None),
            ("soc012", Some(30.218), None),
            ("iwlwifi_1", Some(50.0), None),
            ("PMIC-Die", Some(100.0), None),
            ("nvme.0", Some(38.85), None),
        ]
    );
    assert_eq!(
        temperatures("cpu@45.375C/45.812C"),
        [("cpu", Some(45.375), Some(45.812))]
    );
}

#[test]
fn a_sensor_that_cannot_be_read_has_no_temperature() {
    assert_eq!(
        temperatures("CV0@-256C CPU@-25C"),
        [("CV0", None, None), ("CPU", Some(-25.0), None)]
    );
}

#[test]
fn the_power_chips_constant_is_told_from_a_temperature() {
    let placeholders: Vec<_> = fields("PMIC@100C PMIC@50C PMIC@61.5C CPU@50C")
        .temperatures
        .iter()
        .map(|zone| zone.is_placeholder())
        .collect();
    assert_eq!(placeholders, [true, true, false, false]);
}

#[test]
fn rails_keep_the_latest_reading_the_mean_and_the_peak_apart() {
    assert_eq!(
        fields("VDD_IN 1931/1853").rails,
        [rail("VDD_IN", 1931, 1853, None)]
    );
    assert_eq!(
        fields("VDD_IN 1931mW/1853mW").rails,
        [rail("VDD_IN", 1931, 1853, None)]
    );
    assert_eq!(
        fields("VDD_IN 1931mW/1853mW/2004mW").rails,
        [rail("VDD_IN", 1931, 1853, Some(2004))]
    );
}

#[test]
fn rails_take_any_name_that_is_no_word_of_prose() {
    for name in ["VDD_IN", "vdd_in", "5V_IN", "5v_in", "Vdd_Cpu0", "CV"] {
        assert_eq!(fields(&format!("{name} 10/11")).rails, [rail(name, 10, 11, None)]);
    }
    for name in ["vdd", "12V", "vdd-in", "Vdd"] {
        assert_eq!(
            fields(&format!("{name} 10mW/11mW")).rails,
            [rail(name, 10, 11, None)]
        );
        let line = format!("RAM 1/2MB {name} 10/11");
        let sample = parse(&line);
        let texts: Vec<_> = sample.unknown.iter().map(|token| token.text).collect();
        assert_eq!((texts, sample.rails.len()), (vec![name, "10/11"], 0));
    }
}

#[test]
fn rails_can_read_zero_and_below() {
    assert_eq!(
        fields("VDD_GPU -392mW/-390mW VDD_CPU 0mW/0mW").rails,
        [rail("VDD_GPU", -392, -390, None), rail("VDD_CPU", 0, 0, None)]
    );
    assert_eq!(fields("VDD_GPU -3/-2").rails, [rail("VDD_GPU", -3, -2, None)]);
}

#[test]
fn rails_of_one_name_are_all_kept() {
    let names: Vec<_> = fields("NC 0mW/0mW VDDQ_VDD2_1V8AO 301mW/301mW NC 4mW/4mW")
        .rails
        .iter()
        .map(|rail| rail.instant_mw)
        .collect();
    assert_eq!(names, [0, 301, 4]);
}

#[test]
fn rails_zones_and_the_core_list_of_one_name_do_not_mix() {
    let sample =
        fields("CPU [2%@1190,off] GPU@37.5C CPU@38C GPU 0/16 CPU 310/432 SOC 931/953 CV 0/0 SYS5V 1522/1559");
    assert_eq!(sample.cpus.len(), 2);
    assert_eq!(sample.temperatures.len(), 2);
    assert_eq!(
        sample.rails[..2],
        [rail("GPU", 0, 16, None), rail("CPU", 310, 432, None)]
    );
    assert_eq!(sample.rails.len(), 5);
}

#[test]
fn mts_and_edp_take_more_than_one_word() {
    let mts = Mts {
        foreground_percent: 3,
        background_percent: 9,
    };
    assert_eq!(fields("MTS fg 3% bg 9%").mts, Some(mts));
    assert_eq!(fields("EDP limit 0").edp_limit, Some(0));
    assert_eq!(fields("CPU@40C").mts, None);
}

#[test]
fn the_stamp_is_read_and_printed_as_it_was() {
    let stamp = parse("04-24-2023 00:01:24 RAM 1/2MB").timestamp.unwrap();
    assert_eq!((stamp.year, stamp.month, stamp.day), (2023, 4, 24));
    assert_eq!((stamp.hour, stamp.minute, stamp.second), (0, 1, 24));
    assert_eq!(stamp.to_string(), "04-24-2023 00:01:24");
    assert_eq!(parse("RAM 1/2MB").timestamp, None);
}

#[test]
fn a_users_prefix_is_kept_apart_from_the_stamp() {
    let sample = parse("[2018-08-23 16:30:36] : RAM 1/2MB");
    assert_eq!(
        (sample.prefix, sample.timestamp),
        (Some("[2018-08-23 16:30:36] : "), None)
    );
    let sample = parse("orin7 | 04-24-2023 00:01:24 RAM 1/2MB");
    assert_eq!(sample.prefix, Some("orin7 | "));
    assert!(sample.timestamp.is_some());
    assert_eq!(parse("   RAM 1/2MB").prefix, None);
    assert_eq!(parse("free RAM 30: RAM 1/2MB").prefix, Some("free RAM 30: "));
}

#[test]
fn blanks_may_run_and_lines_may_end_as_windows_ends_them() {
    let sample =
        parse("  RAM  1/2MB   (lfb  3x4MB)\tCPU  [1%@2, off]  EMC_FREQ   3%@4  CPU@5C  VDD_IN   6/7 \r\n");
    assert_eq!(sample.unknown, []);
    assert_eq!(sample.cpus, [core(1, Some(2)), Core::Offline]);
    assert_eq!(sample.rails, [rail("VDD_IN", 6, 7, None)]);
}

#[test]
fn fields_that_a_line_lacks_are_absent_and_not_zero() {
    let sample = parse("RAM 1/2MB (lfb 3x4MB) cpu@30.468C VDD_GPU 0mW/0mW");
    assert_eq!(
        (sample.swap, sample.iram, sample.mts, sample.edp_limit),
        (None, None, None, None)
    );
    assert_eq!((&sample.emc, &sample.gr3d, &sample.gr3d2), (&None, &None, &None));
    assert!(sample.cpus.is_empty() && sample.engines.is_empty());
}
