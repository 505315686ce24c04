/* Tests of shim/timing/times: all cases together, on a small model of a stream whose true times are known. Each true
 * time must lie within the reported error. */
#include <stdlib.h>

#include "fake_clock.h"

/* The model: one stream of a device whose clock is the host's plus OFFSET. The stream works in order. An event passes
 * when it has reached the device and all work before it has ended, or a moment later. An operation may begin as soon
 * as the one before it has ended, but begins only some time after an event. */
enum {
    OFFSET = 1000000000,
    OP_DISPATCH = 2200,      /* most ns from when an operation is ready until it begins; as in times.c */
    OP_DISPATCH_LEAST = 700, /* least ns from an event until the operation behind it begins; as in times.c */
    EVENT_DISPATCH = 1000,   /* most ns from the end of an operation to the event behind it */
    LEAST_DURATION = 1000,
};

struct model {
    uint64_t seed;
    int64_t host;      /* the thread's current time on the host's clock */
    int64_t ended;     /* when all work in the stream so far will have ended, on the host's clock */
    int64_t submit;    /* ns that work takes from the host to the device */
    bool behind_event; /* the stream's last entry is an event; it passes at `ended` */
    /* the end event of the last operation, which can serve as begin event of the next; 0: none */
    uint32_t last_event;
    uint32_t next_event;
};

static uint32_t copies; /* the shape of all copies */

static int64_t some(struct model *model, int64_t most)
{
    model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((model->seed >> 33) % ((uint64_t)most + 1));
}

static bool one_in(struct model *model, int64_t count)
{
    return !some(model, count - 1);
}

/* The thread's time between two steps is mostly short, and sometimes long, as if the thread was preempted. */
static int64_t a_moment(struct model *model)
{
    return one_in(model, 20) ? some(model, 300000) : some(model, 5000);
}

/* The thread records an event at its current time. */
static uint32_t model_event(struct model *model)
{
    int64_t came = model->host + model->submit;
    int64_t followed = model->ended + some(model, EVENT_DISPATCH);
    model->ended = came > followed ? came : followed;
    model->behind_event = true;
    uint32_t event = model->next_event = model->next_event % EVENTS + 1;
    put_event(event, model->ended + OFFSET + some(model, 2 * EVENT_ERROR) - EVENT_ERROR);
    return event;
}

/* Queues an operation that the driver submits at a random time between `from` and `to`. It begins `wait` ns after the
 * earliest possible time. */
static void model_work(struct model *model, int64_t from, int64_t to, int64_t wait, int64_t *begin, int64_t *end)
{
    int64_t came = from + some(model, to - from) + model->submit;
    int64_t ready = came > model->ended ? came : model->ended;
    int64_t could = model->ended + (model->behind_event ? OP_DISPATCH_LEAST : 0);
    could = could > ready ? could : ready;
    *begin = could + some(model, ready + OP_DISPATCH - could) + wait;
    model->behind_event = false;
    *end = model->ended = *begin + LEAST_DURATION + (one_in(model, 3) ? some(model, 300000) : some(model, 5000));
}

/* Another thread puts work into the stream, with no event of the shim's around that work. */
static void model_others(struct model *model)
{
    int64_t begin, end;
    model_work(model, model->host, model->host, 0, &begin, &end);
}

static void check_truth(const struct ws_op *op, int64_t begin, int64_t end)
{
    assert_true(op->begin <= op->end);
    assert_in_range(llabs(op->begin - begin - OFFSET), 0, op->begin_error);
    assert_in_range(llabs(op->end - end - OFFSET), 0, op->end_error);
    assert_int_not_equal(ws_op_begin_quality(op), WS_TIME_NONE);
    assert_int_not_equal(ws_op_end_quality(op), WS_TIME_NONE);
}

/* Runs one operation with the events that shim/calls/ops.c would use: first a begin event of its own or the end event
 * of the operation before, then the call, then the end event. */
static void model_op(struct model *model)
{
    int64_t begin, end;
    bool to_host = one_in(model, 2), dependent = one_in(model, 8);
    bool waits = one_in(model, 8), contends = one_in(model, 8), late = one_in(model, 8), copy = one_in(model, 4);
    bool shared = copy && one_in(model, 2), own = one_in(model, 3) || !model->last_event;
    model->host += one_in(model, 2) ? 0 : a_moment(model);
    struct pending pending = {
        .op.flags =
            (waits ? WS_OP_BLOCKING : 0) | (contends ? WS_OP_CONTENDED : 0) | (dependent ? WS_OP_DEPENDENT : 0),
        .op.shape = copy ? copies : 0,
        .op.bytes = copy ? one_in(model, 2) ? 1000 : 100000 : 0,
        .begin_event = own ? model_event(model) : model->last_event,
        .inner = (own ? WS_RING_OP_OWN_BEGIN : 0) | (shared ? WS_RING_OP_ENGINE_BUSY : 0),
        .direction = copy ? to_host ? COPY_TO_HOST : COPY_TO_DEVICE : COPY_DIRECTIONS,
        .kind = late   ? WS_OP_MEMORY_OP
                : copy ? WS_OP_COPY
                       : WS_OP_KERNEL,
        .staged = copy && one_in(model, 2),
    };
    if (one_in(model, 20))
        pending.begin_event = 0;
    model->host += a_moment(model);
    if (contends && one_in(model, 2))
        model_others(model);
    pending.op.host_begin = model->host;
    int64_t returned = model->host += 500 + a_moment(model);
    model_work(model, pending.op.host_begin, returned, late || shared ? some(model, 200000) : 0, &begin, &end);
    /* a call whose copy is staged may return before the copy ends */
    int64_t done = pending.staged ? end - some(model, 3000) : end;
    if ((waits || pending.staged) && model->host < done)
        model->host = done + some(model, 3000);
    pending.op.host_end = model->host;
    if (contends && one_in(model, 2))
        model_others(model);
    model->host += a_moment(model);
    pending.end_event = model->last_event = model_event(model);
    pending.late = (uint32_t)(model->host - pending.op.host_end);
    times_resolve(&stream, &pending, pending.end_event);
    check_truth(&pending.op, begin, end);
}

/* Runs a series of launches, each of which may begin before the previous one has ended. There is one event before the
 * first launch and one behind the last. */
static void model_dependents(struct model *model)
{
    enum { MOST = 6 };
    struct pending pending[MOST];
    int64_t begin[MOST], end[MOST], ended;
    int count = 1 + (int)some(model, MOST - 1);
    uint32_t before = model->last_event;
    for (int i = 0; i < count; i++, before = 0) {
        int64_t from = model->host, to = model->host += 500 + a_moment(model);
        pending[i] = (struct pending){
            .op = { .host_begin = from, .host_end = to, .flags = WS_OP_DEPENDENT },
            .begin_event = before,
            .inner = WS_RING_OP_HELD,
            .direction = COPY_DIRECTIONS,
            .kind = WS_OP_KERNEL,
        };
        ended = model->ended;
        model_work(model, from, to, 0, &begin[i], &end[i]);
        if (i) { /* this launch may begin as soon as the previous one has begun */
            int64_t could = begin[i - 1] > from + model->submit ? begin[i - 1] : begin[i];
            begin[i] = could < begin[i] ? could + some(model, begin[i] - could) : begin[i];
            model->ended = end[i] > ended ? end[i] : ended;
        }
    }
    model->host += a_moment(model);
    uint32_t event = model->last_event = model_event(model);
    for (int i = 0; i < count; i++) {
        times_resolve(&stream, &pending[i], event);
        check_truth(&pending[i].op, begin[i], end[i]);
    }
}

static void the_truth_lies_within(void **state)
{
    (void)state;
    locks_open();
    for (uint64_t seed = 1; seed <= 400; seed++) {
        begin_anew(NULL);
        assert_true(registry_lock());
        copies = registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_COPY, .stream = 1 });
        registry_unlock();
        struct model model = { .seed = seed * 0x9e3779b97f4a7c15u, .host = 1000000 };
        model.submit = some(&model, SUBMIT);
        host_error = one_in(&model, 2) ? some(&model, 300) : some(&model, 20000);
        host_off = OFFSET + some(&model, 2 * host_error) - host_error;
        for (int i = 0; i < 100; i++) {
            if (model.last_event && one_in(&model, 10))
                model_dependents(&model);
            else
                model_op(&model);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_truth_lies_within, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
