/* A thread with one shape and two streams, whose launches shim/calls/measure decides to measure or not. measure.c is
 * compiled in here, so that tests can use its limits. */
#ifndef WALLSHIM_TESTS_MEASURED_THREAD_H
#define WALLSHIM_TESTS_MEASURED_THREAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/calls/measure.c" // NOLINT(bugprone-suspicious-include)
#include "shim/timing/activity.h"
#include "shim/timing/durations.h"
#include "shim/timing/ticks.h"

struct ws_options shim_options;
_Atomic uint64_t ticks_in_1024_ns = 1024; /* a tick is a nanosecond */

_Atomic bool ticks_are_ns;
_Atomic unsigned threads_recording;
enum { COST = 8000, MILLION = 1000000 };

static enum samples_wanted wanted; /* for all shapes */

enum samples_wanted duration_wanted(uint32_t of_shape)
{
    (void)of_shape;
    return wanted;
}

static bool known = true; /* whether the drain thread has learned the durations of copies */

bool duration_is_known(uint32_t of_shape, uint32_t size_class)
{
    (void)of_shape, (void)size_class;
    return known;
}

static uint64_t stretch; /* the time that passes while a thread works for one ns */

void activity_read(struct shim_thread *of, uint64_t now)
{
    (void)now;
    of->activity.stretch = (uint32_t)stretch * ACTIVITY_ONE;
}

static uint64_t between; /* ticks from one wait of the thread to the next; 0: it does not wait */

uint64_t activity_between_waits(const struct shim_thread *of)
{
    (void)of;
    return between;
}

static struct shim_thread *thread;
static struct shim_stream stream, other;
static struct shape_entry shape;

static int begin_anew(void **state)
{
    (void)state;
    thread = calloc(1, sizeof(*thread));
    memset(&stream, 0, sizeof(stream));
    memset(&other, 0, sizeof(other));
    shape = (struct shape_entry){ .until_sample = 2 };
    shim_options.overhead = 20000; /* 2 % */
    wanted = WANT_FIRST_SAMPLES;
    stretch = 1;
    between = 0;
    return thread ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    free(thread);
    return 0;
}

struct counts {
    unsigned samples, anchors;
    uint64_t took, now;
};

/* Makes `launches` launches, `spacing` ticks apart. A measured launch takes `cost` ticks more. */
static void launch(struct counts *counts, unsigned launches, uint64_t spacing, uint64_t cost)
{
    for (unsigned i = 0; i < launches; i++) {
        counts->now += spacing;
        enum measure measure = measure_of_launch(thread, &stream, &shape, counts->now);
        counts->samples += measure == MEASURE_PAIR;
        counts->anchors += measure == MEASURE_END;
        if (measure == MEASURE_NOTHING)
            continue;
        counts->now += cost;
        counts->took += cost;
        thread->measure = (uint8_t)measure;
        measure_was_paid(thread, &stream, counts->now, cost);
    }
}

#endif
