/* Writes the trace of a made-up program and, beside it, when its steps truly began:
 *
 *   make_steps SEED TRACE TRUTH
 *
 * Seeds from 1 to CONTROLS - 1 repeat a step, and add other things that programs do: warm-up with its own kernels,
 * regular evaluation, a skipped update, accumulated gradients, sequences of different lengths, communication and
 * copies on other streams, waits for the loss, slow batches, a checkpoint, and other work at the end of the run.
 * Seeds from CONTROLS on are controls, without steps: kernels in random order, or, for odd seeds, requests to a
 * server with many models. There are no step markers in the trace.
 *
 * TRUTH is JSON; times are in ns of the device's clock: `first`, the begin of the first operation; `steps`, the
 * device begin of each step's first operation on the computing stream (empty for a control); `warm_up`, how many
 * steps at the beginning are warm-up; `others`, intervals that belong to no step; `period`, the median distance of
 * successive steps after the warm-up with none of `others` between them.
 *
 * The times come from a small model: the host launches one operation after another, and a stream runs them in order.
 * The host is ahead of the device by at most the length of the queue. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "random.h"
#include "step_programs.h"

enum {
    CONTROLS = 1000,
    MOST_STEPS = 400,
    MOST_OTHERS = 512,
    QUEUE = 1024,
    LENGTHS = 6,
    COMPUTE = 1,
    COMM = 2,
    COPIES = 3
};

static const int64_t us = 1000, clock_offset = 3000000000;

enum tail { TAIL_NONE, TAIL_EVALUATION, TAIL_CHECKPOINT, TAIL_OTHER, TAILS };

/* The choices that the seed determines. */
struct plan {
    const struct program *program;
    int layers, steps, warm_up, accumulate, eval_every, eval_batches, checkpoint_every, skip_percent, stall_percent;
    enum tail tail;
    bool waits_for_loss, prefetches;
    int log_every; /* every log_every steps, another stream computes and copies figures; only seeds over 50 */
    double size, device_jitter, host_jitter, launch_us;
};

struct run {
    struct builder trace;
    struct plan plan;
    uint64_t random;
    int64_t first;                              /* begin of the first operation */
    int64_t host, stream_end[4], recent[QUEUE]; /* host: time of the next call; stream_end: end of each stream's last
                                                   operation; recent: ends of the last QUEUE operations */
    uint64_t launches;
    double scale; /* multiplies the durations of this batch's kernels */
    uint32_t length;
    bool step_begins; /* the next operation on the computing stream begins a step */
    int64_t steps[MOST_STEPS], others[MOST_OTHERS][2];
    int step_count, other_count;
};

static double uniform(struct run *run)
{
    return ((double)(next_random(&run->random) >> 11) + 0.5) / 9007199254740992.0;
}

static int between(struct run *run, int from, int to)
{
    return from + (int)(uniform(run) * (to - from + 1));
}

static bool percent(struct run *run, int chance)
{
    return uniform(run) * 100 < chance;
}

/* A random factor around 1. With probability `rarely` it is far above 1, as on a busy machine. */
static double jitter(struct run *run, double spread, double rarely)
{
    double normal = sqrt(-2 * log(uniform(run))) * cos(6.283185307179586 * uniform(run));
    return exp(spread * normal) * (uniform(run) < rarely ? 1 + 4 * uniform(run) : 1);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- operations */

static void add(struct run *run, struct ws_shape shape, uint64_t bytes, double length)
{
    int64_t *end = &run->stream_end[shape.stream], *slot = &run->recent[run->launches++ % QUEUE];
    int64_t called = later(run->host, *slot); /* the host waits while the queue is full */
    int64_t returned = called + (int64_t)(1e3 * run->plan.launch_us * jitter(run, run->plan.host_jitter, 0.005));
    int64_t begin = later(*end + us, returned + 3 * us);
    *end = *slot = begin + later(us, (int64_t)(1e3 * length * jitter(run, run->plan.device_jitter, 0)));
    run->first = run->launches == 1 || begin < run->first ? begin : run->first;
    struct ws_op op = build_op_of(&run->trace, build_shape(&run->trace, &shape), begin, *end);
    op.host_begin = called + clock_offset;
    op.host_end = returned + clock_offset - us / 2;
    op.bytes = bytes;
    op.begin_error = op.end_error = 500;
    build_row(&run->trace, WS_FAMILY_op, &op);
    run->host = returned;
    if (run->step_begins && shape.stream == COMPUTE) {
        run->steps[run->step_count++] = begin;
        run->step_begins = false;
    }
}

static void kernel(struct run *run, uint32_t stream, const struct piece *piece, uint32_t variant)
{
    bool other_tile = run->length % 2 && !strcmp(piece->name, GEMM);
    const char *name = other_tile ? GEMM_OF_LENGTH : piece->name;
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = stream,
                              .function = build_function(&run->trace, name),
                              .driver_function = build_driver_function(&run->trace, "cuLaunchKernel", WS_CALL_LAUNCH),
                              .grid_x = (uint32_t)(16 + piece->length) * (1 + run->length),
                              .grid_y = 1 + variant,
                              .grid_z = 1,
                              .block_x = 256,
                              .block_y = 1,
                              .block_z = 1 };
    add(run, shape, 0, piece->length * run->scale * run->plan.size);
}

static void copy(struct run *run, uint32_t stream, bool to_device, uint64_t bytes)
{
    struct ws_shape shape = { .kind = WS_OP_COPY,
                              .stream = stream,
                              .from_space = to_device ? WS_SPACE_PINNED : WS_SPACE_DEVICE,
                              .to_space = to_device ? WS_SPACE_DEVICE : WS_SPACE_PINNED,
                              .driver_function = build_driver_function(&run->trace, "cuMemcpyAsync", WS_CALL_COPY) };
    add(run, shape, bytes, 1 + (double)bytes / 25e3);
}

static void wait_for(struct run *run, uint32_t stream)
{
    int64_t begin = run->host;
    run->host = later(begin + us, run->stream_end[stream] + 4 * us);
    build_call(&run->trace, "cuStreamSynchronize", WS_CALL_SYNC, begin + clock_offset, run->host + clock_offset);
}

static void kernels(struct run *run, const struct piece *pieces, size_t most, uint32_t variant)
{
    for (size_t i = 0; i < most && pieces[i].name; i++)
        kernel(run, COMPUTE, &pieces[i], variant);
}

#define KERNELS(run, list, variant) kernels(run, list, sizeof(list) / sizeof((list)[0]), variant)

/* The shapes of convolutions change from layer to layer. In other programs all layers have the same shapes. */
static uint32_t variant_of(const struct run *run, int layer)
{
    return strcmp(run->plan.program->name, "convolutions") ? 0 : (uint32_t)(layer * 4 / run->plan.layers);
}

/* ---- what programs do */

static void load_batch(struct run *run)
{
    run->length = run->plan.program->lengths_differ ? (uint32_t)between(run, 0, LENGTHS - 1) : 0;
    run->scale = run->plan.program->lengths_differ ? 0.5 + 0.2 * run->length : 1;
    if (percent(run, run->plan.stall_percent))
        run->host = later(run->host, run->stream_end[COMPUTE]) + (int64_t)(uniform(run) * 4e6);
    copy(run, run->plan.prefetches ? COPIES : COMPUTE, true, 400000);
}

static void forward(struct run *run)
{
    const struct program *program = run->plan.program;
    KERNELS(run, program->begin, 0);
    for (int layer = 0; layer < run->plan.layers; layer++)
        KERNELS(run, program->forward, variant_of(run, layer));
    KERNELS(run, program->end, 0);
}

static void all_reduce(struct run *run)
{
    run->stream_end[COMM] = later(run->stream_end[COMM], run->stream_end[COMPUTE]);
    kernel(run, COMM, &(struct piece){ ALL_REDUCE, 180 }, 0);
}

static void backward(struct run *run, bool reduces)
{
    const struct program *program = run->plan.program;
    kernels(run, (const struct piece[]){ { LOSS_BACKWARD, 3 }, { SOFTMAX_BACKWARD, 60 } }, 2, 0);
    for (int layer = run->plan.layers; layer-- > 0;) {
        KERNELS(run, program->backward, variant_of(run, layer));
        if (reduces && layer % 2 == 0)
            all_reduce(run);
    }
    kernel(run, COMPUTE, &(struct piece){ EMBEDDING_BACKWARD, 25 }, 0);
    run->stream_end[COMPUTE] = later(run->stream_end[COMPUTE], run->stream_end[COMM]);
}

static void train_step(struct run *run)
{
    const struct plan *plan = &run->plan;
    run->step_begins = true;
    for (int i = 0; i < plan->accumulate; i++) {
        load_batch(run);
        forward(run);
        if (plan->program->trains)
            backward(run, plan->program->communicates && i == plan->accumulate - 1);
    }
    if (plan->program->trains && !percent(run, plan->skip_percent)) /* an overflow skips the update */
        KERNELS(run, plan->program->update, 0);
    if (plan->waits_for_loss) {
        copy(run, COMPUTE, false, 4);
        wait_for(run, COMPUTE);
    }
}

/* Launches work that belongs to no step, and notes its interval on the computing stream. */
static void other(struct run *run, void (*work)(struct run *run))
{
    int64_t begin = run->stream_end[COMPUTE];
    work(run);
    if (run->other_count < MOST_OTHERS) {
        run->others[run->other_count][0] = begin;
        run->others[run->other_count++][1] = run->stream_end[COMPUTE];
    }
}

/* Evaluation: batches without the backward pass. A program that does not train processes a prompt instead. */
static void evaluate(struct run *run)
{
    for (int i = 0; i < run->plan.eval_batches; i++) {
        load_batch(run);
        if (run->plan.program->trains)
            forward(run);
        for (int layer = 0; layer < run->plan.layers && !run->plan.program->trains; layer++)
            KERNELS(run, programs[0].forward, 0);
        kernel(run, COMPUTE, &(struct piece){ ARGMAX, 6 }, 0);
    }
    copy(run, COMPUTE, false, 4);
    wait_for(run, COMPUTE);
}

static void save_checkpoint(struct run *run)
{
    for (int i = 0; i < run->plan.layers; i++) {
        copy(run, COMPUTE, false, 40000000);
        wait_for(run, COMPUTE);
    }
    run->host += 10 * 1000 * us;
}

/* Launches kernels in random order. */
static void wander(struct run *run, int count)
{
    for (int i = 0; i < count; i++) {
        const struct program *program = &programs[between(run, 0, PROGRAMS - 1)];
        const struct piece *piece = &program->forward[between(run, 0, FORWARD - 1)];
        if (!piece->name)
            continue;
        run->scale = exp(2 * uniform(run) - 1);
        kernel(run, COMPUTE, piece, (uint32_t)between(run, 0, 2));
        if (percent(run, 3))
            run->host += (int64_t)(uniform(run) * 1e6);
        if (percent(run, 2))
            wait_for(run, COMPUTE);
    }
}

/* A server of many models: within a request a layer repeats, but the requests themselves follow no pattern. */
static void serve(struct run *run, int requests)
{
    for (int i = 0; i < requests; i++) {
        const struct program *program = &programs[between(run, 0, PROGRAMS - 1)];
        run->scale = exp(2 * uniform(run) - 1);
        KERNELS(run, program->begin, 0);
        for (int layer = between(run, 1, 9); layer > 0; layer--)
            KERNELS(run, program->forward, 0);
        if (percent(run, 50))
            KERNELS(run, program->end, 0);
        run->host += (int64_t)(-3e5 * log(uniform(run)));
    }
}

static void work_otherwise(struct run *run)
{
    wander(run, 40 * run->plan.layers);
}

static void warm_up(struct run *run)
{
    run->host += (int64_t)(uniform(run) * 3e7);
    for (int i = between(run, 0, 12); i > 0; i--) /* as when libraries try out several kernels */
        kernel(run, COMPUTE, &(struct piece){ i % 2 ? CONV : GEMM_WEIGHTS, 30.0 + i }, 5);
}

/* Launches other work at the end of the run. This work takes less time than the steps, because otherwise its
 * repetitions could count as the steps. */
static void end_differently(struct run *run)
{
    run->plan.eval_batches = run->plan.program->trains ? run->plan.steps / 3 : 2;
    if (run->plan.tail == TAIL_EVALUATION)
        other(run, evaluate);
    else if (run->plan.tail == TAIL_CHECKPOINT)
        other(run, save_checkpoint);
    else if (run->plan.tail == TAIL_OTHER)
        other(run, work_otherwise);
}

static void log_figures(struct run *run)
{
    run->stream_end[COPIES] = later(run->stream_end[COPIES], run->stream_end[COMPUTE]);
    kernel(run, COPIES, &(struct piece){ ARGMAX, 3 }, 1);
    kernel(run, COPIES, &(struct piece){ ARGMAX, 2 }, 2);
    copy(run, COPIES, false, 64);
}

static void run_program(struct run *run)
{
    const struct plan *plan = &run->plan;
    for (int step = 0; step < plan->steps; step++) {
        if (step < plan->warm_up)
            other(run, warm_up);
        train_step(run);
        if (plan->log_every && step % plan->log_every == 0)
            log_figures(run);
        if (plan->eval_every && step % plan->eval_every == plan->eval_every - 1)
            other(run, evaluate);
        if (plan->checkpoint_every && step % plan->checkpoint_every == plan->checkpoint_every - 1)
            other(run, save_checkpoint);
    }
    end_differently(run);
}

static void make_plan(struct run *run, int seed)
{
    struct plan *plan = &run->plan;
    const struct program *program = &programs[seed % PROGRAMS];
    bool trains = program->trains;
    *plan = (struct plan){ .program = program,
                           .layers = between(run, program->layers[0], program->layers[1]),
                           .steps = between(run, 8, 60),
                           .warm_up = between(run, 0, 4),
                           .accumulate = trains && percent(run, 25) ? between(run, 2, 8) : 1,
                           .eval_every = percent(run, 40) ? between(run, 5, 20) : 0,
                           .eval_batches = between(run, 1, 6),
                           .checkpoint_every = trains && percent(run, 25) ? between(run, 8, 25) : 0,
                           .skip_percent = percent(run, 20) ? 5 : 0,
                           .stall_percent = percent(run, 30) ? between(run, 2, 60) : 0,
                           .tail = (enum tail)between(run, 0, TAILS - 1),
                           .waits_for_loss = percent(run, 40),
                           .prefetches = percent(run, 40),
                           .size = exp(2.4 * uniform(run) - 1.2),
                           .device_jitter = 0.005 + 0.12 * uniform(run) * uniform(run),
                           .host_jitter = 0.05 + 0.3 * uniform(run),
                           .launch_us = 3 + 9 * uniform(run) };
    plan->log_every = seed > 50 ? between(run, 3, 10) : 0;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;
    return (*one > *two) - (*one < *two);
}

static bool interrupted(const struct run *run, int64_t from, int64_t to)
{
    for (int i = 0; i < run->other_count; i++)
        if (run->others[i][0] < to && run->others[i][1] > from)
            return true;
    return false;
}

static int64_t period(const struct run *run)
{
    int64_t lengths[MOST_STEPS];
    int count = 0;
    for (int i = run->plan.warm_up + 1; i < run->step_count; i++)
        if (!interrupted(run, run->steps[i - 1], run->steps[i]))
            lengths[count++] = run->steps[i] - run->steps[i - 1];
    qsort(lengths, (size_t)count, sizeof(lengths[0]), by_value);
    return count ? lengths[count / 2] : 0;
}

static bool write_truth(const struct run *run, const char *path, int seed)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file,
            "{\"seed\": %d, \"program\": \"%s\", \"period\": %lld, \"warm_up\": %d, \"accumulate\": %d, \"first\": "
            "%lld,\n \"steps\": [",
            seed, run->step_count ? run->plan.program->name : "none", (long long)period(run), run->plan.warm_up,
            run->plan.accumulate, (long long)run->first);
    for (int i = 0; i < run->step_count; i++)
        fprintf(file, "%s%lld", i ? ", " : "", (long long)run->steps[i]);
    fputs("],\n \"others\": [", file);
    for (int i = 0; i < run->other_count; i++)
        fprintf(file, "%s[%lld, %lld]", i ? ", " : "", (long long)run->others[i][0], (long long)run->others[i][1]);
    fputs("]}\n", file);
    return !fclose(file);
}

int main(int count, char **words)
{
    static struct run run;
    int seed = count == 4 ? atoi(words[1]) : 0;
    if (seed < 1) {
        fputs("usage: make_steps SEED TRACE TRUTH\n", stderr);
        return 2;
    }
    run.random = (uint64_t)seed;
    run.host = 1000 * us;
    run.scale = 1;
    make_plan(&run, seed);
    build_begin(&run.trace, words[2]);
    build_meta(&run.trace, "program", "train");
    build_meta(&run.trace, "backend", "events");
    build_device(&run.trace, 1, "NVIDIA H100 80GB HBM3", clock_offset, 900);
    for (uint32_t stream = COMPUTE; stream <= COPIES; stream++)
        build_stream(&run.trace, stream, 1);
    build_thread(&run.trace, 1, 4242, "python3");
    if (seed < CONTROLS)
        run_program(&run);
    else if (seed % 2)
        serve(&run, 60 + 20 * (seed % 5));
    else
        wander(&run, 2000 + 500 * (seed % 8));
    build_end(&run.trace);
    return write_truth(&run, words[3], seed) ? 0 : 1;
}
