// Device memory, page-locked host memory, copies and fills.
//
// Device memory is twice its size of address space: the first half, which is the device's address, cannot be touched; the
// bytes lie in the second half. So does managed memory, whose first half shows the same bytes: on an integrated device only
// while it is attached to the host, and the device may not touch it then (cuStreamAttachMemAsync), as on a Jetson.
#include "world.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace cuda_double
{
namespace
{

uintptr_t number(void const* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

/// The block that holds all of these bytes; null if none does. A block that is being freed has none for new work.
Block* find(uintptr_t address, std::size_t size, uintptr_t* base = nullptr)
{
    auto& blocks = world().blocks;
    auto after = blocks.upper_bound(address);
    if (after == blocks.begin())
        return nullptr;
    --after;
    if (after->second.freed || after->second.abandoned || address - after->first > after->second.size
        || size > after->second.size - (address - after->first))
        return nullptr;
    if (base != nullptr)
        *base = after->first;
    return &after->second;
}

/// Flags of managed memory.
constexpr unsigned kATTACH_GLOBAL = 1, kATTACH_HOST = 2, kATTACH_SINGLE = 4;

bool onDevice(Block const* block) { return block != nullptr && block->kind == Memory::device; }

/// Whether the bytes count against the device's memory.
bool counts(Memory kind) { return kind == Memory::device || kind == Memory::managed || (kind == Memory::host && control().integrated); }

/// Managed memory: the bytes of one file, seen at two places.
void* twice(std::size_t reserved)
{
    int const file = memfd_create("managed", MFD_CLOEXEC);
    if (file < 0)
        return MAP_FAILED;
    void* at = ftruncate(file, static_cast<off_t>(reserved)) == 0
        ? mmap(nullptr, 2 * reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    for (std::size_t half = 0; at != MAP_FAILED && half < 2; ++half)
        if (mmap(static_cast<char*>(at) + half * reserved, reserved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0)
            == MAP_FAILED)
        {
            munmap(at, 2 * reserved);
            at = MAP_FAILED;
        }
    close(file);
    return at;
}

CUresult allocate(uintptr_t& into, std::size_t size, Memory kind)
{
    CUresult why = CUDA_SUCCESS;
    Context* const context = current(why);
    if (context == nullptr)
        return why;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    World& w = world();
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    uint64_t& used = w.used[context->sms.device];
    if (size > control().memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    std::size_t const reserved = (size + page - 1) / page * page;
    if (counts(kind) && used + reserved > control().memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool const hidden = kind == Memory::device;
    bool const managed = kind == Memory::managed;
    void* const at = managed ? twice(reserved) : mmap(nullptr, hidden ? 2 * reserved : reserved, hidden ? PROT_NONE : PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (hidden && mprotect(static_cast<char*>(at) + reserved, reserved, PROT_READ | PROT_WRITE) != 0)
    {
        munmap(at, 2 * reserved);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (counts(kind))
    {
        used += reserved;
        w.most_bytes = std::max(w.most_bytes, used);
    }
    w.blocks[number(at)] = {size, reserved, kind, context,
        hidden || managed ? static_cast<std::ptrdiff_t>(reserved) : 0, false, false, managed};
    into = number(at);
    return CUDA_SUCCESS;
}

void release(uintptr_t base)
{
    World& w = world();
    auto const found = w.blocks.find(base);
    if (found == w.blocks.end())
        return;
    Block const& block = found->second;
    if (block.kind != Memory::registered)
        munmap(reinterpret_cast<void*>(base), block.backing != 0 ? 2 * block.reserved : block.reserved);
    if (counts(block.kind) && !block.abandoned)
        w.used[block.context->sms.device] -= block.reserved;
    w.blocks.erase(found);
}

/// Frees a whole block of one of two kinds, once the device is idle.
CUresult releaseWhenIdle(Lock& lock, uintptr_t address, Memory kind, Memory other)
{
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    auto const fits = [&] {
        uintptr_t base = 0;
        Block const* const block = find(address, 0, &base);
        return block != nullptr && base == address && (block->kind == kind || block->kind == other);
    };
    if (!fits())
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const no = awaitAll(lock, context, true))
        return no;
    if (!fits())
        return CUDA_ERROR_INVALID_VALUE; // another thread was quicker
    release(address);
    return CUDA_SUCCESS;
}

CUresult allocateAsync(CUdeviceptr* into, std::size_t size, CUstream on)
{
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr)
        return CUDA_ERROR_NOT_SUPPORTED; // memory nodes of graphs
    uintptr_t at = 0;
    why = allocate(at, size, Memory::device);
    *into = at;
    return why == CUDA_SUCCESS ? enqueue(stream, nullptr) : why;
}

/// The bytes at an address as this process can touch them: a block's, or pageable host memory as it is.
char* touchable(uintptr_t address, std::size_t size)
{
    Block const* const block = find(address, size);
    return reinterpret_cast<char*>(address) + (block == nullptr ? 0 : block->backing);
}

/// What kind of memory it is, as CUPTI numbers it.
uint32_t kindOf(Block const* block)
{
    if (block == nullptr)
        return 1;
    return block->kind == Memory::device ? 3 : block->kind == Memory::managed ? 5 : 2;
}

enum class Way
{
    to_device,
    from_device,
    on_device,
    any
};

/// One copy, waited for or not. Pageable memory behaves as CUDA says: what comes from it is taken before the call returns,
/// what goes there is there when the call returns.
CUresult copy(Lock& lock, uintptr_t to, uintptr_t from, std::size_t size, Way way, CUstream on, bool wait)
{
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    if (size == 0)
        return CUDA_SUCCESS;
    if (to == 0 || from == 0)
        return CUDA_ERROR_INVALID_VALUE;
    Block const* const target = find(to, size);
    Block const* const origin = find(from, size);
    bool const wants_target = way == Way::to_device || way == Way::on_device;
    bool const wants_origin = way == Way::from_device || way == Way::on_device;
    if ((wants_target && target == nullptr) || (wants_origin && origin == nullptr)
        || (way == Way::to_device && onDevice(origin)) || (way == Way::from_device && onDevice(target)))
        return CUDA_ERROR_INVALID_VALUE;
    if (way == Way::any)
        way = onDevice(target) ? (onDevice(origin) ? Way::on_device : Way::to_device)
                               : (onDevice(origin) ? Way::from_device : Way::on_device);
    bool const capturing = stream->capture != nullptr;
    if (wait && capturing)
        return refuseCapturing(*stream);
    std::shared_ptr<std::vector<char>> staged;
    if (!wait && !capturing && origin == nullptr)
    {
        auto const* bytes = reinterpret_cast<char const*>(from);
        staged = std::make_shared<std::vector<char>>(bytes, bytes + size);
    }
    int const device = context->sms.device;
    auto const action = [=](Place const&, Time start) {
        auto const work = [&] {
            char* into = nullptr;
            char const* bytes = nullptr;
            {
                Lock const held(world().lock);
                into = touchable(to, size);
                bytes = staged != nullptr ? staged->data() : touchable(from, size);
                bool const gone = (target != nullptr && find(to, size) == nullptr)
                    || (origin != nullptr && find(from, size) == nullptr);
                if (gone)
                    return fault(CUDA_ERROR_ILLEGAL_ADDRESS);
            }
            std::memmove(into, bytes, size);
        };
        return way == Way::on_device ? measured(start, work) : transfer(device, way == Way::to_device, size, start, work);
    };
    ObservedWork work{};
    work.kind = kOBSERVED_COPY;
    work.from = kindOf(origin);
    work.to = kindOf(target);
    work.is_async = wait ? 0 : 1;
    work.bytes = size;
    auto const told = observed(*stream, work, action);
    if (wait || (!capturing && target == nullptr))
        return runNow(lock, on, told);
    return enqueue(stream, told);
}

template <class T> CUresult fill(Lock& lock, CUdeviceptr to, T value, std::size_t count, CUstream on, bool wait)
{
    CUresult why = CUDA_SUCCESS;
    if (current(why) == nullptr)
        return why;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    if (count == 0)
        return CUDA_SUCCESS;
    if (find(to, count * sizeof(T)) == nullptr || to % sizeof(T) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    auto const action = [=](Place const&, Time start) {
        return measured(start, [&] {
            if (auto* at = static_cast<T*>(bytesAt(to, count * sizeof(T))))
                std::fill(at, at + count, value);
        });
    };
    ObservedWork work{};
    work.kind = kOBSERVED_FILL;
    work.to = kindOf(find(to, count * sizeof(T)));
    work.is_async = wait ? 0 : 1;
    work.value = static_cast<uint32_t>(value);
    work.bytes = count * sizeof(T);
    auto const told = observed(*stream, work, action);
    return wait ? runNow(lock, on, told) : enqueue(stream, told);
}

template <class T> void answer(void* data, T value) { std::memcpy(data, &value, sizeof(T)); }

} // namespace

void* bytesAt(CUdeviceptr address, std::size_t size)
{
    Lock const held(world().lock);
    Block const* const block = find(address, size);
    if (block == nullptr || (block->kind == Memory::managed && block->on_host && control().integrated))
    {
        fault(CUDA_ERROR_ILLEGAL_ADDRESS);
        return nullptr;
    }
    return reinterpret_cast<char*>(address) + block->backing;
}

CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr* into, std::size_t size)
{
    CALL("cuMemAlloc_v2");
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    uintptr_t at = 0;
    CUresult const answer = allocate(at, size, Memory::device);
    *into = at;
    return answer;
}

CUDA_API CUresult cuMemAllocManaged(CUdeviceptr* into, std::size_t size, unsigned flags)
{
    CALL("cuMemAllocManaged");
    uintptr_t at = 0;
    CUresult const answer = into == nullptr || (flags != kATTACH_GLOBAL && flags != kATTACH_HOST)
        ? CUDA_ERROR_INVALID_VALUE : allocate(at, size, Memory::managed);
    if (into != nullptr)
        *into = at;
    if (answer == CUDA_SUCCESS)
        world().blocks[at].on_host = flags == kATTACH_HOST;
    return answer;
}

CUDA_API CUresult cuStreamAttachMemAsync(CUstream on, CUdeviceptr address, std::size_t length, unsigned flags)
{
    CALL("cuStreamAttachMemAsync");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    uintptr_t base = 0;
    Block const* const block = find(address, length, &base);
    if (block == nullptr || base != address || (length != 0 && length != block->size) || block->kind != Memory::managed
        || (flags != kATTACH_GLOBAL && flags != kATTACH_HOST && flags != kATTACH_SINGLE))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return enqueue(stream, [address, flags](Place const&, Time start) {
        Lock const held(world().lock);
        if (Block* const now = find(address, 0))
        {
            now->on_host = flags == kATTACH_HOST;
            if (control().integrated)
                mprotect(reinterpret_cast<void*>(address), now->reserved, now->on_host ? PROT_READ | PROT_WRITE : PROT_NONE);
        }
        return start;
    });
}

CUDA_API CUresult cuMemFree_v2(CUdeviceptr address)
{
    CALL("cuMemFree_v2");
    return address == 0 ? CUDA_SUCCESS : releaseWhenIdle(call.lock, address, Memory::device, Memory::managed);
}

CUDA_API CUresult cuMemAllocAsync(CUdeviceptr* into, std::size_t size, CUstream stream)
{
    CALL("cuMemAllocAsync");
    return allocateAsync(into, size, stream);
}

CUDA_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* into, std::size_t size, CUmemoryPool, CUstream stream)
{
    CALL("cuMemAllocFromPoolAsync");
    return allocateAsync(into, size, stream);
}

CUDA_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on)
{
    CALL("cuMemFreeAsync");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(on, why);
    if (stream == nullptr)
        return why;
    uintptr_t base = 0;
    Block const* const block = find(address, 0, &base);
    if (!onDevice(block) || base != address)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    // Work enqueued before may still use it: only that stream's order says when it goes.
    return enqueue(stream, [address](Place const&, Time start) {
        Lock const held(world().lock);
        release(address);
        return start;
    });
}

CUDA_API CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    CALL("cuMemGetInfo_v2");
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (free == nullptr || total == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *total = control().memory;
    *free = control().memory - world().used[context->sms.device];
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemHostAlloc(void** into, std::size_t size, unsigned flags)
{
    CALL("cuMemHostAlloc");
    if (into == nullptr || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    uintptr_t at = 0;
    CUresult const answer = allocate(at, size, Memory::host);
    *into = reinterpret_cast<void*>(at);
    return answer;
}

CUDA_API CUresult cuMemFreeHost(void* address)
{
    CALL("cuMemFreeHost");
    return releaseWhenIdle(call.lock, number(address), Memory::host, Memory::host);
}

CUDA_API CUresult cuMemHostRegister_v2(void* address, std::size_t size, unsigned)
{
    CALL("cuMemHostRegister_v2");
    CUresult why = CUDA_SUCCESS;
    Context* const context = current(why);
    if (context == nullptr)
        return why;
    if (address == nullptr || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (auto const& [base, block] : world().blocks)
        if (base < number(address) + size && number(address) < base + block.size)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    world().blocks[number(address)] = {size, size, Memory::registered, context, 0, false, false};
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemHostUnregister(void* address)
{
    CALL("cuMemHostUnregister");
    CUresult const answer = releaseWhenIdle(call.lock, number(address), Memory::registered, Memory::registered);
    return answer == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : answer;
}

CUDA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* into, void* address, unsigned flags)
{
    CALL("cuMemHostGetDevicePointer_v2");
    Block const* const block = find(number(address), 0);
    if (into == nullptr || flags != 0 || block == nullptr || block->kind == Memory::device)
        return CUDA_ERROR_INVALID_VALUE;
    *into = number(address);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size, CUdeviceptr address)
{
    CALL("cuMemGetAddressRange_v2");
    uintptr_t at = 0;
    Block const* const block = find(address, 0, &at);
    if (block == nullptr)
        return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr)
        *base = at;
    if (size != nullptr)
        *size = block->size;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address)
{
    CALL("cuPointerGetAttribute");
    uintptr_t base = 0;
    Block const* const block = find(address, 0, &base);
    if (data == nullptr || block == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    bool const device = block->kind == Memory::device || block->kind == Memory::managed;
    switch (attribute)
    {
    case 1: answer(data, block->context); break;
    case 2: answer(data, device ? 2U : 1U); break;
    case 3: answer(data, address); break;
    case 4: // a host pointer
        if (block->kind == Memory::device)
            return CUDA_ERROR_INVALID_VALUE;
        answer(data, address);
        break;
    case 8: answer(data, static_cast<unsigned>(block->kind == Memory::managed)); break;
    case 9: answer(data, block->context->sms.device); break;
    case 11: answer(data, base); break;
    case 12: answer(data, block->size); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

#define COPY(name, to_type, from_type, way)                                                                     \
    CUDA_API CUresult name##_v2(to_type to, from_type from, std::size_t size)                                   \
    {                                                                                                           \
        CALL(#name "_v2");                                                                                      \
        return copy(call.lock, (uintptr_t) to, (uintptr_t) from, size, way, kLEGACY, true);                     \
    }                                                                                                           \
    CUDA_API CUresult name##Async_v2(to_type to, from_type from, std::size_t size, CUstream stream)             \
    {                                                                                                           \
        CALL(#name "Async_v2");                                                                                 \
        return copy(call.lock, (uintptr_t) to, (uintptr_t) from, size, way, stream, false);                     \
    }

COPY(cuMemcpyHtoD, CUdeviceptr, void const*, Way::to_device)
COPY(cuMemcpyDtoH, void*, CUdeviceptr, Way::from_device)
COPY(cuMemcpyDtoD, CUdeviceptr, CUdeviceptr, Way::on_device)

CUDA_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t size)
{
    CALL("cuMemcpy");
    return copy(call.lock, to, from, size, Way::any, kLEGACY, true);
}

CUDA_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream)
{
    CALL("cuMemcpyAsync");
    return copy(call.lock, to, from, size, Way::any, stream, false);
}

#define FILL(name, type, suffix)                                                                                \
    CUDA_API CUresult name##suffix(CUdeviceptr to, type value, std::size_t count)                               \
    {                                                                                                           \
        CALL(#name #suffix);                                                                                    \
        return fill(call.lock, to, value, count, kLEGACY, true);                                                \
    }                                                                                                           \
    CUDA_API CUresult name##Async(CUdeviceptr to, type value, std::size_t count, CUstream stream)               \
    {                                                                                                           \
        CALL(#name "Async");                                                                                    \
        return fill(call.lock, to, value, count, stream, false);                                                \
    }

FILL(cuMemsetD8, unsigned char, _v2)
FILL(cuMemsetD16, unsigned short, _v2)
FILL(cuMemsetD32, unsigned, _v2)

// Pools: one a device, which keeps nothing back.
CUDA_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice)
{
    CALL("cuDeviceGetDefaultMemPool");
    if (pool == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = reinterpret_cast<CUmemoryPool>(&world());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemPoolSetAttribute(CUmemoryPool, int, void*)
{
    CALL("cuMemPoolSetAttribute");
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemPoolTrimTo(CUmemoryPool, std::size_t)
{
    CALL("cuMemPoolTrimTo");
    return CUDA_SUCCESS;
}

} // namespace cuda_double
