/* Tests of finding steps from ranges whose names say that they are iterations. The kernels alone do not show the
 * steps here, since each kernel has a different name. */
#include "check.h"

#include "built.h"

static const int64_t us = 1000, ms = 1000000;
enum { STEPS = 12, KERNELS = 4 };

static char names[STEPS * KERNELS][32];

/* How a test's ranges lie in time. Each range lasts 8 ms and begins 10 ms after the range before it. Only the two
 * ranges whose numbers are in `late` begin another `delay` ns later. */
struct recipe {
    const char *name, *inner; /* name of a range of 3 ms inside each range; NULL: no such range */
    int late[2];
    int64_t delay;
    int before; /* number of kernels before the first range */
};

static const struct ws_track_steps *run(struct built *built, const struct recipe *recipe)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 1);
    int64_t host = ms;
    build_thread(trace, 1, 100, "main");
    for (int i = 0; i < recipe->before; i++, host += ms)
        build_launch(trace, &(struct launch){ .kernel = "warm_up_of_the_program",
                                              .begin = host,
                                              .end = host + 500 * us,
                                              .host_begin = host - 50 * us,
                                              .host_end = host - 40 * us });
    for (int i = 0; i < STEPS; i++, host += 10 * ms) {
        host += i && (i == recipe->late[0] || i == recipe->late[1]) ? recipe->delay : 0;
        build_range(trace, WS_RANGE_ANNOTATION, 1, recipe->name, host, host + 8 * ms);
        if (recipe->inner)
            build_range(trace, WS_RANGE_ANNOTATION, 1, recipe->inner, host + ms, host + 4 * ms);
        for (int k = 0; k < KERNELS; k++) {
            int number = i * KERNELS + k;
            int64_t begin = host + (1 + k) * ms;
            snprintf(names[number], sizeof(names[number]), "kernel_%c%c", 'a' + number / 26, 'a' + number % 26);
            build_launch(trace, &(struct launch){ .kernel = names[number],
                                                  .begin = begin,
                                                  .end = begin + 800 * us,
                                                  .host_begin = begin - 50 * us,
                                                  .host_end = begin - 40 * us });
        }
    }
    built_report(built);
    return built_steps(built);
}

static void expect_none(const struct recipe *recipe)
{
    struct built built;
    assert_int_equal(run(&built, recipe)->source, WS_STEPS_NONE);
    built_finish(&built);
}

static void ranges_of_steps_are_steps(void **state)
{
    static const char *const named[] = { "train step", "iteration", "batch" };
    (void)state;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        struct built built;
        const struct ws_track_steps *steps = run(&built, &(struct recipe){ .name = named[i] });
        assert_int_equal(steps->source, WS_STEPS_FOUND);
        assert_int_equal(steps->proof, WS_PROOF_EVEN);
        assert_int_equal(steps->kinds[WS_STEP_STEADY], STEPS - 1);
        assert_int_equal(steps->median, 10 * ms);
        built_finish(&built);
    }
}

/* If one of twelve steps begins late, the step before it counts as slow. If two steps begin late, more than one
 * interval in ten differs from the others, so the ranges are no steps. */
static void they_must_come_back_evenly(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps =
        run(&built, &(struct recipe){ .name = "step", .late = { 5 }, .delay = 25 * ms });
    assert_int_equal(steps->proof, WS_PROOF_EVEN);
    assert_int_equal(steps->slow, 1);
    built_finish(&built);
    expect_none(&(struct recipe){ .name = "step", .late = { 5, 8 }, .delay = 25 * ms });
}

static void other_names_are_no_steps(void **state)
{
    (void)state;
    expect_none(&(struct recipe){ .name = "forward" });
    expect_none(&(struct recipe){ .name = "optimizer step" });
}

/* By its name, the inner range is a step, too. But it is shorter than the outer range, so it is not used. */
static void the_range_that_holds_most_counts(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run(&built, &(struct recipe){ .name = "train step", .inner = "sub step" });
    assert_int_equal(steps->proof, WS_PROOF_EVEN);
    assert_int_equal(built_step(steps, 1)->host_begin, ms + 10 * ms);
    built_finish(&built);
}

/* More operations come before the ranges than in them, so the ranges are no steps. */
static void ranges_that_hold_little_are_no_steps(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps =
        run(&built, &(struct recipe){ .name = "step", .before = STEPS * KERNELS + 1 });
    assert_int_not_equal(steps->proof, WS_PROOF_EVEN);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_steps_are_steps),
        cmocka_unit_test(they_must_come_back_evenly),
        cmocka_unit_test(other_names_are_no_steps),
        cmocka_unit_test(the_range_that_holds_most_counts),
        cmocka_unit_test(ranges_that_hold_little_are_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
