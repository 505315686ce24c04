/* The messages between the shim of a program and the collector, over a Unix socket of type SOCK_SEQPACKET. Each
 * message is one packet: a head of 16 bytes, then a body. All numbers are little-endian. Between two collectors the
 * same messages go over TCP, one behind the other: a collector that relays a trace does as a shim does.
 *
 * head: u32 magic, u16 version, u16 kind, u32 size of the body, u32 reserved (0)
 *
 * | kind    | from      | body                                                                                  |
 * |---------|-----------|---------------------------------------------------------------------------------------|
 * | HELLO   | shim      | who the process is: struct ws_channel_hello                                           |
 * | WELCOME | collector | u64: the bytes of this trace that the collector has; the shim goes on behind them     |
 * | REFUSED | collector | u64: enum ws_channel_reason; the collector closes the connection                      |
 * | DATA    | shim      | u64: offset in the trace; then at most 64 KiB of the trace, from that offset          |
 * | TAKEN   | collector | u64: the bytes of the trace that are in the collector's file; whole frames            |
 * | GOODBYE | shim      | u64: size of the finished trace; from a relay then a text: how the trace ended        |
 * | GOODBYE | collector | u64: the same size, to a relay alone: all is in the file                              |
 * | CONTROL | collector | u64: enum ws_channel_command, or FLUSH and in the upper half a number; then its text    |
 * | STATE   | shim      | u64: 1: it records now, 0: it does not                                                |
 * | ASK     | ctl       | u64: enum ws_channel_command, and in the upper half a process id, or 0; then its text |
 * | ANSWER  | collector | u64: 1: more answers follow, 0: this is the last; then lines of JSON                  |
 * | PROGRESS| shim      | u64: the number that came with FLUSH; then how far the process is (wire/progress.h)   |
 *
 * The shim begins with HELLO, and again after each new connection. It keeps all bytes until TAKEN names them. So a
 * collector that ends and comes back lacks nothing: WELCOME says where to go on.
 *
 * FLUSH asks the shim to read what has ended and to send the records of it, and then PROGRESS. A shim that does not
 * know FLUSH ignores it.
 *
 * `wallshim ctl` sends ASK instead of HELLO, and the collector passes CONTROL on to the shims. */
#ifndef WALLSHIM_WIRE_CHANNEL_H
#define WALLSHIM_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    WS_CHANNEL_VERSION = 1,
    WS_CHANNEL_HEAD_SIZE = 16,
    WS_CHANNEL_START_SIZE = WS_CHANNEL_HEAD_SIZE + sizeof(uint64_t), /* of all messages but HELLO, without data */
    WS_CHANNEL_DATA_MAX = 64 << 10,
    WS_CHANNEL_TEXT_MAX = 64,  /* of CONTROL and ASK */
    WS_CHANNEL_ENDED_MAX = 95, /* of GOODBYE */
    WS_CHANNEL_MESSAGE_MAX = WS_CHANNEL_START_SIZE + WS_CHANNEL_DATA_MAX,
};

enum ws_channel_kind {
    WS_CHANNEL_HELLO = 1,
    WS_CHANNEL_WELCOME,
    WS_CHANNEL_REFUSED,
    WS_CHANNEL_DATA,
    WS_CHANNEL_TAKEN,
    WS_CHANNEL_GOODBYE,
    WS_CHANNEL_CONTROL = 32,
    WS_CHANNEL_STATE,
    WS_CHANNEL_ASK,
    WS_CHANNEL_ANSWER,
    WS_CHANNEL_PROGRESS,
};

enum ws_channel_command {
    WS_CHANNEL_STATUS,
    WS_CHANNEL_START, /* recording, within the limits of the program's options */
    WS_CHANNEL_STOP,
    WS_CHANNEL_BURST, /* text: as for the option of that name; "": no bursts */
    WS_CHANNEL_DUMP,  /* for the collector alone: write what the flight recorder has. text: a job; "": every job */
    WS_CHANNEL_COMMANDS,
    WS_CHANNEL_FLUSH = 64, /* of the collector, not of `wallshim ctl` */
};

/* Why a collector refuses a client: R(NAME, "text"). */
#define WS_CHANNEL_REASONS(R)                                     \
    R(VERSION, "it speaks another version of the protocol")       \
    R(MESSAGE, "a message was wrong")                             \
    R(FRAME, "a frame of the trace was damaged")                  \
    R(IDENTITY, "the process is not the one it says it is")       \
    R(CLIENTS, "it has too many clients")                         \
    R(FILES, "it has too many files of this process or job")      \
    R(SIZE, "the trace is as large as the collector lets one be") \
    R(MEMORY, "it has no memory left")                            \
    R(FILE, "it cannot make or open the file of this trace")      \
    R(JOBS, "it has too many jobs that record now")               \
    R(SLOW, "a frame did not come whole in time")

enum ws_channel_reason {
    WS_CHANNEL_NO_REASON,
#define WS_CHANNEL_REASON_NAME(name, text) WS_CHANNEL_REASON_##name,
    WS_CHANNEL_REASONS(WS_CHANNEL_REASON_NAME)
#undef WS_CHANNEL_REASON_NAME
};

/* Who the process is, as it says itself. Texts end with a zero byte. */
struct ws_channel_hello {
    uint64_t stream;     /* random: tells the traces of a process from each other, as it may start another by exec */
    uint64_t start_time; /* of the process, in clock ticks since the system booted: field 22 of /proc/self/stat */
    uint32_t pid;
    uint32_t reserved;
    char boot_id[40];
    char rank[64];
    char host[72];
    char job[64];   /* name of the job, from whatever started it; "": not known */
    char file[256]; /* the name that the shim would have chosen for the trace's file, without a folder */
};

enum { WS_CHANNEL_HELLO_SIZE = WS_CHANNEL_HEAD_SIZE + sizeof(struct ws_channel_hello) };
_Static_assert(sizeof(struct ws_channel_hello) == 520, "without padding, and the same on both sides");

struct ws_channel_message {
    enum ws_channel_kind kind;
    uint64_t number;      /* the u64 of the body; 0 for HELLO */
    const uint8_t *bytes; /* the data of DATA, or a text without a zero byte */
    size_t size;
    struct ws_channel_hello hello;
};

/* Write a message, or the part of it that comes before the `data_size` bytes of data. */
void ws_channel_write(uint8_t bytes[WS_CHANNEL_START_SIZE], enum ws_channel_kind kind, uint64_t number,
                      size_t data_size);
void ws_channel_write_hello(uint8_t bytes[WS_CHANNEL_HELLO_SIZE], const struct ws_channel_hello *hello);

/* Reads a message. `bytes` of the message points into the given bytes. Returns 0; -EPROTO: another version of the
 * protocol; -EBADMSG: no message. */
int ws_channel_read(const uint8_t *bytes, size_t size, struct ws_channel_message *message);

/* The size of a whole message, from its head; 0: it is no head of a message, or of one that is too large. For
 * streams, which do not keep messages apart. */
size_t ws_channel_size(const uint8_t head[WS_CHANNEL_HEAD_SIZE]);

/* The reason in words. */
const char *ws_channel_reason_text(uint64_t reason);

/* The path of a socket in the text "unix:PATH" or "PATH". */
const char *ws_channel_path(const char *text);

#endif
