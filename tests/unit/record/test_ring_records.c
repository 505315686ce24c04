/* Tests of reading records from a thread's ring: bytes that cannot be a record must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/ring.h"
#include "record/ring_records.h"

enum { SLOTS = 64 };

static _Alignas(64) char memory[SLOTS * WS_RING_SLOT];
static struct ws_ring ring;

static int set_up(void **state)
{
    (void)state;
    ws_ring_init(&ring, memory, SLOTS, NULL);
    return 0;
}

static unsigned slots_of(unsigned kind, unsigned slots, unsigned detail, uint64_t at, uint64_t head)
{
    *(struct ws_ring_header *)ws_ring_slot(&ring, at) =
        (struct ws_ring_header){ .kind = (uint8_t)kind, .slots = (uint8_t)slots, .detail = (uint16_t)detail };
    return ws_ring_record_slots(&ring, at, head);
}

static void records_are_as_long_as_their_kind(void **state)
{
    (void)state;
    assert_int_equal(slots_of(WS_RING_OP, 1, 0, 0, SLOTS), 1);
    assert_int_equal(slots_of(WS_RING_CALL, 1, 0, 5, SLOTS), 1);
    assert_int_equal(slots_of(WS_RING_RANGE, 1, 0, 5, SLOTS), 1);
    assert_int_equal(slots_of(WS_RING_EVENT, 1, 0, 5, SLOTS), 1);
    assert_int_equal(slots_of(WS_RING_COLLECTIVE, 2, 0, 5, SLOTS), 2);
    assert_int_equal(slots_of(WS_RING_PARAMS, ws_ring_params_slots(7, 3), 7 | 3 << WS_RING_PARAM_IMAGE, 5, SLOTS),
                     ws_ring_params_slots(7, 3));
    assert_int_equal(slots_of(WS_RING_PAD, 3, 0, SLOTS - 3, 2 * SLOTS), 3);
    for (unsigned kind = WS_RING_OP; kind <= WS_RING_EVENT; kind++)
        assert_int_equal(slots_of(kind, 77, 0, 0, 10 * SLOTS), 0);
}

static void a_record_of_no_slots_is_none(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind <= WS_RING_EVENT; kind++)
        assert_int_equal(slots_of(kind, 0, 0, 0, SLOTS), 0);
}

static void kinds_that_nobody_writes_are_none(void **state)
{
    (void)state;
    for (unsigned kind = WS_RING_EVENT + 1; kind < 256; kind++)
        for (unsigned slots = 0; slots < 4; slots++)
            assert_int_equal(slots_of(kind, slots, 0, 0, SLOTS), 0);
}

static void records_reach_neither_beyond_the_head_nor_the_end(void **state)
{
    (void)state;
    assert_int_equal(slots_of(WS_RING_COLLECTIVE, 2, 0, 5, 7), 2);
    assert_int_equal(slots_of(WS_RING_COLLECTIVE, 2, 0, 5, 6), 0);
    assert_int_equal(slots_of(WS_RING_COLLECTIVE, 2, 0, SLOTS - 1, 2 * SLOTS), 0);
    assert_int_equal(slots_of(WS_RING_PAD, 4, 0, SLOTS - 3, 2 * SLOTS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_are_as_long_as_their_kind, set_up),
        cmocka_unit_test_setup(a_record_of_no_slots_is_none, set_up),
        cmocka_unit_test_setup(kinds_that_nobody_writes_are_none, set_up),
        cmocka_unit_test_setup(records_reach_neither_beyond_the_head_nor_the_end, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
