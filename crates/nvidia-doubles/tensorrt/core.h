// What every object of the double shares: the registry of living objects, the call log, the orders to fail, the log
// and error reports to the application, and the bag of properties behind setX/getX pairs.
//
// The classes that TensorRT's callers see are made in three parts:
//   Wrap<I, Shim>   the public class (IRuntime ...): its vtable pointer and mImpl, nothing else
//   XShim<Impl>     apiv::V... with all methods of the headers at hand; generated, see shims.rs
//   Impl            behaviour, written by hand, derived from dbl::Object
#pragma once

#include "control.h"
#include "version.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dbl
{

using Severity = nvinfer1::ILogger::Severity;

/// A method of a public class. Lives in the generated shims.
struct Method
{
    char const* klass;
    char const* name;
    std::string full() const { return *klass == 0 ? std::string(name) : std::string(klass) + "::" + name; }
};

/// An argument or result of one call, without its type. Trivial, and made by plain functions: every generated method
/// makes some, so what it costs to compile counts hundreds of times.
struct Arg
{
    enum class Kind : uint8_t { kNUMBER, kBOOL, kREAL, kPOINTER, kTEXT, kDIMS, kWEIGHTS, kOBJECT };
    Kind kind;
    union
    {
        int64_t number;
        double real;
        void const* pointer;
    };

    /// As in the call log.
    std::string shown() const;
    /// What can be kept as a property.
    bool scalar() const { return kind < Kind::kDIMS; }
};
inline Arg arg(bool value) { return {Arg::Kind::kBOOL, {value ? 1 : 0}}; }
inline Arg arg(double value)
{
    Arg made{Arg::Kind::kREAL, {}};
    made.real = value;
    return made;
}
inline Arg arg(float value) { return arg(static_cast<double>(value)); }
inline Arg pointerArg(Arg::Kind kind, void const* value)
{
    Arg made{kind, {}};
    made.pointer = value;
    return made;
}
inline Arg arg(char const* value) { return pointerArg(Arg::Kind::kTEXT, value); }
inline Arg arg(nvinfer1::Dims const& value) { return pointerArg(Arg::Kind::kDIMS, &value); }
inline Arg arg(nvinfer1::Weights const& value) { return pointerArg(Arg::Kind::kWEIGHTS, &value); }
template <class T> Arg arg(T const& value)
{
    if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T>)
        return {Arg::Kind::kNUMBER, {static_cast<int64_t>(value)}};
    else if constexpr (std::is_pointer_v<T>)
        return pointerArg(Arg::Kind::kPOINTER, reinterpret_cast<void const*>(value));
    else
        return pointerArg(Arg::Kind::kOBJECT, &value); // a reference to an object
}

/// What a property keeps: as text for the log, and as number or pointer for whoever asks again.
struct Value
{
    enum class Kind : uint8_t { kNONE, kBOOL, kNUMBER, kREAL, kPOINTER, kTEXT, kSHOWN };
    Kind kind = Kind::kNONE;
    int64_t number = 0;
    double real = 0;
    void const* pointer = nullptr;
    /// Of a kTEXT (the characters) or kSHOWN (ready for the log).
    std::string text;

    /// As in the call log.
    std::string shown() const;
    template <class T> T as() const
    {
        if constexpr (std::is_pointer_v<T>)
            return const_cast<T>(reinterpret_cast<std::add_const_t<std::remove_pointer_t<T>>*>(pointer));
        else if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(kind == Kind::kREAL ? real : static_cast<double>(number));
        else
            return static_cast<T>(number);
    }
};
template <class T> Value valueOf(T const& value);

/// Base of all behaviour.
struct Object
{
    char const* klass = "";
    uint64_t id = 0;
    /// The public object that wraps this one.
    void* self = nullptr;
    /// Whose error recorder serves when this object has none.
    Object* parent = nullptr;
    nvinfer1::IErrorRecorder* recorder = nullptr;
    /// What setters without a hand-written body were given.
    std::map<std::string, Value> properties;

    /// What a setter was given, or `fallback`.
    template <class T> T kept(char const* name, T fallback) const
    {
        auto const at = properties.find(name);
        return at == properties.end() ? fallback : at->second.as<T>();
    }
    template <class T> void keep(std::string const& name, T value) { properties[name] = valueOf(value); }
    /// The same as a number, for types whose name does not exist in all eras.
    int64_t keptNumber(std::string const& name, int64_t fallback) const { return kept<int64_t>(name.c_str(), fallback); }
    /// A default for getX() where setX() was not called.
    void standard(char const* name, int64_t value) { keep(name, value); }
    /// Thread that is inside a method now, 0 for none.
    std::atomic<std::size_t> user{0};

    Object() = default;
    Object(Object const&) = delete;
    Object& operator=(Object const&) = delete;
    ~Object();

    void setErrorRecorder(nvinfer1::IErrorRecorder* r);
    nvinfer1::IErrorRecorder* getErrorRecorder() { return recorder; }
};

// --- Messages ---

/// The application's logger in force, or null.
nvinfer1::ILogger* logger();
/// Takes the logger for a new root object; warns if another is in force. False: null logger.
bool takeLogger(nvinfer1::ILogger* given, char const* what);
void releaseLogger();
void say(Severity severity, std::string const& text);
/// Logs "METHOD: Error Code N: NAME (text)" and reports it to the nearest error recorder.
void fail(Object const* object, std::string const& method, nvinfer1::ErrorCode code, std::string const& text);
/// Notes what the caller did wrong.
void violation(std::string const& text);

/// A result whose type does not exist in all eras: turns into whatever the method of this era returns.
struct Number
{
    int64_t value;
    template <class T, class = std::enable_if_t<std::is_enum_v<T> || std::is_arithmetic_v<T>>> operator T() const
    {
        return static_cast<T>(value);
    }
};

// --- Registry ---

/// Enters a public object; gives it its number.
void adopt(Object& object, void* self, char const* klass);
/// Takes it out again.
void retire(Object& object);
/// Keeps freed memory with a vtable that only reports its use.
void bury(void* memory, std::size_t size);
/// The living object behind a public pointer, if it is of this class; a violation and null otherwise.
Object* find(void const* self, char const* klass, char const* asked_by);
/// Children of `parent` that live, of this class.
uint64_t children(Object const& parent, char const* klass);
/// "ICudaEngine#4" for a living object, "" otherwise.
std::string nameOf(void const* self);

// --- State that control.h sets ---

struct Settings
{
    std::atomic<bool> instrumented{false};
    std::atomic<bool> compute{true};
    std::atomic<int32_t> version{0};
    std::atomic<int32_t> gpu_absent{0};
    std::atomic<int32_t> dla_cores{0};
    std::atomic<int32_t> build_step_ms{0};
    std::atomic<uint64_t> enqueued{0};
};
Settings& settings();
/// Lines for double_methods; each library supplies its own.
std::string methodTable();

// --- Arguments ---

std::string showText(char const* text);
std::string showPointer(void const* pointer);
std::string showDims(nvinfer1::Dims const& dims);
std::string showWeights(nvinfer1::Weights const& weights);
Value boolValue(bool value);
Value numberValue(int64_t value);
Value realValue(double value);
Value pointerValue(void const* value);
Value textValue(char const* value);
Value shownValue(std::string text);

template <class T> Value valueOf(T const& value)
{
    if constexpr (std::is_same_v<T, bool>)
        return boolValue(value);
    else if constexpr (std::is_same_v<T, char const*>)
        return textValue(value);
    else if constexpr (std::is_same_v<T, nvinfer1::Dims>)
        return shownValue(showDims(value));
    else if constexpr (std::is_same_v<T, nvinfer1::Weights>)
        return shownValue(showWeights(value));
    else if constexpr (std::is_floating_point_v<T>)
        return realValue(static_cast<double>(value));
    else if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T>)
        return numberValue(static_cast<int64_t>(value));
    else if constexpr (std::is_pointer_v<T>)
        return pointerValue(reinterpret_cast<void const*>(value));
    else
        return pointerValue(&value); // a reference to an object
}

// --- Calls ---

template <template <class...> class Try, class Void, class... A> struct Has : std::false_type
{
};
template <template <class...> class Try, class... A> struct Has<Try, std::void_t<Try<A...>>, A...> : std::true_type
{
};
template <template <class...> class Try, class... A> inline constexpr bool has = Has<Try, void, A...>::value;

/// What a failing or unknown method returns.
template <class R> R number(int64_t value)
{
    if constexpr (std::is_void_v<R>)
        return;
    else if constexpr (std::is_same_v<R, bool>)
        return value != 0;
    else if constexpr (std::is_pointer_v<R>)
        return reinterpret_cast<R>(static_cast<intptr_t>(value));
    else if constexpr (std::is_enum_v<R> || std::is_arithmetic_v<R>)
        return static_cast<R>(value);
    else if constexpr (std::is_same_v<R, nvinfer1::Dims>)
    {
        nvinfer1::Dims none{};
        none.nbDims = -1;
        return none;
    }
    else if constexpr (std::is_reference_v<R>)
        std::abort(); // no method that gives a reference may be left out by hand-written classes
    else
        return R{};
}

/// One call of a public method, from the moment its arguments are known to its end. Where nobody observes it costs one
/// load and two branches.
class Ticket
{
public:
    Ticket() : open(false), fails(false), records(false) {}
    Ticket(Ticket const&) = delete;
    Ticket& operator=(Ticket const&) = delete;
    ~Ticket()
    {
        if (__builtin_expect(open, 0))
            close();
    }
    /// Counts the call and finds out whether it has to fail; writes its line if calls are recorded.
    void enter(Method const& called, Object* on, std::initializer_list<Arg> arguments);
    void result(Arg const& result);

    bool open;
    bool fails;
    bool records;
    int64_t value;

private:
    void close();
    Object* entered;
    std::size_t before;
    std::string* line;
};
inline bool observed() { return __builtin_expect(settings().instrumented.load(std::memory_order_relaxed), 0); }

// --- Properties ---

/// A `char const*` property: what its getter hands out; null if never set.
char const* keptText(Object const& object, std::string const& name);
/// Whether methods of this name are kept as properties.
inline bool isSetter(std::string_view name) { return name.substr(0, 3) == "set" && name.size() > 3; }
inline bool isGetter(std::string_view name) { return name.substr(0, 3) == "get" && name.size() > 3; }
/// setX(value), setX(key, value), getX(), getX(key); null for all other methods, which do nothing.
Value const* propertyCall(Method const& method, Object& object, bool gives, std::initializer_list<Arg> arguments);

/// A method without a hand-written body.
template <class R> R property(Method const& method, Object& object, std::initializer_list<Arg> arguments)
{
    Value const* const found = propertyCall(method, object, std::is_scalar_v<R>, arguments);
    if constexpr (std::is_same_v<R, char const*>)
        return found == nullptr ? "" : found->text.c_str();
    else if constexpr (std::is_scalar_v<R>)
        return found == nullptr ? number<R>(0) : found->template as<R>();
    else
        return number<R>(0);
}

// --- Public objects ---

/// The public class I over a generated Shim. Same size and layout as the headers' class.
template <class I, class Shim> class Wrap final : public I
{
public:
    using Impl = decltype(Shim::impl);
    template <class... A> explicit Wrap(A&&... args)
    {
        auto* shim = new Shim(std::forward<A>(args)...);
        slot() = shim;
        adopt(shim->impl, static_cast<I*>(this), Shim::kNAME);
    }
    ~Wrap() noexcept override
    {
        auto* shim = static_cast<Shim*>(slot());
        retire(shim->impl);
        delete shim;
    }
    /// The counterpart of the one below, which buries what comes from the heap.
    static void* operator new(std::size_t size) { return ::operator new(size); }
    static void operator delete(void* p, std::size_t size) { bury(p, size); }
    auto& impl() { return static_cast<Shim*>(slot())->impl; }

private:
    auto& slot()
    {
        if constexpr (std::is_base_of_v<nvinfer1::ILayer, I>)
            return this->mLayer;
        else
            return this->mImpl;
    }
};

/// The Impl behind a public reference of type I wrapped by W; null (and a violation) if it is not a living one.
template <class W, class I> typename W::Impl* behind(I const* object, char const* klass, char const* asked_by)
{
    return static_cast<typename W::Impl*>(find(object, klass, asked_by));
}

} // namespace dbl
