use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::*;
use crate::analysis::live::Asked;
use crate::record::{Event, FrameRecord, Outcome, SampleRecord};
use crate::units::{Nanos, Stamp};

fn read(view: &mut LiveView, values: &[(&str, Option<f64>, &str)], at: Stamp) {
    for (signal, value, unit) in values {
        view.event(&Event::Sample(SampleRecord {
            at,
            source: "tegrastats".into(),
            signal: (*signal).into(),
            value: *value,
            unit: (*unit).into(),
        }));
    }
}

fn view(values: &[(&str, Option<f64>, &str)]) -> LiveView {
    let mut view = LiveView::new("NVIDIA Jetson AGX Orin Developer Kit".into(), &[]);
    read(&mut view, values, Stamp(1_000_000_000));
    view
}

fn buffer(view: &LiveView, look: &mut Look, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, look, "live")).unwrap();
    terminal.backend().buffer().clone()
}

/// What is seen, with no spaces at the ends of lines.
fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line += symbol;
            // A wide letter takes its neighbour's cell.
            x += row::width(symbol).max(1) as u16;
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn screen(view: &LiveView, width: u16, height: u16) -> String {
    text(&buffer(view, &mut Look::default(), width, height))
}

/// Two minutes of tenants of these names; each is slower than the one before, the first is in time.
fn tenants(names: &[&str]) -> LiveView {
    let mut view = LiveView::new("demo".into(), names);
    for (number, tenant) in view.tenants.iter_mut().enumerate() {
        tenant.asked = match number % 3 {
            2 => Asked::Closed,
            _ => Asked::Hz(10.0),
        };
        tenant.limit = (number == 1).then_some(2_000);
        tenant.deadline = Some(Nanos::from_millis(30));
    }
    for i in 0..1_200_i64 {
        for number in 0..names.len() {
            let released = Stamp(i * 100_000_000);
            let slow = if i % 40 == 0 { 12 } else { 0 };
            let response = Nanos::from_millis(8 + number as i64 * 7 + i % 5 + slow);
            let dropped = number == 1 && i % 100 == 99;
            view.frame(&FrameRecord {
                tenant: number as u16,
                outcome: if dropped {
                    Outcome::Dropped
                } else {
                    Outcome::Completed
                },
                sequence: i as u64,
                deadline: (number % 3 != 2).then(|| Nanos::from_millis(30)),
                ..FrameRecord::completed(released, released + response)
            });
        }
    }
    view
}

/// An Orin's readings over the same time: a rail that varies, and one that does not.
fn with_sensors(mut view: LiveView) -> LiveView {
    for i in 0..120_i64 {
        let watts = 9_000.0 + ((i % 20) as f64) * 250.0;
        let values = [
            ("VDD_IN", Some(watts), "mw"),
            ("VDD_CPU_GPU_CV", Some(watts / 2.0), "mw"),
            ("VDD_SOC", Some(2_817.0), "mw"),
            ("gpu_load", Some(63.0), "percent"),
            ("gpu_frequency", Some(621.0), "mhz"),
            ("cpu0_online", Some(1.0), "flag"),
            ("cpu0_load", Some(15.0), "percent"),
            ("cpu1_online", Some(0.0), "flag"),
            ("tj_temperature", Some(84.5), "c"),
            ("cpu_temperature", Some(53.9), "c"),
            ("memory_used", Some(6e9), "bytes"),
            ("memory_total", Some(8e9), "bytes"),
        ];
        read(&mut view, &values, Stamp(i * 1_000_000_000));
    }
    let key = ("tegrastats".to_owned(), "VDD_IN".to_owned());
    view.signals.get_mut(&key).unwrap().role = crate::record::RailRole::Total;
    view.budget_mw = Some(15_000.0);
    view
}

const TWELVE: [&str; 12] = [
    "camera", "lidar", "radar", "lanes", "signs", "lights", "depth", "flow", "pose", "text", "faces", "map",
];
const NAMED: [&str; 3] = [
    "front-camera-left-wide-angle-of-the-second-vehicle",
    "前方カメラ検出器",
    "e\u{301}te\u{301} 🚗\u{1b}[2J",
];

#[test]
fn tenants_have_the_space_and_the_board_the_rest() {
    for (width, height) in [(60, 15), (80, 24), (120, 40), (160, 50)] {
        let has = |shown: &str, all: &[&str]| {
            for words in all {
                assert!(shown.contains(words), "{words} at {width} x {height}:\n{shown}");
            }
        };
        let shown = screen(&with_sensors(tenants(&["camera"])), width, height);
        let board = ["13.75 W", "84.5", "63 %", "621 MHz"];
        has(
            &shown,
            &[
                "camera",
                "10.00",
                "20.00",
                "30.00",
                "of 10",
                "1 tenants",
                "q quit",
                "╌╌",
                "█",
            ],
        );
        has(&shown, &board);
        let shown = screen(&with_sensors(tenants(&TWELVE)), width, height);
        assert!(
            TWELVE.iter().all(|name| shown.contains(name)) || shown.contains(" more above, "),
            "{shown}"
        );
        has(&shown, &["camera", "lidar"]);
        has(&shown, &board);
        let shown = screen(&with_sensors(tenants(&NAMED)), width, height);
        has(&shown, &["front-cam", "前方カメ", "e\u{301}te\u{301}"]);
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let shown = screen(&tenants(&TWELVE[..3]), width, height);
        has(&shown, &["camera", "lidar", "radar", "no power measured"]);
        assert!(!shown.contains("0.00 W"), "{shown}");
        let look = &mut Look::default();
        look.turn_to(Page::Power);
        let shown = text(&buffer(&with_sensors(tenants(&["camera"])), look, width, height));
        has(&shown, &["RAILS", "VDD_IN", "VDD_SOC", "2.82 W", "tj"]);
        has(&shown, &board);
    }
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
    view.title =
        "a-name-of-a-log-that-is-longer-than-the-line-has-room-for-beside-the-state-at-its-end.txt".into();
    let shown = screen(&view, 80, 24);
    for words in [
        "VDD_GPU",
        "0.00 W",
        "VDD_CPU_SOC_MSS",
        "19.78 W",
        "NVDEC1",
        "NVENC0",
        "NVJPG0",
        "OFA",
        "off     NVDLA1 VIC",
        "cores",
        "swap",
        "soc345",
        "tdiode         38.9",
        "q quit",
        "… live",
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
fn a_tenants_figures_are_those_of_its_frames() {
    let shown = screen(&tenants(&["camera", "lidar"]), 120, 24);
    let words = |name: &str| -> Vec<String> {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    // 8 to 12 ms in turn, and 12 ms more for each fortieth; the latest are enough for p99.
    assert_eq!(
        words("camera")[1..6],
        ["10.00", "20.00", "30.00", "0", "0.00"],
        "{shown}"
    );
    // Every hundredth is dropped, which is a miss.
    let lidar = words("lidar");
    assert_eq!(lidar[4..6], ["12", "1.00"], "{shown}");
    assert_eq!(lidar[7..10], ["of", "10", "1200"], "{shown}");
}

#[test]
fn pages_sorting_and_help_are_looked_at_by_keys() {
    let view = with_sensors(tenants(&["camera", "lidar"]));
    let look = &mut Look::default();
    let shown = |look: &mut Look| text(&buffer(&view, look, 80, 24));
    let above = |shown: &str, a: &str, b: &str| shown.find(a).unwrap() < shown.find(b).unwrap();
    assert!(above(&shown(look), "camera", "lidar"));
    look.sort(false, true);
    let by_p99 = shown(look);
    assert!(
        above(&by_p99, "lidar", "camera") && by_p99.contains("p99 ms▾"),
        "{by_p99}"
    );
    look.help = true;
    let help = shown(look);
    assert!(
        help.contains("quit; a run ends with its results") && help.contains("not measured"),
        "{help}"
    );
    look.turn_to(Page::Power);
    assert!(shown(look).contains("RAILS"));
    look.turn_to(Page::Programs);
    assert!(shown(look).contains("no program is known"));
}

#[test]
fn a_screen_that_is_too_small_says_what_it_needs() {
    let view = with_sensors(tenants(&["camera"]));
    for (width, height) in [(59, 15), (60, 14), (40, 10)] {
        let shown = screen(&view, width, height).replace('\n', " ");
        assert!(shown.contains("60 × 15"), "{shown}");
        assert!(!shown.contains("camera"), "{shown}");
    }
    assert!(screen(&view, 60, 15).contains("camera"));
}

#[test]
fn a_constant_rail_is_a_thin_line() {
    let mut view = LiveView::new("x".into(), &[]);
    for at in 0..60 {
        read(
            &mut view,
            &[("VDD_SOC", Some(2_000.0), "mw")],
            Stamp(at * 1_000_000_000),
        );
    }
    let shown = screen(&view, 160, 50);
    assert!(shown.contains("⠉⠉⠉⠉") && !shown.contains('█'), "{shown}");
}

#[test]
fn a_budget_and_hot_parts_are_coloured() {
    let mut view = with_sensors(tenants(&["camera"]));
    let colours = |view: &LiveView, words: &str| -> Vec<ratatui::style::Color> {
        let drawn = buffer(view, &mut Look::default(), 80, 24);
        let lines = text(&drawn);
        let (y, line) = lines
            .lines()
            .enumerate()
            .find(|(_, line)| line.contains(words))
            .unwrap();
        let x = line.split_once(words).unwrap().0.chars().count();
        (0..words.chars().count())
            .map(|n| drawn[((x + n) as u16, y as u16)].fg)
            .collect()
    };
    let all = |colours: Vec<_>, wanted| colours.iter().all(|colour| *colour == wanted);
    use ratatui::style::Color;
    for (budget, wanted) in [
        (20_000.0, Color::Green),
        (15_000.0, Color::Yellow),
        (9_000.0, Color::Red),
    ] {
        view.budget_mw = Some(budget);
        assert!(all(colours(&view, "13.75 W"), wanted), "{budget}");
    }
    assert!(all(colours(&view, "84.5"), Color::Yellow));
    assert!(all(colours(&view, "53.9"), Color::Reset));
}

/// Anything that can come in.
fn any_view() -> impl Strategy<Value = LiveView> {
    let name = prop_oneof!["[a-z]{1,40}", ".{0,20}", "[前方カ🚗é]{1,30}"];
    let value = prop_oneof![any::<f64>(), -10.0..1e6_f64, Just(f64::NAN), Just(0.0)];
    let names = proptest::collection::vec(name, 0..14);
    let signals = proptest::sample::subsequence(
        vec![
            ("VDD_IN", "mw"),
            ("VDD_A_RATHER_LONG_NAME_OF_A_RAIL", "mw"),
            ("gpu_load", "percent"),
            ("gpu_frequency", "mhz"),
            ("cpu0_load", "percent"),
            ("cpu0_online", "flag"),
            ("tj_temperature", "c"),
            ("memory_used", "bytes"),
            ("swap_used", "bytes"),
        ],
        0..=9,
    );
    let frames = proptest::collection::vec((0..14_u16, 0..1_000_i64, 0..4_000_i64, any::<bool>()), 0..60);
    (names, signals, proptest::collection::vec(value, 9), frames).prop_map(
        |(names, signals, values, frames)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut view = LiveView::new(names.join("/"), &names);
            for (tenant, at, response, dropped) in frames {
                let released = Stamp(at * 100_000_000);
                view.frame(&FrameRecord {
                    tenant,
                    outcome: if dropped {
                        Outcome::Dropped
                    } else {
                        Outcome::Completed
                    },
                    deadline: (response % 2 == 0).then(|| Nanos::from_millis(response % 50)),
                    ..FrameRecord::completed(released, released + Nanos::from_millis(response))
                });
            }
            for ((signal, unit), value) in signals.iter().zip(values) {
                read(
                    &mut view,
                    &[(signal, Some(value), unit), (signal, None, unit)],
                    Stamp(1_000_000_000),
                );
                read(&mut view, &[(signal, Some(value), unit)], Stamp(2_000_000_000));
            }
            view
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_size_can_be_drawn_and_no_two_columns_touch(
        view in any_view(),
        (width, height) in (1..=200_u16, 1..=60_u16),
        (turns, sorts, scrolled) in (0..3_usize, 0..5_usize, 0..20_isize),
        help in any::<bool>(),
    ) {
        let mut look = Look::default();
        let has_tenants = !view.tenants.is_empty();
        (0..turns).for_each(|_| look.turn(false, has_tenants));
        (0..sorts).for_each(|_| look.sort(false, has_tenants));
        look.scroll(scrolled);
        look.help = help;
        let drawn = buffer(&view, &mut look, width, height);
        if help || look.page(has_tenants) != Page::Tenants || width < LEAST.0 || height < LEAST.1 {
            return Ok(());
        }
        let body = height - 2 - u16::from(!view.notes.is_empty());
        let plan = tenants::Plan::of(&view.tenants, width, body - board::STRIP);
        let rows = (body - board::STRIP - 1) / plan.height;
        let shown = (view.tenants.len() as u16).min(rows.saturating_sub(u16::from(rows < view.tenants.len() as u16)));
        let mut end = 0;
        for column in plan.columns() {
            end += column as u16;
            for y in std::iter::once(1).chain((0..shown).map(|row| 2 + row * plan.height)) {
                prop_assert_eq!(drawn[(end - 1, y)].symbol(), " ", "column {} of row {}:\n{}", end, y, text(&drawn));
            }
        }
    }
}
