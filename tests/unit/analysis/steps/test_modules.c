#include "check.h"

#include "analysis/steps/modules.h"
#include "analysis/steps/steps.h"
#include "built.h"

static const int64_t us = 1000;
enum { MAIN = 1, AUTOGRAD = 2 };

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    build_thread(trace, MAIN, 100, "main");
    build_thread(trace, AUTOGRAD, 101, "autograd");
    built->steps = WS_STEPS_NOT_ASKED;
    return trace;
}

/* Adds a kernel that lasts `length` and was launched at `host`; both in µs. */
static void launch(struct builder *trace, uint32_t thread, int64_t host, int64_t length)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = "gemm",
                                                        .stream = 1,
                                                        .begin = (1000 + host) * us,
                                                        .end = (1000 + host + length) * us,
                                                        .host_begin = host * us,
                                                        .host_end = host * us + 500 });
    op.thread = thread;
    build_row(trace, WS_FAMILY_op, &op);
}

static void call(struct builder *trace, uint32_t thread, const char *name, int64_t from, int64_t to)
{
    build_range(trace, WS_RANGE_PYTHON, thread, name, from * us, to * us);
}

static const struct ws_track_modules *modules_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_modules, 0);
}

/* Asserts what a row of the tree of modules contains. Times are in µs. */
static void expect_row(const struct built *built, size_t place, const char *name, uint32_t depth, uint64_t count,
                       int64_t time, int64_t own)
{
    assert_true(place < modules_of(built)->rows.count);
    const struct ws_module *module = (const struct ws_module *)modules_of(built)->rows.data + place;
    assert_int_equal(module->length, strlen(name));
    assert_memory_equal(module->name, name, module->length);
    assert_int_equal(module->depth, depth);
    assert_int_equal(module->row.all.count, count);
    assert_int_equal(module->row.work.all.sum, time * us);
    assert_int_equal(module->row.own.all.sum, own * us);
}

static void expect_instances(const struct built *built, size_t place, uint32_t instances, uint32_t each)
{
    const struct ws_module *module = (const struct ws_module *)modules_of(built)->rows.data + place;
    assert_int_equal(module->instances, instances);
    assert_int_equal(module->each, each);
}

/* Asserts that all work of the device is either in the tree of modules or outside of it, and is counted once. Returns
 * the part outside, in µs. */
static int64_t expect_all_work(const struct built *built, int64_t time)
{
    const struct ws_track_modules *result = modules_of(built);
    const struct ws_module *modules = result->rows.data;
    const struct ws_range_outside *threads = result->sums.outside.data;
    int64_t outside = 0, own = 0, roots = 0;
    for (size_t i = 0; i < result->sums.outside.count; i++)
        outside += threads[i].work.all.sum;
    for (size_t i = 0; i < result->rows.count; i++) {
        own += modules[i].row.own.all.sum;
        roots += modules[i].depth ? 0 : modules[i].row.work.all.sum;
    }
    assert_int_equal(own + outside, time * us);
    assert_int_equal(roots + outside, time * us);
    return outside / us;
}

/* Asserts that the time of every module in the tree is its own time plus that of its children, and that each child
 * ranks behind its parent. */
static void expect_tree(const struct built *built)
{
    const struct ws_module *modules = modules_of(built)->rows.data;
    size_t count = modules_of(built)->rows.count;
    for (size_t i = 0; i < count; i++) {
        int64_t time = modules[i].row.own.all.sum;
        for (size_t k = i + 1; k < count && modules[k].depth > modules[i].depth; k++) {
            time += modules[k].depth == modules[i].depth + 1 ? modules[k].row.work.all.sum : 0;
            assert_true(modules[k].rank > modules[i].rank);
        }
        assert_int_equal(modules[i].row.work.all.sum, time);
    }
}

static void equal_layers_are_one_row(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, MAIN, "train.py(7): main", 0, 400); /* a function, not a module */
    call(trace, MAIN, "nn.Module: Model_0", 10, 300);
    launch(trace, MAIN, 5, 1); /* launched before the model is called */
    for (int i = 0; i < 3; i++) {
        char name[32];
        int64_t at = 20 + 50 * i;
        snprintf(name, sizeof(name), "nn.Module: Layer_%d", i);
        call(trace, MAIN, name, at, at + 40);
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof(name), "nn.Module: Linear_%d", 2 * i + k);
            call(trace, MAIN, name, at + 10 * k, at + 10 * k + 8);
            launch(trace, MAIN, at + 10 * k + 2, 5);
        }
        call(trace, MAIN, "model.py(41): forward", at + 20, at + 30);
        launch(trace, MAIN, at + 25, 2); /* launched in a function of the layer */
        snprintf(name, sizeof(name), "nn.Module: Rotary_%d", 0);
        call(trace, MAIN, name, at + 31, at + 35); /* one module that all layers use */
    }
    call(trace, MAIN, "nn.Module: Linear_6", 200, 210);
    launch(trace, MAIN, 205, 4);
    launch(trace, MAIN, 350, 7); /* launched after the model has returned */
    built_report(&built);
    assert_int_equal(modules_of(&built)->rows.count, 5);
    expect_row(&built, 0, "Model", 0, 1, 40, 0);
    expect_row(&built, 1, "Layer", 1, 3, 36, 6);
    expect_row(&built, 2, "Linear", 2, 6, 30, 30);
    expect_row(&built, 3, "Rotary", 2, 3, 0, 0);
    expect_row(&built, 4, "Linear", 1, 1, 4, 4);
    expect_instances(&built, 1, 3, 3);
    expect_instances(&built, 2, 6, 2);
    expect_instances(&built, 3, 1, 0);
    expect_instances(&built, 4, 1, 1);
    const struct ws_module *modules = modules_of(&built)->rows.data;
    assert_int_equal(modules[0].row.all.host, 290 * us);
    assert_int_equal(modules[0].row.all.own, (290 - 3 * 40 - 10) * us);
    assert_int_equal(modules[2].row.all.host, 48 * us);
    assert_int_equal(expect_all_work(&built, 48), 8);
    expect_tree(&built);
    built_finish(&built);
}

/* The two models have one layer and three layers, on average two. The report may state "2 in each" only if each model
 * has two. */
static void instances_in_each_are_not_an_average(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    char name[32];
    (void)state;
    for (int model = 0, layer = 0; model < 2; model++) {
        snprintf(name, sizeof(name), "nn.Module: Encoder_%d", model);
        call(trace, MAIN, name, 1000 * model, 1000 * model + 900);
        for (int i = 0; i < (model ? 3 : 1); i++) {
            snprintf(name, sizeof(name), "nn.Module: Layer_%d", layer++);
            call(trace, MAIN, name, 1000 * model + 10 * i, 1000 * model + 10 * i + 5);
        }
    }
    call(trace, MAIN, "nn.Module: Odd_name_", 5000, 5010); /* the name lacks an instance's number */
    call(trace, MAIN, "nn.Module: _3", 5020, 5030);
    launch(trace, MAIN, 1, 5);
    built_report(&built);
    expect_row(&built, 0, "Encoder", 0, 2, 5, 0);
    expect_instances(&built, 0, 2, 2);
    expect_row(&built, 1, "Layer", 1, 4, 5, 5);
    expect_instances(&built, 1, 4, 0);
    expect_row(&built, 2, "Odd_name_", 0, 1, 0, 0);
    expect_row(&built, 3, "_3", 0, 1, 0, 0);
    built_finish(&built);
}

static void the_backward_pass_has_a_row_of_its_own(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, MAIN, "nn.Module: Model_0", 10, 100);
    launch(trace, MAIN, 20, 3);
    build_range(trace, WS_RANGE_OPERATOR, AUTOGRAD, "autograd::engine::evaluate_function: MmBackward0", 200 * us,
                250 * us);
    build_range(trace, WS_RANGE_OPERATOR, AUTOGRAD, "MmBackward0", 201 * us, 249 * us);
    launch(trace, AUTOGRAD, 210, 8);
    build_range(trace, WS_RANGE_OPERATOR, AUTOGRAD, "autograd::engine::evaluate_function: CheckpointBackward",
                300 * us, 400 * us);
    /* the forward pass runs again, because its outputs were not kept */
    call(trace, AUTOGRAD, "nn.Module: Model_0", 310, 390);
    launch(trace, AUTOGRAD, 320, 2);
    launch(trace, AUTOGRAD, 500, 1); /* launched outside of autograd's engine */
    launch(trace, MAIN, 600, 6);     /* launched by the optimizer */
    build_range(trace, WS_RANGE_OPERATOR, MAIN, "aten::add_", 599 * us, 605 * us);
    built_report(&built);
    const struct ws_module *modules = modules_of(&built)->rows.data;
    assert_int_equal(modules_of(&built)->rows.count, 3);
    expect_row(&built, 0, "backward", 0, 2, 10, 8);
    expect_row(&built, 1, "Model", 1, 1, 2, 2);
    expect_row(&built, 2, "Model", 0, 1, 3, 3);
    assert_true(modules[0].is_backward && !modules[1].is_backward && !modules[2].is_backward);
    assert_int_equal(expect_all_work(&built, 20), 7);
    expect_tree(&built);
    built_finish(&built);
}

/* The times of a trace are rounded, so a call may end a moment after its caller. The times must add up all the
 * same. */
static void calls_that_outlast_their_caller_add_up(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, MAIN, "nn.Module: Model_0", 10, 100);
    call(trace, MAIN, "nn.Module: Linear_0", 50, 110);
    launch(trace, MAIN, 60, 3);
    launch(trace, MAIN, 105, 4);
    built_report(&built);
    expect_row(&built, 0, "Model", 0, 1, 7, 0);
    expect_row(&built, 1, "Linear", 1, 1, 7, 7);
    assert_int_equal(expect_all_work(&built, 7), 0);
    expect_tree(&built);
    built_finish(&built);
}

/* A check of the model runs once, before the steps, and takes longer than anything else. Even so, the modules of the
 * steps are listed first. */
static void modules_of_the_steps_come_first(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_AUTO;
    call(trace, MAIN, "nn.Module: Check_0", 10, 400);
    launch(trace, MAIN, 20, 900);
    for (int64_t i = 1; i <= 6; i++) {
        char name[32];
        snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i);
        build_range(trace, WS_RANGE_STEP, MAIN, name, 1000 * i * us, (1000 * i + 990) * us);
        call(trace, MAIN, "nn.Module: Dropout_0", 1000 * i + 10, 1000 * i + 50); /* launches nothing */
        call(trace, MAIN, "nn.Module: Model_0", 1000 * i + 100, 1000 * i + 300);
        launch(trace, MAIN, 1000 * i + 150, 100);
        launch(trace, MAIN, 1000 * i + 500, 30);
    }
    built_report(&built);
    const struct ws_track_steps *steps = ws_report_result(built.report, &ws_analysis_steps, 0);
    int64_t steady = (int64_t)steps->kinds[WS_STEP_STEADY];
    assert_true(steady >= 4);
    expect_row(&built, 0, "Model", 0, 6, 600, 600);
    expect_row(&built, 1, "Dropout", 0, 6, 0, 0);
    expect_row(&built, 2, "Check", 0, 1, 900, 900);
    const struct ws_module *modules = modules_of(&built)->rows.data;
    assert_int_equal(modules[0].row.work.steady.sum, steady * 100 * us);
    assert_int_equal(modules[0].row.steady.count, steady);
    assert_true(modules[0].is_in_steps && modules[1].is_in_steps && !modules[2].is_in_steps);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(modules[i].rank, i);
    assert_int_equal(expect_all_work(&built, 900 + 6 * 130), 180);
    built_finish(&built);
}

static void deep_trees_add_up(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int i = 0; i < 200; i++) {
        call(trace, MAIN, "nn.Module: Block_0", 10 + i, 1000 - i);
        launch(trace, MAIN, 10 + i, 1);
    }
    built_report(&built);
    const struct ws_module *modules = modules_of(&built)->rows.data;
    for (size_t i = 0; i < modules_of(&built)->rows.count; i++)
        assert_true(modules[i].depth <= WS_RANGES_DEEPEST);
    assert_int_equal(expect_all_work(&built, 200), 0);
    expect_tree(&built);
    built_finish(&built);
}

static void without_modules_there_is_no_section(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, MAIN, "train.py(7): main", 0, 400);
    /* this is an operator's range, not a Python call */
    build_range(trace, WS_RANGE_OPERATOR, MAIN, "nn.Module: Model_0", 10 * us, 90 * us);
    build_range(trace, WS_RANGE_OPERATOR, AUTOGRAD, "autograd::engine::evaluate_function: MmBackward0", 200 * us,
                250 * us);
    launch(trace, MAIN, 20, 3);
    launch(trace, AUTOGRAD, 210, 8);
    built_report(&built);
    assert_int_equal(modules_of(&built)->rows.count, 0);
    assert_false(ws_analysis_modules.has_section(modules_of(&built)));
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_are_one_row),
        cmocka_unit_test(instances_in_each_are_not_an_average),
        cmocka_unit_test(the_backward_pass_has_a_row_of_its_own),
        cmocka_unit_test(calls_that_outlast_their_caller_add_up),
        cmocka_unit_test(modules_of_the_steps_come_first),
        cmocka_unit_test(deep_trees_add_up),
        cmocka_unit_test(without_modules_there_is_no_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
