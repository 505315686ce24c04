#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "random.h"

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    struct ws_map map = { 0 };
    assert_null(ws_map_get(&map, 1));
    assert_false(ws_map_remove(&map, 1));
    assert_null(ws_map_put(&map, 0));
    assert_int_equal(map.count, 0);
    ws_map_finish(&map);
}

static void a_limit_holds(void **state)
{
    (void)state;
    struct ws_map map = { .limit = 300 };
    for (uint64_t key = 1; key <= 300; key++)
        assert_non_null(ws_map_put(&map, key));
    assert_null(ws_map_put(&map, 301));
    assert_non_null(ws_map_put(&map, 300));
    assert_true(ws_map_remove(&map, 7));
    assert_non_null(ws_map_put(&map, 301));
    ws_map_finish(&map);
    assert_int_equal(map.limit, 300);
    assert_non_null(ws_map_put(&map, 1));
    ws_map_finish(&map);
}

/* Compares the map with a plain array. The keys differ only in their upper 32 bits, so that many hashes collide. */
static void it_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 2000 };
    static uint64_t values[KEYS];
    static bool present[KEYS];
    struct ws_map map = { 0 };
    uint64_t seed = 3;
    size_t count = 0;
    for (int round = 0; round < 200000; round++) {
        uint64_t random = next_random(&seed);
        uint64_t index = random % KEYS, key = (index + 1) << 32;
        if (random >> 62) {
            uint64_t *value = ws_map_put(&map, key);
            assert_non_null(value);
            if (!present[index])
                assert_int_equal(*value, 0);
            *value = values[index] = random;
            count += !present[index];
            present[index] = true;
        } else {
            assert_int_equal(ws_map_remove(&map, key), present[index]);
            count -= present[index];
            present[index] = false;
        }
        assert_int_equal(map.count, count);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t *value = ws_map_get(&map, (i + 1) << 32);
        assert_int_equal(value != NULL, present[i]);
        if (value)
            assert_int_equal(*value, values[i]);
    }
    ws_map_finish(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(a_limit_holds),
        cmocka_unit_test(it_agrees_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
