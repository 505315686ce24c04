#include "check.h"

#include "analysis/memory/copies.h"
#include "analysis/verdict/wall.h"
#include "built.h"

enum { MIB = 1 << 20 };

static const struct ws_track_copies *copies_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_copies, 0);
}

static const struct ws_copy_row *row(const struct built *built, size_t index)
{
    assert_true(index < copies_of(built)->rows.count);
    return (const struct ws_copy_row *)copies_of(built)->rows.data + index;
}

static const struct ws_advice *advice(const struct built *built, const char *name)
{
    const struct ws_track_wall *wall = ws_report_result(built->report, &ws_analysis_wall, 0);
    const struct ws_advice *list = wall->advice.items.data;
    for (size_t i = 0; i < wall->advice.items.count; i++)
        if (list[i].name && !strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

/* A kernel runs during the middle of a copy, and another copy runs during the end of the first. Exposed time (a copy
 * runs and no kernel does) counts once, even where two copies run. */
static void what_nothing_hides_is_counted_once(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 8 * MIB, 0, 1000000);
    build_kernel(trace, 2, "kernel", 200000, 500000);
    build_copy(trace, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 8 * MIB, 900000, 1300000);
    build_copy(trace, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 2 * MIB, 1300000, 1500000);
    built_report(&built);
    assert_int_equal(copies_of(&built)->rows.count, 2);
    assert_int_equal(row(&built, 0)->total, 1000000);
    assert_int_equal(row(&built, 0)->exposed, 600000);
    assert_int_equal(row(&built, 1)->total, 600000);
    assert_int_equal(row(&built, 1)->exposed, 600000);
    assert_int_equal(row(&built, 0)->exposed + row(&built, 1)->exposed, built_activity(&built, 0)->exposed_memory);
    assert_int_equal(copies_of(&built)->cures[WS_CURE_OVERLAP].exposed, 600000);
    assert_int_equal(copies_of(&built)->cures[WS_CURE_PIN].exposed, 600000);
    assert_int_equal(copies_of(&built)->cures[WS_CURE_PIN].count, 2);
    /* Pinned memory would save half of the copies' time. More overlap would save nothing, because the only kernel
     * already has a copy beside it. */
    assert_int_equal(advice(&built, "pageable_copies")->saving_ns, 300000);
    assert_null(advice(&built, "exposed_copies"));
    /* the exposed time that pinned memory would not save */
    assert_int_equal(advice(&built, "transfers")->saving_ns, 900000);
    built_finish(&built);
}

/* The trace does not tell which of these copies the program needs. So advice is given only if they take much of the
 * time. */
static void copies_within_the_device_are_advised_on_where_they_are_much(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "GPU", 2);
        build_kernel(trace, 1, "kernel", 0, 10000000);
        build_copy(trace, 1, WS_SPACE_DEVICE, WS_SPACE_DEVICE, 8 * MIB, 10000000, much ? 12000000 : 10400000);
        built_report(&built);
        const struct ws_advice *found = advice(&built, "device_copies");
        assert_int_equal(found ? found->saving_ns : 0, much ? 2000000 : 0);
        assert_null(advice(&built, "exposed_copies"));
        built_finish(&built);
    }
}

static void copies_that_compute_hides_are_not_advised_on(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_kernel(trace, 1, "kernel", 0, 2000000);
    build_copy(trace, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 8 * MIB, 100000, 1000000);
    built_report(&built);
    assert_int_equal(row(&built, 0)->exposed, 0);
    assert_null(advice(&built, "pageable_copies"));
    built_finish(&built);
}

/* Ten small copies in a row, then nine with a kernel among them, then eight with a pause among them. Only the first
 * ten are a storm (a series of many small operations). */
static void small_copies_in_a_row_are_a_storm(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    int64_t at = 0;
    (void)state;
    for (int i = 0; i < 10; i++, at += 5000)
        build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    for (int i = 0; i < 9; i++, at += 5000) {
        if (i == 5 || !i)
            build_kernel(trace, 1, "kernel", at - 2000, at);
        build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    }
    at += 1000000;
    for (int i = 0; i < 8; i++, at += i == 4 ? WS_STORM_PAUSE_NS + 10000 : 5000)
        build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    built_report(&built);
    assert_int_equal(copies_of(&built)->storms, 1);
    assert_int_equal(copies_of(&built)->storm_copies, 10);
    assert_int_equal(copies_of(&built)->storm_bytes, 10000);
    assert_int_equal(copies_of(&built)->storm_time, 9 * 5000 + 2000);
    assert_int_equal(row(&built, 0)->small, 27);
    assert_int_equal(copies_of(&built)->cures[WS_CURE_BATCH].count, 27);
    built_finish(&built);
}

static void rates_stand_beside_what_could_be_reached(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "NVIDIA H100 80GB HBM3", 2);
    (void)state;
    build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 10000000, 0, 1000000);
    build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 10000000, 1000000, 1500000);
    build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 100, 1500000, 1500001);
    build_copy(trace, 1, WS_SPACE_DEVICE, WS_SPACE_DEVICE, 10000000, 1600000, 1610000);
    built_report(&built);
    assert_int_equal(row(&built, 0)->from, WS_SPACE_PINNED);
    assert_true(ws_copy_rate(row(&built, 0)) > 13.3 && ws_copy_rate(row(&built, 0)) < 13.4);
    assert_true(ws_copy_best_rate(copies_of(&built), row(&built, 0)) == 20);
    assert_true(ws_copy_best_rate(copies_of(&built), row(&built, 1)) == 3350 / 2.0);
    built_finish(&built);
}

/* The best rate of a copy is its bytes divided by the longest duration that its errors allow, so that the rate is
 * never too high. A copy that blocks its call took no longer than the call. */
static void the_best_rate_is_one_that_is_sure(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    for (int i = 0; i < 2; i++)
        build_launch(trace, &(struct launch){ .from = i ? WS_SPACE_DEVICE : 0,
                                              .to = i ? WS_SPACE_PAGEABLE : 0,
                                              .bytes = 10000000,
                                              .begin = i * 2000000,
                                              .end = 250000 + i * 2000000,
                                              .host_begin = i ? 1800000 : 0,
                                              .host_end = i ? 2300000 : 0,
                                              .error = 125000 });
    built_report(&built);
    for (size_t i = 0; i < 2; i++) {
        double best = ws_copy_best_rate(copies_of(&built), row(&built, i));
        assert_true(best <= 20 && best > 19.8); /* 10 MB in 500 µs, the longest duration that the errors allow */
    }
    built_finish(&built);
}

static void only_steady_steps_are_advised_on(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_thread(trace, 1, 1, "main");
    for (int64_t step = 0; step < 8; step++) {
        /* the copy of the first step takes long, but the step lasts as long as all others, so it is no warm-up */
        int64_t at = 100000 + step * 1000000, copy = step ? 100000 : 700000;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        build_copy(trace, 1, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, MIB, at, at + copy);
        build_kernel(trace, 1, "kernel", at + copy, at + copy + (step ? 100000 : 50000));
    }
    build_kernel(trace, 1, "kernel", 8100000, 8100001);
    built_report(&built);
    assert_true(copies_of(&built)->steps > 2);
    /* The copy of a step could run beside the step's kernel, but only as long as that kernel lasts. */
    int64_t exposed = copies_of(&built)->cures[WS_CURE_PIN].exposed / (int64_t)copies_of(&built)->steps;
    assert_in_range(advice(&built, "pageable_copies")->saving_ns, exposed / 2 + 1, exposed - 1);
    assert_int_equal(copies_of(&built)->cures[WS_CURE_PIN].count, copies_of(&built)->steps);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_hides_is_counted_once),
        cmocka_unit_test(copies_within_the_device_are_advised_on_where_they_are_much),
        cmocka_unit_test(copies_that_compute_hides_are_not_advised_on),
        cmocka_unit_test(small_copies_in_a_row_are_a_storm),
        cmocka_unit_test(rates_stand_beside_what_could_be_reached),
        cmocka_unit_test(the_best_rate_is_one_that_is_sure),
        cmocka_unit_test(only_steady_steps_are_advised_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
