/* Launches kernels of given durations in ways that are hard to time. Tests compare the times in the trace with what
 * happened on the simulated GPU, and scripts/slowdown measures what recording costs.
 *
 *   short_kernels --kernels NS,NS… --launches N [OPTION…]
 *
 *   --host-ns NS      the host works this long between launches (0)
 *   --streams S       number of streams (1)
 *   --threads T       number of threads (1); each has its own streams if there are enough streams
 *   --all-streams     every thread launches into every stream
 *   --sync-every N    each thread waits for its stream after every N launches (never)
 *   --head NS         after each wait a kernel of this length comes first, so that launches queue up behind it
 *   --one-name        all launches have the same kernel; each has one of the durations, at random
 *   --scale PERCENT   the duration of each launch varies at random by up to this much
 *   --phase N         a thread makes N launches of the given durations, then N twice as long, and so on by turns
 *
 * Prints the number of launches, the ns from the first launch to the end of the last wait, and the CPU time of the
 * launching threads in ns. Needs the simulated GPU, where a kernel's parameter is its duration. */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <time.h>

#include "program.h"
#include "tests/simgpu/simgpu.h"

enum { MOST_KERNELS = 16, MOST_STREAMS = 64, MOST_THREADS = 64, HEAD = MOST_KERNELS };

struct setting {
    uint64_t ns[MOST_KERNELS + 1];
    unsigned kernels, streams, threads, scale;
    uint64_t host_ns, launches, sync_every, phase;
    bool one_name, all_streams;
};

struct worker {
    pthread_t thread;
    unsigned number;
    uint32_t random;
    uint64_t launches;
    int64_t cpu_ns;
};

static struct setting setting = { .streams = 1, .threads = 1 };
static struct gpu gpu;
static ws_CUfunction functions[MOST_KERNELS + 1];
static ws_CUstream streams[MOST_STREAMS];
static pthread_barrier_t ready;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static uint32_t draw(struct worker *worker, uint32_t below)
{
    worker->random = worker->random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)worker->random * below) >> 32);
}

static void launch(unsigned kernel, uint64_t ns, ws_CUstream stream)
{
    void *parameters[] = { &ns };
    MUST(cuLaunchKernel(functions[kernel], 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static ws_CUstream stream_of(const struct worker *worker, uint64_t launch)
{
    unsigned own = setting.streams / setting.threads;
    if (setting.all_streams)
        return streams[(worker->number + launch) % setting.streams];
    if (own < 2)
        return streams[worker->number % setting.streams];
    return streams[worker->number + launch % own * setting.threads];
}

static void one(struct worker *worker, uint64_t number)
{
    ws_CUstream stream = stream_of(worker, number);
    unsigned kernel = draw(worker, setting.kernels);
    uint64_t ns = setting.ns[kernel];
    if (setting.ns[HEAD] && setting.sync_every && number % setting.sync_every == 0)
        launch(HEAD, setting.ns[HEAD], stream);
    if (setting.scale)
        ns = ns * (1000 - 10 * setting.scale + draw(worker, 20 * setting.scale + 1)) / 1000;
    if (setting.phase && number / setting.phase % 2)
        ns *= 2;
    launch(setting.one_name ? 0 : kernel, ns, stream);
    if (setting.sync_every && number % setting.sync_every == setting.sync_every - 1)
        MUST(cuStreamSynchronize(stream));
    if (setting.host_ns)
        for (int64_t until = now() + (int64_t)setting.host_ns; now() < until;)
            ;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    MUST(cuCtxSetCurrent(gpu.context));
    pthread_barrier_wait(&ready);
    worker->cpu_ns = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < worker->launches; i++)
        one(worker, i);
    worker->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static uint64_t told_duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    (void)grid, (void)block;
    return *(uint64_t *)parameters[0];
}

/* Makes the kernels. Each name contains the kernel's number and duration. */
static void make_kernels(void)
{
    static char image[(MOST_KERNELS + 1) * 160 + 160];
    char names[MOST_KERNELS + 1][32];
    ws_CUmodule module;
    int (*known)(const char *, simgpu_run, simgpu_duration) =
        (int (*)(const char *, simgpu_run, simgpu_duration))dlsym(RTLD_DEFAULT, "simgpuRegisterKernel");
    if (!known) {
        dprintf(STDOUT_FILENO, "skipped: this is not the simulated GPU\n");
        exit(77);
    }
    int at = snprintf(image, sizeof(image), ".version 6.0\n.target sm_52\n.address_size 64\n");
    for (int i = 0; i <= MOST_KERNELS; i++) {
        snprintf(names[i], sizeof(names[i]), "kernel_%d_%lluns", i, (unsigned long long)setting.ns[i]);
        known(names[i], NULL, told_duration);
        at += snprintf(image + at, sizeof(image) - (size_t)at,
                       ".visible .entry %s(\n.param .u64 %s_param_0\n)\n{\nret;\n}\n", names[i], names[i]);
    }
    MUST(cuModuleLoadData(&module, image));
    for (int i = 0; i <= MOST_KERNELS; i++)
        MUST(cuModuleGetFunction(&functions[i], module, names[i]));
}

static bool read_kernels(const char *text)
{
    for (setting.kernels = 0; text && *text && setting.kernels < MOST_KERNELS; text += *text == ',') {
        char *end = NULL;
        setting.ns[setting.kernels++] = strtoull(text, &end, 10);
        if (!end || end == text)
            return false;
        text = end;
    }
    return text && !*text;
}

static bool read_setting(int argc, char **argv)
{
    static const struct option options[] = {
        { "kernels", required_argument, NULL, 'k' },    { "launches", required_argument, NULL, 'n' },
        { "host-ns", required_argument, NULL, 'h' },    { "streams", required_argument, NULL, 's' },
        { "threads", required_argument, NULL, 't' },    { "all-streams", no_argument, NULL, 'a' },
        { "sync-every", required_argument, NULL, 'y' }, { "head", required_argument, NULL, 'e' },
        { "one-name", no_argument, NULL, 'o' },         { "scale", required_argument, NULL, 'c' },
        { "phase", required_argument, NULL, 'p' },      { NULL, 0, NULL, 0 }
    };
    bool good = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (option) {
        case 'k':
            good &= read_kernels(optarg);
            break;
        case 'n':
            setting.launches = number;
            break;
        case 'h':
            setting.host_ns = number;
            break;
        case 's':
            setting.streams = (unsigned)number;
            break;
        case 't':
            setting.threads = (unsigned)number;
            break;
        case 'a':
            setting.all_streams = true;
            break;
        case 'y':
            setting.sync_every = number;
            break;
        case 'e':
            setting.ns[HEAD] = number;
            break;
        case 'o':
            setting.one_name = true;
            break;
        case 'c':
            setting.scale = (unsigned)number;
            break;
        case 'p':
            setting.phase = number;
            break;
        default:
            return false;
        }
    }
    return good && optind == argc && setting.kernels && setting.launches && setting.scale <= 100 && setting.streams &&
           setting.streams <= MOST_STREAMS && setting.threads && setting.threads <= MOST_THREADS;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    if (!read_setting(argc, argv)) {
        dprintf(STDERR_FILENO, "usage: short_kernels --kernels NS,NS… --launches N [OPTION…]\n");
        return 2;
    }
    gpu_open(&gpu, 0);
    make_kernels();
    for (unsigned i = 0; i < setting.streams; i++)
        MUST(cuStreamCreate(&streams[i], WS_CU_STREAM_NON_BLOCKING));
    pthread_barrier_init(&ready, NULL, setting.threads + 1);
    for (unsigned i = 0; i < setting.threads; i++) {
        workers[i] = (struct worker){ .number = i, .random = i * 7919 + 1 };
        workers[i].launches = setting.launches / setting.threads + (i < setting.launches % setting.threads);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
    }
    pthread_barrier_wait(&ready);
    int64_t begin = now();
    int64_t cpu_ns = 0;
    for (unsigned i = 0; i < setting.threads; i++) {
        pthread_join(workers[i].thread, NULL);
        cpu_ns += workers[i].cpu_ns;
    }
    MUST(cuCtxSynchronize());
    dprintf(STDOUT_FILENO, "launches: %llu\nloop_ns: %lld\ncpu_ns: %lld\n", (unsigned long long)setting.launches,
            (long long)(now() - begin), (long long)cpu_ns);
    return 0;
}
