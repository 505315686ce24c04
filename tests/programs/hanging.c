/* Eight ranks that go round by round, until one of them hangs:
 *
 *   hanging sleep ROUND    from that round on, rank 5 does not join the collective
 *   hanging kernel ROUND   in that round, rank 5 launches a kernel that does not end
 *   hanging never ROUND    all ranks end well after that round, which they reach slowly
 *   hanging idle ROUND     after that round all ranks are idle for long */
#include "nccl_ranks.h"

enum { RANKS = 8, HANGS = 5, COUNT = 1024, PAUSE_US = 100000, IDLE_S = 300 };

static int run_rank(int rank, const ws_ncclUniqueId *id, char **words)
{
    const char *how = words[1];
    int rounds = atoi(words[2]);
    struct gpu gpu;
    ws_ncclComm comm;
    ws_CUdeviceptr buffer;
    gpu_open(&gpu, rank);
    MUST(cuMemAlloc_v2(&buffer, COUNT * sizeof(float)));
    works(ncclCommInitRank(&comm, RANKS, *id, rank));
    for (int round = 1; round <= rounds; round++) {
        bool hangs = rank == HANGS && round == rounds;
        if (hangs && !strcmp(how, "sleep"))
            sleep(IDLE_S);
        spin(gpu.spin, gpu.stream, hangs && !strcmp(how, "kernel") ? (uint64_t)IDLE_S * 1000000000 : 1000000);
        works(ncclAllReduce((void *)buffer, (void *)buffer, COUNT, WS_ncclFloat32, WS_ncclSum, comm, gpu.stream));
        MUST(cuStreamSynchronize(gpu.stream));
        usleep(PAUSE_US);
    }
    if (!strcmp(how, "idle"))
        sleep(IDLE_S);
    return 0;
}

int main(int count, char **words)
{
    return count == 3 ? ranks_in_processes(RANKS, run_rank, words) : 2;
}
