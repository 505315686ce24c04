/* Groups (ncclGroupStart, ncclGroupEnd), and the launches of the kernels for calls. */
#include "nccl/nccl.h"

#include <stdlib.h>
#include <string.h>

struct later {
    ws_ncclResult (*act)(void *);
    void *argument;
    struct later *next;
};

static __thread int depth;
static __thread struct nccl_task *queued;
static __thread struct later *laters;

static unsigned channels(const struct nccl_task *task)
{
    size_t bytes = task->count * nccl_type_bytes(task->type);
    unsigned wanted = (unsigned)(bytes >> 18);
    return wanted < 1 ? 1 : wanted > 24 ? 24 : wanted;
}

static ws_ncclResult run_kernel(struct nccl_task *tasks)
{
    const struct nccl_driver *driver = nccl_driver();
    struct ws_ncclComm_st *comm = tasks->comm;
    struct nccl_launch *launch = malloc(sizeof(*launch));
    ws_CUfunction function;
    ws_CUenum capturing = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    if (!launch)
        return WS_ncclSystemError;
    driver->cuCtxPushCurrent(comm->context);
    driver->cuStreamIsCapturing(tasks->stream, &capturing);
    *launch = (struct nccl_launch){ tasks, capturing != WS_CU_STREAM_CAPTURE_STATUS_NONE };
    for (struct nccl_task *task = tasks; task && !launch->captured; task = task->next) {
        if (task->kind != NCCL_POINT_TO_POINT)
            task->number = comm->sequence++;
        else
            task->number = task->is_send ? comm->sent[task->root]++ : comm->received[task->root]++;
    }
    char arguments[4096] = { 0 };
    size_t size = sizeof(arguments);
    memcpy(arguments, &launch, sizeof(struct nccl_launch *));
    void *extra[] = { WS_CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, WS_CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                      WS_CU_LAUNCH_PARAM_END };
    ws_CUlaunchConfig config = { .gridDimX = channels(tasks),
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 640,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .hStream = tasks->stream };
    ws_CUresult result = driver->cuModuleGetFunction(&function, comm->module, nccl_kernel_name(tasks));
    if (result == WS_CUDA_SUCCESS)
        result = driver->cuLaunchKernelEx(&config, function, NULL, extra);
    driver->cuCtxPopCurrent(NULL);
    return result == WS_CUDA_SUCCESS ? WS_ncclSuccess : WS_ncclUnhandledCudaError;
}

static struct nccl_task *copy_of(const struct nccl_task *task)
{
    struct nccl_task *copy = malloc(sizeof(*copy));
    if (copy)
        *copy = *task;
    return copy;
}

ws_ncclResult nccl_submit(const struct nccl_task *task)
{
    struct nccl_task *copy = copy_of(task);
    if (!copy)
        return WS_ncclSystemError;
    copy->next = NULL;
    if (!depth)
        return run_kernel(copy);
    struct nccl_task **link = &queued;
    while (*link)
        link = &(*link)->next;
    *link = copy;
    return WS_ncclSuccess;
}

/* Calls act(argument) at the end of the group, or at once outside of a group. `act` waits for other ranks of a
 * communicator. If one thread calls for several ranks inside a group, a wait in its first call would never end. */
ws_ncclResult nccl_later(ws_ncclResult (*act)(void *), void *argument)
{
    if (!depth)
        return act(argument);
    struct later *later = malloc(sizeof(*later));
    if (!later)
        return WS_ncclSystemError;
    struct later **link = &laters;
    while (*link)
        link = &(*link)->next;
    *later = (struct later){ act, argument, NULL };
    *link = later;
    return WS_ncclSuccess;
}

NCCL_API(ws_ncclResult, ncclGroupStart, void)
{
    depth++;
    return WS_ncclSuccess;
}

static bool go_together(const struct nccl_task *a, const struct nccl_task *b)
{
    return a->kind == NCCL_POINT_TO_POINT && b->kind == NCCL_POINT_TO_POINT && a->comm == b->comm &&
           a->stream == b->stream;
}

/* Takes the first task (one NCCL call) off the queue, with all tasks that run in the same kernel. */
static struct nccl_task *next_kernel(void)
{
    struct nccl_task *first = queued, *last = first;
    queued = first->next;
    first->next = NULL;
    for (struct nccl_task **link = &queued; *link;) {
        struct nccl_task *task = *link;
        if (!go_together(first, task)) {
            link = &task->next;
            continue;
        }
        *link = task->next;
        task->next = NULL;
        last->next = task;
        last = task;
    }
    return first;
}

NCCL_API(ws_ncclResult, ncclGroupEnd, void)
{
    if (!depth)
        return WS_ncclInvalidUsage;
    if (--depth)
        return WS_ncclSuccess;
    ws_ncclResult result = WS_ncclSuccess;
    while (laters) {
        struct later *later = laters;
        laters = later->next;
        ws_ncclResult one = later->act(later->argument);
        result = result == WS_ncclSuccess ? one : result;
        free(later);
    }
    while (queued) {
        ws_ncclResult one = run_kernel(next_kernel());
        result = result == WS_ncclSuccess ? one : result;
    }
    return result;
}
