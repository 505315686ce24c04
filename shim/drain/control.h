/* Does what `wallshim ctl` asks for, through the collector. */
#ifndef WALLSHIM_SHIM_DRAIN_CONTROL_H
#define WALLSHIM_SHIM_DRAIN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Has the collector asked how far the process is? Then the drain reads all events and writes all rows, and calls
 * control_tell_progress. */
bool control_is_asked(void);
void control_tell_progress(int64_t now);

/* Called by the drain at every round. Looks a few times a second whether something was asked for, and tells the
 * collector whether recording is on. */
void control_look(int64_t now);

#endif
