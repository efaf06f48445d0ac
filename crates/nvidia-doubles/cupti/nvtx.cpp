// NVTX's way in: programs' ranges become CUPTI's markers, as they do where NVTX_INJECTION64_PATH names libcupti.
//
// Each module that NVTX is compiled into finds this by itself at its first call and hands over its table of functions, into which
// the double's are put. Pushed ranges nest in each thread by domain, started ones end by their number in any thread. A range is
// known from its begin on, also while nobody records: one that was begun before the kind was switched on has an end alone. An end
// that fits no begin gives no record; cupti_double_ask("unbalanced") counts them. Names of threads and categories, and resources,
// are taken and forgotten.
#include "state.h"

#ifdef DOUBLE_NVTX

#define NVTX_NO_IMPL // a tool: types alone
#include <nvtx3/nvToolsExt.h>

namespace cupti_double
{
namespace
{

/// Lives as long as the process, under one name; the nameless one is what calls without a domain mean.
struct Domain
{
    std::string name;
    bool is_default = false;
};

struct Ranges
{
    std::mutex lock;
    std::map<std::string, Domain*> domains;
    std::map<uint64_t, Domain const*> started; // and not ended
    uint32_t count = 0;                        // of markers
};

Ranges& ranges()
{
    static Ranges* const it = new Ranges;
    return *it;
}

/// The numbers of the ranges that this thread has pushed.
thread_local std::map<Domain const*, std::vector<uint32_t>> pushed_here;

Domain const& domainOf(nvtxDomainHandle_t handle)
{
    static Domain const none{"", true};
    return handle == nullptr ? none : *reinterpret_cast<Domain const*>(handle);
}

uint32_t nextNumber()
{
    Ranges& all = ranges();
    std::lock_guard<std::mutex> const lock(all.lock);
    return ++all.count;
}

int unbalanced()
{
    Lock const lock(state().lock);
    ++state().known["unbalanced"];
    return NVTX_NO_PUSH_POP_TRACKING;
}

std::string narrow(wchar_t const* text)
{
    std::string out;
    for (; *text != 0; ++text)
    {
        auto const c = static_cast<uint32_t>(*text);
        auto const more = [&](unsigned shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
        if (c < 0x80)
            out += static_cast<char>(c);
        else if (c < 0x800)
            out += static_cast<char>(0xc0 | (c >> 6)), more(0);
        else if (c < 0x10000)
            out += static_cast<char>(0xe0 | (c >> 12)), more(6), more(0);
        else
            out += static_cast<char>(0xf0 | ((c >> 18) & 7)), more(12), more(6), more(0);
    }
    return out;
}

/// An event as it was described; a name alone is an event without attributes.
struct Described
{
    std::string text;
    char const* name = nullptr;
    nvtxEventAttributes_t const* attributes = nullptr;

    explicit Described(char const* given) : name(given) {}
    explicit Described(wchar_t const* given) : text(given == nullptr ? "" : narrow(given)), name(given == nullptr ? nullptr : text.c_str()) {}
    explicit Described(nvtxEventAttributes_t const* given) : attributes(given)
    {
        if (given == nullptr)
            return;
        switch (given->messageType)
        {
        case NVTX_MESSAGE_TYPE_ASCII: name = given->message.ascii; break;
        case NVTX_MESSAGE_TYPE_UNICODE:
            if (given->message.unicode != nullptr)
                name = (text = narrow(given->message.unicode)).c_str();
            break;
        case NVTX_MESSAGE_TYPE_REGISTERED:
            if (given->message.registered != nullptr)
                name = reinterpret_cast<std::string const*>(given->message.registered)->c_str();
            break;
        default: break;
        }
    }
    Described(Described const&) = delete;
    Described& operator=(Described const&) = delete;
};

void marker(uint32_t flags, uint32_t number, Domain const& domain, char const* name)
{
    Activity a{};
    a.kind = CUPTI_ACTIVITY_KIND_MARKER;
    a.function = flags;
    a.source = number;
    a.name = name;
    a.domain = domain.is_default ? nullptr : domain.name.c_str();
    {
        Lock const lock(state().lock);
        a.start = stamp();
    }
    happened(a);
}

void data(uint32_t number, nvtxEventAttributes_t const& event)
{
    Activity a{};
    a.kind = CUPTI_ACTIVITY_KIND_MARKER_DATA;
    a.source = number;
    a.what = event.category;
    a.flags = event.colorType == NVTX_COLOR_ARGB ? CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB : CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE;
    a.colour = event.colorType == NVTX_COLOR_ARGB ? event.color : 0;
    switch (event.payloadType)
    {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        a.answer = CUPTI_METRIC_VALUE_KIND_UINT64;
        a.bytes = event.payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        a.answer = CUPTI_METRIC_VALUE_KIND_UINT64;
        a.bytes = event.payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        a.answer = CUPTI_METRIC_VALUE_KIND_INT64;
        a.bytes = static_cast<uint64_t>(event.payload.llValue);
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        a.answer = CUPTI_METRIC_VALUE_KIND_INT64;
        a.bytes = static_cast<uint64_t>(int64_t{event.payload.iValue});
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
    case NVTX_PAYLOAD_TYPE_FLOAT:
    {
        double const value = event.payloadType == NVTX_PAYLOAD_TYPE_DOUBLE ? event.payload.dValue : double{event.payload.fValue};
        a.answer = CUPTI_METRIC_VALUE_KIND_DOUBLE;
        std::memcpy(&a.bytes, &value, sizeof value);
        break;
    }
    default: break;
    }
    happened(a);
}

uint32_t begin(uint32_t flags, Domain const& domain, Described const& event)
{
    uint32_t const number = nextNumber();
    marker(flags, number, domain, event.name);
    if (event.attributes != nullptr)
        data(number, *event.attributes);
    return number;
}

void mark(Domain const& domain, Described const& event) { begin(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, domain, event); }

int push(Domain const& domain, Described const& event)
{
    auto& own = pushed_here[&domain];
    own.push_back(begin(CUPTI_ACTIVITY_FLAG_MARKER_START, domain, event));
    return static_cast<int>(own.size()) - 1;
}

int pop(Domain const& domain)
{
    auto& own = pushed_here[&domain];
    if (own.empty())
        return unbalanced();
    uint32_t const number = own.back();
    own.pop_back();
    marker(CUPTI_ACTIVITY_FLAG_MARKER_END, number, domain, nullptr);
    return static_cast<int>(own.size());
}

nvtxRangeId_t start(Domain const& domain, Described const& event)
{
    uint32_t const number = begin(CUPTI_ACTIVITY_FLAG_MARKER_START, domain, event);
    std::lock_guard<std::mutex> const lock(ranges().lock);
    ranges().started[number] = &domain;
    return number;
}

void end(nvtxRangeId_t number)
{
    Domain const* domain = nullptr;
    {
        std::lock_guard<std::mutex> const lock(ranges().lock);
        auto const found = ranges().started.find(number);
        if (found != ranges().started.end())
        {
            domain = found->second;
            ranges().started.erase(found);
        }
    }
    if (domain == nullptr)
        unbalanced();
    else
        marker(CUPTI_ACTIVITY_FLAG_MARKER_END, static_cast<uint32_t>(number), *domain, nullptr);
}

nvtxDomainHandle_t domain(std::string const& name)
{
    std::lock_guard<std::mutex> const lock(ranges().lock);
    Domain*& found = ranges().domains[name];
    if (found == nullptr)
        found = new Domain{name};
    return reinterpret_cast<nvtxDomainHandle_t>(found);
}

nvtxStringHandle_t registered(std::string const& text) { return reinterpret_cast<nvtxStringHandle_t>(new std::string(text)); }

Domain const& none() { return domainOf(nullptr); }

void MarkEx(nvtxEventAttributes_t const* event) { mark(none(), Described(event)); }
void MarkA(char const* name) { mark(none(), Described(name)); }
void MarkW(wchar_t const* name) { mark(none(), Described(name)); }
nvtxRangeId_t RangeStartEx(nvtxEventAttributes_t const* event) { return start(none(), Described(event)); }
nvtxRangeId_t RangeStartA(char const* name) { return start(none(), Described(name)); }
nvtxRangeId_t RangeStartW(wchar_t const* name) { return start(none(), Described(name)); }
void RangeEnd(nvtxRangeId_t number) { end(number); }
int RangePushEx(nvtxEventAttributes_t const* event) { return push(none(), Described(event)); }
int RangePushA(char const* name) { return push(none(), Described(name)); }
int RangePushW(wchar_t const* name) { return push(none(), Described(name)); }
int RangePop() { return pop(none()); }
void NameCategoryA(uint32_t, char const*) {}
void NameCategoryW(uint32_t, wchar_t const*) {}
void NameOsThreadA(uint32_t, char const*) {}
void NameOsThreadW(uint32_t, wchar_t const*) {}

void DomainMarkEx(nvtxDomainHandle_t of, nvtxEventAttributes_t const* event) { mark(domainOf(of), Described(event)); }
nvtxRangeId_t DomainRangeStartEx(nvtxDomainHandle_t of, nvtxEventAttributes_t const* event) { return start(domainOf(of), Described(event)); }
void DomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t number) { end(number); }
int DomainRangePushEx(nvtxDomainHandle_t of, nvtxEventAttributes_t const* event) { return push(domainOf(of), Described(event)); }
int DomainRangePop(nvtxDomainHandle_t of) { return pop(domainOf(of)); }
nvtxResourceHandle_t DomainResourceCreate(nvtxDomainHandle_t, nvtxResourceAttributes_t*) { return nullptr; }
void DomainResourceDestroy(nvtxResourceHandle_t) {}
void DomainNameCategoryA(nvtxDomainHandle_t, uint32_t, char const*) {}
void DomainNameCategoryW(nvtxDomainHandle_t, uint32_t, wchar_t const*) {}
nvtxStringHandle_t DomainRegisterStringA(nvtxDomainHandle_t, char const* text) { return registered(text == nullptr ? "" : text); }
nvtxStringHandle_t DomainRegisterStringW(nvtxDomainHandle_t, wchar_t const* text) { return registered(text == nullptr ? "" : narrow(text)); }
nvtxDomainHandle_t DomainCreateA(char const* name) { return domain(name == nullptr ? "" : name); }
nvtxDomainHandle_t DomainCreateW(wchar_t const* name) { return domain(name == nullptr ? "" : narrow(name)); }
void DomainDestroy(nvtxDomainHandle_t) {}
void Initialize(void const*) {}

#define CORE(X)                                                                                                          \
    X(MarkEx) X(MarkA) X(MarkW) X(RangeStartEx) X(RangeStartA) X(RangeStartW) X(RangeEnd) X(RangePushEx) X(RangePushA) \
    X(RangePushW) X(RangePop) X(NameCategoryA) X(NameCategoryW) X(NameOsThreadA) X(NameOsThreadW)
#define CORE2(X)                                                                                                        \
    X(DomainMarkEx) X(DomainRangeStartEx) X(DomainRangeEnd) X(DomainRangePushEx) X(DomainRangePop)                      \
    X(DomainResourceCreate) X(DomainResourceDestroy) X(DomainNameCategoryA) X(DomainNameCategoryW)                      \
    X(DomainRegisterStringA) X(DomainRegisterStringW) X(DomainCreateA) X(DomainCreateW) X(DomainDestroy) X(Initialize)

/// A module's functions of one kind.
struct Table
{
    NvtxFunctionTable functions = nullptr;
    unsigned size = 0;

    Table(NvtxExportTableCallbacks const& callbacks, NvtxCallbackModule kind)
    {
        if (callbacks.GetModuleFunctionTable(kind, &functions, &size) == 0)
            size = 0;
    }
    template <class Function> void put(unsigned at, Function function) const
    {
        if (at < size && functions[at] != nullptr)
            *functions[at] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
};

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of)
{
    {
        Lock const lock(state().lock);
        if (state().orders["deaf"] != 0)
            return 0;
        ++state().known["nvtx_modules"];
    }
    auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(table_of(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks)
        return 0;
    Table const core(*callbacks, NVTX_CB_MODULE_CORE);
    Table const core2(*callbacks, NVTX_CB_MODULE_CORE2);
    // The types are the header's.
#define PUT_CORE(name) core.put<nvtx##name##_impl_fntype>(NVTX_CBID_CORE_##name, name);
#define PUT_CORE2(name) core2.put<nvtx##name##_impl_fntype>(NVTX_CBID_CORE2_##name, name);
    CORE(PUT_CORE)
    CORE2(PUT_CORE2)
    auto const* const version = static_cast<NvtxExportTableVersionInfo const*>(table_of(NVTX_ETID_VERSIONINFO));
    if (version != nullptr && version->struct_size >= sizeof *version && version->SetInjectionNvtxVersion != nullptr)
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    return 1;
}

} // namespace cupti_double

#else

#include <cstdio>

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void*)
{
    std::fputs("the CUPTI double was compiled without NVTX's headers: it takes no ranges in\n", stderr);
    return 0;
}

#endif
