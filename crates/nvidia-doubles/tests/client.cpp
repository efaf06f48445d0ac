// Uses the double as an ordinary C++ program uses TensorRT, through the headers' own classes and inline functions: what
// works here works for the layouts and vtables that a C++ compiler makes of these headers. Prints a line per step and
// exits with 1 at the first thing that is not as it should be.
#include "NvInfer.h"
#include "NvOnnxParser.h"

#include "control.h"
#include "version.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace
{

using namespace nvinfer1;

#define CHECK(condition)                                                                       \
    do                                                                                         \
    {                                                                                          \
        if (!(condition))                                                                      \
        {                                                                                      \
            std::printf("FAILED line %d: %s\n%s", __LINE__, #condition, double_violations());  \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (false)

struct Logger : ILogger
{
    std::string last_error;
    int messages = 0;
    void log(Severity severity, AsciiChar const* text) noexcept override
    {
        ++messages;
        if (severity <= Severity::kERROR)
            last_error = text;
    }
};

struct Profiler : IProfiler
{
    std::string seen;
    void reportLayerTime(char const* name, float ms) noexcept override
    {
        seen += std::string(name) + "=" + std::to_string(ms) + ";";
    }
};

#if DOUBLE_RTX || DOUBLE_AT_LEAST(9, 1)
struct Monitor : IProgressMonitor
{
    int phases = 0;
    int open = 0;
    int left = -1;
    void phaseStart(char const*, char const*, int32_t) noexcept override { ++phases, ++open; }
    bool stepComplete(char const*, int32_t) noexcept override { return left-- != 0; }
    void phaseFinish(char const*) noexcept override { --open; }
};
#endif

struct Allocator : IOutputAllocator
{
    std::vector<char> memory;
    Dims shape{};
#if DOUBLE_ERA_A
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
#else
    void* reallocateOutputAsync(char const*, void*, uint64_t size, uint64_t, cudaStream_t) noexcept override
#endif
    {
        memory.resize(size);
        return memory.data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override { shape = dims; }
};

constexpr char kNETWORK[] = "double-network\n"
                            "input images f32 batchx2x2\n"
                            "input mask i8 3\n"
                            "output boxes f32 batchx3 conv\n"
                            "output count i32 *5\n"
                            "layer conv Conv\n"
                            "layer relu Relu\n"
                            "device_memory 64\n";

Dims dims(std::vector<int64_t> const& of)
{
    Dims made{};
    made.nbDims = static_cast<int32_t>(of.size());
    for (std::size_t i = 0; i < of.size(); ++i)
        made.d[i] = static_cast<std::remove_reference_t<decltype(made.d[0])>>(of[i]);
    return made;
}

std::string build(Logger& logger)
{
    std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    CHECK(builder != nullptr && getLogger() == &logger);
    uint32_t const explicit_batch = DOUBLE_ERA_A ? 1U : 0U;
    std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(explicit_batch));
    std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
    CHECK(!parser->parse("rubbish", 7));
    CHECK(parser->getNbErrors() == 1 && std::strcmp(parser->getError(0)->func(), "deserializeOnnxModel") == 0);
    parser->clearErrors();
    CHECK(parser->parse(kNETWORK, sizeof(kNETWORK) - 1) && parser->getNbErrors() == 0);
    CHECK(network->getNbInputs() == 2 && network->getNbOutputs() == 2 && network->getNbLayers() == 2);
    CHECK(network->getInput(0)->getDimensions().d[0] == -1);
    CHECK(network->getOutput(1)->getType() == DataType::kINT32);
    CHECK(std::strcmp(network->getLayer(1)->getName(), "relu") == 0);
    CHECK(network->getLayer(0)->getType() == LayerType::kCONVOLUTION);

    // Without a profile a dynamic network is refused.
    CHECK(builder->buildSerializedNetwork(*network, *config) == nullptr);
    CHECK(logger.last_error.find("no optimization profile") != std::string::npos);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    CHECK(profile->setDimensions("images", OptProfileSelector::kMIN, dims({1, 2, 2})));
    CHECK(profile->setDimensions("images", OptProfileSelector::kOPT, dims({2, 2, 2})));
    CHECK(profile->setDimensions("images", OptProfileSelector::kMAX, dims({4, 2, 2})));
    CHECK(profile->isValid() && config->addOptimizationProfile(profile) == 0);
    config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1 << 20);
    CHECK(config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE) == 1 << 20);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    CHECK(config->getProfilingVerbosity() == ProfilingVerbosity::kDETAILED);
    std::unique_ptr<ITimingCache> cache(config->createTimingCache(nullptr, 0));
    CHECK(config->setTimingCache(*cache, false) && config->getTimingCache() == cache.get());
    CHECK(builder->isNetworkSupported(*network, *config));
#if DOUBLE_RTX || DOUBLE_AT_LEAST(9, 1)
    Monitor monitor;
    monitor.left = 1;
    config->setProgressMonitor(&monitor);
    CHECK(builder->buildSerializedNetwork(*network, *config) == nullptr && monitor.open == 0);
    CHECK(logger.last_error.find("BuildCanceled") != std::string::npos);
    monitor.left = -1;
#endif
    double_fail("IBuilder::buildSerializedNetwork", 1, 0);
    CHECK(builder->buildSerializedNetwork(*network, *config) == nullptr);
    CHECK(logger.last_error.find("told to fail") != std::string::npos);
    std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    CHECK(plan != nullptr && plan->size() > 0);
    std::unique_ptr<IHostMemory> timings(cache->serialize());
    CHECK(timings->size() > 0);
    return std::string(static_cast<char const*>(plan->data()), plan->size());
}

void run(Logger& logger, std::string const& plan)
{
    std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    CHECK(runtime->deserializeCudaEngine("nonsense", 8) == nullptr);
    CHECK(logger.last_error.find("Magic tag") != std::string::npos);
    CHECK(runtime->deserializeCudaEngine(plan.data(), plan.size() / 2) == nullptr);
    double_set_version(424242);
    CHECK(runtime->deserializeCudaEngine(plan.data(), plan.size()) == nullptr);
    CHECK(logger.last_error.find("expecting library version 424242") != std::string::npos);
    double_set_version(0);

    std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
    CHECK(engine != nullptr && engine->getNbIOTensors() == 4 && engine->getNbLayers() == 2);
    CHECK(std::strcmp(engine->getIOTensorName(2), "boxes") == 0);
    CHECK(engine->getTensorIOMode("boxes") == TensorIOMode::kOUTPUT);
    CHECK(engine->getTensorDataType("mask") == DataType::kINT8);
    CHECK(engine->getProfileShape("images", 0, OptProfileSelector::kMAX).d[0] == 4);
    CHECK(engine->getTensorShape("images").d[0] == -1);

    std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
    CHECK(std::strstr(inspector->getEngineInformation(LayerInformationFormat::kJSON), "\"LayerType\": \"Convolution\"") != nullptr);
    CHECK(std::strcmp(inspector->getLayerInformation(1, LayerInformationFormat::kONELINE), "relu, LayerType: Activation, TacticName: double") == 0);

    std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    Profiler profiler;
    context->setProfiler(&profiler);
    CHECK(context->getProfiler() == &profiler);
    CHECK(!context->enqueueV3(nullptr)); // no shape yet
    CHECK(!context->setInputShape("images", dims({5, 2, 2})));
    CHECK(logger.last_error.find("optimization profile") != std::string::npos);
    char const* missing[4] = {};
    CHECK(context->inferShapes(4, missing) == 1 && std::strcmp(missing[0], "images") == 0);
    CHECK(context->setInputShape("images", dims({2, 2, 2})) && context->inferShapes(0, nullptr) == 0);
    CHECK(context->getTensorShape("boxes").d[0] == 2 && context->getTensorShape("count").d[0] == -1);
    CHECK(context->getTensorStrides("images").d[0] == 4);
    CHECK(context->getMaxOutputSize("count") == 20);

    std::vector<float> images(8, 0.0F);
    std::vector<char> mask = {1, 2, 3};
    std::vector<float> boxes(6, -1.0F);
    Allocator allocator;
    CHECK(context->setTensorAddress("images", images.data()) && context->setInputTensorAddress("mask", mask.data()));
    CHECK(context->setTensorAddress("boxes", boxes.data()) && context->setOutputAllocator("count", &allocator));
    CHECK(context->enqueueV3(nullptr));
    // S = 1 * 0 + 2 * (1 + 2 + 3) = 12; element i of output j is (S + i + j) mod 127.
    for (std::size_t i = 0; i < boxes.size(); ++i)
        CHECK(boxes[i] == static_cast<float>(12 + i));
    CHECK(allocator.shape.nbDims == 1 && allocator.shape.d[0] == 3);
    CHECK(reinterpret_cast<int32_t const*>(allocator.memory.data())[2] == 12 + 2 + 1);
    CHECK(profiler.seen == "conv=0.125000;relu=0.250000;");
    context->setEnqueueEmitsProfile(false);
    CHECK(context->enqueueV3(nullptr) && context->reportToProfiler() && !context->reportToProfiler());
    CHECK(double_enqueued() == 2 && double_bench_enqueue(context.get(), nullptr, 10) > 0);
    CHECK(std::strlen(double_violations()) == 0);

    // The wrong order is noticed.
    inspector.reset();
    engine.reset();
    context.reset();
    CHECK(std::strstr(double_violations(), "ICudaEngine was deleted while 1 IExecutionContext") != nullptr);
}

} // namespace

int main()
{
    Logger logger;
    CHECK(getInferLibVersion() == NV_TENSORRT_VERSION);
    double_record(1);
    std::string const plan = build(logger);
    CHECK(std::strstr(double_calls(), "IOptimizationProfile#") != nullptr);
    CHECK(std::strstr(double_calls(), "::setDimensions(\"images\", 2, [4,2,2]) -> true") != nullptr);
    CHECK(double_count("IBuilder::buildSerializedNetwork") >= 3);
    CHECK(double_live(nullptr) == 0 && getLogger() == nullptr);
    double_record(0);
    run(logger, plan);
    double_reset();
    std::printf("%s: plan of %zu bytes, %d messages: all as it should be\n", double_flavour(), plan.size(), logger.messages);
    return 0;
}
