/* Tests of a thread that reads a file ahead, in pieces. Pieces come in order, each once. After the last piece no more
 * come. A reader may stop at any piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/ahead.h"

struct piece {
    uint64_t number;
    size_t filled; /* how often this piece was filled */
};

struct made {
    uint64_t pieces, until;
};

static bool fill(void *user, void *place)
{
    struct made *made = user;
    struct piece *piece = place;
    piece->number = made->pieces++;
    piece->filled++;
    return piece->number < made->until;
}

static size_t finished;

static void finish(void *place)
{
    finished += ((struct piece *)place)->filled;
}

static struct ws_ahead *start(struct made *made)
{
    struct ws_ahead *ahead = ws_ahead_start(sizeof(struct piece), fill, made);
    assert_non_null(ahead);
    return ahead;
}

/* Checks that the pieces come in order, and that `finish` finds in each piece what `fill` wrote there. */
static void check_all(struct made made)
{
    struct ws_ahead *ahead = start(&made);
    for (uint64_t i = 0; i <= made.until; i++)
        assert_int_equal(((const struct piece *)ws_ahead_next(ahead))->number, i);
    for (int i = 0; i < 3; i++)
        assert_int_equal(((const struct piece *)ws_ahead_next(ahead))->number, made.until);
    finished = 0;
    ws_ahead_stop(ahead, finish);
    assert_int_equal(made.pieces, made.until + 1);
    assert_int_equal(finished, made.pieces);
}

static void test_order(void **state)
{
    (void)state;
    for (uint64_t until = 0; until < 12; until++)
        check_all((struct made){ .until = until });
    check_all((struct made){ .until = 1000 });
}

static void test_stop(void **state)
{
    (void)state;
    for (uint64_t taken = 0; taken < 8; taken++) {
        struct made made = { .until = 100 };
        struct ws_ahead *ahead = start(&made);
        for (uint64_t i = 0; i < taken; i++)
            assert_int_equal(((const struct piece *)ws_ahead_next(ahead))->number, i);
        ws_ahead_stop(ahead, NULL);
        assert_true(made.pieces <= taken + 4);
    }
    ws_ahead_stop(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
