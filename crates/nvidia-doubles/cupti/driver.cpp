// The driver's double as the source of what happens: its calls, work, graphs, contexts and streams become CUPTI's records.
#include "state.h"

#include "../cuda/observe.h"

#include <cupti_driver_cbid.h>

#include <ctime>
#include <dlfcn.h>
#include <iterator>

namespace cupti_double
{
namespace
{

/// The driver's calls that are recorded: those that programs of ours make, as the header numbers them.
#define CALLS(X)                                                                                                       \
    X(cuInit) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)       \
    X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuModuleLoadData)                    \
    X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuLaunchHostFunc)               \
    X(cuMemAlloc_v2) X(cuMemAllocAsync) X(cuMemAllocManaged) X(cuMemFree_v2) X(cuMemFreeAsync) X(cuMemHostAlloc)       \
    X(cuMemFreeHost) X(cuMemcpyHtoD_v2) X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyDtoHAsync_v2)             \
    X(cuMemcpyDtoD_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemcpy) X(cuMemcpyAsync) X(cuMemsetD8_v2) X(cuMemsetD8Async)        \
    X(cuMemsetD16_v2) X(cuMemsetD16Async) X(cuMemsetD32_v2) X(cuMemsetD32Async) X(cuStreamCreate)                      \
    X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent)   \
    X(cuStreamBeginCapture_v2) X(cuStreamEndCapture) X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord)            \
    X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime) X(cuGraphInstantiateWithFlags) X(cuGraphInstantiate_v2) \
    X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy)

struct Call
{
    char const* name;
    uint32_t id;
    uint32_t wait; // CUpti_ActivitySynchronizationType
};

uint32_t waitOf(std::string const& name)
{
    if (name == "cuEventSynchronize")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    if (name == "cuStreamWaitEvent")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    if (name == "cuStreamSynchronize")
        return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    return name == "cuCtxSynchronize" ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE : 0;
}

Call const* call(std::string const& name)
{
#define ROW(name) {#name, {#name, CUPTI_DRIVER_TRACE_CBID_##name, waitOf(#name)}},
    static std::map<std::string, Call> const calls = {CALLS(ROW)};
#undef ROW
    auto const found = calls.find(name);
    return found == calls.end() ? nullptr : &found->second;
}

/// CUPTI's own clock is another where the program gave it none.
uint64_t stampOf(uint64_t monotonic)
{
    if (state().timestamp != nullptr || monotonic == 0)
        return monotonic;
    auto const read = [](clockid_t clock) {
        timespec time{};
        clock_gettime(clock, &time);
        return static_cast<uint64_t>(time.tv_sec) * 1000000000ULL + static_cast<uint64_t>(time.tv_nsec);
    };
    return monotonic + (read(CLOCK_REALTIME) - read(CLOCK_MONOTONIC));
}

constexpr uint32_t kNONE = ~0U; // as CUPTI_SYNCHRONIZATION_INVALID_VALUE

void called(ObservedCall const* told)
{
    Call const* const known = call(told->function);
    if (known == nullptr)
        return;
    Activity a{};
    a.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    a.correlation = told->correlation;
    a.context = told->context;
    a.function = known->id;
    a.start = stampOf(told->start);
    a.end = stampOf(told->end);
    happened(a);
    a.stream = told->stream == 0 ? kNONE : told->stream;
    a.source = told->event == 0 ? kNONE : told->event;
    if (known->wait != 0)
    {
        a.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
        a.what = known->wait;
        happened(a);
    }
    if (known->id == CUPTI_DRIVER_TRACE_CBID_cuEventRecord && told->event != 0)
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
    a.name = told->name;
    std::copy(std::begin(told->grid), std::end(told->grid), a.grid);
    std::copy(std::begin(told->block), std::end(told->block), a.block);
    a.bytes = told->kind == kOBSERVED_KERNEL ? told->shared_bytes : told->bytes;
    a.what = told->kind == kOBSERVED_COPY ? direction(told->from, told->to) : 0;
    a.source = told->from;
    a.destination = told->to;
    a.start = stampOf(told->start);
    a.end = stampOf(told->end);
    happened(a);
}

Activity activityOf(ObservedThing const& thing)
{
    Activity a{};
    a.kind = thing.is_stream != 0 ? CUPTI_ACTIVITY_KIND_STREAM : CUPTI_ACTIVITY_KIND_CONTEXT;
    a.device = thing.device;
    a.context = thing.context;
    a.stream = thing.stream;
    a.what = static_cast<uint32_t>(thing.priority);
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
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
    {
        Activity device{};
        device.kind = kind;
        device.name = "CUDA double";
        device.what = 16;
        found.push_back(device);
    }
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
