/* Trains a small classifier with the driver API only: embedding and layer norm, two linear layers with GELU between
 * them, softmax.
 *
 *   train_driver [--steps N] [--sync] [--graph]
 *
 * --sync reads the loss back in every step. --graph captures a step once and launches it as a graph. The output is
 * the same in every run, with and without these switches. */
#include "sample.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_IN_BATCH = 32, WORDS = 512, WIDTH = 64, HIDDEN = 128, CLASSES = 32 };
enum { DISTINCT_BATCHES = 8 };

struct options {
    int steps;
    bool sync, graph;
};

struct network {
    CUdeviceptr ids, target, table;
    CUdeviceptr weights_1, bias_1, weights_2, bias_2;
    CUdeviceptr embedded, input, product_1, before, hidden, product_2, logits, chances, loss;
    CUdeviceptr logits_grad, weights_2_grad, bias_2_grad, hidden_grad, before_grad, weights_1_grad, bias_1_grad;
};

static unsigned rows = ROWS_IN_BATCH, width = WIDTH, hidden = HIDDEN, classes = CLASSES;
static float rate = 0.5f;

static void network_create(struct network *net)
{
    CHECK(cuMemAlloc(&net->ids, ROWS_IN_BATCH * sizeof(int32_t)));
    net->target = sample_floats(ROWS_IN_BATCH * CLASSES);
    net->table = sample_random(WORDS * WIDTH, 1.0f);
    net->weights_1 = sample_random(WIDTH * HIDDEN, 0.125f);
    net->bias_1 = sample_floats(HIDDEN);
    net->weights_2 = sample_random(HIDDEN * CLASSES, 0.088f);
    net->bias_2 = sample_floats(CLASSES);
    net->embedded = sample_floats(ROWS_IN_BATCH * WIDTH);
    net->input = sample_floats(ROWS_IN_BATCH * WIDTH);
    net->product_1 = sample_floats(ROWS_IN_BATCH * HIDDEN);
    net->before = sample_floats(ROWS_IN_BATCH * HIDDEN);
    net->hidden = sample_floats(ROWS_IN_BATCH * HIDDEN);
    net->product_2 = sample_floats(ROWS_IN_BATCH * CLASSES);
    net->logits = sample_floats(ROWS_IN_BATCH * CLASSES);
    net->chances = sample_floats(ROWS_IN_BATCH * CLASSES);
    net->loss = sample_floats(1);
    net->logits_grad = sample_floats(ROWS_IN_BATCH * CLASSES);
    net->weights_2_grad = sample_floats(HIDDEN * CLASSES);
    net->bias_2_grad = sample_floats(CLASSES);
    net->hidden_grad = sample_floats(ROWS_IN_BATCH * HIDDEN);
    net->before_grad = sample_floats(ROWS_IN_BATCH * HIDDEN);
    net->weights_1_grad = sample_floats(WIDTH * HIDDEN);
    net->bias_1_grad = sample_floats(HIDDEN);
}

static void forward(struct network *net, CUstream stream)
{
    unsigned n = ROWS_IN_BATCH * HIDDEN, outputs = ROWS_IN_BATCH * CLASSES;
    POINTWISE("embedding", ROWS_IN_BATCH * WIDTH, stream, &net->embedded, &net->table, &net->ids, &rows, &width);
    ROWS("layer_norm", rows, stream, &net->input, &net->embedded, &rows, &width);
    PRODUCT("sgemm", rows, hidden, stream, &net->product_1, &net->input, &net->weights_1, &rows, &hidden, &width);
    POINTWISE("bias_add", n, stream, &net->before, &net->product_1, &net->bias_1, &n, &hidden);
    POINTWISE("gelu", n, stream, &net->hidden, &net->before, &n);
    PRODUCT("sgemm", rows, classes, stream, &net->product_2, &net->hidden, &net->weights_2, &rows, &classes, &hidden);
    POINTWISE("bias_add", outputs, stream, &net->logits, &net->product_2, &net->bias_2, &outputs, &classes);
    ROWS("softmax", rows, stream, &net->chances, &net->logits, &rows, &classes);
    REDUCTION("mse_loss", stream, &net->loss, &net->chances, &net->target, &outputs);
}

/* The gradient of the cross entropy through softmax is chances - target. mse_grad gives this gradient times a
 * constant; the learning rate compensates for the constant. */
static void backward(struct network *net, CUstream stream)
{
    unsigned n = ROWS_IN_BATCH * HIDDEN, outputs = ROWS_IN_BATCH * CLASSES;
    POINTWISE("mse_grad", outputs, stream, &net->logits_grad, &net->chances, &net->target, &outputs);
    PRODUCT("sgemm_tn", hidden, classes, stream, &net->weights_2_grad, &net->hidden, &net->logits_grad, &hidden,
            &classes, &rows);
    POINTWISE("bias_grad", classes, stream, &net->bias_2_grad, &net->logits_grad, &rows, &classes);
    PRODUCT("sgemm_nt", rows, hidden, stream, &net->hidden_grad, &net->logits_grad, &net->weights_2, &rows, &hidden,
            &classes);
    POINTWISE("gelu_grad", n, stream, &net->before_grad, &net->before, &net->hidden_grad, &n);
    PRODUCT("sgemm_tn", width, hidden, stream, &net->weights_1_grad, &net->input, &net->before_grad, &width, &hidden,
            &rows);
    POINTWISE("bias_grad", hidden, stream, &net->bias_1_grad, &net->before_grad, &rows, &hidden);
}

static void update(struct network *net, CUstream stream)
{
    const struct {
        CUdeviceptr *weights, *grad;
        unsigned count;
    } parameters[] = { { &net->weights_1, &net->weights_1_grad, WIDTH * HIDDEN },
                       { &net->bias_1, &net->bias_1_grad, HIDDEN },
                       { &net->weights_2, &net->weights_2_grad, HIDDEN * CLASSES },
                       { &net->bias_2, &net->bias_2_grad, CLASSES } };
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
        unsigned count = parameters[i].count;
        POINTWISE("sgd_update", count, stream, parameters[i].weights, parameters[i].grad, &rate, &count);
    }
}

static void step(struct network *net, CUstream stream)
{
    forward(net, stream);
    backward(net, stream);
    update(net, stream);
}

struct batch {
    int32_t ids[ROWS_IN_BATCH];
    float target[ROWS_IN_BATCH * CLASSES];
};

/* The class of a word follows from the word's number, so that there is something to learn. */
static struct batch *load_batches(void)
{
    struct batch *batches;
    CHECK(cuMemAllocHost((void **)&batches, DISTINCT_BATCHES * sizeof(*batches)));
    for (int i = 0; i < DISTINCT_BATCHES; i++) {
        for (int row = 0; row < ROWS_IN_BATCH; row++) {
            batches[i].ids[row] = (int32_t)(sample_next_random() % WORDS);
            for (int class = 0; class < CLASSES; class ++)
                batches[i].target[row * CLASSES + class] = batches[i].ids[row] % CLASSES == class ? 1.0f : 0.0f;
        }
    }
    return batches;
}

static CUgraphExec capture_step(struct network *net, CUstream stream)
{
    CUgraph graph;
    CUgraphExec executable;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    step(net, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return executable;
}

static void train(const struct options *options)
{
    struct network net;
    CUstream stream;
    CUgraphExec graph = NULL;
    network_create(&net);
    struct batch *batches = load_batches();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuCtxSynchronize());

    for (int i = 0; i < options->steps; i++) {
        const struct batch *batch = &batches[i % DISTINCT_BATCHES];
        CHECK(cuMemcpyHtoDAsync(net.ids, batch->ids, sizeof(batch->ids), stream));
        CHECK(cuMemcpyHtoDAsync(net.target, batch->target, sizeof(batch->target), stream));
        /* The first step is not captured: sample_launch looks each kernel up at its first launch. */
        if (i == 1 && options->graph)
            graph = capture_step(&net, stream);
        if (graph)
            CHECK(cuGraphLaunch(graph, stream));
        else
            step(&net, stream);
        if (options->sync) {
            CHECK(cuStreamSynchronize(stream));
            sample_read(net.loss);
        }
    }
    CHECK(cuStreamSynchronize(stream));
    printf("loss %.6f weights %08x %08x\n", sample_read(net.loss), sample_checksum(net.weights_1, WIDTH * HIDDEN),
           sample_checksum(net.weights_2, HIDDEN * CLASSES));
    if (graph)
        CHECK(cuGraphExecDestroy(graph));
    CHECK(cuMemFreeHost(batches));
}

int main(int argc, char **argv)
{
    static const struct option switches[] = { { "steps", required_argument, NULL, 'n' },
                                              { "sync", no_argument, NULL, 's' },
                                              { "graph", no_argument, NULL, 'g' },
                                              { 0 } };
    struct options options = { .steps = 100 };
    for (int c; (c = getopt_long(argc, argv, "", switches, NULL)) != -1;) {
        switch (c) {
        case 'n':
            options.steps = (int)strtol(optarg, NULL, 10);
            break;
        case 's':
            options.sync = true;
            break;
        case 'g':
            options.graph = true;
            break;
        default:
            return 2;
        }
    }
    sample_need_devices(1);
    sample_open(0);
    train(&options);
    sample_close();
    return 0;
}
