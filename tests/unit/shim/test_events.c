/* Tests of shim/objects/events: the pool of CUDA events, whose free events form a lock-free stack. The
 * stack is changed in the middle of an operation: at a chosen step by the test itself, or at random by other threads.
 * A "mark" is an event of the pool. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

/* events.c is compiled in here, so that the test can run `interfere` just before each compare-and-exchange of the
 * stack. */
static void (*_Atomic interfere)(void);

static void let_others_in(void)
{
    void (*others)(void) = atomic_exchange(&interfere, NULL);
    if (others)
        others();
}

#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(object, expected, desired, success, failure) \
    (let_others_in(), atomic_compare_exchange_strong_explicit(object, expected, desired, success, failure))
#include "shim/objects/events.c" // NOLINT(bugprone-suspicious-include)

enum { LIMIT = 256 };

struct driver_calls driver;
static struct event_pool pool;
static _Atomic unsigned events_made;
static unsigned events_allowed;

static ws_CUresult create_event(ws_CUevent *event, unsigned flags)
{
    assert_int_equal(flags, WS_CU_EVENT_DEFAULT);
    if (events_made >= events_allowed)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    *event = (ws_CUevent)(uintptr_t)(0x1000 + atomic_fetch_add(&events_made, 1));
    return WS_CUDA_SUCCESS;
}

static uint32_t take_free(struct event_pool *from, uint8_t users)
{
    uint32_t kept = 0, event = event_take(from, users, &kept);
    assert_int_equal(kept, event);
    return event;
}

static int open_pool(void **state)
{
    (void)state;
    driver.event_create = create_event;
    events_made = 0;
    events_allowed = LIMIT;
    return event_pool_init(&pool, LIMIT);
}

static int close_pool(void **state)
{
    (void)state;
    return munmap(pool.events, LIMIT * sizeof(struct pool_event));
}

/* Asserts that each event that was made is in the stack of free events exactly once. */
static void all_are_free(void)
{
    bool seen[LIMIT + 1] = { false };
    uint32_t count = 0;
    for (uint32_t event = (uint32_t)pool.free_top; event; event = event_at(&pool, event)->next) {
        assert_in_range(event, 1, pool.made);
        assert_false(seen[event]);
        seen[event] = true;
        count++;
    }
    assert_int_equal(count, pool.made);
    assert_int_equal(pool.free_count, pool.made);
}

static void what_was_made_can_be_taken_once(void **state)
{
    (void)state;
    bool taken[LIMIT + 1] = { false };
    assert_int_equal(take_free(&pool, 1), 0);
    assert_int_equal(event_pool_grow(&pool, 5), WS_CUDA_SUCCESS);
    assert_int_equal(pool.made, 5);
    for (int i = 0; i < 5; i++) {
        uint32_t event = take_free(&pool, 1);
        assert_in_range(event, 1, 5);
        assert_false(taken[event]);
        taken[event] = true;
        assert_int_equal(pool.free_count, 4 - i);
        assert_in_range((uintptr_t)event_at(&pool, event)->handle, 0x1000, 0x1004);
    }
    assert_int_equal(take_free(&pool, 1), 0);
    for (uint32_t event = 1; event <= 5; event++)
        event_release(&pool, event);
    all_are_free();
}

static void the_last_user_puts_it_back(void **state)
{
    (void)state;
    for (uint8_t users = 1; users < 4; users++) {
        open_pool(NULL);
        event_pool_grow(&pool, 1);
        uint32_t event = take_free(&pool, users);
        for (uint8_t left = users; left; left--) {
            assert_int_equal(take_free(&pool, 1), 0);
            event_release(&pool, event);
        }
        assert_int_equal(take_free(&pool, 2), event);
        event_release(&pool, event);
        assert_int_equal(pool.free_count, 0);
        event_release(&pool, event);
        all_are_free();
        if (users < 3)
            close_pool(NULL);
    }
}

static void no_mark_is_ignored(void **state)
{
    (void)state;
    event_pool_grow(&pool, 2);
    event_release(&pool, 0);
    all_are_free();
}

/* An event that is taken again counts as unread, because its earlier time is out of date. */
static void a_mark_taken_again_is_unread(void **state)
{
    (void)state;
    event_pool_grow(&pool, 1);
    uint32_t event = take_free(&pool, 1);
    assert_int_equal(event_at(&pool, event)->state, EVENT_UNREAD);
    event_at(&pool, event)->state = EVENT_READ;
    event_release(&pool, event);
    assert_int_equal(event_at(&pool, take_free(&pool, 1))->state, EVENT_UNREAD);
}

static void growth_ends_at_the_limit(void **state)
{
    (void)state;
    events_allowed = 2 * LIMIT;
    assert_int_equal(event_pool_grow(&pool, LIMIT - 1), WS_CUDA_SUCCESS);
    assert_int_equal(event_pool_grow(&pool, LIMIT), WS_CUDA_SUCCESS);
    assert_int_equal(pool.made, LIMIT);
    assert_int_equal(events_made, LIMIT);
    assert_int_equal(event_pool_grow(&pool, 1), WS_CUDA_SUCCESS);
    assert_int_equal(events_made, LIMIT);
    all_are_free();
}

static void growth_ends_where_the_driver_refuses(void **state)
{
    (void)state;
    events_allowed = 3;
    assert_int_equal(event_pool_grow(&pool, 8), WS_CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(pool.made, 3);
    assert_int_equal(pool.few, 1);
    all_are_free();
    driver.event_create = NULL;
    assert_int_equal(event_pool_grow(&pool, 8), WS_CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(pool.made, 3);
}

static void few_is_half_until_no_more_can_be_made(void **state)
{
    (void)state;
    event_pool_grow(&pool, 32);
    assert_int_equal(pool.few, 16);
    assert_true(event_pool_is_to_grow(&pool, 64));
    assert_false(event_pool_is_to_grow(&pool, 32));
    event_pool_keep(&pool, 64, 10); /* makes more in advance, though all are free, but at most 10 at once */
    assert_int_equal(pool.made, 42);
    event_pool_keep(&pool, 64, LIMIT);
    assert_int_equal(pool.made, 64);
    event_pool_keep(&pool, 64, LIMIT);
    assert_int_equal(pool.made, 64);
    for (int i = 0; i < 32; i++)
        take_free(&pool, 1);
    assert_false(event_pool_is_to_grow(&pool, 64));
    take_free(&pool, 1);
    event_pool_keep(&pool, 64, LIMIT); /* makes more, since fewer than half are free */
    assert_int_equal(pool.made, 128);
    assert_int_equal(pool.few, 64);
    event_pool_grow(&pool, LIMIT);
    assert_int_equal(pool.few, LIMIT / 8);
    while (take_free(&pool, 1))
        ;
    assert_false(event_pool_is_to_grow(&pool, LIMIT));
}

/* A large pool that has reached its limit wakes the drain (the shim's own thread) only when few events are left. */
static void few_is_never_many_at_the_limit(void **state)
{
    (void)state;
    struct event_pool large;
    events_allowed = 4096;
    assert_int_equal(event_pool_init(&large, events_allowed), 0);
    event_pool_grow(&large, events_allowed);
    assert_int_equal(large.made, events_allowed);
    assert_int_equal(large.few, LAST_EVENTS);
    munmap(large.events, events_allowed * sizeof(struct pool_event));
}

static void what_the_driver_refuses_is_not_asked_for_again(void **state)
{
    (void)state;
    events_allowed = 40;
    event_pool_grow(&pool, 32);
    event_pool_keep(&pool, 64, LIMIT);
    assert_int_equal(pool.made, 40);
    assert_int_equal(pool.limit, 40);
    assert_int_equal(pool.few, 5);
    while (take_free(&pool, 1))
        ;
    events_allowed = LIMIT;
    event_pool_keep(&pool, 64, LIMIT);
    assert_int_equal(pool.made, 40);
}

/* --- other threads in between, one step at a time ---------------------------------------------- */

static uint32_t first, second;

/* Does what another thread may do: takes the top event of the stack and the one below it, and puts the top one back
 * (the ABA problem). */
static void take_both_put_first_back(void)
{
    first = take_free(&pool, 1);
    second = take_free(&pool, 1);
    event_release(&pool, first);
}

static void a_mark_that_came_back_is_noticed(void **state)
{
    (void)state;
    event_pool_grow(&pool, 3);
    interfere = take_both_put_first_back;
    uint32_t event = take_free(&pool, 1);
    assert_int_equal(event, first);
    uint32_t next = take_free(&pool, 1);
    assert_int_not_equal(next, second); /* the other thread holds `second` */
    assert_int_not_equal(next, first);
    assert_int_equal(take_free(&pool, 1), 0);
    assert_int_equal(pool.free_count, 0);
}

static uint32_t put_between;

static void put_one(void)
{
    event_release(&pool, put_between);
}

static void take_one(void)
{
    first = take_free(&pool, 1);
}

static void marks_put_back_at_once_both_stay(void **state)
{
    (void)state;
    event_pool_grow(&pool, 3);
    uint32_t mine = take_free(&pool, 1);
    put_between = take_free(&pool, 1);
    interfere = put_one;
    event_release(&pool, mine);
    all_are_free();
}

static void the_last_mark_goes_to_one(void **state)
{
    (void)state;
    event_pool_grow(&pool, 1);
    interfere = take_one;
    assert_int_equal(take_free(&pool, 1), 0);
    assert_int_equal(first, 1);
    event_release(&pool, first);
    all_are_free();
}

static void every_change_has_its_number(void **state)
{
    (void)state;
    event_pool_grow(&pool, 2);
    uint64_t number = pool.free_top >> 32;
    /* the numbers of `free_top` must not repeat soon: they have more than 16 bits */
    for (int i = 0; i < 100000; i++) {
        uint32_t event = take_free(&pool, 1);
        assert_int_equal(pool.free_top >> 32, ++number);
        event_release(&pool, event);
        assert_int_equal(pool.free_top >> 32, ++number);
    }
    /* sets the largest number, after which comes 0; the stack of free events stays as it is */
    pool.free_top |= (uint64_t)UINT32_MAX << 32;
    event_release(&pool, take_free(&pool, 1));
    all_are_free();
}

/* --- many threads ------------------------------------------------------------------------------ */

enum { THREADS = 4, HELD = 8 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { TURNS = 40000 };
#else
enum { TURNS = 200000 };
#endif

static _Atomic int owner[LIMIT + 1];
/* an event that is passed on like a stream's last event: the thread that puts another event here releases this one */
static _Atomic uint32_t handed_on;
static _Atomic unsigned wrong;
static _Atomic unsigned threads_at_work;

static void *take_and_give(void *number)
{
    int me = (int)(uintptr_t)number;
    uint32_t held[HELD] = { 0 };
    uint64_t seed = (uint64_t)me * 0x9e3779b97f4a7c15u;
    for (int turn = 0; turn < TURNS; turn++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t *place = &held[seed >> 61];
        if (*place) {
            int mine = me;
            wrong += !atomic_compare_exchange_strong(&owner[*place], &mine, 0);
            if (seed >> 40 & 1)
                event_release(&pool, *place);
            else /* one event ends an operation and begins the next one, which another thread may launch */
                event_release(&pool, atomic_exchange(&handed_on, *place));
            *place = 0;
            continue;
        }
        int nobody = 0;
        if ((*place = take_free(&pool, 1)))
            wrong += !atomic_compare_exchange_strong(&owner[*place], &nobody, me);
    }
    for (int i = 0; i < HELD; i++) {
        if (held[i])
            owner[held[i]] = 0;
        event_release(&pool, held[i]);
    }
    atomic_fetch_sub(&threads_at_work, 1);
    return NULL;
}

/* The drain (the shim's own thread) makes more events while other threads take them. There are few events, so the
 * pool is often empty. */
static void threads_take_while_it_grows(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    events_allowed = 20;
    event_pool_grow(&pool, 2);
    threads_at_work = THREADS;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1)), 0);
    while (threads_at_work) {
        event_pool_grow(&pool, 1);
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    event_release(&pool, atomic_exchange(&handed_on, 0));
    assert_int_equal(wrong, 0);
    all_are_free();
}

static uint32_t shared_marks[16];
static pthread_barrier_t both;

static void *release_shared(void *unused)
{
    for (int round = 0; round < 2000; round++) {
        pthread_barrier_wait(&both);
        for (int i = 0; i < 16; i++)
            event_release(&pool, shared_marks[i]);
        pthread_barrier_wait(&both);
    }
    return unused;
}

/* Each event has two users that release it at the same time: it must come back to the pool exactly once. */
static void two_users_let_go_at_once(void **state)
{
    (void)state;
    pthread_t other;
    event_pool_grow(&pool, 16);
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&other, NULL, release_shared, NULL), 0);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 16; i++)
            assert_int_not_equal(shared_marks[i] = take_free(&pool, 2), 0);
        assert_int_equal(take_free(&pool, 1), 0);
        pthread_barrier_wait(&both);
        for (int i = 0; i < 16; i++)
            event_release(&pool, shared_marks[i]);
        pthread_barrier_wait(&both);
        all_are_free();
    }
    pthread_join(other, NULL);
    pthread_barrier_destroy(&both);
}

int main(void)
{
#define WITH_POOL(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)
    const struct CMUnitTest tests[] = {
        WITH_POOL(what_was_made_can_be_taken_once),
        WITH_POOL(the_last_user_puts_it_back),
        WITH_POOL(no_mark_is_ignored),
        WITH_POOL(a_mark_taken_again_is_unread),
        WITH_POOL(growth_ends_at_the_limit),
        WITH_POOL(growth_ends_where_the_driver_refuses),
        WITH_POOL(few_is_half_until_no_more_can_be_made),
        WITH_POOL(few_is_never_many_at_the_limit),
        WITH_POOL(what_the_driver_refuses_is_not_asked_for_again),
        WITH_POOL(a_mark_that_came_back_is_noticed),
        WITH_POOL(marks_put_back_at_once_both_stay),
        WITH_POOL(the_last_mark_goes_to_one),
        WITH_POOL(every_change_has_its_number),
        WITH_POOL(threads_take_while_it_grows),
        WITH_POOL(two_users_let_go_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
