/* Communicators: creating, splitting, shrinking and destroying them. */
#include "nccl/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "simgpu.h"

/* Longest time that a rank waits until the other ranks have written to the shared file that they are there. */
enum { MEETING_SECONDS = 60 };

static struct nccl_driver driver;
static bool driver_found;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return;
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))dlsym(library, "cuInit");
    ws_CUresult (*get)(const char *, void **, int, uint64_t, ws_CUenum *) =
        (ws_CUresult(*)(const char *, void **, int, uint64_t, ws_CUenum *))dlsym(library, "cuGetProcAddress_v2");
    int (*polled)(const char *, simgpu_begin, simgpu_run, simgpu_poll) =
        (int (*)(const char *, simgpu_begin, simgpu_run, simgpu_poll))dlsym(library, "simgpuRegisterPolledKernel");
    if (!init || !get || !polled || init(0) != WS_CUDA_SUCCESS)
        return;
#define FIND(name, version)                                                                     \
    if (get(#name, (void **)&driver.name, version, 0, NULL) != WS_CUDA_SUCCESS || !driver.name) \
    return
    FIND(cuCtxGetCurrent, 12000);
    FIND(cuCtxPushCurrent, 12000);
    FIND(cuCtxPopCurrent, 12000);
    FIND(cuCtxGetDevice, 12000);
    FIND(cuDevicePrimaryCtxRetain, 12000);
    FIND(cuModuleLoadData, 12000);
    FIND(cuModuleUnload, 12000);
    FIND(cuModuleGetFunction, 12000);
    FIND(cuLaunchKernelEx, 12000);
    FIND(cuStreamIsCapturing, 12000);
    FIND(cuMemAlloc, 12000);
    FIND(cuMemFree, 12000);
#undef FIND
    driver_found = polled("ncclDevKernel_*", nccl_begin, nccl_run, nccl_poll) == 0;
}

const struct nccl_driver *nccl_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return driver_found ? &driver : NULL;
}

static void rest(void)
{
    nanosleep(&(struct timespec){ 0, 200000 }, NULL);
}

static ws_ncclResult wait_for_all(void *argument)
{
    struct ws_ncclComm_st *comm = argument;
    time_t until = time(NULL) + MEETING_SECONDS;
    while (atomic_load(&comm->shared->joined) < comm->size) {
        if (time(NULL) > until)
            return WS_ncclSystemError;
        rest();
    }
    return WS_ncclSuccess;
}

static ws_ncclResult bind(struct ws_ncclComm_st *comm)
{
    const struct nccl_driver *found = nccl_driver();
    if (!found)
        return WS_ncclUnhandledCudaError;
    if (found->cuCtxGetCurrent(&comm->context) != WS_CUDA_SUCCESS)
        return WS_ncclUnhandledCudaError;
    if (!comm->context && found->cuDevicePrimaryCtxRetain(&comm->context, 0) != WS_CUDA_SUCCESS)
        return WS_ncclUnhandledCudaError;
    char *image = nccl_kernel_image();
    if (!image)
        return WS_ncclSystemError;
    found->cuCtxPushCurrent(comm->context);
    ws_CUresult result = found->cuCtxGetDevice(&comm->device);
    if (result == WS_CUDA_SUCCESS)
        result = found->cuModuleLoadData(&comm->module, image);
    found->cuCtxPopCurrent(NULL);
    free(image);
    return result == WS_CUDA_SUCCESS ? WS_ncclSuccess : WS_ncclUnhandledCudaError;
}

/* Creates this rank's part of the communicator with this name. Does not wait for the other ranks. */
static ws_ncclResult comm_new(ws_ncclComm *made, const char *name, int size, int rank)
{
    if (!made || size < 1 || size > NCCL_RANKS || rank < 0 || rank >= size)
        return WS_ncclInvalidArgument;
    struct ws_ncclComm_st *comm = calloc(1, sizeof(*comm));
    if (!comm)
        return WS_ncclSystemError;
    comm->size = size;
    comm->rank = rank;
    snprintf(comm->path, sizeof(comm->path), "%s/%s", nccl_folder(), name);
    ws_ncclResult result = bind(comm);
    if (result == WS_ncclSuccess && !(comm->shared = nccl_meet(comm->path)))
        result = WS_ncclSystemError;
    if (result != WS_ncclSuccess) {
        free(comm);
        return result;
    }
    *made = comm;
    return WS_ncclSuccess;
}

static ws_ncclResult comm_init(ws_ncclComm *made, int size, const ws_ncclUniqueId *id, int rank)
{
    if (strncmp(id->internal, "simgpu-nccl-", 12) != 0 || strchr(id->internal, '/'))
        return WS_ncclInvalidArgument;
    ws_ncclResult result = comm_new(made, id->internal, size, rank);
    return result == WS_ncclSuccess ? nccl_later(wait_for_all, *made) : result;
}

NCCL_API(ws_ncclResult, ncclGetUniqueId, ws_ncclUniqueId *id)
{
    static atomic_uint count;
    struct timespec now;
    if (!id)
        return WS_ncclInvalidArgument;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "simgpu-nccl-%d-%llx-%u", (int)getpid(),
             (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec,
             atomic_fetch_add(&count, 1));
    return WS_ncclSuccess;
}

NCCL_API(ws_ncclResult, ncclCommInitRank, ws_ncclComm *comm, int size, ws_ncclUniqueId id, int rank)
{
    return comm_init(comm, size, &id, rank);
}

NCCL_API(ws_ncclResult, ncclCommInitRankConfig, ws_ncclComm *comm, int size, ws_ncclUniqueId id, int rank,
         ws_ncclConfig *config)
{
    (void)config;
    return comm_init(comm, size, &id, rank);
}

NCCL_API(ws_ncclResult, ncclCommInitRankScalable, ws_ncclComm *comm, int size, int rank, int id_count,
         ws_ncclUniqueId *ids, ws_ncclConfig *config)
{
    (void)config;
    return id_count > 0 && ids ? comm_init(comm, size, &ids[0], rank) : WS_ncclInvalidArgument;
}

/* Makes one communicator for each device, all in this process. */
NCCL_API(ws_ncclResult, ncclCommInitAll, ws_ncclComm *comms, int size, const int *devices)
{
    ws_ncclUniqueId id;
    const struct nccl_driver *found = nccl_driver();
    if (!comms || size < 1)
        return WS_ncclInvalidArgument;
    if (!found)
        return WS_ncclUnhandledCudaError;
    ws_ncclResult result = pncclGetUniqueId(&id);
    for (int rank = 0; rank < size && result == WS_ncclSuccess; rank++) {
        ws_CUcontext context;
        if (found->cuDevicePrimaryCtxRetain(&context, devices ? devices[rank] : rank) != WS_CUDA_SUCCESS)
            return WS_ncclInvalidArgument;
        found->cuCtxPushCurrent(context);
        result = comm_new(&comms[rank], id.internal, size, rank);
        found->cuCtxPopCurrent(NULL);
    }
    return result;
}

struct split {
    struct ws_ncclComm_st *comm;
    ws_ncclComm *made;
    int color, key;
    uint64_t number;
};

/* Ends an ncclCommSplit: waits until all ranks have given their colours. The ranks with one colour, ordered by key,
 * form a new communicator. */
static ws_ncclResult split_finish(void *argument)
{
    struct split split = *(struct split *)argument;
    struct ws_ncclComm_st *comm = split.comm;
    int size = 0, rank = 0;
    free(argument);
    time_t until = time(NULL) + MEETING_SECONDS;
    for (int other = 0; other < comm->size; other++) {
        while (atomic_load(&comm->shared->split[other].number) < split.number) {
            if (time(NULL) > until)
                return WS_ncclSystemError;
            rest();
        }
        if (atomic_load(&comm->shared->split[other].color) != split.color)
            continue;
        int key = atomic_load(&comm->shared->split[other].key);
        size++;
        rank += key < split.key || (key == split.key && other < comm->rank);
    }
    *split.made = NULL;
    if (split.color < 0)
        return WS_ncclSuccess;
    char name[NCCL_PATH];
    snprintf(name, sizeof(name), "%s.s%llu.%d", strrchr(comm->path, '/') + 1, (unsigned long long)split.number,
             split.color);
    const struct nccl_driver *found = nccl_driver();
    found->cuCtxPushCurrent(comm->context);
    ws_ncclResult result = comm_new(split.made, name, size, rank);
    found->cuCtxPopCurrent(NULL);
    return result;
}

static ws_ncclResult split_begin(struct ws_ncclComm_st *comm, int color, int key, ws_ncclComm *made)
{
    struct split *split = malloc(sizeof(*split));
    if (!comm || !comm->shared || !made || !split) {
        free(split);
        return WS_ncclInvalidArgument;
    }
    *split = (struct split){ comm, made, color, key, ++comm->splits };
    atomic_store(&comm->shared->split[comm->rank].color, color);
    atomic_store(&comm->shared->split[comm->rank].key, key);
    atomic_store(&comm->shared->split[comm->rank].number, split->number);
    return nccl_later(split_finish, split);
}

NCCL_API(ws_ncclResult, ncclCommSplit, ws_ncclComm comm, int color, int key, ws_ncclComm *made, ws_ncclConfig *config)
{
    (void)config;
    return split_begin(comm, color, key, made);
}

/* This call cannot wait for all ranks, since the excluded ranks do not call it. The call also needs nothing from the
 * excluded ranks: every rank that calls passes their list as an argument. */
NCCL_API(ws_ncclResult, ncclCommShrink, ws_ncclComm comm, int *excluded, int excluded_count, ws_ncclComm *made,
         ws_ncclConfig *config, int flags)
{
    (void)config, (void)flags;
    if (!comm || !comm->shared || !made || excluded_count < 1 || !excluded)
        return WS_ncclInvalidArgument;
    int rank = comm->rank;
    for (int i = 0; i < excluded_count; i++) {
        if (excluded[i] == comm->rank)
            return WS_ncclInvalidArgument;
        rank -= excluded[i] < comm->rank;
    }
    char name[NCCL_PATH];
    snprintf(name, sizeof(name), "%s.k%llu", strrchr(comm->path, '/') + 1, (unsigned long long)++comm->shrinks);
    const struct nccl_driver *found = nccl_driver();
    found->cuCtxPushCurrent(comm->context);
    ws_ncclResult result = comm_new(made, name, comm->size - excluded_count, rank);
    found->cuCtxPopCurrent(NULL);
    return result;
}

NCCL_API(ws_ncclResult, ncclCommFinalize, ws_ncclComm comm)
{
    return comm && comm->shared ? WS_ncclSuccess : WS_ncclInvalidArgument;
}

static ws_ncclResult comm_end(struct ws_ncclComm_st *comm)
{
    if (!comm || !comm->shared)
        return WS_ncclInvalidArgument;
    const struct nccl_driver *found = nccl_driver();
    /* cuModuleUnload waits for the communicator's kernels. */
    found->cuCtxPushCurrent(comm->context);
    found->cuModuleUnload(comm->module);
    found->cuCtxPopCurrent(NULL);
    nccl_part(comm);
    free(comm);
    return WS_ncclSuccess;
}

NCCL_API(ws_ncclResult, ncclCommDestroy, ws_ncclComm comm)
{
    return comm_end(comm);
}

NCCL_API(ws_ncclResult, ncclCommAbort, ws_ncclComm comm)
{
    if (comm)
        atomic_store(&comm->aborted, true);
    return comm_end(comm);
}
