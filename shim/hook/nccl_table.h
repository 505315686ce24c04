/* The wrapped NCCL functions. Include this file like driver_table.h, with this macro defined:
 *
 *   NCCL_ROW(symbol, parameters, arguments, before, after)
 *
 * NCCL exports each function under two names: a weak symbol (nccl…) that tools may replace, and a strong one
 * (pnccl…). The shim calls the strong one. */
#ifndef NCCL_ROW
#error "define NCCL_ROW before including nccl_table.h"
#endif
/* clang-format off */
NCCL_ROW(ncclAllReduce,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, ws_ncclEnum op, ws_ncclComm comm,
     ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, op, comm, stream),
    NOTHING, collective(&call, count, datatype, op, NO_PEER, comm, stream))
NCCL_ROW(ncclReduce,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, ws_ncclEnum op, int root,
     ws_ncclComm comm, ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, op, root, comm, stream),
    NOTHING, collective(&call, count, datatype, op, root, comm, stream))
NCCL_ROW(ncclBroadcast,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, int root, ws_ncclComm comm,
     ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, root, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, root, comm, stream))
NCCL_ROW(ncclBcast,
    (void *buff, size_t count, ws_ncclEnum datatype, int root, ws_ncclComm comm, ws_CUstream stream),
    (buff, count, datatype, root, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, root, comm, stream))
NCCL_ROW(ncclAllGather,
    (const void *sendbuff, void *recvbuff, size_t sendcount, ws_ncclEnum datatype, ws_ncclComm comm, ws_CUstream stream),
    (sendbuff, recvbuff, sendcount, datatype, comm, stream),
    NOTHING, collective(&call, sendcount, datatype, 0, NO_PEER, comm, stream))
NCCL_ROW(ncclReduceScatter,
    (const void *sendbuff, void *recvbuff, size_t recvcount, ws_ncclEnum datatype, ws_ncclEnum op, ws_ncclComm comm,
     ws_CUstream stream),
    (sendbuff, recvbuff, recvcount, datatype, op, comm, stream),
    NOTHING, collective(&call, recvcount, datatype, op, NO_PEER, comm, stream))
NCCL_ROW(ncclAlltoAll,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, ws_ncclComm comm, ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, NO_PEER, comm, stream))
NCCL_ROW(ncclGather,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, int root, ws_ncclComm comm,
     ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, root, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, root, comm, stream))
NCCL_ROW(ncclScatter,
    (const void *sendbuff, void *recvbuff, size_t count, ws_ncclEnum datatype, int root, ws_ncclComm comm,
     ws_CUstream stream),
    (sendbuff, recvbuff, count, datatype, root, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, root, comm, stream))
NCCL_ROW(ncclSend,
    (const void *sendbuff, size_t count, ws_ncclEnum datatype, int peer, ws_ncclComm comm, ws_CUstream stream),
    (sendbuff, count, datatype, peer, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, peer, comm, stream))
NCCL_ROW(ncclRecv,
    (void *recvbuff, size_t count, ws_ncclEnum datatype, int peer, ws_ncclComm comm, ws_CUstream stream),
    (recvbuff, count, datatype, peer, comm, stream),
    NOTHING, collective(&call, count, datatype, 0, peer, comm, stream))
NCCL_ROW(ncclGroupStart, (void), (), group_started(&call), NOTHING)
NCCL_ROW(ncclGroupEnd, (void), (), NOTHING, group_ended(&call))
NCCL_ROW(ncclCommInitRank,
    (ws_ncclComm *comm, int nranks, ws_ncclUniqueId id, int rank), (comm, nranks, id, rank),
    NOTHING, comm_made(&call, comm, nranks, rank, &id))
NCCL_ROW(ncclCommInitRankConfig,
    (ws_ncclComm *comm, int nranks, ws_ncclUniqueId id, int rank, ws_ncclConfig *config),
    (comm, nranks, id, rank, config),
    NOTHING, comm_made(&call, comm, nranks, rank, &id))
NCCL_ROW(ncclCommInitRankScalable,
    (ws_ncclComm *comm, int nranks, int rank, int id_count, ws_ncclUniqueId *ids, ws_ncclConfig *config),
    (comm, nranks, rank, id_count, ids, config),
    NOTHING, comm_made(&call, comm, nranks, rank, ids))
NCCL_ROW(ncclCommInitAll,
    (ws_ncclComm *comms, int device_count, const int *devices), (comms, device_count, devices),
    NOTHING, comms_made(&call, comms, device_count, devices))
NCCL_ROW(ncclCommSplit,
    (ws_ncclComm comm, int color, int key, ws_ncclComm *made, ws_ncclConfig *config), (comm, color, key, made, config),
    NOTHING, comm_derived(&call, comm, BY_SPLIT, (uint64_t)color, made))
NCCL_ROW(ncclCommShrink,
    (ws_ncclComm comm, int *excluded, int excluded_count, ws_ncclComm *made, ws_ncclConfig *config, int flags),
    (comm, excluded, excluded_count, made, config, flags),
    NOTHING, comm_derived(&call, comm, BY_SHRINK, excluded_hash(excluded, excluded_count), made))
NCCL_ROW(ncclCommFinalize, (ws_ncclComm comm), (comm), NOTHING, comm_call(&call, comm))
NCCL_ROW(ncclCommDestroy, (ws_ncclComm comm), (comm), comm_ending(&call, comm), comm_call(&call, comm))
NCCL_ROW(ncclCommAbort, (ws_ncclComm comm), (comm), comm_ending(&call, comm), comm_call(&call, comm))
/* clang-format on */
#undef NCCL_ROW
