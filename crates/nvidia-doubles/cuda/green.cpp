// Green contexts: shares of the multiprocessors. Drivers have them from CUDA 12.4 on, their streams from 12.5 on.
#include "world.h"

#include <algorithm>

#if DOUBLE_DRIVER >= 12040

namespace cuda_double
{
namespace
{

constexpr unsigned kSM = 1;

/// How many multiprocessors a share has at least, and by how many it grows, as CUDA's manual says of each architecture.
std::pair<unsigned, unsigned> granularity(int device)
{
    int const capability = control().capability(device);
    return capability >= 90 ? std::pair{8U, 8U} : capability >= 80 ? std::pair{4U, 2U} : std::pair{2U, 2U};
}

CUdevResource share(unsigned device, unsigned first, unsigned count)
{
    CUdevResource resource{};
    resource.type = kSM;
    resource.device = device;
    resource.first_sm = first;
    resource.sm_count = count;
    auto const [smallest, step] = granularity(static_cast<int>(device));
    resource.min_partition = smallest;
    resource.alignment = step;
    return resource;
}

CUresult give(CUdevResource* into, Sms const& sms, unsigned type)
{
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != kSM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *into = share(static_cast<unsigned>(sms.device), static_cast<unsigned>(sms.first), static_cast<unsigned>(sms.count));
    return CUDA_SUCCESS;
}

Context* greenOf(void* handle)
{
    auto* const context = static_cast<Context*>(handle);
    return world().contexts.count(context) == 1 && context->green ? context : nullptr;
}

} // namespace

CUDA_API CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* into, unsigned type)
{
    CALL("cuDeviceGetDevResource");
    if (device < 0 || device >= control().devices)
        return CUDA_ERROR_INVALID_DEVICE;
    return give(into, {device, 0, control().sms}, type);
}

CUDA_API CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* into, unsigned type)
{
    CALL("cuCtxGetDevResource");
    auto* const context = reinterpret_cast<Context*>(handle);
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : give(into, context->sms, type);
}

CUDA_API CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* into, unsigned type)
{
    CALL("cuGreenCtxGetDevResource");
    Context const* const context = greenOf(handle);
    return context == nullptr ? CUDA_ERROR_INVALID_HANDLE : give(into, context->sms, type);
}

CUDA_API CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, CUdevResource const* input,
    CUdevResource* remaining, unsigned, unsigned least)
{
    CALL("cuDevSmResourceSplitByCount");
    if (groups == nullptr || input == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (input->type != kSM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    auto const [smallest, step] = granularity(static_cast<int>(input->device));
    unsigned const each = std::max(smallest, (least + step - 1) / step * step);
    unsigned const possible = input->sm_count / each;
    if (result == nullptr)
    {
        *groups = possible;
        return CUDA_SUCCESS;
    }
    if (possible == 0)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *groups = std::min(*groups, possible);
    for (unsigned k = 0; k < *groups; ++k)
        result[k] = share(input->device, input->first_sm + k * each, each);
    unsigned const left = input->sm_count - *groups * each;
    if (remaining != nullptr)
    {
        *remaining = share(input->device, input->first_sm + *groups * each, left);
        remaining->type = left == 0 ? 0 : kSM;
    }
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* into, CUdevResource* resources, unsigned count)
{
    CALL("cuDevResourceGenerateDesc");
    if (into == nullptr || resources == nullptr || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned total = 0;
    for (unsigned k = 0; k < count; ++k)
    {
        if (resources[k].type != kSM)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        if (k > 0 && resources[k].first_sm != resources[k - 1].first_sm + resources[k - 1].sm_count)
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION; // the double joins neighbours alone
        total += resources[k].sm_count;
    }
    auto& made = world().descriptions.emplace_back(share(resources->device, resources->first_sm, total));
    *into = reinterpret_cast<CUdevResourceDesc>(&made);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuGreenCtxCreate(CUgreenCtx* into, CUdevResourceDesc description, CUdevice device, unsigned flags)
{
    CALL("cuGreenCtxCreate");
    auto const* const resource = reinterpret_cast<CUdevResource const*>(description);
    if (into == nullptr || resource == nullptr || flags != 1) // CU_GREEN_CTX_DEFAULT_STREAM is required
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= control().devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if (resource->device != static_cast<unsigned>(device))
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    auto* const context = &world().made.emplace_back();
    context->sms = {device, static_cast<int>(resource->first_sm), static_cast<int>(resource->sm_count)};
    context->alive = true;
    context->green = true;
    world().contexts.insert(context);
    tellMade(*context, nullptr);
    *into = reinterpret_cast<CUgreenCtx>(context);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
    CALL("cuGreenCtxDestroy");
    Context* const context = greenOf(handle);
    if (context == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult const answer = awaitAll(call.lock, context);
    context->alive = false;
    world().contexts.erase(context);
    return answer;
}

CUDA_API CUresult cuCtxFromGreenCtx(CUcontext* into, CUgreenCtx handle)
{
    CALL("cuCtxFromGreenCtx");
    Context* const context = greenOf(handle);
    if (context == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *into = reinterpret_cast<CUcontext>(context);
    return CUDA_SUCCESS;
}

#if DOUBLE_DRIVER >= 12050

CUDA_API CUresult cuGreenCtxStreamCreate(CUstream* into, CUgreenCtx handle, unsigned flags, int priority)
{
    CALL("cuGreenCtxStreamCreate");
    Context* const context = greenOf(handle);
    if (context == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (into == nullptr || flags != kSTREAM_NON_BLOCKING) // the only flag that is allowed, and required
        return CUDA_ERROR_INVALID_VALUE;
    auto const stream = makeStream(context, flags, priority);
    world().streams[stream.get()] = stream;
    *into = reinterpret_cast<CUstream>(stream.get());
    return CUDA_SUCCESS;
}

#endif

} // namespace cuda_double

#endif
