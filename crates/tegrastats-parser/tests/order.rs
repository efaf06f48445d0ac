//! Where a line begins: fields before `RAM`, a user's prefix, a name that lost its left part.

use tegrastats_parser::{parse_line, LineErrorKind, Sample};

fn parse(line: &str) -> Sample<'_> {
    parse_line(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn unknown<'a>(sample: &Sample<'a>) -> Vec<&'a str> {
    sample.unknown.iter().map(|token| token.text).collect()
}

#[test]
fn every_field_may_stand_before_the_memory_field() {
    for field in [
        "SWAP 5/10MB (cached 0MB)",
        "IRAM 0/252kB(lfb 252kB)",
        "CPU [1%@102,off]",
        "cpu [25%,7%]@2218",
        "EMC_FREQ 0%@204",
        "GR3D_FREQ 7%@[1,2]",
        "GR3D2_FREQ 0%@0",
        "MTS fg 0% bg 3%",
        "EDP limit 0",
        "NVENC 716",
        "VIC off",
        "NVDEC0_FREQ @0",
        "CPU@40C",
        "gpu@41.5C/42C",
        "VDD_IN 100/100",
        "GPU 311mW/312mW",
        "CPU [1%@102] NEW7 off GPU 3/4 SWAP 5/10MB",
    ] {
        let (behind, before) = (format!("RAM 1/2MB {field}"), format!("{field} RAM 1/2MB"));
        assert_eq!(parse(&behind), parse(&before), "{field}");
        assert_eq!(parse(&before).prefix, None, "{field}");
    }
}

#[test]
fn a_prefix_and_a_stamp_end_at_the_first_field() {
    let sample =
        parse("orin7 | 04-24-2023 00:01:24 SWAP 5/10MB x=1 CPU [1%@102] RAM 1/2MB (lfb 3x4MB) APE 25");
    assert_eq!(sample.prefix, Some("orin7 | "));
    assert_eq!(sample.timestamp.map(|stamp| stamp.second), Some(24));
    assert!(sample.swap.is_some() && sample.ram.is_some());
    assert_eq!((sample.cpus.len(), sample.engines.len()), (1, 1));
    assert_eq!(unknown(&sample), ["x=1"]);
    let sample = parse("[2018-08-23 16:30:36] : EMC_FREQ 0% RAM 1/2MB");
    assert_eq!(sample.prefix, Some("[2018-08-23 16:30:36] : "));
    assert!(sample.emc.is_some());
}

#[test]
fn words_of_a_prefix_that_only_look_like_fields_stay_in_it() {
    for prefix in [
        "JOB 3/4 ",
        "fan off LOAD 93% ",
        "run_7 3/10 ",
        "EMC lab: ",
        "SWAP test, CPU [x] ",
        "RAM 30: ",
        "CPU@40C |",
    ] {
        let line = format!("{prefix}RAM 1/2MB CPU [1%@2]");
        let sample = parse(&line);
        assert_eq!(sample.prefix, Some(prefix));
        assert_eq!(
            (sample.cpus.len(), sample.engines.len(), sample.rails.len()),
            (1, 0, 0)
        );
    }
}

#[test]
fn nothing_before_a_stamp_belongs_to_the_line() {
    let sample = parse("CPU@40C VDD_IN 5mW/6mW 04-24-2023 00:01:24 RAM 1/2MB CPU@41C");
    assert_eq!(sample.prefix, Some("CPU@40C VDD_IN 5mW/6mW "));
    assert_eq!((sample.temperatures.len(), sample.rails.len()), (1, 0));
}

#[test]
fn the_end_of_a_line_before_a_whole_one_is_refused() {
    for (line, field, column) in [
        ("EMC_FREQ 0% CPU@40C RAM 1/2MB EMC_FREQ 1%", "EMC", 31),
        ("AO@39C CPU@40C RAM 1/2MB AO@38C CPU@41C", "zone", 26),
        ("VDD_IN 5/6 VDD_CPU 7/8 RAM 1/2MB APE 25 VDD_CPU 9/9", "rail", 41),
    ] {
        let error = parse_line(line).unwrap_err();
        assert_eq!(error.kind(), LineErrorKind::Repeated { field }, "{line}");
        assert_eq!(error.column(), column, "{line}");
    }
}

#[test]
fn a_name_that_may_have_lost_its_left_part_names_nothing() {
    for (line, kept) in [
        (
            "C_FREQ 0%@2133 GR3D_FREQ 0%@[0,0] GPU@41C VIC off",
            vec!["C_FREQ", "0%@2133"],
        ),
        ("VDEC off GR3D_FREQ 5% GPU@41C VIC off", vec!["VDEC", "off"]),
        ("U@40C GPU@41C VIC off", vec!["U@40C"]),
        ("_IN 5mW/6mW GPU@41C VIC off", vec!["_IN", "5mW/6mW"]),
    ] {
        let sample = parse(line);
        assert_eq!(unknown(&sample), kept, "{line}");
        assert_eq!((sample.engines.len(), sample.rails.len()), (1, 0), "{line}");
        assert!(
            sample.temperatures.iter().all(|zone| zone.name == "GPU"),
            "{line}"
        );
    }
}

#[test]
fn a_name_behind_a_stamp_a_blank_or_with_ram_in_the_line_is_whole() {
    for line in [
        "04-24-2023 00:01:24 CPU@40C GPU@41C",
        " CPU@40C GPU@41C",
        "CPU@40C GPU@41C RAM 1/2MB",
    ] {
        let sample = parse(line);
        assert_eq!(sample.temperatures.len(), 2, "{line}");
        assert_eq!(sample.unknown, [], "{line}");
    }
}
