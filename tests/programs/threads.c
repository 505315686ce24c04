/* Many short-lived threads; threads that end early, have very small stacks, launch from a destructor of
 * thread-specific data, or leave no processor time to others. */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <sys/mman.h>

#include "program.h"

static struct gpu gpu;
static pthread_key_t key;

static void must_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                        void *argument)
{
    int error = pthread_create(thread, attributes, function, argument);
    if (error) {
        dprintf(STDOUT_FILENO, "pthread_create: %s\n", strerror(error));
        _exit(91);
    }
}

static void *launch_some(void *argument)
{
    cuCtxSetCurrent(gpu.context);
    return (void *)(intptr_t)spin_times(&gpu, (int)(intptr_t)argument, 2000);
}

static void *launch_then_exit(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    spin_times(&gpu, 5, 2000);
    pthread_exit((void *)7);
}

static void *launch_until_cancelled(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    for (;;) {
        spin_times(&gpu, 5, 2000);
        pthread_testcancel();
    }
    return NULL;
}

static void at_thread_end(void *rounds)
{
    spin_times(&gpu, 3, 2000);
    /* If a destructor of thread-specific data sets a value, the C library runs another round of these destructors. */
    if ((intptr_t)rounds > 1)
        pthread_setspecific(key, (void *)((intptr_t)rounds - 1));
}

static void *launch_at_end(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    pthread_setspecific(key, (void *)3);
    return NULL;
}

/* Runs `function` once in each of `threads` new threads, at most 16 threads at a time. */
static void crowd(int threads, void *(*function)(void *), void *argument, const pthread_attr_t *attributes)
{
    pthread_t running[16];
    long sum = 0;
    for (int done = 0; done < threads;) {
        int count = threads - done < 16 ? threads - done : 16;
        for (int i = 0; i < count; i++)
            must_create(&running[i], attributes, function, argument);
        for (int i = 0; i < count; i++) {
            void *answer;
            pthread_join(running[i], &answer);
            sum += (long)(intptr_t)answer;
        }
        done += count;
    }
    dprintf(STDOUT_FILENO, "%d threads, sum of their answers %ld\n", threads, sum);
}

static void cancelled(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *answer;
        must_create(&thread, NULL, launch_until_cancelled, NULL);
        usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, &answer);
        if (answer != PTHREAD_CANCELED)
            dprintf(STDOUT_FILENO, "not cancelled\n");
    }
}

/* The program disables cancellation during each call. So a cancellation takes effect between two calls, when the shim
 * must hold no lock. */
static void *launch_in_disabled_sections(void *unused)
{
    int state;
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    for (;;) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        spin_times(&gpu, 1, 1000);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
        pthread_testcancel();
    }
    return NULL;
}

static void small_stacks(void)
{
    pthread_attr_t attributes;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t size = least > PTHREAD_STACK_MIN ? (size_t)least : PTHREAD_STACK_MIN;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    crowd(32, launch_some, (void *)20, &attributes);
    pthread_attr_destroy(&attributes);
}

static int deep(int levels)
{
    volatile char frame[4096];
    frame[0] = (char)levels;
    if (levels == 0)
        return spin_times(&gpu, 10, 2000);
    return deep(levels - 1) + (frame[0] != (char)levels);
}

static void left_running(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        must_create(&thread, NULL, launch_until_cancelled, NULL);
        pthread_detach(thread);
    }
    usleep(20000);
}

/* Binds the profiler's thread to `processor`, with the policy SCHED_IDLE: it gets only the time that no other thread
 * wants. */
static void starve_profiler(int processor)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[320], name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof(name), file) && !strcmp(name, "wallshim\n")) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(processor, &set);
            sched_setaffinity(atoi(task->d_name), sizeof(set), &set);
            sched_setscheduler(atoi(task->d_name), SCHED_IDLE, &(struct sched_param){ 0 });
        }
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
}

static void starved(void)
{
    cpu_set_t set;
    int processor = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof(set), &set);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 1, 1));
    usleep(500000); /* as long as a real program takes to load its model */
    starve_profiler(processor);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 1500, 1));
}

static _Atomic bool is_cancelled;

/* Makes the program's first context in a thread with a pending cancellation, which ends the thread at its next
 * cancellation point. */
static void *open_when_cancelled(void *unused)
{
    (void)unused;
    while (!is_cancelled)
        ;
    gpu_open(&gpu, 0);
    pthread_testcancel();
    return NULL;
}

static void cancelled_first(void)
{
    pthread_t thread;
    void *answer;
    must_create(&thread, NULL, open_when_cancelled, NULL);
    pthread_cancel(thread);
    is_cancelled = true;
    pthread_join(thread, &answer);
    dprintf(STDOUT_FILENO, "%s\n", answer == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    if (gpu.context)
        cuCtxSetCurrent(gpu.context);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 20, 1000));
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "cancel-first")) {
        cancelled_first();
        TRY(cuCtxSynchronize());
        return 0;
    }
    gpu_open(&gpu, 0);
    if (!strcmp(mode, "short"))
        crowd(600, launch_some, (void *)3, NULL);
    else if (!strcmp(mode, "early"))
        crowd(64, launch_then_exit, NULL, NULL);
    else if (!strcmp(mode, "cancel"))
        cancelled();
    else if (!strcmp(mode, "cancel-disabled")) {
        pthread_t thread;
        must_create(&thread, NULL, launch_in_disabled_sections, NULL);
        usleep(5000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    } else if (!strcmp(mode, "at-end")) {
        pthread_key_create(&key, at_thread_end);
        crowd(64, launch_at_end, NULL, NULL);
    } else if (!strcmp(mode, "small-stack"))
        small_stacks();
    else if (!strcmp(mode, "deep-stack"))
        dprintf(STDOUT_FILENO, "refused deep down: %d\n", deep(1500));
    else if (!strcmp(mode, "starved"))
        starved();
    else if (!strcmp(mode, "left-running")) {
        left_running();
        return 0;
    } else
        return unknown_mode(mode);
    TRY(cuCtxSynchronize());
    return 0;
}
