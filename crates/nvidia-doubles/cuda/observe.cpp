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
    it.device = static_cast<uint32_t>(context.sms.device);
    it.context = context.number;
    if (stream != nullptr)
    {
        it.is_stream = 1;
        it.stream = static_cast<uint32_t>(stream->id);
        it.priority = stream->priority;
        it.is_blocking = stream->blocking;
    }
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
        call.context = context == nullptr ? 0 : context->number;
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
    ObservedThing const it = thing(context, stream);
    if (Observer const* const told = observer())
        told->made(&it);
}

Action observed(Stream const& stream, ObservedWork work, Action action)
{
    work.correlation = currentCall();
    work.device = static_cast<uint32_t>(stream.context->sms.device);
    work.context = stream.context->number;
    work.stream = static_cast<uint32_t>(stream.id);
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
