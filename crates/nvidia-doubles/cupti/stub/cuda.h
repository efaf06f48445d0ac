/* What CUPTI's headers take of cuda.h: types by name, of which only CUuuid lies within a record. Written for the doubles and
   for the check of offsets, in C: NVIDIA's header is in another package. */
#ifndef JETLAG_STUB_CUDA_H
#define JETLAG_STUB_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION 11040

typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUlogicalEndpoint_st* CUlogicalEndpoint;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow;
typedef union CUstreamAttrValue_st CUstreamAttrValue;
typedef int CUstreamAttrID;
typedef struct CUuuid_st
{
    char bytes[16];
} CUuuid;

typedef enum
{
    CUDA_SUCCESS = 0
} CUresult;
typedef enum
{
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
} CUdevice_attribute;
typedef enum
{
    CU_FUNC_CACHE_PREFER_NONE = 0
} CUfunc_cache;
typedef enum
{
    CU_GRAPH_NODE_TYPE_KERNEL = 0,
    CU_GRAPH_NODE_TYPE_MEMCPY = 1
} CUgraphNodeType;

#endif
