#include "build.h"

#include "device.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace dbl
{

using namespace nvinfer1;

Build::Build(Builder& from, Network& what, BuilderConfig& how, std::string called_as)
    : builder(from), network(what), config(how), method(std::move(called_as)), whole(what.whole())
{
}

bool Build::refuse(ErrorCode code, std::string const& text)
{
    fail(&builder, method, code, text);
    return false;
}

bool Build::check()
{
    if (network.builder != &builder)
        violation(method + " was given a network of another builder");
    auto const now = currentGpu();
    if (builder.gpu && now && now->ordinal != builder.gpu->ordinal)
        violation(method + " was called on GPU " + std::to_string(now->ordinal) + " of a builder that GPU "
            + std::to_string(builder.gpu->ordinal) + " was current for");
    if (network.description_at != nullptr
        && std::memcmp(network.description_at, kMAGIC_LINE, std::strlen(kMAGIC_LINE)) != 0)
        violation("IParser was deleted before the build: the network's weights are gone");
    if (whole.outputs.empty())
        return refuse(ErrorCode::kINTERNAL_ERROR, "Network must have at least one output");
    if (config.keptNumber("DefaultDeviceType", 0) == 1 && settings().dla_cores == 0)
        return refuse(ErrorCode::kINVALID_ARGUMENT, "DLA was asked for, and this platform has no DLA core");
    auto const limit = static_cast<uint64_t>(config.keptNumber("MemoryPoolLimit[0]", 0));
    if (limit < whole.device_memory)
        return refuse(ErrorCode::kUNSUPPORTED_STATE,
            "Could not find any implementation for node " + (whole.layers.empty() ? "" : whole.layers[0].name)
                + ": it needs " + std::to_string(whole.device_memory) + " bytes of workspace, the limit is "
                + std::to_string(limit));
    return checkPrecision() && checkProfiles();
}

bool Build::checkPrecision()
{
#if !DOUBLE_STRONG && (DOUBLE_ERA_A || NV_TENSORRT_MAJOR == 10)
    if (!config.getFlag(BuilderFlag::kINT8))
        return true;
    for (auto const& layer : network.description.layers)
        if (layer.op == "QuantizeLinear")
            return true;
    for (auto& input : network.inputs)
        if (!input->impl().dynamicRangeIsSet()
            && config.kept<IInt8Calibrator*>("Int8Calibrator", nullptr) == nullptr)
            return refuse(ErrorCode::kINTERNAL_ERROR,
                "Calibration failure: int8 was asked for, no calibrator is set, and tensor "
                    + input->impl().text.name + " has no dynamic range");
#endif
    return true;
}

bool Build::checkProfiles()
{
    bool dynamic = false;
    for (auto const& input : whole.inputs)
        dynamic = dynamic || input.shape_input || isDynamic(input.dims);
    if (dynamic && config.profiles.empty())
        return refuse(ErrorCode::kINTERNAL_ERROR,
            "Network has dynamic or shape inputs, but no optimization profile has been defined.");
    for (std::size_t i = 0; i < config.profiles.size(); ++i)
    {
        auto* profile = behind<OptimizationProfileObject>(config.profiles[i], "IOptimizationProfile", method.c_str());
        if (profile == nullptr)
            return refuse(ErrorCode::kINVALID_ARGUMENT, "an optimization profile is gone");
        profiles.emplace_back();
        for (auto const& input : whole.inputs)
            if (!checkProfile(i, *profile, input))
                return false;
    }
    if (profiles.empty())
        profiles.emplace_back(); // the implicit profile of a network with static shapes
    return true;
}

bool Build::checkProfile(std::size_t index, OptimizationProfile& profile, TensorText const& input)
{
    auto const where = "optimization profile " + std::to_string(index) + ", input " + input.name + ": ";
    auto const at = profile.tensors.find(input.name);
    if (at == profile.tensors.end())
        return (!isDynamic(input.dims) && !input.shape_input)
            || refuse(ErrorCode::kINTERNAL_ERROR, where + "dynamic, and the profile says nothing of it");
    auto const& given = at->second;
    Range range;
    range.is_values = input.shape_input;
    for (std::size_t k = 0; k < 3; ++k)
    {
        if (input.shape_input)
        {
            if (given.values[k].empty())
                return refuse(ErrorCode::kINTERNAL_ERROR, where + "shape values are missing");
            range.values[k] = given.values[k][0];
            continue;
        }
        Dims const& dims = given.dims[k];
        if (!given.has_dims[k] || dims.nbDims != input.dims.nbDims)
            return refuse(ErrorCode::kINTERNAL_ERROR, where + "has " + showDims(dims) + ", the network " + showDims(input.dims));
        for (int32_t i = 0; i < dims.nbDims; ++i)
            if (input.dims.d[i] >= 0 && dims.d[i] != input.dims.d[i])
                return refuse(ErrorCode::kINTERNAL_ERROR,
                    where + "static dimension " + std::to_string(i) + " is " + std::to_string(input.dims.d[i]) + ", not "
                        + std::to_string(dims.d[i]));
        range.dims[k] = dims;
    }
    profiles[index][input.name] = range;
    return true;
}

std::string Build::run()
{
    if (!check())
        return "";
    auto const begin = std::chrono::steady_clock::now();
    say(Severity::kINFO, "Detected " + std::to_string(whole.inputs.size()) + " inputs and "
            + std::to_string(whole.outputs.size()) + " output network tensors.");
    if (!calibrate() || !phases())
        return "";
    useTimingCache();
    say(Severity::kVERBOSE, "Total Activation Memory: " + std::to_string(whole.device_memory) + " bytes");
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    say(Severity::kINFO, "Engine generation completed in " + std::to_string(took.count()) + " seconds.");
    return plan().bytes();
}

bool Build::phases()
{
    return phase("Building engine", "", 3, "Timing graph nodes");
}

#if DOUBLE_RTX || DOUBLE_AT_LEAST(9, 1)
bool Build::phase(std::string const& name, std::string const& parent, int32_t steps, std::string const& inner)
{
    auto* monitor = config.kept<IProgressMonitor*>("ProgressMonitor", nullptr);
    if (monitor != nullptr)
        monitor->phaseStart(name.c_str(), parent.empty() ? nullptr : parent.c_str(), steps);
    bool go_on = true;
    for (int32_t step = 0; step < steps && go_on; ++step)
    {
        if (step == 1 && !inner.empty())
            go_on = phase(inner, name, static_cast<int32_t>(whole.layers.size()));
        std::this_thread::sleep_for(std::chrono::milliseconds(settings().build_step_ms));
        if (go_on && monitor != nullptr && !monitor->stepComplete(name.c_str(), step))
        {
            std::string const line = method + ": Error Code 7: BuildCanceled (Build canceled by user In " + name + ")";
            say(Severity::kERROR, line);
            if (builder.recorder != nullptr)
                builder.recorder->reportError(ErrorCode::kFAILED_EXECUTION, line.c_str());
            go_on = false;
        }
    }
    if (monitor != nullptr)
        monitor->phaseFinish(name.c_str());
    return go_on;
}
#else
bool Build::phase(std::string const&, std::string const&, int32_t steps, std::string const&)
{
    // No progress monitor before 9.1: only the time passes.
    std::this_thread::sleep_for(std::chrono::milliseconds(steps * settings().build_step_ms));
    return true;
}
#endif

#if !DOUBLE_RTX && NV_TENSORRT_MAJOR < 11
bool Build::calibrate()
{
    auto* calibrator = config.kept<IInt8Calibrator*>("Int8Calibrator", nullptr);
    if (calibrator == nullptr || !config.getFlag(BuilderFlag::kINT8))
        return true;
    std::size_t length = 0;
    if (calibrator->readCalibrationCache(length) != nullptr)
    {
        say(Severity::kINFO, "Calibration cache of " + std::to_string(length) + " bytes is used.");
        return true;
    }
    std::vector<char const*> names;
    for (auto const& input : whole.inputs)
        names.push_back(input.name.c_str());
    std::vector<void*> addresses(names.size(), nullptr);
    int32_t batches = 0;
    while (batches < 10000 && calibrator->getBatch(addresses.data(), names.data(), static_cast<int32_t>(names.size())))
    {
        for (auto const* address : addresses)
            if (address == nullptr)
                return refuse(ErrorCode::kINVALID_ARGUMENT, "the calibrator gave a batch without an address");
            else if (int const device = deviceOf(address); builder.gpu && device >= 0 && device != builder.gpu->ordinal)
                return refuse(ErrorCode::kINVALID_ARGUMENT,
                    "the calibrator gave a batch on GPU " + std::to_string(device) + " to a builder on GPU "
                        + std::to_string(builder.gpu->ordinal));
        ++batches;
    }
    if (batches == 0)
        return refuse(ErrorCode::kINTERNAL_ERROR, "Calibration failure: the calibrator gave no batch");
    say(Severity::kINFO, "Calibrated with " + std::to_string(batches) + " batches of size "
            + std::to_string(calibrator->getBatchSize()));
    std::string const cache = "TRT-double-calibration\nbatches " + std::to_string(batches) + "\n";
    calibrator->writeCalibrationCache(cache.data(), cache.size());
    return true;
}
#else
bool Build::calibrate() { return true; }
#endif

void Build::useTimingCache()
{
    if (config.cache == nullptr)
    {
        say(Severity::kINFO, "Local timing cache in use. Profiling results in this builder pass will not be stored.");
        return;
    }
    auto* cache = behind<TimingCacheObject>(config.cache, "ITimingCache", method.c_str());
    if (cache == nullptr)
        return;
    std::size_t timed = 0;
    for (auto const& layer : whole.layers)
        timed += cache->entries.emplace(layer.op + "/" + layer.name, 1).second ? 1 : 0;
    say(Severity::kINFO, "Global timing cache in use. " + std::to_string(timed) + " of "
            + std::to_string(whole.layers.size()) + " layers were timed, the others were found in it.");
}

Plan Build::plan() const
{
    Plan plan;
    plan.flavour = flavour();
    plan.number = libraryVersion();
    plan.name = keptText(network, "Name");
    plan.network = whole;
    if (builder.gpu)
    {
        plan.options["Gpu"] = builder.gpu->name;
        plan.options["ComputeCapability"] = std::to_string(builder.gpu->capability);
    }
    plan.profiles = profiles;
    for (auto const& entry : config.properties)
        if (entry.first.find(' ') == std::string::npos)
            plan.options[entry.first] = entry.second.kind == Value::Kind::kTEXT ? entry.second.text : entry.second.shown();
    plan.options["Flags"] = std::to_string(config.flags);
    plan.options["QuantizationFlags"] = std::to_string(config.quantization);
    plan.options["NetworkFlags"] = std::to_string(network.flags);
    auto const calibrator = config.properties.find("Int8Calibrator");
    plan.options["Calibrated"] = calibrator == config.properties.end() || calibrator->second.pointer == nullptr ? "0" : "1";
    plan.options["VersionCompatible"] = "0";
#if DOUBLE_RTX || DOUBLE_AT_LEAST(8, 6)
    plan.options["VersionCompatible"] = config.getFlag(BuilderFlag::kVERSION_COMPATIBLE) ? "1" : "0";
#endif
    plan.options["Refittable"] = config.getFlag(BuilderFlag::kREFIT) ? "1" : "0";
    return plan;
}

} // namespace dbl
