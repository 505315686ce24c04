#include "check.h"

#include "base/interval.h"
#include "interval_sums.h"

enum { RANGE = 200, ROUNDS = 2000 };

/* Adds an interval to a set that has one flag for each nanosecond: slow, but obviously right. */
static void paint(char *flags, int64_t begin, int64_t end)
{
    for (int64_t at = begin; at < end; at++)
        flags[at] = 1;
}

static void random_set(struct ws_interval_set *set, char *flags, uint64_t *random)
{
    size_t count = next_random(random) % 20;
    memset(flags, 0, RANGE);
    for (size_t i = 0; i < count; i++) {
        int64_t begin = (int64_t)(next_random(random) % RANGE), end = begin + (int64_t)(next_random(random) % 30) - 4;
        end = end > RANGE ? RANGE : end;
        paint(flags, begin, end);
        assert_int_equal(ws_interval_set_add(set, begin, end), 0);
    }
}

static void assert_well_formed(const struct ws_interval_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        assert_true(set->items[i].begin < set->items[i].end);
        if (i)
            assert_true(set->items[i - 1].end < set->items[i].begin);
    }
}

static void sets_agree_with_painted_flags(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct ws_interval_set a = { 0 }, b = { 0 };
        char in_a[RANGE], in_b[RANGE];
        int64_t length = 0, common = 0, outside = 0, within = 0;
        int64_t from = (int64_t)(next_random(&random) % RANGE), to = from + (int64_t)(next_random(&random) % 60);
        random_set(&a, in_a, &random);
        random_set(&b, in_b, &random);
        assert_well_formed(&a);
        for (int64_t at = 0; at < RANGE; at++) {
            length += in_a[at];
            common += in_a[at] && in_b[at];
            outside += in_a[at] && !in_b[at];
            within += in_a[at] && at >= from && at < to;
        }
        assert_int_equal(interval_length(&a), length);
        assert_int_equal(interval_common(&a, &b), common);
        assert_int_equal(interval_outside(&a, &b), outside);
        assert_int_equal(ws_interval_set_within(&a, from, to), within);
        ws_interval_set_finish(&a);
        ws_interval_set_finish(&b);
    }
}

static void touching_intervals_become_one(void **state)
{
    struct ws_interval_set set = { 0 };
    (void)state;
    ws_interval_set_add(&set, 0, 10);
    ws_interval_set_add(&set, 20, 30);
    ws_interval_set_add(&set, 10, 20);
    ws_interval_set_add(&set, 40, 40);
    ws_interval_set_add(&set, 60, 50);
    assert_int_equal(set.count, 1);
    assert_int_equal(set.items[0].begin, 0);
    assert_int_equal(set.items[0].end, 30);
    ws_interval_set_finish(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_agree_with_painted_flags),
        cmocka_unit_test(touching_intervals_become_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
