/* Tests that the iterations of an inference server count as steps, and that no figure mixes the phases prefill and
 * decode. */
#include "check.h"

#include <string.h>

#include "built.h"

static const int64_t us = 1000, ms = 1000000;

/* One iteration: the name of its range, and the duration of its only kernel. */
struct iteration {
    const char *name;
    int64_t length;
};

static const char decode[] = "step[DECODE bs=8]", prefill[] = "step[EXTEND bs=2 toks=4096]",
                  neither[] = "execute_new_0_cached_5";

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 1);
    build_thread(trace, 1, 100, "main");
    return trace;
}

/* Runs iterations one after another. The host waits for the kernel of each and then takes 1 ms, so an iteration lasts
 * 1 ms longer than its kernel. The iteration's range ends 100 µs before its kernel does. A small kernel (sampling)
 * between iterations is outside of the ranges. Returns the time of the end. */
static int64_t serve(struct builder *trace, const struct iteration *iterations, size_t count, bool marked)
{
    int64_t at = ms;
    for (size_t i = 0; i < count; i++) {
        int64_t length = iterations[i].length + (int64_t)(i % 2) * 100 * us, end = at + length;
        if (marked)
            build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at, end + ms);
        build_range(trace, WS_RANGE_ANNOTATION, 1, iterations[i].name, at, end - 100 * us);
        build_launch(trace, &(struct launch){ .kernel = "sgemm_nt",
                                              .begin = at + 20 * us,
                                              .end = end,
                                              .host_begin = at + 10 * us,
                                              .host_end = at + 15 * us });
        build_launch(trace, &(struct launch){ .kernel = "sample",
                                              .begin = end + 20 * us,
                                              .end = end + 120 * us,
                                              .host_begin = end + 10 * us,
                                              .host_end = end + 15 * us });
        at = end + ms;
    }
    return at;
}

enum { MANY = 42, PREFILL_FIRST = 0, PREFILL_AGAIN = 20 };

/* Fills in 40 steps of decode and two of prefill. The first step is one of prefill. */
static void fill(struct iteration *iterations, const char *of_decode, const char *of_prefill)
{
    for (size_t i = 0; i < MANY; i++)
        iterations[i] = i == PREFILL_FIRST || i == PREFILL_AGAIN ? (struct iteration){ of_prefill, 99 * ms }
                                                                 : (struct iteration){ of_decode, 9 * ms };
}

static const struct ws_track_steps *run_many(struct built *built, const char *of_decode, const char *of_prefill,
                                             bool marked)
{
    struct iteration iterations[MANY];
    struct builder *trace = begin(built);
    fill(iterations, of_decode, of_prefill);
    serve(trace, iterations, MANY, marked);
    built_report(built);
    return built_steps(built);
}

static void expect_text(const struct built *built, const char *section, const char *words)
{
    char *text = built_text(built, section, false);
    if (!strstr(text, words))
        fail_msg("no \"%s\" in:\n%s", words, text);
    free(text);
}

/* Decode takes most of the time. So the figures per step are those of decode steps only, and vary no more than decode
 * steps do. */
static void figures_do_not_mix_phases(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, decode, prefill, false);
    const struct ws_phase_row *rows = steps->phases.rows;
    assert_int_equal(steps->source, WS_STEPS_FOUND);
    assert_int_equal(steps->proof, WS_PROOF_SERVER);
    assert_true(steps->phases.several && steps->phases.any);
    assert_int_equal(steps->phases.lead, WS_PHASE_DECODE);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 39);
    assert_int_equal(steps->kinds[WS_STEP_OTHER], 2);
    assert_int_equal(steps->kinds[WS_STEP_CUT], 1);
    assert_int_equal(steps->kinds[WS_STEP_WARM_UP], 0);
    assert_true(steps->judged && steps->stable && steps->cov < 0.02);
    assert_in_range(steps->median, 10 * ms, 10 * ms + 100 * us);
    assert_int_equal(rows[WS_PHASE_DECODE].steps, 39);
    assert_int_equal(rows[WS_PHASE_PREFILL].steps, 2);
    assert_int_equal(rows[WS_PHASE_MIXED].steps + rows[WS_PHASE_NOT_KNOWN].steps, 0);
    assert_true(rows[WS_PHASE_DECODE].tokens == 39 * 8 && rows[WS_PHASE_PREFILL].tokens == 2 * 4096);
    assert_int_equal(rows[WS_PHASE_PREFILL].lasted, 200 * ms);
    assert_int_equal(rows[WS_PHASE_PREFILL].p95, 100 * ms);
    assert_int_equal(rows[WS_PHASE_PREFILL].kernels, 2 * (99 * ms - 20 * us + 100 * us));
    assert_int_equal(rows[WS_PHASE_PREFILL].busy, rows[WS_PHASE_PREFILL].kernels);
    expect_text(&built, "verdict", "yes  decode 39 steps of 10.1 ms, prefill 2 of 100 ms; decode: median 10");
    expect_text(&built, "steps", "prefill      2");
    built_print(&built);
    built_finish(&built);
}

/* If the ranges have other names, the same operations have no phases. A long marked step then counts as slow. */
static void other_names_tell_no_phase(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, "forward", "forward", false);
    assert_false(steps->phases.any || steps->phases.several);
    assert_int_not_equal(steps->proof, WS_PROOF_SERVER);
    built_finish(&built);
    steps = run_many(&built, "forward", "forward", true);
    assert_false(steps->phases.any || steps->phases.several);
    assert_int_equal(steps->kinds[WS_STEP_OTHER], 0);
    assert_int_equal(steps->slow, 1);
    assert_true(steps->cov > 0.5);
    expect_text(&built, "verdict", " marked steps, median 10");
    built_finish(&built);
}

/* Steps that the program marked have phases as well. */
static void marked_steps_have_phases(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, decode, prefill, true);
    assert_int_equal(steps->source, WS_STEPS_MARKED);
    assert_true(steps->phases.several && steps->stable);
    assert_int_equal(steps->kinds[WS_STEP_OTHER], 2);
    assert_int_equal(built_step(steps, PREFILL_AGAIN)->phase, WS_PHASE_PREFILL);
    assert_int_equal(steps->phases.rows[WS_PHASE_PREFILL].steps, 2);
    built_finish(&built);
}

/* All steps are of one phase. So the figures leave no step out, but the report still has the table of phases. */
static void one_phase_leaves_nothing_out(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, decode, decode, false);
    assert_true(steps->phases.any && !steps->phases.several);
    assert_int_equal(steps->kinds[WS_STEP_OTHER], 0);
    assert_int_equal(steps->phases.rows[WS_PHASE_DECODE].steps, 41);
    built_finish(&built);
}

/* The names that old versions of vLLM give show prefill only if all requests are new. The phase of other iterations
 * is unknown; they are not mixed with prefill. */
static void unknown_phases_stay_apart(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, neither, "execute_new_2_cached_0", false);
    assert_true(steps->phases.any && steps->phases.several && steps->stable);
    assert_int_equal(steps->phases.lead, WS_PHASE_NOT_KNOWN);
    assert_int_equal(steps->phases.rows[WS_PHASE_NOT_KNOWN].with_tokens, 0);
    expect_text(&built, "verdict", "not known 39 steps of 10.1 ms, prefill 2 of 100 ms; not known: median 10");
    built_print(&built);
    built_finish(&built);
    steps = run_many(&built, neither, neither, false);
    assert_int_equal(steps->proof, WS_PROOF_SERVER);
    assert_false(steps->phases.any || steps->phases.several);
    built_finish(&built);
}

/* The ranges for the passes of a draft model (speculative decoding) are not iterations. */
static void drafts_have_no_phases(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run_many(&built, "step[TARGET_VERIFY bs=8]", prefill, false);
    assert_false(steps->phases.any);
    assert_int_not_equal(steps->proof, WS_PROOF_SERVER);
    built_finish(&built);
}

/* A single iteration is too little for figures per step, but the table of phases lists it. Ranges inside the
 * iteration do not count as further iterations. */
static void one_iteration_is_in_the_table(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    serve(trace, &(struct iteration){ "execute_context_2(512)_generation_30(30)", 9 * ms }, 1, false);
    build_range(trace, WS_RANGE_ANNOTATION, 1, decode, ms + us, 2 * ms);
    built_report(&built);
    const struct ws_track_steps *steps = built_steps(&built);
    assert_int_equal(steps->source, WS_STEPS_NONE);
    assert_int_equal(steps->phases.rows[WS_PHASE_MIXED].steps, 1);
    assert_int_equal(steps->phases.rows[WS_PHASE_DECODE].steps, 0);
    assert_true(steps->phases.rows[WS_PHASE_MIXED].tokens == 542);
    expect_text(&built, "verdict", "not known  too few steps: mixed 1 step of 8.98 ms");
    expect_text(&built, "steps", "mixed      1");
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_do_not_mix_phases),     cmocka_unit_test(other_names_tell_no_phase),
        cmocka_unit_test(marked_steps_have_phases),      cmocka_unit_test(one_phase_leaves_nothing_out),
        cmocka_unit_test(unknown_phases_stay_apart),     cmocka_unit_test(drafts_have_no_phases),
        cmocka_unit_test(one_iteration_is_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
