//! A scenario's stage: one double, alone, with its log on; afterwards nothing may live and nothing be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nvidia_doubles::tensorrt::{Control, Double};
use tensorrt_dyn::sys::rows;
use tensorrt_dyn::{
    Builder, BuilderConfig, Engine, Error, ExecutionContext, Library, NetworkOptions, OnnxParser, Plan,
    ProfileSelector, Result, Version,
};

/// A network with a dynamic and a static input, and two outputs.
pub const NETWORK: &str = "double-network
input images f32 batchx2x2
input mask i8 3
output boxes f32 batchx3 head
output scores f32 batchx1 tail
layer stem Conv
layer head Relu
layer tail Softmax
device_memory 4096
";

/// A network without dynamic shapes.
pub const STATIC: &str = "double-network
input x f32 4
output y f32 4
layer only Relu
";

/// A shape input, and an output whose size is known only after the run.
pub const LATE: &str = "double-network
input x f32 2x2
shape_input size
output y f32 2x2 only
output found i32 *5
layer only Relu
layer pick Identity
";

/// The state of a double is the process's, so scenarios take turns.
static TURN: Mutex<()> = Mutex::new(());
/// Methods called so far, per version of the double.
static CALLED: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The version that the binding sees.
pub fn version(double: &Double) -> Version {
    Version::from_number(double.number).unwrap()
}

/// What scenarios called so far.
pub fn called(double: &Double) -> BTreeSet<String> {
    locked(&CALLED).get(&double.version).cloned().unwrap_or_default()
}

/// `IRuntime::setMaxThreads` for a row of `VRuntime`.
pub fn method(class: &str, name: &str) -> String {
    match class.strip_prefix('V') {
        Some(rest) => format!("I{rest}::{name}"),
        None => format!("{class}::{name}"),
    }
}

pub struct Scene {
    pub double: &'static Double,
    pub library: Library,
    pub control: Control,
    pub parser: Control,
    _turn: MutexGuard<'static, ()>,
}

impl Scene {
    pub fn new(double: &'static Double) -> Self {
        let turn = locked(&TURN);
        let library = Library::open(&double.infer).unwrap();
        library.parser_path().unwrap();
        let scene = Self {
            double,
            library,
            control: double.control(),
            parser: double.parser_control(),
            _turn: turn,
        };
        for control in [&scene.control, &scene.parser] {
            control.reset();
            control.record(true);
        }
        scene
    }

    pub fn version(&self) -> Version {
        self.library.version()
    }

    /// Whether this release has a method, named as `IRuntime::setMaxThreads`.
    pub fn has(&self, wanted: &str) -> bool {
        let mut known = rows()
            .filter(|row| method(row.class, row.name) == wanted)
            .peekable();
        assert!(known.peek().is_some(), "{wanted} is in no table");
        known.any(|row| row.index(self.version()).is_some())
    }

    /// The result of a call that this release may lack: it lacks it exactly where the tables say so, and says so.
    pub fn where_it_exists<T>(&self, wanted: &str, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                assert!(
                    self.has(wanted),
                    "{}: {wanted} is not in the tables",
                    self.version()
                );
                Some(value)
            }
            Err(Error::MissingMethod { call, .. }) => {
                assert_eq!(call, wanted);
                assert!(!self.has(wanted), "{}: {wanted} is in the tables", self.version());
                None
            }
            Err(error) => panic!("{}: {wanted}: {error}", self.version()),
        }
    }

    /// The log since the last look at it, without the objects' numbers. What was looked at is forgotten.
    pub fn heard(&self) -> Vec<String> {
        let mut heard = Vec::new();
        for control in [&self.control, &self.parser] {
            let calls = control.calls();
            control.clear_calls();
            heard.extend(calls.iter().map(|line| without_numbers(line)));
        }
        let mut called = locked(&CALLED);
        let called = called.entry(self.double.version.clone()).or_default();
        called.extend(
            heard
                .iter()
                .filter_map(|line| Some(line.split_once('(')?.0.to_owned())),
        );
        heard
    }

    /// The log since the last look holds these lines (and others), in this order.
    #[track_caller]
    pub fn expect(&self, lines: &[&str]) {
        let heard = self.heard();
        let mut rest = heard.iter();
        for line in lines {
            assert!(
                rest.any(|heard| heard == line),
                "{}: {line} is not, or not in this place, in {heard:#?}",
                self.double.version
            );
        }
    }

    /// A builder, and a parser that has read this network.
    pub fn read(&self, text: &str) -> (Builder, OnnxParser) {
        let builder = self.library.builder().unwrap();
        let network = builder.network(NetworkOptions::default()).unwrap();
        let mut parser = network.parser().unwrap();
        parser.parse(text.as_bytes(), "a network").unwrap();
        (builder, parser)
    }

    /// A parser that has read this network.
    pub fn parsed(&self, text: &str) -> OnnxParser {
        self.read(text).1
    }

    /// A plan of [`NETWORK`] (batches of 1 to 4), [`STATIC`] or [`LATE`], with whatever else a configuration is given.
    pub fn plan_with(&self, text: &str, configure: impl FnOnce(&mut BuilderConfig)) -> Plan {
        self.plan_of_profiles(text, 1, configure)
    }

    /// The same with so many equal profiles.
    pub fn plan_of_profiles(
        &self,
        text: &str,
        profiles: usize,
        configure: impl FnOnce(&mut BuilderConfig),
    ) -> Plan {
        let (builder, parser) = self.read(text);
        let mut config = builder.config().unwrap();
        let profiles: Vec<_> = (0..profiles)
            .map(|_| builder.optimization_profile().unwrap())
            .collect();
        let shapes = [
            (ProfileSelector::Min, 1),
            (ProfileSelector::Opt, 2),
            (ProfileSelector::Max, 4),
        ];
        for (profile, (selector, batch)) in profiles
            .iter()
            .flat_map(|profile| shapes.map(|shape| (profile, shape)))
        {
            if text == NETWORK {
                profile
                    .set_dimensions("images", selector, &[batch, 2, 2])
                    .unwrap();
            } else if text == LATE {
                profile.set_shape_values("size", selector, &[batch]).unwrap();
            }
        }
        for profile in &profiles {
            config.add_optimization_profile(profile).unwrap();
        }
        configure(&mut config);
        builder.build(&parser, &config).unwrap()
    }

    pub fn plan(&self, text: &str) -> Plan {
        self.plan_with(text, |_| ())
    }

    pub fn engine(&self, text: &str) -> Engine {
        let plan = self.plan(text);
        self.library.runtime().unwrap().engine(plan.bytes()).unwrap()
    }

    pub fn context(&self, text: &str) -> ExecutionContext {
        self.engine(text)
            .context(tensorrt_dyn::ContextMemory::Own)
            .unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.heard();
        let (infer, parser) = (&self.control, &self.parser);
        let living = [infer.live_objects(), parser.live_objects()].concat();
        let violations = [infer.violations(), parser.violations()].concat();
        infer.reset();
        parser.reset();
        if !std::thread::panicking() {
            assert!(
                living.is_empty(),
                "{}: still there: {living:?}",
                self.double.version
            );
            assert!(violations.is_empty(), "{}: {violations:#?}", self.double.version);
        }
    }
}

/// Drops the objects' numbers: `IRuntime#3::f(ILayer#4)` becomes `IRuntime::f(ILayer)`.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('#') {
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}
