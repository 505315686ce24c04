/* Fuzz target: the input is the frames of a client, from which the collector computes its live figures. The first
 * byte says whether the client runs on the collector's machine and so has the same clock (bit 0), and whether the
 * collector looks for slow steps (bit 2). The byte divided by 2 also selects the format of the page with the figures.
 * Each frame is a head of 10 bytes (family, flags, u16 rows, u16 size, u32 size when decompressed), and its
 * payload. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "collector/metrics.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 10 };

static const struct metrics_collector collector = { .dumps = { { "a", 1 }, { "b", 2 }, { "c", 3 } } };

/* Adds a frame. Copies it to memory of exactly its size first, so that a sanitizer detects a read beyond the frame.
 * Returns how many bytes of the input the frame took. */
static size_t add(struct figures_stream *stream, const uint8_t *data, size_t size)
{
    struct ws_frame_header header = { .major = WS_FORMAT_MAJOR, .host_first = 1 };
    uint16_t rows, stored;
    memcpy(&rows, data + 2, sizeof(rows));
    memcpy(&stored, data + 4, sizeof(stored));
    memcpy(&header.raw_size, data + 6, sizeof(header.raw_size));
    header.family = data[0];
    header.flags = data[1];
    header.rows = rows;
    header.stored_size = (uint32_t)ws_min((size_t)stored, size - HEAD);
    header.raw_size = header.flags & WS_FRAME_COMPRESSED ? header.raw_size % (1 << 20) : header.stored_size;
    uint8_t *unit = malloc(WS_FRAME_HEADER_SIZE + header.stored_size);
    if (unit) {
        ws_frame_header_write(unit, &header);
        memcpy(unit + WS_FRAME_HEADER_SIZE, data + HEAD, header.stored_size);
        figures_add(stream, unit, WS_FRAME_HEADER_SIZE + header.stored_size);
    }
    free(unit);
    return HEAD + header.stored_size;
}

static void check(const struct figures *figures)
{
    for (const struct figures_process *process = figures->first; process; process = process->next)
        for (const struct figures_device *device = process->devices; device; device = device->next)
            if (device->busy_ns < 0 || device->exposed_ns > device->group_ns[FIGURES_COMMUNICATION] ||
                device->busy_ns < device->group_ns[FIGURES_COMPUTE] || device->count > FIGURES_BUFFER_MAX)
                abort();
    if (figures->memory.used > figures->memory.limit)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct figures *figures = figures_create(0);
    figures->slow_factor = size && data[0] & 4 ? 3 : 0;
    figures->longest_step_ns = INT64_MAX;
    struct figures_source source = { .job = "job", .host = "", .rank = "1", .pid = 1, .here = size && data[0] & 1 };
    struct figures_stream *stream = figures_open(figures, &source);
    struct metrics_text page = { .format = size ? data[0] / 2 % METRICS_FORMATS : 0 };
    for (size_t at = 1, frames = 1; stream && at + HEAD < size; frames++) {
        at += add(stream, data + at, size - at);
        if (frames % 8 == 0)
            figures_tick(figures, frames);
    }
    check(figures);
    metrics_write(&page, figures, &collector);
    free(page.bytes);
    figures_close(stream);
    check(figures);
    figures_tick(figures, 2 * FIGURES_KEPT_MS);
    if (figures->first || figures->memory.used)
        abort();
    figures_destroy(figures);
    return 0;
}
