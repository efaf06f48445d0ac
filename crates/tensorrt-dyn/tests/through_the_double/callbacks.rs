//! TensorRT's calls into Rust.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{
    BuilderFlag, Calibrator, ContextMemory, Dims, Error, ExecutionContext, OutputAllocator, Profiler,
    ProgressMonitor, Severity, Stream,
};

use crate::scene::{LATE, STATIC, Scene};

type Told = Arc<Mutex<Vec<String>>>;

fn tell(told: &Told, words: String) {
    told.lock().unwrap().push(words);
}

fn take(told: &Told) -> Vec<String> {
    std::mem::take(&mut told.lock().unwrap())
}

struct Layers(Told);
impl Profiler for Layers {
    fn layer_time(&mut self, layer: &str, milliseconds: f32) {
        tell(&self.0, format!("{layer} {milliseconds}"));
    }
}

struct Phases(Told, Option<usize>);
impl ProgressMonitor for Phases {
    fn phase_started(&self, phase: &str, parent: Option<&str>, steps: i32) {
        tell(
            &self.0,
            format!("+{phase} in {} of {steps}", parent.unwrap_or("-")),
        );
    }
    fn step_completed(&self, phase: &str, step: i32) -> ControlFlow<()> {
        tell(&self.0, format!("{phase} {step}"));
        match self.1 {
            Some(limit) if self.0.lock().unwrap().len() >= limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
    fn phase_finished(&self, phase: &str) {
        tell(&self.0, format!("-{phase}"));
    }
}

struct Batches {
    told: Told,
    left: u32,
    memory: Vec<u8>,
    cache: Option<Vec<u8>>,
}
impl Calibrator for Batches {
    fn batch_size(&self) -> i32 {
        7
    }
    fn next_batch(&mut self, names: &[&str], addresses: &mut [*mut c_void]) -> bool {
        tell(&self.told, names.join(","));
        addresses.fill(self.memory.as_mut_ptr().cast());
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
    fn read_cache(&mut self) -> Option<Vec<u8>> {
        self.cache.clone()
    }
    fn write_cache(&mut self, cache: &[u8]) {
        tell(&self.told, String::from_utf8_lossy(cache).into_owned());
    }
}

struct Lends {
    told: Told,
    memory: Vec<u64>,
}
impl OutputAllocator for Lends {
    fn reallocate(
        &mut self,
        tensor: &str,
        _: *mut c_void,
        bytes: u64,
        alignment: u64,
        _: Stream,
    ) -> *mut c_void {
        tell(&self.told, format!("{tensor} {bytes} {alignment}"));
        self.memory.resize(bytes as usize, 0);
        self.memory.as_mut_ptr().cast()
    }
    fn shape(&mut self, tensor: &str, shape: &Dims) {
        tell(&self.told, format!("{tensor} {shape:?}"));
    }
}

/// Runs a frame of [`STATIC`].
fn frame(context: &mut ExecutionContext) -> tensorrt_dyn::Result<()> {
    let x = [1.0_f32; 4];
    let mut y = [0.0_f32; 4];
    // SAFETY: both live through the frame, which is done when enqueue returns.
    unsafe {
        context.set_input_address(c"x", x.as_ptr().cast())?;
        context.set_output_address(c"y", y.as_mut_ptr().cast())?;
        context.enqueue(std::ptr::null_mut())
    }
}

pub fn a_profiler_gets_layer_times(double: &'static Double) {
    let scene = Scene::new(double);
    let told = Told::default();
    let mut context = scene.context(STATIC);
    assert!(context.report_to_profiler().is_err());
    context
        .set_profiler(Some(Box::new(Layers(Arc::clone(&told)))))
        .unwrap();
    frame(&mut context).unwrap();
    assert_eq!(take(&told), ["only 0.125"]);
    context.set_enqueue_emits_profile(false).unwrap();
    frame(&mut context).unwrap();
    assert!(take(&told).is_empty());
    context.report_to_profiler().unwrap();
    assert_eq!(take(&told), ["only 0.125"]);
    context.set_profiler(None).unwrap();
    assert_eq!(Arc::strong_count(&told), 1, "the profiler is gone");
    context.set_enqueue_emits_profile(true).unwrap();
    frame(&mut context).unwrap();
    assert!(take(&told).is_empty());
    scene.expect(&[
        "IExecutionContext::reportToProfiler() -> true",
        "IExecutionContext::setProfiler(null)",
    ]);
}

pub fn a_progress_monitor_sees_phases_and_can_stop_a_build(double: &'static Double) {
    let scene = Scene::new(double);
    let (builder, own) = scene.read(STATIC);
    let mut config = builder.config().unwrap();
    let told = Told::default();
    let set = config.set_progress_monitor(Box::new(Phases(Arc::clone(&told), None)));
    if scene
        .where_it_exists("IBuilderConfig::setProgressMonitor", set)
        .is_none()
    {
        assert_eq!(
            Arc::strong_count(&told),
            1,
            "a monitor that cannot be set is dropped"
        );
        return;
    }
    builder.build(&own, &config).unwrap();
    let phases = take(&told);
    assert_eq!(phases.first().unwrap(), "+Building engine in - of 3");
    assert!(
        phases
            .iter()
            .any(|line| line == "+Timing graph nodes in Building engine of 1"),
        "{phases:?}"
    );
    assert_eq!(phases.last().unwrap(), "-Building engine");

    config
        .set_progress_monitor(Box::new(Phases(Arc::clone(&told), Some(2))))
        .unwrap();
    let error = builder.build(&own, &config).unwrap_err().to_string();
    assert!(error.contains("Build canceled by user"), "{error}");
    let phases = take(&told);
    let (opened, closed) = ('+', '-');
    let count = |mark| phases.iter().filter(|line| line.starts_with(mark)).count();
    assert_eq!(count(opened), count(closed), "{phases:?}");
}

pub fn a_calibrator_feeds_the_builder(double: &'static Double) {
    let scene = Scene::new(double);
    let told = Told::default();
    let calibrator = |left, cache| {
        Box::new(Batches {
            told: Arc::clone(&told),
            left,
            memory: vec![0; 64],
            cache,
        })
    };
    let (builder, parser) = scene.read(STATIC);
    let mut config = builder.config().unwrap();
    // SAFETY: the double works on host memory, and reads what the calibrator gives.
    let set = unsafe { config.set_int8_calibrator(calibrator(4, None)) };
    if scene
        .where_it_exists("IBuilderConfig::setInt8Calibrator", set)
        .is_none()
    {
        return;
    }
    config.set_flag(BuilderFlag::Int8, true).unwrap();
    builder.build(&parser, &config).unwrap();
    let lines = take(&told);
    assert_eq!(lines[..3], ["x", "x", "x"]);
    assert!(lines.last().unwrap().contains("batches 3"), "{lines:?}");
    // SAFETY: as above.
    unsafe { config.set_int8_calibrator(calibrator(4, Some(b"a cache".to_vec()))) }.unwrap();
    builder.build(&parser, &config).unwrap();
    assert!(take(&told).is_empty(), "the cache spares the batches");
    // SAFETY: as above.
    unsafe { config.set_int8_calibrator(calibrator(1, None)) }.unwrap();
    let error = builder.build(&parser, &config).unwrap_err().to_string();
    assert!(error.contains("the calibrator gave no batch"), "{error}");
}

pub fn an_output_allocator_lends_memory_of_the_size_that_data_decide(double: &'static Double) {
    let scene = Scene::new(double);
    let told = Told::default();
    let mut context = scene.context(LATE);
    let x = [1.0_f32; 4];
    let mut y = [0.0_f32; 4];
    let size = [3_i64];
    // SAFETY: all live through the frame; the allocator's memory is of the size asked for.
    unsafe {
        context.set_input_address(c"x", x.as_ptr().cast()).unwrap();
        context.set_input_address(c"size", size.as_ptr().cast()).unwrap();
        context.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
        for _ in 0..2 {
            let lends = Lends {
                told: Arc::clone(&told),
                memory: Vec::new(),
            };
            context.set_output_allocator(c"found", Box::new(lends)).unwrap();
        }
        assert_eq!(Arc::strong_count(&told), 2, "the first allocator is gone");
        context.enqueue(std::ptr::null_mut()).unwrap();
    }
    // At most 5: the run gives 3.
    assert_eq!(take(&told), ["found 12 256", "found [3]"]);
    assert_eq!(context.max_output_size(c"found").unwrap(), 20);
}

pub fn messages_of_every_severity_arrive(double: &'static Double) {
    let scene = Scene::new(double);
    let _builder = scene.library.builder().unwrap();
    for severity in 0..=4 {
        scene.control.log(severity, "said by the double");
    }
    // A failing call quotes what was logged and recorded since it began, once and with its code.
    let runtime = scene.library.runtime().unwrap();
    let Error::Call { messages, .. } = runtime.engine(b"rubbish").unwrap_err() else {
        panic!()
    };
    assert_eq!(messages.0.len(), 1, "{messages}");
    assert_eq!(messages.0[0].severity, Severity::Error);
    assert!(messages.0[0].code.is_some(), "{messages:?}");
}

struct Panics;
impl Profiler for Panics {
    fn layer_time(&mut self, _: &str, _: f32) {
        panic!("a profiler's");
    }
}
impl ProgressMonitor for Panics {
    fn phase_started(&self, _: &str, _: Option<&str>, _: i32) {
        panic!("a phase's beginning");
    }
    fn step_completed(&self, _: &str, _: i32) -> ControlFlow<()> {
        panic!("a step's");
    }
    fn phase_finished(&self, _: &str) {
        panic!("a phase's end");
    }
}
impl Calibrator for Panics {
    fn batch_size(&self) -> i32 {
        panic!("a batch size's");
    }
    fn next_batch(&mut self, _: &[&str], _: &mut [*mut c_void]) -> bool {
        panic!("a batch's");
    }
    fn read_cache(&mut self) -> Option<Vec<u8>> {
        panic!("a cache's");
    }
    fn write_cache(&mut self, _: &[u8]) {
        panic!("a cache's");
    }
}
impl OutputAllocator for Panics {
    fn reallocate(&mut self, _: &str, _: *mut c_void, _: u64, _: u64, _: Stream) -> *mut c_void {
        panic!("an allocator's");
    }
    fn shape(&mut self, _: &str, _: &Dims) {
        panic!("a shape's");
    }
}

pub fn a_panic_in_a_callback_does_not_cross(double: &'static Double) {
    let scene = Scene::new(double);
    let mut context = scene.context(STATIC);
    context.set_profiler(Some(Box::new(Panics))).unwrap();
    frame(&mut context).unwrap();
    frame(&mut context).unwrap();

    let engine = scene.engine(LATE);
    let mut late = engine.context(ContextMemory::Own).unwrap();
    let (x, size, mut y) = ([1.0_f32; 4], [3_i64], [0.0_f32; 4]);
    // SAFETY: all live through the frame; the allocator gives nothing.
    let error = unsafe {
        late.set_input_address(c"x", x.as_ptr().cast()).unwrap();
        late.set_input_address(c"size", size.as_ptr().cast()).unwrap();
        late.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
        late.set_output_allocator(c"found", Box::new(Panics)).unwrap();
        late.enqueue(std::ptr::null_mut()).unwrap_err().to_string()
    };
    assert!(error.contains("the output allocator gave no memory"), "{error}");

    let (builder, parser) = scene.read(STATIC);
    let mut config = builder.config().unwrap();
    if config.set_progress_monitor(Box::new(Panics)).is_ok() {
        let error = builder.build(&parser, &config).unwrap_err().to_string();
        assert!(error.contains("canceled"), "a panic cancels: {error}");
    }
    let mut config = builder.config().unwrap();
    // SAFETY: it gives no address.
    if unsafe { config.set_int8_calibrator(Box::new(Panics)) }.is_ok() {
        config.set_flag(BuilderFlag::Int8, true).unwrap();
        let error = builder.build(&parser, &config).unwrap_err().to_string();
        assert!(error.contains("no batch"), "{error}");
    }
}
