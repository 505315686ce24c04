/* Operations, accessed by column. Each column is an array of its own, or all columns are fields of an array of
 * rows. */
#ifndef WALLSHIM_RECORD_OP_COLUMNS_H
#define WALLSHIM_RECORD_OP_COLUMNS_H

#include "record/record.h"

/* The pointers point to the values of the first row. */
struct ws_op_columns {
    size_t row_size; /* sizeof(struct ws_op): the columns are fields of rows; 0: each column is an array of its own */
#define COLUMN(type, name, coding) const type *name;
#define NO_TEXT(name)
    WS_COLUMNS_op(COLUMN, NO_TEXT)
#undef NO_TEXT
#undef COLUMN
};

/* WS_OP_AT(&columns, begin, 3) is the value of column `begin` in row 3. */
#define WS_OP_AT(columns, column, row)                                                                       \
    (*((columns)->row_size ? (__typeof__((columns)->column))(const void *)((const char *)(columns)->column + \
                                                                           (row) * (columns)->row_size)      \
                           : &(columns)->column[row]))

/* Returns the same columns, but starting at row `row`. */
static inline struct ws_op_columns ws_op_columns_from(const struct ws_op_columns *columns, size_t row)
{
    struct ws_op_columns from = { .row_size = columns->row_size };
#define COLUMN(type, name, coding) from.name = &WS_OP_AT(columns, name, row);
#define NO_TEXT(name)
    WS_COLUMNS_op(COLUMN, NO_TEXT)
#undef NO_TEXT
#undef COLUMN
        return from;
}

static inline struct ws_op_columns ws_op_columns_of_rows(const struct ws_op *rows)
{
    struct ws_op_columns columns = { .row_size = sizeof(*rows) };
#define COLUMN(type, name, coding) columns.name = &rows->name;
#define NO_TEXT(name)
    WS_COLUMNS_op(COLUMN, NO_TEXT)
#undef NO_TEXT
#undef COLUMN
        return columns;
}

#endif
