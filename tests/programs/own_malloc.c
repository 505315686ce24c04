/* A program with an allocator of its own, which counts the shim's allocations inside the program's launches and graph
 * calls. The shim must make no allocation there. */
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>

#include "program.h"

enum { BYTES = 1 << 27 };

static char arena[BYTES] __attribute__((aligned(64)));
static atomic_size_t used;
static uintptr_t shim_begin, shim_end;
static _Thread_local bool hot;
static int allocated_by_shim;

static void *allocate(size_t bytes, const void *caller)
{
    if (hot && (uintptr_t)caller - shim_begin < shim_end - shim_begin)
        allocated_by_shim++;
    /* The size of each block is kept in front of the block, for realloc. */
    size_t whole = (bytes + 31) & ~(size_t)15;
    size_t at = atomic_fetch_add(&used, whole);
    if (at + whole > BYTES)
        return NULL;
    *(size_t *)(arena + at) = bytes;
    return arena + at + 16;
}

void *malloc(size_t bytes)
{
    return allocate(bytes, __builtin_return_address(0));
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return allocate(count * bytes, __builtin_return_address(0)); /* the arena is zeroed, and no part is used twice */
}

void *realloc(void *old, size_t bytes)
{
    void *block = allocate(bytes, __builtin_return_address(0));
    if (old && block) {
        size_t had = *(size_t *)((char *)old - 16);
        memcpy(block, old, had < bytes ? had : bytes);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    size_t at = (size_t)(uintptr_t)allocate(bytes + alignment + 16, __builtin_return_address(0));
    char *block = (char *)((at + 16 + alignment - 1) & ~(alignment - 1));
    *(size_t *)(block - 16) = bytes;
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = aligned_alloc(alignment, bytes);
    return 0;
}

static int find_shim(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "libwallshim.so"))
        return 0;
    shim_begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > shim_end)
            shim_end = end;
    }
    return 1;
}

int main(void)
{
    struct gpu gpu;
    dl_iterate_phdr(find_shim, NULL);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 500, 1000));
    ws_CUgraph graph;
    ws_CUgraphExec executable;
    hot = true;
    int refused = spin_times(&gpu, 2000, 1000);
    /* Captures are not on the hot path, but they run in the program's thread. If the shim called malloc there, a
     * signal handler that leaves by longjmp could leave malloc's lock taken for ever. */
    TRY(cuStreamBeginCapture_v2(gpu.stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    refused += spin_times(&gpu, 5, 1000);
    TRY(cuStreamEndCapture(gpu.stream, &graph));
    TRY(cuGraphInstantiateWithFlags(&executable, graph, 0));
    hot = false;
    dprintf(STDOUT_FILENO, "refused: %d, allocated by the shim meanwhile: %d\n", refused, allocated_by_shim);
    TRY(cuStreamSynchronize(gpu.stream));
    dprintf(STDOUT_FILENO, "enough memory: %s\n", atomic_load(&used) < BYTES ? "yes" : "no");
    return 0;
}
