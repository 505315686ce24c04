/* Tests of reading ahead in a thread: pieces come in order and once each, the end stays the end, and a reader may
 * stop at any piece. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "input/ahead.h"

struct made {
    uint64_t pieces, until;
    ssize_t last; /* size of the piece after the last one */
};

static void fill(void *user, struct ws_ahead_piece *piece)
{
    struct made *made = user;
    piece->done = made->pieces;
    piece->end = made->pieces == made->until ? WS_INPUT_CUT : WS_INPUT_WHOLE;
    piece->size = made->pieces == made->until ? made->last : 1;
    piece->bytes[0] = (unsigned char)made->pieces++;
}

static void check_all(struct made made)
{
    struct ws_ahead *ahead = ws_ahead_start(fill, &made);
    assert_non_null(ahead);
    for (uint64_t i = 0; i < made.until; i++) {
        const struct ws_ahead_piece *piece = ws_ahead_next(ahead);
        assert_int_equal(piece->size, 1);
        assert_int_equal(piece->done, i);
        assert_int_equal(piece->bytes[0], (unsigned char)i);
        assert_int_equal(piece->end, WS_INPUT_WHOLE);
    }
    for (int i = 0; i < 3; i++) {
        const struct ws_ahead_piece *piece = ws_ahead_next(ahead);
        assert_int_equal(piece->size, made.last);
        assert_int_equal(piece->end, WS_INPUT_CUT);
    }
    ws_ahead_stop(ahead);
    assert_int_equal(made.pieces, made.until + 1);
}

static void test_order(void **state)
{
    (void)state;
    for (uint64_t until = 0; until < 12; until++)
        check_all((struct made){ .until = until });
    check_all((struct made){ .until = 1000 });
}

static void test_error(void **state)
{
    (void)state;
    check_all((struct made){ .until = 5, .last = -EIO });
}

static void test_stop(void **state)
{
    (void)state;
    for (int taken = 0; taken < 8; taken++) {
        struct made made = { .until = 100 };
        struct ws_ahead *ahead = ws_ahead_start(fill, &made);
        assert_non_null(ahead);
        for (int i = 0; i < taken; i++)
            assert_int_equal(ws_ahead_next(ahead)->done, i);
        ws_ahead_stop(ahead);
        assert_true(made.pieces <= (uint64_t)taken + 4);
    }
    ws_ahead_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
