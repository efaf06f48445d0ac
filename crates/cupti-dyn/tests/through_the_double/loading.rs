//! Finding and loading: the one of the driver's major, another major, two of them, something else, the loader's own.

use std::path::Path;

use cupti_dyn::{Driver, Error, Library, Search};
use nvidia_doubles::cuda;

use crate::scene::{ALL, double, over};

/// Runs a body beside a driver of this version.
fn beside(test: &str, driver: i32, body: impl FnOnce(Driver)) {
    let control = cuda::Control::default().driver(driver);
    cuda::beside(test, &control, || {
        body(Driver::open().expect("the driver's double"))
    });
}

fn nowhere() -> Search {
    Search {
        root: "/nonexistent".into(),
        python: Vec::new(),
        loader: false,
        ..Search::default()
    }
}

fn named(path: &Path) -> Search {
    Search {
        explicit: Some(("--cupti".into(), path.to_owned())),
        ..nowhere()
    }
}

/// A folder like `/` with these doubles as the toolkits of their releases.
fn toolkits(releases: &[&str]) -> Option<tempfile::TempDir> {
    let root = tempfile::tempdir().expect("a folder");
    for release in releases {
        let double = double(release)?;
        let folder = root
            .path()
            .join(format!("usr/local/cuda-{release}/extras/CUPTI/lib64"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let name = double.library.file_name().expect("a name");
        std::fs::copy(&double.library, folder.join(name)).expect("copied");
    }
    Some(root)
}

#[test]
fn the_one_of_the_drivers_major_is_taken_among_several() {
    let test = "loading::the_one_of_the_drivers_major_is_taken_among_several";
    let Some(root) = toolkits(&ALL) else { return };
    for (driver, wanted) in [(12040, "cuda-12.4"), (13000, "cuda-13.5"), (11040, "cuda-11.7")] {
        // Each in a process of its own, with the one that this turn asks for.
        if std::env::var_os("CUPTI_DRIVER").is_some_and(|asked| asked != driver.to_string().as_str()) {
            continue;
        }
        let control = cuda::Control::default()
            .driver(driver)
            .variable("CUPTI_DRIVER", driver.to_string());
        cuda::beside(test, &control, || {
            let search = Search {
                root: root.path().to_owned(),
                ..nowhere()
            };
            let driver = Driver::open().expect("the driver's double");
            let library = Library::find(&search, driver).expect("found");
            assert!(
                library.path().to_string_lossy().contains(wanted),
                "{}",
                library.path().display()
            );
            assert_eq!(library.version().major, driver.major());
        });
    }
}

#[test]
fn only_another_major_is_there() {
    let Some(root) = toolkits(&["12.4"]) else { return };
    beside("loading::only_another_major_is_there", 13000, |driver| {
        let search = Search {
            root: root.path().to_owned(),
            ..nowhere()
        };
        let said = Library::find(&search, driver).expect_err("none").to_string();
        for part in [
            "no CUPTI of CUDA 13",
            "libcupti.so.12 (of CUDA 12)",
            "pip install nvidia-cuda-cupti",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        // A program of CUDA 12 on this driver may use it.
        let search = Search {
            major: Some(12),
            ..search
        };
        assert_eq!(Library::find(&search, driver).expect("found").version().major, 12);
    });
}

#[test]
fn a_name_that_tells_no_major_is_looked_into_and_left_again() {
    let Some(double) = double("12.4") else { return };
    beside(
        "loading::a_name_that_tells_no_major_is_looked_into_and_left_again",
        13000,
        |driver| {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().join("usr/local/cuda/extras/CUPTI/lib64");
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::copy(&double.library, folder.join("libcupti.so")).expect("copied");
            let search = Search {
                root: root.path().to_owned(),
                ..nowhere()
            };
            let said = Library::find(&search, driver)
                .expect_err("another major")
                .to_string();
            assert!(
                said.contains("libcupti.so is of CUDA 12, and CUDA 13 is wanted, as the driver has it"),
                "{said}"
            );
        },
    );
}

#[test]
fn one_newer_than_the_driver_is_refused_even_where_it_is_named() {
    let Some(double) = double("13.0") else { return };
    beside(
        "loading::one_newer_than_the_driver_is_refused_even_where_it_is_named",
        12080,
        |driver| {
            let error = Library::find(&named(&double.library), driver).expect_err("newer");
            assert!(
                matches!(
                    error,
                    Error::OtherMajor {
                        found: 13,
                        wanted: 12,
                        ..
                    }
                ),
                "{error}"
            );
        },
    );
}

#[test]
fn an_older_one_that_is_named_is_taken() {
    let Some(double) = double("12.4") else { return };
    beside("loading::an_older_one_that_is_named_is_taken", 13000, |driver| {
        let library = Library::find(&named(&double.library), driver).expect("older");
        assert_eq!(library.version().to_string(), "CUPTI of CUDA 12.4 (version 22)");
    });
}

#[test]
fn two_in_one_process_are_refused() {
    over("loading::two_in_one_process_are_refused", &["12.4"], |scene| {
        let driver = Driver::open().expect("the driver's double");
        let other = double("11.7").expect("the other double");
        let error = Library::open(&other.library, driver).expect_err("a second one");
        assert!(matches!(error, Error::TwoLibraries { .. }), "{error}");
        let said = error.to_string();
        assert!(
            said.contains(&scene.library.path().display().to_string()),
            "{said}"
        );
        // The same one again is the same.
        let again = Library::open(&scene.double.library, driver).expect("the same");
        assert_eq!(again.path(), scene.library.path());
    });
}

#[test]
fn the_one_that_the_program_has_loaded_is_taken_before_all_others() {
    let Some(root) = toolkits(&["13.5"]) else { return };
    over(
        "loading::the_one_that_the_program_has_loaded_is_taken_before_all_others",
        &["12.4"],
        |scene| {
            let search = Search {
                root: root.path().to_owned(),
                ..nowhere()
            };
            let library = Library::find(&search, Driver::open().expect("a driver")).expect("found");
            assert_eq!(library.path(), scene.library.path());
            let newest = double("13.5").expect("it is there");
            let error =
                Library::find(&named(&newest.library), Driver::open().expect("a driver")).expect_err("two");
            assert!(matches!(error, Error::TwoLibraries { .. }), "{error}");
        },
    );
}

#[test]
fn the_loaders_path_is_asked_by_name() {
    let Some(double) = double("13.0") else { return };
    let test = "loading::the_loaders_path_is_asked_by_name";
    // The loader reads its path when a process starts.
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let paths = std::iter::once(double.folder.clone()).chain(std::env::split_paths(&before));
    let paths = std::env::join_paths(paths).expect("no colon");
    let control = cuda::Control::default().driver(13000);
    if std::env::var_os("CUPTI_LOADER").is_some() {
        return cuda::beside(test, &control, || {
            let search = Search {
                loader: true,
                ..nowhere()
            };
            let library = Library::find(&search, Driver::open().expect("a driver")).expect("found");
            assert_eq!(library.path(), double.library.canonicalize().expect("a path"));
        });
    }
    let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
    command
        .args([test, "--exact"])
        .env("CUPTI_LOADER", "1")
        .env("LD_LIBRARY_PATH", paths);
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn another_library_under_the_name_is_told_apart() {
    beside(
        "loading::another_library_under_the_name_is_told_apart",
        13000,
        |driver| {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("libcupti.so.13");
            if nvidia_doubles::c_library_of(&file, "int nothing(void) { return 0; }\n").is_none() {
                return;
            }
            let error = Library::find(&named(&file), driver).expect_err("no CUPTI");
            assert!(
                error
                    .to_string()
                    .contains("is not CUPTI: it has no function cuptiGetVersion"),
                "{error}"
            );
            std::fs::write(&file, "no library").expect("written");
            let error = Library::find(&named(&file), driver).expect_err("no library");
            assert!(error.to_string().contains("cannot load"), "{error}");
        },
    );
}

#[test]
fn nvtx_is_taken_in_through_the_same_file() {
    over("loading::nvtx_is_taken_in_through_the_same_file", &ALL, |scene| {
        assert_eq!(
            scene.library.nvtx_injection().expect("a path"),
            scene.library.path()
        );
    });
}

#[test]
fn handles_that_are_none_have_no_number() {
    over("loading::handles_that_are_none_have_no_number", &ALL, |scene| {
        // SAFETY: the double looks handles up and follows none.
        let error = unsafe { scene.library.context_id(std::ptr::null_mut()) }.expect_err("no context");
        assert!(error.to_string().contains("3 (INVALID_CONTEXT)"), "{error}");
    });
}
