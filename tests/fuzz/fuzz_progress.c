/* Fuzz target: the input is what two processes of a job answer when the collector asks for their progress. Each
 * answer is a byte (the number of the process), a u16 with the answer's size, and the answer's bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "collector/hang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROCESSES = 2, HEAD = 3 };

/* Handles an answer. Copies it to memory of exactly its size first, so that a sanitizer detects a read beyond the
 * answer. */
static void take(struct progress *progress, const uint8_t *data, size_t size, uint64_t now)
{
    uint8_t *bytes = malloc(size + !size);
    if (!bytes)
        return;
    if (size)
        memcpy(bytes, data, size);
    progress_take(progress, bytes, size, now);
    free(bytes);
    if (progress_stuck_ms(progress) > now)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct progress progress[PROCESSES];
    struct recording processes[PROCESSES] = { { .next = &processes[1], .progress = &progress[0], .rank = "0" },
                                              { .progress = &progress[1], .rank = "1", .open = true } };
    const struct job job = { .name = "job", .recordings = processes };
    char summary[300];
    memset(progress, 0, sizeof(progress));
    for (uint64_t now = 1000; size >= HEAD; now += 1000) {
        uint16_t length;
        memcpy(&length, data + 1, sizeof(length));
        size_t part = ws_min((size_t)length, size - HEAD);
        take(&progress[data[0] % PROCESSES], data + HEAD, part, now);
        data += HEAD + part;
        size -= HEAD + part;
    }
    hang_summary(&job, summary, sizeof(summary));
    char *text = hang_text(&job, summary, 1 << 20);
    for (const char *at = text; at && *at; at++)
        if (*at != '\n' && (unsigned char)*at < ' ')
            abort();
    free(text);
    hang_is_missing(&job, &processes[1]);
    return 0;
}
