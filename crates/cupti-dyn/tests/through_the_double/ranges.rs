//! Ranges of NVTX: a module's calls become markers, by thread and domain; what fits nothing, and what no name should be.

use std::ffi::{CStr, CString};

use cupti_dyn::record::{Marker, MarkerData};
use cupti_dyn::sys::ObjectKind;
use cupti_dyn::{Kind, Record, monotonic_ns, text};
use nvidia_doubles::nvtx::Module;

use crate::scene::{ALL, Scene, over, rest};

const KINDS: [Kind; 2] = [Kind::MARKER, Kind::MARKER_DATA];

fn markers(records: &[Record]) -> Vec<&Marker> {
    let markers = records.iter().filter_map(|record| match record {
        Record::Marker(marker) => Some(marker),
        _ => None,
    });
    markers.collect()
}

fn data(records: &[Record]) -> Vec<&MarkerData> {
    let data = records.iter().filter_map(|record| match record {
        Record::MarkerData(data) => Some(data),
        _ => None,
    });
    data.collect()
}

/// Begins by their names, ends as a dash, in the order in which they came.
fn story<'a>(markers: &[&'a Marker]) -> Vec<&'a str> {
    let told = markers.iter().map(|marker| match marker.flags.is_end() {
        true => "-",
        false => marker.name.as_deref().unwrap_or("(no name)"),
    });
    told.collect()
}

fn thread() -> u32 {
    let own = std::fs::read_link("/proc/thread-self").expect("a thread");
    let name = own.file_name().expect("a number").to_string_lossy().into_owned();
    name.parse().expect("a number")
}

/// Runs a body with a module that has not looked for its tool yet, if one can be compiled here.
fn with_module(test: &str, body: impl Fn(&Scene, &Module)) {
    if Module::load().is_none() {
        return;
    }
    over(test, &ALL, |scene| {
        body(scene, &Module::load().expect("it was there a moment ago"))
    });
}

#[test]
fn pushed_ranges_nest_in_their_thread_and_domain() {
    let test = "ranges::pushed_ranges_nest_in_their_thread_and_domain";
    with_module(test, |scene, module| {
        let session = scene.session(&KINDS);
        let before = monotonic_ns();
        let domain = module.domain("stages");
        assert!(!domain.is_none());
        assert_eq!(module.push(domain, c"outer"), 0);
        assert_eq!(module.push_full(domain, c"inner", 77, 3, 0xff00_80ff), 1);
        // Each domain has its own depth, and the default one has no name.
        assert_eq!(module.push_plain(c"plain"), 0);
        assert_eq!(module.push_registered(domain, c"registered"), 2);
        let other = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert_eq!(module.push(domain, c"elsewhere"), 0);
                assert_eq!(module.pop(domain), 0);
                thread()
            });
            other.join().expect("it ran")
        });
        assert_eq!(
            [
                module.pop(domain),
                module.pop(domain),
                module.pop_plain(),
                module.pop(domain)
            ],
            [2, 1, 0, 0]
        );
        module.mark(c"a mark");
        let after = monotonic_ns();
        let (records, ended) = rest(session);
        assert!(ended.loss.is_none(), "{:?}", ended.loss.sentences());
        let found = markers(&records);
        let wanted = [
            "outer",
            "inner",
            "plain",
            "registered",
            "elsewhere",
            "-",
            "-",
            "-",
            "-",
            "-",
            "a mark",
        ];
        assert_eq!(story(&found), wanted);
        let begin = |name: &str| {
            found
                .iter()
                .find(|marker| marker.name.as_deref() == Some(name))
                .expect("a begin")
        };
        let end = |name: &str| {
            found
                .iter()
                .find(|marker| marker.flags.is_end() && marker.id == begin(name).id)
        };
        let own = [thread(), std::process::id()];
        for name in ["outer", "inner", "plain", "registered", "elsewhere"] {
            let (begin, end) = (begin(name), end(name).expect("an end"));
            let domain = (name != "plain").then_some("stages");
            let thread = if name == "elsewhere" { other } else { own[0] };
            for marker in [begin, end] {
                assert_eq!(marker.domain.as_deref(), domain, "{name}");
                assert_eq!(marker.object, ObjectKind::THREAD);
                assert_eq!(
                    [marker.object_second, marker.object_first],
                    [thread, own[1]],
                    "{name}"
                );
            }
            assert!(before <= begin.timestamp && begin.timestamp <= end.timestamp && end.timestamp <= after);
            assert_eq!(end.name, None);
        }
        assert!(begin("outer").timestamp <= begin("inner").timestamp);
        assert!(end("inner").expect("an end").timestamp <= end("outer").expect("an end").timestamp);
        assert!(found.last().expect("the mark").flags.is_mark());
        let inner = data(&records)
            .into_iter()
            .find(|data| data.id == begin("inner").id)
            .expect("numbers");
        // 2: ARGB; 1: an unsigned payload.
        assert_eq!((inner.flags, inner.colour, inner.category), (2, 0xff00_80ff, 3));
        assert_eq!((inner.payload_kind, inner.payload), (1, 77));
        assert_eq!(scene.control.ask("unbalanced"), 0);
    });
}

#[test]
fn started_ranges_end_by_their_number_in_any_thread() {
    let test = "ranges::started_ranges_end_by_their_number_in_any_thread";
    with_module(test, |scene, module| {
        let session = scene.session(&KINDS);
        let domain = module.domain("frames");
        let ranges = [c"first", c"second"].map(|name| module.start(domain, name));
        std::thread::scope(|scope| {
            scope.spawn(|| ranges.map(|range| module.end(domain, range)));
        });
        let (records, _) = rest(session);
        let found = markers(&records);
        assert_eq!(story(&found), ["first", "second", "-", "-"]);
        assert_eq!([found[0].id, found[1].id], [found[2].id, found[3].id]);
        assert_ne!(found[0].id, found[1].id);
    });
}

#[test]
fn each_module_finds_the_tool_by_itself_and_domains_of_one_name_are_one() {
    let test = "ranges::each_module_finds_the_tool_by_itself_and_domains_of_one_name_are_one";
    with_module(test, |scene, module| {
        let session = scene.session(&KINDS);
        assert_eq!(scene.control.ask("nvtx_modules"), 0, "nobody has called yet");
        let second = Module::load().expect("it was there a moment ago");
        let domains = [module, &second].map(|module| module.domain("shared"));
        assert_eq!(scene.control.ask("nvtx_modules"), 2);
        assert_eq!(domains[0], domains[1]);
        assert_eq!(
            (
                module.push(domains[0], c"of one"),
                second.push(domains[1], c"of the other")
            ),
            (0, 1)
        );
        assert_eq!((second.pop(domains[1]), module.pop(domains[0])), (1, 0));
        let (records, _) = rest(session);
        assert_eq!(story(&markers(&records)), ["of one", "of the other", "-", "-"]);
    });
}

#[test]
fn an_end_that_fits_no_begin_gives_no_record_and_harms_none() {
    let test = "ranges::an_end_that_fits_no_begin_gives_no_record_and_harms_none";
    with_module(test, |scene, module| {
        let session = scene.session(&KINDS);
        let domain = module.domain("stages");
        assert!(module.pop(domain) < 0);
        module.push(domain, c"right");
        // Pushed ranges are a thread's own.
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(module.pop(domain) < 0));
        });
        assert!(module.pop_plain() < 0);
        module.end(domain, 4711);
        assert_eq!(module.pop(domain), 0);
        assert!(module.pop(domain) < 0);
        let (records, ended) = rest(session);
        assert_eq!(story(&markers(&records)), ["right", "-"]);
        assert_eq!(scene.control.ask("unbalanced"), 5);
        assert!(ended.loss.is_none());
    });
}

#[test]
fn a_range_that_the_trace_cuts_through_has_one_end_alone() {
    let test = "ranges::a_range_that_the_trace_cuts_through_has_one_end_alone";
    with_module(test, |scene, module| {
        let domain = module.domain("stages");
        module.push(domain, c"before");
        module.push(domain, c"also before");
        let session = scene.session(&KINDS);
        module.pop(domain);
        module.push(domain, c"after");
        let (records, _) = rest(session);
        assert_eq!((module.pop(domain), module.pop(domain)), (1, 0));
        let found = markers(&records);
        assert_eq!(story(&found), ["-", "after"]);
        assert_ne!(found[0].id, found[1].id);
    });
}

#[test]
fn numbers_come_only_with_their_ranges() {
    with_module("ranges::numbers_come_only_with_their_ranges", |scene, module| {
        let session = scene.session(&[Kind::MARKER_DATA]);
        let domain = module.domain("stages");
        module.push_full(domain, c"a range", 1, 2, 3);
        module.pop(domain);
        let (records, _) = rest(session);
        assert!(records.is_empty(), "{records:?}");
    });
}

#[test]
fn names_that_are_long_or_no_utf_8_are_cut_and_mended_and_counted() {
    let test = "ranges::names_that_are_long_or_no_utf_8_are_cut_and_mended_and_counted";
    with_module(test, |scene, module| {
        let session = scene.session(&KINDS);
        let domain = module.domain("names");
        let long = CString::new("n".repeat(100 << 10)).expect("no NUL");
        let broken = c"caf\xe9";
        let names: [&CStr; 3] = [&long, broken, c""];
        for name in names {
            module.push(domain, name);
            module.pop(domain);
        }
        assert_eq!(module.push_wide("Größe 図 🚗"), 0);
        module.pop_plain();
        let (records, ended) = rest(session);
        let found = markers(&records);
        let story = story(&found);
        let cut = format!("{}…", "n".repeat(text::MOST_BYTES));
        assert_eq!(story[0], cut);
        assert_eq!(story[2], "caf\u{fffd}");
        assert_eq!([story[4], story[6]], ["", "Größe 図 🚗"]);
        assert_eq!((ended.loss.cut_names, ended.loss.names_not_utf8), (1, 1));
    });
}

#[test]
fn a_library_that_refuses_gets_no_range_and_the_program_goes_on() {
    let test = "ranges::a_library_that_refuses_gets_no_range_and_the_program_goes_on";
    with_module(test, |scene, module| {
        scene.control.tell("deaf", 1);
        let session = scene.session(&[Kind::MARKER, Kind::CONCURRENT_KERNEL]);
        let domain = module.domain("stages");
        assert!(domain.is_none());
        assert!(module.push(domain, c"unheard") < 0);
        scene.kernels(1);
        assert!(module.pop(domain) < 0);
        // It looked once; what comes later changes nothing.
        scene.control.tell("deaf", 0);
        assert!(module.push(domain, c"unheard") < 0);
        let (records, ended) = rest(session);
        assert!(matches!(records.as_slice(), [Record::Kernel(_)]), "{records:?}");
        assert!(ended.loss.is_none());
        // Another module looks for itself.
        let second = Module::load().expect("it was there a moment ago");
        assert!(!second.domain("stages").is_none());
    });
}
