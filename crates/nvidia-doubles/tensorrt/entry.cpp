// The C entry points of libnvinfer and the plugin registry.
#include "context.h"
#include "ranges.h"

#include <cstring>
#include <dlfcn.h>
#include <set>

namespace dbl
{

using namespace nvinfer1;

/// Plugins do not exist for the double; libraries are opened as the real registry does, which refuses one whose plugins are
/// registered, and one that does not tell them by `getCreators` (or by `getPluginCreators`, as libraries of 8.6 do).
struct Registry : Object
{
    bool parent_search = true;
    std::set<void*> registered;

    bool isParentSearchEnabled() { return parent_search; }
    void setParentSearchEnabled(bool enabled) { parent_search = enabled; }
    void* loadLibrary(char const* path)
    {
        void* const handle = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (handle == nullptr)
        {
            char const* const why = path == nullptr ? "null" : dlerror();
            fail(this, "IPluginRegistry::loadLibrary", ErrorCode::kINVALID_ARGUMENT, why == nullptr ? "dlopen failed" : why);
            return nullptr;
        }
        char const* problem = nullptr;
        if (dlsym(handle, "getCreators") == nullptr && dlsym(handle, "getPluginCreators") == nullptr)
            problem = "Unable to load symbol: getCreators";
        else if (registered.count(handle) > 0)
            problem = "a plugin of the library is registered already";
        if (problem != nullptr)
        {
            dlclose(handle);
            fail(this, "IPluginRegistry::loadLibrary", ErrorCode::kINVALID_ARGUMENT, problem);
            return nullptr;
        }
        registered.insert(handle);
        return handle;
    }
    void deregisterLibrary(void* handle)
    {
        if (registered.erase(handle) > 0)
            dlclose(handle);
    }
};

IPluginRegistry& pluginRegistry()
{
    static IPluginRegistryShim<Registry> registry;
    registry.impl.klass = "IPluginRegistry";
    return registry;
}

std::string methodTable()
{
    std::string text;
    auto const line = [&](char const* method, bool by_hand) {
        std::string_view name(method);
        name.remove_prefix(name.find("::") + 2);
        text += by_hand || isSetter(name) || isGetter(name) ? "1 " : "0 ";
        text += std::string(method) + "\n";
    };
    apiv::VRuntimeShim<Runtime>::coverage(line);
    apiv::VCudaEngineShim<Engine>::coverage(line);
    apiv::VExecutionContextShim<Context>::coverage(line);
    apiv::VEngineInspectorShim<Inspector>::coverage(line);
    apiv::VHostMemoryShim<HostMemory>::coverage(line);
    apiv::VBuilderShim<Builder>::coverage(line);
    apiv::VBuilderConfigShim<BuilderConfig>::coverage(line);
    apiv::VNetworkDefinitionShim<Network>::coverage(line);
    apiv::VTensorShim<Tensor>::coverage(line);
    apiv::VLayerShim<Layer>::coverage(line);
    apiv::VOptimizationProfileShim<OptimizationProfile>::coverage(line);
    apiv::VTimingCacheShim<TimingCache>::coverage(line);
#if DOUBLE_HAS_VRuntimeConfig
    apiv::VRuntimeConfigShim<RuntimeConfig>::coverage(line);
#endif
#if DOUBLE_HAS_VRuntimeCache
    apiv::VRuntimeCacheShim<RuntimeCache>::coverage(line);
#endif
#if DOUBLE_HAS_VSerializationConfig
    apiv::VSerializationConfigShim<SerializationConfig>::coverage(line);
#endif
    IPluginRegistryShim<Registry>::coverage(line);
    return text;
}

namespace
{

/// A refitter that keeps what it is told and refits nothing.
struct Refitter : Object
{
    Refitter() { standard("MaxThreads", 1); }
    ~Refitter() { releaseLogger(); }
    ILogger* getLogger() { return logger(); }
    bool refitCudaEngine() { return true; }
};
using RefitterObject = Wrap<IRefitter, apiv::VRefitterShim<Refitter>>;

/// What the lean libraries gave for a runtime that could not be made: a null pointer moved by a base's offset.
void* const kMOVED_NULL = reinterpret_cast<void*>(0x228);

template <class F> void* entry(char const* name, void* argument, int32_t version, F&& body)
{
    Method const method{"", name};
    Ticket ticket;
    if (observed())
        ticket.enter(method, nullptr, {arg(argument), arg(version)});
    void* const made = ticket.fails ? number<void*>(ticket.value) : body();
    if (ticket.records)
        ticket.result(arg(made));
    return made;
}

} // namespace
} // namespace dbl

using namespace dbl;

DOUBLE_API void* createInferBuilder_INTERNAL(void* given, int32_t version) noexcept
{
    return entry("createInferBuilder_INTERNAL", given, version, [&]() -> void* {
        if (!takeLogger(static_cast<nvinfer1::ILogger*>(given), "createInferBuilder"))
            return nullptr;
        return static_cast<nvinfer1::IBuilder*>(new BuilderObject(logger()));
    });
}

DOUBLE_API void* createInferRuntime_INTERNAL(void* given, int32_t version) noexcept
{
    return entry("createInferRuntime_INTERNAL", given, version, [&]() -> void* {
        if (!takeLogger(static_cast<nvinfer1::ILogger*>(given), "createInferRuntime"))
            return kMOVED_NULL;
        findTool();
        if (settings().gpu_absent == 1)
        {
            fail(nullptr, "createInferRuntime", nvinfer1::ErrorCode::kFAILED_INITIALIZATION,
                "CUDA initialization failure with error: 35. Please check your CUDA installation");
            releaseLogger();
            return kMOVED_NULL;
        }
        return static_cast<nvinfer1::IRuntime*>(new RuntimeObject(logger()));
    });
}

DOUBLE_API void* createInferRefitter_INTERNAL(void* engine, void* given, int32_t version) noexcept
{
    return entry("createInferRefitter_INTERNAL", engine, version, [&]() -> void* {
        if (find(engine, "ICudaEngine", "createInferRefitter_INTERNAL") == nullptr
            || !takeLogger(static_cast<nvinfer1::ILogger*>(given), "createInferRefitter"))
            return nullptr;
        return static_cast<nvinfer1::IRefitter*>(new RefitterObject());
    });
}

DOUBLE_API int32_t getInferLibVersion() noexcept { return libraryVersion(); }
#if DOUBLE_RTX || NV_TENSORRT_MAJOR >= 10
DOUBLE_API int32_t getInferLibMajorVersion() noexcept { return libraryVersion() / 10000; }
DOUBLE_API int32_t getInferLibMinorVersion() noexcept { return libraryVersion() / 100 % 100; }
DOUBLE_API int32_t getInferLibPatchVersion() noexcept { return libraryVersion() % 100; }
DOUBLE_API int32_t getInferLibBuildVersion() noexcept { return NV_TENSORRT_BUILD; }
#endif
DOUBLE_API nvinfer1::ILogger* getLogger() noexcept { return logger(); }
DOUBLE_API nvinfer1::IPluginRegistry* getPluginRegistry() noexcept { return &pluginRegistry(); }
DOUBLE_API nvinfer1::IPluginRegistry* getBuilderPluginRegistry(nvinfer1::EngineCapability) noexcept { return &pluginRegistry(); }
#if DOUBLE_RTX_AT_LEAST(4) || DOUBLE_AT_LEAST(10, 16)
DOUBLE_API bool setInternalLibraryPath(nvinfer1::AsciiChar const* path) noexcept { return path != nullptr; }
#endif
