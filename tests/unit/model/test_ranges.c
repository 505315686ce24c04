#include "check.h"

#include "built.h"
#include "model/source_line.h"

static const struct ws_process *process_of(const struct built *built)
{
    return ws_model_process(built->model, 0);
}

static const char *name_at(const struct built *built, uint32_t thread, int64_t time)
{
    const struct ws_process *process = process_of(built);
    uint32_t place = ws_ranges_at(&process->ranges, thread, time);
    if (place == WS_NO_RANGE)
        return "none";
    const struct ws_label *label = ws_entries_find(&process->labels, ws_range(&process->ranges, place)->name);
    return label->text.data;
}

static void the_innermost_range_is_found(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_range(trace, WS_RANGE_OPERATOR, 2, "other thread", 0, 1000);
    build_range(trace, WS_RANGE_OPERATOR, 1, "inner", 200, 300);
    build_range(trace, WS_RANGE_ANNOTATION, 1, "outer", 100, 1000);
    build_range(trace, WS_RANGE_OPERATOR, 1, "innermost", 200, 250);
    build_range(trace, WS_RANGE_OPERATOR, 1, "later", 2000, 2100);
    built_report(&built);
    assert_string_equal(name_at(&built, 1, 99), "none");
    assert_string_equal(name_at(&built, 1, 100), "outer");
    assert_string_equal(name_at(&built, 1, 200), "innermost");
    assert_string_equal(name_at(&built, 1, 250), "inner");
    assert_string_equal(name_at(&built, 1, 300), "outer");
    assert_string_equal(name_at(&built, 1, 1000), "none");
    assert_string_equal(name_at(&built, 1, 2099), "later");
    assert_string_equal(name_at(&built, 2, 250), "other thread");
    assert_string_equal(name_at(&built, 3, 250), "none");
    built_finish(&built);
}

static void ranges_deeper_than_anybody_nests_them_are_read(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    for (int i = 0; i < 5000; i++)
        build_range(trace, WS_RANGE_PYTHON, 1, "a.py(1): f", i, 20000 - i);
    built_report(&built);
    assert_string_equal(name_at(&built, 1, 19999), "a.py(1): f");
    assert_string_equal(name_at(&built, 1, 20000), "none");
    built_finish(&built);
}

struct frame {
    enum ws_range_kind kind;
    const char *name;
};

/* Checks the text that is shown for nested frames. The outermost frame comes first, and each frame lies inside the
 * one before. */
static void check_line(const struct frame *frames, size_t count, const char *expected)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    char line[128];
    for (size_t i = 0; i < count; i++)
        build_range(trace, frames[i].kind, 1, frames[i].name, (int64_t)i, 100 - (int64_t)i);
    built_report(&built);
    struct ws_source source = ws_source_at(process_of(&built), 1, 50, 0, NULL);
    assert_int_equal(ws_source_text(process_of(&built), source, line, sizeof(line)), *expected != 0);
    assert_string_equal(line, expected);
    built_finish(&built);
}

static void the_line_is_the_programs_own(void **state)
{
    static const struct frame deep[] = {
        { WS_RANGE_PYTHON, "<string>(1): <module>" },
        { WS_RANGE_PYTHON, "/home/me/train.py(10): <module>" },
        { WS_RANGE_ANNOTATION, "Optimizer.step#Adam" },
        { WS_RANGE_PYTHON, "/home/me/train.py(41): step" },
        { WS_RANGE_PYTHON, "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py(1102): _call_impl" },
        { WS_RANGE_PYTHON, "torch/_ops.py(500): __call__" },
        { WS_RANGE_PYTHON, "<built-in method item of Tensor object at 0x7f4e>" },
        { WS_RANGE_OPERATOR, "aten::item" },
    };
    static const struct frame annotated[] = { { WS_RANGE_OPERATOR, "aten::linear" },
                                              { WS_RANGE_ANNOTATION, "forward" },
                                              { WS_RANGE_OPERATOR, "aten::mm" } };
    static const struct frame odd[] = { { WS_RANGE_PYTHON, "(3): f" },
                                        { WS_RANGE_PYTHON, "x(): f" },
                                        { WS_RANGE_PYTHON, "): " } };
    (void)state;
    check_line(deep, sizeof(deep) / sizeof(deep[0]), "step (train.py:41)");
    check_line(annotated, 3, "forward");
    check_line(annotated, 1, "aten::linear");
    check_line(odd, sizeof(odd) / sizeof(odd[0]), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_range_is_found),
        cmocka_unit_test(ranges_deeper_than_anybody_nests_them_are_read),
        cmocka_unit_test(the_line_is_the_programs_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
