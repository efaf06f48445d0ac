// State behind core.h and control.h. One copy in each of the two libraries.
#include "core.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

namespace dbl
{
namespace
{

struct Order
{
    uint64_t nth;
    int64_t value;
};

struct Living
{
    Object* object;
    char const* klass;
};

struct Buried
{
    std::string name;
    std::size_t size;
};

struct State
{
    std::recursive_mutex mutex;
    bool recording = false;
    std::vector<std::string> calls;
    std::vector<std::string> violations;
    std::map<std::string, Order> orders;
    std::map<std::string, uint64_t> counts;
    std::map<void const*, Living> living;
    /// Names of objects taken out of the registry whose memory is not yet freed.
    std::map<void const*, std::string> leaving;
    std::map<void*, Buried> graves;
    uint64_t numbers = 0;
    nvinfer1::ILogger* logger = nullptr;
    uint64_t roots = 0;

    ~State()
    {
        for (auto const& grave : graves)
            ::operator delete(grave.first);
    }
    void tune() { settings().instrumented = recording || !orders.empty(); }
};

State& state()
{
    static State the;
    return the;
}

using Lock = std::lock_guard<std::recursive_mutex>;

/// Answers every method of a deleted object.
int64_t dead(void* self, char const* what)
{
    Lock const lock(state().mutex);
    auto const at = state().graves.find(self);
    violation((at == state().graves.end() ? showPointer(self) : at->second.name) + " " + what);
    return 0;
}
int64_t deadMethod(void* self) { return dead(self, "was used after it was deleted"); }
int64_t deadDestructor(void* self) { return dead(self, "was deleted twice"); }

using Slot = int64_t (*)(void*);
std::array<Slot, 200> graveyard()
{
    std::array<Slot, 200> slots;
    slots.fill(deadMethod);
    slots[0] = slots[1] = deadDestructor;
    return slots;
}

std::string joined(std::vector<std::string> const& lines)
{
    std::string text;
    for (auto const& line : lines)
        text += line + "\n";
    return text;
}

/// Text that stays valid until the same function is asked again by this thread.
template <int Which> char const* lend(std::string text)
{
    thread_local std::string lent;
    lent = std::move(text);
    return lent.c_str();
}

bool oneThreadOnly(std::string_view klass)
{
    return klass == "IExecutionContext" || klass == "IBuilder" || klass == "INetworkDefinition"
        || klass == "IBuilderConfig" || klass == "IParser";
}

} // namespace

Settings& settings()
{
    static Settings the;
    return the;
}

Object::~Object()
{
    if (recorder != nullptr)
        recorder->decRefCount();
    retire(*this);
}

void Object::setErrorRecorder(nvinfer1::IErrorRecorder* r)
{
    if (r != nullptr)
        r->incRefCount();
    if (recorder != nullptr)
        recorder->decRefCount();
    recorder = r;
}

nvinfer1::ILogger* logger() { return state().logger; }

bool takeLogger(nvinfer1::ILogger* given, char const* what)
{
    Lock const lock(state().mutex);
    if (given == nullptr)
        return false;
    if (state().roots++ == 0)
        state().logger = given;
    else if (state().logger != given)
        say(Severity::kWARNING,
            std::string("The logger passed into ") + what
                + " differs from one already registered for an existing builder, runtime, or refitter. The new "
                  "logger is ignored, and the existing one is used.");
    return true;
}

void releaseLogger()
{
    Lock const lock(state().mutex);
    if (state().roots > 0 && --state().roots == 0)
        state().logger = nullptr;
}

void say(Severity severity, std::string const& text)
{
    if (auto* to = logger())
        to->log(severity, text.c_str());
}

void fail(Object const* object, std::string const& method, nvinfer1::ErrorCode code, std::string const& text)
{
    static char const* const kNAMES[] = {"Success", "Unspecified Error", "Internal Error", "Invalid Argument",
        "Invalid Config", "Failed Allocation", "Failed Initialization", "Failed Execution", "Failed Computation",
        "Invalid State", "Unsupported State"};
    auto const number = static_cast<std::size_t>(code);
    char const* name = number < std::size(kNAMES) ? kNAMES[number] : "Error";
    std::string const line = method + ": Error Code " + std::to_string(number) + ": " + name + " (" + text + ")";
    say(code == nvinfer1::ErrorCode::kINTERNAL_ERROR ? Severity::kINTERNAL_ERROR : Severity::kERROR, line);
    for (; object != nullptr; object = object->parent)
        if (object->recorder != nullptr)
        {
            object->recorder->reportError(code, line.c_str());
            return;
        }
}

void violation(std::string const& text)
{
    Lock const lock(state().mutex);
    state().violations.push_back(text);
}

void adopt(Object& object, void* self, char const* klass)
{
    Lock const lock(state().mutex);
    object.klass = klass;
    object.self = self;
    object.id = ++state().numbers;
    state().living[self] = {&object, klass};
}

void retire(Object& object)
{
    if (object.self == nullptr)
        return;
    Lock const lock(state().mutex);
    std::string const name = nameOf(object.self);
    state().living.erase(object.self);
    state().leaving[object.self] = name;
    state().leaving[&object] = name;
    object.self = nullptr;
}

void bury(void* memory, std::size_t size)
{
    static std::array<Slot, 200> const slots = graveyard();
    Lock const lock(state().mutex);
    // The name is known by the public object's address or by an address within this block (the behaviour's).
    std::string name;
    auto const begin = state().leaving.lower_bound(memory);
    auto end = begin;
    for (; end != state().leaving.end() && end->first < static_cast<char*>(memory) + size; ++end)
        name = end->second;
    state().leaving.erase(begin, end);
    auto const* table = slots.data();
    std::memcpy(memory, &table, sizeof(table));
    state().graves[memory] = {name, size};
}

Object* find(void const* self, char const* klass, char const* asked_by)
{
    Lock const lock(state().mutex);
    auto const at = state().living.find(self);
    if (at == state().living.end())
    {
        auto const grave = state().graves.find(const_cast<void*>(self));
        violation(std::string(asked_by) + " was given "
            + (self == nullptr                         ? std::string("null")
                    : grave == state().graves.end() ? showPointer(self) + ", which is no living " + klass
                                                    : grave->second.name + ", which is deleted"));
        return nullptr;
    }
    if (std::strcmp(at->second.klass, klass) != 0)
    {
        violation(std::string(asked_by) + " was given " + nameOf(self) + " as " + klass);
        return nullptr;
    }
    return at->second.object;
}

uint64_t children(Object const& parent, char const* klass)
{
    Lock const lock(state().mutex);
    uint64_t count = 0;
    for (auto const& entry : state().living)
        count += entry.second.object->parent == &parent && std::strcmp(entry.second.klass, klass) == 0;
    return count;
}

std::string nameOf(void const* self)
{
    Lock const lock(state().mutex);
    auto const at = state().living.find(self);
    return at == state().living.end() ? ""
                                      : std::string(at->second.klass) + "#" + std::to_string(at->second.object->id);
}

std::string showWeights(nvinfer1::Weights const& weights)
{
    return "Weights(" + std::to_string(static_cast<int32_t>(weights.type)) + ", " + showPointer(weights.values) + ", "
        + std::to_string(weights.count) + ")";
}

Value boolValue(bool value)
{
    Value made;
    made.kind = Value::Kind::kBOOL;
    made.number = value ? 1 : 0;
    return made;
}
Value numberValue(int64_t value)
{
    Value made;
    made.kind = Value::Kind::kNUMBER;
    made.number = value;
    return made;
}
Value realValue(double value)
{
    Value made;
    made.kind = Value::Kind::kREAL;
    made.real = value;
    return made;
}
Value pointerValue(void const* value)
{
    Value made;
    made.kind = Value::Kind::kPOINTER;
    made.pointer = value;
    made.number = value == nullptr ? 0 : 1;
    return made;
}
Value textValue(char const* value)
{
    Value made = pointerValue(value);
    if (value != nullptr)
    {
        made.kind = Value::Kind::kTEXT;
        made.text = value;
    }
    return made;
}
Value shownValue(std::string text)
{
    Value made;
    made.kind = Value::Kind::kSHOWN;
    made.text = std::move(text);
    return made;
}

std::string Arg::shown() const
{
    switch (kind)
    {
    case Kind::kBOOL: return number != 0 ? "true" : "false";
    case Kind::kNUMBER: return std::to_string(number);
    case Kind::kREAL: return std::to_string(real);
    case Kind::kTEXT: return showText(static_cast<char const*>(pointer));
    case Kind::kDIMS: return showDims(*static_cast<nvinfer1::Dims const*>(pointer));
    case Kind::kWEIGHTS: return showWeights(*static_cast<nvinfer1::Weights const*>(pointer));
    default: return showPointer(pointer);
    }
}

namespace
{

Value kept(Arg const& given)
{
    switch (given.kind)
    {
    case Arg::Kind::kBOOL: return boolValue(given.number != 0);
    case Arg::Kind::kNUMBER: return numberValue(given.number);
    case Arg::Kind::kREAL: return realValue(given.real);
    case Arg::Kind::kTEXT: return textValue(static_cast<char const*>(given.pointer));
    default: return pointerValue(given.pointer);
    }
}

} // namespace

std::string Value::shown() const
{
    switch (kind)
    {
    case Kind::kBOOL: return number != 0 ? "true" : "false";
    case Kind::kNUMBER: return std::to_string(number);
    case Kind::kREAL: return std::to_string(real);
    case Kind::kPOINTER: return showPointer(pointer);
    case Kind::kTEXT: return showText(text.c_str());
    case Kind::kSHOWN: return text;
    default: return "";
    }
}

char const* keptText(Object const& object, std::string const& name)
{
    auto const at = object.properties.find(name);
    return at == object.properties.end() ? nullptr : at->second.text.c_str();
}

Value const* propertyCall(Method const& method, Object& object, bool gives, std::initializer_list<Arg> arguments)
{
    static Value const done = boolValue(true);
    std::string name = method.name;
    bool scalar = true;
    for (Arg const& argument : arguments)
        scalar = scalar && argument.scalar();
    bool const sets = scalar && isSetter(name) && (arguments.size() == 1 || arguments.size() == 2);
    bool const gets = scalar && isGetter(name) && gives && arguments.size() <= 1;
    if (!sets && !gets)
    {
        say(Severity::kVERBOSE, "double: " + method.full() + " does nothing");
        return nullptr;
    }
    name.erase(0, 3);
    if (arguments.size() == (sets ? 2U : 1U))
        name += "[" + arguments.begin()->shown() + "]";
    if (sets)
    {
        object.properties[name] = kept(*(arguments.end() - 1));
        return &done;
    }
    auto const at = object.properties.find(name);
    return at == object.properties.end() ? nullptr : &at->second;
}

std::string showText(char const* text) { return text == nullptr ? "null" : "\"" + std::string(text) + "\""; }

std::string showPointer(void const* pointer)
{
    if (pointer == nullptr)
        return "null";
    std::string name = nameOf(pointer);
    if (!name.empty())
        return name;
    char buffer[24];
    std::snprintf(buffer, sizeof(buffer), "%p", pointer);
    return buffer;
}

std::string showDims(nvinfer1::Dims const& dims)
{
    std::string text = "[";
    for (int32_t i = 0; i < dims.nbDims && i < nvinfer1::Dims::MAX_DIMS; ++i)
        text += (i == 0 ? "" : ",") + std::to_string(dims.d[i]);
    return dims.nbDims < 0 ? "[invalid]" : text + "]";
}

namespace
{

/// Whether this call was told to fail, and with which value. Counts the call.
bool ordered(Method const& method, Object const* object, int64_t& value)
{
    std::string const name = method.full();
    {
        Lock const lock(state().mutex);
        ++state().counts[name];
        auto const at = state().orders.find(name);
        if (at == state().orders.end() || --at->second.nth > 0)
            return false;
        value = at->second.value;
        state().orders.erase(at);
        state().tune();
    }
    fail(object, name, nvinfer1::ErrorCode::kINTERNAL_ERROR, "the double was told to fail here");
    return true;
}

} // namespace

void Ticket::enter(Method const& called, Object* on, std::initializer_list<Arg> arguments)
{
    open = true;
    entered = nullptr;
    line = nullptr;
    fails = ordered(called, on, value);
    records = state().recording;
    if (records)
    {
        line = new std::string();
        if (on != nullptr)
            *line = std::string(on->klass) + "#" + std::to_string(on->id) + "::";
        *line += std::string(called.name) + "(";
        char const* separator = "";
        for (auto const& argument : arguments)
        {
            *line += separator + argument.shown();
            separator = ", ";
        }
        *line += ")";
    }
    if (on == nullptr || !oneThreadOnly(on->klass))
        return;
    std::size_t const me = std::hash<std::thread::id>{}(std::this_thread::get_id()) | 1;
    before = on->user.exchange(me);
    entered = on;
    if (before != 0 && before != me)
        violation(std::string(on->klass) + "#" + std::to_string(on->id) + " was used by two threads at once, in "
            + called.name);
}

void Ticket::result(Arg const& result) { *line += " -> " + result.shown(); }

void Ticket::close()
{
    if (entered != nullptr)
        entered->user.store(before);
    if (!records)
        return;
    Lock const lock(state().mutex);
    state().calls.push_back(std::move(*line));
    delete line;
}

} // namespace dbl

using namespace dbl;

void double_record(int32_t on)
{
    Lock const lock(state().mutex);
    state().recording = on != 0;
    state().tune();
}
char const* double_calls()
{
    Lock const lock(state().mutex);
    return lend<0>(joined(state().calls));
}
void double_clear_calls()
{
    Lock const lock(state().mutex);
    state().calls.clear();
}
uint64_t double_count(char const* method)
{
    Lock const lock(state().mutex);
    auto const at = state().counts.find(method);
    return at == state().counts.end() ? 0 : at->second;
}
char const* double_violations()
{
    Lock const lock(state().mutex);
    return lend<1>(joined(state().violations));
}
uint64_t double_live(char const* klass)
{
    Lock const lock(state().mutex);
    return static_cast<uint64_t>(std::count_if(state().living.begin(), state().living.end(),
        [&](auto const& entry) { return klass == nullptr || std::strcmp(entry.second.klass, klass) == 0; }));
}
char const* double_live_objects()
{
    Lock const lock(state().mutex);
    std::map<std::string, uint64_t> classes;
    for (auto const& entry : state().living)
        ++classes[entry.second.klass];
    std::string text;
    for (auto const& entry : classes)
        text += entry.first + " " + std::to_string(entry.second) + "\n";
    return lend<2>(std::move(text));
}
char const* double_methods() { return lend<3>(methodTable()); }
char const* double_flavour()
{
    std::string text = DOUBLE_RTX ? "rtx" : "trt";
    char separator = ' ';
    for (int part : {NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH, NV_TENSORRT_BUILD})
    {
        text += separator + std::to_string(part);
        separator = '.';
    }
    return lend<4>(std::move(text));
}
uint64_t double_enqueued() { return settings().enqueued; }

void double_fail(char const* method, uint64_t nth, int64_t value)
{
    Lock const lock(state().mutex);
    if (nth == 0)
        state().orders.erase(method);
    else
        state().orders[method] = {nth, value};
    state().tune();
}
void double_log(int32_t severity, char const* text) { say(static_cast<Severity>(severity), text); }
void double_set_version(int32_t version) { settings().version = version; }
void double_set_gpu_absent(int32_t mode) { settings().gpu_absent = mode; }
void double_set_dla_cores(int32_t cores) { settings().dla_cores = cores; }
void double_set_build_step_ms(int32_t ms) { settings().build_step_ms = ms; }
void double_set_compute(int32_t on) { settings().compute = on != 0; }
void double_reset()
{
    Lock const lock(state().mutex);
    State& s = state();
    s.recording = false;
    s.calls.clear();
    s.violations.clear();
    s.orders.clear();
    s.counts.clear();
    Settings& set = settings();
    set.compute = true;
    set.version = set.gpu_absent = set.dla_cores = set.build_step_ms = 0;
    set.enqueued = 0;
    s.tune();
}
