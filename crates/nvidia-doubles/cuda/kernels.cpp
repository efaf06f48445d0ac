// The kernels that the double knows, modules, and launches. A kernel is found by its name, if the module's text has it.
//
//   dbl_begin, _sum, _write, _spin    those of libnvinfer's double (kernels.h there): a frame runs here as on a GPU. The
//                                     spin's stated nanoseconds are busy time from its own start; its traffic takes none
//   double_busy(u64 nanos)            the device is busy for so long
//   double_add(u64 address, u32 n)    adds to the word there
//   jetlag_load_*                     jetlag's loads (src/gpu/kernels/load.cu): busy for as long as their work takes on the
//                                     device that control.h has in mind, 200 GB/s to memory and 400 GB/s from the cache
//   jetlag_scatter*, _fit, _pillars_* jetlag's own sources, compiled as C++ (device_code.h): what they take counts
#include "world.h"

#include "device_code.h"

#include "../tensorrt/numbers.h"

#include <algorithm>
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

Time begin(Arguments const& a, Place const&, Time start)
{
    return measured(start, [&] {
        if (auto* word = static_cast<uint32_t*>(bytesAt(a[0], 16)))
            *word = static_cast<uint32_t>(a[1]);
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

/// The bytes of each argument that is an address; 0: it is a number.
using Sizes = std::vector<uint64_t>;

/// Of the pillars' cells, which the setup says.
constexpr uint64_t kCELLS = ~uint64_t{0};

/// Runs a kernel of jetlag's, compiled from its own source, once for each thread; addresses become the host's.
template <class... T>
Time threads(void (*kernel)(T...), Arguments const& a, Sizes const& sizes, Time start)
{
    return measured(start, [&] {
        Arguments here = a;
        for (std::size_t k = 0; k < sizes.size(); ++k)
            if (sizes[k] != 0 && (here[k] = reinterpret_cast<uint64_t>(bytesAt(a[k], sizes[k]))) == 0)
                return;
        device_code::each(a.blocks, a.threads, [&] { device_code::call(kernel, here, std::index_sequence_for<T...>{}); });
    });
}

Time scatterClear(Arguments const& a, Place const&, Time start)
{
    return threads(device_code::jetlag_scatter_clear, a, {a[3] * a[4] * 4, a[2] * 4}, start);
}

Time scatter(Arguments const& a, Place const&, Time start)
{
    uint64_t const rows = a[5], channels = a[7], area = a[9];
    return threads(device_code::jetlag_scatter, a, {channels * area * 4, a[6] * 4, rows * channels * 4, a[4] * 8}, start);
}

Time fit(Arguments const& a, Place const&, Time start)
{
    return threads(device_code::jetlag_fit, a, {a[3] * a[4] * 12, a[2]}, start);
}

/// Those of jetlag_pillars_*, whose arguments begin with the setup and, unless `block` says otherwise, the working memory.
/// Behind them come addresses or numbers; `more` are the bytes of the former.
Sizes pillarSizes(Arguments const& a, bool block, Sizes const& more = {})
{
    using Setup = device_code::Setup;
    Sizes sizes = {sizeof(Setup)};
    if (auto const* setup = static_cast<Setup const*>(bytesAt(a[0], sizeof(Setup))))
    {
        if (block)
            sizes.push_back(16 + uint64_t{setup->capacity} * 16);
        sizes.push_back((setup->mean + 3 * uint64_t{setup->max_pillars}) * 4);
        for (uint64_t const bytes : more)
            sizes.push_back(bytes == kCELLS ? uint64_t{setup->max_pillars} * 8 : bytes);
    }
    return sizes;
}

template <auto kernel, bool block, bool cells = false> Time pillars(Arguments const& a, Place const&, Time start)
{
    return threads(kernel, a, pillarSizes(a, block, cells ? Sizes{kCELLS} : Sizes{}), start);
}

Time pillarsEncode(Arguments const& a, Place const&, Time start)
{
    Arguments rest = a;
    rest.erase(rest.begin());
    Sizes sizes = pillarSizes(rest, true, {kCELLS});
    sizes.insert(sizes.begin(), 4);
    return threads(device_code::jetlag_pillars_encode, a, sizes, start);
}

Function const kKERNELS[] = {
    {"dbl_begin", {8, 4}, begin},
    {"dbl_sum", {8, 8, 4, 8}, sum},
    {"dbl_spin", {8, 8, 8, 8, 8}, spin},
    {"dbl_write", {8, 8, 4, 4, 8}, put},
    {"double_busy", {8}, spin},
    {"double_add", {8, 4}, add},
    {"jetlag_load_compute", {8, 8}, loadCompute},
    {"jetlag_load_dram", {8, 8, 8, 8, 8}, loadDram},
    {"jetlag_load_l2", {8, 8, 8, 8}, loadL2},
    {"jetlag_scatter_clear", {8, 8, 8, 8, 8}, scatterClear},
    {"jetlag_scatter", {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, scatter},
    {"jetlag_fit", {8, 8, 8, 8, 8, 8}, fit},
    {"jetlag_pillars_clear", {8, 8, 8, 8}, pillars<device_code::jetlag_pillars_clear, true, true>},
    {"jetlag_pillars_cells", {8, 8, 8}, pillars<device_code::jetlag_pillars_cells, true>},
    {"jetlag_pillars_flags", {8, 8}, pillars<device_code::jetlag_pillars_flags, false>},
    {"jetlag_pillars_tiles", {8, 8, 8, 8}, pillars<device_code::jetlag_pillars_tiles, false>},
    {"jetlag_pillars_groups", {8, 8, 8}, pillars<device_code::jetlag_pillars_groups, false>},
    {"jetlag_pillars_prefix", {8, 8, 8, 8, 8}, pillars<device_code::jetlag_pillars_prefix, false>},
    {"jetlag_pillars_rows", {8, 8, 8}, pillars<device_code::jetlag_pillars_rows, false, true>},
    {"jetlag_pillars_count", {8, 8}, pillars<device_code::jetlag_pillars_count, false>},
    {"jetlag_pillars_fill", {8, 8}, pillars<device_code::jetlag_pillars_fill, false>},
    {"jetlag_pillars_keep", {8, 8}, pillars<device_code::jetlag_pillars_keep, false>},
    {"jetlag_pillars_mean", {8, 8, 8}, pillars<device_code::jetlag_pillars_mean, true>},
    {"jetlag_pillars_encode", {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, pillarsEncode},
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
    unsigned bz, unsigned shared, CUstream on, void** parameters, void** extra)
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
    arguments.blocks = gx;
    arguments.threads = bx;
    for (std::size_t k = 0; k < known->sizes.size(); ++k)
    {
        uint64_t value = 0;
        std::memcpy(&value, parameters[k], known->sizes[k]);
        arguments.push_back(value);
    }
    ObservedWork work{};
    work.kind = kOBSERVED_KERNEL;
    work.name = known->name;
    work.shared_bytes = shared;
    unsigned const grid[3] = {gx, gy, gz};
    unsigned const block[3] = {bx, by, bz};
    std::copy(grid, grid + 3, work.grid);
    std::copy(block, block + 3, work.block);
    auto const run = [known, arguments](Place const& place, Time start) { return known->run(arguments, place, start); };
    return enqueue(stream, observed(*stream, work, run));
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
