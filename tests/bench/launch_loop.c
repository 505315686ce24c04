/* Launches kernels in bursts that the shim's drain (its thread that writes the trace) can keep up with. Prints the ns
 * of one launch in the median burst:
 *
 *   launch_loop BURSTS LAUNCHES-PER-BURST [SHAPES [default]]
 *   launch_loop floor
 *   launch_loop threads THREADS SECONDS LAUNCHES-PER-BURST
 *
 * With "default" it launches into the default stream. The benchmark is run with and without the shim; the difference
 * is the cost of the shim. With "floor" it prints the ns of the least work of a recorder: read a clock, store a
 * record in a ring. With "threads", threads launch on streams of their own for some seconds, with pauses of 20 ms,
 * and it prints how many launches they made. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda.h"
#include "base/clock.h"
#include "record/ring_records.h"

typedef ws_CUresult (*launch_function)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, ws_CUstream, void **, void **);

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

enum { FLOOR_ROUNDS = 31, FLOOR_CALLS = 20000 };

/* Prints how many ns one execution of `work` takes in the median round, including the loop around it. */
#define FLOOR(name, work)                                                  \
    do {                                                                   \
        double rounds[FLOOR_ROUNDS];                                       \
        for (int round = 0; round < FLOOR_ROUNDS; round++) {               \
            int64_t start = ws_clock_ns();                                 \
            for (int i = 0; i < FLOOR_CALLS; i++)                          \
                work;                                                      \
            rounds[round] = (double)(ws_clock_ns() - start) / FLOOR_CALLS; \
        }                                                                  \
        printf("%s %.2f\n", name, median(rounds, FLOOR_ROUNDS));           \
    } while (0)

static struct ws_ring ring;

static void store(void)
{
    struct ws_ring_op *record = ws_ring_reserve(&ring, 1);
    record->header = (struct ws_ring_header){ .kind = WS_RING_OP, .slots = 1 };
    record->ticks_begin = ws_clock_ticks();
    record->bytes = record->correlation = 1;
    record->stream = record->begin_event = record->end_event = record->copies_before = record->inner = 0;
    record->result = 0;
    record->ticks_end = ws_clock_ticks();
    ws_ring_commit(&ring, 1);
    ws_ring_release(&ring, ws_ring_head(&ring));
}

static int print_floors(void)
{
    volatile int64_t keep;
    ws_ring_init(&ring, aligned_alloc(64, 65536 * WS_RING_SLOT), 65536, NULL);
    FLOOR("clock_gettime", keep = ws_clock_ns());
    FLOOR("counter", keep = (int64_t)ws_clock_ticks());
    FLOOR("ring_store", store());
    (void)keep;
    return 0;
}

static void *must(void *pointer, const char *what)
{
    if (!pointer) {
        fprintf(stderr, "launch_loop: no %s: is the null driver on LD_LIBRARY_PATH?\n", what);
        exit(2);
    }
    return pointer;
}

/* The ns of CPU time that the shim's threads (the drain and its helpers) have used: the sum of the first numbers of
 * their schedstat files (Linux, Documentation/scheduler/sched-stats). */
static uint64_t drain_cpu_ns(void)
{
    char path[320], text[64] = "";
    uint64_t ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *name = fopen(path, "r");
        bool is_drain = name && fgets(text, sizeof(text), name) && !strncmp(text, "wallshim", strlen("wallshim"));
        if (name)
            fclose(name);
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
        FILE *times = is_drain ? fopen(path, "r") : NULL;
        if (times && fgets(text, sizeof(text), times))
            ns += strtoull(text, NULL, 10);
        if (times)
            fclose(times);
    }
    if (tasks)
        closedir(tasks);
    return ns;
}

static launch_function launch;
static ws_CUresult (*stream_create)(ws_CUstream *, unsigned);

static void open_device(void)
{
    void *library = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))must(dlsym(library, "cuInit"), "cuInit");
    ws_CUresult (*retain)(ws_CUcontext *, ws_CUdevice) =
        (ws_CUresult(*)(ws_CUcontext *, ws_CUdevice))must(dlsym(library, "cuDevicePrimaryCtxRetain"), "context");
    ws_CUcontext context;
    stream_create = (ws_CUresult(*)(ws_CUstream *, unsigned))must(dlsym(library, "cuStreamCreate"), "stream");
    launch = (launch_function)must(dlsym(library, "cuLaunchKernel"), "cuLaunchKernel");
    init(0);
    retain(&context, 0);
}

static void launch_burst(ws_CUstream stream, int launches, unsigned shapes)
{
    uint64_t pointers[4] = { 0 };
    uint32_t numbers[2] = { 1, 2 };
    void *params[] = { &pointers[0], &pointers[1], &pointers[2], &pointers[3], &numbers[0], &numbers[1] };
    for (unsigned i = 0; i < (unsigned)launches; i++) {
        unsigned shape = i % shapes;
        launch((ws_CUfunction)(uintptr_t)(4096 + 64 * shape), 1 + shape, 1, 1, 128, 1, 1, 0, stream, params, NULL);
    }
}

/* --- many threads ------------------------------------------------------------------------------- */

enum { THREADS_MOST = 64, PAUSE_NS = 20000000 };
static int64_t deadline;
static int burst_launches;
static _Atomic uint64_t launched;

static void *launch_until_deadline(void *unused)
{
    const struct timespec pause = { 0, PAUSE_NS };
    ws_CUstream stream;
    (void)unused;
    for (stream_create(&stream, 1); ws_clock_ns() < deadline; nanosleep(&pause, NULL)) {
        launch_burst(stream, burst_launches, 16);
        launched += (uint64_t)burst_launches;
    }
    return NULL;
}

static int run_threads(int count, int seconds, int launches)
{
    pthread_t threads[THREADS_MOST];
    deadline = ws_clock_ns() + (int64_t)seconds * 1000000000;
    burst_launches = launches;
    int made = 0;
    while (made < count && made < THREADS_MOST && !pthread_create(&threads[made], NULL, launch_until_deadline, NULL))
        made++;
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)launched);
    return made != count;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "floor"))
        return print_floors();
    open_device();
    if (argc > 4 && !strcmp(argv[1], "threads"))
        return run_threads(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    int bursts = argc > 1 ? atoi(argv[1]) : 41, launches = argc > 2 ? atoi(argv[2]) : 20000;
    unsigned shapes = argc > 3 ? (unsigned)atoi(argv[3]) : 16;
    ws_CUstream stream;
    stream_create(&stream, 1);
    if (argc > 4 && !strcmp(argv[4], "default"))
        stream = NULL;

    double *ns = calloc((size_t)bursts, sizeof(*ns));
    for (int burst = 0; ns && burst < bursts; burst++) {
        int64_t start = ws_clock_ns();
        launch_burst(stream, launches, shapes);
        ns[burst] = (double)(ws_clock_ns() - start) / launches;
        if (bursts > 1) {
            struct timespec pause = { 0, PAUSE_NS };
            nanosleep(&pause, NULL);
        }
    }
    if (ns)
        printf("launch %.2f\ndrain_cpu_ns %llu\n", median(ns, (size_t)bursts), (unsigned long long)drain_cpu_ns());
    free(ns);
    return 0;
}
