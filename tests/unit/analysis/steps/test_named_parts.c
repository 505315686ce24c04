/* Tests of parts of the work that repeat. The names of the program's ranges show whether such a part is an iteration,
 * or only a part of one. */
#include "check.h"

#include "built.h"

static const int64_t us = 1000, ms = 1000000;
enum { BLOCK_MS = 10 };

/* A program made of rounds of blocks. Each block takes 10 ms: it copies its weights from the host and runs three
 * kernels. Each block has a range. The range's name is made from the format `name` and a number: the block's number
 * in its round or, if of_round, the number of the round. A round takes 5 ms more than its blocks. The device is
 * `behind` ms behind the host. */
struct recipe {
    const char *name;
    enum ws_range_kind kind;
    int blocks, count; /* blocks per round; blocks of the whole program */
    int64_t behind;
    bool of_round;
};

static char names[256][64];

static void block(struct builder *trace, const struct recipe *recipe, int number, int64_t host)
{
    int64_t at = host + (recipe->behind + 1) * ms;
    const int64_t lengths[] = { 6 * ms, ms, 2 * ms, ms / 2 };
    const char *kernels[] = { NULL, "sgemm_nt", "softmax", "layer_norm_kernel" };
    snprintf(names[number], sizeof(names[number]), recipe->name ? recipe->name : "",
             recipe->of_round ? number / recipe->blocks : number % recipe->blocks);
    if (recipe->name)
        build_range(trace, recipe->kind, 1, names[number], host, host + ms);
    for (int i = 0; i < 4; at += lengths[i++])
        build_launch(trace, &(struct launch){ .kernel = kernels[i],
                                              .bytes = 1 << 20,
                                              .begin = at,
                                              .end = at + lengths[i],
                                              .host_begin = host + (1 + i) * 20 * us,
                                              .host_end = host + (1 + i) * 20 * us + 5 * us });
}

static const struct ws_track_steps *run(struct built *built, const struct recipe *recipe)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 1);
    int64_t host = ms;
    build_thread(trace, 1, 100, "main");
    for (int i = 0; i < recipe->count; i++, host += BLOCK_MS * ms) {
        host += i && i % recipe->blocks == 0 ? 5 * ms : 0;
        block(trace, recipe, i, host);
    }
    built_report(built);
    return built_steps(built);
}

static void expect_blocks(const struct built *built, enum ws_steps_proof proof)
{
    const struct ws_track_steps *steps = built_steps(built);
    assert_int_equal(steps->source, WS_STEPS_FOUND);
    assert_int_equal(steps->proof, proof);
    assert_int_equal(steps->median, BLOCK_MS * ms);
}

/* Each block begins with a copy from the host, so it looks like an iteration. But the names of the ranges repeat only
 * after eight blocks. */
static void blocks_that_ranges_name_are_no_steps(void **state)
{
    static const enum ws_range_kind kinds[] = { WS_RANGE_ANNOTATION, WS_RANGE_OPERATOR, WS_RANGE_PYTHON };
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct built built;
        const struct ws_track_steps *steps =
            run(&built, &(struct recipe){ .name = "FSDP::pre_forward (encoder.block.%d.layer.0)",
                                          .kind = kinds[i],
                                          .blocks = 8,
                                          .count = 8 * 4 });
        assert_int_equal(steps->source, WS_STEPS_FOUND);
        assert_int_equal(steps->proof, WS_PROOF_NAMES);
        assert_int_equal(steps->kinds[WS_STEP_STEADY], 3);
        assert_int_equal(steps->median, 85 * ms);
        assert_int_equal(built_step(steps, 1)->host_end - built_step(steps, 1)->host_begin, 85 * ms);
        built_finish(&built);
    }
}

/* Ranges with names of any meaning show iterations, if the same names come back in the same order. */
static void micro_batches_are_no_steps(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps =
        run(&built,
            &(struct recipe){ .name = "micro-batch %d", .kind = WS_RANGE_ANNOTATION, .blocks = 4, .count = 4 * 5 });
    assert_int_equal(steps->proof, WS_PROOF_NAMES);
    assert_int_equal(steps->median, 45 * ms);
    built_finish(&built);
}

/* Without ranges, only the copies from the host show steps. */
static void without_ranges_steps_are_likely(void **state)
{
    struct built built;
    (void)state;
    run(&built, &(struct recipe){ .blocks = 8, .count = 8 * 4 });
    expect_blocks(&built, WS_PROOF_EXCHANGE);
    char *text = built_text(&built, "steps", false);
    assert_non_null(strstr(text, "how sure        likely: each copies from or to the host"));
    free(text);
    built_finish(&built);
}

/* The trace has only kernels, and most of them occur several times. The repeating parts may be iterations or
 * layers. */
static void steps_of_kernels_alone_are_doubtful(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    (void)state;
    for (int64_t step = 0, at = ms; step < 20; step++) {
        for (int layer = 0; layer < 8; layer++, at += 200 * us) {
            build_kernel(trace, 1, "sgemm_nt", at, at + 150 * us);
            build_kernel(trace, 1, "softmax", at + 150 * us, at + 190 * us);
        }
        build_kernel(trace, 1, "layer_norm_kernel", at, at + 30 * us);
        at += 400 * us;
    }
    built_report(&built);
    assert_int_equal(built_steps(&built)->source, WS_STEPS_FOUND);
    assert_int_equal(built_steps(&built)->proof, WS_PROOF_STRUCTURE);
    char *text = built_text(&built, "verdict", false);
    assert_non_null(strstr(text, "steps found (doubtful), median 2.00 ms"));
    free(text);
    built_finish(&built);
}

static void ranges_that_return_in_each_step_confirm_it(void **state)
{
    struct built built;
    (void)state;
    run(&built, &(struct recipe){ .name = "forward", .kind = WS_RANGE_ANNOTATION, .blocks = 8, .count = 8 * 4 });
    expect_blocks(&built, WS_PROOF_RANGES);
    built_finish(&built);
}

/* The number in a range's name counts iterations, so the names repeat after each epoch, or never. The iterations are
 * steps all the same. */
static void ranges_that_count_iterations_leave_them_steps(void **state)
{
    struct built built;
    (void)state;
    run(&built, &(struct recipe){ .name = "sample %d", .kind = WS_RANGE_ANNOTATION, .blocks = 8, .count = 8 * 4 });
    expect_blocks(&built, WS_PROOF_EXCHANGE);
    built_finish(&built);
    run(&built, &(struct recipe){ .name = "pass %d", .kind = WS_RANGE_ANNOTATION, .blocks = 32, .count = 32 });
    expect_blocks(&built, WS_PROOF_EXCHANGE);
    built_finish(&built);
}

/* The steps have no ranges. But after the launches of every eighth step, the program sets a range ("save"). These
 * ranges say nothing about the steps. */
static void ranges_outside_the_steps_do_not_judge_them(void **state)
{
    struct built built;
    struct recipe recipe = { .blocks = 8, .count = 48 };
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    (void)state;
    build_thread(trace, 1, 100, "main");
    for (int i = 0; i < recipe.count; i++) {
        block(trace, &recipe, i, ms + i * BLOCK_MS * ms);
        if (i % 8 == 7)
            build_range(trace, WS_RANGE_ANNOTATION, 1, "save", ms + i * BLOCK_MS * ms + 500 * us,
                        ms + i * BLOCK_MS * ms + 600 * us);
    }
    built_report(&built);
    expect_blocks(&built, WS_PROOF_EXCHANGE);
    built_finish(&built);
}

/* The recording is shorter than one iteration, so the length of an iteration is not known. */
static void layers_without_an_iteration_are_no_steps(void **state)
{
    struct built built;
    (void)state;
    const struct ws_track_steps *steps = run(
        &built, &(struct recipe){ .name = "layers.%d.mlp", .kind = WS_RANGE_ANNOTATION, .blocks = 32, .count = 30 });
    assert_int_equal(steps->source, WS_STEPS_NONE);
    assert_non_null(strstr(steps->why_none, "parts of an iteration"));
    built_finish(&built);
}

/* The recording is a little longer than one iteration of the host. But the device is so far behind that the recording
 * has no whole iteration of the device. */
static void a_device_far_behind_gives_a_piece_as_long_as_an_iteration(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    struct recipe recipe = { .name = "encoder.block.%d", .kind = WS_RANGE_ANNOTATION, .blocks = 24, .behind = 80 };
    (void)state;
    build_thread(trace, 1, 100, "main");
    for (int i = 0; i < 8; i++) /* eight blocks that were launched before the recording */
        for (int kernel = 0; kernel < 4; kernel++) {
            struct ws_op op =
                build_op(trace, &(struct launch){ .kernel = kernel ? "softmax" : NULL,
                                                  .begin = (2 + i * BLOCK_MS) * ms + kernel * 2 * ms,
                                                  .end = (2 + i * BLOCK_MS) * ms + (kernel + 1) * 2 * ms });
            op.thread = 0;
            build_row(trace, WS_FAMILY_op, &op);
        }
    for (int i = 0; i < 24; i++)
        block(trace, &recipe, i, ms + i * BLOCK_MS * ms);
    for (int i = 0; i < 6; i++) { /* ranges whose work the device had not reached when the recording ended */
        snprintf(names[64 + i], sizeof(names[0]), recipe.name, i);
        build_range(trace, WS_RANGE_ANNOTATION, 1, names[64 + i], ms + (24 + i) * BLOCK_MS * ms,
                    2 * ms + (24 + i) * BLOCK_MS * ms);
    }
    built_report(&built);
    const struct ws_track_steps *steps = built_steps(&built);
    assert_int_equal(steps->proof, WS_PROOF_LENGTH);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 1);
    assert_int_equal(steps->median, 24 * BLOCK_MS * ms);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_ranges_name_are_no_steps),
        cmocka_unit_test(micro_batches_are_no_steps),
        cmocka_unit_test(without_ranges_steps_are_likely),
        cmocka_unit_test(steps_of_kernels_alone_are_doubtful),
        cmocka_unit_test(ranges_that_return_in_each_step_confirm_it),
        cmocka_unit_test(ranges_that_count_iterations_leave_them_steps),
        cmocka_unit_test(ranges_outside_the_steps_do_not_judge_them),
        cmocka_unit_test(layers_without_an_iteration_are_no_steps),
        cmocka_unit_test(a_device_far_behind_gives_a_piece_as_long_as_an_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
