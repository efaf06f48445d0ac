// The benchmark loops of control.h, as a C++ program would write them. A unit of its own, compiled with -O2 and without
// anything of the double: what is measured is the call, not the caller's debug build.
#include "control.h"
#include "version.h"

#include <chrono>

int64_t double_bench_enqueue(void* context, void* stream, uint64_t n)
{
    auto* const on = static_cast<nvinfer1::IExecutionContext*>(context);
    auto const begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < n; ++i)
        if (!on->enqueueV3(static_cast<cudaStream_t>(stream)))
            return -1;
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

int64_t double_bench_address(void* context, char const* name, void* address, uint64_t n)
{
    auto* const on = static_cast<nvinfer1::IExecutionContext*>(context);
    auto const begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < n; ++i)
        if (!on->setTensorAddress(name, address))
            return -1;
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}
