/* Tests of shim/drain/pending when several threads launch into one stream. A window is a series of a stream's
 * operations up to an event; their times are computed together. The tests check where a window ends, and to which
 * operation an event belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* pending.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/drain/pending.c" // NOLINT(bugprone-suspicious-include)

struct ws_options shim_options;
static struct shim_context context;
static struct shim_stream stream;
static struct pending ops[3];
static uint32_t released;

/* --- stand-ins for functions that pending.c calls; event_release notes which events were released ---- */

void event_release(struct event_pool *pool, uint32_t event)
{
    (void)pool;
    released |= event ? 1u << event : 0;
}

void losses_count(enum ws_loss_reason reason, uint64_t count)
{
    (void)reason, (void)count;
}

void trace_add(enum ws_family family, const void *row)
{
    (void)family, (void)row;
}

enum times_state times_read(struct shim_context *of, uint32_t event, int64_t launched)
{
    (void)of, (void)event, (void)launched;
    return TIMES_NOT_YET;
}

void times_resolve(struct shim_stream *of, struct pending *pending, uint32_t end_event)
{
    (void)of, (void)pending, (void)end_event;
}

void reconstruct(struct shim_stream *of, struct pending *first, struct pending *last, uint32_t end_event)
{
    (void)of, (void)first, (void)last, (void)end_event;
}

int64_t device_clock_from_host(const struct shim_context *of, int64_t host_ns, int64_t *error)
{
    (void)of;
    *error = 0;
    return host_ns;
}

bool device_clock_known(const struct shim_context *of)
{
    (void)of;
    return true;
}

void stream_copy_done(struct shim_stream *of, enum copy_direction direction)
{
    (void)of, (void)direction;
}

/* --- a stream that threads share ---------------------------------------------------------------- */

/* Queues three operations of several threads. Their calls returned at now + 100, 200 and 300 ns. */
static int begin_test(void **state)
{
    (void)state;
    int64_t now = ws_clock_ns();
    memset(ops, 0, sizeof(ops));
    stream = (struct shim_stream){ .context = &context, .user = STREAM_SHARED };
    for (int i = 0; i < 3; i++) {
        ops[i].op.host_end = now + 100 * (i + 1);
        ops[i].op.flags = WS_OP_CONTENDED;
        ops[i].detail = WS_RING_OP_COMPUTED;
        pending_queue(&stream, &ops[i]);
    }
    released = 0;
    round_began = INT64_MAX;
    return 0;
}

static void an_event_belongs_to_the_last_operation_before_it(void **state)
{
    (void)state;
    ops[0].end_event = 1;
    /* the event was recorded 150 ns after the call: between the returns of the second and third operation */
    ops[0].late = 150;
    assert_ptr_equal(window_end(&stream, false), &ops[1]);
    assert_int_equal(ops[0].end_event, 0);
    assert_int_equal(ops[1].end_event, 1);
    assert_int_equal(ops[1].late, 50);
    assert_int_equal(ops[1].moved, 100);
    assert_int_equal(released, 0);
    /* An operation between them was read later. The event's own launch stays the first one. */
    pending_queue(&stream,
                  &(struct pending){ .op = { .host_end = ops[0].op.host_end + 140, .flags = WS_OP_CONTENDED },
                                     .detail = WS_RING_OP_COMPUTED });
    sort_by_launch(&stream);
    struct pending *last = window_end(&stream, false);
    assert_int_equal(last->late, 10);
    assert_int_equal(last->moved, 140);
}

/* While the event was put in, other threads launched so much that its place is not known. */
static void an_event_that_many_launches_passed_is_not_used(void **state)
{
    (void)state;
    static struct pending more[PASSED_MOST];
    for (int i = 0; i < PASSED_MOST; i++) {
        more[i] = ops[1];
        more[i].op.host_end = ops[0].op.host_end + 1000 + i;
        pending_queue(&stream, &more[i]);
    }
    ops[2].end_event = 4; /* the window's end */
    ops[2].op.host_end = ops[0].op.host_end + 2000;
    ops[0].end_event = 1;
    ops[0].late = 1000 + PASSED_MOST - 1; /* after the returns of ops[1] and of all but one of the others */
    stream.unsorted = true;
    sort_by_launch(&stream);
    sort_events(&stream, &ops[0]);
    assert_int_equal(more[PASSED_MOST - 2].end_event, 1);
    ops[0].end_event = 1;
    more[PASSED_MOST - 2].end_event = 0;
    ops[0].late += 1;
    sort_events(&stream, &ops[0]);
    assert_int_equal(ops[0].end_event, 0);
    assert_int_equal(more[PASSED_MOST - 1].end_event, 0);
    assert_int_equal(released, 1u << 1);
}

static void an_operation_with_an_event_of_its_own_keeps_it(void **state)
{
    (void)state;
    ops[0].end_event = 1;
    ops[0].late = 150;
    ops[1].end_event = 2;
    ops[1].late = 10;
    assert_ptr_equal(window_end(&stream, false), &ops[1]);
    assert_int_equal(ops[1].end_event, 2);
    assert_int_equal(released, 1u << 1);
}

static void a_begin_event_counts_only_after_a_wait(void **state)
{
    (void)state;
    for (int waited = 0; waited < 2; waited++) {
        released = 0;
        ops[0].begin_event = 3;
        ops[0].detail = WS_RING_OP_COMPUTED | (waited ? WS_RING_OP_WAITED : 0);
        assert_null(window_end(&stream, false));
        assert_int_equal(ops[0].begin_event, waited ? 3 : 0);
        assert_int_equal(released, waited ? 0 : 1u << 3);
    }
}

/* The drain (the shim's own thread) reads the rings of all threads in each round. If the event was recorded after the
 * round began, an operation before the event may still be unread, in the ring of another thread. So the window must
 * wait. */
static void a_window_waits_until_all_before_its_event_is_read(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct pending *at = &ops[last ? 2 : 0];
        begin_test(NULL);
        at->end_event = 1;
        at->late = 20;
        round_began = at->op.host_end + 10;
        assert_null(window_end(&stream, false));
        round_began += 10;
        assert_ptr_equal(window_end(&stream, false), at);
    }
}

/* The thread was stopped for long before it recorded the event, so it is not known when the event was recorded. Such
 * an event is not used, and does not hold up the stream. */
static void an_event_at_an_unknown_time_holds_nothing_up(void **state)
{
    (void)state;
    ops[0].end_event = 1;
    ops[0].late = UINT32_MAX;
    round_began = 0;
    assert_null(window_end(&stream, false));
    assert_int_equal(released, 1u << 1);
    ops[1].end_event = 2;
    round_began = ops[2].op.host_end;
    assert_ptr_equal(window_end(&stream, false), &ops[1]);
}

/* A stream may have tens of thousands of launches without events. Each is looked at once, not in each round. */
static void what_was_searched_is_skipped(void **state)
{
    (void)state;
    struct pending last = { .op = ops[2].op, .end_event = 5 };
    stream.user = 1;
    assert_null(window_end(&stream, false));
    ops[0].end_event = 7; /* only this test gives an operation an event that late */
    pending_queue(&stream, &last);
    assert_ptr_equal(window_end(&stream, false), &last);
    while (stream.first)
        take_first(&stream);
    begin_test(NULL);
    stream.user = 1;
    assert_null(window_end(&stream, false));
    assert_ptr_equal(take_first(&stream), &ops[0]);
    assert_ptr_equal(take_first(&stream), &ops[1]);
    take_first(&stream);
    ops[0].end_event = 6;
    pending_queue(&stream, &ops[0]); /* a queue that was empty is searched from its first operation */
    assert_ptr_equal(window_end(&stream, false), &ops[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_event_belongs_to_the_last_operation_before_it, begin_test),
        cmocka_unit_test_setup(an_event_that_many_launches_passed_is_not_used, begin_test),
        cmocka_unit_test_setup(an_operation_with_an_event_of_its_own_keeps_it, begin_test),
        cmocka_unit_test_setup(a_begin_event_counts_only_after_a_wait, begin_test),
        cmocka_unit_test_setup(a_window_waits_until_all_before_its_event_is_read, begin_test),
        cmocka_unit_test_setup(an_event_at_an_unknown_time_holds_nothing_up, begin_test),
        cmocka_unit_test_setup(what_was_searched_is_skipped, begin_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
