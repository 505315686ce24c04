/* The work of a collective's kernel: it writes its rank's data, waits for the other ranks, and computes the result.
 */
#include "nccl/nccl.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The fixed part of a collective's duration, and the default speed of the link between devices in bytes per ns. */
enum { COLLECTIVE_NS = 8000, LINK = 450 };

static struct {
    double bytes_per_ns;
    bool no_data; /* collectives take their time but move no data (for sizes that would keep the host too long) */
} link_model;

static void read_environment(void)
{
    const char *speed = getenv("SIMGPU_LINK_GB_S"), *data = getenv("SIMGPU_COLLECTIVE_DATA");
    double value = speed ? strtod(speed, NULL) : 0;
    link_model.bytes_per_ns = value > 0 ? value : LINK;
    link_model.no_data = data && !strcmp(data, "0");
}

static void link_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

static struct nccl_launch *launch_of(void **parameters)
{
    struct nccl_launch *launch;
    memcpy(&launch, parameters[0], sizeof(struct nccl_launch *));
    return launch;
}

static size_t bytes_of(const struct nccl_task *task)
{
    return task->count * nccl_type_bytes(task->type);
}

/* Bytes that this rank writes for the other ranks to read. */
static size_t given_bytes(const struct nccl_task *task)
{
    const struct ws_ncclComm_st *comm = task->comm;
    size_t bytes = bytes_of(task);
    switch (task->kind) {
    case NCCL_REDUCE_SCATTER:
    case NCCL_ALL_TO_ALL:
        return bytes * (size_t)comm->size;
    case NCCL_BROADCAST:
        return comm->rank == task->root ? bytes : 0;
    case NCCL_SCATTER:
        return comm->rank == task->root ? bytes * (size_t)comm->size : 0;
    default:
        return bytes;
    }
}

static void data_path(char *path, const struct nccl_task *task, int from, int to)
{
    if (task->kind == NCCL_POINT_TO_POINT)
        snprintf(path, NCCL_PATH + 80, "%s.%d-%d.%llu", task->comm->path, from, to, (unsigned long long)task->number);
    else
        snprintf(path, NCCL_PATH + 80, "%s.%llu.%d", task->comm->path, (unsigned long long)task->number, from);
}

static void give(const struct nccl_task *task, int to, size_t bytes)
{
    char path[NCCL_PATH + 80];
    data_path(path, task, task->comm->rank, to);
    int file = bytes && !link_model.no_data ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    const char *from = task->send;
    while (file >= 0 && bytes) {
        ssize_t written = write(file, from, bytes);
        if (written <= 0)
            break;
        from += written;
        bytes -= (size_t)written;
    }
    if (file >= 0)
        close(file);
}

static void take(const struct nccl_task *task, int from, int to, size_t offset, void *into, size_t bytes)
{
    char path[NCCL_PATH + 80];
    data_path(path, task, from, to);
    int file = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char *at = into;
    while (file >= 0 && bytes) {
        ssize_t got = pread(file, at, bytes, (off_t)offset);
        if (got <= 0)
            break;
        at += got;
        offset += (size_t)got;
        bytes -= (size_t)got;
    }
    if (file >= 0)
        close(file);
}

static void begin_pair(struct nccl_task *task, int64_t start, bool captured)
{
    struct ws_ncclComm_st *comm = task->comm;
    int peer = task->root, me = comm->rank;
    struct nccl_pair *pair = task->is_send ? &comm->shared->pairs[me][peer] : &comm->shared->pairs[peer][me];
    if (captured)
        task->number = task->is_send ? comm->sent[peer]++ : comm->received[peer]++;
    unsigned slot = task->number % NCCL_PAIR_SLOTS;
    if (task->is_send) {
        give(task, peer, bytes_of(task));
        atomic_store(&pair->send_start[slot], start);
        atomic_store(&pair->sent[slot], task->number + 1);
    } else {
        atomic_store(&pair->receive_start[slot], start);
        atomic_store(&pair->received[slot], task->number + 1);
    }
}

void nccl_begin(void **parameters, int64_t start)
{
    struct nccl_launch *launch = launch_of(parameters);
    link_load();
    for (struct nccl_task *task = launch->tasks; task; task = task->next) {
        if (task->kind == NCCL_POINT_TO_POINT) {
            begin_pair(task, start, launch->captured);
            continue;
        }
        struct ws_ncclComm_st *comm = task->comm;
        if (launch->captured)
            task->number = comm->sequence++;
        struct nccl_slot *slot = &comm->shared->slots[task->number % NCCL_SLOTS];
        give(task, 0, given_bytes(task));
        atomic_store(&slot->start[comm->rank], start);
        atomic_store(&slot->arrived[comm->rank], task->number + 1);
    }
}

static double moved_bytes(const struct nccl_task *task)
{
    double size = task->comm->size, bytes = (double)bytes_of(task);
    switch (task->kind) {
    case NCCL_ALL_REDUCE:
        return bytes * 2 * (size - 1) / size;
    case NCCL_ALL_GATHER:
    case NCCL_REDUCE_SCATTER:
    case NCCL_ALL_TO_ALL:
    case NCCL_GATHER:
    case NCCL_SCATTER:
        return bytes * (size - 1);
    default:
        return task->comm->size > 1 ? bytes : 0;
    }
}

/* The time at which the last rank of the task arrived, or `latest` if that is later. -1: a rank has not arrived
 * yet. */
static int64_t all_there(const struct nccl_task *task, int64_t latest)
{
    const struct ws_ncclComm_st *comm = task->comm;
    if (task->kind == NCCL_POINT_TO_POINT) {
        int from = task->is_send ? comm->rank : task->root, to = task->is_send ? task->root : comm->rank;
        struct nccl_pair *pair = &comm->shared->pairs[from][to];
        unsigned slot = task->number % NCCL_PAIR_SLOTS;
        if (atomic_load(&pair->sent[slot]) <= task->number || atomic_load(&pair->received[slot]) <= task->number)
            return -1;
        int64_t sent = atomic_load(&pair->send_start[slot]), received = atomic_load(&pair->receive_start[slot]);
        latest = latest > sent ? latest : sent;
        return latest > received ? latest : received;
    }
    struct nccl_slot *slot = &comm->shared->slots[task->number % NCCL_SLOTS];
    for (int rank = 0; rank < comm->size; rank++) {
        if (atomic_load(&slot->arrived[rank]) <= task->number)
            return -1;
        int64_t start = atomic_load(&slot->start[rank]);
        latest = latest > start ? latest : start;
    }
    return latest;
}

int64_t nccl_poll(void **parameters, int64_t start)
{
    const struct nccl_launch *launch = launch_of(parameters);
    double bytes = 0;
    int64_t latest = start;
    for (const struct nccl_task *task = launch->tasks; task; task = task->next) {
        if (atomic_load(&task->comm->aborted))
            return latest;
        latest = all_there(task, latest);
        if (latest < 0)
            return -1;
        bytes += moved_bytes(task);
    }
    return latest + COLLECTIVE_NS + (int64_t)(bytes / link_model.bytes_per_ns);
}

static void reduce_all(const struct nccl_task *task, size_t offset)
{
    const struct ws_ncclComm_st *comm = task->comm;
    size_t bytes = bytes_of(task);
    char *other = malloc(bytes + 1);
    if (!other)
        return;
    take(task, 0, 0, offset, task->receive, bytes);
    for (int rank = 1; rank < comm->size; rank++) {
        take(task, rank, 0, offset, other, bytes);
        nccl_reduce(task->receive, other, task->count, task->type, task->reduction);
    }
    if (task->reduction == WS_ncclAvg)
        nccl_divide(task->receive, task->count, task->type, comm->size);
    free(other);
}

/* Reads the part at `offset` of every rank's data, and stores these parts one after another in the result. */
static void gather_all(const struct nccl_task *task, size_t offset)
{
    size_t bytes = bytes_of(task);
    for (int rank = 0; rank < task->comm->size; rank++)
        take(task, rank, 0, offset, (char *)task->receive + (size_t)rank * bytes, bytes);
}

static void take_result(const struct nccl_task *task)
{
    const struct ws_ncclComm_st *comm = task->comm;
    size_t bytes = bytes_of(task), mine = bytes * (size_t)comm->rank;
    bool root = comm->rank == task->root;
    switch (task->kind) {
    case NCCL_ALL_REDUCE:
        reduce_all(task, 0);
        break;
    case NCCL_REDUCE:
        if (root)
            reduce_all(task, 0);
        break;
    case NCCL_REDUCE_SCATTER:
        reduce_all(task, mine);
        break;
    case NCCL_ALL_GATHER:
        gather_all(task, 0);
        break;
    case NCCL_GATHER:
        if (root)
            gather_all(task, 0);
        break;
    case NCCL_ALL_TO_ALL:
        gather_all(task, mine);
        break;
    case NCCL_BROADCAST:
        take(task, task->root, 0, 0, task->receive, bytes);
        break;
    case NCCL_SCATTER:
        take(task, task->root, 0, mine, task->receive, bytes);
        break;
    default:
        if (!task->is_send)
            take(task, task->root, comm->rank, 0, task->receive, bytes);
    }
}

/* Removes the files of a transfer's data if this rank was the last to read them. */
static void clean_up(const struct nccl_task *task)
{
    const struct ws_ncclComm_st *comm = task->comm;
    char path[NCCL_PATH + 80];
    if (task->kind == NCCL_POINT_TO_POINT) {
        if (task->is_send)
            return;
        data_path(path, task, task->root, comm->rank);
        unlink(path);
        return;
    }
    struct nccl_slot *slot = &comm->shared->slots[task->number % NCCL_SLOTS];
    if (atomic_fetch_add(&slot->taken, 1) + 1 < comm->size)
        return;
    atomic_store(&slot->taken, 0);
    for (int rank = 0; rank < comm->size; rank++) {
        data_path(path, task, rank, 0);
        unlink(path);
    }
}

void nccl_run(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    struct nccl_launch *launch = launch_of(parameters);
    (void)grid, (void)block;
    for (struct nccl_task *task = launch->tasks; task; task = task->next) {
        if (atomic_load(&task->comm->aborted))
            continue;
        if (!link_model.no_data)
            take_result(task);
        clean_up(task);
    }
    if (launch->captured)
        return;
    while (launch->tasks) {
        struct nccl_task *next = launch->tasks->next;
        free(launch->tasks);
        launch->tasks = next;
    }
    free(launch);
}
