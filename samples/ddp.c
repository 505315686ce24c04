/* Data-parallel training in two processes, one device each: an NCCL all-reduce averages each layer's gradient. It
 * runs on a stream of its own, during the backward pass of earlier layers.
 *
 *   ddp [--steps N] [--serial]
 *
 * With --serial the communication waits for the whole backward pass, so that it overlaps no compute. Each rank trains
 * on its own data. At the end both ranks have the same weights, with and without --serial. */
#include "sample.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, LAYERS = 4, BATCH = 32, SIZE = 64, MATRIX = SIZE * SIZE, VECTOR = BATCH * SIZE };

struct options {
    int steps;
    bool serial;
};

struct layer {
    CUdeviceptr weights, weights_grad;
    CUdeviceptr product, output, output_grad, product_grad;
    CUevent ready, reduced;
};

struct rank {
    int number;
    ncclComm_t comm;
    CUstream compute, communication;
    CUdeviceptr input, target, input_grad, loss;
    struct layer layers[LAYERS];
};

static unsigned batch = BATCH, size = SIZE, matrix = MATRIX, vector = VECTOR;
static float rate = 0.5f;

static void check_nccl(ncclResult_t result, const char *call)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
    exit(EXIT_FAILURE);
}

static void rank_init(struct rank *rank, int number, const ncclUniqueId *id)
{
    rank->number = number;
    sample_open(number);
    check_nccl(ncclCommInitRank(&rank->comm, RANKS, *id, number), "ncclCommInitRank");
    CHECK(cuStreamCreate(&rank->compute, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&rank->communication, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < LAYERS; i++) {
        struct layer *layer = &rank->layers[i];
        layer->weights = sample_random(MATRIX, 0.125f);
        layer->weights_grad = sample_floats(MATRIX);
        layer->product = sample_floats(VECTOR);
        layer->output = sample_floats(VECTOR);
        layer->output_grad = sample_floats(VECTOR);
        layer->product_grad = sample_floats(VECTOR);
        CHECK(cuEventCreate(&layer->ready, CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventCreate(&layer->reduced, CU_EVENT_DISABLE_TIMING));
    }
    /* The random weights above are the same on every rank. Then each rank skips a different number of random numbers,
     * so that each rank gets its own data. */
    for (int i = 0; i < number; i++)
        sample_next_random();
    rank->input = sample_random(VECTOR, 1.0f);
    rank->target = sample_random(VECTOR, 0.25f);
    rank->input_grad = sample_floats(VECTOR);
    rank->loss = sample_floats(1);
}

static void forward(struct rank *rank)
{
    CUdeviceptr *input = &rank->input;
    for (int i = 0; i < LAYERS; i++) {
        struct layer *layer = &rank->layers[i];
        PRODUCT("sgemm", batch, size, rank->compute, &layer->product, input, &layer->weights, &batch, &size, &size);
        POINTWISE("gelu", vector, rank->compute, &layer->output, &layer->product, &vector);
        input = &layer->output;
    }
    REDUCTION("mse_loss", rank->compute, &rank->loss, input, &rank->target, &vector);
}

static void reduce_gradient(struct rank *rank, struct layer *layer)
{
    CHECK(cuStreamWaitEvent(rank->communication, layer->ready, 0));
    check_nccl(ncclAllReduce((const void *)layer->weights_grad, (void *)layer->weights_grad, MATRIX, ncclFloat,
                             ncclAvg, rank->comm, rank->communication),
               "ncclAllReduce");
    CHECK(cuEventRecord(layer->reduced, rank->communication));
}

static void backward(struct rank *rank, bool serial)
{
    struct layer *last = &rank->layers[LAYERS - 1];
    POINTWISE("mse_grad", vector, rank->compute, &last->output_grad, &last->output, &rank->target, &vector);
    for (int i = LAYERS - 1; i >= 0; i--) {
        struct layer *layer = &rank->layers[i];
        CUdeviceptr *input = i ? &layer[-1].output : &rank->input;
        CUdeviceptr *input_grad = i ? &layer[-1].output_grad : &rank->input_grad;
        POINTWISE("gelu_grad", vector, rank->compute, &layer->product_grad, &layer->product, &layer->output_grad,
                  &vector);
        PRODUCT("sgemm_tn", size, size, rank->compute, &layer->weights_grad, input, &layer->product_grad, &size,
                &size, &batch);
        CHECK(cuEventRecord(layer->ready, rank->compute));
        if (!serial)
            reduce_gradient(rank, layer);
        PRODUCT("sgemm_nt", batch, size, rank->compute, input_grad, &layer->product_grad, &layer->weights, &batch,
                &size, &size);
    }
    for (int i = LAYERS - 1; serial && i >= 0; i--)
        reduce_gradient(rank, &rank->layers[i]);
}

static void update(struct rank *rank)
{
    for (int i = LAYERS - 1; i >= 0; i--) {
        struct layer *layer = &rank->layers[i];
        CHECK(cuStreamWaitEvent(rank->compute, layer->reduced, 0));
        POINTWISE("sgd_update", matrix, rank->compute, &layer->weights, &layer->weights_grad, &rate, &matrix);
    }
}

/* Trains as one rank and returns a checksum of the weights. */
static uint32_t train(int number, const ncclUniqueId *id, const struct options *options, float *loss)
{
    struct rank rank;
    uint32_t checksum = 0;
    rank_init(&rank, number, id);
    for (int i = 0; i < options->steps; i++) {
        forward(&rank);
        backward(&rank, options->serial);
        update(&rank);
    }
    CHECK(cuStreamSynchronize(rank.compute));
    *loss = sample_read(rank.loss);
    for (int i = 0; i < LAYERS; i++)
        checksum = checksum * 31 + sample_checksum(rank.layers[i].weights, MATRIX);
    check_nccl(ncclCommDestroy(rank.comm), "ncclCommDestroy");
    sample_close();
    return checksum;
}

/* Writes or reads a value over the pipe between the ranks: the NCCL identifier from rank 0 to rank 1, and the
 * checksum from rank 1 to rank 0. */
static void pass(int writing, int fd, void *data, size_t size_of_data)
{
    ssize_t done = writing ? write(fd, data, size_of_data) : read(fd, data, size_of_data);
    if (done == (ssize_t)size_of_data)
        return;
    exit(EXIT_FAILURE); /* the other rank ended and printed the reason */
}

static int run_second(const struct options *options, int from_first, int to_first)
{
    ncclUniqueId id;
    float loss;
    pass(0, from_first, &id, sizeof(id));
    uint32_t checksum = train(1, &id, options, &loss);
    pass(1, to_first, &checksum, sizeof(checksum));
    return 0;
}

static int run_first(const struct options *options, int from_second, int to_second)
{
    ncclUniqueId id;
    float loss;
    uint32_t theirs;
    sample_need_devices(RANKS);
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    pass(1, to_second, &id, sizeof(id));
    uint32_t ours = train(0, &id, options, &loss);
    pass(0, from_second, &theirs, sizeof(theirs));
    printf("loss %.6f weights %08x, %s\n", loss, ours, ours == theirs ? "the same on both ranks" : "RANKS DIFFER");
    return ours == theirs ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct option switches[] = { { "steps", required_argument, NULL, 'n' },
                                              { "serial", no_argument, NULL, 's' },
                                              { 0 } };
    struct options options = { .steps = 50 };
    for (int c; (c = getopt_long(argc, argv, "", switches, NULL)) != -1;) {
        if (c == 'n')
            options.steps = (int)strtol(optarg, NULL, 10);
        else if (c == 's')
            options.serial = true;
        else
            return 2;
    }

    /* The process must fork before its first CUDA call: CUDA does not work in a child that is forked later. */
    int forth[2], back[2];
    if (pipe(forth) || pipe(back)) {
        perror("ddp: pipe");
        return 1;
    }
    pid_t second = fork();
    if (second < 0) {
        perror("ddp: fork");
        return 1;
    }
    if (!second) {
        close(forth[1]);
        close(back[0]);
        setenv("RANK", "1", 1);
        return run_second(&options, forth[0], back[1]);
    }
    close(forth[0]);
    close(back[1]);
    setenv("RANK", "0", 1);
    int status = run_first(&options, back[0], forth[1]), theirs = 0;
    waitpid(second, &theirs, 0);
    return status ? status : WIFEXITED(theirs) ? WEXITSTATUS(theirs) : 1;
}
