/* A program that ends while its work is still in flight, in every way in which a program can end. */
#include <pthread.h>
#include <signal.h>

#include "program.h"

static struct gpu gpu;

static void *exit_in_thread(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    dprintf(STDOUT_FILENO, "refused in the thread: %d\n", spin_times(&gpu, 10, 10000));
    exit(5);
}

static void *outlive_main(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    usleep(20000);
    dprintf(STDOUT_FILENO, "refused after main: %d\n", spin_times(&gpu, 10, 10000));
    return NULL;
}

static void *spin_for_ever(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    for (;;)
        spin(gpu.spin, gpu.stream, 5000);
    return NULL;
}

static void at_exit(void)
{
    /* The driver may have shut down by now. These calls may return any result, but must return. */
    spin(gpu.spin, gpu.stream, 10000);
    cuCtxSynchronize();
    dprintf(STDOUT_FILENO, "atexit handler done\n");
}

static void at_quick_exit_handler(void)
{
    dprintf(STDOUT_FILENO, "at_quick_exit handler done\n");
}

static bool launch_in_destructor;

__attribute__((destructor)) static void destructor(void)
{
    if (!launch_in_destructor)
        return;
    spin(gpu.spin, gpu.stream, 10000);
    cuStreamSynchronize(gpu.stream);
    dprintf(STDOUT_FILENO, "destructor done\n");
}

static void start(void *(*function)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL) || pthread_detach(thread))
        _exit(91);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 200, 10000));
    if (!strcmp(mode, "return"))
        return 3;
    if (!strcmp(mode, "exit"))
        exit(4);
    if (!strcmp(mode, "_exit"))
        _exit(6);
    if (!strcmp(mode, "abort"))
        abort();
    if (!strcmp(mode, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(mode, "term"))
        raise(SIGTERM);
    if (!strcmp(mode, "segv"))
        raise(SIGSEGV);
    if (!strcmp(mode, "quick_exit")) {
        at_quick_exit(at_quick_exit_handler);
        quick_exit(7);
    }
    if (!strcmp(mode, "atexit")) {
        atexit(at_exit);
        return 8;
    }
    if (!strcmp(mode, "destructor")) {
        launch_in_destructor = true;
        return 9;
    }
    if (!strcmp(mode, "thread")) {
        start(exit_in_thread);
        for (;;)
            pause();
    }
    if (!strcmp(mode, "pthread_exit")) {
        start(outlive_main);
        pthread_exit(NULL);
    }
    if (!strcmp(mode, "busy")) {
        for (int i = 0; i < 3; i++)
            start(spin_for_ever);
        usleep(30000);
        exit(10);
    }
    if (!strcmp(mode, "synchronised")) {
        TRY(cuCtxSynchronize());
        TRY(cuModuleUnload(gpu.module));
        TRY(cuStreamDestroy_v2(gpu.stream));
        TRY(cuDevicePrimaryCtxRelease_v2(gpu.device));
        return 0;
    }
    if (!strcmp(mode, "exec")) {
        execl("/bin/echo", "echo", "executed", (char *)NULL);
        _exit(92);
    }
    return unknown_mode(mode);
}
