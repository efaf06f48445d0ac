// Stands in for CUDA's header where no CUDA is installed: the two handle types that TensorRT's headers name.
#pragma once

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
