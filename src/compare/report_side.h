/* One of the two sides of a comparison: the times and amounts of one report. The side holds no pointers into the
 * report.
 *
 * Times and amounts are compared as means over samples. Samples are the steady steps (iterations of the program's
 * main loop, without warm-up; steps.h) of all devices that have steps, or the whole recordings of all devices that
 * ran operations. Both kinds of samples are kept, because a comparison uses the kind that both sides have. An
 * operation is part of the step in which it begins. A gap (idle period of the device) that reaches into the next step
 * is split between the two steps.
 */
#ifndef WALLSHIM_COMPARE_REPORT_SIDE_H
#define WALLSHIM_COMPARE_REPORT_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "analysis/kernels/classify.h"
#include "report/analysis.h"

enum ws_sampling { WS_PER_RECORDING, WS_PER_STEP, WS_SAMPLING_COUNT };

/* X(NAME, key in JSON, name in a report): times of a sample (a step or a recording), which may overlap. */
#define WS_SAMPLE_TIMES(X)           \
    X(LENGTH, "length", "")          \
    X(BUSY, "busy", "busy")          \
    X(COMPUTE, "compute", "compute") \
    X(COMM, "comm", "communication") \
    X(MEMORY, "memory", "copies and memsets")

/* The parts into which the length of a sample (a step or a recording) is divided, without overlap. The first
 * WS_CAUSE_COUNT parts are the idle time by its cause (enum ws_part); the parts of this enum follow them. */
enum ws_sample_part {
    WS_SAMPLE_EXPOSED_COMM = WS_CAUSE_COUNT,
    WS_SAMPLE_EXPOSED_MEMORY,
    WS_SAMPLE_COMPUTE,
    WS_SAMPLE_PART_COUNT
};

/* X(NAME, key in JSON, unit in JSON, name in a report): amounts that are counted, not timed. */
#define WS_SAMPLE_AMOUNTS(X)                              \
    X(KERNELS, "kernels", "number", "kernels and graphs") \
    X(COPIES, "copies", "number", "copies and memsets")   \
    X(BYTES, "copied_bytes", "bytes", "copied")           \
    X(PAGEABLE, "pageable_bytes", "bytes", "of it from or to pageable host memory")

#define WS_SAMPLE_TIME(name, key, label) WS_TIME_OF_##name,
#define WS_SAMPLE_AMOUNT(name, key, unit, label) WS_AMOUNT_##name,
enum ws_sample_time { WS_SAMPLE_TIMES(WS_SAMPLE_TIME) WS_SAMPLE_TIME_COUNT };
enum ws_sample_amount { WS_SAMPLE_AMOUNTS(WS_SAMPLE_AMOUNT) WS_SAMPLE_AMOUNT_COUNT };
#undef WS_SAMPLE_TIME
#undef WS_SAMPLE_AMOUNT

/* The classes of operations: enum ws_kernel_class, then one more for graphs. */
enum { WS_GRAPH_CLASS = WS_CLASS_COUNT, WS_SAMPLE_CLASSES };

/* A time or an amount, added up over all samples. */
struct ws_sum {
    double sum, squares; /* sum of the value over all samples, and sum of its squares */
    double error;        /* largest possible error of `sum`, from the errors that the trace states for times */
};

struct ws_samples {
    size_t count;
    size_t devices; /* number of devices that the samples come from */
    struct ws_sum times[WS_SAMPLE_TIME_COUNT];
    struct ws_sum parts[WS_SAMPLE_PART_COUNT];
    struct ws_sum amounts[WS_SAMPLE_AMOUNT_COUNT];
    struct ws_sum classes[WS_SAMPLE_CLASSES];
};

/* Something that can occur several times in a sample: operations with one name, or gaps at one line of code. */
struct ws_repeated {
    double count; /* occurrences, summed over all samples */
    struct ws_sum time;
};

struct ws_report_side_kernel {
    const char *name;
    uint32_t class;     /* enum ws_kernel_class or WS_GRAPH_CLASS */
    uint32_t launch[6]; /* grid and block with which the kernel spent most time; 0: not known, or not a kernel */
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

/* All gaps (idle periods of a device) with the same cause that were caused by the same place in the program. */
struct ws_report_side_line {
    const char *where; /* the place: line of code, or else the called function; "" if unknown */
    enum ws_part cause;
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

/* Calls of one collective with a given number of ranks. */
struct ws_report_side_collective {
    const char *name;  /* "all-reduce" */
    uint32_t ranks;    /* number of ranks; 0: not known */
    double bus_factor; /* bus bandwidth / algorithm bandwidth, as in nccl-tests; 0: ranks are not known */
    double bytes[WS_SAMPLING_COUNT]; /* bytes of the calls, summed over all samples; 0: not known */
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

struct ws_report_side {
    struct ws_samples per[WS_SAMPLING_COUNT];
    struct ws_vector kernels;       /* struct ws_report_side_kernel, one per name */
    struct ws_vector lines;         /* struct ws_report_side_line */
    struct ws_vector collectives;   /* struct ws_report_side_collective */
    struct ws_vector traces;        /* const char *: paths of the traces */
    const char *gpu;                /* name of one of the devices; "": not known */
    const char *wall;               /* the report's verdict on what limits the program's speed; "": none */
    const char *steps;              /* median and spread of the steps, if exactly one device has steps; else "" */
    const char *source;             /* "none", "marked" by the program, "found" by wallshim, or "both" (static) */
    bool has_window;                /* only a window (a part) of the recording was read */
    struct ws_report_window window; /* the window, if has_window; its `steps` is NULL */
    size_t running;                 /* number of devices that ran operations */
    uint64_t untimed;               /* number of operations that have no device times */
    uint64_t counted;               /* number of calls that were only counted, in pauses to keep --overhead */
    size_t cut;                     /* number of traces that are not whole: the file or the recording was cut off */
    const char *placement;          /* --event-placement of the recording (static); "": not known; "mixed": several */
    uint64_t lost;                  /* number of events not recorded in full, for other reasons (losses.h) */
    struct ws_arena texts;
};

/* Returns 0 or -ENOMEM. Call ws_report_side_finish in both cases. */
int ws_report_side_init(struct ws_report_side *side, const struct ws_report *report);
void ws_report_side_finish(struct ws_report_side *side);

#endif
