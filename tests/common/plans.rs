//! Networks of TensorRT's double, on their way to a plan.

use tensorrt_dyn::{Builder, Library, NetworkOptions, OnnxParser};

/// A builder, and a parser that has read this network.
pub fn read(library: Library, network: &[u8]) -> (Builder, OnnxParser) {
    let builder = library.builder().unwrap();
    let empty = builder.network(NetworkOptions::default()).unwrap();
    let mut parser = empty.parser().unwrap();
    parser.parse(network, "a network").unwrap();
    (builder, parser)
}
