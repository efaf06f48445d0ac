// What the driver's handles stand for, and the streams' machinery. One lock for all (`world().lock`): few threads, short
// sections; operations run without it.
#pragma once

#include "control.h"
#include "cuda.h"
#include "observe.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <set>
#include <string>
#include <vector>

namespace cuda_double
{

using Time = std::chrono::steady_clock::time_point;
using Nanos = std::chrono::nanoseconds;
using Lock = std::unique_lock<std::mutex>;

inline Time now() { return std::chrono::steady_clock::now(); }

/// Multiprocessors of one device, numbered [first, first + count).
struct Sms
{
    int device = 0;
    int first = 0;
    int count = 0;
};

/// Where an operation runs.
struct Place
{
    Sms sms;
    int priority = 0;
};

/// Completion of one operation.
struct Ticket
{
    bool done = false;
    Time at{};
};
using TicketPtr = std::shared_ptr<Ticket>;

/// Does an operation's work from `start` on, and answers when it ended: not after now.
using Action = std::function<Time(Place const&, Time start)>;

struct Context;
struct Capture;

struct Operation
{
    Action action; // none: only waits and stamps
    std::vector<TicketPtr> waits;
    TicketPtr ticket;
    Time enqueued{};
    uint64_t number = 0;
};

struct Stream
{
    Context* context = nullptr;
    bool blocking = true;
    bool is_null = false; // its context's own
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
    std::deque<Operation> queue;
    TicketPtr tail; // of what was enqueued last
    Time clock{};
    bool closing = false;
    bool started = false;
    std::condition_variable wake;
    std::shared_ptr<Capture> capture;
    std::vector<int> capture_after; // nodes that the next captured operation follows
};

/// A hardware queue: operations of some streams, in the order in which they may begin.
struct Queue
{
    std::deque<uint64_t> waiting; // by their numbers
    Time begun{};                 // when the last one began
};

struct Event
{
    uint32_t number = 0;
    bool timing = true;
    bool late = false; // the host learns of it later than it is done
    uint64_t record = 0; // the last, of all events' records
    uint32_t context = 0; // in which it was made
    uint32_t device = 0;
    TicketPtr ticket;  // of its last record
    Place place;       // of the stream of its last record
    std::shared_ptr<Capture> capture; // its last record was captured
    std::vector<int> capture_after;
};

/// One captured operation. Nodes are in an order in which they may run.
struct Node
{
    Action action;
    std::shared_ptr<Event> records;
    std::shared_ptr<Event> waits;
    std::vector<int> after;
    uint64_t number = 0;
    uint64_t source = 0; // the node that this is a clone of
};

/// Graphs are numbered in the order in which they are captured; executable ones with the streams.
inline uint32_t nextGraph()
{
    static std::atomic<uint32_t> count{1U << 20};
    return ++count;
}

struct Graph
{
    uint32_t const number = nextGraph();
    std::vector<Node> nodes;
};

struct Executable
{
    uint32_t number = 0;
    uint32_t source = 0; // the graph that it was made of
    std::vector<Node> nodes;
    TicketPtr last; // launches of one executable graph follow each other
};

/// A capture in progress.
struct Capture
{
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::shared_ptr<Stream> origin;
    int mode = 0;
    std::thread::id thread;
    uint64_t id = 0;
    bool invalidated = false;
};

/// Contexts are numbered in the order in which they are made.
inline uint32_t nextContext()
{
    static std::atomic<uint32_t> count{0};
    return ++count;
}

struct Context
{
    uint32_t const number = nextContext();
    Sms sms;
    int primary_uses = 0;
    bool alive = false;
    bool green = false;
    unsigned flags = 0;
    std::shared_ptr<Stream> legacy;
    std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
};

enum class Memory
{
    device,
    managed,
    host,      // page-locked by the driver
    registered // page-locked afterwards
};

struct Block
{
    std::size_t size = 0;
    std::size_t reserved = 0;
    Memory kind = Memory::device;
    Context* context = nullptr;
    std::ptrdiff_t backing = 0; // from the address to the bytes
    bool freed = false;         // by cuMemFreeAsync, whose turn has not come
    bool abandoned = false;     // its context is gone
    bool on_host = false;       // managed memory that is attached to the host
};

struct Function;
struct Module
{
    std::string text; // of PTX; empty for other images
    std::map<std::string, std::unique_ptr<Function>> functions;
};

struct World
{
    std::mutex lock;
    std::condition_variable progress; // an operation has completed

    bool initialised = false;
    CUresult fault = CUDA_SUCCESS; // what every call answers from now on
    std::map<std::string, uint64_t> calls;
    uint64_t operations = 0;
    uint64_t numbers = 0; // of streams and captures
    std::vector<Queue> queues; // as many as there are connections
    uint64_t records = 0;      // of events
    uint64_t crossings = 0;    // waits for streams of another priority or part of the device
    // Marks on streams (by their ids) for which the host has not waited since; TensorRT's double sets them and asks.
    std::map<uint64_t, uint64_t> unawaited;

    std::vector<std::unique_ptr<Context>> primaries; // by device
    std::list<Context> made;                         // by cuCtxCreate and cuGreenCtxCreate; a handle is never given twice
    std::set<Context*> contexts;                     // those of them that were not destroyed
    std::list<CUdevResource> descriptions;           // of shares of multiprocessors; no call destroys one
    std::map<Stream*, std::shared_ptr<Stream>> streams; // that the program made
    std::set<Stream*> all_streams;                      // and the default ones
    std::map<Event*, std::shared_ptr<Event>> events;
    std::map<Graph*, std::shared_ptr<Graph>> graphs;
    std::map<Executable*, std::shared_ptr<Executable>> executables;
    std::map<Module*, std::unique_ptr<Module>> modules;
    std::set<std::shared_ptr<Capture>> captures;
    std::map<uintptr_t, Block> blocks;
    std::map<int, uint64_t> used; // device memory, by device
    uint64_t most_bytes = 0;
};

/// Never destroyed: threads of streams may run until the process is gone.
World& world();

/// One call of an exported function: counts it, takes the lock, says what it has to answer at once, if anything, and tells who
/// observes.
struct Call
{
    ObservedCall told;
    Lock lock;
    CUresult answer;

    explicit Call(char const* function, bool needs_init = true);
    ~Call();
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    explicit operator bool() const { return answer != CUDA_SUCCESS; }
};

#define CALL(name)           \
    Call call(name);         \
    if (call)                \
    return call.answer

/// The calling thread's context; null with the error in `why`.
Context* current(CUresult& why);

// --- streams (stream.cpp); with the lock held ---------------------------------------------------------------------

/// The stream of a handle; null with the error in `why`.
std::shared_ptr<Stream> streamOf(CUstream handle, CUresult& why);
std::shared_ptr<Event> eventOf(CUevent handle);
std::shared_ptr<Stream> makeStream(Context* context, unsigned flags, int priority, bool is_null = false);
/// Puts an operation behind the stream's others, or into the graph that it captures.
CUresult enqueue(std::shared_ptr<Stream> const& stream, Action action, TicketPtr* ticket = nullptr,
    std::vector<TicketPtr> waits = {});
/// Waits until it is done, or the device has failed.
CUresult await(Lock& lock, TicketPtr const& ticket);
/// Waits for all streams of a context, or of all contexts on its device.
CUresult awaitAll(Lock& lock, Context const* context, bool device = false);
/// Runs on the context's stream and waits: what calls without Async do.
CUresult runNow(Lock& lock, CUstream handle, Action action);
/// The device has failed: every later call answers this.
void fault(CUresult code);

// --- captures (graph.cpp); with the lock held ---------------------------------------------------------------------

CUresult captureNode(Stream& stream, Node node);
CUresult recordCaptured(Stream& stream, std::shared_ptr<Event> const& event, bool external);
CUresult waitCaptured(std::shared_ptr<Stream> const& stream, std::shared_ptr<Event> const& event, bool external);
/// For calls that no capture allows while it is under way: spoils it, as CUDA does.
CUresult forbidWhileCapturing();
/// For a stream that captures and is asked to wait.
CUresult refuseCapturing(Stream& stream);

// --- who observes (observe.cpp) -------------------------------------------------------------------------------------

/// What the nodes of a graph that runs on this thread belong to.
struct Replay
{
    uint32_t graph = 0; // 0: none runs
    uint32_t correlation = 0;
    uint32_t stream = 0;
    uint64_t node = 0;
    uint32_t source_graph = 0;
    uint64_t source_node = 0;
};

uint64_t nanos(Time time);
Observer const* observer();
Replay& replaying();
/// Numbers a call of this thread; the number of the one that goes on.
uint32_t beginCall();
uint32_t currentCall();
void endCall(ObservedCall call);
void tellNode(uint64_t node, uint64_t of);
void tellMade(Context const& context, Stream const* stream);
/// The action with its work told when it is done; with the lock held.
Action observed(Stream const& stream, ObservedWork work, Action action);

// --- the device's time (device.cpp); without the lock -------------------------------------------------------------

/// The device is busy with a kernel of this length on its place's multiprocessors.
Time busy(Place const& place, Time start, Nanos work);
/// A copy engine's turn.
Time transfer(int device, bool to_device, std::size_t bytes, Time start, std::function<void()> const& copy);
/// The processor's work.
Time measured(Time start, std::function<void()> const& work);

// --- memory (memory.cpp) ------------------------------------------------------------------------------------------

/// The bytes behind an address that a kernel may use; null if they are not the device's. Takes the lock.
void* bytesAt(CUdeviceptr address, std::size_t size);

// --- kernels (kernels.cpp) ----------------------------------------------------------------------------------------

/// A kernel's arguments, each as a number, and the size of its launch.
struct Arguments : std::vector<uint64_t>
{
    unsigned blocks = 1;
    unsigned threads = 1;
};

struct Function
{
    char const* name;
    std::vector<std::size_t> sizes; // of its parameters, in bytes
    Time (*run)(Arguments const&, Place const&, Time start);
};

/// The kernel of this name; null if there is none.
Function const* kernel(std::string const& name);

} // namespace cuda_double
