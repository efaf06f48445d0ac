// The frame loop of control.h: what a C++ program would write around enqueueV3, with the stamps that trtexec takes and
// nothing else. Compiled with -O2; the driver is opened at run time, as in device.cpp.
#include "control.h"
#include "version.h"

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

namespace
{

using Handle = void*;
using Address = unsigned long long;

/// What the loop calls; `all` if the driver has it.
struct Driver
{
    bool all = true;
    int (*make_stream)(Handle*, unsigned) = nullptr;
    int (*drop_stream)(Handle) = nullptr;
    int (*make_event)(Handle*, unsigned) = nullptr;
    int (*drop_event)(Handle) = nullptr;
    int (*record)(Handle, Handle) = nullptr;
    int (*query)(Handle) = nullptr;
    int (*elapsed)(float*, Handle, Handle) = nullptr;
    int (*upload)(Address, void const*, std::size_t, Handle) = nullptr;
    int (*download)(void*, Address, std::size_t, Handle) = nullptr;
    int (*pin)(void**, std::size_t, unsigned) = nullptr;
    int (*unpin)(void*) = nullptr;
    int (*allocate)(Address*, std::size_t) = nullptr;
    int (*release)(Address) = nullptr;

    Driver()
    {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        auto const get = [&](auto& to, char const* symbol) {
            to = library == nullptr ? nullptr : reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, symbol));
            all = all && to != nullptr;
        };
        get(make_stream, "cuStreamCreate");
        get(drop_stream, "cuStreamDestroy_v2");
        get(make_event, "cuEventCreate");
        get(drop_event, "cuEventDestroy_v2");
        get(record, "cuEventRecord");
        get(query, "cuEventQuery");
        get(elapsed, "cuEventElapsedTime");
        get(upload, "cuMemcpyHtoDAsync_v2");
        get(download, "cuMemcpyDtoHAsync_v2");
        get(pin, "cuMemHostAlloc");
        get(unpin, "cuMemFreeHost");
        get(allocate, "cuMemAlloc_v2");
        get(release, "cuMemFree_v2");
    }
};

constexpr int kNOT_READY = 600;
constexpr unsigned kNON_BLOCKING = 1;
constexpr unsigned kBLOCKING_SYNC = 1;

/// One tensor: pinned on the host, and its place on the device.
struct Side
{
    void* host = nullptr;
    Address device = 0;
    std::size_t bytes = 0;
};

struct Loop
{
    Driver driver;
    Handle stream = nullptr;
    Handle begun = nullptr, uploaded = nullptr, computed = nullptr, done = nullptr;
    Side input, output;
    bool fine = driver.all;

    bool ok(int status) { return fine = fine && status == 0; }

    bool make(Side& side, std::size_t bytes)
    {
        side.bytes = bytes;
        return fine && ok(driver.pin(&side.host, bytes, 0)) && ok(driver.allocate(&side.device, bytes))
            && std::memset(side.host, 0, bytes) != nullptr;
    }

    Loop(std::size_t in, std::size_t out)
    {
        if (!fine || !ok(driver.make_stream(&stream, kNON_BLOCKING)))
            return;
        for (auto* event : {&begun, &uploaded, &computed, &done})
            ok(driver.make_event(event, kBLOCKING_SYNC));
        make(input, in);
        make(output, out);
    }

    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;

    ~Loop()
    {
        if (!driver.all)
            return;
        for (auto* event : {&begun, &uploaded, &computed, &done})
            if (*event != nullptr)
                driver.drop_event(*event);
        for (auto* side : {&input, &output})
        {
            if (side->host != nullptr)
                driver.unpin(side->host);
            if (side->device != 0)
                driver.release(side->device);
        }
        if (stream != nullptr)
            driver.drop_stream(stream);
    }

    bool submit(nvinfer1::IExecutionContext& context)
    {
        return ok(driver.record(begun, stream)) && ok(driver.upload(input.device, input.host, input.bytes, stream))
            && ok(driver.record(uploaded, stream)) && context.enqueueV3(static_cast<cudaStream_t>(stream))
            && ok(driver.record(computed, stream)) && ok(driver.download(output.host, output.device, output.bytes, stream))
            && ok(driver.record(done, stream));
    }

    /// Asks until the last stamp is there, then reads the three stages.
    bool wait()
    {
        int status = kNOT_READY;
        while (status == kNOT_READY)
            status = driver.query(done);
        float h2d = 0, compute = 0, d2h = 0;
        return ok(status) && ok(driver.elapsed(&h2d, begun, uploaded)) && ok(driver.elapsed(&compute, uploaded, computed))
            && ok(driver.elapsed(&d2h, computed, done));
    }
};

} // namespace

int64_t double_bench_frames(void* context, char const* input, uint64_t input_bytes, char const* output,
    uint64_t output_bytes, uint64_t n, int64_t* submitting)
{
    auto& on = *static_cast<nvinfer1::IExecutionContext*>(context);
    Loop loop(input_bytes, output_bytes);
    auto const set = [&](char const* name, Side const& side) {
        return loop.fine && on.setTensorAddress(name, reinterpret_cast<void*>(static_cast<uintptr_t>(side.device)));
    };
    if (!set(input, loop.input) || !set(output, loop.output) || !loop.submit(on) || !loop.wait())
        return -1;
    using Clock = std::chrono::steady_clock;
    std::chrono::nanoseconds submits{0};
    auto const begin = Clock::now();
    for (uint64_t i = 0; i < n; ++i)
    {
        auto const before = Clock::now();
        if (!loop.submit(on))
            return -1;
        submits += Clock::now() - before;
        if (!loop.wait())
            return -1;
    }
    auto const took = std::chrono::nanoseconds(Clock::now() - begin).count();
    *submitting = submits.count();
    return took;
}
