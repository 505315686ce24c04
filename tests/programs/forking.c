/* Makes child processes of every kind, before and after the parent's first CUDA call. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "program.h"

extern char **environ;

static struct gpu gpu;
static char *self;

static void wait_for(const char *what, pid_t child)
{
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    dprintf(STDOUT_FILENO, "%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Run by children that are complete CUDA programs. */
static int leaf(void)
{
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "leaf refused: %d\n", spin_times(&gpu, 50, 5000));
    TRY(cuStreamSynchronize(gpu.stream));
    return 12;
}

static char *leaf_arguments[] = { NULL, (char[]){ "leaf" }, NULL };

static volatile int is_listing;

static int stay(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    is_listing = 1;
    while (is_listing)
        usleep(1000);
    return 1;
}

static void *list_libraries(void *unused)
{
    dl_iterate_phdr(stay, unused);
    return unused;
}

/* Calls driver functions that the process has not called before the fork. */
static int new_calls(void)
{
    ws_CUevent event;
    TRY(cuEventCreate(&event, 0));
    TRY(cuCtxSynchronize());
    return 19;
}

/* Looks up driver functions in every way. */
static int look_ups(void)
{
    static const char *const names[] = { "cuInit", "cuEventCreate", "cuCtxSynchronize", "cuGetProcAddress_v2" };
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *address = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        dprintf(STDOUT_FILENO, "%s: %d %d %d\n", names[i], !!dlsym(handle, names[i]), !!dlsym(RTLD_DEFAULT, names[i]),
                !!dlsym(RTLD_NEXT, names[i]));
        TRY(cuGetProcAddress_v2(names[i], &address, 12000, 0, NULL));
    }
    return 20;
}

static int look_up_and_use(void)
{
    look_ups();
    return leaf();
}

/* Forks while another thread holds the lock of the loader's list of libraries. The C library does not release this
 * lock in the child, so nothing that the child does may wait for the lock. */
static void forked_while_listed(const char *mode, int (*act)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, list_libraries, NULL))
        _exit(91);
    while (!is_listing)
        usleep(1000);
    pid_t child = fork();
    if (!child) {
        alarm(10);
        exit(act());
    }
    is_listing = 0;
    pthread_join(thread, NULL);
    wait_for(mode, child);
}

static void forked(const char *mode)
{
    pid_t child = fork();
    if (child < 0)
        _exit(91);
    if (child) {
        wait_for(mode, child);
        return;
    }
    if (!strcmp(mode, "fork"))
        _exit(13);
    if (!strcmp(mode, "fork-exit"))
        exit(14);
    if (!strcmp(mode, "fork-exec")) {
        execv(self, leaf_arguments);
        _exit(92);
    }
    if (!strcmp(mode, "fork-cuda")) {
        /* CUDA does not work in a child that is forked after the first CUDA call. The shim must pass the child's
         * calls on to the driver, so that the driver determines their results. */
        ws_CUevent event;
        TRY(cuInit(0));
        TRY(spin(gpu.spin, gpu.stream, 1000));
        TRY(cuEventCreate(&event, 0));
        TRY(cuCtxSynchronize());
        exit(15);
    }
    if (!strcmp(mode, "fork-many")) {
        for (int i = 0; i < 20; i++) {
            pid_t grandchild = fork();
            if (!grandchild)
                exit(0);
            wait_for("grandchild", grandchild);
        }
        exit(16);
    }
    _exit(unknown_mode(mode));
}

static void cloned(const char *mode)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!child) {
        TRY(spin(gpu.spin, gpu.stream, 1000));
        syscall(SYS_exit_group, 17); // a sanitizer's _exit takes locks that other threads may have held at the clone
    }
    wait_for(mode, child);
}

static void vforked(const char *mode)
{
    pid_t child = vfork();
    if (!child) {
        execv(self, leaf_arguments);
        _exit(92);
    }
    wait_for(mode, child);
}

static void spawned(const char *mode)
{
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, leaf_arguments, environ))
        _exit(93);
    wait_for(mode, child);
}

static void both(const char *mode)
{
    pid_t child = fork();
    if (!child)
        exit(leaf());
    wait_for(mode, child);
}

static void *leaf_in_thread(void *unused)
{
    leaf();
    return unused;
}

/* The child's first thread ends before its second thread has done its work. The child process ends with the second
 * thread. */
static void *fork_and_leave(void *mode)
{
    pthread_t thread;
    pid_t child = fork();
    if (!child) {
        alarm(10);
        if (pthread_create(&thread, NULL, leaf_in_thread, NULL))
            _exit(91);
        pthread_exit(NULL);
    }
    wait_for(mode, child);
    return NULL;
}

static void forked_by_thread(const char *mode)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fork_and_leave, (void *)(uintptr_t)mode) || pthread_join(thread, NULL))
        _exit(91);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    self = argv[0];
    leaf_arguments[0] = self;
    if (!strcmp(mode, "leaf"))
        return leaf();
    if (!strcmp(mode, "fork-before"))
        both(mode);
    else if (!strcmp(mode, "before-by-thread"))
        forked_by_thread(mode);
    else if (!strcmp(mode, "before-listed"))
        forked_while_listed(mode, look_up_and_use);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused before: %d\n", spin_times(&gpu, 100, 5000));
    if (!strcmp(mode, "clone"))
        cloned(mode);
    else if (!strcmp(mode, "vfork-exec"))
        vforked(mode);
    else if (!strcmp(mode, "spawn"))
        spawned(mode);
    else if (!strcmp(mode, "system"))
        dprintf(STDOUT_FILENO, "system: %d\n", system("echo in the shell"));
    else if (!strcmp(mode, "fork-listed"))
        forked_while_listed(mode, new_calls);
    else if (!strcmp(mode, "fork-listed-looking"))
        forked_while_listed(mode, look_ups);
    else if (strcmp(mode, "fork-before") && strncmp(mode, "before-", 7))
        forked(mode);
    dprintf(STDOUT_FILENO, "refused after: %d\n", spin_times(&gpu, 100, 5000));
    TRY(cuCtxSynchronize());
    return 0;
}
