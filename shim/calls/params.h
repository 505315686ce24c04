/* The trace keeps these parts of a kernel's parameter block: 8-byte words that look like device addresses, small
 * scalars, and an image of structures (record/param_image.h). */
#ifndef WALLSHIM_SHIM_CALLS_PARAMS_H
#define WALLSHIM_SHIM_CALLS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_thread;
struct thread_params;
struct ws_ring_op;

/* Commits a WS_RING_PARAMS record to the thread's ring. The new record takes the place of the operation's record,
 * which is not committed yet and moves behind the new record. Does nothing if the launch has no parameters to keep,
 * or if the ring has no room.
 *
 * Call this function only for a launch that the driver accepted: then the driver has read the parameters, too, so
 * they are valid. The pointers of a refused launch may be invalid. */
void params_keep(struct shim_thread *thread, const struct thread_params *given, const struct ws_ring_op *described);

#endif
