// The work of a frame: on the device when its outputs lie there, on the host otherwise.
#pragma once

#include "description.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dbl
{

struct Buffer
{
    void* address;
    uint64_t elements;
    nvinfer1::DataType type;
    /// Lies in host memory whatever the others do.
    bool on_host;
};

struct Frame
{
    /// The execution context, whose frames follow each other.
    void const* owner = nullptr;
    cudaStream_t stream = nullptr;
    /// Streams for a small kernel each beside the frame's others; between the frame's begin and its end.
    std::vector<cudaStream_t> aux;
    uint64_t compute_us = 0;
    uint64_t traffic_bytes = 0;
    uint64_t launches = 0;
    uint64_t launch_us = 0;
    uint64_t kernel_us = 0;
    /// Those that have ranges; null: none have.
    std::vector<LayerText> const* layers = nullptr;
    std::vector<Buffer> inputs;
    std::vector<Buffer> outputs;
};

/// Runs or enqueues a frame; empty: done. See context.h for what is computed.
std::string compute(Frame const& frame);
/// Of all bytes of an input in host memory.
uint32_t hostSum(Buffer const& in);
/// Streams of this library's own, as TensorRT makes them where the caller gives none: of the default priority, and on the whole
/// device. Empty where there is no device.
std::vector<cudaStream_t> ownStreams(std::size_t count);
void giveBackStreams(std::vector<cudaStream_t> const& streams);
/// Whether what is enqueued on the stream is being captured.
bool isCapturing(cudaStream_t stream);
/// Waits for device work of this library, if there was any.
bool finishDevice();
/// The same, and gives back what a frame's owner holds on the device.
void leaveDevice(void const* owner);

} // namespace dbl
