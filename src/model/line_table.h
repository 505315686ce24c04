/* Reads the tables by which CPython finds the line of an instruction. CPython has had three formats. Its source
 * describes them: Objects/lnotab_notes.txt as of 3.9 (for up to 3.9), the same file as of 3.10, and
 * Objects/locations.md (from 3.11 on). */
#ifndef WALLSHIM_MODEL_LINE_TABLE_H
#define WALLSHIM_MODEL_LINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* A run of instructions that belong to one line: [begin, end) in bytes from the code's first instruction. */
struct ws_line_run {
    uint64_t begin, end;
    int64_t line; /* number of the source line; 0: the instructions belong to no line */
};

/* A position in the line table of a function. */
struct ws_line_table {
    const unsigned char *at, *end;
    enum ws_line_coding coding;
    uint64_t offset;
    int64_t line;
    bool is_over;
};

struct ws_line_table ws_line_table(const struct ws_code *code);

/* Stores the next run of instructions in *run. Returns false at the end of the table, or where the table is
 * damaged. */
bool ws_line_table_next(struct ws_line_table *table, struct ws_line_run *run);

/* Returns the line of the instruction at `offset`, or the function's first line if the table has no line for it. */
uint32_t ws_line_at(const struct ws_code *code, uint32_t offset);

#endif
