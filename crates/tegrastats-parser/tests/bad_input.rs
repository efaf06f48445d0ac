//! Cut, garbled and interleaved lines, and other text: what is refused, with which token, and what is kept.

use tegrastats_parser::{parse_line, LineErrorKind, Swap};

const LINE: &str = "10-16-2023 10:59:22 RAM 1205/30623MB (lfb 6429x4MB) SWAP 3/15311MB (cached 1MB) \
    CPU [1%@729,2%@730,off] EMC_FREQ 5%@2133 GR3D_FREQ 6%@[114,115] VIC 7%@729 APE 233 CPU@43.5C tj@44C \
    VDD_GPU_SOC 4788mW/4789mW VDD_CPU_CV 798mW/799mW";

fn refused(line: &str) -> (LineErrorKind, String, usize) {
    let error = parse_line(line).expect_err(line);
    assert!(error.to_string().contains(error.token()), "{error}");
    (error.kind(), error.token().to_owned(), error.column())
}

/// Field, token and column of a malformed field.
fn malformed(line: &str) -> (&'static str, String, usize) {
    match refused(line) {
        (LineErrorKind::Malformed { field, .. }, token, column) => (field, token, column),
        other => panic!("{line}: {other:?}"),
    }
}

fn unknown(line: &str) -> Vec<(&str, usize)> {
    let sample = parse_line(line).expect(line);
    sample
        .unknown
        .iter()
        .map(|token| (token.text, token.column))
        .collect()
}

#[test]
fn other_text_in_a_log_is_refused_as_such() {
    for line in [
        "Tue Jan 26 18:22:31 UTC 2021",
        "tegrastats: command not found",
        "sh: 1: Cannot open /sys/kernel/debug/bpmp: GPU@ 12/34",
        "model 3/4 loaded, 93% done, fan off",
        "please free some RAM and SWAP first",
        "thermal trip: CPU@101.5C",
        "10-16-2023 10:59:22",
        "{\"json\": [1, 2]}",
        "ÄÖÜ \u{1F600} RAM?",
    ] {
        assert_eq!(refused(line).0, LineErrorKind::NotTegrastats, "{line}");
    }
    assert_eq!(refused("tegrastats: command not found").1, "tegrastats:");
}

#[test]
fn an_empty_line_is_refused_at_its_start() {
    for line in ["", "   ", "\r\n"] {
        assert_eq!(refused(line), (LineErrorKind::Empty, String::new(), 1));
    }
}

#[test]
fn a_malformed_field_names_its_token_and_column() {
    let token = |field, token: &str, column| (field, token.to_owned(), column);
    assert_eq!(
        malformed("RAM abc/4096MB (lfb 1x4MB) CPU [1%@2]"),
        token("RAM", "abc/4096MB", 5)
    );
    assert_eq!(malformed("RAM 12/40"), token("RAM", "12/40", 5));
    assert_eq!(malformed("RAM 12 MB"), token("RAM", "12", 5));
    assert_eq!(malformed("RAM"), token("RAM", "RAM", 1));
    assert_eq!(malformed("RAM 1/2GB"), token("RAM", "1/2GB", 5));
    assert_eq!(
        malformed("RAM 1/99999999999MB"),
        token("RAM", "1/99999999999MB", 5)
    );
    assert_eq!(malformed("RAM 1/2MB (lfb 3x"), token("RAM", "3x", 16));
    assert_eq!(malformed("RAM 1/2MB SWAP 0/ CPU [1%@2]"), token("SWAP", "0/", 16));
    assert_eq!(
        malformed("RAM 1/2MB CPU [1%@2,xx%@3] EMC_FREQ 0%"),
        token("CPU", "xx%@3", 21)
    );
    assert_eq!(malformed("RAM 1/2MB CPU [1%@2,3%@"), token("CPU", "3%@", 21));
    assert_eq!(malformed("RAM 1/2MB CPU []"), token("CPU", "CPU", 11));
    assert_eq!(
        malformed("RAM 1/2MB CPU [1%@2]x EMC_FREQ 0%"),
        token("CPU", "x", 21)
    );
    assert_eq!(
        malformed("RAM 1/2MB EMC_FREQ 3%@ GR3D_FREQ 0%"),
        token("EMC", "3%@", 20)
    );
    assert_eq!(malformed("RAM 1/2MB EMC_FREQ"), token("EMC", "EMC_FREQ", 11));
    assert_eq!(
        malformed("RAM 1/2MB GR3D_FREQ 70000%"),
        token("GR3D", "70000%", 21)
    );
    assert_eq!(
        malformed("RAM 1/2MB GR3D_FREQ 5%@[1,2"),
        token("GR3D", "5%@[1,2", 21)
    );
    assert_eq!(malformed("RAM 1/2MB MTS fg 1% bg"), token("MTS", "bg", 21));
    assert_eq!(malformed("RAM 1/2MB EDP limit none"), token("EDP", "none", 21));
}

#[test]
fn a_load_cut_before_its_percent_sign_is_not_read_as_a_clock() {
    assert_eq!(malformed("RAM 1/2MB GR3D_FREQ 4"), ("GR3D", "4".to_owned(), 21));
    assert_eq!(malformed("RAM 1/2MB EMC_FREQ 4"), ("EMC", "4".to_owned(), 20));
}

#[test]
fn two_lines_run_into_each_other_are_refused() {
    let repeated =
        |line: &str, field| assert_eq!(refused(line).0, LineErrorKind::Repeated { field }, "{line}");
    repeated(&format!("{LINE} {LINE}"), "RAM");
    repeated(&format!("{LINE}{LINE}"), "RAM");
    repeated(
        &format!(
            "RAM 1/2MB CPU [1%@2] VDD_IN 25{}",
            "RAM 1/2MB (lfb 1x4MB) CPU [1%@2]"
        ),
        "CPU",
    );
    repeated("RAM 1/2MB EMC_FREQ 0% EMC 0%", "EMC");
}

#[test]
fn every_pair_of_a_line_cut_anywhere_and_a_whole_line_is_refused_or_gives_one_lines_values() {
    let whole = parse_line(LINE).unwrap();
    for cut in 0..LINE.len() {
        let joined = format!("{}{LINE}", &LINE[..cut]);
        let Ok(sample) = parse_line(&joined) else { continue };
        assert_eq!(sample.ram, whole.ram, "cut at {cut}");
        assert_eq!(sample.cpus, whole.cpus, "cut at {cut}");
        assert_eq!(sample.rails, whole.rails, "cut at {cut}");
    }
}

#[test]
fn a_line_cut_at_its_right_gives_no_value_that_the_whole_line_does_not_hold() {
    let whole = parse_line(LINE).unwrap();
    for cut in 0..LINE.len() {
        let Ok(part) = parse_line(&LINE[..cut]) else {
            continue;
        };
        assert_eq!(
            part.ram.map(|ram| (ram.used_mb, ram.total_mb)),
            Some((1205, 30623)),
            "cut at {cut}"
        );
        let sizes = |swap: Option<Swap>| swap.map(|swap| (swap.used_mb, swap.total_mb));
        assert!(
            part.swap.is_none() || sizes(part.swap) == sizes(whole.swap),
            "cut at {cut}"
        );
        assert!(part.cpus.is_empty() || part.cpus == whole.cpus, "cut at {cut}");
        assert!(whole.rails.starts_with(&part.rails), "cut at {cut}");
        assert!(whole.temperatures.starts_with(&part.temperatures), "cut at {cut}");
    }
}

#[test]
fn a_line_cut_at_its_left_gives_what_is_left() {
    let sample =
        parse_line("[0%@1190,1%@1190] EMC_FREQ 0%@1331 VIC_FREQ 115 AUX@36C GPU 467mW/467mW").unwrap();
    assert_eq!((sample.ram, sample.cpus.len()), (None, 0));
    assert_eq!(sample.unknown[0].text, "[0%@1190,1%@1190]");
    assert_eq!(
        (
            sample.engines.len(),
            sample.temperatures.len(),
            sample.rails.len()
        ),
        (1, 1, 1)
    );
}

#[test]
fn unknown_tokens_are_kept_and_cost_nothing_else() {
    let line = "RAM 1/2MB FOO CPU [1%@2] (bar) NEW 12 x=3 EMC_FREQ 0%@204 SWAP 1/2MB (zram 3MB) GPU@40.5F VDD_IN 1/2";
    let expected = [
        ("FOO", 11),
        ("(bar)", 26),
        ("NEW", 32),
        ("12", 36),
        ("x=3", 39),
        ("(zram", 70),
        ("3MB)", 76),
        ("GPU@40.5F", 81),
    ];
    assert_eq!(unknown(line), expected);
    let sample = parse_line(line).unwrap();
    assert_eq!((sample.cpus.len(), sample.rails.len()), (1, 1));
    assert!(sample.ends_cleanly);
}

#[test]
fn an_empty_list_of_clocks_is_kept_and_costs_nothing_else() {
    for (field, kept) in [
        ("GR3D_FREQ @[]", vec!["GR3D_FREQ", "@[]"]),
        ("GR3D_FREQ 5%@[]", vec!["GR3D_FREQ", "5%@[]"]),
        ("GR3D2_FREQ @[ ]", vec!["GR3D2_FREQ", "@[", "]"]),
        ("EMC_FREQ @[]", vec!["EMC_FREQ", "@[]"]),
        ("NVENC @[]", vec!["NVENC", "@[]"]),
    ] {
        let line = format!("RAM 1/2MB {field} CPU@40C");
        let texts: Vec<_> = unknown(&line).iter().map(|(text, _)| *text).collect();
        assert_eq!(texts, kept);
        let sample = parse_line(&line).unwrap();
        assert_eq!(
            (sample.gr3d, sample.gr3d2, sample.emc),
            (None, None, None),
            "{field}"
        );
        assert_eq!(
            (sample.engines.len(), sample.temperatures.len()),
            (0, 1),
            "{field}"
        );
    }
}

#[test]
fn a_list_of_clocks_that_is_cut_is_still_refused() {
    for value in ["@[", "5%@[", "5%@[1,", "@[1,]", "5%@[]x", "@[,]", "@"] {
        assert_eq!(
            malformed(&format!("RAM 1/2MB GR3D_FREQ {value}")),
            ("GR3D", value.to_owned(), 21)
        );
    }
    assert_eq!(
        refused("RAM 1/2MB GR3D_FREQ 5% GR3D_FREQ @[]").0,
        LineErrorKind::Repeated { field: "GR3D" }
    );
}

#[test]
fn a_bare_number_behind_an_unlisted_name_is_kept() {
    assert_eq!(
        unknown("RAM 1/2MB CVNAS 1000 APE 25"),
        [("CVNAS", 11), ("1000", 17)]
    );
}

#[test]
fn a_rail_cut_in_the_middle_is_neither_a_rail_nor_an_engine() {
    for (tail, kept) in [
        ("VDD_SOC", vec!["VDD_SOC"]),
        ("VDD_SOC 14", vec!["VDD_SOC", "14"]),
        ("VDD_SOC 1431/", vec!["VDD_SOC", "1431/"]),
        ("VDD_SOC 1431mW/14", vec!["VDD_SOC", "1431mW/14"]),
        ("VDD_SOC 1431mW/1431m", vec!["VDD_SOC", "1431mW/1431m"]),
        ("VDD_SOC 1431mW/1431mW/", vec!["VDD_SOC", "1431mW/1431mW/"]),
        ("tj@42.5", vec!["tj@42.5"]),
        ("tj@42.5C/", vec!["tj@42.5C/"]),
    ] {
        let line = format!("RAM 1/2MB VDD_IN 5mW/6mW {tail}");
        let sample = parse_line(&line).unwrap();
        let texts: Vec<_> = sample.unknown.iter().map(|token| token.text).collect();
        assert_eq!(texts, kept);
        assert_eq!(
            (
                sample.rails.len(),
                sample.engines.len(),
                sample.temperatures.len()
            ),
            (1, 0, 0),
            "{tail}"
        );
        assert!(!sample.ends_cleanly, "{tail}");
    }
}

#[test]
fn other_text_within_a_line_makes_no_engine_and_no_rail() {
    let sample = parse_line("RAM 1/2MB Jan 26 kernel: page 3/4 disk 93% fan off 12 off CPU@40C").unwrap();
    assert_eq!((sample.engines.len(), sample.rails.len()), (0, 0));
    assert_eq!(sample.temperatures.len(), 1);
}

#[test]
fn a_long_token_is_quoted_in_part() {
    let (kind, token, column) = refused(&format!("  {}", "é".repeat(10_000)));
    assert_eq!((kind, column), (LineErrorKind::NotTegrastats, 3));
    assert!(token.len() < 80 && token.ends_with('…'));
}

#[test]
fn a_stamp_that_is_no_time_is_a_prefix() {
    let sample = parse_line("13-45-2023 10:59:22 RAM 1/2MB").unwrap();
    assert_eq!(
        (sample.prefix, sample.timestamp),
        (Some("13-45-2023 10:59:22 "), None)
    );
}
