use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::record::{Event, FrameRecord, Outcome, SampleRecord};
use crate::units::{Nanos, Stamp};

fn view(values: &[(&str, Option<f64>, &str)]) -> LiveView {
    let mut view = LiveView::new("NVIDIA Jetson AGX Orin Developer Kit".into(), &["camera"]);
    for (signal, value, unit) in values {
        view.event(&Event::Sample(SampleRecord {
            at: Stamp(1_000_000_000),
            source: "tegrastats".into(),
            signal: (*signal).into(),
            value: *value,
            unit: (*unit).into(),
        }));
    }
    view
}

fn screen(view: &LiveView, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(frame, view, "live", "q quit"))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn zero_and_not_measured_look_different() {
    let view = view(&[
        ("VDD_GPU", Some(0.0), "mw"),
        ("VDD_CPU", None, "mw"),
        ("gpu", None, "c"),
    ]);
    let shown = screen(&view, 80, 24);
    let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row("VDD_GPU").contains("0.00 W"), "{shown}");
    assert!(
        row("VDD_CPU").contains(UNKNOWN) && !row("VDD_CPU").contains("0.00"),
        "{shown}"
    );
    assert!(
        line(&view).contains("VDD_GPU 0.00 W") && line(&view).contains("VDD_CPU –"),
        "{}",
        line(&view)
    );
}

#[test]
fn a_board_of_many_signals_fits_80_by_24_with_nothing_cut_off_unmarked() {
    let mut values = vec![
        ("VDD_GPU", Some(0.0), "mw"),
        ("VDD_CPU_SOC_MSS", Some(5_887.0), "mw"),
        ("VIN_SYS_5V0", Some(5_635.0), "mw"),
        ("VIN", Some(19_780.0), "mw"),
        ("gpu_frequency", Some(314.0), "mhz"),
        ("cpu0_online", Some(1.0), "flag"),
        ("cpu0_load", Some(15.0), "percent"),
        ("cpu0_frequency", Some(972.0), "mhz"),
        ("memory_used", Some(1.1e11), "bytes"),
        ("memory_total", Some(1.3e11), "bytes"),
        ("swap_used", Some(0.0), "bytes"),
        ("nvdla1_on", Some(0.0), "flag"),
        ("vic_on", Some(0.0), "flag"),
        ("ape_on", Some(1.0), "flag"),
    ];
    let on = [
        "nvenc0_on",
        "nvenc1_on",
        "nvdec0_on",
        "nvdec1_on",
        "nvjpg0_on",
        "ofa_on",
    ];
    values.extend(on.map(|name| (name, Some(1.0), "flag")));
    let zones = ["cpu", "gpu", "soc012", "soc345", "tj", "tboard", "tdiode"];
    values.extend(zones.map(|zone| (zone, Some(38.9), "c")));
    let mut view = view(&values);
    view.title = "a-name-of-a-log-that-is-longer-than-the-line-has-room-for-beside-the-state.txt".into();
    view.tenants.clear();
    let shown = screen(&view, 80, 24);
    for words in [
        "VDD_GPU            0.00 W",
        "VDD_CPU_SOC_MSS",
        "VIN               19.78 W",
        "NVDEC1",
        "NVENC0",
        "NVJPG0",
        "OFA",
        "off     NVDLA1 VIC",
        "cores",
        "swap",
        "soc345",
        "tdiode        38.9",
        "q quit",
        "beside-the-… live",
    ] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    assert!(!shown.contains("APE"), "{shown}");
    // A Jetson has a memory controller; without its line nobody would see that it is not told.
    let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("EMC ").matches(UNKNOWN).count() == 2, "{shown}");
    // The doctor of this machine knows nothing of a recording's.
    let mut bare = LiveView::new("x".into(), &[]);
    assert!(!screen(&bare, 80, 24).contains("doctor"));
    bare.live = true;
    assert!(screen(&bare, 80, 24).contains("jetlag doctor"));
}

#[test]
fn tenants_stand_above_the_board_with_what_became_of_their_frames() {
    let mut view = view(&[("VDD_IN", Some(5_000.0), "mw")]);
    for i in 0..800 {
        let released = Stamp(i * 20_000_000);
        let dropped = i % 100 == 99;
        view.frame(&FrameRecord {
            tenant: 0,
            phase: Phase::Together,
            warmup: false,
            outcome: if dropped {
                Outcome::Dropped
            } else {
                Outcome::Completed
            },
            sequence: i as u64,
            source_index: 0,
            released,
            started: released,
            // Every tenth takes 30 ms, which is too late.
            finished: released + Nanos::from_millis(if i % 10 == 0 { 30 } else { 8 }),
            lateness: Nanos::ZERO,
            stages: [None; 8],
            deadline: Some(Nanos::from_millis(20)),
            detections: 0,
            input_size: 0,
            submission: None,
        });
    }
    let shown = screen(&view, 80, 24);
    let row = |name: &str| shown.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(
        row("tenant") < row("camera") && row("camera") < row("POWER"),
        "{shown}"
    );
    let figures: Vec<&str> = shown
        .lines()
        .nth(row("camera"))
        .unwrap()
        .split_whitespace()
        .collect();
    // A drop is a miss: 80 that were late, and 8.
    assert_eq!(figures[2..], ["8.00", "30.00", "88", "8", "800"], "{shown}");
    let rate: f64 = figures[1].parse().unwrap();
    assert!((rate - 49.5).abs() < 0.7, "{shown}");
}

#[test]
fn the_latest_reading_is_at_the_right_and_one_without_value_is_dots() {
    let mut view = LiveView::new("x".into(), &[]);
    let mut read = |at: i64, signal: &str, value: Option<f64>| {
        view.event(&Event::Sample(SampleRecord {
            at: Stamp(at * 1_000_000_000),
            source: "ina3221".into(),
            signal: signal.into(),
            value,
            unit: "mw".into(),
        }));
    };
    for at in 0..5 {
        read(at, "VDD_IN", Some(8_000.0));
    }
    read(3, "VDD_SOC", None);
    read(4, "VDD_SOC", Some(2_000.0));
    for (width, height) in [(80, 24), (160, 50)] {
        let shown = screen(&view, width, height);
        let rows: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
        let column = |symbol: char| rows.iter().find_map(|row| row.iter().rposition(|c| *c == symbol));
        let dots = column('·').unwrap();
        let lowest = rows.iter().rfind(|row| row.contains(&'·')).unwrap();
        assert_eq!(lowest[dots + 1], '█', "{shown}");
        assert!(lowest[dots + 2..].iter().take(2).all(|c| *c == ' '), "{shown}");
        // Of five readings the last stands over that of the other rail.
        let first = rows
            .iter()
            .rfind(|row| row.iter().filter(|c| **c == '█').count() == 5);
        assert_eq!(
            first.unwrap().iter().rposition(|c| *c == '█'),
            Some(dots + 1),
            "{shown}"
        );
    }
}

#[test]
fn every_size_down_to_nothing_can_be_drawn() {
    let view = view(&[
        ("VDD_IN", Some(5_000.0), "mw"),
        ("gpu_load", Some(63.0), "percent"),
        ("gpu_frequency", Some(621.0), "mhz"),
        ("cpu0_online", Some(1.0), "flag"),
        ("cpu0_load", Some(15.0), "percent"),
        ("cpu1_online", Some(0.0), "flag"),
        ("tj_temperature", Some(54.0), "c"),
        ("memory_used", Some(6e9), "bytes"),
        ("memory_total", Some(8e9), "bytes"),
    ]);
    for (width, height) in [(80, 24), (160, 50), (40, 10), (10, 3), (1, 1), (300, 100)] {
        let shown = screen(&view, width, height);
        if width >= 80 {
            for words in ["VDD_IN", "621 MHz", "63 %", "tj", "q quit", "camera", "×"] {
                assert!(shown.contains(words), "{words} at {width}:\n{shown}");
            }
        }
    }
}
