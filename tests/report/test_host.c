#include "check.h"

#include "load.h"
#include "model/host.h"

enum { THREADS = 3, EVENTS = 300 };

/* What a thread did, in the order of its making. */
struct event {
    uint32_t thread;
    enum ws_host_kind kind;
    int64_t begin, end;
};

/* Threads take turns at random, in one order of rows; a thread's events follow each other. */
static size_t make(struct story *story, struct event *events, uint64_t *random)
{
    int64_t now[THREADS + 1] = { 0 };
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = 1, .function = story_function(story, "kernel") };
    uint32_t kernel = story_shape(story, &shape),
             sync = story_driver_function(story, "cuCtxSynchronize", WS_CALL_SYNC);
    uint32_t reduce = story_driver_function(story, "ncclAllReduce", WS_CALL_NCCL);
    for (size_t i = 0; i < EVENTS; i++) {
        uint32_t thread = 1 + (uint32_t)(next_random(random) % THREADS);
        int64_t begin = now[thread] + (int64_t)(next_random(random) % 50);
        struct event event = { thread, i < THREADS ? WS_HOST_OP : next_random(random) % 3, begin,
                               begin + (int64_t)(next_random(random) % 50) };
        if (i < THREADS)
            event.thread = (uint32_t)i + 1; /* each thread makes an operation */
        now[event.thread] = event.end + 1;
        if (event.kind == WS_HOST_OP) {
            struct ws_op op = story_op(story, kernel, begin, event.end);
            op.thread = event.thread;
            op.host_begin = begin;
            op.host_end = event.end;
            story_add(story, WS_FAMILY_op, &op);
        } else if (event.kind == WS_HOST_CALL) {
            struct ws_call call = {
                .function = sync, .thread = event.thread, .host_begin = begin, .host_end = event.end
            };
            story_add(story, WS_FAMILY_call, &call);
        } else {
            struct ws_collective call = {
                .function = reduce, .thread = event.thread, .host_begin = begin, .host_end = event.end
            };
            story_add(story, WS_FAMILY_collective, &call);
        }
        events[i] = event;
    }
    return EVENTS;
}

/* From any time on, in any order of asking: the events that end later, by begin. */
static void a_cursor_gives_a_threads_events_from_any_time(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct event events[EVENTS];
        struct loaded loaded;
        struct story *story = load_begin(&loaded);
        struct ws_host host;
        story_device(story, 1, "Test GPU", 0, 0);
        story_stream(story, 1, 1);
        size_t count = make(story, events, &random);
        load_report(&loaded);
        const struct ws_process *process = ws_model_process(loaded.model, 0);
        assert_int_equal(ws_host_init(&host, process), 0);
        assert_int_equal(host.thread_count, THREADS);
        struct ws_host_cursor cursors[THREADS] = { 0 };
        for (int ask = 0; ask < 200; ask++) {
            size_t place = next_random(&random) % THREADS;
            uint32_t thread = ((const uint32_t *)process->ops.threads.data)[place];
            int64_t from = (int64_t)(next_random(&random) % 6000), until = from + 500;
            struct ws_host_event event;
            cursors[place].thread = place;
            ws_host_seek(&host, &cursors[place], from);
            for (size_t i = 0; i < count; i++) {
                if (events[i].thread != thread || events[i].end <= from || events[i].begin >= until)
                    continue;
                assert_true(ws_host_next(&host, &cursors[place], until, &event));
                while (event.end <= from) /* one of no length, at the very time */
                    assert_true(ws_host_next(&host, &cursors[place], until, &event));
                assert_int_equal(event.begin, events[i].begin);
                assert_int_equal(event.end, events[i].end);
                assert_int_equal(event.kind, events[i].kind);
            }
            assert_false(ws_host_next(&host, &cursors[place], until, &event));
        }
        ws_host_finish(&host);
        load_finish(&loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_gives_a_threads_events_from_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
