#include "input/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* If a piece ends within a token, the first part of this token (at most HELD bytes) is placed in front of the next
 * piece. */
enum { PIECE = 256 * 1024, HELD = 32 };

/* The maximum depth of nested maps and arrays. Traces have about ten levels. */
enum { DEEPEST = 100 };

/* The maximum length of a text. yajl scans an unfinished text from its start with every piece, so a text that never
 * ends would take quadratic time. */
enum { LONGEST_TEXT = 8 << 20 };

/* A limit on parser restarts after invalid JSON. A restart costs one unit, plus one unit per open map and array.
 * RESTARTS units are allowed, plus one unit per BYTES_A_RESTART bytes of input. Readable traces need far fewer. */
enum { RESTARTS = 1000000, BYTES_A_RESTART = 16 };

struct ws_json {
    yajl_callbacks callbacks;
    void *user;
    yajl_handle parser;
    bool started;
    bool muted; /* suppress the caller's callbacks while a new parser is brought to the current depth */
    bool too_deep;
    size_t depth;
    char open[DEEPEST]; /* for each depth: '{' if a map is open there, '[' if an array is */
    size_t held, left;
    size_t silent; /* bytes of input since the last token was found */
    bool escaped;  /* the previous piece ended with a backslash */
    size_t items;  /* depth inside the array whose invalid items are skipped; 0: not inside such an array */
    void (*on_broken)(void *user);
    bool seeking; /* whether the parser searches for the next item after an invalid item */
    uint64_t passed;
    uint64_t taken, restarts; /* bytes of input so far, and restart units used */
    unsigned char piece[HELD + PIECE];
};

/* --- forwarding yajl's callbacks ----------------------------------------------------------------- */

static struct ws_json *found(void *user)
{
    struct ws_json *json = user;
    json->silent = 0;
    return json;
}

static int on_null(void *user)
{
    struct ws_json *json = found(user);
    return json->muted || json->callbacks.yajl_null(json->user);
}

static int on_number(void *user, const char *text, size_t length)
{
    struct ws_json *json = found(user);
    return json->muted || json->callbacks.yajl_number(json->user, text, length);
}

static int on_string(void *user, const unsigned char *text, size_t length)
{
    struct ws_json *json = found(user);
    return json->muted || json->callbacks.yajl_string(json->user, text, length);
}

/* Passes on true and false as texts, because a field that needs a number ignores texts. */
static int on_boolean(void *user, int value)
{
    struct ws_json *json = found(user);
    const unsigned char *text = (const unsigned char *)(value ? "true" : "false");
    return json->muted || json->callbacks.yajl_string(json->user, text, value ? 4 : 5);
}

static int on_key(void *user, const unsigned char *text, size_t length)
{
    struct ws_json *json = found(user);
    return json->muted || json->callbacks.yajl_map_key(json->user, text, length);
}

static bool open_one(struct ws_json *json, char what)
{
    json->too_deep = json->depth == DEEPEST;
    if (json->too_deep)
        return false;
    json->open[json->depth++] = what;
    return true;
}

/* Notes the end of a map or array. After the end of the array whose invalid items are skipped (ws_json_pass_over),
 * invalid JSON is an error again. */
static void close_one(struct ws_json *json)
{
    json->depth--;
    if (json->depth < json->items)
        json->items = 0;
}

static int on_start_map(void *user)
{
    struct ws_json *json = found(user);
    if (json->muted)
        return 1;
    return open_one(json, '{') && json->callbacks.yajl_start_map(json->user);
}

static int on_start_array(void *user)
{
    struct ws_json *json = found(user);
    if (json->muted)
        return 1;
    return open_one(json, '[') && json->callbacks.yajl_start_array(json->user);
}

static int on_end_map(void *user)
{
    struct ws_json *json = found(user);
    close_one(json);
    return json->callbacks.yajl_end_map(json->user);
}

static int on_end_array(void *user)
{
    struct ws_json *json = found(user);
    close_one(json);
    return json->callbacks.yajl_end_array(json->user);
}

static const yajl_callbacks passing = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

static yajl_handle make_parser(struct ws_json *json)
{
    yajl_handle parser = yajl_alloc(&passing, NULL, json);
    if (parser)
        yajl_config(parser, yajl_dont_validate_strings, 1);
    return parser;
}

struct ws_json *ws_json_create(const yajl_callbacks *callbacks, void *user)
{
    struct ws_json *json = malloc(sizeof(*json));
    if (!json)
        return NULL;
    json->callbacks = *callbacks;
    json->user = user;
    json->muted = json->started = json->too_deep = false;
    json->depth = json->held = json->left = json->silent = json->items = 0;
    json->on_broken = NULL;
    json->escaped = json->seeking = false;
    json->passed = json->taken = json->restarts = 0;
    json->parser = make_parser(json);
    if (json->parser)
        return json;
    free(json);
    return NULL;
}

void ws_json_destroy(struct ws_json *json)
{
    if (json && json->parser)
        yajl_free(json->parser);
    free(json);
}

/* --- NaN and Infinity ------------------------------------------------------------------------------- */

/* Returns the length of the word NaN, Infinity or inf at `at`, including a sign, or 0 if there is no such word. JSON
 * does not allow these words. */
static size_t no_number(const unsigned char *at, const unsigned char *end)
{
    static const char *const words[] = { "infinity", "inf", "nan" };
    size_t sign = at < end && (*at == '-' || *at == '+');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(end - at) >= sign + length && !strncasecmp((const char *)at + sign, words[i], length))
            return sign + length;
    }
    return 0;
}

/* Replaces the parser by a new parser that is inside the same maps and arrays and expects a value. Returns false when
 * memory runs out or the limit of restarts is reached. */
static bool restart(struct ws_json *json)
{
    json->restarts += 1 + json->depth;
    bool may = json->restarts <= RESTARTS + json->taken / BYTES_A_RESTART;
    yajl_handle parser = may ? make_parser(json) : NULL;
    bool fine = parser;
    json->muted = true;
    for (size_t i = 0; i < json->depth && fine; i++) {
        const char *text = json->open[i] == '{' ? "{\"\":" : "[";
        fine = yajl_parse(parser, (const unsigned char *)text, strlen(text)) == yajl_status_ok;
    }
    json->muted = false;
    if (!fine) {
        if (parser)
            yajl_free(parser);
        return false;
    }
    yajl_free(json->parser);
    json->parser = parser;
    return true;
}

/* If the parser failed at a word such as NaN, reads the word as null, moves *at past the word and returns true. */
static bool read_no_number_as_null(struct ws_json *json, const unsigned char *begin, const unsigned char **at,
                                   const unsigned char *end)
{
    const unsigned char *failed = *at + yajl_get_bytes_consumed(json->parser);
    for (const unsigned char *word = failed < end ? failed : end; word >= *at && failed - word <= 4; word--) {
        size_t length = no_number(word, end);
        bool follows = word > begin && strchr(" :,[\t\r\n", word[-1]) && word[-1];
        if (!length || !follows)
            continue;
        *at = word + length;
        return restart(json) && yajl_parse(json->parser, (const unsigned char *)"null", 4) == yajl_status_ok;
    }
    return false;
}

/* --- invalid items ---------------------------------------------------------------------------------- */

void ws_json_pass_over(struct ws_json *json, void (*on_broken)(void *user))
{
    json->items = json->depth;
    json->on_broken = on_broken;
}

uint64_t ws_json_passed(const struct ws_json *json)
{
    return json->passed;
}

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Returns whether the next item of the array (an event of the trace) begins at this brace. Braces also occur in
 * texts, so the brace must follow a comma and precede a typical key of an event. */
static bool begins_item(const unsigned char *begin, const unsigned char *brace, const unsigned char *end)
{
    static const char *const keys[] = { "\"ph\"", "\"name\"", "\"cat\"", "\"pid\"", "\"ts\"", "\"args\"" };
    const unsigned char *before = brace, *key = brace + 1;
    while (before > begin && is_space(before[-1]))
        before--;
    while (key < end && is_space(*key))
        key++;
    bool found = false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        found |= (size_t)(end - key) >= strlen(keys[i]) && !memcmp(key, keys[i], strlen(keys[i]));
    return found && before > begin && before[-1] == ',';
}

/* Returns the start of the next item of the array, or `end` if none begins in this piece. Counts the bytes before
 * this item as skipped. */
static const unsigned char *seek_item(struct ws_json *json, const unsigned char *begin, const unsigned char *from,
                                      const unsigned char *end)
{
    const unsigned char *at = from;
    while ((at = memchr(at, '{', (size_t)(end - at))) && !begins_item(begin, at, end))
        at++;
    at = at ? at : end;
    json->passed += (size_t)(at - from);
    json->seeking = at == end;
    return at;
}

/* If the parser failed inside an item of the array, abandons this item: sets *at to the place where the parser
 * failed, and returns true. */
static bool leave_item(struct ws_json *json, const unsigned char **at, const unsigned char *end)
{
    if (!json->items || json->depth < json->items)
        return false;
    size_t taken = yajl_get_bytes_consumed(json->parser);
    bool within = json->depth > json->items;
    json->depth = json->items;
    if (!restart(json))
        return false;
    json->on_broken(json->user);
    *at = taken < (size_t)(end - *at) ? *at + taken : end;
    /* `ends`: the parser failed at the "]" that closes the array, because a "," stands before it. The new parser then
     * reads the "]" again, and the array ends. */
    bool ends = !within && taken && (*at)[-1] == ']';
    *at -= ends;
    json->seeking = !ends;
    return true;
}

/* --- pieces --------------------------------------------------------------------------------------- */

unsigned char *ws_json_room(struct ws_json *json, size_t *size)
{
    *size = PIECE;
    return json->piece + HELD;
}

/* Returns the position of the last ":", "," or "[" in the last HELD bytes, or `end` if there is none. The token that
 * follows this character may continue in the next piece, so the caller keeps it for that piece. */
static const unsigned char *last_word(const unsigned char *begin, const unsigned char *end)
{
    for (const unsigned char *at = end; at > begin && end - at < HELD; at--)
        if (at[-1] == ':' || at[-1] == ',' || at[-1] == '[')
            return at - 1;
    return end;
}

static bool parse(struct ws_json *json, const unsigned char *begin, const unsigned char *end)
{
    const unsigned char *at = json->seeking ? seek_item(json, begin, begin, end) : begin;
    while (at < end) {
        yajl_status status = yajl_parse(json->parser, at, (size_t)(end - at));
        if (status == yajl_status_ok)
            return true;
        bool cancelled = status == yajl_status_client_canceled;
        if (!cancelled && read_no_number_as_null(json, begin, &at, end))
            continue;
        if ((cancelled && !json->too_deep) || !leave_item(json, &at, end)) {
            json->left = (size_t)(end - at) - yajl_get_bytes_consumed(json->parser);
            return false;
        }
        if (json->seeking)
            at = seek_item(json, begin, at, end);
    }
    return true;
}

/* Replaces each backslash that starts no valid escape by a slash, because some programs write Windows paths into JSON
 * without escaping their backslashes. */
static void mend_escapes(struct ws_json *json, unsigned char *at, unsigned char *end)
{
    at += json->escaped && at < end;
    json->escaped = false;
    while ((at = memchr(at, '\\', (size_t)(end - at)))) {
        size_t digits = 0;
        json->escaped = at + 1 == end;
        if (json->escaped)
            return;
        while (at[1] == 'u' && digits < 4 && at + 2 + digits < end && isxdigit(at[2 + digits]))
            digits++;
        bool fine = at[1] == 'u' ? digits == 4 || at + 2 + digits == end : at[1] && strchr("\"\\/bfnrt", at[1]);
        if (!fine)
            *at = '/';
        at += fine ? 2 : 1;
    }
}

bool ws_json_parse(struct ws_json *json, size_t size)
{
    const unsigned char *begin = json->piece + HELD - json->held, *end = json->piece + HELD + size;
    if (!json->started && size >= 3 && !memcmp(begin, "\xef\xbb\xbf", 3)) /* UTF-8 byte order mark */
        begin += 3;
    json->started = true;
    mend_escapes(json, json->piece + HELD, json->piece + HELD + size);
    const unsigned char *last = last_word(begin, end);
    json->silent += size;
    json->taken += size;
    if (!parse(json, begin, last) || json->silent > LONGEST_TEXT)
        return false;
    json->held = (size_t)(end - last);
    memmove(json->piece + HELD - json->held, last, json->held); /* memmove: the areas overlap in a short piece */
    return true;
}

bool ws_json_end(struct ws_json *json)
{
    const unsigned char *end = json->piece + HELD, *begin = end - json->held;
    json->held = 0;
    return parse(json, begin, end) && yajl_complete_parse(json->parser) == yajl_status_ok;
}

size_t ws_json_left(const struct ws_json *json)
{
    return json->left;
}
