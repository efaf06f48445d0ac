// The text that stands for a network: what the double's parser reads instead of ONNX, and what a plan holds.
//
//   double-network                      the first line, always
//   input NAME TYPE DIMS                dims: 1x3x640x640; -1 or a word (batch) for a dynamic one; "scalar" for none
//   output NAME TYPE DIMS [LAYER]       a dynamic dim here takes the value of the input dim of the same word, or, for
//                                       -1, of the first input's dim at the same place; *N: known only after the run,
//                                       at most N (the run gives half of N, rounded up). LAYER: whose output it is
//                                       (the last layer's if not said)
//   shape_input NAME                    an i32 input (i64 from TensorRT 10) of 1 element, read on the host
//   layer NAME OP                       in a chain; OP as in ONNX (Conv, Relu, ...); an unknown OP is a parser error
//   weights_bytes N                     size of the plan beyond its description, and device memory that its engine holds; 0
//   compute_us N                        how long a frame takes (GPU: spins in a kernel; host: sleeps); 0
//   launches N                          so many small kernels before that one, enqueued one by one; GPU only; 0
//   launch_us N                         how long the host takes over each of them, sleeping before it; 0
//   kernel_us N                         how long the device takes over each of them; 0
//   traffic_bytes N                     device memory read and written by a frame, each N; 0
//   device_memory N                     bytes of activation memory an execution context wants; 1024
//   data_file PATH                      external data that must exist beside the model; a parser error if it does not
//
// TYPE: f32 f16 bf16 i8 i32 i64 bool u8. Empty lines and lines from # on are passed over.
#pragma once

#include "version.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dbl
{

inline constexpr char const* kMAGIC_LINE = "double-network";

struct TensorText
{
    std::string name;
    nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
    nvinfer1::Dims dims{};
    /// A dynamic dim's word; empty for -1 and static ones.
    std::vector<std::string> words;
    /// For `*N`: N; 0 for the others.
    std::vector<int64_t> limits;
    std::string layer;
    bool shape_input = false;

    bool dataDependent() const;
};

struct LayerText
{
    std::string name;
    std::string op;
};

struct Description
{
    std::vector<TensorText> inputs;
    std::vector<TensorText> outputs;
    std::vector<LayerText> layers;
    uint64_t weights_bytes = 0;
    uint64_t compute_us = 0;
    uint64_t traffic_bytes = 0;
    uint64_t launches = 0;
    uint64_t launch_us = 0;
    uint64_t kernel_us = 0;
    uint64_t device_memory = 1024;
    std::string data_file;

    TensorText const* find(std::string const& name) const;
    std::string text() const;
};

struct DescriptionError
{
    int line = 0;
    std::string text;
};

/// Reads a description. False: `error` says where and why.
bool read(std::string const& text, Description& into, DescriptionError& error);

/// Bytes of one element; 4-bit and unknown types count as 1.
std::size_t bytesOf(nvinfer1::DataType type);
char const* nameOf(nvinfer1::DataType type);
/// Product of the dims; 0 if one is negative.
uint64_t volume(nvinfer1::Dims const& dims);
bool isDynamic(nvinfer1::Dims const& dims);

} // namespace dbl
