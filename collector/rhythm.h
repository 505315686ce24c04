/* Finds slow steps of a process while its records come in. Steps are those that the program marks. If it marks none,
 * a step runs from one launch of some shape to the next launch of that shape, which is called a beat. A shape is what
 * equal launches have in common: kernel, stream, grid.
 *
 * A shape is a beat if the same number of operations lies between its launches, many times in a row. Intervals with
 * about the same number of operations are called even. Operations are counted by lane (a thread's launches on one
 * stream), because only within a lane do records come in order. Times do not matter for the search. So slow steps do
 * not disturb it, and a pause with other work in it (a test of the model, a checkpoint) is no slow step. Most shapes
 * that occur in every step are beats, all with the step as their interval. Few shapes are beats with a longer
 * interval, such as work at every tenth step. So the longest interval that many beats share is taken as the step.
 *
 * Clients are not trusted: they may send any numbers, and memory is bounded. */
#ifndef WALLSHIM_COLLECTOR_RHYTHM_H
#define WALLSHIM_COLLECTOR_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/figures_waits.h"

enum {
    RHYTHM_SHAPES = 4096, /* shapes with larger ids are ignored */
    RHYTHM_LANES = 64,
    RHYTHM_TIMES = 64, /* number of last steps of which the median is taken */
    RHYTHM_LEAST = 16, /* number of steps before any step can be slow */
    RHYTHM_RARE = 2,   /* a step is not slow if more than so many of the last steps took as long */
    /* A shape is a beat if so many intervals in a row between its launches have about the same number of operations,
     * and together take RHYTHM_STEADY_NS or more. */
    RHYTHM_EVEN = 32,
};
/* The kernels of a network's equal layers have equal intervals too, but only until the step ends. Few steps last this
 * long. */
static const int64_t RHYTHM_STEADY_NS = 3000000000;
static const int64_t RHYTHM_NS = 500000; /* ns; intervals that are shorter on average are no steps */

struct rhythm_launch {
    uint32_t shape, thread, stream; /* ids; `stream` is that of the shape */
    bool on_device;                 /* `begin` is of the device's clock, not of the host's */
    int64_t begin;                  /* ns, within ±2^60 */
};

struct rhythm_step {
    int64_t took_ns, median_ns;
};

struct rhythm_beat {
    uint32_t thread; /* thread that made the shape's last launch; 0: there was none */
    uint32_t usual;  /* usual number of the thread's operations on the stream from one launch to the next */
    uint32_t run;    /* number of even intervals (with about `usual` operations) in a row, up to the last launch */
    bool on_device;
    int64_t begin, run_begin; /* begins of the last launch, and of the first launch of the even intervals */
    uint64_t number;          /* how many operations the thread had on the stream before the last launch */
};

struct rhythm {
    struct figures_memory *memory;
    double factor;      /* a slow step takes at least this many times the median */
    int64_t longest_ns; /* longer intervals are no steps */
    struct rhythm_beat *beats;
    uint32_t shapes; /* number of entries in `beats` */
    struct {
        uint32_t thread, stream;
        uint64_t operations;
    } lanes[RHYTHM_LANES];
    uint32_t since_choice; /* number of launches since `chosen` was last decided */
    uint32_t chosen;       /* shape whose launches begin the steps; 0: none */
    uint32_t chosen_even;  /* number of intervals in a row with as many operations as usual, since `chosen` was set */
    bool marked;           /* the program marks its steps */
    int64_t times[RHYTHM_TIMES];
    uint64_t steps; /* number of steps so far; step i took times[i % RHYTHM_TIMES] ns */
};

/* Returns NULL if there is no memory. */
struct rhythm *rhythm_create(struct figures_memory *memory, double factor, int64_t longest_ns);
void rhythm_destroy(struct rhythm *rhythm);

/* Adds a launch. The launches of a thread on a stream must come in order. Returns true if it ends a slow step. */
bool rhythm_add(struct rhythm *rhythm, const struct rhythm_launch *launch, struct rhythm_step *step);

/* Adds a step that the program marks. Returns true if it was slow. */
bool rhythm_mark(struct rhythm *rhythm, int64_t took_ns, struct rhythm_step *step);

#endif
