/* Tests of the producer of a ring, the thread that writes records: when it reads the consumer's position, and when it
 * wakes the consumer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/ring.h"

enum { LARGE = 65536, SMALL = 64 };

static _Alignas(64) char memory[LARGE * WS_RING_SLOT];
static struct ws_ring ring;
static unsigned wakes;

static void wake(void)
{
    wakes++;
}

static void make(uint64_t slots)
{
    ws_ring_init(&ring, memory, slots, wake);
    wakes = 0;
}

/* Writes `count` records. Returns how many of them found room. */
static unsigned write_records(unsigned count)
{
    unsigned written = 0;
    for (; count-- && ws_ring_reserve_one(&ring); written++)
        ws_ring_commit(&ring, 1);
    return written;
}

static void a_consumer_that_follows_is_not_woken(void **state)
{
    (void)state;
    make(LARGE);
    for (int round = 0; round < 1000; round++) {
        assert_int_equal(write_records(2000), 2000);
        ws_ring_release(&ring, ws_ring_head(&ring));
    }
    assert_int_equal(wakes, 0);
    assert_int_equal(ring.lost, 0);
}

static void a_consumer_that_sleeps_is_woken(void **state)
{
    (void)state;
    make(LARGE);
    write_records(WS_RING_LOOK_EVERY);
    assert_int_equal(wakes, 0);
    write_records(2);
    assert_int_equal(wakes, 1);
    write_records(4 * WS_RING_LOOK_EVERY);
    assert_int_equal(wakes, 4); /* one wake-up each time that the producer reads the consumer's position */
}

static void the_smallest_ring_wakes_before_it_is_half_full(void **state)
{
    (void)state;
    make(SMALL);
    write_records(SMALL / 2 - 1);
    assert_int_equal(wakes, 1);
    ws_ring_release(&ring, ws_ring_head(&ring));
    write_records(SMALL / 2);
    assert_int_equal(wakes, 2);
    assert_int_equal(ring.lost, 0);
}

static void what_does_not_fit_is_counted_and_wakes(void **state)
{
    (void)state;
    make(SMALL);
    for (int i = 0; i < SMALL; i++) {
        assert_non_null(ws_ring_reserve_one(&ring));
        ws_ring_commit(&ring, 1);
    }
    wakes = 0;
    assert_null(ws_ring_reserve_one(&ring));
    assert_int_equal(ring.lost, 1);
    assert_int_equal(wakes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_consumer_that_follows_is_not_woken),
        cmocka_unit_test(a_consumer_that_sleeps_is_woken),
        cmocka_unit_test(the_smallest_ring_wakes_before_it_is_half_full),
        cmocka_unit_test(what_does_not_fit_is_counted_and_wakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
