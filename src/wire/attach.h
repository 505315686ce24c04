/* The messages between `wallshim attach` and the shim of a process, over a Unix socket of type SOCK_SEQPACKET. Each
 * message is one packet, struct ws_attach_message. Both ends run on the same machine, so numbers have that machine's
 * byte order. A session is one recording: the shim records from BEGIN to END into one trace.
 *
 * | kind    | from    | meaning                                                                                     |
 * |---------|---------|---------------------------------------------------------------------------------------------|
 * | BEGIN   | command | begin a session; carries the descriptor of the trace's empty file; text: the file's name    |
 * | END     | command | end the session, even if another command began it; the answer is AWAKE or ASLEEP            |
 * | STATUS  | command | is a session running? The answer is AWAKE or ASLEEP                                         |
 * | BEGUN   | shim    | the session has begun                                                                       |
 * | ENDED   | shim    | the session has ended, and its trace is complete; text: why                                 |
 * | ASLEEP  | shim    | no session was running                                                                      |
 * | AWAKE   | shim    | a session was running                                                                       |
 * | REFUSED | shim    | the shim refuses the request; text: why                                                     |
 *
 * The shim ends a session when the connection on which BEGIN came is closed. */
#ifndef WALLSHIM_WIRE_ATTACH_H
#define WALLSHIM_WIRE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_ATTACH_VERSION = 1, WS_ATTACH_TEXT = 4096 };
#define WS_ATTACH_MAGIC 0x74415357u

enum ws_attach_kind {
    WS_ATTACH_BEGIN = 1,
    WS_ATTACH_END,
    WS_ATTACH_STATUS,
    WS_ATTACH_BEGUN = 32,
    WS_ATTACH_ENDED,
    WS_ATTACH_ASLEEP,
    WS_ATTACH_AWAKE,
    WS_ATTACH_REFUSED,
};

struct ws_attach_message {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;        /* a value of enum ws_attach_kind */
    uint64_t duration_ns; /* BEGIN: length of the session; 0: until END */
    uint64_t token[2];    /* if `wallshim attach` loaded the shim: the token of struct ws_late_block; else unused */
    /* BEGIN: value of the option `overhead` (wire/options.h); 0: the value set in the process's environment applies.
     */
    uint64_t overhead;
    char text[WS_ATTACH_TEXT];
};

/* Writes the name of the process's socket, which is an abstract socket: the first byte is 0. Returns the name's
 * length, or 0 if it does not fit. pid: the process id in the process's own pid namespace. The name also contains the
 * number of that namespace, because containers with different pid namespaces may share one network namespace. */
size_t ws_attach_name(char *name, size_t capacity, uint64_t pid_namespace, int pid);

/* Sends a message, and the descriptor fd unless fd is -1. Returns 0 or -errno. */
int ws_attach_send(int socket, const struct ws_attach_message *message, int fd);

/* Receives a message. Waits at most for the time-out that is set on the socket. Stores the descriptor that came with
 * the message in *fd, or -1. Returns 0; -EPIPE: the connection is closed; -EPROTO: the packet is not a message; or
 * another -errno. */
int ws_attach_receive(int socket, struct ws_attach_message *message, int *fd);

#endif
