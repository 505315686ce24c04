#include "training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

enum {
    STEP_KERNELS = 600,
    SHAPES = 90,
    STREAMS = 3,
    THREADS = 2,
    DEVICE_TICK = 32,
    PARAMS_A_SECOND = 64, /* in each second, the trace holds the parameters of this many launches of each shape */
    SAMPLE = 64,
};

struct kernel {
    uint32_t stream;
    int64_t duration; /* mean, ns */
    double spread;    /* standard deviation, as a fraction of the mean */
};

struct training {
    uint64_t random;
    struct kernel kernels[SHAPES + 1];
    uint16_t step[STEP_KERNELS]; /* shapes in the order of one step */
    int64_t stream_end[STREAMS + 1];
    int64_t host;
    uint64_t launches[THREADS + 1];
    uint32_t uses[SHAPES + 1];
    int64_t second[SHAPES + 1];
    uint32_t uses_in_second[SHAPES + 1];
};

/* A random number between 0 and 1, both excluded. */
static double uniform(struct training *training)
{
    return ((double)(next_random(&training->random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct training *training)
{
    return sqrt(-2 * log(uniform(training))) * cos(6.283185307179586 * uniform(training));
}

/* A random time around `middle`. Like times on a host, it is never much shorter than `middle`, and sometimes far
 * longer. */
static int64_t host_time(struct training *training, double middle)
{
    double factor = exp(0.08 * normal(training));
    if (uniform(training) < 0.02)
        factor *= 1 + 3 * uniform(training);
    return (int64_t)(middle * factor);
}

static int64_t device_time(double ns)
{
    return (int64_t)(ns / DEVICE_TICK) * DEVICE_TICK;
}

static struct training training_start(uint64_t seed)
{
    struct training training = { .random = seed, .host = 1000000000000 };
    for (uint32_t shape = 1; shape <= SHAPES; shape++) {
        double u = uniform(&training);
        training.kernels[shape] = (struct kernel){
            .stream = shape % 15   ? 1
                      : shape % 30 ? 2
                                   : 3,
            .duration = (int64_t)(3000 * exp(3.2 * u * u)),
            .spread = 0.004 + 0.02 * uniform(&training),
        };
    }
    /* 12 layers of 20 kernels in the forward pass and of 27 in the backward pass; 10 kernels come before the layers,
     * and the optimizer's kernels after them. */
    uint32_t at = 0;
    for (uint32_t i = 0; i < 10; i++)
        training.step[at++] = (uint16_t)(1 + i);
    for (uint32_t layer = 0; layer < 12; layer++)
        for (uint32_t i = 0; i < 20; i++)
            training.step[at++] = (uint16_t)(11 + i * 7 % 24);
    for (uint32_t layer = 0; layer < 12; layer++)
        for (uint32_t i = 0; i < 27; i++)
            training.step[at++] = (uint16_t)(35 + i * 5 % 38);
    while (at < STEP_KERNELS)
        training.step[at] = (uint16_t)(73 + at % 18), at++;
    return training;
}

static void make_op(struct training *training, uint32_t index, struct ws_op *op)
{
    uint32_t position = index % STEP_KERNELS, step = index / STEP_KERNELS;
    uint32_t shape = training->step[position];
    uint32_t thread = position >= 250 && position < 574 ? 2 : 1;
    const struct kernel *kernel = &training->kernels[shape];
    bool host_bound = step % 10 == 0; /* in one step of ten the device's queue runs empty */
    if (!position && host_bound)
        training->host = training->stream_end[1] > training->host ? training->stream_end[1] : training->host;

    int64_t host_begin = training->host + host_time(training, host_bound ? 9000 : 3200);
    int64_t host_end = host_begin + host_time(training, 2400);
    training->host = host_end;
    int64_t ready = training->stream_end[kernel->stream] + device_time(900 + 120 * normal(training));
    int64_t arrived = device_time((double)(host_end + 3500) + 300 * normal(training));
    int64_t begin = arrived > ready ? arrived : ready;
    int64_t duration = device_time((double)kernel->duration * (1 + kernel->spread * normal(training)));
    training->stream_end[kernel->stream] = begin + duration;

    bool sampled = training->uses[shape]++ % SAMPLE == 0;
    if (training->second[shape] != host_begin / 1000000000) {
        training->second[shape] = host_begin / 1000000000;
        training->uses_in_second[shape] = 0;
    }
    bool with_params = training->uses_in_second[shape]++ < PARAMS_A_SECOND;
    *op = (struct ws_op){
        .shape = shape,
        .thread = thread,
        .correlation = (uint64_t)thread << 40 | ++training->launches[thread],
        .host_begin = host_begin,
        .host_end = host_end,
        .begin = begin,
        .end = begin + duration,
        .begin_error = sampled           ? 500
                       : arrived > ready ? 2500
                                         : 1500,
        .end_error = 500,
        .flags = (sampled ? WS_TIME_MEASURED | WS_OP_SAMPLED : WS_TIME_INFERRED) | WS_TIME_MEASURED << 2,
        .params = with_params ? shape * 4 + next_random(&training->random) % 3 : 0,
    };
}

void training_ops(struct ws_op *ops, uint32_t count, uint64_t seed)
{
    struct training training = training_start(seed);
    for (uint32_t i = 0; i < count; i++)
        make_op(&training, i, &ops[i]);
}

int training_dictionaries(struct ws_encoder *encoder)
{
    struct training training = training_start(1);
    int status = 0;
    for (uint32_t i = 1; i <= STREAMS && !status; i++) {
        const struct ws_stream stream = { .id = i, .context = 1, .kind = WS_STREAM_CREATED };
        status = ws_encoder_add(encoder, WS_FAMILY_stream, &stream);
    }
    for (uint32_t i = 1; i <= SHAPES && !status; i++) {
        char name[80];
        int length = snprintf(name, sizeof(name), "void kernel_%u<float, %u>(float *, const float *, int)", i, i % 8);
        const struct ws_function function = { .id = i, .registers = 40, .name = { name, (uint32_t)length } };
        status = ws_encoder_add(encoder, WS_FAMILY_function, &function);
        const struct ws_shape shape = { .id = i,
                                        .kind = WS_OP_KERNEL,
                                        .stream = training.kernels[i].stream,
                                        .function = i,
                                        .grid_x = 100 + i,
                                        .grid_y = 1,
                                        .grid_z = 1,
                                        .block_x = 256,
                                        .block_y = 1,
                                        .block_z = 1 };
        if (!status)
            status = ws_encoder_add(encoder, WS_FAMILY_shape, &shape);
    }
    return status;
}
