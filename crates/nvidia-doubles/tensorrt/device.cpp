// The driver is opened at run time and nothing of CUDA's headers is needed. A frame is: a word of scratch set to what the
// host's inputs add up to, a sum kernel an input, a writing kernel an output, the small kernels of `launches` (a stamp and a
// wait each, enqueued at the host's stated pace), the spinning kernel, all on the caller's stream, and a kernel on each of the
// context's other streams between two events. Scratch belongs to an execution context, whose frames are in order; its first frame allocates it, so a frame has
// to be enqueued once before it is captured into a graph (as TensorRT asks for, too). The kernels stay loaded.
#include "device.h"

#include "kernels.h"
#include "ranges.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <thread>

namespace dbl
{

namespace
{

using Handle = void*;
using Address = unsigned long long;

/// The driver's functions; `there` if it could be opened and has a device.
struct Driver
{
    bool there = false;
    int (*init)(unsigned) = nullptr;
    int (*count)(int*) = nullptr;
    int (*current)(Handle*) = nullptr;
    int (*make_current)(Handle) = nullptr;
    int (*current_device)(int*) = nullptr;
    int (*device_name)(char*, int, int) = nullptr;
    int (*device_attribute)(int*, int, int) = nullptr;
    int (*retain_primary)(Handle*, int) = nullptr;
    int (*synchronize)() = nullptr;
    int (*attribute)(void*, int, Address) = nullptr;
    int (*load)(Handle*, void const*) = nullptr;
    int (*function)(Handle*, Handle, char const*) = nullptr;
    int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**) = nullptr;
    int (*allocate)(Address*, std::size_t) = nullptr;
    int (*release)(Address) = nullptr;
    int (*name)(int, char const**) = nullptr;
    int (*stream)(Handle*, unsigned) = nullptr;
    int (*end_stream)(Handle) = nullptr;
    int (*capturing)(Handle, int*) = nullptr;
    int (*event)(Handle*, unsigned) = nullptr;
    int (*end_event)(Handle) = nullptr;
    int (*record)(Handle, Handle) = nullptr;
    int (*wait)(Handle, Handle, unsigned) = nullptr;
    /// Of the driver's double alone.
    uint64_t (*mark)(Handle) = nullptr;
    int (*was_awaited)(uint64_t) = nullptr;

    Driver()
    {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return;
        bool all = true;
        auto const get = [&](auto& to, char const* symbol) {
            to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, symbol));
            all = all && to != nullptr;
        };
        get(init, "cuInit");
        get(count, "cuDeviceGetCount");
        get(current, "cuCtxGetCurrent");
        get(make_current, "cuCtxSetCurrent");
        get(current_device, "cuCtxGetDevice");
        get(device_name, "cuDeviceGetName");
        get(device_attribute, "cuDeviceGetAttribute");
        get(retain_primary, "cuDevicePrimaryCtxRetain");
        get(synchronize, "cuCtxSynchronize");
        get(attribute, "cuPointerGetAttribute");
        get(load, "cuModuleLoadData");
        get(function, "cuModuleGetFunction");
        get(launch, "cuLaunchKernel");
        get(allocate, "cuMemAlloc_v2");
        get(release, "cuMemFree_v2");
        get(name, "cuGetErrorName");
        get(stream, "cuStreamCreate");
        get(end_stream, "cuStreamDestroy_v2");
        get(capturing, "cuStreamIsCapturing");
        get(event, "cuEventCreate");
        get(end_event, "cuEventDestroy_v2");
        get(record, "cuEventRecord");
        get(wait, "cuStreamWaitEvent");
        mark = reinterpret_cast<decltype(mark)>(dlsym(library, "cuda_double_mark"));
        was_awaited = reinterpret_cast<decltype(was_awaited)>(dlsym(library, "cuda_double_was_awaited"));
        int devices = 0;
        there = all && init(0) == 0 && count(&devices) == 0 && devices > 0;
    }
};

Driver& driver()
{
    static Driver the;
    return the;
}

struct Kernels
{
    Handle begin = nullptr;
    Handle sum = nullptr;
    Handle spin = nullptr;
    Handle write = nullptr;
};

/// Of an execution context in a device context: a word for the sum and the time when the frame began, the same for a small
/// kernel, and memory for the traffic.
struct Scratch
{
    Address sum = 0;
    Address traffic = 0;
    uint64_t traffic_bytes = 0;
    /// Where the frame forks, and where each of its other streams ends; a word and a stamp for the kernels of each.
    std::vector<Handle> forks;
    Address aside = 0;
};

std::mutex guard;
std::map<Handle, Kernels> kernels_of;
std::map<std::pair<Handle, void const*>, Scratch> scratch_of;

/// More than this much memory is not held: the traffic goes round and round in it, past every cache.
constexpr uint64_t kMOST_TRAFFIC = 256ULL << 20;
constexpr unsigned kBLOCK = 256;

/// One frame; `failed` once a call of the driver failed, and `problem` says which.
struct DeviceFrame
{
    Frame const& frame;
    std::string& problem;

    bool ok(int status, char const* what)
    {
        if (status == 0 || !problem.empty())
            return problem.empty();
        char const* name = nullptr;
        driver().name(status, &name);
        problem = std::string(what) + ": " + (name == nullptr ? std::to_string(status) : name);
        return false;
    }
    bool launch(Handle kernel, unsigned blocks, unsigned threads, char const* what, void** arguments)
    {
        return launchOn(frame.stream, kernel, blocks, threads, what, arguments);
    }
    bool launchOn(Handle stream, Handle kernel, unsigned blocks, unsigned threads, char const* what, void** arguments)
    {
        return ok(driver().launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr), what);
    }
    static unsigned blocks(uint64_t items) { return static_cast<unsigned>(std::clamp<uint64_t>((items + kBLOCK - 1) / kBLOCK, 1, 1024)); }

    bool prepare(Kernels& kernels, Scratch& scratch)
    {
        Handle context = nullptr;
        ok(driver().current(&context), "cuCtxGetCurrent");
        std::lock_guard<std::mutex> const lock(guard);
        Kernels& known = kernels_of[context];
        Handle module = nullptr;
        if (known.write == nullptr && ok(driver().load(&module, kPTX), "cuModuleLoadData") // once a context
            && ok(driver().function(&known.begin, module, "dbl_begin"), "dbl_begin")
            && ok(driver().function(&known.sum, module, "dbl_sum"), "dbl_sum")
            && ok(driver().function(&known.spin, module, "dbl_spin"), "dbl_spin"))
            ok(driver().function(&known.write, module, "dbl_write"), "dbl_write");
        kernels = known;
        Scratch& own = scratch_of[{context, frame.owner}];
        if (problem.empty() && own.sum == 0)
            ok(driver().allocate(&own.sum, 32), "cuMemAlloc");
        uint64_t const wanted = std::min(frame.traffic_bytes, kMOST_TRAFFIC) / 16 * 16;
        if (problem.empty() && own.traffic_bytes < wanted)
        {
            driver().release(own.traffic); // waits for what uses it
            own.traffic_bytes = ok(driver().allocate(&own.traffic, wanted), "cuMemAlloc") ? wanted : 0;
        }
        // An event for the fork, and one for the end of each stream.
        std::size_t const events = frame.aux.empty() ? 0 : frame.aux.size() + 1;
        if (problem.empty() && events > 0 && own.aside == 0)
            ok(driver().allocate(&own.aside, 16 * frame.aux.size()), "cuMemAlloc");
        while (problem.empty() && own.forks.size() < events)
        {
            Handle made = nullptr;
            if (ok(driver().event(&made, 2), "cuEventCreate")) // without a stamp
                own.forks.push_back(made);
        }
        scratch = own;
        return problem.empty();
    }

    /// A small kernel on each of the other streams, after what the frame has enqueued and before what comes.
    void runAside(Kernels const& kernels, Scratch const& scratch)
    {
        if (frame.aux.empty() || !ok(driver().record(scratch.forks[0], frame.stream), "cuEventRecord"))
            return;
        for (std::size_t n = 0; n < frame.aux.size(); ++n)
        {
            Handle const stream = frame.aux[n], end = scratch.forks[n + 1];
            Address own = scratch.aside + 16 * n;
            uint32_t nothing = 0;
            void* begin[] = {&own, &nothing};
            if (!ok(driver().wait(stream, scratch.forks[0], 0), "cuStreamWaitEvent")
                || !launchOn(stream, kernels.begin, 1, 1, "dbl_begin", begin)
                || !ok(driver().record(end, stream), "cuEventRecord")
                || !ok(driver().wait(frame.stream, end, 0), "cuStreamWaitEvent"))
                return;
        }
    }

    /// One kernel of `launches`, whose stamp lies at `own` + 8.
    bool launchSmall(Kernels const& kernels, Address own)
    {
        if (frame.launch_us > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(frame.launch_us));
        uint32_t nothing = 0;
        uint64_t nanos = frame.kernel_us * 1000, none = 0;
        Address since = own + 8;
        void* begin[] = {&own, &nothing};
        void* spin[] = {&nanos, &none, &none, &none, &since};
        return launch(kernels.begin, 1, 1, "dbl_begin", begin) && launch(kernels.spin, 1, 1, "dbl_spin", spin);
    }

    void run()
    {
        Kernels kernels;
        Scratch scratch;
        if (!prepare(kernels, scratch))
            return;
        uint32_t sum = 0;
        for (std::size_t k = 0; k < frame.inputs.size(); ++k)
            if (frame.inputs[k].on_host)
                sum += static_cast<uint32_t>(k + 1) * hostSum(frame.inputs[k]);
        uint64_t nanos = frame.compute_us * 1000;
        uint64_t places = scratch.traffic_bytes / 16;
        uint64_t accesses = places == 0 ? 0 : frame.traffic_bytes / 16;
        LayerRanges ranges(frame.layers, units(nanos + accesses > 0));
        void* first[] = {&scratch.sum, &sum};
        ranges.unit();
        if (!launch(kernels.begin, 1, 1, "dbl_begin", first))
            return;
        for (std::size_t k = 0; k < frame.inputs.size(); ++k)
        {
            Buffer in = frame.inputs[k];
            uint64_t bytes = in.elements * bytesOf(in.type);
            auto factor = static_cast<uint32_t>(k + 1);
            void* arguments[] = {&in.address, &bytes, &factor, &scratch.sum};
            if (!summed(in))
                continue;
            ranges.unit();
            if (!launch(kernels.sum, blocks(bytes), kBLOCK, "dbl_sum", arguments))
                return;
        }
        for (std::size_t j = 0; j < frame.outputs.size(); ++j)
        {
            Buffer out = frame.outputs[j];
            auto type = static_cast<uint32_t>(out.type);
            auto plus = static_cast<uint32_t>(j);
            void* to[] = {&out.address, &out.elements, &type, &plus, &scratch.sum};
            if (out.elements == 0)
                continue;
            ranges.unit();
            if (!launch(kernels.write, blocks(out.elements), kBLOCK, "dbl_write", to))
                return;
        }
        runAside(kernels, scratch);
        for (uint64_t n = 0; n < frame.launches; ++n)
        {
            ranges.unit();
            if (!launchSmall(kernels, scratch.sum + 16))
                return;
        }
        Address since = scratch.sum + 8;
        void* arguments[] = {&nanos, &scratch.traffic, &places, &accesses, &since};
        // Few enough blocks to be on any GPU at once.
        if (nanos + accesses > 0)
        {
            ranges.unit();
            launch(kernels.spin, 32, kBLOCK, "dbl_spin", arguments);
        }
        ranges.rest();
    }

    static bool summed(Buffer const& in) { return !in.on_host && in.elements * bytesOf(in.type) > 0; }

    /// What the layers share: the stamp, a sum an input, a write an output, each of `launches`, and the wait if there is one.
    std::size_t units(bool waits) const
    {
        auto const written = [](Buffer const& out) { return out.elements > 0; };
        return 1 + static_cast<std::size_t>(std::count_if(frame.inputs.begin(), frame.inputs.end(), summed))
            + static_cast<std::size_t>(std::count_if(frame.outputs.begin(), frame.outputs.end(), written)) + frame.launches
            + (waits ? 1 : 0);
    }
};

/// Whether CUDA knows an address (its own memory, or host memory that it pinned), and on which device.
bool isDevices(void const* address, int& device)
{
    constexpr int kMEMORY_TYPE = 2;
    constexpr int kDEVICE_ORDINAL = 9;
    unsigned type = 0;
    auto const at = static_cast<Address>(reinterpret_cast<uintptr_t>(address));
    return driver().attribute(&type, kMEMORY_TYPE, at) == 0 && type != 0
        && driver().attribute(&device, kDEVICE_ORDINAL, at) == 0;
}

} // namespace

uint64_t markStream(cudaStream_t stream)
{
    return driver().there && driver().mark != nullptr ? driver().mark(static_cast<Handle>(stream)) : 0;
}

bool wasAwaited(uint64_t mark) { return mark == 0 || driver().was_awaited == nullptr || driver().was_awaited(mark) != 0; }

int deviceOf(void const* address)
{
    int device = 0;
    return driver().there && isDevices(address, device) ? device : -1;
}

unsigned long long takeDeviceMemory(uint64_t bytes)
{
    Handle context = nullptr;
    Address address = 0;
    bool const can = driver().there && driver().current(&context) == 0 && context != nullptr;
    return can && driver().allocate(&address, bytes) == 0 ? address : 0;
}

void giveDeviceMemoryBack(unsigned long long address)
{
    if (address != 0)
        driver().release(address);
}

std::optional<Gpu> currentGpu()
{
    constexpr int kMAJOR = 75;
    constexpr int kMINOR = 76;
    Driver const& with = driver();
    Gpu gpu;
    char name[256] = "";
    int major = 0;
    int minor = 0;
    if (!with.there)
        return std::nullopt;
    if (with.current_device(&gpu.ordinal) != 0)
        gpu.ordinal = 0;
    if (with.device_name(name, sizeof(name), gpu.ordinal) != 0 || with.device_attribute(&major, kMAJOR, gpu.ordinal) != 0
        || with.device_attribute(&minor, kMINOR, gpu.ordinal) != 0)
        return std::nullopt;
    gpu.name = name;
    gpu.capability = major * 10 + minor;
    return gpu;
}

bool computeOnDevice(Frame const& frame, std::string& problem)
{
    if (!driver().there)
        return false;
    std::size_t known = 0;
    std::size_t all = 0;
    int device = 0;
    for (auto const* list : {&frame.inputs, &frame.outputs})
        for (auto const& buffer : *list)
            if (!buffer.on_host && buffer.elements > 0)
            {
                ++all;
                known += isDevices(buffer.address, device) ? 1 : 0;
            }
    if (known == 0)
        return false;
    if (known < all)
    {
        problem = "some tensors lie in device memory and some in host memory that CUDA does not know";
        return true;
    }
    Handle context = nullptr;
    DeviceFrame run{frame, problem};
    if (driver().current(&context) != 0 || context == nullptr)
        if (!run.ok(driver().retain_primary(&context, device), "cuDevicePrimaryCtxRetain")
            || !run.ok(driver().make_current(context), "cuCtxSetCurrent"))
            return true;
    run.run();
    return true;
}

std::vector<cudaStream_t> ownStreams(std::size_t count)
{
    std::vector<cudaStream_t> made;
    while (driver().there && made.size() < count)
    {
        Handle stream = nullptr;
        if (driver().stream(&stream, 1) != 0) // waits for no default stream
            break;
        made.push_back(static_cast<cudaStream_t>(stream));
    }
    return made;
}

void giveBackStreams(std::vector<cudaStream_t> const& streams)
{
    for (cudaStream_t stream : streams)
        driver().end_stream(stream);
}

bool isCapturing(cudaStream_t stream)
{
    int status = 0;
    return driver().there && driver().capturing(stream, &status) == 0 && status != 0;
}

bool finishDevice()
{
    {
        std::lock_guard<std::mutex> const lock(guard);
        if (kernels_of.empty())
            return true;
    }
    return driver().synchronize() == 0;
}

void leaveDevice(void const* owner)
{
    std::lock_guard<std::mutex> const lock(guard);
    for (auto entry = scratch_of.begin(); entry != scratch_of.end();)
    {
        auto const& [key, scratch] = *entry;
        if (key.second != owner)
        {
            ++entry;
            continue;
        }
        Handle before = nullptr;
        driver().current(&before);
        if (driver().make_current(key.first) == 0 && driver().synchronize() == 0)
        {
            driver().release(scratch.sum);
            driver().release(scratch.traffic);
            driver().release(scratch.aside);
            for (Handle event : scratch.forks)
                driver().end_event(event);
        }
        driver().make_current(before);
        entry = scratch_of.erase(entry);
    }
}

} // namespace dbl
