/* Tests of shim/timing/times, which computes the begins and ends of operations from CUDA events. The results of each
 * case are compared with exact numbers; test_times_model.c tests all cases together. */
#include "fake_clock.h"

#include "shim/timing/dispatch.h"

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
    assert_int_equal(begun, 1); /* the device clock got the event once */
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

/* --- each case in exact numbers ----------------------------------------------------------------- */

enum { BEGIN = 1, END = 2 };

struct expected {
    int64_t begin, begin_error, end, end_error;
    enum ws_quality begin_quality, end_quality;
};

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

/* The begin event passed between 99.5 and 100.5 µs, long after the launch. The kernel begins 0.7 to 2.2 µs after it,
 * most likely 2.15 µs (dispatch.h). The end event passes within 1 µs after the kernel's end, most likely at once. */
static const struct expected busy = { 102150, 1950, 150000, 1500, WS_TIME_INFERRED, WS_TIME_MEASURED };

static void in_a_busy_stream(void **state)
{
    (void)state;
    check(kernel(0, 0), 100000, 150000, busy);
    struct expected own = busy;
    own.begin_quality = WS_TIME_MEASURED;
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 100000, 150000, own);
}

/* The kernel is launched at 9.9 µs at the earliest and is on the device by 14.1 µs. It begins within 2.2 µs after
 * that, but before its end event, which passes by 15.5 µs. The stream is idle when the end event reaches it, so the
 * kernel may have ended up to 3.3 µs before the event passes. */
static const struct expected idle = { 12700, 2800, 13350, 2150, WS_TIME_BOUNDED, WS_TIME_MEASURED };

static void in_an_idle_stream(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.late = 1300;
    check(pending, 5000, 15000, idle);
    /* As in the check before, but the thread was delayed between the launch and the recording of the end event. */
    pending.late = 50000;
    check(pending, 5000, 64000, (struct expected){ 13100, 3200, 14100, 50400, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

/* Short kernels in an idle stream. Launches reach the device 0.5 µs after their call has returned, so the kernel
 * begins at about 13.4 µs, and the event after it arrives at 13.8 µs. */
static void when_the_arrival_is_known(void **state)
{
    static const struct {
        int64_t late, event, end;
    } cases[] = {
        { 1300, 15000, 0 }, /* the event did not wait: the kernel may have taken any part of the time until then */
        { 1300, 17000, 17000 }, /* the event waited for the kernel */
        { 1300, 15000, 0 },     /* now there is a usual length, but it is longer */
        { 4000, 17600, 17000 }, /* this event did not wait, and the kernel took as long as usual */
    };
    (void)state;
    context.arrival = (struct arrival){ .base = 500, .var = 1, .at = 12000, .probes = 1 };
    int64_t begin = 12500 + (int64_t)dispatch_after_operation(&context);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
        pending.op.shape = 9;
        pending.late = (uint32_t)cases[i].late;
        put_event(BEGIN, 5000);
        put_event(END, cases[i].event);
        times_resolve(&stream, &pending, END);
        assert_int_equal(pending.op.begin, begin);
        assert_int_equal(pending.op.end, cases[i].end ? cases[i].end : begin + (cases[i].event - begin) / 2);
    }
}

/* The begin lies in a span whose length is an odd number of ns. Half of it is rounded up, so that (middle ± error)
 * covers the whole span. */
static void of_an_odd_span(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    host_error = HOST_ERROR + 1;
    pending.late = 1300;
    struct expected expected = idle;
    expected.begin_error = 2801;
    check(pending, 5000, 15000, expected);
}

static void without_a_begin_event(void **state)
{
    (void)state;
    struct expected expected = { 80200, 70300, 150000, 1500, WS_TIME_INFERRED, WS_TIME_MEASURED };
    struct pending pending = kernel(0, 0);
    pending.begin_event = 0;
    check(pending, 100000, 150000, expected);
    /* A begin event that could not be read counts as no begin event. */
    pending.begin_event = 3;
    events[2].state = EVENT_FAILED;
    check(pending, 100000, 150000, expected);
    events[2].state = EVENT_UNREAD;
    check(pending, 100000, 150000, expected);
    /* a kernel that should have its own begin event, but no event was free */
    pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.begin_event = 0;
    check(pending, 100000, 150000, expected);
}

/* Other threads may have put work between the two events, so the kernel may have run anywhere between them. */
static void contended(void **state)
{
    (void)state;
    check(kernel(WS_OP_CONTENDED, WS_RING_OP_OWN_BEGIN), 100000, 150000,
          (struct expected){ 100200, 50300, 150500, 50300, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

static void held(void **state)
{
    (void)state;
    /* The end event is recorded behind a later kernel, so this kernel may end earlier. The kernel's begin is as
     * certain as in any busy stream. */
    check(kernel(0, WS_RING_OP_OWN_BEGIN | WS_RING_OP_HELD), 100000, 150000,
          (struct expected){ 100200, 2500, 150500, 50300, WS_TIME_MEASURED, WS_TIME_BOUNDED });
    check(kernel(WS_OP_DEPENDENT, WS_RING_OP_HELD), 100000, 150000,
          (struct expected){ 100200, 50300, 150500, 50300, WS_TIME_INFERRED, WS_TIME_BOUNDED });
}

/* The operations of this test may begin long after their begin event. So their begin is uncertain, although their end
 * is certain. */
static void begins_late(void **state)
{
    (void)state;
    struct expected expected = { 125350, 25150, 150000, 1500, WS_TIME_BOUNDED, WS_TIME_MEASURED };
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_MEMORY_OP;
    check(pending, 100000, 150000, expected);
    pending = kernel(WS_OP_DEPENDENT, WS_RING_OP_OWN_BEGIN);
    check(pending, 100000, 150000, expected);
}

static void beside_other_copies(void **state)
{
    (void)state;
    struct expected late = { 125350, 25150, 150000, 1500, WS_TIME_BOUNDED, WS_TIME_MEASURED };
    struct expected alone = busy;
    alone.begin_quality = WS_TIME_MEASURED;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_COPY;
    pending.direction = COPY_TO_HOST;
    /* 12 - 7 = 5 copies to the host were queued on other streams before this copy, and none after it. */
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
    /* The counts wrap around to 0 after 2³² copies. */
    stream.copies[COPY_TO_HOST] = UINT32_MAX;
    context.copies[COPY_TO_HOST] = 4;
    check(pending, 100000, 150000, alone);
    /* A copy that is neither to the device nor to the host does not wait for a copy engine. */
    pending.direction = COPY_DIRECTIONS;
    pending.inner |= WS_RING_OP_ENGINE_BUSY;
    check(pending, 100000, 150000, alone);
}

/* A blocking call returns when its operation is done, so its return bounds the operation's end. The end event is
 * recorded after the return and tells little. */
static void blocking(void **state)
{
    (void)state;
    struct pending pending = kernel(WS_OP_BLOCKING, WS_RING_OP_OWN_BEGIN);
    pending.op.host_end = 60000;
    check(pending, 5000, 70000, (struct expected){ 10000, 50100, 60000, 50100, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    check(pending, 30000, 50000, (struct expected){ 30200, 20300, 50500, 20300, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* According to its events the kernel begins after the call has returned, which is impossible. So the latest time
     * of the return is taken as begin and end. */
    check(pending, 61000, 70000, (struct expected){ 60100, 0, 60100, 0, WS_TIME_MEASURED, WS_TIME_BOUNDED });
}

/* Even if events and host times contradict each other, no duration is negative. */
static void what_cannot_be(void **state)
{
    (void)state;
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 100000, 80000,
          (struct expected){ 100200, 0, 100200, 0, WS_TIME_MEASURED, WS_TIME_MEASURED });
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 1000, 2000,
          (struct expected){ 10000, 100, 10000, 100, WS_TIME_MEASURED, WS_TIME_MEASURED });
}

/* The clock's error would allow an earlier begin, but nothing begins before its launch was called. */
static void none_begins_before_its_launch(void **state)
{
    (void)state;
    host_error = 5000;
    /* According to its events the kernel ran between 6.2 and 7.5 µs, but its launch was called at 10 µs. */
    check(kernel(0, WS_RING_OP_OWN_BEGIN), 6000, 7000,
          (struct expected){ 10000, 3800, 10000, 3800, WS_TIME_MEASURED, WS_TIME_MEASURED });
    check(kernel(WS_OP_CONTENDED, WS_RING_OP_OWN_BEGIN), 6000, 50000,
          (struct expected){ 10000, 40500, 50500, 44300, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    check(kernel(WS_OP_BLOCKING, WS_RING_OP_OWN_BEGIN), 6000, 7000,
          (struct expected){ 10000, 3800, 10000, 3800, WS_TIME_MEASURED, WS_TIME_BOUNDED });
}

/* A kernel is launched into an idle stream. The thread is then stopped for 90 ms before it records the end event, so
 * the event does not tell the kernel's end. */
static void a_thread_held_up_measures_nothing(void **state)
{
    (void)state;
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.op.shape = 3;
    pending.late = UINT32_MAX; /* the largest delay that a ring record can hold */
    struct expected expected = { 13100, 3200, 14100, 89986400, WS_TIME_BOUNDED, WS_TIME_BOUNDED };
    check(pending, 5000, 90000000, expected);
    /* Once another operation of this shape (same kernel and grid) was measured, this one is assumed to last as
     * long. */
    struct pending other = kernel(0, 0);
    other.op.shape = 3;
    check(other, 100000, 150000, busy);
    expected.end = 13100 + busy.end - busy.begin;
    expected.end_error = 90000500 - (uint32_t)expected.end;
    check(pending, 5000, 90000000, expected);
    /* This length is also used if the thread was delayed inside the launch call. Then the end event is exact, and
     * only the begin is uncertain. */
    struct pending slow = other;
    slow.op.host_end = 99000;
    check(slow, 5000, 150000, (struct expected){ 102150, 92250, 150000, 1500, WS_TIME_INFERRED, WS_TIME_MEASURED });
    pending.op.shape = 4;
    expected.end = 14100;
    expected.end_error = 89986400;
    check(pending, 5000, 90000000, expected);
}

/* --- the usual length of operations of one shape (such as launches of one kernel with one grid) ------ */

/* Measures an operation of this shape and length, in a busy stream. */
static void measure(uint32_t shape, uint64_t bytes, int64_t length)
{
    struct pending pending = kernel(0, 0);
    pending.op.shape = shape;
    pending.op.bytes = bytes;
    struct expected expected = busy;
    expected.end = busy.begin + length;
    check(pending, 100000, expected.end, expected);
}

/* Returns the reported length of an operation of this shape. Its thread was delayed before it recorded the end
 * event. */
static int64_t shown_length(uint32_t shape, uint64_t bytes)
{
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.op.shape = shape;
    pending.op.bytes = bytes;
    pending.late = UINT32_MAX;
    put_event(BEGIN, 5000);
    put_event(END, 4294980000); /* about the time at which the delayed thread recorded the event */
    times_resolve(&stream, &pending, END);
    return pending.op.end - pending.op.begin;
}

static void a_usual_length_is_the_mean_of_some(void **state)
{
    (void)state;
    measure(10, 0, 40000);
    assert_int_equal(shown_length(10, 0), 40000);
    measure(10, 0, 48000); /* the new length counts one eighth, the mean before it seven eighths */
    assert_int_equal(shown_length(10, 0), 41000);
    measure(10, 0, 33000);
    assert_int_equal(shown_length(10, 0), 40000);
    /* A length above the largest value of the table is stored as that value. */
    measure(11, 0, ((int64_t)1 << 32) + 5000);
    assert_int_equal(shown_length(11, 0), UINT32_MAX);
}

static void a_usual_length_grows_with_the_bytes(void **state)
{
    (void)state;
    measure(12, 1 << 20, 50000);
    assert_int_equal(shown_length(12, 1 << 20), 50000);
    assert_int_equal(shown_length(12, 3 << 20), 150000);
    assert_int_equal(shown_length(12, 1 << 19), 25000);
    /* A number of bytes above the largest value of the table is stored as that value. */
    measure(13, ((uint64_t)1 << 32) + 1, 4000000);
    assert_int_equal(shown_length(13, ((uint64_t)1 << 32) + 1), 4000000);
    assert_int_equal(shown_length(13, (uint64_t)1 << 31), 2000000);
}

/* The length of an operation is not used for others if it was not measured, or if it says nothing about the next
 * operation. */
static void some_lengths_are_not_usual(void **state)
{
    (void)state;
    enum { NOT_KNOWN = 1000 };
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_MEMORY_OP;
    pending.op.shape = 14;
    check(pending, 100000, 106000,
          (struct expected){ 103350, 3150, 106000, 1500, WS_TIME_BOUNDED, WS_TIME_MEASURED });
    assert_int_equal(shown_length(14, 0), NOT_KNOWN);
    pending = kernel(0, WS_RING_OP_OWN_BEGIN); /* a kernel whose thread was delayed in the launch call */
    pending.op.shape = 14;
    pending.op.host_end = 99000;
    check(pending, 5000, 150000, (struct expected){ 56600, 46700, 150000, 1500, WS_TIME_BOUNDED, WS_TIME_MEASURED });
    assert_int_equal(shown_length(14, 0), NOT_KNOWN);
}

/* If an operation's thread was delayed, the operation is reported with its usual length, but never outside of the
 * bounds from its events. */
static void a_usual_length_stays_within_the_events(void **state)
{
    (void)state;
    measure(15, 0, 60000);
    struct pending pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.op.shape = 15;
    pending.late = 30000;
    check(pending, 5000, 44000, (struct expected){ 13100, 3200, 44500, 33000, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    measure(16, 0, 2000);
    pending = kernel(0, WS_RING_OP_OWN_BEGIN);
    pending.op.shape = 16;
    pending.op.host_end = 99000; /* the thread was delayed in the launch call; the operation's end is known */
    check(pending, 5000, 150000, (struct expected){ 103300, 93400, 150000, 1500, WS_TIME_BOUNDED, WS_TIME_MEASURED });
    pending.late = 40000; /* the thread was also delayed before the end event: neither begin nor end is known */
    check(pending, 5000, 141000, (struct expected){ 56600, 46700, 58600, 82900, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
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
          (struct expected){ 11000, 1403300, 1410000, 1400100, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* If the stream is busy both when the copy is called and when the call returns, the copy lies somewhere between
     * the events. */
    check(pending, 300000, 1800000,
          (struct expected){ 300200, 1114100, 1800500, 1500300, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
    /* As in the check before, but the call is known to block until the copy is done. */
    pending.op.flags = WS_OP_BLOCKING;
    check(pending, 300000, 1414000,
          (struct expected){ 300200, 1114300, 1410000, 1109800, WS_TIME_BOUNDED, WS_TIME_BOUNDED });
}

/* A copy to pageable memory: its call begins at 10 µs and waits for the copy until `returned`. The stream was free
 * before. */
static struct pending waited_copy(uint32_t shape, uint32_t flags, int64_t returned)
{
    struct pending pending = kernel(WS_OP_BLOCKING | flags, WS_RING_OP_OWN_BEGIN);
    pending.kind = WS_OP_COPY;
    pending.staged = true;
    pending.direction = COPY_TO_HOST;
    pending.op.shape = shape;
    pending.op.bytes = 1024;
    pending.op.host_end = returned;
    pending.late = 3000;
    put_event(BEGIN, 5000);
    put_event(END, returned + 4000);
    times_resolve(&stream, &pending, END);
    return pending;
}

/* The thread wakes up long after a short copy, so the shortest span in which such a copy ran bounds the length of all
 * such copies. Here this span reaches from 9.9 µs, when the call began at the earliest, to 18.5 µs, when the end
 * event passed at the latest. The stated error still reaches to the call's return. */
static void a_wait_is_no_length(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    assert_true(registry_lock());
    uint32_t shape = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_COPY, .stream = 1 });
    registry_unlock();
    context.shortest_submit = 2000;
    struct pending first = waited_copy(shape, 0, 60000), quick = waited_copy(shape, 0, 14000);
    struct pending slow = waited_copy(shape, 0, 90000), behind = waited_copy(shape, WS_OP_DEPENDENT, 90000);
    assert_int_equal(first.op.begin, 11000);
    assert_int_equal(first.op.end, 60000);
    assert_int_equal(quick.op.end - quick.op.begin, 3000);
    assert_int_equal(slow.op.begin, 11000);
    assert_int_equal(slow.op.end, 11000 + 8600);
    assert_true(slow.op.end + slow.op.end_error >= 90000);
    assert_int_equal(ws_op_end_quality(&slow.op), WS_TIME_BOUNDED);
    /* `behind` may have waited for other work first, so it most likely ran right before its call returned. */
    assert_int_equal(behind.op.begin, 90000 - 8600);
    assert_int_equal(behind.op.end, 90000);
    assert_true(behind.op.begin - behind.op.begin_error <= 11000);
    /* A long copy takes much longer than the thread's waking up, so its call's return tells its end. */
    struct pending large = waited_copy(shape, 0, 90000);
    large.op.bytes = 1 << 20;
    large.op.flags = WS_OP_BLOCKING;
    times_resolve(&stream, &large, END);
    assert_int_equal(large.op.end, 90000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_event_is_read_once, begin_anew),
        cmocka_unit_test_setup(an_event_waits_for_the_clock_and_for_its_time, begin_anew),
        cmocka_unit_test_setup(an_event_that_cannot_be_read_stays_so, begin_anew),
        cmocka_unit_test_setup(in_a_busy_stream, begin_anew),
        cmocka_unit_test_setup(in_an_idle_stream, begin_anew),
        cmocka_unit_test_setup(when_the_arrival_is_known, begin_anew),
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
        cmocka_unit_test_setup(a_usual_length_is_the_mean_of_some, begin_anew),
        cmocka_unit_test_setup(a_usual_length_grows_with_the_bytes, begin_anew),
        cmocka_unit_test_setup(some_lengths_are_not_usual, begin_anew),
        cmocka_unit_test_setup(a_usual_length_stays_within_the_events, begin_anew),
        cmocka_unit_test_setup(copies_of_pageable_memory, begin_anew),
        cmocka_unit_test_setup(a_wait_is_no_length, begin_anew),
        cmocka_unit_test_setup(errors_beyond_four_seconds_stay_at_their_most, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
