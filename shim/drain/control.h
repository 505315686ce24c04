/* Does what `wallshim ctl` asks for, through the collector. */
#ifndef WALLSHIM_SHIM_DRAIN_CONTROL_H
#define WALLSHIM_SHIM_DRAIN_CONTROL_H

#include <stdint.h>

/* Called by the drain at every round. Looks a few times a second whether something was asked for, and tells the
 * collector whether recording is on. */
void control_look(int64_t now);

#endif
