/* A small trace with many frames whose every row says which one it is, for tests that hurt it. */
#ifndef WALLSHIM_TESTS_SMALL_TRACE_H
#define WALLSHIM_TESTS_SMALL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"
#include "wire/encoder.h"

enum {
    SMALL_ROWS_MAX = 4096, /* of each family */
    SMALL_PIECES_MAX = 1024,
};

/* What the sink was given at once: the header, one frame, the trailer. */
struct small_piece {
    size_t offset, size;
    int family; /* of a frame of rows, or -1 */
    uint64_t first_row;
    uint32_t rows;
    bool repeat;
};

struct small_trace {
    char *bytes;
    size_t size, capacity;
    struct small_piece pieces[SMALL_PIECES_MAX];
    size_t piece_count;
    uint32_t rows[WS_FAMILY_COUNT]; /* written */
    uint64_t lost[WS_FAMILY_COUNT]; /* as the encoder counted them */
    int fail_from, fail_to;         /* pieces that the sink refuses: from ≤ number < to */
    int piece_number;
};

/* Rows of several families in turn, in frames of `rows_per_frame`; `data` times as many of the
 * families that are no dictionaries. */
void small_trace_create(struct small_trace *trace, uint32_t rows_per_frame, uint32_t data, bool compress,
                        bool finish);
void small_trace_destroy(struct small_trace *trace);

/* Row number `index` of a family. */
void small_trace_row(uint32_t family, uint32_t index, void *row);

/* What reading a file gave. Every row is checked against what was written, and none may come twice. */
struct small_result {
    int open_status;
    char message[256];
    bool seen[WS_FAMILY_COUNT][SMALL_ROWS_MAX];
    uint32_t count[WS_FAMILY_COUNT];
    uint32_t early; /* data rows that came before a dictionary row written before them */
    struct ws_damage damage;
};

void small_trace_read(const char *path, struct small_result *result);

bool small_damage_reported(const struct small_result *result);

#endif
