#include "collector/hang.h"

#include <string.h>

#include "base/minmax.h"

/* --- answers ------------------------------------------------------------------------------------ */

static bool take_rows(const uint8_t **at, const uint8_t *end, void *rows, uint32_t count, uint32_t most, size_t size)
{
    if (count > most || (size_t)(end - *at) < count * size)
        return false;
    memcpy(rows, *at, count * size);
    *at += count * size;
    return true;
}

static void end_name(struct ws_progress_op *op)
{
    op->name[WS_PROGRESS_NAME - 1] = 0;
}

static uint64_t mixed(uint64_t mark, uint64_t number)
{
    return (mark ^ number) * 0x9e3779b97f4a7c15 + (mark >> 29);
}

static void note_device(struct progress *progress, uint32_t device, uint64_t mark, uint64_t now_ms)
{
    size_t free_place = HANG_DEVICES;
    for (size_t i = 0; i < HANG_DEVICES; i++) {
        if (progress->devices[i].device == device) {
            if (progress->devices[i].mark != mark)
                progress->devices[i].since_ms = now_ms;
            progress->devices[i].mark = mark;
            return;
        }
        if (!progress->devices[i].device && free_place == HANG_DEVICES)
            free_place = i;
    }
    if (free_place == HANG_DEVICES)
        return;
    progress->devices[free_place].device = device;
    progress->devices[free_place].mark = mark;
    progress->devices[free_place].since_ms = now_ms;
}

/* Computes each device's mark, a hash of the first waiting operation on each of its streams. While the mark stays the
 * same, the device has made no progress. */
static void note_devices(struct progress *progress, uint64_t now_ms)
{
    uint64_t marks[HANG_DEVICES + 1] = { 0 };
    for (uint32_t i = 0; i < progress->head.streams; i++) {
        const struct ws_progress_stream *row = &progress->streams[i];
        uint32_t device = ws_clamp(row->device, 1u, (uint32_t)HANG_DEVICES);
        marks[device] = mixed(mixed(marks[device], row->stream), row->correlation) | 1;
    }
    for (size_t i = 0; i < HANG_DEVICES; i++)
        if (progress->devices[i].device && !marks[progress->devices[i].device])
            progress->devices[i].device = 0; /* the device is idle */
    for (uint32_t device = 1; device <= HANG_DEVICES; device++)
        if (marks[device])
            note_device(progress, device, marks[device], now_ms);
}

/* Computes one mark, a hash, of the calls that all threads are in. The hash includes the number of ended operations,
 * because a long call is no hang while operations end. */
static void note_calls(struct progress *progress, uint64_t now_ms)
{
    uint64_t mark = 0;
    for (uint32_t i = 0; i < progress->head.threads; i++)
        mark = mixed(mixed(mark, (uint64_t)(uint32_t)progress->threads[i].tid), progress->threads[i].calls) | 1;
    if (mark)
        mark = mixed(mark, progress->head.settled) | 1;
    if (mark != progress->call_mark)
        progress->call_since_ms = now_ms;
    progress->call_mark = mark;
}

bool progress_take(struct progress *progress, const uint8_t *bytes, size_t size, uint64_t now_ms)
{
    const uint8_t *at = bytes, *end = bytes + size;
    struct ws_progress_head *head = &progress->head;
    if (!take_rows(&at, end, head, 1, 1, sizeof(*head)) ||
        !take_rows(&at, end, progress->streams, head->streams, WS_PROGRESS_STREAMS, sizeof(*progress->streams)) ||
        !take_rows(&at, end, progress->comms, head->comms, WS_PROGRESS_COMMS, sizeof(*progress->comms)) ||
        !take_rows(&at, end, progress->threads, head->threads, WS_PROGRESS_THREADS, sizeof(*progress->threads)) ||
        at != end) {
        *head = (struct ws_progress_head){ 0 };
        return false;
    }
    end_name(&head->last);
    for (uint32_t i = 0; i < head->streams; i++)
        end_name(&progress->streams[i].first);
    for (uint32_t i = 0; i < head->comms; i++) {
        end_name(&progress->comms[i].entered_op);
        end_name(&progress->comms[i].open_op);
    }
    progress->answered_ms = now_ms;
    note_devices(progress, now_ms);
    note_calls(progress, now_ms);
    return true;
}

uint64_t progress_stuck_ms(const struct progress *progress)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < HANG_DEVICES; i++)
        if (progress->devices[i].device)
            longest = ws_max(longest, progress->answered_ms - progress->devices[i].since_ms);
    if (progress->call_mark)
        longest = ws_max(longest, progress->answered_ms - progress->call_since_ms);
    return longest;
}
