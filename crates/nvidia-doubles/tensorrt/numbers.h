// The numbers that a frame leaves in its outputs: element i is (start + i) mod 127 in the tensor's type (bool: mod 2).
// Types by nvinfer1::DataType's numbers, so that NVIDIA's headers are not needed: 0 f32, 1 f16, 2 i8, 3 i32, 4 bool, 5 u8,
// 7 bf16, 8 i64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dbl
{

/// IEEE half of a whole number below 2048.
inline uint16_t half(uint32_t value)
{
    if (value == 0)
        return 0;
    uint32_t exponent = 0;
    while ((value >> (exponent + 1)) != 0)
        ++exponent;
    return static_cast<uint16_t>(((exponent + 15) << 10) | ((value << (10 - exponent)) & 0x3FF));
}

/// The upper half of the number's float.
inline uint16_t brain(uint32_t value)
{
    float const number = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &number, 4);
    return static_cast<uint16_t>(bits >> 16);
}

template <class T> void put(void* address, uint64_t i, T value)
{
    std::memcpy(static_cast<char*>(address) + i * sizeof(T), &value, sizeof(T));
}

/// Bytes of one element.
inline std::size_t widthOf(int32_t type)
{
    switch (type)
    {
    case 0:
    case 3: return 4;
    case 1:
    case 7: return 2;
    case 8: return 8;
    default: return 1;
    }
}

inline void putNumbers(void* address, uint64_t elements, int32_t type, uint32_t start)
{
    for (uint64_t i = 0; i < elements; ++i)
    {
        auto const value = static_cast<uint32_t>((start + i) % 127);
        switch (type)
        {
        case 0: put(address, i, static_cast<float>(value)); break;
        case 1: put(address, i, half(value)); break;
        case 3: put(address, i, static_cast<int32_t>(value)); break;
        case 4: put(address, i, static_cast<uint8_t>(value % 2)); break;
        case 7: put(address, i, brain(value)); break;
        case 8: put(address, i, static_cast<int64_t>(value)); break;
        default: put(address, i, static_cast<uint8_t>(value)); break;
        }
    }
}

} // namespace dbl
