/* Trains a model on the simulated GPU, with or without a known performance wall:
 *
 *   walls WALL with|without [SETTING=VALUE…]
 *
 * Both variants do the same work for the model; only the wall differs. Prints a line of JSON for each rank. For each
 * training step, the line has the host time at which the step began (CLOCK_MONOTONIC) and the number of its embedding
 * kernel's launch, counted from 0: by this number, tests find the step in the simulated GPU's record of the truth.
 * The line also has the time after the warm-up in which the program was ready to run but had no processor. The tables
 * `walls` and SETTINGS list the walls and the settings. */
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

#include "helper.h"
#include "model.h"
#include "abi/nccl.h"
#include "tests/programs/program.h"

#define NCCL_CALLS(X)                                                                                         \
    X(ncclGetUniqueId, (ws_ncclUniqueId * id))                                                                \
    X(ncclCommInitRank, (ws_ncclComm * comm, int size, ws_ncclUniqueId id, int rank))                         \
    X(ncclCommDestroy, (ws_ncclComm comm))                                                                    \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction, \
                      ws_ncclComm comm, ws_CUstream stream))

#define DECLARE(name, parameters) ws_ncclResult name parameters;
NCCL_CALLS(DECLARE)
#undef DECLARE

enum { MOST_RANKS = 8, MOST_STEPS = 1000, GRAPH_AFTER = 2 };

/* X(name, default). Times are host times in µs; dispatch_ns is in ns, and is spent at each launch. A setting that is
 * only for certain walls has their names before its meaning. */
#define SETTINGS(X)                                                                 \
    X(layers, 4)                                                                    \
    X(hidden, 1024)                                                                 \
    X(tokens, 4096)                                                                 \
    X(vocabulary, 8192)                                                             \
    X(table_millions, 0) /* millions of parameters that only the optimizer uses */  \
    X(inference, 0)      /* 1: forward passes only */                               \
    X(steps, 40)                                                                    \
    X(warmup, 3) /* steps at the beginning that take the host longer */             \
    X(warmup_us, 8000)                                                              \
    X(eval_every, 0) /* steps from one evaluation to the next; 0: no evaluation */  \
    X(eval_batches, 2)                                                              \
    X(log_every, 10)                                                                \
    X(seed, 1)                                                                      \
    X(host_jitter, 10)  /* per cent, up or down */                                  \
    X(device_jitter, 3) /* per cent, up or down */                                  \
    X(dispatch_ns, 2000)                                                            \
    X(flops_percent, 65) /* share of the GPU's peak FLOP/s that products reach */   \
    X(bytes_percent, 88) /* share of the GPU's peak bandwidth that kernels reach */ \
    X(batch_bytes, 262144)                                                          \
    X(prefetch, 0) /* 1: batches are copied on a stream of their own */             \
    X(pinned, 1)                                                                    \
    X(wait_us, 0)    /* input: how long the loader takes for a batch */             \
    X(background, 0) /* input: 1: the loader works while the loop runs */           \
    X(busy, 0)       /* input: 1: the loop's thread makes the batch */              \
    X(count, 1)      /* sync, allocation: syncs or allocations per step */          \
    X(way, 0)        /* sync: waits for 0 stream, 1 context, 2 event, 3 read */     \
    /* way for allocation: 0 device memory, 1 pinned, 2 a module */                 \
    X(after_us, 20)    /* sync, allocation: host work after each of these */        \
    X(bytes, 33554432) /* allocation: bytes of each allocation */                   \
    X(length, 4)       /* chain: kernels that follow the first one */               \
    X(ranks, 1)                                                                     \
    X(same_stream, 0)  /* communication: 1: it runs on the computing stream */      \
    X(slow_rank, 0)    /* straggler: number of the slow rank */                     \
    X(slow_percent, 0) /* straggler: by how much the rank's GPU is slower */        \
    X(slow_us, 0)      /* straggler: the rank's additional host work per step */

struct settings {
#define FIELD(name, value) long name;
    SETTINGS(FIELD)
#undef FIELD
};

static const struct {
    const char *name;
    size_t offset;
    long value;
} settings_table[] = {
#define ROW(name, value) { #name, offsetof(struct settings, name), value },
    SETTINGS(ROW)
#undef ROW
};

struct wall;

struct run {
    const struct wall *wall;
    bool with; /* this run has the wall */
    struct settings set;
    struct model model;
    uint64_t random;
    int rank;
    int64_t next_batch;
    void *batch;
    float *loss;
    ws_CUstream side, communication;
    ws_CUevent ready, reduced;
    ws_CUdeviceptr scratch;
    ws_CUgraphExec graph;
    ws_ncclComm comm;
    int embeddings; /* launches of the embedding kernel so far */
    struct {
        int64_t begin;
        int embedding;
    } steps[MOST_STEPS];
};

struct wall {
    const char *name;
    bool graph_without; /* the variant without the wall launches each step as one graph */
    void (*before_step)(struct run *run);
    void (*in_forward)(struct run *run);
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t jittered(struct run *run, int64_t ns)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return ns + ns * run->set.host_jitter * ((int64_t)(run->random >> 40) % 2001 - 1000) / 100000;
}

/* Keeps the host's processor busy, as computing would. */
static void work(struct run *run, int64_t ns)
{
    int64_t until = now_ns() + jittered(run, ns);
    while (ns > 0 && now_ns() < until)
        ;
}

/* Sleeps, like a host that waits for something other than the GPU. */
static void sleep_until(int64_t until)
{
    struct timespec at = { until / 1000000000, until % 1000000000 };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void dispatch(void *context)
{
    struct run *run = context;
    work(run, run->set.dispatch_ns);
}

/* ---- the walls */

static void wait_for_batch(struct run *run)
{
    int64_t length = jittered(run, run->set.wait_us * 1000), now = now_ns();
    if (!run->with)
        return;
    if (run->set.busy) {
        work(run, length);
    } else if (run->set.background) { /* the loader is at most two batches ahead */
        run->next_batch = (run->next_batch > now - 2 * length ? run->next_batch : now - 2 * length) + length;
        sleep_until(run->next_batch);
    } else {
        sleep_until(now + length);
    }
}

static void synchronise(struct run *run)
{
    ws_CUstream stream = run->model.stream;
    switch (run->set.way) {
    case 0:
        MUST(cuStreamSynchronize(stream));
        break;
    case 1:
        MUST(cuCtxSynchronize());
        break;
    case 2:
        MUST(cuEventRecord(run->ready, stream));
        MUST(cuEventSynchronize(run->ready));
        break;
    default:
        MUST(cuMemcpyDtoHAsync_v2(run->loss, run->model.loss, sizeof(*run->loss), stream));
        MUST(cuStreamSynchronize(stream));
    }
}

/* In the variant without the wall, the host does the same work, but on the value that the previous step computed. So
 * it need not wait. */
static void sync_in_forward(struct run *run)
{
    if (run->with)
        synchronise(run);
    work(run, run->set.after_us * 1000);
}

/* Allocates a device buffer for one kernel, or pinned memory, or loads a module; frees or unloads it again. */
static void allocate_in_forward(struct run *run)
{
    ws_CUdeviceptr buffer = run->scratch;
    ws_CUmodule module;
    void *pinned;
    long way = run->with ? run->set.way : -1;
    if (way == 0)
        MUST(cuMemAlloc_v2(&buffer, (size_t)run->set.bytes));
    else if (way == 1)
        MUST(cuMemAllocHost_v2(&pinned, (size_t)run->set.bytes));
    else if (way == 2)
        MUST(cuModuleLoadData(&module, SPIN_IMAGE));
    launch_pointwise(run->model.stream, KERNEL_FILL, (uint32_t)run->set.bytes / 8, buffer, 0, 0);
    if (way == 0)
        MUST(cuMemFree_v2(buffer));
    else if (way == 1)
        MUST(cuMemFreeHost(pinned));
    else if (way == 2)
        MUST(cuModuleUnload(module));
    work(run, run->set.after_us * 1000);
}

static void straggle(struct run *run)
{
    if (run->with && run->rank == run->set.slow_rank)
        work(run, run->set.slow_us * 1000);
}

/* The functions that make each wall in the training loop. Walls without functions come from settings alone. "compute"
 * and "bandwidth" are the same with and without the wall, because these walls cannot be removed. */
static const struct wall walls[] = {
    { .name = "input", .before_step = wait_for_batch },
    { .name = "sync", .in_forward = sync_in_forward },
    { .name = "mixed", .before_step = wait_for_batch, .in_forward = sync_in_forward },
    { .name = "launch", .graph_without = true },
    { .name = "allocation", .in_forward = allocate_in_forward },
    { .name = "communication" },
    { .name = "straggler", .before_step = straggle },
    { .name = "chain" },
    { .name = "compute" },
    { .name = "bandwidth" },
};

/* ---- the training loop */

static void at_layer(void *context, uint32_t layer)
{
    struct run *run = context;
    uint32_t layers = run->model.layers, count = (uint32_t)run->set.count;
    if (run->wall->in_forward && (layer + 1) * count / layers != layer * count / layers)
        run->wall->in_forward(run);
}

static void all_reduce(struct run *run, uint32_t layer)
{
    void *gradients = (void *)run->model.layer[layer].gradients;
    ws_CUstream stream = run->set.same_stream && run->with ? run->model.stream : run->communication;
    if (stream == run->communication) {
        MUST(cuEventRecord(run->ready, run->model.stream));
        MUST(cuStreamWaitEvent(stream, run->ready, 0));
    }
    if (ncclAllReduce(gradients, gradients, model_layer_parameters(&run->model), WS_ncclBfloat16, WS_ncclSum,
                      run->comm, stream))
        exit(91);
}

static bool reduces_late(const struct run *run)
{
    return run->with && !strcmp(run->wall->name, "communication");
}

static void after_layer(void *context, uint32_t layer)
{
    struct run *run = context;
    if (run->comm && !reduces_late(run))
        all_reduce(run, layer);
}

static void backward(void *argument)
{
    struct run *run = argument;
    model_backward(&run->model);
}

/* Launches the device work of one training step. */
static void compute(struct run *run)
{
    const struct model *model = &run->model;
    model_forward(model);
    model_loss(model);
    if (run->set.inference)
        return;
    helper_do(backward, run);
    for (uint32_t i = model->layers; run->comm && reduces_late(run) && i-- > 0;)
        all_reduce(run, i);
    if (run->comm) {
        MUST(cuEventRecord(run->reduced, run->communication));
        MUST(cuStreamWaitEvent(model->stream, run->reduced, 0));
    }
    model_update(model);
}

static void capture(struct run *run)
{
    ws_CUgraph graph;
    MUST(cuStreamBeginCapture_v2(run->model.stream, 0));
    compute(run);
    MUST(cuStreamEndCapture(run->model.stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&run->graph, graph, 0));
    MUST(cuGraphDestroy(graph));
}

static void copy_batch(struct run *run)
{
    ws_CUstream stream = run->set.prefetch ? run->side : run->model.stream;
    MUST(cuMemcpyHtoDAsync_v2(run->model.batch, run->batch, (size_t)run->set.batch_bytes, stream));
    if (run->set.prefetch) {
        MUST(cuEventRecord(run->ready, stream));
        MUST(cuStreamWaitEvent(run->model.stream, run->ready, 0));
    }
}

/* Logs the loss: copies it on a separate stream, and does not wait for the copy. */
static void log_loss(struct run *run)
{
    MUST(cuEventRecord(run->ready, run->model.stream));
    MUST(cuStreamWaitEvent(run->side, run->ready, 0));
    launch_rows(run->side, KERNEL_REDUCE, 4096, 64, run->model.loss, run->model.loss);
    MUST(cuMemcpyDtoHAsync_v2(run->loss, run->model.loss, sizeof(*run->loss), run->side));
}

static void evaluate(struct run *run)
{
    for (long i = 0; i < run->set.eval_batches; i++) {
        copy_batch(run);
        model_forward(&run->model);
        model_loss(&run->model);
        run->embeddings++;
    }
    synchronise(run);
}

static void train_step(struct run *run, long step)
{
    run->steps[step].begin = now_ns();
    run->steps[step].embedding = run->embeddings++;
    if (run->wall->before_step)
        run->wall->before_step(run);
    if (step < run->set.warmup)
        work(run, run->set.warmup_us * 1000 / (step + 1));
    copy_batch(run);
    if (run->graph)
        MUST(cuGraphLaunch(run->graph, run->model.stream));
    else
        compute(run);
    if (run->set.log_every && step % run->set.log_every == 0)
        log_loss(run);
    if (step == GRAPH_AFTER && run->wall->graph_without && !run->with)
        capture(run);
    if (run->set.eval_every && step % run->set.eval_every == run->set.eval_every - 1)
        evaluate(run);
}

static void open_run(struct run *run, const ws_ncclUniqueId *id)
{
    const struct settings *set = &run->set;
    bool slow = run->with && run->rank == set->slow_rank;
    struct gpu gpu;
    gpu_open(&gpu, run->rank);
    kernels_open(&(struct speed){ .flops_per_ns = 989e3 * (double)set->flops_percent / 100,
                                  .bytes_per_ns = 3350 * (double)set->bytes_percent / 100,
                                  .slow = slow ? 1 + (double)set->slow_percent / 100 : 1,
                                  .jitter = (double)set->device_jitter / 100,
                                  .seed = (uint64_t)(set->seed * 7919 + run->rank) });
    run->random = (uint64_t)set->seed;
    MUST(cuStreamCreate(&run->side, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&run->communication, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&run->ready, WS_CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&run->reduced, WS_CU_EVENT_DISABLE_TIMING));
    MUST(cuMemAllocHost_v2((void **)&run->loss, 4096));
    MUST(cuMemAlloc_v2(&run->scratch, (size_t)set->bytes));
    if (set->pinned || !run->with)
        MUST(cuMemAllocHost_v2(&run->batch, (size_t)set->batch_bytes));
    else
        run->batch = calloc((size_t)set->batch_bytes, 1);
    run->model = (struct model){ .layers = (uint32_t)set->layers,
                                 .hidden = (uint32_t)set->hidden,
                                 .tokens = (uint32_t)set->tokens,
                                 .vocabulary = (uint32_t)set->vocabulary,
                                 .table_parameters = (uint64_t)set->table_millions * 1000000,
                                 .stream = gpu.stream,
                                 .chain = strcmp(run->wall->name, "chain") ? 0 : (uint32_t)set->length,
                                 .fused = !strcmp(run->wall->name, "chain") && !run->with,
                                 .in_forward = at_layer,
                                 .after_backward = after_layer,
                                 .context = run };
    model_allocate(&run->model);
    kernels_dispatch(dispatch, run);
    helper_start(gpu.context);
    if (id && ncclCommInitRank(&run->comm, (int)set->ranks, *id, run->rank))
        exit(91);
}

static int train(struct run *run, const ws_ncclUniqueId *id)
{
    open_run(run, id);
    int64_t waited = 0;
    for (long step = 0; step < run->set.steps; step++) {
        train_step(run, step);
        if (step == run->set.warmup)
            waited = helper_cpu_wait();
    }
    waited = helper_cpu_wait() - waited;
    MUST(cuCtxSynchronize());
    if (run->comm)
        ncclCommDestroy(run->comm);
    printf("{\"rank\": %d, \"cpu_wait_ns\": %lld, \"steps\": [", run->rank, (long long)waited);
    for (long step = 0; step < run->set.steps; step++)
        printf("%s[%lld, %d]", step ? ", " : "", (long long)run->steps[step].begin, run->steps[step].embedding);
    puts("]}");
    return 0;
}

/* ---- the command line, and the ranks, each a process of its own */

static bool read_setting(struct settings *set, const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < sizeof(settings_table) / sizeof(settings_table[0]); i++) {
        if (strlen(settings_table[i].name) != length || strncmp(settings_table[i].name, word, length) ||
            !word[length])
            continue;
        *(long *)((char *)set + settings_table[i].offset) = strtol(word + length + 1, NULL, 10);
        return true;
    }
    return false;
}

static bool read_words(struct run *run, int count, char **words)
{
    for (size_t i = 0; i < sizeof(settings_table) / sizeof(settings_table[0]); i++)
        *(long *)((char *)&run->set + settings_table[i].offset) = settings_table[i].value;
    for (size_t i = 0; count > 2 && i < sizeof(walls) / sizeof(walls[0]); i++)
        if (!strcmp(walls[i].name, words[1]))
            run->wall = &walls[i];
    if (!run->wall || (strcmp(words[2], "with") && strcmp(words[2], "without")))
        return false;
    run->with = !strcmp(words[2], "with");
    for (int i = 3; i < count; i++)
        if (!read_setting(&run->set, words[i]))
            return false;
    const struct settings *set = &run->set;
    return set->layers > 0 && set->layers <= MOST_LAYERS && set->steps > 0 && set->steps <= MOST_STEPS &&
           set->batch_bytes > 0 && set->batch_bytes <= MODEL_BATCH && set->ranks > 0 && set->ranks <= MOST_RANKS;
}

/* Each rank is a child process, rank 0 too. Rank 0 makes the identifier with NCCL, which uses CUDA, and CUDA does not
 * work in a child that is forked after its first use. */
static int train_ranks(struct run *run)
{
    ws_ncclUniqueId id;
    int identifier[2], failed = 0;
    if (pipe(identifier))
        return 1;
    for (int rank = 0; rank < run->set.ranks; rank++) {
        pid_t child = fork();
        if (child)
            continue;
        char number[16];
        snprintf(number, sizeof(number), "%d", rank);
        setenv("RANK", number, 1);
        run->rank = rank;
        if (!rank) {
            MUST(cuInit(0));
            ncclGetUniqueId(&id);
            for (int i = 1; i < run->set.ranks; i++)
                if (write(identifier[1], &id, sizeof(id)) != sizeof(id))
                    exit(1);
        } else if (read(identifier[0], &id, sizeof(id)) != sizeof(id)) {
            exit(1);
        }
        exit(train(run, &id));
    }
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}

int main(int count, char **words)
{
    static struct run run;
    if (!read_words(&run, count, words)) {
        fprintf(stderr, "usage: walls WALL with|without [SETTING=VALUE...]\n");
        return 2;
    }
    return run.set.ranks > 1 ? train_ranks(&run) : train(&run, NULL);
}
