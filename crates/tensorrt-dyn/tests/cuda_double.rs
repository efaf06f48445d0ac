//! The double's CUDA half: frames on device memory and streams, beside what the host computes of the same bytes.
//!
//! Skipped where there is no driver or no GPU. On a machine without a compiler, `JETLAG_DOUBLES` names folders with
//! compiled doubles (colon between them); this test binary and those folders are all that is needed then.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what it measured"
)]

use std::ffi::{c_int, c_uint, c_void};
use std::path::PathBuf;
use std::time::Instant;

use libloading::{Library as Handle, Symbol};
use nvidia_doubles::machine::{missing, variable};
use nvidia_doubles::tensorrt;
use tensorrt_dyn::{ContextMemory, ExecutionContext, Library, NetworkOptions, ProfileSelector, Stream};

const COMPUTE_US: u64 = 3000;

/// Both ask for a GPU.
const ASKED_BY: [&str; 2] = ["JETLAG_GPU", "JETLAG_DOUBLES"];

/// The few functions of the driver that the test needs.
struct Cuda {
    driver: Handle,
}

impl Cuda {
    /// A context on the first GPU; says why there is none.
    fn open() -> Option<Self> {
        // SAFETY: the driver's library; its initialisers are its own.
        let Ok(driver) = (unsafe { Handle::new("libcuda.so.1") }) else {
            missing(&ASKED_BY, "no CUDA driver (libcuda.so.1 not found)");
            return None;
        };
        let cuda = Self { driver };
        let mut count: c_int = 0;
        // SAFETY: the driver's types of these functions.
        unsafe {
            let init: Symbol<'_, unsafe extern "C" fn(c_uint) -> c_int> = cuda.driver.get(b"cuInit").unwrap();
            let devices: Symbol<'_, unsafe extern "C" fn(*mut c_int) -> c_int> =
                cuda.driver.get(b"cuDeviceGetCount").unwrap();
            if init(0) != 0 || devices(&raw mut count) != 0 || count == 0 {
                missing(&ASKED_BY, "no GPU");
                return None;
            }
            let retain: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int> =
                cuda.driver.get(b"cuDevicePrimaryCtxRetain").unwrap();
            let current: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int> =
                cuda.driver.get(b"cuCtxSetCurrent").unwrap();
            let mut context = std::ptr::null_mut();
            assert_eq!(retain(&raw mut context, 0), 0);
            assert_eq!(current(context), 0);
        }
        Some(cuda)
    }

    fn stream(&self) -> Stream {
        let mut stream = std::ptr::null_mut();
        // SAFETY: CUresult cuStreamCreate(CUstream*, unsigned).
        unsafe {
            let create: Symbol<'_, unsafe extern "C" fn(*mut Stream, c_uint) -> c_int> =
                self.driver.get(b"cuStreamCreate").unwrap();
            assert_eq!(create(&raw mut stream, 1), 0);
        }
        stream
    }

    fn wait(&self, stream: Stream) {
        // SAFETY: CUresult cuStreamSynchronize(CUstream).
        unsafe {
            let wait: Symbol<'_, unsafe extern "C" fn(Stream) -> c_int> =
                self.driver.get(b"cuStreamSynchronize").unwrap();
            assert_eq!(wait(stream), 0);
        }
    }

    /// Device memory with these bytes; given back when the process ends.
    fn memory(&self, bytes: &[u8]) -> u64 {
        let mut address = 0;
        // SAFETY: cuMemAlloc_v2(CUdeviceptr*, size_t), cuMemcpyHtoD_v2(CUdeviceptr, void const*, size_t).
        unsafe {
            let allocate: Symbol<'_, unsafe extern "C" fn(*mut u64, usize) -> c_int> =
                self.driver.get(b"cuMemAlloc_v2").unwrap();
            let copy: Symbol<'_, unsafe extern "C" fn(u64, *const c_void, usize) -> c_int> =
                self.driver.get(b"cuMemcpyHtoD_v2").unwrap();
            assert_eq!(allocate(&raw mut address, bytes.len()), 0);
            assert_eq!(copy(address, bytes.as_ptr().cast(), bytes.len()), 0);
        }
        address
    }

    fn read(&self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        // SAFETY: cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t).
        unsafe {
            let copy: Symbol<'_, unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int> =
                self.driver.get(b"cuMemcpyDtoH_v2").unwrap();
            assert_eq!(copy(bytes.as_mut_ptr().cast(), address, size), 0);
        }
        bytes
    }
}

/// libnvinfer's doubles: prebuilt ones, or those that can be compiled here.
fn doubles() -> Vec<PathBuf> {
    let Some(folders) = variable("JETLAG_DOUBLES") else {
        return tensorrt::eras()
            .iter()
            .map(|double| double.infer.clone())
            .collect();
    };
    let is_infer = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("libnvinfer.so") || name.starts_with("libtensorrt_rtx.so")
    };
    std::env::split_paths(&folders)
        .flat_map(|folder| std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())))
        .map(|entry| entry.unwrap().path())
        .filter(is_infer)
        .collect()
}

/// Every type of output, a shape input (which stays in host memory), and a stated duration and traffic.
fn network(era_a: bool) -> String {
    let types: &[&str] = if era_a {
        &["f32", "f16", "i32", "i8", "bool"]
    } else {
        &["f32", "f16", "i32", "i8", "bool", "bf16", "i64", "u8"]
    };
    let mut text = format!(
        "double-network\ninput a f32 3x1000\ninput b i8 777\nshape_input size\ncompute_us {COMPUTE_US}\n\
         traffic_bytes 67108864\n"
    );
    for kind in types {
        text += &format!("output out_{kind} {kind} 2x300 only\n");
    }
    text + "layer only Relu\n"
}

/// Sets the addresses (inputs in order, the shape input's, outputs in order).
fn bind(context: &mut ExecutionContext, names: &[std::ffi::CString], addresses: &[*mut c_void]) {
    for (name, address) in names.iter().zip(addresses) {
        // SAFETY: the callers' memory is large enough and lives through their frames.
        unsafe { context.set_tensor_address(name, *address) }.unwrap();
    }
}

#[test]
fn a_frame_on_the_gpu_gives_what_the_host_computes_and_takes_the_time_it_states() {
    let Some(cuda) = Cuda::open() else { return };
    let doubles = doubles();
    assert!(
        !doubles.is_empty() || variable("JETLAG_DOUBLES").is_none(),
        "no doubles in JETLAG_DOUBLES"
    );
    for file in doubles {
        let library = Library::open(&file).unwrap();
        let builder = library.builder().unwrap();
        let mut parser = builder
            .network(NetworkOptions::default())
            .unwrap()
            .parser()
            .unwrap();
        let era_a = library.version().era() == tensorrt_dyn::Era::A;
        parser.parse(network(era_a).as_bytes(), "a network").unwrap();
        let config = builder.config().unwrap();
        let profile = builder.optimization_profile().unwrap();
        for selector in ProfileSelector::ALL {
            profile.set_shape_values("size", *selector, &[3]).unwrap();
        }
        config.add_optimization_profile(&profile).unwrap();
        let plan = builder.build(&parser, &config).unwrap();
        let engine = library.runtime().unwrap().engine(plan.bytes()).unwrap();
        let tensors = engine.tensors().unwrap();
        let names: Vec<_> = tensors.iter().map(|tensor| tensor.name.clone()).collect();

        let sizes: Vec<usize> = tensors
            .iter()
            .map(|tensor| 8 * tensor.shape.iter().product::<i64>() as usize)
            .collect();
        let mut host: Vec<Vec<u64>> = sizes.iter().map(|size| vec![0; size / 8]).collect();
        for (k, input) in host.iter_mut().take(2).enumerate() {
            for (i, word) in input.iter_mut().enumerate() {
                *word = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> k;
            }
        }
        host[2][0] = 3;
        let bytes = |words: &[u64]| {
            words
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect::<Vec<u8>>()
        };
        let device: Vec<u64> = host.iter().map(|words| cuda.memory(&bytes(words))).collect();

        let mut on_host = engine.context(ContextMemory::Own).unwrap();
        let addresses: Vec<*mut c_void> = host.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
        bind(&mut on_host, &names, &addresses);
        // SAFETY: host memory of every tensor's size, which the loop above gave.
        unsafe { on_host.enqueue(std::ptr::null_mut()) }.unwrap();

        let stream = cuda.stream();
        let mut on_device = engine.context(ContextMemory::Own).unwrap();
        let mut addresses: Vec<*mut c_void> = device.iter().map(|address| *address as *mut c_void).collect();
        addresses[2] = host[2].as_mut_ptr().cast(); // shape values lie in host memory
        bind(&mut on_device, &names, &addresses);
        // The first frame compiles the kernels.
        // SAFETY: device memory of every tensor's size, and a living stream.
        unsafe { on_device.enqueue(stream) }.unwrap();
        cuda.wait(stream);
        let begin = Instant::now();
        // SAFETY: as above.
        unsafe { on_device.enqueue(stream) }.unwrap();
        let returned = begin.elapsed();
        cuda.wait(stream);
        let took = begin.elapsed();
        println!(
            "{}: {COMPUTE_US} us stated, {took:?} taken, enqueue returned after {returned:?}",
            library.version()
        );
        // The timer of the GPU steps by up to a microsecond.
        assert!(took.as_micros() as u64 + 2 >= COMPUTE_US, "{took:?}");
        for (index, name) in names.iter().enumerate().skip(3) {
            let got = cuda.read(device[index], sizes[index]);
            assert_eq!(got, bytes(&host[index]), "{}: {name:?}", library.version());
        }
        drop(on_device);
    }
}
