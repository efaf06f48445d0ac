// A double of libcublas for tests without the CUDA toolkit: a product keeps the double of the driver busy for as long as its
// operations take at a stated rate, on the caller's stream. What is multiplied is not looked at.
// JETLAG_CUBLAS_DOUBLE_RATES: operations a second, "fp32 tf32 fp16 fp16-sums16 int8", in thousands of millions; one of 0 is refused
// as not supported.
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>

#define CUBLAS_API extern "C" __attribute__((visibility("default")))

namespace
{
constexpr int kNOT_INITIALIZED = 1, kINVALID_VALUE = 7, kEXECUTION_FAILED = 13, kNOT_SUPPORTED = 15;

using Handle = void*;

struct Cublas
{
    Handle module = nullptr, busy = nullptr, stream = nullptr;
    int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**) = nullptr;
    double rates[5] = {10e12, 40e12, 80e12, 60e12, 160e12};
};

/// Which of the rates a product has; -1 where cuBLAS has no such product.
int which(int a, int b, int c, int compute)
{
    if (a != b)
        return -1;
    if (a == 0 && c == 0)
        return compute == 68 ? 0 : compute == 77 ? 1 : -1;
    if (a == 2 && c == 2)
        return compute == 68 ? 2 : compute == 64 ? 3 : -1;
    return a == 3 && c == 10 && compute == 72 ? 4 : -1;
}
} // namespace

CUBLAS_API int cublasGetProperty(int property, int* value)
{
    int const release[] = {12, 9, 1};
    if (property < 0 || property > 2 || value == nullptr)
        return kINVALID_VALUE;
    *value = release[property];
    return 0;
}

CUBLAS_API int cublasCreate_v2(Handle* handle)
{
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr)
        return kNOT_INITIALIZED;
    auto* const made = new Cublas;
    auto const load = reinterpret_cast<int (*)(Handle*, void const*)>(dlsym(driver, "cuModuleLoadData"));
    auto const function = reinterpret_cast<int (*)(Handle*, Handle, char const*)>(dlsym(driver, "cuModuleGetFunction"));
    made->launch = reinterpret_cast<decltype(made->launch)>(dlsym(driver, "cuLaunchKernel"));
    bool const ready = load != nullptr && function != nullptr && made->launch != nullptr
        && load(&made->module, ".version 8.0\n.target sm_80\ndouble_busy") == 0 && function(&made->busy, made->module, "double_busy") == 0;
    if (!ready)
    {
        delete made;
        return kNOT_INITIALIZED;
    }
    if (char const* const told = std::getenv("JETLAG_CUBLAS_DOUBLE_RATES"))
    {
        std::istringstream text(told);
        for (double& rate : made->rates)
            if (text >> rate)
                rate *= 1e9;
    }
    *handle = made;
    return 0;
}

CUBLAS_API int cublasDestroy_v2(Handle handle)
{
    delete static_cast<Cublas*>(handle);
    return 0;
}

CUBLAS_API int cublasSetStream_v2(Handle handle, Handle stream)
{
    static_cast<Cublas*>(handle)->stream = stream;
    return 0;
}

CUBLAS_API int cublasGemmEx(Handle handle, int, int, int m, int n, int k, void const* alpha, void const* a, int a_type, int lda,
    void const* b, int b_type, int ldb, void const* beta, void* c, int c_type, int ldc, int compute, int)
{
    auto& cublas = *static_cast<Cublas*>(handle);
    if (alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || c == nullptr || lda < k || ldb < k || ldc < m)
        return kINVALID_VALUE;
    // 1 and 0 in the type that is computed in.
    uint32_t const one = compute == 64 ? 0x3c00 : compute == 72 ? 1 : 0x3f800000;
    uint32_t const mask = compute == 64 ? 0xffff : 0xffffffff;
    if ((*static_cast<uint32_t const*>(alpha) & mask) != one || (*static_cast<uint32_t const*>(beta) & mask) != 0)
        return kINVALID_VALUE;
    int const of = which(a_type, b_type, c_type, compute);
    if (of < 0 || cublas.rates[of] <= 0)
        return kNOT_SUPPORTED;
    auto nanos = static_cast<uint64_t>(2.0 * m * n * k / cublas.rates[of] * 1e9);
    void* arguments[] = {&nanos};
    // As many threads as fill the device.
    int const launched = cublas.launch(cublas.busy, 4096, 1, 1, 256, 1, 1, 0, cublas.stream, arguments, nullptr);
    return launched == 0 ? 0 : kEXECUTION_FAILED;
}
