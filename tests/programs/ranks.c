/* Ranks that meet in communicators made in different ways:
 *
 *   ranks processes   four processes with one communicator of all, which is shrunk to a communicator without the last
 *                     rank, and then split into one communicator for each pair of ranks
 *   ranks devices     one process with two devices and a communicator of both, used in groups
 *
 * Each rank joins ROUNDS collectives of each of its communicators. */
#include "nccl_ranks.h"

enum { PROCESSES = 4, DEVICES = 2, ROUNDS = 5, COUNT = 1024 };

static void all_reduce(const struct gpu *gpu, ws_CUdeviceptr buffer, ws_ncclComm comm)
{
    works(ncclAllReduce((void *)buffer, (void *)buffer, COUNT, WS_ncclFloat32, WS_ncclSum, comm, gpu->stream));
}

static int one_process(int rank, const ws_ncclUniqueId *id, char **words)
{
    (void)words;
    struct gpu gpu;
    ws_ncclComm all, first, pair;
    int last = PROCESSES - 1;
    ws_CUdeviceptr buffer;
    gpu_open(&gpu, rank);
    MUST(cuMemAlloc_v2(&buffer, COUNT * sizeof(float)));
    works(ncclCommInitRank(&all, PROCESSES, *id, rank));
    if (rank != last)
        works(ncclCommShrink(all, &last, 1, &first, NULL, 0));
    works(ncclCommSplit(all, rank / 2, rank, &pair, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        all_reduce(&gpu, buffer, all);
        all_reduce(&gpu, buffer, pair);
    }
    MUST(cuStreamSynchronize(gpu.stream));
    works(ncclCommDestroy(pair));
    if (rank != last)
        works(ncclCommDestroy(first));
    works(ncclCommDestroy(all));
    return 0;
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
        return ranks_in_processes(PROCESSES, one_process, words);
    if (count == 2 && !strcmp(words[1], "devices"))
        return devices();
    fprintf(stderr, "usage: ranks processes|devices\n");
    return 2;
}
