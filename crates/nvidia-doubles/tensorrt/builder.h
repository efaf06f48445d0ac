// IBuilder, IBuilderConfig, IOptimizationProfile, ITimingCache, and the build itself.
#pragma once

#include "device.h"
#include "network.h"
#include "plan.h"

namespace dbl
{

struct OptimizationProfile : Object
{
    struct Given
    {
        std::array<nvinfer1::Dims, 3> dims{};
        std::array<bool, 3> has_dims{};
        std::array<std::vector<int64_t>, 3> values;
        std::array<std::vector<int32_t>, 3> narrow;
    };
    std::map<std::string, Given> tensors;
    Builder* builder;

    explicit OptimizationProfile(Builder* from);
    bool setDimensions(char const* name, nvinfer1::OptProfileSelector select, nvinfer1::Dims const& dims);
    nvinfer1::Dims getDimensions(char const* name, nvinfer1::OptProfileSelector select);
    bool setShapeValues(char const* name, nvinfer1::OptProfileSelector select, int32_t const* values, int32_t count);
    bool setShapeValuesV2(char const* name, nvinfer1::OptProfileSelector select, int64_t const* values, int32_t count);
    int32_t getNbShapeValues(char const* name);
    int32_t const* getShapeValues(char const* name, nvinfer1::OptProfileSelector select);
    int64_t const* getShapeValuesV2(char const* name, nvinfer1::OptProfileSelector select);
    bool isValid();

private:
    template <class T>
    bool take(char const* name, nvinfer1::OptProfileSelector select, T const* values, int32_t count);
};
using OptimizationProfileObject
    = Wrap<nvinfer1::IOptimizationProfile, nvinfer1::apiv::VOptimizationProfileShim<OptimizationProfile>>;

struct TimingCache : Object
{
    /// Networks that were timed: their hash.
    std::map<std::string, int64_t> entries;
    int32_t version = libraryVersion();

    nvinfer1::IHostMemory* serialize();
    bool combine(nvinfer1::ITimingCache const& other, bool ignore_mismatch);
    bool reset();
    /// False: these bytes are no timing cache.
    bool load(void const* blob, std::size_t size);
};
using TimingCacheObject = Wrap<nvinfer1::ITimingCache, nvinfer1::apiv::VTimingCacheShim<TimingCache>>;

struct BuilderConfig : Object
{
    uint32_t flags = 0;
    uint32_t quantization = 0;
    std::vector<nvinfer1::IOptimizationProfile const*> profiles;
    std::vector<std::string> plugins;
    nvinfer1::ITimingCache const* cache = nullptr;

    explicit BuilderConfig(Builder* from);
    void reset();
    void setFlags(uint32_t all) { flags = all; }
    uint32_t getFlags() { return flags; }
    template <class F> void setFlag(F flag) { flags |= 1U << static_cast<uint32_t>(flag); }
    template <class F> void clearFlag(F flag) { flags &= ~(1U << static_cast<uint32_t>(flag)); }
    template <class F> bool getFlag(F flag) { return (flags >> static_cast<uint32_t>(flag) & 1U) != 0; }
    void setQuantizationFlags(uint32_t all) { quantization = all; }
    uint32_t getQuantizationFlags() { return quantization; }
    template <class F> void setQuantizationFlag(F flag) { quantization |= 1U << static_cast<uint32_t>(flag); }
    template <class F> void clearQuantizationFlag(F flag) { quantization &= ~(1U << static_cast<uint32_t>(flag)); }
    template <class F> bool getQuantizationFlag(F flag) { return (quantization >> static_cast<uint32_t>(flag) & 1U) != 0; }
    int32_t addOptimizationProfile(nvinfer1::IOptimizationProfile const* profile);
    int32_t getNbOptimizationProfiles() { return static_cast<int32_t>(profiles.size()); }
    nvinfer1::ITimingCache* createTimingCache(void const* blob, std::size_t size);
    bool setTimingCache(nvinfer1::ITimingCache const& given, bool ignore_mismatch);
    nvinfer1::ITimingCache const* getTimingCache() { return cache; }
    bool canRunOnDLA(nvinfer1::ILayer const*) { return settings().dla_cores > 0; }
    bool isDeviceTypeSet(nvinfer1::ILayer const* layer) { return properties.count(device(layer)) == 1; }
    void resetDeviceType(nvinfer1::ILayer const* layer) { properties.erase(device(layer)); }
    template <class C> bool setComputeCapability(C capability, int32_t index)
    {
        if (index < 0 || index >= keptNumber("NbComputeCapabilities", 0))
            return false;
        keep("ComputeCapability[" + std::to_string(index) + "]", capability);
        return true;
    }
    void setPluginsToSerialize(char const* const* paths, int32_t count);
    char const* getPluginToSerialize(int32_t index);
    int32_t getNbPluginsToSerialize() { return static_cast<int32_t>(plugins.size()); }

private:
    static std::string device(nvinfer1::ILayer const* layer) { return "DeviceType[" + showPointer(layer) + "]"; }
};
using BuilderConfigObject = Wrap<nvinfer1::IBuilderConfig, nvinfer1::apiv::VBuilderConfigShim<BuilderConfig>>;

struct Builder : Object
{
    std::vector<std::unique_ptr<OptimizationProfileObject>> profiles;
    nvinfer1::ILogger* given_logger;
    /// What it was made on, and times kernels of.
    std::optional<Gpu> gpu = currentGpu();

    explicit Builder(nvinfer1::ILogger* with);
    ~Builder();
    int32_t getNbDLACores() { return settings().dla_cores; }
    int32_t getMaxDLABatchSize() { return settings().dla_cores > 0 ? 4096 : 0; }
    bool platformHasFastFp16() { return true; }
    bool platformHasFastInt8() { return true; }
    bool platformHasTf32() { return true; }
    nvinfer1::IBuilderConfig* createBuilderConfig();
    nvinfer1::INetworkDefinition* createNetworkV2(uint32_t flags);
    nvinfer1::IOptimizationProfile* createOptimizationProfile();
    nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config);
#if DOUBLE_RTX || DOUBLE_AT_LEAST(10, 13)
    bool buildSerializedNetworkToStream(
        nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config, nvinfer1::IStreamWriter& writer);
#endif
    bool isNetworkSupported(nvinfer1::INetworkDefinition const& network, nvinfer1::IBuilderConfig const& config);
    void reset() { profiles.clear(); }
    nvinfer1::ILogger* getLogger() { return logger(); }
    bool setMaxThreads(int32_t count);
    nvinfer1::IPluginRegistry& getPluginRegistry();

private:
    /// The plan's bytes; empty: refused or cancelled, and said why.
    std::string build(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config, char const* method);
};
using BuilderObject = Wrap<nvinfer1::IBuilder, nvinfer1::apiv::VBuilderShim<Builder>>;

/// The one plugin registry of the library.
nvinfer1::IPluginRegistry& pluginRegistry();

} // namespace dbl
