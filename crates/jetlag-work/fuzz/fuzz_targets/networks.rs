//! `cargo +nightly fuzz run networks`, from the crate's folder, with ONNX files as its corpus. Whatever the bytes are, there is
//! no panic, and an error is one line.
#![no_main]

use jetlag_work::prune::{Mode, PruneError, Pruner};
use jetlag_work::{As, Given, Graph, Optimiser, Options, WorkError, pagoda, text, work};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = everything(bytes) {
        let line = error.to_string();
        assert!(!line.is_empty());
    }
});

fn everything(bytes: &[u8]) -> Result<(), WorkError> {
    let graph = Graph::from_bytes(bytes)?;
    let mut given = Given::default();
    // What is open is 2.
    for input in graph.inputs() {
        for dim in input.shape.unwrap_or_default() {
            if let jetlag_work::Dim::Named(name) = dim {
                given.dims.insert(name, 2);
            }
        }
    }
    drop(pagoda(&graph, &given, 2, true));
    let options = Options {
        element: As::Fp16,
        training: Some(Optimiser::Adam),
    };
    let made = work(&graph, &given, &options)?;
    assert!(made.totals.flops >= 2 * made.totals.macs);
    assert!(!text(&made, 80).is_empty());
    if let Err(error) = pruned(bytes, &given) {
        assert!(!error.to_string().is_empty());
    }
    Ok(())
}

fn pruned(bytes: &[u8], given: &Given) -> Result<(), PruneError> {
    let pruner = Pruner::new(bytes.to_vec(), given)?;
    for mode in [Mode::L1, Mode::Random { seed: 1 }] {
        let order = pruner.order(mode)?;
        for level in [5, 50, 99] {
            let counts = pruner.variant(&order, level)?.counts;
            assert!(counts.channels.after <= counts.channels.before);
        }
    }
    Ok(())
}
