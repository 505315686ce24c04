/* Functions of shim.c, which starts and ends the recording. Code in folders that may not include headers of shim.c
 * calls them through this table. The table is filled at link time, so it is valid before any constructor has run. */
#ifndef WALLSHIM_SHIM_STATE_LIFE_H
#define WALLSHIM_SHIM_STATE_LIFE_H

#include <stdbool.h>

struct shim_thread;

struct shim_life {
    /* The first call reads the options and prepares the locks. Returns false if another thread makes the first call
     * and does not finish it within LOCK_DEADLINE_MS. */
    bool (*prepare)(void);

    /* Starts the recording at the first call. Returns false in a child of a process that was recording, after a
     * failure, and once the recording has ended. Call it only when a context exists: a program without a context must
     * leave no trace. */
    bool (*start)(void);

    /* Called after a context was made. The first call registers the shim's exit handler. This comes after the driver
     * has registered its own, so the shim's handler runs first. */
    void (*has_context)(void);

    /* Called when the thread will make no more CUDA calls. Gives back the thread's events, and its turns: streams
     * that only this thread may use for a while (calls/turns.h). Other threads may wait for these streams. */
    void (*thread_ends)(struct shim_thread *thread);
};

extern __attribute__((visibility("hidden"))) const struct shim_life shim_life;

#endif
