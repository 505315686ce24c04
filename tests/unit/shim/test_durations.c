/* Tests of shim/timing/durations: how long kernels take, learned from samples. Each step is checked by its numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* durations.c is compiled in here, so that each test can reset its statistics of all kernels. */
#include "shim/timing/durations.c" // NOLINT(bugprone-suspicious-include)

enum { NOISE = 100 };

static struct duration kernel;

static int begin_anew(void **state)
{
    (void)state;
    memset(&all_kernels, 0, sizeof(all_kernels));
    all_kernels.spread = FIRST_SPREAD;
    kernel = (struct duration){ 0 };
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
        duration_sample(&kernel, ns, NOISE);
}

static void a_sample_counts_by_how_sure_it_is(void **state)
{
    (void)state;
    /* The first sample is the mean. The standard deviation from launch to launch is taken as a twentieth of the
     * mean. */
    take(1, 1000);
    check(1000, NOISE + 2500, 2500);
    /* The second sample is off by 100; the variance of that difference is 2600 (mean) + 2500 (spread) + 100 (noise).
     * The mean's own variance is half of it, so the mean moves by half. 100² - 100 - 2600 = 7300 is left for the
     * spread, which moves a sixth of the way to it. */
    take(1, 1100);
    check(1050, 1300, 2500 + (7300.0 - 2500) / 6);
    /* The spread of all kernels moves a fifth of the way to 100² - 100, relative to the mean's square. */
    assert_near(all_kernels.spread, FIRST_SPREAD + (9900.0 / 1e6 - FIRST_SPREAD) / 5);
    assert_near(all_kernels.within, 9900.0 / 5);
}

/* The last 16 samples count most, so the mean is never more certain than 16 samples make it. */
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

/* A sample's distance from the mean is measured in standard deviations. */
static void a_sample_off_by_three_deviations_counts(void **state)
{
    (void)state;
    take(10, 1000);
    double mean = (double)kernel.mean;
    take(1, mean + 3 * ws_root((double)kernel.var + (double)kernel.spread + NOISE));
    assert_true((double)kernel.mean > mean);
    assert_int_equal(kernel.samples, 11);
}

/* One sample that is far off is ignored. A second one on the same side means that the duration has changed. */
static void two_samples_far_off_begin_it_anew(void **state)
{
    (void)state;
    static const double other[] = { 9000, 10 };
    for (int i = 0; i < 2; i++) {
        begin_anew(NULL);
        take(10, 1000);
        take(1, other[i]);
        check(1000, (double)kernel.var, (double)kernel.spread);
        assert_int_equal(kernel.samples, 10);
        take(1, other[i]);
        assert_near((double)kernel.mean, other[i]);
        assert_int_equal(kernel.samples, 1);
        double off = other[i] - 1000;
        assert_near((double)kernel.spread, off * off / 16); /* the duration may change back */
    }
}

static void only_samples_in_a_row_begin_it_anew(void **state)
{
    (void)state;
    take(10, 1000);
    take(1, 9000);
    take(1, 1000); /* a usual sample in between */
    take(1, 9000);
    assert_near((double)kernel.mean, 1000);
    take(1, 1000);
    take(1, 9000);
    take(1, 10); /* on the other side: the first of a new row */
    assert_near((double)kernel.mean, 1000);
    take(1, 10);
    assert_near((double)kernel.mean, 10);
}

/* After a change, the count of far-off samples in a row begins at 0. */
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

/* A kernel whose duration changed twice may change again, by as much. Many samples without a change end this. */
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
    assert_true(duration_expected(&kernel) == 300); /* every time from 0 to 600 is equally likely */
    assert_near(duration_unsure(&kernel), 600 * 600 / 12.0);
    take(1, 650);
    assert_true(duration_expected(&kernel) == 650);
    assert_near(duration_unsure(&kernel), (double)kernel.var);
}

static void without_a_bound_it_is_as_all_kernels_are(void **state)
{
    (void)state;
    struct duration other = { 0 }, unknown = { 0 };
    duration_sample(&kernel, 1000, NOISE);
    assert_true(duration_expected(&unknown) == 1000);
    assert_near(duration_unsure(&unknown), UNKNOWN_BY * UNKNOWN_BY);
    duration_sample(&other, 3000, NOISE);
    assert_near(duration_expected(&unknown), 2000);
    assert_near(duration_unsure(&unknown), 1e6 + 2000 * 2000 / 4.0);
    duration_at_most(&unknown, 100000); /* this bound tells nothing new */
    assert_near(duration_expected(&unknown), 2000);
}

/* If launches of the same kernel differ as much as different kernels do, a new kernel's spread is that of all
 * kernels. */
static void the_first_spread_is_that_of_all_kernels(void **state)
{
    (void)state;
    all_kernels.within = 1e6;
    take(1, 1000);
    check(1000, NOISE + 1e6, 1e6);
    /* A single sample says little about all kernels, so its squared deviation counts as at most four times the square
     * of the mean. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sample_counts_by_how_sure_it_is, begin_anew),
        cmocka_unit_test_setup(a_mean_is_never_too_sure, begin_anew),
        cmocka_unit_test_setup(a_sample_below_zero_is_zero, begin_anew),
        cmocka_unit_test_setup(the_first_samples_are_never_far_off, begin_anew),
        cmocka_unit_test_setup(a_sample_off_by_three_deviations_counts, begin_anew),
        cmocka_unit_test_setup(two_samples_far_off_begin_it_anew, begin_anew),
        cmocka_unit_test_setup(only_samples_in_a_row_begin_it_anew, begin_anew),
        cmocka_unit_test_setup(a_kernel_that_changed_twice_may_change_again, begin_anew),
        cmocka_unit_test_setup(a_change_ends_the_row, begin_anew),
        cmocka_unit_test_setup(an_upper_bound_counts_until_there_is_a_sample, begin_anew),
        cmocka_unit_test_setup(without_a_bound_it_is_as_all_kernels_are, begin_anew),
        cmocka_unit_test_setup(the_first_spread_is_that_of_all_kernels, begin_anew),
        cmocka_unit_test_setup(a_kernel_is_the_same_in_every_stream, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
