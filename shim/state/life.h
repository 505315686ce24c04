/* Functions of the life cycle (shim.c), for folders that may not depend on shim.c. Such folders call them through
 * this table. The table is filled at link time, so it is valid before any constructor has run. */
#ifndef WALLSHIM_SHIM_STATE_LIFE_H
#define WALLSHIM_SHIM_STATE_LIFE_H

#include <stdbool.h>

struct shim_thread;

struct shim_life {
    /* Reads the options and prepares the locks, at the first call. Returns false while another thread still does
     * this. */
    bool (*prepare)(void);

    /* Starts the recording at the first call. Returns false in a child of a process that was recording, after a
     * failure, and once the recording has ended. Call it only when a context exists: a program without a context must
     * leave no trace. */
    bool (*start)(void);

    /* Called when a context was made. The first call registers the shim's exit handler, so that it runs before the
     * driver's exit handler. */
    void (*has_context)(void);

    /* Called when the thread makes no more CUDA calls. Gives back the thread's events and its turns on streams
     * (calls/turns.h), because other threads may wait for them. */
    void (*thread_ends)(struct shim_thread *thread);
};

extern __attribute__((visibility("hidden"))) const struct shim_life shim_life;

#endif
