/* Advice: a change that would make a step (an iteration of the program's main loop) shorter, the most time that it
 * can save, and the evidence for it.
 *
 * A device's time is cut into parts that do not overlap. Every nanosecond of a step is either idle, for one of
 * WS_CAUSES, or busy, with one of WS_BUSY_PARTS. Each piece of advice states which part it shortens. The savings of
 * a part never exceed the length of the part, so the sum of all savings counts no nanosecond twice. Time of the
 * cause `unrecorded` is possibly busy time: the trace shows no operation on the device, but also shows that
 * operations are missing (gaps.h). */
#ifndef WALLSHIM_REPORT_ADVICE_H
#define WALLSHIM_REPORT_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

/* A wall is the limit of a program's speed: a resource of the GPU, or a delay. */
enum ws_wall {
    WS_WALL_NONE,
    WS_WALL_COMPUTE,
    WS_WALL_BANDWIDTH,
    WS_WALL_COMMUNICATION,
    WS_WALL_OVERHEAD,
    WS_WALL_COUNT
};

/* X(NAME, name in JSON, wall, name in a report). WS_CAUSES lists the causes of gaps (idle periods of the device),
 * WS_BUSY_PARTS what the device does in its busy time. EXPOSED_MEMORY is for copies over the host link or from
 * another device, DEVICE_COPIES for copies within the device and memsets. EXPOSED_MEMORY and DEVICE_COPIES count only
 * time in which no kernel runs. For the parts that are kernels, the lists give the usual wall (limit of speed):
 * compute for MATMUL, bandwidth for OTHER_COMPUTE. The report's verdict uses the wall that the roofline shows for
 * each kernel. */
#define WS_CAUSES(X)                                              \
    X(INPUT, "input", OVERHEAD, "input")                          \
    X(SYNC, "sync", OVERHEAD, "sync")                             \
    X(LAUNCH, "launch", OVERHEAD, "launch")                       \
    X(ALLOCATION, "allocation", OVERHEAD, "allocation")           \
    X(WAIT, "wait", OVERHEAD, "wait")                             \
    X(COMM_WAIT, "communication", COMMUNICATION, "communication") \
    X(DISPATCH, "dispatch", OVERHEAD, "dispatch")                 \
    X(UNEXPLAINED, "unexplained", OVERHEAD, "of unknown cause")   \
    X(UNRECORDED, "unrecorded", NONE, "not recorded")
#define WS_BUSY_PARTS(X)                                                             \
    X(EXPOSED_COMM, "exposed_communication", COMMUNICATION, "exposed communication") \
    X(EXPOSED_MEMORY, "exposed_memory", OVERHEAD, "copies")                          \
    X(DEVICE_COPIES, "device_copies", BANDWIDTH, "copies within the device")         \
    X(MATMUL, "matmul", COMPUTE, "matmuls")                                          \
    X(OTHER_COMPUTE, "other_compute", BANDWIDTH, "non-GEMM kernels")                 \
    X(GRAPHS, "graphs", NONE, "CUDA graphs")
#define WS_PARTS(X) WS_CAUSES(X) WS_BUSY_PARTS(X)

enum ws_part {
#define WS_PART(name, key, wall, text) WS_PART_##name,
    WS_PARTS(WS_PART)
#undef WS_PART
        WS_PART_COUNT,
    WS_CAUSE_COUNT = WS_PART_EXPOSED_COMM /* smaller values of enum ws_part are causes of gaps */
};

struct ws_advice {
    const char *name;  /* name of the problem in JSON, static: "straggler", "fusion"; NULL: the part's name */
    enum ws_part part; /* the part of the time that the advice shortens */
    unsigned also;     /* other parts that the advice also shortens, one bit for each enum ws_part; mostly 0 */
    int64_t saving_ns; /* maximum saving in ns, per steady step (steps.h); without steps, in the recording */
    char *what;        /* what to do: "read the loss every N steps instead of every one" */
    char *where;       /* line of code, kernel, stream or rank: "step (train.py:41)"; "": not known */
    char *code;        /* text of the line in `where`: "loss.item()"; "" or NULL: unknown */
    char *evidence;    /* the measurements behind the advice: "212 calls of cuStreamSynchronize, 14.6 µs each" */
    uint32_t track;    /* index into ws_model.tracks of the device that the advice is for */
};

/* A list of advice, for one device or for all devices. The list owns the texts in it. */
struct ws_advice_list {
    struct ws_vector items; /* struct ws_advice */
};

#define WS_ADVICE_LIST ((struct ws_advice_list){ WS_VECTOR(struct ws_advice) })

/* Adds a copy of the advice and of its texts. Returns 0 or -ENOMEM. */
int ws_advice_add(struct ws_advice_list *list, const struct ws_advice *advice);

/* Limits the savings from each part to the length of the part. available[part] is this length in ns, for each enum
 * ws_part. If the savings from a part exceed its length, the smallest savings are cut first. Drops advice for
 * devices other than `track`, and advice that is left with no saving. Sorts the rest by saving, largest first.
 * Returns the sum of the savings in ns. */
int64_t ws_advice_settle(struct ws_advice_list *list, uint32_t track, const int64_t *available);

void ws_advice_finish(struct ws_advice_list *list);

/* Writes the place in the program that the advice is about: "; at step (train.py:41): loss.item()". Writes "" if the
 * place is not known. */
enum { WS_ADVICE_PLACE = 640 };
const char *ws_advice_place(const struct ws_advice *advice, char text[WS_ADVICE_PLACE]);

const char *ws_part_name(enum ws_part part);  /* the part's name in JSON */
const char *ws_part_label(enum ws_part part); /* the part's name in the text of a report */
enum ws_wall ws_part_wall(enum ws_part part);
const char *ws_wall_name(enum ws_wall wall);

#endif
