/* Tests of shim/timing/order. test_reconstruct_forward.c tests order_var as a part of whole windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/root.h"
#include "shim/timing/order.h"
#include "timed_ops.h"

enum { EVENT_VAR = 100 };

/* The standard deviation of the place of the event behind ops[1], in ns without the event's own variance. */
static double place_of_event(struct host_span put)
{
    return ws_root(order_behind_var(&context, &ops[0], &ops[1], put, EVENT_VAR) - EVENT_VAR);
}

/* Three launches of 1, 1 and 50 us. Their calls take from 0 to 1000, from 2000 to 3000 and from 4000 to 5000 ns. */
static void make_launches(void)
{
    set_duration(1, 1000, 0, 0);
    set_duration(2, 50000, 0, 0);
    ops[2].op.shape = 2;
    for (int i = 0; i < 3; i++) {
        ops[i].op.flags = WS_OP_CONTENDED;
        ops[i].op.host_begin = 2000 * i;
        ops[i].op.host_end = 2000 * i + 1000;
    }
    ops[3].op.host_begin = ops[3].op.host_end = 100000;
}

/* All operations count that are perhaps on the other side of the event, each with a dispatch time of 1 us. */
static void an_event_may_stand_elsewhere_while_others_launch(void **state)
{
    (void)state;
    static const struct {
        struct host_span put;
        double error;
    } cases[] = {
        { { 3000, 3900 }, 0 },          /* no other call was under way */
        { { 3000, 4100 }, 51000 },      /* the third launch had begun */
        { { 3000, INT64_MAX }, 53000 }, /* not known when the event was put in: the fourth counts, too */
        { { 2500, 3900 }, 2000 },       /* the second launch may be behind the event */
        { { 900, 4100 }, 55000 },       /* any of the three may be before it or behind it */
    };
    make_launches();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_near(place_of_event(cases[i].put), cases[i].error / STATED);
    ops[1].op.flags = 0; /* the thread had the stream to itself */
    assert_true(place_of_event(cases[1].put) == 0);
}

/* The event behind ops[1] shows the end of ops[0], if that came later in truth. */
static void a_measured_end_may_be_another_launchs(void **state)
{
    (void)state;
    make_launches();
    assert_true(order_before_var(&context, &ops[0], &ops[1]) == 0); /* its call had returned before */
    ops[0].op.host_end = 2500;
    assert_near(ws_root(order_before_var(&context, &ops[0], &ops[1])), 2000 / STATED);
}

static void only_launches_near_by_are_searched(void **state)
{
    (void)state;
    static struct pending more[20];
    make_launches();
    for (int i = 0; i < 20; i++) {
        more[i] = ops[2];
        more[i].op.host_begin = more[i].op.host_end = 100000;
        more[i].next = i < 19 ? &more[i + 1] : NULL;
    }
    ops[1].next = &more[0];
    more[15].op.host_begin = 3500;
    assert_near(place_of_event((struct host_span){ 3000, 4000 }), 51000 / STATED);
    more[15].op.host_begin = 100000;
    more[16].op.host_begin = 3500;
    assert_true(place_of_event((struct host_span){ 3000, 4000 }) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_event_may_stand_elsewhere_while_others_launch, begin_test),
        cmocka_unit_test_setup(a_measured_end_may_be_another_launchs, begin_test),
        cmocka_unit_test_setup(only_launches_near_by_are_searched, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
