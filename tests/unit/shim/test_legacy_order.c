/* Tests of shim/objects/legacy_order.h. The legacy stream and the blocking streams are the two sides here: each side
 * waits for the other's work. A launch must notice that the other side has had work, but most launches must write
 * nothing to memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/objects/legacy_order.h"

enum { BLOCKING, LEGACY, ROUNDS = 20000 };

static void each_side_sees_work_of_the_other_once(void **state)
{
    struct legacy_order order = { 0 };
    _Atomic uint32_t blocking = 0, legacy = 0;
    (void)state;
    assert_false(legacy_order_moved(&order, BLOCKING, &blocking));
    assert_false(legacy_order_moved(&order, BLOCKING, &blocking));
    assert_true(legacy_order_moved(&order, LEGACY, &legacy));
    assert_false(legacy_order_moved(&order, LEGACY, &legacy));
    assert_true(legacy_order_moved(&order, BLOCKING, &blocking));
    assert_false(legacy_order_moved(&order, BLOCKING, &blocking));
    assert_true(legacy_order_moved(&order, LEGACY, &legacy));
}

/* If one blocking stream has noticed the legacy stream's work, the other blocking streams must notice it too. */
static void every_stream_sees_it(void **state)
{
    struct legacy_order order = { 0 };
    _Atomic uint32_t streams[3] = { 0 }, legacy = 0;
    (void)state;
    for (int round = 0; round < 3; round++) {
        legacy_order_moved(&order, LEGACY, &legacy);
        for (int i = 0; i < 3; i++) {
            assert_true(legacy_order_moved(&order, BLOCKING, &streams[i]));
            assert_false(legacy_order_moved(&order, BLOCKING, &streams[i]));
        }
    }
}

static void launches_without_an_other_side_write_nothing(void **state)
{
    struct legacy_order order = { 0 }, before;
    _Atomic uint32_t seen = 0;
    (void)state;
    assert_false(legacy_order_matters(&order));
    legacy_order_moved(&order, BLOCKING, &seen);
    assert_false(legacy_order_matters(&order));
    memcpy(&before, &order, sizeof(order));
    for (int i = 0; i < 5; i++)
        legacy_order_moved(&order, BLOCKING, &seen);
    assert_memory_equal(&before, &order, sizeof(order));
    legacy_order_moved(&order, LEGACY, &seen);
    assert_true(legacy_order_matters(&order));
}

/* One thread launches into the legacy stream and into a blocking stream in turn. At the same time two other threads
 * launch into blocking streams. */
static struct legacy_order shared;
static _Atomic int stop;

static void *launch_on(void *unused)
{
    _Atomic uint32_t seen = 0;
    (void)unused;
    while (!atomic_load(&stop))
        legacy_order_moved(&shared, BLOCKING, &seen);
    return NULL;
}

static void work_is_seen_beside_other_threads(void **state)
{
    pthread_t threads[2];
    _Atomic uint32_t blocking = 0, legacy = 0;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_on, NULL), 0);
    legacy_order_moved(&shared, BLOCKING, &blocking);
    int missed = 0;
    for (int i = 0; i < ROUNDS; i++) {
        missed += !legacy_order_moved(&shared, LEGACY, &legacy);
        missed += !legacy_order_moved(&shared, BLOCKING, &blocking);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_sees_work_of_the_other_once),
        cmocka_unit_test(every_stream_sees_it),
        cmocka_unit_test(launches_without_an_other_side_write_nothing),
        cmocka_unit_test(work_is_seen_beside_other_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
