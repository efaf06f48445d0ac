// A double of libnvrtc for tests without the CUDA toolkit: what it makes of a source is the source itself, as PTX or behind
// the mark of an ELF file, and the driver's double finds kernels in it by name. A source with `#error` does not compile.
// JETLAG_NVRTC_DOUBLE_ARCHITECTURES: what it compiles for, "72,87,90" unless told otherwise.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#define NVRTC_API extern "C" __attribute__((visibility("default")))

namespace
{
struct Program
{
    std::string source, log, architecture;
};

std::vector<int> architectures()
{
    char const* told = std::getenv("JETLAG_NVRTC_DOUBLE_ARCHITECTURES");
    std::istringstream text(told != nullptr ? told : "72,87,90");
    std::vector<int> found;
    for (std::string one; std::getline(text, one, ',');)
        found.push_back(std::stoi(one));
    return found;
}

std::string content(Program const& program, bool machine)
{
    std::string const head = machine ? std::string("\x7f" "ELF") : ".version 8.0\n.target " + program.architecture + "\n";
    return head + program.source;
}

int put(std::string const& text, char* into)
{
    std::memcpy(into, text.c_str(), text.size() + 1);
    return 0;
}
} // namespace

NVRTC_API int nvrtcVersion(int* major, int* minor)
{
    *major = 12;
    *minor = 0;
    return 0;
}

NVRTC_API char const* nvrtcGetErrorString(int code) { return code == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }

NVRTC_API int nvrtcCreateProgram(void** program, char const* source, char const*, int, char const* const*, char const* const*)
{
    *program = new Program{source, "", ""};
    return 0;
}

NVRTC_API int nvrtcDestroyProgram(void** program)
{
    delete static_cast<Program*>(*program);
    *program = nullptr;
    return 0;
}

NVRTC_API int nvrtcCompileProgram(void* handle, int count, char const* const* options)
{
    auto& program = *static_cast<Program*>(handle);
    for (int i = 0; i < count; ++i)
        if (std::strncmp(options[i], "--gpu-architecture=", 19) == 0)
            program.architecture = options[i] + 19;
    if (program.source.find("#error") == std::string::npos)
        return 0;
    program.log = "the double found #error\n";
    return 6;
}

NVRTC_API int nvrtcGetProgramLogSize(void* program, std::size_t* size)
{
    *size = static_cast<Program*>(program)->log.size() + 1;
    return 0;
}

NVRTC_API int nvrtcGetProgramLog(void* program, char* log) { return put(static_cast<Program*>(program)->log, log); }

NVRTC_API int nvrtcGetCUBINSize(void* program, std::size_t* size)
{
    *size = content(*static_cast<Program*>(program), true).size() + 1;
    return 0;
}

NVRTC_API int nvrtcGetCUBIN(void* program, char* code) { return put(content(*static_cast<Program*>(program), true), code); }

NVRTC_API int nvrtcGetPTXSize(void* program, std::size_t* size)
{
    *size = content(*static_cast<Program*>(program), false).size() + 1;
    return 0;
}

NVRTC_API int nvrtcGetPTX(void* program, char* code) { return put(content(*static_cast<Program*>(program), false), code); }

NVRTC_API int nvrtcGetNumSupportedArchs(int* count)
{
    *count = static_cast<int>(architectures().size());
    return 0;
}

NVRTC_API int nvrtcGetSupportedArchs(int* into)
{
    for (int one : architectures())
        *into++ = one;
    return 0;
}
