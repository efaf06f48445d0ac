#include "ranges.h"

#ifdef DOUBLE_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace dbl
{

#ifdef DOUBLE_NVTX

namespace
{

nvtxDomainHandle_t domain()
{
    static nvtxDomainHandle_t const the = nvtxDomainCreateA("TensorRT");
    return the;
}

void push(char const* name)
{
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &event);
}

void pop() { nvtxDomainRangePop(domain()); }

} // namespace

void findTool() { domain(); }

#else

namespace
{
void push(char const*) {}
void pop() {}
} // namespace

void findTool()
{
    static bool const asked = std::getenv("NVTX_INJECTION64_PATH") != nullptr
        && std::fputs("the TensorRT double was compiled without NVTX's headers: it gives no ranges\n", stderr) >= 0;
    (void)asked;
}

#endif

NvtxRange::NvtxRange(bool wanted, char const* name) : open(wanted)
{
    if (open)
        push(name);
}

NvtxRange::~NvtxRange()
{
    if (open)
        pop();
}

LayerRanges::LayerRanges(std::vector<LayerText> const* of, std::size_t all_units)
    : layers(of == nullptr || of->empty() ? nullptr : of), units(all_units)
{
}

void LayerRanges::upTo(std::size_t layer)
{
    while (begun <= layer)
    {
        if (begun > 0)
            pop();
        push((*layers)[begun++].name.c_str());
    }
}

void LayerRanges::unit()
{
    if (layers != nullptr && done < units)
        upTo(done++ * layers->size() / units);
}

void LayerRanges::rest()
{
    if (layers != nullptr)
        upTo(layers->size() - 1);
}

LayerRanges::~LayerRanges()
{
    if (begun > 0)
        pop();
}

} // namespace dbl
