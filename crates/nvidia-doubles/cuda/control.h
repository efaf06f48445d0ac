// The double of libcuda.so.1: the CUDA driver's functions over host memory and threads, for tests where there is no GPU.
//
// What it stands for: a stream is a queue with a thread of its own; events carry stamps of CLOCK_MONOTONIC; device memory
// is host memory behind addresses that the host cannot touch (reading a device pointer on the host ends in SIGSEGV, as it
// does beside a GPU); a kernel is a host function known by name (kernels.cpp). A busy device is a sleeping thread.
//
// Time: each stream has a clock, which is never ahead of the real one. An operation begins when the stream's clock and the
// call that enqueued it allow; copies (where a bandwidth is stated) and busy kernels then take exactly what they should,
// host functions and other kernels the processor time that they used. An event's stamp is the stream's clock, so that a
// thread that wakes up late spoils no duration; who waits on the host is told late, as the machine allows.
//
// Multiprocessors: each is shared equally by the busy kernels that may run on it; a kernel's rate is the sum of its
// shares, so k kernels at once run k times slower, and a green context's kernels have its multiprocessors to themselves
// if no others may use them. (A real kernel may leave multiprocessors idle; these never do.) Copy engines: one each
// direction, one copy at a time, in the order in which the copies become ready. Device-to-device copies and fills take
// the host's time.
//
// Who traces it is told of calls, work, graphs and streams: observe.h.
//
// What it leaves out: textures, arrays, IPC, peer access, graphs built by hand; a replayed graph runs its operations one
// after another. Functions that are not there are not exported.
//
// Variables, all starting with JETLAG_CUDA_DOUBLE_ and read when the library is loaded:
//   DRIVER        pretended driver version; 12080. Below 12040 there are no green contexts, below 12050 no
//                 cuGreenCtxStreamCreate: cuGetProcAddress goes by this, and the exported symbols by the macro
//                 DOUBLE_DRIVER that the library was compiled with.
//   DEVICES       number of devices; 1. With 0, cuInit answers CUDA_ERROR_NO_DEVICE
//   NAME          product name; "CUDA double". With commas: one for each device, the last for those that are left
//   CAPABILITY    compute capability, as 87 for 8.7; 90. With commas as NAME
//   INTEGRATED    1: shares its memory with the processor (Jetson); 0
//   SMS           multiprocessors, at most 1024; 16
//   MEMORY        device memory in bytes; 8589934592. What goes beyond gets CUDA_ERROR_OUT_OF_MEMORY. On an integrated
//                 device page-locked host memory counts, too
//   H2D_BYTES_S   bandwidth to the device in bytes a second; 0: as fast as the host copies
//   D2H_BYTES_S   the same from the device
//   SHARING       "fair" (as above), "priority" (on each multiprocessor only kernels of the highest stream priority
//                 there run), "off" (each kernel runs as if alone); fair
//   HANG          N: the Nth operation enqueued in this process (1 is the first; captured operations count when their
//                 graph is launched, a graph as one) never completes
//   FAULT         N:CODE: the Nth operation fails with this CUresult; as on a GPU, every later call then answers it
//   FAIL          FUNCTION:N:CODE[,...]: the Nth call of this exported name (cuMemAlloc_v2) does nothing and answers
//                 CODE; N+ for the Nth and all later calls
//   LATE          N-M:US: of the Nth to Mth recording of an event in this process the host learns US microseconds
//                 after the device has passed it, as from a device that is busy answering; the stamp is as it is
//   LOG           a file to which a line of JSON is added when the process exits by itself:
//                 {"pid":1,"calls":{"cuInit":1},"live":{"allocations":0,"bytes":0,"host_allocations":0,"host_bytes":0,
//                 "streams":0,"events":0,"graphs":0,"executable_graphs":0,"modules":0,"contexts":0},"operations":7,
//                 "most_bytes":4096,"hardware_queues":8,"crossings":0}. "live" is what was never given back by its own call: what a context took down with
//                 it counts still. "contexts" counts retained and created ones. "crossings": how often a stream was made to
//                 wait for one of another priority or on other multiprocessors.
// and the driver's own CUDA_DEVICE_MAX_CONNECTIONS: hardware queues, 1 to 32; 8. Streams are dealt out to them in the order in
// which they are made, and in one queue an operation begins only when those before it have, whatever stream they are of.
// CUDA_INJECTION64_PATH: a tool's library, whose InitializeInjection the first cuInit calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cuda_double
{

enum class Sharing
{
    fair,
    priority,
    off
};

/// One order of FAIL.
struct Failure
{
    std::string function;
    uint64_t nth;
    bool all_later;
    int code;
};

/// The variables above.
struct Control
{
    int driver = 12080;
    int devices = 1;
    std::vector<std::string> names = {"CUDA double"};
    std::vector<int> capabilities = {90};
    bool integrated = false;
    int sms = 16;
    uint64_t memory = 8ULL << 30;
    uint64_t h2d_bytes_s = 0;
    uint64_t d2h_bytes_s = 0;
    Sharing sharing = Sharing::fair;
    unsigned queues = 8;
    uint64_t hang = 0;
    uint64_t fault = 0;
    int fault_code = 0;
    uint64_t late_from = 1;
    uint64_t late_to = 0;
    uint64_t late_us = 0;
    std::vector<Failure> failures;
    std::string log;

    std::string const& name(int device) const { return of(names, device); }
    int capability(int device) const { return of(capabilities, device); }

private:
    /// What is said of a device: its own, or the last of the list.
    template <class T> static T const& of(std::vector<T> const& all, int device)
    {
        auto const at = static_cast<std::size_t>(device);
        return at < all.size() ? all[at] : all.back();
    }
};

Control const& control();

} // namespace cuda_double
