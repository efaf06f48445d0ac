//! Traces a few kernels of known duration, copies, a fill and a graph of its own on the first device, and prints what came:
//!
//! ```text
//! cargo run --release -p cupti-dyn --example trace [LIBCUPTI]
//! ```
//!
//! It ends with 1 where a kernel's record is off by more than 1 % or 2 µs, or where something was lost.

#![allow(clippy::print_stdout, reason = "it prints")]

use std::process::ExitCode;

use cupti_dyn::sys::{Domain, ExternalKind};
use cupti_dyn::{CaptureTag, Driver, Kind, Library, NodeTags, Record, Search, Session, Settings};

mod driver;

use driver::Cuda;

/// How long the kernels are busy.
const BUSY_NS: [u64; 4] = [20_000, 100_000, 500_000, 2_000_000];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let explicit = std::env::args_os()
        .nth(1)
        .map(|path| ("the command line".to_owned(), path.into()));
    let search = Search {
        explicit,
        ..Search::default()
    };
    let driver = Driver::open()?;
    let library = Library::find(&search, driver)?;
    println!(
        "{} at {}, driver of CUDA {}",
        library.version(),
        library.path().display(),
        driver.version()
    );
    let settings = Settings {
        graph_nodes: true,
        ..Settings::default()
    };
    let mut session = Session::open(library, &settings)?;
    session.enable(&[
        Kind::DEVICE,
        Kind::CONTEXT,
        Kind::STREAM,
        Kind::CONCURRENT_KERNEL,
        Kind::MEMCPY,
        Kind::MEMSET,
        Kind::DRIVER,
        Kind::RUNTIME,
        Kind::SYNCHRONIZATION,
        Kind::CUDA_EVENT,
        Kind::OVERHEAD,
        Kind::EXTERNAL_CORRELATION,
        Kind::COMPUTE_ENGINE_CTX_SWITCH,
    ])?;
    for refusal in session.refused() {
        println!("not to be had: {refusal}");
    }
    let cuda = Cuda::new();
    let stream = cuda.stream();
    session.self_test(Kind::CONCURRENT_KERNEL, || {
        cuda.busy(stream, 10_000, 1);
        cuda.synchronize(stream);
    })?;
    println!("self-test passed");

    let memory = cuda.memory(1 << 20);
    let mut host = vec![1; 1 << 20];
    cuda.copy_to(stream, memory, &host);
    cuda.fill(stream, memory);
    for nanos in BUSY_NS {
        let _frame = library.tag(ExternalKind::CUSTOM0, nanos)?;
        cuda.busy(stream, nanos, 4);
    }
    let (second, event) = (cuda.stream(), cuda.event());
    cuda.record(event, stream);
    cuda.wait_for(second, event);
    cuda.busy(second, 50_000, 1);
    cuda.synchronize(second);
    cuda.copy_from(stream, memory, &mut host);
    let graph = cuda.capture(stream, || {
        for layer in [7, 8] {
            let _layer = CaptureTag::set(layer);
            cuda.busy(stream, 30_000, 2);
        }
    });
    cuda.launch(graph, stream);
    cuda.launch(graph, stream);
    cuda.synchronize_all();

    let mut tags = NodeTags::default();
    session
        .graph_nodes()
        .into_iter()
        .for_each(|event| tags.push(event));
    let mut records = Vec::new();
    let ended = session.finish(|record| records.push(record));
    let all_right = print(&records, library, &tags);
    for sentence in ended.loss.sentences() {
        println!("{sentence}");
    }
    for error in &ended.failed {
        println!("{error}");
    }
    println!("{} records; clock {:?}", ended.loss.counts.records, ended.clock);
    Ok(ExitCode::from(u8::from(!(all_right && ended.loss.is_none()))))
}

/// Prints the records, and whether the kernels were as long as they were told.
fn print(records: &[Record], library: Library, tags: &NodeTags) -> bool {
    let first = records
        .iter()
        .filter_map(Record::device_span)
        .map(|(start, _)| start)
        .min()
        .unwrap_or(0);
    let at = |stamp: u64| (stamp as f64 - first as f64) / 1000.0;
    let (mut told, mut all_right) = (BUSY_NS.iter(), true);
    for record in records {
        match record {
            Record::Kernel(kernel) => {
                let length = kernel.end - kernel.start;
                let tag = tags
                    .tag(kernel.graph_node)
                    .map_or_else(String::new, |tag| format!(", layer {tag}"));
                println!(
                    "{:10.1} µs  kernel {} {:.1} µs, stream {}, correlation {}, graph {} node {}{tag}",
                    at(kernel.start),
                    kernel.name.as_deref().unwrap_or("?"),
                    length as f64 / 1000.0,
                    kernel.stream,
                    kernel.correlation,
                    kernel.graph,
                    kernel.graph_node,
                );
                if let Some(busy) = told.next().filter(|_| kernel.graph == 0) {
                    all_right &= length.abs_diff(*busy) <= (busy / 100).max(2000);
                }
            }
            Record::DriverCall(call) | Record::RuntimeCall(call) => {
                let domain = match record {
                    Record::DriverCall(_) => Domain::DRIVER_API,
                    _ => Domain::RUNTIME_API,
                };
                let name = library.call_name(domain, call.function).unwrap_or_default();
                println!(
                    "{:10.1} µs  {name} {:.1} µs, thread {}, correlation {}",
                    at(call.start),
                    (call.end - call.start) as f64 / 1000.0,
                    call.thread,
                    call.correlation
                );
            }
            other => println!("               {other:?}"),
        }
    }
    all_right && told.next().is_none()
}
