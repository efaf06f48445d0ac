//! What the library says of its version decides everything, so it is asked before anything else is called.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use nvidia_doubles::tensorrt::{self, Control, Double};
use tensorrt_dyn::{Error, Library, NetworkOptions};

use crate::scene::{STATIC, version};

/// A copy of a double: a library of its own to the loader, so that what it says can be changed before it is opened.
struct Copy {
    folder: PathBuf,
    infer: PathBuf,
}

impl Copy {
    fn of(double: &Double) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("double-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let copy = |file: &PathBuf| {
            let to = folder.join(file.file_name().unwrap());
            std::fs::copy(file, &to).unwrap();
            to
        };
        copy(&double.parser);
        Self {
            infer: copy(&double.infer),
            folder,
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn an_unknown_version_is_refused_before_anything_is_called() {
    for double in tensorrt::eras() {
        // 7.2.3, 8.4.1, 12.0.0, 2.0 of TensorRT-RTX, nonsense.
        for number in [7203, 8401, 120_000, 20_000, -1] {
            let copy = Copy::of(double);
            let control = Control::open(&copy.infer);
            control.record(true);
            control.set_version(number);
            let error = Library::open(&copy.infer).unwrap_err();
            assert!(
                matches!(error, Error::UnsupportedVersion { number: said, .. } if said == number),
                "{error}"
            );
            assert!(control.calls().is_empty(), "{:?}", control.calls());
            assert_eq!(control.live("IRuntime"), 0);
        }
    }
}

#[test]
fn a_version_newer_than_the_tables_works_and_says_so() {
    for double in tensorrt::eras() {
        let ours = version(double);
        let (major, minor) = ours.era().newest_known();
        let newer = if double.era == 'A' || double.era == 'D' {
            // The next version belongs to another era.
            continue;
        } else {
            i32::from(major) * 10_000 + (i32::from(minor) + 1) * 100
        };
        let copy = Copy::of(double);
        // Kept open, or the library would go and forget.
        let control = Control::open(&copy.infer);
        control.set_version(newer);
        let library = Library::open(&copy.infer).unwrap();
        assert!(library.version().is_newer_than_tables(), "{}", library.version());
        assert_eq!(library.version().era(), ours.era());
        let mut parser = match double.version.contains("tables") {
            // Not all that is in the newest tables is in this older version.
            true => continue,
            false => library
                .builder()
                .unwrap()
                .network(NetworkOptions::default())
                .unwrap()
                .parser()
                .unwrap(),
        };
        parser.parse(STATIC.as_bytes(), "a network").unwrap();
        assert_eq!(parser.layer_count().unwrap(), 1);
    }
}

#[test]
fn a_version_of_the_tables_is_not_newer_than_they() {
    for double in tensorrt::eras() {
        assert!(!version(double).is_newer_than_tables(), "{}", double.version);
    }
}
