/* Tests of the tokens of a JSON file: their order, broken items, texts larger than a batch (the tokens of one piece
 * of the file), cut files, and a reader that stops early. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/tokens.h"

static struct ws_tokens *tokens;

/* Opens a file with this content. The file is removed at once, which is possible because it is open. */
static void open_content(const char *content, size_t size)
{
    char path[] = "/tmp/wallshim-tokens-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, size), size);
    close(file);
    assert_int_equal(ws_tokens_open(&tokens, path, "items"), 0);
    unlink(path);
}

/* Writes all tokens as text: a letter for each kind, and the token's text. Returns the last batch. */
static const struct ws_token_batch *read_all(char *to, size_t capacity)
{
    static const char letters[] = "0#\"k{[e!";
    const struct ws_token_batch *batch;
    size_t used = 0;
    do {
        batch = ws_tokens_next(tokens);
        for (size_t at = 0; at < batch->size;) {
            struct ws_token token = ws_token_at(batch, &at);
            used += (size_t)snprintf(to + used, capacity - used, "%c%.*s ", letters[token.kind], (int)token.length,
                                     token.text);
            assert_true(used < capacity);
        }
    } while (batch->status > 0);
    assert_ptr_equal(ws_tokens_next(tokens), batch);
    return batch;
}

static const struct ws_token_batch *check(const char *content, const char *expected)
{
    char text[512];
    open_content(content, strlen(content));
    const struct ws_token_batch *last = read_all(text, sizeof(text));
    assert_string_equal(text, expected);
    return last;
}

static void test_order(void **state)
{
    (void)state;
    const struct ws_token_batch *last = check("{\"a\": [1, \"b\", null, NaN, {}]}", "{ ka [ #1 \"b 0 0 { e e e ");
    assert_true(last->fine && !last->rest && !last->status);
    assert_int_equal(last->end, WS_INPUT_WHOLE);
    ws_tokens_close(tokens);
}

/* Broken items are skipped only in the array of items (the file's events), and in no other array. */
static void test_broken_items(void **state)
{
    (void)state;
    const struct ws_token_batch *last =
        check("{\"items\": [{\"name\": ], {\"name\": 2}], \"x\": 3}", "{ kitems [ { kname ! { kname #2 e e kx #3 e ");
    assert_true(last->fine && last->passed);
    ws_tokens_close(tokens);
    last = check("[{\"name\": [}, {\"name\": 2}]", "[ { kname [ ! { kname #2 e e ");
    assert_true(last->fine && last->passed);
    ws_tokens_close(tokens);
    last = check("{\"others\": [{\"name\": ], {\"name\": 2}]}", "{ kothers [ { kname ");
    assert_true(!last->fine && last->rest && !last->status && last->left);
    ws_tokens_close(tokens);
    last = check("{\"a\": {\"items\": [{\"name\": ]}}", "{ ka { kitems [ { kname ");
    assert_true(!last->fine && !last->passed);
    ws_tokens_close(tokens);
}

static void test_cut(void **state)
{
    (void)state;
    const struct ws_token_batch *last = check("{\"items\": [{\"name\": 1}, {\"na", "{ kitems [ { kname #1 e { ");
    assert_true(!last->fine && !last->rest && !last->status);
    ws_tokens_close(tokens);
}

/* A text of 3 MB spans several pieces of the file, and is one token. */
static void test_long_text(void **state)
{
    (void)state;
    enum { LENGTH = 3000000 };
    char *content = malloc(LENGTH + 4);
    assert_non_null(content);
    memset(content, 'x', LENGTH + 4);
    content[0] = '[';
    content[1] = content[LENGTH + 2] = '"';
    content[LENGTH + 3] = ']';
    open_content(content, LENGTH + 4);
    free(content);
    size_t texts = 0;
    const struct ws_token_batch *batch;
    do {
        batch = ws_tokens_next(tokens);
        for (size_t at = 0; at < batch->size;) {
            struct ws_token token = ws_token_at(batch, &at);
            if (token.kind == WS_TOKEN_TEXT) {
                texts++;
                assert_int_equal(token.length, LENGTH);
                assert_int_equal(token.text[LENGTH - 1], 'x');
            }
        }
    } while (batch->status > 0);
    assert_true(batch->fine);
    assert_int_equal(texts, 1);
    ws_tokens_close(tokens);
}

static void test_stop(void **state)
{
    (void)state;
    enum { SIZE = 4000000 };
    char *content = malloc(SIZE);
    uint64_t done, total;
    assert_non_null(content);
    for (size_t i = 0; i < SIZE; i += 2) {
        content[i] = i ? ',' : '[';
        content[i + 1] = '1';
    }
    for (int taken = 0; taken < 6; taken++) {
        open_content(content, SIZE);
        for (int i = 0; i < taken; i++)
            assert_int_equal(ws_tokens_next(tokens)->status, 1);
        ws_tokens_position(tokens, &done, &total);
        assert_int_equal(total, SIZE);
        assert_true(taken ? done && done < total : !done);
        ws_tokens_close(tokens);
    }
    free(content);
    ws_tokens_close(NULL);
    assert_int_equal(ws_tokens_open(&tokens, "/nowhere/at/all", "items"), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),     cmocka_unit_test(test_broken_items), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_long_text), cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
