/* The NCCL functions that move data. */
#include "nccl/nccl.h"

static ws_ncclResult submit(struct nccl_task task)
{
    if (!task.comm || !task.comm->shared)
        return WS_ncclInvalidArgument;
    bool reduces = task.kind <= NCCL_REDUCE_SCATTER;
    if (!nccl_type_bytes(task.type) || (reduces && (task.reduction < 0 || task.reduction > WS_ncclAvg)))
        return WS_ncclInvalidArgument;
    if (task.root < 0 || task.root >= task.comm->size)
        return WS_ncclInvalidArgument;
    return nccl_submit(&task);
}

#define BUFFERS const void *send, void *receive, size_t count, ws_ncclEnum type
#define WHERE ws_ncclComm comm, ws_CUstream stream
#define TASK(what, ...)        \
    submit((struct nccl_task){ \
        .comm = comm, .kind = (what), .count = count, .type = type, .stream = stream, __VA_ARGS__ })

NCCL_API(ws_ncclResult, ncclAllReduce, BUFFERS, ws_ncclEnum reduction, WHERE)
{
    return TASK(NCCL_ALL_REDUCE, .send = send, .receive = receive, .reduction = reduction);
}

NCCL_API(ws_ncclResult, ncclReduce, BUFFERS, ws_ncclEnum reduction, int root, WHERE)
{
    return TASK(NCCL_REDUCE, .send = send, .receive = receive, .reduction = reduction, .root = root);
}

NCCL_API(ws_ncclResult, ncclReduceScatter, BUFFERS, ws_ncclEnum reduction, WHERE)
{
    return TASK(NCCL_REDUCE_SCATTER, .send = send, .receive = receive, .reduction = reduction);
}

NCCL_API(ws_ncclResult, ncclAllGather, BUFFERS, WHERE)
{
    return TASK(NCCL_ALL_GATHER, .send = send, .receive = receive);
}

NCCL_API(ws_ncclResult, ncclBroadcast, BUFFERS, int root, WHERE)
{
    return TASK(NCCL_BROADCAST, .send = send, .receive = receive, .root = root);
}

NCCL_API(ws_ncclResult, ncclBcast, void *buffer, size_t count, ws_ncclEnum type, int root, WHERE)
{
    return TASK(NCCL_BROADCAST, .send = buffer, .receive = buffer, .root = root);
}

NCCL_API(ws_ncclResult, ncclAlltoAll, BUFFERS, WHERE)
{
    return TASK(NCCL_ALL_TO_ALL, .send = send, .receive = receive);
}

NCCL_API(ws_ncclResult, ncclGather, BUFFERS, int root, WHERE)
{
    return TASK(NCCL_GATHER, .send = send, .receive = receive, .root = root);
}

NCCL_API(ws_ncclResult, ncclScatter, BUFFERS, int root, WHERE)
{
    return TASK(NCCL_SCATTER, .send = send, .receive = receive, .root = root);
}

NCCL_API(ws_ncclResult, ncclSend, const void *send, size_t count, ws_ncclEnum type, int peer, WHERE)
{
    return TASK(NCCL_POINT_TO_POINT, .send = send, .root = peer, .is_send = true);
}

NCCL_API(ws_ncclResult, ncclRecv, void *receive, size_t count, ws_ncclEnum type, int peer, WHERE)
{
    return TASK(NCCL_POINT_TO_POINT, .receive = receive, .root = peer);
}
