/* Carries out requests of `wallshim ctl`, which arrive through the collector. */
#ifndef WALLSHIM_SHIM_DRAIN_CTL_H
#define WALLSHIM_SHIM_DRAIN_CTL_H

#include <stdbool.h>
#include <stdint.h>

/* ctl_is_asked: has the collector asked for a report of how far the process is? If it has, the drain (the shim's own
 * thread) reads all events, writes all rows, and calls ctl_tell_progress, which sends the report. */
bool ctl_is_asked(void);
void ctl_tell_progress(int64_t now);

/* Called by the drain in every round (every few ms while the program works). Acts ten times a second at most: carries
 * out new requests, and tells the collector whether recording is on. */
void ctl_look(int64_t now);

#endif
