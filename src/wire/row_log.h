/* A log of rows in memory that another process may read after the writer was killed. Rows stay in the log until the
 * trace file holds them. One thread writes at a time. Rows lie one after another, each whole: a header, the family's
 * structure, its texts. The memory is used in a circle. */
#ifndef WALLSHIM_WIRE_ROW_LOG_H
#define WALLSHIM_WIRE_ROW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"

/* Appends a copy of the row. number: the row's number in its dictionary; 0 for other rows. Returns false if there is
 * no room. */
bool ws_row_log_add(struct ws_live_log *log, char *memory, uint32_t family, uint32_t number, const void *row);

/* A row of a log. The row lies in `copy`. */
struct ws_logged_row {
    uint32_t family, number;
    void *row; /* of the family's structure; its texts lie behind it */
};

/* Reads the row at position `at` of a log whose memory is copied to `memory`. `head` is the log's head. Returns the
 * position of the next row, or 0 if there is no valid row. result->row is NULL for padding. Changes `memory`: texts
 * become addresses. */
uint64_t ws_row_log_read(char *memory, uint64_t size, uint64_t at, uint64_t head, struct ws_logged_row *result);

#endif
