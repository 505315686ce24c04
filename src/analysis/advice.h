/* What would make a step shorter, by how much at most, and why we think so.
 *
 * The time of a device is cut into parts that do not overlap: every nanosecond of a step is idle for one
 * cause, or busy with one of compute, exposed communication and exposed copies. Each piece of advice says
 * which part its saving comes out of, so that the verdict can add savings up without counting a nanosecond
 * twice: of one part no more is promised than there is.
 */
#ifndef WALLSHIM_ANALYSIS_ADVICE_H
#define WALLSHIM_ANALYSIS_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

enum ws_wall {
    WS_WALL_NONE,
    WS_WALL_COMPUTE,
    WS_WALL_BANDWIDTH,
    WS_WALL_COMMUNICATION,
    WS_WALL_OVERHEAD,
    WS_WALL_COUNT
};

/* X(NAME, name in JSON, wall, what a report calls it). The causes of gaps, and what busy time is spent on. */
#define WS_CAUSES(X)                                              \
    X(INPUT, "input", OVERHEAD, "input")                          \
    X(SYNC, "sync", OVERHEAD, "sync")                             \
    X(LAUNCH, "launch", OVERHEAD, "launch")                       \
    X(ALLOCATION, "allocation", OVERHEAD, "allocation")           \
    X(WAIT, "wait", OVERHEAD, "wait")                             \
    X(COMM_WAIT, "communication", COMMUNICATION, "communication") \
    X(DISPATCH, "dispatch", OVERHEAD, "dispatch")                 \
    X(UNEXPLAINED, "unexplained", OVERHEAD, "unexplained")
#define WS_BUSY_PARTS(X)                                                             \
    X(EXPOSED_COMM, "exposed_communication", COMMUNICATION, "exposed communication") \
    X(EXPOSED_MEMORY, "exposed_memory", OVERHEAD, "copies")                          \
    X(MATMUL, "matmul", COMPUTE, "matmuls")                                          \
    X(OTHER_COMPUTE, "other_compute", BANDWIDTH, "kernels that are no matmuls")      \
    X(GRAPHS, "graphs", NONE, "CUDA graphs")
#define WS_PARTS(X) WS_CAUSES(X) WS_BUSY_PARTS(X)

enum ws_part {
#define WS_PART(name, key, wall, text) WS_PART_##name,
    WS_PARTS(WS_PART)
#undef WS_PART
        WS_PART_COUNT,
    WS_CAUSE_COUNT = WS_PART_EXPOSED_COMM /* parts below are causes of gaps */
};

struct ws_advice {
    const char *name;  /* what is to be removed, in JSON; static: "straggler", "fusion"; NULL: the part's name */
    enum ws_part part; /* what the saving comes out of */
    int64_t saving_ns; /* at most, of one steady step; of the recording where there are no steps */
    char *what;        /* to do: "read the loss every N steps instead of every one" */
    char *where;       /* line of code, kernel, stream, rank: "step (train.py:41)"; "" not known */
    char *evidence;    /* the figures behind it: "212 calls of cuStreamSynchronize, 14.6 µs each" */
    uint32_t track;    /* index into ws_model.tracks */
};

/* Of one device or of all. Everything in it belongs to it. */
struct ws_advice_list {
    struct ws_vector items; /* struct ws_advice */
};

#define WS_ADVICE_LIST ((struct ws_advice_list){ WS_VECTOR(struct ws_advice) })

/* Adds a copy of the advice; texts are copied too. Returns 0 or -ENOMEM. */
int ws_advice_add(struct ws_advice_list *list, const struct ws_advice *advice);

/* Keeps the advice on this track, largest saving first, where it may promise anything: of each part no more than
 * there is in it, available[] by enum ws_part. Returns the sum of the savings. */
int64_t ws_advice_settle(struct ws_advice_list *list, uint32_t track, const int64_t *available);

void ws_advice_finish(struct ws_advice_list *list);

const char *ws_part_name(enum ws_part part);  /* in JSON */
const char *ws_part_label(enum ws_part part); /* in text */
enum ws_wall ws_part_wall(enum ws_part part);
const char *ws_wall_name(enum ws_wall wall);

#endif
