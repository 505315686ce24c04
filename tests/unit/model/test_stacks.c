/* Tests of the lines of Python's code objects, and of the places (lines of the program) that stacks show
 * (model/stacks.h). The tables of lines come from CPython itself. A pause is a thread's time between two calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "built.h"
#include "model/line_table.h"
#include "model/source_line.h"

/* A function of 7 lines, compiled by CPython 3.9, 3.10 and 3.11:
 *
 *   def f(a):
 *       x = a
 *       y = (x +
 *            1)
 *
 *
 *       return y */
static const char lnotab[] = "\x00\x01\x04\x01\x02\x01\x02\xff\x04\x04";
static const char ranges[] = "\x04\x01\x02\x01\x02\x01\x04\xff\x04\x04";
static const char locations[] = "\x80\x00\xd8\x08\x09\x80\x41\xd8\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41"
                                "\xf0\x08\x00\x0c\x0d\x80\x48";

static struct ws_code code_of_lines(enum ws_line_coding coding, const char *lines, size_t size)
{
    return (struct ws_code){ .id = 1, .first_line = 1, .coding = coding, .lines = { lines, (uint32_t)size } };
}

static void check_lines(const struct ws_code *code, const uint32_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ws_line_at(code, (uint32_t)(2 * i)), expected[i]);
}

static void lines_are_those_of_the_interpreter(void **state)
{
    static const uint32_t old[] = { 2, 2, 3, 4, 3, 3, 7, 7 }, new[] = { 1, 2, 2, 3, 4, 3, 3, 3, 7, 7 };
    (void)state;
    struct ws_code code = code_of_lines(WS_LINES_LNOTAB, lnotab, sizeof(lnotab) - 1);
    check_lines(&code, old, 8);
    code = code_of_lines(WS_LINES_RANGES, ranges, sizeof(ranges) - 1);
    check_lines(&code, old, 8);
    code = code_of_lines(WS_LINES_LOCATIONS, locations, sizeof(locations) - 1);
    check_lines(&code, new, 10);
}

/* Tables with random bytes: reading them must end, and must give some line. */
static void damaged_tables_give_the_first_line(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 3000; seed++) {
        char bytes[64];
        srand(seed);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(rand() >> 7);
        struct ws_code code = code_of_lines((enum ws_line_coding)(seed % 4), bytes, (size_t)rand() % sizeof(bytes));
        ws_line_at(&code, (uint32_t)rand());
    }
    struct ws_code code = code_of_lines(WS_LINES_NONE, NULL, 0);
    code.first_line = 41;
    assert_int_equal(ws_line_at(&code, 10), 41);
    code.coding = WS_LINES_LOCATIONS;
    assert_int_equal(ws_line_at(&code, 10), 41);
}

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

/* A script calls a library that belongs to the program, and this library calls an installed package. */
static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "H100", 1);
    build_thread(trace, 1, 77, "python3");
    build_code(trace, 1, "/home/me/train.py", "train", 12);
    build_code(trace, 2, "/home/me/data.py", "Loader.next", 41);
    build_code(trace, 3, "/usr/lib/python3.11/site-packages/torch/x.py", "wait", 7);
    build_code(trace, 4, "/home/me/train.py", "step", 30);
    build_frame(trace, 1, 0, 1);
    build_frame(trace, 2, 1, 2);
    build_frame(trace, 3, 2, 3);
    build_frame(trace, 4, 1, 4);
    build_frame(trace, 5, 0, 3);
    return trace;
}

/* Adds a native frame as ws_native_frames writes it: the member `offset` contains the line. */
static void build_native(struct builder *trace, uint32_t id, uint32_t caller, const char *file, const char *name,
                         uint32_t line)
{
    build_row(trace, WS_FAMILY_code,
              &(struct ws_code){ .id = id,
                                 .coding = WS_LINES_GIVEN,
                                 .name = { name, (uint32_t)strlen(name) },
                                 .file = { file, (uint32_t)strlen(file) } });
    build_row(trace, WS_FAMILY_frame, &(struct ws_frame){ .id = id, .caller = caller, .code = id, .offset = line });
}

static const char *place_at(const struct built *built, int64_t time, int64_t reach)
{
    static char text[128];
    const struct ws_process *process = ws_model_process(built->model, 0);
    ws_source_text(process, ws_source_at(process, 1, time, reach, NULL), text, sizeof(text));
    return text;
}

/* Thread 2 has no stacks, as PyTorch's thread for the backward pass has none. While thread 1 is in a pause, thread 2
 * launches work. These launches are given the line at which thread 1 waits. */
static void a_thread_without_stacks_has_the_line_that_waits_for_it(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    build_kernel(trace, 1, "k", 0, 100);
    build_stack(trace, 3, 1000, 0, false);
    build_stack(trace, 4, 5000, 0, true); /* sampled in the pause from 1000 to 9000 */
    build_stack(trace, 3, 9000, 0, false);
    build_stack(trace, 3, 10000, 0, false);
    /* the pause before this stack has no sample, but ends with the same stack as the first pause */
    build_stack(trace, 3, 900000, 0, false);
    build_stack(trace, 4, 912000, 0, true); /* sampled in the last pause, in which the thread may have ended */
    built_read(&built);
    const struct ws_process *process = ws_model_process(built.model, 0);
    uint32_t place = ws_stacks_waiting(&process->stacks, 2, 2000);
    char text[128];
    ws_source_text(process, (struct ws_source){ WS_NO_RANGE, place }, text, sizeof(text));
    assert_string_equal(text, "step (train.py:30)");
    assert_int_equal(ws_stacks_waiting(&process->stacks, 2, 8999), place);
    assert_int_equal(ws_stacks_waiting(&process->stacks, 2, 500), WS_NO_FRAME);
    assert_int_equal(ws_stacks_waiting(&process->stacks, 2, 9500), WS_NO_FRAME);
    assert_int_equal(ws_stacks_waiting(&process->stacks, 2, 400000), place);
    assert_int_equal(ws_stacks_waiting(&process->stacks, 2, 911000), WS_NO_FRAME);
    assert_int_equal(ws_stacks_waiting(&process->stacks, 1, 2000), WS_NO_FRAME);
    built_finish(&built);
}

static void a_stack_is_shown_by_the_programs_own_lines(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    build_kernel(trace, 1, "k", 0, 100);
    build_stack(trace, 3, 1000, 0, false);
    build_stack(trace, 4, 2000, 0, false);
    build_stack(trace, 5, 3000, 0, false);
    build_stack(trace, 99, 4000, 0, false); /* the trace has no frame 99 */
    built_read(&built);
    assert_string_equal(place_at(&built, 1000, 0), "Loader.next (data.py:41) from train (train.py:12)");
    assert_string_equal(place_at(&built, 2000, 0), "step (train.py:30)");
    assert_string_equal(place_at(&built, 3000, 0), "wait (x.py:7)");
    assert_string_equal(place_at(&built, 4000, 0), "");
    assert_string_equal(place_at(&built, 1001, 0), "");
    built_finish(&built);
}

/* A C++ program that calls the CUDA runtime; the runtime's functions have no lines. */
static void native_code_is_shown_by_the_programs_own_lines(void **state)
{
    struct built built = { 0 };
    struct builder *trace = built_begin_on(&built, "H100", 1);
    (void)state;
    build_thread(trace, 1, 77, "train");
    build_native(trace, 1, 0, "/home/me/train", "_start", 0);
    build_native(trace, 2, 1, "/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_main", 0);
    build_native(trace, 3, 2, "/home/me/train.cc", "main", 12);
    build_native(trace, 4, 3, "/home/me/loop.cc", "Loop::step", 41);
    build_native(trace, 5, 4, "/usr/bin/../lib/gcc/x/include/c++/12/bits/std_function.h", "operator()", 591);
    build_native(trace, 6, 5, "/home/me/libcudart.so.12", "cudaMemcpy", 0);
    build_native(trace, 7, 3, "/home/me/libplug.so", "plug", 0);
    build_native(trace, 8, 2, "/home/me/libplug.so", "libplug.so+0x1a2b", 0);
    build_kernel(trace, 1, "k", 0, 100);
    for (uint32_t frame = 1; frame <= 8; frame++)
        build_stack(trace, frame, 1000 * (int64_t)frame, 0, false);
    built_read(&built);
    assert_string_equal(place_at(&built, 1000, 0), "_start (train)");
    assert_string_equal(place_at(&built, 3000, 0), "main (train.cc:12)");
    assert_string_equal(place_at(&built, 6000, 0), "Loop::step (loop.cc:41) from main (train.cc:12)");
    assert_string_equal(place_at(&built, 7000, 0), "plug (libplug.so) from main (train.cc:12)");
    assert_string_equal(place_at(&built, 8000, 0), "libplug.so+0x1a2b");
    built_finish(&built);
}

static void a_pause_is_shown_by_what_was_done_in_it(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    (void)state;
    build_kernel(trace, 1, "k", 0, 100);
    build_stack(trace, 4, 1000, 0, false);
    build_stack(trace, 3, 1500, 0, true);
    build_stack(trace, 4, 2000, 0, false);
    build_stack(trace, 4, 3000, 0, false); /* in the pause before this call, no stack was taken */
    built_read(&built);
    const char *loader = "Loader.next (data.py:41) from train (train.py:12)";
    assert_string_equal(place_at(&built, 1600, 400), loader);
    assert_string_equal(place_at(&built, 2500, 500), loader); /* the place of an earlier pause before the same call */
    assert_string_equal(place_at(&built, 2000, 0), "step (train.py:30)");
    built_finish(&built);
}

static void an_operation_has_the_place_of_its_shape(void **state)
{
    struct built built = { 0 };
    struct builder *trace = begin(&built);
    char text[128];
    (void)state;
    uint32_t shape = build_launch(trace, &(struct launch){ .kernel = "a", .begin = 100000, .end = 100100 });
    build_launch(trace, &(struct launch){ .kernel = "b", .begin = 200000, .end = 200100 });
    build_stack(trace, 4, 50000, shape, false);
    built_read(&built);
    const struct ws_process *process = ws_model_process(built.model, 0);
    assert_true(ws_source_of_op(process, 0, text, sizeof(text)));
    assert_string_equal(text, "step (train.py:30)");
    assert_false(ws_source_of_op(process, 1, text, sizeof(text)));
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_interpreter),
        cmocka_unit_test(damaged_tables_give_the_first_line),
        cmocka_unit_test(a_thread_without_stacks_has_the_line_that_waits_for_it),
        cmocka_unit_test(a_stack_is_shown_by_the_programs_own_lines),
        cmocka_unit_test(native_code_is_shown_by_the_programs_own_lines),
        cmocka_unit_test(a_pause_is_shown_by_what_was_done_in_it),
        cmocka_unit_test(an_operation_has_the_place_of_its_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
