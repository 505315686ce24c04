#include "wire/row_log.h"

#include <string.h>

#include "record/record.h"
#include "wire/columns.h"
#include "wire/dictionary.h"

/* Precedes each row. A row never wraps around the end of the memory: padding fills the rest. */
struct row_header {
    uint32_t size;   /* bytes of this header and the row together; a multiple of 8 */
    uint32_t family; /* family of the row; `padding`: no row follows */
    uint32_t number;
    uint32_t reserved;
};

static const uint32_t padding = UINT32_MAX;

static uint64_t to_end(uint64_t size, uint64_t at)
{
    return size - (at & (size - 1));
}

static void put_header(char *place, const struct row_header *header)
{
    /* If only 8 bytes are left at the end of the memory, only the first half of a header fits. */
    memcpy(place, header, header->size < sizeof(*header) ? header->size : sizeof(*header));
}

bool ws_row_log_add(struct ws_live_log *log, char *memory, uint32_t family, uint32_t number, const void *row)
{
    const struct ws_layout *layout = ws_layout(family);
    uint64_t needed = sizeof(struct row_header) + layout->row_size + ws_texts_size(layout, row);
    needed = (needed + 7) & ~(uint64_t)7;
    uint64_t head = atomic_load_explicit(&log->head, memory_order_relaxed);
    uint64_t used = head - atomic_load_explicit(&log->tail, memory_order_acquire);
    uint64_t rest = to_end(log->size, head), pad = rest < needed ? rest : 0;
    if (needed > log->size / 2 || needed + pad > log->size - used)
        return false;
    if (pad)
        put_header(memory + (head & (log->size - 1)),
                   &(struct row_header){ .size = (uint32_t)pad, .family = padding });
    char *place = memory + ((head + pad) & (log->size - 1));
    put_header(place, &(struct row_header){ .size = (uint32_t)needed, .family = family, .number = number });
    place += sizeof(struct row_header);
    memcpy(place, row, layout->row_size);
    ws_texts_move(layout, place, place + layout->row_size);
    atomic_store_explicit(&log->head, head + pad + needed, memory_order_release);
    return true;
}

uint64_t ws_row_log_read(char *memory, uint64_t size, uint64_t at, uint64_t head, struct ws_logged_row *result)
{
    struct row_header header = { 0 };
    uint64_t rest = to_end(size, at);
    char *place = memory + (at & (size - 1));
    if (at >= head || head - at > size || at % 8)
        return 0;
    memcpy(&header, place, rest < sizeof(header) ? rest : sizeof(header));
    *result = (struct ws_logged_row){ .family = header.family, .number = header.number };
    if (!header.size || header.size % 8 || header.size > rest || header.size > head - at)
        return 0;
    if (header.family == padding)
        return at + header.size;
    const struct ws_layout *layout = header.family < WS_FAMILY_COUNT ? ws_layout(header.family) : NULL;
    if (!layout || header.size < sizeof(header) + layout->row_size)
        return 0;
    result->row = place + sizeof(header);
    char *texts = place + sizeof(header) + layout->row_size;
    if (!ws_texts_attach(layout, result->row, texts, header.size - sizeof(header) - layout->row_size))
        return 0;
    return at + header.size;
}
