// A library of plugins without plugins, in the three kinds that there are: one that tells what it has (PLUGINS_TELL), one that
// registers when it is asked, as NVIDIA's own (PLUGINS_INITIALISE), and one that registers itself as it is opened.
#include <cstdint>

#define PLUGINS_API extern "C" __attribute__((visibility("default")))

#if defined(PLUGINS_TELL)
PLUGINS_API void* const* getCreators(int32_t& count)
{
    count = 0;
    return nullptr;
}
#elif defined(PLUGINS_INITIALISE)
static int32_t asked = 0;
PLUGINS_API bool initLibNvInferPlugins(void* logger, char const* name_space)
{
    ++asked;
    return logger != nullptr && name_space != nullptr;
}
/// How often it was asked.
PLUGINS_API int32_t double_plugins_asked() { return asked; }
#endif
