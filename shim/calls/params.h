/* What is kept of a kernel's parameter block: words that look like device addresses, small scalars, and the image of
 * its structures (record/param_image.h). */
#ifndef WALLSHIM_SHIM_CALLS_PARAMS_H
#define WALLSHIM_SHIM_CALLS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_thread;
struct thread_params;
struct ws_ring_op;

/* Puts a WS_RING_PARAMS record into the thread's ring, in front of the operation that is described there and not yet
 * committed: that moves behind it. Does nothing where there is nothing to keep or no room.
 *
 * Only for a launch that the driver accepted: then the driver has read the parameters itself. The pointers of a
 * refused launch may be anything. */
void params_keep(struct shim_thread *thread, const struct thread_params *given, const struct ws_ring_op *described);

#endif
