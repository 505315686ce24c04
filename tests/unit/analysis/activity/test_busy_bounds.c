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

static void launch_with(struct builder *trace, uint32_t stream, int64_t begin, int64_t length, uint32_t error,
                        uint32_t flags)
{
    build_launch(trace, &(struct launch){ .kernel = kernel_name,
                                          .stream = stream,
                                          .begin = begin,
                                          .end = begin + length,
                                          .error = error,
                                          .flags = flags });
}

static void launch_on(struct builder *trace, uint32_t stream, int64_t begin, int64_t length, bool computed)
{
    launch_with(trace, stream, begin, length, computed ? ERROR : 0, computed ? COMPUTED : 0);
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
    /* The error per launch: 100 ns for a constant error in the time between two CUDA events, and 80 ns for the mean
     * of 20 samples (3.5 standard errors: 3.5 × 103 ns / √20). */
    assert_in_range(busy - activity->busy_least, LAUNCHES * 175, LAUNCHES * 185);
    assert_in_range(activity->busy_most - busy, LAUNCHES * 175, LAUNCHES * 185);
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

enum { SHORT = 10000, LONG = 50000, FAR = 200000, ROOM = 100000 };

/* Launches that take 10 µs and 50 µs alternately. One in 101 is measured. One in five has an
 * end event if with_chains is set. The others have computed times with large errors, and the mean length.
 * short_error: of the times of a short launch with an end event, ns. Returns the busy time in the trace. */
static int64_t launch_varying(struct builder *trace, uint32_t short_error, bool with_chains)
{
    int64_t busy = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        int64_t length = i % 2 ? LONG : SHORT;
        bool measured = i % 101 == 0, chain = with_chains && i % 5 == 0;
        uint32_t end_measured = WS_TIME_INFERRED | WS_TIME_MEASURED << 2;
        if (measured)
            launch_with(trace, 1, (int64_t)i * ROOM, length, 0, 0);
        else if (chain)
            launch_with(trace, 1, (int64_t)i * ROOM, length, i % 2 ? 500 : short_error, end_measured);
        else
            launch_with(trace, 1, (int64_t)i * ROOM, length = (SHORT + LONG) / 2, FAR, COMPUTED);
        busy += length;
    }
    return busy;
}

/* The distance of the bounds from the busy time in the trace, in percent of it. */
struct distance {
    double below, above;
};

static struct distance bounds_of_varying(uint32_t short_error, bool with_chains)
{
    struct built built;
    int64_t busy = launch_varying(built_begin_on(&built, "Test GPU", 4), short_error, with_chains);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    assert_int_equal(activity->busy, busy);
    struct distance distance = { .below = 100 * (double)(busy - activity->busy_least) / (double)busy,
                                 .above = 100 * (double)(activity->busy_most - busy) / (double)busy };
    built_finish(&built);
    return distance;
}

/* Where times vary, few launches are measured by two events, and many have an end event and a computed start with a
 * small error. These bound the mean, too. */
static void lengths_with_small_errors_bound_the_mean(void **state)
{
    (void)state;
    /* three standard errors of 20 lengths, and of some 400, with a standard deviation of 20 µs */
    struct distance alone = bounds_of_varying(500, false), chains = bounds_of_varying(500, true);
    assert_true(alone.below > 40 && alone.below < 55 && alone.above > 40 && alone.above < 55);
    assert_true(chains.below > 8 && chains.below < 18 && chains.above > 8 && chains.above < 18);
}

/* The end of a short launch may be known less well than that of a long one. If those that are known best are all
 * long, their mean is 18 µs too long, but the true total still lies within the bounds. */
static void a_mean_of_long_launches_alone_is_not_trusted(void **state)
{
    (void)state;
    struct distance distance = bounds_of_varying(15000, true);
    assert_true(distance.below > 5 && distance.above > 40);
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
        cmocka_unit_test(lengths_with_small_errors_bound_the_mean),
        cmocka_unit_test(a_mean_of_long_launches_alone_is_not_trusted),
        cmocka_unit_test(where_streams_may_overlap_the_bounds_say_so),
        cmocka_unit_test(lengths_of_any_size_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
