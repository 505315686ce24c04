/* Functions of shim.c, which starts and ends the recording. Code in the subfolders of shim must not depend on shim.c,
 * so it calls these functions through this table. The table is a constant, so it is valid before any constructor has
 * run. */
#ifndef WALLSHIM_SHIM_STATE_LIFE_H
#define WALLSHIM_SHIM_STATE_LIFE_H

#include <stdbool.h>

struct shim_thread;

struct shim_life {
    /* The first call prepares the shim: it reads the options and sets up the locks. Returns false if another thread
     * makes the first call and does not finish it within LOCK_DEADLINE_MS. */
    bool (*prepare)(void);

    /* Starts the recording at the first call. Returns false in a child of a process that was recording, after a
     * failure, and once the recording has ended. Call it only when a context exists: a program without a context must
     * leave no trace. */
    bool (*start)(void);

    /* Called after a context was made. Registers the shim's exit handler, at the first call. The driver has
     * registered its own exit handler before that. So at exit the shim's handler runs first, while the driver still
     * works. */
    void (*has_context)(void);

    /* Called when the thread will make no more CUDA calls. Releases the CUDA events that the thread holds. Also gives
     * back the thread's turn in a stream, the sole right to put work into the stream (calls/turns.h). Otherwise other
     * threads would wait for this turn until their deadline. */
    void (*thread_ends)(struct shim_thread *thread);
};

extern __attribute__((visibility("hidden"))) const struct shim_life shim_life;

#endif
