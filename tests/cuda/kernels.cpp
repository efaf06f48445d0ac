// The kernels that the double knows, modules, and launches. A kernel is found by its name, if the module's text has it.
//
//   dbl_sum, dbl_spin, dbl_write      those of libnvinfer's double (kernels.h there): a frame runs here as on a GPU. The
//                                     spin's stated nanoseconds are busy time; its traffic takes none
//   double_busy(u64 nanos)            the device is busy for so long
//   double_add(u64 address, u32 n)    adds to the word there
//   jetlag_load_*                     jetlag's loads (src/gpu/kernels/load.cu): busy for as long as their work takes on the
//                                     device that control.h has in mind, 200 GB/s to memory and 400 GB/s from the cache
//   jetlag_scatter, jetlag_scatter_clear   jetlag's scatter (src/gpu/kernels/scatter.cu)
#include "world.h"

#include "numbers.h"

#include <cstring>

namespace cuda_double
{
namespace
{

Time add(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        if (auto* word = static_cast<uint32_t*>(bytesAt(a[0], 4)))
            *word += static_cast<uint32_t>(a[1]);
    });
}

Time sum(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        auto const* bytes = static_cast<unsigned char const*>(bytesAt(a[0], a[1]));
        auto* into = static_cast<uint32_t*>(bytesAt(a[3], 4));
        if (bytes == nullptr || into == nullptr)
            return;
        uint32_t total = 0;
        for (uint64_t i = 0; i < a[1]; ++i)
            total += bytes[i];
        *into += total * static_cast<uint32_t>(a[2]);
    });
}

Time spin(Arguments const& a, Place const& place, Time start) { return busy(place, start, Nanos(static_cast<int64_t>(a[0]))); }

Time put(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        auto const type = static_cast<int32_t>(a[2]);
        void* const to = bytesAt(a[0], a[1] * dbl::widthOf(type));
        auto const* from = static_cast<uint32_t const*>(bytesAt(a[4], 4));
        if (to != nullptr && from != nullptr)
            dbl::putNumbers(to, a[1], type, *from % 127 + static_cast<uint32_t>(a[3]));
    });
}

Time loadCompute(Arguments const& a, Place const& place, Time start)
{
    bool const known = bytesAt(a[0], 4) != nullptr;
    return busy(place, start, Nanos(known ? static_cast<int64_t>(a[1]) * 10 : 0));
}

Time loadDram(Arguments const& a, Place const& place, Time start)
{
    uint64_t const bytes = (a[4] + 1) * 16;
    bool const known = bytesAt(a[0], bytes) != nullptr && bytesAt(a[1], bytes) != nullptr && (a[4] & (a[4] + 1)) == 0;
    return busy(place, start, Nanos(known ? static_cast<int64_t>(a[3]) * 32 / 200 : 0));
}

Time loadL2(Arguments const& a, Place const& place, Time start)
{
    bool const known = bytesAt(a[0], (a[3] + 1) * 16) != nullptr && bytesAt(a[1], 4) != nullptr && (a[3] & (a[3] + 1)) == 0;
    return busy(place, start, Nanos(known ? static_cast<int64_t>(a[2]) * 16 / 400 : 0));
}

Time scatterClear(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        auto* canvas = static_cast<float*>(bytesAt(a[0], a[3] * a[4] * 4));
        auto const* written = static_cast<int32_t const*>(bytesAt(a[1], a[2] * 4));
        for (uint64_t i = 0; canvas != nullptr && written != nullptr && i < a[2] * a[3]; ++i)
            if (int32_t const cell = written[i / a[3]]; cell >= 0)
                canvas[i % a[3] * a[4] + static_cast<uint64_t>(cell)] = 0;
    });
}

Time scatter(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        uint64_t const pillars = a[4], rows = a[5], most = a[6], channels = a[7], width = a[8], area = a[9];
        auto* canvas = static_cast<float*>(bytesAt(a[0], channels * area * 4));
        auto* written = static_cast<int32_t*>(bytesAt(a[1], most * 4));
        auto const* features = static_cast<float const*>(bytesAt(a[2], rows * channels * 4));
        auto const* cells = static_cast<int32_t const*>(bytesAt(a[3], pillars * 8));
        if (canvas == nullptr || written == nullptr || features == nullptr || cells == nullptr)
            return;
        for (uint64_t p = 0; p < most; ++p)
        {
            written[p] = -1;
            if (p >= pillars || cells[2 * p] < 0)
                continue;
            uint64_t const cell = static_cast<uint64_t>(cells[2 * p + 1]) * width + static_cast<uint64_t>(cells[2 * p]);
            written[p] = static_cast<int32_t>(cell);
            for (uint64_t c = 0; c < channels; ++c)
                canvas[c * area + cell] = features[a[10] != 0 ? c * rows + p : p * channels + c];
        }
    });
}

Function const kKERNELS[] = {
    {"dbl_sum", {8, 8, 4, 8}, sum},
    {"dbl_spin", {8, 8, 8, 8}, spin},
    {"dbl_write", {8, 8, 4, 4, 8}, put},
    {"double_busy", {8}, spin},
    {"double_add", {8, 4}, add},
    {"jetlag_load_compute", {8, 8}, loadCompute},
    {"jetlag_load_dram", {8, 8, 8, 8, 8}, loadDram},
    {"jetlag_load_l2", {8, 8, 8, 8}, loadL2},
    {"jetlag_scatter_clear", {8, 8, 8, 8, 8}, scatterClear},
    {"jetlag_scatter", {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, scatter},
};

CUresult load(CUmodule* into, void const* image)
{
    CUresult why = CUDA_SUCCESS;
    if (into == nullptr || image == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (current(why) == nullptr)
        return why;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    auto const* bytes = static_cast<unsigned char const*>(image);
    bool const elf = std::memcmp(bytes, "\x7f" "ELF", 4) == 0;
    bool const fat = std::memcmp(bytes, "\x50\xed\x55\xba", 4) == 0;
    auto module = std::make_unique<Module>();
    if (!elf && !fat)
    {
        module->text = static_cast<char const*>(image);
        if (module->text.find(".version") == std::string::npos)
            return CUDA_ERROR_INVALID_IMAGE;
        if (module->text.find(".target") == std::string::npos)
            return CUDA_ERROR_INVALID_PTX;
    }
    *into = reinterpret_cast<CUmodule>(module.get());
    world().modules[module.get()] = std::move(module);
    return CUDA_SUCCESS;
}

} // namespace

Function const* kernel(std::string const& name)
{
    for (auto const& one : kKERNELS)
        if (name == one.name)
            return &one;
    return nullptr;
}

CUDA_API CUresult cuModuleLoadData(CUmodule* module, void const* image)
{
    CALL("cuModuleLoadData");
    return load(module, image);
}

CUDA_API CUresult cuModuleLoadDataEx(CUmodule* module, void const* image, unsigned, int*, void**)
{
    CALL("cuModuleLoadDataEx");
    return load(module, image);
}

CUDA_API CUresult cuModuleUnload(CUmodule module)
{
    CALL("cuModuleUnload");
    return world().modules.erase(reinterpret_cast<Module*>(module)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_API CUresult cuModuleGetFunction(CUfunction* into, CUmodule handle, char const* name)
{
    CALL("cuModuleGetFunction");
    auto const found = world().modules.find(reinterpret_cast<Module*>(handle));
    if (into == nullptr || name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (found == world().modules.end())
        return CUDA_ERROR_INVALID_HANDLE;
    Module& module = *found->second;
    Function const* const known = kernel(name);
    if (known == nullptr || (!module.text.empty() && module.text.find(name) == std::string::npos))
        return CUDA_ERROR_NOT_FOUND;
    auto& own = module.functions[name];
    if (own == nullptr)
        own = std::make_unique<Function>(*known);
    *into = reinterpret_cast<CUfunction>(own.get());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function)
{
    CALL("cuFuncGetAttribute");
    if (value == nullptr || function == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == 0 ? 1024 : 0; // the most threads of a block; no registers, no shared memory
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuFuncSetAttribute(CUfunction function, int, int)
{
    CALL("cuFuncSetAttribute");
    return function == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUDA_API CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned, CUstream on, void** parameters, void** extra)
{
    CALL("cuLaunchKernel");
    CUresult why = CUDA_SUCCESS;
    if (current(why) == nullptr)
        return why;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    Function const* known = nullptr;
    for (auto const& [address, module] : world().modules)
        for (auto const& [name, own] : module->functions)
            if (own.get() == reinterpret_cast<Function*>(handle))
                known = kernel(name);
    if (known == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (extra != nullptr)
        return CUDA_ERROR_NOT_SUPPORTED; // arguments in one buffer
    if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0 || uint64_t{bx} * by * bz > 1024 || parameters == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Arguments arguments;
    for (std::size_t k = 0; k < known->sizes.size(); ++k)
    {
        uint64_t value = 0;
        std::memcpy(&value, parameters[k], known->sizes[k]);
        arguments.push_back(value);
    }
    return enqueue(stream, [known, arguments](Place const& place, Time start) { return known->run(arguments, place, start); });
}

CUDA_API CUresult cuLaunchHostFunc(CUstream on, CUhostFn function, void* data)
{
    CALL("cuLaunchHostFunc");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    if (function == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    // It may sleep: the time that passes counts, not the processor's.
    return enqueue(stream, [function, data](Place const&, Time) {
        function(data);
        return now();
    });
}

} // namespace cuda_double
