/* A small trace of many frames, in which each row contains its own number. Tests damage the trace and check which
 * rows are still read. */
#ifndef WALLSHIM_TESTS_SMALL_TRACE_H
#define WALLSHIM_TESTS_SMALL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"
#include "wire/encoder.h"

enum {
    SMALL_ROWS_MAX = 4096, /* most rows of one family */
    SMALL_PIECES_MAX = 1024,
};

/* What one call of the sink (the function that writes the file) received: the header, one frame, or the trailer. */
struct small_piece {
    size_t offset, size;
    int family; /* family of the frame's rows; -1: not a frame of rows */
    uint64_t first_row;
    uint32_t rows;
    bool repeat;
};

struct small_trace {
    char *bytes;
    size_t size, capacity;
    struct small_piece pieces[SMALL_PIECES_MAX];
    size_t piece_count;
    uint32_t rows[WS_FAMILY_COUNT]; /* rows of each family that were given to the encoder */
    uint64_t lost[WS_FAMILY_COUNT]; /* rows of each family that the encoder counted as lost */
    int fail_from, fail_to; /* the sink returns an error for the pieces from number fail_from to fail_to - 1 */
    int piece_number;
};

/* Writes rows of several families in turn, in frames of `rows_per_frame` rows. Families that are not dictionaries get
 * `data` times as many rows. */
void small_trace_create(struct small_trace *trace, uint32_t rows_per_frame, uint32_t data, bool compress,
                        bool finish);
void small_trace_destroy(struct small_trace *trace);

/* Makes the row with number `index` of a family. */
void small_trace_row(uint32_t family, uint32_t index, void *row);

/* The result of reading a file. The test fails if a row differs from the written row, or comes twice. */
struct small_result {
    int open_status;
    char message[256];
    bool seen[WS_FAMILY_COUNT][SMALL_ROWS_MAX];
    uint32_t count[WS_FAMILY_COUNT];
    uint32_t early; /* data rows that were read before a dictionary row that had been written earlier */
    struct ws_damage damage;
};

void small_trace_read(const char *path, struct small_result *result);

bool small_damage_reported(const struct small_result *result);

#endif
