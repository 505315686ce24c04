#include "loop_run.h"

double uniform(struct run *run)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(run->random >> 11) + 0.5) / 9007199254740992.0;
}

int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add(struct run *run, struct ws_shape shape, int64_t length)
{
    int64_t called = run->host, begin = later(run->stream_end[shape.stream] + us, called + 8 * us);
    length = (int64_t)((double)length * (0.98 + 0.04 * uniform(run)));
    run->host += 5 * us;
    run->stream_end[shape.stream] = begin + length;
    run->first = run->first && run->first < begin ? run->first : begin;
    struct ws_op op = build_op_of(&run->trace, build_shape(&run->trace, &shape), begin, begin + length);
    op.host_begin = called + clock_offset;
    op.host_end = called + 4 * us + clock_offset;
    op.begin_error = op.end_error = 500;
    op.thread = run->thread;
    build_row(&run->trace, WS_FAMILY_op, &op);
    if (run->step_begins && shape.stream == COMPUTE) {
        run->steps[run->step_count++] = begin;
        run->step_begins = false;
    }
}

void kernel(struct run *run, uint32_t stream, const char *name, double length)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = stream,
                              .function = build_function(&run->trace, name),
                              .driver_function = build_driver_function(&run->trace, "cuLaunchKernel", WS_CALL_LAUNCH),
                              .grid_x = (uint32_t)(16 + length),
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 256,
                              .block_y = 1,
                              .block_z = 1 };
    add(run, shape, (int64_t)(1e3 * length * run->scale));
}

void graph(struct run *run, uint32_t number, double length)
{
    struct ws_shape shape = { .kind = WS_OP_GRAPH,
                              .stream = COMPUTE,
                              .function = number,
                              .driver_function =
                                  build_driver_function(&run->trace, "cuGraphLaunch", WS_CALL_LAUNCH) };
    add(run, shape, (int64_t)(1e3 * length));
}

void copy(struct run *run, uint32_t stream, bool to_device)
{
    struct ws_shape shape = { .kind = WS_OP_COPY,
                              .stream = stream,
                              .from_space = to_device ? WS_SPACE_PINNED : WS_SPACE_DEVICE,
                              .to_space = to_device ? WS_SPACE_DEVICE : WS_SPACE_PINNED,
                              .driver_function = build_driver_function(&run->trace, "cuMemcpyAsync", WS_CALL_COPY) };
    add(run, shape, to_device ? 12 * us : 2 * us);
}

void wait_for(struct run *run, uint32_t stream)
{
    int64_t begin = run->host;
    run->host = later(begin + us, run->stream_end[stream] + 4 * us);
    struct ws_call call = { .function = build_driver_function(&run->trace, "cuStreamSynchronize", WS_CALL_SYNC),
                            .thread = run->thread,
                            .correlation = (uint64_t)2 << 40 | ++run->trace.launches,
                            .host_begin = begin + clock_offset,
                            .host_end = run->host + clock_offset };
    build_row(&run->trace, WS_FAMILY_call, &call);
}

void read_result(struct run *run, uint32_t stream)
{
    copy(run, stream, false);
    wait_for(run, stream);
}

void follow(struct run *run, uint32_t stream, uint32_t other)
{
    run->stream_end[stream] = later(run->stream_end[stream], run->stream_end[other]);
}

static void pieces(struct run *run, uint32_t stream, const struct piece *list, size_t most)
{
    for (size_t i = 0; i < most && list[i].name; i++)
        kernel(run, stream, list[i].name, list[i].length);
}

#define PIECES(run, stream, list) pieces(run, stream, list, sizeof(list) / sizeof((list)[0]))

void forward(struct run *run, uint32_t stream, int layers)
{
    PIECES(run, stream, run->program->begin);
    for (int i = 0; i < layers; i++)
        PIECES(run, stream, run->program->forward);
    PIECES(run, stream, run->program->end);
}

void backward(struct run *run, uint32_t stream, int layers)
{
    for (int i = 0; i < layers; i++)
        PIECES(run, stream, run->program->backward);
}

void update(struct run *run, uint32_t stream)
{
    PIECES(run, stream, run->program->update);
}
