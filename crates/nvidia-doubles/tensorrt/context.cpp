#include "context.h"

#include "compute.h"
#include "device.h"
#include "ranges.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

namespace dbl
{

using namespace nvinfer1;

namespace
{

/// Memory of the caller in which an enqueue is under way. Launches of two contexts in it would come in any order, each
/// writing over what the other is about to read: "undefined" in NvInferRuntime.h.
class Arena
{
public:
    explicit Arena(void* memory) : own(memory)
    {
        std::lock_guard<std::mutex> const lock(guard());
        is_free = own == nullptr || used().insert(own).second;
    }
    ~Arena()
    {
        std::lock_guard<std::mutex> const lock(guard());
        if (is_free)
            used().erase(own);
    }
    Arena(Arena const&) = delete;
    Arena& operator=(Arena const&) = delete;
    bool is_free;

private:
    static std::mutex& guard()
    {
        static std::mutex the;
        return the;
    }
    static std::set<void*>& used()
    {
        static std::set<void*> the;
        return the;
    }
    void* own;
};

/// RTX compiles kernels for shapes that it has not seen beside their first frames.
constexpr uint64_t kFRAMES_OF_COMPILING = 2;

} // namespace

Context::Context(Engine* from, int32_t strategy) : engine(from), user_memory(strategy == Engine::kUSER_MANAGED)
{
    parent = from;
    // The first context of an engine begins with profile 0, all others with none, where profiles are not shared.
    profile = -1;
    useProfile(0);
    standard("EnqueueEmitsProfile", 1);
    standard("NvtxVerbosity", from->plan.option("ProfilingVerbosity", 0));
    keep<char const*>("Name", "");
    for (auto const& text : engine->io)
    {
        bool const input = io.size() < engine->plan.network.inputs.size();
        io.push_back({&text, input, text.dims});
    }
}

Context::~Context()
{
    // A graph or a stream may still hold work of this context; on the host all work is done.
    leaveDevice(this);
    dropAuxStreams();
    Engine::leaveProfile(this);
}

bool Context::refuse(std::string const& method, ErrorCode code, std::string const& text)
{
    fail(this, "IExecutionContext::" + method, code, text);
    return false;
}

Io* Context::find(char const* name, char const* method)
{
    for (auto& one : io)
        if (name != nullptr && one.text->name == name)
            return &one;
    refuse(method, ErrorCode::kINVALID_ARGUMENT, "Given invalid tensor name: " + (name == nullptr ? "null" : std::string(name)));
    return nullptr;
}

bool Context::setInputShape(char const* name, Dims const& dims)
{
    Io* const one = find(name, "setInputShape");
    if (one == nullptr)
        return false;
    if (!one->input || one->text->shape_input)
        return refuse("setInputShape", ErrorCode::kINVALID_ARGUMENT, one->text->name + " is not an execution input");
    Dims const& declared = one->text->dims;
    if (dims.nbDims != declared.nbDims)
        return refuse("setInputShape", ErrorCode::kINVALID_ARGUMENT,
            "Parameter check failed, condition: engineDims.nbDims == dims.nbDims. " + one->text->name + " has "
                + showDims(declared) + ", set was " + showDims(dims));
    if (profile < 0)
        return refuse("setInputShape", ErrorCode::kINVALID_STATE, "no optimization profile is selected");
    auto const& ranges = engine->plan.profiles[static_cast<std::size_t>(profile)];
    auto const range = ranges.find(one->text->name);
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        if (declared.d[i] >= 0 && dims.d[i] != declared.d[i])
            return refuse("setInputShape", ErrorCode::kINVALID_ARGUMENT,
                "Static dimension mismatch while setting input shape for " + one->text->name + ". Set dimensions are "
                    + showDims(dims) + ". Expected dimensions are " + showDims(declared) + ".");
        if (range != ranges.end()
            && (dims.d[i] < range->second.dims[0].d[i] || dims.d[i] > range->second.dims[2].d[i]))
            return refuse("setInputShape", ErrorCode::kINVALID_ARGUMENT,
                "Set dimension [" + std::to_string(dims.d[i]) + "] for tensor " + one->text->name
                    + " does not satisfy any optimization profiles. Valid range for profile " + std::to_string(profile)
                    + ": " + showDims(range->second.dims[0]) + ".." + showDims(range->second.dims[2]) + ".");
    }
    if (!std::equal(dims.d, dims.d + dims.nbDims, one->dims.d))
        frames_of_shapes = 0;
    one->dims = dims;
    return true;
}

/// An output's shape as far as the inputs' settle it.
Dims Context::resolve(Io const& one) const
{
    Dims dims = one.dims;
    if (one.input)
        return dims;
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        auto const at = static_cast<std::size_t>(i);
        if (dims.d[i] >= 0 || one.text->limits[at] > 0)
            continue;
        std::string const& word = one.text->words[at];
        for (auto const& input : io)
        {
            if (!input.input)
                break;
            using Dim = std::remove_reference_t<decltype(dims.d[i])>;
            if (input.text->shape_input && input.text->name == word)
                dims.d[i] = static_cast<Dim>(input.value);
            for (int32_t k = 0; !word.empty() && k < input.dims.nbDims; ++k)
                if (input.text->words[static_cast<std::size_t>(k)] == word)
                    dims.d[i] = input.dims.d[k];
            if (word.empty() && i < input.dims.nbDims && dims.d[i] < 0)
                dims.d[i] = input.dims.d[i];
        }
    }
    return dims;
}

/// The shape that a run gives: what is known only then is half of its limit.
Dims Context::late(Io const& one) const
{
    Dims dims = resolve(one);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (int64_t const limit = one.text->limits[static_cast<std::size_t>(i)])
            dims.d[i] = static_cast<std::remove_reference_t<decltype(dims.d[i])>>((limit + 1) / 2);
    return dims;
}

bool Context::hasLateOutputs() const
{
    return std::any_of(io.begin(), io.end(), [](Io const& one) { return one.text->dataDependent(); });
}

Dims Context::getTensorShape(char const* name)
{
    Io const* const one = find(name, "getTensorShape");
    return one == nullptr ? number<Dims>(0) : resolve(*one);
}

Dims Context::getTensorStrides(char const* name)
{
    Io const* const one = find(name, "getTensorStrides");
    if (one == nullptr)
        return number<Dims>(0);
    Dims const dims = resolve(*one);
    Dims strides = dims;
    std::remove_reference_t<decltype(strides.d[0])> step = 1;
    for (int32_t i = dims.nbDims - 1; i >= 0; --i)
    {
        strides.d[i] = step;
        step = step < 0 || dims.d[i] < 0 ? -1 : step * dims.d[i];
    }
    return strides;
}

bool Context::setTensorAddress(char const* name, void* data)
{
    Io* const one = find(name, "setTensorAddress");
    if (one == nullptr)
        return false;
    one->address = data;
    return true;
}

void const* Context::getTensorAddress(char const* name)
{
    Io const* const one = find(name, "getTensorAddress");
    return one == nullptr ? nullptr : one->address;
}

bool Context::setInputTensorAddress(char const* name, void const* data)
{
    Io* const one = find(name, "setInputTensorAddress");
    if (one == nullptr || !one->input)
        return one != nullptr && refuse("setInputTensorAddress", ErrorCode::kINVALID_ARGUMENT, one->text->name + " is no input");
    one->address = const_cast<void*>(data);
    return true;
}

bool Context::setOutputTensorAddress(char const* name, void* data)
{
    Io* const one = find(name, "setOutputTensorAddress");
    if (one == nullptr || one->input)
        return one != nullptr && refuse("setOutputTensorAddress", ErrorCode::kINVALID_ARGUMENT, one->text->name + " is no output");
    one->address = data;
    return true;
}

void* Context::getOutputTensorAddress(char const* name)
{
    Io const* const one = find(name, "getOutputTensorAddress");
    return one == nullptr || one->input ? nullptr : one->address;
}

bool Context::setOutputAllocator(char const* name, IOutputAllocator* allocator)
{
    Io* const one = find(name, "setOutputAllocator");
    if (one == nullptr || one->input)
        return one != nullptr && refuse("setOutputAllocator", ErrorCode::kINVALID_ARGUMENT, one->text->name + " is no output");
    one->allocator = allocator;
    return true;
}

IOutputAllocator* Context::getOutputAllocator(char const* name)
{
    Io const* const one = find(name, "getOutputAllocator");
    return one == nullptr ? nullptr : one->allocator;
}

int64_t Context::getMaxOutputSize(char const* name)
{
    Io const* const one = find(name, "getMaxOutputSize");
    if (one == nullptr || one->input)
        return -1;
    Dims dims = resolve(*one);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (int64_t const limit = one->text->limits[static_cast<std::size_t>(i)])
            dims.d[i] = static_cast<std::remove_reference_t<decltype(dims.d[i])>>(limit);
    return static_cast<int64_t>(volume(dims) * bytesOf(one->text->type));
}

/// Inputs whose shape, or value for shape inputs, is not known.
std::vector<std::string> Context::missing()
{
    std::vector<std::string> names;
    for (auto& one : io)
    {
        if (!one.input)
            break;
        if (one.text->shape_input && one.address != nullptr)
        {
            // Shape values lie in host memory.
            int32_t narrow = 0;
            if (bytesOf(one.text->type) == 8)
                std::memcpy(&one.value, one.address, 8);
            else
            {
                std::memcpy(&narrow, one.address, 4);
                one.value = narrow;
            }
        }
        if (one.text->shape_input ? one.address == nullptr : isDynamic(one.dims))
            names.push_back(one.text->name);
    }
    return names;
}

int32_t Context::inferShapes(int32_t capacity, char const** names)
{
    if (capacity < 0 || (capacity > 0 && names == nullptr))
        return -1;
    int32_t count = 0;
    for (auto const& name : missing())
    {
        if (count < capacity)
            names[count] = std::find_if(io.begin(), io.end(), [&](Io const& one) { return one.text->name == name; })->text->name.c_str();
        ++count;
    }
    return count;
}

bool Context::allInputDimensionsSpecified()
{
    return std::none_of(io.begin(), io.end(), [](Io const& one) { return one.input && isDynamic(one.dims); });
}

bool Context::setOptimizationProfileAsync(int32_t index, cudaStream_t stream)
{
    if (index < 0 || index >= engine->getNbOptimizationProfiles())
        return refuse("setOptimizationProfileAsync", ErrorCode::kINVALID_ARGUMENT,
            "profileIndex is " + std::to_string(index) + ", the engine has " + std::to_string(engine->getNbOptimizationProfiles()));
    if (!useProfile(index))
        return refuse("setOptimizationProfileAsync", ErrorCode::kINVALID_STATE,
            "Profile " + std::to_string(index) + " has been chosen by another execution context of this engine, and each has to "
            "have its own: build with more profiles, or with PreviewFeature::kPROFILE_SHARING_0806 (8.6.1 and later)");
    profile_stream = stream;
    profile_mark = markStream(stream);
    // A new profile forgets the shapes.
    for (auto& one : io)
        one.dims = one.text->dims;
    return true;
}

void Context::setDeviceMemory(void* given) { setDeviceMemoryV2(given, static_cast<int64_t>(engine->plan.network.device_memory)); }

void Context::setDeviceMemoryV2(void* given, int64_t size)
{
    if (!user_memory)
    {
        refuse("setDeviceMemory", ErrorCode::kINVALID_STATE, "the context was not created for memory of the caller");
        return;
    }
    memory = given;
    memory_size = size;
}

bool Context::useProfile(int32_t index)
{
    if (!engine->takeProfile(this, index))
        return false;
    profile = index;
    return true;
}

/// Whether kernels for the shapes at hand are still being compiled, so that a frame of them cannot be captured.
bool Context::compiles() const
{
#if DOUBLE_RTX_AT_LEAST(5) // from where on the context can be asked
    return engine->dynamic() && frames_of_shapes < kFRAMES_OF_COMPILING;
#else
    return false;
#endif
}

void Context::dropAuxStreams()
{
    if (owns_aux_streams)
        giveBackStreams(aux_streams);
    owns_aux_streams = false;
    aux_streams.clear();
}

/// As many as the plan uses: the caller's, else some of the double's own.
bool Context::haveAuxStreams(char const* method, cudaStream_t stream)
{
    auto const wanted = static_cast<std::size_t>(engine->getNbAuxStreams());
    if (wanted > 0 && aux_streams.empty())
    {
        aux_streams = ownStreams(wanted);
        owns_aux_streams = true;
    }
    std::set<cudaStream_t> const distinct(aux_streams.begin(), aux_streams.end());
    if (distinct.size() < aux_streams.size() || distinct.count(stream) > 0 || distinct.count(nullptr) > 0)
        return refuse(method, ErrorCode::kINVALID_ARGUMENT,
            "the auxiliary streams and the one given to enqueueV3 have to be different streams, none of them the default one");
    return true;
}

void Context::setAuxStreams(cudaStream_t* streams, int32_t count)
{
    dropAuxStreams();
    if (streams != nullptr && count > 0)
        aux_streams.assign(streams, streams + count);
}

bool Context::ready(char const* method)
{
    auto const names = missing();
    if (!names.empty())
        return refuse(method, ErrorCode::kINVALID_STATE, "Not all shapes are specified: " + names[0] + " is not");
    if (user_memory && engine->plan.network.device_memory > 0
        && (memory == nullptr || memory_size < static_cast<int64_t>(engine->plan.network.device_memory)))
        return refuse(method, ErrorCode::kINVALID_STATE,
            "device memory of " + std::to_string(engine->plan.network.device_memory) + " bytes is wanted, given was "
                + std::to_string(memory == nullptr ? 0 : memory_size));
    for (auto const& one : io)
        if (one.address == nullptr && one.allocator == nullptr)
            return refuse(method, ErrorCode::kINVALID_STATE,
                "Neither address or allocator is set for " + std::string(one.input ? "input" : "output") + " tensor "
                    + one.text->name + ". Call setTensorAddress or setOutputAllocator before enqueue/execute.");
        else if (one.text->dataDependent() && one.allocator == nullptr)
            return refuse(method, ErrorCode::kINVALID_STATE,
                "the size of " + one.text->name + " is known only after the run: it wants an output allocator");
    return true;
}

/// Asks the caller's allocator for an output's memory and tells it the shape.
bool Context::place(Io& output, [[maybe_unused]] cudaStream_t stream)
{
    Dims const dims = late(output);
    uint64_t const size = volume(dims) * bytesOf(output.text->type);
    char const* name = output.text->name.c_str();
#if DOUBLE_ERA_A
    void* const given = output.allocator->reallocateOutput(name, output.address, size, 256);
#else
    void* const given = output.allocator->reallocateOutputAsync(name, output.address, size, 256, stream);
#endif
    if (given == nullptr && size > 0)
        return refuse("enqueueV3", ErrorCode::kFAILED_ALLOCATION, "the output allocator gave no memory for " + output.text->name);
    output.address = given;
    output.allocator->notifyShape(name, dims);
    return true;
}

bool Context::setNvtxVerbosity(ProfilingVerbosity verbosity)
{
    // From nothing to everything: none, names, details.
    auto const rank = [](int64_t one) { return one == 1 ? 0 : one == 0 ? 1 : 2; };
    auto const wanted = static_cast<int64_t>(verbosity);
    if (rank(wanted) > rank(engine->plan.option("ProfilingVerbosity", 0)))
        return refuse("setNvtxVerbosity", ErrorCode::kINVALID_ARGUMENT, "the engine was built with less verbosity than that");
    standard("NvtxVerbosity", wanted);
    return true;
}

bool Context::frame(char const* method, cudaStream_t stream)
{
    bool const has_ranges = keptNumber("NvtxVerbosity", 0) != 1;
    NvtxRange const range(has_ranges, "ExecutionContext::enqueue");
    if (!ready(method) || !haveAuxStreams(method, stream))
        return false;
    if (compiles() && isCapturing(stream))
        return refuse(method, ErrorCode::kINVALID_STATE, "the stream is captured while kernels of these shapes are being compiled");
    if (stream != profile_stream && !wasAwaited(profile_mark))
        return refuse(method, ErrorCode::kINVALID_STATE,
            "the profile was chosen on another stream, and nobody has waited for what that copies");
    Arena const arena(user_memory && engine->plan.network.device_memory > 0 ? memory : nullptr);
    if (!arena.is_free)
        return refuse(method, ErrorCode::kINVALID_STATE,
            "another context is being enqueued in this one's device memory; what the two write there is undefined");
    for (auto& one : io)
        if (one.allocator != nullptr && !place(one, stream))
            return false;
    Frame frame;
    frame.owner = this;
    frame.layers = has_ranges ? &engine->plan.network.layers : nullptr;
    frame.stream = stream;
    frame.aux.assign(aux_streams.begin(), aux_streams.begin()
        + static_cast<std::ptrdiff_t>(std::min(aux_streams.size(), static_cast<std::size_t>(engine->getNbAuxStreams()))));
    frame.compute_us = engine->plan.network.compute_us;
    frame.traffic_bytes = engine->plan.network.traffic_bytes;
    frame.launches = engine->plan.network.launches;
    frame.launch_us = engine->plan.network.launch_us;
    frame.kernel_us = engine->plan.network.kernel_us;
    for (auto const& one : io)
    {
        Buffer const buffer{one.address, volume(late(one)), one.text->type, one.text->shape_input};
        (one.input ? frame.inputs : frame.outputs).push_back(buffer);
    }
    std::string const problem = compute(frame);
    if (!problem.empty())
        return refuse(method, ErrorCode::kFAILED_EXECUTION, problem);
    settings().enqueued.fetch_add(1, std::memory_order_relaxed);
    ++frames_of_shapes;
    unreported = true;
    if (keptNumber("EnqueueEmitsProfile", 1) != 0 && properties.count("Profiler") == 1)
        report();
    return true;
}

bool Context::enqueueV3(cudaStream_t stream)
{
    if (settings().compute.load(std::memory_order_relaxed))
        return frame("enqueueV3", stream);
    settings().enqueued.fetch_add(1, std::memory_order_relaxed);
    return true;
}

bool Context::executeV2(void* const* bindings)
{
    if (bindings == nullptr)
        return refuse("executeV2", ErrorCode::kINVALID_ARGUMENT, "bindings is null");
    for (std::size_t i = 0; i < io.size(); ++i)
        io[i].address = bindings[i];
    return frame("executeV2", nullptr) && finishDevice();
}

/// Layer i takes (i + 1) / 8 ms: what a profiler is told, whatever time has passed.
void Context::report()
{
    auto* profiler = kept<IProfiler*>("Profiler", nullptr);
    float ms = 0;
    for (auto const& layer : engine->plan.network.layers)
    {
        ms += 0.125F;
        if (profiler != nullptr)
            profiler->reportLayerTime(layer.name.c_str(), ms);
    }
    unreported = false;
}

bool Context::reportToProfiler()
{
    if (!unreported || kept<IProfiler*>("Profiler", nullptr) == nullptr)
        return refuse("reportToProfiler", ErrorCode::kINVALID_STATE, "no profiler is set, or nothing was enqueued since the last report");
    report();
    return true;
}

} // namespace dbl
