// A tool as NVTX knows it: put into the process by NVTX_INJECTION64_PATH, it writes each call to the file that
// NVTX_TEST_FILE names, a line each: the thread, the domain, what happened.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{
// nvToolsExt.h and nvtxTypes.h of NVTX 3, as a tool sees them.
struct Attributes
{
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    char const* message;
};

using Function = void (*)();
struct Callbacks
{
    std::size_t size;
    int (*functions)(int module, Function*** table, unsigned* size);
};

std::mutex one;
std::FILE* file = nullptr;

template <typename... Values>
void line(char const* format, Values... values)
{
    std::lock_guard<std::mutex> const held(one);
    std::fprintf(file, "%ld ", syscall(SYS_gettid));
    std::fprintf(file, format, values...);
    std::fputc('\n', file);
    std::fflush(file);
}

void* create(char const* name)
{
    line("domain %s", name);
    return const_cast<char*>("its-handle");
}

int push(void* domain, Attributes const* a)
{
    bool const right = a->version == 3 && a->size == sizeof(Attributes) && a->message_type == 1;
    line("push %s %u %d:%lu %s", static_cast<char*>(domain), a->category, a->payload_type,
        static_cast<unsigned long>(a->payload), right ? a->message : "(wrong attributes)");
    return 0;
}

int pop(void* domain)
{
    line("pop %s", static_cast<char*>(domain));
    return 0;
}

void category(void* domain, uint32_t number, char const* name) { line("category %s %u %s", static_cast<char*>(domain), number, name); }
} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void const* (*table_of)(uint32_t))
{
    char const* path = std::getenv("NVTX_TEST_FILE");
    auto const* callbacks = static_cast<Callbacks const*>(table_of(1));
    if (path == nullptr || callbacks == nullptr || callbacks->size < sizeof(Callbacks) || table_of(9) != nullptr)
        return 0;
    file = std::fopen(path, "w");
    Function** table = nullptr;
    unsigned size = 0;
    if (file == nullptr || callbacks->functions(5, &table, &size) != 1 || size < 16 || table[0] != nullptr)
        return 0;
    *table[4] = reinterpret_cast<Function>(push);
    *table[5] = reinterpret_cast<Function>(pop);
    *table[8] = reinterpret_cast<Function>(category);
    *table[12] = reinterpret_cast<Function>(create);
    return 1;
}
