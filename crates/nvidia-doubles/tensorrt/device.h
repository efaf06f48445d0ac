// CUDA, opened at run time: frames whose memory lies on a device.
#pragma once

#include "compute.h"

#include <optional>

namespace dbl
{

/// False: this frame is the host's (no driver, or the memory is host memory). True: enqueued on the frame's stream,
/// or `problem` says why not.
bool computeOnDevice(Frame const& frame, std::string& problem);

/// Notes what is on a stream by now; 0 where nobody keeps such notes, as a real driver.
uint64_t markStream(cudaStream_t stream);

/// Whether the host has waited for that since.
bool wasAwaited(uint64_t mark);

/// The number of the GPU that this memory is of; -1 where no driver knows it.
int deviceOf(void const* address);

/// Takes so many bytes of the device of this thread's context; 0 where there is no driver, no context or no room.
unsigned long long takeDeviceMemory(uint64_t bytes);

/// Gives them back; nothing for 0.
void giveDeviceMemoryBack(unsigned long long address);

/// A GPU as the driver describes it.
struct Gpu
{
    int ordinal = 0;
    std::string name;
    /// 87 for 8.7.
    int capability = 0;
};

/// The GPU of this thread's context, or the first where the thread has none, as CUDA's runtime takes it. Nothing without a
/// driver.
std::optional<Gpu> currentGpu();

} // namespace dbl
