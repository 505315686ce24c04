/* Ranks of NCCL, for the programs of this folder: declarations of NCCL's functions, and a process for each rank. */
#ifndef WALLSHIM_TESTS_NCCL_RANKS_H
#define WALLSHIM_TESTS_NCCL_RANKS_H

#include <sys/wait.h>

#include "program.h"
#include "abi/nccl.h"

#define NCCL_CALLS(X)                                                                                             \
    X(ncclGetUniqueId, (ws_ncclUniqueId * id))                                                                    \
    X(ncclCommInitRank, (ws_ncclComm * comm, int size, ws_ncclUniqueId id, int rank))                             \
    X(ncclCommInitAll, (ws_ncclComm * comms, int count, const int *devices))                                      \
    X(ncclCommSplit, (ws_ncclComm comm, int color, int key, ws_ncclComm *made, ws_ncclConfig *config))            \
    X(ncclCommShrink,                                                                                             \
      (ws_ncclComm comm, int *excluded, int excluded_count, ws_ncclComm *made, ws_ncclConfig *config, int flags)) \
    X(ncclCommDestroy, (ws_ncclComm comm))                                                                        \
    X(ncclGroupStart, (void))                                                                                     \
    X(ncclGroupEnd, (void))                                                                                       \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,     \
                      ws_ncclComm comm, ws_CUstream stream))

#define DECLARE_NCCL(name, parameters) ws_ncclResult name parameters;
NCCL_CALLS(DECLARE_NCCL)
#undef DECLARE_NCCL

static inline void works(ws_ncclResult result)
{
    if (result)
        exit(91);
}

/* Runs a process for each rank. CUDA does not work in children of a process that uses CUDA. So rank 0, which makes
 * NCCL's unique id, is a child as well. Returns the exit status for the program: 0 if all ranks ended with status
 * 0. */
static inline int ranks_in_processes(int ranks, int (*run)(int rank, const ws_ncclUniqueId *id, char **words),
                                     char **words)
{
    ws_ncclUniqueId id;
    int identifier[2], failed = 0;
    if (pipe(identifier))
        return 1;
    for (int rank = 0; rank < ranks; rank++) {
        char number[16];
        if (fork())
            continue;
        snprintf(number, sizeof(number), "%d", rank);
        setenv("RANK", number, 1);
        if (!rank) {
            MUST(cuInit(0));
            works(ncclGetUniqueId(&id));
            for (int i = 1; i < ranks; i++)
                if (write(identifier[1], &id, sizeof(id)) != sizeof(id))
                    exit(1);
        } else if (read(identifier[0], &id, sizeof(id)) != sizeof(id)) {
            exit(1);
        }
        exit(run(rank, &id, words));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}

#endif
