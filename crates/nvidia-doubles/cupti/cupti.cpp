// CUPTI's functions over one state, and the double's own. See control.h.
#include "state.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

#define CUPTI_REAL extern "C" __attribute__((visibility("default"))) CUptiResult

namespace cupti_double
{
namespace
{

#ifdef DOUBLE_AS_114
constexpr uint32_t kVERSION = 14;
#else
constexpr uint32_t kVERSION = CUPTI_API_VERSION;
#endif

thread_local bool in_callback = false;
thread_local std::array<std::vector<uint64_t>, 6> pushed; // by CUpti_ExternalCorrelationKind

void fault(std::string const& what) { state().faults.insert(what); }

/// What each call does first.
Lock entered(char const* function)
{
    static bool const has_driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
    if (!has_driver)
    {
        std::fprintf(stderr, "%s: no driver, which crashes in CUPTI 13.2\n", function);
        std::abort();
    }
    if (in_callback)
    {
        // The lock is held by this very thread.
        fault(std::string(function) + " was called in a callback of CUPTI's");
        return {};
    }
    return Lock(state().lock);
}

std::size_t length(uint32_t kind)
{
    State& s = state();
    if (auto const told = s.lengths.find(kind); told != s.lengths.end())
        return told->second;
    std::size_t own = ownLength(kind);
#ifdef DOUBLE_AS_114
    switch (kind)
    {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: own = 168; break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMSET: own = 80; break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: own = 88; break;
    case CUPTI_ACTIVITY_KIND_DEVICE: own = 144; break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: own = 0; break;
    default: break;
    }
#endif
    return own == 0 ? 0 : own + s.orders["longer"];
}

void handBack(State& s)
{
    if (s.buffer == nullptr || s.orders["keep"] != 0)
        return;
    std::size_t const cut = s.orders["cut"];
    s.orders["cut"] = 0;
    std::size_t const valid = s.used > cut ? s.used - cut : 0;
    uint8_t* const buffer = s.buffer;
    s.buffer = nullptr;
    ++s.known["handed_back"];
    in_callback = true;
    s.completed(nullptr, 0, buffer, s.size, valid);
    in_callback = false;
}

/// A buffer with so much room; false if there is none to be had.
bool room(State& s, std::size_t bytes)
{
    if (s.buffer != nullptr && s.size - s.used < bytes)
    {
        if (s.orders["keep"] != 0)
            return false;
        handBack(s);
    }
    if (s.buffer != nullptr)
        return true;
    std::size_t records = 1;
    s.size = s.used = 0;
    ++s.known["requested"];
    in_callback = true;
    s.requested(&s.buffer, &s.size, &records);
    in_callback = false;
    if (s.buffer == nullptr)
    {
        ++s.known["empty"];
        return false;
    }
    if (reinterpret_cast<uintptr_t>(s.buffer) % 8 != 0)
        fault("a buffer is not aligned to 8 bytes");
    if (records != 0)
        fault("a buffer is limited to a number of records");
    bool const is_zeroed = std::all_of(s.buffer, s.buffer + s.size, [](uint8_t byte) { return byte == 0; });
    if (s.known["zeroed"] != 0 && !is_zeroed)
        fault("a buffer was promised to be zeroed and is not");
    return s.size >= bytes;
}

void write(State& s, uint32_t kind, std::vector<unsigned char> bytes, std::size_t length)
{
    if (s.requested == nullptr || s.orders["nothing"] != 0)
        return;
    if (s.orders["drop"] != 0)
    {
        --s.orders["drop"];
        ++s.dropped;
        return;
    }
    if (!room(s, length))
    {
        ++s.dropped;
        return;
    }
    bytes.resize(length); // longer ones end in zeros
    std::memcpy(s.buffer + s.used, bytes.data(), length);
    std::memcpy(s.buffer + s.used, &kind, sizeof kind);
    s.used += length;
}

uint32_t thread()
{
    return state().known["thread_id_type"] != 0 ? static_cast<uint32_t>(syscall(SYS_gettid))
                                                : static_cast<uint32_t>(pthread_self());
}

bool isCall(uint32_t kind) { return kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME; }

/// Whether it is recorded: its kind is switched on, or of a call it alone, or it alone is not.
bool isOn(State& s, Activity const& a)
{
    if (!isCall(a.kind))
        return s.enabled.count(a.kind) != 0;
    auto const single = s.calls.find({a.kind, a.function});
    return single != s.calls.end() ? single->second : s.enabled.count(a.kind) != 0;
}

void tell(State& s, std::string const& what, uint64_t number)
{
    auto const upper = static_cast<uint32_t>(number >> 32);
    auto const lower = static_cast<uint32_t>(number);
    if (what == "length")
        s.lengths[upper] = lower;
    else if (what == "refuse")
        s.refused[upper] = static_cast<CUptiResult>(lower);
    else if (what == "unknown")
    {
        s.lengths[upper] = lower;
        write(s, upper, {}, lower);
    }
    else if (what == "stray")
        write(s, lower, {}, 64);
    else
        s.orders[what] = number;
}

/// Orders of CUPTI_DOUBLE_ORDERS.
State* withOrders()
{
    auto* const s = new State;
    char const* const text = std::getenv("CUPTI_DOUBLE_ORDERS");
    std::istringstream all(text == nullptr ? "" : text);
    for (std::string one; std::getline(all, one, ';');)
    {
        std::istringstream words(one);
        uint64_t after = 0;
        std::string what, number;
        if ((words >> std::ws).peek() == '@')
        {
            words.get();
            words >> after;
        }
        if (!(words >> what >> number))
            continue;
        auto const colon = number.find(':');
        uint64_t const value = colon == std::string::npos
            ? std::stoull(number)
            : std::stoull(number.substr(0, colon)) << 32 | std::stoull(number.substr(colon + 1));
        if (after == 0)
            tell(*s, what, value);
        else
            s->later.insert({after, {what, value}});
    }
    return s;
}

void emitOne(State& s, Activity activity)
{
    if (!isOn(s, activity))
        return;
    // Only what a program asks of the device counts: how often a host calls depends on how long it has to wait.
    if (isWork(activity.kind))
        ++s.emitted;
    while (!s.later.empty() && s.later.begin()->first <= s.emitted)
    {
        auto const order = s.later.extract(s.later.begin()).mapped();
        tell(s, order.first, order.second);
    }
    if (activity.kind == CUPTI_ACTIVITY_KIND_MARKER_DATA && s.enabled.count(CUPTI_ACTIVITY_KIND_MARKER) == 0)
        return;
    bool const of_a_node = isWork(activity.kind) && activity.graph != 0 && activity.kind != CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    if (of_a_node && s.enabled.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) != 0)
        return;
    if (isWork(activity.kind) && s.orders["zero_stamps"] != 0)
    {
        --s.orders["zero_stamps"];
        activity.start = activity.end = 0;
    }
    auto const kept = [&](char const* text) { return text == nullptr ? nullptr : s.names.insert(text).first->c_str(); };
    activity.name = kept(activity.name);
    activity.domain = kept(activity.domain);
    auto bytes = record(activity, static_cast<uint32_t>(getpid()), thread());
    if (!bytes.empty())
        write(s, activity.kind, std::move(bytes), length(activity.kind));
}

CUptiResult enable(uint32_t kind)
{
    State& s = state();
    if (auto const no = s.refused.find(kind); no != s.refused.end())
        return no->second;
    if (length(kind) == 0)
        return CUPTI_ERROR_INVALID_KIND;
    if (s.requested == nullptr)
        fault("a kind was switched on before there were callbacks for buffers");
    s.enabled.insert(kind);
    for (auto call = s.calls.begin(); call != s.calls.end();)
        call = call->first.first == kind ? s.calls.erase(call) : std::next(call);
    return CUPTI_SUCCESS;
}

} // namespace

State& state()
{
    static State* const it = withOrders();
    return *it;
}

void happened(Activity const& activity)
{
    Lock const lock(state().lock);
    State& s = state();
    if (isCall(activity.kind) && isOn(s, activity))
        for (uint32_t kind = 0; kind < pushed.size(); ++kind)
            if (!pushed[kind].empty())
            {
                Activity external{};
                external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
                external.what = kind;
                external.bytes = pushed[kind].back();
                external.correlation = activity.correlation;
                emitOne(s, external);
            }
    emitOne(s, activity);
}

CUPTI_DOUBLE void cupti_double_emit(Activity const* activity) { happened(*activity); }

void nodeMade(uint64_t node, uint64_t original)
{
    State& s = state();
    uint32_t const id = original == 0 ? CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED : CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    {
        Lock const lock(s.lock);
        if (!s.subscribed || s.resource_callbacks.count(id) == 0)
            return;
    }
    CUpti_GraphData graph{};
    graph.node = reinterpret_cast<CUgraphNode>(node);
    graph.originalNode = reinterpret_cast<CUgraphNode>(original);
    CUpti_ResourceData resource{};
    resource.resourceDescriptor = &graph;
    s.callback(s.user, CUPTI_CB_DOMAIN_RESOURCE, id, reinterpret_cast<void const*>(&resource));
}

CUPTI_DOUBLE void cupti_double_graph_node(uint64_t node, uint64_t original) { nodeMade(node, original); }

CUPTI_DOUBLE void cupti_double_tell(char const* order, uint64_t number)
{
    Lock const lock(state().lock);
    tell(state(), order, number);
}

CUPTI_DOUBLE uint64_t cupti_double_ask(char const* what)
{
    Lock const lock(state().lock);
    State& s = state();
    std::string const name = what;
    if (name == "subscribed")
        return s.subscribed;
    if (name == "registered")
        return s.requested != nullptr;
    if (name.rfind("enabled:", 0) == 0)
        return s.enabled.count(static_cast<uint32_t>(std::stoul(name.substr(8))));
    if (name == "pushed")
    {
        uint64_t all = 0;
        for (auto const& stack : pushed)
            all += stack.size();
        return all;
    }
    return s.known[name];
}

CUPTI_DOUBLE char const* cupti_double_faults()
{
    Lock const lock(state().lock);
    State& s = state();
    s.faults_told.clear();
    for (auto const& what : s.faults)
        s.faults_told += (s.faults_told.empty() ? "" : "; ") + what;
    return s.faults_told.c_str();
}

CUPTI_REAL cuptiGetVersion(uint32_t* version)
{
    Lock const lock = entered("cuptiGetVersion");
    *version = kVERSION;
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiGetTimestamp(uint64_t* timestamp)
{
    Lock const lock = entered("cuptiGetTimestamp");
    *timestamp = stamp();
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user)
{
    attach();
    Lock const lock = entered("cuptiSubscribe");
    State& s = state();
    if (s.orders["crash"] != 0)
        std::abort();
    if (uint64_t const answer = s.orders["subscribe"])
        return static_cast<CUptiResult>(answer);
    if (s.subscribed || s.orders["held"] != 0)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    s.subscribed = true;
    s.callback = callback;
    s.user = user;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&s);
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 130000
CUPTI_REAL cuptiSubscribe_v2(
    CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, CUpti_SubscriberParams* parameters)
{
    Lock const lock = entered("cuptiSubscribe_v2");
    if (parameters == nullptr || parameters->structSize != sizeof(CUpti_SubscriberParams))
    {
        fault("cuptiSubscribe_v2 was given another size of its parameters than the header has");
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (state().orders["held"] == 0)
        fault("cuptiSubscribe_v2 was called where nobody holds CUPTI");
    if (parameters->oldSubscriberName != nullptr && parameters->oldSubscriberSize > 0)
        std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "Nsight Systems");
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}
#endif

CUPTI_REAL cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    Lock const lock = entered("cuptiUnsubscribe");
    State& s = state();
    if (!s.subscribed || subscriber != reinterpret_cast<CUpti_SubscriberHandle>(&s))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!s.enabled.empty())
        fault("unsubscribed with kinds switched on");
    s.subscribed = false;
    s.resource_callbacks.clear();
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    Lock const lock = entered("cuptiEnableCallback");
    if (domain != CUPTI_CB_DOMAIN_RESOURCE)
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (on != 0)
        state().resource_callbacks.insert(id);
    else
        state().resource_callbacks.erase(id);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    Lock const lock = entered("cuptiSetThreadIdType");
    if (uint64_t const answer = state().orders["set_thread"])
        return static_cast<CUptiResult>(answer);
    state().known["thread_id_type"] = static_cast<uint64_t>(type);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value)
{
    Lock const lock = entered("cuptiActivitySetAttribute");
    State& s = state();
    switch (attribute)
    {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
        if (*size != sizeof(uint8_t))
            return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        s.known["zeroed"] = *static_cast<uint8_t*>(value);
        return CUPTI_SUCCESS;
#if CUPTI_API_VERSION >= 21
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
        if (*size != sizeof(uint8_t))
            return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        if (!s.enabled.empty())
            fault("buffers by thread were asked for after a kind was switched on");
        s.known["per_thread"] = *static_cast<uint8_t*>(value);
        return CUPTI_SUCCESS;
#endif
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
        if (*size != sizeof(std::size_t))
            return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE)
            s.known["device_buffer_size"] = *static_cast<std::size_t*>(value);
        return CUPTI_SUCCESS;
    default: return CUPTI_ERROR_INVALID_PARAMETER;
    }
}

CUPTI_REAL cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
    Lock const lock = entered("cuptiActivityEnableLatencyTimestamps");
    state().known["latency"] = on;
    return CUPTI_SUCCESS;
}

#ifndef DOUBLE_AS_114
CUPTI_REAL cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback)
{
    Lock const lock = entered("cuptiActivityRegisterTimestampCallback");
    if (!state().enabled.empty())
        fault("the timestamp callback came after a kind was switched on");
    setClock(callback);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    std::vector<Activity> const dumped = there(kind);
    Lock const lock = entered("cuptiActivityEnableAndDump");
    CUptiResult const answer = enable(kind);
    if (answer == CUPTI_SUCCESS)
        for (Activity const& activity : dumped)
            emitOne(state(), activity);
    return answer;
}
#endif

#if CUPTI_API_VERSION >= 26
CUPTI_REAL cuptiActivityEnableAllSyncRecords(uint8_t on)
{
    Lock const lock = entered("cuptiActivityEnableAllSyncRecords");
    state().known["all_sync_records"] = on;
    return CUPTI_SUCCESS;
}
#endif

#if CUPTI_API_VERSION >= 23
CUPTI_REAL cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t on)
{
    Lock const lock = entered("cuptiActivityEnableDriverApi");
    state().known["call:" + std::to_string(id)] = on;
    state().calls[{CUPTI_ACTIVITY_KIND_DRIVER, id}] = on != 0;
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t on)
{
    Lock const lock = entered("cuptiActivityEnableRuntimeApi");
    state().known["call:" + std::to_string(id)] = on;
    state().calls[{CUPTI_ACTIVITY_KIND_RUNTIME, id}] = on != 0;
    return CUPTI_SUCCESS;
}
#endif

CUPTI_REAL cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed)
{
    Lock const lock = entered("cuptiActivityRegisterCallbacks");
    if (requested == nullptr || completed == nullptr)
        return CUPTI_ERROR_INVALID_PARAMETER;
    state().requested = requested;
    state().completed = completed;
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityEnable(CUpti_ActivityKind kind)
{
    Lock const lock = entered("cuptiActivityEnable");
    return enable(kind);
}

CUPTI_REAL cuptiActivityDisable(CUpti_ActivityKind kind)
{
    Lock const lock = entered("cuptiActivityDisable");
    state().enabled.erase(kind);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityFlushAll(uint32_t)
{
    Lock const lock = entered("cuptiActivityFlushAll");
    State& s = state();
    if (s.used > 0)
        handBack(s);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityGetNextRecord(uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    Lock const lock = entered("cuptiActivityGetNextRecord");
    std::size_t at = 0;
    if (*record != nullptr)
        at = static_cast<std::size_t>(reinterpret_cast<uint8_t*>(*record) - buffer) + length((*record)->kind);
    if (at >= valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    uint32_t kind = 0;
    std::memcpy(&kind, buffer + at, sizeof kind);
    if (length(kind) == 0 || valid - at < length(kind))
        return CUPTI_ERROR_INVALID_KIND;
    *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 130200
CUPTI_REAL cuptiActivityGetStructSize(CUpti_ActivityKind kind, uint32_t, std::size_t* size)
{
    Lock const lock = entered("cuptiActivityGetStructSize");
    if (length(kind) == 0)
        return CUPTI_ERROR_INVALID_KIND;
    *size = length(kind);
    return CUPTI_SUCCESS;
}
#endif

CUPTI_REAL cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, std::size_t* dropped)
{
    Lock const lock = entered("cuptiActivityGetNumDroppedRecords");
    *dropped = state().dropped;
    state().dropped = 0;
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    Lock const lock = entered("cuptiActivityPushExternalCorrelationId");
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || static_cast<std::size_t>(kind) >= pushed.size())
        return CUPTI_ERROR_INVALID_PARAMETER;
    pushed[kind].push_back(id);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last)
{
    Lock const lock = entered("cuptiActivityPopExternalCorrelationId");
    if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || static_cast<std::size_t>(kind) >= pushed.size())
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (pushed[kind].empty())
        return CUPTI_ERROR_QUEUE_EMPTY;
    if (last != nullptr)
        *last = pushed[kind].back();
    pushed[kind].pop_back();
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id)
{
    // From within the subscriber's callback it is allowed.
    *id = reinterpret_cast<uint64_t>(node);
    return CUPTI_SUCCESS;
}

CUPTI_REAL cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t* id)
{
    *id = streamNumber(stream);
    return *id == 0 ? CUPTI_ERROR_INVALID_STREAM : CUPTI_SUCCESS;
}

CUPTI_REAL cuptiGetContextId(CUcontext context, uint32_t* id)
{
    *id = contextNumber(context);
    return *id == 0 ? CUPTI_ERROR_INVALID_CONTEXT : CUPTI_SUCCESS;
}

CUPTI_REAL cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, char const** name)
{
    Lock const lock = entered("cuptiGetCallbackName");
    if (char const* const known = domain == CUPTI_CB_DOMAIN_DRIVER_API ? driverCall(id) : nullptr)
        *name = known;
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 211)
        *name = "cudaLaunchKernel_v7000";
    else
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

} // namespace cupti_double
