#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/health.h"
#include "analysis/verdict/wall.h"
#include "built.h"

enum { STEP_NS = 100000000, ALL_KNOWN = (1 << WS_HEALTH_FIELD_COUNT) - 1 };

/* A sample of the clocks of device 1, with all values known. `reasons`: NVML's bits that say why the clocks are low
 * (0x4: power cap; 0x20 and 0x40: heat). */
static struct ws_health sample(int64_t at, uint32_t mhz, uint64_t reasons)
{
    return (struct ws_health){ .device = 1,
                               .host_ns = at,
                               .known = ALL_KNOWN,
                               .sm_mhz = mhz,
                               .sm_most_mhz = 2000,
                               .reasons = reasons,
                               .power_limit_mw = 700000 };
}

static void add(struct builder *trace, struct ws_health row)
{
    build_row(trace, WS_FAMILY_health, &row);
}

/* Makes ten marked steps. The device is busy for 80 ms in each, but for three times as long in step 7. `begins`
 * receives the begin of each step. */
static void build_steps(struct builder *trace, int64_t begins[11])
{
    int64_t at = STEP_NS;
    for (int i = 0; i < 10; i++) {
        int64_t length = i == 7 ? 3 * STEP_NS : STEP_NS;
        begins[i] = at;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at, at + length);
        build_kernel(trace, 1, "sgemm_nn", at + 20000, at + length * 8 / 10);
        at += length;
    }
    begins[10] = at;
    /* this later kernel gives the last step an end */
    build_kernel(trace, 1, "after", at + 20000, at + 30000);
}

static const struct ws_track_health *health_of(const struct built *built)
{
    return built_result(built, &ws_analysis_health, 0);
}

static void clocks_held_down_are_told_from_an_idle_device(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t begins[11];
    (void)state;
    build_steps(trace, begins);
    add(trace, sample(1, 300, WS_HEALTH_REASON_IDLE)); /* a sample before all work does not count */
    for (int i = 0; i < 10; i++) {
        add(trace, sample(begins[i] + 50000000, i < 4 ? 1500 : 1990, 0x4));
        add(trace, sample(begins[i + 1] - 5000000, 300, 0x4)); /* a sample in an idle time of 20 ms does not count */
    }
    built_report(&built);
    const struct ws_track_health *health = health_of(&built);
    assert_true(health->in_steps);
    assert_int_equal(health->samples, 21);
    assert_int_equal(health->counted, 10);
    assert_int_equal(health->with_reason, 10);
    assert_int_equal(health->held, 4); /* not the samples at 1990 of 2000 MHz, whose reason costs almost nothing */
    assert_int_equal(health->reasons[WS_HEALTH_POWER_CAP], 4);
    assert_int_equal(health->held_mhz, 1500);
    assert_int_equal(health->most_mhz, 2000);
    assert_int_equal(health->figures[WS_HEALTH_OF_SM_CLOCK].least, 1500);
    assert_int_equal(health->figures[WS_HEALTH_OF_SM_CLOCK].median, 1990);
    char *text = built_text(&built, "health", false);
    assert_non_null(strstr(text, "held down by power cap for 40.0 % of the steps: 1,500 of 2,000 MHz"));
    free(text);
    built_finish(&built);
}

/* If a step is slow while the clocks are at their highest, the clocks are not named as the reason. */
static void slow_steps_with_lower_clocks_are_named(void **state)
{
    (void)state;
    for (int lower = 0; lower < 2; lower++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 1);
        int64_t begins[11];
        build_steps(trace, begins);
        for (int i = 0; i < 10; i++)
            add(trace, sample(begins[i] + 50000000, i == 7 && lower ? 700 : 1980, i == 7 && lower ? 0x20 : 0));
        built_report(&built);
        const struct ws_track_health *health = health_of(&built);
        assert_int_equal(built_steps(&built)->slow, 1);
        assert_int_equal(health->slow_known, 1);
        assert_int_equal(health->slow.count, (size_t)lower);
        if (lower) {
            const struct ws_health_slow *slow = health->slow.data;
            assert_int_equal(slow->step, 7);
            assert_int_equal(slow->mhz, 700);
        }
        built_finish(&built);
    }
}

/* Returns whether there is advice about clocks if half of the samples have this clock and this reason. */
static bool is_advised(uint32_t mhz, uint64_t reasons)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t begins[11];
    bool found = false;
    build_steps(trace, begins);
    for (int i = 0; i < 10; i++)
        add(trace, i % 2 ? sample(begins[i] + 50000000, mhz, reasons) : sample(begins[i] + 50000000, 2000, 0));
    built_report(&built);
    const struct ws_track_wall *wall = built_result(&built, &ws_analysis_wall, 0);
    const struct ws_advice *advice = wall->advice.items.data;
    for (size_t i = 0; i < wall->advice.items.count; i++)
        found |= advice[i].name && !strcmp(advice[i].name, "clocks");
    built_finish(&built);
    return found;
}

static void advice_is_given_only_where_it_matters(void **state)
{
    (void)state;
    assert_true(is_advised(1500, 0x4));
    assert_false(is_advised(1850, 0x4)); /* a power cap that costs 7.5 % is usual */
    assert_true(is_advised(1850, 0x40));
    assert_false(is_advised(1500, WS_HEALTH_REASON_IDLE));
    assert_false(is_advised(1500, 0x2)); /* 0x2: the user set the clock */
    assert_false(is_advised(1500, 0));
}

/* Rows of a trace are not trusted. The samples here are for other devices, out of order, or have impossible
 * values. */
static void odd_samples_do_no_harm(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t begins[11];
    (void)state;
    build_steps(trace, begins);
    for (int i = 9; i >= 0; i--) {
        struct ws_health row;
        memset(&row, 0xff, sizeof(row));
        row.device = 1;
        row.error = 0;
        row.host_ns = begins[i] + 50000000;
        row.sm_mhz = i % 2 ? UINT32_MAX : 0;
        add(trace, row);
        row.device = 77;
        add(trace, row);
        row.device = 1;
        row.host_ns = i % 2 ? INT64_MAX : INT64_MIN;
        add(trace, row);
    }
    add(trace, (struct ws_health){ .device = 1, .host_ns = begins[3], .error = 15 });
    built_report(&built);
    assert_int_equal(health_of(&built)->samples, 20);
    assert_int_equal(health_of(&built)->counted, 10);
    assert_int_equal(health_of(&built)->failed, 1);
    assert_int_equal(health_of(&built)->error, 15);
    built_print(&built);
    built_finish(&built);
}

static void without_samples_nothing_is_said(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t begins[11];
    (void)state;
    build_steps(trace, begins);
    built_report(&built);
    char *text = built_text(&built, NULL, true);
    assert_null(strstr(text, "GPU health"));
    free(text);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_held_down_are_told_from_an_idle_device),
        cmocka_unit_test(slow_steps_with_lower_clocks_are_named),
        cmocka_unit_test(advice_is_given_only_where_it_matters),
        cmocka_unit_test(odd_samples_do_no_harm),
        cmocka_unit_test(without_samples_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
