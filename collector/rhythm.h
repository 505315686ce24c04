/* Finds slow steps of a process (such as training steps) while its records come in. If the program marks its steps,
 * the marked steps are used. If it marks none, a step runs from one launch of a chosen shape to the next launch of
 * that shape. A shape is what equal launches have in common: kernel, stream, grid. A shape that could be chosen is
 * called a beat.
 *
 * A shape is a beat if about the same number of operations lies between its launches, many times in a row. Such
 * intervals between launches are called even. Operations are counted by lane (a thread's launches on one stream),
 * because only within a lane do records come in order. Whether an interval is even depends on its number of
 * operations, not on its time. So slow steps do not disturb the search. A pause with other work in it (a test of the
 * model, a checkpoint) has another number of operations, so it does not count as a slow step. Most shapes that occur
 * once in every step are beats, and their interval is the step. Few beats have a longer interval, such as work at
 * every tenth step. So the longest interval that many beats share is taken as the step.
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
    RHYTHM_TIMES = 64, /* the median is taken of this many last steps */
    RHYTHM_LEAST = 16, /* no step can be slow before this many steps have come */
    RHYTHM_RARE = 2,   /* a step does not count as slow if more than this many of the last steps were slow too */
    /* A shape is a beat if at least this many intervals in a row between its launches have about the same number of
     * operations, and these intervals together take RHYTHM_STEADY_NS or more. */
    RHYTHM_EVEN = 32,
};
/* Least time for which a beat has had even intervals, in ns. The kernels of a network's equal layers have even
 * intervals too, but only until the step ends. Few steps last so long, so these kernels are not taken for beats. */
static const int64_t RHYTHM_STEADY_NS = 3000000000;
static const int64_t RHYTHM_NS = 500000; /* ns; intervals that are shorter on average are no steps */

struct rhythm_launch {
    uint32_t shape, thread, stream; /* ids; `stream` is the stream of the shape */
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
    int64_t longest_ns; /* intervals that are longer than this on average are no steps */
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

/* Adds a launch. The launches of a thread on a stream must come in order. If the launch ends a slow step, fills *step
 * and returns true. */
bool rhythm_add(struct rhythm *rhythm, const struct rhythm_launch *launch, struct rhythm_step *step);

/* Adds a step that the program marks. If the step was slow, fills *step and returns true. */
bool rhythm_mark(struct rhythm *rhythm, int64_t took_ns, struct rhythm_step *step);

#endif
