#include "collector/figures_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "collector/figures_clock.h"
#include "collector/figures_tables.h"
#include "trace/recover.h"
#include "wire/dictionary.h"
#include "wire/frame.h"

/* All frames of a trace together may decompress to RAW_ANYHOW bytes, and RAW_A_BYTE more per compressed byte (as in
 * trace/reader.c). So a small malicious trace cannot make the collector decompress without end. */
enum {
    RAW_A_BYTE = 64,
    RAW_ANYHOW = 64 << 20,
    SLACK_NS = 5000000,
    FRAMES_AGAIN = 1 << 16,
    DECODE_SHARE = 4,
    DECODE_MOST_NS = 500000000
};
static const uint64_t copy_most = (uint64_t)1 << 48; /* bytes of the largest copy; larger numbers must be wrong */

struct figures_stream {
    struct figures_process *process;
    struct figures_tables tables;
    bool here;
    int64_t earliest;
    int64_t now; /* when the current frame came, in ns of CLOCK_MONOTONIC */
    uint64_t raw_left;
    struct rhythm *rhythm; /* NULL: slow steps are not looked for, or there was no memory */
    struct rhythm_step slow;
    bool was_slow;
};

struct figures_stream *figures_open(struct figures *figures, const struct figures_source *source)
{
    struct figures_stream *stream = figures ? calloc(1, sizeof(*stream)) : NULL;
    struct figures_process *process = stream ? figures_process_of(figures, source) : NULL;
    if (!process) {
        free(stream);
        return NULL;
    }
    /* Drop the waits of the process's earlier trace: each trace numbers its threads anew, so the same numbers now
     * mean other threads. */
    figures_process_settle(process);
    figures_waits_finish(&process->waits, &figures->memory);
    process->streams++;
    stream->process = process;
    stream->here = source->here;
    stream->earliest = source->here ? source->earliest : 0;
    stream->raw_left = RAW_ANYHOW;
    if (figures->slow_factor > 0)
        stream->rhythm = rhythm_create(&figures->memory, figures->slow_factor, figures->longest_step_ns);
    return stream;
}

void figures_close(struct figures_stream *stream)
{
    if (!stream)
        return;
    figures_process_settle(stream->process);
    stream->process->streams--;
    stream->process->ended_ms = stream->process->all->now_ms;
    figures_tables_finish(&stream->tables, &stream->process->all->memory);
    rhythm_destroy(stream->rhythm);
    free(stream);
}

void figures_refuse(struct figures_stream *stream, uint64_t bytes)
{
    if (stream)
        stream->process->refused_bytes += bytes;
}

/* --- steps -------------------------------------------------------------------------------------- */

static void note_slow(struct figures_stream *stream, bool slow)
{
    stream->was_slow |= slow;
    stream->process->slow_steps += slow;
}

static void look_at_steps(struct figures_stream *stream, const struct figures_shape *shape, const struct ws_op *row)
{
    bool on_device = shape->timed && ws_op_begin_quality(row);
    const struct rhythm_launch launch = { .shape = row->shape,
                                          .thread = row->thread,
                                          .stream = shape->stream,
                                          .on_device = on_device,
                                          .begin = figures_clock_limit(on_device ? row->begin : row->host_begin) };
    note_slow(stream, rhythm_add(stream->rhythm, &launch, &stream->slow));
}

static void take_ranges(struct figures_stream *stream, const struct ws_range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count && stream->rhythm; i++) {
        int64_t took = figures_clock_limit(ranges[i].host_end) - figures_clock_limit(ranges[i].host_begin);
        if (ranges[i].kind == WS_RANGE_STEP)
            note_slow(stream, rhythm_mark(stream->rhythm, took, &stream->slow));
    }
}

bool figures_slow_step(struct figures_stream *stream, struct rhythm_step *step)
{
    if (!stream || !stream->was_slow)
        return false;
    stream->was_slow = false;
    *step = stream->slow;
    return true;
}

/* --- operations --------------------------------------------------------------------------------- */

/* Are these times possible? A process of this machine cannot have run anything before the process started, or after
 * now. */
static bool can_be(const struct figures_stream *stream, int64_t begin, int64_t end)
{
    return end >= begin && (!stream->here || (begin >= stream->earliest - SLACK_NS && end <= stream->now + SLACK_NS));
}

static void count_launch(struct figures_stream *stream, const struct figures_shape *shape, uint32_t flags,
                         uint64_t bytes)
{
    struct figures_device *device = shape->device;
    bool comm = shape->class == WS_OP_KERNEL && flags & WS_OP_IN_COLLECTIVE;
    device->used = true;
    device->launches[comm ? FIGURES_CLASS_COMMUNICATION : shape->class]++;
    if (shape->class != WS_OP_COPY)
        return;
    if (bytes <= copy_most)
        device->copied_bytes[shape->direction] += bytes;
    else
        stream->process->untrusted++;
}

static void place_op(struct figures_stream *stream, const struct figures_shape *shape, const struct ws_op *row)
{
    struct figures_process *process = stream->process;
    int64_t begin = figures_clock_limit(row->begin), end = figures_clock_limit(row->end);
    struct figures_op op = { .launch_begin = figures_clock_limit(row->host_begin),
                             .launch_end = figures_clock_limit(row->host_end),
                             .thread = row->thread,
                             .group = row->flags & WS_OP_IN_COLLECTIVE ? FIGURES_COMMUNICATION : shape->group };
    if (!shape->clock->begun)
        figures_clock_guess(shape->clock, begin, op.launch_begin);
    op.begin = figures_clock_to_host(shape->clock, begin);
    op.end = op.begin + (end - begin);
    /* An operation cannot begin before its launch call. If its begin is earlier than the call's, by no more than the
     * errors of its begin and of the clock conversion, use the call's begin. */
    int64_t early = row->thread ? op.launch_begin - op.begin : 0;
    if (early > 0 && early <= (int64_t)row->begin_error + shape->clock->error_ns)
        op.begin = ws_min(op.launch_begin, op.end);
    if (!can_be(stream, op.begin, op.end) || (row->thread && !can_be(stream, op.launch_begin, op.launch_end))) {
        process->untrusted++;
        return;
    }
    if (row->flags & WS_OP_BLOCKING) {
        const struct figures_wait wait = { op.launch_begin, op.launch_end, FIGURES_WAIT_SYNC };
        figures_waits_add(&process->waits, &process->all->memory, row->thread, FIGURES_WAIT_OPERATIONS, &wait);
    }
    if (op.end > op.begin)
        figures_device_add(shape->device, &process->all->memory, &process->waits, &op);
}

static void take_ops(struct figures_stream *stream, const struct ws_op *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ws_op *row = &ops[i];
        const struct figures_shape *shape = figures_tables_shape(&stream->tables, row->shape);
        if (!shape) {
            stream->process->untrusted++;
            continue;
        }
        if (row->flags & WS_OP_CAPTURED || row->result)
            continue; /* the operation did not run: it was captured into a graph, or its call failed */
        count_launch(stream, shape, row->flags, row->bytes);
        if (stream->rhythm)
            look_at_steps(stream, shape, row);
        if (shape->timed && ws_op_begin_quality(row) && ws_op_end_quality(row))
            place_op(stream, shape, row);
    }
}

/* --- other families ----------------------------------------------------------------------------- */

static void take_calls(struct figures_stream *stream, const struct ws_call *calls, uint32_t count)
{
    struct figures_process *process = stream->process;
    for (uint32_t i = 0; i < count; i++) {
        const struct ws_call *row = &calls[i];
        uint32_t family = figures_tables_call_family(&stream->tables, row->function);
        if (family != WS_CALL_SYNC && family != WS_CALL_MEMORY && family != WS_CALL_MODULE)
            continue;
        const struct figures_wait wait = { figures_clock_limit(row->host_begin), figures_clock_limit(row->host_end),
                                           family == WS_CALL_SYNC ? FIGURES_WAIT_SYNC : FIGURES_WAIT_ALLOCATION };
        if (can_be(stream, wait.begin, wait.end))
            figures_waits_add(&process->waits, &process->all->memory, row->thread, FIGURES_WAIT_CALLS, &wait);
        else
            process->untrusted++;
    }
}

static void take_losses(struct figures_stream *stream, const struct ws_loss *losses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *lost = &stream->process->lost[ws_min(losses[i].reason, (uint32_t)WS_LOSS_COUNT)];
        *lost = losses[i].count > UINT64_MAX - *lost ? UINT64_MAX : *lost + losses[i].count;
    }
}

/* `again`: the rows were read back from the trace's file. They were counted when they came, so now they only fill
 * stream->tables. */
static void take_rows(struct figures_stream *stream, uint32_t family, uint32_t count, bool again)
{
    struct figures_process *process = stream->process;
    const void *rows = process->all->rows.bytes;
    if (family < WS_FAMILY_FIRST_DATA || family == WS_FAMILY_clock)
        process->untrusted += figures_tables_add(&stream->tables, process, family, rows, count);
    else if (again)
        return;
    else if (family == WS_FAMILY_op)
        take_ops(stream, rows, count);
    else if (family == WS_FAMILY_call)
        take_calls(stream, rows, count);
    else if (family == WS_FAMILY_loss)
        take_losses(stream, rows, count);
    else if (family == WS_FAMILY_range)
        take_ranges(stream, rows, count);
}

/* --- frames ------------------------------------------------------------------------------------- */

/* Do the figures use records of this family? Frames that are read back from the file (`again`) only fill
 * stream->tables. */
static bool is_wanted(const struct figures_stream *stream, uint32_t family, bool again)
{
    return figures_tables_want(family) ||
           (!again && (family == WS_FAMILY_op || family == WS_FAMILY_call || family == WS_FAMILY_loss ||
                       (family == WS_FAMILY_range && stream->rhythm)));
}

static int reserve_decoder(struct figures *figures, uint32_t rows)
{
    if (figures->decoder && rows <= figures->decoder_rows)
        return 0;
    figures->decoder = NULL;
    int status = ws_buffer_reserve(&figures->decoder_memory, ws_columns_decoder_size(rows));
    if (status)
        return status;
    figures->decoder = ws_columns_decoder_init(figures->decoder_memory.bytes, rows);
    figures->decoder_rows = rows;
    return 0;
}

/* Decodes a frame into figures->rows. */
static int decode(struct figures_stream *stream, const struct ws_frame_header *header, const uint8_t *stored)
{
    struct figures *figures = stream->process->all;
    const struct ws_layout *layout = ws_layout(header->family);
    stream->raw_left += (uint64_t)header->stored_size * RAW_A_BYTE;
    if (header->raw_size > stream->raw_left || header->rows > WS_FRAME_ROWS_MAX)
        return -EBADMSG;
    stream->raw_left -= header->raw_size;
    int status = ws_payload_take(&figures->payload, header, stored);
    if (!status)
        status = reserve_decoder(figures, header->rows);
    if (!status)
        status = ws_buffer_reserve(&figures->rows, (size_t)header->rows * layout->row_size + 1);
    if (!status)
        status = ws_columns_decode(figures->decoder, layout, figures->payload.bytes, figures->payload.size,
                                   header->rows, figures->rows.bytes);
    return status;
}

/* May the frame be decoded now? The collector spends at most a quarter of its time on decoding, and at most half a
 * second at once, so that it keeps receiving. Frames of dictionaries are always decoded, because later frames need
 * them. */
static bool has_time(struct figures_stream *stream, uint32_t family)
{
    struct figures *figures = stream->process->all;
    figures->budget_ns =
        ws_min(figures->budget_ns + (stream->now - figures->budget_at) / DECODE_SHARE, (int64_t)DECODE_MOST_NS);
    figures->budget_at = stream->now;
    if (figures->budget_ns > 0 || figures_tables_want(family) || !is_wanted(stream, family, false))
        return true;
    figures->skipped++;
    return false;
}

static void take_frame(struct figures_stream *stream, const struct ws_frame_header *header, const uint8_t *stored,
                       bool again)
{
    if (header->flags & WS_FRAME_REPEAT || !header->rows || !is_wanted(stream, header->family, again))
        return;
    if (decode(stream, header, stored))
        stream->process->all->undecoded++;
    else
        take_rows(stream, header->family, header->rows, again);
}

void figures_add(struct figures_stream *stream, const uint8_t *unit, size_t size)
{
    struct ws_frame_header header;
    if (!stream)
        return;
    stream->process->trace_bytes += size;
    if (size < WS_FRAME_HEADER_SIZE || !ws_frame_header_read(unit, &header) ||
        size - WS_FRAME_HEADER_SIZE != header.stored_size || header.family >= WS_FAMILY_COUNT)
        return;
    stream->now = ws_clock_ns();
    if (!(header.flags & WS_FRAME_REPEAT)) {
        stream->process->records[header.family] += header.rows;
        stream->process->all->records[header.family] += header.rows;
    }
    if (!has_time(stream, header.family))
        return;
    take_frame(stream, &header, unit + WS_FRAME_HEADER_SIZE, false);
    stream->process->all->budget_ns -= ws_clock_ns() - stream->now;
}

void figures_resume(struct figures_stream *stream, int file, uint64_t size)
{
    struct ws_frame_source source = { .fd = file, .size = size, .any_file_id = true };
    struct ws_frame_place place = { 0 };
    struct ws_buffer stored = { 0 };
    if (!stream || size < WS_FILE_HEADER_SIZE)
        return;
    uint64_t at = WS_FILE_HEADER_SIZE;
    for (unsigned left = FRAMES_AGAIN; left && ws_frame_find(&source, at, &place) > 0; left--) {
        const struct ws_frame_header *header = &place.header;
        at = place.offset + WS_FRAME_HEADER_SIZE + header->stored_size;
        if (!is_wanted(stream, header->family, true))
            continue;
        if (ws_buffer_reserve(&stored, (size_t)header->stored_size + 1) ||
            ws_frame_source_read(&source, place.offset + WS_FRAME_HEADER_SIZE, stored.bytes, header->stored_size) !=
                header->stored_size)
            break;
        take_frame(stream, header, stored.bytes, true);
    }
    free(stored.bytes);
}
