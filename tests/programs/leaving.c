/* Programs that end at unusual places: in a signal handler inside a CUDA call, in a library's destructor, and without
 * exit. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "program.h"

static struct gpu gpu;

/* Opens a library by its path in the folder libraries/ beside the program. The library's bare name is not enough: in
 * a build with a sanitizer, dlopen is called from the sanitizer's library, so this program's RUNPATH is not
 * searched. */
static void *open_library(const char *name)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/libraries/%s", name);
    return dlopen(path, RTLD_NOW);
}

static void exit_in_handler(int signal)
{
    (void)signal;
    exit(11); // NOLINT(bugprone-signal-handler): the test is about this call
}

static void alarm_in(long us)
{
    struct itimerval once = { .it_value = { 0, us } };
    signal(SIGALRM, exit_in_handler);
    setitimer(ITIMER_REAL, &once, NULL);
}

/* cuCtxDestroy waits for a long kernel, and meanwhile the handler of an alarm signal calls exit. */
static void exit_inside_destroy(void)
{
    ws_CUcontext context;
    ws_CUmodule module;
    ws_CUfunction function;
    MUST(cuCtxCreate_v2(&context, 0, gpu.device));
    MUST(cuModuleLoadData(&module, SPIN_IMAGE));
    MUST(cuModuleGetFunction(&function, module, "spin"));
    MUST(spin(function, NULL, 1000));
    MUST(cuCtxSynchronize());
    MUST(spin(function, NULL, 150000000));
    alarm_in(50000);
    MUST(cuCtxDestroy_v2(context));
    for (;;) /* waits for the alarm if cuCtxDestroy has returned already */
        pause();
}

/* Leaves four contexts, which the destructor of libraries/leaving.c destroys. libraries/leaving.c is loaded last, so
 * that its destructor runs after the destructors of preloaded libraries. */
static void leave_contexts(void)
{
    void *library = open_library("libleaving.so");
    ws_CUcontext *left = library ? dlsym(library, "contexts_left") : NULL;
    if (!left)
        _exit(93);
    for (int i = 0; i < 4; i++) {
        MUST(cuCtxCreate_v2(&left[i], 0, gpu.device));
        ws_CUmodule module;
        ws_CUfunction function;
        MUST(cuModuleLoadData(&module, SPIN_IMAGE));
        MUST(cuModuleGetFunction(&function, module, "spin"));
        MUST(spin(function, NULL, 1000));
        MUST(cuCtxSynchronize());
    }
}

static void launch_a_few(void)
{
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 300, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
}

static void _exit_in_handler(int signal)
{
    (void)signal;
    _exit(16);
}

/* Only the child uses CUDA, as in a pool of worker processes. */
static void leave_child(void)
{
    pid_t child = fork();
    if (!child) {
        gpu_open(&gpu, 0);
        launch_a_few();
        _exit(17);
    }
    int status = 0;
    waitpid(child, &status, 0);
    dprintf(STDOUT_FILENO, "child: %d\n", WEXITSTATUS(status));
}

/* A vforked child calls _exit. _exit must end only the child, although the child shares the parent's memory. */
static void leave_vforked(void)
{
    gpu_open(&gpu, 0);
    launch_a_few();
    pid_t child = vfork();
    if (!child)
        _exit(18);
    int status = 0;
    waitpid(child, &status, 0);
    dprintf(STDOUT_FILENO, "child: %d\n", WEXITSTATUS(status));
    launch_a_few();
}

static void *open_slowly(void *unused)
{
    open_library("libslow.so");
    return unused;
}

/* Starts a thread that holds the loader's lock for seconds: it opens libslow.so, whose constructor sleeps. */
static void open_beside(void)
{
    pthread_t thread;
    MUST(cuStreamSynchronize(gpu.stream));
    if (pthread_create(&thread, NULL, open_slowly, NULL) || pthread_detach(thread))
        _exit(91);
    usleep(500000);
}

/* Forks by a bare system call, while another thread holds the loader's lock. The C library's fork would release the C
 * library's locks in the child. After the bare system call these locks stay locked, but the child must still end. */
static void leave_cloned(void)
{
    open_beside();
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!child)
        _exit(20);
    int status = 0, tries = 100;
    while (--tries && waitpid(child, &status, WNOHANG) != child)
        usleep(100000);
    dprintf(STDOUT_FILENO, "child: %d\n", tries ? WEXITSTATUS(status) : -1);
    kill(child, SIGKILL);
}

static _Atomic int ready;

static void *leave_together(void *unused)
{
    (void)unused;
    for (ready++; ready < 2;)
        ;
    _exit(19);
}

static void leave_twice(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave_together, NULL))
        _exit(91);
    leave_together(NULL);
}

void launch_while_opening(void);
void launch_while_opening(void)
{
    ws_CUdeviceptr memory;
    cuCtxSetCurrent(gpu.context);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 10, 1000));
    /* Calls driver functions that the program has not called before. */
    TRY(cuMemAlloc_v2(&memory, 1024));
    TRY(cuMemsetD8Async(memory, 1, 1024, gpu.stream));
    TRY(cuStreamSynchronize(gpu.stream));
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "child")) {
        leave_child();
        return 0;
    }
    if (!strcmp(mode, "vforked")) {
        leave_vforked();
        return 0;
    }
    gpu_open(&gpu, 0);
    if (!strcmp(mode, "inside-destroy")) {
        exit_inside_destroy();
    } else if (!strcmp(mode, "contexts-left")) {
        leave_contexts();
        return 12;
    } else if (!strcmp(mode, "opening")) {
        dprintf(STDOUT_FILENO, "opened: %d\n", open_library("libopening.so") != NULL);
        return 0;
    }
    launch_a_few();
    if (!strcmp(mode, "twice"))
        leave_twice();
    if (!strcmp(mode, "cloned")) {
        leave_cloned();
        return 0;
    }
    if (!strcmp(mode, "beside-dlopen"))
        open_beside();
    if (!strcmp(mode, "beside-dlopen") || !strcmp(mode, "_exit"))
        _exit(13);
    if (!strcmp(mode, "_Exit"))
        _Exit(14);
    if (!strcmp(mode, "quick_exit"))
        quick_exit(15);
    if (!strcmp(mode, "handler")) {
        signal(SIGUSR1, _exit_in_handler);
        raise(SIGUSR1);
    }
    return unknown_mode(mode);
}
