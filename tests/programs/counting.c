/* Launches kernels, sets memory and waits in several threads until it is killed: counting FILE THREADS. In the shared
 * file FILE, each thread counts its calls that have returned. Again and again, the threads load new kernels with
 * names of their own. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "program.h"

enum { THREADS = 16, LAUNCHES_A_KERNEL = 700 };

/* The counts of one thread, in the shared file. `copies` counts memsets. A test reads the counts after it has killed
 * the process. */
struct counted {
    _Atomic uint64_t launches, copies, waits, kernels;
    char padding[32];
};

static struct counted *counted;
static struct gpu gpu;

static ws_CUfunction new_kernel(uint64_t thread, uint64_t number)
{
    char image[512];
    ws_CUmodule module;
    ws_CUfunction function;
    char name[64];
    snprintf(name, sizeof(name), "kernel_%llu_%llu", (unsigned long long)thread, (unsigned long long)number);
    snprintf(
        image, sizeof(image),
        ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry %s(\n.param .u64 %s_param_0\n)\n{\nret;\n}\n",
        name, name);
    MUST(cuModuleLoadData(&module, image));
    MUST(cuModuleGetFunction(&function, module, name));
    return function;
}

static void *work(void *data)
{
    struct counted *mine = data;
    uint64_t thread = (uint64_t)(mine - counted);
    ws_CUstream stream;
    ws_CUdeviceptr memory;
    MUST(cuCtxSetCurrent(gpu.context));
    MUST(cuStreamCreate(&stream, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc_v2(&memory, 4096));
    for (uint64_t number = 0;; number++) {
        ws_CUfunction function = number < 200 ? new_kernel(thread, number) : gpu.spin;
        for (int i = 0; i < LAUNCHES_A_KERNEL; i++) {
            MUST(spin(function, stream, 500));
            mine->launches++;
            mine->kernels += !i && number < 200;
        }
        MUST(cuMemsetD8Async(memory, 1, 4096, stream));
        mine->copies++;
        MUST(cuStreamSynchronize(stream));
        mine->waits++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int file = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1, threads = argc > 2 ? atoi(argv[2]) : 0;
    if (file < 0 || threads < 1 || threads > THREADS || ftruncate(file, THREADS * sizeof(*counted)))
        return unknown_mode("counting FILE THREADS");
    counted = mmap(NULL, THREADS * sizeof(*counted), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counted == MAP_FAILED)
        return 91;
    gpu_open(&gpu, 0);
    for (int i = 1; i < threads; i++)
        pthread_create(&thread, NULL, work, &counted[i]);
    work(&counted[0]);
    return 0;
}
