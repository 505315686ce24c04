#include "check.h"

#include <errno.h>

#include "check/evaluate.h"
#include "check/figure.h"

/* --- reading rules ----------------------------------------------------------------------------- */

static void rules_are_read(void **state)
{
    static const struct {
        const char *text, *figure;
        enum ws_relation relation;
        enum ws_unit unit;
        double number;
        const char *word;
    } rules[] = {
        { "busy >= 80%", "busy", WS_AT_LEAST, WS_UNIT_SHARE, 0.8, NULL },
        { "  busy<.8", "busy", WS_LESS, WS_UNIT_NONE, 0.8, NULL },
        { "step_time.p95 <= 45 ms ", "step_time.p95", WS_AT_MOST, WS_UNIT_TIME, 45e6, NULL },
        { "step_time > 45µs", "step_time", WS_MORE, WS_UNIT_TIME, 45e3, NULL },
        { "x == 1.5e3us", "x", WS_EQUAL, WS_UNIT_TIME, 1.5e6, NULL },
        { "x[12].bytes != 2MiB", "x[12].bytes", WS_UNEQUAL, WS_UNIT_BYTES, 2097152, NULL },
        { "kernels[\"a]. b\"].share > -0.5", "kernels[\"a]. b\"].share", WS_MORE, WS_UNIT_NONE, -0.5, NULL },
        { "wall != overhead", "wall", WS_UNEQUAL, WS_UNIT_TEXT, 0, "overhead" },
        { "name == \"NVIDIA H100\" ", "name", WS_EQUAL, WS_UNIT_TEXT, 0, "NVIDIA H100" },
    };
    struct ws_rule rule;
    char message[200];
    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        assert_int_equal(ws_rule_parse(&rule, rules[i].text, message, sizeof(message)), 0);
        assert_string_equal(rule.figure, rules[i].figure);
        assert_int_equal(rule.relation, rules[i].relation);
        assert_int_equal(rule.value.unit, rules[i].unit);
        assert_true(rule.value.number == rules[i].number);
        if (rules[i].word)
            assert_string_equal(rule.value.text, rules[i].word);
        ws_rule_finish(&rule);
    }
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "busy",
        "busy >",
        "> 3",
        "busy 3",
        "busy => 3",
        "b > 3 x",
        "b > 3 ms x",
        "b > 3ms and 4",
        "b[] > 3",
        "b[x] > 3",
        "b[\"x > 3",
        "b[\"x\" > 3",
        "b. > 3",
        "b..c > 3",
        "b > overhead",
        "b == \"over",
        "b > 1e999",
        "b > 1e300 TiB",
        "b > 0x10",
        "b > inf",
        "b == a b",
        "b[1 > 3",
        "a.b.c.d.e.f.g.h.i > 3",
        "b > --3",
        "b == 3 4",
    };
    struct ws_rule rule;
    char message[200];
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(ws_rule_parse(&rule, texts[i], message, sizeof(message)), -EINVAL);
        assert_true(*message);
        ws_rule_finish(&rule);
    }
}

static void every_path_of_the_figure_table_is_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ws_figure_count; i++) {
        const struct ws_figure *figure = &ws_figures[i];
        const char *const paths[] = { figure->value, figure->of, figure->except, figure->error, figure->reason };
        for (size_t j = 0; j < sizeof(paths) / sizeof(paths[0]); j++) {
            struct ws_path path;
            char message[200];
            if (!paths[j])
                continue;
            assert_int_equal(ws_path_parse(&path, paths[j], message, sizeof(message)), 0);
            ws_path_finish(&path);
        }
        assert_ptr_equal(ws_figure_find(figure->name), figure);
    }
}

/* --- judging rules by the figures of a report -------------------------------------------------- */

static const char report_text[] =
    "{'version': 1, 'processes': ["
    " {'trace': 'a.wst', 'meta': {'rank': '0'}, 'losses': [{'reason': 'ring full', 'count': 3},"
    "   {'reason': 'torn', 'count': 4}], 'devices': ["
    "  {'device': 0, 'name': 'H100', 'gpu_events': 100, 'untimed_events': 5, 'span_ns': 1000, 'unrecorded_ns': 200,"
    "   'busy_ns': 600, 'busy_error_ns': 16, 'idle_ns': 200, 'comm_ns': 0, 'comm_overlap_ns': 0, 'complete': true,"
    "   'kernels': [{'name': 'gemm_a', 'class': 'gemm', 'count': 2, 'total_ns': 300, 'min_ns': 100, 'max_ns': 200},"
    "               {'name': 'copy_kernel', 'class': 'pointwise', 'count': 1, 'total_ns': 50, 'min_ns': 50,"
    "                'max_ns': 50},"
    "               {'name': 'gemm_b', 'class': 'gemm', 'count': 4, 'total_ns': 150, 'min_ns': 30, 'max_ns': 40},"
    "               {'name': 'untimed_a', 'class': 'reduce', 'count': 3, 'total_ns': 0},"
    "               {'name': 'timed_b', 'class': 'reduce', 'count': 0, 'total_ns': 0, 'min_ns': 20, 'max_ns': 60}],"
    "   'roofline': {'kernel_ns': 500, 'matmul_ns': 300, 'mfu': 0.41},"
    "   'copies': [], 'steps': [], 'wall': null, 'wall_reason': 'Too little ran.',"
    "   'step_time': {'source': 'none', 'why_none': 'Nothing repeats.'}}]},"
    " {'trace': 'b.wst', 'meta': {'rank': '1'}, 'losses': [], 'devices': ["
    "  {'device': 0, 'gpu_events': 100, 'untimed_events': 6, 'span_ns': 1000, 'unrecorded_ns': 0, 'busy_ns': 900,"
    "   'busy_error_ns': 0, 'idle_ns': 100, 'kernels': [], 'copies': [{'name': 'Memcpy HtoD (Pageable -> Device)',"
    "   'count': 7, 'bytes': 5000, 'gb_per_s': 2.5}, {'name': 'Memcpy DtoH', 'count': 1, 'bytes': 1}],"
    "   'wall': {'name': 'overhead', 'cause': 'input', 'per_step': true, 'step_ns': 400, 'saving_ns': 5,"
    "            'parts': {'input': 100, 'sync': 0, 'wait': 40}},"
    "   'gaps': [{'length_ns': 40, 'cause': 'wait'}],"
    "   'step_time': {'source': 'marked', 'median_ns': 390, 'p95_ns': 500, 'cov': 0.25, 'steady': 12,"
    "                 'stable': false, 'busy_ns': {'median': 300, 'mean': 310}}}]},"
    " {'trace': 'c.wst', 'meta': {}, 'losses': [], 'devices': ["
    "  {'device': 0, 'gpu_events': 0, 'untimed_events': 0, 'span_ns': 0, 'unrecorded_ns': 0, 'busy_ns': 0}]}]}";

static json_t *load_text(void)
{
    char *text = strdup(report_text);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    json_t *report = json_loads(text, 0, NULL);
    assert_non_null(report);
    free(text);
    return report;
}

struct expected {
    const char *rule;
    /* one letter per finding: h: the rule holds, b: it is broken, ?: not known. "!" alone: the rule is invalid */
    const char *outcomes;
};

static void check_outcomes(const struct expected *expected, size_t count)
{
    static const char letters[] = { [WS_HOLDS] = 'h', [WS_BROKEN] = 'b', [WS_NOT_KNOWN] = '?' };
    json_t *report = load_text();
    for (size_t i = 0; i < count; i++) {
        struct ws_rule rule;
        struct ws_judgement judgement;
        char message[300], outcomes[16] = "!";
        assert_int_equal(ws_rule_parse(&rule, expected[i].rule, message, sizeof(message)), 0);
        int status = ws_rule_evaluate(&rule, report, &judgement, message, sizeof(message));
        const struct ws_finding *findings = judgement.findings.data;
        for (size_t j = 0; !status && j < judgement.findings.count; j++) {
            outcomes[j] = letters[findings[j].outcome];
            outcomes[j + 1] = 0;
        }
        if (strcmp(outcomes, expected[i].outcomes) != 0)
            print_error("%s: %s\n", expected[i].rule, status ? message : findings[0].why);
        assert_string_equal(outcomes, expected[i].outcomes);
        assert_true(!status || (status == -EINVAL && *message));
        ws_judgement_finish(&judgement);
        ws_rule_finish(&rule);
    }
    json_decref(report);
}

#define CHECK(list) check_outcomes(list, sizeof(list) / sizeof(list[0]))

/* The second device has too many operations without times, so its figures are not known. On the third device nothing
 * ran. */
static void figures_with_names_are_judged(void **state)
{
    static const struct expected rules[] = {
        { "busy >= 75 %", "h?" },
        { "busy > 75 %", "b?" },
        { "idle == 0.25", "h?" },
        { "busy < 601 ns", "h?" },
        { "comm_overlap > 0", "??" },
        { "losses == 0", "bhh" },
        { "losses < 8", "hhh" },
        { "pageable_copies == 0", "hb" },
        { "step_time < 400 ns", "?h" },
        { "step_time.p95 < 400 ns", "?b" },
        { "step_time.cov <= 25 %", "?h" },
        { "step_time.stable == false", "?h" },
        { "steps >= 12", "?h" },
        { "matmul == 60 %", "h?" },
        { "mfu > 40 %", "h?" },
    };
    (void)state;
    CHECK(rules);
}

static void paths_are_judged(void **state)
{
    static const struct expected rules[] = {
        { "busy_ns < 700 ns", "hb" },
        { "kernels[1].count == 1", "h?" },
        { "kernels[*].total_ns < 200 ns", "bhhhh?" },
        { "kernels[\"gemm\"].total_ns == 450 ns", "hb" },
        { "kernels[\"gemm\"].share == 90 %", "h?" },
        { "kernels[\"gemm\"].min_ns == 30 ns", "h?" },
        { "kernels[\"gemm\"].max_ns == 200 ns", "h?" },
        { "kernels[\"gemm\"].mean_ns == 75 ns", "h?" },
        /* a kernel without a known minimum does not count as one with a minimum of 0 */
        { "kernels[\"reduce\"].min_ns == 20 ns", "h?" },
        { "kernels[\"reduce\"].max_ns == 60 ns", "h?" },
        { "kernels[\"untimed_a\"].min_ns > 0", "??" },
        { "kernels[\"gemm_\"].count == 6", "h?" },
        { "kernels[\"copy\"].count == 0", "hh" },
        { "kernels[\"gemm\"].name != gemm_b", "hb?" },
        { "kernels[\"softmin\"].count == 0", "??" },
        { "copies[\"HtoD\"].gb_per_s > 2", "?h" },
        { "copies[*].bytes < 1 kB", "?bh" },
        { "step_time.busy_ns.mean < 1 us", "?h" },
        { "wall.parts.input == 100 ns", "?h" },
        { "complete == true", "h?" },
        { "meta.rank == 0", "!" },
        { "meta.rank == \"0\"", "hb?" },
        { "version == 1", "h" },
    };
    (void)state;
    CHECK(rules);
}

/* "dependency" is the former name of "wait". */
static void words_that_were_replaced_are_understood(void **state)
{
    static const struct expected rules[] = {
        { "wall.parts.wait == 40 ns", "?h" },
        { "wall.parts.dependency == 40 ns", "?h" },
        { "gaps[0].cause == dependency", "?h" },
        { "gaps[0].cause != dependency", "?b" },
    };
    (void)state;
    CHECK(rules);
    assert_non_null(ws_figure_find("gaps.wait"));
    assert_ptr_equal(ws_figure_find("gaps.dependency"), ws_figure_find("gaps.wait"));
}

static void rules_that_can_mean_nothing_are_refused(void **state)
{
    static const struct expected rules[] = {
        { "bussy > 1 %", "!" },
        { "busy >= 80", "!" },
        { "busy < 5 kB", "!" },
        { "step_time < 5", "!" },
        { "busy == much", "!" },
        { "kernels > 3", "!" },
        { "kernels.count > 3", "!" },
        { "busy_ns[0] > 3 ns", "!" },
        { "busy_ns < 5", "!" },
        { "version < 5 ms", "!" },
        { "step_time.busy_ns > 1 ms", "!" },
    };
    (void)state;
    CHECK(rules);
}

static void names_nearly_right_are_found(void **state)
{
    (void)state;
    assert_int_equal(ws_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(ws_edit_distance("", "abc"), 3);
    assert_string_equal(ws_figure_nearest("gap.input"), "gaps.input");
    assert_string_equal(ws_figure_nearest("step_time.p59"), "step_time.p95");
    assert_null(ws_figure_nearest("photosynthesis"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(every_path_of_the_figure_table_is_one),
        cmocka_unit_test(figures_with_names_are_judged),
        cmocka_unit_test(paths_are_judged),
        cmocka_unit_test(words_that_were_replaced_are_understood),
        cmocka_unit_test(rules_that_can_mean_nothing_are_refused),
        cmocka_unit_test(names_nearly_right_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
