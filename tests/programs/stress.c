/* Everything at once, chosen by a seed. Threads launch, copy, capture and load libraries while signals interrupt
 * them. The signal handlers launch, fork, leave by siglongjmp or end their thread. Streams, contexts, libraries and
 * threads are created and destroyed.
 *
 *   stress SEED UNITS [ENDING]
 *
 * Signals come at different moments in each run. So the lines on stdout describe only work whose results no handler
 * can change. SIMGPU_HOLD_SIGNALS=1 must be set: it delays signals while the simulated driver runs, because a handler
 * that interrupts a driver cannot call it. STRESS_COUNTS is the name of a file for the numbers that differ from run
 * to run. STRESS_MAY limits what handlers may do: a sum of the values MAY_… below. scripts/soak runs this program
 * with and without the shim. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "program.h"

ws_CUresult cuLaunchKernel_ptsz(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                ws_CUstream stream, void **parameters, void **extra);
ws_CUresult cuMemsetD32Async_ptsz(ws_CUdeviceptr to, unsigned value, size_t count, ws_CUstream stream);
ws_CUresult cuStreamSynchronize_ptsz(ws_CUstream stream);

enum { SIGNAL_NS = 200000, WORKERS = 6, THREADS_OF_ONE = 4, WORDS = 256, LOADED = 20 };

/* What a signal handler may do if it interrupts the worker at this moment (worker.may). If it interrupts a function
 * of the C library, it may do nothing. */
enum { MAY_CALL = 1, MAY_FORK = 2, MAY_JUMP = 4, MAY_END = 8, MAY_EXIT = 16 };

struct worker {
    const struct work *work;
    int number;
    unsigned units;
    pthread_t thread;
    /* States of two random number generators: for the worker's work, and for its signal handlers. */
    uint64_t seed, chance;
    ws_CUstream stream, side;
    ws_CUdeviceptr memory;
    sigjmp_buf back;
    volatile sig_atomic_t may;
    unsigned calls, refused;
    uint64_t sum;
    timer_t timer;
};

struct work {
    const char *name;
    void (*run)(struct worker *worker);
};

static struct gpu gpu;
/* A kernel that is launched only in captures, so that tests recognize graph nodes by its name. */
static ws_CUfunction node;
static const char *self_path;
static __thread struct worker *self __attribute__((tls_model("initial-exec")));
static volatile sig_atomic_t is_child;
static int allowed = ~0;
static atomic_int bad_status; /* waitpid's status of the last child that ended with an error; 0: no child has */
static atomic_uint signals, side_calls, side_refused, children, bad_children, jumps, ended;

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* --- handlers ----------------------------------------------------------------------------------- */

static void wait_for(pid_t child)
{
    int status = 0;
    pid_t seen;
    do
        seen = waitpid(child, &status, 0);
    while (seen < 0 && errno == EINTR);
    children++;
    if (status) {
        bad_children++;
        bad_status = status;
    }
}

static void call_aside(struct worker *worker)
{
    uint64_t ns = 500;
    void *parameters[] = { &ns };
    ws_CUresult result;
    switch (next(&worker->chance) % 8) {
    case 0:
        result = cuMemsetD32Async(worker->memory, 7, 1, worker->side);
        break;
    case 1:
        result = cuStreamQuery(worker->side);
        result = result == WS_CUDA_ERROR_NOT_READY ? WS_CUDA_SUCCESS : result;
        break;
    case 2:
        result = cuStreamSynchronize(worker->side);
        break;
    case 3:
        result = cuLaunchKernel_ptsz(gpu.spin, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
        break;
    default:
        result = spin(gpu.spin, worker->side, ns);
    }
    side_calls++;
    side_refused += result != WS_CUDA_SUCCESS;
}

static void on_signal(int number)
{
    struct worker *worker = self;
    int saved_errno = errno;
    (void)number;
    if (!worker || is_child)
        return;
    signals++;
    int may = worker->may & allowed;
    uint64_t what = next(&worker->chance) % 256;
    if (may & MAY_EXIT && what < 8)
        exit(17);
    if (may & MAY_END && what < 16) {
        worker->may = 0;
        ended++;
        pthread_exit(NULL);
    }
    if (may & MAY_FORK && what < 4) {
        pid_t child = fork();
        if (child > 0)
            wait_for(child);
        else if (!child && what < 2)
            _exit(0);
        else if (!child)
            is_child = 1; /* returns into the call that the signal interrupted */
    } else if (may & MAY_JUMP && what < 96) {
        worker->may = 0;
        jumps++;
        siglongjmp(worker->back, 1);
    } else if (may & MAY_CALL && what >= 128) {
        call_aside(worker);
    }
    errno = saved_errno;
}

static void signals_begin(struct worker *worker)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
    struct itimerspec every = { { 0, SIGNAL_NS }, { 0, SIGNAL_NS } };
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    self = worker;
    if (timer_create(CLOCK_MONOTONIC, &event, &worker->timer) || timer_settime(worker->timer, 0, &every, NULL))
        _exit(91);
}

/* Counts a call that the worker itself (not a handler) has made. If a handler forked a child inside the call, this
 * function ends the child, which only had to return from the call. */
static void did(ws_CUresult result)
{
    if (is_child)
        _exit(0);
    self->calls += result == WS_CUDA_SUCCESS;
    self->refused += result != WS_CUDA_SUCCESS;
}

/* --- work --------------------------------------------------------------------------------------- */

static void launch(struct worker *worker)
{
    for (unsigned unit = 0; unit < worker->units; unit++) {
        worker->may = MAY_CALL | MAY_FORK;
        for (int i = 0; i < 400; i++)
            did(spin(gpu.spin, worker->stream, 200 + next(&worker->seed) % 3000));
        did(cuStreamSynchronize(worker->stream));
        worker->may = 0;
    }
}

static void compute(struct worker *worker)
{
    unsigned words[WORDS];
    for (unsigned unit = 0; unit < 20 * worker->units; unit++) {
        unsigned value = (unsigned)next(&worker->seed);
        worker->may = MAY_CALL | MAY_FORK;
        did(cuMemsetD32Async(worker->memory + sizeof(words), value, WORDS, worker->stream));
        did(cuMemcpyDtoDAsync_v2(worker->memory, worker->memory + sizeof(words), sizeof(words), worker->stream));
        did(cuMemcpyDtoHAsync_v2(words, worker->memory + sizeof(words), sizeof(words), worker->stream));
        did(cuStreamSynchronize(worker->stream));
        worker->may = 0;
        for (int i = 0; i < WORDS; i++)
            worker->sum += words[i];
    }
}

/* Makes calls that handlers may leave by siglongjmp. It is not known whether a call that was left took effect, so
 * none of these calls is counted. */
static void jump(struct worker *worker)
{
    ws_CUevent event;
    did(cuEventCreate(&event, 0));
    for (volatile unsigned unit = 0; unit < 40 * worker->units; unit++) {
        if (!sigsetjmp(worker->back, 1)) {
            worker->may = MAY_CALL | MAY_FORK | MAY_JUMP;
            for (int i = 0; i < 40; i++) {
                ws_CUresult result = i % 8   ? spin(gpu.spin, worker->stream, 500)
                                     : i % 3 ? cuMemsetD32Async(worker->memory, 1, WORDS, worker->stream)
                                             : cuEventRecord(event, worker->stream);
                result = result || i % 8 ? result : cuStreamWaitEvent(worker->stream, event, 0);
                worker->refused += result != WS_CUDA_SUCCESS;
                if (is_child)
                    _exit(0);
            }
        }
        worker->may = 0;
    }
    did(cuEventDestroy_v2(event));
}

static void come_and_go(struct worker *worker)
{
    for (unsigned unit = 0; unit < 20 * worker->units; unit++) {
        ws_CUstream stream;
        ws_CUevent event;
        worker->may = MAY_CALL | MAY_FORK;
        did(cuStreamCreate(&stream, unit % 2 ? WS_CU_STREAM_NON_BLOCKING : 0));
        did(cuEventCreate(&event, 0));
        for (int i = 0; i < 8; i++)
            did(spin(gpu.spin, stream, 1000));
        did(cuEventRecord(event, stream));
        did(cuStreamWaitEvent(worker->stream, event, 0));
        did(spin(gpu.spin, worker->stream, 1000));
        if (next(&worker->seed) % 2)
            did(cuStreamSynchronize(stream));
        did(cuStreamDestroy_v2(stream));
        did(cuEventDestroy_v2(event));
        worker->may = 0;
    }
}

static void change_contexts(struct worker *worker)
{
    for (unsigned unit = 0; unit < worker->units; unit++) {
        ws_CUcontext context;
        ws_CUmodule module;
        ws_CUfunction function;
        ws_CUstream stream;
        worker->may = MAY_FORK;
        did(cuCtxCreate_v2(&context, 0, gpu.device));
        did(cuModuleLoadData(&module, SPIN_IMAGE));
        did(cuModuleGetFunction(&function, module, "spin"));
        did(cuStreamCreate(&stream, WS_CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 50; i++)
            did(spin(function, i % 2 ? stream : NULL, 1000));
        if (next(&worker->seed) % 2)
            did(cuCtxSynchronize());
        did(cuCtxDestroy_v2(context));
        did(cuCtxSetCurrent(gpu.context));
        worker->may = 0;
    }
}

static void capture(struct worker *worker)
{
    for (unsigned unit = 0; unit < 4 * worker->units; unit++) {
        ws_CUgraph graph;
        ws_CUgraphExec executable;
        worker->may = MAY_CALL | MAY_FORK;
        did(cuStreamBeginCapture_v2(worker->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
        for (int i = 0; i < 5; i++)
            did(spin(node, worker->stream, 1000));
        did(cuStreamEndCapture(worker->stream, &graph));
        did(cuGraphInstantiateWithFlags(&executable, graph, 0));
        for (int i = 0; i < 10; i++)
            did(cuGraphLaunch(executable, worker->stream));
        did(cuStreamSynchronize(worker->stream));
        did(cuGraphExecDestroy(executable));
        did(cuGraphDestroy(graph));
        worker->may = 0;
    }
}

static void load(struct worker *worker)
{
    char path[4096];
    const char *folder_end = strrchr(self_path, '/');
    snprintf(path, sizeof(path), "%.*s/libraries/libstress_loaded.so", folder_end ? (int)(folder_end - self_path) : 1,
             folder_end ? self_path : ".");
    for (unsigned unit = 0; unit < 4 * worker->units; unit++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*run)(ws_CUfunction, ws_CUstream, int) =
            library ? (int (*)(ws_CUfunction, ws_CUstream, int))dlsym(library, "loaded_run") : NULL;
        if (!run)
            _exit(92);
        worker->may = MAY_CALL | MAY_FORK;
        int refused = run(gpu.spin, worker->stream, LOADED);
        did(refused ? WS_CUDA_ERROR_INVALID_VALUE : WS_CUDA_SUCCESS);
        did(cuStreamSynchronize(worker->stream));
        worker->may = 0;
        worker->sum += LOADED - (unsigned)refused;
        dlclose(library);
    }
}

/* --- threads of a worker ------------------------------------------------------------------------ */

static struct worker thread_of(const struct worker *worker, int number)
{
    struct worker thread = { .number = number,
                             .seed = worker->seed + (uint64_t)number,
                             .stream = worker->stream,
                             .side = worker->side,
                             .memory = worker->memory,
                             .units = worker->units };
    thread.chance = worker->chance + (uint64_t)number * 977;
    return thread;
}

static void *launch_per_thread(void *argument)
{
    struct worker *thread = argument;
    uint64_t ns = 1000;
    void *parameters[] = { &ns };
    signals_begin(thread);
    did(cuCtxSetCurrent(gpu.context));
    thread->may = MAY_CALL | MAY_FORK;
    for (int i = 0; i < 60; i++)
        did(cuLaunchKernel_ptsz(gpu.spin, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    did(cuMemsetD32Async_ptsz(thread->memory, 5, 1, NULL));
    if (thread->number % 2)
        did(cuStreamSynchronize_ptsz(NULL));
    thread->may = 0;
    timer_delete(thread->timer);
    return NULL;
}

/* Launches until a handler ends the thread, during a call or between two calls. The number of launches is not
 * known. */
static void *launch_until_ended(void *argument)
{
    struct worker *thread = argument;
    signals_begin(thread);
    did(cuCtxSetCurrent(gpu.context));
    thread->calls = thread->refused = 0;
    thread->may = MAY_CALL | MAY_END;
    for (int i = 0; i < (allowed & MAY_END ? 10000 : 500) && !thread->refused; i++)
        thread->refused += spin(gpu.spin, thread->number % 2 ? thread->stream : thread->side, 500) != WS_CUDA_SUCCESS;
    thread->may = 0;
    return NULL;
}

static void run_threads(struct worker *worker, void *(*run)(void *), bool deletes)
{
    struct worker threads[THREADS_OF_ONE];
    for (int i = 0; i < THREADS_OF_ONE; i++) {
        threads[i] = thread_of(worker, i);
        if (pthread_create(&threads[i].thread, NULL, run, &threads[i]))
            _exit(91);
    }
    for (int i = 0; i < THREADS_OF_ONE; i++) {
        pthread_join(threads[i].thread, NULL);
        if (!deletes)
            timer_delete(threads[i].timer);
        worker->calls += threads[i].calls;
        worker->refused += threads[i].refused;
    }
}

static void short_threads(struct worker *worker)
{
    for (unsigned unit = 0; unit < 4 * worker->units; unit++)
        run_threads(worker, launch_per_thread, true);
}

static void ended_threads(struct worker *worker)
{
    for (unsigned unit = 0; unit < worker->units; unit++) {
        run_threads(worker, launch_until_ended, false);
        worker->calls = 0;
    }
}

static const struct work kinds[] = {
    { "launch", launch },
    { "compute", compute },
    { "jump", jump },
    { "come and go", come_and_go },
    { "contexts", change_contexts },
    { "capture", capture },
    { "load", load },
    { "short threads", short_threads },
    { "ended threads", ended_threads },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void *work(void *argument)
{
    struct worker *worker = argument;
    MUST(cuCtxSetCurrent(gpu.context));
    MUST(cuStreamCreate(&worker->stream, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&worker->side, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc_v2(&worker->memory, 2 * WORDS * sizeof(unsigned)));
    signals_begin(worker);
    worker->work->run(worker);
    timer_delete(worker->timer);
    return NULL;
}

/* --- the whole program -------------------------------------------------------------------------- */

static void say_counts(void)
{
    const char *path = getenv("STRESS_COUNTS");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        dprintf(file, "signals %u\nside_calls %u\nchildren %u\njumps %u\nended %u\nbad_status %#x\n", signals,
                side_calls, children, jumps, ended, (unsigned)bad_status);
        close(file);
    }
}

static void end_in_handler(struct worker *worker)
{
    signals_begin(worker);
    worker->may = MAY_CALL | MAY_EXIT;
    for (;;) {
        ws_CUcontext context;
        spin(gpu.spin, worker->stream, 500);
        cuCtxCreate_v2(&context, 0, gpu.device);
        cuCtxDestroy_v2(context);
        cuCtxSetCurrent(gpu.context);
    }
}

static int end_as(const char *ending, struct worker *worker)
{
    if (!strcmp(ending, "handler"))
        end_in_handler(worker);
    if (!strcmp(ending, "_exit"))
        _exit(18);
    if (!strcmp(ending, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(ending, "thread"))
        pthread_exit(NULL);
    if (!strcmp(ending, "exec"))
        execl("/proc/self/exe", self_path, "1", "0", "return", (char *)NULL);
    return strcmp(ending, "return") ? unknown_mode(ending) : 0;
}

int main(int argc, char **argv)
{
    static struct worker workers[WORKERS];
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    unsigned units = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    self_path = argv[0];
    const char *may = getenv("STRESS_MAY");
    if (may)
        allowed = atoi(may);
    sigaction(SIGUSR1, &action, NULL);
    gpu_open(&gpu, 0);
    ws_CUmodule module;
    MUST(cuModuleLoadData(&module, ".version 6.0\n.target sm_52\n.address_size 64\n" SPIN_ENTRY("node")));
    MUST(cuModuleGetFunction(&node, module, "node"));
    for (int i = 0; i < WORKERS && units; i++) {
        workers[i] = (struct worker){ .work = &kinds[next(&seed) % KINDS], .number = i, .units = units };
        workers[i].seed = next(&seed);
        workers[i].chance = next(&seed);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            _exit(91);
    }
    for (int i = 0; i < WORKERS && units; i++) {
        pthread_join(workers[i].thread, NULL);
        dprintf(STDOUT_FILENO, "%s: %u calls, %u refused, sum %llu\n", workers[i].work->name, workers[i].calls,
                workers[i].refused, (unsigned long long)workers[i].sum);
    }
    TRY(cuCtxSynchronize());
    dprintf(STDOUT_FILENO, "handlers: %u refused, %u of their children ended badly\n", side_refused, bad_children);
    say_counts();
    return end_as(argc > 3 ? argv[3] : "return", &workers[0]);
}
