/* What is kept of a kernel's parameter block: words that look like device addresses, small scalars, and the image of
 * its structures (record/param_image.h). */
#ifndef WALLSHIM_SHIM_PARAMS_H
#define WALLSHIM_SHIM_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_thread;

/* Puts a WS_RING_PARAMS record into the thread's ring for the operation that follows. False when
 * there is nothing to keep or no room. */
bool params_keep(struct shim_thread *thread, uint32_t function, void **params, void **extra);

#endif
