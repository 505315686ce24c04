/* Tests of shim/timing/durations, which learns from samples (measured launches) how long kernels take. The results of
 * each step are compared with exact numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* durations.c is compiled in here, so that each test can reset its statistics of all kernels. */
#include "shim/timing/durations.c" // NOLINT(bugprone-suspicious-include)

enum { NOISE = 100 };

static struct duration kernel;
static enum sample kind; /* how the samples that follow were measured */

static int begin_anew(void **state)
{
    (void)state;
    memset(&all_kernels, 0, sizeof(all_kernels));
    all_kernels.spread = FIRST_SPREAD;
    kernel = (struct duration){ 0 };
    kind = SAMPLE_EXACT;
    return 0;
}

static void assert_near(double value, double expected)
{
    double off = value - expected, most = 1e-4 * (expected < 0 ? -expected : expected);
    if (off > most || off < -most)
        fail_msg("%f instead of %f", value, expected);
}

static void check(double mean, double var, double spread)
{
    assert_near((double)kernel.mean, mean);
    assert_near((double)kernel.var, var);
    assert_near((double)kernel.spread, spread);
}

static void take(int count, double ns)
{
    while (count--)
        duration_sample(&kernel, ns, NOISE, kind);
}

static void a_sample_counts_by_how_sure_it_is(void **state)
{
    (void)state;
    /* The first sample is taken as the mean. The standard deviation from launch to launch is assumed to be a
     * twentieth of the mean. */
    take(1, 1000);
    check(1000, NOISE + 2500, 2500);
    /* The second sample is off by 100. The expected variance of that difference is 2600 (of the mean) + 2500 (spread
     * from launch to launch) + 100 (noise) = 5200. The mean's own variance is half of this, so the mean moves by half
     * of the difference. What is left for the spread is 100² - 100 - 2600 = 7300. The spread moves a sixth of the way
     * to that value, to 3300. The mean of two samples has half of the variance of one: (3300 + 100) / 2. */
    take(1, 1100);
    check(1050, 1700, 2500 + (7300.0 - 2500) / 6);
    /* The spread of all kernels, relative to the square of the mean, moves a fifth of the way to 100² - 100. */
    assert_near(all_kernels.spread, FIRST_SPREAD + (9900.0 / 1e6 - FIRST_SPREAD) / 5);
    assert_near(all_kernels.within, 9900.0 / 5);
}

/* The last 16 samples count most. So the mean is never stated as more certain than 16 samples make it. */
static void a_mean_is_never_too_sure(void **state)
{
    (void)state;
    take(500, 1000);
    assert_near((double)kernel.mean, 1000);
    assert_near((double)kernel.var, ((double)kernel.spread + NOISE) / 16);
    take(70000, 1000);
    assert_int_equal(kernel.samples, SAMPLES_MOST);
}

static void a_sample_below_zero_is_zero(void **state)
{
    (void)state;
    take(1, -500);
    assert_true(duration_expected(&kernel) == 0);
}

/* A kernel with few samples learns from every sample. */
static void the_first_samples_are_never_far_off(void **state)
{
    (void)state;
    take(1, 1000);
    take(1, 5000);
    assert_true(kernel.mean > 2000);
    assert_int_equal(kernel.samples, 2);
}

/* A sample's distance from the mean is measured in standard deviations. Up to three deviations, the sample counts as
 * usual. */
static void a_sample_off_by_three_deviations_counts(void **state)
{
    (void)state;
    take(10, 1000);
    double mean = (double)kernel.mean;
    take(1, mean + 3 * ws_root((double)kernel.var + (double)kernel.spread + NOISE));
    assert_true((double)kernel.mean > mean);
    assert_int_equal(kernel.samples, 11);
}

/* The first sample that is far from the mean is ignored. If the next sample is far off in the same direction, the
 * duration has changed. */
static void two_samples_far_off_begin_it_anew(void **state)
{
    (void)state;
    static const double other[] = { 9000, 10 };
    for (int i = 0; i < 2; i++) {
        begin_anew(NULL);
        take(10, 1000);
        double spread = (double)kernel.spread;
        take(1, other[i]);
        check(1000, (double)kernel.var, spread);
        assert_int_equal(kernel.samples, 10);
        take(1, other[i]);
        assert_near((double)kernel.mean, other[i]);
        assert_int_equal(kernel.samples, 1);
        assert_true((double)kernel.spread >= spread);
    }
}

/* The measurement of a sample of the kind SAMPLE_LIKELY may have been disturbed. Only two far-off samples directly
 * after each other show a change. */
static void only_samples_in_a_row_begin_it_anew(void **state)
{
    (void)state;
    kind = SAMPLE_LIKELY;
    take(10, 1000);
    take(1, 9000);
    take(1, 1000); /* a usual sample between two that are far off */
    take(1, 9000);
    assert_near((double)kernel.mean, 1000);
    take(1, 1000);
    take(1, 9000);
    take(1, 10); /* far off in the other direction: the first of a new series */
    assert_near((double)kernel.mean, 1000);
    take(1, 10);
    assert_near((double)kernel.mean, 10);
}

/* Samples of the kind SAMPLE_EXACT were measured undisturbed. If they are far off again and again, the kernel's
 * launches really differ that much. But a first far-off sample may have another cause. */
static void exact_samples_far_off_again_and_again_count(void **state)
{
    (void)state;
    take(20, 1000);
    take(1, 9000);
    take(1, 1000);
    assert_near((double)kernel.mean, 1000);
    double mean = (double)kernel.mean, spread = (double)kernel.spread;
    take(1, 9000);
    assert_true((double)kernel.mean > mean);
    assert_true((double)kernel.spread > spread + 8000 * 8000 / 30.0);
    begin_anew(NULL);
    take(20, 1000);
    take(1, 9000);
    take(FAR_KEPT + 1, 1000); /* after so many usual samples, the first far-off sample is forgotten */
    mean = (double)kernel.mean;
    take(1, 9000);
    assert_true((double)kernel.mean == mean);
}

/* One launch in 16 takes 20 times as long. Each long sample counts, also the first one, as soon as a second one
 * comes. So over many kernels the means are right on average. */
static void rare_long_launches_all_count(void **state)
{
    enum { KERNELS = 200, SAMPLES = 400 };
    double sum = 0;
    uint32_t random = 1;
    for (int of = 0; of < KERNELS; of++) {
        begin_anew(state);
        for (int i = 0; i < SAMPLES; i++) {
            random = random * 1664525 + 1013904223;
            take(1, random >> 28 ? 1000 : 20000);
        }
        sum += (double)kernel.mean;
    }
    double truth = (15 * 1000.0 + 20000) / 16, mean = sum / KERNELS;
    assert_true(mean > 0.96 * truth && mean < 1.04 * truth);
}

/* If a kernel's launches differ at random, its duration is the mean of many launches, not of the last few. */
static void a_kernel_that_differs_at_random_needs_many_samples(void **state)
{
    (void)state;
    uint32_t random = 1;
    double low = 1e9, high = 0;
    for (int i = 0; i < 1000; i++) {
        static const double takes[] = { 500, 1000, 2000, 5000 };
        random = random * 1664525 + 1013904223;
        take(1, takes[random >> 30]);
        low = i > 300 ? ws_min(low, (double)kernel.mean) : low;
        high = i > 300 ? ws_max(high, (double)kernel.mean) : high;
    }
    assert_true(low > 1800 && high < 2450); /* the true mean is 2125 */
}

/* A kernel whose launches differ 200-fold. Its first samples often show a much smaller spread. These samples must not
 * hold back the mean for long: over many kernels of this kind, the means are right on average. */
static void first_samples_do_not_hold_the_mean(void **state)
{
    static const double takes[] = { 500, 1000, 2000, 5000, 20000, 100000 };
    enum { KERNELS = 40, SAMPLES = 150 };
    double ratios = 0;
    for (uint32_t of = 1; of <= KERNELS; of++) {
        uint32_t random = of * 2654435761u;
        double sum = 0;
        begin_anew(state);
        for (int i = 0; i < SAMPLES; i++) {
            random = random * 1664525 + 1013904223;
            double ns = takes[((uint64_t)random * 6) >> 32];
            take(1, ns);
            sum += ns;
        }
        ratios += (double)kernel.mean / (sum / SAMPLES);
    }
    assert_true(ratios / KERNELS > 0.97 && ratios / KERNELS < 1.03);
}

/* The duration changes by too little for a single sample to show it. The mean follows all the same, because all
 * samples after the change are on one side of the old mean. */
static void a_mean_that_lags_behind_catches_up(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int i = 0; i < 120; i++) {
        random = random * 1664525 + 1013904223;
        take(1, (i < 100 ? 800 : 1400) + (random >> 31 ? 400 : 0));
    }
    assert_in_range((int)kernel.mean, 1450, 1750); /* 1600 is the new mean; the mean of all samples would be 1100 */
}

static void rough_samples_show_changes_only(void **state)
{
    (void)state;
    kind = SAMPLE_ROUGH;
    take(1, 3000);
    assert_int_equal(kernel.samples, 0);
    kind = SAMPLE_EXACT;
    take(10, 1000);
    kind = SAMPLE_ROUGH;
    take(10, 1020);
    assert_near((double)kernel.mean, 1000);
    take(2, 3000);
    assert_near((double)kernel.mean, 3000);
}

/* A far-off sample adds uncertainty until the next sample. If a duration changed in several steps, a later change may
 * be as large as all these steps together. */
static void what_was_far_off_makes_it_unsure(void **state)
{
    (void)state;
    kind = SAMPLE_LIKELY;
    take(10, 1000);
    double var = duration_unsure(&kernel);
    take(1, 9000);
    assert_near(duration_unsure(&kernel), var + 0.15 * 8000 * 8000);
    assert_near(duration_var(&kernel), var);
    take(1, 1000);
    assert_true(duration_unsure(&kernel) < 2 * var);
    duration_changed(&kernel, 500);
    duration_changed(&kernel, 300);
    assert_near((double)kernel.change, 800 * 800);
    duration_as_expected(&kernel);
    duration_changed(&kernel, -200);
    assert_near((double)kernel.change, 0.9 * 800 * 800);
}

/* A change of the duration resets the count of far-off samples: the next single far-off sample is ignored again. */
static void a_change_ends_the_row(void **state)
{
    (void)state;
    take(10, 1000);
    take(2, 100000);
    assert_int_equal(kernel.samples, 1);
    take(3, 100000);
    assert_int_equal(kernel.samples, 4);
    take(1, 100000000);
    assert_near((double)kernel.mean, 100000);
}

/* A kernel whose duration has changed twice may change again, by as much. Many samples without a change end this
 * assumption. */
static void a_kernel_that_changed_twice_may_change_again(void **state)
{
    (void)state;
    take(10, 1000);
    take(2, 100000);
    take(10, 100000);
    assert_near(duration_unsure(&kernel), (double)kernel.var);
    take(2, 1000);
    take(10, 1000);
    assert_true(duration_unsure(&kernel) > 0.14 * 99000 * 99000);
    take(CHANGE_KEPT, 1000);
    assert_true(duration_unsure(&kernel) < 0.01 * 99000 * 99000);
}

/* --- kernels that were never sampled ------------------------------------------------------------ */

static void an_upper_bound_counts_until_there_is_a_sample(void **state)
{
    (void)state;
    assert_true(duration_expected(&kernel) == UNKNOWN_NS);
    assert_near(duration_unsure(&kernel), UNKNOWN_BY * UNKNOWN_BY);
    duration_at_most(&kernel, 900);
    duration_at_most(&kernel, 600);
    duration_at_most(&kernel, 700);
    duration_at_most(&kernel, 0);
    duration_at_most(&kernel, -5);
    assert_true(duration_expected(&kernel) == 300); /* every duration from 0 to 600 is equally likely */
    assert_near(duration_unsure(&kernel), 600 * 600 / 12.0);
    take(1, 650);
    assert_true(duration_expected(&kernel) == 650);
    assert_near(duration_unsure(&kernel), (double)kernel.var);
}

static void without_a_bound_it_is_as_all_kernels_are(void **state)
{
    (void)state;
    struct duration other = { 0 }, unknown = { 0 };
    duration_sample(&kernel, 1000, NOISE, SAMPLE_EXACT);
    assert_true(duration_expected(&unknown) == 1000);
    assert_near(duration_unsure(&unknown), UNKNOWN_BY * UNKNOWN_BY);
    duration_sample(&other, 3000, NOISE, SAMPLE_EXACT);
    assert_near(duration_expected(&unknown), 2000);
    assert_near(duration_unsure(&unknown), 1e6 + 2000 * 2000 / 4.0);
    duration_at_most(&unknown, 100000); /* a bound this high changes nothing */
    assert_near(duration_expected(&unknown), 2000);
}

/* Here the launches of one kernel differ by as much as the means of different kernels. Then the spread of a new
 * kernel is the one learned from all kernels. */
static void the_first_spread_is_that_of_all_kernels(void **state)
{
    (void)state;
    all_kernels.within = 1e6;
    take(1, 1000);
    check(1000, NOISE + 1e6, 1e6);
    /* A single sample says little about all kernels. So its squared deviation counts as four times the square of the
     * mean at most. */
    learn_spread_of_all(1e12, 1000);
    assert_near(all_kernels.spread, FIRST_SPREAD + (MOST_SPREAD - FIRST_SPREAD) / 5);
}

static uint32_t shape(uint32_t grid, uint32_t stream)
{
    if (!registry_lock())
        return 0;
    uint32_t id =
        registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_KERNEL, .grid_x = grid, .stream = stream });
    registry_unlock();
    return id;
}

static void a_kernel_is_the_same_in_every_stream(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    uint32_t first = shape(1, 1), second = shape(1, 2), other = shape(2, 1);
    assert_ptr_equal(duration_of(first), duration_of(second));
    assert_ptr_not_equal(duration_of(first), duration_of(other));
    assert_ptr_equal(duration_of(other), duration_of(other));
}

/* A kernel that was measured in one stream need not be measured in a hurry in the next. */
static void what_is_wanted_holds_for_all_streams(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    uint32_t first = shape(1, 1), second = shape(1, 2), other = shape(2, 1);
    assert_int_equal(duration_wanted(first), WANT_FIRST_SAMPLES);
    *duration_of(first) = (struct duration){ .mean = 2000, .var = 100 * 100, .spread = 1e6f, .samples = 8 };
    duration_want_more(first);
    assert_int_equal(duration_wanted(first), WANT_MANY_SAMPLES);
    assert_int_equal(duration_wanted(second), WANT_MANY_SAMPLES);
    assert_int_equal(duration_wanted(other), WANT_FIRST_SAMPLES);
    duration_of(second)->var = 0;
    duration_want_more(second);
    assert_int_equal(duration_wanted(first), WANT_FEW_SAMPLES);
}

/* Kernels need more samples until their mean is exact. */
static void more_samples_are_wanted_until_the_mean_is_exact(void **state)
{
    (void)state;
    static const struct {
        float mean, var, spread;
        uint16_t samples;
        enum samples_wanted wanted;
    } cases[] = { { 2000, 100 * 100, 1e6f, 7, WANT_FIRST_SAMPLES },
                  { 2000, 100 * 100, 1e6f, 8, WANT_MANY_SAMPLES },
                  { 2000, 100 * 100, 1, 8, WANT_MANY_SAMPLES }, /* by chance, the first samples may be alike */
                  { 2000, 49 * 49, 1e6f, 8, WANT_FEW_SAMPLES },
                  { 100000, 2001 * 2001, 99e6f, 8, WANT_MANY_SAMPLES }, /* 10 % between launches are steady */
                  { 100000, 2001 * 2001, 101e6f, 8, WANT_ENDS },
                  { 20000, 401 * 401, 24e6f, 8, WANT_MANY_SAMPLES },
                  { 20000, 401 * 401, 26e6f, 8, WANT_ENDS },
                  { 20000, 399 * 399, 81e6f, 8, WANT_FEW_SAMPLES } };
    locks_open();
    registry_init();
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t id = shape(100 + i, 1);
        *duration_of(id) = (struct duration){
            .mean = cases[i].mean, .var = cases[i].var, .spread = cases[i].spread, .samples = cases[i].samples
        };
        duration_want_more(id);
        assert_int_equal(duration_wanted(id), cases[i].wanted);
    }
    /* a far sample that does not count yet */
    uint32_t id = shape(99, 1);
    *duration_of(id) = (struct duration){ .mean = 2000, .var = 1, .spread = 1, .samples = 8, .doubt = 1e6f };
    duration_want_more(id);
    assert_int_equal(duration_wanted(id), WANT_MANY_SAMPLES);
}

/* A kernel whose launches differ by many microseconds is measured by its ends alone. */
static void a_kernel_that_varies_widely_needs_no_begins(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    uint32_t id = shape(200, 1);
    struct duration *wide = duration_of(id);
    *wide = (struct duration){ .mean = 20000, .var = 9e6f, .spread = 1e9f, .samples = 8 };
    assert_true(duration_needs_no_begin(wide, 1e6, 19000));
    assert_false(duration_needs_no_begin(wide, 3e8, 2500)); /* the begin is known too badly */
    assert_false(duration_needs_no_begin(&(struct duration){ .mean = 5000, .spread = 2e7f, .samples = 8 }, 1, 1));
    assert_false(duration_needs_no_begin(&(struct duration){ .mean = 20000, .spread = 1e9f, .samples = 7 }, 1, 1));
    assert_false(duration_needs_no_begin(wide, 1e6, 21000)); /* most launches have ended before the event comes */
    duration_want_more(id);
    assert_int_equal(duration_wanted(id), WANT_ENDS);
    wide->changed = true;
    wide->samples = 1; /* the duration has changed: samples with begins teach the new one */
    duration_want_more(id);
    assert_int_equal(duration_wanted(id), WANT_MANY_SAMPLES);
    wide->samples = 8;
    wide->var = 1;
    duration_want_more(id);
    assert_int_equal(duration_wanted(id), WANT_FEW_SAMPLES);
}

/* Copies of about the same size share a duration, in every stream. Their times say nothing about kernels. */
static void copies_of_one_size_class_are_the_same(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    assert_true(registry_lock());
    uint32_t one = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_COPY, .stream = 1 });
    uint32_t two = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_COPY, .stream = 2 });
    uint32_t set = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_MEMSET, .stream = 1 });
    registry_unlock();
    struct duration *small = duration_of_other(one, 4096);
    assert_ptr_equal(duration_of_other(two, 5119), small);
    assert_ptr_not_equal(duration_of_other(one, 5120), small);
    assert_ptr_not_equal(duration_of_other(set, 4096), small);
    *small = (struct duration){ .other = true };
    double mean = all_kernels.mean;
    uint32_t samples = all_kernels.samples, repeated = all_kernels.repeated;
    for (int i = 0; i < 8; i++)
        duration_sample(small, 1e6 + i, NOISE, SAMPLE_EXACT);
    assert_near(duration_expected(small), 1e6 + 3.5);
    assert_true(all_kernels.mean == mean && all_kernels.samples == samples && all_kernels.repeated == repeated);
}

static void what_was_learned_is_known(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    unsigned count = 0;
    uint32_t ids[50];
    assert_true(registry_lock());
    for (uint32_t i = 0; i < 50; i++)
        ids[i] = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_COPY, .stream = i + 1 });
    registry_unlock();
    assert_false(duration_is_known(ids[0], shape_size_class(4096)));
    duration_sample_other(ids[0], 4096, 1000, NOISE, SAMPLE_EXACT);
    assert_true(duration_is_known(ids[0], shape_size_class(4096)));
    assert_false(duration_is_known(ids[0], shape_size_class(8192)) ||
                 duration_is_known(ids[1], shape_size_class(4096)));
    for (uint32_t i = 0; i < 50; i++)
        for (unsigned log = 10; log < 20; log++)
            duration_sample_other(ids[i], (uint64_t)1 << log, 1000, NOISE, SAMPLE_EXACT);
    for (uint32_t i = 0; i < 50; i++)
        for (unsigned log = 10; log < 20; log++)
            count += duration_is_known(ids[i], shape_size_class((uint64_t)1 << log));
    assert_in_range(count, 450, 500); /* few of the 500 share a place of the table */
}

static void sizes_of_a_class_differ_by_a_quarter_at_most(void **state)
{
    (void)state;
    for (uint32_t bytes = 0; bytes < 4; bytes++)
        assert_int_equal(shape_size_class(bytes), bytes);
    for (unsigned log = 2; log < 62; log++) {
        for (uint64_t part = 4; part < 8; part++) {
            uint64_t least = part << (log - 2), next = (part + 1) << (log - 2);
            assert_int_equal(shape_size_class(next - 1), shape_size_class(least));
            assert_int_equal(shape_size_class(next), shape_size_class(least) + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(copies_of_one_size_class_are_the_same, begin_anew),
        cmocka_unit_test(what_was_learned_is_known),
        cmocka_unit_test(sizes_of_a_class_differ_by_a_quarter_at_most),
        cmocka_unit_test_setup(a_sample_counts_by_how_sure_it_is, begin_anew),
        cmocka_unit_test_setup(a_mean_is_never_too_sure, begin_anew),
        cmocka_unit_test_setup(a_sample_below_zero_is_zero, begin_anew),
        cmocka_unit_test_setup(the_first_samples_are_never_far_off, begin_anew),
        cmocka_unit_test_setup(a_sample_off_by_three_deviations_counts, begin_anew),
        cmocka_unit_test_setup(two_samples_far_off_begin_it_anew, begin_anew),
        cmocka_unit_test_setup(only_samples_in_a_row_begin_it_anew, begin_anew),
        cmocka_unit_test_setup(exact_samples_far_off_again_and_again_count, begin_anew),
        cmocka_unit_test_setup(rare_long_launches_all_count, begin_anew),
        cmocka_unit_test_setup(a_kernel_that_differs_at_random_needs_many_samples, begin_anew),
        cmocka_unit_test_setup(first_samples_do_not_hold_the_mean, begin_anew),
        cmocka_unit_test_setup(a_mean_that_lags_behind_catches_up, begin_anew),
        cmocka_unit_test_setup(rough_samples_show_changes_only, begin_anew),
        cmocka_unit_test_setup(what_was_far_off_makes_it_unsure, begin_anew),
        cmocka_unit_test_setup(what_is_wanted_holds_for_all_streams, begin_anew),
        cmocka_unit_test_setup(a_kernel_that_changed_twice_may_change_again, begin_anew),
        cmocka_unit_test_setup(a_change_ends_the_row, begin_anew),
        cmocka_unit_test_setup(an_upper_bound_counts_until_there_is_a_sample, begin_anew),
        cmocka_unit_test_setup(without_a_bound_it_is_as_all_kernels_are, begin_anew),
        cmocka_unit_test_setup(the_first_spread_is_that_of_all_kernels, begin_anew),
        cmocka_unit_test_setup(more_samples_are_wanted_until_the_mean_is_exact, begin_anew),
        cmocka_unit_test_setup(a_kernel_that_varies_widely_needs_no_begins, begin_anew),
        cmocka_unit_test_setup(a_kernel_is_the_same_in_every_stream, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
