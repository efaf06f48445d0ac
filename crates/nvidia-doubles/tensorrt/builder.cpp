#include "builder.h"

#include "build.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace dbl
{

using namespace nvinfer1;

// --- IOptimizationProfile ---

OptimizationProfile::OptimizationProfile(Builder* from) : builder(from) { parent = from; }

bool OptimizationProfile::setDimensions(char const* name, OptProfileSelector select, Dims const& dims)
{
    auto const which = static_cast<std::size_t>(select);
    bool good = name != nullptr && which < 3 && dims.nbDims >= 0 && dims.nbDims <= Dims::MAX_DIMS;
    for (int32_t i = 0; good && i < dims.nbDims; ++i)
        good = dims.d[i] >= 0;
    if (!good)
    {
        fail(this, "IOptimizationProfile::setDimensions", ErrorCode::kINVALID_ARGUMENT,
            "name, selector or dimensions are not valid: " + showText(name) + ", " + showDims(dims));
        return false;
    }
    tensors[name].dims[which] = dims;
    tensors[name].has_dims[which] = true;
    return true;
}

Dims OptimizationProfile::getDimensions(char const* name, OptProfileSelector select)
{
    auto const which = static_cast<std::size_t>(select);
    auto const at = name == nullptr ? tensors.end() : tensors.find(name);
    if (at == tensors.end() || which >= 3 || !at->second.has_dims[which])
        return number<Dims>(0);
    return at->second.dims[which];
}

template <class T> bool OptimizationProfile::take(char const* name, OptProfileSelector select, T const* values, int32_t count)
{
    auto const which = static_cast<std::size_t>(select);
    if (name == nullptr || which >= 3 || values == nullptr || count < 1)
    {
        fail(this, "IOptimizationProfile::setShapeValues", ErrorCode::kINVALID_ARGUMENT, "an argument is not valid");
        return false;
    }
    tensors[name].values[which].assign(values, values + count);
    tensors[name].narrow[which].clear();
    for (int32_t i = 0; i < count; ++i)
        tensors[name].narrow[which].push_back(static_cast<int32_t>(values[i]));
    return true;
}
bool OptimizationProfile::setShapeValues(char const* name, OptProfileSelector select, int32_t const* values, int32_t count)
{
    return take(name, select, values, count);
}
bool OptimizationProfile::setShapeValuesV2(char const* name, OptProfileSelector select, int64_t const* values, int32_t count)
{
    return take(name, select, values, count);
}
int32_t OptimizationProfile::getNbShapeValues(char const* name)
{
    auto const at = name == nullptr ? tensors.end() : tensors.find(name);
    return at == tensors.end() ? -1 : static_cast<int32_t>(at->second.values[0].size());
}
int32_t const* OptimizationProfile::getShapeValues(char const* name, OptProfileSelector select)
{
    return getNbShapeValues(name) < 1 ? nullptr : tensors[name].narrow[static_cast<std::size_t>(select)].data();
}
int64_t const* OptimizationProfile::getShapeValuesV2(char const* name, OptProfileSelector select)
{
    return getNbShapeValues(name) < 1 ? nullptr : tensors[name].values[static_cast<std::size_t>(select)].data();
}

bool OptimizationProfile::isValid()
{
    for (auto const& entry : tensors)
    {
        auto const& given = entry.second;
        for (std::size_t k = 0; k < 3; ++k)
            if (given.has_dims[k] != given.has_dims[0] || given.values[k].size() != given.values[0].size()
                || given.dims[k].nbDims != given.dims[0].nbDims)
                return false;
        for (int32_t i = 0; i < given.dims[0].nbDims; ++i)
            if (given.dims[0].d[i] > given.dims[1].d[i] || given.dims[1].d[i] > given.dims[2].d[i])
                return false;
        for (std::size_t i = 0; i < given.values[0].size(); ++i)
            if (given.values[0][i] > given.values[1][i] || given.values[1][i] > given.values[2][i])
                return false;
    }
    return true;
}

// --- ITimingCache ---

IHostMemory* TimingCache::serialize()
{
    std::ostringstream text;
    text << "double-timing-cache " << version << "\n";
    for (auto const& entry : entries)
        text << entry.first << " " << entry.second << "\n";
    return hostMemory(text.str());
}

bool TimingCache::load(void const* blob, std::size_t size)
{
    if (size == 0)
        return true;
    if (blob == nullptr)
        return false;
    std::istringstream text(std::string(static_cast<char const*>(blob), size));
    std::string word;
    if (!(text >> word >> version) || word != "double-timing-cache")
        return false;
    for (int64_t value = 0; text >> word >> value;)
        entries[word] = value;
    return true;
}

bool TimingCache::combine(ITimingCache const& other, bool ignore_mismatch)
{
    auto* from = behind<TimingCacheObject>(&other, "ITimingCache", "ITimingCache::combine");
    if (from == nullptr || (from->version != version && !ignore_mismatch))
        return false;
    entries.insert(from->entries.begin(), from->entries.end());
    return true;
}

bool TimingCache::reset()
{
    entries.clear();
    return true;
}

// --- IBuilderConfig ---

BuilderConfig::BuilderConfig(Builder* from)
{
    parent = from;
    reset();
}

void BuilderConfig::reset()
{
    properties.clear();
    profiles.clear();
    plugins.clear();
    cache = nullptr;
    quantization = 0;
    flags = 0;
    setFlag(BuilderFlag::kTF32);
    standard("MemoryPoolLimit[0]", int64_t{64} << 30);
    standard("BuilderOptimizationLevel", 3);
    standard("AvgTimingIterations", 1);
    standard("MaxAuxStreams", -1);
    standard("MaxNbTactics", -1);
    standard("TacticSources", 24);
}

int32_t BuilderConfig::addOptimizationProfile(IOptimizationProfile const* profile)
{
    auto* found = behind<OptimizationProfileObject>(profile, "IOptimizationProfile", "IBuilderConfig::addOptimizationProfile");
    if (found == nullptr || !found->isValid())
    {
        fail(this, "IBuilderConfig::addOptimizationProfile", ErrorCode::kINVALID_ARGUMENT, "the profile is not valid");
        return -1;
    }
    profiles.push_back(profile);
    return getNbOptimizationProfiles() - 1;
}

ITimingCache* BuilderConfig::createTimingCache(void const* blob, std::size_t size)
{
    auto made = std::make_unique<TimingCacheObject>();
    if (made->impl().load(blob, size))
        return made.release();
    fail(this, "IBuilderConfig::createTimingCache", ErrorCode::kINVALID_ARGUMENT, "the blob is no timing cache");
    return nullptr;
}

bool BuilderConfig::setTimingCache(ITimingCache const& given, bool ignore_mismatch)
{
    auto* found = behind<TimingCacheObject>(&given, "ITimingCache", "IBuilderConfig::setTimingCache");
    if (found == nullptr)
        return false;
    if (found->version != libraryVersion() && !ignore_mismatch)
    {
        fail(this, "IBuilderConfig::setTimingCache", ErrorCode::kINVALID_ARGUMENT,
            "the timing cache was made by version " + std::to_string(found->version));
        return false;
    }
    cache = &given;
    return true;
}

void BuilderConfig::setPluginsToSerialize(char const* const* paths, int32_t count)
{
    plugins.clear();
    for (int32_t i = 0; paths != nullptr && i < count; ++i)
        plugins.emplace_back(paths[i]);
}

char const* BuilderConfig::getPluginToSerialize(int32_t index)
{
    return index >= 0 && index < getNbPluginsToSerialize() ? plugins[static_cast<std::size_t>(index)].c_str() : nullptr;
}

// --- IBuilder ---

Builder::Builder(ILogger* with) : given_logger(with) { standard("MaxThreads", 1); }

Builder::~Builder()
{
    for (char const* klass : {"INetworkDefinition", "IBuilderConfig"})
        if (uint64_t const left = children(*this, klass))
            violation("IBuilder was deleted while " + std::to_string(left) + " " + klass + " of it lives");
    releaseLogger();
}

IBuilderConfig* Builder::createBuilderConfig() { return new BuilderConfigObject(this); }

INetworkDefinition* Builder::createNetworkV2(uint32_t flags)
{
    return new NetworkObject(this, static_cast<IBuilder*>(self), flags);
}

IOptimizationProfile* Builder::createOptimizationProfile()
{
    profiles.push_back(std::make_unique<OptimizationProfileObject>(this));
    return profiles.back().get();
}

std::string Builder::build(INetworkDefinition& network, IBuilderConfig& config, char const* method)
{
    auto* what = behind<NetworkObject>(&network, "INetworkDefinition", method);
    auto* how = behind<BuilderConfigObject>(&config, "IBuilderConfig", method);
    return what == nullptr || how == nullptr ? "" : Build(*this, *what, *how, method).run();
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config)
{
    std::string plan = build(network, config, "IBuilder::buildSerializedNetwork");
    return plan.empty() ? nullptr : hostMemory(std::move(plan));
}

#if DOUBLE_RTX || DOUBLE_AT_LEAST(10, 13)
bool Builder::buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer)
{
    std::string const plan = build(network, config, "IBuilder::buildSerializedNetworkToStream");
    auto const size = static_cast<int64_t>(plan.size());
    for (int64_t at = 0; at < size;)
    {
        int64_t const wrote = writer.write(plan.data() + at, std::min<int64_t>(size - at, 4096));
        if (wrote <= 0)
        {
            fail(this, "IBuilder::buildSerializedNetworkToStream", ErrorCode::kFAILED_EXECUTION, "the writer took no more");
            return false;
        }
        at += wrote;
    }
    return size > 0;
}
#endif

bool Builder::isNetworkSupported(INetworkDefinition const& network, IBuilderConfig const& config)
{
    auto* what = behind<NetworkObject>(&network, "INetworkDefinition", "IBuilder::isNetworkSupported");
    auto* how = behind<BuilderConfigObject>(&config, "IBuilderConfig", "IBuilder::isNetworkSupported");
    return what != nullptr && how != nullptr && Build(*this, *what, *how, "IBuilder::isNetworkSupported").check();
}

bool Builder::setMaxThreads(int32_t count)
{
    if (count < 1)
        return false;
    keep("MaxThreads", count);
    return true;
}

IPluginRegistry& Builder::getPluginRegistry() { return pluginRegistry(); }

} // namespace dbl
