#include "report/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/printable.h"

enum { GAP = 2, FACT_LABEL = 14, READABLE_NAME = 24, SHORTEST_NAME = 10 };

static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static const char *skip(const char *text, size_t characters)
{
    for (; characters && *text; characters--) {
        size_t length = ws_character(text, NULL);
        text += length ? length : 1;
    }
    return text;
}

static void put_spaces(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Returns the text shortened to `width` characters. Cuts the middle out, because both ends of a kernel's name are
 * needed to recognise it. If this cut would remove the character with index `keep`, makes two cuts, and keeps
 * between them a piece of the text that starts at or near this character. The caller frees the result. Returns NULL
 * if memory runs out. */
static char *page_cut(const char *text, size_t width, size_t keep)
{
    size_t needed = text_width(text), head = (width - 1) * 2 / 3, tail = width - 1 - head, middle = 0, from = 0;
    if (keep >= head && keep < needed - tail && width >= READABLE_NAME) {
        head = (width - 2) / 3;
        tail = (width - 2) / 4;
        middle = width - 2 - head - tail;
        from = ws_clamp(keep, head + 1, needed - tail - middle - 1);
    }
    const char *head_end = skip(text, head), *at = skip(text, from), *end = skip(at, middle);
    char *shown;
    int length = asprintf(&shown, "%.*s…%.*s%s%s", (int)(head_end - text), text, (int)(end - at), at,
                          middle ? "…" : "", skip(text, needed - tail));
    return length < 0 ? NULL : shown;
}

static void put_cell(struct ws_page *page, const char *text, size_t width, bool left, bool last)
{
    size_t needed = text_width(text);
    if (needed > width) {
        char *shown = page_cut(text, width, 0);
        fputs(shown ? shown : "", page->out);
        free(shown);
        return;
    }
    if (!left)
        put_spaces(page->out, width - needed);
    fputs(text, page->out);
    if (left && !last)
        put_spaces(page->out, width - needed);
}

void ws_page_heading(struct ws_page *page, const char *title, const char *subtitle)
{
    char *shown = strdup(subtitle ? subtitle : "");
    if (!shown)
        return;
    ws_make_printable(shown);
    fprintf(page->out, "\n%s%s%s%s%s\n", page->colour ? "\033[1m" : "", title, page->colour ? "\033[0m" : "",
            *shown ? "   " : "", shown);
    free(shown);
}

static char *format_text(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return NULL;
    ws_make_printable(text);
    return text;
}

/* Does the text begin with a unit that is a whole word, or is followed by punctuation? */
static bool is_unit(const char *word)
{
    static const char *const units[] = { "%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB", "TB", "TFLOP" };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i]);
        if (!strncmp(word, units[i], length) && (!word[length] || strchr(" ,;:.)/", word[length])))
            return true;
    }
    return false;
}

/* Returns the length of the next word in bytes. A number and its unit count as one word, so that no line break
 * separates them. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " ");
    if (length && text[length] && text[length - 1] >= '0' && text[length - 1] <= '9' && is_unit(text + length + 1))
        length += 1 + strcspn(text + length + 1, " ");
    return length;
}

/* Prints words, wrapped and indented by `indent`. The cursor is already at column `indent`. */
static void page_put_wrapped(struct ws_page *page, const char *text, size_t indent)
{
    size_t at = indent;
    bool first = true;
    while (*text) {
        size_t length = word_length(text);
        char *word = strndup(text, length);
        if (!word)
            return;
        size_t width = text_width(word);
        if (!first && at + 1 + width > (size_t)page->width && !page->wide) {
            fputc('\n', page->out);
            put_spaces(page->out, indent);
            at = indent;
        } else if (!first) {
            fputc(' ', page->out);
            at++;
        }
        fputs(word, page->out);
        free(word);
        at += width;
        first = false;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', page->out);
}

void ws_page_text(struct ws_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    put_spaces(page->out, 2);
    page_put_wrapped(page, text, 2);
    free(text);
}

void ws_page_fact(struct ws_page *page, const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    size_t width = page->label ? page->label : FACT_LABEL;
    put_spaces(page->out, 2);
    put_cell(page, label, width, true, false);
    put_spaces(page->out, GAP);
    page_put_wrapped(page, text, 2 + width + GAP);
    free(text);
}

void ws_page_more_of(struct ws_page *page, size_t listed, size_t count, const char *what)
{
    size_t shown = ws_page_rows(page, listed);
    char text[WS_FORMAT_SIZE], first[WS_FORMAT_SIZE], which[WS_FORMAT_SIZE + 40] = "";
    if (shown >= count)
        return;
    if (listed == count)
        snprintf(which, sizeof(which), " (--top 0 shows %s)", count - shown > 1 ? "them" : "it");
    else if (shown < listed)
        snprintf(which, sizeof(which), " (--top 0 shows %s in all)", ws_format_count(first, listed));
    ws_page_text(page, "and %s more%s%s%s%s", ws_format_count(text, count - shown), *what ? " " : "", what,
                 *what && count - shown > 1 ? "s" : "", which);
}

void ws_page_more(struct ws_page *page, size_t count, const char *what)
{
    ws_page_more_of(page, count, count, what);
}

void ws_table_init(struct ws_table *table, struct ws_page *page, const struct ws_table_column *columns, size_t count)
{
    *table = (struct ws_table){ .page = page, .columns = columns, .column_count = count, .cells = WS_VECTOR(char *) };
}

void ws_table_cell(struct ws_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    char **cell = ws_vector_push(&table->cells);
    if (cell)
        *cell = text;
    else
        free(text);
}

void ws_table_time(struct ws_table *table, int64_t ns)
{
    char text[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s", ws_format_time(text, ns));
}

void ws_table_bytes(struct ws_table *table, uint64_t bytes)
{
    char text[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s", ws_format_bytes(text, bytes));
}

void ws_table_count(struct ws_table *table, uint64_t count)
{
    char text[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s", ws_format_count(text, count));
}

void ws_table_real(struct ws_table *table, double value)
{
    char text[WS_FORMAT_SIZE];
    if (value > 0)
        ws_table_cell(table, "%s", ws_format_real(text, value));
    else
        ws_table_cell(table, "–");
}

static const char *cell_text(const struct ws_table *table, size_t row, size_t column)
{
    const char *text = ((char **)table->cells.data)[row * table->column_count + column];
    return text ? text : "";
}

/* Returns the text of a cell of the table. Line 0 of the table holds the columns' titles. */
static const char *line_text(const struct ws_table *table, size_t line, size_t column)
{
    return line ? cell_text(table, line - 1, column) : table->columns[column].title;
}

static size_t natural_width(const struct ws_table *table, size_t rows, size_t column)
{
    size_t widest = text_width(table->columns[column].title);
    for (size_t row = 0; row < rows; row++) {
        size_t width = text_width(cell_text(table, row, column));
        if (width > widest)
            widest = width;
    }
    return widest;
}

/* Returns how much narrower a column becomes, in characters, if its names are shortened to `shortest` characters.
 * Returns 0 if the column's names may not be shortened. */
static size_t spare_width(const struct ws_table *table, const size_t *widths, size_t column, size_t shortest)
{
    bool gives = table->columns[column].when_narrow & WS_NARROW_SHORTEN && widths[column] > shortest;
    return gives ? widths[column] - shortest : 0;
}

/* Leaves out columns, the last one first, until the table fits with names shortened to a readable length. Sets the
 * width of each column left out to 0. Returns by how many characters the names must be shortened, because the table
 * is still too wide. */
static size_t leave_out_columns(const struct ws_table *table, size_t *widths, size_t excess)
{
    size_t spare = 0;
    for (size_t column = 0; column < table->column_count; column++)
        spare += spare_width(table, widths, column, READABLE_NAME);
    for (size_t column = table->column_count; column-- > 0 && excess > spare;) {
        if (!(table->columns[column].when_narrow & WS_NARROW_LEAVE_OUT))
            continue;
        size_t won = widths[column] + GAP;
        spare -= spare_width(table, widths, column, READABLE_NAME);
        excess -= ws_min(won, excess);
        widths[column] = 0;
    }
    return excess;
}

/* Shortens names one character at a time, always in the widest column. */
static void shorten_names(const struct ws_table *table, size_t *widths, size_t excess)
{
    for (; excess; excess--) {
        size_t widest = table->column_count;
        for (size_t column = 0; column < table->column_count; column++)
            if (spare_width(table, widths, column, SHORTEST_NAME) &&
                (widest == table->column_count || widths[column] > widths[widest]))
                widest = column;
        if (widest == table->column_count)
            break;
        widths[widest]--;
    }
}

static void choose_widths(const struct ws_table *table, size_t rows, size_t *widths)
{
    size_t total = 0, page = (size_t)table->page->width;
    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = natural_width(table, rows, column);
        total += widths[column] + GAP;
    }
    if (total > page && !table->page->wide)
        shorten_names(table, widths, leave_out_columns(table, widths, total - page));
}

/* Prints the names of the columns that were left out, because sentences of the report may mention them. */
static void name_left_out(const struct ws_table *table, const size_t *widths)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        const char *title = table->columns[column].title;
        if (widths[column] || !*title || used + strlen(title) + sizeof(", ") > sizeof(names))
            continue;
        used += (size_t)sprintf(names + used, "%s%s", used ? ", " : "", title);
    }
    if (used)
        ws_page_text(table->page, "no room for %s (--wide shows all)", names);
}

/* Returns the length of the common prefix of two texts, in characters. */
static size_t common_begin(const char *a, const char *b)
{
    const char *at = a;
    for (; *at && *at == *b; at++)
        b++;
    while (at > a && ((unsigned char)*at & 0xc0) == 0x80) /* back to the first byte of the character that differs */
        at--;
    size_t width = 0;
    for (; a < at; a++)
        width += ((unsigned char)*a & 0xc0) != 0x80;
    return width;
}

/* Different names may look the same after shortening. Shortens such names so that their first difference stays
 * visible. */
static void tell_apart(struct ws_table *table, size_t rows, size_t column, size_t width)
{
    enum { MOST_COMPARED = 200 }; /* a limit, because every row is compared with every other row */
    char **cells = table->cells.data, *cuts[MOST_COMPARED] = { NULL };
    size_t keep[MOST_COMPARED] = { 0 };
    if (rows > MOST_COMPARED)
        return;
    for (size_t i = 0; i < rows; i++)
        if (text_width(cell_text(table, i, column)) > width)
            cuts[i] = page_cut(cell_text(table, i, column), width, 0);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < i; j++) {
            const char *a = cell_text(table, i, column), *b = cell_text(table, j, column);
            if (!cuts[i] || !cuts[j] || strcmp(cuts[i], cuts[j]) != 0 || !strcmp(a, b))
                continue;
            size_t differ = common_begin(a, b);
            keep[i] = ws_max(keep[i], differ);
            keep[j] = ws_max(keep[j], differ);
        }
    for (size_t i = 0; i < rows; i++) {
        char **cell = &cells[i * table->column_count + column],
             *shown = keep[i] ? page_cut(*cell, width, keep[i]) : NULL;
        free(cuts[i]);
        if (!shown)
            continue;
        free(*cell);
        *cell = shown;
    }
}

void ws_table_finish(struct ws_table *table)
{
    FILE *out = table->page->out;
    size_t rows = table->cells.count / table->column_count;
    size_t widths[WS_TABLE_COLUMNS];
    choose_widths(table, rows, widths);
    for (size_t column = 0; column < table->column_count; column++)
        if (table->columns[column].when_narrow & WS_NARROW_SHORTEN && widths[column])
            tell_apart(table, rows, column, widths[column]);
    for (size_t line = 0; rows && line <= rows; line++) {
        size_t last =
            table->column_count - 1; /* the last column that prints anything, so that lines do not end in spaces */
        while (last && (!widths[last] || !*line_text(table, line, last)))
            last--;
        if (!line && table->page->colour)
            fputs("\033[2m", out);
        for (size_t column = 0; column <= last; column++) {
            if (!widths[column]) /* the column is left out or empty */
                continue;
            put_spaces(out, GAP);
            put_cell(table->page, line_text(table, line, column), widths[column], table->columns[column].left,
                     column == last);
        }
        fputs(!line && table->page->colour ? "\033[0m\n" : "\n", out);
    }
    if (rows)
        name_left_out(table, widths);
    for (size_t i = 0; i < table->cells.count; i++)
        free(((char **)table->cells.data)[i]);
    ws_vector_finish(&table->cells);
}
