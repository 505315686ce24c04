#include "model/line_table.h"

enum {
    NO_LINE = -128,  /* CPython 3.10: this line difference marks instructions that belong to no line */
    UNIT = 2,        /* bytes of an instruction */
    SHIFT_MOST = 56, /* largest shift in a number of variable length, so that the number fits 64 bits */
    /* CPython 3.11: the kinds of entries. Kinds below KIND_ONE_LINE only give columns; the line stays the same. */
    KIND_ONE_LINE = 10, /* kinds 10, 11 and 12: the line grows by 0, 1 and 2 */
    KIND_NO_COLUMNS = 13,
    KIND_LONG = 14,
    KIND_NONE = 15,
};

struct ws_line_table ws_line_table(const struct ws_code *code)
{
    const unsigned char *lines = (const unsigned char *)code->lines.data;
    return (struct ws_line_table){
        .at = lines, .end = lines + code->lines.length, .coding = code->coding, .line = code->first_line
    };
}

/* CPython up to 3.9. The table is a list of pairs: bytes to add to the offset, then lines to add to the line. The
 * table does not contain the end of the last run of instructions. */
static bool next_lnotab(struct ws_line_table *table, struct ws_line_run *run)
{
    *run = (struct ws_line_run){ .begin = table->offset, .end = UINT64_MAX, .line = table->line };
    while (table->end - table->at >= 2) {
        uint64_t begin = table->offset;
        table->offset += table->at[0];
        int64_t line = table->line;
        table->line += (signed char)table->at[1];
        table->at += 2;
        /* A line difference too large for one pair is split over several pairs. A pair that adds no bytes
         * continues the difference. */
        if (table->offset == begin) {
            run->line = table->line;
            continue;
        }
        *run = (struct ws_line_run){ .begin = begin, .end = table->offset, .line = line };
        return true;
    }
    table->is_over = true;
    return true;
}

/* CPython 3.10. The table is a list of pairs: the length of a run of instructions, and the run's line minus the line
 * of the run before. */
static bool next_range(struct ws_line_table *table, struct ws_line_run *run)
{
    if (table->end - table->at < 2)
        return false;
    int step = (signed char)table->at[1];
    table->line += step == NO_LINE ? 0 : step;
    *run = (struct ws_line_run){ .begin = table->offset,
                                 .end = table->offset + table->at[0],
                                 .line = step == NO_LINE ? 0 : table->line };
    table->offset = run->end;
    table->at += 2;
    return true;
}

/* Reads a number of variable length: six bits per byte, lowest bits first. Bit 0x40 is set if another byte follows.
 */
static bool read_number(struct ws_line_table *table, uint64_t *number)
{
    unsigned shift = 0;
    unsigned char byte;
    *number = 0;
    do {
        if (table->at == table->end || shift > SHIFT_MOST)
            return false;
        byte = *table->at++;
        *number |= (uint64_t)(byte & 0x3f) << shift;
        shift += 6;
    } while (byte & 0x40);
    return true;
}

static bool skip(struct ws_line_table *table, unsigned numbers)
{
    uint64_t number;
    for (; numbers; numbers--)
        if (!read_number(table, &number))
            return false;
    return true;
}

/* CPython 3.11 and later. Each entry begins with a byte that holds the entry's kind and length. Data that depend on
 * the kind follow. */
static bool next_location(struct ws_line_table *table, struct ws_line_run *run)
{
    uint64_t number = 0;
    if (table->at == table->end || !(*table->at & 0x80))
        return false;
    unsigned kind = *table->at >> 3 & 15, length = (*table->at & 7) + 1u;
    table->at++;
    if (kind == KIND_LONG || kind == KIND_NO_COLUMNS) {
        if (!read_number(table, &number) || !skip(table, kind == KIND_LONG ? 3 : 0))
            return false;
        number = number & 1 ? 0 - (number >> 1) : number >> 1;
        table->line =
            (int64_t)((uint64_t)table->line + number); /* unsigned, because the sum may overflow in a damaged table */
    } else if (kind != KIND_NONE) {
        int bytes = kind >= KIND_ONE_LINE ? 2 : 1;
        if (table->end - table->at < bytes)
            return false;
        table->line += kind >= KIND_ONE_LINE ? (int64_t)kind - KIND_ONE_LINE : 0;
        table->at += bytes;
    }
    *run = (struct ws_line_run){ .begin = table->offset,
                                 .end = table->offset + (uint64_t)length * UNIT,
                                 .line = kind == KIND_NONE ? 0 : table->line };
    table->offset = run->end;
    return true;
}

bool ws_line_table_next(struct ws_line_table *table, struct ws_line_run *run)
{
    if (table->is_over)
        return false;
    switch (table->coding) {
    case WS_LINES_LNOTAB:
        return next_lnotab(table, run);
    case WS_LINES_RANGES:
        return next_range(table, run);
    case WS_LINES_LOCATIONS:
        return next_location(table, run);
    default:
        return false;
    }
}

uint32_t ws_line_at(const struct ws_code *code, uint32_t offset)
{
    struct ws_line_table table = ws_line_table(code);
    struct ws_line_run run;
    while (ws_line_table_next(&table, &run))
        if (offset >= run.begin && offset < run.end)
            return run.line > 0 && run.line <= INT32_MAX ? (uint32_t)run.line : code->first_line;
    return code->first_line;
}
