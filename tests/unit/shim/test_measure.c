/* Tests of shim/calls/measure, which decides which launches are measured with events. Measuring may take only a given
 * share of the thread's time. A sample is a launch with a begin and an end event; an anchor is a launch with an end
 * event only. */
#include "measured_thread.h"

static void the_first_launch_is_no_sample(void **state)
{
    (void)state;
    stream.anchor_due = UINT64_MAX;
    assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION), MEASURE_NOTHING);
    assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION), MEASURE_PAIR);
}

static void measuring_keeps_to_its_share(void **state)
{
    (void)state;
    static const uint64_t shares[] = { 5000, 10000, 20000, 50000 }, spacings[] = { 1850, 5000, 100000 };
    for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        for (unsigned k = 0; k < sizeof(spacings) / sizeof(spacings[0]); k++) {
            struct counts counts = { .now = MILLION };
            *thread = (struct shim_thread){ 0 };
            stream.anchor_due = 0;
            shape = (struct shape_entry){ .until_sample = 2 };
            shim_options.overhead = shares[i];
            launch(&counts, 2 * MILLION, spacings[k], COST);
            /* A fifth of the permitted time is kept back, because measurements also slow down what follows them. The
             * first samples may exceed the permitted time, so the cost of 20 samples is added. */
            assert_true((double)counts.took <=
                        (double)(counts.now - MILLION) * (double)shares[i] / MILLION * 4 / 5 + 20 * COST);
            assert_true(counts.samples > 80 &&
                        counts.samples + counts.anchors > 250); /* each sample also serves as an anchor */
        }
    }
}

/* A thread that works a tenth of its time earns a tenth of the budget. */
static void time_without_work_earns_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct counts counts = { .now = MILLION };
        *thread = (struct shim_thread){ 0 };
        stretch = i ? 10 : 1;
        stream.anchor_due = 0;
        shape = (struct shape_entry){ .until_sample = 2 };
        launch(&counts, MILLION, 100000, COST);
        double allowed = (double)(counts.now - MILLION) * 0.02 / (double)stretch;
        assert_true((double)counts.took <= allowed + 20 * COST && (double)counts.took > allowed / 4);
    }
}

/* In a program that answers short requests, fewer than one request in a hundred contains a measurement. Programs
 * without waits, with long requests, or that are never idle are measured more often. */
static void few_requests_feel_a_measurement(void **state)
{
    (void)state;
    static const struct {
        uint64_t between, stretch;
        bool rarely;
    } cases[] = { { 0, 2, false }, { 100000, 2, true }, { 10 * MILLION, 2, false }, { 100000, 1, false } };
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        wanted = i % 2 ? WANT_ENDS : WANT_FIRST_SAMPLES;
        for (int kinds = 1; kinds < 4; kinds++) { /* samples, anchors, both */
            bool samples = kinds & 1, anchors = kinds & 2;
            struct counts counts = { .now = MILLION };
            *thread = (struct shim_thread){ 0 };
            between = cases[i / 2].between;
            stretch = cases[i / 2].stretch;
            stream.anchor_due = anchors ? 0 : UINT64_MAX;
            shape = (struct shape_entry){ .until_sample = samples ? 2 : 0 };
            for (int request = 0; request < 10000; request++) {
                launch(&counts, 20, 5000, COST);
                thread->activity.waits++;
                if (!anchors)
                    stream.anchor_due = UINT64_MAX;
            }
            unsigned all = counts.samples + counts.anchors;
            if (kinds == 3 && wanted != WANT_ENDS) /* neither kind takes all */
                assert_true(counts.samples > all / 4 && counts.anchors > all / 4);
            assert_true(cases[i / 2].rarely ? all >= 10 && all < 80 : all > 100);
        }
    }
}

static void a_thread_that_is_held_up_pays_for_its_calls_alone(void **state)
{
    (void)state;
    measure_was_paid(thread, &stream, MILLION, (uint64_t)1000 * MILLION);
    assert_true(thread->measuring.paid_until < MILLION + (uint64_t)10 * MILLION);
    measure_took(thread, (uint64_t)1000 * MILLION);
    assert_true(thread->measuring.spent < MILLION);
}

static void samples_and_anchors_take_turns(void **state)
{
    (void)state;
    struct counts counts = { .now = MILLION };
    launch(&counts, MILLION, 1850, COST);
    assert_true(counts.samples > counts.anchors / 3);
    assert_true(counts.anchors > counts.samples / 3);
}

/* After a pause, anchors follow each other quickly at first. Their average cost still stays within the permitted
 * share of time. */
static void a_burst_after_a_pause_has_many_anchors(void **state)
{
    (void)state;
    struct counts counts = { .now = (uint64_t)10 * MILLION };
    shape.until_sample = 0;
    launch(&counts, 1000, 6000, COST); /* a first burst of 6 ms */
    counts = (struct counts){ .now = counts.now + (uint64_t)1000 * MILLION };
    uint64_t began = counts.now;
    launch(&counts, 100, 6000, COST);
    assert_true(counts.anchors > 20);
    unsigned early = counts.anchors;
    launch(&counts, 100000, 6000, COST);
    assert_true(counts.anchors - early < 100 * early);
    assert_true((double)counts.took <= (double)(counts.now - began + (uint64_t)100 * MILLION) * 0.02 + 2 * COST);
}

/* Calls that wait are always measured. However many such calls there were, launches are soon measured again. */
static void debts_are_paid_within_a_window(void **state)
{
    (void)state;
    uint64_t now = (uint64_t)500 * MILLION;
    for (int i = 0; i < 20000; i++)
        measure_was_paid(thread, &other, now += 20000, 5 * COST);
    assert_true(thread->measuring.paid_until <= now + (uint64_t)100 * MILLION);
    assert_int_equal(measure_of_launch(thread, &stream, &shape, now + (uint64_t)101 * MILLION), MEASURE_END);
}

/* Calls that wait may use up all of the time for measuring. Even then a part of that time is left for a kernel's
 * first samples. */
static void waiting_calls_leave_early_samples_their_part(void **state)
{
    (void)state;
    struct counts counts = { .now = MILLION };
    uint64_t copies = 0;
    stream.anchor_due = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 4; k++, copies += COST)
            measure_was_paid(thread, &other, counts.now += COST, COST);
        launch(&counts, 10, 2000, COST);
        stream.anchor_due = UINT64_MAX;
    }
    assert_true((double)copies > (double)counts.now * 0.2); /* ten times the permitted share */
    assert_true(counts.samples >= 5);
    assert_true((double)counts.took <= (double)counts.now * 0.02 / 4 + 2 * COST);
}

/* Nothing is known of a kernel before its first sample. So where the budget allows few samples, a kernel that was
 * never sampled comes before others, even if it is launched much more rarely. */
static void a_kernel_without_samples_comes_first(void **state)
{
    (void)state;
    struct shape_entry often[6], rare = { .until_sample = 2 };
    uint64_t now = MILLION, cost = 5 * COST;
    unsigned rarely = 0;
    for (size_t i = 0; i < 6; i++)
        often[i] = (struct shape_entry){ .until_sample = 2 };
    for (int step = 0; step < 20; step++) { /* steps of 20 ms; calls that wait use up the whole budget */
        now += 19 * MILLION;
        for (int i = 0; i < 10; i++)
            measure_was_paid(thread, &other, now, 2 * cost);
        for (int i = 0; i < 200; i++) {
            struct shape_entry *next = i == 199 && step >= 4 ? &rare : &often[i % 6];
            now += 5000;
            stream.anchor_due = UINT64_MAX;
            if (measure_of_launch(thread, &stream, next, now) != MEASURE_PAIR)
                continue;
            rarely += next == &rare;
            measure_was_paid(thread, &stream, now += cost, cost);
        }
    }
    assert_true(rarely >= 2);
}

/* A kernel that was measured in other streams needs no early samples in a new one: while the budget is used up, such
 * a kernel is not measured. */
static void a_kernel_that_is_known_is_in_no_hurry(void **state)
{
    (void)state;
    uint64_t now = (uint64_t)100 * MILLION;
    stream.anchor_due = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        thread->measuring = (struct thread_measuring){ .paid_until = now + 10000 };
        shape = (struct shape_entry){ .until_sample = 1 };
        wanted = i ? WANT_FEW_SAMPLES : WANT_FIRST_SAMPLES;
        assert_int_equal(measure_of_launch(thread, &stream, &shape, now), i ? MEASURE_NOTHING : MEASURE_PAIR);
        assert_int_equal(shape.sample_gap, i ? MEASURE_EARLY_GAP : 1);
    }
    assert_int_equal(measure_of_launch(thread, &stream, &shape, now + 5000), MEASURE_NOTHING);
    assert_int_equal(measure_of_launch(thread, &stream, &shape, now + 10000), MEASURE_PAIR);
}

static void each_stream_has_its_anchors(void **state)
{
    (void)state;
    uint64_t now = MILLION;
    shape.until_sample = 0;
    assert_int_equal(measure_of_launch(thread, &stream, &shape, now), MEASURE_END);
    measure_was_paid(thread, &stream, now, 10);
    now += 10000;
    assert_int_equal(measure_of_launch(thread, &stream, &shape, now), MEASURE_NOTHING);
    assert_int_equal(measure_of_launch(thread, &other, &shape, now), MEASURE_END);
}

static void samples_grow_rare(void **state)
{
    (void)state;
    struct counts counts = { .now = MILLION };
    stream.anchor_due = UINT64_MAX;
    shim_options.overhead = MILLION;
    for (unsigned i = 0; i < 4000; i++) {
        counts.now += (uint64_t)10 * MILLION;
        counts.samples += measure_of_launch(thread, &stream, &shape, counts.now) == MEASURE_PAIR;
    }
    assert_in_range(counts.samples, 15, 40);
}

/* A launch that need not be measured: only one thread uses its stream, and nothing else makes its times uncertain. */
static struct ws_ring_op ordinary_launch(struct shim_context *context)
{
    *context = (struct shim_context){ .timed = true, .life = CONTEXT_ALIVE };
    stream.context = context;
    stream.anchor_due = UINT64_MAX;
    stream.fresh = 0;
    stream.user = 0;
    thread->number = 1;
    thread->measure = MEASURE_UNDECIDED;
    stream.blocking = false;
    stream.kind = WS_STREAM_CREATED;
    shape = (struct shape_entry){ .until_sample = 100, .function = 1, .stream = &stream };
    return (struct ws_ring_op){ .ticks_begin = MILLION };
}

static void only_ordinary_launches_are_left_out(void **state)
{
    (void)state;
    static struct shim_context context;
    static const uint16_t measured[] = { WS_OP_BLOCKING, WS_OP_DEPENDENT, WS_OP_IN_COLLECTIVE };
    struct ws_ring_op record = ordinary_launch(&context);
    assert_true(measure_leaves_out(thread, &record, &shape));
    assert_true(record.header.detail & WS_RING_OP_COMPUTED);
    for (unsigned i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
        record = ordinary_launch(&context);
        record.header.detail = measured[i];
        assert_false(measure_leaves_out(thread, &record, &shape));
    }
    record = ordinary_launch(&context);
    shape.function = 0; /* 0: the operation is a copy, not a kernel */
    assert_false(measure_leaves_out(thread, &record, &shape));
    record = ordinary_launch(&context);
    context.life = CONTEXT_ALIVE + 1;
    assert_false(measure_leaves_out(thread, &record, &shape));
    record = ordinary_launch(&context);
    stream.fresh = 1;
    assert_false(measure_leaves_out(thread, &record, &shape));
    record = ordinary_launch(&context);
    stream.user = 2;
    assert_false(measure_leaves_out(thread, &record, &shape));
    assert_true(stream.user == STREAM_SHARED);
    record = ordinary_launch(&context);
    stream.blocking = true;
    /* the legacy stream has had work since the last launch into this stream */
    context.legacy_order.work[1] = LEGACY_ONE;
    assert_false(measure_leaves_out(thread, &record, &shape));
    assert_true(stream.fresh); /* fresh: the next launch is measured, too */
}

static void what_is_not_computed_is_measured(void **state)
{
    (void)state;
    static struct shim_context context;
    struct ws_ring_op record = ordinary_launch(&context);
    assert_int_equal(measure_of_op(thread, &record, &shape, true), MEASURE_PAIR);
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_NOTHING);
    thread->measure = MEASURE_END; /* as measure_leaves_out sets it for an anchor (a launch with an end event only) */
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_END);
    /* the usual cost of a sample is learned, to be compared with the time between two waits (may_delay) */
    thread->measure = MEASURE_PAIR;
    thread->measuring.is_sample = true;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
    for (int i = 0; i < 100; i++, thread->measuring.is_sample = true)
        measure_was_paid(thread, &stream, 2 * MILLION, COST);
    assert_int_equal(thread->measuring.sample_cost, COST * AFTER_EFFECTS / 4);
    measure_was_paid(thread, &stream, 2 * MILLION, 8 * COST); /* the thread was preempted */
    assert_int_equal(thread->measuring.sample_cost, COST * AFTER_EFFECTS / 4 * 9 / 8);
    assert_int_equal(thread->measuring.anchor_cost, 0);
    record.header.detail = WS_OP_BLOCKING;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
    record.header.detail = WS_OP_DEPENDENT;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_NOTHING);
    shape.function = 0;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
}

/* In a full queue, the program's launches wait as long as the events do. So that time costs the program nothing. */
static void waiting_for_a_full_queue_costs_nothing(void **state)
{
    (void)state;
    static const struct {
        unsigned threads;
        uint64_t launch, cost;
    } cases[] = { { 1, 20000, 2 * COST }, { 1, 10000, 10 * COST }, { 2, 20000, 10 * COST } };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        threads_recording = cases[i].threads;
        thread->measuring = (struct thread_measuring){ 0 };
        thread->measure = MEASURE_PAIR;
        assert_int_equal(measure_cost(thread, COST, 2000), COST);
        for (int k = 0; k < 50; k++)
            measure_cost(thread, COST, cases[i].launch);
        assert_int_equal(measure_cost(thread, 10 * COST, cases[i].launch), cases[i].cost);
        bool is_full = cases[i].cost == 2 * COST;
        assert_int_equal(measure_queue_is_full(thread), is_full); /* then samples need no gate */
        thread->measure = MEASURE_END;                            /* anchors cost less */
        measure_cost(thread, COST / 4, cases[i].launch);
        assert_int_equal(measure_cost(thread, COST, cases[i].launch), is_full ? COST / 2 : COST);
        thread->measure = MEASURE_PAIR;
        assert_int_equal(measure_cost(thread, 10 * COST, cases[i].launch), cases[i].cost);
    }
}

/* A wait for the device may have emptied the queue. Launches show whether it is full again. */
static void a_queue_is_perhaps_empty_after_a_wait(void **state)
{
    (void)state;
    threads_recording = 1;
    measure_cost(thread, COST, 2000);
    for (int k = 0; k < 50; k++)
        measure_cost(thread, COST, 20000);
    assert_true(measure_queue_is_full(thread));
    thread->activity.waits++;
    assert_false(measure_queue_is_full(thread));
    measure_cost(thread, COST, 20000);
    assert_true(measure_queue_is_full(thread));
    thread->activity.waits++;
    for (int k = 0; k < 50; k++)
        measure_cost(thread, COST, 2000);
    assert_false(measure_queue_is_full(thread));
}

/* Copies, memsets and graph launches are measured while the budget lasts. Those whose duration the drain thread has
 * not learned are always measured. */
static void copies_keep_to_the_share(void **state)
{
    (void)state;
    static struct shim_context context;
    struct ws_ring_op record = ordinary_launch(&context);
    uint64_t now = MILLION, took = 0;
    unsigned measured = 0;
    shape = (struct shape_entry){ .computable = true, .stream = &stream };
    for (unsigned i = 0; i < MILLION; i++) {
        now += 5000;
        if (measure_of_other(thread, &shape, now) == MEASURE_NOTHING)
            continue;
        measured++;
        now += COST;
        took += COST;
        measure_was_paid(thread, &stream, now, COST);
    }
    assert_true((double)took <= (double)now * 0.02 + 20 * COST && measured > 100);
    /* The request is so short that measuring a copy would slow it down noticeably. A graph launch is measured all the
     * same. */
    thread->measuring.sample_cost = COST;
    thread->measuring.paid_until = 0;
    between = 10000;
    thread->activity.stretch = OFTEN_IDLE;
    shape.sample_gap = 256;
    thread->activity.waits = thread->measuring.waits_at_felt = 7;
    assert_int_equal(measure_of_other(thread, &shape, now), MEASURE_NOTHING);
    shape.is_graph = true;
    assert_int_equal(measure_of_other(thread, &shape, now), MEASURE_PAIR);
    shape.is_graph = false;
    thread->measuring.paid_until = thread->measuring.early_paid_until = UINT64_MAX;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_NOTHING);
    assert_int_equal(measure_of_op(thread, &record, &shape, true), MEASURE_PAIR);
    record.header.detail = WS_OP_BLOCKING;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
    record.header.detail = 0;
    record.inner = WS_RING_OP_ENGINE_BUSY;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
    record.inner = 0;
    known = false;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_PAIR);
    known = true;
    /* A stream into which another thread launches, too, counts as shared. */
    stream.user = 2;
    assert_int_equal(measure_of_op(thread, &record, &shape, false), MEASURE_NOTHING);
    assert_true(stream.user == STREAM_SHARED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_launch_is_no_sample, begin_anew, end),
        cmocka_unit_test_setup_teardown(measuring_keeps_to_its_share, begin_anew, end),
        cmocka_unit_test_setup_teardown(few_requests_feel_a_measurement, begin_anew, end),
        cmocka_unit_test_setup_teardown(time_without_work_earns_nothing, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_thread_that_is_held_up_pays_for_its_calls_alone, begin_anew, end),
        cmocka_unit_test_setup_teardown(samples_and_anchors_take_turns, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_burst_after_a_pause_has_many_anchors, begin_anew, end),
        cmocka_unit_test_setup_teardown(debts_are_paid_within_a_window, begin_anew, end),
        cmocka_unit_test_setup_teardown(waiting_calls_leave_early_samples_their_part, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_kernel_without_samples_comes_first, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_kernel_that_is_known_is_in_no_hurry, begin_anew, end),
        cmocka_unit_test_setup_teardown(each_stream_has_its_anchors, begin_anew, end),
        cmocka_unit_test_setup_teardown(samples_grow_rare, begin_anew, end),
        cmocka_unit_test_setup_teardown(only_ordinary_launches_are_left_out, begin_anew, end),
        cmocka_unit_test_setup_teardown(what_is_not_computed_is_measured, begin_anew, end),
        cmocka_unit_test_setup_teardown(waiting_for_a_full_queue_costs_nothing, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_queue_is_perhaps_empty_after_a_wait, begin_anew, end),
        cmocka_unit_test_setup_teardown(copies_keep_to_the_share, begin_anew, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
