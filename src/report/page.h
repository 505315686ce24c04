/* The layout of the text report: headings, sentences and tables on a page of a given width. */
#ifndef WALLSHIM_REPORT_PAGE_H
#define WALLSHIM_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/minmax.h"
#include "base/vector.h"

struct ws_page {
    FILE *out;
    int width; /* characters per line; wider tables are made narrower */
    bool wide; /* print names in full, at any width */
    bool colour;
    bool all;     /* show every device of a job, not only the slowest */
    size_t top;   /* maximum number of rows shown of a table; 0: all */
    size_t label; /* width of the labels that ws_page_fact prints, in characters; 0: the default */
};

void ws_page_heading(struct ws_page *page, const char *title, const char *subtitle);

/* Prints a paragraph, indented by two characters and wrapped at the page's width. */
void ws_page_text(struct ws_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "label     value". All labels have the same width. */
void ws_page_fact(struct ws_page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How a column may change when the table is wider than the page: its names may be shortened, the column may be left
 * out, or both. At first, names are shortened as far as they stay readable. If that is not enough, columns are left
 * out, the last one first. Then names are shortened further. */
enum ws_when_narrow { WS_NARROW_SHORTEN = 1, WS_NARROW_LEAVE_OUT = 2 };

struct ws_table_column {
    const char *title;
    bool left;            /* true: the cells are texts, aligned left; false: numbers, aligned right */
    unsigned when_narrow; /* bits of enum ws_when_narrow; 0: the column never changes */
};

enum { WS_TABLE_COLUMNS = 12 };

struct ws_table {
    struct ws_page *page;
    const struct ws_table_column *columns;
    size_t column_count;
    struct ws_vector cells; /* char *, row by row */
};

void ws_table_init(struct ws_table *table, struct ws_page *page, const struct ws_table_column *columns, size_t count);

/* Adds the next cell, left to right, row by row. Control characters become '?'. */
void ws_table_cell(struct ws_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add the next cell as a time, a number of bytes, a count, or a real number of four digits. A real number of 0 means
 * "not known" and prints as "–". */
void ws_table_time(struct ws_table *table, int64_t ns);
void ws_table_bytes(struct ws_table *table, uint64_t bytes);
void ws_table_count(struct ws_table *table, uint64_t count);
void ws_table_real(struct ws_table *table, double value);

/* Prints the table and frees its cells. */
void ws_table_finish(struct ws_table *table);

/* Returns how many of `count` rows the page shows. */
static inline size_t ws_page_rows(const struct ws_page *page, size_t count)
{
    return page->top && page->top < count ? page->top : count;
}

/* Prints "and 12 more names (--top 0 shows them)" if the page does not show all rows. `what` names the rows and
 * may be "". */
void ws_page_more(struct ws_page *page, size_t count, const char *what);

/* Does the same as ws_page_more, for a result that holds only the first `listed` of `count` rows. */
void ws_page_more_of(struct ws_page *page, size_t listed, size_t count, const char *what);

enum { WS_FORMAT_SIZE = 40 };

/* Each function writes a number: "41.2 ms", "3.35 GB", "1,707". Each returns `text`. */
const char *ws_format_time(char text[WS_FORMAT_SIZE], int64_t ns);
const char *ws_format_bytes(char text[WS_FORMAT_SIZE], uint64_t bytes);
const char *ws_format_flops(char text[WS_FORMAT_SIZE], double flops);
/* Writes four significant digits. Values below 0.01 get four decimals, values above 1000 none. Never uses scientific
 * notation. */
const char *ws_format_real(char text[WS_FORMAT_SIZE], double value);
const char *ws_format_count(char text[WS_FORMAT_SIZE], uint64_t count);
/* Writes a count per step: "7.1", "4", "1,515". With 0 steps, writes the count itself. */
const char *ws_format_each(char text[WS_FORMAT_SIZE], uint64_t count, size_t steps);
const char *ws_format_share(char text[WS_FORMAT_SIZE], int64_t part, int64_t whole);

#endif
