/* The part of the CUDA driver's binary interface that wallshim uses.
 *
 * wallshim builds without a CUDA toolkit, so it declares the types and values that it needs. Each name is the
 * driver's name with the prefix "ws_" or "WS_". tests/abi compares sizes, offsets and values with the toolkit's own
 * cuda.h where a toolkit is installed. Types that wallshim passes on without reading them are opaque.
 *
 * Source: cuda.h of the CUDA 13.0 toolkit. */
#ifndef WALLSHIM_ABI_CUDA_H
#define WALLSHIM_ABI_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* A list of X(name, value). The enum below is made from this list, and tests/abi compares the list with the toolkit's
 * cuda.h. */
#define WS_CU_VALUES(X)                                         \
    X(CUDA_SUCCESS, 0)                                          \
    X(CUDA_ERROR_INVALID_VALUE, 1)                              \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                              \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                            \
    X(CUDA_ERROR_DEINITIALIZED, 4)                              \
    X(CUDA_ERROR_STUB_LIBRARY, 34)                              \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36)                \
    X(CUDA_ERROR_NO_DEVICE, 100)                                \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                           \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                            \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                          \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216)                   \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215)                        \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                  \
    X(CUDA_ERROR_INVALID_PTX, 218)                              \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301)                           \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304)                         \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                           \
    X(CUDA_ERROR_ILLEGAL_STATE, 401)                            \
    X(CUDA_ERROR_NOT_FOUND, 500)                                \
    X(CUDA_ERROR_NOT_READY, 600)                                \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                          \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                  \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)              \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                  \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708)                   \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                     \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712)           \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713)               \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                            \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)             \
    X(CUDA_ERROR_NOT_PERMITTED, 800)                            \
    X(CUDA_ERROR_NOT_SUPPORTED, 801)                            \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)               \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)               \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                     \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)                 \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)                  \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                 \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                  \
    X(CUDA_ERROR_CAPTURED_EVENT, 907)                           \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)              \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910)                \
    X(CUDA_ERROR_UNKNOWN, 999)                                  \
    X(CU_CTX_SCHED_BLOCKING_SYNC, 4)                            \
    X(CU_CTX_MAP_HOST, 8)                                       \
    X(CU_STREAM_DEFAULT, 0)                                     \
    X(CU_STREAM_NON_BLOCKING, 1)                                \
    X(CU_EVENT_DEFAULT, 0)                                      \
    X(CU_EVENT_BLOCKING_SYNC, 1)                                \
    X(CU_EVENT_DISABLE_TIMING, 2)                               \
    X(CU_EVENT_INTERPROCESS, 4)                                 \
    X(CU_EVENT_RECORD_DEFAULT, 0)                               \
    X(CU_EVENT_RECORD_EXTERNAL, 1)                              \
    X(CU_EVENT_WAIT_DEFAULT, 0)                                 \
    X(CU_EVENT_WAIT_EXTERNAL, 1)                                \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                         \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                       \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)                  \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                         \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                   \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                        \
    X(CU_GET_PROC_ADDRESS_DEFAULT, 0)                           \
    X(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1)                     \
    X(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2)         \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                           \
    X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                  \
    X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)            \
    X(CU_MEMORYTYPE_HOST, 1)                                    \
    X(CU_MEMORYTYPE_DEVICE, 2)                                  \
    X(CU_MEMORYTYPE_ARRAY, 3)                                   \
    X(CU_MEMORYTYPE_UNIFIED, 4)                                 \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1)                           \
    X(CU_MEM_LOCATION_TYPE_HOST, 2)                             \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1)                         \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 1)                     \
    X(CU_MEMCPY_OPERAND_TYPE_POINTER, 1)                        \
    X(CU_MEMCPY_OPERAND_TYPE_ARRAY, 2)                          \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1)                          \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                      \
    X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3)                   \
    X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4)                     \
    X(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                       \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                   \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)                      \
    X(CU_LAUNCH_ATTRIBUTE_IGNORE, 0)                            \
    X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                       \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                 \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6) \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 7)                \
    X(CU_LAUNCH_ATTRIBUTE_PRIORITY, 8)                          \
    X(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12)          \
    X(CU_GRAPH_NODE_TYPE_KERNEL, 0)                             \
    X(CU_GRAPH_NODE_TYPE_MEMCPY, 1)                             \
    X(CU_GRAPH_NODE_TYPE_MEMSET, 2)                             \
    X(CU_GRAPH_NODE_TYPE_HOST, 3)                               \
    X(CU_GRAPH_NODE_TYPE_GRAPH, 4)                              \
    X(CU_GRAPH_NODE_TYPE_EMPTY, 5)                              \
    X(CU_GRAPH_NODE_TYPE_WAIT_EVENT, 6)                         \
    X(CU_GRAPH_NODE_TYPE_EVENT_RECORD, 7)                       \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, 8)                   \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, 9)                     \
    X(CU_GRAPH_NODE_TYPE_MEM_ALLOC, 10)                         \
    X(CU_GRAPH_NODE_TYPE_MEM_FREE, 11)                          \
    X(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 12)                      \
    X(CU_GRAPH_NODE_TYPE_CONDITIONAL, 13)                       \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                       \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)             \
    X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                       \
    X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                    \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)          \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                    \
    X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                    \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)         \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)         \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 92)        \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122)   \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 123)   \
    X(CU_MEMHOSTREGISTER_DEVICEMAP, 2)                          \
    X(CU_STREAM_WAIT_VALUE_GEQ, 0)                              \
    X(CU_STREAM_WAIT_VALUE_EQ, 1)                               \
    X(CU_STREAM_WAIT_VALUE_AND, 2)                              \
    X(CU_STREAM_WAIT_VALUE_NOR, 3)                              \
    X(CU_STREAM_WAIT_VALUE_FLUSH, 1 << 30)                      \
    X(CU_STREAM_WRITE_VALUE_DEFAULT, 0)

enum {
#define X(name, value) WS_##name = (value),
    WS_CU_VALUES(X)
#undef X
};

typedef int ws_CUresult;
typedef int ws_CUdevice;
typedef unsigned long long ws_CUdeviceptr;
typedef unsigned long long ws_CUmemGenericAllocationHandle;
typedef int ws_CUenum; /* any enumeration: all enumerations of the driver have the size of int */

typedef struct ws_CUctx_st *ws_CUcontext;
typedef struct ws_CUmod_st *ws_CUmodule;
typedef struct ws_CUfunc_st *ws_CUfunction;
typedef struct ws_CUlib_st *ws_CUlibrary;
typedef struct ws_CUkern_st *ws_CUkernel;
typedef struct ws_CUarray_st *ws_CUarray;
typedef struct ws_CUevent_st *ws_CUevent;
typedef struct ws_CUstream_st *ws_CUstream;
typedef struct ws_CUgraph_st *ws_CUgraph;
typedef struct ws_CUgraphNode_st *ws_CUgraphNode;
typedef struct ws_CUgraphExec_st *ws_CUgraphExec;
typedef struct ws_CUmemPool_st *ws_CUmemoryPool;
typedef struct ws_CUgreenCtx_st *ws_CUgreenCtx;
typedef struct ws_CUdevResourceDesc_st *ws_CUdevResourceDesc;

typedef void (*ws_CUhostFn)(void *user_data);
typedef void (*ws_CUstreamCallback)(ws_CUstream stream, ws_CUresult status, void *user_data);
typedef size_t (*ws_CUoccupancyB2DSize)(int block_size);

/* The handles of the two default streams. In functions whose names end in _ptsz or _ptds, a null handle means the
 * per-thread default stream. In all other functions it means the legacy default stream. */
#define WS_CU_STREAM_LEGACY ((ws_CUstream)0x1)
#define WS_CU_STREAM_PER_THREAD ((ws_CUstream)0x2)

/* Tags in the `extra` array of cuLaunchKernel. */
#define WS_CU_LAUNCH_PARAM_END ((void *)0x0)
#define WS_CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x1)
#define WS_CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x2)

typedef struct {
    char bytes[16];
} ws_CUuuid;

typedef struct {
    char reserved[64];
} ws_CUipcMemHandle;

typedef struct {
    unsigned char reserved[64];
} ws_CUmemPoolPtrExportData;

typedef struct {
    ws_CUenum type;
    int id;
} ws_CUmemLocation;

typedef struct {
    ws_CUmemLocation location;
    ws_CUenum flags;
} ws_CUmemAccessDesc;

typedef struct {
    ws_CUenum type;
    ws_CUenum requestedHandleTypes;
    ws_CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} ws_CUmemAllocationProp;

typedef struct {
    ws_CUenum allocType;
    ws_CUenum handleTypes;
    ws_CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} ws_CUmemPoolProps;

typedef struct {
    ws_CUenum srcAccessOrder;
    ws_CUmemLocation srcLocHint;
    ws_CUmemLocation dstLocHint;
    unsigned int flags;
} ws_CUmemcpyAttributes;

typedef struct {
    size_t srcXInBytes;
    size_t srcY;
    ws_CUenum srcMemoryType;
    const void *srcHost;
    ws_CUdeviceptr srcDevice;
    ws_CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    ws_CUenum dstMemoryType;
    void *dstHost;
    ws_CUdeviceptr dstDevice;
    ws_CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} ws_CUDA_MEMCPY2D;

typedef struct {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    ws_CUenum srcMemoryType;
    const void *srcHost;
    ws_CUdeviceptr srcDevice;
    ws_CUarray srcArray;
    void *reserved0; /* in CUDA_MEMCPY3D_PEER, which has the same layout, this member is srcContext */
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    ws_CUenum dstMemoryType;
    void *dstHost;
    ws_CUdeviceptr dstDevice;
    ws_CUarray dstArray;
    void *reserved1; /* in CUDA_MEMCPY3D_PEER, this member is dstContext */
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} ws_CUDA_MEMCPY3D;

typedef ws_CUDA_MEMCPY3D ws_CUDA_MEMCPY3D_PEER;

typedef struct {
    ws_CUenum type;
    union {
        struct {
            ws_CUdeviceptr ptr;
            size_t rowLength;
            size_t layerHeight;
            ws_CUmemLocation locHint;
        } ptr;
        struct {
            ws_CUarray array;
            struct {
                size_t x, y, z;
            } offset;
        } array;
    } op;
} ws_CUmemcpy3DOperand;

typedef struct {
    ws_CUmemcpy3DOperand src;
    ws_CUmemcpy3DOperand dst;
    struct {
        size_t width, height, depth;
    } extent;
    ws_CUenum srcAccessOrder;
    unsigned int flags;
} ws_CUDA_MEMCPY3D_BATCH_OP;

typedef struct {
    ws_CUenum id;
    char pad[4];
    union {
        char pad[64];
        int cooperative;
        int programmaticStreamSerializationAllowed;
        struct {
            ws_CUevent event;
            int flags;
            int triggerAtBlockStart;
        } programmaticEvent;
        struct {
            ws_CUevent event;
            int flags;
        } launchCompletionEvent;
    } value;
} ws_CUlaunchAttribute;

typedef struct {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    ws_CUstream hStream;
    ws_CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} ws_CUlaunchConfig;

typedef struct {
    ws_CUfunction function;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    ws_CUstream hStream;
    void **kernelParams;
} ws_CUDA_LAUNCH_PARAMS;

typedef struct {
    ws_CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
} ws_CUDA_KERNEL_NODE_PARAMS_v1;

typedef struct {
    ws_CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    ws_CUkernel kern;
    ws_CUcontext ctx;
} ws_CUDA_KERNEL_NODE_PARAMS; /* versions 2 and 3 of the driver's structure have this layout */

typedef struct {
    ws_CUdeviceptr dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
} ws_CUDA_MEMSET_NODE_PARAMS;

typedef struct {
    ws_CUhostFn fn;
    void *userData;
} ws_CUDA_HOST_NODE_PARAMS;

typedef struct {
    int flags;
    int reserved;
    ws_CUcontext copyCtx;
    ws_CUDA_MEMCPY3D copyParams;
} ws_CUDA_MEMCPY_NODE_PARAMS;

typedef struct {
    ws_CUenum type;
    int reserved0[3];
    union {
        long long reserved1[29];
        ws_CUDA_KERNEL_NODE_PARAMS kernel;
        ws_CUDA_MEMCPY_NODE_PARAMS memcpy;
        ws_CUDA_MEMSET_NODE_PARAMS memset;
        ws_CUDA_HOST_NODE_PARAMS host;
        ws_CUgraph graph; /* the first member of CUDA_CHILD_GRAPH_NODE_PARAMS */
        ws_CUevent event; /* the first member of CUDA_EVENT_WAIT_NODE_PARAMS and of CUDA_EVENT_RECORD_NODE_PARAMS */
    };
    long long reserved2;
} ws_CUgraphNodeParams;

typedef struct {
    unsigned char from_port, to_port, type, reserved[5];
} ws_CUgraphEdgeData;

typedef struct {
    uint64_t flags;
    ws_CUstream hUploadStream;
    ws_CUgraphNode hErrNode_out;
    ws_CUenum result_out;
} ws_CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct {
    void *execAffinityParams;
    int numExecAffinityParams;
    void *cigParams;
} ws_CUctxCreateParams;

#endif
