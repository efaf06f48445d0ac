// Reads the variables, counts calls, and writes the log.
#include "world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace cuda_double
{
namespace
{

char const* variable(char const* name)
{
    std::string const full = std::string("JETLAG_CUDA_DOUBLE_") + name;
    char const* const value = std::getenv(full.c_str());
    return value == nullptr || *value == 0 ? nullptr : value;
}

[[noreturn]] void refuse(char const* name, std::string const& value)
{
    std::fprintf(stderr, "the CUDA double does not understand JETLAG_CUDA_DOUBLE_%s=%s\n", name, value.c_str());
    std::_Exit(97);
}

uint64_t numberFrom(char const* name, std::string const& text)
{
    char* end = nullptr;
    uint64_t const value = std::strtoull(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != 0)
        refuse(name, text);
    return value;
}

template <class T> void number(char const* name, T& into)
{
    if (char const* const value = variable(name))
        into = static_cast<T>(numberFrom(name, value));
}

std::vector<std::string> parts(std::string const& text, char by)
{
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, by);)
        found.push_back(part);
    return found;
}

Control readControl()
{
    Control c;
    number("DRIVER", c.driver);
    number("DEVICES", c.devices);
    if (char const* const value = variable("CAPABILITY"))
    {
        c.capabilities.clear();
        for (auto const& word : parts(value, ','))
            c.capabilities.push_back(static_cast<int>(numberFrom("CAPABILITY", word)));
    }
    number("INTEGRATED", c.integrated);
    number("SMS", c.sms);
    number("MEMORY", c.memory);
    if (char const* const queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        c.queues = static_cast<unsigned>(std::clamp(std::strtol(queues, nullptr, 10), 1L, 32L));
    number("H2D_BYTES_S", c.h2d_bytes_s);
    number("D2H_BYTES_S", c.d2h_bytes_s);
    number("HANG", c.hang);
    if (c.sms < 1 || c.sms > 1024)
        refuse("SMS", std::to_string(c.sms));
    if (char const* const value = variable("NAME"))
        c.names = parts(value, ',');
    if (char const* const value = variable("LOG"))
        c.log = value;
    if (char const* const value = variable("SHARING"))
    {
        std::string const text = value;
        if (text != "fair" && text != "priority" && text != "off")
            refuse("SHARING", text);
        c.sharing = text == "fair" ? Sharing::fair : text == "off" ? Sharing::off : Sharing::priority;
    }
    if (char const* const value = variable("FAULT"))
    {
        auto const words = parts(value, ':');
        if (words.size() != 2)
            refuse("FAULT", value);
        c.fault = numberFrom("FAULT", words[0]);
        c.fault_code = static_cast<int>(numberFrom("FAULT", words[1]));
    }
    if (char const* const value = variable("LATE"))
    {
        auto const words = parts(value, ':');
        auto const recordings = words.size() == 2 ? parts(words[0], '-') : words;
        if (words.size() != 2 || recordings.size() != 2)
            refuse("LATE", value);
        c.late_from = numberFrom("LATE", recordings[0]);
        c.late_to = numberFrom("LATE", recordings[1]);
        c.late_us = numberFrom("LATE", words[1]);
    }
    if (char const* const value = variable("FAIL"))
        for (auto const& order : parts(value, ','))
        {
            auto words = parts(order, ':');
            if (words.size() != 3 || words[1].empty())
                refuse("FAIL", order);
            bool const later = words[1].back() == '+';
            if (later)
                words[1].pop_back();
            c.failures.push_back({words[0], numberFrom("FAIL", words[1]), later, static_cast<int>(numberFrom("FAIL", words[2]))});
        }
    return c;
}

/// A line of JSON about this process. Exported names need no escaping.
std::string report(World& w)
{
    std::ostringstream out;
    out << "{\"pid\":" << getpid() << ",\"calls\":{";
    char const* comma = "";
    for (auto const& [name, count] : w.calls)
    {
        out << comma << '"' << name << "\":" << count;
        comma = ",";
    }
    uint64_t count[2] = {0, 0};
    uint64_t bytes[2] = {0, 0};
    for (auto const& [address, block] : w.blocks)
    {
        bool const host = block.kind == Memory::host || block.kind == Memory::registered;
        if (block.freed)
            continue;
        ++count[host];
        bytes[host] += block.size;
    }
    std::size_t contexts = w.contexts.size();
    for (auto const& primary : w.primaries)
        contexts += static_cast<std::size_t>(primary->primary_uses);
    out << "},\"live\":{\"allocations\":" << count[0] << ",\"bytes\":" << bytes[0] << ",\"host_allocations\":" << count[1]
        << ",\"host_bytes\":" << bytes[1] << ",\"streams\":" << w.streams.size() << ",\"events\":" << w.events.size()
        << ",\"graphs\":" << w.graphs.size() << ",\"executable_graphs\":" << w.executables.size()
        << ",\"modules\":" << w.modules.size() << ",\"contexts\":" << contexts << "},\"operations\":" << w.operations
        << ",\"most_bytes\":" << w.most_bytes << ",\"hardware_queues\":" << control().queues
        << ",\"crossings\":" << w.crossings << "}\n";
    return out.str();
}

__attribute__((destructor)) void writeLog()
{
    if (control().log.empty())
        return;
    World& w = world();
    // The program may exit while one of its threads is in a call: the log is then given up after a while.
    std::string text;
    for (int tries = 0; tries < 200 && text.empty(); ++tries)
    {
        if (Lock lock{w.lock, std::try_to_lock})
            text = report(w);
        else
            usleep(5000);
    }
    int const file = open(control().log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        std::fprintf(stderr, "the CUDA double cannot write %s\n", control().log.c_str());
    if (file >= 0)
        close(file);
}

} // namespace

Control const& control()
{
    static Control const* const the = new Control(readControl());
    return *the;
}

World& world()
{
    static World* const the = new World;
    return *the;
}

Call::Call(char const* function, bool needs_init)
    : told{}, lock(world().lock, std::defer_lock), answer(CUDA_SUCCESS)
{
    told.function = function;
    told.correlation = beginCall();
    told.start = observer() == nullptr ? 0 : nanos(now());
    lock.lock();
    World& w = world();
    uint64_t const count = ++w.calls[function];
    for (auto const& order : control().failures)
        if (order.function == function && (order.nth == count || (order.all_later && count > order.nth)))
        {
            answer = order.code;
            return;
        }
    if (needs_init)
        answer = !w.initialised ? CUDA_ERROR_NOT_INITIALIZED : w.fault;
}

Call::~Call()
{
    if (answer != CUDA_SUCCESS)
        told.answer = static_cast<uint32_t>(answer);
    endCall(told);
}

} // namespace cuda_double
