// The serialised engine. Layout: magic "DBLPLAN1", FNV-1a 64 of what follows, length of the text (u64), the text,
// `weights_bytes` zeros. The text has lines `flavour`, `version`, `number`, `name`, `option NAME VALUE`,
// `profile INDEX TENSOR MIN OPT MAX`, `values INDEX TENSOR MIN OPT MAX`, and then the description of the network.
#pragma once

#include "description.h"

#include <array>
#include <map>

namespace dbl
{

inline constexpr std::size_t kPLAN_HEADER = 24;

/// Of one tensor in one profile: minimum, optimum, maximum.
struct Range
{
    std::array<nvinfer1::Dims, 3> dims{};
    std::array<int64_t, 3> values{};
    bool is_values = false;
};
using Profile = std::map<std::string, Range>;

struct Plan
{
    std::string flavour;
    int32_t number = 0;
    std::string name;
    std::map<std::string, std::string> options;
    std::vector<Profile> profiles;
    Description network;

    std::string bytes() const;
    int64_t option(std::string const& key, int64_t fallback) const;
};

/// Why a blob is not a plan for this library.
struct PlanError
{
    nvinfer1::ErrorCode code = nvinfer1::ErrorCode::kSUCCESS;
    std::string text;
};

/// This library's flavour and version number (a pretended one included).
char const* flavour();
int32_t libraryVersion();

bool readPlan(void const* blob, std::size_t size, Plan& plan, PlanError& error);

} // namespace dbl
