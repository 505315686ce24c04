/* The messages between the shim of a program and the collector, over a Unix socket of type SOCK_SEQPACKET. Each
 * message is one packet: a head of 16 bytes, then a body. All numbers are little-endian. A collector may relay its
 * traces to another collector over TCP. The relaying collector sends the same messages as a shim, one after another.
 *
 * head: u32 magic, u16 version, u16 kind, u32 size of the body, u32 reserved (0)
 *
 * | kind    | from      | body                                                                                  |
 * |---------|-----------|---------------------------------------------------------------------------------------|
 * | HELLO   | shim      | who the process is: struct ws_channel_hello                                           |
 * | WELCOME | collector | u64: number of bytes of this trace that the collector has; the shim sends the rest    |
 * | REFUSED | collector | u64: enum ws_channel_reason; the collector closes the connection                      |
 * | DATA    | shim      | u64: offset in the trace; then at most 64 KiB of the trace, from that offset          |
 * | TAKEN   | collector | u64: number of bytes of the trace in the collector's file; always whole frames        |
 * | GOODBYE | shim      | u64: size of the finished trace; a relay adds a text: how the trace ended             |
 * | GOODBYE | collector | u64: size of the finished trace; to a relay only, once its whole trace is in the file |
 * | CONTROL | collector | u64: enum ws_channel_command; upper half for FLUSH: a number; then the command's text |
 * | STATE   | shim      | u64: 1: the shim records now, 0: the shim does not record                             |
 * | ASK     | ctl       | u64: enum ws_channel_command; upper half: a process id or 0; then the command's text  |
 * | ANSWER  | collector | u64: 1: more answers follow, 0: this is the last; then lines of JSON                  |
 * | PROGRESS| shim      | u64: the number that came with FLUSH; then the process's progress (wire/progress.h)   |
 *
 * On each new connection the shim first sends HELLO. The shim keeps the bytes of the trace until a TAKEN message
 * confirms them. If the collector is restarted, WELCOME tells the shim the first byte to send, so no byte is missing.
 *
 * FLUSH asks the shim to read the times of finished operations, to send their records, and then to send PROGRESS.
 * Older shims do not know FLUSH, and ignore it.
 *
 * `wallshim ctl` sends ASK instead of HELLO. The collector passes the command on to the shims as CONTROL. */
#ifndef WALLSHIM_WIRE_CHANNEL_H
#define WALLSHIM_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    WS_CHANNEL_VERSION = 1,
    WS_CHANNEL_HEAD_SIZE = 16,
    WS_CHANNEL_START_SIZE =
        WS_CHANNEL_HEAD_SIZE + sizeof(uint64_t), /* size of any message but HELLO, without data or text */
    WS_CHANNEL_DATA_MAX = 64 << 10,
    WS_CHANNEL_TEXT_MAX = 64,  /* maximum bytes of the text of CONTROL and ASK */
    WS_CHANNEL_ENDED_MAX = 95, /* maximum bytes of the text of GOODBYE */
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
    WS_CHANNEL_START, /* start to record; the limits in the shim's options still apply */
    WS_CHANNEL_STOP,
    WS_CHANNEL_BURST, /* record in bursts; text: a value of the option `burst`; "": no bursts */
    /* Not sent to shims: the collector writes the traces that it holds in memory to files. text: name of a job; "":
     * all jobs. */
    WS_CHANNEL_DUMP,
    WS_CHANNEL_COMMANDS,
    WS_CHANNEL_FLUSH = 64, /* sent by the collector, never by `wallshim ctl` */
};

/* The reasons for which a collector refuses a client, as R(NAME, "text"). */
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

/* The message in which a process describes itself. For a process of its own machine, the collector takes the pid from
 * the kernel, and compares start_time and boot_id with what the kernel says. Texts end with a zero byte. */
struct ws_channel_hello {
    /* Random number that identifies the trace: after exec, a process with the same pid makes a new trace. */
    uint64_t stream;
    uint64_t start_time; /* start time of the process, in clock ticks since boot: field 22 of /proc/self/stat */
    uint32_t pid;
    uint32_t reserved;
    char boot_id[40];
    char rank[64];
    char host[72];
    char job[64];   /* name of the job, set by the launcher of the job; "": unknown */
    char file[256]; /* file name (without folder) that the shim would use for the trace if there were no collector */
};

enum { WS_CHANNEL_HELLO_SIZE = WS_CHANNEL_HEAD_SIZE + sizeof(struct ws_channel_hello) };
_Static_assert(sizeof(struct ws_channel_hello) == 520, "without padding, and the same on both sides");

struct ws_channel_message {
    enum ws_channel_kind kind;
    uint64_t number;      /* the u64 at the start of the body; 0 for HELLO */
    const uint8_t *bytes; /* the data of a DATA message, or a text without a zero byte at its end */
    size_t size;
    struct ws_channel_hello hello;
};

/* Write a message into `bytes`. ws_channel_write leaves out the data: the caller sends `data_size` bytes after it. */
void ws_channel_write(uint8_t bytes[WS_CHANNEL_START_SIZE], enum ws_channel_kind kind, uint64_t number,
                      size_t data_size);
void ws_channel_write_hello(uint8_t bytes[WS_CHANNEL_HELLO_SIZE], const struct ws_channel_hello *hello);

/* Reads a message. message->bytes points into `bytes`. Returns 0; -EPROTO: another version of the protocol; -EBADMSG:
 * not a valid message. */
int ws_channel_read(const uint8_t *bytes, size_t size, struct ws_channel_message *message);

/* Returns the size of the whole message that begins with this head; 0: not a head, or the message is too large. A
 * receiver on TCP needs this size, because TCP does not mark where a message ends. */
size_t ws_channel_size(const uint8_t head[WS_CHANNEL_HEAD_SIZE]);

/* Returns the text that WS_CHANNEL_REASONS gives for this reason. */
const char *ws_channel_reason_text(uint64_t reason);

/* Returns PATH of the text "unix:PATH" or "PATH". */
const char *ws_channel_path(const char *text);

#endif
