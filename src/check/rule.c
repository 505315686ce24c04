#include "check/rule.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Operators of two characters come first, so that "<=" is not read as "<". */
static const struct {
    const char *text;
    enum ws_relation relation;
} relations[WS_RELATION_COUNT] = {
    { "<=", WS_AT_MOST }, { ">=", WS_AT_LEAST }, { "==", WS_EQUAL },
    { "!=", WS_UNEQUAL }, { "<", WS_LESS },      { ">", WS_MORE },
};

static const struct {
    const char *name;
    enum ws_unit unit;
    double factor;
} units[] = {
    { "%", WS_UNIT_SHARE, 0.01 },     { "ns", WS_UNIT_TIME, 1 },        { "us", WS_UNIT_TIME, 1e3 },
    { "µs", WS_UNIT_TIME, 1e3 },      { "ms", WS_UNIT_TIME, 1e6 },      { "s", WS_UNIT_TIME, 1e9 },
    { "B", WS_UNIT_BYTES, 1 },        { "kB", WS_UNIT_BYTES, 1e3 },     { "MB", WS_UNIT_BYTES, 1e6 },
    { "GB", WS_UNIT_BYTES, 1e9 },     { "TB", WS_UNIT_BYTES, 1e12 },    { "KiB", WS_UNIT_BYTES, 1024.0 },
    { "MiB", WS_UNIT_BYTES, 0x1p20 }, { "GiB", WS_UNIT_BYTES, 0x1p30 }, { "TiB", WS_UNIT_BYTES, 0x1p40 },
};

/* The part of the rule's text that is not parsed yet, and the buffer for an error message. */
struct cursor {
    const char *at;
    char *message;
    size_t capacity;
};

static int rule_complain(struct cursor *cursor, const char *what)
{
    snprintf(cursor->message, cursor->capacity, "%s%s%.40s%s", what, *cursor->at ? " at \"" : "", cursor->at,
             *cursor->at ? "\"" : "");
    return -EINVAL;
}

static void skip_blanks(struct cursor *cursor)
{
    while (isspace((unsigned char)*cursor->at))
        cursor->at++;
}

static bool in_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

/* --- paths ------------------------------------------------------------------------------------- */

/* Copies the next `length` characters of the rule to *texts, and makes them the text of this part of the path. */
static void take_text(struct cursor *cursor, struct ws_path_part *part, char **texts, size_t length)
{
    memcpy(*texts, cursor->at, length);
    (*texts)[length] = 0;
    part->text = *texts;
    *texts += length + 1;
    cursor->at += length;
}

static int take_key(struct cursor *cursor, struct ws_path_part *part, char **texts)
{
    size_t length = 0;
    while (in_word(cursor->at[length]))
        length++;
    if (!length)
        return rule_complain(cursor, "a figure's name is missing");
    part->kind = WS_PATH_KEY;
    take_text(cursor, part, texts, length);
    return 0;
}

/* Reads what follows the '[' of an index: N, * or "TEXT", then ']'. */
static int take_index(struct cursor *cursor, struct ws_path_part *part, char **texts)
{
    if (*cursor->at == '*') {
        part->kind = WS_PATH_EACH;
        cursor->at++;
    } else if (*cursor->at == '"') {
        const char *end = strchr(++cursor->at, '"');
        if (!end)
            return rule_complain(cursor, "no closing '\"'");
        part->kind = WS_PATH_ROWS;
        take_text(cursor, part, texts, (size_t)(end - cursor->at));
        cursor->at++;
    } else if (isdigit((unsigned char)*cursor->at)) {
        part->kind = WS_PATH_INDEX;
        for (; isdigit((unsigned char)*cursor->at); cursor->at++)
            if (part->index < SIZE_MAX / 10 - 10)
                part->index = part->index * 10 + (size_t)(*cursor->at - '0');
    } else {
        return rule_complain(cursor, "after '[' comes a number, * or \"TEXT\"");
    }
    if (*cursor->at != ']')
        return rule_complain(cursor, "no closing ']'");
    cursor->at++;
    return 0;
}

static int take_path(struct cursor *cursor, struct ws_path *path)
{
    /* This buffer has room for the texts of all parts and a zero after each. Every part but the first begins with '.'
     * or '[', which is not copied, so its byte is free for the part's zero. For the zero of the first part, one byte
     * is added here. */
    char *texts = path->texts = malloc(strlen(cursor->at) + 1);
    if (!texts)
        return -ENOMEM;
    int status = take_key(cursor, &path->parts[path->count++], &texts);
    while (!status && (*cursor->at == '.' || *cursor->at == '[')) {
        if (path->count == WS_PATH_PARTS)
            return rule_complain(cursor, "more levels than a report has");
        struct ws_path_part *part = &path->parts[path->count++];
        status = *cursor->at++ == '.' ? take_key(cursor, part, &texts) : take_index(cursor, part, &texts);
    }
    return status;
}

int ws_path_parse(struct ws_path *path, const char *text, char *message, size_t capacity)
{
    struct cursor cursor = { text, message, capacity };
    *path = (struct ws_path){ 0 };
    int status = take_path(&cursor, path);
    return !status && *cursor.at ? rule_complain(&cursor, "not understood") : status;
}

void ws_path_finish(struct ws_path *path)
{
    free(path->texts);
    *path = (struct ws_path){ 0 };
}

/* --- values ------------------------------------------------------------------------------------ */

/* Checks that only blanks are left in the text of the rule. */
static int take_end(struct cursor *cursor)
{
    skip_blanks(cursor);
    return *cursor->at ? rule_complain(cursor, "a rule has only one comparison: not understood") : 0;
}

static int take_number(struct cursor *cursor, struct ws_value *value)
{
    char *end;
    value->number = strtod(cursor->at, &end);
    if (strcspn(cursor->at, "xX") < (size_t)(end - cursor->at))
        return rule_complain(cursor, "not a decimal number");
    if (!isfinite(value->number))
        return rule_complain(cursor, "the number is too large");
    cursor->at = end;
    skip_blanks(cursor);
    if (!*cursor->at)
        return 0;
    size_t length = strcspn(cursor->at, " \t\n\v\f\r");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (length != strlen(units[i].name) || memcmp(cursor->at, units[i].name, length) != 0)
            continue;
        value->unit = units[i].unit;
        value->number *= units[i].factor;
        cursor->at += length;
        return isfinite(value->number) ? take_end(cursor) : rule_complain(cursor, "the number is too large");
    }
    return rule_complain(cursor, "unknown unit (use % ns us ms s B kB MB GB TB KiB MiB GiB TiB)");
}

/* Reads the value of a rule that compares texts: a word, or a text in quotes. */
static int take_word(struct cursor *cursor, struct ws_value *value)
{
    bool quoted = *cursor->at == '"';
    const char *begin = cursor->at + quoted, *end = begin;
    while (*end && (quoted ? *end != '"' : in_word(*end)))
        end++;
    if (quoted ? *end != '"' : end == begin)
        return rule_complain(cursor, quoted ? "no closing '\"'" : "neither a number nor a word");
    cursor->at = end + quoted;
    value->unit = WS_UNIT_TEXT;
    value->text = strndup(begin, (size_t)(end - begin));
    return value->text ? take_end(cursor) : -ENOMEM;
}

/* Returns whether the text begins with a number. In a rule, "inf" and "nan" are words, although strtod accepts
 * them. */
static bool begins_number(const char *text)
{
    text += *text == '-' || *text == '+';
    text += *text == '.';
    return isdigit((unsigned char)*text);
}

static int take_relation(struct cursor *cursor, enum ws_relation *relation)
{
    for (size_t i = 0; i < WS_RELATION_COUNT; i++) {
        if (strncmp(cursor->at, relations[i].text, strlen(relations[i].text)) != 0)
            continue;
        *relation = relations[i].relation;
        cursor->at += strlen(relations[i].text);
        return 0;
    }
    return rule_complain(cursor, "one of < <= > >= == != is missing");
}

int ws_rule_parse(struct ws_rule *rule, const char *text, char *message, size_t capacity)
{
    struct cursor cursor = { text, message, capacity };
    *rule = (struct ws_rule){ 0 };
    *message = 0;
    skip_blanks(&cursor);
    const char *figure = cursor.at;
    int status = take_path(&cursor, &rule->path);
    if (status)
        return status;
    rule->figure = strndup(figure, (size_t)(cursor.at - figure));
    if (!rule->figure)
        return -ENOMEM;
    skip_blanks(&cursor);
    status = take_relation(&cursor, &rule->relation);
    if (status)
        return status;
    skip_blanks(&cursor);
    if (begins_number(cursor.at))
        return take_number(&cursor, &rule->value);
    status = take_word(&cursor, &rule->value);
    if (!status && rule->relation != WS_EQUAL && rule->relation != WS_UNEQUAL)
        return rule_complain(&cursor, "words are compared with == and != only");
    return status;
}

void ws_rule_finish(struct ws_rule *rule)
{
    ws_path_finish(&rule->path);
    free(rule->figure);
    free(rule->value.text);
    *rule = (struct ws_rule){ 0 };
}

bool ws_numbers_hold(double number, enum ws_relation relation, double value)
{
    switch (relation) {
    case WS_LESS:
        return number < value;
    case WS_AT_MOST:
        return number <= value;
    case WS_MORE:
        return number > value;
    case WS_AT_LEAST:
        return number >= value;
    case WS_EQUAL:
        return number == value;
    case WS_UNEQUAL:
        return number != value;
    case WS_RELATION_COUNT:
        break;
    }
    return false;
}
