/* Tests of the metrics that the collector serves: the two text formats, escaping, and the choice of the format by the
 * HTTP header Accept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/metrics.h"

static const struct metrics_family gaps = { "a_gap_seconds", "seconds", "Time.", METRICS_COUNTER };
static const struct metrics_family build = { "a_build", "", "Version.", METRICS_INFO };
static const struct metrics_family clients = { "a_clients", "", "Clients.", METRICS_GAUGE };

static void write_three(struct metrics_text *text)
{
    const struct metrics_label labels[] = { { "job", "a\\b\"c\nd" }, { "pid", "1" } };
    metrics_begin_family(text, &gaps);
    metrics_sample_ns(text, &gaps, labels, 2, 1500000007);
    metrics_begin_family(text, &build);
    metrics_sample(text, &build, &labels[1], 1, 1);
    metrics_begin_family(text, &clients);
    metrics_sample(text, &clients, NULL, 0, UINT64_MAX);
    metrics_end(text);
}

static void expect(enum metrics_format format, const char *expected)
{
    struct metrics_text text = { .format = format };
    write_three(&text);
    assert_false(text.failed);
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.size);
    free(text.bytes);
}

static void the_format_of_prometheus(void **state)
{
    (void)state;
    expect(METRICS_PROMETHEUS, "# TYPE a_gap_seconds_total counter\n"
                               "# HELP a_gap_seconds_total Time.\n"
                               "a_gap_seconds_total{job=\"a\\\\b\\\"c\\nd\",pid=\"1\"} 1.500000007\n"
                               "# TYPE a_build_info gauge\n"
                               "# HELP a_build_info Version.\n"
                               "a_build_info{pid=\"1\"} 1\n"
                               "# TYPE a_clients gauge\n"
                               "# HELP a_clients Clients.\n"
                               "a_clients 18446744073709551615\n");
}

static void the_format_of_openmetrics(void **state)
{
    (void)state;
    expect(METRICS_OPENMETRICS, "# TYPE a_gap_seconds counter\n"
                                "# UNIT a_gap_seconds seconds\n"
                                "# HELP a_gap_seconds Time.\n"
                                "a_gap_seconds_total{job=\"a\\\\b\\\"c\\nd\",pid=\"1\"} 1.500000007\n"
                                "# TYPE a_build info\n"
                                "# HELP a_build Version.\n"
                                "a_build_info{pid=\"1\"} 1\n"
                                "# TYPE a_clients gauge\n"
                                "# HELP a_clients Clients.\n"
                                "a_clients 18446744073709551615\n"
                                "# EOF\n");
}

static void the_client_chooses(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum metrics_format format;
    } rows[] = {
        { NULL, METRICS_PROMETHEUS },
        { "", METRICS_PROMETHEUS },
        { "*/*", METRICS_PROMETHEUS },
        { "text/plain", METRICS_PROMETHEUS },
        { "application/openmetrics-text", METRICS_OPENMETRICS },
        { "application/openmetrics-text; version=1.0.0; charset=utf-8", METRICS_OPENMETRICS },
        { "application/openmetrics-text; version=0.0.1", METRICS_PROMETHEUS },
        { "application/openmetrics-text;q=0", METRICS_PROMETHEUS },
        { "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.7", METRICS_PROMETHEUS },
        /* the header that Prometheus 2.42 sends */
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
          METRICS_OPENMETRICS },
        { ";;;q=,,;q=9999999999999999;", METRICS_PROMETHEUS },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(metrics_negotiate(rows[i].accept), rows[i].format);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_of_prometheus),
        cmocka_unit_test(the_format_of_openmetrics),
        cmocka_unit_test(the_client_chooses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
