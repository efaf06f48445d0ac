// Streams and events: queues, their threads, and what waits for what.
#include "world.h"

#include <algorithm>
#include <sys/prctl.h>
#include <thread>

namespace cuda_double
{
namespace
{

/// The hardware queue of a stream.
Queue& queueOf(Stream const& stream)
{
    auto& queues = world().queues;
    if (queues.empty())
        queues.resize(control().queues);
    return queues[stream.id % queues.size()];
}

/// A stream's thread: operations in order, each after what it waits for. Ends when the stream is destroyed and done.
void work(std::shared_ptr<Stream> stream)
{
    prctl(PR_SET_NAME, "cuda-double");
    prctl(PR_SET_TIMERSLACK, 1); // sleeps end when they should
    World& w = world();
    Lock lock(w.lock);
    for (;;)
    {
        stream->wake.wait(lock, [&] { return stream->closing || !stream->queue.empty(); });
        if (stream->queue.empty())
            return;
        Operation operation = std::move(stream->queue.front());
        stream->queue.pop_front();
        for (auto const& ticket : operation.waits)
        {
            w.progress.wait(lock, [&] { return ticket->done || w.fault != CUDA_SUCCESS; });
            stream->clock = std::max(stream->clock, ticket->at);
        }
        Queue& queue = queueOf(*stream);
        w.progress.wait(lock, [&] { return queue.waiting.front() == operation.number || w.fault != CUDA_SUCCESS; });
        queue.waiting.erase(std::find(queue.waiting.begin(), queue.waiting.end(), operation.number));
        queue.begun = stream->clock = std::max({stream->clock, queue.begun, operation.enqueued});
        w.progress.notify_all();
        if (operation.number == control().hang)
            w.progress.wait(lock, [&] { return w.fault != CUDA_SUCCESS; });
        if (operation.number == control().fault)
            fault(control().fault_code);
        if (operation.action && w.fault == CUDA_SUCCESS)
        {
            Place const place{stream->context->sms, stream->priority};
            lock.unlock();
            Time const end = operation.action(place, stream->clock);
            operation.action = nullptr; // what it holds goes before anyone is told
            lock.lock();
            stream->clock = std::max(stream->clock, end);
        }
        operation.ticket->at = stream->clock;
        operation.ticket->done = true;
        w.progress.notify_all();
    }
}

bool pending(TicketPtr const& ticket) { return ticket != nullptr && !ticket->done; }

/// Until when the host does not learn that the device has passed an event.
Time toldAt(Event const& event)
{
    return event.late && event.ticket != nullptr ? event.ticket->at + std::chrono::microseconds(control().late_us) : Time{};
}

Place placeOf(Stream const& stream) { return {stream.context->sms, stream.priority}; }

/// Notes where one stream is made to wait for another of other rights to the device.
void noteCrossing(Stream const& stream, Event const& event)
{
    Place const own = placeOf(stream);
    Place const& other = event.place;
    bool const has_begun = event.ticket != nullptr || event.capture != nullptr;
    if (has_begun
        && (own.priority != other.priority || own.sms.first != other.sms.first || own.sms.count != other.sms.count))
        ++world().crossings;
}

/// The host has waited for everything of a stream, or of all streams of a context.
void awaited(Context const* context, Stream const* stream)
{
    std::set<uint64_t> ids;
    for (Stream const* one : world().all_streams)
        if (one == stream || (stream == nullptr && one->context == context))
            ids.insert(one->id);
    auto& marks = world().unawaited;
    for (auto mark = marks.begin(); mark != marks.end();)
        mark = ids.count(mark->second) == 1 ? marks.erase(mark) : std::next(mark);
}

/// What the default stream waits for: the blocking streams of its context.
std::vector<TicketPtr> tailsOfBlocking(Stream const& legacy)
{
    std::vector<TicketPtr> tails;
    for (Stream const* other : world().all_streams)
        if (other != &legacy && other->blocking && other->context == legacy.context && pending(other->tail))
            tails.push_back(other->tail);
    return tails;
}

CUresult create(CUstream* into, unsigned flags, int priority)
{
    CUresult why = CUDA_SUCCESS;
    Context* const context = current(why);
    if (context == nullptr)
        return why;
    if (into == nullptr || flags > kSTREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    auto const stream = makeStream(context, flags, priority);
    world().streams[stream.get()] = stream;
    *into = reinterpret_cast<CUstream>(stream.get());
    return CUDA_SUCCESS;
}

/// Tells which stream and which event a call is about.
void about(Call& call, Stream const* stream, Event const* event)
{
    if (event != nullptr)
    {
        call.told.event = event->number;
        call.told.event_record = event->record;
        call.told.context = event->context;
        call.told.device = event->device;
    }
    if (stream != nullptr)
    {
        call.told.stream = static_cast<uint32_t>(stream->id);
        call.told.context = stream->context->number;
        call.told.device = static_cast<uint32_t>(stream->context->sms.device);
    }
}

/// The answer of a wait or a question, told.
CUresult answered(Call& call, CUresult answer)
{
    call.told.answer = static_cast<uint32_t>(answer);
    return answer;
}

CUresult record(Call& call, CUevent handle, CUstream on, bool external)
{
    CUresult why = CUDA_SUCCESS;
    auto const event = eventOf(handle);
    auto const stream = streamOf(on, why);
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream == nullptr)
        return why;
    static uint64_t recordings = 0;
    event->record = ++recordings;
    about(call, stream.get(), event.get());
    event->place = placeOf(*stream);
    if (stream->capture != nullptr)
        return recordCaptured(*stream, event, external);
    uint64_t const recording = ++world().records;
    event->late = recording >= control().late_from && recording <= control().late_to;
    TicketPtr ticket;
    if (CUresult const no = enqueue(stream, nullptr, &ticket))
        return no;
    event->ticket = ticket;
    event->capture = nullptr;
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent first, CUevent second)
{
    auto const begin = eventOf(first);
    auto const end = eventOf(second);
    if (milliseconds == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    for (auto const& event : {begin, end})
        if (event == nullptr || event->ticket == nullptr || event->capture != nullptr || !event->timing)
            return CUDA_ERROR_INVALID_HANDLE;
    if (!begin->ticket->done || !end->ticket->done)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(end->ticket->at - begin->ticket->at).count();
    return CUDA_SUCCESS;
}

} // namespace

std::shared_ptr<Stream> makeStream(Context* context, unsigned flags, int priority, bool is_null)
{
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->flags = flags;
    stream->is_null = is_null;
    stream->blocking = (flags & kSTREAM_NON_BLOCKING) == 0;
    stream->priority = std::clamp(priority, -5, 0);
    stream->id = ++world().numbers;
    world().all_streams.insert(stream.get());
    tellMade(*context, stream.get());
    return stream;
}

std::shared_ptr<Stream> streamOf(CUstream handle, CUresult& why)
{
    if (handle != nullptr && handle != kLEGACY && handle != kPER_THREAD)
    {
        auto const found = world().streams.find(reinterpret_cast<Stream*>(handle));
        why = found == world().streams.end() ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
        if (why == CUDA_SUCCESS && !found->second->context->alive)
            why = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        return why == CUDA_SUCCESS ? found->second : nullptr;
    }
    Context* const context = current(why);
    if (context == nullptr)
        return nullptr;
    auto& stream = handle == kPER_THREAD ? context->per_thread[std::this_thread::get_id()] : context->legacy;
    if (stream == nullptr)
        stream = makeStream(context, 0, 0, handle != kPER_THREAD);
    return stream;
}

std::shared_ptr<Event> eventOf(CUevent handle)
{
    auto const found = world().events.find(reinterpret_cast<Event*>(handle));
    return found == world().events.end() ? nullptr : found->second;
}

CUresult enqueue(std::shared_ptr<Stream> const& stream, Action action, TicketPtr* ticket, std::vector<TicketPtr> waits)
{
    World& w = world();
    if (stream->capture != nullptr)
        return captureNode(*stream, {std::move(action), nullptr, nullptr, {}, 0, 0});
    Context const& context = *stream->context;
    if (stream == context.legacy)
    {
        for (Stream* other : w.all_streams)
            if (other->capture != nullptr && other->blocking && other->context == &context)
            {
                other->capture->invalidated = true;
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            }
        auto const tails = tailsOfBlocking(*stream);
        waits.insert(waits.end(), tails.begin(), tails.end());
    }
    else if (stream->blocking && context.legacy != nullptr && pending(context.legacy->tail))
        waits.push_back(context.legacy->tail);
    Operation operation;
    operation.action = std::move(action);
    operation.waits = std::move(waits);
    operation.ticket = std::make_shared<Ticket>();
    operation.enqueued = now();
    operation.number = ++w.operations;
    queueOf(*stream).waiting.push_back(operation.number);
    stream->tail = operation.ticket;
    if (ticket != nullptr)
        *ticket = operation.ticket;
    stream->queue.push_back(std::move(operation));
    if (!stream->started)
    {
        stream->started = true;
        std::thread(work, stream).detach();
    }
    stream->wake.notify_one();
    return CUDA_SUCCESS;
}

void fault(CUresult code)
{
    World& w = world();
    if (w.fault == CUDA_SUCCESS)
        w.fault = code;
    w.progress.notify_all();
}

CUresult await(Lock& lock, TicketPtr const& ticket)
{
    World& w = world();
    if (ticket != nullptr)
        w.progress.wait(lock, [&] { return ticket->done || w.fault != CUDA_SUCCESS; });
    return w.fault;
}

CUresult awaitAll(Lock& lock, Context const* context, bool device)
{
    std::vector<TicketPtr> tails;
    for (Stream const* stream : world().all_streams)
        if ((stream->context == context || (device && stream->context->sms.device == context->sms.device))
            && pending(stream->tail))
            tails.push_back(stream->tail);
    for (auto const& tail : tails)
        await(lock, tail);
    awaited(context, nullptr);
    return world().fault;
}

CUresult runNow(Lock& lock, CUstream handle, Action action)
{
    CUresult why = CUDA_SUCCESS;
    TicketPtr ticket;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    if (CUresult const no = enqueue(stream, std::move(action), &ticket))
        return no;
    return await(lock, ticket);
}

CUDA_API CUresult cuStreamCreate(CUstream* stream, unsigned flags)
{
    CALL("cuStreamCreate");
    return create(stream, flags, 0);
}

CUDA_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority)
{
    CALL("cuStreamCreateWithPriority");
    return create(stream, flags, priority);
}

CUDA_API CUresult cuStreamDestroy_v2(CUstream handle)
{
    CALL("cuStreamDestroy_v2");
    World& w = world();
    auto const found = w.streams.find(reinterpret_cast<Stream*>(handle));
    if (found == w.streams.end())
        return CUDA_ERROR_INVALID_HANDLE;
    auto const stream = found->second;
    if (stream->capture != nullptr)
        stream->capture->invalidated = true;
    stream->closing = true; // what is enqueued is still done
    stream->wake.notify_one();
    w.streams.erase(found);
    w.all_streams.erase(stream.get());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamSynchronize(CUstream handle)
{
    CALL("cuStreamSynchronize");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    about(call, stream.get(), nullptr);
    if (stream->capture != nullptr)
        return refuseCapturing(*stream);
    if (CUresult const no = forbidWhileCapturing())
        return no;
    if (stream == stream->context->legacy)
        for (auto const& tail : tailsOfBlocking(*stream))
            await(call.lock, tail);
    CUresult const answer = await(call.lock, stream->tail);
    awaited(nullptr, stream.get());
    return answered(call, answer);
}

CUDA_API uint64_t cuda_double_mark(CUstream handle)
{
    Lock const lock(world().lock);
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    uint64_t const mark = ++world().numbers;
    if (stream != nullptr)
        world().unawaited[mark] = stream->id;
    return mark;
}

CUDA_API int cuda_double_was_awaited(uint64_t mark)
{
    Lock const lock(world().lock);
    return world().unawaited.count(mark) == 0 ? 1 : 0;
}

CUDA_API CUresult cuStreamQuery(CUstream handle)
{
    CALL("cuStreamQuery");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    about(call, stream.get(), nullptr);
    if (stream->capture != nullptr)
        return answered(call, refuseCapturing(*stream));
    if (CUresult const no = forbidWhileCapturing())
        return answered(call, no);
    bool const others = stream == stream->context->legacy && !tailsOfBlocking(*stream).empty();
    return answered(call, others || pending(stream->tail) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUDA_API CUresult cuStreamWaitEvent(CUstream on, CUevent handle, unsigned flags)
{
    CALL("cuStreamWaitEvent");
    CUresult why = CUDA_SUCCESS;
    auto const event = eventOf(handle);
    auto const stream = streamOf(on, why);
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream == nullptr)
        return why;
    about(call, stream.get(), event.get());
    noteCrossing(*stream, *event);
    if (stream->capture != nullptr || event->capture != nullptr)
        return waitCaptured(stream, event, (flags & kEXTERNAL) != 0);
    return event->ticket == nullptr ? CUDA_SUCCESS : enqueue(stream, nullptr, nullptr, {event->ticket});
}

CUDA_API CUresult cuStreamGetPriority(CUstream handle, int* priority)
{
    CALL("cuStreamGetPriority");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream != nullptr && priority != nullptr)
        *priority = stream->priority;
    return stream == nullptr ? why : priority == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags)
{
    CALL("cuStreamGetFlags");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream != nullptr && flags != nullptr)
        *flags = stream->flags;
    return stream == nullptr ? why : flags == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamGetCtx(CUstream handle, CUcontext* context)
{
    CALL("cuStreamGetCtx");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream != nullptr && context != nullptr)
        *context = reinterpret_cast<CUcontext>(stream->context);
    return stream == nullptr ? why : context == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_API CUresult cuEventCreate(CUevent* into, unsigned flags)
{
    CALL("cuEventCreate");
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (into == nullptr || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    auto const event = std::make_shared<Event>();
    event->context = context->number;
    event->device = static_cast<uint32_t>(context->sms.device);
    event->number = static_cast<uint32_t>(++world().numbers);
    event->timing = (flags & kEVENT_DISABLE_TIMING) == 0;
    world().events[event.get()] = event;
    *into = reinterpret_cast<CUevent>(event.get());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuEventDestroy_v2(CUevent handle)
{
    CALL("cuEventDestroy_v2");
    return world().events.erase(reinterpret_cast<Event*>(handle)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CALL("cuEventRecord");
    return record(call, event, stream, false);
}

CUDA_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    CALL("cuEventRecordWithFlags");
    return record(call, event, stream, (flags & kEXTERNAL) != 0);
}

CUDA_API CUresult cuEventQuery(CUevent handle)
{
    CALL("cuEventQuery");
    auto const event = eventOf(handle);
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    about(call, nullptr, event.get());
    if (event->capture != nullptr)
        return answered(call, CUDA_ERROR_CAPTURED_EVENT);
    if (CUresult const no = forbidWhileCapturing())
        return answered(call, no);
    return answered(call, pending(event->ticket) || now() < toldAt(*event) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUDA_API CUresult cuEventSynchronize(CUevent handle)
{
    CALL("cuEventSynchronize");
    auto const event = eventOf(handle);
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    about(call, nullptr, event.get());
    if (event->capture != nullptr)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    CUresult const answer = await(call.lock, event->ticket);
    Time const told = toldAt(*event);
    call.lock.unlock();
    std::this_thread::sleep_until(told);
    return answered(call, answer);
}

CUDA_API CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end)
{
    CALL("cuEventElapsedTime");
    return elapsed(milliseconds, begin, end);
}

CUDA_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end)
{
    CALL("cuEventElapsedTime_v2");
    return elapsed(milliseconds, begin, end);
}

} // namespace cuda_double
