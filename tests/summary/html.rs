//! The page of a run: whole, self-contained, and without fault in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag::analysis::Summary;
use jetlag::analysis::summary::interference::{Contrast, Effect, Point, Sensitivity};
use jetlag::analysis::summary::{Estimate, Slowdown};
use jetlag::record::{
    Covariance, Device, Event, Manifest, Measurand, NodeRecord, Outcome, Phase, RailRole, SampleRecord,
    SignalRecord, Stage,
};
use jetlag::report::html::{self, Reported};
use jetlag::units::Nanos;
use nvidia_doubles::machine::missing;

use crate::common::browser::{Browser, View};
use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, START};
use crate::summary::power;

/// The demo with power, clocks, layers, misses, drops and a stall: everything that a page can show.
pub(crate) fn rich() -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest
        .machine
        .insert("board".to_owned(), "Orin NX 16GB <made up>".to_owned());
    manifest.plan().baseline.idle = Some(Nanos::from_secs(4));
    let lines = [
        power::line("ina3221", "VDD_IN", RailRole::Total, power::module),
        power::line("ina3221", "VDD_CPU_GPU_CV", RailRole::Part, |t| {
            Some(5_000.0 + 900.0 * (t * 0.7).sin())
        }),
    ];
    events.extend(power::record(&lines, 70));
    for (signal, unit) in [("gpu_frequency", "mhz"), ("gpu", "c")] {
        events.push(Event::Signal(SignalRecord {
            source: "gpu".to_owned(),
            signal: signal.to_owned(),
            unit: unit.to_owned(),
            measurand: Measurand::of_names("gpu", signal, unit),
            ..SignalRecord::default()
        }));
        for i in 0..700 {
            let value = match unit {
                "mhz" if (300..340).contains(&i) => 612.0,
                "mhz" => 918.0,
                _ => 52.0 + (i as f64 / 90.0).sin(),
            };
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100 * i),
                source: "gpu".to_owned(),
                signal: signal.to_owned(),
                value: Some(value),
                unit: unit.to_owned(),
            }));
        }
    }
    for event in &mut events {
        let Event::Frame(frame) = event else { continue };
        if frame.phase != Phase::Together || frame.tenant > 1 {
            continue;
        }
        if frame.tenant == 1 {
            frame.input_size = 28_000 + (frame.sequence * 7_919 % 5_003) as u32;
        }
        if frame.tenant == 1 && frame.sequence % 90 == 40 {
            frame.outcome = Outcome::Dropped;
        }
        let slow = frame.tenant == 0 && (900..=1019).contains(&frame.sequence) && frame.sequence % 7 == 0;
        if slow {
            let more = Nanos::from_millis(120);
            frame.finished = frame.finished + more;
            let compute = &mut frame.stages[Stage::Compute as usize];
            *compute = compute.map(|compute| compute + more);
        }
    }
    for layer in 0..30 {
        events.push(Event::Node(NodeRecord {
            tenant: 0,
            phase: Phase::Together,
            name: format!("/backbone/stage.{layer}/conv/Conv"),
            operator: ["Conv", "Conv+Relu", "Resize"][layer % 3].to_owned(),
            count: 2100,
            mean: Nanos::from_micros(900 - 20 * layer as i64),
            max: Nanos::from_micros(2_000),
            with_response: Some(Covariance {
                variance: if layer == 4 { 4e12 } else { 1e10 },
                response_variance: 9e12,
                covariance: if layer == 4 { 5e12 } else { 2e10 },
            }),
        }));
    }
    (manifest, events)
}

/// The same, as if its tenants had run beside stressors and with inputs crossed.
fn rich_page() -> String {
    let (mut manifest, events) = rich();
    for tenant in &mut manifest.tenants {
        tenant.device = Some(Device::Gpu(0));
    }
    let mut summary = made_up::summarize(&manifest, &events);
    let slowdown = |p50: f64| Slowdown {
        p50: Estimate::between(p50, [p50 - 0.03, p50 + 0.04]),
        p90: Estimate::between(p50 * 1.1, [p50, p50 * 1.3]),
        p99: match p50 < 2.5 {
            true => Estimate::between(p50 * 1.2, [p50, p50 * 1.5]),
            false => Estimate::default(),
        },
        rounds: 8,
        alone_count: 700,
        ..Slowdown::default()
    };
    for (tenant, resource, slope) in [
        ("camera", "sm", 1.9),
        ("camera", "dram", 0.2),
        ("lidar", "sm", 0.6),
        ("lidar", "dram", 0.9),
    ] {
        let points = [0.25, 0.5, 1.0].map(|level| Point {
            stressor: format!("{resource}-{level}"),
            level,
            slowdown: Some(slowdown(1.0 + slope * level)),
        });
        summary.interference.sensitivity.push(Sensitivity {
            sharing: "Streams".to_owned(),
            tenant: tenant.to_owned(),
            resource: resource.to_owned(),
            points: points.to_vec(),
        });
    }
    let effect = |value: f64| Effect {
        value,
        ci95: [value - 0.2, value + 0.2],
        found: value.abs() > 0.3,
    };
    for measure in ["p50_ms", "p99_ms", "relative_spread"] {
        summary.interference.crossed.push(Contrast {
            sharing: "Streams".to_owned(),
            tenant: ["camera", "camera-crowded"].map(str::to_owned),
            with: ["lidar", "lidar-dense"].map(str::to_owned),
            measure,
            base: 12.5,
            own: effect(1.75),
            co_runner: effect(-0.1),
            interaction: effect(0.35),
        });
    }
    written(manifest, summary)
}

fn page(manifest: &Manifest, events: &[Event]) -> String {
    written(manifest.clone(), made_up::summarize(manifest, events))
}

pub(crate) fn written(manifest: Manifest, summary: Summary) -> String {
    let reported = Reported {
        manifest,
        summary,
        roofline: None,
    };
    let mut out = Vec::new();
    html::write(&[reported], None, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

pub(crate) fn assert_self_contained(page: &str) {
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "the page refers to {foreign}");
    }
    let links = page.split("href=\"").skip(1);
    assert!(
        links.into_iter().all(|link| link.starts_with('#')),
        "a link leads away"
    );
}

#[test]
fn a_page_has_every_section_in_order_and_needs_nothing_else() {
    let page = rich_page();
    if std::env::var_os("JETLAG_BLESS").is_some() {
        // To be looked at.
        std::fs::write("target/report.html", &page).expect("target is writable");
    }
    assert_self_contained(&page);
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    let sections = [
        "Over time",
        "Response time",
        "Expectations",
        "Distribution",
        "Where the time goes",
        "Slowest frames",
        "Slowdown",
        "Sensitivity",
        "Inputs",
        "Power",
        "Energy",
        "Time per layer",
        "What ran where",
    ];
    let places: Vec<usize> = sections
        .iter()
        .map(|title| {
            page.find(&format!("<h2>{title}</h2>"))
                .unwrap_or_else(|| panic!("{title} is not there"))
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    let (first, _) = page.split_once("<h2>Over time</h2>").expect("a section");
    for title in sections {
        assert!(
            first.contains(&format!("\">{title}</a></li>")),
            "{title} is not among the contents"
        );
    }
    // Each finding stands once, beside what it touches.
    let power = &page[page.find("<h2>Power").expect("a section")..];
    let power = &power[..power.find("<h2>Energy").expect("the next")];
    assert_eq!(page.matches("<h3>clocks-moved").count(), 1);
    assert!(power.contains("<h3>clocks-moved"), "{power}");
    assert!(first.contains(">clocks-moved</a>"), "the headline links to it");
    // Two tenants over time, power, clocks, temperatures and energy, each for two widths; two of input sizes, four of distributions.
    assert_eq!(page.matches("<svg").count(), 2 * 6 + 2 + 4);
    assert_eq!(
        page.matches("<svg").count(),
        page.matches("role=\"img\" aria-label=\"").count()
    );
    assert!(page.contains("Orin NX 16GB &#60;made up&#62;"), "text is escaped");
    // Four rows of three levels, of median and p99.
    let sensitivity = &page[page.find("<h2>Sensitivity").expect("a section")..];
    let sensitivity = &sensitivity[..sensitivity.find("<h2>Inputs").expect("the next")];
    assert_eq!(sensitivity.matches("heat\"").count(), 2 * 4 * 3);
}

#[test]
fn a_run_of_which_little_is_known_says_so() {
    let manifest = made_up::manifest(10, vec![made_up::tenant("camera", 30.0, 33.0)]);
    let page = page(&manifest, &[]);
    assert_self_contained(&page);
    assert!(!page.contains("<h2>Power"), "what can say nothing is absent");
    assert!(!page.contains("<svg"), "nothing to be drawn");
}

#[test]
fn of_three_hundred_thousand_frames_the_page_is_small_and_every_spike_is_on_it() {
    let spikes: Vec<u64> = (0..40).map(|n| 3_000 + n * 7_001).collect();
    let mut events: Vec<Event> = (0..300_000u64)
        .map(|i| {
            let slow = if spikes.contains(&i) {
                300_000 + i as i64 / 10
            } else {
                0
            };
            let service = Nanos::from_micros(9_000 + (i as i64 * 7_919) % 1_500 + slow);
            Event::Frame(made_up::frame(
                i,
                Nanos::from_millis(33 * i as i64),
                Nanos::ZERO,
                service,
            ))
        })
        .collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 9_900)));
    let manifest = made_up::manifest(9_900, vec![made_up::tenant("camera", 30.0, 33.0)]);
    let summary = made_up::summarize(&manifest, &events);
    let slices = &summary.plots.tenants[0].over_time;
    for spike in &spikes {
        let at_s = 33e-3 * *spike as f64;
        let ms = 9.0 + ((*spike * 7_919) % 1_500) as f64 / 1e3 + 300.0 + *spike as f64 / 1e4;
        let slice = slices
            .iter()
            .find(|slice| slice.from_s <= at_s && at_s < slice.to_s)
            .expect("a slice");
        let high = slice.response_ms.expect("frames").high;
        assert!((high - ms).abs() < 0.11, "{spike}: {high} for {ms}");
    }
    let highest = slices
        .iter()
        .filter_map(|slice| slice.response_ms)
        .map(|r| r.high)
        .fold(0.0, f64::max);
    assert_eq!(Some(highest), summary.tenants[0].response_ms.max);
    let page = page(&manifest, &events);
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
    println!("{} bytes", page.len());
}

/// A browser, where one is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        missing(&["JETLAG_REQUIRE_BROWSER"], "no chromium was found in PATH");
    }
    found
}

/// What a page is found to be, at the width that it has: how many charts are drawn, by how much it is too wide, what is cut or
/// scrolls sideways, which heading has nothing below it, which link leads nowhere, and the lowest contrast of a text with what is
/// behind it (WCAG 2.2, 1.4.3).
const PROBE: &str = "(function(){var d=document,all=function(what){return [].slice.call(d.querySelectorAll(what))},\
     numbers=function(c){var n=(c.match(/[\\d.]+/g)||[0,0,0,0]).map(Number),whole=c.startsWith('color(')?255:1;\
     return n.map(function(x,i){return i<3?x*whole:x}).concat(n.length<4?1:[])},\
     over=function(a,b){return [0,1,2].map(function(i){return a[i]*a[3]+b[i]*(1-a[3])})},\
     light=function(c){var v=c.map(function(x){x/=255;return x<=.04045?x/12.92:Math.pow((x+.055)/1.055,2.4)});\
     return .2126*v[0]+.7152*v[1]+.0722*v[2]},\
     behind=function(e){return e?over(numbers(getComputedStyle(e).backgroundColor),behind(e.parentElement)):[255,255,255]},\
     said=function(e){return e.tagName+'.'+e.getAttribute('class')+' '+e.textContent.trim().slice(0,60)},\
     contents=d.querySelector('.toc details'),folded=!contents.open,worst=[99,''],cut=[];\
     contents.open=true;\
     all('body *').forEach(function(e){var box=e.getBoundingClientRect(),s=getComputedStyle(e);\
     if(!box.width||e.closest('thead')&&s.display=='block'||getComputedStyle(e.closest('thead')||e).clipPath!='none')return;\
     if(s.overflowX!='visible'&&!e.closest('svg')&&e.scrollWidth>e.clientWidth+1)cut.push(said(e));\
     if(![].some.call(e.childNodes,function(n){return n.nodeType==3&&n.data.trim()}))return;\
     if(e.tagName!='title'&&(box.left<-1||box.right>d.documentElement.clientWidth+1))cut.push(said(e));\
     var back=behind(e),ink=numbers(e.closest('svg')?s.fill:s.color),\
     two=[light(over(ink,back)),light(back)].sort(function(a,b){return a-b}),ratio=(two[1]+.05)/(two[0]+.05);\
     if(ratio<worst[0])worst=[ratio,said(e)]});\
     contents.open=!folded;\
     return {charts:all('svg').filter(function(s){var b=s.getBoundingClientRect();\
     return b.width>200&&b.height>50&&s.querySelectorAll('polyline,rect,polygon').length>3}).length,\
     over:d.documentElement.scrollWidth-d.documentElement.clientWidth,cut:cut.join(' | '),\
     empty:all('h1,h2,h3').filter(function(h){var copy=h.closest('section,article,header').cloneNode(true);\
     [].forEach.call(copy.querySelectorAll('h1,h2,h3'),function(x){x.remove()});\
     return !h.textContent.trim()||!copy.textContent.trim()&&!copy.querySelector('svg')}).map(said).join(' | '),\
     lost:all('a[href]').filter(function(a){return !d.getElementById(a.getAttribute('href').slice(1))}).map(said).join(' | '),\
     tip:!!d.getElementById('tip'),paper:Math.round(100*light(behind(d.body))),folded:folded,\
     controls:all('a[href],button,input,select,summary').filter(function(e){return e.getClientRects().length>0}).length,\
     contrast:worst[0],faintest:worst[1]}})()";

/// What has the focus: what it is, and its place among all that the keyboard should reach.
const FOCUSED: &str = "(function(){var e=document.activeElement,all=[].slice.call(document.querySelectorAll(\
     'a[href],button,input,select,summary')).filter(function(e){return e.getClientRects().length>0});\
     return [e?e.tagName:'',all.indexOf(e),all.length]})()";

#[test]
fn a_browser_opens_the_page_without_a_complaint_and_shows_every_chart_readably() {
    // Of each pair of widths one is shown: six charts; there are two of input sizes and four of distributions.
    assert_readable(&rich_page(), 12);
}

/// Opens a page in a browser, where there is one, wide and narrow, light and dark, with its script and without, and on paper: no
/// complaint, so many charts, nothing beyond the window's edge or cut, no faint text, no heading of nothing, and no link to nowhere.
/// Then reaches everything by keyboard alone.
pub(crate) fn assert_readable(page: &str, charts: usize) {
    let Some(program) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let written = folder.path().join("page.html");
    std::fs::write(&written, page).expect("the page is written");
    let mut browser = Browser::start(&program);
    let screens = [1400, 420].into_iter().flat_map(|width| {
        [(false, true), (true, true), (false, false), (true, false)].map(|(dark, script)| View {
            width,
            dark,
            script,
            paper: false,
        })
    });
    // A4 at 96 dots an inch less its margins; the system's scheme is no matter there.
    let paper = [false, true].map(|dark| View {
        width: 718,
        dark,
        script: true,
        paper: true,
    });
    for view in screens.chain(paper) {
        let logged = browser.open(&written, view);
        assert!(logged.is_empty(), "{view:?}: {logged:?}");
        let found = browser.ask(PROBE);
        assert_eq!(found["charts"], charts, "{view:?}");
        assert_eq!(found["over"], 0, "{view:?}: the page is wider than the window");
        assert_eq!(found["cut"], "", "{view:?}: cut, or scrolls sideways");
        assert_eq!(found["empty"], "", "{view:?}: headings without content");
        assert_eq!(found["lost"], "", "{view:?}: links to nowhere");
        assert_eq!(found["tip"], view.script, "{view:?}: whether the script ran");
        assert_eq!(
            found["folded"],
            !(view.script && view.width >= 1240),
            "{view:?}: the contents"
        );
        let lightness = found["paper"].as_u64().expect("a number");
        let is_dark = view.dark && !view.paper;
        assert_eq!(
            lightness < 50,
            is_dark,
            "{view:?}: {lightness} %, the other scheme"
        );
        let contrast = found["contrast"].as_f64().expect("a number");
        assert!(contrast >= 4.5, "{view:?}: {contrast} of {}", found["faintest"]);
        if view.paper {
            assert_eq!(
                found["controls"].as_u64(),
                Some(visible_links(&mut browser)),
                "{view:?}: no controls"
            );
        }
    }
    assert_reached_by_keyboard(&mut browser, &written);
}

/// The links of a page outside its contents: what may stay of its controls on paper.
fn visible_links(browser: &mut Browser) -> u64 {
    let outside = browser.ask("document.querySelectorAll('main a[href]').length");
    outside.as_u64().expect("a number")
}

/// From the first press of Tab on the contents, which Enter opens, then everything else in its order.
fn assert_reached_by_keyboard(browser: &mut Browser, page: &Path) {
    let view = View {
        width: 420,
        dark: false,
        script: true,
        paper: false,
    };
    browser.open(page, view);
    browser.press("Tab");
    assert_eq!(
        browser.ask(FOCUSED)[0],
        "SUMMARY",
        "Tab reaches the contents first"
    );
    browser.press("Enter");
    assert_eq!(browser.ask("document.querySelector('.toc details').open"), true);
    let all = browser.ask(FOCUSED)[2].as_u64().expect("a number");
    assert!(all > 3, "{all} links and controls");
    for place in 1..all {
        browser.press("Tab");
        let focused = browser.ask(FOCUSED);
        assert_eq!(focused[1], place, "{focused} of {all}");
    }
}

#[test]
fn a_simulated_run_becomes_a_page_and_two_are_compared_on_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let jetlag = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
            .args(args)
            .current_dir(folder.path())
            .output()
            .expect("jetlag starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{said}");
        (output.status.code(), said)
    };
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/matrix.ron");
    for (file, seed) in [("a.mcap", "seed=5"), ("b.mcap", "seed=6")] {
        let (code, said) = jetlag(&["run", scenario, "--quiet", "--out", file, "--set", seed]);
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) = jetlag(&["report", "a.mcap", "b.mcap", "--html", "both.html"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("both.html"), "{said}");
    let page = std::fs::read_to_string(folder.path().join("both.html")).expect("the page");
    assert_self_contained(&page);
    for part in [
        "<h2>Comparison</h2>",
        "with lidar",
        "with all",
        "id=\"run1-time\"",
        "id=\"run2-time\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Three tenants beside two others and all, median, p90 and p99, in each of two runs.
    assert_eq!(page.matches("heat\"").count(), 2 * 3 * 9);
    assert!(page.contains("camera with all others, median, by round") && page.contains("<title>round 2: ×"));
    let (code, said) = jetlag(&["report", "absent.mcap", "--html", "x.html"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("Name a run file") && !folder.path().join("x.html").exists());
    let (code, said) = jetlag(&["report", "a.mcap", "--html", "no/such/folder/x.html"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot write no/such/folder/x.html"), "{said}");
    let (code, _) = jetlag(&["report", "a.mcap", "b.mcap", "--layers"]);
    assert_eq!(code, Some(0));
}
