#include "check.h"

#include "analysis/copies.h"
#include "analysis/wall.h"
#include "load.h"

enum { MIB = 1 << 20 };

static const struct ws_track_copies *copies_of(const struct loaded *loaded)
{
    return ws_report_result(loaded->report, &ws_analysis_copies, 0);
}

static const struct ws_copy_row *row(const struct loaded *loaded, size_t index)
{
    assert_true(index < copies_of(loaded)->rows.count);
    return (const struct ws_copy_row *)copies_of(loaded)->rows.data + index;
}

static const struct ws_advice *advice(const struct loaded *loaded, const char *name)
{
    const struct ws_track_wall *wall = ws_report_result(loaded->report, &ws_analysis_wall, 0);
    const struct ws_advice *list = wall->advice.items.data;
    for (size_t i = 0; i < wall->advice.items.count; i++)
        if (list[i].name && !strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

/* A kernel hides the middle of a copy, another copy its end. */
static void what_nothing_hides_is_counted_once(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 8 * MIB, 0, 1000000);
    story_kernel(story, 2, "kernel", 200000, 500000);
    story_copy(story, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 8 * MIB, 900000, 1300000);
    story_copy(story, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 2 * MIB, 1300000, 1500000);
    load_report(&loaded);
    assert_int_equal(copies_of(&loaded)->rows.count, 2);
    assert_int_equal(row(&loaded, 0)->total, 1000000);
    assert_int_equal(row(&loaded, 0)->exposed, 600000);
    assert_int_equal(row(&loaded, 1)->total, 600000);
    assert_int_equal(row(&loaded, 1)->exposed, 600000);
    assert_int_equal(row(&loaded, 0)->exposed + row(&loaded, 1)->exposed, load_activity(&loaded, 0)->exposed_memory);
    assert_int_equal(copies_of(&loaded)->cures[WS_CURE_OVERLAP].exposed, 600000);
    assert_int_equal(copies_of(&loaded)->cures[WS_CURE_PIN].exposed, 600000);
    assert_int_equal(copies_of(&loaded)->cures[WS_CURE_PIN].count, 2);
    /* The only kernel has a copy beside it already: pinned memory wins half, more overlap nothing. */
    assert_int_equal(advice(&loaded, "pageable_copies")->saving_ns, 300000);
    assert_null(advice(&loaded, "exposed_copies"));
    assert_int_equal(advice(&loaded, "transfers")->saving_ns, 900000); /* the rest of what is exposed */
    load_finish(&loaded);
}

/* Advised on where they are much of the time: nothing can be known of how many of them are needed. */
static void copies_within_the_device_are_advised_on_where_they_are_much(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct loaded loaded;
        struct story *story = load_begin_on(&loaded, "GPU", 2);
        story_kernel(story, 1, "kernel", 0, 10000000);
        story_copy(story, 1, WS_SPACE_DEVICE, WS_SPACE_DEVICE, 8 * MIB, 10000000, much ? 12000000 : 10400000);
        load_report(&loaded);
        const struct ws_advice *found = advice(&loaded, "device_copies");
        assert_int_equal(found ? found->saving_ns : 0, much ? 2000000 : 0);
        assert_null(advice(&loaded, "exposed_copies"));
        load_finish(&loaded);
    }
}

static void copies_that_compute_hides_are_not_advised_on(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_kernel(story, 1, "kernel", 0, 2000000);
    story_copy(story, 2, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 8 * MIB, 100000, 1000000);
    load_report(&loaded);
    assert_int_equal(row(&loaded, 0)->exposed, 0);
    assert_null(advice(&loaded, "pageable_copies"));
    load_finish(&loaded);
}

/* Ten in a row, then nine with a kernel among them, then eight with a pause. */
static void small_copies_in_a_row_are_a_storm(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    int64_t at = 0;
    (void)state;
    for (int i = 0; i < 10; i++, at += 5000)
        story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    for (int i = 0; i < 9; i++, at += 5000) {
        if (i == 5 || !i)
            story_kernel(story, 1, "kernel", at - 2000, at);
        story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    }
    at += 1000000;
    for (int i = 0; i < 8; i++, at += i == 4 ? WS_STORM_PAUSE_NS + 10000 : 5000)
        story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1000, at, at + 2000);
    load_report(&loaded);
    assert_int_equal(copies_of(&loaded)->storms, 1);
    assert_int_equal(copies_of(&loaded)->storm_copies, 10);
    assert_int_equal(copies_of(&loaded)->storm_bytes, 10000);
    assert_int_equal(copies_of(&loaded)->storm_time, 9 * 5000 + 2000);
    assert_int_equal(row(&loaded, 0)->small, 27);
    assert_int_equal(copies_of(&loaded)->cures[WS_CURE_BATCH].count, 27);
    load_finish(&loaded);
}

static void rates_stand_beside_what_could_be_reached(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "NVIDIA H100 80GB HBM3", 2);
    (void)state;
    story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 10000000, 0, 1000000);
    story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 10000000, 1000000, 1500000);
    story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 100, 1500000, 1500001);
    story_copy(story, 1, WS_SPACE_DEVICE, WS_SPACE_DEVICE, 10000000, 1600000, 1610000);
    load_report(&loaded);
    assert_int_equal(row(&loaded, 0)->from, WS_SPACE_PINNED);
    assert_true(ws_copy_rate(row(&loaded, 0)) > 13.3 && ws_copy_rate(row(&loaded, 0)) < 13.4);
    assert_true(ws_copy_best_rate(copies_of(&loaded), row(&loaded, 0)) == 20);
    assert_true(ws_copy_best_rate(copies_of(&loaded), row(&loaded, 1)) == 3350 / 2.0);
    load_finish(&loaded);
}

static void only_steady_steps_are_advised_on(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_thread(story, 1, 1, "main");
    for (int64_t step = 0; step < 8; step++) {
        int64_t at = 100000 + step * 1000000, copy = step ? 100000 : 700000; /* the first warms up */
        story_range(story, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        story_copy(story, 1, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, MIB, at, at + copy);
        story_kernel(story, 1, "kernel", at + copy, at + copy + (step ? 100000 : 50000));
    }
    story_kernel(story, 1, "kernel", 8100000, 8100001);
    load_report(&loaded);
    assert_true(copies_of(&loaded)->steps > 2);
    /* A step's copy could hide behind its kernel as far as that goes. */
    int64_t exposed = copies_of(&loaded)->cures[WS_CURE_PIN].exposed / (int64_t)copies_of(&loaded)->steps;
    assert_in_range(advice(&loaded, "pageable_copies")->saving_ns, exposed / 2 + 1, exposed - 1);
    assert_int_equal(copies_of(&loaded)->cures[WS_CURE_PIN].count, copies_of(&loaded)->steps);
    load_finish(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_hides_is_counted_once),
        cmocka_unit_test(copies_within_the_device_are_advised_on_where_they_are_much),
        cmocka_unit_test(copies_that_compute_hides_are_not_advised_on),
        cmocka_unit_test(small_copies_in_a_row_are_a_storm),
        cmocka_unit_test(rates_stand_beside_what_could_be_reached),
        cmocka_unit_test(only_steady_steps_are_advised_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
