//! A process with the driver's double and a double of CUPTI, and what every test does with them.

use cupti_dyn::{Driver, Kind, Library, Platform, Record, Session, Settings};
use nvidia_doubles::cupti::{Activity, Control, Double, release};
use nvidia_doubles::{cuda, machine, nvtx};

/// The releases whose headers the double is compiled with.
pub(crate) const ALL: [&str; 4] = ["11.7", "12.4", "13.0", "13.5"];
/// 11.4, which has no timestamp callback.
pub(crate) const OLDEST: &str = "11.4";

/// Set in a process of a test: the release.
const RELEASE: &str = "JETLAG_CUPTI_DOUBLE_RELEASE";

/// What a test works with.
pub(crate) struct Scene {
    pub(crate) release: String,
    pub(crate) double: Double,
    pub(crate) control: Control,
    pub(crate) library: Library,
}

/// The double of a release, if it can be made here.
pub(crate) fn double(name: &str) -> Option<Double> {
    match name {
        OLDEST => release("11.7")?.double_as_11_4(),
        _ => {
            let known = ALL.into_iter().find(|known| *known == name);
            release(known.expect("a release that there is a double of"))?.double()
        }
    }
}

/// Runs the body once for each release, in a process of its own, whose modules with NVTX find the double. `test` is the test's
/// full name.
pub(crate) fn over(test: &str, releases: &[&str], body: impl Fn(&Scene)) {
    over_machine(test, releases, &cuda::Control::default(), body);
}

/// The same beside a driver that pretends this.
pub(crate) fn over_machine(test: &str, releases: &[&str], machine: &cuda::Control, body: impl Fn(&Scene)) {
    if let Some(release) = machine::variable(RELEASE) {
        let release = release.to_string_lossy().into_owned();
        let double = double(&release).expect("it was there a moment ago");
        let library = Library::open(&double.library, Driver::open().expect("the driver's double"));
        let scene = Scene {
            control: Control::open(&double),
            library: library.expect("the double"),
            release,
            double,
        };
        body(&scene);
        assert_eq!(scene.control.faults(), "", "{}", scene.release);
        return;
    }
    for release in releases {
        let Some(double) = double(release) else {
            continue;
        };
        let control = machine
            .clone()
            .driver(13050)
            .variable(RELEASE, *release)
            .variable(nvtx::TOOL, &double.library);
        cuda::beside(test, &control, || unreachable!("the variable is set there"));
    }
}

impl Scene {
    /// Whether the release is this one or later.
    pub(crate) fn is_from(&self, major: u32, minor: u32) -> bool {
        let version = self.library.version();
        (
            version.major,
            version.minor.expect("the doubles' releases tell it"),
        ) >= (major, minor)
    }

    /// A trace of these kinds.
    pub(crate) fn session(&self, kinds: &[Kind]) -> Session {
        self.session_with(&Settings::default(), kinds)
    }

    pub(crate) fn session_with(&self, settings: &Settings, kinds: &[Kind]) -> Session {
        let mut session = Session::open(self.library, settings).expect("a trace");
        session.enable(kinds).expect("kinds");
        session
    }

    /// A kernel of this name, at these moments.
    pub(crate) fn kernel(&self, name: &str, start: u64, end: u64) {
        self.control.emit(
            &activity(Kind::CONCURRENT_KERNEL, start, end),
            name.as_bytes(),
            None,
        );
    }

    /// Any number of kernels, one after the other.
    pub(crate) fn kernels(&self, number: u64) {
        for at in 0..number {
            self.kernel("kernel", 1000 + at * 10, 1005 + at * 10);
        }
    }
}

/// The platform of a desktop.
pub(crate) fn desktop() -> Platform {
    Platform::default()
}

pub(crate) fn activity(kind: Kind, start: u64, end: u64) -> Activity {
    Activity::new(kind.0, start, end)
}

/// Ends a trace: what was left of it.
pub(crate) fn rest(session: Session) -> (Vec<Record>, cupti_dyn::Ended) {
    let mut records = Vec::new();
    let ended = session.finish(|record| records.push(record));
    (records, ended)
}
