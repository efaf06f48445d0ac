// The driver's double as the source of what happens: its calls, work, graphs, contexts and streams become CUPTI's records.
#include "state.h"

#include "../cuda/observe.h"

#include <cupti_driver_cbid.h>

#include <dlfcn.h>
#include <iterator>

namespace cupti_double
{
namespace
{

/// Since 12.4, 12.5 and 12.8 there are these, too.
#if CUPTI_API_VERSION >= 22
#define CALLS_124(X)                                                                                                   \
    X(cuDeviceGetDevResource) X(cuCtxGetDevResource) X(cuDevSmResourceSplitByCount) X(cuDevResourceGenerateDesc)       \
    X(cuGreenCtxCreate) X(cuGreenCtxDestroy) X(cuGreenCtxGetDevResource) X(cuCtxFromGreenCtx) X(cuCtxSetFlags)
#else
#define CALLS_124(X)
#endif
#if CUPTI_API_VERSION >= 23
#define CALLS_125(X) X(cuGreenCtxStreamCreate)
#else
#define CALLS_125(X)
#endif
#if CUPTI_API_VERSION >= 26
#define CALLS_128(X) X(cuEventElapsedTime_v2)
#else
#define CALLS_128(X)
#endif

/// The driver's calls that are recorded: those of the driver's double, as the header numbers them.
#define CALLS(X)                                                                                                       \
    X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid)           \
    X(cuDeviceGetUuid_v2) X(cuDeviceGetPCIBusId) X(cuDeviceTotalMem_v2) X(cuDeviceGetAttribute)                        \
    X(cuDeviceGetDefaultMemPool) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)                           \
    X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxSetFlags_v2) X(cuCtxCreate_v2) X(cuCtxCreate_v3)                 \
    X(cuCtxDestroy_v2) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2)              \
    X(cuCtxGetDevice) X(cuCtxGetFlags) X(cuCtxGetStreamPriorityRange) X(cuCtxSynchronize) X(cuModuleLoadData)          \
    X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncGetAttribute) X(cuFuncSetAttribute)         \
    X(cuLaunchKernel) X(cuLaunchHostFunc) X(cuPointerGetAttribute) X(cuMemGetInfo_v2) X(cuMemGetAddressRange_v2)       \
    X(cuMemAlloc_v2) X(cuMemAllocAsync) X(cuMemAllocFromPoolAsync) X(cuMemAllocManaged) X(cuMemFree_v2)                \
    X(cuMemFreeAsync) X(cuMemPoolSetAttribute) X(cuMemPoolTrimTo) X(cuMemHostAlloc) X(cuMemFreeHost)                   \
    X(cuMemHostRegister_v2) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer_v2) X(cuMemcpyHtoD_v2)                  \
    X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyDtoDAsync_v2)      \
    X(cuMemcpy) X(cuMemcpyAsync) X(cuMemsetD8_v2) X(cuMemsetD8Async) X(cuMemsetD16_v2) X(cuMemsetD16Async)             \
    X(cuMemsetD32_v2) X(cuMemsetD32Async) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2)        \
    X(cuStreamGetPriority) X(cuStreamGetFlags) X(cuStreamGetCtx) X(cuStreamAttachMemAsync) X(cuStreamSynchronize)      \
    X(cuStreamQuery) X(cuStreamWaitEvent) X(cuStreamBeginCapture_v2) X(cuStreamIsCapturing)                            \
    X(cuStreamGetCaptureInfo_v2) X(cuThreadExchangeStreamCaptureMode) X(cuStreamEndCapture) X(cuEventCreate)           \
    X(cuEventDestroy_v2) X(cuEventRecord) X(cuEventRecordWithFlags) X(cuEventQuery) X(cuEventSynchronize)              \
    X(cuEventElapsedTime) X(cuGraphInstantiateWithFlags) X(cuGraphInstantiate_v2) X(cuGraphGetNodes) X(cuGraphUpload)  \
    X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy) CALLS_124(X) CALLS_125(X) CALLS_128(X)

struct Call
{
    char const* name;
    uint32_t id;
    uint32_t wait; // CUpti_ActivitySynchronizationType
};

/// A question whether something is done is a wait of its kind, if it is done; where the release can leave those out that are
/// not, it does so until it is told otherwise (cuptiActivityEnableAllSyncRecords).
uint32_t waitOf(std::string const& name)
{
    if (name == "cuEventSynchronize" || name == "cuEventQuery")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    if (name == "cuStreamWaitEvent")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    if (name == "cuStreamSynchronize" || name == "cuStreamQuery")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    return name == "cuCtxSynchronize" ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE : 0;
}

/// Whether this release leaves out questions that were answered with no.
bool leavesOutUnfinished()
{
#if CUPTI_API_VERSION >= 26
    Lock const lock(state().lock);
    return state().known["all_sync_records"] == 0;
#else
    return false;
#endif
}

Call const* call(std::string const& name)
{
#define ROW(name) {#name, {#name, CUPTI_DRIVER_TRACE_CBID_##name, waitOf(#name)}},
    static std::map<std::string, Call> const calls = {CALLS(ROW)};
#undef ROW
    auto const found = calls.find(name);
    return found == calls.end() ? nullptr : &found->second;
}

constexpr uint32_t kNONE = ~0U; // as CUPTI_SYNCHRONIZATION_INVALID_VALUE
constexpr uint32_t kNOT_READY = 600;

void called(ObservedCall const* told)
{
    Call const* const known = call(told->function);
    if (known == nullptr)
        return;
    Activity a{};
    a.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    a.correlation = told->correlation;
    a.device = told->device;
    a.context = told->context;
    a.function = known->id;
    a.answer = told->answer;
    a.start = stampOf(told->start);
    a.end = stampOf(told->end);
    happened(a);
    a.stream = told->stream == 0 ? kNONE : told->stream;
    a.source = told->event == 0 ? kNONE : told->event;
    a.source_node = told->event_record == 0 ? kNONE : told->event_record;
    if (known->wait != 0 && (told->answer != kNOT_READY || !leavesOutUnfinished()))
    {
        a.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
        a.what = known->wait;
        happened(a);
    }
    bool const records = known->id == CUPTI_DRIVER_TRACE_CBID_cuEventRecord
        || known->id == CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags;
    if (records && told->event != 0)
    {
        a.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
        happened(a);
    }
}

bool isDevices(uint32_t memory) { return memory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE || memory == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED; }

uint32_t direction(uint32_t from, uint32_t to)
{
    if (isDevices(from))
        return isDevices(to) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    return isDevices(to) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

void worked(ObservedWork const* told)
{
    static uint32_t const kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
    Activity a{};
    a.kind = kinds[told->kind];
    a.correlation = told->correlation;
    a.device = told->device;
    a.context = told->context;
    a.stream = told->stream;
    a.graph = told->graph;
    a.graph_node = told->node;
    a.source_graph = told->source_graph;
    a.source_node = told->source_node;
    a.priority = told->priority;
    a.flags = told->is_async != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE; // a fill's is the same bit
    a.name = told->name;
    std::copy(std::begin(told->grid), std::end(told->grid), a.grid);
    std::copy(std::begin(told->block), std::end(told->block), a.block);
    a.bytes = told->kind == kOBSERVED_KERNEL ? told->shared_bytes : told->bytes;
    a.what = told->kind == kOBSERVED_COPY ? direction(told->from, told->to) : told->value;
    a.source = told->from;
    a.destination = told->to;
    a.start = stampOf(told->start);
    a.end = stampOf(told->end);
    happened(a);
}

Activity activityOf(ObservedThing const& thing)
{
    static uint32_t const kinds[] = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM};
    Activity a{};
    a.kind = kinds[thing.kind];
    a.device = thing.device;
    a.context = thing.context;
    a.stream = thing.stream;
    a.source = thing.parent;
    a.what = thing.multiprocessors;
    a.priority = thing.priority;
    a.correlation = thing.correlation;
    a.name = thing.name;
    a.bytes = thing.memory;
    uint32_t const how = thing.is_null != 0 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
        : thing.is_blocking != 0            ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT
                                            : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    a.flags = thing.kind == kOBSERVED_DEVICE ? thing.capability : thing.kind == kOBSERVED_CONTEXT ? thing.is_green : how;
    return a;
}

void made(ObservedThing const* thing) { happened(activityOf(*thing)); }

Observer const kOBSERVER = {called, worked, nodeMade, made};

template <class Function> Function* find(char const* name)
{
    static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

} // namespace

void attach()
{
    if (auto* const observe = find<decltype(cuda_double_observe)>("cuda_double_observe"))
        observe(&kOBSERVER);
}

std::vector<Activity> there(uint32_t kind)
{
    std::vector<Activity> found;
    auto const each = [](ObservedThing const* thing, void* into) {
        static_cast<std::vector<Activity>*>(into)->push_back(activityOf(*thing));
    };
    std::vector<Activity> all;
    if (auto* const list = find<decltype(cuda_double_list)>("cuda_double_list"))
        list(each, &all);
    for (Activity const& a : all)
        if (a.kind == kind)
            found.push_back(a);
    return found;
}

uint32_t streamNumber(void* stream)
{
    auto* const number = find<decltype(cuda_double_stream)>("cuda_double_stream");
    return number == nullptr ? 0 : number(stream);
}

uint32_t contextNumber(void* context)
{
    auto* const number = find<decltype(cuda_double_context)>("cuda_double_context");
    return number == nullptr ? 0 : number(context);
}

char const* driverCall(uint32_t id)
{
#define ROW(name) {CUPTI_DRIVER_TRACE_CBID_##name, #name},
    static std::map<uint32_t, char const*> const names = {CALLS(ROW)};
#undef ROW
    auto const found = names.find(id);
    return found == names.end() ? nullptr : found->second;
}

} // namespace cupti_double
