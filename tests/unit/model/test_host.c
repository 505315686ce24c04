#include "check.h"

#include "built.h"
#include "model/host.h"

enum { THREADS = 3, EVENTS = 300, STRETCH = 40 };

/* The order in which the rows of several threads stand in the trace. */
enum order { BY_TURNS, BY_STRETCHES, OUT_OF_ORDER, ORDERS };

struct event {
    uint32_t thread;
    enum ws_host_kind kind;
    int64_t begin, end;
};

/* Makes random events. The events of one thread do not overlap, and each thread launches at least one operation. */
static void think_up(struct event *events, enum order order, uint64_t *random)
{
    int64_t now[THREADS + 1] = { 0 };
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t turn = order == BY_STRETCHES ? i / STRETCH : (uint32_t)next_random(random);
        struct event *event = &events[i];
        event->thread = 1 + (i < THREADS ? i : turn % THREADS);
        event->kind =
            i < THREADS || (order == BY_STRETCHES && next_random(random) % 8) ? WS_HOST_OP : next_random(random) % 3;
        event->begin = now[event->thread] + (int64_t)(next_random(random) % 50);
        event->end = event->begin + (int64_t)(next_random(random) % 50);
        now[event->thread] = event->end + 1;
    }
}

static void write_rows(struct builder *trace, const struct event *events)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = 1, .function = build_function(trace, "kernel") };
    uint32_t kernel = build_shape(trace, &shape),
             sync = build_driver_function(trace, "cuCtxSynchronize", WS_CALL_SYNC);
    uint32_t reduce = build_driver_function(trace, "ncclAllReduce", WS_CALL_NCCL);
    for (size_t i = 0; i < EVENTS; i++) {
        const struct event *event = &events[i];
        if (event->kind == WS_HOST_OP) {
            struct ws_op op = build_op_of(trace, kernel, event->begin, event->end);
            op.thread = event->thread;
            op.host_begin = event->begin;
            op.host_end = event->end;
            build_row(trace, WS_FAMILY_op, &op);
        } else if (event->kind == WS_HOST_CALL) {
            struct ws_call call = {
                .function = sync, .thread = event->thread, .host_begin = event->begin, .host_end = event->end
            };
            build_row(trace, WS_FAMILY_call, &call);
        } else {
            struct ws_collective call = {
                .function = reduce, .thread = event->thread, .host_begin = event->begin, .host_end = event->end
            };
            build_row(trace, WS_FAMILY_collective, &call);
        }
    }
}

/* Exchanges rows of the second thread with each other. Rows of other threads stay where they are. */
static void shuffle(struct event *rows, uint64_t *random)
{
    for (size_t i = 0; i < EVENTS; i++) {
        size_t other = next_random(random) % EVENTS;
        struct event event = rows[i];
        if (rows[i].thread != 2 || rows[other].thread != 2)
            continue;
        rows[i] = rows[other];
        rows[other] = event;
    }
}

static void ask(const struct ws_host *host, struct ws_host_cursor *cursor, const struct event *events, int64_t from)
{
    const struct ws_process *process = host->process;
    uint32_t thread = ((const uint32_t *)process->ops.threads.data)[cursor->thread];
    int64_t until = from + 500;
    struct ws_host_event event;
    ws_host_seek(host, cursor, from);
    for (size_t i = 0; i < EVENTS; i++) {
        if (events[i].thread != thread || events[i].end <= from || events[i].begin >= until)
            continue;
        assert_true(ws_host_next(host, cursor, until, &event));
        while (event.end <= from) /* skips an event of no length that lies exactly at `from` */
            assert_true(ws_host_next(host, cursor, until, &event));
        assert_int_equal(event.begin, events[i].begin);
        assert_int_equal(event.end, events[i].end);
        assert_int_equal(event.kind, events[i].kind);
        if (event.kind == WS_HOST_OP)
            assert_int_equal(ws_op_thread(&process->ops, event.index), thread);
    }
    assert_false(ws_host_next(host, cursor, until, &event));
}

/* Cursors are set to random times, forwards and backwards. Each time a cursor must give the thread's events that end
 * after that time, sorted by begin. */
static void a_cursor_gives_a_threads_events_from_any_time(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 10 * ORDERS; round++) {
        struct event events[EVENTS], rows[EVENTS];
        struct built built;
        struct builder *trace = built_begin(&built);
        struct ws_host host;
        build_device(trace, 1, "Test GPU", 0, 0);
        build_stream(trace, 1, 1);
        think_up(events, round % ORDERS, &random);
        memcpy(rows, events, sizeof(rows));
        if (round % ORDERS == OUT_OF_ORDER)
            shuffle(rows, &random);
        write_rows(trace, rows);
        built_report(&built);
        assert_int_equal(ws_host_init(&host, ws_model_process(built.model, 0)), 0);
        assert_int_equal(host.thread_count, THREADS);
        struct ws_host_cursor cursors[THREADS] = { 0 };
        for (int i = 0; i < 200; i++) {
            size_t place = next_random(&random) % THREADS;
            cursors[place].thread = place;
            ask(&host, &cursors[place], events, (int64_t)(next_random(&random) % 6000));
        }
        ws_host_finish(&host);
        built_finish(&built);
    }
}

/* Consecutive rows of one thread and kind (operations or calls) are stored as one run. One more run marks the end of
 * each list. */
static void rows_in_order_are_one_run(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    struct event rows[EVENTS];
    struct ws_host host;
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    for (int i = 0; i < EVENTS; i++)
        rows[i] =
            (struct event){ i < 100 || i >= 200 ? 1 : 2, i % 2 ? WS_HOST_CALL : WS_HOST_OP, i * 10, i * 10 + 5 };
    write_rows(trace, rows);
    built_report(&built);
    assert_int_equal(ws_host_init(&host, ws_model_process(built.model, 0)), 0);
    for (int kind = WS_HOST_OP; kind <= WS_HOST_CALL; kind++) {
        const struct ws_host_list *lists = host.lists[kind];
        assert_int_equal(lists[0].count, 100);
        assert_int_equal(lists[0].runs.count, 2 + 1);
        assert_int_equal(lists[1].count, 50);
        assert_int_equal(lists[1].runs.count, 1 + 1);
    }
    ws_host_finish(&host);
    built_finish(&built);
}

/* A thread that made calls but launched nothing is left out of the list of threads. */
static void without_operations_there_are_no_threads(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    struct ws_host host;
    (void)state;
    struct ws_call call = { .function = build_driver_function(trace, "cuCtxSynchronize", WS_CALL_SYNC),
                            .thread = 1,
                            .host_begin = 10,
                            .host_end = 20 };
    build_device(trace, 1, "Test GPU", 0, 0);
    build_row(trace, WS_FAMILY_call, &call);
    built_report(&built);
    assert_int_equal(ws_host_init(&host, ws_model_process(built.model, 0)), 0);
    assert_int_equal(host.thread_count, 0);
    ws_host_finish(&host);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_gives_a_threads_events_from_any_time),
        cmocka_unit_test(rows_in_order_are_one_run),
        cmocka_unit_test(without_operations_there_are_no_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
