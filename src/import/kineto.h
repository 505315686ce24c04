/* Between the files of the Kineto importer. */
#ifndef WALLSHIM_IMPORT_KINETO_H
#define WALLSHIM_IMPORT_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/gather.h"

/* What an event's field is called in the file, and its number. */
#define KINETO_KEYS(X)                       \
    X(TRACE_EVENTS, "traceEvents")           \
    X(DEVICE_PROPERTIES, "deviceProperties") \
    X(DISTRIBUTED_INFO, "distributedInfo")   \
    X(SCHEMA_VERSION, "schemaVersion")       \
    X(CUDA_DRIVER, "cuda_driver_version")    \
    X(CUDA_RUNTIME, "cuda_runtime_version")  \
    X(CUPTI, "cupti_version")                \
    X(HIP_DRIVER, "hip_driver_version")      \
    X(HIP_RUNTIME, "hip_runtime_version")    \
    X(ROCTRACER, "roctracer_version")        \
    X(TRACE_ID, "trace_id")                  \
    X(TRACE_NAME, "traceName")               \
    X(BASE_TIME, "baseTimeNanoseconds")      \
    X(HOST_NAME, "host_name")                \
    X(RANK, "rank")                          \
    X(WORLD_SIZE, "world_size")              \
    X(BACKEND, "backend")                    \
    X(NCCL, "nccl_version")                  \
    X(ID, "id")                              \
    X(NAME, "name")                          \
    X(TOTAL_MEMORY, "totalGlobalMem")        \
    X(COMPUTE_MAJOR, "computeMajor")         \
    X(COMPUTE_MINOR, "computeMinor")         \
    X(SMS, "numSms")                         \
    X(PHASE, "ph")                           \
    X(CATEGORY, "cat")                       \
    X(PID, "pid")                            \
    X(TID, "tid")                            \
    X(TIME, "ts")                            \
    X(DURATION, "dur")                       \
    X(ARGS, "args")                          \
    X(DEVICE, "device")                      \
    X(CONTEXT, "context")                    \
    X(STREAM, "stream")                      \
    X(CORRELATION, "correlation")            \
    X(REGISTERS, "registers per thread")     \
    X(SHARED, "shared memory")               \
    X(GRID, "grid")                          \
    X(BLOCK, "block")                        \
    X(BYTES, "bytes")                        \
    X(LABELS, "labels")

enum kineto_key {
    KINETO_NONE,
#define KEY(id, text) KINETO_##id,
    KINETO_KEYS(KEY)
#undef KEY
        KINETO_KEY_COUNT
};

enum kineto_category {
    CATEGORY_OTHER,
    CATEGORY_KERNEL,
    CATEGORY_COPY,
    CATEGORY_MEMSET,
    CATEGORY_CALL,
};

/* One event, as far as it is of use. Its texts are gone when it is. */
struct kineto_event {
    uint64_t seen;                    /* bits of enum kineto_key: those with a value of the right type */
    int64_t number[KINETO_KEY_COUNT]; /* times in ns */
    enum kineto_category category;
    char phase;
    struct ws_text name;
    struct ws_text said; /* args.name or args.labels of metadata */
    uint32_t grid[3], block[3];
};

struct kineto {
    struct ws_gather *gather;
    struct kineto_event event;
    struct ws_vector processes; /* struct kineto_name */
    struct ws_vector threads;   /* struct kineto_name */
    int64_t pid;                /* of the first host call; only where has_pid */
    bool has_pid;
};

static inline bool kineto_saw(const struct kineto_event *event, enum kineto_key key)
{
    return event->seen >> key & 1;
}

_Static_assert(KINETO_KEY_COUNT <= 64, "a bit a key");

enum kineto_category kineto_category_of(const char *text, size_t length);

void kineto_init(struct kineto *kineto, struct ws_gather *gather);

/* The event is complete. */
void kineto_take_event(struct kineto *kineto);

/* A value beside the events that says something of the whole. */
void kineto_take_fact(struct kineto *kineto, enum kineto_key key, const char *text, size_t length);

/* The file is read to its end: what only then is known. */
void kineto_end(struct kineto *kineto);

void kineto_finish(struct kineto *kineto);

#endif
