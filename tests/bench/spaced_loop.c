/* Launches with a pause after each launch, and times each launch by itself:
 *
 *   spaced_loop LAUNCHES PAUSE-NS CORE DRAIN-CORE
 *
 * The launching thread runs on CORE, and threads that the shim starts run on DRAIN-CORE; -1 lets them run on any
 * core. The thread spins during the pause, as if it did work of its own. Prints a line for each figure: the total
 * time by the clock; mean, median, 99 % and 99.9 % quantile of a launch in ns, without the time of the measurement
 * itself; page faults and context switches of the launching thread. The benchmark is run with and without the
 * measured library preloaded. */
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "abi/cuda.h"
#include "base/clock.h"

typedef ws_CUresult (*launch_function)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, ws_CUstream, void **, void **);

enum {
    SHAPES = 16,
    BINS = 1 << 16, /* bins of one tick each; all longer launches are counted together */
    OWN_ROUNDS = 200000,
    CALIBRATION_NS = 50000000,
};

static struct histogram {
    uint64_t bins[BINS + 1];
    uint64_t count, sum, worst; /* ticks */
} launches, own;

static double ns_per_tick;

/* Reads the tick counter when all earlier instructions have ended and no later one has begun. */
static inline uint64_t ticks_alone(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
    uint64_t ticks = ws_clock_ticks();
    __asm__ volatile("lfence" ::: "memory");
    return ticks;
#else
    return ws_clock_ticks();
#endif
}

static inline void add(struct histogram *to, uint64_t ticks)
{
    to->bins[ticks < BINS ? ticks : BINS]++;
    to->count++;
    to->sum += ticks;
    to->worst = ticks > to->worst ? ticks : to->worst;
}

/* The number of ticks that the given share of the measured times does not exceed. */
static uint64_t share_below(const struct histogram *of, double share)
{
    uint64_t below = 0, wanted = (uint64_t)(share * (double)of->count);
    for (uint64_t ticks = 0; ticks < BINS; ticks++) {
        below += of->bins[ticks];
        if (below > wanted)
            return ticks;
    }
    return of->worst;
}

static void calibrate(void)
{
    int64_t start_ns = ws_clock_ns(), now_ns = start_ns;
    uint64_t start = ws_clock_ticks();
    while (now_ns - start_ns < CALIBRATION_NS)
        now_ns = ws_clock_ns();
    ns_per_tick = (double)(now_ns - start_ns) / (double)(ws_clock_ticks() - start);
    for (int i = 0; i < OWN_ROUNDS; i++) {
        uint64_t before = ticks_alone();
        add(&own, ticks_alone() - before);
    }
}

static void stay_on(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (core >= 0) {
        CPU_SET(core, &cores);
        if (sched_setaffinity(0, sizeof(cores), &cores))
            perror("spaced_loop: sched_setaffinity");
    }
}

static void *must(void *pointer, const char *what)
{
    if (!pointer) {
        fprintf(stderr, "spaced_loop: no %s: is the null driver on LD_LIBRARY_PATH?\n", what);
        exit(2);
    }
    return pointer;
}

static ws_CUstream open_stream(void)
{
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))must(dlsym(RTLD_DEFAULT, "cuInit"), "cuInit");
    ws_CUresult (*retain)(ws_CUcontext *, ws_CUdevice) =
        (ws_CUresult(*)(ws_CUcontext *, ws_CUdevice))must(dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxRetain"), "context");
    ws_CUresult (*stream_create)(ws_CUstream *, unsigned) =
        (ws_CUresult(*)(ws_CUstream *, unsigned))must(dlsym(RTLD_DEFAULT, "cuStreamCreate"), "stream");
    ws_CUcontext context;
    ws_CUstream stream;
    init(0);
    retain(&context, 0);
    stream_create(&stream, 1);
    return stream;
}

static void launch_all(launch_function launch, ws_CUstream stream, uint64_t count, uint64_t pause)
{
    uint64_t pointers[4] = { 0 };
    uint32_t numbers[2] = { 1, 2 };
    void *params[] = { &pointers[0], &pointers[1], &pointers[2], &pointers[3], &numbers[0], &numbers[1] };
    for (uint64_t i = 0; i < count; i++) {
        unsigned shape = i % SHAPES;
        uint64_t before = ticks_alone();
        launch((ws_CUfunction)(uintptr_t)(4096 + 64 * shape), 1 + shape, 1, 1, 128, 1, 1, 0, stream, params, NULL);
        uint64_t after = ticks_alone();
        add(&launches, after - before);
        while (ws_clock_ticks() - after < pause)
            ;
    }
}

static void print(const char *name, double ticks, double without)
{
    printf("%s %.2f\n", name, (ticks - without) * ns_per_tick);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    double pause_ns = argc > 2 ? atof(argv[2]) : 0;
    memset(&launches, 0, sizeof(launches)); /* touches the pages, so that the loop itself causes no page faults */
    must(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "libcuda.so.1");
    launch_function launch = (launch_function)must(dlsym(RTLD_DEFAULT, "cuLaunchKernel"), "cuLaunchKernel");
    stay_on(argc > 4 ? atoi(argv[4]) : -1);
    ws_CUstream stream = open_stream(); /* the shim starts its threads in these calls */
    stay_on(argc > 3 ? atoi(argv[3]) : -1);
    calibrate();

    struct rusage begin, end;
    getrusage(RUSAGE_THREAD, &begin);
    int64_t start = ws_clock_ns();
    launch_all(launch, stream, count, (uint64_t)(pause_ns / ns_per_tick));
    int64_t all = ws_clock_ns() - start;
    getrusage(RUSAGE_THREAD, &end);

    double timing = (double)share_below(&own, 0.5);
    printf("all %lld\n", (long long)all);
    print("mean", (double)launches.sum / (double)launches.count, timing);
    print("median", (double)share_below(&launches, 0.5), timing);
    print("p99", (double)share_below(&launches, 0.99), timing);
    print("p99.9", (double)share_below(&launches, 0.999), timing);
    print("worst", (double)launches.worst, timing);
    print("timing", timing, 0);
    printf("faults %ld\n", end.ru_minflt - begin.ru_minflt);
    printf("switches %ld\n", end.ru_nvcsw - begin.ru_nvcsw + end.ru_nivcsw - begin.ru_nivcsw);
    return 0;
}
