/* Fuzz target: the input is what another collector sends over TCP, in pieces of any size. The first byte says which
 * messages the receiver refuses when they arrive the first time. Each piece is a u16 with the piece's size, and the
 * piece's bytes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/minmax.h"
#include "collector/tcp.h"
#include "wire/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SENT_MOST = 128 << 10, TURNS = 8 };

static uint8_t sent[SENT_MOST];
static size_t sent_size, taken;
static unsigned messages, refuses;
static bool refused, ended;
static struct tcp *tcp;

static void on_ready(void *data)
{
    (void)data;
}

static void on_space(void *data)
{
    (void)data;
}

/* Checks that whole messages arrive, in the order in which they were sent, and that none is delivered again after it
 * was accepted. A message that was refused must be delivered again. */
static bool on_message(void *data, const uint8_t *bytes, size_t size)
{
    (void)data;
    if (size < WS_CHANNEL_HEAD_SIZE || size != ws_channel_size(bytes) || size > sent_size - taken ||
        memcmp(bytes, sent + taken, size) || ended)
        abort();
    refused = !refused && (refuses >> messages % 8 & 1);
    if (refused)
        return false;
    messages++;
    taken += size;
    struct ws_channel_message message;
    ws_channel_read(bytes, size, &message);
    return true;
}

static void on_ended(void *data, int status)
{
    (void)data;
    (void)status;
    ended = true;
    tcp_destroy(tcp);
    tcp = NULL;
}

static void run(uv_loop_t *loop)
{
    for (int i = 0; i < TURNS; i++) {
        uv_run(loop, UV_RUN_NOWAIT);
        if (tcp && refused)
            tcp_resume(tcp);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tcp_events events = { on_ready, on_message, on_space, on_ended };
    uv_loop_t loop;
    int ends[2];
    if (!size || uv_loop_init(&loop) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
        return 0;
    sent_size = taken = messages = 0;
    refuses = *data++;
    size--;
    refused = ended = false;
    tcp = tcp_create(&loop, ends[0], NULL, false, &events, NULL);
    while (tcp && size >= sizeof(uint16_t)) {
        uint16_t length;
        memcpy(&length, data, sizeof(length));
        data += sizeof(length);
        size -= sizeof(length);
        size_t part = ws_min(ws_min((size_t)length, size), SENT_MOST - sent_size);
        memcpy(sent + sent_size, data, part);
        sent_size += part;
        if (part && send(ends[1], data, part, MSG_NOSIGNAL) != (ssize_t)part)
            break;
        data += part;
        size -= part;
        run(&loop);
    }
    close(ends[1]);
    run(&loop);
    tcp_destroy(tcp);
    tcp = NULL;
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop))
        abort();
    return 0;
}
