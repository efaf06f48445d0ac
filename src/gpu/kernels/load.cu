// Loads of one resource each. `count` is the work of one burst; how long it takes alone is measured before the run.
// What a thread computes is written only where it cannot be, so that no compiler leaves the work out.

typedef unsigned int u32;
typedef unsigned long long u64;

// Multiprocessors: chains of multiply-adds in registers, 128 a thread and round.
extern "C" __global__ void __launch_bounds__(256) jetlag_load_compute(u32* sink, u64 count)
{
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    for (u64 round = 0; round < count; ++round)
    {
#pragma unroll
        for (int i = 0; i < 16; ++i)
        {
            a = fmaf(a, 0.9999f, 0.5f);
            b = fmaf(b, 0.9999f, 0.5f);
            c = fmaf(c, 0.9999f, 0.5f);
            d = fmaf(d, 0.9999f, 0.5f);
            e = fmaf(e, 0.9999f, 0.5f);
            f = fmaf(f, 0.9999f, 0.5f);
            g = fmaf(g, 0.9999f, 0.5f);
            h = fmaf(h, 0.9999f, 0.5f);
        }
    }
    float const sum = a + b + c + d + e + f + g + h;
    if (sum == -1.0f)
        *sink = 1;
}

// Memory: copies `count` vectors of 16 bytes from one block to another, round and round from vector `begin` on; a block has
// `mask` + 1 vectors, a power of two.
extern "C" __global__ void __launch_bounds__(256) jetlag_load_dram(uint4* to, uint4 const* from, u64 begin, u64 count, u64 mask)
{
    u64 const step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    {
        u64 const at = (begin + i) & mask;
        to[at] = from[at];
    }
}

// Second-level cache: reads `count` vectors of 16 bytes of a block of `mask` + 1, past the first-level cache.
extern "C" __global__ void __launch_bounds__(256) jetlag_load_l2(uint4 const* from, u32* sink, u64 count, u64 mask)
{
    u64 const step = (u64) gridDim.x * blockDim.x;
    u32 seen = 0;
#pragma unroll 4
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    {
        uint4 const v = __ldcg(from + (i & mask));
        seen ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    // The block holds zeros.
    if (seen != 0)
        *sink = seen;
}
