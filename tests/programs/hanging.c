/* Eight ranks that join a collective in each round. A round takes at least PAUSE_US (0.1 s). The first argument says
 * what happens in or after round ROUND:
 *
 *   hanging sleep ROUND    rank 5 sleeps for IDLE_S (300 s) before it joins the collective
 *   hanging kernel ROUND   rank 5 launches a kernel that runs for IDLE_S
 *   hanging never ROUND    no rank hangs: all end without an error after this round
 *   hanging idle ROUND     after this round all ranks are idle for IDLE_S
 *   hanging work ROUND     rank 5 computes on the host for WORK_S, then joins; all end without error
 *   hanging slow ROUND     rank 5 sleeps for SLOW_S before it joins; all make many more rounds */
#include <time.h>

#include "nccl_ranks.h"

enum { RANKS = 8, HANGS = 5, COUNT = 1024, PAUSE_US = 100000, IDLE_S = 300, WORK_S = 8, SLOW_S = 8 };

static void compute(int seconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec - begin.tv_sec < seconds);
}

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
    int last = strcmp(how, "slow") ? rounds : rounds + IDLE_S * (1000000 / PAUSE_US);
    for (int round = 1; round <= last; round++) {
        bool hangs = rank == HANGS && round == rounds;
        if (hangs && !strcmp(how, "sleep"))
            sleep(IDLE_S);
        if (hangs && !strcmp(how, "slow"))
            sleep(SLOW_S);
        if (hangs && !strcmp(how, "work"))
            compute(WORK_S);
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
