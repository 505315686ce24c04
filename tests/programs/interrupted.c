/* Interrupts a driver call by a signal, at one instruction of the shim after another.
 *
 *   interrupted OPERATION ACTION
 *
 * A child repeats a call in rounds. In each round its parent steps through the call by ptrace, one instruction at a
 * time, to a certain instruction of the shim (a place), and sends a signal there. The signal's handler launches,
 * forks or leaves the call by siglongjmp (ACTION). The next round interrupts the call at a later place. Without the
 * shim there are no places, and the signal is sent after a few steps. The environment variable FIRST is the number of
 * the first place with an interruption, STRIDE the number of places to the next one. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "program.h"
#include "abi/cublas.h"
#include "abi/nccl.h"

ws_cublasStatus cublasCreate_v2(ws_cublasHandle *handle);
ws_cublasStatus cublasSetStream_v2(ws_cublasHandle handle, ws_CUstream stream);
ws_cublasStatus cublasSgemm_v2(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n,
                               int k, ws_cublasPointer alpha, ws_cublasPointer a, int lda, ws_cublasPointer b,
                               int ldb, ws_cublasPointer beta, void *c, int ldc);
ws_ncclResult ncclCommInitAll(ws_ncclComm *comms, int count, const int *devices);
ws_ncclResult ncclAllReduce(const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,
                            ws_ncclComm comm, ws_CUstream stream);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STRIDE = 97 }; /* default number of places from one interruption to the next */
#else
enum { STRIDE = 5 };
#endif
enum { COUNT = 64, PLACES_WITHOUT = 20, STEPS_AT_MOST = 20000, CHILD_STATUS = 21 };

static struct gpu gpu;
static ws_CUdeviceptr buffer;
static ws_cublasHandle cublas;
static ws_ncclComm comm;
static void *pinned;
static pid_t self;
static sigjmp_buf back;
static volatile bool jumping;

static int children_lost; /* children that ended with another status than CHILD_STATUS */

/* --- operations ---------------------------------------------------------------------------------- */

static int one_launch(void)
{
    return (int)spin(gpu.spin, gpu.stream, 1000);
}

static int one_copy(void)
{
    return (int)cuMemcpyHtoDAsync_v2(buffer, pinned, COUNT, gpu.stream);
}

static int one_wait(void)
{
    return (int)cuStreamSynchronize(gpu.stream);
}

static int one_product(void)
{
    static const float one = 1, zero = 0;
    return (int)cublasSgemm_v2(cublas, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, 4, 4, 4, &one, (const void *)buffer, 4,
                               (const void *)buffer, 4, &zero, (void *)buffer, 4);
}

static int one_collective(void)
{
    return (int)ncclAllReduce((void *)buffer, (void *)buffer, COUNT, WS_ncclFloat32, WS_ncclSum, comm, gpu.stream);
}

/* cuStreamBeginCapture fails if a capture of an earlier round, which a jump left, is still active. */
static int one_capture(void)
{
    int mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    ws_CUgraph graph = NULL;
    int refused = (int)cuStreamBeginCapture_v2(gpu.stream, mode) + (int)cuStreamEndCapture(gpu.stream, &graph);
    if (graph)
        cuGraphDestroy(graph);
    return refused;
}

static const struct {
    const char *name;
    int (*run)(void);
} operations[] = {
    { "launch", one_launch },         { "copy", one_copy },      { "wait", one_wait }, { "product", one_product },
    { "collective", one_collective }, { "capture", one_capture }
};

/* --- actions, in the handler ---------------------------------------------------------------------- */

static void launch_now(int signal)
{
    (void)signal;
    spin(gpu.spin, gpu.stream, 1000);
}

/* The forked child returns from the handler and goes on in the call that the signal interrupted. */
static void fork_now(int signal)
{
    (void)signal;
    int status = 0;
    pid_t child = fork();
    if (child > 0 &&
        (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != CHILD_STATUS))
        children_lost++;
}

static void jump_now(int signal)
{
    (void)signal;
    if (jumping)
        siglongjmp(back, 1);
}

static void *action_of(const char *name)
{
    return !strcmp(name, "launch") ? launch_now
           : !strcmp(name, "fork") ? fork_now
           : !strcmp(name, "jump") ? jump_now
                                   : NULL;
}

/* --- the child ------------------------------------------------------------------------------------ */

static void open_all(void)
{
    gpu_open(&gpu, 0);
    MUST(cuMemAlloc_v2(&buffer, 4096));
    MUST(cuMemAllocHost_v2(&pinned, 4096));
    int device = 0;
    if (cublasCreate_v2(&cublas) || cublasSetStream_v2(cublas, gpu.stream) || ncclCommInitAll(&comm, 1, &device))
        _exit(90);
}

/* Makes the last launches, in a stream of the program and in the default stream, without interruption. They follow
 * each other so slowly that the shim needs few events. The test expects complete records with times for these
 * launches. */
static int launch_at_last(void)
{
    int refused = 0;
    for (int i = 0; i < 20; i++) {
        ws_CUstream stream = i % 2 ? NULL : gpu.stream;
        for (int launch = 0; launch < 10; launch++)
            refused += spin(gpu.spin, stream, 1000) != WS_CUDA_SUCCESS;
        refused += cuStreamSynchronize(stream) != WS_CUDA_SUCCESS;
        usleep(20000);
    }
    return refused;
}

static int be_interrupted(int (*run)(void), const char *action)
{
    open_all();
    self = getpid();
    struct sigaction handler = { .sa_handler = (void (*)(int))(uintptr_t)action_of(action) };
    sigaction(SIGUSR1, &handler, NULL);
    jumping = !strcmp(action, "jump");
    volatile int refused = 0;
    /* Here the shim does the work that only first calls need, before any interruption. */
    for (volatile int i = 0; i < 4; i++)
        refused = refused + (run() != 0);
    launch_now(0);
    MUST(cuStreamSynchronize(gpu.stream));
    /* True when the parent has interrupted all places. (The parent then creates a file of this name.) */
    static volatile bool enough;
    while (!enough) {
        if (!sigsetjmp(back, 1)) {
            enough = raise(SIGSTOP) != 0; /* the parent sees the stop, and begins to step */
            refused = refused + (run() != 0);
        } else if (run == one_capture) {
            ws_CUgraph graph = NULL;
            cuStreamEndCapture(gpu.stream, &graph);
            if (graph)
                cuGraphDestroy(graph);
        }
        if (getpid() == self && cuStreamSynchronize(gpu.stream))
            refused = refused + 1;
        if (getpid() != self)
            _exit(CHILD_STATUS);
        enough = access("enough", F_OK) == 0;
    }
    if (jumping) {
        jumping = false;
        refused = refused + launch_at_last();
    }
    dprintf(STDOUT_FILENO, "refused: %d, children lost: %d\n", refused, children_lost);
    return 0;
}

/* --- the parent ----------------------------------------------------------------------------------- */

struct range {
    unsigned long low, high;
};

/* The address range of the shim's code in the child. */
static struct range shim_of(pid_t child)
{
    char path[64], line[1024];
    struct range range = { 0, 0 };
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        struct range part;
        char executable;
        if (strstr(line, "libwallshim.so") &&
            sscanf(line, "%lx-%lx %*c%*c%c", &part.low, &part.high, &executable) == 3 && executable == 'x')
            range = part;
    }
    if (maps)
        fclose(maps);
    return range;
}

static bool wait_for_stop(pid_t child, int *signal)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    if (!WIFSTOPPED(status))
        dprintf(STDOUT_FILENO, "child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return WIFSTOPPED(status);
}

#if defined(__x86_64__)
enum { TRAP = 0xcc };

static unsigned long place_of(pid_t child)
{
    struct user_regs_struct registers;
    return ptrace(PTRACE_GETREGS, child, NULL, &registers) ? 0 : registers.rip;
}

/* Called when the child has just left the shim's code. If the shim has called another function, lets this function
 * run until it returns. Returns false if the child stopped earlier for another reason. */
static bool step_over(pid_t child, struct range shim, int *signal, bool *lives)
{
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    unsigned long back_at = (unsigned long)ptrace(PTRACE_PEEKDATA, child, (void *)registers.rsp, NULL);
    if (back_at < shim.low || back_at >= shim.high) /* the shim called no function: it returned, or a jump left it */
        return true;
    long text = ptrace(PTRACE_PEEKTEXT, child, (void *)back_at, NULL);
    ptrace(PTRACE_POKETEXT, child, (void *)back_at, (void *)((text & ~0xffL) | TRAP));
    ptrace(PTRACE_CONT, child, NULL, NULL);
    *lives = wait_for_stop(child, signal);
    if (!*lives)
        return false;
    ptrace(PTRACE_POKETEXT, child, (void *)back_at, (void *)text);
    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    if (*signal != SIGTRAP || registers.rip != back_at + 1)
        return false;
    registers.rip = back_at;
    ptrace(PTRACE_SETREGS, child, NULL, &registers);
    return true;
}
#else
static unsigned long place_of(pid_t child)
{
    (void)child;
    return 0;
}

static bool step_over(pid_t child, struct range shim, int *signal, bool *lives)
{
    (void)child, (void)shim, (void)signal, (void)lives;
    return true;
}
#endif

/* Lets the child step to the place (instruction of the shim) with this number. Returns false if the call has fewer
 * places. */
static bool step_to(pid_t child, struct range shim, long number, bool *lives)
{
    long places = 0;
    int signal = SIGTRAP;
    bool was_inside = false;
    for (int step = 0; step < STEPS_AT_MOST; step++) {
        unsigned long at = place_of(child);
        bool inside = shim.high ? at >= shim.low && at < shim.high : true;
        if (inside && places++ == number)
            return shim.high || number < PLACES_WITHOUT;
        if (was_inside && !inside && !step_over(child, shim, &signal, lives))
            return false;
        was_inside = inside;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(long)(signal == SIGTRAP ? 0 : signal)) ||
            !wait_for_stop(child, &signal)) {
            *lives = false;
            return false;
        }
        if (signal == SIGSTOP) /* the call has ended and the next round begins */
            return false;
    }
    return false;
}

static int drive(pid_t child, int first, int stride)
{
    int signal;
    bool lives = wait_for_stop(child, &signal); /* the stop that exec causes */
    for (long number = first; lives; number += stride) {
        /* Lets the child run to the SIGSTOP that begins its next round, and passes other signals on to it. */
        int pass = 0;
        do {
            ptrace(PTRACE_CONT, child, NULL, (void *)(long)pass);
            lives = wait_for_stop(child, &signal);
            pass = signal;
        } while (lives && signal != SIGSTOP);
        if (!lives)
            break;
        bool there = step_to(child, shim_of(child), number, &lives);
        if (!there) {
            close(open("enough", O_CREAT | O_WRONLY, 0600));
            break;
        }
        ptrace(PTRACE_CONT, child, NULL, (void *)(long)SIGUSR1);
        lives = wait_for_stop(child, &signal);
        /* Lets the child run to its next SIGSTOP. The loop above then lets the next round run without single
         * steps. */
        while (lives && signal != SIGSTOP) {
            ptrace(PTRACE_CONT, child, NULL, (void *)(long)signal);
            lives = wait_for_stop(child, &signal);
        }
    }
    while (lives) {
        ptrace(PTRACE_CONT, child, NULL, NULL);
        lives = wait_for_stop(child, &signal);
    }
    unlink("enough");
    return 0;
}

/* Binds this process, and so its child, to one CPU, where they run alternately: a step that wakes up another CPU
 * takes five times as long. */
static void stay_on_this_cpu(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int cpu = sched_getcpu();
    if (cpu < 0)
        return;
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
    if (argc < 3 || !action_of(argv[2]))
        return unknown_mode(mode_of(argc, argv));
    if (argc > 3 && !strcmp(argv[3], "child")) {
        for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
            if (!strcmp(operations[i].name, argv[1]))
                return be_interrupted(operations[i].run, argv[2]);
        return unknown_mode(argv[1]);
    }
    stay_on_this_cpu();
    pid_t child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl(argv[0], argv[0], argv[1], argv[2], "child", (char *)NULL);
        _exit(92);
    }
    const char *first = getenv("FIRST"), *stride = getenv("STRIDE");
    return drive(child, first ? atoi(first) : 0, stride ? atoi(stride) : STRIDE);
}
