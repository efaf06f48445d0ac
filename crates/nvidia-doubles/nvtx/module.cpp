// A module that NVTX is compiled into, as a program's own: NVIDIA's headers look for the tool at its first call. Each copy of the
// file is a module of its own.
#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#define MODULE extern "C" __attribute__((visibility("default")))

namespace
{
nvtxEventAttributes_t named(char const* name)
{
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = name == nullptr ? NVTX_MESSAGE_UNKNOWN : NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}
} // namespace

/// Null where no tool listens.
MODULE void* module_domain(char const* name) { return nvtxDomainCreateA(name); }
MODULE int module_push(void* domain, char const* name)
{
    nvtxEventAttributes_t const event = named(name);
    return nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}
/// With everything that a range can have.
MODULE int module_push_full(void* domain, char const* name, uint64_t payload, uint32_t category, uint32_t colour)
{
    nvtxEventAttributes_t event = named(name);
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = payload;
    event.category = category;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = colour;
    return nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}
/// By a text that is registered first.
MODULE int module_push_registered(void* domain, char const* name)
{
    nvtxEventAttributes_t event = named(nullptr);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(static_cast<nvtxDomainHandle_t>(domain), name);
    return nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}
MODULE int module_pop(void* domain) { return nvtxDomainRangePop(static_cast<nvtxDomainHandle_t>(domain)); }
MODULE uint64_t module_start(void* domain, char const* name)
{
    nvtxEventAttributes_t const event = named(name);
    return nvtxDomainRangeStartEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}
MODULE void module_end(void* domain, uint64_t range) { nvtxDomainRangeEnd(static_cast<nvtxDomainHandle_t>(domain), range); }
/// Of the default domain.
MODULE int module_push_plain(char const* name) { return nvtxRangePushA(name); }
MODULE int module_push_wide(wchar_t const* name) { return nvtxRangePushW(name); }
MODULE int module_pop_plain() { return nvtxRangePop(); }
MODULE void module_mark(char const* name) { nvtxMarkA(name); }
