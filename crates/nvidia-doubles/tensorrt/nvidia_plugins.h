// NVIDIA's own layers (EfficientNMS_TRT and the like): they are in libnvinfer_plugin, which registers them when it is asked to
// (`plugins.cpp` with PLUGINS_INITIALISE stands for it). A process in which nobody did knows none of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>

namespace dbl
{

/// Whether an operator, or the name of a layer that the double's parser made of one, is such a layer.
inline bool isNvidiasPlugin(std::string const& name)
{
    auto const ends = [&](std::string const& with) {
        return name.size() >= with.size() && name.compare(name.size() - with.size(), with.size(), with) == 0;
    };
    return ends("_TRT") || ends("_TRT]");
}

inline bool nvidiasPluginsAreRegistered()
{
    std::string file;
    auto const look = [](dl_phdr_info* library, std::size_t, void* found) {
        if (std::strstr(library->dlpi_name, "libnvinfer_plugin") != nullptr)
            *static_cast<std::string*>(found) = library->dlpi_name;
        return 0;
    };
    dl_iterate_phdr(look, &file);
    void* const library = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr)
        return false;
    auto const asked = reinterpret_cast<int32_t (*)()>(dlsym(library, "double_plugins_asked"));
    bool const any = asked != nullptr && asked() > 0;
    dlclose(library);
    return any;
}

} // namespace dbl
