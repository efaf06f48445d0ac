// Start, errors, devices, contexts, and the table of functions.
#include "world.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

namespace cuda_double
{
namespace
{

thread_local std::vector<Context*> stack;

bool isDevice(CUdevice device) { return device >= 0 && device < control().devices; }

Context* contextOf(CUcontext handle)
{
    auto* const context = reinterpret_cast<Context*>(handle);
    for (auto const& primary : world().primaries)
        if (primary.get() == context)
            return context;
    return world().contexts.count(context) == 1 ? context : nullptr;
}

/// What a context held is gone with it, and was never given back.
void abandon(Context* context)
{
    for (auto& [base, block] : world().blocks)
        if (block.context == context && !block.abandoned)
        {
            block.abandoned = true;
            if (block.kind == Memory::device || block.kind == Memory::managed || (block.kind == Memory::host && control().integrated))
                world().used[context->sms.device] -= block.reserved;
        }
    context->alive = false;
}

int attributeOf(CUdevice device, int attribute)
{
    Control const& c = control();
    switch (attribute)
    {
    case 1: return 1024;                // threads of a block
    case 2: case 3: return 1024;        // block dims
    case 4: return 64;
    case 5: return 2147483647;          // grid dims
    case 6: case 7: return 65535;
    case 8: return 49152;               // shared memory of a block
    case 9: return 65536;               // constant memory
    case 10: return 32;                 // warp
    case 12: case 82: return 65536;     // registers
    case 13: return 1000000;            // clock, kHz
    case 15: return 1;                  // copies beside kernels
    case 16: return c.sms;
    case 18: return c.integrated;
    case 19: return 1;                  // host memory can be mapped
    case 31: return 1;                  // concurrent kernels
    case 33: return device + 1;         // PCI bus
    case 36: return 1000000;            // memory clock, kHz
    case 37: return 256;                // bus width, bits
    case 38: return 4 << 20;            // L2
    case 39: return 2048;               // threads of a multiprocessor
    case 40: return 2;                  // copy engines
    case 41: return 1;                  // one address space
    case 75: return c.capability(device) / 10;
    case 76: return c.capability(device) % 10;
    case 78: return 1;                  // stream priorities
    case 81: case 97: return 98304;     // shared memory of a multiprocessor
    case 83: return 1;                  // managed memory
    case 89: return c.integrated ? 0 : 1;
    case 90: return 1;
    case 91: return 1;                  // registered memory keeps its address
    case 95: return 1;
    case 99: return 1;                  // host memory can be registered
    case 106: return 32;
    case 115: return 1;                 // memory pools
    default: return 0;
    }
}

struct ErrorName
{
    CUresult code;
    char const* name;
    char const* text;
};

ErrorName const kERRORS[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {CUDA_ERROR_INVALID_RESOURCE_TYPE, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type"},
    {CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult describe(CUresult code, char const** into, char const* ErrorName::*part)
{
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *into = nullptr;
    for (auto const& error : kERRORS)
        if (error.code == code)
            *into = error.*part;
    return *into == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult createContext(CUcontext* into, unsigned flags, CUdevice device)
{
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    auto* const context = &world().made.emplace_back();
    context->sms = {device, 0, control().sms};
    context->alive = true;
    context->flags = flags;
    world().contexts.insert(context);
    tellMade(*context, nullptr);
    stack.push_back(context);
    *into = reinterpret_cast<CUcontext>(context);
    return CUDA_SUCCESS;
}

/// Since which driver a function is there.
int since(std::string const& name)
{
    if (name == "cuGreenCtxStreamCreate")
        return 12050;
    for (char const* start : {"cuGreenCtx", "cuCtxFromGreenCtx", "cuDevSmResource", "cuDevResource", "cuDeviceGetDevResource", "cuCtxGetDevResource"})
        if (name.rfind(start, 0) == 0)
            return 12040;
    return 0;
}

/// The newest form of a function that this driver has.
CUresult procAddress(char const* symbol, void** into, int version, int* status)
{
    if (symbol == nullptr || into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *into = nullptr;
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&since), &self);
    void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    int const driver = std::min(control().driver, version);
    for (char const* suffix : {"_v3", "_v2", ""})
    {
        std::string const name = std::string(symbol) + suffix;
        bool const newer = (name == "cuGetProcAddress_v2" && driver < 12000) || (name == "cuEventElapsedTime_v2" && driver < 12080)
            || (name == "cuCtxCreate_v3") || (name == "cuGraphInstantiate_v2" && driver >= 12000);
        void* const found = newer || library == nullptr ? nullptr : dlsym(library, name.c_str());
        if (found == nullptr || *into != nullptr)
            continue;
        *into = since(name) <= driver ? found : nullptr;
        if (status != nullptr)
            *status = *into != nullptr ? 0 : 2; // the version asked for is too old
        return *into != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    }
    if (status != nullptr)
        *status = 1;
    return CUDA_ERROR_NOT_FOUND;
}

} // namespace

Context* current(CUresult& why)
{
    why = stack.empty() || stack.back() == nullptr ? CUDA_ERROR_INVALID_CONTEXT
        : stack.back()->alive                      ? CUDA_SUCCESS
                                                   : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return why == CUDA_SUCCESS ? stack.back() : nullptr;
}

namespace
{

CUresult initialise(unsigned flags)
{
    Call call("cuInit", false);
    if (call)
        return call.answer;
    World& w = world();
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (control().devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    w.initialised = true;
    while (static_cast<int>(w.primaries.size()) < control().devices)
    {
        auto context = std::make_unique<Context>();
        context->sms = {static_cast<int>(w.primaries.size()), 0, control().sms};
        w.primaries.push_back(std::move(context));
    }
    return CUDA_SUCCESS;
}

/// As the driver does in the first cuInit: a tool's library is loaded and told, before there is a context.
void inject()
{
    char const* const file = std::getenv("CUDA_INJECTION64_PATH");
    if (file == nullptr || *file == 0)
        return;
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    using Injection = int();
    if (auto* const tell = library == nullptr ? nullptr : reinterpret_cast<Injection*>(dlsym(library, "InitializeInjection")))
        tell();
}

} // namespace

CUDA_API CUresult cuInit(unsigned flags)
{
    CUresult const answer = initialise(flags);
    // The tool calls functions of the driver.
    static std::once_flag once;
    if (answer == CUDA_SUCCESS)
        std::call_once(once, inject);
    return answer;
}

CUDA_API CUresult cuDriverGetVersion(int* version)
{
    Call call("cuDriverGetVersion", false);
    if (call)
        return call.answer;
    if (version == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *version = control().driver;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuGetErrorName(CUresult code, char const** name) { return describe(code, name, &ErrorName::name); }

CUDA_API CUresult cuGetErrorString(CUresult code, char const** text) { return describe(code, text, &ErrorName::text); }

CUDA_API CUresult cuGetProcAddress(char const* symbol, void** into, int version, uint64_t)
{
    return procAddress(symbol, into, version, nullptr);
}

CUDA_API CUresult cuGetProcAddress_v2(char const* symbol, void** into, int version, uint64_t, int* status)
{
    return procAddress(symbol, into, version, status);
}

CUDA_API CUresult cuDeviceGetCount(int* count)
{
    CALL("cuDeviceGetCount");
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *count = control().devices;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceGet(CUdevice* device, int ordinal)
{
    CALL("cuDeviceGet");
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceGetName(char* name, int length, CUdevice device)
{
    CALL("cuDeviceGetName");
    if (name == nullptr || length <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(length), "%s", control().name(device).c_str());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device)
{
    CALL("cuDeviceGetAttribute");
    if (value == nullptr || attribute < 1 || attribute > 150)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attributeOf(device, attribute);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device)
{
    CALL("cuDeviceTotalMem_v2");
    if (bytes == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = control().memory;
    return CUDA_SUCCESS;
}

static CUresult uuidOf(CUuuid* uuid, CUdevice device)
{
    if (uuid == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::memcpy(uuid->bytes, "the CUDA double", 16);
    uuid->bytes[15] = static_cast<unsigned char>(device);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device)
{
    CALL("cuDeviceGetUuid");
    return uuidOf(uuid, device);
}

CUDA_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device)
{
    CALL("cuDeviceGetUuid_v2");
    return uuidOf(uuid, device);
}

CUDA_API CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device)
{
    CALL("cuDeviceGetPCIBusId");
    if (text == nullptr || length < 13)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device + 1) & 0xffU);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevicePrimaryCtxRetain(CUcontext* into, CUdevice device)
{
    CALL("cuDevicePrimaryCtxRetain");
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context& primary = *world().primaries[static_cast<std::size_t>(device)];
    ++primary.primary_uses;
    if (!primary.alive)
        tellMade(primary, nullptr);
    primary.alive = true;
    *into = reinterpret_cast<CUcontext>(&primary);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CALL("cuDevicePrimaryCtxRelease_v2");
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context& primary = *world().primaries[static_cast<std::size_t>(device)];
    if (primary.primary_uses == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.primary_uses == 0)
    {
        CUresult const answer = awaitAll(call.lock, &primary);
        if (primary.primary_uses == 0)
            abandon(&primary);
        return answer;
    }
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    CALL("cuDevicePrimaryCtxSetFlags_v2");
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    world().primaries[static_cast<std::size_t>(device)]->flags = flags;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active)
{
    CALL("cuDevicePrimaryCtxGetState");
    if (!isDevice(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags == nullptr || active == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Context const& primary = *world().primaries[static_cast<std::size_t>(device)];
    *flags = primary.flags;
    *active = primary.alive;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device)
{
    CALL("cuCtxCreate_v2");
    return createContext(context, flags, device);
}

CUDA_API CUresult cuCtxCreate_v3(CUcontext* context, void*, int affinities, unsigned flags, CUdevice device)
{
    CALL("cuCtxCreate_v3");
    return affinities != 0 ? CUDA_ERROR_NOT_SUPPORTED : createContext(context, flags, device);
}

CUDA_API CUresult cuCtxDestroy_v2(CUcontext handle)
{
    CALL("cuCtxDestroy_v2");
    Context* const context = contextOf(handle);
    if (context == nullptr || context->green || world().contexts.count(context) == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult const answer = awaitAll(call.lock, context);
    abandon(context); // the object stays: handles of its streams and blocks name it
    world().contexts.erase(context);
    if (!stack.empty() && stack.back() == context)
        stack.pop_back();
    return answer;
}

CUDA_API CUresult cuCtxSetCurrent(CUcontext handle)
{
    CALL("cuCtxSetCurrent");
    if (handle != nullptr && contextOf(handle) == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty())
        stack.pop_back();
    if (handle != nullptr)
        stack.push_back(reinterpret_cast<Context*>(handle));
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxGetCurrent(CUcontext* into)
{
    CALL("cuCtxGetCurrent");
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *into = stack.empty() ? nullptr : reinterpret_cast<CUcontext>(stack.back());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
    CALL("cuCtxPushCurrent_v2");
    if (contextOf(handle) == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack.push_back(reinterpret_cast<Context*>(handle));
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxPopCurrent_v2(CUcontext* into)
{
    CALL("cuCtxPopCurrent_v2");
    if (stack.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (into != nullptr)
        *into = reinterpret_cast<CUcontext>(stack.back());
    stack.pop_back();
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxGetDevice(CUdevice* device)
{
    CALL("cuCtxGetDevice");
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->sms.device;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxGetFlags(unsigned* flags)
{
    CALL("cuCtxGetFlags");
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuCtxSetFlags(unsigned flags)
{
    CALL("cuCtxSetFlags");
    CUresult why = CUDA_SUCCESS;
    Context* const context = current(why);
    if (context != nullptr)
        context->flags = flags;
    return why;
}

CUDA_API CUresult cuCtxSynchronize()
{
    CALL("cuCtxSynchronize");
    CUresult why = CUDA_SUCCESS;
    Context const* const context = current(why);
    if (context == nullptr)
        return why;
    if (CUresult const no = forbidWhileCapturing())
        return no;
    return awaitAll(call.lock, context);
}

CUDA_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest)
{
    CALL("cuCtxGetStreamPriorityRange");
    CUresult why = CUDA_SUCCESS;
    if (current(why) == nullptr)
        return why;
    if (least != nullptr)
        *least = 0;
    if (greatest != nullptr)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuProfilerStart() { return CUDA_SUCCESS; }

CUDA_API CUresult cuProfilerStop() { return CUDA_SUCCESS; }

} // namespace cuda_double
