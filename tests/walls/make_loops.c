/* Writes the trace of a made-up program with a loop such as real programs have, and the truth that a report should
 * find in it:
 *
 *   make_loops NAME TRACE TRUTH
 *
 * The table at the end names the loops. TRUTH is JSON, in ns of the device's clock: `first`, the begin of the first
 * operation; `steps`, the begin of each step's first operation on the stream COMPUTE; `nobody_asked`, how long a
 * server had no request to work on. There are no step markers in the trace. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "loop_run.h"

/* Eight batches per optimizer step; the loss of each batch is read. */
static void accumulate(struct run *run)
{
    for (int step = 0; step < 15; step++) {
        run->step_begins = true;
        for (int i = 0; i < 8; i++) {
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 6);
            backward(run, COMPUTE, 6);
            read_result(run, COMPUTE);
        }
        update(run, COMPUTE);
    }
}

/* Sequences of different lengths: the same kernels, up to 30 % longer or shorter. */
static void lengths(struct run *run)
{
    for (int step = 0; step < 60; step++) {
        run->step_begins = true;
        run->scale = 0.7 + 0.6 * uniform(run);
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        backward(run, COMPUTE, 6);
        update(run, COMPUTE);
    }
}

/* Every tenth step is followed by an evaluation of 5 batches. */
static void evaluate(struct run *run)
{
    for (int step = 0; step < 60; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        backward(run, COMPUTE, 6);
        update(run, COMPUTE);
        for (int i = 0; i < 5 && step % 10 == 9; i++) {
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 6);
            read_result(run, COMPUTE);
        }
    }
}

/* Two models, each on its own stream, that wait for each other once per step. */
static void gan(struct run *run)
{
    for (int step = 0; step < 40; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, SECOND, 3); /* the generator makes a batch while the critic judges a real batch */
        forward(run, COMPUTE, 4);
        follow(run, COMPUTE, SECOND);
        forward(run, COMPUTE, 4);
        backward(run, COMPUTE, 8);
        update(run, COMPUTE);
        follow(run, SECOND, COMPUTE);
        forward(run, SECOND, 3);
        backward(run, SECOND, 3);
        update(run, SECOND);
    }
}

/* A GAN on one stream, in which the critic is trained three times as often as the generator. */
static void gan_critic(struct run *run)
{
    for (int step = 0; step < 40; step++) {
        run->step_begins = true;
        for (int i = 0; i < 3; i++) {
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 4);
            backward(run, COMPUTE, 4);
            update(run, COMPUTE);
        }
        kernel(run, COMPUTE, "generate_noise", 8);
        forward(run, COMPUTE, 3);
        backward(run, COMPUTE, 3);
        update(run, COMPUTE);
    }
}

/* Waits for the next request to a server. The times between requests are random (exponential), as with many users. */
static void wait_for_request(struct run *run, int64_t mean, int64_t *due)
{
    *due += (int64_t)(-(double)mean * log(uniform(run)));
    if (*due <= run->host)
        return;
    run->nobody_asked += run->first ? *due - run->host : 0;
    run->host = *due;
}

static void serve_from(struct run *run, int threads)
{
    int64_t due = run->host;
    for (int request = 0; request < 120; request++) {
        wait_for_request(run, 9000 * us, &due);
        run->thread = 1 + (uint32_t)(threads * uniform(run));
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        read_result(run, COMPUTE);
        run->host += 30 * us;
    }
}

static void serve(struct run *run)
{
    serve_from(run, 1);
}

static void serve_by_threads(struct run *run)
{
    serve_from(run, 4);
}

/* A server of a language model. Requests are prompts, answers have different lengths, and each step generates one
 * word. */
static void serve_words(struct run *run)
{
    int64_t due = run->host;
    for (int request = 0; request < 25; request++) {
        wait_for_request(run, 60000 * us, &due);
        copy(run, COMPUTE, true);
        run->program = &programs[0];
        forward(run, COMPUTE, 12);
        run->program = &programs[5];
        for (int word = 0, words = 5 + (int)(60 * uniform(run)); word < words; word++) {
            run->step_begins = true;
            forward(run, COMPUTE, 12);
            read_result(run, COMPUTE);
        }
    }
}

/* Inference only, with a loader that takes the same time for each batch. */
static void predict(struct run *run)
{
    for (int step = 0; step < 60; step++) {
        run->host += 5000 * us;
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        read_result(run, COMPUTE);
    }
}

static void train_slowly_fed(struct run *run)
{
    for (int step = 0; step < 60; step++) {
        run->host = later(run->host, run->stream_end[COMPUTE]) + (int64_t)(-5e6 * log(uniform(run)));
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        backward(run, COMPUTE, 6);
        update(run, COMPUTE);
    }
}

/* A step is a copy to the device, a graph, and a read of the result. */
static void graphs(struct run *run)
{
    for (int step = 0; step < 80; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        graph(run, 1, 900);
        read_result(run, COMPUTE);
        run->host += 150 * us;
    }
}

/* A step is only a graph. */
static void graphs_alone(struct run *run)
{
    for (int step = 0; step < 80; step++) {
        run->step_begins = true;
        run->host += 40 * us;
        graph(run, 1, 900);
    }
}

/* A step is a graph with kernels before and after it. The batch size decides which of several graphs
 * is launched. */
static void graphs_of_sizes(struct run *run)
{
    for (int step = 0; step < 80; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        kernel(run, COMPUTE, "prepare_inputs", 6);
        uint32_t size = (uint32_t)(3 * uniform(run));
        graph(run, 1 + size, 500 + 200 * size);
        kernel(run, COMPUTE, "sample_tokens", 12);
        read_result(run, COMPUTE);
    }
}

/* Two independent loops, each on its own stream and with steps of its own length. The true steps are those of the
 * stream with more kernels. */
static void two_loops(struct run *run)
{
    for (int turn = 0; run->step_count < 100; turn++) {
        uint32_t stream = run->stream_end[COMPUTE] <= run->stream_end[SECOND] ? COMPUTE : SECOND;
        run->program = &programs[stream == COMPUTE ? 3 : 0];
        run->host = later(run->host, run->stream_end[stream] - 3000 * us);
        run->step_begins = stream == COMPUTE;
        copy(run, stream, true);
        forward(run, stream, stream == COMPUTE ? 3 : 6);
        backward(run, stream, stream == COMPUTE ? 3 : 6);
        update(run, stream);
    }
}

/* As in serving engines: the attention is launched as kernels, and all work between two attentions as a graph. */
static void graphs_in_pieces(struct run *run)
{
    for (int step = 0; step < 60; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        for (uint32_t layer = 0; layer < 12; layer++) {
            graph(run, 1 + layer, 40);
            kernel(run, COMPUTE, programs[0].forward[2].name, 25);
        }
        kernel(run, COMPUTE, "sample_tokens", 12);
        read_result(run, COMPUTE);
        run->host += 400 * us;
    }
}

/* Reinforcement learning: each round generates words, then trains on them. Each round has more words than batches, so
 * the generation of a word is a step. */
static void reinforce(struct run *run)
{
    for (int round = 0; round < 12; round++) {
        run->program = &programs[5];
        for (int word = 0, words = 40 + (int)(40 * uniform(run)); word < words; word++) {
            run->step_begins = true;
            forward(run, COMPUTE, 6);
            read_result(run, COMPUTE);
        }
        run->program = &programs[0];
        for (int batch = 0; batch < 4; batch++) {
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 6);
            backward(run, COMPUTE, 6);
            update(run, COMPUTE);
        }
    }
}

/* More evaluation than training: every fourth step is followed by an evaluation of 12 batches. */
static void evaluate_much(struct run *run)
{
    for (int step = 0; step < 40; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        backward(run, COMPUTE, 6);
        update(run, COMPUTE);
        for (int i = 0; i < 12 && step % 4 == 3; i++) {
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 6);
            read_result(run, COMPUTE);
        }
    }
}

/* Several batches per step, of sequences of different lengths; the optimizer runs once per step. */
static void accumulate_lengths(struct run *run)
{
    for (int step = 0; step < 25; step++) {
        run->step_begins = true;
        for (int i = 0; i < 4; i++) {
            run->scale = 0.7 + 0.6 * uniform(run);
            copy(run, COMPUTE, true);
            forward(run, COMPUTE, 6);
            backward(run, COMPUTE, 6);
        }
        run->scale = 1;
        update(run, COMPUTE);
    }
}

/* A recording of only a few steps. */
static void few(struct run *run)
{
    for (int step = 0; step < 5; step++) {
        run->step_begins = true;
        copy(run, COMPUTE, true);
        forward(run, COMPUTE, 6);
        backward(run, COMPUTE, 6);
        update(run, COMPUTE);
    }
}

static const struct loop {
    const char *name;
    void (*go)(struct run *run);
    int program;
} loops[] = {
    { "accumulate", accumulate, 0 },
    { "lengths", lengths, 0 },
    { "evaluate", evaluate, 0 },
    { "gan", gan, 3 },
    { "gan_critic", gan_critic, 3 },
    { "serve", serve, 0 },
    { "serve_by_threads", serve_by_threads, 0 },
    { "serve_words", serve_words, 5 },
    { "predict", predict, 0 },
    { "train_slowly_fed", train_slowly_fed, 0 },
    { "graphs", graphs, 0 },
    { "graphs_alone", graphs_alone, 0 },
    { "graphs_of_sizes", graphs_of_sizes, 0 },
    { "two_loops", two_loops, 0 },
    { "graphs_in_pieces", graphs_in_pieces, 0 },
    { "reinforce", reinforce, 0 },
    { "evaluate_much", evaluate_much, 0 },
    { "accumulate_lengths", accumulate_lengths, 0 },
    { "few", few, 0 },
};
enum { LOOPS = sizeof(loops) / sizeof(loops[0]) };

static bool write_truth(const struct run *run, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "{\"first\": %lld, \"nobody_asked\": %lld, \"warm_up\": 0, \"others\": [], \"steps\": [",
            (long long)run->first, (long long)run->nobody_asked);
    for (int i = 0; i < run->step_count; i++)
        fprintf(file, "%s%lld", i ? ", " : "", (long long)run->steps[i]);
    fputs("]}\n", file);
    return !fclose(file);
}

int main(int count, char **words)
{
    static struct run run;
    const struct loop *loop = loops;
    while (count == 4 && loop < loops + LOOPS && strcmp(loop->name, words[1]))
        loop++;
    if (count != 4 || loop == loops + LOOPS) {
        fputs("usage: make_loops NAME TRACE TRUTH\n", stderr);
        return 2;
    }
    run.random = 42;
    run.host = 1000 * us;
    run.scale = 1;
    run.program = &programs[loop->program];
    build_begin(&run.trace, words[2]);
    build_meta(&run.trace, "program", "python3");
    build_meta(&run.trace, "backend", "events");
    build_device(&run.trace, 1, "NVIDIA H100 80GB HBM3", clock_offset, 900);
    for (uint32_t stream = COMPUTE; stream < STREAMS; stream++)
        build_stream(&run.trace, stream, 1);
    for (uint32_t thread = 1; thread <= 4; thread++)
        build_thread(&run.trace, thread, 4241 + thread, "python3");
    run.thread = 1;
    loop->go(&run);
    build_end(&run.trace);
    return write_truth(&run, words[3]) ? 0 : 1;
}
