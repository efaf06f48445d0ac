//! What is not work: ranges and their numbers, devices, contexts, streams, names, readings, memory, the tracer's own cost.

use super::field::{Text, Uuid, field_from, field_if, field_type, field_value, field_width, records};
use crate::sys::{
    ComputeApi, EnvironmentKind, ExternalKind, MarkerFlags, MemoryKind, MemoryOperation, ObjectKind,
    OverheadKind, StreamFlag,
};

records! {
    /// Time that CUPTI, the driver or the compiler took for itself.
    Overhead of OVERHEAD {
        /// What took it.
        kind: OverheadKind(u32) = "overheadKind" @ 4;
        /// What it belongs to.
        object: ObjectKind(u32) = "objectKind" @ 8;
        /// The process of a thread, or the device of a context or stream.
        object_first: u32 = "objectId.pt.processId" @ 12;
        /// The thread, or the context.
        object_second: u32 = "objectId.pt.threadId" @ 16;
        /// The stream.
        object_third: u32 = "objectId.dcs.streamId" @ 20;
        /// Begin on the host.
        start: u64 = "start" @ 24;
        /// End on the host.
        end: u64 = "end" @ 32;
        /// The call, from 12.3 on.
        correlation: u32 = "correlationId" @ 40 from 48;
    }

    /// Begin or end of an NVTX range, or a mark.
    Marker of MARKER {
        /// Which of these.
        flags: MarkerFlags(u32) = "flags" @ 4;
        /// When.
        timestamp: u64 = "timestamp" @ 8;
        /// What begin and end have in common.
        id: u32 = "id" @ 16;
        /// What it belongs to.
        object: ObjectKind(u32) = "objectKind" @ 20;
        /// The process of a thread.
        object_first: u32 = "objectId.pt.processId" @ 24;
        /// The thread.
        object_second: u32 = "objectId.pt.threadId" @ 28;
        /// The name; an end has none.
        name: Text = "name" @ 40;
        /// The domain; none is NVTX's default.
        domain: Text = "domain" @ 48;
    }

    /// Payload, colour and category of a range.
    MarkerData of MARKER_DATA {
        /// 1: no colour, 2: the colour is ARGB.
        flags: u32 = "flags" @ 4;
        /// The range's number.
        id: u32 = "id" @ 8;
        /// What the payload is, by CUPTI's kinds of metric values.
        payload_kind: u32 = "payloadKind" @ 12;
        /// The payload's bits.
        payload: u64 = "payload.metricValueUint64" @ 16;
        /// The colour.
        colour: u32 = "color" @ 24;
        /// The category.
        category: u32 = "category" @ 28;
        /// The domain's number, from 13.0 on.
        domain: u32 = "cuptiDomainId" @ 32 from 40;
    }

    /// The number that a caller had pushed when the call with this correlation was made.
    ExternalCorrelation of EXTERNAL_CORRELATION {
        /// The stack that it was on.
        kind: ExternalKind(u32) = "externalKind" @ 4;
        /// The caller's number.
        id: u64 = "externalId" @ 8;
        /// The call.
        correlation: u32 = "correlationId" @ 16;
    }

    /// A device.
    Device of DEVICE {
        /// Its number.
        device: u32 = "id" @ 112;
        /// Its name.
        name: Text = "name" @ 136;
        /// Its number for life.
        uuid: Uuid = "uuid" @ 120;
        /// Compute capability, before the dot.
        capability_major: u32 = "computeCapabilityMajor" @ 104;
        /// After the dot.
        capability_minor: u32 = "computeCapabilityMinor" @ 108;
        /// Bandwidth of its memory in kilobytes a second.
        memory_bandwidth_kb_s: u64 = "globalMemoryBandwidth" @ 8;
        /// Its memory in bytes.
        memory_bytes: u64 = "globalMemorySize" @ 16;
        /// Its second-level cache in bytes.
        l2_bytes: u32 = "l2CacheSize" @ 28;
        /// Threads of a warp.
        warp_threads: u32 = "numThreadsPerWarp" @ 32;
        /// The most that its clock does, in kHz.
        core_clock_khz: u32 = "coreClockRate" @ 36;
        /// Copy engines.
        copy_engines: u32 = "numMemcpyEngines" @ 40;
        /// Multiprocessors.
        multiprocessors: u32 = "numMultiprocessors" @ 44;
        /// Warps that a multiprocessor holds.
        most_warps: u32 = "maxWarpsPerMultiprocessor" @ 52;
        /// Blocks that a multiprocessor holds.
        most_blocks: u32 = "maxBlocksPerMultiprocessor" @ 56;
        /// Shared memory of a multiprocessor, in bytes.
        shared_bytes: u32 = "maxSharedMemoryPerMultiprocessor" @ 60;
        /// Registers of a multiprocessor.
        registers: u32 = "maxRegistersPerMultiprocessor" @ 64;
        /// Registers that a block may have.
        block_registers: u32 = "maxRegistersPerBlock" @ 68;
        /// Shared memory that a block may have, in bytes.
        block_shared_bytes: u32 = "maxSharedMemoryPerBlock" @ 72;
        /// Threads that a block may have.
        block_threads: u32 = "maxThreadsPerBlock" @ 76;
        /// Whether it is a part of a device (MIG), from 11.6 on.
        is_mig: u8 = "isMigEnabled" @ 145 from 176;
    }

    /// A context.
    Context of CONTEXT {
        /// Its number.
        context: u32 = "contextId" @ 4;
        /// Its device.
        device: u32 = "deviceId" @ 8;
        /// CUDA itself, or MPS.
        api: ComputeApi(u16) = "computeApiKind" @ 12;
        /// The number of its null stream.
        null_stream: u16 = "nullStreamId" @ 14;
        /// The context that a green one is of, from 12.4 on.
        parent: u32 = "parentContextId" @ 16 from 24;
        /// Whether it is a green one, from 12.4 on.
        is_green: u8 = "isGreenContext" @ 20 from 24;
        /// A green one's multiprocessors, from 12.5 on.
        multiprocessors: u16 = "numMultiprocessors" @ 22 from 32;
        /// Its process, from 13.1 on.
        process: u64 = "processId" @ 32 from 40;
    }

    /// A stream.
    Stream of STREAM {
        /// Its context.
        context: u32 = "contextId" @ 4;
        /// Its number.
        stream: u32 = "streamId" @ 8;
        /// Its priority, as CUPTI has it.
        priority: u32 = "priority" @ 12;
        /// How it was made.
        flag: StreamFlag(u32) = "flag" @ 16;
        /// The call that made it.
        correlation: u32 = "correlationId" @ 20;
    }

    /// An event was recorded into a stream.
    EventRecord of CUDA_EVENT {
        /// The call.
        correlation: u32 = "correlationId" @ 4;
        /// The context.
        context: u32 = "contextId" @ 8;
        /// The stream.
        stream: u32 = "streamId" @ 12;
        /// The event.
        event: u32 = "eventId" @ 16;
        /// The device, from 12.8 on.
        device: u32 = "deviceId" @ 24 from 56;
        /// When the device came to it, from 12.8 on; 0 where that was not asked for.
        device_timestamp: u64 = "deviceTimestamp" @ 40 from 56;
        /// Which of the event's records this is, from 12.8 on.
        event_sync: u64 = "cudaEventSyncId" @ 48 from 56;
        /// The node of the graph that it is, from 13.5 on.
        graph_node: u64 = "graphNodeId" @ 56 from 80;
        /// The graph, from 13.5 on.
        graph: u32 = "graphId" @ 64 from 80;
    }

    /// A name that NVTX gave.
    Name of NAME {
        /// To what.
        object: ObjectKind(u32) = "objectKind" @ 4;
        /// The process of a thread, or the device of a context or stream.
        object_first: u32 = "objectId.pt.processId" @ 8;
        /// The thread, or the context.
        object_second: u32 = "objectId.pt.threadId" @ 12;
        /// The stream.
        object_third: u32 = "objectId.dcs.streamId" @ 16;
        /// The name.
        name: Text = "name" @ 24;
    }

    /// A reading of a device; [`Environment::reading`] says what of.
    Environment of ENVIRONMENT {
        /// The device.
        device: u32 = "deviceId" @ 4;
        /// When.
        timestamp: u64 = "timestamp" @ 8;
        /// What the words are.
        kind: EnvironmentKind(u32) = "environmentKind" @ 16;
        /// Multiprocessors' clock in MHz, degrees Celsius, milliwatts, or the fan's speed in per cent.
        first: u32 = "data.speed.smClock" @ 20;
        /// The memory's clock in MHz, or the limit in milliwatts.
        second: u32 = "data.speed.memoryClock" @ 24;
        /// Why clocks are held down, in bits.
        throttle: u32 = "data.speed.clocksThrottleReasons" @ 36;
    }

    /// Memory was taken or given back.
    Memory of MEMORY2 {
        /// Which of these.
        operation: MemoryOperation(u32) = "memoryOperationType" @ 4;
        /// What kind of memory.
        memory: MemoryKind(u32) = "memoryKind" @ 8;
        /// The call.
        correlation: u32 = "correlationId" @ 12;
        /// Where.
        address: u64 = "address" @ 16;
        /// How much.
        bytes: u64 = "bytes" @ 24;
        /// When.
        timestamp: u64 = "timestamp" @ 32;
        /// The process.
        process: u32 = "processId" @ 48;
        /// The device.
        device: u32 = "deviceId" @ 52;
        /// The context.
        context: u32 = "contextId" @ 56;
        /// The stream, where it was taken in one.
        stream: u32 = "streamId" @ 60;
        /// The variable's name, where it is one.
        name: Text = "name" @ 64;
    }

    /// A pool of memory was made, trimmed or destroyed.
    MemoryPool of MEMORY_POOL {
        /// 1 made, 2 destroyed, 3 trimmed.
        operation: u32 = "memoryPoolOperationType" @ 4;
        /// The call.
        correlation: u32 = "correlationId" @ 12;
        /// The device.
        device: u32 = "deviceId" @ 20;
        /// The pool.
        address: u64 = "address" @ 32;
        /// How much it holds, in bytes.
        bytes: u64 = "size" @ 40;
        /// How much it keeps, in bytes.
        kept_bytes: u64 = "releaseThreshold" @ 48;
        /// When.
        timestamp: u64 = "timestamp" @ 56;
    }

    /// The device's compute engine changed from one context to another.
    ContextSwitch of COMPUTE_ENGINE_CTX_SWITCH {
        /// The context.
        context: u32 = "contextId" @ 4;
        /// When.
        timestamp: u64 = "timestamp" @ 8;
        /// 1: the change began, 2: it ended.
        operation: u32 = "operationType" @ 16;
    }
}

/// What an [`Environment`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// Clocks.
    Clocks {
        /// The multiprocessors', in MHz.
        core_mhz: u32,
        /// The memory's, in MHz.
        memory_mhz: u32,
        /// Why they are held down, in bits.
        throttle: u32,
    },
    /// Degrees Celsius.
    Temperature(u32),
    /// Power.
    Power {
        /// Now, in milliwatts.
        power_mw: u32,
        /// The limit, in milliwatts.
        limit_mw: u32,
    },
    /// The fan's speed in per cent.
    Fan(u32),
}

impl Environment {
    /// What was read; none for a kind that is not known.
    #[must_use]
    pub fn reading(&self) -> Option<Reading> {
        Some(match self.kind {
            EnvironmentKind::SPEED => Reading::Clocks {
                core_mhz: self.first,
                memory_mhz: self.second,
                throttle: self.throttle,
            },
            EnvironmentKind::TEMPERATURE => Reading::Temperature(self.first),
            EnvironmentKind::POWER => Reading::Power {
                power_mw: self.first,
                limit_mw: self.second,
            },
            EnvironmentKind::COOLING => Reading::Fan(self.first),
            _ => return None,
        })
    }
}
