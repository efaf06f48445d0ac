// One build: checks of network and config, the phases told to the progress monitor, the plan.
#pragma once

#include "builder.h"

namespace dbl
{

class Build
{
public:
    Build(Builder& from, Network& what, BuilderConfig& how, std::string method);
    /// The plan; empty if refused or cancelled.
    std::string run();
    /// The checks alone.
    bool check();

private:
    bool refuse(nvinfer1::ErrorCode code, std::string const& text);
    bool checkProfiles();
    bool checkProfile(std::size_t index, OptimizationProfile& profile, TensorText const& input);
    bool checkPrecision();
    bool phases();
    bool phase(std::string const& name, std::string const& parent, int32_t steps, std::string const& inner = "");
    bool calibrate();
    void useTimingCache();
    Plan plan() const;

    Builder& builder;
    Network& network;
    BuilderConfig& config;
    std::string method;
    Description whole;
    std::vector<Profile> profiles;
};

} // namespace dbl
