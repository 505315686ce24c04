/* Tests of shim/calls/shape_cache.h: kernels that a program launches in turn keep their entries in the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/calls/shape_cache.h"

static struct shim_thread thread;

/* Counts the keys that share a place of the cache with two or more other keys, so that they push each other out. */
static unsigned crowded(const struct shape_key *keys, unsigned count)
{
    static unsigned used[SHAPE_CACHE];
    unsigned found = 0;
    memset(used, 0, sizeof(used));
    for (unsigned i = 0; i < count; i++)
        used[shape_places(&thread, &keys[i], 1) - thread.shapes]++;
    for (unsigned i = 0; i < SHAPE_CACHE; i++)
        found += used[i] > 2 ? used[i] : 0;
    return found;
}

/* One function launched with grids that differ only in x or only in y: a GEMM for outputs of several sizes. */
static void grids_that_differ_in_one_side_have_places_of_their_own(void **state)
{
    struct shape_key keys[64];
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        keys[i] =
            (struct shape_key){ .object = 0x55d0c8a01230, .stream = 0x55d0c8a3f930, .grid_x = 16, .grid_y = i + 1 };
    assert_int_equal(crowded(keys, 64), 0);
    for (unsigned i = 0; i < 64; i++)
        keys[i].grid_y = keys[i].grid_x, keys[i].grid_x = i + 1;
    assert_int_equal(crowded(keys, 64), 0);
}

/* As in a training step: many functions at addresses a fixed distance apart, each with a few grids. */
static void few_kernels_of_a_step_are_crowded(void **state)
{
    struct shape_key keys[256];
    (void)state;
    for (unsigned i = 0; i < 256; i++)
        keys[i] = (struct shape_key){ .object = 0x55d0c8a01230 + (uint64_t)(i / 8) * 0x90,
                                      .stream = 0x55d0c8a3f930,
                                      .grid_x = 16 << i % 8 / 4,
                                      .grid_y = 16 << i % 4 };
    assert_in_range(crowded(keys, 256), 0, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_that_differ_in_one_side_have_places_of_their_own),
        cmocka_unit_test(few_kernels_of_a_step_are_crowded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
