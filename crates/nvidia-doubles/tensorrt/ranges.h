// TensorRT's NVTX ranges, on the thread that enqueues: a frame's, and in it one for each layer. The tool is the one that
// NVTX_INJECTION64_PATH names when the first runtime is made (NVTX looks once); without one, or without NVTX's headers, nothing
// happens. What TensorRT adds to the names of layers where the verbosity is kDETAILED is left out.
#pragma once

#include "description.h"

#include <cstddef>

namespace dbl
{

/// The first call finds the tool.
void findTool();

/// A range of this thread, if it is wanted.
class NvtxRange
{
public:
    NvtxRange(bool wanted, char const* name);
    ~NvtxRange();
    NvtxRange(NvtxRange const&) = delete;
    NvtxRange& operator=(NvtxRange const&) = delete;

private:
    bool open;
};

/// The ranges of a frame's layers, one after the other. A frame's units of work are shared out evenly: where there are fewer than
/// layers, some layers have none.
class LayerRanges
{
public:
    LayerRanges(std::vector<LayerText> const* of, std::size_t all_units);
    /// The next unit begins.
    void unit();
    /// No unit is left: what layers remain have their ranges.
    void rest();
    /// A frame that fails leaves no range open.
    ~LayerRanges();
    LayerRanges(LayerRanges const&) = delete;
    LayerRanges& operator=(LayerRanges const&) = delete;

private:
    std::vector<LayerText> const* layers; // null: no ranges
    std::size_t units;
    std::size_t done = 0; // units
    std::size_t begun = 0; // layers
    void upTo(std::size_t layer);
};

} // namespace dbl
