#include "runtime.h"

#include "context.h"
#include "device.h"
#include "nvidia_plugins.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

namespace dbl
{

using namespace nvinfer1;

namespace
{

/// All bytes of a stream reader.
template <class Read> std::string drain(Read&& some)
{
    std::string all;
    char buffer[4096];
    for (;;)
    {
        int64_t const got = some(buffer, static_cast<int64_t>(sizeof(buffer)));
        if (got <= 0)
            return all;
        all.append(buffer, static_cast<std::size_t>(got));
    }
}

/// Which engine's profile each context has. Contexts are made and deleted in several threads.
std::mutex profile_guard;
std::map<void const*, std::pair<Engine const*, int32_t>> profile_of;

} // namespace

// --- IRuntime ---

Runtime::Runtime(ILogger*)
{
    standard("MaxThreads", 1);
    standard("TempfileControlFlags", 3);
    standard("DLACore", -1);
    keep<char const*>("TemporaryDirectory", "");
}

Runtime::~Runtime()
{
    if (uint64_t const left = children(*this, "ICudaEngine"))
        violation("IRuntime was deleted while " + std::to_string(left) + " ICudaEngine of it lives");
    releaseLogger();
}

bool Runtime::gpu(char const* method)
{
    if (settings().gpu_absent != 2)
        return true;
    fail(this, method, ErrorCode::kFAILED_INITIALIZATION, "CUDA initialization failure with error: 35");
    return false;
}

ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, std::size_t size, void const*)
{
    static char const* const kMETHOD = "IRuntime::deserializeCudaEngine";
    Plan plan;
    PlanError error;
    if (!gpu(kMETHOD))
        return nullptr;
    if (!readPlan(blob, size, plan, error))
    {
        fail(this, kMETHOD, error.code, error.text);
        return nullptr;
    }
    // TensorRT-RTX compiles for the GPU that it finds; the others' kernels are for one kind, if it was not said otherwise.
    auto const gpu = DOUBLE_RTX || plan.option("HardwareCompatibilityLevel", 0) != 0 ? std::nullopt : currentGpu();
    int64_t const built_for = plan.option("ComputeCapability", 0);
    if (gpu && built_for != 0 && built_for != gpu->capability)
    {
        auto const shown = [](int64_t number) { return std::to_string(number / 10) + "." + std::to_string(number % 10); };
        fail(this, kMETHOD, ErrorCode::kFAILED_INITIALIZATION,
            "The engine plan file is generated on an incompatible device, expecting compute " + shown(gpu->capability)
                + " got compute " + shown(built_for) + ", please rebuild.");
        return nullptr;
    }
    if (plan.option("VersionCompatible", 0) != 0 && !kept("EngineHostCodeAllowed", false))
    {
        fail(this, kMETHOD, ErrorCode::kINVALID_CONFIG,
            "the plan is version compatible and holds host code: setEngineHostCodeAllowed(true) is wanted first");
        return nullptr;
    }
    for (auto const& layer : plan.network.layers)
        if (isNvidiasPlugin(layer.name) && !nvidiasPluginsAreRegistered())
        {
            fail(this, kMETHOD, ErrorCode::kINVALID_ARGUMENT, "Cannot deserialize plugin since corresponding IPluginCreator not found");
            return nullptr;
        }
    say(Severity::kINFO, "Loaded engine size: " + std::to_string(size) + " bytes");
    return new EngineObject(this, std::move(plan));
}

#if DOUBLE_RTX_AT_LEAST(1) && !DOUBLE_STRONG || DOUBLE_AT_LEAST(10, 0) && NV_TENSORRT_MAJOR == 10
ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& reader)
{
    std::string const bytes = drain([&](char* to, int64_t size) { return reader.read(to, size); });
    return deserializeCudaEngine(bytes.data(), bytes.size());
}
#endif
#if DOUBLE_RTX || DOUBLE_AT_LEAST(10, 7)
ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& reader)
{
    std::string const bytes = drain([&](char* to, int64_t size) { return reader.read(to, size, nullptr); });
    return deserializeCudaEngine(bytes.data(), bytes.size());
}
#endif

bool Runtime::setMaxThreads(int32_t count)
{
    if (count < 1)
        return false;
    keep("MaxThreads", count);
    return true;
}

IRuntime* Runtime::loadRuntime(char const* path)
{
    fail(this, "IRuntime::loadRuntime", ErrorCode::kINVALID_ARGUMENT, "no lean runtime at " + showText(path));
    return nullptr;
}

Number Runtime::getEngineValidity(void const* blob, int64_t size, uint64_t* diagnostics)
{
    Plan plan;
    PlanError error;
    bool const valid = settings().gpu_absent == 0 && size >= 0 && readPlan(blob, static_cast<std::size_t>(size), plan, error);
    if (diagnostics != nullptr)
        *diagnostics = valid || settings().gpu_absent != 0 ? 0 : error.code == ErrorCode::kINVALID_CONFIG ? 1 : 2;
    return {valid ? 0 : 2};
}

// --- ICudaEngine ---

Engine::Engine(Runtime* from, Plan read) : plan(std::move(read))
{
    parent = from;
    io = plan.network.inputs;
    io.insert(io.end(), plan.network.outputs.begin(), plan.network.outputs.end());
    if (plan.network.weights_bytes > 0)
        weights = takeDeviceMemory(plan.network.weights_bytes);
}

Engine::~Engine()
{
    for (char const* klass : {"IExecutionContext", "IEngineInspector"})
        if (uint64_t const left = children(*this, klass))
            violation("ICudaEngine was deleted while " + std::to_string(left) + " " + klass + " of it lives");
    giveDeviceMemoryBack(weights);
}

int32_t Engine::getNbAuxStreams() { return static_cast<int32_t>(std::max<int64_t>(0, plan.option("MaxAuxStreams", 0))); }

TensorText const* Engine::tensor(char const* name, char const* method)
{
    for (auto const& t : io)
        if (name != nullptr && t.name == name)
            return &t;
    fail(this, std::string("ICudaEngine::") + method, ErrorCode::kINVALID_ARGUMENT,
        "Given invalid tensor name: " + (name == nullptr ? std::string("null") : name));
    return nullptr;
}

bool Engine::dynamic() const
{
    return std::any_of(plan.network.inputs.begin(), plan.network.inputs.end(),
        [](TensorText const& t) { return t.shape_input || isDynamic(t.dims); });
}

bool Engine::sharesProfiles() const
{
#if DOUBLE_ERA_A
    // kPROFILE_SHARING_0806 is 2, from 8.6.1 on.
    return !dynamic() || (DOUBLE_AT_LEAST(8, 6) && plan.option("PreviewFeature[2]", 0) != 0);
#else
    return true;
#endif
}

bool Engine::takeProfile(void const* context, int32_t profile)
{
    std::lock_guard<std::mutex> const lock(profile_guard);
    bool const is_taken = std::any_of(profile_of.begin(), profile_of.end(), [&](auto const& one) {
        return one.first != context && one.second.first == this && one.second.second == profile;
    });
    if (is_taken && !sharesProfiles())
        return false;
    profile_of[context] = {this, profile};
    return true;
}

void Engine::leaveProfile(void const* context)
{
    std::lock_guard<std::mutex> const lock(profile_guard);
    profile_of.erase(context);
}

char const* Engine::getIOTensorName(int32_t index)
{
    if (index >= 0 && index < getNbIOTensors())
        return io[static_cast<std::size_t>(index)].name.c_str();
    fail(this, "ICudaEngine::getIOTensorName", ErrorCode::kINVALID_ARGUMENT, "no tensor of index " + std::to_string(index));
    return nullptr;
}

Dims Engine::getTensorShape(char const* name)
{
    auto const* t = tensor(name, "getTensorShape");
    return t == nullptr ? number<Dims>(0) : t->dims;
}
DataType Engine::getTensorDataType(char const* name)
{
    auto const* t = tensor(name, "getTensorDataType");
    return t == nullptr ? DataType::kFLOAT : t->type;
}
TensorIOMode Engine::getTensorIOMode(char const* name)
{
    for (auto const& t : plan.network.inputs)
        if (name != nullptr && t.name == name)
            return TensorIOMode::kINPUT;
    return tensor(name, "getTensorIOMode") == nullptr ? TensorIOMode::kNONE : TensorIOMode::kOUTPUT;
}
Number Engine::getTensorLocation(char const* name)
{
    auto const* t = tensor(name, "getTensorLocation");
    return {t != nullptr && t->shape_input ? 1 : 0};
}
bool Engine::isShapeInferenceIO(char const* name)
{
    auto const* t = tensor(name, "isShapeInferenceIO");
    return t != nullptr && t->shape_input;
}
int32_t Engine::getTensorBytesPerComponent(char const* name, int32_t) { return tensor(name, "getTensorBytesPerComponent"), -1; }
int32_t Engine::getTensorComponentsPerElement(char const* name, int32_t) { return tensor(name, "getTensorComponentsPerElement"), -1; }
int32_t Engine::getTensorVectorizedDim(char const* name, int32_t) { return tensor(name, "getTensorVectorizedDim"), -1; }
Number Engine::getTensorFormat(char const* name, int32_t) { return tensor(name, "getTensorFormat"), Number{0}; }
char const* Engine::getTensorFormatDesc(char const* name, int32_t)
{
    return tensor(name, "getTensorFormatDesc") == nullptr ? nullptr : "Row major linear format (kLINEAR)";
}

Range const* Engine::range(char const* name, int32_t profile, char const* method)
{
    if (tensor(name, method) == nullptr)
        return nullptr;
    if (profile < 0 || profile >= getNbOptimizationProfiles())
    {
        fail(this, std::string("ICudaEngine::") + method, ErrorCode::kINVALID_ARGUMENT,
            "profileIndex is " + std::to_string(profile) + ", the engine has " + std::to_string(getNbOptimizationProfiles()));
        return nullptr;
    }
    auto const& ranges = plan.profiles[static_cast<std::size_t>(profile)];
    auto const at = ranges.find(name);
    return at == ranges.end() ? nullptr : &at->second;
}

Dims Engine::getProfileShape(char const* name, int32_t profile, OptProfileSelector select)
{
    auto const* found = range(name, profile, "getProfileShape");
    if (found != nullptr && !found->is_values)
        return found->dims[static_cast<std::size_t>(select)];
    // A static input: its own shape, as TensorRT answers. An output: none.
    auto const* input = name == nullptr ? nullptr : plan.network.find(name);
    bool const known = input != nullptr && profile >= 0 && profile < getNbOptimizationProfiles()
        && getTensorIOMode(name) == TensorIOMode::kINPUT;
    return known ? input->dims : number<Dims>(0);
}

int64_t const* Engine::getProfileTensorValuesV2(char const* name, int32_t profile, OptProfileSelector select)
{
    auto const* found = range(name, profile, "getProfileTensorValuesV2");
    return found != nullptr && found->is_values ? &found->values[static_cast<std::size_t>(select)] : nullptr;
}

int32_t const* Engine::getProfileTensorValues(char const* name, int32_t profile, OptProfileSelector select)
{
    auto const* found = range(name, profile, "getProfileTensorValues");
    if (found == nullptr || !found->is_values)
        return nullptr;
    auto& kept = narrow[std::string(name) + "/" + std::to_string(profile)];
    for (std::size_t k = 0; k < 3; ++k)
        kept[k] = static_cast<int32_t>(found->values[k]);
    return &kept[static_cast<std::size_t>(select)];
}

int32_t Engine::getBindingIndex(char const* name)
{
    for (std::size_t i = 0; i < io.size(); ++i)
        if (name != nullptr && io[i].name == name)
            return static_cast<int32_t>(i);
    return -1;
}
bool Engine::bindingIsInput(int32_t index) { return index >= 0 && static_cast<std::size_t>(index) < plan.network.inputs.size(); }

std::size_t Engine::getDeviceMemorySizeForProfile(int32_t profile)
{
    return profile >= 0 && profile < getNbOptimizationProfiles() ? plan.network.device_memory : 0;
}

IExecutionContext* Engine::context(int32_t strategy) { return new ContextObject(this, strategy); }

#if DOUBLE_HAS_VRuntimeConfig
IRuntimeConfig* Engine::createRuntimeConfig() { return new RuntimeConfigObject(this); }

IExecutionContext* Engine::createExecutionContextWithRuntimeConfig(IRuntimeConfig* config)
{
    auto* found = behind<RuntimeConfigObject>(config, "IRuntimeConfig", "ICudaEngine::createExecutionContextWithRuntimeConfig");
    if (found == nullptr)
        return nullptr;
#if DOUBLE_HAS_VRuntimeCache
    if (found->cache != nullptr)
        if (auto* cache = behind<RuntimeCacheObject>(found->cache, "IRuntimeCache", "ICudaEngine::createExecutionContextWithRuntimeConfig"))
            cache->entries[plan.name] = plan.number;
#endif
    return context(static_cast<int32_t>(found->keptNumber("ExecutionContextAllocationStrategy", 0)));
}
#endif
#if DOUBLE_HAS_VSerializationConfig
ISerializationConfig* Engine::createSerializationConfig() { return new SerializationConfigObject(); }
#endif
IEngineInspector* Engine::createEngineInspector() { return new InspectorObject(this); }

// --- IEngineInspector ---

Inspector::Inspector(Engine* from) : engine(from) { parent = from; }

bool Inspector::setExecutionContext(IExecutionContext const* context)
{
    if (context != nullptr && find(context, "IExecutionContext", "IEngineInspector::setExecutionContext") == nullptr)
        return false;
    of = context;
    return true;
}

/// The first of some tensors, as inspectors of detailed plans tell it.
static std::string told(std::vector<TensorText> const& tensors)
{
    if (tensors.empty())
        return "";
    TensorText const& tensor = tensors[0];
    std::string sizes;
    for (int32_t i = 0; i < tensor.dims.nbDims; ++i)
        sizes += (i == 0 ? "" : ", ") + std::to_string(tensor.dims.d[i]);
    std::string const format = tensor.type == DataType::kHALF ? "Row major linear FP16 format"
        : tensor.type == DataType::kINT8                      ? "Row major Int8 format"
        : tensor.type == DataType::kFLOAT                     ? "Row major linear FP32"
                                                              : "Unknown format";
    return "{\"Name\": \"" + tensor.name + "\", \"Location\": \"Device\", \"Dimensions\": [" + sizes
        + "], \"Format/Datatype\": \"" + format + "\"}";
}

/// Every layer reads the network's first input and writes its first output; convolutions have weights.
std::string Inspector::layer(std::size_t index, bool json)
{
    LayerText const& layer = engine->plan.network.layers[index];
    int64_t const verbosity = engine->plan.option("ProfilingVerbosity", 0);
    std::string const name = verbosity == 1 ? "Layer " + std::to_string(index) : layer.name;
    if (verbosity != 2)
        return json ? "\"" + name + "\"" : name;
    if (json)
        return "{\"Name\": \"" + name + "\", \"LayerType\": \"" + layer.op + "\", \"Inputs\": ["
            + told(engine->plan.network.inputs) + "], \"Outputs\": [" + told(engine->plan.network.outputs) + "], "
            + (layer.op.find("Conv") == 0 ? "\"Groups\": 1, \"Weights\": {\"Type\": \"Half\", \"Count\": 72}, " : "")
            + "\"TacticName\": \"double_" + layer.op + "\", \"Metadata\": \"\"}";
    return name + ", LayerType: " + layer.op + ", TacticName: double";
}

char const* Inspector::getLayerInformation(int32_t index, LayerInformationFormat format)
{
    if (index < 0 || index >= engine->getNbLayers())
    {
        fail(this, "IEngineInspector::getLayerInformation", ErrorCode::kINVALID_ARGUMENT,
            "no layer of index " + std::to_string(index));
        return nullptr;
    }
    answer = layer(static_cast<std::size_t>(index), format == LayerInformationFormat::kJSON);
    return answer.c_str();
}

char const* Inspector::getEngineInformation(LayerInformationFormat format)
{
    bool const json = format == LayerInformationFormat::kJSON;
    std::ostringstream out;
    char const* separator = "";
    out << (json ? "{\"Layers\": [" : "Layers:\n");
    for (std::size_t i = 0; i < engine->plan.network.layers.size(); ++i)
    {
        out << separator << layer(i, json) << (json ? "" : "\n");
        separator = json ? ",\n" : "";
    }
    out << (json ? "],\n\"Bindings\": [" : "\nBindings:\n");
    separator = "";
    for (auto const& t : engine->io)
    {
        out << separator << (json ? "\"" + t.name + "\"" : t.name + "\n");
        separator = json ? ", " : "";
    }
    out << (json ? "]}" : "");
    answer = out.str();
    return answer.c_str();
}

// --- RTX: runtime cache ---

#if DOUBLE_HAS_VRuntimeCache
IHostMemory* RuntimeCache::serialize()
{
    std::string text = "double-runtime-cache\n";
    for (auto const& entry : entries)
        text += entry.first + "\n";
    return hostMemory(text);
}

bool RuntimeCache::deserialize(void const* blob, std::size_t size)
{
    std::istringstream text(blob == nullptr ? std::string() : std::string(static_cast<char const*>(blob), size));
    std::string line;
    if (!std::getline(text, line) || line != "double-runtime-cache")
    {
        fail(this, "IRuntimeCache::deserialize", ErrorCode::kINVALID_ARGUMENT, "the blob is no runtime cache");
        return false;
    }
    while (std::getline(text, line))
        entries[line] = 1;
    return true;
}

bool RuntimeCache::reset()
{
    entries.clear();
    return true;
}

bool RuntimeConfig::setRuntimeCache(IRuntimeCache const& given)
{
    if (find(&given, "IRuntimeCache", "IRuntimeConfig::setRuntimeCache") == nullptr)
        return false;
    cache = &given;
    return true;
}
#endif

} // namespace dbl
