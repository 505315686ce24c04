/* The live memory of a made-up process that was killed (record/live.h), and its trace. */
#ifndef WALLSHIM_TESTS_LIVE_IMAGE_H
#define WALLSHIM_TESTS_LIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is in the trace at the last flush, and what only the live memory has. */
enum {
    LIVE_FLUSHED = 5,   /* operations before the last flush */
    LIVE_JOURNAL = 3,   /* operations in the journal, in the file as well: they were written after the flush */
    LIVE_WAITING = 2,   /* operations that wait for device times; one of them is in the journal too */
    LIVE_RING = 4,      /* operations in the ring; the first one waits too, as the program was killed in between */
    LIVE_CALLS = 1,     /* calls in the ring */
    LIVE_RING_LOST = 7, /* records that did not fit the ring, and that the trace does not state yet */
    LIVE_KERNELS = 2,   /* kernels' names: the first is in the file, the second is in the log only */
    LIVE_ALL = LIVE_FLUSHED + LIVE_JOURNAL + LIVE_WAITING - 1 + LIVE_RING - 1,
    LIVE_UNTIMED = LIVE_WAITING - 1 + LIVE_RING - 1,
};

/* Makes the trace at `path`, and its live memory. kept: the file has only the part that a collector took, and the
 * live memory the rest. Returns the descriptor of a memfd. */
int live_image_make(const char *path, bool kept);

#endif
