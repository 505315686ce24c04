/* Reads the footer of a trace without reading the frames before it (reader.h: ws_reader_summary). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "trace/payload.h"
#include "trace/reader.h"
#include "trace/recover.h"
#include "wire/index.h"

/* Finds the footer. The trailer at the end of the file holds the footer's offset. Returns 1 if it found the footer, 0
 * if not, or -errno. */
static int find_footer(struct ws_frame_source source, struct ws_frame_place *place)
{
    uint8_t trailer[WS_TRAILER_SIZE];
    uint64_t offset;
    if (source.size < sizeof(trailer))
        return 0;
    int64_t got = ws_frame_source_read(&source, source.size - sizeof(trailer), trailer, sizeof(trailer));
    if (got != sizeof(trailer) || !ws_trailer_read(trailer, source.file_id, &offset) || offset >= source.size)
        return got < 0 ? (int)got : 0;
    int found = ws_frame_find(&source, offset, place);
    if (found <= 0)
        return found;
    return !place->skipped && place->header.family == WS_FAMILY_FOOTER &&
           place->header.stored_size <= source.size - WS_FRAME_HEADER_SIZE - place->offset;
}

int ws_reader_summary(const struct ws_reader *reader, struct ws_summary *summary)
{
    const struct ws_frame_source *source = ws_reader_source(reader);
    struct ws_frame_place place;
    int found = find_footer(*source, &place);
    if (found <= 0)
        return found;
    struct ws_payload payload = { 0 };
    struct ws_index *index = malloc(sizeof(*index));
    int status = index ? ws_payload_read(&payload, source, &place) : -ENOMEM;
    if (!status) {
        struct ws_bytes_in in = ws_payload_footer(&payload);
        ws_index_read(index, &in);
        status = in.failed ? -EBADMSG : 1;
    }
    if (status > 0) {
        memcpy(summary->rows, index->rows, sizeof(summary->rows));
        summary->host_first = INT64_MAX;
        summary->host_last = INT64_MIN;
        for (uint32_t i = 0; i < index->span_count; i++) {
            const struct ws_span *span = &index->spans[i];
            summary->host_first = ws_min(span->host_first, summary->host_first);
            summary->host_last = ws_max(span->host_last, summary->host_last);
        }
    }
    free(index);
    ws_payload_finish(&payload);
    return status == -EBADMSG ? 0 : status;
}
