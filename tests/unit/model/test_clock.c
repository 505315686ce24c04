/* Tests of the conversion of device times to host times (model/clock.h). It follows from clock comparisons: each is a
 * reading of both clocks at one moment, with an error. */
#include "check.h"

#include "model/clock.h"

static const int64_t second = 1000000000;

static size_t choose(struct ws_clock *points, size_t count, struct ws_clock *knots, struct ws_clock_cursor *cursor)
{
    size_t chosen = ws_clock_choose_knots(points, count, knots);
    ws_clock_cursor_init(cursor, knots, chosen);
    return chosen;
}

static void without_comparisons_times_stay(void **state)
{
    struct ws_clock_cursor cursor;
    (void)state;
    ws_clock_cursor_init(&cursor, NULL, 0);
    assert_int_equal(ws_clock_to_host(&cursor, -5), -5);
    assert_int_equal(ws_clock_to_host(&cursor, INT64_MAX), INT64_MAX);
}

static void one_comparison_moves_the_origin(void **state)
{
    struct ws_clock points[] = { { .device_ns = 100, .host_ns = 5000, .error_ns = 7 } }, knots[1];
    struct ws_clock_cursor cursor;
    (void)state;
    assert_int_equal(choose(points, 1, knots, &cursor), 1);
    assert_int_equal(ws_clock_to_host(&cursor, 100), 5000);
    assert_int_equal(cursor.error_ns, 7);
    assert_int_equal(ws_clock_to_host(&cursor, 60), 4960);
    /* At a time one second away from the comparison, the error grows by 100 ppm of a second. */
    assert_int_equal(ws_clock_to_host(&cursor, 100 + second), 5000 + second);
    assert_int_equal(cursor.error_ns, 7 + 100000);
}

/* The device's clock gains 20 ns in a millisecond; comparisons are off by up to 1 µs. */
static void known_drift_is_taken_out(void **state)
{
    enum { POINTS = 60 };
    struct ws_clock points[POINTS], knots[POINTS];
    struct ws_clock_cursor cursor;
    uint64_t random = 3;
    (void)state;
    for (int i = 0; i < POINTS; i++) {
        int64_t host = 7 * second + i * second, error = (int64_t)(next_random(&random) % 2001) - 1000;
        points[i] = (struct ws_clock){ .device_ns = (host - 7 * second) / 1000000 * 1000020,
                                       .host_ns = host + error,
                                       .error_ns = 1000 };
    }
    assert_int_equal(choose(points, POINTS, knots, &cursor), POINTS);
    int64_t last = INT64_MIN;
    for (int64_t host = 7 * second; host < 66 * second; host += 1234567) {
        int64_t device = (int64_t)((double)(host - 7 * second) * 1.00002), mapped = ws_clock_to_host(&cursor, device);
        assert_true(llabs(mapped - host) <= 1001);
        assert_true(mapped > last);
        last = mapped;
    }
    assert_int_equal(cursor.error_ns, 1000);
}

/* Two comparisons 1 µs apart disagree by 3 µs. The clock that is made from them must not run four times as fast. */
static void comparisons_close_together_do_not_bend_the_rate(void **state)
{
    struct ws_clock points[] = { { .device_ns = 0, .host_ns = 0, .error_ns = 2000 },
                                 { .device_ns = 1000, .host_ns = 4000, .error_ns = 1500 },
                                 { .device_ns = second, .host_ns = second, .error_ns = 2000 } };
    struct ws_clock knots[3];
    struct ws_clock_cursor cursor;
    (void)state;
    assert_int_equal(choose(points, 3, knots, &cursor), 2);
    assert_int_equal(knots[0].host_ns, 4000);
    int64_t length = ws_clock_to_host(&cursor, 600000000) - ws_clock_to_host(&cursor, 500000000);
    assert_true(llabs(length - 100000000) < 1000);
}

/* A recording of a quarter of a second. The device's clock gains 20 ns in a millisecond. Each comparison is a little
 * better than the one before, but only the first and the last one tell the rate. */
static void short_recordings_have_a_rate_too(void **state)
{
    enum { POINTS = 9, INTERVAL = 28000000 };
    struct ws_clock points[POINTS], knots[POINTS];
    struct ws_clock_cursor cursor;
    (void)state;
    for (int i = 0; i < POINTS; i++)
        points[i] = (struct ws_clock){ .device_ns = (int64_t)i * (INTERVAL + INTERVAL / 50000),
                                       .host_ns = (int64_t)i * INTERVAL,
                                       .error_ns = (uint32_t)(3600 - 10 * i) };
    choose(points, POINTS, knots, &cursor);
    for (int i = 0; i < POINTS; i++)
        assert_true(llabs(ws_clock_to_host(&cursor, points[i].device_ns) - points[i].host_ns) <= 1);
}

static void order_is_never_turned_round(void **state)
{
    enum { POINTS = 40 };
    struct ws_clock points[POINTS], knots[POINTS];
    struct ws_clock_cursor cursor;
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < POINTS; i++)
            points[i] = (struct ws_clock){ .device_ns = (int64_t)(next_random(&random) % (10 * (uint64_t)second)),
                                           .host_ns = (int64_t)(next_random(&random) % (10 * (uint64_t)second)),
                                           .error_ns = (uint32_t)(next_random(&random) % 5000) };
        choose(points, POINTS, knots, &cursor);
        int64_t last = INT64_MIN;
        for (int64_t device = -second; device < 11 * second; device += 3333333) {
            int64_t mapped = ws_clock_to_host(&cursor, device);
            assert_true(mapped >= last);
            last = mapped;
        }
    }
}

/* A time in ns since 1970 does not fit into a double exactly. */
static void pieces_meet_where_clocks_count_from_long_ago(void **state)
{
    const int64_t year_2024 = 1732241234123456789;
    struct ws_clock points[] = {
        { .device_ns = year_2024, .host_ns = 1000, .error_ns = 1000 },
        { .device_ns = year_2024 + second + 142, .host_ns = second + 1000, .error_ns = 1000 },
        { .device_ns = year_2024 + 2 * second + 281, .host_ns = 2 * second + 1000, .error_ns = 1000 }
    };
    struct ws_clock knots[3];
    struct ws_clock_cursor cursor;
    (void)state;
    assert_int_equal(choose(points, 3, knots, &cursor), 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(ws_clock_to_host(&cursor, knots[i].device_ns - 1), knots[i].host_ns - 1);
        assert_int_equal(ws_clock_to_host(&cursor, knots[i].device_ns), knots[i].host_ns);
    }
}

/* If each conversion searched all points of the clock one by one, this test would take minutes. */
static void times_that_jump_to_and_fro_cost_little(void **state)
{
    enum { POINTS = 1 << 18, JUMPS = 1 << 20 };
    struct ws_clock *knots = calloc(POINTS, sizeof(*knots));
    struct ws_clock_cursor cursor;
    (void)state;
    assert_non_null(knots);
    for (int64_t i = 0; i < POINTS; i++)
        knots[i] = (struct ws_clock){ .device_ns = i * second, .host_ns = i * (second + 20), .error_ns = 1 };
    ws_clock_cursor_init(&cursor, knots, POINTS);
    for (int64_t i = 0; i < JUMPS; i++) {
        int64_t piece = i % 2 ? POINTS - 2 - i / 8 : i / 8;
        assert_int_equal(ws_clock_to_host(&cursor, piece * second + 5), piece * (second + 20) + 5);
    }
    free(knots);
}

static void extreme_times_do_not_overflow(void **state)
{
    struct ws_clock points[] = { { .device_ns = INT64_MIN, .host_ns = INT64_MAX, .error_ns = UINT32_MAX },
                                 { .device_ns = INT64_MAX, .host_ns = INT64_MIN, .error_ns = UINT32_MAX },
                                 { .device_ns = INT64_MAX, .host_ns = INT64_MAX, .error_ns = 0 } };
    struct ws_clock knots[3];
    struct ws_clock_cursor cursor;
    (void)state;
    choose(points, 3, knots, &cursor);
    int64_t low = ws_clock_to_host(&cursor, INT64_MIN), middle = ws_clock_to_host(&cursor, 0);
    assert_true(low <= middle);
    assert_true(middle <= ws_clock_to_host(&cursor, INT64_MAX));
}

/* In a damaged trace, an operation's begin may be as far from its launch as integers allow. */
static void begins_before_the_launch_move_to_it_within_their_errors(void **state)
{
    (void)state;
    const struct ws_clock knot = { .device_ns = 0, .host_ns = 0 };
    struct ws_clock_cursor cursor;
    ws_clock_cursor_init(&cursor, &knot, 1);
    assert_int_equal(ws_clock_launched(&cursor, 90, 100, 10), 100);
    assert_int_equal(ws_clock_launched(&cursor, 89, 100, 10), 89);
    assert_int_equal(ws_clock_launched(&cursor, 120, 100, 10), 120);
    cursor.error_ns = 1;
    assert_int_equal(ws_clock_launched(&cursor, 89, 100, 10), 100);
    assert_int_equal(ws_clock_launched(&cursor, INT64_MIN, 100, 10), INT64_MIN);
    assert_int_equal(ws_clock_launched(&cursor, INT64_MIN, INT64_MAX, 10), INT64_MIN);
    cursor.count = 0;
    assert_int_equal(ws_clock_launched(&cursor, 90, 100, 10), 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_comparisons_times_stay),
        cmocka_unit_test(one_comparison_moves_the_origin),
        cmocka_unit_test(known_drift_is_taken_out),
        cmocka_unit_test(comparisons_close_together_do_not_bend_the_rate),
        cmocka_unit_test(short_recordings_have_a_rate_too),
        cmocka_unit_test(order_is_never_turned_round),
        cmocka_unit_test(times_that_jump_to_and_fro_cost_little),
        cmocka_unit_test(pieces_meet_where_clocks_count_from_long_ago),
        cmocka_unit_test(extreme_times_do_not_overflow),
        cmocka_unit_test(begins_before_the_launch_move_to_it_within_their_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
