/* Parses a JSON file in a thread of its own, ahead of the thread that uses the tokens. See json.h for the errors that
 * the parser tolerates. */
#ifndef WALLSHIM_INPUT_TOKENS_H
#define WALLSHIM_INPUT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "input/input.h"

enum ws_token_kind {
    WS_TOKEN_NULL,
    WS_TOKEN_NUMBER,
    WS_TOKEN_TEXT,
    WS_TOKEN_KEY,
    WS_TOKEN_MAP,
    WS_TOKEN_ARRAY,
    WS_TOKEN_END,    /* the end of a map or array */
    WS_TOKEN_BROKEN, /* an invalid item was skipped, and all maps and arrays that were open inside it are closed */
};

struct ws_token {
    enum ws_token_kind kind;
    size_t length;
    const char *text;
};

/* The tokens of a piece of the file, and the state of the parser after this piece. */
struct ws_token_batch {
    int status; /* 1: more batches follow; 0: the end; below 0: -errno */
    bool fine;  /* the JSON is valid so far; in the last batch: valid and complete */
    bool rest;  /* the parser stopped before the end of the file */
    enum ws_input_end end;
    uint64_t done;   /* offset in the file after this piece */
    uint64_t passed; /* number of bytes of invalid items skipped so far */
    size_t left;     /* number of bytes of the piece that were not parsed after a failure */
    char *data;      /* for each token: a header (kind and length), then the text */
    size_t size, capacity;
};

struct ws_tokens;

/* Opens a file, and starts the thread. Invalid items are skipped in one array: the outermost array, or the array that
 * the outermost map holds under the key `items`. Returns 0 or -errno. */
int ws_tokens_open(struct ws_tokens **tokens, const char *path, const char *items);

/* Returns the next batch, which is valid until the next call. */
const struct ws_token_batch *ws_tokens_next(struct ws_tokens *tokens);

/* Stores the position of the last batch in the file, and the size of the file. */
void ws_tokens_position(const struct ws_tokens *tokens, uint64_t *done, uint64_t *total);

/* Stops the thread and closes the file. Accepts NULL. */
void ws_tokens_close(struct ws_tokens *tokens);

/* A token's header holds the token's kind in its low bits and the length of the token's text in its upper bits. */
enum { WS_TOKEN_KIND_BITS = 4, WS_TOKEN_LONGEST = (1u << (32 - WS_TOKEN_KIND_BITS)) - 1 };

/* Returns the token at *at, which must be less than batch->size. Moves *at to the next token. */
static inline struct ws_token ws_token_at(const struct ws_token_batch *batch, size_t *at)
{
    uint32_t header;
    memcpy(&header, batch->data + *at, sizeof(header));
    struct ws_token token = { .kind = header & ((1 << WS_TOKEN_KIND_BITS) - 1),
                              .length = header >> WS_TOKEN_KIND_BITS,
                              .text = batch->data + *at + sizeof(header) };
    *at += sizeof(header) + token.length;
    return token;
}

#endif
