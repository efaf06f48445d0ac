//! What the binding costs: `enqueueV3` beside the same call from C++, and loading beside a bare `dlopen`.
//!
//! `cargo bench -p tensorrt-dyn --bench enqueue`. Budgets: an enqueue costs at most 50 ns more than from C++; loading
//! and the first call take at most 50 ms beyond what `dlopen` takes. Both loops run against the C++ double in one
//! process, in rounds that take turns, and the median of the rounds counts. Loading is measured in fresh processes,
//! with the double and, where the Python environments of the set-up script (or `JETLAG_VENVS`) are there, with
//! TensorRT-RTX 1.7. A plain program and not a divan benchmark, because the difference is the result.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark reports on stdout"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nvidia_doubles::tensorrt::{self, Double};
use tensorrt_dyn::{ContextMemory, ExecutionContext, Library, NetworkOptions};

const NETWORK: &str = "double-network\ninput x f32 4\noutput y f32 4\nlayer only Relu\n";
const ROUNDS: usize = 301;
const CALLS: u64 = 20_000;
const PROCESSES: usize = 15;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, way, file] = &arguments[..]
        && matches!(way.as_str(), "dlopen" | "open" | "builder")
    {
        println!("{}", load(way, Path::new(file)).as_nanos());
        return;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        return; // `cargo test --benches` wants to know only that it starts
    }
    println!("enqueueV3, median of {ROUNDS} rounds of {CALLS} calls each, ns a call");
    println!("{:<28}{:>9}{:>9}{:>12}", "", "C++", "Rust", "difference");
    for double in tensorrt::eras() {
        let [cpp, rust, difference] = enqueue(double);
        println!("{:<28}{cpp:>9.1}{rust:>9.1}{difference:>12.1}", double.version);
    }
    println!("\nloading, median of {PROCESSES} fresh processes, ms");
    println!(
        "{:<28}{:>9}{:>9}{:>12}{:>16}",
        "", "dlopen", "open", "+ builder", "beyond dlopen"
    );
    let double = tensorrt::era('C').unwrap();
    report(&double.version, &double.infer);
    match rtx() {
        Some(file) => report("TensorRT-RTX 1.7", &file),
        None => println!("TensorRT-RTX 1.7: not found (scripts/setup.sh --test gets it)"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds a call from C++, through the binding, and the median of the rounds' differences.
fn enqueue(double: &Double) -> [f64; 3] {
    let library = Library::open(&double.infer).unwrap();
    let control = double.control();
    control.set_compute(false);
    let builder = library.builder().unwrap();
    let mut parser = builder
        .network(NetworkOptions::default())
        .unwrap()
        .parser()
        .unwrap();
    parser.parse(NETWORK.as_bytes(), "a network").unwrap();
    let plan = builder.build(&parser, &builder.config().unwrap()).unwrap();
    let engine = library.runtime().unwrap().engine(plan.bytes()).unwrap();
    let mut context = engine.context(ContextMemory::Own).unwrap();
    let (x, mut y) = ([0.0_f32; 4], [0.0_f32; 4]);
    // SAFETY: both live to the end of this function.
    unsafe {
        context.set_input_address(c"x", x.as_ptr().cast()).unwrap();
        context.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
    }
    let per_call = |nanos: f64| nanos / CALLS as f64;
    let cpp = |context: &mut ExecutionContext| {
        // SAFETY: a living context of this library.
        let nanos = unsafe { control.bench_enqueue(context.as_raw(), std::ptr::null_mut(), CALLS) };
        per_call(nanos.unwrap() as f64)
    };
    let rust = |context: &mut ExecutionContext| {
        let begin = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: the addresses are set and valid; nothing is computed.
            unsafe { context.enqueue(std::ptr::null_mut()) }.unwrap();
        }
        per_call(begin.elapsed().as_nanos() as f64)
    };
    let (mut from_cpp, mut from_rust, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (a, b) = if round % 2 == 0 {
            let a = cpp(&mut context);
            (a, rust(&mut context))
        } else {
            let b = rust(&mut context);
            (cpp(&mut context), b)
        };
        from_cpp.push(a);
        from_rust.push(b);
        differences.push(b - a);
    }
    [median(from_cpp), median(from_rust), median(differences)]
}

/// Loads a library in this fresh process.
fn load(way: &str, file: &Path) -> Duration {
    let begin = Instant::now();
    if way == "dlopen" {
        use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: the library's initialisers are what is measured.
        std::mem::forget(unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_LOCAL) }.unwrap());
        return begin.elapsed();
    }
    let library = Library::open(file).unwrap();
    if way == "builder" {
        let builder = library.builder().unwrap();
        let took = begin.elapsed();
        drop(builder);
        return took;
    }
    begin.elapsed()
}

fn report(name: &str, file: &Path) {
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..PROCESSES {
        for (way, times) in ["dlopen", "open", "builder"].iter().zip(&mut times) {
            let output = Command::new(std::env::current_exe().unwrap())
                .arg(way)
                .arg(file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let nanos: f64 = said
                .trim()
                .parse()
                .unwrap_or_else(|_| panic!("{way}: {output:?}"));
            times.push(nanos / 1e6);
        }
    }
    let [dlopen, open, builder] = times.map(median);
    println!(
        "{name:<28}{dlopen:>9.3}{open:>9.3}{builder:>12.3}{:>16.3}",
        builder - dlopen
    );
}

/// TensorRT-RTX 1.7 of the Python wheels.
fn rtx() -> Option<PathBuf> {
    let venvs = std::env::var_os("JETLAG_VENVS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venvs"),
        PathBuf::from,
    );
    let lib = venvs.join("rtx-1.7/lib");
    let packages = std::fs::read_dir(lib)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    packages
        .map(|python| python.join("site-packages/tensorrt_rtx_libs/libtensorrt_rtx.so.1"))
        .find(|file| file.is_file())
}
