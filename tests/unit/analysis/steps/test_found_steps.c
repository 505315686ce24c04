/* Tests of finding the steps of a program by the order of its operations. The traces have no step markers. */
#include "check.h"

#include "built.h"

/* A program as a string of letters. H is a copy from the host, D a copy to the host, U the optimizer, G a graph; any
 * other letter is a kernel of that name. Durations vary. Before some steps the device waits for the host. */
struct program {
    struct builder *trace;
    uint64_t random;
    int64_t at;
    int64_t begins[128];
    size_t steps;
    int64_t graph_length; /* ns that a graph runs; 0: as long as a kernel */
    uint32_t stream;
};

static void graph(struct program *program, int64_t end)
{
    struct ws_shape shape = { .kind = WS_OP_GRAPH, .stream = program->stream, .function = 7 };
    struct ws_op op = build_op_of(program->trace, build_shape(program->trace, &shape), program->at, end);
    build_row(program->trace, WS_FAMILY_op, &op);
}

static void play(struct program *program, const char *letters, int times)
{
    static const char names[26][2] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
                                       "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z" };
    for (int i = 0; i < times; i++) {
        for (const char *letter = letters; *letter; letter++) {
            int64_t at = program->at, end = at + 5000 + (int64_t)(next_random(&program->random) % 4000);
            if (*letter == 'G')
                end += program->graph_length;
            if (*letter == 'H')
                build_copy(program->trace, program->stream, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, at, end);
            else if (*letter == 'D')
                build_copy(program->trace, program->stream, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at, end);
            else if (*letter == 'U')
                build_kernel(program->trace, program->stream, "multi_tensor_apply_kernel<Adam>", at, end);
            else if (*letter == 'G')
                graph(program, end);
            else
                build_kernel(program->trace, program->stream, names[*letter - 'a'], at, end);
            program->at = end + 1000;
        }
    }
}

static void step_begins(struct program *program)
{
    program->at += next_random(&program->random) % 4 ? 0 : 20000;
    program->begins[program->steps++] = program->at;
}

static void check_found(struct built *built, const struct program *program)
{
    built_report(built);
    const struct ws_track_steps *steps = built_steps(built);
    assert_int_equal(steps->source, WS_STEPS_FOUND);
    size_t alike = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        if (built_step(steps, i)->kind == WS_STEP_OTHER)
            continue;
        assert_true(alike < program->steps);
        assert_int_equal(built_step(steps, i)->begin, program->begins[alike]);
        alike++;
    }
    assert_int_equal(alike, program->steps);
    assert_int_equal(steps->kinds[WS_STEP_CUT], 1);
    built_finish(built);
}

static struct program program_of(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    return (struct program){ .trace = trace, .random = 11, .at = 1000000, .stream = 1 };
}

static void steps_are_found_without_markers(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    for (int i = 0; i < 20; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, "gnar", 8);
        play(&program, "rgbgw", 8);
        play(&program, "UU", 1);
        if (i % 6 == 5) { /* an evaluation of the model, every sixth time */
            play(&program, "Hegnargnarm", 3);
            play(&program, "D", 1);
        }
    }
    check_found(&built, &program);
}

static void accumulated_batches_are_one_step(void **state)
{
    struct built built;
    struct program program = program_of(&built);
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
    check_found(&built, &program);
}

static void steps_go_on_when_kernels_change_with_the_shape(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, i < 20 ? "abr" : "xyr", 6);
        play(&program, i < 20 ? "rcd" : "rcz", 6);
        play(&program, "lU", 1);
    }
    check_found(&built, &program);
}

static void kernels_come_and_go(void **state)
{
    struct built built;
    struct program program = program_of(&built);
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
    check_found(&built, &program);
}

static void what_one_batch_is_used_for_is_one_step(void **state)
{
    struct built built;
    struct program program = program_of(&built);
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
    check_found(&built, &program);
}

static void evaluation_in_front_of_a_step_is_told_from_it(void **state)
{
    struct built built;
    struct program program = program_of(&built);
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
    check_found(&built, &program);
}

/* A language model decodes: each token is a step. The kernels before the loop belong to no step. */
static void each_token_is_a_step(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    play(&program, "pqrs", 9);
    for (int i = 0; i < 50; i++) {
        step_begins(&program);
        play(&program, "He", 1);
        play(&program, "nvoavng", 12);
        play(&program, "hsD", 1);
    }
    check_found(&built, &program);
}

static void launches_of_a_graph_are_steps(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "HGm", 1);
    }
    check_found(&built, &program);
    program = program_of(&built);
    for (int i = 0; i < 30; i++) {
        step_begins(&program);
        play(&program, "G", 1);
    }
    check_found(&built, &program);
}

/* A step that trains. Each of its layers has kernels of its own, so the names occur at many different distances. */
static void train_eagerly(struct program *program)
{
    play(program, "He", 1);
    play(program, "abr", 12);
    play(program, "ccd", 9);
    play(program, "fgghh", 6);
    play(program, "ijklmno", 4);
    play(program, "pqrs", 3);
    play(program, "tvw", 2);
    play(program, "UUU", 1);
}

/* To warm up for the capture of a graph, a program trains a few steps on another stream. Then the graph does all work
 * of a step. It is one operation, so nearly all operations are those of the first steps. */
static void replays_outweigh_the_steps_before_the_capture(void **state)
{
    static const int warm_up[] = { 3, 11, 25 };
    (void)state;
    for (size_t i = 0; i < sizeof(warm_up) / sizeof(warm_up[0]); i++) {
        struct built built;
        struct program program = program_of(&built);
        program.graph_length = 1000000;
        /* kernels that set parameters; by chance there are as many as later launches of the graph */
        play(&program, "xy", 80);
        program.stream = 2;
        for (int step = 0; step < warm_up[i]; step++)
            train_eagerly(&program);
        program.stream = 1;
        for (int step = 0; step < 80; step++) {
            step_begins(&program);
            play(&program, "HG", 1);
        }
        check_found(&built, &program);
    }
}

/* The first steps launch their kernels one by one, because the model is not compiled yet. Later, graphs hold all of a
 * step but the optimizer. */
static void compiled_steps_outweigh_the_first_steps(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    program.graph_length = 500000;
    for (int step = 0; step < 8; step++)
        train_eagerly(&program);
    for (int step = 0; step < 60; step++) {
        step_begins(&program);
        play(&program, "HGGUU", 1);
    }
    check_found(&built, &program);
}

/* The evaluations are longer than the training between them. */
static void evaluation_by_graphs_does_not_hide_the_training(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    program.graph_length = 250000;
    for (int step = 0; step < 40; step++) {
        step_begins(&program);
        train_eagerly(&program);
        if (step % 10 == 4) {
            play(&program, "HG", 120);
            play(&program, "D", 1);
        }
    }
    check_found(&built, &program);
}

static void check_none(struct built *built, const char *why)
{
    built_report(built);
    assert_int_equal(built_steps(built)->source, WS_STEPS_NONE);
    assert_non_null(strstr(built_steps(built)->why_none, why));
    built_finish(built);
}

static void layers_of_one_pass_are_no_steps(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    play(&program, "e", 1);
    play(&program, "nqraopgud", 40);
    play(&program, "hs", 1);
    check_none(&built, "layers");
}

static void one_kernel_over_and_over_is_no_step(void **state)
{
    struct built built;
    struct program program = program_of(&built);
    (void)state;
    play(&program, "a", 300);
    play(&program, "b", 200);
    check_none(&built, "No repetition covers");
}

static void kernels_in_no_order_have_no_steps(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    uint64_t random = 12;
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 2);
        for (int64_t i = 0; i < 50 << round / 4; i++)
            build_kernel(trace, 1, names[next_random(&random) % 8], i * 2000, i * 2000 + 1000);
        built_report(&built);
        assert_int_equal(built_steps(&built)->source, WS_STEPS_NONE);
        assert_non_null(built_steps(&built)->why_none);
        built_finish(&built);
    }
}

/* If with_steps is false, each kernel has a different name. If it is true, a copy comes before every hundred kernels.
 * The first fifty kernels of each hundred have the same names as the first fifty of the hundred before. */
static void run_distinct(struct built *built, uint32_t count, bool with_steps)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 1);
    char name[24];
    for (uint32_t i = 1; i <= count; i++) {
        int length = snprintf(name, sizeof(name), "kernel%u", (unsigned)i);
        struct ws_function function = { .id = i, .name = { name, (uint32_t)length } };
        struct ws_shape shape = { .id = i, .kind = WS_OP_KERNEL, .stream = 1, .function = i };
        build_row(trace, WS_FAMILY_function, &function);
        build_row(trace, WS_FAMILY_shape, &shape);
        if (with_steps && i % 100 == 0)
            build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, i * 10000 - 4000, i * 10000 - 2000);
        struct ws_op op =
            build_op_of(trace, with_steps && i % 100 < 50 ? i % 100 + 1 : i, i * 10000, i * 10000 + 5000);
        build_row(trace, WS_FAMILY_op, &op);
    }
    built_report(built);
}

/* There are more names of kernels than the search distinguishes. With ThreadSanitizer the test takes twenty times as
 * long, so the numbers then exceed the search's limit only a little. */
#ifdef __SANITIZE_THREAD__
enum { DISTINCT = 70000, DISTINCT_AND_STEPS = 135000 };
#else
enum { DISTINCT = 210000, DISTINCT_AND_STEPS = 150000 };
#endif

static void names_that_never_come_again_make_no_steps(void **state)
{
    struct built built;
    (void)state;
    run_distinct(&built, DISTINCT, false);
    assert_int_equal(built_steps(&built)->steps.count, 0);
    assert_non_null(built_steps(&built)->why_none);
    built_finish(&built);
}

/* Half of the kernels of each step occur again in the next step. The other half has more names than the search
 * distinguishes. */
static void steps_are_found_among_names_that_never_come_again(void **state)
{
    struct built built;
    (void)state;
    run_distinct(&built, DISTINCT_AND_STEPS, true);
    assert_int_equal(built_steps(&built)->source, WS_STEPS_FOUND);
    assert_int_equal(built_steps(&built)->median, 100 * 10000);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_without_markers),
        cmocka_unit_test(accumulated_batches_are_one_step),
        cmocka_unit_test(steps_go_on_when_kernels_change_with_the_shape),
        cmocka_unit_test(kernels_come_and_go),
        cmocka_unit_test(what_one_batch_is_used_for_is_one_step),
        cmocka_unit_test(evaluation_in_front_of_a_step_is_told_from_it),
        cmocka_unit_test(each_token_is_a_step),
        cmocka_unit_test(launches_of_a_graph_are_steps),
        cmocka_unit_test(replays_outweigh_the_steps_before_the_capture),
        cmocka_unit_test(compiled_steps_outweigh_the_first_steps),
        cmocka_unit_test(evaluation_by_graphs_does_not_hide_the_training),
        cmocka_unit_test(layers_of_one_pass_are_no_steps),
        cmocka_unit_test(one_kernel_over_and_over_is_no_step),
        cmocka_unit_test(kernels_in_no_order_have_no_steps),
        cmocka_unit_test(names_that_never_come_again_make_no_steps),
        cmocka_unit_test(steps_are_found_among_names_that_never_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
