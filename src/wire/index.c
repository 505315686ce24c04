#include "wire/index.h"
#include "base/minmax.h"

/* Merges two adjacent spans (a span is a group of adjacent frames). */
static struct ws_span joined(const struct ws_span *left, const struct ws_span *right)
{
    return (struct ws_span){
        .offset = left->offset,
        .frames = left->frames + right->frames,
        .host_first = ws_min(left->host_first, right->host_first),
        .host_last = ws_max(left->host_last, right->host_last),
    };
}

static void halve(struct ws_index *index)
{
    for (uint32_t i = 0; i < WS_SPANS_MAX / 2; i++)
        index->spans[i] = joined(&index->spans[2 * i], &index->spans[2 * i + 1]);
    index->span_count = WS_SPANS_MAX / 2;
    index->frames_per_span *= 2;
}

void ws_index_add(struct ws_index *index, uint64_t offset, int64_t host_first, int64_t host_last)
{
    const struct ws_span frame = { offset, 1, host_first, host_last };
    if (!index->frames_per_span)
        index->frames_per_span = 1;
    if (index->span_count) {
        struct ws_span *last = &index->spans[index->span_count - 1];
        if (last->frames < index->frames_per_span) {
            *last = joined(last, &frame);
            return;
        }
    }
    if (index->span_count == WS_SPANS_MAX)
        halve(index);
    index->spans[index->span_count++] = frame;
}

void ws_index_write(const struct ws_index *index, struct ws_bytes_out *out)
{
    ws_bytes_put_varint(out, WS_FAMILY_COUNT);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        ws_bytes_put_varint(out, index->rows[i]);
        ws_bytes_put_varint(out, index->repeated[i]);
    }
    ws_bytes_put_varint(out, index->dictionaries);
    ws_bytes_put_varint(out, index->span_count);
    struct ws_span before = { 0 };
    for (uint32_t i = 0; i < index->span_count; i++) {
        const struct ws_span *span = &index->spans[i];
        ws_bytes_put_varint(out, span->offset - before.offset);
        ws_bytes_put_varint(out, span->frames);
        ws_bytes_put_varint(out, ws_zigzag((int64_t)((uint64_t)span->host_first - (uint64_t)before.host_first)));
        ws_bytes_put_varint(out, ws_zigzag((int64_t)((uint64_t)span->host_last - (uint64_t)span->host_first)));
        before = *span;
    }
}

void ws_index_read(struct ws_index *index, struct ws_bytes_in *in)
{
    uint64_t families = ws_bytes_get_varint(in);
    *index = (struct ws_index){ 0 };
    for (uint64_t i = 0; i < families && !in->failed; i++) {
        uint64_t rows = ws_bytes_get_varint(in), repeated = ws_bytes_get_varint(in);
        if (i >= WS_FAMILY_COUNT)
            continue;
        index->rows[i] = rows;
        index->repeated[i] = repeated;
    }
    index->dictionaries = ws_bytes_get_varint(in);
    uint64_t spans = ws_bytes_get_varint(in);
    if (spans > WS_SPANS_MAX)
        in->failed = true;
    struct ws_span before = { 0 };
    for (uint64_t i = 0; i < spans && !in->failed; i++) {
        struct ws_span *span = &index->spans[i];
        span->offset = before.offset + ws_bytes_get_varint(in);
        span->frames = (uint32_t)ws_bytes_get_varint(in);
        span->host_first = (int64_t)((uint64_t)before.host_first + (uint64_t)ws_unzigzag(ws_bytes_get_varint(in)));
        span->host_last = (int64_t)((uint64_t)span->host_first + (uint64_t)ws_unzigzag(ws_bytes_get_varint(in)));
        before = *span;
    }
    index->span_count = in->failed ? 0 : (uint32_t)spans;
}
