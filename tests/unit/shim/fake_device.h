/* A fake host clock and a fake device for tests of shim/timing/device_clock. The device's clock drifts, and calls can
 * be slow. device_clock.c is compiled in here, so that it reads the test's clock. */
#ifndef WALLSHIM_TESTS_FAKE_DEVICE_H
#define WALLSHIM_TESTS_FAKE_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static int64_t fake_ns(void);

#define ws_clock_ns fake_ns
#include "shim/timing/device_clock.c" // NOLINT(bugprone-suspicious-include)

enum { MARKS = 64, POOL = 8, READING = 20, CALL = 400, ROUND = 25000000, SECOND = 1000000000 };
static const int64_t DEVICE_AT_0 = 987654321;

struct driver_calls driver;
struct ws_options shim_options;
struct shim_page shim_page;
bool shim_one_queue;

static struct shim_context context;
static struct ws_clock row;
static int64_t now; /* the host's time */
static double drift;
static int64_t submit;                       /* ns from the recording of an event until it passes */
static int64_t slow_by;                      /* ns by which a slow call takes longer than others */
static unsigned slow_every, records, events; /* each slow_every-th record of an event is a slow call; 0: none */
static unsigned quick_at;                    /* the record of an event with this number is no slow call; 0: none */
static int64_t held_up; /* ns by which the recording call returns later, after it has recorded the event */
static bool busy;       /* the device is so busy that no event passes */
static ws_CUresult fails;
static struct probe last_probe; /* host times at which the last probe was recorded and was seen to have passed */
static float elapsed_ms;        /* what the driver returns as elapsed time; 0: the true time */
static struct {
    int64_t device, passes; /* when the event passes, by the device's clock and by the host's */
} marks[MARKS];

static int64_t fake_ns(void)
{
    return now += READING;
}

static int64_t device_at(int64_t host)
{
    return DEVICE_AT_0 + host + (int64_t)(drift * (double)host);
}

static ws_CUresult context_set(ws_CUcontext handle)
{
    (void)handle;
    return fails;
}

static ws_CUresult stream_create(ws_CUstream *stream, unsigned flags)
{
    assert_int_equal(flags, WS_CU_STREAM_NON_BLOCKING);
    *stream = (ws_CUstream)(uintptr_t)1;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult event_create(ws_CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (ws_CUevent)(uintptr_t)(1 + events++ % (MARKS - 1));
    return WS_CUDA_SUCCESS;
}

/* Records an event that passes `after` ns from now. */
static void mark(ws_CUevent event, int64_t after)
{
    uintptr_t number = (uintptr_t)event;
    marks[number].passes = busy ? INT64_MAX : now + after;
    marks[number].device = device_at(now + after);
}

static ws_CUresult event_record(ws_CUevent event, ws_CUstream stream)
{
    (void)stream;
    last_probe.before = now;
    now += CALL + (++records != quick_at && slow_every && records % slow_every == 0 ? slow_by : 0);
    mark(event, submit);
    now += held_up;
    last_probe.recorded = now + READING; /* the time that the next reading of the clock will return */
    return WS_CUDA_SUCCESS;
}

static ws_CUresult event_query(ws_CUevent event)
{
    now += CALL;
    last_probe.seen = now + READING;
    return now >= marks[(uintptr_t)event].passes ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_READY;
}

static ws_CUresult event_elapsed(float *ms, ws_CUevent start, ws_CUevent end)
{
    *ms = elapsed_ms != 0 ? elapsed_ms
                          : (float)((double)(marks[(uintptr_t)end].device - marks[(uintptr_t)start].device) / 1e6);
    return WS_CUDA_SUCCESS;
}

static int begin_anew(void **state)
{
    (void)state;
    driver = (struct driver_calls){ .context_set = context_set,
                                    .stream_create = stream_create,
                                    .event_create = event_create,
                                    .event_record = event_record,
                                    .event_query = event_query,
                                    .event_elapsed = event_elapsed };
    shim_options = (struct ws_options){ .event_placement = WS_EVENTS_SHARED };
    context = (struct shim_context){ .id = 7 };
    memset(marks, 0, sizeof(marks));
    now = SECOND;
    drift = 0;
    submit = 1500;
    slow_by = 0;
    slow_every = quick_at = records = events = 0;
    busy = false;
    fails = WS_CUDA_SUCCESS;
    elapsed_ms = 0;
    held_up = 0;
    return 0;
}

/* The true device time at the host time `host`, in terms of the context's clock: the time of its current base event
 * (from which the driver measures other events) plus the ns since that event. */
static int64_t truth(int64_t host)
{
    const struct clock_base *base = &context.base[context.current_base];
    return base->time + device_at(host) - marks[(uintptr_t)base->handle].device;
}

static void check_conversion(int64_t host)
{
    int64_t error, time = device_clock_from_host(&context, host, &error);
    assert_true(error > 0);
    assert_in_range(llabs(time - truth(host)), 0, error + 100); /* 100 ns: rounding of the base event's time */
}

#endif
