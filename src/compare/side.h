/* One of the two sides of a comparison: what is compared of a report, which need not outlive it.
 *
 * Figures are means over samples: the steady steps (steps.h) of all devices that have them, or the whole
 * recordings of all devices on which something ran. Both are kept until it is known which the other side has.
 * Operations and gaps belong to the step they begin in; a gap ends where an operation begins, so it lies in one step.
 */
#ifndef WALLSHIM_COMPARE_SIDE_H
#define WALLSHIM_COMPARE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"
#include "base/arena.h"

enum ws_sampling { WS_PER_RECORDING, WS_PER_STEP, WS_SAMPLING_COUNT };

/* X(NAME, key in JSON, what a report calls it): times of a step, which overlap. */
#define WS_SAMPLE_TIMES(X)           \
    X(LENGTH, "length", "")          \
    X(BUSY, "busy", "busy")          \
    X(COMPUTE, "compute", "compute") \
    X(COMM, "comm", "communication") \
    X(MEMORY, "memory", "copies and memsets")

/* The parts that make up its length, without overlap: idle time by cause (enum ws_part), then these. */
enum ws_sample_part {
    WS_SAMPLE_EXPOSED_COMM = WS_CAUSE_COUNT,
    WS_SAMPLE_EXPOSED_MEMORY,
    WS_SAMPLE_COMPUTE,
    WS_SAMPLE_PART_COUNT
};

/* X(NAME, key in JSON, unit in JSON, what a report calls it): what is counted rather than timed. */
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

/* Kernels by class; graphs come last. */
enum { WS_GRAPH_CLASS = WS_CLASS_COUNT, WS_SAMPLE_CLASSES };

/* A figure over all samples. */
struct ws_sum {
    double sum, squares;
    double error; /* of the sum, at most: what the times' stated errors allow */
};

struct ws_samples {
    size_t count;
    size_t devices; /* that they are of */
    struct ws_sum times[WS_SAMPLE_TIME_COUNT];
    struct ws_sum parts[WS_SAMPLE_PART_COUNT];
    struct ws_sum amounts[WS_SAMPLE_AMOUNT_COUNT];
    struct ws_sum classes[WS_SAMPLE_CLASSES];
};

/* Something that happens several times in a sample: the operations of a name, the gaps of a line. */
struct ws_repeated {
    double count; /* over all samples */
    struct ws_sum time;
};

struct ws_side_kernel {
    const char *name;
    uint32_t class;     /* enum ws_kernel_class or WS_GRAPH_CLASS */
    uint32_t launch[6]; /* grid and block of the launches that took most time; 0: not known, or no kernel */
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

/* Gaps of one cause that one place of the program made. */
struct ws_side_line {
    const char *where; /* line of code, or the function called; "" where the trace knows neither */
    enum ws_part cause;
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

/* Calls of one collective among so many ranks. */
struct ws_side_collective {
    const char *name;                /* "all-reduce" */
    uint32_t ranks;                  /* 0: not known */
    double bus_factor;               /* of its bandwidth, as nccl-tests have it; 0 where ranks are not known */
    double bytes[WS_SAMPLING_COUNT]; /* over all samples; 0: not known */
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

struct ws_side {
    struct ws_samples per[WS_SAMPLING_COUNT];
    struct ws_vector kernels;     /* struct ws_side_kernel, each name once */
    struct ws_vector lines;       /* struct ws_side_line */
    struct ws_vector collectives; /* struct ws_side_collective */
    struct ws_vector traces;      /* const char *: paths */
    const char *gpu;              /* name of one of the devices; "" not known */
    const char *wall;             /* the verdict, "" where there is none */
    const char *steps;            /* what the steps of the only device that has them are like, else "" */
    const char *source;           /* where steps come from: none, marked, found, or both; static */
    size_t running;               /* devices on which something ran */
    uint64_t untimed;             /* operations without device times */
    struct ws_arena texts;
};

/* Returns 0 or -ENOMEM. To be finished in any case. */
int ws_side_init(struct ws_side *side, const struct ws_report *report);
void ws_side_finish(struct ws_side *side);

#endif
