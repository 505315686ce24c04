#include "wire/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/progress.h"

enum { MAGIC = 0x68635357 }; /* in memory, the bytes "WSch" */

struct head {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t size;
    uint32_t reserved;
};
_Static_assert(sizeof(struct head) == WS_CHANNEL_HEAD_SIZE, "without padding");

static void put_head(uint8_t *bytes, enum ws_channel_kind kind, size_t size)
{
    const struct head head = {
        .magic = MAGIC, .version = WS_CHANNEL_VERSION, .kind = (uint16_t)kind, .size = (uint32_t)size
    };
    memcpy(bytes, &head, sizeof(head));
}

void ws_channel_write(uint8_t bytes[WS_CHANNEL_START_SIZE], enum ws_channel_kind kind, uint64_t number,
                      size_t data_size)
{
    put_head(bytes, kind, sizeof(number) + data_size);
    memcpy(bytes + WS_CHANNEL_HEAD_SIZE, &number, sizeof(number));
}

void ws_channel_write_hello(uint8_t bytes[WS_CHANNEL_HELLO_SIZE], const struct ws_channel_hello *hello)
{
    put_head(bytes, WS_CHANNEL_HELLO, sizeof(*hello));
    memcpy(bytes + WS_CHANNEL_HEAD_SIZE, hello, sizeof(*hello));
}

static int read_hello(const uint8_t *body, size_t size, struct ws_channel_hello *hello)
{
    if (size != sizeof(*hello))
        return -EBADMSG;
    memcpy(hello, body, sizeof(*hello));
    /* The sender may have left out the zero byte at the end of a text. */
    hello->boot_id[sizeof(hello->boot_id) - 1] = 0;
    hello->rank[sizeof(hello->rank) - 1] = 0;
    hello->host[sizeof(hello->host) - 1] = 0;
    hello->job[sizeof(hello->job) - 1] = 0;
    hello->file[sizeof(hello->file) - 1] = 0;
    return 0;
}

static size_t most_data(enum ws_channel_kind kind)
{
    return kind == WS_CHANNEL_PROGRESS                            ? WS_PROGRESS_MAX
           : kind == WS_CHANNEL_DATA || kind == WS_CHANNEL_ANSWER ? WS_CHANNEL_DATA_MAX
           : kind == WS_CHANNEL_GOODBYE                           ? WS_CHANNEL_ENDED_MAX
           : kind == WS_CHANNEL_CONTROL || kind == WS_CHANNEL_ASK ? WS_CHANNEL_TEXT_MAX
                                                                  : 0;
}

int ws_channel_read(const uint8_t *bytes, size_t size, struct ws_channel_message *message)
{
    struct head head;
    *message = (struct ws_channel_message){ 0 };
    if (size < sizeof(head))
        return -EBADMSG;
    memcpy(&head, bytes, sizeof(head));
    if (head.magic != MAGIC)
        return -EBADMSG;
    if (head.version != WS_CHANNEL_VERSION)
        return -EPROTO;
    size_t body = size - sizeof(head);
    bool known = (head.kind >= WS_CHANNEL_HELLO && head.kind <= WS_CHANNEL_GOODBYE) ||
                 (head.kind >= WS_CHANNEL_CONTROL && head.kind <= WS_CHANNEL_PROGRESS);
    if (head.size != body || !known)
        return -EBADMSG;
    message->kind = (enum ws_channel_kind)head.kind;
    bytes += sizeof(head);
    if (message->kind == WS_CHANNEL_HELLO)
        return read_hello(bytes, body, &message->hello);
    if (body < sizeof(message->number))
        return -EBADMSG;
    memcpy(&message->number, bytes, sizeof(message->number));
    message->bytes = bytes + sizeof(message->number);
    message->size = body - sizeof(message->number);
    return message->size > most_data(message->kind) ? -EBADMSG : 0;
}

size_t ws_channel_size(const uint8_t bytes[WS_CHANNEL_HEAD_SIZE])
{
    struct head head;
    memcpy(&head, bytes, sizeof(head));
    return head.magic == MAGIC && head.size <= WS_CHANNEL_MESSAGE_MAX - sizeof(head) ? sizeof(head) + head.size : 0;
}

const char *ws_channel_reason_text(uint64_t reason)
{
    static const char *const texts[] = { [WS_CHANNEL_NO_REASON] = "it does not say why",
#define REASON_TEXT(name, text) [WS_CHANNEL_REASON_##name] = text,
                                         WS_CHANNEL_REASONS(REASON_TEXT)
#undef REASON_TEXT
    };
    return texts[reason < sizeof(texts) / sizeof(texts[0]) ? reason : 0];
}

const char *ws_channel_path(const char *text)
{
    static const char scheme[] = "unix:";
    return strncmp(text, scheme, sizeof(scheme) - 1) ? text : text + sizeof(scheme) - 1;
}
