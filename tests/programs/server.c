/* A server under load, for tests that attach to it: server WORKERS LIBRARY. Each worker answers requests: it copies
 * numbers to the device, launches the kernel "even" or "odd" (by the worker's number), copies the numbers back, and
 * checks them. Meanwhile other threads allocate memory, load and unload LIBRARY, and start short-lived threads. The
 * server ends at SIGTERM, and prints how many requests it has answered, and how many calls or results were wrong. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "program.h"

enum { WORKERS_MOST = 16, WORDS = 256, LAUNCHES = 8 };

#define SERVER_IMAGE \
    ".version 6.0\n.target sm_52\n.address_size 64\n" SPIN_ENTRY("even") SPIN_ENTRY("odd") SPIN_ENTRY("short_lived")

static struct gpu gpu;
static ws_CUfunction even, odd, short_lived;
static atomic_bool over;
static atomic_ullong requests, wrong, others;

static void pause_us(long us)
{
    nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

/* Answers one request. Returns whether all calls succeeded and the numbers came back unchanged. */
static bool request(ws_CUstream stream, ws_CUdeviceptr memory, ws_CUfunction kernel, uint32_t seed)
{
    uint32_t sent[WORDS], back[WORDS] = { 0 };
    bool right = true;
    for (int i = 0; i < WORDS; i++)
        sent[i] = seed * 2654435761u + (uint32_t)i;
    right &= !cuMemcpyHtoDAsync_v2(memory, sent, sizeof(sent), stream);
    for (int i = 0; i < LAUNCHES; i++)
        right &= !spin(kernel, stream, 2000);
    right &= !cuMemcpyDtoHAsync_v2(back, memory, sizeof(back), stream);
    right &= !cuStreamSynchronize(stream);
    return right && !memcmp(sent, back, sizeof(sent));
}

static void *worker_main(void *number)
{
    ws_CUdeviceptr memory;
    ws_CUstream stream;
    MUST(cuCtxSetCurrent(gpu.context));
    MUST(cuMemAlloc_v2(&memory, WORDS * sizeof(uint32_t)));
    MUST(cuStreamCreate(&stream, WS_CU_STREAM_NON_BLOCKING));
    for (uint32_t seed = 1; !over; seed++) {
        wrong += !request(stream, memory, (uintptr_t)number & 1 ? odd : even, seed);
        requests++;
        pause_us(200);
    }
    MUST(cuStreamDestroy_v2(stream));
    MUST(cuMemFree_v2(memory));
    return NULL;
}

static void *allocate_main(void *unused)
{
    (void)unused;
    for (size_t size = 1; !over; size = size * 7 % 1000003) {
        char *memory = malloc(size);
        memset(memory, 1, size);
        free(memory);
        others++;
    }
    return NULL;
}

static void *load_main(void *path)
{
    while (!over) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        wrong += !library;
        if (library)
            dlclose(library);
        others++;
        pause_us(100);
    }
    return NULL;
}

static void *short_main(void *unused)
{
    (void)unused;
    ws_CUstream stream;
    wrong += cuCtxSetCurrent(gpu.context) || cuStreamCreate(&stream, WS_CU_STREAM_NON_BLOCKING) ||
             spin(short_lived, stream, 1000) || cuStreamSynchronize(stream) || cuStreamDestroy_v2(stream);
    return NULL;
}

/* Starts short-lived threads, one after another. */
static void *spawn_main(void *unused)
{
    (void)unused;
    while (!over) {
        pthread_t thread;
        if (!pthread_create(&thread, NULL, short_main, NULL))
            pthread_join(thread, NULL);
        others++;
        pause_us(1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS_MOST + 3];
    int workers = argc > 1 ? atoi(argv[1]) : 2, count = 0, number;
    sigset_t ends;
    if (argc < 3 || workers > WORKERS_MOST)
        return unknown_mode("give WORKERS and LIBRARY");
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    gpu_open(&gpu, 0);
    MUST(cuModuleLoadData(&gpu.module, SERVER_IMAGE));
    MUST(cuModuleGetFunction(&even, gpu.module, "even"));
    MUST(cuModuleGetFunction(&odd, gpu.module, "odd"));
    MUST(cuModuleGetFunction(&short_lived, gpu.module, "short_lived"));
    for (int i = 0; i < workers; i++)
        pthread_create(&threads[count++], NULL, worker_main, (void *)(uintptr_t)i);
    pthread_create(&threads[count++], NULL, allocate_main, NULL);
    pthread_create(&threads[count++], NULL, load_main, argv[2]);
    pthread_create(&threads[count++], NULL, spawn_main, NULL);
    dprintf(STDOUT_FILENO, "ready\n");
    sigwait(&ends, &number);
    over = true;
    while (count)
        pthread_join(threads[--count], NULL);
    dprintf(STDOUT_FILENO, "requests %llu wrong %llu others %llu\n", requests, wrong, others);
    return 0;
}
