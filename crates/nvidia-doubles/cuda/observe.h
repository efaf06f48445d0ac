// What a tracer of the driver's double is told: calls, work on the device, nodes of graphs, and what there is. The double of
// CUPTI takes it (../cupti/driver.cpp); nobody else has to.
//
// Moments are nanoseconds of CLOCK_MONOTONIC. Numbers of streams, contexts, events, graphs and nodes are the double's own and
// never used twice. Work is told by the stream's thread before anyone learns that it is done; everything else by the thread
// that calls, which holds the double's lock: an observer calls no function of the driver.
#pragma once

#include <cstdint>

extern "C"
{

struct ObservedCall
{
    char const* function; // the exported name
    uint32_t correlation;
    uint32_t stream; // that is waited for, or into which an event is recorded; 0: none
    uint32_t event;
    uint64_t event_record; // which of all recordings of events it makes or waits for; 0: none
    uint32_t context; // of the stream or the event, else the thread's
    uint32_t device;
    uint32_t answer; // CUresult, where it is known: of waits, of questions, of what is refused at once
    uint64_t start;
    uint64_t end;
};

enum ObservedKind : uint32_t
{
    kOBSERVED_KERNEL,
    kOBSERVED_COPY,
    kOBSERVED_FILL,
    kOBSERVED_GRAPH // a launch as a whole
};

struct ObservedWork
{
    ObservedKind kind;
    uint32_t correlation; // of the call that asked for it; within a graph of the graph's launch
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t graph; // the executable graph; 0: none
    uint64_t node;  // within it; 0: none
    uint32_t source_graph; // that the executable graph was made of; 0: none
    uint64_t source_node;  // within it; 0: none
    int32_t priority;      // of the stream
    char const* name; // of a kernel; lives as long as the process
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes; // dynamic, of a block
    uint32_t from; // of a copy: 1 pageable, 2 page-locked, 3 the device's, 5 managed; as CUPTI numbers memory
    uint32_t to;   // of a copy and a fill
    uint32_t is_async; // a copy or a fill whose call did not wait for it
    uint32_t value;    // of a fill
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
};

enum ObservedThingKind : uint32_t
{
    kOBSERVED_DEVICE,
    kOBSERVED_CONTEXT,
    kOBSERVED_STREAM
};

/// Something that is there, or has just been made.
struct ObservedThing
{
    ObservedThingKind kind;
    uint32_t device;
    uint32_t context;
    uint32_t parent; // of a green context: the device's primary one; 0: none
    uint32_t stream; // of a context: its null stream, 0 while there is none
    int32_t priority;
    uint32_t is_blocking;
    uint32_t is_null; // a context's own stream
    uint32_t is_green;
    uint32_t multiprocessors; // of a device or a context
    uint32_t capability;      // of a device: 87 for 8.7
    uint32_t correlation;     // of the call that made it; 0: it was there
    uint64_t memory;          // of a device, in bytes
    char const* name;         // of a device; lives as long as the process
};

struct Observer
{
    void (*called)(ObservedCall const*);
    void (*worked)(ObservedWork const*);
    /// A node of a graph was made; `of` is the node that it was cloned from, or 0.
    void (*node)(uint64_t node, uint64_t of);
    void (*made)(ObservedThing const*);
};

/// From now on the observer is told, which lives as long as the process; null: nobody.
void cuda_double_observe(Observer const* observer);
/// Calls `each` for the devices, their contexts and streams.
void cuda_double_list(void (*each)(ObservedThing const*, void*), void* data);
/// The numbers of handles; 0 for what is none. A null stream is the thread's context's own.
uint32_t cuda_double_stream(void* stream);
uint32_t cuda_double_context(void* context);

} // extern "C"
