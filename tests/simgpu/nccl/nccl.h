/* The simulated NCCL: declarations that its files share.
 *
 * Ranks meet in a shared file in $TMPDIR, named after the unique id. A collective is a kernel of the simulated
 * driver. When it begins on a rank's device, the rank writes its data into a file of its own and its arrival into the
 * shared file. When all ranks have arrived, the kernel's end is known. When it ends, each rank computes its result
 * from the files of all ranks. */
#ifndef SIMGPU_NCCL_H
#define SIMGPU_NCCL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "abi/nccl.h"

enum { NCCL_RANKS = 64, NCCL_SLOTS = 256, NCCL_PAIR_SLOTS = 16, NCCL_PATH = 512 };

enum nccl_kind {
    NCCL_ALL_REDUCE,
    NCCL_REDUCE,
    NCCL_REDUCE_SCATTER,
    NCCL_ALL_GATHER,
    NCCL_BROADCAST,
    NCCL_ALL_TO_ALL,
    NCCL_GATHER,
    NCCL_SCATTER,
    NCCL_POINT_TO_POINT,
};

/* The state of one collective in the shared file. arrived[rank]: the collective's number plus 1 after the rank has
 * arrived. start[rank]: when the rank arrived. taken: how many ranks have computed their result. */
struct nccl_slot {
    _Atomic uint64_t arrived[NCCL_RANKS];
    _Atomic int64_t start[NCCL_RANKS];
    atomic_int taken;
};

struct nccl_pair {
    /* The transfer with the number N uses index N % NCCL_PAIR_SLOTS. sent: N + 1 after the transfer's send has begun.
     * received: N + 1 after its receive has begun. */
    _Atomic uint64_t sent[NCCL_PAIR_SLOTS], received[NCCL_PAIR_SLOTS];
    _Atomic int64_t send_start[NCCL_PAIR_SLOTS], receive_start[NCCL_PAIR_SLOTS];
};

struct nccl_shared {
    atomic_int joined, left;
    struct {
        _Atomic uint64_t number; /* how many times this rank has called ncclCommSplit */
        atomic_int color, key;
    } split[NCCL_RANKS];
    struct nccl_slot slots[NCCL_SLOTS];
    struct nccl_pair pairs[NCCL_RANKS][NCCL_RANKS]; /* indexed by sending rank, then receiving rank */
};

struct ws_ncclComm_st {
    char path[NCCL_PATH];
    struct nccl_shared *shared;
    int rank, size, device;
    ws_CUcontext context;
    ws_CUmodule module;
    uint64_t sequence, splits, shrinks;
    uint64_t sent[NCCL_RANKS], received[NCCL_RANKS];
    atomic_bool aborted;
};

/* One NCCL call that the program made. */
struct nccl_task {
    struct ws_ncclComm_st *comm;
    enum nccl_kind kind;
    const void *send;
    void *receive;
    size_t count;
    ws_ncclEnum type, reduction;
    int root; /* the root rank, or the other rank of a send or receive */
    bool is_send;
    ws_CUstream stream;
    uint64_t number; /* the call's number among the calls of its communicator; of a send or receive: among those of
                        its pair of ranks */
    struct nccl_task *next; /* the next task that runs in the same kernel */
};

/* The work of one kernel: a collective, or the sends and receives of a group. */
struct nccl_launch {
    struct nccl_task *tasks;
    /* the launch is part of a graph, which may run many times: tasks get their numbers when the kernel begins */
    bool captured;
};

/* The driver's functions, looked up in the same way as by the real NCCL. */
struct nccl_driver {
    ws_CUresult (*cuCtxGetCurrent)(ws_CUcontext *);
    ws_CUresult (*cuCtxPushCurrent)(ws_CUcontext);
    ws_CUresult (*cuCtxPopCurrent)(ws_CUcontext *);
    ws_CUresult (*cuCtxGetDevice)(ws_CUdevice *);
    ws_CUresult (*cuDevicePrimaryCtxRetain)(ws_CUcontext *, ws_CUdevice);
    ws_CUresult (*cuModuleLoadData)(ws_CUmodule *, const void *);
    ws_CUresult (*cuModuleUnload)(ws_CUmodule);
    ws_CUresult (*cuModuleGetFunction)(ws_CUfunction *, ws_CUmodule, const char *);
    ws_CUresult (*cuLaunchKernelEx)(const ws_CUlaunchConfig *, ws_CUfunction, void **, void **);
    ws_CUresult (*cuStreamIsCapturing)(ws_CUstream, ws_CUenum *);
    ws_CUresult (*cuMemAlloc)(ws_CUdeviceptr *, size_t);
    ws_CUresult (*cuMemFree)(ws_CUdeviceptr);
};
const struct nccl_driver *nccl_driver(void); /* NULL: there is no driver, or it is not the simulated one */

/* names.c */
const char *nccl_kernel_name(const struct nccl_task *task);
char *nccl_kernel_image(void);

/* group.c */
ws_ncclResult nccl_submit(const struct nccl_task *task);
ws_ncclResult nccl_later(ws_ncclResult (*act)(void *), void *argument);

/* transfer.c: begin, poll and run of the kernels, called by the simulated driver. */
void nccl_begin(void **parameters, int64_t start);
int64_t nccl_poll(void **parameters, int64_t start);
void nccl_run(void **parameters, const unsigned grid[3], const unsigned block[3]);

/* reduce.c */
size_t nccl_type_bytes(ws_ncclEnum type); /* 0: unknown type */
void nccl_reduce(void *into, const void *from, size_t count, ws_ncclEnum type, ws_ncclEnum reduction);
void nccl_divide(void *values, size_t count, ws_ncclEnum type, int by);

/* meeting.c */
struct nccl_shared *nccl_meet(const char *path);
void nccl_part(struct ws_ncclComm_st *comm);
const char *nccl_folder(void);

#define NCCL_EXPORT __attribute__((visibility("default")))

/* Like the real NCCL, exports each function under two names: pNAME, and NAME as a weak alias. */
#define NCCL_API(type, name, ...)                                               \
    NCCL_EXPORT type p##name(__VA_ARGS__);                                      \
    NCCL_EXPORT type name(__VA_ARGS__) __attribute__((weak, alias("p" #name))); \
    NCCL_EXPORT type p##name(__VA_ARGS__)

#endif
