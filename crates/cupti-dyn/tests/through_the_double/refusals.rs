//! What is not to be had, in words: another tool, no rights, kinds, a library that traces nothing.

use std::path::PathBuf;

use cupti_dyn::{Error, Kind, Platform, Session, Settings, Status};

use crate::scene::{ALL, activity, desktop, over, rest};

fn open(scene: &crate::scene::Scene, platform: &Platform) -> Result<Session, Error> {
    Session::open_on(scene.library, &Settings::default(), platform)
}

#[test]
fn another_tool_that_holds_cupti_is_told_and_named_where_the_release_names_it() {
    let test = "refusals::another_tool_that_holds_cupti_is_told_and_named_where_the_release_names_it";
    over(test, &ALL, |scene| {
        scene.control.tell("held", 1);
        let said = open(scene, &desktop()).expect_err("it is held").to_string();
        let named = "another tool holds CUPTI (Nsight Systems): only one";
        let unnamed = "another tool holds CUPTI: only one";
        assert!(
            said.starts_with(if scene.is_from(13, 0) { named } else { unnamed }),
            "{said}"
        );
        // Once it is gone, there is a place.
        scene.control.tell("held", 0);
        rest(open(scene, &desktop()).expect("a trace"));
    });
}

#[test]
fn no_rights_are_told_with_what_would_give_them() {
    over(
        "refusals::no_rights_are_told_with_what_would_give_them",
        &ALL,
        |scene| {
            scene.control.tell("subscribe", 35);
            let said = open(scene, &desktop()).expect_err("refused").to_string();
            assert!(
                said.contains("answers 35 (INSUFFICIENT_PRIVILEGES); run it as root"),
                "{said}"
            );
            scene.control.tell("subscribe", 4242);
            let said = open(scene, &desktop()).expect_err("refused").to_string();
            assert!(
                said.contains("answers 4242 (a status that this build does not know)"),
                "{said}"
            );
            scene.control.tell("subscribe", 0);
            rest(open(scene, &desktop()).expect("a trace"));
        },
    );
}

#[test]
fn on_a_jetson_without_rights_cupti_is_not_entered() {
    over(
        "refusals::on_a_jetson_without_rights_cupti_is_not_entered",
        &ALL,
        |scene| {
            // It would end the process.
            scene.control.tell("crash", 1);
            let jetson = Platform {
                is_tegra: true,
                is_root: false,
                in_container: false,
                nodes: vec![(PathBuf::from("/dev/nvgpu/igpu0/prof"), false)],
            };
            let error = open(scene, &jetson).expect_err("refused");
            assert!(matches!(error, Error::NoRights(_)), "{error}");
            let said = error.to_string();
            let part = if scene.is_from(13, 0) {
                "/dev/nvgpu/igpu0/prof"
            } else {
                "lets only root trace"
            };
            assert!(said.contains(part), "{said}");
            scene.control.tell("crash", 0);
            let open_nodes = Platform {
                is_root: true,
                nodes: vec![("/dev/x".into(), true)],
                ..jetson
            };
            rest(open(scene, &open_nodes).expect("a trace"));
        },
    );
}

#[test]
fn kinds_that_cannot_be_had_are_noted_and_the_others_come() {
    over(
        "refusals::kinds_that_cannot_be_had_are_noted_and_the_others_come",
        &ALL,
        |scene| {
            let refusals = [
                (Kind::MEMCPY, Status::NOT_COMPATIBLE),
                (Kind::MEMSET, Status::INVALID_KIND),
                (Kind::SYNCHRONIZATION, Status::NOT_SUPPORTED),
                (Kind::ENVIRONMENT, Status::INSUFFICIENT_PRIVILEGES),
            ];
            for (kind, status) in refusals {
                scene.control.tell_of("refuse", kind.0, status.0);
            }
            let kinds = [Kind::CONCURRENT_KERNEL]
                .into_iter()
                .chain(refusals.map(|(kind, _)| kind));
            let session = scene.session(&kinds.collect::<Vec<_>>());
            assert_eq!(session.enabled(), [Kind::CONCURRENT_KERNEL]);
            let said: Vec<String> = session.refused().iter().map(ToString::to_string).collect();
            assert_eq!(said[0], "MEMCPY: CUPTI answers 14 (NOT_COMPATIBLE)");
            assert_eq!(said.len(), 4);
            scene.kernels(2);
            let (records, ended) = rest(session);
            assert_eq!((records.len(), ended.refused.len()), (2, 4));
        },
    );
}

#[test]
fn a_kind_that_fails_otherwise_is_an_error() {
    over(
        "refusals::a_kind_that_fails_otherwise_is_an_error",
        &ALL,
        |scene| {
            scene
                .control
                .tell_of("refuse", Kind::MEMCPY.0, Status::OUT_OF_MEMORY.0);
            let mut session = open(scene, &desktop()).expect("a trace");
            let error = session.enable(&[Kind::MEMCPY]).expect_err("memory is full");
            assert!(
                error.to_string().contains("cuptiActivityEnable of CUPTI of CUDA"),
                "{error}"
            );
            assert!(
                error.to_string().ends_with("8 (OUT_OF_MEMORY); memory is full"),
                "{error}"
            );
        },
    );
}

#[test]
fn kinds_that_nobody_reads_are_not_switched_on() {
    over(
        "refusals::kinds_that_nobody_reads_are_not_switched_on",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::NVLINK, Kind(4711), Kind::COMPUTE_ENGINE_CTX_SWITCH]);
            assert!(session.enabled().is_empty());
            let said: Vec<String> = session.refused().iter().map(ToString::to_string).collect();
            let wanted = [
                "NVLINK: this build does not read records of this kind",
                "kind 4711: this build does not read records of this kind",
                "COMPUTE_ENGINE_CTX_SWITCH: this release has no such kind",
            ];
            assert_eq!(said, wanted);
        },
    );
}

#[test]
fn a_setting_that_is_refused_is_noted_and_the_trace_goes_on() {
    over(
        "refusals::a_setting_that_is_refused_is_noted_and_the_trace_goes_on",
        &ALL,
        |scene| {
            scene.control.tell("set_thread", 1);
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            let said = session.refused()[0].to_string();
            assert_eq!(
                said,
                "thread numbers as Linux has them: CUPTI answers 1 (INVALID_PARAMETER)"
            );
            scene.kernels(1);
            assert_eq!(rest(session).0.len(), 1);
        },
    );
}

#[test]
fn the_self_test_passes_where_the_record_comes_and_leaves_nothing_behind() {
    over(
        "refusals::the_self_test_passes_where_the_record_comes_and_leaves_nothing_behind",
        &ALL,
        |scene| {
            let mut session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::RUNTIME]);
            let tested = session.self_test(Kind::CONCURRENT_KERNEL, || {
                scene.control.emit(&activity(Kind::RUNTIME, 1, 2), b"", None);
                scene.kernel("known", 3, 4);
            });
            tested.expect("it traces");
            scene.kernel("first", 5, 6);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 1);
            assert_eq!(ended.loss.counts.records, 1);
        },
    );
}

#[test]
fn a_library_that_traces_nothing_is_refused_in_words() {
    over(
        "refusals::a_library_that_traces_nothing_is_refused_in_words",
        &ALL,
        |scene| {
            let mut session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::RUNTIME]);
            // Calls come, and kernels do not, as in 12.4 Update 1.
            let tested = session.self_test(Kind::CONCURRENT_KERNEL, || {
                scene.control.emit(&activity(Kind::RUNTIME, 1, 2), b"", None);
            });
            let said = tested.expect_err("nothing came").to_string();
            assert!(
                said.contains(
                    "no record of CONCURRENT_KERNEL came (1 other records, 0 dropped); another release"
                ),
                "{said}"
            );
            scene.control.tell("nothing", 1);
            let tested = session.self_test(Kind::CONCURRENT_KERNEL, || scene.kernels(1));
            assert!(
                matches!(tested, Err(Error::TracesNothing { seen: 0, .. })),
                "{tested:?}"
            );
        },
    );
}

#[test]
fn a_library_that_stops_delivering_is_told() {
    over(
        "refusals::a_library_that_stops_delivering_is_told",
        &ALL,
        |scene| {
            let mut session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.control.tell("keep", 1);
            let tested = session.self_test(Kind::CONCURRENT_KERNEL, || scene.kernels(1));
            assert!(matches!(tested, Err(Error::TracesNothing { .. })), "{tested:?}");
            let (records, ended) = rest(session);
            assert!(records.is_empty());
            let said = ended.loss.sentences().join("\n");
            assert!(
                said.contains("CUPTI has 1 buffers and gave none back: it delivers nothing"),
                "{said}"
            );
        },
    );
}
