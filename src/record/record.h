/* Row structures of the record families (the tables of a trace), and the enumerations that their columns use.
 * families.h explains the columns. */
#ifndef WALLSHIM_RECORD_RECORD_H
#define WALLSHIM_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/families.h"

/* A text in memory that this structure does not own. It is not zero-terminated. The owner of the memory says how long
 * the text is valid. */
struct ws_text {
    const char *data;
    uint32_t length;
};

enum ws_family {
#define FAMILY(name) WS_FAMILY_##name,
    WS_FAMILIES(FAMILY)
#undef FAMILY
        WS_FAMILY_COUNT
};

/* struct ws_op, struct ws_call, struct ws_shape, … */
#define WS_ROW_INTEGER(type, name, coding) type name;
#define WS_ROW_TEXT(name) struct ws_text name;
#define WS_ROW(family)                                   \
    struct ws_##family {                                 \
        WS_COLUMNS_##family(WS_ROW_INTEGER, WS_ROW_TEXT) \
    };
WS_FAMILIES(WS_ROW)
#undef WS_ROW
#undef WS_ROW_INTEGER
#undef WS_ROW_TEXT

/* The format of column `lines` of family `code`. src/model/line_table.h reads CPython's formats. */
enum ws_line_coding {
    WS_LINES_NONE,
    WS_LINES_LNOTAB,    /* CPython up to 3.9 */
    WS_LINES_RANGES,    /* CPython 3.10 */
    WS_LINES_LOCATIONS, /* CPython 3.11 and later */
    WS_LINES_MODULE,    /* the row is a module of native code (program or shared library), not a function */
    WS_LINES_GIVEN,     /* only in memory: a function of native code; its frames hold the line number in `offset` */
};

enum ws_op_kind {
    WS_OP_UNKNOWN,
    WS_OP_KERNEL,
    WS_OP_COPY,
    WS_OP_MEMSET,
    WS_OP_GRAPH, /* one launch of an executable graph, timed as a whole */
    WS_OP_HOST_FUNCTION,
    WS_OP_PREFETCH,  /* prefetch or discard of managed memory */
    WS_OP_MEMORY_OP, /* cuStreamWaitValue, cuStreamWriteValue, and batches of them */
    WS_OP_DECOMPRESS,
    WS_OP_INTEROP, /* external semaphores waited for or signalled, graphics resources mapped or unmapped */
    WS_OP_KIND_COUNT
};

enum ws_space {
    WS_SPACE_UNKNOWN,
    WS_SPACE_PAGEABLE,
    WS_SPACE_PINNED,
    WS_SPACE_DEVICE,
    WS_SPACE_ARRAY,
    WS_SPACE_MANAGED,
    WS_SPACE_PEER, /* another device's memory */
    WS_SPACE_HOST, /* host memory; unknown whether pageable or pinned */
    WS_SPACE_COUNT
};

static inline bool ws_space_is_host(uint32_t space)
{
    return space == WS_SPACE_PAGEABLE || space == WS_SPACE_PINNED || space == WS_SPACE_HOST;
}

static inline bool ws_space_is_device(uint32_t space)
{
    return space != WS_SPACE_UNKNOWN && space < WS_SPACE_COUNT && !ws_space_is_host(space);
}

enum ws_stream_kind {
    WS_STREAM_LEGACY,     /* legacy default stream of the context */
    WS_STREAM_PER_THREAD, /* default stream of one thread */
    WS_STREAM_CREATED,
    WS_STREAM_UNKNOWN, /* created before recording began */
};

/* How a device time was found. This decides how exact the time is. */
enum ws_quality {
    WS_TIME_NONE,     /* no time: the column is 0 */
    WS_TIME_MEASURED, /* from a CUDA event recorded for this operation */
    WS_TIME_BOUNDED,  /* the true time lies within the stated error, which may be large */
    WS_TIME_INFERRED, /* computed from the stream's previous event, the time of the launch and the known waits */
};

enum ws_op_flags {
    WS_OP_BEGIN_QUALITY = 0x3, /* enum ws_quality of column `begin` */
    WS_OP_END_QUALITY = 0xc,   /* enum ws_quality of column `end`, shifted left by 2 bits */
    WS_OP_BLOCKING = 0x10,     /* the call returns only when the work is done */
    WS_OP_CAPTURED = 0x20,     /* captured into a graph instead of run */
    WS_OP_DEPENDENT = 0x40,    /* programmatic dependent launch: may overlap the kernel before it */
    WS_OP_CONTENDED = 0x80,    /* another thread put an operation into the same stream during the launching call */
    WS_OP_COOPERATIVE = 0x100,
    WS_OP_POOL_DRY = 0x200,      /* no CUDA event was free, so the operation has no device times */
    WS_OP_SAMPLED = 0x400,       /* timed by a pair of events of its own, because of the option `sample` */
    WS_OP_IN_COLLECTIVE = 0x800, /* launched by NCCL */
    WS_OP_COUNTED = 0x1000,      /* hardware counters were read around the operation, which changes its times */
};

static inline enum ws_quality ws_op_begin_quality(const struct ws_op *op)
{
    return (enum ws_quality)(op->flags & WS_OP_BEGIN_QUALITY);
}

static inline enum ws_quality ws_op_end_quality(const struct ws_op *op)
{
    return (enum ws_quality)((op->flags & WS_OP_END_QUALITY) >> 2);
}

/* The quantity that a hardware counter counts, and its unit. */
enum ws_quantity {
    WS_QUANTITY_UNKNOWN,
    WS_QUANTITY_TIME, /* ns */
    WS_QUANTITY_BYTES_READ,
    WS_QUANTITY_BYTES_WRITTEN,
    WS_QUANTITY_FLOPS, /* on CUDA cores. FLOPs = the metric's value × its column `weight` (2 for an FMA) */
    WS_QUANTITY_TENSOR_FLOPS,
    WS_QUANTITY_TENSOR_ACTIVE, /* share of time in which tensor cores were active, in millionths */
    WS_QUANTITY_CLOCK,         /* Hz */
    WS_QUANTITY_COUNT
};

/* The meaning of a range. */
enum ws_range_kind {
    WS_RANGE_UNKNOWN,
    WS_RANGE_STEP,          /* one iteration, marked by the program or its framework */
    WS_RANGE_ANNOTATION,    /* set by program or framework with record_function or NVTX; an NVTX mark has length 0 */
    WS_RANGE_OPERATOR,      /* a framework's operator: aten::mm */
    WS_RANGE_PYTHON,        /* a Python function: "train.py(41): step" */
    WS_RANGE_COMMUNICATION, /* a collective, recorded by the framework or by NCCL itself */
    WS_RANGE_KIND_COUNT
};

/* The purpose of a driver or library function. This is column `family` of family `driver_function`. */
enum ws_call_family {
    WS_CALL_OTHER,
    WS_CALL_LAUNCH, /* LAUNCH, COPY, MEMSET and WORK: calls that are rows of family `op`, not of family `call` */
    WS_CALL_COPY,
    WS_CALL_MEMSET,
    WS_CALL_WORK,
    WS_CALL_MEMORY,
    WS_CALL_SYNC,  /* the host waits or polls */
    WS_CALL_EVENT, /* event record, stream wait event: order between streams */
    WS_CALL_CAPTURE,
    WS_CALL_GRAPH,
    WS_CALL_MODULE,
    WS_CALL_LIFETIME,
    WS_CALL_PROFILER,
    WS_CALL_RESOLUTION,
    WS_CALL_NCCL,
    WS_CALL_LIBRARY, /* calls of cuBLAS and cuDNN; each is recorded as a row of WS_FAMILY_range */
    WS_CALL_FAMILY_COUNT
};

/* One scalar or pointer of a kernel's parameter block. */
struct ws_param_word {
    uint16_t offset; /* bytes from the block's start */
    uint8_t size;    /* bytes of the value: 1, 2, 4 or 8 */
    uint8_t address; /* 1: the value looks like a device address */
    uint32_t reserved;
    uint64_t value;
};

/* Reasons for missing data, and their texts in reports. A report says "N operations and calls TEXT"; see
 * ws_loss_subject. */
#define WS_LOSSES(X)                                                                     \
    X(RING_FULL, "not recorded: the thread's ring was full")                             \
    X(POOL_DRY, "recorded without device times: no event was free")                      \
    X(UNTIMED_AT_EXIT, "recorded without device times: the program ended first")         \
    X(DRIVER_REFUSED, "recorded without device times: the driver refused an event")      \
    X(CAPTURE_UNKNOWN, "recorded without device times: the stream may be capturing")     \
    X(DICTIONARY_FULL, "recorded without parameters: a dictionary was full")             \
    X(NO_THREAD_SLOT, "not recorded: no ring for the thread")                            \
    X(BURST, "only counted: between bursts")                                             \
    X(RANGE, "only counted: outside the time or range asked for")                        \
    X(SIZE_LIMIT, "not recorded: the trace reached its size limit")                      \
    X(WRITE_FAILED, "not recorded: the trace could not be written")                      \
    X(CHILD, "not recorded: a forked child used CUDA")                                   \
    X(BYPASSED, "not seen: a look-up went around the shim")                              \
    X(NO_TIMES, "left out: without times, or with times that cannot be")                 \
    X(NO_CALL, "in the file without the call that made them")                            \
    X(NO_OPERATION, "in the file without what they launched: captured, or not recorded") \
    X(RANGE_OPEN, "left out: never ended, ended on another thread, or without a name")   \
    X(NESTED, "not recorded: made in a handler inside another call, or left by a jump")  \
    X(DAMAGED, "not recorded: the thread's ring was damaged")                            \
    X(NO_ROOM, "not recorded: no room for one more context, stream or shape")            \
    X(SIMPLIFIED, "recorded without grid and block: no room for more shapes")            \
    X(KERNELS, "kernels without a name: no room for more")                               \
    X(LABELS, "names of ranges, or sizes of library calls, left out: no room for more")  \
    X(COMMUNICATORS, "communicators left out: no room for more")                         \
    X(GRAPHS, "graphs without all of their nodes: no room for more")                     \
    X(COUNTERS, "values of hardware counters left out: no room for more")                \
    X(DEVICES, "devices left out: no room for more")                                     \
    X(THREADS, "threads recorded as one: no room for more")                              \
    X(TEXTS, "names and other texts left out: no room for more")                         \
    X(LOCKS, "entries of tables left out: a lock of the recorder's was not had in time") \
    X(OVERHEAD, "calls only counted, to keep --overhead: a larger share records more")

enum ws_loss_reason {
#define LOSS(name, text) WS_LOSS_##name,
    WS_LOSSES(LOSS)
#undef LOSS
        WS_LOSS_COUNT
};

/* Returns the words between the count and the reason's text in a report: "operations and calls " or "ranges ".
 * Returns "" for the reasons from WS_LOSS_KERNELS on, because their texts name what is counted. */
static inline const char *ws_loss_subject(uint32_t reason)
{
    return reason == WS_LOSS_RANGE_OPEN ? "ranges " : reason >= WS_LOSS_KERNELS ? "" : "operations and calls ";
}

/* Returns the text of the reason of a ws_loss row. For an unknown number, the text says that this version does not
 * know the reason. */
const char *ws_loss_text(uint32_t reason);

/* Return names for `wallshim dump` and for exports. The name of an unknown number is "?". */
const char *ws_family_name(uint32_t family);
const char *ws_op_kind_name(uint32_t kind);
const char *ws_space_name(uint32_t space);
const char *ws_quality_name(uint32_t quality);
const char *ws_range_kind_name(uint32_t kind);

#endif
