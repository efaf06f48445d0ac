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

inline unsigned __float_as_uint(float value) { unsigned bits; std::memcpy(&bits, &value, 4); return bits; }
inline unsigned atomicMin(unsigned* at, unsigned value) { unsigned const was = *at; *at = std::min(was, value); return was; }
inline unsigned atomicAdd(unsigned* at, unsigned value) { unsigned const was = *at; *at += value; return was; }

#define __global__
#define __launch_bounds__(threads)

#include "../../../src/gpu/kernels/fit.cu"
#include "../../../src/gpu/kernels/pillars.cu"
#include "../../../src/gpu/kernels/scatter.cu"

/// Calls once for each thread of a launch, in an order that no kernel may count on.
template <class Body> void each(unsigned blocks, unsigned threads, Body const& body)
{
    unsigned const all = blocks * threads;
    // A prime, so that every thread is met once, unless it divides their number.
    unsigned const stride = all % 1000003 == 0 ? 1 : 1000003 % all;
    gridDim.x = blocks;
    blockDim.x = threads;
    unsigned thread = all / 2;
    for (unsigned k = 0; k < all; ++k)
    {
        blockIdx.x = thread / threads;
        threadIdx.x = thread % threads;
        body();
        thread = thread >= all - stride ? thread - (all - stride) : thread + stride;
    }
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
