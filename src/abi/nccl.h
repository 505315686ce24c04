/* The part of NCCL's binary interface that wallshim uses. See abi/cuda.h for the conventions.
 *
 * Source: nccl.h of NCCL 2.28. */
#ifndef WALLSHIM_ABI_NCCL_H
#define WALLSHIM_ABI_NCCL_H

#include <stddef.h>

#define WS_NCCL_VALUES(X)        \
    X(ncclSuccess, 0)            \
    X(ncclUnhandledCudaError, 1) \
    X(ncclSystemError, 2)        \
    X(ncclInternalError, 3)      \
    X(ncclInvalidArgument, 4)    \
    X(ncclInvalidUsage, 5)       \
    X(ncclRemoteError, 6)        \
    X(ncclInProgress, 7)         \
    X(ncclSum, 0)                \
    X(ncclProd, 1)               \
    X(ncclMax, 2)                \
    X(ncclMin, 3)                \
    X(ncclAvg, 4)                \
    X(ncclInt8, 0)               \
    X(ncclUint8, 1)              \
    X(ncclInt32, 2)              \
    X(ncclUint32, 3)             \
    X(ncclInt64, 4)              \
    X(ncclUint64, 5)             \
    X(ncclFloat16, 6)            \
    X(ncclFloat32, 7)            \
    X(ncclFloat64, 8)            \
    X(ncclBfloat16, 9)           \
    X(ncclFloat8e4m3, 10)        \
    X(ncclFloat8e5m2, 11)

enum {
#define X(name, value) WS_##name = (value),
    WS_NCCL_VALUES(X)
#undef X
};

typedef int ws_ncclResult;
typedef int ws_ncclEnum; /* data types and reduction operations, passed as int-sized enumerations */
typedef struct ws_ncclComm_st *ws_ncclComm;
typedef struct ws_ncclConfig ws_ncclConfig; /* opaque, because newer versions of NCCL add members */
typedef struct ws_ncclSimInfo ws_ncclSimInfo;

typedef struct {
    char internal[128];
} ws_ncclUniqueId;

#endif
