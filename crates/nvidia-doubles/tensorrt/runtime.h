// IRuntime, ICudaEngine, IEngineInspector, and what an engine makes beside contexts.
#pragma once

#include "builder.h"

namespace dbl
{

struct Runtime : Object
{
    explicit Runtime(nvinfer1::ILogger* with);
    ~Runtime();
    nvinfer1::IRuntime* getPImpl() { return static_cast<nvinfer1::IRuntime*>(self); }
    /// The third argument is the plugin factory of 8.x and 9.x, long without a meaning.
    nvinfer1::ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size, void const* = nullptr);
#if DOUBLE_RTX_AT_LEAST(1) && !DOUBLE_STRONG || DOUBLE_AT_LEAST(10, 0) && NV_TENSORRT_MAJOR == 10
    nvinfer1::ICudaEngine* deserializeCudaEngine(nvinfer1::IStreamReader& reader);
#endif
#if DOUBLE_RTX || DOUBLE_AT_LEAST(10, 7)
    nvinfer1::ICudaEngine* deserializeCudaEngineV2(nvinfer1::IStreamReaderV2& reader);
#endif
    int32_t getNbDLACores() { return settings().dla_cores; }
    nvinfer1::ILogger* getLogger() { return logger(); }
    bool setMaxThreads(int32_t count);
    nvinfer1::IPluginRegistry& getPluginRegistry() { return pluginRegistry(); }
    nvinfer1::IRuntime* loadRuntime(char const* path);
    int64_t getEngineHeaderSize() { return static_cast<int64_t>(kPLAN_HEADER); }
    /// 0 valid, 1 suboptimal, 2 invalid. Diagnostics: 1 for another version, 2 for no or a damaged plan.
    Number getEngineValidity(void const* blob, int64_t size, uint64_t* diagnostics);

private:
    bool gpu(char const* method);
};
using RuntimeObject = Wrap<nvinfer1::IRuntime, nvinfer1::apiv::VRuntimeShim<Runtime>>;

struct Engine : Object
{
    Plan plan;
    std::vector<TensorText> io;

    Engine(Runtime* from, Plan read);
    ~Engine();
    nvinfer1::ICudaEngine* getPImpl() { return static_cast<nvinfer1::ICudaEngine*>(self); }

    int32_t getNbLayers() { return static_cast<int32_t>(plan.network.layers.size()); }
    nvinfer1::IHostMemory* serialize() { return hostMemory(plan.bytes()); }
    template <class C> nvinfer1::IHostMemory* serializeWithConfig(C&) { return serialize(); }
    bool isRefittable() { return plan.option("Refittable", 0) != 0; }
    bool hasImplicitBatchDimension() { return false; }
    int32_t getMaxBatchSize() { return 1; }
    char const* getName() { return plan.name.c_str(); }
    int32_t getNbOptimizationProfiles() { return static_cast<int32_t>(plan.profiles.size()); }
    Number getEngineCapability() { return {plan.option("EngineCapability", 0)}; }
    Number getTacticSources() { return {plan.option("TacticSources", 24)}; }
    Number getProfilingVerbosity() { return {plan.option("ProfilingVerbosity", 0)}; }
    Number getHardwareCompatibilityLevel() { return {plan.option("HardwareCompatibilityLevel", 0)}; }
    int32_t getNbAuxStreams();

    int32_t getNbIOTensors() { return static_cast<int32_t>(io.size()); }
    char const* getIOTensorName(int32_t index);
    nvinfer1::Dims getTensorShape(char const* name);
    nvinfer1::DataType getTensorDataType(char const* name);
    nvinfer1::TensorIOMode getTensorIOMode(char const* name);
    Number getTensorLocation(char const* name);
    bool isShapeInferenceIO(char const* name);
    // No tensor of the double is vectorised: -1, as TensorRT says then.
    int32_t getTensorBytesPerComponent(char const* name, int32_t = 0);
    int32_t getTensorComponentsPerElement(char const* name, int32_t = 0);
    int32_t getTensorVectorizedDim(char const* name, int32_t = 0);
    Number getTensorFormat(char const* name, int32_t = 0);
    char const* getTensorFormatDesc(char const* name, int32_t = 0);
    nvinfer1::Dims getProfileShape(char const* name, int32_t profile, nvinfer1::OptProfileSelector select);
    int64_t const* getProfileTensorValuesV2(char const* name, int32_t profile, nvinfer1::OptProfileSelector select);
    int32_t const* getProfileTensorValues(char const* name, int32_t profile, nvinfer1::OptProfileSelector select);

    // By index, as in 8.x.
    int32_t getNbBindings() { return getNbIOTensors(); }
    char const* getBindingName(int32_t index) { return getIOTensorName(index); }
    int32_t getBindingIndex(char const* name);
    bool bindingIsInput(int32_t index);

    std::size_t getDeviceMemorySize() { return plan.network.device_memory; }
    int64_t getDeviceMemorySizeV2() { return static_cast<int64_t>(plan.network.device_memory); }
    std::size_t getDeviceMemorySizeForProfile(int32_t profile);
    int64_t getDeviceMemorySizeForProfileV2(int32_t profile) { return static_cast<int64_t>(getDeviceMemorySizeForProfile(profile)); }
    int64_t getStreamableWeightsSize() { return static_cast<int64_t>(plan.network.weights_bytes); }

    nvinfer1::IExecutionContext* createExecutionContext() { return context(0); }
    template <class S> nvinfer1::IExecutionContext* createExecutionContext(S strategy) { return context(static_cast<int32_t>(strategy)); }
    nvinfer1::IExecutionContext* createExecutionContextWithoutDeviceMemory() { return context(kUSER_MANAGED); }
#if DOUBLE_HAS_VRuntimeConfig
    nvinfer1::IRuntimeConfig* createRuntimeConfig();
    nvinfer1::IExecutionContext* createExecutionContextWithRuntimeConfig(nvinfer1::IRuntimeConfig* config);
#endif
#if DOUBLE_HAS_VSerializationConfig
    nvinfer1::ISerializationConfig* createSerializationConfig();
#endif
    nvinfer1::IEngineInspector* createEngineInspector();

    static constexpr int32_t kUSER_MANAGED = 2;
    TensorText const* tensor(char const* name, char const* method);
    bool dynamic() const;
    /// Whether contexts may have one profile at the same time.
    bool sharesProfiles() const;
    /// A profile for a context; false if another has it and profiles are not shared.
    bool takeProfile(void const* context, int32_t profile);
    /// Also where the engine was deleted before its context, which is a violation and has to be survived.
    static void leaveProfile(void const* context);

private:
    /// Address of the weights on the device; 0 where they are not there.
    unsigned long long weights = 0;
    nvinfer1::IExecutionContext* context(int32_t strategy);
    Range const* range(char const* name, int32_t profile, char const* method);
    std::map<std::string, std::array<int32_t, 3>> narrow;
};
using EngineObject = Wrap<nvinfer1::ICudaEngine, nvinfer1::apiv::VCudaEngineShim<Engine>>;

struct Inspector : Object
{
    Engine* engine;
    nvinfer1::IExecutionContext const* of = nullptr;
    std::string answer;

    explicit Inspector(Engine* from);
    nvinfer1::IEngineInspector* getPImpl() { return static_cast<nvinfer1::IEngineInspector*>(self); }
    bool setExecutionContext(nvinfer1::IExecutionContext const* context);
    nvinfer1::IExecutionContext const* getExecutionContext() { return of; }
    char const* getLayerInformation(int32_t index, nvinfer1::LayerInformationFormat format);
    char const* getEngineInformation(nvinfer1::LayerInformationFormat format);

private:
    std::string layer(std::size_t index, bool json);
};
using InspectorObject = Wrap<nvinfer1::IEngineInspector, nvinfer1::apiv::VEngineInspectorShim<Inspector>>;

#if DOUBLE_HAS_VSerializationConfig
struct SerializationConfig : Object
{
    uint32_t flags = 0;
    bool setFlags(uint32_t all) { return flags = all, true; }
    uint32_t getFlags() { return flags; }
    template <class F> bool setFlag(F flag) { return flags |= 1U << static_cast<uint32_t>(flag), true; }
    template <class F> bool clearFlag(F flag) { return flags &= ~(1U << static_cast<uint32_t>(flag)), true; }
    template <class F> bool getFlag(F flag) { return (flags >> static_cast<uint32_t>(flag) & 1U) != 0; }
};
using SerializationConfigObject
    = Wrap<nvinfer1::ISerializationConfig, nvinfer1::apiv::VSerializationConfigShim<SerializationConfig>>;
#endif

#if DOUBLE_HAS_VRuntimeCache
struct RuntimeCache : Object
{
    /// Names of engines whose kernels were "compiled".
    std::map<std::string, int64_t> entries;

    nvinfer1::IHostMemory* serialize();
    bool deserialize(void const* blob, std::size_t size);
    bool reset();
};
using RuntimeCacheObject = Wrap<nvinfer1::IRuntimeCache, nvinfer1::apiv::VRuntimeCacheShim<RuntimeCache>>;
#endif

#if DOUBLE_HAS_VRuntimeConfig
struct RuntimeConfig : Object
{
    explicit RuntimeConfig(Engine* from) { parent = from; }
    nvinfer1::IRuntimeConfig* getPImpl() { return static_cast<nvinfer1::IRuntimeConfig*>(self); }
#if DOUBLE_HAS_VRuntimeCache
    nvinfer1::IRuntimeCache const* cache = nullptr;
    nvinfer1::IRuntimeCache* createRuntimeCache() { return new RuntimeCacheObject(); }
    bool setRuntimeCache(nvinfer1::IRuntimeCache const& given);
    nvinfer1::IRuntimeCache* getRuntimeCache() { return const_cast<nvinfer1::IRuntimeCache*>(cache); }
#endif
};
using RuntimeConfigObject = Wrap<nvinfer1::IRuntimeConfig, nvinfer1::apiv::VRuntimeConfigShim<RuntimeConfig>>;
#endif

} // namespace dbl
