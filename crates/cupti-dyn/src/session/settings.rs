//! How a trace is set up.

/// How a trace is set up. What says so has to be known before CUDA is initialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What another tool is told that holds CUPTI's place, from 13.0 on.
    pub name: String,
    /// The size of a buffer.
    pub buffer_bytes: usize,
    /// The most buffers that there may be; when CUPTI needs more, it drops records and says how many.
    pub most_buffers: usize,
    /// Whether each thread that calls CUDA has a buffer of its own, from 12.3 on: they wait less for each other, and there have to
    /// be as many buffers. CUPTI 13.5 does so if it is not told.
    pub per_thread: bool,
    /// Whether kernels say when they were queued and submitted. Before CUDA is initialised.
    pub latency: bool,
    /// The size of the buffers on the device, 3.2 MB if nothing is said. Before CUDA is initialised.
    pub device_buffer_bytes: Option<usize>,
    /// The most buffers on the device of a context, 250 if nothing is said. Before CUDA is initialised.
    pub most_device_buffers: Option<usize>,
    /// Whether tags of graphs' nodes are noted ([`Session::graph_nodes`](crate::Session::graph_nodes)).
    pub graph_nodes: bool,
    /// Whether waits that only asked and did not wait are recorded, too; all are before 12.8.
    pub unfinished_queries: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "cupti-dyn".into(),
            buffer_bytes: 4 << 20,
            most_buffers: 16,
            per_thread: false,
            latency: false,
            device_buffer_bytes: None,
            most_device_buffers: None,
            graph_nodes: false,
            unfinished_queries: false,
        }
    }
}
