#include "collector/metrics_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/minmax.h"

enum { FIRST_CAPACITY = 16 << 10 };

static bool make_room(struct metrics_text *text, size_t more)
{
    size_t capacity = ws_max(text->capacity, (size_t)FIRST_CAPACITY);
    while (capacity - text->size < more)
        capacity *= 2;
    if (text->failed || capacity == text->capacity)
        return !text->failed;
    char *bytes = realloc(text->bytes, capacity);
    text->failed = !bytes;
    if (bytes) {
        text->bytes = bytes;
        text->capacity = capacity;
    }
    return bytes != NULL;
}

static void put(struct metrics_text *text, const char *word)
{
    size_t length = strlen(word);
    if (!make_room(text, length))
        return;
    memcpy(text->bytes + text->size, word, length);
    text->size += length;
}

/* Writes the value of a label, with escapes. The help texts in metrics.c hold no character that needs an escape. */
static void put_escaped(struct metrics_text *text, const char *value)
{
    for (; *value; value++) {
        const char plain[] = { *value, 0 };
        put(text, *value == '\\' ? "\\\\" : *value == '"' ? "\\\"" : *value == '\n' ? "\\n" : plain);
    }
}

/* Writes a family's name. In OpenMetrics, only the names of samples end with "_total" or "_info". */
static void put_name(struct metrics_text *text, const struct metrics_family *family, bool sample)
{
    put(text, family->name);
    if (!sample && text->format == METRICS_OPENMETRICS)
        return;
    put(text, family->type == METRICS_COUNTER ? "_total" : family->type == METRICS_INFO ? "_info" : "");
}

static void put_line(struct metrics_text *text, const char *what, const struct metrics_family *family,
                     const char *words)
{
    put(text, "# ");
    put(text, what);
    put(text, " ");
    put_name(text, family, false);
    put(text, " ");
    put(text, words);
    put(text, "\n");
}

void metrics_begin_family(struct metrics_text *text, const struct metrics_family *family)
{
    bool open = text->format == METRICS_OPENMETRICS;
    put_line(text, "TYPE", family,
             family->type == METRICS_COUNTER        ? "counter"
             : family->type == METRICS_INFO && open ? "info"
                                                    : "gauge");
    if (open && *family->unit)
        put_line(text, "UNIT", family, family->unit);
    put_line(text, "HELP", family, family->help);
}

static void put_sample(struct metrics_text *text, const struct metrics_family *family,
                       const struct metrics_label *labels, size_t count, const char *value)
{
    put_name(text, family, true);
    for (size_t i = 0; i < count; i++) {
        put(text, i ? "," : "{");
        put(text, labels[i].name);
        put(text, "=\"");
        put_escaped(text, labels[i].value);
        put(text, "\"");
    }
    put(text, count ? "} " : " ");
    put(text, value);
    put(text, "\n");
}

void metrics_sample(struct metrics_text *text, const struct metrics_family *family,
                    const struct metrics_label *labels, size_t count, uint64_t value)
{
    char number[32];
    snprintf(number, sizeof(number), "%" PRIu64, value);
    put_sample(text, family, labels, count, number);
}

void metrics_sample_ns(struct metrics_text *text, const struct metrics_family *family,
                       const struct metrics_label *labels, size_t count, int64_t ns)
{
    char number[48];
    uint64_t size = ns < 0 ? 0 : (uint64_t)ns;
    snprintf(number, sizeof(number), "%" PRIu64 ".%09" PRIu64, size / 1000000000, size % 1000000000);
    put_sample(text, family, labels, count, number);
}

void metrics_end(struct metrics_text *text)
{
    if (text->format == METRICS_OPENMETRICS)
        put(text, "# EOF\n");
}

const char *metrics_content_type(enum metrics_format format)
{
    return format == METRICS_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                         : "text/plain; version=0.0.4; charset=utf-8";
}

/* --- the choice of the format ------------------------------------------------------------------- */

/* Returns the weight of a media range of an Accept header, in thousandths: its parameter q, or 1000 if it has
 * none. */
static unsigned weight(const char *range, size_t length)
{
    for (size_t i = 0; i + 3 < length; i++) {
        if (range[i] != ';')
            continue;
        size_t at = i + 1 + strspn(range + i + 1, " \t");
        if (at + 2 >= length || strncasecmp(range + at, "q=", 2) != 0)
            continue;
        unsigned thousandths = 0, digit = 1000;
        for (at += 2; at < length && digit; at++) {
            if (range[at] == '.')
                continue;
            if (range[at] < '0' || range[at] > '9')
                break;
            thousandths += (unsigned)(range[at] - '0') * digit;
            digit /= 10;
        }
        return ws_min(thousandths, 1000u);
    }
    return 1000;
}

static bool has_word(const char *range, size_t length, const char *word)
{
    return memmem(range, length, word, strlen(word)) != NULL;
}

enum metrics_format metrics_negotiate(const char *accept)
{
    unsigned open = 0, plain = 0;
    for (const char *range = accept ? accept : ""; *range;) {
        range += strspn(range, " \t,");
        size_t length = strcspn(range, ",");
        unsigned here = weight(range, length);
        bool other_version = has_word(range, length, "version=") && !has_word(range, length, "version=1.0");
        if (!strncasecmp(range, "application/openmetrics-text", 28) && !other_version)
            open = ws_max(open, here);
        else if (!strncasecmp(range, "text/", 5) || !strncmp(range, "*/*", 3))
            plain = ws_max(plain, here);
        range += length;
    }
    return open && open >= plain ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
