/* Fuzz target: the input changes the live memory of a process that was killed. Each change is a u24 offset in the
 * memory, and eight bytes to write there. If the input's size is odd, the trace's file has only the part that a
 * collector had received. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live_image.h"
#include "trace/salvage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGE = 3 + 8, CHANGES_MOST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct ws_salvaged salvaged;
    snprintf(path, sizeof(path), "/dev/shm/fuzz-salvage-%d", (int)getpid());
    int memory = live_image_make(path, size % 2 == 1);
    for (size_t i = 0; i < size / CHANGE && i < CHANGES_MOST; i++) {
        const uint8_t *change = data + i * CHANGE;
        uint32_t offset = change[0] | (uint32_t)change[1] << 8 | (uint32_t)change[2] << 16;
        if (pwrite(memory, change + 3, 8, offset % (512 << 10)) != 8)
            break;
    }
    ws_salvage(memory, path, &salvaged);
    close(memory);
    unlink(path);
    return 0;
}
