/* Eight ranks that go round by round, until one of them hangs:
 *
 *   hanging sleep ROUND    from that round on, rank 5 does not join the collective
 *   hanging kernel ROUND   in that round, rank 5 launches a kernel that does not end
 *   hanging never ROUND    all ranks end well after that round, which they reach slowly
 *   hanging idle ROUND     after that round all ranks are idle for long */
#include <sys/wait.h>

#include "program.h"
#include "abi/nccl.h"

enum { RANKS = 8, HANGS = 5, COUNT = 1024, PAUSE_US = 100000, IDLE_S = 300 };

ws_ncclResult ncclGetUniqueId(ws_ncclUniqueId *id);
ws_ncclResult ncclCommInitRank(ws_ncclComm *comm, int size, ws_ncclUniqueId id, int rank);
ws_ncclResult ncclAllReduce(const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,
                            ws_ncclComm comm, ws_CUstream stream);

static void works(ws_ncclResult result)
{
    if (result)
        exit(91);
}

static int run_rank(int rank, const ws_ncclUniqueId *id, const char *how, int rounds)
{
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

/* CUDA does not work in children of a process that uses it. So rank 0, which makes the identifier, is a child. */
int main(int count, char **words)
{
    ws_ncclUniqueId id;
    int identifier[2], failed = 0;
    if (count != 3 || pipe(identifier))
        return 2;
    for (int rank = 0; rank < RANKS; rank++) {
        char number[16];
        if (fork())
            continue;
        snprintf(number, sizeof(number), "%d", rank);
        setenv("RANK", number, 1);
        if (!rank) {
            MUST(cuInit(0));
            works(ncclGetUniqueId(&id));
            for (int i = 1; i < RANKS; i++)
                if (write(identifier[1], &id, sizeof(id)) != sizeof(id))
                    exit(1);
        } else if (read(identifier[0], &id, sizeof(id)) != sizeof(id)) {
            exit(1);
        }
        exit(run_rank(rank, &id, words[1], atoi(words[2])));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}
