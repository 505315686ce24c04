/* Tests of finding steps in a program's launches while they arrive, and of which steps are called slow. The number of
 * a launch's shape says what is launched: equal launches have the same shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/rhythm.h"

enum { US = 1000, MS = 1000 * US, LAYERS = 24, LAYER = 6 };

static struct figures_memory memory;
static struct rhythm *rhythm;
static struct rhythm_step slow;
static int64_t now;
static unsigned found;

static int set_up(void **state)
{
    (void)state;
    memory = (struct figures_memory){ .limit = 1 << 20 };
    rhythm = rhythm_create(&memory, 3, (int64_t)30 * 1000 * MS);
    now = 1000 * MS;
    found = 0;
    return rhythm ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    rhythm_destroy(rhythm);
    return memory.used != 0;
}

static void launch_by(uint32_t thread, uint32_t shape, uint32_t stream, int64_t takes)
{
    const struct rhythm_launch launch = { shape, thread, stream, true, now };
    found += rhythm_add(rhythm, &launch, &slow);
    now += takes;
}

static void launch(uint32_t shape, int64_t takes)
{
    launch_by(1, shape, 1, takes);
}

/* Adds the launches of a training step. Shape 1 is the input, shape 2 comes before the layers and shape 3 after them.
 * The shapes from 10 on are those of a layer. */
static void train(int64_t pause)
{
    launch(1, 100 * US);
    launch(2, 50 * US + pause);
    for (uint32_t i = 0; i < LAYERS * LAYER; i++)
        launch(10 + i % LAYER, 100 * US);
    launch(3, 200 * US);
}

static void a_slow_step_is_found(void **state)
{
    (void)state;
    const int64_t usual = 350 * US + LAYERS * LAYER * 100 * US;
    for (int i = 0; i < 300; i++)
        train(0);
    assert_int_equal(found, 0);
    train(2 * usual + MS);
    train(0);
    train(0);
    assert_int_equal(found, 1);
    assert_int_equal(slow.took_ns, 3 * usual + MS);
    assert_int_equal(slow.median_ns, usual);
    for (int i = 0; i < 50; i++)
        train(usual);
    assert_int_equal(found, 1);
}

/* A pause comes in every third step. The layers inside a step are all even. No layer may be taken for a step, and no
 * slow step may be reported. */
static void a_layer_is_no_step(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        train(i % 3 ? 0 : 2 * MS);
    assert_int_equal(found, 0);
}

/* Every 300 steps, other work runs, such as a test of the model. It must not count as a slow step. */
static void other_work_between_steps_is_no_slow_step(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        train(0);
        for (int other = 0; i % 300 == 299 && other < 3000; other++)
            launch(10 + (uint32_t)other % LAYER, 100 * US);
    }
    assert_int_equal(found, 0);
    train(200 * MS); /* a slow step is still recognized after the other work */
    train(0);
    assert_int_equal(found, 1);
}

/* If steps are slow again and again, that is usual for the program, and they are not called slow. */
static void what_is_usual_is_not_slow(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        train(i % 4 ? 0 : 100 * MS);
        if (i == 100)
            found = 0;
    }
    assert_int_equal(found, 0);
    for (int i = 0; i < 200; i++)
        train(60 * MS);
    assert_true(found <= RHYTHM_RARE + 1);
}

/* Thread 1 also launches on a second stream, and thread 2 launches on the first stream. The launches arrive in pieces
 * of some steps. In each piece, all launches of thread 1 on stream 1 come first. So the launches are in order of time
 * only within a lane (a thread's launches on one stream). */
static void lanes_come_in_pieces(void **state)
{
    (void)state;
    int64_t begin = now;
    for (int piece = 0; piece < 60; piece++) {
        int steps = 1 + piece * 7 % 5;
        for (int step = 0; step < steps; step++) {
            now = begin + step * 20 * MS;
            train(0);
        }
        for (int step = 0; step < steps; step++) {
            now = begin + step * 20 * MS;
            launch_by(1, 60, 2, MS);
            launch_by(2, 61, 1, MS);
            launch_by(2, 62, 1, MS);
        }
        begin += steps * 20 * MS;
    }
    assert_int_equal(found, 0);
    now = begin;
    train(50 * MS);
    train(0);
    assert_int_equal(found, 1);
}

static void a_loop_of_short_kernels_has_no_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++)
        launch(1 + (uint32_t)i % 2, i % 1000 == 999 ? 100 * MS : 20 * US);
    assert_int_equal(found, 0);
    assert_int_equal(rhythm->chosen, 0);
}

static void marks_come_first(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        train(0);
        found += rhythm_mark(rhythm, 20 * MS, &slow);
    }
    train(300 * MS); /* the program marks its steps, so the times of launches do not count */
    assert_int_equal(found, 0);
    assert_true(rhythm_mark(rhythm, 60 * MS, &slow));
    assert_int_equal(slow.median_ns, 20 * MS);
    assert_false(rhythm_mark(rhythm, 59 * MS, &slow));
    assert_false(rhythm_mark(rhythm, -1, &slow));
}

/* Values from a program may be wrong in any way. Memory must stay within its bound, and nothing may overflow. */
static void nothing_is_believed(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 300000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        const struct rhythm_launch launch = {
            .shape = i % 3 ? (uint32_t)(random >> 40) : (uint32_t)(random >> 60),
            .thread = (uint32_t)(random >> 58) * (i % 5 != 0),
            .stream = (uint32_t)(random >> 57) & 1,
            .on_device = random >> 20 & 1,
            .begin = (int64_t)(random & (((uint64_t)1 << 61) - 1)) - ((int64_t)1 << 60),
        };
        rhythm_add(rhythm, &launch, &slow);
    }
    assert_true(memory.used <= memory.limit);
    assert_true(rhythm->shapes <= RHYTHM_SHAPES);
    const struct rhythm_launch wild[] = { { 0, 1, 1, true, 0 },
                                          { UINT32_MAX, 1, 1, true, 0 },
                                          { RHYTHM_SHAPES, 1, 1, true, 0 },
                                          { 1, UINT32_MAX, UINT32_MAX, true, 0 } };
    for (unsigned i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
        assert_false(rhythm_add(rhythm, &wild[i], &slow));
}

static void without_memory_there_are_no_steps(void **state)
{
    (void)state;
    struct figures_memory none = { .limit = 100 }, little = { .limit = sizeof(struct rhythm) + 100 };
    assert_null(rhythm_create(&none, 3, MS));
    struct rhythm *other = rhythm_create(&little, 3, MS);
    const struct rhythm_launch launch = { 1, 1, 1, true, 0 };
    assert_false(rhythm_add(other, &launch, &slow));
    rhythm_destroy(other);
    assert_int_equal(little.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slow_step_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_layer_is_no_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_work_between_steps_is_no_slow_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_usual_is_not_slow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_come_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loop_of_short_kernels_has_no_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_there_are_no_steps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
