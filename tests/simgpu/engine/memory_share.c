/* Device memory shared with another process becomes a nameless file (memfd). */
#include "engine/engine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK ((uint64_t)2 << 20)

struct shared {
    struct sim_shared_block block;
    struct shared *next;
};

static struct shared *all;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* Replaces the pages by a file with the same bytes, mapped at the same addresses. Returns the file descriptor, or -1
 * for an error. */
static int move_to_file(uint64_t start, uint64_t bytes)
{
    int file = memfd_create("simgpu", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    uint64_t done = 0;
    bool moved = ftruncate(file, (off_t)bytes) == 0;
    while (moved && done < bytes) {
        ssize_t written = pwrite(file, (const char *)start + done, bytes - done, (off_t)done);
        moved = written > 0;
        done += moved ? (uint64_t)written : 0;
    }
    if (moved && mmap((void *)start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
        return file;
    close(file);
    return -1;
}

ws_CUresult sim_memory_share(const struct sim_range *range, struct sim_shared_block *block)
{
    uint64_t start = range->start / BLOCK * BLOCK;
    uint64_t bytes = (range->start + range->bytes - start + BLOCK - 1) / BLOCK * BLOCK;
    ws_CUresult result = WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_execute_lock); /* so that no kernel or copy writes the memory */
    pthread_mutex_lock(&list_lock);
    struct shared *shared = all;
    while (shared && (shared->block.start != start || shared->block.bytes != bytes))
        shared = shared->next;
    if (!shared && (shared = sim_keep(sizeof(*shared)))) {
        shared->block = (struct sim_shared_block){ start, bytes, move_to_file(start, bytes) };
        shared->next = all;
        all = shared;
    }
    if (!shared || shared->block.file < 0)
        result = WS_CUDA_ERROR_NOT_SUPPORTED;
    else
        *block = shared->block;
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_unlock(&sim_execute_lock);
    return result;
}

/* Called when the pages at `start` are unmapped. If they are a shared file, closes the file. */
void sim_memory_unshare(uint64_t start)
{
    pthread_mutex_lock(&list_lock);
    for (struct shared *shared = all; shared; shared = shared->next)
        if (shared->block.start == start && shared->block.bytes) {
            close(shared->block.file);
            shared->block.bytes = 0;
        }
    pthread_mutex_unlock(&list_lock);
}
