// Telling a tracer what happens. See observe.h.
#include "world.h"

#include <atomic>

namespace cuda_double
{
namespace
{

std::atomic<Observer const*> the_observer{nullptr};

thread_local uint32_t call_correlation = 0;
thread_local Replay replay;

ObservedThing thing(Context const& context, Stream const* stream)
{
    ObservedThing it{};
    it.kind = stream == nullptr ? kOBSERVED_CONTEXT : kOBSERVED_STREAM;
    it.device = static_cast<uint32_t>(context.sms.device);
    it.context = context.number;
    it.is_green = context.green;
    it.multiprocessors = static_cast<uint32_t>(context.sms.count);
    if (context.green)
        it.parent = world().primaries[it.device]->number;
    if (stream == nullptr)
        stream = context.legacy.get();
    else
        it.is_null = stream->is_null;
    if (stream != nullptr)
    {
        it.stream = static_cast<uint32_t>(stream->id);
        it.priority = stream->priority;
        it.is_blocking = stream->blocking;
    }
    return it;
}

ObservedThing thing(int device)
{
    ObservedThing it{};
    it.kind = kOBSERVED_DEVICE;
    it.device = static_cast<uint32_t>(device);
    it.multiprocessors = static_cast<uint32_t>(control().sms);
    it.capability = static_cast<uint32_t>(control().capability(device));
    it.memory = control().memory;
    it.name = control().name(device).c_str();
    return it;
}

} // namespace

uint64_t nanos(Time time)
{
    return static_cast<uint64_t>(std::chrono::duration_cast<Nanos>(time.time_since_epoch()).count());
}

Observer const* observer() { return the_observer.load(std::memory_order_acquire); }

Replay& replaying() { return replay; }

uint32_t beginCall()
{
    static std::atomic<uint32_t> count{0};
    return call_correlation = ++count;
}

uint32_t currentCall() { return call_correlation; }

void endCall(ObservedCall call)
{
    if (Observer const* const told = observer())
    {
        CUresult why = CUDA_SUCCESS;
        Context const* const context = current(why);
        if (call.context == 0 && context != nullptr)
        {
            call.context = context->number;
            call.device = static_cast<uint32_t>(context->sms.device);
        }
        call.end = nanos(now());
        told->called(&call);
    }
}

void tellNode(uint64_t node, uint64_t of)
{
    if (Observer const* const told = observer())
        told->node(node, of);
}

void tellMade(Context const& context, Stream const* stream)
{
    Observer const* const told = observer();
    if (told == nullptr)
        return;
    ObservedThing it = thing(context, stream);
    it.correlation = currentCall();
    told->made(&it);
}

Action observed(Stream const& stream, ObservedWork work, Action action)
{
    work.correlation = currentCall();
    work.device = static_cast<uint32_t>(stream.context->sms.device);
    work.context = stream.context->number;
    work.stream = static_cast<uint32_t>(stream.id);
    work.priority = stream.priority;
    return [work, action = std::move(action)](Place const& place, Time start) {
        Time const end = action(place, start);
        Observer const* const told = observer();
        if (told == nullptr)
            return end;
        ObservedWork done = work;
        Replay const& launch = replaying();
        if (launch.graph != 0)
        {
            done.correlation = launch.correlation;
            done.stream = launch.stream;
            done.graph = launch.graph;
            done.node = launch.node;
            done.source_graph = launch.source_graph;
            done.source_node = launch.source_node;
        }
        done.start = nanos(start);
        done.end = nanos(end);
        told->worked(&done);
        return end;
    };
}

} // namespace cuda_double

using namespace cuda_double;

#define OBSERVE extern "C" __attribute__((visibility("default")))

OBSERVE void cuda_double_observe(Observer const* observer) { the_observer.store(observer, std::memory_order_release); }

OBSERVE void cuda_double_list(void (*each)(ObservedThing const*, void*), void* data)
{
    Lock const lock(world().lock);
    for (int device = 0; device < control().devices; ++device)
    {
        ObservedThing const it = thing(device);
        each(&it, data);
    }
    auto const tell = [&](Context const* context) {
        if (context == nullptr || !context->alive)
            return;
        ObservedThing const it = thing(*context, nullptr);
        each(&it, data);
    };
    for (auto const& primary : world().primaries)
        tell(primary.get());
    for (Context const* context : world().contexts)
        tell(context);
    for (Stream const* stream : world().all_streams)
    {
        ObservedThing const it = thing(*stream->context, stream);
        each(&it, data);
    }
}

OBSERVE uint32_t cuda_double_stream(void* handle)
{
    Lock const lock(world().lock);
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(static_cast<CUstream>(handle), why);
    return stream == nullptr ? 0 : static_cast<uint32_t>(stream->id);
}

OBSERVE uint32_t cuda_double_context(void* handle)
{
    Lock const lock(world().lock);
    for (auto const& primary : world().primaries)
        if (primary.get() == handle)
            return primary->number;
    for (Context const* context : world().contexts)
        if (context == handle)
            return context->number;
    return 0;
}
