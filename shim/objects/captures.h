/* Captures that a thread's call begins or ends, and does not return from. */
#ifndef WALLSHIM_SHIM_OBJECTS_CAPTURES_H
#define WALLSHIM_SHIM_OBJECTS_CAPTURES_H

#include <stdbool.h>

struct shim_thread;

/* The thread's call that begins or ends a capture will not return. With `ask` the driver says whether there is a
 * capture now; else it counts as under way until its stream goes. */
void capture_is_left(struct shim_thread *thread, bool ask);

#endif
