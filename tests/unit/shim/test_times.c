/* Tests of shim/timing/times: begins and ends of operations, computed from CUDA events. Each case is checked by its
 * numbers. All cases together run on a small model of a stream whose true times are known: the true time must always
 * lie within the error that is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/state/registry.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/times.h"

/* --- stand-ins for the device clock and for reading events --------------------------------------- */

enum { HOST_ERROR = 100, SUBMIT = 2000, EVENT_ERROR = 500, EVENTS = 64 };

static struct pool_event events[EVENTS];
static struct shim_context context;
static struct shim_stream stream;
static int64_t host_error = HOST_ERROR, host_off; /* error that the fake clock reports, and its true offset */
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

/* --- reading events ------------------------------------------------------------------------------ */

static void an_event_is_read_once(void **state)
{
    (void)state;
    events[2].handle = (ws_CUevent)(uintptr_t)4711;
    assert_int_equal(times_read(&context, 3, 1), TIMES_DONE);
    assert_int_equal(times_read(&context, 3, 1), TIMES_DONE);
    assert_int_equal(events[2].state, EVENT_READ);
    assert_int_equal(events[2].time, 4711);
    assert_int_equal(events[2].error, EVENT_ERROR);
    assert_int_equal(reads, 1);
    assert_int_equal(learned, 1);
}

static void an_event_waits_for_the_clock_and_for_its_time(void **state)
{
    (void)state;
    clock_is_known = false;
    assert_int_equal(times_read(&context, 1, 1), TIMES_NOT_YET);
    assert_int_equal(begun, 1); /* the device clock may wait for this event */
    assert_int_equal(reads, 0);
    clock_is_known = true;
    answer = WS_CUDA_ERROR_NOT_READY;
    assert_int_equal(times_read(&context, 1, 1), TIMES_NOT_YET);
    assert_int_equal(events[0].state, EVENT_UNREAD);
    answer = WS_CUDA_SUCCESS;
    assert_int_equal(times_read(&context, 1, 1), TIMES_DONE);
}

static void an_event_that_cannot_be_read_stays_so(void **state)
{
    (void)state;
    answer = WS_CUDA_ERROR_INVALID_HANDLE;
    assert_int_equal(times_read(&context, 1, 1), TIMES_FAILED);
    answer = WS_CUDA_SUCCESS;
    assert_int_equal(times_read(&context, 1, 1), TIMES_FAILED);
    assert_int_equal(events[0].state, EVENT_FAILED);
    assert_int_equal(reads, 1);
    assert_int_equal(learned, 0);
}

/* --- each case by its numbers ------------------------------------------------------------------- */

enum { BEGIN = 1, END = 2 };

struct expected {
    int64_t begin, begin_error, end, end_error;
    enum ws_quality begin_quality, end_quality;
};

static void put_event(uint32_t event, int64_t time)
{
    events[event - 1].time = time;
    events[event - 1].error = EVENT_ERROR;
    events[event - 1].state = EVENT_READ;
}

/* A kernel whose launch call lasts from 10 to 12 µs of the host's time. */
static struct pending kernel(uint32_t flags, uint8_t inner)
{
    return (struct pending){
        .op = { .host_begin = 10000, .host_end = 12000, .flags = flags },
        .begin_event = BEGIN,
        .end_event = END,
        .inner = inner,
        .direction = COPY_DIRECTIONS,
        .kind = WS_OP_KERNEL,
    };
}

static void check(struct pending pending, int64_t begin_event, int64_t end_event, struct expected expected)
{
    uint32_t flags = pending.op.flags;
    put_event(BEGIN, begin_event);
    put_event(END, end_event);
    times_resolve(&stream, &pending, END);
    assert_int_equal(pending.op.begin, expected.begin);
    assert_int_equal(pending.op.begin_error, expected.begin_error);
    assert_int_equal(pending.op.end, expected.end);
    assert_int_equal(pending.op.end_error, expected.end_error);
    assert_int_equal(ws_op_begin_quality(&pending.op), expected.begin_quality);
    assert_int_equal(ws_op_end_quality(&pending.op), expected.end_quality);
    assert_int_equal(pending.op.flags & ~(uint32_t)(WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY), flags);
}

/* In µs. The begin event is at 99.5 to 100.5, long after the launch; the kernel is dispatched within 1.5 of it. The
 * end event follows the kernel's end within 1. */
static const struct expected busy = { 100750, 1250, 149500, 1000, WS_TIME_INFERRED, WS_TIME_MEASURED };

static void in_a_busy_stream(void **state)
{
    (void)state;
    check(kernel(0, 0), 100000, 150000, busy);
    struct expected own = busy;
    own.begin_quality = WS_TIME_MEASURED;
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 100000, 150000, own);
}

/* In µs. The kernel is launched at 9.9 at the earliest and is on the device by 14.1. The end event came to an idle
 * stream, up to 2.3 after the kernel's end. */
static const struct expected idle = { 12200, 2300, 12850, 1650, WS_TIME_BOUNDED, WS_TIME_MEASURED };

static void in_an_idle_stream(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.late = 300;
    check(pending, 5000, 14000, idle);
    /* The same, but the thread was delayed between the launch and recording the end event. */
    pending.late = 50000;
    check(pending, 5000, 64000, (struct expected){ 12750, 2850, 13750, 50750, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

/* The begin lies in a span of an odd number of ns. Half of it is rounded up, so that middle ± error covers all of it.
 */
static void of_an_odd_span(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    host_error = HOST_ERROR + 1;
    pending.late = 300;
    struct expected expected = idle;
    expected.begin_error = 2301;
    check(pending, 5000, 14000, expected);
}

static void without_a_begin_event(void **state)
{
    (void)state;
    struct expected expected = { 80200, 70300, 149500, 1000, WS_TIME_INFERRED, WS_TIME_MEASURED };
    struct pending pending = kernel(0, 0);
    pending.begin_event = 0;
    check(pending, 100000, 150000, expected);
    /* A begin event that could not be read counts as none. */
    pending.begin_event = 3;
    events[2].state = EVENT_FAILED;
    check(pending, 100000, 150000, expected);
    events[2].state = EVENT_UNREAD;
    check(pending, 100000, 150000, expected);
}

/* Work of other threads may lie between the two events: the kernel may have run anywhere between them. */
static void contended(void **state)
{
    (void)state;
    check(kernel(WS_OP_CONTENDED, WS_RING_OP_OWN_BEGIN), 100000, 150000,
          (struct expected){ 99500, 51000, 150500, 51000, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

static void held(void **state)
{
    (void)state;
    /* The end event stands behind a later kernel, so this one may end earlier. It begins as in any busy stream. */
    check(kernel(0, WS_RING_OP_OWN_BEGIN | WS_RING_OP_HELD), 100000, 150000,
          (struct expected){ 99500, 2500, 150500, 51000, WS_TIME_MEASURED, WS_TIME_BOUNDED });
    check(kernel(WS_OP_DEPENDENT, WS_RING_OP_HELD), 100000, 150000,
          (struct expected){ 99500, 51000, 150500, 51000, WS_TIME_INFERRED, WS_TIME_BOUNDED });
}

/* Operations that may begin long after the begin event: their begin is uncertain, their end is not. */
static void begins_late(void **state)
{
    (void)state;
    struct expected expected = { 125000, 25500, 149500, 1000, WS_TIME_BOUNDED, WS_TIME_MEASURED };
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_MEMORY_OP;
    check(pending, 100000, 150000, expected);
    pending = kernel(WS_OP_DEPENDENT, WS_RING_OP_OWN_BEGIN);
    check(pending, 100000, 150000, expected);
}

static void beside_other_copies(void **state)
{
    (void)state;
    struct expected late = { 125000, 25500, 149500, 1000, WS_TIME_BOUNDED, WS_TIME_MEASURED };
    struct expected alone = busy;
    alone.begin_quality = WS_TIME_MEASURED;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_COPY;
    pending.direction = COPY_TO_HOST;
    /* This stream has made seven copies to the host, other streams five: as many as before this copy. */
    context.copies[COPY_TO_HOST] = 12;
    stream.copies[COPY_TO_HOST] = 7;
    context.copies[COPY_TO_DEVICE] = 99;
    pending.copies_before = 5;
    check(pending, 100000, 150000, alone);
    pending.inner |= WS_RING_OP_ENGINE_BUSY;
    check(pending, 100000, 150000, late);
    pending.inner = WS_RING_OP_OWN_BEGIN;
    context.copies[COPY_TO_HOST]++;
    check(pending, 100000, 150000, late);
    /* A copy in neither direction does not queue for a copy engine. */
    pending.direction = COPY_DIRECTIONS;
    pending.inner |= WS_RING_OP_ENGINE_BUSY;
    check(pending, 100000, 150000, alone);
}

/* A blocking call returns when its operation is done. So the return bounds the end; the end event, recorded later,
 * tells little. */
static void blocking(void **state)
{
    (void)state;
    struct pending pending = kernel(WS_OP_BLOCKING, WS_RING_OP_OWN_BEGIN);
    pending.op.host_end = 60000;
    check(pending, 5000, 70000, (struct expected){ 10000, 50100, 60000, 50100, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    check(pending, 30000, 50000, (struct expected){ 30000, 20500, 50500, 21000, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* The begin event is later than the call's return, within its error: the return is taken as the end. */
    check(pending, 61000, 70000, (struct expected){ 60100, 0, 60100, 0, WS_TIME_MEASURED, WS_TIME_BOUNDED });
}

/* Events and host times that contradict each other leave no negative duration. */
static void what_cannot_be(void **state)
{
    (void)state;
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 100000, 80000,
          (struct expected){ 99500, 0, 99500, 0, WS_TIME_MEASURED, WS_TIME_MEASURED });
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 1000, 2000,
          (struct expected){ 10000, 100, 10000, 100, WS_TIME_MEASURED, WS_TIME_MEASURED });
}

/* The clock's error allows an earlier time, but nothing begins before it is launched. */
static void none_begins_before_its_launch(void **state)
{
    (void)state;
    host_error = 5000;
    /* By the events the kernel ran between 5.5 and 7.5 µs, but its launch was called at 10. */
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 6000, 7000,
          (struct expected){ 10000, 4500, 10000, 4500, WS_TIME_MEASURED, WS_TIME_MEASURED });
    check(kernel(WS_OP_CONTENDED, WS_RING_OP_OWN_BEGIN), 6000, 50000,
          (struct expected){ 10000, 40500, 50500, 45000, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

/* A kernel is launched into an idle stream. Its thread is then stopped for 90 ms before it records the end event. */
static void a_thread_held_up_measures_nothing(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.op.shape = 3;
    pending.late = UINT32_MAX; /* more than the ring's record can say */
    struct expected expected = { 12750, 2850, 13750, 89986750, WS_TIME_BOUNDED, WS_TIME_BOUNDED };
    check(pending, 5000, 90000000, expected);
    /* Once another operation of this shape has been measured, this one is taken to last as long. */
    struct pending other = kernel(0, 0);
    other.op.shape = 3;
    check(other, 100000, 150000, busy);
    expected.end = 12750 + 149500 - 100750;
    expected.end_error = 90000500 - (uint32_t)expected.end;
    check(pending, 5000, 90000000, expected);
    /* The same duration holds where the thread was delayed within the launch call; here the end event is good. */
    struct pending slow = other;
    slow.op.host_end = 99000;
    check(slow, 5000, 150000, (struct expected){ 100750, 90850, 149500, 1000, WS_TIME_INFERRED, WS_TIME_MEASURED });
    pending.op.shape = 4;
    expected.end = 13750;
    expected.end_error = 89986750;
    check(pending, 5000, 90000000, expected);
}

/* The driver copies pageable memory within the call, which lasts from 10 to 1410 µs. */
static void copies_of_pageable_memory(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_COPY;
    pending.staged = true;
    pending.op.host_end = 1410000;
    pending.late = 3000;
    context.shortest_submit = 2000;
    /* If the stream is free, the copy lies between the call's begin and its return. */
    check(pending, 5000, 1414000,
          (struct expected){ 11000, 1402600, 1410000, 1400100, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* If the stream is busy at first, and again when the call returns, the copy lies somewhere between the events. */
    check(pending, 300000, 1800000,
          (struct expected){ 300000, 1113600, 1800500, 1501000, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* The same with a call that is known to block until the copy is done. */
    pending.op.flags = WS_OP_BLOCKING;
    check(pending, 300000, 1414000,
          (struct expected){ 300000, 1114500, 1410000, 1110500, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

static void errors_beyond_four_seconds_stay_at_their_most(void **state)
{
    (void)state;
    struct pending pending = kernel(WS_OP_CONTENDED, WS_RING_OP_OWN_BEGIN);
    put_event(BEGIN, 100000);
    put_event(END, 100000 + ((int64_t)1 << 33));
    times_resolve(&stream, &pending, END);
    assert_int_equal(pending.op.begin_error, UINT32_MAX);
    assert_int_equal(pending.op.end_error, UINT32_MAX);
}

/* --- against a model ---------------------------------------------------------------------------- */

/* One stream of a device whose clock is the host's plus OFFSET. The stream works in order. An event gets its time
 * when it has reached the device and all work before it has ended, or a moment later. */
enum {
    OFFSET = 1000000000,
    OP_DISPATCH = 1500,    /* most ns until an operation begins; the same as in times.c */
    EVENT_DISPATCH = 1000, /* most ns from the end of an operation to the event behind it */
    LEAST_DURATION = 1000,
};

struct model {
    uint64_t seed;
    int64_t host;        /* the host's time, as the thread has come to it */
    int64_t ended;       /* when all work in the stream so far has ended (host's clock) */
    int64_t submit;      /* ns that work takes from the host to the device */
    uint32_t last_event; /* the end event of the last operation, which the shim may use again; 0: none */
    uint32_t next_event;
};

static int64_t some(struct model *model, int64_t most)
{
    model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((model->seed >> 33) % ((uint64_t)most + 1));
}

static bool one_in(struct model *model, int64_t count)
{
    return !some(model, count - 1);
}

/* How long the thread spends between two steps: mostly little, at times long, as when it is preempted. */
static int64_t a_moment(struct model *model)
{
    return one_in(model, 20) ? some(model, 300000) : some(model, 5000);
}

/* The thread records an event now. */
static uint32_t model_event(struct model *model)
{
    int64_t came = model->host + model->submit;
    int64_t followed = model->ended + some(model, EVENT_DISPATCH);
    model->ended = came > followed ? came : followed;
    uint32_t event = model->next_event = model->next_event % EVENTS + 1;
    put_event(event, model->ended + OFFSET + some(model, 2 * EVENT_ERROR) - EVENT_ERROR);
    return event;
}

/* The driver submits an operation at some time between `from` and `to`. The operation begins `wait` ns later than it
 * could. */
static void model_work(struct model *model, int64_t from, int64_t to, int64_t wait, int64_t *begin, int64_t *end)
{
    int64_t came = from + some(model, to - from) + model->submit;
    int64_t ready = came > model->ended ? came : model->ended;
    *begin = ready + some(model, OP_DISPATCH) + wait;
    *end = model->ended = *begin + LEAST_DURATION + (one_in(model, 3) ? some(model, 300000) : some(model, 5000));
}

/* Work that another thread puts into the stream: no event of the shim's is around it. */
static void model_others(struct model *model)
{
    int64_t begin, end;
    model_work(model, model->host, model->host, 0, &begin, &end);
}

static void check_truth(const struct ws_op *op, int64_t begin, int64_t end)
{
    assert_true(op->begin <= op->end);
    assert_in_range(llabs(op->begin - begin - OFFSET), 0, op->begin_error);
    assert_in_range(llabs(op->end - end - OFFSET), 0, op->end_error);
    assert_int_not_equal(ws_op_begin_quality(op), WS_TIME_NONE);
    assert_int_not_equal(ws_op_end_quality(op), WS_TIME_NONE);
}

/* One operation as shim/calls/ops.c times it: a begin event of its own or the end event of the operation before, then
 * the call, then the end event. */
static void model_op(struct model *model)
{
    int64_t begin, end;
    bool waits = one_in(model, 8), contends = one_in(model, 8), late = one_in(model, 8), copy = one_in(model, 4);
    bool shared = copy && one_in(model, 2), own = one_in(model, 3) || !model->last_event;
    model->host += one_in(model, 2) ? 0 : a_moment(model);
    struct pending pending = {
        .op.flags = (waits ? WS_OP_BLOCKING : 0) | (contends ? WS_OP_CONTENDED : 0),
        .begin_event = own ? model_event(model) : model->last_event,
        .inner = (own ? WS_RING_OP_OWN_BEGIN : 0) | (shared ? WS_RING_OP_ENGINE_BUSY : 0),
        .direction = copy ? COPY_TO_DEVICE : COPY_DIRECTIONS,
        .kind = late   ? WS_OP_MEMORY_OP
                : copy ? WS_OP_COPY
                       : WS_OP_KERNEL,
        .staged = copy && one_in(model, 2),
    };
    if (one_in(model, 20))
        pending.begin_event = 0;
    model->host += a_moment(model);
    if (contends && one_in(model, 2))
        model_others(model);
    pending.op.host_begin = model->host;
    int64_t returned = model->host += 500 + a_moment(model);
    model_work(model, pending.op.host_begin, returned, late || shared ? some(model, 200000) : 0, &begin, &end);
    int64_t done = pending.staged ? end - some(model, 3000) : end; /* a staged call may return earlier */
    if ((waits || pending.staged) && model->host < done)
        model->host = done + some(model, 3000);
    pending.op.host_end = model->host;
    if (contends && one_in(model, 2))
        model_others(model);
    model->host += a_moment(model);
    pending.end_event = model->last_event = model_event(model);
    pending.late = (uint32_t)(model->host - pending.op.host_end);
    times_resolve(&stream, &pending, pending.end_event);
    check_truth(&pending.op, begin, end);
}

/* Launches that may begin before the one before them has ended: one event before and one behind all of them. */
static void model_dependents(struct model *model)
{
    enum { MOST = 6 };
    struct pending pending[MOST];
    int64_t begin[MOST], end[MOST], ended;
    int count = 1 + (int)some(model, MOST - 1);
    uint32_t before = model->last_event;
    for (int i = 0; i < count; i++, before = 0) {
        int64_t from = model->host, to = model->host += 500 + a_moment(model);
        pending[i] = (struct pending){
            .op = { .host_begin = from, .host_end = to, .flags = WS_OP_DEPENDENT },
            .begin_event = before,
            .inner = WS_RING_OP_HELD,
            .direction = COPY_DIRECTIONS,
            .kind = WS_OP_KERNEL,
        };
        ended = model->ended;
        model_work(model, from, to, 0, &begin[i], &end[i]);
        if (i) { /* it may begin as soon as the launch before it has begun */
            int64_t could = begin[i - 1] > from + model->submit ? begin[i - 1] : begin[i];
            begin[i] = could < begin[i] ? could + some(model, begin[i] - could) : begin[i];
            model->ended = end[i] > ended ? end[i] : ended;
        }
    }
    model->host += a_moment(model);
    uint32_t event = model->last_event = model_event(model);
    for (int i = 0; i < count; i++) {
        times_resolve(&stream, &pending[i], event);
        check_truth(&pending[i].op, begin[i], end[i]);
    }
}

static void the_truth_lies_within(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        begin_anew(NULL);
        struct model model = { .seed = seed * 0x9e3779b97f4a7c15u, .host = 1000000 };
        model.submit = some(&model, SUBMIT);
        host_error = one_in(&model, 2) ? some(&model, 300) : some(&model, 20000);
        host_off = OFFSET + some(&model, 2 * host_error) - host_error;
        for (int i = 0; i < 100; i++) {
            if (model.last_event && one_in(&model, 10))
                model_dependents(&model);
            else
                model_op(&model);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_event_is_read_once, begin_anew),
        cmocka_unit_test_setup(an_event_waits_for_the_clock_and_for_its_time, begin_anew),
        cmocka_unit_test_setup(an_event_that_cannot_be_read_stays_so, begin_anew),
        cmocka_unit_test_setup(in_a_busy_stream, begin_anew),
        cmocka_unit_test_setup(in_an_idle_stream, begin_anew),
        cmocka_unit_test_setup(of_an_odd_span, begin_anew),
        cmocka_unit_test_setup(without_a_begin_event, begin_anew),
        cmocka_unit_test_setup(contended, begin_anew),
        cmocka_unit_test_setup(held, begin_anew),
        cmocka_unit_test_setup(begins_late, begin_anew),
        cmocka_unit_test_setup(beside_other_copies, begin_anew),
        cmocka_unit_test_setup(blocking, begin_anew),
        cmocka_unit_test_setup(what_cannot_be, begin_anew),
        cmocka_unit_test_setup(none_begins_before_its_launch, begin_anew),
        cmocka_unit_test_setup(a_thread_held_up_measures_nothing, begin_anew),
        cmocka_unit_test_setup(copies_of_pageable_memory, begin_anew),
        cmocka_unit_test_setup(errors_beyond_four_seconds_stay_at_their_most, begin_anew),
        cmocka_unit_test_setup(the_truth_lies_within, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
