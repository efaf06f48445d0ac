//! Real libraries of six releases, loaded without a GPU: what they say of their records is what the recorded layouts say.
//!
//! They take a driver to be entered at all; the driver's double is one as far as that goes. From 13.2 on CUPTI asks the driver
//! for more than the double has, and then refuses: this is seen here, too.

use cupti_dyn::{Driver, Error, Kind, Library, Search, Session, Settings, Status};
use nvidia_doubles::cupti::Release;
use nvidia_doubles::{cuda, cupti, machine};
use serde_json::Value;

/// Runs a body beside the driver's double, with a release's library.
fn with(test: &str, name: &'static str, body: impl FnOnce(&Release)) {
    let Some(release) = cupti::release(name) else {
        return;
    };
    cuda::beside(test, &cuda::Control::default().driver(13050), || body(&release));
}

/// The recorded lengths of a release, by kind: of the last of its labels.
fn recorded(release: &str) -> Option<Vec<(Kind, usize)>> {
    let path = machine::shared("cupti-abi/layouts.json")?;
    let layouts: Value = serde_json::from_slice(&std::fs::read(path).expect("read")).expect("JSON");
    let labels = layouts["labels"].as_array().expect("labels");
    let mut labels = labels.iter().filter_map(Value::as_str);
    let label = labels.rfind(|label| label.starts_with(release)).expect("a label");
    let kinds = layouts["versions"][label]["kinds"].as_object().expect("kinds");
    let length = |entry: &Value, what: &str| {
        let number = entry[what].as_u64().expect("a number");
        usize::try_from(number).expect("it fits")
    };
    let entries = kinds.values().map(|entry| {
        let kind = u32::try_from(length(entry, "value")).expect("it fits");
        (Kind(kind), length(entry, "size"))
    });
    Some(entries.collect())
}

fn lengths_are_the_recorded_ones(release: &Release) {
    let driver = Driver::open().expect("the driver's double");
    let library = Library::open(&release.library, driver).expect("a CUPTI");
    let version = library.version();
    assert_eq!(
        format!("{}.{}", version.major, version.minor.expect("a minor")),
        release.name
    );
    assert_eq!(library.path(), release.library.canonicalize().expect("a path"));
    let Some(recorded) = recorded(release.name) else {
        return;
    };
    for (kind, length) in &recorded {
        assert_eq!(library.record_length(*kind), Some(*length), "{kind} of {version}");
    }
    assert!(recorded.len() > 20);
    assert_eq!(library.record_length(Kind(9999)), None);
    assert_eq!(library.record_length(Kind(200)), None);
    // Asked again, it is remembered.
    assert_eq!(library.record_length(Kind(200)), None);
}

#[test]
fn lengths_of_11_7() {
    with("lengths_of_11_7", "11.7", lengths_are_the_recorded_ones);
}

#[test]
fn lengths_of_11_8() {
    with("lengths_of_11_8", "11.8", lengths_are_the_recorded_ones);
}

#[test]
fn lengths_of_12_4() {
    with("lengths_of_12_4", "12.4", lengths_are_the_recorded_ones);
}

#[test]
fn lengths_of_12_8() {
    with("lengths_of_12_8", "12.8", lengths_are_the_recorded_ones);
}

#[test]
fn lengths_of_13_0() {
    with("lengths_of_13_0", "13.0", lengths_are_the_recorded_ones);
}

#[test]
fn from_13_2_on_the_library_answers_beside_a_driver_of_its_liking_or_refuses_in_words() {
    let test = "from_13_2_on_the_library_answers_beside_a_driver_of_its_liking_or_refuses_in_words";
    with(test, "13.5", |release| {
        let driver = Driver::open().expect("the driver's double");
        match Library::open(&release.library, driver) {
            Ok(_) => lengths_are_the_recorded_ones(release),
            Err(error) => {
                let refused = matches!(
                    &error,
                    Error::Unusable {
                        status: Status::UNKNOWN,
                        ..
                    }
                );
                assert!(refused, "{error}");
                machine::skip(&format!(
                    "record lengths of 13.5: beside the driver's double {error}"
                ));
            }
        }
    });
}

#[test]
fn without_a_driver_nothing_is_entered() {
    match Driver::open() {
        Ok(driver) => machine::skip(&format!("there is a driver here, of CUDA {}", driver.version())),
        // A library takes a driver to be opened, so this is the end.
        Err(error) => {
            let said = error.to_string();
            assert!(
                said.contains("CUPTI is not used: libcuda.so.1: cannot open"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_wheel_is_found_in_its_environment() {
    let test = "a_wheel_is_found_in_its_environment";
    with(test, "13.0", |release| {
        let environment = release
            .library
            .ancestors()
            .find(|folder| folder.ends_with("cupti-13.0"));
        let search = Search {
            python: vec![environment.expect("the environment").to_owned()],
            loader: false,
            root: "/nonexistent".into(),
            ..Search::default()
        };
        let library = Library::find(&search, Driver::open().expect("a driver")).expect("a CUPTI");
        assert_eq!(library.path(), release.library.canonicalize().expect("a path"));
        assert!(library.nvtx_injection().is_ok());
        assert!(
            library
                .call_name(cupti_dyn::sys::Domain::DRIVER_API, 307)
                .is_none_or(|name| name == "cuLaunchKernel")
        );
    });
}

#[test]
fn a_real_library_that_cannot_trace_here_refuses_and_does_not_crash() {
    let test = "a_real_library_that_cannot_trace_here_refuses_and_does_not_crash";
    with(test, "12.4", |release| {
        let library = Library::open(&release.library, Driver::open().expect("a driver")).expect("a CUPTI");
        match Session::open(library, &Settings::default()) {
            Err(error) => assert!(error.to_string().contains("cuptiSubscribe"), "{error}"),
            Ok(mut session) => {
                let enabled = session.enable(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY]);
                if enabled.is_ok() && session.refused().is_empty() {
                    let tested = session.self_test(Kind::CONCURRENT_KERNEL, || ());
                    assert!(matches!(
                        tested,
                        Err(Error::TracesNothing { .. } | Error::Call { .. })
                    ));
                }
                session.finish(drop);
            }
        }
    });
}
