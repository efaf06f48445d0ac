// NVIDIA's headers, and what the double has to know of their version: little, because what differs between the eras
// in methods and parameters is taken from the headers by shims.rs.
#pragma once

#include "NvInfer.h"

#if defined(TRT_MAJOR_RTX)
#define DOUBLE_RTX 1
#else
#define DOUBLE_RTX 0
#endif

// Era A (8.5 to 9): calls with Dims by value, application interfaces without a version.
#define DOUBLE_ERA_A (!DOUBLE_RTX && NV_TENSORRT_MAJOR < 10)
// Eras C (11) and E (RTX 1.5 on): every network is strongly typed, no precision flags.
#define DOUBLE_STRONG \
    ((!DOUBLE_RTX && NV_TENSORRT_MAJOR >= 11) || (DOUBLE_RTX && NV_TENSORRT_MINOR >= 5))
#define DOUBLE_AT_LEAST(major, minor) \
    (!DOUBLE_RTX && (NV_TENSORRT_MAJOR > (major) || (NV_TENSORRT_MAJOR == (major) && NV_TENSORRT_MINOR >= (minor))))
#define DOUBLE_RTX_AT_LEAST(minor) (DOUBLE_RTX && NV_TENSORRT_MINOR >= (minor))
