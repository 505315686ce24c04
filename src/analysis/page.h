/* The look of the text report: headings, sentences and tables on a page of some width. */
#ifndef WALLSHIM_ANALYSIS_PAGE_H
#define WALLSHIM_ANALYSIS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vector.h"

struct ws_page {
    FILE *out;
    int width; /* columns; long names are shortened to fit */
    bool wide; /* print names whole, whatever the width */
    bool colour;
    bool all;     /* every device of a job, else the one it waits for */
    size_t top;   /* rows of a table at most; 0: all */
    size_t label; /* columns for the labels of facts; 0: as many as the report takes */
};

void ws_page_heading(struct ws_page *page, const char *title, const char *subtitle);

/* A paragraph, indented by two and wrapped at the width. */
void ws_page_text(struct ws_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "label     value", labels of one width. */
void ws_page_fact(struct ws_page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What may become of a column, one or both, when the page is too narrow for the table. Names are shortened
 * while they still tell something, then columns are left out, the last one first, and only then are names
 * shortened further. */
enum ws_when_narrow { WS_NARROW_SHORTEN = 1, WS_NARROW_LEAVE_OUT = 2 };

struct ws_table_column {
    const char *title;
    bool left;            /* text, else a number */
    unsigned when_narrow; /* of enum ws_when_narrow; 0: stays as it is */
};

enum { WS_TABLE_COLUMNS = 12 };

struct ws_table {
    struct ws_page *page;
    const struct ws_table_column *columns;
    size_t column_count;
    struct ws_vector cells; /* char *, a row after the other */
};

void ws_table_init(struct ws_table *table, struct ws_page *page, const struct ws_table_column *columns, size_t count);

/* The next cell, left to right, row by row. Characters a terminal would act on become '?'. */
void ws_table_cell(struct ws_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next cell as a time, a number of bytes, a count, a number with four digits or "–" for 0: not known. */
void ws_table_time(struct ws_table *table, int64_t ns);
void ws_table_bytes(struct ws_table *table, uint64_t bytes);
void ws_table_count(struct ws_table *table, uint64_t count);
void ws_table_real(struct ws_table *table, double value);

/* Prints and frees what was collected. */
void ws_table_finish(struct ws_table *table);

/* Of so many rows, those that the page has room for. */
static inline size_t ws_page_rows(const struct ws_page *page, size_t count)
{
    return page->top && page->top < count ? page->top : count;
}

/* "and 12 more names (--top 0 shows them)", where there is no room for all; what one is may be "". */
void ws_page_more(struct ws_page *page, size_t count, const char *what);

/* The same, where only the first `listed` of them are kept as rows. */
void ws_page_more_of(struct ws_page *page, size_t listed, size_t count, const char *what);

enum { WS_FORMAT_SIZE = 40 };

/* "41.2 ms", "980 ns", "3.35 GB", "1,707"; each returns text. */
const char *ws_format_time(char text[WS_FORMAT_SIZE], int64_t ns);
const char *ws_format_bytes(char text[WS_FORMAT_SIZE], uint64_t bytes);
const char *ws_format_flops(char text[WS_FORMAT_SIZE], double flops);
/* Four digits that matter, fewer where little is before the fourth decimal; never as a power of ten. */
const char *ws_format_real(char text[WS_FORMAT_SIZE], double value);
const char *ws_format_count(char text[WS_FORMAT_SIZE], uint64_t count);
/* "7.1", "4", "1,515": of one of so many steps; of all of them where there are none. */
const char *ws_format_each(char text[WS_FORMAT_SIZE], uint64_t count, size_t steps);
const char *ws_format_share(char text[WS_FORMAT_SIZE], int64_t part, int64_t whole);

#endif
