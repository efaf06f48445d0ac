// Records as this release's headers lay them out, filled from an Activity. No byte is placed by hand.
#pragma once

#include "control.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

#include <cstring>
#include <vector>

namespace cupti_double
{

#if CUPTI_API_VERSION >= 130400
using Kernel = CUpti_ActivityKernel13;
using Copy = CUpti_ActivityMemcpy7;
using Fill = CUpti_ActivityMemset5;
#elif CUPTI_API_VERSION >= 130300
using Kernel = CUpti_ActivityKernel12;
using Copy = CUpti_ActivityMemcpy6;
using Fill = CUpti_ActivityMemset4;
#elif CUPTI_API_VERSION >= 130100
using Kernel = CUpti_ActivityKernel11;
using Copy = CUpti_ActivityMemcpy6;
using Fill = CUpti_ActivityMemset4;
#elif CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;
using Fill = CUpti_ActivityMemset4;
#elif CUPTI_API_VERSION >= 26
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy6;
using Fill = CUpti_ActivityMemset4;
#elif CUPTI_API_VERSION >= 20
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy5;
using Fill = CUpti_ActivityMemset4;
#else
using Kernel = CUpti_ActivityKernel7;
using Copy = CUpti_ActivityMemcpy5;
using Fill = CUpti_ActivityMemset4;
#endif

#if CUPTI_API_VERSION >= 26
using Wait = CUpti_ActivitySynchronization2;
#else
using Wait = CUpti_ActivitySynchronization;
#endif

#if CUPTI_API_VERSION >= 22
using Overhead = CUpti_ActivityOverhead3;
using GraphLaunch = CUpti_ActivityGraphTrace2;
using Device = CUpti_ActivityDevice5;
#else
using Overhead = CUpti_ActivityOverhead;
using GraphLaunch = CUpti_ActivityGraphTrace;
using Device = CUpti_ActivityDevice4;
#endif

#if CUPTI_API_VERSION >= 130500
using EventRecord = CUpti_ActivityCudaEvent3;
#elif CUPTI_API_VERSION >= 26
using EventRecord = CUpti_ActivityCudaEvent2;
#else
using EventRecord = CUpti_ActivityCudaEvent;
#endif

#if CUPTI_API_VERSION >= 130000
using MarkerData = CUpti_ActivityMarkerData2;
#else
using MarkerData = CUpti_ActivityMarkerData;
#endif

#if CUPTI_API_VERSION >= 130100
using Context = CUpti_ActivityContext4;
#elif CUPTI_API_VERSION >= 23
using Context = CUpti_ActivityContext3;
#elif CUPTI_API_VERSION >= 22
using Context = CUpti_ActivityContext2;
#else
using Context = CUpti_ActivityContext;
#endif

/// How long this release's records of a kind are; 0 for kinds that the double does not have.
inline std::size_t ownLength(uint32_t kind)
{
    switch (kind)
    {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(Kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(Copy);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(Fill);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(Wait);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(Overhead);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_MARKER_DATA: return sizeof(MarkerData);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(GraphLaunch);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(Device);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(Context);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return sizeof(EventRecord);
    case CUPTI_ACTIVITY_KIND_NAME: return sizeof(CUpti_ActivityName);
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT: return sizeof(CUpti_ActivityEnvironment);
    default: return 0;
    }
}

/// Work on a device, which stands in a buffer of the device's until it is read.
inline bool isWork(uint32_t kind)
{
    return kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
        || kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2 || kind == CUPTI_ACTIVITY_KIND_MEMSET
        || kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
}

/// The bytes of a record that a function fills.
template <class Record, class Fill>
std::vector<unsigned char> bytesOf(uint32_t kind, Fill fill)
{
    Record record;
    std::memset(static_cast<void*>(&record), 0, sizeof record);
    record.kind = static_cast<CUpti_ActivityKind>(kind);
    fill(record);
    std::vector<unsigned char> bytes(sizeof record);
    std::memcpy(bytes.data(), &record, sizeof record);
    return bytes;
}

/// Where work on a device ran and when: in every record of it under the same names.
template <class Record> void place(Record& record, Activity const& a)
{
    record.start = a.start;
    record.end = a.end;
    record.deviceId = a.device;
    record.contextId = a.context;
    record.streamId = a.stream;
    record.correlationId = a.correlation;
    record.graphId = a.graph;
}

/// Of which node and graph work in a graph was made: in records of it from 13.4 on.
template <class Record> void derive([[maybe_unused]] Record& record, [[maybe_unused]] Activity const& a)
{
#if CUPTI_API_VERSION >= 130400
    record.sourceGraphId = a.source_graph;
    record.sourceGraphNodeId = a.source_node;
#endif
}

template <class Record> void copied(Record& record, Activity const& a)
{
    place(record, a);
    record.copyKind = static_cast<uint8_t>(a.what);
    record.srcKind = static_cast<uint8_t>(a.source);
    record.dstKind = static_cast<uint8_t>(a.destination);
    record.flags = static_cast<uint8_t>(a.flags);
    record.bytes = a.bytes;
    record.graphNodeId = a.graph_node;
}

/// The record of an activity; empty for kinds that the double does not have.
inline std::vector<unsigned char> record(Activity const& a, uint32_t process, uint32_t thread)
{
    switch (a.kind)
    {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return bytesOf<Kernel>(a.kind, [&](Kernel& r) {
            place(r, a);
            r.gridX = static_cast<int32_t>(a.grid[0]);
            r.gridY = static_cast<int32_t>(a.grid[1]);
            r.gridZ = static_cast<int32_t>(a.grid[2]);
            r.blockX = static_cast<int32_t>(a.block[0]);
            r.blockY = static_cast<int32_t>(a.block[1]);
            r.blockZ = static_cast<int32_t>(a.block[2]);
            r.registersPerThread = 32;
            r.dynamicSharedMemory = static_cast<int32_t>(a.bytes);
            r.graphNodeId = a.graph_node;
            derive(r, a);
            r.name = a.name;
            r.channelID = 7;
            r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
#if CUPTI_API_VERSION >= 18
            r.clusterX = 1;
            r.localMemoryTotal_v2 = 1ULL << 33;
#endif
#if CUPTI_API_VERSION >= 130100
            r.priority = a.priority;
#endif
        });
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return bytesOf<Copy>(a.kind, [&](Copy& r) {
            copied(r, a);
            derive(r, a);
        });
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return bytesOf<CUpti_ActivityMemcpyPtoP4>(a.kind, [&](CUpti_ActivityMemcpyPtoP4& r) { copied(r, a); });
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return bytesOf<Fill>(a.kind, [&](Fill& r) {
            place(r, a);
            derive(r, a);
            r.value = a.what;
            r.flags = static_cast<uint16_t>(a.flags);
            r.bytes = a.bytes;
            r.memoryKind = static_cast<uint16_t>(a.destination);
            r.graphNodeId = a.graph_node;
        });
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
        return bytesOf<CUpti_ActivityAPI>(a.kind, [&](CUpti_ActivityAPI& r) {
            r.cbid = a.function;
            r.start = a.start;
            r.end = a.end;
            r.processId = process;
            r.threadId = thread;
            r.correlationId = a.correlation;
            r.returnValue = a.answer;
        });
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return bytesOf<Wait>(a.kind, [&](Wait& r) {
            r.type = static_cast<CUpti_ActivitySynchronizationType>(a.what);
            r.start = a.start;
            r.end = a.end;
            r.correlationId = a.correlation;
            r.contextId = a.context;
            r.streamId = a.stream;
            r.cudaEventId = a.source;
#if CUPTI_API_VERSION >= 26
            r.cudaEventSyncId = a.source_node;
            r.returnValue = a.answer;
#endif
        });
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return bytesOf<Overhead>(a.kind, [&](Overhead& r) {
            r.overheadKind = static_cast<CUpti_ActivityOverheadKind>(a.what);
            r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
            r.objectId.pt.processId = process;
            r.objectId.pt.threadId = thread;
            r.start = a.start;
            r.end = a.end;
        });
    case CUPTI_ACTIVITY_KIND_MARKER:
        return bytesOf<CUpti_ActivityMarker2>(a.kind, [&](CUpti_ActivityMarker2& r) {
            r.flags = static_cast<CUpti_ActivityFlag>(a.function);
            r.timestamp = a.start;
            r.id = a.source;
            r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
            r.objectId.pt.processId = process;
            r.objectId.pt.threadId = thread;
            r.name = a.name;
            r.domain = a.domain;
        });
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
        return bytesOf<MarkerData>(a.kind, [&](MarkerData& r) {
            r.flags = static_cast<CUpti_ActivityFlag>(a.flags);
            r.id = a.source;
            r.payloadKind = static_cast<CUpti_MetricValueKind>(a.answer);
            r.color = a.colour;
            r.payload.metricValueUint64 = a.bytes;
            r.category = a.what;
        });
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return bytesOf<CUpti_ActivityExternalCorrelation>(a.kind, [&](CUpti_ActivityExternalCorrelation& r) {
            r.externalKind = static_cast<CUpti_ExternalCorrelationKind>(a.what);
            r.externalId = a.bytes;
            r.correlationId = a.correlation;
        });
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return bytesOf<GraphLaunch>(a.kind, [&](GraphLaunch& r) { place(r, a); });
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return bytesOf<Device>(a.kind, [&](Device& r) {
            r.id = a.device;
            r.name = a.name;
            r.numMultiprocessors = a.what;
            r.globalMemorySize = a.bytes;
            r.computeCapabilityMajor = a.flags / 10;
            r.computeCapabilityMinor = a.flags % 10;
        });
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return bytesOf<Context>(a.kind, [&](Context& r) {
            r.contextId = a.context;
            r.deviceId = a.device;
            r.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
            r.nullStreamId = static_cast<uint16_t>(a.stream);
#if CUPTI_API_VERSION >= 22
            r.parentContextId = a.source;
            r.isGreenContext = static_cast<uint8_t>(a.flags);
#endif
#if CUPTI_API_VERSION >= 23
            r.numMultiprocessors = static_cast<uint16_t>(a.flags != 0 ? a.what : 0);
#endif
        });
    case CUPTI_ACTIVITY_KIND_STREAM:
        return bytesOf<CUpti_ActivityStream>(a.kind, [&](CUpti_ActivityStream& r) {
            r.contextId = a.context;
            r.streamId = a.stream;
            r.priority = static_cast<uint32_t>(a.priority);
            r.flag = static_cast<CUpti_ActivityStreamFlag>(a.flags);
            r.correlationId = a.correlation;
        });
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return bytesOf<EventRecord>(a.kind, [&](EventRecord& r) {
            r.correlationId = a.correlation;
            r.contextId = a.context;
            r.streamId = a.stream;
            r.eventId = a.source;
#if CUPTI_API_VERSION >= 26
            r.deviceId = a.device;
            r.cudaEventSyncId = a.source_node;
#endif
        });
    case CUPTI_ACTIVITY_KIND_NAME:
        return bytesOf<CUpti_ActivityName>(a.kind, [&](CUpti_ActivityName& r) {
            r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
            r.objectId.pt.processId = process;
            r.objectId.pt.threadId = thread;
            r.name = a.name;
        });
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
        return bytesOf<CUpti_ActivityEnvironment>(a.kind, [&](CUpti_ActivityEnvironment& r) {
            r.deviceId = a.device;
            r.timestamp = a.start;
            r.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_POWER;
            r.data.power.power = static_cast<uint32_t>(a.bytes);
            r.data.power.powerLimit = 700000;
        });
    default: return {};
    }
}

} // namespace cupti_double
