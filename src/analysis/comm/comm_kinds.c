#include <string.h>

#include "analysis/comm/comm.h"

/* Bus bandwidth divided by algorithm bandwidth, as nccl-tests define them. Algorithm bandwidth is size divided by
 * time. The factor depends on the operation and on the number of ranks. */
enum factor { FACTOR_ONE, FACTOR_ALL_REDUCE, FACTOR_SHARE };

static const struct operation {
    const char *function;
    /* text by which a kernel of this operation is recognized: the kernel's name contains it, in upper or lower case;
     * the first row whose text the name contains is used */
    const char *kernel;
    const char *name;
    enum factor factor;
    /* the call's `count` is the part of one rank, so the operation's size is `count` times the number of ranks */
    bool times_ranks;
    bool joint;
} operations[] = {
    { "ncclAllReduce", "allreduce", "all-reduce", FACTOR_ALL_REDUCE, false, true },
    { "ncclReduceScatter", "reducescatter", "reduce-scatter", FACTOR_SHARE, true, true },
    { "ncclAllGather", "allgather", "all-gather", FACTOR_SHARE, true, true },
    { "ncclAlltoAll", "alltoall", "all-to-all", FACTOR_SHARE, true, true },
    { NULL, "all_reduce", "all-reduce", FACTOR_ALL_REDUCE, false, true },
    { NULL, "cross_device_reduce", "all-reduce", FACTOR_ALL_REDUCE, false, true },
    { NULL, "reduce_scatter", "reduce-scatter", FACTOR_SHARE, true, true },
    { NULL, "all_gather", "all-gather", FACTOR_SHARE, true, true },
    { "ncclBroadcast", "broadcast", "broadcast", FACTOR_ONE, false, false },
    { "ncclBcast", NULL, "broadcast", FACTOR_ONE, false, false },
    { "ncclSend", NULL, "send", FACTOR_ONE, false, false },
    { "ncclRecv", NULL, "receive", FACTOR_ONE, false, false },
    { "ncclGather", NULL, "gather", FACTOR_SHARE, true, false },
    { "ncclScatter", NULL, "scatter", FACTOR_SHARE, true, false },
    { NULL, "sendrecv", "send and receive", FACTOR_ONE, false, false },
    { "ncclReduce", "nccldevkernel_reduce", "reduce", FACTOR_ONE, false, false },
    { NULL, "ncclkernel_reduce", "reduce", FACTOR_ONE, false, false },
    { NULL, NULL, "several in a group", FACTOR_ONE, false, false },
    { NULL, NULL, "other", FACTOR_ONE, false, false },
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]), SEVERAL = OPERATIONS - 2, OTHER = OPERATIONS - 1 };

/* Rows with the same name are one operation. The operation's index is the index of the first row with this name. */
static ws_comm_operation first_of_name(uint32_t at)
{
    uint32_t first = 0;
    while (strcmp(operations[first].name, operations[at].name))
        first++;
    return first;
}

ws_comm_operation ws_comm_by_function(const char *function)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        if (operations[i].function && !strcmp(operations[i].function, function))
            return first_of_name(i);
    return OTHER;
}

ws_comm_operation ws_comm_by_kernel(const char *name)
{
    for (uint32_t i = 0; i < OPERATIONS; i++)
        if (operations[i].kernel && strcasestr(name, operations[i].kernel))
            return first_of_name(i);
    return OTHER;
}

static bool is_point_to_point(ws_comm_operation operation)
{
    const char *function = operations[operation].function;
    return function && (!strcmp(function, "ncclSend") || !strcmp(function, "ncclRecv"));
}

ws_comm_operation ws_comm_together(ws_comm_operation a, ws_comm_operation b)
{
    static const char kernel[] = "sendrecv";
    if (a == b)
        return a;
    ws_comm_operation both = ws_comm_by_kernel(kernel);
    return (a == both || is_point_to_point(a)) && (b == both || is_point_to_point(b)) ? both : SEVERAL;
}

const char *ws_comm_name(ws_comm_operation operation)
{
    return operations[operation].name;
}

bool ws_comm_is_joint(ws_comm_operation operation)
{
    return operations[operation].joint;
}

static unsigned type_bytes(uint32_t datatype)
{
    /* in the order of ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16, two types of
     * fp8 */
    static const uint8_t bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
    return datatype < sizeof(bytes) ? bytes[datatype] : 1;
}

uint64_t ws_comm_bytes(ws_comm_operation operation, uint64_t count, uint32_t datatype, uint32_t ranks)
{
    uint64_t bytes,
        factor = (uint64_t)type_bytes(datatype) * (operations[operation].times_ranks && ranks ? ranks : 1);
    return __builtin_mul_overflow(count, factor, &bytes) || bytes > INT64_MAX ? INT64_MAX : bytes;
}

double ws_comm_bus_factor(ws_comm_operation operation, uint32_t ranks)
{
    enum factor factor = operations[operation].factor;
    if (factor == FACTOR_ONE || !ranks)
        return 1;
    double share = (double)(ranks - 1) / ranks;
    return factor == FACTOR_ALL_REDUCE ? 2 * share : share;
}
