// CUDA, opened at run time: frames whose memory lies on a device.
#pragma once

#include "compute.h"

namespace dbl
{

/// False: this frame is the host's (no driver, or the memory is host memory). True: enqueued on the frame's stream,
/// or `problem` says why not.
bool computeOnDevice(Frame const& frame, std::string& problem);

} // namespace dbl
