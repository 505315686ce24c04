/* Tests how time is divided among the program's functions, by stacks or by recorded ranges of functions. */
#include "check.h"

#include "analysis/gaps/code_tree.h"
#include "built.h"

static const int64_t us = 1000;

static void build_code(struct builder *trace, uint32_t id, const char *file, const char *name, uint32_t line)
{
    build_row(trace, WS_FAMILY_code,
              &(struct ws_code){ .id = id,
                                 .first_line = line,
                                 .name = { name, (uint32_t)strlen(name) },
                                 .file = { file, (uint32_t)strlen(file) } });
}

static void build_frame(struct builder *trace, uint32_t id, uint32_t caller, uint32_t code)
{
    build_row(trace, WS_FAMILY_frame, &(struct ws_frame){ .id = id, .caller = caller, .code = code });
}

static void build_stack(struct builder *trace, uint32_t frame, int64_t at, uint32_t shape, bool in_pause)
{
    build_row(trace, WS_FAMILY_stack,
              &(struct ws_stack){ .frame = frame, .thread = 1, .host_ns = at, .shape = shape, .in_pause = in_pause });
}

/* Identifiers of frames: the function train calls step and load, and both call a library. Frame 6 is a library that
 * no function of the program called. */
enum { TRAIN = 1, LOAD, LIBRARY_IN_LOAD, STEP, LIBRARY_IN_STEP, LIBRARY };

static struct builder *begin(struct built *built)
{
    static const char library[] = "/usr/lib/python3.11/site-packages/torch/x.py";
    struct builder *trace = built_begin_on(built, "Test GPU", 1);
    build_thread(trace, 1, 77, "python3");
    build_code(trace, 1, "/home/me/train.py", "train", 12);
    build_code(trace, 2, "/home/me/data.py", "load", 41);
    build_code(trace, 3, library, "wait", 7);
    build_code(trace, 4, "/home/me/train.py", "step", 30);
    build_frame(trace, TRAIN, 0, 1);
    build_frame(trace, LOAD, TRAIN, 2);
    build_frame(trace, LIBRARY_IN_LOAD, LOAD, 3);
    build_frame(trace, STEP, TRAIN, 4);
    build_frame(trace, LIBRARY_IN_STEP, STEP, 3);
    build_frame(trace, LIBRARY, 0, 3);
    return trace;
}

/* Adds a launch whose call takes 1 µs on the host. */
static uint32_t launch(struct builder *trace, const char *kernel, int64_t host, int64_t begin, int64_t end)
{
    return build_launch(
        trace,
        &(struct launch){ .kernel = kernel, .begin = begin, .end = end, .host_begin = host, .host_end = host + us });
}

static const struct ws_code_tree *tree_of(const struct built *built)
{
    return built_result(built, &ws_analysis_code_tree, 0);
}

static const struct ws_code_function *function(const struct built *built, const char *name)
{
    const struct ws_code_tree *tree = tree_of(built);
    const struct ws_code_function *functions = tree->functions.data;
    for (size_t i = 0; i < tree->functions.count; i++)
        if (strlen(name) == functions[i].name.length && !memcmp(name, functions[i].name.data, strlen(name)))
            return &functions[i];
    fail_msg("no function %s", name);
    return NULL;
}

static void launches_without_a_stack_count_where_others_were_made(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, "a", 100 * us, 110 * us, 120 * us);
    launch(trace, "a", 200 * us, 210 * us, 220 * us);
    launch(trace, "a", 300 * us, 310 * us, 341 * us);
    launch(trace, "b", 400 * us, 410 * us, 417 * us);
    build_stack(trace, LIBRARY_IN_STEP, 100 * us, shape, false);
    build_stack(trace, LIBRARY_IN_LOAD, 200 * us, shape, false);
    built_report(&built);
    /* Two stacks share the 51 µs of the kernel "a". */
    assert_int_equal(function(&built, "step")->own.device, 25500);
    assert_int_equal(function(&built, "load")->own.device, 25500);
    assert_int_equal(function(&built, "train")->own.device, 0);
    assert_int_equal(function(&built, "train")->whole.device, 51 * us);
    assert_int_equal(tree_of(&built)->without.device, 7 * us);
    assert_int_equal(tree_of(&built)->functions.count, 3);
    assert_true(tree_of(&built)->from_stacks);
    char *text = built_text(&built, "tree", false);
    assert_non_null(strstr(text, "estimate from 2 stacks"));
    assert_non_null(strstr(text, "  train (train.py:12)"));
    assert_non_null(strstr(text, "    step (train.py:30)"));
    assert_non_null(strstr(text, "(no stack)"));
    free(text);
    built_finish(&built);
}

static void a_thread_spends_its_time_from_stack_to_stack(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    launch(trace, "a", 100 * us, 110 * us, 120 * us);
    launch(trace, "a", 400 * us, 410 * us, 420 * us);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, 500 * us, 540 * us);
    build_stack(trace, STEP, 100 * us, 0, false); /* stands for 1 µs: the length of its call */
    build_stack(trace, LOAD, 150 * us, 0, true);  /* stands for 299 µs: from the call's end to the next stack */
    build_stack(trace, STEP, 400 * us, 0, false); /* stands for 1 µs: the length of its call */
    /* stands for 139 µs: from the launch's end to the end of the wait */
    build_stack(trace, STEP, 500 * us, 0, false);
    built_report(&built);
    assert_int_equal(function(&built, "load")->own.host, 299 * us);
    assert_int_equal(function(&built, "step")->own.host, 141 * us);
    assert_int_equal(function(&built, "train")->whole.host, 440 * us);
    built_finish(&built);
}

static void idle_time_is_that_of_the_gaps(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, "a", 100 * us, 110 * us, 120 * us);
    launch(trace, "a", 5000 * us, 5010 * us, 5020 * us);
    launch(trace, "a", 5030 * us, 5040 * us, 5050 * us);
    build_stack(trace, STEP, 100 * us, shape, false);
    build_stack(trace, LOAD, 3000 * us, 0, true);
    build_stack(trace, STEP, 5000 * us, shape, false);
    built_report(&built);
    const struct ws_track_activity *activity = built_activity(&built, 0);
    int64_t idle = function(&built, "train")->whole.idle + tree_of(&built)->without.idle;
    assert_int_equal(idle, (int64_t)(4890 + 20) * us);
    assert_true(activity->begin <= 110 * us);
    assert_int_equal(function(&built, "load")->own.idle, 4890 * us);
    built_finish(&built);
}

static void libraries_have_rows_only_where_the_program_did_not_call_them(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, "a", 100 * us, 110 * us, 120 * us);
    build_stack(trace, LIBRARY, 100 * us, shape, false);
    built_report(&built);
    assert_int_equal(function(&built, "wait")->own.device, 10 * us);
    assert_int_equal(function(&built, "wait")->parent, WS_NO_PARENT);
    built_finish(&built);
}

/* A chain of callers that is far too deep, as in a damaged file, must end. */
static void deep_chains_end(void **state)
{
    enum { FRAMES = 20000 };
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, "a", 100 * us, 110 * us, 120 * us);
    for (uint32_t i = 0; i < FRAMES; i++)
        build_frame(trace, 10 + i, i ? 9 + i : TRAIN, i % 2 ? 1 : 2);
    build_stack(trace, 9 + FRAMES, 100 * us, shape, false);
    built_report(&built);
    built_print(&built);
    assert_in_range(tree_of(&built)->functions.count, WS_RANGES_DEEPEST, WS_RANGES_DEEPEST + 4);
    assert_int_equal(function(&built, "train")->whole.device, 10 * us);
    built_finish(&built);
}

static void recorded_functions_are_a_tree_too(void **state)
{
    struct built built = { 0 };
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    (void)state;
    build_thread(trace, 1, 77, "python3");
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(12): train", 50 * us, 500 * us);
    build_range(trace, WS_RANGE_PYTHON, 1, "/usr/lib/python3.11/site-packages/torch/x.py(7): wait", 90 * us,
                210 * us);
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(30): step", 95 * us, 205 * us);
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(30): step", 98 * us, 202 * us);
    launch(trace, "a", 100 * us, 110 * us, 120 * us);
    launch(trace, "a", 300 * us, 310 * us, 340 * us);
    launch(trace, "a", 600 * us, 610 * us, 615 * us);
    built_report(&built);
    assert_false(tree_of(&built)->from_stacks);
    assert_int_equal(tree_of(&built)->functions.count, 2);
    assert_int_equal(function(&built, "step")->own.device, 10 * us);
    assert_int_equal(function(&built, "step")->own.host, 110 * us);
    assert_int_equal(function(&built, "step")->line, 30);
    assert_int_equal(function(&built, "train")->own.device, 30 * us);
    assert_int_equal(function(&built, "train")->whole.device, 40 * us);
    assert_int_equal(function(&built, "train")->whole.host, 450 * us);
    assert_int_equal(tree_of(&built)->without.device, 5 * us);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_without_a_stack_count_where_others_were_made),
        cmocka_unit_test(a_thread_spends_its_time_from_stack_to_stack),
        cmocka_unit_test(idle_time_is_that_of_the_gaps),
        cmocka_unit_test(libraries_have_rows_only_where_the_program_did_not_call_them),
        cmocka_unit_test(deep_chains_end),
        cmocka_unit_test(recorded_functions_are_a_tree_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
