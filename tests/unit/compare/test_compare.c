#include "check.h"

#include <errno.h>
#include <math.h>

#include "compare/compare.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

/* A program whose steps consist of a GEMM, other kernels, and idle time in which the host waits for the next
 * input. */
struct recipe {
    const char *gemm;
    int64_t length, input;
    const char *others[4];        /* names of further kernels, of 20 µs each */
    int64_t jitter;               /* extra ns of the GEMM in every other step */
    uint32_t error;               /* error of each begin, ns */
    uint64_t lost[WS_LOSS_COUNT]; /* losses by reason */
    size_t steps;                 /* number of steps; 0: 8 */
    uint32_t devices;             /* number of devices that do the same work; 0: 1 */
    bool marked;
    const char *placement; /* how the trace calls --event-placement; NULL: it does not say */
};

static void kernel(struct builder *trace, uint32_t stream, const char *name, int64_t begin, int64_t length,
                   uint32_t error)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = name,
                                                        .stream = stream,
                                                        .grid = strlen(name) > 30 ? 7 : 64,
                                                        .begin = begin,
                                                        .end = begin + length });
    op.begin_error = error;
    build_row(trace, WS_FAMILY_op, &op);
}

static void record_device(struct builder *trace, const struct recipe *recipe, uint32_t device)
{
    size_t steps = recipe->steps ? recipe->steps : 8;
    int64_t at = ms;
    build_device(trace, device, "Test GPU", 0, 0);
    build_stream(trace, device, device);
    for (size_t i = 0; i <= steps; i++) {
        int64_t gemm = recipe->length + (i % 2 ? recipe->jitter : 0), begin = at;
        kernel(trace, device, recipe->gemm, at, gemm, recipe->error);
        at += gemm;
        for (size_t j = 0; j < 4 && recipe->others[j]; j++, at += 20 * us)
            kernel(trace, device, recipe->others[j], at, 20 * us, recipe->error);
        if (device == 1)
            build_range(trace, WS_RANGE_OPERATOR, 1, "enumerate(DataLoader)#next", at - 5 * us,
                        at + recipe->input - 12 * us);
        at += recipe->input;
        if (device == 1 && recipe->marked && i < steps)
            build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", begin - 11 * us, at - 11 * us);
    }
}

static void record(struct built *built, const struct recipe *recipe)
{
    struct builder *trace = built_begin(built);
    for (uint32_t device = 1; device <= (recipe->devices ? recipe->devices : 1); device++)
        record_device(trace, recipe, device);
    if (recipe->placement)
        build_meta(trace, "marks", recipe->placement);
    for (uint32_t reason = 0; reason < WS_LOSS_COUNT; reason++)
        if (recipe->lost[reason])
            build_row(trace, WS_FAMILY_loss,
                      &(struct ws_loss){ .reason = reason, .count = recipe->lost[reason], .host_ns = ms });
    built_report(built);
}

struct compared {
    struct built before, after;
    struct ws_report_side sides[2];
    struct ws_comparison comparison;
};

static void load_sides(struct compared *compared)
{
    assert_int_equal(ws_report_side_init(&compared->sides[0], compared->before.report), 0);
    assert_int_equal(ws_report_side_init(&compared->sides[1], compared->after.report), 0);
    /* The reports are freed before the comparison is used, so the comparison must hold copies of all their data. */
    built_finish(&compared->before);
    built_finish(&compared->after);
}

static void compare(struct compared *compared, const struct recipe *before, const struct recipe *after)
{
    char message[200];
    record(&compared->before, before);
    record(&compared->after, after);
    load_sides(compared);
    assert_int_equal(
        ws_compare(&compared->comparison, &compared->sides[0], &compared->sides[1], message, sizeof(message)), 0);
}

static void finish(struct compared *compared)
{
    ws_comparison_finish(&compared->comparison);
    ws_report_side_finish(&compared->sides[0]);
    ws_report_side_finish(&compared->sides[1]);
}

static const struct ws_change *change_of(const struct compared *compared, enum ws_change_group group, const char *key)
{
    const struct ws_change *changes = compared->comparison.changes.data;
    for (size_t i = compared->comparison.begins[group]; i < compared->comparison.begins[group + 1]; i++)
        if (!strcmp(changes[i].key ? changes[i].key : changes[i].label, key))
            return &changes[i];
    fail_msg("no change of %s", key);
    return NULL;
}

static void check_times(const struct ws_change *change, int64_t before, int64_t after, bool noise)
{
    assert_int_equal(llround(change->before), before);
    assert_int_equal(llround(change->after), after);
    assert_int_equal(ws_change_is_noise(change), noise);
}

static void a_step_changes_by_what_its_parts_do(void **state)
{
    struct compared compared;
    const struct recipe before = {
        .gemm = "sgemm_nt", .length = ms, .input = 500 * us, .others = { "vectorized_add" }, .marked = true
    };
    const struct recipe after = {
        .gemm = "sgemm_nt", .length = 900 * us, .input = 100 * us, .others = { "vectorized_add" }, .marked = true
    };
    (void)state;
    compare(&compared, &before, &after);
    assert_int_equal(compared.comparison.sampling, WS_PER_STEP);
    assert_int_equal(compared.sides[0].per[WS_PER_STEP].count, 8);
    check_times(change_of(&compared, WS_CHANGE_TIME, "length"), 1520 * us, 1020 * us, false);
    check_times(change_of(&compared, WS_CHANGE_TIME, "busy"), 1020 * us, 920 * us, false);
    /* Each marker begins 11 µs before the step's first kernel. In the first of eight steps, these 11 µs are launch
     * time; in all others, they are the end of the wait for input. */
    check_times(change_of(&compared, WS_CHANGE_PART, "input"), 500 * us - 11 * us / 8, 100 * us - 11 * us / 8, false);
    check_times(change_of(&compared, WS_CHANGE_PART, "launch"), 11 * us / 8, 11 * us / 8, true);
    check_times(change_of(&compared, WS_CHANGE_PART, "compute"), 1020 * us, 920 * us, false);
    check_times(change_of(&compared, WS_CHANGE_LINE, "input"), 500 * us - 11 * us / 8, 100 * us - 11 * us / 8, false);
    check_times(change_of(&compared, WS_CHANGE_CLASS, "gemm"), ms, 900 * us, false);
    check_times(change_of(&compared, WS_CHANGE_KERNEL, "vectorized_add"), 20 * us, 20 * us, true);
    check_times(change_of(&compared, WS_CHANGE_AMOUNT, "kernels"), 2, 2, true);
    double parts = 0;
    const struct ws_change *changes = compared.comparison.changes.data;
    for (size_t i = compared.comparison.begins[WS_CHANGE_PART]; i < compared.comparison.begins[WS_CHANGE_PART + 1];
         i++)
        parts += changes[i].after - changes[i].before;
    assert_int_equal(llround(parts), -500 * us);
    assert_string_equal(changes[compared.comparison.begins[WS_CHANGE_PART]].key, "input");
    assert_false(ws_change_is_regression(ws_comparison_total(&compared.comparison), 0));
    finish(&compared);
}

static void a_change_within_the_spread_of_the_steps_is_noise(void **state)
{
    struct compared compared;
    struct recipe before = {
        .gemm = "sgemm_nt", .length = ms, .input = 100 * us, .jitter = 200 * us, .marked = true
    };
    struct recipe after = {
        .gemm = "sgemm_nt", .length = 1080 * us, .input = 100 * us, .jitter = 200 * us, .marked = true
    };
    (void)state;
    compare(&compared, &before, &after);
    check_times(change_of(&compared, WS_CHANGE_TIME, "length"), 1200 * us, 1280 * us, true);
    assert_false(ws_change_is_regression(ws_comparison_total(&compared.comparison), 0.05));
    finish(&compared);

    /* The same change does count as a regression if the steps vary less, or if there are more steps. */
    before.jitter = after.jitter = 10 * us;
    compare(&compared, &before, &after);
    assert_true(ws_change_is_regression(ws_comparison_total(&compared.comparison), 0.05));
    assert_false(ws_change_is_regression(ws_comparison_total(&compared.comparison), 0.08));
    finish(&compared);
    before.jitter = after.jitter = 200 * us;
    before.steps = after.steps = 200;
    compare(&compared, &before, &after);
    assert_true(ws_change_is_regression(ws_comparison_total(&compared.comparison), 0.05));
    finish(&compared);
}

/* The devices of a job wait for each other, so their steps do not vary independently. More devices give no more
 * samples. */
static void devices_are_no_samples_of_their_own(void **state)
{
    struct compared compared;
    struct recipe before = {
        .gemm = "sgemm_nt", .length = ms, .input = 100 * us, .jitter = 200 * us, .marked = true
    };
    struct recipe after = before;
    (void)state;
    after.length = 1080 * us;
    compare(&compared, &before, &after);
    double noise = ws_comparison_total(&compared.comparison)->noise;
    finish(&compared);
    before.devices = after.devices = 4;
    compare(&compared, &before, &after);
    assert_int_equal(compared.sides[0].per[WS_PER_STEP].count, 32);
    check_times(change_of(&compared, WS_CHANGE_TIME, "length"), 1200 * us, 1280 * us, true);
    assert_true(fabs(ws_comparison_total(&compared.comparison)->noise - noise) < noise / 5);
    finish(&compared);
}

static void a_change_within_the_errors_of_the_times_is_noise(void **state)
{
    struct compared compared;
    struct recipe before = { .gemm = "sgemm_nt", .length = ms, .input = 100 * us, .error = 20000 },
                  after = { .gemm = "sgemm_nt", .length = 1030 * us, .input = 100 * us };
    (void)state;
    compare(&compared, &before, &after);
    assert_int_equal(compared.comparison.sampling, WS_PER_RECORDING);
    check_times(change_of(&compared, WS_CHANGE_KERNEL, "sgemm_nt"), 9 * ms, 9 * 1030 * us, false);
    finish(&compared);
    after.error = 11000;
    compare(&compared, &before, &after);
    check_times(change_of(&compared, WS_CHANGE_KERNEL, "sgemm_nt"), 9 * ms, 9 * 1030 * us, true);
    finish(&compared);
}

static void check_pair(const struct compared *compared, const char *before, const char *after, enum ws_pairing match)
{
    const struct ws_pair *pairs = compared->comparison.pairs.data;
    for (size_t i = 0; i < compared->comparison.pairs.count; i++) {
        const char *first = pairs[i].before ? pairs[i].before->name : NULL;
        const char *second = pairs[i].after ? pairs[i].after->name : NULL;
        if (strcmp(first ? first : "-", before) != 0 || strcmp(second ? second : "-", after) != 0)
            continue;
        assert_int_equal(pairs[i].match, match);
        return;
    }
    fail_msg("%s and %s are no pair", before, after);
}

static void kernels_are_matched_by_name_and_by_likeness(void **state)
{
    struct compared compared;
    const struct recipe before = { .gemm = "sm90_gemm_128x128x64",
                                   .length = ms,
                                   .others = { "add_kernel<float>(float*)", "softmax_warp",
                                               "an_odd_kernel_with_a_rather_long_name", "rotary" } };
    const struct recipe after = { .gemm = "sm90_gemm_64x256x64",
                                  .length = ms,
                                  .others = { "add_kernel<half>(half*)", "cunn_SoftMax",
                                              "another_kernel_of_other_kind", "rotary" } };
    (void)state;
    compare(&compared, &before, &after);
    check_pair(&compared, "rotary", "rotary", WS_PAIRED_BY_NAME);
    check_pair(&compared, "sm90_gemm_128x128x64", "sm90_gemm_64x256x64", WS_PAIRED_BY_NUMBERS);
    check_pair(&compared, "add_kernel<float>(float*)", "add_kernel<half>(half*)", WS_PAIRED_BY_STEM);
    check_pair(&compared, "softmax_warp", "cunn_SoftMax", WS_PAIRED_BY_SHAPE);
    check_pair(&compared, "an_odd_kernel_with_a_rather_long_name", "-", WS_UNPAIRED);
    check_pair(&compared, "-", "another_kernel_of_other_kind", WS_UNPAIRED);
    assert_int_equal(compared.comparison.pairs.count, 6);
    finish(&compared);
}

/* Both recordings have two kernels that differ only in template arguments. It is not known which kernel of one
 * recording corresponds to which of the other, so they are not paired. */
static void what_cannot_be_told_is_not_matched(void **state)
{
    struct compared compared;
    const struct recipe before = {
        .gemm = "sgemm", .length = ms, .input = 0, .others = { "add_kernel<float>", "add_kernel<int>" }
    };
    const struct recipe after = {
        .gemm = "sgemm", .length = ms, .input = 0, .others = { "add_kernel<half>", "add_kernel<char>" }
    };
    (void)state;
    compare(&compared, &before, &after);
    assert_int_equal(compared.comparison.pairs.count, 5);
    check_pair(&compared, "add_kernel<int>", "-", WS_UNPAIRED);
    check_pair(&compared, "-", "add_kernel<char>", WS_UNPAIRED);
    finish(&compared);
}

#define ELEMENTWISE(functor) \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor ">(int, at::native::" functor ")"

/* If kernels come from the same wrapper template, they are paired only if they apply the same functor. The functor's
 * type may differ. */
static void functors_are_no_likeness(void **state)
{
    struct compared compared;
    const struct recipe before = { .gemm = "sgemm",
                                   .length = ms,
                                   .others = { ELEMENTWISE("BinaryFunctor<float, MulFunctor<float> >") } };
    const struct recipe gelu = { .gemm = "sgemm", .length = ms, .others = { ELEMENTWISE("GeluFunctor<float>") } };
    const struct recipe half = { .gemm = "sgemm",
                                 .length = ms,
                                 .others = { ELEMENTWISE("BinaryFunctor<c10::Half, MulFunctor<c10::Half> >") } };
    (void)state;
    compare(&compared, &before, &gelu);
    check_pair(&compared, before.others[0], "-", WS_UNPAIRED);
    check_pair(&compared, "-", gelu.others[0], WS_UNPAIRED);
    finish(&compared);
    compare(&compared, &before, &half);
    check_pair(&compared, before.others[0], half.others[0], WS_PAIRED_BY_STEM);
    finish(&compared);
}

/* If two rows of the comparison have the same short name, each also shows the end of its full name. If two kernels
 * are paired because their names begin alike, both names show their ends, too. */
static void names_alike_are_told_apart(void **state)
{
    struct compared compared;
    const char *const as_float = ELEMENTWISE("CUDAFunctor_add<float>");
    const char *const as_half = ELEMENTWISE("CUDAFunctor_add<c10::Half>");
    const struct recipe both = { .gemm = "sgemm", .length = ms, .others = { as_float, as_half } };
    const struct recipe one = { .gemm = "sgemm", .length = ms, .others = { as_float } };
    const struct recipe other = { .gemm = "sgemm", .length = ms, .others = { as_half } };
    char *text = NULL;
    size_t size;
    (void)state;
    for (int guessed = 0; guessed < 2; guessed++) {
        compare(&compared, guessed ? &one : &both, guessed ? &other : &both);
        struct ws_page page = { .out = open_memstream(&text, &size), .width = 200 };
        assert_non_null(page.out);
        ws_comparison_print(&compared.comparison, &page);
        fclose(page.out);
        if (!strstr(text, "add (vectorized_elementwise) …float>") ||
            !strstr(text, "add (vectorized_elementwise) …c10::Half>"))
            fail_msg("which is which? %s", text);
        free(text);
        finish(&compared);
    }
}

static void without_device_times_there_is_nothing_to_compare(void **state)
{
    struct compared compared;
    const struct recipe recipe = { .gemm = "sgemm", .length = ms, .input = 0 };
    char message[200];
    (void)state;
    record(&compared.before, &recipe);
    built_begin(&compared.after);
    built_report(&compared.after);
    load_sides(&compared);
    assert_int_equal(
        ws_compare(&compared.comparison, &compared.sides[0], &compared.sides[1], message, sizeof(message)), -ENODATA);
    assert_non_null(strstr(message, "second"));
    finish(&compared);
}

/* What was launched outside the recorded range is not missing. */
static void what_a_side_lacks_is_told(void **state)
{
    struct compared compared;
    const struct recipe whole = { .gemm = "sgemm", .length = ms, .lost[WS_LOSS_RANGE] = 5 };
    const struct recipe lacking = { .gemm = "sgemm",
                                    .length = ms,
                                    .lost = { [WS_LOSS_OVERHEAD] = 7, [WS_LOSS_RANGE] = 5, [WS_LOSS_THREADS] = 3 } };
    char *text;
    size_t size;
    (void)state;
    compare(&compared, &whole, &lacking);
    struct ws_page page = { .out = open_memstream(&text, &size), .width = 200 };
    ws_comparison_print(&compared.comparison, &page);
    fclose(page.out);
    assert_non_null(strstr(text, "7 calls only counted, in pauses to keep --overhead"));
    assert_non_null(strstr(text, "3 events not recorded in full"));
    assert_null(strstr(strstr(text, "only counted") + 1, "only counted"));
    assert_null(strstr(strstr(text, "not recorded") + 1, "not recorded"));
    free(text);
    finish(&compared);
}

/* Whole recordings cannot be compared if a part of the calls of one was only counted. Steps can. */
static void a_part_is_not_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct compared compared;
        const struct recipe whole = { .gemm = "sgemm", .length = ms, .marked = !(i & 1) };
        struct recipe part = whole;
        part.lost[WS_LOSS_OVERHEAD] = i & 2 ? 7 : 0;
        compare(&compared, &whole, &part);
        assert_int_equal(ws_comparison_is_partial(&compared.comparison), i == 3);
        finish(&compared);
    }
}

/* A trace that was cut off is shorter than its recording. */
static void a_cut_trace_is_not_the_whole(void **state)
{
    struct compared compared;
    const struct recipe whole = { .gemm = "sgemm", .length = ms };
    char *text;
    size_t size;
    (void)state;
    compare(&compared, &whole, &whole);
    assert_false(ws_comparison_is_partial(&compared.comparison));
    compared.sides[1].cut = 1;
    assert_true(ws_comparison_is_partial(&compared.comparison));
    struct ws_page page = { .out = open_memstream(&text, &size), .width = 200 };
    ws_comparison_print(&compared.comparison, &page);
    fclose(page.out);
    assert_non_null(strstr(text, "1 trace is not whole"));
    free(text);
    finish(&compared);
}

/* Recordings whose events cost different amounts differ by these costs, too. */
static void placements_of_events_are_compared(void **state)
{
    static const struct {
        const char *before, *after;
        bool unequal;
    } cases[] = { { "sampled", "sampled", false },
                  { "sampled", "marks", true },
                  { "pairs", "sampled", true },
                  { "sampled", NULL, false } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct compared compared;
        const struct recipe before = { .gemm = "sgemm", .length = ms, .placement = cases[i].before };
        const struct recipe after = { .gemm = "sgemm", .length = ms, .placement = cases[i].after };
        compare(&compared, &before, &after);
        assert_int_equal(ws_comparison_is_unequal(&compared.comparison), cases[i].unequal);
        finish(&compared);
    }
}

/* A gap is identified by its line of source code. If the line is not known, the gap is identified by the call that
 * made it, as in the report. */
static void gaps_are_told_apart_by_the_call_that_made_them(void **state)
{
    struct built built;
    struct ws_report_side side;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    kernel(trace, 1, "gemm", ms, ms, 0);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, ms + 10 * us, 2 * ms + 8 * us);
    kernel(trace, 1, "gemm", 2 * ms + 60 * us, ms, 0);
    built_report(&built);
    assert_int_equal(ws_report_side_init(&side, built.report), 0);
    const struct ws_report_side_line *lines = side.lines.data;
    assert_int_equal(side.lines.count, 1);
    assert_int_equal(lines[0].cause, WS_PART_SYNC);
    assert_string_equal(lines[0].where, "cuStreamSynchronize");
    built_finish(&built);
    ws_report_side_finish(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_told_apart_by_the_call_that_made_them),
        cmocka_unit_test(a_step_changes_by_what_its_parts_do),
        cmocka_unit_test(a_change_within_the_spread_of_the_steps_is_noise),
        cmocka_unit_test(devices_are_no_samples_of_their_own),
        cmocka_unit_test(a_change_within_the_errors_of_the_times_is_noise),
        cmocka_unit_test(kernels_are_matched_by_name_and_by_likeness),
        cmocka_unit_test(what_cannot_be_told_is_not_matched),
        cmocka_unit_test(functors_are_no_likeness),
        cmocka_unit_test(names_alike_are_told_apart),
        cmocka_unit_test(what_a_side_lacks_is_told),
        cmocka_unit_test(a_part_is_not_the_whole),
        cmocka_unit_test(a_cut_trace_is_not_the_whole),
        cmocka_unit_test(placements_of_events_are_compared),
        cmocka_unit_test(without_device_times_there_is_nothing_to_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
