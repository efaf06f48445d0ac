//! The timeline of a page: whole or in part, drawn without script, and with it scrolled and read.

use std::process::Command;

use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{Event, FrameRecord, Manifest, Phase, Stage};
use jetlag::units::Nanos;
use serde_json::Value;

use crate::common::browser::{Browser, View};
use crate::summary::html::{assert_readable, assert_self_contained, browser, rich, written};
use crate::summary::made_up;

/// The summary with what a page draws.
fn drawn(manifest: &Manifest, events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::new(manifest);
    summarizer.draw_frames();
    events.iter().for_each(|event| summarizer.push(event));
    summarizer.finish(None)
}

fn rich_page() -> (String, Summary, Vec<Event>) {
    let (manifest, events) = rich();
    let summary = drawn(&manifest, &events);
    (written(manifest, summary.clone()), summary, events)
}

/// The timeline's part of a page.
pub(crate) fn timeline(page: &str) -> &str {
    let from = page.find("-timeline\" class=\"block\"").expect("a section");
    let rest = &page[from..];
    &rest[..rest.find("</section>").expect("an end")]
}

#[test]
fn a_timeline_is_drawn_around_the_slowest_frames_and_has_every_frame() {
    let (page, summary, _) = rich_page();
    assert_self_contained(&page);
    let part = timeline(&page);
    let drawings = summary.tenants.iter().map(|tenant| {
        tenant
            .slowest
            .iter()
            .filter(|slow| slow.beyond_spread)
            .count()
            .clamp(1, 3)
    });
    assert_eq!(part.matches("<svg").count(), drawings.sum::<usize>());
    for words in [
        "What ran around frame",
        ">clock, MHz<",
        ">power, W<",
        "gpu_frequency",
        "VDD_IN",
        ">camera<",
        ">lidar<",
    ] {
        assert!(part.contains(words), "{words}");
    }
    // The slow frame itself, with its times, in a drawing of it.
    let slowest = &summary.tenants[0].slowest[0];
    let frame = format!(
        "camera, frame {}: released at {:.4} s, response ",
        slowest.sequence, slowest.at_s
    );
    assert!(part.contains(&frame), "{frame}");
    assert!(part.contains("class=\"tlm\""), "misses are marked");
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
}

#[test]
fn names_within_the_timeline_cannot_end_its_script() {
    let (mut manifest, events) = rich();
    {
        use crate::common::planned::Planned as _;
        manifest.plan().tenants[0].name = "</script><b>x".to_owned();
    }
    manifest.tenants[0].name = "</script><b>x".to_owned();
    let summary = drawn(&manifest, &events);
    let page = written(manifest, summary);
    assert!(!page.contains("</script><b>"), "the name is escaped");
}

/// 200 000 frames at 100 Hz of two tenants, some of them slow.
fn long_run() -> (Manifest, Vec<Event>) {
    let tenants = vec![
        made_up::tenant("camera", 50.0, 33.0),
        made_up::tenant("lidar", 50.0, 100.0),
    ];
    let mut events: Vec<Event> = (0..200_000u64)
        .map(|i| {
            let slow = if i % 40_000 == 20_001 {
                90_000 + i as i64 / 10
            } else {
                0
            };
            let service = Nanos::from_micros(5_000 + (i as i64 * 7_919) % 1_500 + slow);
            let mut frame = made_up::frame(i / 2, Nanos::from_millis(10 * i as i64), Nanos::ZERO, service);
            frame.tenant = (i % 2) as u16;
            frame.deadline = Some(Nanos::from_millis(33));
            Event::Frame(frame)
        })
        .collect();
    for tenant in 0..2 {
        events.push(Event::Phase(made_up::end(tenant, Phase::Together, 2_000)));
    }
    (made_up::manifest(2_000, tenants), events)
}

#[test]
fn of_a_long_run_the_frames_around_the_slowest_are_in_the_page_and_it_says_what_is_left_out() {
    let (manifest, events) = long_run();
    let mut summary = drawn(&manifest, &events);
    let course = summary.plots.course.as_mut().expect("it was asked for");
    assert!(course.is_partial() && course.frames.is_empty());
    for event in &events {
        if let Event::Frame(frame) = event {
            course.take(frame);
        }
    }
    course.settle();
    for slow in (0..5).map(|n| (n * 40_000 + 20_001) / 2) {
        let found = course
            .frames
            .iter()
            .any(|frame| frame.tenant == 1 && frame.sequence == slow);
        assert!(found, "{slow}");
    }
    let page = written(manifest, summary);
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
    println!("{} bytes", page.len());
}

#[test]
fn a_long_run_on_disk_is_read_again_for_its_slowest_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/sim.ron");
    let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args([
            "run",
            scenario,
            "--quiet",
            "--out",
            "long.mcap",
            "--html",
            "long.html",
            "--set",
            "duration=1500s",
        ])
        .current_dir(folder.path())
        .output()
        .expect("jetlag starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let page = std::fs::read_to_string(folder.path().join("long.html")).expect("the page");
    let part = timeline(&page);
    assert!(part.contains("<svg"), "{part}");
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
}

/// As the page's script shows a number.
fn short(x: f64) -> String {
    match x.abs() {
        size if size >= 999.95 => format!("{x:.1}"),
        size if size >= 0.995 || x == 0.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

fn record_of(events: &[Event], tenant: u16, sequence: u64) -> FrameRecord {
    let mut frames = events.iter().filter_map(|event| match event {
        Event::Frame(frame) => Some(*frame),
        _ => None,
    });
    let found = frames.find(|frame| {
        frame.tenant == tenant
            && frame.sequence == sequence
            && frame.phase == Phase::Together
            && !frame.warmup
    });
    found.expect("the frame is in the record")
}

#[test]
fn keys_move_the_timeline_and_values_under_the_pointer_are_those_of_the_record() {
    let Some(program) = browser() else { return };
    let (page, summary, events) = rich_page();
    let json: Value = serde_json::to_value(&summary).expect("JSON");
    let slowest = &json["tenants"][0]["slowest"][0];
    let sequence = slowest["sequence"].as_u64().expect("a number");
    let (at, response) = (
        slowest["at_s"].as_f64().expect("a time"),
        slowest["response_ms"].as_f64().expect("a time"),
    );
    let middle = at + response / 2e3;
    // Its row is the first, and the strip above its lanes is that of all of them.
    let script = format!(
        "(function(){{var out={{}},canvas=document.querySelector('.timeline canvas'),said=document.querySelector('.values');\
         var key=function(name){{canvas.dispatchEvent(new KeyboardEvent('keydown',{{key:name,bubbles:true,cancelable:true}}))}};\
         var view=function(){{return [+canvas.dataset.from,+canvas.dataset.to]}};\
         canvas.focus();out.start=view();key('+');out.zoomed=view();key('ArrowRight');out.later=view();key('ArrowLeft');out.back=view();\
         key('End');out.end=view();key('Home');out.home=view();key('-');key('0');out.whole=view();\
         for(var n=0;n<60&&said.textContent.indexOf('camera, frame {sequence}:')<0;n++)key('n');\
         out.said=said.textContent;out.moment=view();\
         var d=canvas.dataset,box=canvas.getBoundingClientRect(),narrow=canvas.clientWidth<560;\
         var x=box.left+ +d.left+({middle}-d.from)/(d.to-d.from)*(d.right-d.left);\
         canvas.dispatchEvent(new PointerEvent('pointermove',{{clientX:x,clientY:box.top+(narrow?37:22),bubbles:true}}));\
         var tip=document.getElementById('tip');out.tip=tip.hidden?'':tip.textContent;\
         key('.');out.next=said.textContent;key('ArrowDown');out.row=said.textContent;\
         out.player=!document.querySelector('.player').hidden;\
         out.over=document.documentElement.scrollWidth-document.documentElement.clientWidth;return out}})()"
    );
    let without = "({player:!document.querySelector('.player').hidden,\
         drawings:[].filter.call(document.querySelectorAll('[id$=-timeline] svg'),function(svg){\
         return svg.getBoundingClientRect().height>60}).length})";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, &page).expect("the page is written");
    let mut browser = Browser::start(&program);
    let record = record_of(&events, 0, sequence);
    let ms = |time: Nanos| short(time.as_millis_f64());
    let compute = ms(record.stages[Stage::Compute as usize].expect("it computed"));
    for (width, dark) in [(1400, false), (420, true)] {
        let screen = |script| View {
            width,
            dark,
            script,
            paper: false,
        };
        let logged = browser.open(&file, screen(true));
        assert!(logged.is_empty(), "{width}: {logged:?}");
        let told = browser.ask(&script);
        let view = |name: &str| {
            let end = |n: usize| told[name][n].as_f64().expect("seconds");
            (end(0), end(1))
        };
        let words = |name: &str| told[name].as_str().expect("words");
        let (whole, zoomed, later) = (view("start"), view("zoomed"), view("later"));
        assert_eq!(whole, (0.0, 70.0));
        assert_eq!(zoomed, (17.5, 52.5));
        assert!(
            later.0 > zoomed.0 && ((later.1 - later.0) - 35.0).abs() < 1e-6,
            "{later:?}"
        );
        assert_eq!(view("back"), zoomed);
        assert_eq!(
            (view("end"), view("home"), view("whole")),
            ((35.0, 70.0), (0.0, 35.0), whole)
        );
        let moment = view("moment");
        assert!(
            moment.0 < at && at + response / 1e3 < moment.1,
            "{moment:?} holds the frame at {at}"
        );
        let expected = format!(
            "camera, frame {sequence}: released at {at:.4} s, response {} ms, missed; in ms: wait {}",
            short(response),
            ms(record.queueing())
        );
        for name in ["said", "tip"] {
            let said = words(name);
            assert!(said.starts_with(&expected), "{width}: {said} for {expected}");
            assert!(said.contains(&format!(", compute {compute}")), "{said}");
        }
        let next = words("next");
        assert!(
            next.starts_with(&format!("camera, frame {}: ", sequence + 1)),
            "{next}"
        );
        assert_eq!(told["row"], "Tenant lidar");
        assert_eq!(told["player"], true, "{width}");
        assert_eq!(told["over"], 0, "{width}: the page is wider than the window");
        // Without script there is no player, and the drawings are there.
        browser.open(&file, screen(false));
        let still = browser.ask(without);
        assert_eq!(still["player"], false, "{width}");
        assert_eq!(
            still["drawings"],
            timeline(&page).matches("<svg").count(),
            "{width}"
        );
    }
}

#[test]
fn a_browser_opens_a_page_with_a_timeline_without_a_complaint() {
    let (page, ..) = rich_page();
    if std::env::var_os("JETLAG_BLESS").is_some() {
        // To be looked at.
        std::fs::write("target/timeline.html", &page).expect("target is writable");
    }
    // Two tenants over time, power, clocks, temperatures and energy, four of distributions, and those of the timeline.
    assert_readable(&page, 12 + timeline(&page).matches("<svg").count());
}
