/* Corrects the count of stream captures after a call that was to begin or end a capture, but was left by longjmp or
 * an exception. */
#ifndef WALLSHIM_SHIM_OBJECTS_CAPTURES_H
#define WALLSHIM_SHIM_OBJECTS_CAPTURES_H

#include <stdbool.h>

struct shim_thread;

/* Called when the thread has left its last call by longjmp or an exception. If this call was to begin or end a
 * capture, corrects the count of captures. With `ask`, the driver is asked whether the stream is being captured now.
 * Without `ask`, the shim assumes that the capture is under way, until the program ends the capture or destroys the
 * stream. */
void capture_is_left(struct shim_thread *thread, bool ask);

#endif
