/* The NCCL functions that query something, and a few small others. */
#include "nccl/nccl.h"

enum { VERSION = 22809 };

NCCL_API(ws_ncclResult, ncclGetVersion, int *version)
{
    if (!version)
        return WS_ncclInvalidArgument;
    *version = VERSION;
    return WS_ncclSuccess;
}

NCCL_API(const char *, ncclGetErrorString, ws_ncclResult result)
{
    static const char *const texts[] = {
        "no error",
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)",
        "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error",
        "NCCL operation in progress",
    };
    return result >= 0 && result < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[result] : "unknown result code";
}

NCCL_API(const char *, ncclGetLastError, ws_ncclComm comm)
{
    (void)comm;
    return "";
}

#define ASKED(name, answer)                                                      \
    NCCL_API(ws_ncclResult, name, const struct ws_ncclComm_st *comm, int *value) \
    {                                                                            \
        if (!comm || !value)                                                     \
            return WS_ncclInvalidArgument;                                       \
        *value = answer;                                                         \
        return WS_ncclSuccess;                                                   \
    }

ASKED(ncclCommCount, comm->size)
ASKED(ncclCommUserRank, comm->rank)
ASKED(ncclCommCuDevice, comm->device)

NCCL_API(ws_ncclResult, ncclCommGetAsyncError, ws_ncclComm comm, ws_ncclResult *error)
{
    if (!comm || !error)
        return WS_ncclInvalidArgument;
    *error = WS_ncclSuccess;
    return WS_ncclSuccess;
}

/* Reductions with a factor that the program chooses are not supported. */
NCCL_API(ws_ncclResult, ncclRedOpCreatePreMulSum, ws_ncclEnum *reduction, void *scalar, ws_ncclEnum type,
         ws_ncclEnum residence, ws_ncclComm comm)
{
    (void)reduction, (void)scalar, (void)type, (void)residence, (void)comm;
    return WS_ncclInvalidUsage;
}

NCCL_API(ws_ncclResult, ncclRedOpDestroy, ws_ncclEnum reduction, ws_ncclComm comm)
{
    (void)reduction, (void)comm;
    return WS_ncclInvalidUsage;
}

NCCL_API(ws_ncclResult, ncclMemAlloc, void **pointer, size_t bytes)
{
    const struct nccl_driver *driver = nccl_driver();
    ws_CUdeviceptr address;
    if (!pointer || !driver || driver->cuMemAlloc(&address, bytes) != WS_CUDA_SUCCESS)
        return WS_ncclUnhandledCudaError;
    *pointer = (void *)address;
    return WS_ncclSuccess;
}

NCCL_API(ws_ncclResult, ncclMemFree, void *pointer)
{
    const struct nccl_driver *driver = nccl_driver();
    bool freed = driver && driver->cuMemFree((ws_CUdeviceptr)pointer) == WS_CUDA_SUCCESS;
    return freed ? WS_ncclSuccess : WS_ncclUnhandledCudaError;
}

NCCL_API(ws_ncclResult, ncclCommRegister, ws_ncclComm comm, void *buffer, size_t bytes, void **handle)
{
    if (!comm || !buffer || !bytes || !handle)
        return WS_ncclInvalidArgument;
    *handle = buffer;
    return WS_ncclSuccess;
}

NCCL_API(ws_ncclResult, ncclCommDeregister, ws_ncclComm comm, void *handle)
{
    return comm && handle ? WS_ncclSuccess : WS_ncclInvalidArgument;
}
