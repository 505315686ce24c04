/* Ranks that meet in communicators made in different ways:
 *
 *   ranks processes   four processes with one communicator, and a communicator split from it for each pair
 *   ranks devices     one process with two devices and a communicator of both, used in groups
 *
 * Each rank joins ROUNDS collectives of each of its communicators. */
#include <sys/wait.h>

#include "program.h"
#include "abi/nccl.h"

enum { PROCESSES = 4, DEVICES = 2, ROUNDS = 5, COUNT = 1024 };

#define NCCL_CALLS(X)                                                                                         \
    X(ncclGetUniqueId, (ws_ncclUniqueId * id))                                                                \
    X(ncclCommInitRank, (ws_ncclComm * comm, int size, ws_ncclUniqueId id, int rank))                         \
    X(ncclCommInitAll, (ws_ncclComm * comms, int count, const int *devices))                                  \
    X(ncclCommSplit, (ws_ncclComm comm, int color, int key, ws_ncclComm *made, ws_ncclConfig *config))        \
    X(ncclCommDestroy, (ws_ncclComm comm))                                                                    \
    X(ncclGroupStart, (void))                                                                                 \
    X(ncclGroupEnd, (void))                                                                                   \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction, \
                      ws_ncclComm comm, ws_CUstream stream))

#define DECLARE_NCCL(name, parameters) ws_ncclResult name parameters;
NCCL_CALLS(DECLARE_NCCL)
#undef DECLARE_NCCL

static void works(ws_ncclResult result)
{
    if (result)
        exit(91);
}

static void all_reduce(const struct gpu *gpu, ws_CUdeviceptr buffer, ws_ncclComm comm)
{
    works(ncclAllReduce((void *)buffer, (void *)buffer, COUNT, WS_ncclFloat32, WS_ncclSum, comm, gpu->stream));
}

static int one_process(int rank, const ws_ncclUniqueId *id)
{
    struct gpu gpu;
    ws_ncclComm all, pair;
    ws_CUdeviceptr buffer;
    gpu_open(&gpu, rank);
    MUST(cuMemAlloc_v2(&buffer, COUNT * sizeof(float)));
    works(ncclCommInitRank(&all, PROCESSES, *id, rank));
    works(ncclCommSplit(all, rank / 2, rank, &pair, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        all_reduce(&gpu, buffer, all);
        all_reduce(&gpu, buffer, pair);
    }
    MUST(cuStreamSynchronize(gpu.stream));
    works(ncclCommDestroy(pair));
    works(ncclCommDestroy(all));
    return 0;
}

/* CUDA does not work in children of a process that uses it. So rank 0, which makes the identifier, is a child as
 * well. */
static int processes(void)
{
    ws_ncclUniqueId id;
    int identifier[2], failed = 0;
    if (pipe(identifier))
        return 1;
    for (int rank = 0; rank < PROCESSES; rank++) {
        char number[16];
        if (fork())
            continue;
        snprintf(number, sizeof(number), "%d", rank);
        setenv("RANK", number, 1);
        if (!rank) {
            MUST(cuInit(0));
            works(ncclGetUniqueId(&id));
            for (int i = 1; i < PROCESSES; i++)
                if (write(identifier[1], &id, sizeof(id)) != sizeof(id))
                    exit(1);
        } else if (read(identifier[0], &id, sizeof(id)) != sizeof(id)) {
            exit(1);
        }
        exit(one_process(rank, &id));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}

static int devices(void)
{
    struct gpu gpus[DEVICES];
    ws_ncclComm comms[DEVICES];
    ws_CUdeviceptr buffers[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        gpu_open(&gpus[i], i);
        MUST(cuMemAlloc_v2(&buffers[i], COUNT * sizeof(float)));
    }
    works(ncclCommInitAll(comms, DEVICES, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        works(ncclGroupStart());
        for (int i = 0; i < DEVICES; i++)
            all_reduce(&gpus[i], buffers[i], comms[i]);
        works(ncclGroupEnd());
    }
    for (int i = 0; i < DEVICES; i++)
        MUST(cuStreamSynchronize(gpus[i].stream));
    for (int i = 0; i < DEVICES; i++)
        works(ncclCommDestroy(comms[i]));
    return 0;
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "processes"))
        return processes();
    if (count == 2 && !strcmp(words[1], "devices"))
        return devices();
    fprintf(stderr, "usage: ranks processes|devices\n");
    return 2;
}
