/* Thousands of threads and streams are created and end, and thousands of grids are launched. */
#include <pthread.h>

#include "program.h"

enum { AT_ONCE = 8 };

static struct gpu gpu;
static pthread_key_t key;
static bool launches_first;

/* Runs `function` once in each of `threads` new threads, AT_ONCE threads at a time. */
static void crowd(int threads, void *(*function)(void *))
{
    pthread_t running[AT_ONCE];
    for (int done = 0; done < threads; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&running[i], NULL, function, NULL))
                _exit(91);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(running[i], NULL);
        if (done % 128 == 0)
            /* Gives the shim's thread time to work. Real programs do so, too, because they do not only start
             * threads. */
            usleep(5000);
    }
    dprintf(STDOUT_FILENO, "%d threads\n", threads);
}

static void *launch_on_own_stream(void *unused)
{
    (void)unused;
    MUST(cuCtxSetCurrent(gpu.context));
    MUST(spin(gpu.spin, WS_CU_STREAM_PER_THREAD, 1000));
    return NULL;
}

static void launch_at_end(void *unused)
{
    (void)unused;
    MUST(cuCtxSetCurrent(gpu.context));
    MUST(spin(gpu.spin, gpu.stream, 1000));
}

/* The destructor of thread-specific data (`key`) launches. It runs after the destructors of all thread_local objects
 * of the thread. */
static void *leave_it_to_a_key(void *unused)
{
    (void)unused;
    pthread_setspecific(key, &key);
    if (launches_first)
        launch_at_end(NULL);
    return NULL;
}

static void streams(int count)
{
    for (int i = 0; i < count; i++) {
        ws_CUstream stream;
        MUST(cuStreamCreate(&stream, i % 2 ? WS_CU_STREAM_NON_BLOCKING : 0));
        MUST(spin(gpu.spin, stream, 1000));
        MUST(cuStreamDestroy_v2(stream));
        if (i % 128 == 0)
            usleep(5000);
    }
    dprintf(STDOUT_FILENO, "%d streams\n", count);
}

/* Each launch has another grid. */
static void shapes(int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t ns = 1;
        void *parameters[] = { &ns };
        MUST(cuLaunchKernel(gpu.spin, (unsigned)i + 2, 1, 1, 32, 1, 1, 0, gpu.stream, parameters, NULL));
        if (i % 8192 == 0)
            MUST(cuStreamSynchronize(gpu.stream));
    }
    dprintf(STDOUT_FILENO, "%d grids\n", count);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    int count = argc > 2 ? atoi(argv[2]) : 0;
    gpu_open(&gpu, 0);
    MUST(spin(gpu.spin, gpu.stream, 1000));
    pthread_key_create(&key, launch_at_end);
    launches_first = !strcmp(mode, "keys");
    if (!strcmp(mode, "own-streams"))
        crowd(count, launch_on_own_stream);
    else if (!strcmp(mode, "keys") || !strcmp(mode, "keys-alone"))
        crowd(count, leave_it_to_a_key);
    else if (!strcmp(mode, "streams"))
        streams(count);
    else if (!strcmp(mode, "shapes"))
        shapes(count);
    else
        return unknown_mode(mode);
    TRY(cuCtxSynchronize());
    return 0;
}
