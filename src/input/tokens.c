#include "input/tokens.h"

#include <errno.h>
#include <stdlib.h>

#include "input/ahead.h"
#include "input/json.h"

/* The fields from `input` on belong to the helper thread, which parses ahead of ws_tokens_next. If this thread cannot
 * be started, `ahead` is NULL, and ws_tokens_next parses the file itself, into `own`. */
struct ws_tokens {
    struct ws_ahead *ahead;
    const struct ws_token_batch *last; /* the batch that ws_tokens_next returned last, or NULL */
    struct ws_token_batch own;
    uint64_t total;

    struct ws_input *input;
    struct ws_json *json;
    struct ws_token_batch *batch; /* the batch that is being filled */
    const char *items;
    size_t depth, items_depth; /* number of open maps and arrays; this number inside the array `items` */
    bool within_map;           /* the outermost level is a map */
    bool items_follow;         /* the key read last in the outermost map is `items` */
    bool no_memory;
};

/* --- from callbacks to tokens --------------------------------------------------------------------- */

/* Makes room for a token of this size. Returns NULL when memory runs out. */
static char *grow(struct ws_tokens *tokens, size_t size)
{
    struct ws_token_batch *batch = tokens->batch;
    size_t capacity = (batch->size + size) * 2;
    char *data = size > WS_TOKEN_LONGEST ? NULL : realloc(batch->data, capacity);
    tokens->no_memory = !data;
    if (!data)
        return NULL;
    batch->data = data;
    batch->capacity = capacity;
    return data;
}

static inline int put(struct ws_tokens *tokens, enum ws_token_kind kind, const void *text, size_t length)
{
    struct ws_token_batch *batch = tokens->batch;
    uint32_t header = (uint32_t)length << WS_TOKEN_KIND_BITS | kind;
    size_t size = sizeof(header) + length;
    if (size > batch->capacity - batch->size && !grow(tokens, size))
        return 0;
    char *to = batch->data + batch->size;
    memcpy(to, &header, sizeof(header));
    if (length)
        memcpy(to + sizeof(header), text, length);
    batch->size += size;
    return 1;
}

static int put_null(void *user)
{
    return put(user, WS_TOKEN_NULL, NULL, 0);
}

static int put_number(void *user, const char *text, size_t length)
{
    return put(user, WS_TOKEN_NUMBER, text, length);
}

static int put_text(void *user, const unsigned char *text, size_t length)
{
    return put(user, WS_TOKEN_TEXT, text, length);
}

static int put_key(void *user, const unsigned char *text, size_t length)
{
    struct ws_tokens *tokens = user;
    if (tokens->depth == 1)
        tokens->items_follow = length == strlen(tokens->items) && !memcmp(text, tokens->items, length);
    return put(tokens, WS_TOKEN_KEY, text, length);
}

static void put_broken(void *user)
{
    struct ws_tokens *tokens = user;
    tokens->depth = tokens->items_depth;
    /* If memory for this token runs out, `put` sets no_memory, and tokens_fill returns -ENOMEM in the batch. */
    put(tokens, WS_TOKEN_BROKEN, NULL, 0);
}

static int put_map(void *user)
{
    struct ws_tokens *tokens = user;
    tokens->within_map |= !tokens->depth++;
    return put(tokens, WS_TOKEN_MAP, NULL, 0);
}

static int put_array(void *user)
{
    struct ws_tokens *tokens = user;
    tokens->depth++;
    if (tokens->depth == 1 || (tokens->depth == 2 && tokens->within_map && tokens->items_follow)) {
        tokens->items_depth = tokens->depth;
        ws_json_pass_over(tokens->json, put_broken);
    }
    return put(tokens, WS_TOKEN_ARRAY, NULL, 0);
}

static int put_end(void *user)
{
    struct ws_tokens *tokens = user;
    tokens->depth--;
    return put(tokens, WS_TOKEN_END, NULL, 0);
}

static const yajl_callbacks callbacks = {
    .yajl_null = put_null,
    .yajl_number = put_number,
    .yajl_string = put_text,
    .yajl_start_map = put_map,
    .yajl_map_key = put_key,
    .yajl_end_map = put_end,
    .yajl_start_array = put_array,
    .yajl_end_array = put_end,
};

/* --- batches ---------------------------------------------------------------------------------------- */

static bool tokens_fill(void *user, void *place)
{
    struct ws_tokens *tokens = user;
    struct ws_token_batch *batch = tokens->batch = place;
    size_t room;
    uint64_t total;
    unsigned char *piece = ws_json_room(tokens->json, &room);
    ssize_t size = ws_input_read(tokens->input, piece, room);
    batch->size = 0;
    batch->fine = size > 0 ? ws_json_parse(tokens->json, (size_t)size) : !size && ws_json_end(tokens->json);
    batch->rest = size > 0 && !batch->fine;
    batch->status = size < 0 ? (int)size : tokens->no_memory ? -ENOMEM : size && batch->fine;
    batch->end = ws_input_end(tokens->input);
    batch->passed = ws_json_passed(tokens->json);
    batch->left = ws_json_left(tokens->json);
    ws_input_position(tokens->input, &batch->done, &total);
    return batch->status > 0;
}

static void tokens_finish(void *batch)
{
    free(((struct ws_token_batch *)batch)->data);
}

int ws_tokens_open(struct ws_tokens **result, const char *path, const char *items)
{
    uint64_t done;
    struct ws_tokens *tokens = calloc(1, sizeof(*tokens));
    if (!tokens)
        return -ENOMEM;
    tokens->items = items;
    tokens->json = ws_json_create(&callbacks, tokens);
    int status = tokens->json ? ws_input_open(&tokens->input, path) : -ENOMEM;
    if (status) {
        ws_tokens_close(tokens);
        return status;
    }
    ws_input_position(tokens->input, &done, &tokens->total);
    ws_input_read_ahead(tokens->input);
    tokens->ahead = ws_ahead_start(sizeof(struct ws_token_batch), tokens_fill, tokens);
    *result = tokens;
    return 0;
}

const struct ws_token_batch *ws_tokens_next(struct ws_tokens *tokens)
{
    if (tokens->ahead) {
        tokens->last = ws_ahead_next(tokens->ahead);
    } else if (!tokens->last || tokens->last->status > 0) {
        tokens_fill(tokens, &tokens->own);
        tokens->last = &tokens->own;
    }
    return tokens->last;
}

void ws_tokens_position(const struct ws_tokens *tokens, uint64_t *done, uint64_t *total)
{
    *done = tokens->last ? tokens->last->done : 0;
    *total = tokens->total;
}

void ws_tokens_close(struct ws_tokens *tokens)
{
    if (!tokens)
        return;
    ws_ahead_stop(tokens->ahead, tokens_finish);
    free(tokens->own.data);
    ws_input_close(tokens->input);
    ws_json_destroy(tokens->json);
    free(tokens);
}
