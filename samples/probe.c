/* Measures a device with CUDA events and the host's clock, so that a profiler's times can be compared with the
 * results.
 *
 *   probe costs
 *       what calls of the driver cost the host, in ns
 *   probe kernel NAME SIZE COUNT [--events]
 *       launches a kernel COUNT times. With --events it measures the kernel's time in ns in two ways: with an event
 *       before and an event after each launch, and with two events around COUNT launches in a row
 *   probe gates NS COUNT
 *       COUNT times, makes a stream wait until an event, a kernel of NS and another event are in its queue. wallshim
 *       does the same with a launch that it measures. Prints, in ns, what the call that makes the stream wait costs
 *       the host, and the time between the events with the kernel and without it. Ends with status 77 if streams
 *       cannot wait for values
 *   probe capture
 *       makes a range with cuProfilerStart and cuProfilerStop. After it, in each capture mode, captures a stream,
 *       asks the driver whether the stream is captured, and launches the graph
 *   probe overlap COUNT NS
 *       launches COUNT pairs of kernels of NS each on two streams, and measures the time of all together
 *
 * Prints one JSON object; only "capture" prints lines of text. NAME is spin (SIZE in ns), scale, gelu (elements),
 * softmax (rows of 1024) or sgemm (a square).
 */
#include "sample.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 2000, WARM_UP = 20 };

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static double elapsed_ns(CUevent begin, CUevent end)
{
    float ms;
    CHECK(cuEventElapsedTime(&ms, begin, end));
    return (double)ms * 1e6;
}

static CUevent event_create(unsigned flags)
{
    CUevent event;
    CHECK(cuEventCreate(&event, flags));
    return event;
}

/* The median host time of a call that is repeated ROUNDS times, minus the time that reading the clock takes.
 * Synchronizes the stream after every 64 calls. */
#define TIME_CALL(result, call)                         \
    do {                                                \
        static double times_[ROUNDS];                   \
        for (int i_ = -WARM_UP; i_ < ROUNDS; i_++) {    \
            uint64_t began_ = now();                    \
            call;                                       \
            uint64_t ended_ = now();                    \
            if (i_ >= 0)                                \
                times_[i_] = (double)(ended_ - began_); \
            if (i_ % 64 == 63)                          \
                CHECK(cuStreamSynchronize(stream));     \
        }                                               \
        CHECK(cuStreamSynchronize(stream));             \
        (result) = median(times_, ROUNDS) - clock_cost; \
    } while (0)

static int usage(void)
{
    fputs("usage: probe costs | probe kernel NAME SIZE COUNT [--events] | probe gates NS COUNT | probe capture | "
          "probe overlap COUNT NS\n",
          stderr);
    return 2;
}

static int probe_costs(void)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUevent timed = event_create(CU_EVENT_DEFAULT), untimed = event_create(CU_EVENT_DISABLE_TIMING);
    unsigned long long none = 0;
    double clock_cost = 0, with_timing, without_timing, query, launch;

    TIME_CALL(clock_cost, (void)0);
    TIME_CALL(with_timing, CHECK(cuEventRecord(timed, stream)));
    TIME_CALL(without_timing, CHECK(cuEventRecord(untimed, stream)));
    TIME_CALL(query, CHECK(cuEventQuery(timed)));
    TIME_CALL(launch, LAUNCH("spin", 1, 1, 1, 1, stream, &none));

    /* Records two events with nothing between them. The time between them is the smallest interval that can be
     * measured. The smallest difference between the times of two successive rounds shows the resolution of event
     * times. */
    static double apart[ROUNDS];
    CUevent second = event_create(CU_EVENT_DEFAULT);
    double step = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cuEventRecord(timed, stream));
        CHECK(cuEventRecord(second, stream));
        CHECK(cuEventSynchronize(second));
        apart[i] = elapsed_ns(timed, second);
    }
    double between = median(apart, ROUNDS);
    for (int i = 1; i < ROUNDS; i++) {
        if (apart[i] - apart[i - 1] > 1.0 && apart[i] - apart[i - 1] < step)
            step = apart[i] - apart[i - 1];
    }
    printf("{\"record_timed_ns\": %.0f, \"record_untimed_ns\": %.0f, \"query_ns\": %.0f, \"launch_ns\": %.0f, "
           "\"empty_pair_ns\": %.0f, \"resolution_ns\": %.0f, \"clock_ns\": %.0f}\n",
           with_timing, without_timing, query, launch, between, step < 1e9 ? step : 0.0, clock_cost);
    return 0;
}

struct work {
    const char *name;
    unsigned long long ns;
    unsigned size, columns;
    float factor;
    CUdeviceptr out, a, b;
};

static bool work_init(struct work *work, const char *name, const char *size)
{
    static const char *const known[] = { "spin", "scale", "gelu", "softmax", "sgemm" };
    *work = (struct work){
        .ns = strtoull(size, NULL, 10), .size = (unsigned)strtoul(size, NULL, 10), .columns = 1024, .factor = 0.5f
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(name, known[i]))
            work->name = known[i];
    }
    if (!work->name || !work->ns)
        return false;
    size_t count = work->size;
    if (!strcmp(name, "softmax"))
        count *= work->columns;
    else if (!strcmp(name, "sgemm"))
        count *= work->size;
    else if (!strcmp(name, "spin"))
        return true;
    work->out = sample_floats(count);
    work->a = sample_random(count, 1.0f);
    work->b = sample_random(count, 1.0f);
    return true;
}

static void work_launch(struct work *work, CUstream stream)
{
    if (!strcmp(work->name, "spin"))
        LAUNCH("spin", 1, 1, 1, 1, stream, &work->ns);
    else if (!strcmp(work->name, "scale"))
        POINTWISE("scale", work->size, stream, &work->out, &work->a, &work->factor, &work->size);
    else if (!strcmp(work->name, "gelu"))
        POINTWISE("gelu", work->size, stream, &work->out, &work->a, &work->size);
    else if (!strcmp(work->name, "softmax"))
        ROWS("softmax", work->size, stream, &work->out, &work->a, &work->size, &work->columns);
    else
        PRODUCT("sgemm", work->size, work->size, stream, &work->out, &work->a, &work->b, &work->size, &work->size,
                &work->size);
}

static int probe_kernel(const char *name, const char *size, size_t count, bool events)
{
    struct work work;
    CUstream stream;
    if (!work_init(&work, name, size) || !count) {
        fprintf(stderr, "probe: no such kernel or size: %s %s\n", name, size);
        return 2;
    }
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuCtxSynchronize());
    if (!events) {
        for (size_t i = 0; i < count; i++)
            work_launch(&work, stream);
        CHECK(cuStreamSynchronize(stream));
        uint32_t checksum = work.out ? sample_checksum(work.out, work.size) : 0;
        printf("{\"kernel\": \"%s\", \"size\": %s, \"count\": %zu, \"checksum\": \"%08x\"}\n", name, size, count,
               checksum);
        return 0;
    }

    CUevent begin = event_create(CU_EVENT_DEFAULT), end = event_create(CU_EVENT_DEFAULT);
    double *alone = calloc(count, sizeof(*alone));
    if (!alone)
        return 1;
    for (size_t i = 0; i < WARM_UP; i++)
        work_launch(&work, stream);
    for (size_t i = 0; i < count; i++) {
        CHECK(cuEventRecord(begin, stream));
        work_launch(&work, stream);
        CHECK(cuEventRecord(end, stream));
        CHECK(cuEventSynchronize(end));
        alone[i] = elapsed_ns(begin, end);
    }
    CHECK(cuEventRecord(begin, stream));
    for (size_t i = 0; i < count; i++)
        work_launch(&work, stream);
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    double together = elapsed_ns(begin, end) / (double)count;
    printf("{\"kernel\": \"%s\", \"size\": %s, \"count\": %zu, \"pair_ns\": %.0f, \"queued_ns\": %.0f}\n", name, size,
           count, median(alone, count), together);
    free(alone);
    return 0;
}

enum { SETTLE_NS = 20000 }; /* time from the last call until all queued entries have reached the device */

/* Puts both events into the stream, and a kernel between them unless ns is 0, while the stream waits until *word is
 * at least `value`. Then lets the stream go on. Returns the time between the events. *cost: how long the call of
 * cuStreamWaitValue32 took. */
static double gated_ns(CUstream stream, const CUevent events[2], volatile uint32_t *word, uint32_t value,
                       unsigned long long ns, double *cost)
{
    uint64_t began = now();
    CHECK(cuStreamWaitValue32(stream, (CUdeviceptr)(uintptr_t)word, value, CU_STREAM_WAIT_VALUE_GEQ));
    *cost = (double)(now() - began);
    CHECK(cuEventRecord(events[0], stream));
    if (ns)
        LAUNCH("spin", 1, 1, 1, 1, stream, &ns);
    CHECK(cuEventRecord(events[1], stream));
    for (uint64_t until = now() + SETTLE_NS; now() < until;)
        ;
    *word = value;
    CHECK(cuEventSynchronize(events[1]));
    return elapsed_ns(events[0], events[1]);
}

static int probe_gates(unsigned long long ns, size_t count)
{
    if (!count)
        return usage();
    CUstream stream;
    void *word;
    CUevent events[2] = { event_create(CU_EVENT_DEFAULT), event_create(CU_EVENT_DEFAULT) };
    double unused;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost(&word, sizeof(uint32_t)));
    *(volatile uint32_t *)word = 1;
    if (cuStreamWaitValue32(stream, (CUdeviceptr)(uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
        fputs("probe: streams cannot wait for values\n", stderr);
        return SAMPLE_UNABLE;
    }
    double *times = calloc(3 * count, sizeof(*times));
    if (!times)
        return 1;
    double *with = times, *without = times + count, *costs = without + count;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = 2 + 2 * (uint32_t)i;
        with[i] = gated_ns(stream, events, word, value, ns, &costs[i]);
        without[i] = gated_ns(stream, events, word, value + 1, 0, &unused);
    }
    printf("{\"ns\": %llu, \"count\": %zu, \"gate_ns\": %.0f, \"with_ns\": %.0f, \"without_ns\": %.0f}\n", ns, count,
           median(costs, count), median(with, count), median(without, count));
    free(times);
    return 0;
}

/* A profiler must not ask the driver about a stream while the stream is captured: that may end the capture. With
 * --capture-range profiler, wallshim does not know the streams that are made outside the range. */
static int probe_capture(void)
{
    static const struct {
        int mode;
        const char *name;
    } modes[] = { { CU_STREAM_CAPTURE_MODE_GLOBAL, "global" },
                  { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread_local" },
                  { CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed" } };
    enum { COUNT = 1024, REPLAYS = 3 };
    unsigned count = COUNT;
    float factor = 2;
    CUdeviceptr values = sample_random(COUNT, 1.0f);
    CHECK(cuProfilerStart());
    POINTWISE("scale", COUNT, NULL, &values, &values, &factor, &count);
    CHECK(cuCtxSynchronize());
    CHECK(cuProfilerStop());
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        CUstream stream;
        CUgraph graph;
        CUgraphExec executable;
        int status = -1;
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuStreamBeginCapture(stream, modes[i].mode));
        CHECK(cuStreamIsCapturing(stream, (void *)&status));
        printf("%s %s\n", modes[i].name, status == 1 ? "captured" : "NOT CAPTURED");
        POINTWISE("scale", COUNT, stream, &values, &values, &factor, &count);
        CHECK(cuStreamEndCapture(stream, &graph));
        CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
        for (int replay = 0; replay < REPLAYS; replay++)
            CHECK(cuGraphLaunch(executable, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    printf("checksum %08x\n", sample_checksum(values, COUNT));
    return 0;
}

static int probe_overlap(size_t count, unsigned long long ns)
{
    CUstream streams[2];
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    LAUNCH("spin", 1, 1, 1, 1, streams[0], &ns);
    CHECK(cuCtxSynchronize());
    uint64_t began = now();
    for (size_t i = 0; i < count; i++) {
        for (int stream = 0; stream < 2; stream++)
            LAUNCH("spin", 1, 1, 1, 1, streams[stream], &ns);
    }
    CHECK(cuCtxSynchronize());
    uint64_t took = now() - began;
    double work = 2.0 * (double)count * (double)ns;
    printf("{\"count\": %zu, \"kernel_ns\": %llu, \"took_ns\": %llu, \"overlap\": %.4f}\n", count, ns,
           (unsigned long long)took, work / (double)took - 1.0);
    return 0;
}

int main(int argc, char **argv)
{
    bool costs = argc == 2 && !strcmp(argv[1], "costs");
    bool kernel = argc >= 5 && argc <= 6 && !strcmp(argv[1], "kernel");
    bool gates = argc == 4 && !strcmp(argv[1], "gates"), overlap = argc == 4 && !strcmp(argv[1], "overlap");
    bool capture = argc == 2 && !strcmp(argv[1], "capture");
    if (!costs && !kernel && !gates && !capture && !overlap)
        return usage();
    sample_need_devices(1);
    sample_open(0);
    int status;
    if (costs)
        status = probe_costs();
    else if (kernel)
        status =
            probe_kernel(argv[2], argv[3], strtoul(argv[4], NULL, 10), argc == 6 && !strcmp(argv[5], "--events"));
    else if (capture)
        status = probe_capture();
    else if (gates)
        status = probe_gates(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    else
        status = probe_overlap(strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    sample_close();
    return status;
}
