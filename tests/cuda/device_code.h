// What jetlag's kernels use of CUDA C, so that their sources compile as C++ and each thread is a call, one after another.
// Threads that wait for each other would need more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cuda_double::device_code
{

struct Index
{
    unsigned x = 0;
};
inline thread_local Index blockIdx, blockDim, threadIdx, gridDim;

// Nothing may become a fused operation, as it may not on the device: the store keeps them apart.
inline float __fmul_rn(float a, float b) { float volatile product = a * b; return product; }
inline float __fadd_rn(float a, float b) { float volatile sum = a + b; return sum; }
inline float __uint_as_float(unsigned bits) { float value; std::memcpy(&value, &bits, 4); return value; }

#define __global__
#define __launch_bounds__(threads)

#include "../../src/gpu/kernels/fit.cu"
#include "../../src/gpu/kernels/scatter.cu"

/// Calls once for each thread of a launch.
template <class Body> void each(unsigned blocks, unsigned threads, Body const& body)
{
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            body();
}

/// An argument as the kernel declares it.
template <class T> T as(uint64_t value)
{
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<T>(value);
    else
        return static_cast<T>(value);
}

template <class... T, class Values, std::size_t... K>
void call(void (*kernel)(T...), Values const& values, std::index_sequence<K...>)
{
    kernel(as<T>(values[K])...);
}

} // namespace cuda_double::device_code
