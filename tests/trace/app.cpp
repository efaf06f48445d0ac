// Somebody else's program, for tests of `jetlag trace`: does what its arguments say, in their order.
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

using Handle = void*;
using Address = unsigned long long;

/// The driver's functions, as a program that is linked to CUDA's runtime finds them.
struct Driver
{
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    template <class... T> void operator()(char const* name, T... arguments) const
    {
        auto* const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(T...)>(dlsym(library, name));
        int const answer = function == nullptr ? -1 : function(arguments...);
        if (answer != 0)
        {
            std::fprintf(stderr, "app: %s answers %d\n", name, answer);
            std::_Exit(70);
        }
    }
};

nvtxEventAttributes_t attributes(char const* name)
{
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}

void items(int64_t count)
{
    nvtxEventAttributes_t event = attributes("jetlag.items");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = count;
    nvtxMarkEx(&event);
}

/// Batches of four items with a stage each, the last one empty.
void batches(int count)
{
    nvtxRangePushA("run");
    for (int n = 0; n < count; ++n)
    {
        nvtxRangePushA(("batch_" + std::to_string(n)).c_str());
        nvtxRangePushA("decode");
        nvtxRangePop();
        nvtxRangePushA("compute");
        nvtxRangePop();
        items(n + 1 == count ? 0 : 4);
        nvtxRangePop();
    }
    nvtxRangePop();
}

/// Batches whose ranges are called as the program likes: half of each is in none of them.
void parts(int count)
{
    auto const work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    for (int n = 0; n < count; ++n)
    {
        nvtxRangePushA("batch");
        nvtxRangePushA("body");
        nvtxRangePushA("within");
        work();
        nvtxRangePop();
        nvtxRangePop();
        nvtxRangePushA("extra");
        work();
        nvtxRangePop();
        work();
        work();
        nvtxRangePop();
    }
}

void domains()
{
    nvtxDomainHandle_t const domain = nvtxDomainCreateA("app");
    nvtxDomainHandle_t const wide = nvtxDomainCreateW(L"wide");
    nvtxStringHandle_t const registered = nvtxDomainRegisterStringA(domain, "registered");
    auto const work = [&](int number) {
        nvtxEventAttributes_t event = attributes("outer");
        event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        event.payload.ullValue = static_cast<uint64_t>(number);
        nvtxDomainRangePushEx(domain, &event);
        event = attributes("");
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = registered;
        nvtxDomainRangePushEx(domain, &event);
        nvtxRangePushW(L"größe");
        event = attributes("in the wide domain");
        nvtxRangeId_t const started = nvtxDomainRangeStartEx(wide, &event);
        nvtxRangePop();
        nvtxDomainRangePop(domain);
        nvtxDomainRangeEnd(wide, started);
        nvtxDomainRangePop(domain);
    };
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
        threads.emplace_back(work, n);
    for (std::thread& thread : threads)
        thread.join();
}

void names()
{
    nvtxRangePushA("not \xff utf-8");
    nvtxRangePop();
    std::string const huge(1 << 20, 'x');
    nvtxRangePushA(huge.c_str());
    nvtxRangePop();
    nvtxRangePushA(nullptr);
    nvtxRangePop();
    nvtxRangePushA("");
    nvtxRangePop();
    nvtxRangePushEx(nullptr);
    nvtxRangePop();
}

struct Gpu
{
    Driver driver;
    Handle context = nullptr, module = nullptr, stream = nullptr, function = nullptr;
    Address memory = 0;
    std::vector<char> host = std::vector<char>(1 << 16);

    Gpu()
    {
        driver("cuInit", 0U);
        driver("cuDevicePrimaryCtxRetain", &context, 0);
        driver("cuCtxSetCurrent", context);
        driver("cuModuleLoadData", &module, static_cast<void const*>(".version 7.0\n.target sm_80\ndouble_busy"));
        driver("cuModuleGetFunction", &function, module, static_cast<char const*>("double_busy"));
        driver("cuStreamCreate", &stream, 1U);
        driver("cuMemAlloc_v2", &memory, std::size_t{1 << 16});
    }
    void kernel()
    {
        uint64_t ns = 50'000;
        void* parameters[] = {&ns};
        driver("cuLaunchKernel", function, 2U, 1U, 1U, 32U, 1U, 1U, 0U, stream, static_cast<void**>(parameters), static_cast<void**>(nullptr));
    }
    void wait() { driver("cuStreamSynchronize", stream); }
    /// A call that nothing else here makes.
    void mark()
    {
        driver("cuMemsetD16Async", memory, static_cast<unsigned short>(1), std::size_t{2}, stream);
        wait();
    }
    /// Each batch copies, has a kernel directly within and two in a range, and copies back.
    void frames(int count)
    {
        for (int n = 0; n < count; ++n)
        {
            nvtxRangePushA("batch");
            driver("cuMemcpyHtoDAsync_v2", memory, static_cast<void const*>(host.data()), std::size_t{4096}, stream);
            kernel();
            nvtxRangePushA("conv");
            kernel();
            kernel();
            nvtxRangePop();
            driver("cuMemsetD8Async", memory, static_cast<unsigned char>(1), std::size_t{1024}, stream);
            driver("cuMemcpyDtoHAsync_v2", static_cast<void*>(host.data()), memory, std::size_t{4096}, stream);
            wait();
            nvtxRangePop();
        }
        kernel();
        wait();
    }
    /// Captured within a range, launched in batches.
    void graph(int count)
    {
        Handle captured = nullptr, executable = nullptr;
        driver("cuStreamBeginCapture_v2", stream, 0);
        nvtxRangePushA("captured");
        kernel();
        kernel();
        nvtxRangePop();
        driver("cuStreamEndCapture", stream, &captured);
        driver("cuGraphInstantiateWithFlags", &executable, captured, 0ULL);
        for (int n = 0; n < count; ++n)
        {
            nvtxRangePushA("batch");
            driver("cuGraphLaunch", executable, stream);
            wait();
            nvtxRangePop();
        }
    }
};

std::sig_atomic_t volatile stopped = 0;

/// Whether what is written of this process so far has these words in it.
bool isWritten(std::string const& words)
{
    std::string const own = std::to_string(getpid()) + "-";
    for (auto const& entry : std::filesystem::directory_iterator(std::getenv("JETLAG_SPOOL")))
    {
        if (entry.path().filename().string().rfind(own, 0) != 0)
            continue;
        std::ifstream file(entry.path(), std::ios::binary);
        std::string const bytes{std::istreambuf_iterator<char>(file), {}};
        if (bytes.find(words) != std::string::npos)
            return true;
    }
    return false;
}

void untilWritten(std::string const& words)
{
    // Only a writer that hangs takes minutes.
    for (int n = 0; n < 60'000 && !isWritten(words); ++n)
        usleep(5'000);
    if (!isWritten(words))
    {
        std::fprintf(stderr, "app: %s is never written\n", words.c_str());
        std::_Exit(74);
    }
}

/// Waits until all that was done so far is in the file, so that a test knows what is there of a program that dies.
void settle(Gpu* gpu)
{
    if (std::getenv("JETLAG_SPOOL") == nullptr)
        return;
    if (gpu != nullptr)
    {
        // Records of the GPU come in their order.
        gpu->mark();
        untilWritten("cuMemsetD16Async");
    }
    // A name may be written one visit before what ended ahead of it, and be seen while the rest of its visit is still written: by the
    // third, all of that is over.
    static int marks = 0;
    for (int n = 0; n < 3; ++n)
    {
        std::string const name = "settled " + std::to_string(marks++) + ".";
        nvtxRangePushA(name.c_str());
        nvtxRangePop();
        untilWritten(name);
    }
}

/// Lets the thread that writes have a turn, where it may not be able to write.
void rest() { usleep(400'000); }

int perform(std::vector<std::string> const& orders)
{
    Gpu* gpu = nullptr;
    auto const device = [&]() -> Gpu& { return gpu == nullptr ? *(gpu = new Gpu) : *gpu; };
    for (std::size_t at = 0; at < orders.size(); ++at)
    {
        std::string const& order = orders[at];
        auto const next = [&] { return at + 1 < orders.size() ? orders[++at] : std::string(); };
        if (order == "batches")
            batches(std::atoi(next().c_str()));
        else if (order == "parts")
            parts(std::atoi(next().c_str()));
        else if (order == "domains")
            domains();
        else if (order == "names")
            names();
        else if (order == "unbalanced")
        {
            nvtxRangePop();
            nvtxRangeEnd(12345);
            nvtxRangePushA("never popped");
        }
        else if (order == "gpu")
            device().frames(std::atoi(next().c_str()));
        else if (order == "graph")
            device().graph(std::atoi(next().c_str()));
        else if (order == "settle")
            settle(gpu);
        else if (order == "rest")
            rest();
        else if (order == "paced")
            // A batch every 5 ms, until somebody ends it.
            for (;;)
            {
                nvtxRangePushA("batch");
                usleep(2'000);
                nvtxRangePop();
                usleep(3'000);
            }
        else if (order == "fork")
        {
            // The child has ranges, too, and ends as programs do.
            pid_t const child = fork();
            if (child == 0)
            {
                batches(100);
                std::exit(0);
            }
            waitpid(child, nullptr, 0);
        }
        else if (order == "fork_exit")
        {
            // The same, and leaves as Python's multiprocessing does.
            pid_t const child = fork();
            if (child == 0)
            {
                batches(100);
                _exit(0);
            }
            waitpid(child, nullptr, 0);
        }
        else if (order == "spawn")
        {
            std::vector<std::string> const rest(orders.begin() + static_cast<long>(at) + 1, orders.end());
            pid_t const child = fork();
            if (child == 0)
            {
                std::vector<char*> arguments = {const_cast<char*>("/proc/self/exe")};
                for (std::string const& one : rest)
                    arguments.push_back(const_cast<char*>(one.c_str()));
                arguments.push_back(nullptr);
                execv("/proc/self/exe", arguments.data());
                std::_Exit(71);
            }
            int status = 0;
            waitpid(child, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
        else if (order == "exec")
        {
            std::vector<char*> arguments = {const_cast<char*>("again")};
            for (std::size_t more = at + 1; more < orders.size(); ++more)
                arguments.push_back(const_cast<char*>(orders[more].c_str()));
            arguments.push_back(nullptr);
            execv("/proc/self/exe", arguments.data());
            return 71;
        }
        else if (order == "held" || order == "misbehave")
        {
            // CUPTI's double is told before CUDA begins: another tool has its place, or records are dropped and lose their stamps.
            void* const cupti = dlopen(std::getenv("JETLAG_CUPTI"), RTLD_NOW | RTLD_GLOBAL);
            auto* const tell = cupti == nullptr ? nullptr : reinterpret_cast<void (*)(char const*, uint64_t)>(dlsym(cupti, "cupti_double_tell"));
            if (tell == nullptr)
                return 73;
            if (order == "held")
                tell("held", 1);
            else
            {
                tell("drop", 3);
                tell("zero_stamps", 2);
            }
        }
        else if (order == "crash")
            *static_cast<int volatile*>(nullptr) = 1;
        else if (order == "kill")
            raise(SIGKILL);
        else if (order == "_exit")
            _exit(5);
        else if (order == "exit")
            return std::atoi(next().c_str());
        else if (order == "echo")
        {
            char line[256] = {};
            while (std::fgets(line, sizeof line, stdin) != nullptr)
                std::fputs(line, stdout);
        }
        else if (order == "wait")
        {
            std::puts("waiting");
            std::fflush(stdout);
            while (stopped == 0)
                usleep(1000);
            return 9;
        }
        else if (order == "on-term")
            std::signal(SIGTERM, [](int) { stopped = 1; });
        else
            return 72;
    }
    return 0;
}

} // namespace

int main(int count, char** arguments) { return perform({arguments + 1, arguments + count}); }
