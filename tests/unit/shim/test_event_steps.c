/* Tests of shim/objects/events, the pool of CUDA events, one step at a time: other threads act just before a chosen
 * access to shared memory. A "mark" is an event of the pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "shim/objects/events.h"

static void step(const volatile void *object, memory_order order, memory_order on_failure);

/* events.c is compiled in here, with `step` before each of its atomic operations. */
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_weak_explicit
#define atomic_load_explicit(object, order) (step(object, order, order), *(object))
#define atomic_store_explicit(object, value, order) (step(object, order, order), (void)(*(object) = (value)))
#define atomic_fetch_add_explicit(object, value, order) (step(object, order, order), atomic_fetch_add(object, value))
#define atomic_fetch_sub_explicit(object, value, order) (step(object, order, order), atomic_fetch_sub(object, value))
#define atomic_compare_exchange_weak_explicit(object, expected, desired, success, failure) \
    (step(object, success, failure), atomic_compare_exchange_strong(object, expected, desired))
#include "shim/objects/events.c" // NOLINT(bugprone-suspicious-include)

enum { MARKS = 4 };

struct driver_calls driver;
static struct event_pool pool;
static void (*others)(void); /* what other threads do before access number `at`; NULL: they have done it */
static unsigned at;
/* theirs: events held by other threads; shared: held by us and by others; to_put: others will put it back */
static uint32_t theirs[3], shared, to_put;
static const volatile void *watched; /* only accesses to this object are noted */
static struct {
    memory_order order, on_failure;
} seen[4];
static unsigned seen_count;

static void step(const volatile void *object, memory_order order, memory_order on_failure)
{
    if (object == watched && seen_count < 4) {
        seen[seen_count].order = order;
        seen[seen_count++].on_failure = on_failure;
    }
    if (!others || at--)
        return;
    void (*now)(void) = others;
    others = NULL;
    now();
}

static ws_CUresult create_event(ws_CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (ws_CUevent)(uintptr_t)0x1000;
    return WS_CUDA_SUCCESS;
}

static uint32_t take(uint8_t users)
{
    uint32_t kept = 0, event = event_take(&pool, users, &kept);
    assert_int_equal(kept, event);
    return event;
}

static int open_pool(void **state)
{
    (void)state;
    driver.event_create = create_event;
    others = NULL;
    theirs[0] = theirs[1] = theirs[2] = shared = to_put = 0;
    if (event_pool_init(&pool, MARKS))
        return -1;
    event_pool_grow(&pool, MARKS);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    return munmap(pool.events, MARKS * sizeof(struct pool_event));
}

/* Asserts that each event of the pool is in exactly one place: in the stack, held by other threads, or held by us. */
static void none_is_lost_nor_twice(uint32_t mine)
{
    bool known[MARKS + 1] = { false };
    uint32_t held[] = { mine, theirs[0], theirs[1], theirs[2] }, count = 0, are_free = 0;
    for (unsigned i = 0; i < sizeof(held) / sizeof(*held); i++) {
        assert_false(held[i] && known[held[i]]);
        known[held[i]] = true;
        count += held[i] != 0;
    }
    for (uint32_t event = (uint32_t)pool.free_top; event; event = event_at(&pool, event)->next, are_free++) {
        assert_in_range(event, 1, MARKS);
        assert_false(known[event]);
        known[event] = true;
    }
    assert_int_equal(count + are_free, MARKS);
    assert_int_equal(pool.free_count, are_free);
}

static void they_take_one(void)
{
    theirs[0] = take(1);
}

static void they_take_all(void)
{
    for (int i = 0; i < 3; i++)
        theirs[i] = take(1);
}

static void they_put_one(void)
{
    event_release(&pool, to_put);
}

static void they_take_two_and_put_the_first(void)
{
    uint32_t first = take(1);
    theirs[1] = take(1);
    event_release(&pool, first);
}

static void they_let_go_of_the_shared_one(void)
{
    event_release(&pool, shared);
}

static void (*const all_others[])(void) = { they_take_one, they_take_all, they_put_one,
                                            they_take_two_and_put_the_first };
enum { OTHERS = sizeof(all_others) / sizeof(*all_others) };

/* Opens a new pool. Other threads will act before access number `step_at`. */
static void begin_step(unsigned step_at)
{
    close_pool(NULL);
    open_pool(NULL);
    at = step_at;
}

static void others_come_in_while_one_is_taken(void **state)
{
    (void)state;
    for (int who = 0; who < OTHERS; who++) {
        bool came = true;
        for (unsigned i = 0; came; i++) {
            begin_step(i);
            to_put = take(1);
            others = all_others[who];
            uint32_t mine = take(1);
            came = !others;
            others = NULL;
            if (all_others[who] != they_put_one || !came)
                event_release(&pool, to_put);
            none_is_lost_nor_twice(mine);
            assert_true(i < 100 && (came || i > 3));
        }
    }
}

static void others_come_in_while_one_is_put_back(void **state)
{
    (void)state;
    for (int who = 0; who < OTHERS; who++) {
        bool came = true;
        for (unsigned i = 0; came; i++) {
            begin_step(i);
            uint32_t mine = take(1);
            to_put = take(1);
            others = all_others[who];
            event_release(&pool, mine);
            came = !others;
            others = NULL;
            if (all_others[who] != they_put_one || !came)
                event_release(&pool, to_put);
            none_is_lost_nor_twice(0);
            assert_true(i < 100 && (came || i > 3));
        }
    }
}

/* Two users release the same event. The event must come back to the stack exactly once, whichever user releases it
 * first. */
static void the_other_user_lets_go_meanwhile(void **state)
{
    (void)state;
    bool came = true;
    for (unsigned i = 0; came; i++) {
        begin_step(i);
        shared = take(2);
        others = they_let_go_of_the_shared_one;
        event_release(&pool, shared);
        came = !others;
        others = NULL;
        if (!came)
            event_release(&pool, shared);
        none_is_lost_nor_twice(0);
        assert_true(i < 100 && (came || i > 0));
    }
}

static jmp_buf around;

static void leave(void)
{
    longjmp(around, 1);
}

/* A signal handler leaves event_take by longjmp. If event_take had already taken an event from the stack, `kept` says
 * which one. */
static void a_take_that_is_left_says_what_it_took(void **state)
{
    (void)state;
    volatile bool came = true;
    for (volatile unsigned i = 0; came; i++) {
        begin_step(i);
        static uint32_t kept;
        uint32_t top = (uint32_t)pool.free_top;
        kept = 0;
        others = leave;
        if (!setjmp(around))
            event_take(&pool, 1, &kept);
        came = !others;
        others = NULL;
        assert_int_equal(kept, (uint32_t)pool.free_top == top ? 0 : top);
        assert_true(i < 100 && (came || i > 3));
    }
}

static void watch(const volatile void *object)
{
    watched = object;
    seen_count = 0;
}

/* On x86 some wrong memory orders cause no failure, so the test checks the orders themselves. A thread that takes an
 * event from the stack must see all that was written before the event was put back. The last user of an event must
 * see all that its other users wrote. */
static void each_sees_what_was_written_before(void **state)
{
    (void)state;
    watch(&pool.free_top);
    uint32_t event = take(2);
    assert_int_equal(seen_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(seen[i].order, memory_order_acquire);
        assert_int_equal(seen[i].on_failure, memory_order_acquire);
    }
    watch(&event_at(&pool, event)->users);
    event_release(&pool, event);
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].order, memory_order_acq_rel);
    watch(&pool.free_top);
    event_release(&pool, event);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[1].order, memory_order_release);
}

int main(void)
{
#define WITH_POOL(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)
    const struct CMUnitTest tests[] = {
        WITH_POOL(others_come_in_while_one_is_taken), WITH_POOL(others_come_in_while_one_is_put_back),
        WITH_POOL(the_other_user_lets_go_meanwhile),  WITH_POOL(a_take_that_is_left_says_what_it_took),
        WITH_POOL(each_sees_what_was_written_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
