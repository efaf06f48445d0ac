// IHostMemory: bytes that the caller owns through the object.
#pragma once

#include "core.h"
#include "shims.h"

namespace dbl
{

struct HostMemory : Object
{
    std::string bytes;

    explicit HostMemory(std::string given) : bytes(std::move(given)) {}
    void* data() { return bytes.data(); }
    std::size_t size() { return bytes.size(); }
    nvinfer1::DataType type() { return nvinfer1::DataType::kINT8; }
};
using HostMemoryObject = Wrap<nvinfer1::IHostMemory, nvinfer1::apiv::VHostMemoryShim<HostMemory>>;

inline nvinfer1::IHostMemory* hostMemory(std::string bytes) { return new HostMemoryObject(std::move(bytes)); }

} // namespace dbl
