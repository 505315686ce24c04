/* Tests of the bounds of a device's busy time. Only some launches (samples) have measured times. The times of the
 * others are computed, and have large errors. */
#include "check.h"

#include "built.h"

static const char *const kernel_name = "vectorized_elementwise_kernel";

enum {
    COMPUTED = WS_TIME_INFERRED | WS_TIME_INFERRED << 2,
    LAUNCHES = 2000,
    SAMPLED = 100, /* one of so many launches is measured */
    PERIOD = 10000,
    LENGTH = 2000,
    ERROR = 4000, /* error of a computed begin or end, ns */
};

static void launch_on(struct builder *trace, uint32_t stream, int64_t begin, int64_t length, bool computed)
{
    build_launch(trace, &(struct launch){ .kernel = kernel_name,
                                          .stream = stream,
                                          .begin = begin,
                                          .end = begin + length,
                                          .error = computed ? ERROR : 0,
                                          .flags = computed ? COMPUTED : 0 });
}

/* Launches of 2 µs every 10 µs on one stream. The measured launches take 1.9 µs and 2.1 µs alternately. */
static void launch_all(struct builder *trace, bool with_samples)
{
    for (int i = 0; i < LAUNCHES; i++) {
        bool sample = with_samples && i % SAMPLED == 0;
        int64_t other = i / SAMPLED % 2 ? 100 : -100;
        launch_on(trace, 1, (int64_t)i * PERIOD, LENGTH + (sample ? other : 0), !sample);
    }
}

static void samples_bound_a_sum_that_single_errors_do_not(void **state)
{
    struct built built;
    (void)state;
    launch_all(built_begin_on(&built, "Test GPU", 4), true);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    int64_t busy = (int64_t)LAUNCHES * LENGTH;
    assert_int_equal(activity->busy, busy);
    /* The error per launch: 100 ns for a constant error in the time between two CUDA events, and 69 ns for the mean
     * of 20 samples (three standard errors: 3 × 103 ns / √20). */
    assert_in_range(busy - activity->busy_least, LAUNCHES * 160, LAUNCHES * 175);
    assert_in_range(activity->busy_most - busy, LAUNCHES * 160, LAUNCHES * 175);
    built_finish(&built);
}

static void without_samples_single_errors_count(void **state)
{
    struct built built;
    (void)state;
    launch_all(built_begin_on(&built, "Test GPU", 4), false);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->busy_least, 0);
    assert_true(activity->busy_most >= (int64_t)LAUNCHES * 2 * LENGTH);
    built_finish(&built);
}

/* The trace has computed times of 2 µs for each launch, but the measured launches took 3 µs. The bounds must allow
 * for 3 µs per launch. */
static void bounds_hold_what_samples_say(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int i = 0; i < LAUNCHES; i++)
        launch_on(trace, 1, (int64_t)i * PERIOD, i % SAMPLED ? LENGTH : LENGTH + 1000, i % SAMPLED);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_true(activity->busy_most >= (int64_t)LAUNCHES * (LENGTH + 1000));
    assert_true(activity->busy_least <= activity->busy);
    built_finish(&built);
}

/* The computed times of two streams lie 1 µs apart. Within the errors, the operations of one stream may run at the
 * same time as those of the other. So the true busy time may be half of the computed one. */
static void where_streams_may_overlap_the_bounds_say_so(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int i = 0; i < LAUNCHES; i++)
        for (uint32_t stream = 1; stream <= 2; stream++)
            launch_on(trace, stream, (int64_t)i * PERIOD + (stream - 1) * (LENGTH + 1000), LENGTH, i % SAMPLED);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->busy, (int64_t)LAUNCHES * 2 * LENGTH);
    assert_true(activity->busy_least <= (int64_t)LAUNCHES * LENGTH);
    built_finish(&built);
}

/* A damaged trace may state huge durations of kernels. Their sums must not overflow. */
static void lengths_of_any_size_are_bounded(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    (void)state;
    for (int i = 0; i < 8; i++)
        launch_on(trace, 1 + (uint32_t)i % 3, i, INT64_MAX / 8, i % 2);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_true(activity->busy_least <= activity->busy && activity->busy <= activity->busy_most);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_bound_a_sum_that_single_errors_do_not),
        cmocka_unit_test(without_samples_single_errors_count),
        cmocka_unit_test(bounds_hold_what_samples_say),
        cmocka_unit_test(where_streams_may_overlap_the_bounds_say_so),
        cmocka_unit_test(lengths_of_any_size_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
