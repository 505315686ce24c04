#include "check.h"

#include "analysis/slow_steps.h"
#include "load.h"

static const struct ws_track_steps *steps_of(const struct loaded *loaded)
{
    return ws_report_result(loaded->report, &ws_analysis_steps, 0);
}

static const struct ws_step *step(const struct ws_track_steps *steps, size_t place)
{
    assert_true(place < steps->steps.count);
    return (const struct ws_step *)steps->steps.data + place;
}

static void mark(struct story *story, int64_t from, int64_t to)
{
    story_range(story, WS_RANGE_STEP, 1, "ProfilerStep", from, to);
}

/* story_kernel launches 10 µs before the begin. */
static void a_marker_begins_with_the_first_operation_launched_after_it(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "Test GPU", 2);
    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        int64_t at = 1000000 * (i + 1);
        story_kernel(story, 1, "before", at - 5000, at + 15000);
        mark(story, at - 12000, at + 980000);
        story_copy(story, 2, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, at, at + 10000); /* of a batch to come */
        story_kernel(story, 1, "first", at + 20000, at + 80000);
        story_kernel(story, 1, "second", at + 80000, at + 100000);
        story_kernel(story, 1, "third", at + 100000, at + 120000);
        story_kernel(story, 2, "ncclDevKernel_AllReduce", at + 100000, at + 200000);
        story_copy(story, 2, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at + 300000, at + 350000);
    }
    story_kernel(story, 1, "before", 6100000, 6200000);
    load_report(&loaded);
    const struct ws_track_steps *steps = steps_of(&loaded);
    assert_int_equal(steps->source, WS_STEPS_MARKED);
    assert_int_equal(steps->steps.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(step(steps, i)->begin, 1000000 * (int64_t)(i + 1) + 20000);
    assert_int_equal(step(steps, 4)->end, 6100000);
    assert_int_equal(step(steps, 0)->first, 2);
    assert_int_equal(step(steps, 0)->count, 7);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 5);
    assert_int_equal(steps->median, 1000000);
    assert_true(steps->stable);
    /* "before" runs the last 5 µs of its step and the 15 first before the boundary of the next. */
    assert_int_equal(step(steps, 0)->split.busy, 250000);
    assert_int_equal(steps->comm.median, 100000);
    assert_int_equal(steps->exposed_comm.median, 80000);
    assert_int_equal(steps->memory.median, 60000);
    load_finish(&loaded);
}

/* Bursts of twenty steps and two kernels of the next, 2 s without a record between them: no step takes 2 s. */
static void steps_in_which_the_recording_paused_are_left_out(void **state)
{
    const int64_t second = 1000000000, step_ns = 1000000;
    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        struct loaded loaded;
        struct story *story = load_begin_on(&loaded, "Test GPU", 2);
        for (int64_t burst = 0; burst < 4; burst++) {
            int64_t start = second + burst * 2 * second;
            for (int64_t i = 0; i < 21; i++) {
                int64_t at = start + i * step_ns;
                if (marked)
                    mark(story, at - 12000, at + 980000);
                story_kernel(story, 1, "first", at, at + 300000);
                story_kernel(story, 1, "second", at + 300000, at + 500000);
                if (i == 20)
                    break;
                story_kernel(story, 1, "third", at + 500000, at + 600000);
                story_kernel(story, 1, "multi_tensor_apply_kernel<Adam>", at + 600000, at + 900000);
            }
            for (int64_t time = start + 250000000; burst < 3 && time < start + 2 * second; time += 250000000) {
                struct ws_loss loss = { .reason = WS_LOSS_BURST, .thread = 1, .count = 10, .host_ns = time };
                story_add(story, WS_FAMILY_loss, &loss);
            }
        }
        load_report(&loaded);
        const struct ws_track_steps *steps = steps_of(&loaded);
        assert_int_equal(steps->source, marked ? WS_STEPS_MARKED : WS_STEPS_FOUND);
        assert_true(steps->kinds[WS_STEP_STEADY] >= 75);
        assert_int_equal(steps->most, step_ns);
        assert_int_equal(steps->mean, step_ns);
        assert_int_equal(steps->idle.mean, 100000);
        if (marked)
            assert_int_equal(steps->kinds[WS_STEP_PAUSED], 3);
        load_finish(&loaded);
    }
}

static void run_lengths(struct loaded *loaded, const int64_t *lengths, size_t count)
{
    struct story *story = load_begin_on(loaded, "Test GPU", 2);
    int64_t at = 1000000;
    for (size_t i = 0; i < count; i++) {
        mark(story, at - 11000, at + lengths[i] - 20000);
        story_kernel(story, 1, "a", at, at + 1000);
        story_kernel(story, 1, "b", at + 2000, at + lengths[i] / 2);
        at += lengths[i];
    }
    story_kernel(story, 1, "end", at, at + 1000);
    load_report(loaded);
}

static void warm_up_and_slow_steps_are_told_apart(void **state)
{
    static const int64_t lengths[] = { 9000000, 1000000, 1500000, 1000000, 1100000, 1000000,
                                       1000000, 1000000, 2000000, 900000,  1000000 };
    struct loaded loaded;
    (void)state;
    run_lengths(&loaded, lengths, sizeof(lengths) / sizeof(lengths[0]));
    const struct ws_track_steps *steps = steps_of(&loaded);
    assert_int_equal(steps->kinds[WS_STEP_WARM_UP], 3);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 8);
    assert_int_equal(step(steps, 2)->kind, WS_STEP_WARM_UP);
    assert_int_equal(step(steps, 3)->kind, WS_STEP_STEADY);
    assert_int_equal(steps->median, 1000000);
    assert_int_equal(steps->most, 2000000);
    assert_int_equal(steps->slow, 1);
    assert_true(step(steps, 8)->slow);
    assert_false(steps->stable);
    assert_int_equal(steps->mean, 1125000);
    const struct ws_slow_step *slow = steps->slow_steps.data;
    assert_int_equal(steps->slow_steps.count, 1);
    assert_int_equal(slow->step, 8);
    assert_int_equal(slow->more[WS_SLOW_IDLE], 500000);
    assert_int_equal(slow->more[WS_SLOW_COMPUTE], 500000);
    assert_int_equal(slow->more[WS_SLOW_EXPOSED_MEMORY], 0);
    assert_string_equal(ws_model_name(loaded.model, slow->name)->text, "b");
    assert_int_equal(slow->name_more, 500000);
    assert_ptr_equal(ws_steps_at(steps, step(steps, 4)->begin), step(steps, 4));
    assert_ptr_equal(ws_steps_at(steps, step(steps, 4)->end - 1), step(steps, 4));
    assert_null(ws_steps_at(steps, step(steps, 0)->begin - 1));
    assert_null(ws_steps_at(steps, step(steps, 10)->end));
    size_t cursor = 0;
    for (int64_t time = 0; time < 25000000; time += 70000)
        assert_ptr_equal(ws_steps_next(steps, &cursor, time), ws_steps_at(steps, time));
    load_finish(&loaded);
}

/* Until what a loader made beforehand is used up. Where later steps are as short, lengths just differ. */
static void short_steps_at_the_beginning_are_no_steady_ones(void **state)
{
    static const int64_t stock[] = { 400000, 400000, 600000, 1000000, 1100000, 1000000, 900000, 1000000, 1000000 };
    static const int64_t differ[] = { 400000, 600000, 1000000, 1300000, 500000, 1000000, 1400000, 600000, 1000000 };
    struct loaded loaded;
    (void)state;
    run_lengths(&loaded, stock, sizeof(stock) / sizeof(stock[0]));
    assert_int_equal(steps_of(&loaded)->kinds[WS_STEP_WARM_UP], 3);
    assert_int_equal(steps_of(&loaded)->mean, 1000000);
    load_finish(&loaded);
    run_lengths(&loaded, differ, sizeof(differ) / sizeof(differ[0]));
    assert_int_equal(steps_of(&loaded)->kinds[WS_STEP_WARM_UP], 0);
    load_finish(&loaded);
}

static void steps_tile_whatever_markers_say(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct loaded loaded;
        struct story *story = load_begin_on(&loaded, "Test GPU", 2);
        for (int i = 0; i < 20; i++) {
            int64_t from = (int64_t)(next_random(&random) % 1000000);
            mark(story, from, from + (int64_t)(next_random(&random) % 100000) - 1000);
        }
        for (int i = 0; i < 60; i++) {
            int64_t from = (int64_t)(next_random(&random) % 1000000);
            story_kernel(story, 1 + next_random(&random) % 2, "k", from,
                         from + (int64_t)(next_random(&random) % 30000));
        }
        load_report(&loaded);
        const struct ws_track_steps *steps = steps_of(&loaded);
        const struct ws_track_activity *activity = load_activity(&loaded, 0);
        int64_t busy = 0;
        for (size_t i = 0; i < steps->steps.count; i++) {
            assert_true(step(steps, i)->begin < step(steps, i)->end);
            assert_true(!i || step(steps, i)->begin == step(steps, i - 1)->end);
            assert_true(step(steps, i)->split.busy <= step(steps, i)->end - step(steps, i)->begin);
            busy += step(steps, i)->split.busy;
        }
        assert_true(busy <= activity->busy);
        load_finish(&loaded);
    }
}

static void markers_may_be_left_aside(void **state)
{
    static const int64_t lengths[] = { 1000000, 1000000, 1000000 };
    struct loaded loaded = { 0 };
    (void)state;
    struct story *story = load_begin_on(&loaded, "Test GPU", 2);
    mark(story, 0, 1000);
    story_kernel(story, 1, "a", 11000, 12000);
    loaded.steps = WS_STEPS_NOT_ASKED;
    load_report(&loaded);
    assert_int_equal(steps_of(&loaded)->source, WS_STEPS_NONE);
    assert_non_null(steps_of(&loaded)->why_none);
    load_finish(&loaded);
    run_lengths(&loaded, lengths, 3);
    assert_int_equal(steps_of(&loaded)->kinds[WS_STEP_STEADY], 3);
    load_finish(&loaded);
}

/* A program as letters: H and D copies from and to the host, U the optimizer, G a graph, the others kernels of
 * that name. Lengths vary, and now and then the device waits for the host before a step. */
struct program {
    struct story *story;
    uint64_t random;
    int64_t at;
    int64_t begins[64];
    size_t steps;
};

static void graph(struct program *program, int64_t end)
{
    struct ws_shape shape = { .kind = WS_OP_GRAPH, .stream = 1, .function = 7 };
    struct ws_op op = story_op(program->story, story_shape(program->story, &shape), program->at, end);
    story_add(program->story, WS_FAMILY_op, &op);
}

static void play(struct program *program, const char *letters, int times)
{
    static const char names[26][2] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                       "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z" };
    for (int i = 0; i < times; i++) {
        for (const char *letter = letters; *letter; letter++) {
            int64_t at = program->at, end = at + 5000 + (int64_t)(next_random(&program->random) % 4000);
            if (*letter == 'H')
                story_copy(program->story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, at, end);
            else if (*letter == 'D')
                story_copy(program->story, 1, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at, end);
            else if (*letter == 'U')
                story_kernel(program->story, 1, "multi_tensor_apply_kernel<Adam>", at, end);
            else if (*letter == 'G')
                graph(program, end);
            else
                story_kernel(program->story, 1, names[*letter - 'a'], at, end);
            program->at = end + 1000;
        }
    }
}

static void step_begins(struct program *program)
{
    program->at += next_random(&program->random) % 4 ? 0 : 20000;
    program->begins[program->steps++] = program->at;
}

static void check_found(struct loaded *loaded, const struct program *program)
{
    load_report(loaded);
    const struct ws_track_steps *steps = steps_of(loaded);
    assert_int_equal(steps->source, WS_STEPS_FOUND);
    size_t alike = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        if (step(steps, i)->kind == WS_STEP_OTHER)
            continue;
        assert_true(alike < program->steps);
        assert_int_equal(step(steps, i)->begin, program->begins[alike]);
        alike++;
    }
    assert_int_equal(alike, program->steps);
    assert_int_equal(steps->kinds[WS_STEP_CUT], 1);
    load_finish(loaded);
}

static struct program program_of(struct loaded *loaded)
{
    return (struct program){ .story = load_begin_on(loaded, "Test GPU", 2), .random = 11, .at = 1000000 };
}

static void steps_are_found_without_markers(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 20; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, "gnar", 8);
        play(&program, "rgbgw", 8);
        play(&program, "UU", 1);
        if (i % 6 == 5) { /* evaluation */
            play(&program, "Hegnargnarm", 3);
            play(&program, "D", 1);
        }
    }
    check_found(&loaded, &program);
}

static void accumulated_batches_are_one_step(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 12; i++) {
        step_begins(&program);
        for (int batch = 0; batch < 4; batch++) {
            play(&program, "He", 1);
            play(&program, "ab", 6);
            play(&program, "cd", 6);
        }
        play(&program, "UUf", 1);
    }
    check_found(&loaded, &program);
}

static void steps_go_on_when_kernels_change_with_the_shape(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, i < 20 ? "abr" : "xyr", 6);
        play(&program, i < 20 ? "rcd" : "rcz", 6);
        play(&program, "lU", 1);
    }
    check_found(&loaded, &program);
}

static void kernels_come_and_go(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        for (int layer = 0; layer < 60; layer++) {
            for (const char *letter = layer < 30 ? "abr" : "rcd"; *letter; letter++)
                if (next_random(&program.random) % 32)
                    play(&program, (const char[]){ *letter, 0 }, 1);
            if (next_random(&program.random) % 8 == 0)
                play(&program, "x", 1);
        }
        play(&program, "UU", 1);
    }
    check_found(&loaded, &program);
}

static void what_one_batch_is_used_for_is_one_step(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 20; i++) {
        step_begins(&program);
        play(&program, "H", 1);
        for (int update = 0; update < 3; update++) {
            play(&program, update < 2 ? "abr" : "abs", 5);
            play(&program, "rcd", 5);
            play(&program, "UU", 1);
        }
    }
    check_found(&loaded, &program);
}

static void evaluation_in_front_of_a_step_is_told_from_it(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 24; i++) {
        if (i % 6 == 4) {
            play(&program, "H", 1);
            play(&program, "ab", 6);
        }
        step_begins(&program);
        for (int batch = 0; batch < 5; batch++) {
            play(&program, "H", 1);
            play(&program, "ab", 6);
            play(&program, "cd", 6);
        }
        play(&program, "UU", 1);
    }
    check_found(&loaded, &program);
}

/* Decoding, first what belongs to no step. */
static void each_token_is_a_step(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    play(&program, "pqrs", 9);
    for (int i = 0; i < 50; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, "nvoavng", 12);
        play(&program, "hsD", 1);
    }
    check_found(&loaded, &program);
}

static void launches_of_a_graph_are_steps(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "HGm", 1);
    }
    check_found(&loaded, &program);
    program = program_of(&loaded);
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "G", 1);
    }
    check_found(&loaded, &program);
}

static void check_none(struct loaded *loaded, const char *why)
{
    load_report(loaded);
    assert_int_equal(steps_of(loaded)->source, WS_STEPS_NONE);
    assert_non_null(strstr(steps_of(loaded)->why_none, why));
    load_finish(loaded);
}

static void layers_of_one_pass_are_no_steps(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    play(&program, "e", 1);
    play(&program, "nqraopgud", 40);
    play(&program, "hs", 1);
    check_none(&loaded, "layers");
}

static void one_kernel_over_and_over_is_no_step(void **state)
{
    struct loaded loaded;
    struct program program = program_of(&loaded);
    (void)state;
    play(&program, "a", 300);
    play(&program, "b", 200);
    check_none(&loaded, "Nothing repeats");
}

static void kernels_in_no_order_have_no_steps(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    uint64_t random = 12;
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct loaded loaded;
        struct story *story = load_begin_on(&loaded, "Test GPU", 2);
        for (int64_t i = 0; i < 50 << round / 4; i++)
            story_kernel(story, 1, names[next_random(&random) % 8], i * 2000, i * 2000 + 1000);
        load_report(&loaded);
        assert_int_equal(steps_of(&loaded)->source, WS_STEPS_NONE);
        assert_non_null(steps_of(&loaded)->why_none);
        load_finish(&loaded);
    }
}

/* Kernels of which each has a name of its own, or where half of a hundred come again in the next, after a copy. */
static void run_distinct(struct loaded *loaded, uint32_t count, bool with_steps)
{
    struct story *story = load_begin_on(loaded, "Test GPU", 1);
    char name[24];
    for (uint32_t i = 1; i <= count; i++) {
        int length = snprintf(name, sizeof(name), "kernel%u", (unsigned)i);
        struct ws_function function = { .id = i, .name = { name, (uint32_t)length } };
        struct ws_shape shape = { .id = i, .kind = WS_OP_KERNEL, .stream = 1, .function = i };
        story_add(story, WS_FAMILY_function, &function);
        story_add(story, WS_FAMILY_shape, &shape);
        if (with_steps && i % 100 == 0)
            story_copy(story, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, i * 10000 - 4000, i * 10000 - 2000);
        struct ws_op op = story_op(story, with_steps && i % 100 < 50 ? i % 100 + 1 : i, i * 10000, i * 10000 + 5000);
        story_add(story, WS_FAMILY_op, &op);
    }
    load_report(loaded);
}

/* More than the names that are told apart: by ThreadSanitizer, which makes it twenty times as long, a little more. */
#ifdef __SANITIZE_THREAD__
enum { DISTINCT = 70000, DISTINCT_AND_STEPS = 135000 };
#else
enum { DISTINCT = 210000, DISTINCT_AND_STEPS = 150000 };
#endif

static void names_that_never_come_again_make_no_steps(void **state)
{
    struct loaded loaded;
    (void)state;
    run_distinct(&loaded, DISTINCT, false);
    assert_int_equal(steps_of(&loaded)->steps.count, 0);
    assert_non_null(steps_of(&loaded)->why_none);
    load_finish(&loaded);
}

/* Half of each step comes again, and more names than are told apart do not. */
static void steps_are_found_among_names_that_never_come_again(void **state)
{
    struct loaded loaded;
    (void)state;
    run_distinct(&loaded, DISTINCT_AND_STEPS, true);
    assert_int_equal(steps_of(&loaded)->source, WS_STEPS_FOUND);
    assert_int_equal(steps_of(&loaded)->median, 100 * 10000);
    load_finish(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marker_begins_with_the_first_operation_launched_after_it),
        cmocka_unit_test(steps_in_which_the_recording_paused_are_left_out),
        cmocka_unit_test(warm_up_and_slow_steps_are_told_apart),
        cmocka_unit_test(short_steps_at_the_beginning_are_no_steady_ones),
        cmocka_unit_test(steps_tile_whatever_markers_say),
        cmocka_unit_test(markers_may_be_left_aside),
        cmocka_unit_test(steps_are_found_without_markers),
        cmocka_unit_test(accumulated_batches_are_one_step),
        cmocka_unit_test(steps_go_on_when_kernels_change_with_the_shape),
        cmocka_unit_test(kernels_come_and_go),
        cmocka_unit_test(what_one_batch_is_used_for_is_one_step),
        cmocka_unit_test(evaluation_in_front_of_a_step_is_told_from_it),
        cmocka_unit_test(each_token_is_a_step),
        cmocka_unit_test(launches_of_a_graph_are_steps),
        cmocka_unit_test(layers_of_one_pass_are_no_steps),
        cmocka_unit_test(one_kernel_over_and_over_is_no_step),
        cmocka_unit_test(kernels_in_no_order_have_no_steps),
        cmocka_unit_test(names_that_never_come_again_make_no_steps),
        cmocka_unit_test(steps_are_found_among_names_that_never_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
