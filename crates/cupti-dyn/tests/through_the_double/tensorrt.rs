//! TensorRT's ranges beside its kernels, all three doubles in one process: a layer's range encloses the calls that launched its
//! kernels.

use std::collections::BTreeMap;
use std::ffi::c_void;

use cupti_dyn::record::{Call, Kernel, Marker};
use cupti_dyn::{Kind, Record};
use nvidia_doubles::tensorrt::{Double, era};
use nvidia_doubles::{cuda, library, machine, nvtx};
use tensorrt_dyn::{ContextMemory, Engine, ExecutionContext, Library, NetworkOptions, ProfilingVerbosity};

use crate::driver::{Cuda, Stream};
use crate::scene::{ALL, Scene, over, rest};

/// Ten units of work (stamp, sum, write, six small kernels, wait) for three layers: four, three and three.
const NETWORK: &str = "double-network
input x f32 4
output y f32 4
layer stem Conv
layer head Relu
layer tail Softmax
launches 6
kernel_us 20
compute_us 300
";
/// The kernels of the units in their order: stamps and waits of the small ones are two.
const KERNELS: [(&str, usize); 3] = [("stem", 5), ("head", 6), ("tail", 5)];
/// What a frame says.
const RANGES: [&str; 8] = [
    "ExecutionContext::enqueue",
    "stem",
    "-",
    "head",
    "-",
    "tail",
    "-",
    "-",
];

const KINDS: [Kind; 4] = [
    Kind::CONCURRENT_KERNEL,
    Kind::DRIVER,
    Kind::MARKER,
    Kind::MARKER_DATA,
];

/// A release of TensorRT's double with ranges, if it can be made here.
fn tensorrt() -> Option<&'static Double> {
    nvtx::headers()?;
    era('C')
}

fn engine(double: &Double, verbosity: ProfilingVerbosity) -> Engine {
    let library = Library::open(&double.infer).expect("the double");
    let builder = library.builder().expect("a builder");
    let network = builder.network(NetworkOptions::default()).expect("a network");
    let mut parser = network.parser().expect("a parser");
    parser.parse(NETWORK.as_bytes(), "a network").expect("parsed");
    let config = builder.config().expect("a configuration");
    config.set_profiling_verbosity(verbosity).expect("set");
    let plan = builder.build(&parser, &config).expect("built");
    library
        .runtime()
        .expect("a runtime")
        .engine(plan.bytes())
        .expect("an engine")
}

/// A context whose tensors lie in device memory, and that has run a frame: the first one takes memory of its own.
fn context(engine: &Engine, cuda: &Cuda, stream: Stream) -> ExecutionContext {
    let mut context = engine.context(ContextMemory::Own).expect("a context");
    // SAFETY: the memory is as large as the tensors, and lives as long as the process.
    unsafe {
        context
            .set_input_address(c"x", cuda.memory(16).address())
            .expect("set");
        context
            .set_output_address(c"y", cuda.memory(16).address())
            .expect("set");
    }
    enqueue(&mut context, stream);
    cuda.synchronize(stream);
    context
}

fn enqueue(context: &mut ExecutionContext, stream: Stream) {
    let stream: *mut c_void = stream.0;
    // SAFETY: a live stream of the current context; every address is of memory of the tensor's size.
    unsafe { context.enqueue(stream) }.expect("enqueued");
}

/// A range of a thread.
#[derive(Debug)]
struct Range {
    name: String,
    thread: u32,
    depth: usize,
    start: u64,
    end: u64,
}

/// TensorRT's ranges, which nest, by their begins.
fn ranges(records: &[Record]) -> Vec<Range> {
    let mut open: BTreeMap<u32, Vec<&Marker>> = BTreeMap::new();
    let mut ranges = Vec::new();
    for record in records {
        let Record::Marker(marker) = record else { continue };
        assert_eq!(marker.domain.as_deref(), Some("TensorRT"));
        let own = open.entry(marker.object_second).or_default();
        if marker.flags.is_start() {
            own.push(marker);
            continue;
        }
        let start = own.pop().expect("a begin of this thread");
        assert_eq!(start.id, marker.id, "they nest");
        ranges.push(Range {
            name: start.name.as_deref().expect("a name").to_owned(),
            thread: marker.object_second,
            depth: own.len(),
            start: start.timestamp,
            end: marker.timestamp,
        });
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    ranges.sort_by_key(|range| (range.start, range.depth));
    ranges
}

fn launches(records: &[Record]) -> Vec<(&Kernel, &Call)> {
    let call = |correlation: u32| {
        let call = records.iter().find_map(|record| match record {
            Record::DriverCall(call) if call.correlation == correlation => Some(call),
            _ => None,
        });
        call.expect("each kernel has its call")
    };
    let kernels = records.iter().filter_map(|record| match record {
        Record::Kernel(kernel) => Some((kernel, call(kernel.correlation))),
        _ => None,
    });
    kernels.collect()
}

/// How many kernels each layer launched, by the call's moment and thread, frame for frame of one thread.
fn by_layer(ranges: &[Range], launches: &[(&Kernel, &Call)], thread: u32) -> Vec<(String, usize)> {
    let layers = ranges
        .iter()
        .filter(|range| range.thread == thread && range.depth == 1);
    let count = |layer: &Range| {
        let inside =
            |call: &Call| call.thread == thread && layer.start <= call.start && call.end <= layer.end;
        launches.iter().filter(|(_, call)| inside(call)).count()
    };
    layers.map(|layer| (layer.name.clone(), count(layer))).collect()
}

fn wanted(frames: usize) -> Vec<(String, usize)> {
    let frame = KERNELS.map(|(name, kernels)| (name.to_owned(), kernels));
    std::iter::repeat_n(frame, frames).flatten().collect()
}

/// Runs a body over the three doubles, if they can be made here.
fn over_all(test: &str, body: impl Fn(&Scene, &Double)) {
    let Some(double) = tensorrt() else { return };
    over(test, &ALL, |scene| body(scene, double));
}

#[test]
fn layers_enclose_the_launches_of_their_kernels() {
    over_all(
        "tensorrt::layers_enclose_the_launches_of_their_kernels",
        |scene, double| {
            let session = scene.session(&KINDS);
            let cuda = Cuda::new();
            let stream = cuda.stream();
            let engine = engine(double, ProfilingVerbosity::LayerNamesOnly);
            let mut context = context(&engine, &cuda, stream);
            enqueue(&mut context, stream);
            cuda.synchronize(stream);
            let (records, ended) = rest(session);
            assert!(ended.loss.is_none());
            let (ranges, launches) = (ranges(&records), launches(&records));
            let frames: Vec<&Range> = ranges.iter().filter(|range| range.depth == 0).collect();
            assert_eq!(frames.len(), 2);
            for range in &ranges {
                let frame = frames
                    .iter()
                    .find(|frame| frame.start <= range.start && range.end <= frame.end);
                assert_eq!(
                    frame.expect("every range lies in a frame's").name,
                    "ExecutionContext::enqueue"
                );
            }
            assert_eq!(by_layer(&ranges, &launches, ranges[0].thread), wanted(2));
            assert_eq!(launches.len(), 2 * 16, "and no kernel is left over");
            // The device comes to them in the order in which they were launched.
            assert!(
                launches
                    .iter()
                    .all(|(kernel, call)| call.start <= kernel.end && kernel.start <= kernel.end)
            );
            assert!(launches.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
            let busy = launches.last().expect("the wait").0;
            assert!(busy.end - busy.start >= 300_000);
        },
    );
}

#[test]
fn each_thread_has_its_own_ranges() {
    over_all("tensorrt::each_thread_has_its_own_ranges", |scene, double| {
        let session = scene.session(&KINDS);
        let cuda = Cuda::new();
        let engine = engine(double, ProfilingVerbosity::LayerNamesOnly);
        let contexts = [(); 2].map(|()| {
            let stream = cuda.stream();
            (context(&engine, &cuda, stream), stream)
        });
        let cuda = &cuda;
        std::thread::scope(|scope| {
            for (mut context, stream) in contexts {
                // A raw pointer does not move between threads by itself.
                let stream = stream.0 as usize;
                scope.spawn(move || {
                    cuda.enter();
                    let stream = Stream(stream as *mut c_void);
                    for _ in 0..5 {
                        enqueue(&mut context, stream);
                    }
                    cuda.synchronize(stream);
                });
            }
        });
        let (records, ended) = rest(session);
        assert!(ended.loss.is_none());
        let (ranges, launches) = (ranges(&records), launches(&records));
        let mut frames: BTreeMap<u32, usize> = BTreeMap::new();
        for range in ranges.iter().filter(|range| range.depth == 0) {
            *frames.entry(range.thread).or_default() += 1;
        }
        let mut counts: Vec<usize> = frames.values().copied().collect();
        counts.sort_unstable();
        assert_eq!(counts, [2, 5, 5], "the first frames were this thread's");
        for (thread, frames) in frames {
            assert_eq!(by_layer(&ranges, &launches, thread), wanted(frames));
        }
    });
}

#[test]
fn a_captured_frame_has_its_ranges_at_its_capture() {
    over_all(
        "tensorrt::a_captured_frame_has_its_ranges_at_its_capture",
        |scene, double| {
            let cuda = Cuda::new();
            let stream = cuda.stream();
            let engine = engine(double, ProfilingVerbosity::LayerNamesOnly);
            let mut context = context(&engine, &cuda, stream);
            let session = scene.session(&KINDS);
            let graph = cuda.capture(stream, || enqueue(&mut context, stream));
            for _ in 0..3 {
                cuda.launch(graph, stream);
            }
            cuda.synchronize(stream);
            let (records, _) = rest(session);
            let ranges = ranges(&records);
            assert_eq!(ranges.len(), 4, "{ranges:?}");
            let launches = launches(&records);
            assert_eq!(launches.len(), 3 * 16);
            assert!(launches.iter().all(|(kernel, _)| kernel.graph != 0));
            assert_eq!(
                by_layer(&ranges, &launches, ranges[0].thread)
                    .iter()
                    .map(|layer| layer.1)
                    .sum::<usize>(),
                0
            );
        },
    );
}

#[test]
fn without_verbosity_nothing_comes() {
    over_all("tensorrt::without_verbosity_nothing_comes", |scene, double| {
        let session = scene.session(&KINDS);
        let cuda = Cuda::new();
        let stream = cuda.stream();
        // The plan's own choice cannot be taken back.
        let silent = engine(double, ProfilingVerbosity::None);
        let mut without = context(&silent, &cuda, stream);
        without
            .set_nvtx_verbosity(ProfilingVerbosity::LayerNamesOnly)
            .expect_err("more than the plan has");
        enqueue(&mut without, stream);
        let (records, _) = rest(session);
        assert!(ranges(&records).is_empty());
        // A context's choice is its own.
        let talking = engine(double, ProfilingVerbosity::Detailed);
        let mut contexts = [context(&talking, &cuda, stream), context(&talking, &cuda, stream)];
        contexts[0]
            .set_nvtx_verbosity(ProfilingVerbosity::None)
            .expect("less");
        let session = scene.session(&KINDS);
        enqueue(&mut contexts[0], stream);
        enqueue(&mut contexts[1], stream);
        contexts[0]
            .set_nvtx_verbosity(ProfilingVerbosity::LayerNamesOnly)
            .expect("not more than the plan");
        enqueue(&mut contexts[0], stream);
        cuda.synchronize(stream);
        let (records, _) = rest(session);
        assert_eq!(
            ranges(&records).iter().filter(|range| range.depth == 0).count(),
            2
        );
    });
}

#[test]
fn another_tool_sees_the_same_ranges() {
    let Some(double) = tensorrt() else { return };
    let sources = machine::repository().join("tests/nvtx");
    let Some(folder) = library("libtool.so", &sources, &["tool"], &[]) else {
        return;
    };
    let said = tempfile::NamedTempFile::new().expect("a file");
    let control = cuda::Control::default()
        .variable(nvtx::TOOL, folder.join("libtool.so"))
        .variable("NVTX_TEST_FILE", said.path());
    cuda::beside("tensorrt::another_tool_sees_the_same_ranges", &control, || {
        let cuda = Cuda::new();
        let stream = cuda.stream();
        let engine = engine(double, ProfilingVerbosity::LayerNamesOnly);
        // With its first frame.
        context(&engine, &cuda, stream);
        let file = machine::variable("NVTX_TEST_FILE").expect("the tool's file");
        let text = std::fs::read_to_string(file).expect("written");
        let mut lines = text.lines().map(|line| line.split_once(' ').expect("a thread").1);
        assert_eq!(lines.next(), Some("domain TensorRT"));
        let told: Vec<&str> = lines
            .map(|line| match line.strip_prefix("push its-handle 0 0:0 ") {
                Some(name) => name,
                None if line == "pop its-handle" => "-",
                None => panic!("{line}"),
            })
            .collect();
        assert_eq!(told, RANGES);
    });
}

#[test]
fn both_tools_are_told_the_same() {
    over_all("tensorrt::both_tools_are_told_the_same", |scene, double| {
        let session = scene.session(&[Kind::MARKER]);
        let cuda = Cuda::new();
        context(
            &engine(double, ProfilingVerbosity::LayerNamesOnly),
            &cuda,
            cuda.stream(),
        );
        let (records, _) = rest(session);
        let told: Vec<&str> = records
            .iter()
            .filter_map(|record| match record {
                Record::Marker(marker) if marker.flags.is_end() => Some("-"),
                Record::Marker(marker) => marker.name.as_deref(),
                _ => None,
            })
            .collect();
        assert_eq!(told, RANGES);
    });
}
