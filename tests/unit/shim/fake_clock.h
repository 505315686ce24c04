/* A fake device clock, with one context and one stream, in place of the one that shim/timing/times uses. */
#ifndef WALLSHIM_TESTS_FAKE_CLOCK_H
#define WALLSHIM_TESTS_FAKE_CLOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/state/registry.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/times.h"

enum { HOST_ERROR = 100, SUBMIT = 2000, EVENT_ERROR = 500, EVENTS = 64 };

static struct pool_event events[EVENTS];
static struct shim_context context;
static struct shim_stream stream;
static int64_t host_error = HOST_ERROR, host_off; /* the fake clock's stated error and its true error, ns */
static bool clock_is_known;
static ws_CUresult answer;
static unsigned begun, reads, learned;

void device_clock_begin(struct shim_context *of, uint32_t event, int64_t launched)
{
    (void)of, (void)event, (void)launched;
    begun++;
}

void device_clock_learn(struct shim_context *of, uint32_t event, int64_t launched)
{
    (void)of, (void)event, (void)launched;
    learned++;
}

bool device_clock_known(const struct shim_context *of)
{
    (void)of;
    return clock_is_known;
}

ws_CUresult device_clock_read(struct shim_context *of, ws_CUevent event, int64_t *time, uint32_t *error)
{
    (void)of;
    reads++;
    *time = (int64_t)(uintptr_t)event;
    *error = EVENT_ERROR;
    return answer;
}

int64_t device_clock_from_host(const struct shim_context *of, int64_t host_ns, int64_t *error)
{
    (void)of;
    *error = host_error;
    return host_ns + host_off;
}

static int begin_anew(void **state)
{
    (void)state;
    registry_init();
    memset(events, 0, sizeof(events));
    memset(&context, 0, sizeof(context));
    memset(&stream, 0, sizeof(stream));
    context.pool.events = events;
    context.submit_ns = SUBMIT;
    stream.context = &context;
    host_error = HOST_ERROR;
    host_off = 0;
    clock_is_known = true;
    answer = WS_CUDA_SUCCESS;
    begun = reads = learned = 0;
    return 0;
}

static inline void put_event(uint32_t event, int64_t time)
{
    events[event - 1].time = time;
    events[event - 1].error = EVENT_ERROR;
    events[event - 1].state = EVENT_READ;
}

#endif
