/* What folders of the shim ask of folders behind them. The table is bound when the shim is linked, so that it is
 * there before any constructor has run; shim.c fills it. */
#ifndef WALLSHIM_SHIM_STATE_LIFE_H
#define WALLSHIM_SHIM_STATE_LIFE_H

#include <stdbool.h>

struct shim_thread;

struct shim_life {
    /* Reads the options and makes the locks ready: once, by whoever needs that first. False: not done yet. */
    bool (*prepare)(void);

    /* Starts once per process; false in a child of a process that had started, after a failure, and at
     * the end. Call it only when a context exists: a program without one leaves no trace. */
    bool (*start)(void);

    /* The first context was made: our exit handler goes in front of the driver's. */
    void (*has_context)(void);

    /* The thread makes no more calls: what it left undone, others wait for. */
    void (*thread_ends)(struct shim_thread *thread);
};

extern __attribute__((visibility("hidden"))) const struct shim_life shim_life;

#endif
