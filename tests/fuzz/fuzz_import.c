/* Fuzz target: the input is a whole file of another profiler (JSON, gzipped JSON, SQLite). check() aborts if a row
 * that was read from the file breaks a rule of wallshim's own traces. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws_block *block)
{
    const struct ws_op *ops = block->rows;
    const struct ws_range *ranges = block->rows;
    if (!block->count || block->family >= WS_FAMILY_COUNT)
        abort();
    for (uint32_t i = 0; i < block->count && block->family == WS_FAMILY_op; i++)
        if (!ops[i].shape || ops[i].begin > ops[i].end || ops[i].host_begin > ops[i].host_end)
            abort();
    for (uint32_t i = 0; i < block->count && block->family == WS_FAMILY_range; i++)
        if (!ranges[i].name || !ranges[i].thread || ranges[i].host_begin > ranges[i].host_end)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    struct ws_source *source;
    struct ws_block block;
    char message[128] = "";
    if (ws_source_open(&source, path, NULL, message, sizeof(message)))
        return 0;
    int status;
    while ((status = ws_source_next(source, &block, message, sizeof(message))) > 0)
        check(&block);
    if (status < 0 && !*message)
        abort();
    ws_source_close(source);
    return 0;
}
