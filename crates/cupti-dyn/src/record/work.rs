//! Work on a device, and what a host did for it: kernels, copies, fills, graphs, calls, waits.

use super::field::{Text, field_from, field_if, field_type, field_value, field_width, records};
use crate::sys::{ChannelType, CopyKind, ExecutionModel, LaunchType, MemoryKind, SyncKind};

records! {
    /// A kernel.
    Kernel of CONCURRENT_KERNEL {
        /// Begin on the device.
        start: u64 = "start" @ 16;
        /// End on the device.
        end: u64 = "end" @ 24;
        /// The device.
        device: u32 = "deviceId" @ 40;
        /// The context.
        context: u32 = "contextId" @ 44;
        /// The stream.
        stream: u32 = "streamId" @ 48;
        /// Blocks of the grid, first direction.
        grid_x: i32 = "gridX" @ 52;
        /// Second direction.
        grid_y: i32 = "gridY" @ 56;
        /// Third direction.
        grid_z: i32 = "gridZ" @ 60;
        /// Threads of a block, first direction.
        block_x: i32 = "blockX" @ 64;
        /// Second direction.
        block_y: i32 = "blockY" @ 68;
        /// Third direction.
        block_z: i32 = "blockZ" @ 72;
        /// Registers of a thread.
        registers: u16 = "registersPerThread" @ 6;
        /// Shared memory of a block that the kernel declares, in bytes.
        static_shared_bytes: i32 = "staticSharedMemory" @ 76;
        /// Shared memory of a block that the launch asks for, in bytes.
        dynamic_shared_bytes: i32 = "dynamicSharedMemory" @ 80;
        /// Shared memory of a multiprocessor that the driver set aside, in bytes.
        shared_set_bytes: u32 = "sharedMemoryExecuted" @ 140;
        /// Local memory of a thread, in bytes.
        local_thread_bytes: u32 = "localMemoryPerThread" @ 84;
        /// The call that launched it; for a graph's node that of the graph's launch.
        correlation: u32 = "correlationId" @ 92;
        /// A number of its own.
        grid: i64 = "gridId" @ 96;
        /// Its name as the linker has it, mangled.
        name: Text = "name" @ 104;
        /// When it was put into the command buffer; 0 without latency stamps.
        queued: u64 = "queued" @ 120;
        /// When the command buffer went to the device; 0 without latency stamps.
        submitted: u64 = "submitted" @ 128;
        /// How it was launched.
        launch_type: LaunchType(u8) = "launchType" @ 136;
        /// The node of the graph that it is; 0 outside graphs.
        graph_node: u64 = "graphNodeId" @ 144;
        /// The graph; 0 outside graphs.
        graph: u32 = "graphId" @ 156;
        /// The channel it went through, from 11.6 on.
        channel: u32 = "channelID" @ 168 from 176;
        /// What kind of channel that is, from 11.6 on.
        channel_type: ChannelType(u32) = "channelType" @ 172 from 176;
        /// Blocks of a cluster, first direction; from 11.8 on.
        cluster_x: u32 = "clusterX" @ 176 from 200;
        /// Second direction.
        cluster_y: u32 = "clusterY" @ 180 from 200;
        /// Third direction.
        cluster_z: u32 = "clusterZ" @ 184 from 200;
        /// Local memory of all threads, in bytes; from 11.8 on.
        local_bytes: u64 = "localMemoryTotal_v2" @ 192 from 200;
        /// Whether a graph on the device launched it, from 13.0 on.
        is_device_launched: u8 = "isDeviceLaunched" @ 208 from 216;
        /// Its priority, from 13.1 on.
        priority: i32 = "priority" @ 216 from 224;
        /// How it is made, from 13.3 on.
        execution_model: ExecutionModel(u32) = "executionModel" @ 224 from 232;
        /// The graph that the executable one was made of, from 13.4 on.
        source_graph: u32 = "sourceGraphId" @ 232 from 248;
        /// The node that the executable graph's was made of, from 13.4 on.
        source_graph_node: u64 = "sourceGraphNodeId" @ 240 from 248;
    }

    /// A copy between host and device, or within one of them.
    Copy of MEMCPY {
        /// From where to where.
        kind: CopyKind(u8) = "copyKind" @ 4;
        /// The memory that it reads.
        source: MemoryKind(u8) = "srcKind" @ 5;
        /// The memory that it writes.
        destination: MemoryKind(u8) = "dstKind" @ 6;
        /// 1: the call did not wait for it.
        flags: u8 = "flags" @ 7;
        /// How much.
        bytes: u64 = "bytes" @ 8;
        /// Begin on the device.
        start: u64 = "start" @ 16;
        /// End on the device.
        end: u64 = "end" @ 24;
        /// The device.
        device: u32 = "deviceId" @ 32;
        /// The context.
        context: u32 = "contextId" @ 36;
        /// The stream.
        stream: u32 = "streamId" @ 40;
        /// The call that asked for it; for a graph's node that of the graph's launch.
        correlation: u32 = "correlationId" @ 44;
        /// The node of the graph that it is; 0 outside graphs.
        graph_node: u64 = "graphNodeId" @ 64;
        /// The graph; 0 outside graphs.
        graph: u32 = "graphId" @ 72;
        /// The channel it went through, from 11.6 on.
        channel: u32 = "channelID" @ 76 from 88;
        /// What kind of channel that is, from 11.6 on.
        channel_type: ChannelType(u32) = "channelType" @ 80 from 88;
        /// How many copies of a batch this is, from 12.8 on.
        copies: u64 = "copyCount" @ 88 from 96;
        /// The graph that the executable one was made of, from 13.4 on.
        source_graph: u32 = "sourceGraphId" @ 96 from 112;
        /// The node that the executable graph's was made of, from 13.4 on.
        source_graph_node: u64 = "sourceGraphNodeId" @ 104 from 112;
    }

    /// A copy between devices.
    PeerCopy of MEMCPY2 {
        /// From where to where.
        kind: CopyKind(u8) = "copyKind" @ 4;
        /// The memory that it reads.
        source: MemoryKind(u8) = "srcKind" @ 5;
        /// The memory that it writes.
        destination: MemoryKind(u8) = "dstKind" @ 6;
        /// 1: the call did not wait for it.
        flags: u8 = "flags" @ 7;
        /// How much.
        bytes: u64 = "bytes" @ 8;
        /// Begin on the device.
        start: u64 = "start" @ 16;
        /// End on the device.
        end: u64 = "end" @ 24;
        /// The device that does it.
        device: u32 = "deviceId" @ 32;
        /// The context.
        context: u32 = "contextId" @ 36;
        /// The stream.
        stream: u32 = "streamId" @ 40;
        /// The device that it reads.
        source_device: u32 = "srcDeviceId" @ 44;
        /// The device that it writes.
        destination_device: u32 = "dstDeviceId" @ 52;
        /// The call that asked for it; for a graph's node that of the graph's launch.
        correlation: u32 = "correlationId" @ 60;
        /// The node of the graph that it is; 0 outside graphs.
        graph_node: u64 = "graphNodeId" @ 72;
        /// The graph; 0 outside graphs.
        graph: u32 = "graphId" @ 80;
        /// The channel it went through, from 11.6 on.
        channel: u32 = "channelID" @ 84 from 96;
        /// What kind of channel that is, from 11.6 on.
        channel_type: ChannelType(u32) = "channelType" @ 88 from 96;
    }

    /// A fill.
    Fill of MEMSET {
        /// What it fills with.
        value: u32 = "value" @ 4;
        /// How much.
        bytes: u64 = "bytes" @ 8;
        /// Begin on the device.
        start: u64 = "start" @ 16;
        /// End on the device.
        end: u64 = "end" @ 24;
        /// The device.
        device: u32 = "deviceId" @ 32;
        /// The context.
        context: u32 = "contextId" @ 36;
        /// The stream.
        stream: u32 = "streamId" @ 40;
        /// The call that asked for it; for a graph's node that of the graph's launch.
        correlation: u32 = "correlationId" @ 44;
        /// 1: the call did not wait for it.
        flags: u16 = "flags" @ 48;
        /// The memory that it writes.
        memory: MemoryKind(u16) = "memoryKind" @ 50;
        /// The node of the graph that it is; 0 outside graphs.
        graph_node: u64 = "graphNodeId" @ 64;
        /// The graph; 0 outside graphs.
        graph: u32 = "graphId" @ 72;
        /// The channel it went through, from 11.6 on.
        channel: u32 = "channelID" @ 76 from 88;
        /// What kind of channel that is, from 11.6 on.
        channel_type: ChannelType(u32) = "channelType" @ 80 from 88;
        /// The graph that the executable one was made of, from 13.4 on.
        source_graph: u32 = "sourceGraphId" @ 88 from 104;
        /// The node that the executable graph's was made of, from 13.4 on.
        source_graph_node: u64 = "sourceGraphNodeId" @ 96 from 104;
    }

    /// A launch of a graph as a whole, from the begin of its first node to the end of its last.
    GraphLaunch of GRAPH_TRACE {
        /// The call that launched it.
        correlation: u32 = "correlationId" @ 4;
        /// Begin on the device.
        start: u64 = "start" @ 8;
        /// End on the device.
        end: u64 = "end" @ 16;
        /// The device of its first node.
        device: u32 = "deviceId" @ 24;
        /// The graph.
        graph: u32 = "graphId" @ 28;
        /// The context of its first node.
        context: u32 = "contextId" @ 32;
        /// The stream that it was launched into.
        stream: u32 = "streamId" @ 36;
        /// The device of its last node, from 12.3 on.
        end_device: u32 = "endDeviceId" @ 48 from 56;
        /// The context of its last node, from 12.3 on.
        end_context: u32 = "endContextId" @ 52 from 56;
    }

    /// A call of the driver or of the runtime.
    Call of RUNTIME {
        /// Which function; [`crate::Library::call_name`] has its name.
        function: u32 = "cbid" @ 4;
        /// Begin on the host.
        start: u64 = "start" @ 8;
        /// End on the host.
        end: u64 = "end" @ 16;
        /// The process.
        process: u32 = "processId" @ 24;
        /// The thread.
        thread: u32 = "threadId" @ 28;
        /// What the work that it asked for carries, too.
        correlation: u32 = "correlationId" @ 32;
        /// What it answered.
        answer: u32 = "returnValue" @ 36;
    }

    /// Somebody waited for a device.
    Synchronization of SYNCHRONIZATION {
        /// Who for what.
        kind: SyncKind(u32) = "type" @ 4;
        /// Begin on the host.
        start: u64 = "start" @ 8;
        /// End on the host.
        end: u64 = "end" @ 16;
        /// The call.
        correlation: u32 = "correlationId" @ 24;
        /// The context.
        context: u32 = "contextId" @ 28;
        /// The stream; all ones where it does not apply.
        stream: u32 = "streamId" @ 32;
        /// The event; all ones where it does not apply.
        event: u32 = "cudaEventId" @ 36;
        /// Which of the event's records this waits for, from 12.8 on.
        event_sync: u64 = "cudaEventSyncId" @ 40 from 56;
        /// What the call answered, from 12.8 on.
        answer: u32 = "returnValue" @ 48 from 56;
    }

    /// A host function that a graph ran.
    GraphHostNode of GRAPH_HOST_NODE {
        /// The stream.
        stream: u32 = "streamId" @ 4;
        /// The context.
        context: u32 = "contextId" @ 8;
        /// The device.
        device: u32 = "deviceId" @ 12;
        /// The call that launched the graph.
        correlation: u32 = "correlationId" @ 16;
        /// The graph.
        graph: u32 = "graphId" @ 20;
        /// The node.
        graph_node: u64 = "graphNodeId" @ 24;
        /// The thread.
        thread: u32 = "threadId" @ 36;
        /// Begin on the host.
        start: u64 = "start" @ 40;
        /// End on the host.
        end: u64 = "end" @ 48;
    }

    /// A host function that a stream ran.
    HostLaunch of HOST_LAUNCH {
        /// The stream.
        stream: u32 = "streamId" @ 4;
        /// The context.
        context: u32 = "contextId" @ 8;
        /// The device.
        device: u32 = "deviceId" @ 12;
        /// The call that put it there.
        correlation: u32 = "correlationId" @ 16;
        /// The thread.
        thread: u32 = "threadId" @ 24;
        /// Begin on the host.
        start: u64 = "start" @ 32;
        /// End on the host.
        end: u64 = "end" @ 40;
    }
}

/// A host function that a stream or a graph ran, from 13.1 on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostWork {
    /// The stream.
    pub stream: u32,
    /// The context.
    pub context: u32,
    /// The device.
    pub device: u32,
    /// The call that put it there or launched the graph.
    pub correlation: u32,
    /// Graph and node, where it is of one.
    pub node: Option<(u32, u64)>,
    /// The thread.
    pub thread: u32,
    /// Begin on the host.
    pub start: u64,
    /// End on the host.
    pub end: u64,
}

impl From<GraphHostNode> for HostWork {
    fn from(node: GraphHostNode) -> Self {
        Self {
            stream: node.stream,
            context: node.context,
            device: node.device,
            correlation: node.correlation,
            node: Some((node.graph, node.graph_node)),
            thread: node.thread,
            start: node.start,
            end: node.end,
        }
    }
}

impl From<HostLaunch> for HostWork {
    fn from(launch: HostLaunch) -> Self {
        Self {
            stream: launch.stream,
            context: launch.context,
            device: launch.device,
            correlation: launch.correlation,
            node: None,
            thread: launch.thread,
            start: launch.start,
            end: launch.end,
        }
    }
}
