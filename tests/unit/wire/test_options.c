#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/options.h"

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = { { "0", 0 },        { "3", 3000000000 }, { "500ms", 500000000 }, { "1.5s", 1500000000 },
                 { "0.25us", 250 }, { "7ns", 7 },        { "2m", 120000000000 }, { "1h", 3600000000000 } };
    static const char *const bad[] = { "",
                                       "s",
                                       "-1",
                                       "1x",
                                       "1 s",
                                       " 1",
                                       "1s ",
                                       "1..5",
                                       ".5",
                                       "1e3",
                                       "0x10",
                                       "99999999999999999999",
                                       "18446744073709551615h",
                                       "0.0000000000000001" };
    uint64_t ns = 0;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(ws_parse_duration(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ws_parse_duration(bad[i], &ns), -EINVAL);
}

static void sizes(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    assert_int_equal(ws_parse_size("64M", &bytes), 0);
    assert_int_equal(bytes, 64 << 20);
    assert_int_equal(ws_parse_size("1.5K", &bytes), 0);
    assert_int_equal(bytes, 1536);
    assert_int_equal(ws_parse_size("17", &bytes), 0);
    assert_int_equal(bytes, 17);
    assert_int_equal(ws_parse_size("2MB", &bytes), -EINVAL);
    assert_int_equal(ws_parse_size("ms", &bytes), -EINVAL);
    assert_int_equal(bytes, 17);
}

static void bursts(void **state)
{
    (void)state;
    uint64_t on = 1, period = 1;
    assert_int_equal(ws_parse_burst("", &on, &period), 0);
    assert_true(on == 0 && period == 0);
    assert_int_equal(ws_parse_burst("1s/30s", &on, &period), 0);
    assert_true(on == 1000000000 && period == 30000000000);
    static const char *const bad[] = { "1s", "/", "1s/", "/30s", "2s/1s", "0/1s", "1s/2s/3s" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ws_parse_burst(bad[i], &on, &period), -EINVAL);
    assert_true(on == 1000000000 && period == 30000000000);
}

static const struct ws_option_info *option(const char *name)
{
    for (size_t i = 0; i < ws_option_count; i++)
        if (!strcmp(ws_option_table[i].name, name))
            return &ws_option_table[i];
    return NULL;
}

static void every_default_is_valid(void **state)
{
    (void)state;
    struct ws_options options;
    for (size_t i = 0; i < ws_option_count; i++) {
        assert_int_equal(ws_option_set(&options, &ws_option_table[i], ws_option_table[i].fallback), 0);
        assert_ptr_equal(option(ws_option_table[i].name), &ws_option_table[i]);
        assert_memory_equal(ws_option_table[i].variable, "WALLSHIM_", 9);
    }
}

static void choices_take_their_words_only(void **state)
{
    (void)state;
    struct ws_options options = { .backend = WS_BACKEND_EVENTS };
    const struct ws_option_info *backend = option("backend");
    assert_int_equal(ws_option_set(&options, backend, "host"), 0);
    assert_int_equal(options.backend, WS_BACKEND_HOST);
    static const char *const bad[] = { "", "hos", "hosts", "events|host", "Host" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ws_option_set(&options, backend, bad[i]), -EINVAL);
    assert_int_equal(options.backend, WS_BACKEND_HOST);
    assert_int_equal(ws_option_set(&options, option("output"), "any|thing"), 0);
    assert_int_equal(ws_option_set(&options, option("env"), "2"), -EINVAL);
    assert_int_equal(ws_option_set(&options, option("sample"), "1.5"), -EINVAL);
}

static void numbers_keep_their_bounds(void **state)
{
    (void)state;
    struct ws_options options = { .ring = 1, .events = 1 };
    char takes[128];
    static const char *const bad_rings[] = { "0", "1", "4095", "4.1G", "" };
    for (size_t i = 0; i < sizeof(bad_rings) / sizeof(bad_rings[0]); i++)
        assert_int_equal(ws_option_set(&options, option("ring"), bad_rings[i]), -EINVAL);
    static const char *const bad_events[] = { "0", "15", "1000001", "4294967312" };
    for (size_t i = 0; i < sizeof(bad_events) / sizeof(bad_events[0]); i++)
        assert_int_equal(ws_option_set(&options, option("events"), bad_events[i]), -EINVAL);
    assert_true(options.ring == 1 && options.events == 1);
    assert_int_equal(ws_option_set(&options, option("ring"), "4K"), 0);
    assert_int_equal(ws_option_set(&options, option("events"), "16"), 0);
    assert_true(options.ring == 4096 && options.events == 16);
    assert_int_equal(ws_option_set(&options, option("max-size"), "1"), 0);
    assert_string_equal(ws_option_takes(option("ring"), takes, sizeof(takes)), "SIZE, as 64M or 2G, from 4K to 4G");
    assert_string_equal(ws_option_takes(option("events"), takes, sizeof(takes)),
                        "N, a whole number, from 16 to 1000000");
    assert_string_equal(ws_option_takes(option("backend"), takes, sizeof(takes)), "events|host");
}

static void the_environment_overrides_defaults(void **state)
{
    (void)state;
    struct ws_options options;
    const struct ws_option_info *bad;
    assert_int_equal(setenv("WALLSHIM_SAMPLE", "7", 1), 0);
    assert_int_equal(setenv("WALLSHIM_RING", "much", 1), 0);
    assert_int_equal(unsetenv("WALLSHIM_BACKEND"), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.sample, 7);
    assert_int_equal(options.ring, 4 << 20);
    assert_int_equal(options.backend, WS_BACKEND_EVENTS);
    assert_ptr_equal(bad, option("ring"));
    assert_int_equal(setenv("WALLSHIM_RING", "1M", 1), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.ring, 1 << 20);
    assert_null(bad);
}

static void old_names_are_understood(void **state)
{
    (void)state;
    struct ws_options options;
    const struct ws_option_info *bad, *placement = option("event-placement");
    const char *variable;
    assert_string_equal(ws_option_old_name("event-placement")->old_name, "marks");
    assert_null(ws_option_old_name("backend"));
    assert_int_equal(unsetenv("WALLSHIM_EVENT_PLACEMENT"), 0);
    assert_int_equal(setenv("WALLSHIM_MARKS", "pairs", 1), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.event_placement, WS_EVENTS_IN_PAIRS);
    assert_int_equal(setenv("WALLSHIM_MARKS", "marks", 1), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.event_placement, WS_EVENTS_SHARED);
    assert_null(bad);
    assert_int_equal(setenv("WALLSHIM_EVENT_PLACEMENT", "pairs", 1), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.event_placement, WS_EVENTS_IN_PAIRS);
    assert_int_equal(setenv("WALLSHIM_MARKS", "few", 1), 0);
    assert_int_equal(unsetenv("WALLSHIM_EVENT_PLACEMENT"), 0);
    ws_options_from_environment(&options, &bad);
    assert_int_equal(options.event_placement, WS_EVENTS_SAMPLED);
    assert_ptr_equal(bad, placement);
    assert_string_equal(ws_option_in_environment(bad, &variable), "few");
    assert_string_equal(variable, "WALLSHIM_MARKS");
    assert_int_equal(unsetenv("WALLSHIM_MARKS"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(bursts),
        cmocka_unit_test(every_default_is_valid),
        cmocka_unit_test(choices_take_their_words_only),
        cmocka_unit_test(numbers_keep_their_bounds),
        cmocka_unit_test(the_environment_overrides_defaults),
        cmocka_unit_test(old_names_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
