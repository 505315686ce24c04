/* Tests of what the recording itself cost the program, as a report states it. */
#include "check.h"

#include "analysis/activity/overview.h"
#include "built.h"

static const struct ws_recording_cost *cost_of(const struct built *built)
{
    const struct ws_process_overview *overview = ws_report_result(built->report, &ws_analysis_overview, 0);
    return &overview->cost;
}

/* Makes launches on two threads. From its first to its last launch, one thread takes 6 µs, the other 2 µs. */
static void begin(struct built *built, const char *events_ns)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 4);
    build_meta(trace, "cost_events_ns", events_ns);
    build_meta(trace, "cost_record_ns", "40");
    static const struct launch launches[] = {
        { .kernel = "one", .thread = 1, .begin = 3000, .end = 3100, .host_begin = 1000, .host_end = 2000 },
        { .kernel = "two", .thread = 1, .begin = 7000, .end = 7100, .host_begin = 6000, .host_end = 7000 },
        { .kernel = "three",
          .thread = 2,
          .begin = 6000,
          .end = 6100,
          .host_begin = 4000,
          .host_end = 6000,
          .stream = 2 },
    };
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        build_launch(trace, &launches[i]);
    built_report(built);
}

static void the_cost_is_set_against_the_time_of_launching_threads(void **state)
{
    (void)state;
    struct built built;
    begin(&built, "500");
    const struct ws_recording_cost *cost = cost_of(&built);
    assert_true(cost->known);
    assert_int_equal(cost->events, 500);
    assert_int_equal(cost->records, 3 * 40);
    assert_int_equal(cost->threads, 6000 + 2000);
    built_finish(&built);
}

static void a_trace_that_does_not_say_has_no_cost(void **state)
{
    (void)state;
    struct built built;
    begin(&built, NULL);
    assert_false(cost_of(&built)->known);
    built_finish(&built);
}

static void a_damaged_figure_is_no_negative_cost(void **state)
{
    (void)state;
    struct built built;
    begin(&built, "-9223372036854775808");
    assert_int_equal(cost_of(&built)->events, 0);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_is_set_against_the_time_of_launching_threads),
        cmocka_unit_test(a_trace_that_does_not_say_has_no_cost),
        cmocka_unit_test(a_damaged_figure_is_no_negative_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
