//! Random bytes, mutated lines and cuts: never a panic, and what comes out stands in the text.

use proptest::prelude::*;
use tegrastats_parser::parse_line;

/// One line a family, written from the grammar.
const LINES: [&str; 6] = [
    "RAM 714/1876MB (lfb 139x4MB) SWAP 0/2048MB (cached 0MB) cpu [25%,7%,off,1%]@2218 EMC 3%@924 AVP 0%@81 VDE 120 GR3D 0%@252 EDP limit 0",
    "RAM 534/3964MB (lfb 98x4MB) IRAM 0/252kB(lfb 252kB) CPU [16%@204,off] EMC_FREQ 0%@204 GR3D_FREQ 0%@76 VIC_FREQ 0%@192 APE 25 PMIC@100C thermal@36.25C POM_5V_IN 1022/1022",
    "RAM 721/31927MB (lfb 1x512kB) CPU [2%@1190,off] EMC_FREQ 0% GR3D_FREQ 0% MTS fg 0% bg 3% AO@-37.5C GPU@37.5C GPU 0/0 CPU 311/311 SYS5V 1482/1482",
    "04-24-2023 00:01:24 RAM 1282/62795MB (lfb 15152x4MB) CPU [0%@729] EMC_FREQ 0%@2133 GR3D_FREQ 0%@0 GR3D2_FREQ 0%@0 NVJPG1 729 CV0@-256C NC 0mW/0mW VDD_GPU -39mW/-40mW NC 0mW/0mW",
    "logger: 07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) CPU [23%@2201] GR3D_FREQ 12%@[1300,1300] NVENC0 79%@166 PVA0_FREQ off cpu@52.968C/53C VDD_IN 9761mW/9761mW/9800mW",
    "RAM 4208/125773MB (lfb 31x4MB) CPU [1%@972,0%@972] GR3D_FREQ @[0,0,0] NVENC0_FREQ @0 VIC off soc012@33.781C VDD_CPU_SOC_MSS 4165mW/4165mW VIN 19780mW/19780mW",
];

/// Names, tokens and errors must be pieces of the line, at the columns they claim.
fn check(line: &str) {
    match parse_line(line) {
        Ok(sample) => {
            for token in &sample.unknown {
                assert_eq!(
                    line.get(token.column - 1..token.column - 1 + token.text.len()),
                    Some(token.text)
                );
            }
            let prefix = sample.prefix.unwrap_or_default();
            assert!(line.starts_with(prefix));
            assert!(sample.rails.iter().all(|rail| line.contains(rail.name)));
            for zone in &sample.temperatures {
                assert!(zone.c.map_or(true, f64::is_finite));
            }
        }
        Err(error) => {
            let quoted = error.token().trim_end_matches('…');
            assert!(line[error.column() - 1..].starts_with(quoted), "{error}");
        }
    }
}

#[test]
fn a_line_cut_at_every_byte_from_either_side_never_panics() {
    for line in LINES {
        for cut in 0..=line.len() {
            check(&line[..cut]);
            check(&line[cut..]);
        }
    }
}

#[test]
fn a_line_with_any_byte_replaced_never_panics() {
    for line in LINES {
        for at in 0..line.len() {
            for byte in [
                ' ', '0', '9', 'A', 'm', '@', '%', '/', '[', ']', ',', '(', '-', '.', '\n', '\0', 'é',
            ] {
                check(&format!("{}{byte}{}", &line[..at], &line[at + 1..]));
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_text_of_the_lines_letters_never_panics(text in "[ RAMCPUEG3DF_mWBkx0-9@%/,.()\\[\\]off-]{0,200}") {
        check(&text);
        check(&format!("RAM 1/2MB (lfb 3x4MB) {text}"));
    }

    #[test]
    fn pieces_of_two_lines_joined_never_panic(
        first in 0..LINES.len(), second in 0..LINES.len(), left in 0..=400usize, right in 0..=400usize,
    ) {
        let (first, second) = (LINES[first], LINES[second]);
        check(&format!("{}{}", &first[..left.min(first.len())], &second[right.min(second.len())..]));
    }

    #[test]
    fn shuffled_fields_give_the_same_values(order in Just((0..FIELDS.len()).collect::<Vec<_>>()).prop_shuffle()) {
        let fields: Vec<_> = order.iter().map(|&index| FIELDS[index]).collect();
        let line = format!("RAM 1/2MB {}", fields.join(" "));
        let sample = parse_line(&line).unwrap();
        prop_assert!(sample.unknown.is_empty());
        prop_assert!(sample.swap.is_some() && sample.iram.is_some() && sample.mts.is_some());
        prop_assert!(sample.emc.is_some() && sample.gr3d.is_some() && sample.edp_limit.is_some());
        let counts = [sample.cpus.len(), sample.engines.len(), sample.temperatures.len(), sample.rails.len()];
        prop_assert_eq!(counts, [2, 2, 2, 2]);
    }

    #[test]
    fn rails_of_any_value_read_back_exactly(now in -99_999_999..=99_999_999i32, mean in -99_999..=99_999i32) {
        let line = format!("RAM 1/2MB VDD_IN {now}mW/{mean}mW SYS5V {now}/{mean}");
        for rail in parse_line(&line).unwrap().rails {
            prop_assert_eq!((rail.instant_mw, rail.average_mw), (now, mean));
        }
    }

    #[test]
    fn temperatures_of_any_value_read_back_exactly(milli in -255_999..=255_999i32) {
        let c = f64::from(milli) / 1000.0;
        let line = format!("RAM 1/2MB cpu@{c}C");
        prop_assert_eq!(parse_line(&line).unwrap().temperatures[0].c, Some(c));
    }
}

const FIELDS: [&str; 13] = [
    "SWAP 0/2048MB (cached 0MB)",
    "IRAM 0/252kB(lfb 252kB)",
    "CPU [1%@2,off]",
    "EMC_FREQ 0%@204",
    "GR3D_FREQ 7%@[1,2]",
    "MTS fg 0% bg 3%",
    "EDP limit 0",
    "NVENC 716",
    "VIC off",
    "CPU@40C",
    "gpu@41.5C/42C",
    "CPU 311/312",
    "NC 0mW/0mW",
];
