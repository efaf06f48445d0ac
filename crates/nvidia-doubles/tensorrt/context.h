// IExecutionContext: shapes, addresses, and the frame itself.
//
// What a frame computes, on host or device, so that a test can work it out: S is the sum over the inputs k = 0, 1, ...
// (in the order of getIOTensorName) of (k + 1) times the sum of all bytes of input k, modulo 2^32. Element i of output
// j has the value (S + i + j) mod 127, converted to the output's type (bool: value mod 2). Every type represents these
// numbers exactly.
#pragma once

#include "runtime.h"

namespace dbl
{

/// One input or output of a context.
struct Io
{
    TensorText const* text;
    bool input;
    nvinfer1::Dims dims{};
    void* address = nullptr;
    nvinfer1::IOutputAllocator* allocator = nullptr;
    /// A shape input's value, read at inferShapes or enqueue.
    int64_t value = -1;
};

struct Context : Object
{
    Engine* engine;
    std::vector<Io> io;
    int32_t profile = 0;
    bool user_memory;
    void* memory = nullptr;
    int64_t memory_size = -1;
    /// Those of the caller, or else the double's own, made by the first frame.
    std::vector<cudaStream_t> aux_streams;
    bool owns_aux_streams = false;
    /// Where the profile was chosen: what that copies there has to be done before a frame on another stream.
    cudaStream_t profile_stream = nullptr;
    uint64_t profile_mark = 0;
    /// Frames of the shapes at hand.
    uint64_t frames_of_shapes = 0;
    bool unreported = false;

    Context(Engine* from, int32_t strategy);
    ~Context();
    nvinfer1::IExecutionContext* getPImpl() { return static_cast<nvinfer1::IExecutionContext*>(self); }
    nvinfer1::ICudaEngine const& getEngine() { return *static_cast<nvinfer1::ICudaEngine*>(engine->self); }

    bool setInputShape(char const* name, nvinfer1::Dims const& dims);
    nvinfer1::Dims getTensorShape(char const* name);
    nvinfer1::Dims getTensorStrides(char const* name);
    bool setTensorAddress(char const* name, void* data);
    void const* getTensorAddress(char const* name);
    bool setInputTensorAddress(char const* name, void const* data);
    bool setOutputTensorAddress(char const* name, void* data);
    void* getOutputTensorAddress(char const* name);
    bool setOutputAllocator(char const* name, nvinfer1::IOutputAllocator* allocator);
    nvinfer1::IOutputAllocator* getOutputAllocator(char const* name);
    int64_t getMaxOutputSize(char const* name);
    int32_t inferShapes(int32_t capacity, char const** names);
    bool allInputDimensionsSpecified();
    bool allInputShapesSpecified() { return missing().empty(); }

    bool enqueueV3(cudaStream_t stream);
    bool executeV2(void* const* bindings);

    bool setOptimizationProfileAsync(int32_t index, cudaStream_t stream);
    int32_t getOptimizationProfile() { return profile; }
    void setDeviceMemory(void* given);
    void setDeviceMemoryV2(void* given, int64_t size);
    std::size_t updateDeviceMemorySizeForShapes() { return engine->plan.network.device_memory; }
    void setAuxStreams(cudaStream_t* streams, int32_t count);
    bool reportToProfiler();
    bool setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity);
#if DOUBLE_HAS_VRuntimeConfig
    nvinfer1::IRuntimeConfig* getRuntimeConfig() { return nullptr; }
#endif
    bool isStreamCapturable(cudaStream_t) { return !hasLateOutputs() && !compiles(); }

private:
    Io* find(char const* name, char const* method);
    bool refuse(std::string const& method, nvinfer1::ErrorCode code, std::string const& text);
    nvinfer1::Dims resolve(Io const& io) const;
    nvinfer1::Dims late(Io const& io) const;
    std::vector<std::string> missing();
    bool hasLateOutputs() const;
    bool compiles() const;
    bool useProfile(int32_t index);
    void dropAuxStreams();
    bool haveAuxStreams(char const* method, cudaStream_t stream);
    bool ready(char const* method);
    bool place(Io& output, cudaStream_t stream);
    bool frame(char const* method, cudaStream_t stream);
    void report();
};
using ContextObject = Wrap<nvinfer1::IExecutionContext, nvinfer1::apiv::VExecutionContextShim<Context>>;

} // namespace dbl
