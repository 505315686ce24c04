/* Makes the live memory (record/live.h) of a process that was killed, and the trace that the process had written.
 * Live memory is shared memory with all that the trace file may still lack. Its journal is a log of the rows that
 * were added since the last flush of the file. Its ring holds the launches and calls of a thread that are not rows
 * yet. */
#ifndef WALLSHIM_TESTS_LIVE_IMAGE_H
#define WALLSHIM_TESTS_LIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many operations, calls and names are in the trace file, and how many only in the live memory. */
enum {
    LIVE_FLUSHED = 5, /* operations in the file up to the last flush that the live memory records */
    LIVE_JOURNAL = 3, /* operations in the journal; they are also in the file, written after that flush */
    LIVE_WAITING = 2, /* operations that wait for device times; one of them is in the journal too */
    LIVE_RING = 4,    /* operations in the ring; the first one is also one of the LIVE_WAITING */
    LIVE_DRY = 2,     /* operations without times, as no event was free: the journal's first, one more in the ring */
    LIVE_CALLS = 1,   /* calls in the ring */
    LIVE_NESTED = 5,  /* calls made inside other calls, which the trace does not count yet */
    LIVE_RING_LOST = 7, /* records lost because the ring was full, which the trace does not count yet */
    /* names of kernels: the file has the first name; the second name is only in the live memory's dictionary */
    LIVE_KERNELS = 2,
    LIVE_ALL = LIVE_FLUSHED + LIVE_JOURNAL + LIVE_WAITING - 1 + LIVE_RING - 1 + LIVE_DRY - 1,
    LIVE_UNTIMED = LIVE_WAITING - 1 + LIVE_RING - 1,
};

/* Makes the trace at `path`, and its live memory. If `kept` is true, the file has only the part that a collector
 * took, and the live memory holds the rest of the file. Returns the descriptor of a memfd with the live memory. */
int live_image_make(const char *path, bool kept);

#endif
