/* A log of rows in memory that another process can read if the writer was killed. Rows stay in the log until the
 * trace file holds them. Only one thread may write at a time. Rows follow each other in a ring buffer. Each row is
 * contiguous: a header, the family's structure, its texts. */
#ifndef WALLSHIM_WIRE_ROW_LOG_H
#define WALLSHIM_WIRE_ROW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"

/* Appends a copy of the row. For a dictionary row, `number` is the row's number in the dictionary. For any other row,
 * `number` is the ring position of the record that the drain (the shim's thread that empties the rings of the
 * program's threads) is reading. A reader of the log can then tell which record of a ring already became a row.
 * Returns false if there is no room. */
bool ws_row_log_add(struct ws_live_log *log, char *memory, uint32_t family, uint32_t number, const void *row);

/* A row that ws_row_log_read has found. */
struct ws_logged_row {
    uint32_t family, number;
    void *row; /* structure of the row's family, followed by the row's texts; NULL: no row here, only padding */
};

/* Reads the row at position `at` of a log whose memory is copied to `memory`. `head` is the log's head. Returns the
 * position of the next row, or 0 if there is no valid row. result->row is NULL for padding. Changes `memory`:
 * the row's texts get addresses in `memory` instead of the writer's addresses. */
uint64_t ws_row_log_read(char *memory, uint64_t size, uint64_t at, uint64_t head, struct ws_logged_row *result);

#endif
