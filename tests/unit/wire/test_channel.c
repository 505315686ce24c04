/* Tests of the messages between shim and collector: each message is read as it was written, and other bytes are
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/channel.h"

/* Reads from a copy of exactly the message's size, so that a sanitizer finds reads beyond its end. */
static int read_copy(const uint8_t *bytes, size_t size, struct ws_channel_message *message)
{
    uint8_t *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    int status = ws_channel_read(copy, size, message);
    free(copy);
    return status;
}

static void messages_come_back(void **state)
{
    (void)state;
    static uint8_t bytes[WS_CHANNEL_MESSAGE_MAX + 1];
    struct ws_channel_message message;
    for (int kind = WS_CHANNEL_WELCOME; kind <= WS_CHANNEL_GOODBYE; kind++) {
        size_t data = kind == WS_CHANNEL_DATA      ? WS_CHANNEL_DATA_MAX
                      : kind == WS_CHANNEL_GOODBYE ? WS_CHANNEL_ENDED_MAX
                                                   : 0;
        ws_channel_write(bytes, (enum ws_channel_kind)kind, 0x123456789abcdef0, data);
        size_t size = WS_CHANNEL_START_SIZE + data;
        assert_int_equal(ws_channel_read(bytes, size, &message), 0);
        assert_int_equal(ws_channel_size(bytes), size);
        assert_int_equal(message.kind, kind);
        assert_int_equal(message.number, 0x123456789abcdef0);
        assert_int_equal(message.size, data);
        assert_ptr_equal(message.bytes, bytes + WS_CHANNEL_START_SIZE);
        assert_int_equal(ws_channel_read(bytes, size + 1, &message), -EBADMSG);
        for (size_t shorter = 0; shorter < WS_CHANNEL_START_SIZE; shorter++)
            assert_int_equal(read_copy(bytes, shorter, &message), -EBADMSG);
        ws_channel_write(bytes, (enum ws_channel_kind)kind, 0, data + 1);
        assert_int_equal(ws_channel_read(bytes, size + 1, &message), -EBADMSG);
    }
}

static void a_hello_comes_back(void **state)
{
    (void)state;
    uint8_t bytes[WS_CHANNEL_HELLO_SIZE + 1] = { 0 };
    struct ws_channel_hello hello = { .stream = 1, .start_time = 2, .pid = 3, .rank = "4", .host = "h", .file = "f" };
    struct ws_channel_message message;
    ws_channel_write_hello(bytes, &hello);
    assert_int_equal(read_copy(bytes, WS_CHANNEL_HELLO_SIZE, &message), 0);
    assert_int_equal(message.kind, WS_CHANNEL_HELLO);
    assert_memory_equal(&message.hello, &hello, sizeof(hello));
    assert_int_equal(read_copy(bytes, WS_CHANNEL_HELLO_SIZE - 1, &message), -EBADMSG);
    assert_int_equal(read_copy(bytes, WS_CHANNEL_HELLO_SIZE + 1, &message), -EBADMSG);
}

static void texts_without_an_end_get_one(void **state)
{
    (void)state;
    uint8_t bytes[WS_CHANNEL_HELLO_SIZE];
    struct ws_channel_hello hello;
    struct ws_channel_message message;
    memset(&hello, 'x', sizeof(hello));
    ws_channel_write_hello(bytes, &hello);
    assert_int_equal(read_copy(bytes, sizeof(bytes), &message), 0);
    assert_int_equal(strlen(message.hello.boot_id), sizeof(hello.boot_id) - 1);
    assert_int_equal(strlen(message.hello.rank), sizeof(hello.rank) - 1);
    assert_int_equal(strlen(message.hello.host), sizeof(hello.host) - 1);
    assert_int_equal(strlen(message.hello.job), sizeof(hello.job) - 1);
    assert_int_equal(strlen(message.hello.file), sizeof(hello.file) - 1);
}

static void each_wrong_byte_of_a_head_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    struct ws_channel_message message;
    for (size_t at = 0; at < 12; at++) {
        ws_channel_write(bytes, WS_CHANNEL_TAKEN, 7, 0);
        bytes[at] ^= 0x80;
        int status = read_copy(bytes, sizeof(bytes), &message);
        assert_int_equal(status, at == 4 || at == 5 ? -EPROTO : -EBADMSG);
    }
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    ws_channel_write(bytes, WS_CHANNEL_DATA, 0, WS_CHANNEL_DATA_MAX);
    assert_int_equal(ws_channel_size(bytes), WS_CHANNEL_MESSAGE_MAX);
    ws_channel_write(bytes, WS_CHANNEL_DATA, 0, WS_CHANNEL_DATA_MAX + 1);
    assert_int_equal(ws_channel_size(bytes), 0);
    ws_channel_write(bytes, WS_CHANNEL_DATA, 0, UINT32_MAX - sizeof(uint64_t));
    assert_int_equal(ws_channel_size(bytes), 0);
    ws_channel_write(bytes, WS_CHANNEL_DATA, 0, 0);
    bytes[0] ^= 1;
    assert_int_equal(ws_channel_size(bytes), 0);
}

static void reasons_and_paths(void **state)
{
    (void)state;
    assert_string_equal(ws_channel_reason_text(0), ws_channel_reason_text(UINT64_MAX));
    for (uint64_t reason = 0; reason < 20; reason++)
        assert_non_null(ws_channel_reason_text(reason));
    assert_string_equal(ws_channel_path("unix:/a/b"), "/a/b");
    assert_string_equal(ws_channel_path("/a/unix:b"), "/a/unix:b");
    assert_string_equal(ws_channel_path(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back),
        cmocka_unit_test(a_hello_comes_back),
        cmocka_unit_test(texts_without_an_end_get_one),
        cmocka_unit_test(each_wrong_byte_of_a_head_is_refused),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(reasons_and_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
