/* Tests of shim/timing/reconstruct, which computes device times of operations that have no events. The results are
 * compared with a small model of a stream whose true times are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/root.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/durations.h"
#include "shim/timing/reconstruct.h"
#include "kernel_shapes.h"

/* --- the model of a device: launches arrive DELAY after their calls have returned ----------------- */

enum {
    DELAY = 1500,
    DISPATCH = 1000 /* ns from an operation's end to the next one's begin */,
    AFTER_EVENT = DISPATCH - AFTER_KERNEL + AROUND_KERNEL,
    EVENT_CALL = 2500,
    OPS = 64,
    KINDS = 8
};

static struct pool_event events[2 * OPS];
static struct shim_context context;
static struct shim_stream stream;
static struct pending ops[OPS];
static int64_t begins[OPS], ends[OPS]; /* the operations' true times */
static int64_t device_free, host;
static unsigned count, event_count;

int64_t device_clock_from_host(const struct shim_context *of, int64_t host_ns, int64_t *error)
{
    (void)of;
    *error = 1000;
    return host_ns;
}

bool device_clock_known(const struct shim_context *of)
{
    (void)of;
    return true;
}

void device_clock_begin(struct shim_context *of, uint32_t event, int64_t launched)
{
    (void)of, (void)event, (void)launched;
}

void device_clock_learn(struct shim_context *of, uint32_t event, int64_t launched)
{
    (void)of, (void)event, (void)launched;
}

ws_CUresult device_clock_read(struct shim_context *of, ws_CUevent event, int64_t *time, uint32_t *error)
{
    (void)of, (void)event, (void)time, (void)error;
    return WS_CUDA_SUCCESS;
}

static int begin_all(void **state)
{
    (void)state;
    if (kernel_shapes_begin(KINDS))
        return -1;
    return 0;
}

static void begin_window(void)
{
    count = event_count = 0;
    memset(ops, 0, sizeof(ops));
}

static int begin_anew(void **state)
{
    (void)state;
    memset(events, 0, sizeof(events));
    memset(&context, 0, sizeof(context));
    memset(&stream, 0, sizeof(stream));
    context.pool.events = events;
    context.shortest_submit = 2 * DELAY;
    context.arrival = (struct arrival){ .base = DELAY, .var = 100 * 100, .probes = 10 };
    context.dispatch = (struct dispatch){ .mean = DISPATCH - AFTER_KERNEL, .var = 100, .count = 16 };
    stream.context = &context;
    host = 1000000;
    device_free = 0;
    for (uint32_t kind = 1; kind <= KINDS; kind++)
        *duration_of(kind) = (struct duration){ 0 };
    begin_window();
    return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint32_t put_event(int64_t time)
{
    events[event_count] = (struct pool_event){ .time = time, .state = EVENT_READ };
    return ++event_count;
}

/* The events of a launch: none, one behind it, one before and one behind it, or these two behind a gate. */
enum measured { NOT, END, PAIR, GATED };

/* ns from queueing an operation and its events until its gate (a wait that holds the stream) is opened */
static int64_t gate_held = 3000;
static int64_t gate_seen; /* ns from opening a gate until the device sees that it is open */

static void launch(uint32_t kind, int64_t takes, int64_t host_before, enum measured measured)
{
    struct pending *pending = &ops[count];
    host += host_before;
    uint32_t begin_event = 0;
    int64_t opened = 0;
    if (measured >= PAIR) {
        host += EVENT_CALL;
        begin_event = measured == PAIR ? put_event(larger(device_free, host + DELAY)) : put_event(0);
    }
    pending->op = (struct ws_op){ .shape = kind, .host_begin = host, .host_end = host + 1500 };
    pending->kind = WS_OP_KERNEL;
    pending->detail = WS_RING_OP_COMPUTED | (measured == GATED ? WS_RING_OP_GATED : 0);
    pending->begin_event = begin_event;
    host += 1500;
    if (measured == GATED) {
        opened = larger(device_free, host + EVENT_CALL + gate_held + gate_seen);
        events[begin_event - 1].time = opened;
        device_free = opened + AFTER_EVENT - DISPATCH;
    } else if (begin_event) {
        device_free = events[begin_event - 1].time + AFTER_EVENT - DISPATCH;
    }
    begins[count] = larger(device_free, host + DELAY) + DISPATCH;
    ends[count] = begins[count] + takes;
    device_free = ends[count];
    if (measured != NOT) {
        host += EVENT_CALL;
        pending->late = EVENT_CALL + (measured == GATED ? (uint32_t)gate_held : 0);
        pending->end_event = put_event(larger(device_free, host + DELAY));
        device_free = events[pending->end_event - 1].time + AFTER_EVENT - DISPATCH;
    }
    if (count)
        ops[count - 1].next = pending;
    count++;
}

static void compute(void)
{
    reconstruct(&stream, &ops[0], &ops[count - 1], ops[count - 1].end_event);
}

/* Makes the duration of kernels of this kind known, by 20 samples of `ns`. */
static void teach(uint32_t kind, double ns)
{
    for (int i = 0; i < 20; i++)
        duration_sample(duration_of(kind), ns, 100 * 100, SAMPLE_EXACT);
}

static void assert_all_inside(void)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t begin_off = ops[i].op.begin - begins[i], end_off = ops[i].op.end - ends[i];
        assert_true(llabs(begin_off) <= (int64_t)ops[i].op.begin_error);
        assert_true(llabs(end_off) <= (int64_t)ops[i].op.end_error);
    }
}

/* --- times of operations in a stream, one after the other ------------------------------------------ */

static void an_idle_stream_begins_when_the_launch_arrives(void **state)
{
    (void)state;
    teach(1, 2000);
    for (int i = 0; i < 5; i++)
        launch(1, 2000, 20000, NOT);
    compute();
    assert_all_inside();
    for (unsigned i = 0; i < count; i++) {
        assert_true(ops[i].op.begin_error < 1000);
        assert_int_equal(ws_op_begin_quality(&ops[i].op), WS_TIME_INFERRED);
        assert_int_equal(ws_op_end_quality(&ops[i].op), WS_TIME_INFERRED);
    }
}

static void queued_work_follows_what_is_before_it(void **state)
{
    (void)state;
    teach(1, 30000);
    teach(2, 5000);
    for (int i = 0; i < 20; i++)
        launch(1 + i % 2, i % 2 ? 5000 : 30000, 0, NOT);
    compute();
    assert_all_inside();
    assert_true(ops[19].op.begin_error > ops[1].op.begin_error);
}

/* An anchor is an event that had to wait for the operations before it, so its time tells their end. A run is a series
 * of operations without a pause. */
static void an_anchor_corrects_the_run_before_it(void **state)
{
    (void)state;
    teach(1, 10000);
    for (int i = 0; i < 40; i++)
        launch(1, 10300, 0, i == 39 ? END : NOT);
    compute();
    assert_all_inside();
    assert_int_equal(ops[39].op.end, ends[39]);
    assert_int_equal(ws_op_end_quality(&ops[39].op), WS_TIME_MEASURED);
    assert_int_equal(ws_op_begin_quality(&ops[39].op), WS_TIME_INFERRED);
}

static void anchors_teach_what_kernels_take(void **state)
{
    (void)state;
    teach(1, 10000);
    for (int window = 0; window < 20; window++) {
        begin_window();
        for (int i = 0; i < 40; i++)
            launch(1, 10300, 0, i == 39 ? END : NOT);
        compute();
        device_free = larger(device_free, ends[count - 1]);
    }
    assert_true(duration_expected(duration_of(1)) > 10250 && duration_expected(duration_of(1)) < 10350);
}

static void an_event_in_an_idle_stream_tells_no_end(void **state)
{
    (void)state;
    teach(1, 500);
    launch(1, 500, 20000, END);
    compute();
    assert_all_inside();
    assert_int_equal(ws_op_end_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_true(ops[0].op.end - ops[0].op.begin < 1000);
}

static void what_held_the_stream_shows_at_the_next_event(void **state)
{
    (void)state;
    teach(1, 2000);
    launch(1, 2000, 20000, NOT);
    device_free += 500000; /* other work, such as another process's, keeps the device busy */
    launch(1, 2000, 0, END);
    compute();
    assert_int_equal(ops[1].op.end, ends[1]);
    launch(1, 2000, 600000, NOT);
    struct pending *next = &ops[2];
    reconstruct(&stream, next, next, 0);
    assert_true(llabs(next->op.begin - begins[2]) <= (int64_t)next->op.begin_error);
}

static void what_a_stream_waits_for_does_not_lengthen_what_was_before(void **state)
{
    (void)state;
    teach(1, 2000);
    launch(1, 2000, 20000, NOT);
    device_free += 500000; /* the stream waits for an event of another stream */
    launch(1, 2000, 0, PAIR);
    ops[1].detail |= WS_RING_OP_WAITED;
    compute();
    assert_all_inside();
    assert_true(ops[0].op.end - ops[0].op.begin < 3000);
}

/* --- samples: measured launches, from which durations are learned ------------------------- */

static void gated_launches_tell_short_kernels(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        begin_window();
        launch(1, 500, 20000, GATED);
        compute();
        assert_int_equal(ws_op_begin_quality(&ops[0].op), WS_TIME_MEASURED);
        assert_int_equal(ws_op_end_quality(&ops[0].op), WS_TIME_MEASURED);
        assert_int_equal(ops[0].op.end - ops[0].op.begin, 500);
    }
    assert_true(duration_expected(duration_of(1)) > 480 && duration_expected(duration_of(1)) < 520);
}

static void pairs_tell_long_kernels_only(void **state)
{
    (void)state;
    launch(1, 100000, 20000, PAIR);
    compute();
    assert_int_equal(duration_of(1)->samples, 1);
    assert_true(llabs((int64_t)duration_expected(duration_of(1)) - 100000) < 1000);
    begin_window();
    launch(2, 500, 200000, PAIR);
    compute();
    assert_int_equal(duration_of(2)->samples, 0);
    assert_true(duration_expected(duration_of(2)) < 5000);
}

static void a_gate_on_a_busy_stream_tells_when_it_was_free(void **state)
{
    (void)state;
    teach(1, 50000);
    for (int i = 0; i < 10; i++)
        launch(1, 51000, 0, NOT);
    launch(2, 500, 0, GATED);
    compute();
    assert_all_inside();
    assert_true(llabs(ops[9].op.end - ends[9]) < 10);
}

/* A gate holds the stream in front of its operation. The thread may be delayed before it opens the gate, so the
 * operations before the gate may have ended long before it opens. */
static void a_gate_that_opens_late_tells_nothing_of_those_before(void **state)
{
    (void)state;
    teach(1, 1000);
    for (int i = 0; i < 4; i++)
        launch(1, 1000, 0, NOT);
    gate_held = 40000;
    launch(2, 500, 0, GATED);
    gate_held = 3000;
    compute();
    for (int i = 0; i < 4; i++)
        assert_true(llabs(ops[i].op.end - ends[i]) < 1500);
    assert_true(duration_expected(duration_of(1)) < 1100);
}

static void a_device_that_sees_late_that_a_gate_is_open_tells_nothing_either(void **state)
{
    (void)state;
    teach(1, 1000);
    for (int i = 0; i < 4; i++)
        launch(1, 1000, 0, NOT);
    gate_seen = 90000;
    launch(2, 500, 20000, GATED);
    gate_seen = 0;
    compute();
    for (int i = 0; i < 4; i++)
        assert_true(llabs(ops[i].op.end - ends[i]) < 1500);
}

static void the_spread_of_durations_is_stated(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        begin_window();
        launch(1, 2000 + 500 * (i % 5), 20000, GATED);
        compute();
    }
    begin_window();
    for (int i = 0; i < 40; i++)
        launch(1, 2000 + 500 * (i * 3 % 5), 20000, NOT);
    compute();
    assert_all_inside();
    assert_true(ops[0].op.end_error > ops[0].op.begin_error + 1000);
}

/* A kernel whose launches take 0.5 to 100 us is measured by the ends of launches in a row alone. Its mean is learned,
 * also if all of the first samples were long ones. */
static void ends_in_a_row_tell_a_kernel_that_varies_widely(void **state)
{
    static const int64_t takes[] = { 500, 100000, 2000, 20000, 1000, 5000 };
    (void)state;
    struct duration *kernel = duration_of(1);
    *kernel =
        (struct duration){ .mean = 60000, .var = 2e8f, .spread = 1.6e9f, .samples = 8, .gated = true, .call = 1500 };
    uint32_t random = 1;
    for (int i = 0; i < 600; i++) {
        begin_window();
        random = random * 1664525u + 1013904223u;
        launch(1, takes[(random >> 16) % 6], 34000, END);
        compute();
    }
    double off = duration_expected(kernel) - 21416.7, sure = STATED * ws_root(duration_unsure(kernel));
    assert_true(off < sure && off > -sure && sure < 12000);
    assert_true(kernel->samples > 400);
    duration_want_more(1);
    assert_int_equal(duration_wanted(1), WANT_ENDS);
}

static void a_duration_that_changes_is_learned_anew(void **state)
{
    (void)state;
    teach(1, 1000);
    for (int i = 0; i < 3; i++)
        duration_sample(duration_of(1), 5000, 100 * 100, SAMPLE_EXACT);
    assert_true(duration_expected(duration_of(1)) > 4000);
    teach(1, 5000);
    duration_sample(duration_of(1), 90000, 100 * 100, SAMPLE_EXACT); /* a single long sample is an outlier */
    assert_true(duration_expected(duration_of(1)) < 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_idle_stream_begins_when_the_launch_arrives, begin_anew),
        cmocka_unit_test_setup(queued_work_follows_what_is_before_it, begin_anew),
        cmocka_unit_test_setup(an_anchor_corrects_the_run_before_it, begin_anew),
        cmocka_unit_test_setup(anchors_teach_what_kernels_take, begin_anew),
        cmocka_unit_test_setup(an_event_in_an_idle_stream_tells_no_end, begin_anew),
        cmocka_unit_test_setup(what_held_the_stream_shows_at_the_next_event, begin_anew),
        cmocka_unit_test_setup(what_a_stream_waits_for_does_not_lengthen_what_was_before, begin_anew),
        cmocka_unit_test_setup(gated_launches_tell_short_kernels, begin_anew),
        cmocka_unit_test_setup(pairs_tell_long_kernels_only, begin_anew),
        cmocka_unit_test_setup(a_gate_on_a_busy_stream_tells_when_it_was_free, begin_anew),
        cmocka_unit_test_setup(a_gate_that_opens_late_tells_nothing_of_those_before, begin_anew),
        cmocka_unit_test_setup(a_device_that_sees_late_that_a_gate_is_open_tells_nothing_either, begin_anew),
        cmocka_unit_test_setup(the_spread_of_durations_is_stated, begin_anew),
        cmocka_unit_test_setup(a_duration_that_changes_is_learned_anew, begin_anew),
        cmocka_unit_test_setup(ends_in_a_row_tell_a_kernel_that_varies_widely, begin_anew),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
