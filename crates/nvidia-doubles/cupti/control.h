// The double of libcupti: CUPTI's activity records through the real callbacks, for tests where there is no GPU and no CUPTI.
// Compiled with NVIDIA's headers of one release, which lay the records out and check the functions' types.
//
// What it stands for: one subscriber; a buffer that is asked for when there is something to write, handed back when it is full
// or flushed; records as long as this release has them; external numbers before the record of a call; dropped records that are
// counted since they were asked for last. Records come from the driver's double, if it is the process's libcuda and a kind is
// switched on (driver.cpp), from modules with NVTX where NVTX_INJECTION64_PATH names the double's file (nvtx.cpp), and from
// cupti_double_emit.
//
// What it leaves out: callbacks of calls, events and metrics, the calls with _v2 but cuptiSubscribe_v2 (whose place only the
// name of a holder is), user-defined records.
//
// CUPTI's own calls from within a callback, buffers that are not aligned or not zeroed as promised, and what comes in the wrong
// order are mistakes of who uses it: cupti_double_faults() tells them.
//
// Macros:
//   DOUBLE_NVTX     NVTX's headers are there; without them no range is taken in.
//   DOUBLE_AS_114   the release is 11.4: no timestamp callback, no graphs as a whole, records as long as 11.4 has them.
//                   Compiled with 11.7's headers, since there are none of 11.4.
#pragma once

#include <cstddef>
#include <cstdint>

/// Something that happens, as CUPTI would see it. What a kind does not use is 0; crates/nvidia-doubles/src/cupti.rs has the
/// same struct.
struct Activity
{
    uint32_t kind;        // CUpti_ActivityKind
    uint32_t correlation;
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    uint32_t function;    // of a call; of a marker its flags
    uint32_t what;        // kind of copy, of wait, of overhead, of object; what a fill writes; a category; multiprocessors
    uint32_t source;      // memory of a copy; a marker's or an event's number; of a context its parent
    uint32_t destination;
    uint32_t graph;
    uint32_t source_graph; // that an executable graph was made of
    uint32_t flags;       // of copies, fills, streams, colours; a context is green; a device's compute capability
    uint32_t answer;      // of a call and of a wait; of a range's payload its kind
    int32_t priority;     // of a kernel and of a stream
    uint32_t colour;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t start;       // a marker's and a reading's moment
    uint64_t end;
    uint64_t bytes;       // of a copy or a fill, of shared memory, of a device; payload of a range, a caller's number
    uint64_t graph_node;
    uint64_t source_node; // that a graph's node is a clone of; which of all recordings of events this is or waits for
    char const* name;     // copied
    char const* domain;   // copied
};

#define CUPTI_DOUBLE extern "C" __attribute__((visibility("default")))

/// Records it, if its kind is switched on. A call's external numbers are those of this thread.
CUPTI_DOUBLE void cupti_double_emit(Activity const* activity);
/// A node of a graph is made, or cloned of another (0: of none): the subscriber is told.
CUPTI_DOUBLE void cupti_double_graph_node(uint64_t node, uint64_t original);
/// Orders; numbers are 0 until something is said.
///   drop N          the next N records are dropped
///   zero_stamps N   the next N records of work on the device have lost their stamps
///   longer N        every record has N bytes more, a multiple of 8
///   length K:N      records of kind K (in the upper half of the number) are N bytes long
///   unknown K:N     a record of kind K and N bytes comes next, and the library knows its length
///   stray K         a record of kind K comes next whose length nobody knows
///   cut N           the next buffer that is handed back ends N bytes early
///   held 1          another tool has CUPTI's place
///   subscribe S     cuptiSubscribe answers S
///   crash 1         cuptiSubscribe ends the process, as on a Jetson whose device nodes are closed
///   refuse K:S      cuptiActivityEnable of kind K answers S
///   set_thread S    cuptiSetThreadIdType answers S
///   keep 1          buffers are not handed back, until 0
///   nothing 1       nothing is recorded
///   deaf 1          NVTX's way in answers modules that nobody listens
///   step N          CLOCK_REALTIME is set by N nanoseconds
/// A process has them in CUPTI_DOUBLE_ORDERS, with ";" between; a number of two parts is written K:N. "@M ORDER" waits for the Mth kernel, copy or fill.
CUPTI_DOUBLE void cupti_double_tell(char const* order, uint64_t number);
/// What it knows: subscribed, registered, thread_id_type, latency, zeroed, per_thread, device_buffer_size, enabled:K, pushed (on this
/// thread), requested, handed_back, empty (buffers that it asked for and did not get), nvtx_modules (that found it), unbalanced (ends of
/// ranges that fit no begin).
CUPTI_DOUBLE uint64_t cupti_double_ask(char const* what);
/// Mistakes of who uses it, each once, with "; " between; empty if there were none.
CUPTI_DOUBLE char const* cupti_double_faults();
