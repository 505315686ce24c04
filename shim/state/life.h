/* Functions of the life cycle (shim.c) for folders whose headers may not include it. The table is filled at link
 * time, so that it is there before any constructor has run. */
#ifndef WALLSHIM_SHIM_STATE_LIFE_H
#define WALLSHIM_SHIM_STATE_LIFE_H

#include <stdbool.h>

struct shim_thread;

struct shim_life {
    /* Reads the options and makes the locks ready, at the first call. False: another thread has not finished that. */
    bool (*prepare)(void);

    /* Starts the recording, once per process. False in a child of a process that had started, after a
     * failure, and at the end. Call it only when a context exists: a program without one leaves no trace. */
    bool (*start)(void);

    /* The first context was made: our exit handler goes in front of the driver's. */
    void (*has_context)(void);

    /* The thread makes no more calls: gives back what it holds, as other threads wait for that. */
    void (*thread_ends)(struct shim_thread *thread);
};

extern __attribute__((visibility("hidden"))) const struct shim_life shim_life;

#endif
