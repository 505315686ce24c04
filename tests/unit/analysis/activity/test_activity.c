#include "check.h"

#include "analysis/verdict/wall.h"
#include "base/interval.h"
#include "interval_sums.h"
#include "built.h"

static const char *const compute_name = "ampere_sgemm_128x64_nn", *const comm_name = "ncclDevKernel_AllReduce_Sum";

/* A small timeline of one device; the device's clock equals the host's. */
static void numbers_of_a_small_timeline(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    build_kernel(trace, 1, compute_name, 1000, 2000);
    build_kernel(trace, 1, compute_name, 2000, 2500);
    build_kernel(trace, 2, comm_name, 2400, 3000);
    build_copy(trace, 3, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, 2900, 3100);
    build_kernel(trace, 1, compute_name, 4000, 4400);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->begin, 1000);
    assert_int_equal(activity->span, 3400);
    assert_int_equal(activity->busy, 2500);
    assert_int_equal(activity->idle, 900);
    assert_int_equal(activity->group[WS_GROUP_COMPUTE], 1900);
    assert_int_equal(activity->group[WS_GROUP_COMM], 600);
    assert_int_equal(activity->group[WS_GROUP_MEMORY], 200);
    assert_int_equal(activity->comm_overlap, 100);
    assert_int_equal(activity->exposed_comm, 500);
    assert_int_equal(activity->exposed_memory, 100);
    assert_int_equal(activity->busy_least, 2500);
    assert_int_equal(activity->busy_most, 2500);
    assert_int_equal(activity->gaps.count, 1);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    struct ws_gap gap = { 0 };
    assert_true(ws_gap_next(&walk, &gap));
    assert_int_equal(gap.begin, 3100);
    assert_int_equal(gap.end, 4000);
    assert_int_equal(gap.before, 3);
    assert_int_equal(gap.after, 4);
    assert_int_equal(ws_model_track(built.model, 0)->order[gap.place], 4);
    assert_false(ws_gap_next(&walk, &gap));
    const struct ws_kernel_row *row = built_kernel(&built, 0, compute_name);
    assert_int_equal(row->count, 3);
    assert_int_equal(row->total, 1900);
    assert_int_equal(row->min, 400);
    assert_int_equal(row->max, 1000);
    row = built_kernel(&built, 0, "Memcpy HtoD (Pinned -> Device)");
    assert_int_equal(row->total, 200);
    built_finish(&built);
}

struct painted {
    struct ws_interval_set all, group[WS_GROUP_COUNT];
};

static void painted_finish(struct painted *painted)
{
    ws_interval_set_finish(&painted->all);
    for (int i = 0; i < WS_GROUP_COUNT; i++)
        ws_interval_set_finish(&painted->group[i]);
}

/* Adds an operation of a random group (compute, communication or memory) to the trace and to the interval sets with
 * which the analysis is compared. */
static void add_random(struct builder *trace, struct painted *painted, uint64_t *random)
{
    int64_t from = (int64_t)(next_random(random) % 100000), to = from + (int64_t)(next_random(random) % 900);
    uint32_t stream = 1 + next_random(random) % 4;
    enum ws_group group = (enum ws_group)(next_random(random) % WS_GROUP_COUNT);
    if (group == WS_GROUP_MEMORY)
        build_copy(trace, stream, WS_SPACE_DEVICE, WS_SPACE_PINNED, 1, from, to);
    else
        build_kernel(trace, stream, group == WS_GROUP_COMM ? comm_name : compute_name, from, to);
    ws_interval_set_add(&painted->all, from, to);
    ws_interval_set_add(&painted->group[group], from, to);
}

/* Random operations overlap on several streams. The analysis visits each operation only once. Its times must equal
 * the times that are computed from sets of intervals. */
static void unions_agree_with_interval_sets(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct painted painted = { 0 };
        struct ws_interval_set both = { 0 };
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 4);
        size_t count = 1 + next_random(&random) % 200;
        for (size_t i = 0; i < count; i++)
            add_random(trace, &painted, &random);
        built_report(&built);
        const struct ws_track_activity *activity = built_activity(&built, 0);
        const struct ws_interval_set *compute = &painted.group[WS_GROUP_COMPUTE],
                                     *comm = &painted.group[WS_GROUP_COMM];
        assert_int_equal(activity->busy, interval_length(&painted.all));
        for (int i = 0; i < WS_GROUP_COUNT; i++)
            assert_int_equal(activity->group[i], interval_length(&painted.group[i]));
        assert_int_equal(activity->comm_overlap, interval_common(comm, compute));
        assert_int_equal(activity->exposed_comm, interval_outside(comm, compute));
        for (size_t i = 0; i < compute->count; i++)
            ws_interval_set_add(&both, compute->items[i].begin, compute->items[i].end);
        for (size_t i = 0; i < comm->count; i++)
            ws_interval_set_add(&both, comm->items[i].begin, comm->items[i].end);
        assert_int_equal(activity->exposed_memory, interval_outside(&painted.group[WS_GROUP_MEMORY], &both));
        int64_t idle = 0;
        size_t gaps = 0;
        struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
        for (struct ws_gap gap; ws_gap_next(&walk, &gap); gaps++) {
            idle += ws_gap_length(&gap);
            assert_int_equal(ws_interval_set_within(&painted.all, gap.begin, gap.end), 0);
        }
        assert_int_equal(activity->gaps.count, gaps);
        assert_int_equal(activity->idle, idle);
        built_finish(&built);
        painted_finish(&painted);
        ws_interval_set_finish(&both);
    }
}

/* For any true times within the stated errors, the true busy time lies between the bounds. */
static void busy_bounds_hold_for_any_true_times(void **state)
{
    enum { OPS = 60, WORLDS = 40 };
    uint64_t random = 9;
    (void)state;
    for (int round = 0; round < 40; round++) {
        int64_t begins[OPS], ends[OPS];
        uint32_t begin_errors[OPS], end_errors[OPS];
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 4);
        for (int i = 0; i < OPS; i++) {
            begins[i] = (int64_t)(next_random(&random) % 20000);
            ends[i] = begins[i] + (int64_t)(next_random(&random) % 400);
            begin_errors[i] = (uint32_t)(next_random(&random) % 200);
            end_errors[i] = (uint32_t)(next_random(&random) % 200);
            struct ws_op op =
                build_op(trace, &(struct launch){ .kernel = compute_name, .begin = begins[i], .end = ends[i] });
            op.begin_error = begin_errors[i];
            op.end_error = end_errors[i];
            build_row(trace, WS_FAMILY_op, &op);
        }
        built_report(&built);
        const struct ws_track_activity *activity = built_activity(&built, 0);
        for (int world = 0; world < WORLDS; world++) {
            struct ws_interval_set truth = { 0 };
            for (int i = 0; i < OPS; i++) {
                /* In every second world (set of true times), the true times are random within the errors. In the
                 * other worlds, all operations are as short, or all as long, as the errors allow. */
                uint64_t left = world % 2   ? next_random(&random) % (2 * (uint64_t)begin_errors[i] + 1)
                                : world % 4 ? 0
                                            : 2 * (uint64_t)begin_errors[i];
                uint64_t right = world % 2   ? next_random(&random) % (2 * (uint64_t)end_errors[i] + 1)
                                 : world % 4 ? 2 * (uint64_t)end_errors[i]
                                             : 0;
                ws_interval_set_add(&truth, begins[i] - begin_errors[i] + (int64_t)left,
                                    ends[i] - end_errors[i] + (int64_t)right);
            }
            int64_t busy = interval_length(&truth);
            assert_true(busy >= activity->busy_least);
            assert_true(busy <= activity->busy_most);
            ws_interval_set_finish(&truth);
        }
        built_finish(&built);
    }
}

static void an_operation_of_no_length_is_an_event_all_the_same(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    build_kernel(trace, 1, compute_name, 1000, 1000);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(ws_model_track(built.model, 0)->count, 1);
    assert_int_equal(activity->span, 0);
    assert_int_equal(activity->busy, 0);
    assert_int_equal(activity->gaps.count, 0);
    built_finish(&built);
}

static void count_passed(struct builder *trace, enum ws_loss_reason reason, int64_t time)
{
    struct ws_loss loss = { .reason = reason, .thread = 1, .count = 10, .host_ns = time };
    build_row(trace, WS_FAMILY_loss, &loss);
}

/* The program is recorded in bursts of 1 s, 2 s apart. The time between bursts does not count as idle; a pause inside
 * a burst does. */
static void what_was_not_recorded_is_not_idle(void **state)
{
    const int64_t second = 1000000000, ms = 1000000;
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int64_t burst = 0; burst < 3; burst++) {
        int64_t at = burst * 3 * second;
        build_kernel(trace, 1, compute_name, at, at + 400 * ms);
        build_kernel(trace, 1, compute_name, at + 500 * ms, at + second);
        for (int64_t time = at + second + 100 * ms; burst < 2 && time < at + 3 * second + 250 * ms; time += 250 * ms)
            count_passed(trace, WS_LOSS_BURST, time);
        count_passed(trace, WS_LOSS_RING_FULL, at + 450 * ms);
    }
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->span, 7 * second);
    assert_int_equal(activity->busy, 2700 * ms);
    assert_int_equal(activity->unrecorded, 4 * second);
    assert_int_equal(activity->idle, 300 * ms);
    assert_int_equal(activity->gaps.count, 3);
    built_finish(&built);
}

/* Bursts of 50 ms, about 150 ms apart. Only every 250 ms, the trace has a count of the operations that were not
 * recorded. So between some bursts there is no count. */
static void short_bursts_leave_more_holes_than_counts(void **state)
{
    const int64_t ms = 1000000;
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int64_t burst = 0; burst < 5; burst++) {
        int64_t at = burst * 200 * ms + (burst == 3 ? 2 * ms : 0);
        build_kernel(trace, 1, compute_name, at, at + 20 * ms);
        build_kernel(trace, 1, compute_name, at + 25 * ms, at + 50 * ms);
    }
    for (int64_t time = 255 * ms; time < 1250 * ms; time += 250 * ms)
        count_passed(trace, WS_LOSS_BURST, time);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->span, 850 * ms);
    assert_int_equal(activity->unrecorded, 600 * ms);
    assert_int_equal(activity->idle, 25 * ms);
    assert_int_equal(activity->gaps.count, 5);
    built_finish(&built);
}

/* Pauses of different lengths, close together, each with a count at its end. The longer pause before does not hide
 * the shorter one. */
static void a_short_pause_behind_a_long_one_is_no_idle_time(void **state)
{
    const int64_t ms = 1000000;
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    build_kernel(trace, 1, compute_name, 0, 50 * ms);
    count_passed(trace, WS_LOSS_OVERHEAD, 170 * ms);
    build_kernel(trace, 1, compute_name, 170 * ms + 20000, 220 * ms); /* a pause of 120 ms */
    count_passed(trace, WS_LOSS_OVERHEAD, 280 * ms);
    build_kernel(trace, 1, compute_name, 280 * ms + 20000, 300 * ms); /* a pause of 60 ms */
    build_kernel(trace, 1, compute_name, 305 * ms, 350 * ms);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->unrecorded, 180 * ms + 40000);
    assert_int_equal(activity->idle, 5 * ms);
    built_finish(&built);
}

/* Many gaps and many counts of operations that were not recorded. If the analysis searched all gaps for each count,
 * this test would take minutes. */
static void any_number_of_counts_costs_little(void **state)
{
    enum { GAPS = 60000, COUNTS = 100000 };
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int64_t i = 0; i <= GAPS; i++)
        build_kernel(trace, 1, compute_name, i * 1000, i * 1000 + (i == GAPS / 2 ? 300 : 500));
    for (int64_t i = 0; i < COUNTS; i++)
        count_passed(trace, WS_LOSS_BURST, GAPS * INT64_C(1000) + i);
    built_report(&built);
    assert_int_equal(built_activity(&built, 0)->unrecorded, 700);
    assert_int_equal(built_activity(&built, 0)->gaps.count, GAPS - 1);
    built_finish(&built);
}

/* Of all operations before a gap, a long one ends last. The list of operations is sorted by begin. So shorter
 * operations that ran beside the long one come after it in the list, before the gap. */
static void what_ended_last_may_have_begun_long_before(void **state)
{
    enum { ROUNDS = 5, SHORT = 150, APART = 100, LENGTH = APART * (SHORT + 2) };
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    struct ws_gap gap = { 0 };
    (void)state;
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t at = round * (LENGTH + 7);
        build_kernel(trace, 1, compute_name, at, at + LENGTH);
        for (int64_t i = 1; i <= SHORT; i++)
            build_kernel(trace, 2, compute_name, at + i * APART, at + i * APART + 50);
    }
    built_report(&built);
    const struct ws_gaps *gaps = &built_activity(&built, 0)->gaps;
    struct ws_gap_walk walk = ws_gap_walk(gaps, 0);
    assert_int_equal(gaps->count, ROUNDS - 1);
    for (size_t round = 1; round < ROUNDS; round++) {
        assert_true(ws_gap_next(&walk, &gap));
        assert_int_equal(gap.before, (round - 1) * (SHORT + 1));
        assert_int_equal(gap.after, round * (SHORT + 1));
        assert_int_equal(ws_gap_length(&gap), 7);
    }
    assert_false(ws_gap_next(&walk, &gap));
    built_finish(&built);
}

static void gaps_are_passed_by_in_any_number(void **state)
{
    enum { GAPS = 300 };
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    /* After every third kernel, a further kernel follows without a gap, so that the bits that mark gaps have no
     * regular pattern. */
    for (int64_t i = 0; i <= GAPS; i++) {
        build_kernel(trace, 1, compute_name, i * 100, i * 100 + 50);
        if (i % 3 == 0)
            build_kernel(trace, 1, compute_name, i * 100 + 50, i * 100 + 60);
    }
    built_report(&built);
    const struct ws_gaps *gaps = &built_activity(&built, 0)->gaps;
    assert_int_equal(gaps->count, GAPS);
    for (size_t stride = 1; stride < GAPS; stride++) {
        size_t next = 0;
        struct ws_gap_walk walk = ws_gap_walk(gaps, 0);
        for (struct ws_gap gap; ws_gap_next(&walk, &gap); ws_gap_skip(&walk, stride - 1), next += stride)
            assert_int_equal(gap.end, (next + 1) * 100);
        assert_int_equal(next, (GAPS + stride - 1) / stride * stride);
    }
    built_finish(&built);
}

/* Another profiler begins to record while the main stream still runs work from before the recording. So the stream's
 * first recorded operation waits for 50 ms; this does not count as idle time. A later wait does count, because the
 * operations around it were launched during the recording. In a trace that wallshim recorded, both waits count. */
static void what_was_queued_before_the_recording_is_no_wait_of_the_program(void **state)
{
    const int64_t ms = 1000000, us = 1000;
    (void)state;
    for (int imported = 0; imported < 2; imported++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 2);
        build_meta(trace, "import", imported ? "Kineto (PyTorch profiler) JSON" : NULL);
        build_kernel(trace, 2, compute_name, 15 * us, 20 * us);
        for (int64_t i = 0; i < 10; i++)
            build_launch(trace, &(struct launch){ .kernel = compute_name,
                                                  .begin = (i < 5 ? 50 : 80) * ms + i * ms,
                                                  .end = (i < 5 ? 51 : 81) * ms + i * ms,
                                                  .host_begin = i * 10 * us,
                                                  .host_end = i * 10 * us + 5 * us });
        built_report(&built);
        const struct ws_track_activity *activity = built_activity(&built, 0);
        const struct ws_track_wall *wall = built_result(&built, &ws_analysis_wall, 0);
        assert_int_equal(activity->unrecorded, imported ? 50 * ms - 20 * us : 0);
        assert_int_equal(activity->idle, 80 * ms - 20 * us - activity->unrecorded);
        assert_int_equal(wall->length, activity->span - activity->unrecorded);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_a_small_timeline),
        cmocka_unit_test(unions_agree_with_interval_sets),
        cmocka_unit_test(busy_bounds_hold_for_any_true_times),
        cmocka_unit_test(what_was_not_recorded_is_not_idle),
        cmocka_unit_test(short_bursts_leave_more_holes_than_counts),
        cmocka_unit_test(a_short_pause_behind_a_long_one_is_no_idle_time),
        cmocka_unit_test(any_number_of_counts_costs_little),
        cmocka_unit_test(what_ended_last_may_have_begun_long_before),
        cmocka_unit_test(gaps_are_passed_by_in_any_number),
        cmocka_unit_test(what_was_queued_before_the_recording_is_no_wait_of_the_program),
        cmocka_unit_test(an_operation_of_no_length_is_an_event_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
