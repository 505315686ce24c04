#include "shim/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shim/drain/file_thread.h"
#include "shim/drain/own_table.h"
#include "shim/drain/session.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"
#include "wire/attach.h"

enum {
    LOOK_MS = 100,      /* ms between checks whether the session has ended */
    LOOK_SOON_MS = 20,  /* the same, after the session was told to end */
    PATIENCE_S = 1,     /* seconds: longest wait for a connection's message */
    STRANGER_US = 1000, /* µs: longest wait for the message of a connection from another user */
    CONNECTIONS = 4,    /* largest number of connections that wait to be accepted */
};

static int owner = -1; /* the connection that began the session (recording) under way; -1: no session */
static bool ending;    /* the session was told to end, or the other end of its connection has exited */

/* State that is used only if the shim was loaded into a running program (shim/late.c). */
static struct {
    bool is; /* the shim was loaded into a running program */
    uint64_t token[2];
    void (*over)(void); /* to be called when the first session has ended; NULL: it has been called */
    int listener;
    int64_t until; /* deadline for the begin of the first session: host time, ns */
} late;
static const int64_t LATE_NS = 5000000000;

static void answer(int connection, enum ws_attach_kind kind, const char *text)
{
    struct ws_attach_message message = { .kind = (uint16_t)kind };
    snprintf(message.text, sizeof(message.text), "%s", text);
    ws_attach_send(connection, &message, -1);
}

static bool is_known_user(int connection)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (!peer.uid || peer.uid == geteuid());
}

/* May the sender of this message make requests? The program's own user and root may. If the shim was loaded into a
 * running program, a request with the right token is accepted from any user. */
static bool may_ask(int connection, const struct ws_attach_message *message)
{
    return (late.is && !memcmp(message->token, late.token, sizeof(late.token))) || is_known_user(connection);
}

/* May the trace be written to this file? It must be a plain file, because a write to a pipe could block the shim's
 * thread. */
static bool is_fit(int file)
{
    struct statx about;
    return file >= 0 && !statx(file, "", AT_EMPTY_PATH, STATX_TYPE, &about) && S_ISREG(about.stx_mode);
}

static void begin(int connection, const struct ws_attach_message *message, int file)
{
    enum session_end end;
    if (session_runs(&end) || owner >= 0) {
        answer(connection, WS_ATTACH_REFUSED, "it is being recorded already; wallshim detach ends that");
        return;
    }
    if (!is_fit(file)) {
        answer(connection, WS_ATTACH_REFUSED, "the trace is no plain file");
        return;
    }
    static char name[WS_ATTACH_TEXT]; /* static, because the session keeps a pointer to this text */
    memcpy(name, message->text, sizeof(name));
    struct session_wish wish = {
        .file = dup(file), .name = name, .duration_ns = message->duration_ns, .overhead = message->overhead
    };
    file_thread_start_beside();
    int error = session_begin(&wish);
    if (error == -ETIMEDOUT || error == -EBUSY)
        close(wish.file);
    if (error) {
        late.until = 0;
        answer(connection, WS_ATTACH_REFUSED,
               error == -ETIMEDOUT || error == -EINPROGRESS ? "the shim's thread does not answer" : strerror(-error));
        return;
    }
    owner = dup(connection);
    ending = false;
    answer(connection, WS_ATTACH_BEGUN, "");
}

static void end_session(void)
{
    ending = true;
    session_tell_end();
}

static void handle(int connection, const struct ws_attach_message *message, int file)
{
    enum session_end end;
    bool runs = session_runs(&end);
    switch ((enum ws_attach_kind)message->kind) {
    case WS_ATTACH_BEGIN:
        begin(connection, message, file);
        break;
    case WS_ATTACH_END:
        if (runs)
            end_session();
        answer(connection, runs ? WS_ATTACH_AWAKE : WS_ATTACH_ASLEEP, "");
        break;
    case WS_ATTACH_STATUS:
        answer(connection, runs ? WS_ATTACH_AWAKE : WS_ATTACH_ASLEEP, "");
        break;
    default:
        answer(connection, WS_ATTACH_REFUSED, "it does not know this request");
    }
}

static int receive(int connection)
{
    static struct ws_attach_message message;
    int file;
    int error = ws_attach_receive(connection, &message, &file);
    if (!error && connection != owner && !may_ask(connection, &message))
        answer(connection, WS_ATTACH_REFUSED, "only its own user and root may ask");
    else if (!error)
        handle(connection, &message, file);
    if (file >= 0)
        close(file);
    return error;
}

/* Receives one message from the connection, and answers it. If the message begins a session, keeps the connection as
 * `owner`. Waits at most STRANGER_US for a message of another user, so that such a user cannot hold up the other
 * connections. */
static void serve(int connection)
{
    const struct timeval patience = { .tv_sec = late.is || is_known_user(connection) ? PATIENCE_S : 0,
                                      .tv_usec = STRANGER_US };
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    receive(connection);
    close(connection);
}

static void late_over(void)
{
    if (late.is && late.over)
        late.over();
    late.over = NULL;
}

/* Looks at the connection that began the session. The other end of the connection is `wallshim attach`. If `wallshim
 * attach` asks for the session's end or has exited, this function tells the session to end. If the session has ended,
 * this function tells `wallshim attach` why. */
static void look_at_owner(short events)
{
    static const char *const reasons[] = { [SESSION_TOLD] = "recording ended as asked",
                                           [SESSION_DURATION] = "the time asked for is over",
                                           [SESSION_PROCESS_ENDS] = "the program ends" };
    enum session_end end = SESSION_TOLD;
    if (events && receive(owner))
        end_session();
    if (session_runs(&end))
        return;
    late_over();
    answer(owner, WS_ATTACH_ENDED, reasons[end]);
    close(owner);
    owner = -1;
    ending = false;
    late.until = 0;
}

static int open_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct statx about;
    if (statx(AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &about))
        about.stx_ino = 0;
    size_t length = ws_attach_name(address.sun_path, sizeof(address.sun_path), about.stx_ino, getpid());
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, CONNECTIONS))
        return listener;
    ws_debug("no control socket: %s", strerror(errno));
    close(listener);
    return -1;
}

static void serve_all(int listener)
{
    /* While a session is ending, no connection is accepted. */
    while (!late.is || owner >= 0 || ws_clock_ns() < late.until) {
        struct pollfd polled[] = { { .fd = ending ? -1 : listener, .events = POLLIN },
                                   { .fd = ending ? -1 : owner, .events = POLLIN } };
        int pause = ending ? LOOK_SOON_MS : owner >= 0 || late.is ? LOOK_MS : -1;
        if (poll(polled, 2, pause) < 0 && errno != EINTR)
            return;
        int connection = polled[0].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (owner >= 0)
            look_at_owner(polled[1].revents);
        if (connection >= 0)
            serve(connection);
    }
}

/* Gives the calling thread a descriptor table of its own (own_table.h), and opens the control socket in this table.
 * Returns the socket, or -1 on failure. */
static int begin_listening(void)
{
    thread_self.ours = true;
    prctl(PR_SET_NAME, "wallshim-control");
    return own_table_take() ? open_socket() : -1;
}

static void end_listening(int listener)
{
    serve_all(listener);
    /* late_over must run before close, because another `wallshim attach` may begin as soon as the socket is closed */
    late_over();
    close(listener);
    session_count_thread(-1);
}

static _Atomic uint32_t has_begun; /* a futex; 1: the control thread has opened the socket, or has failed to */
static const int64_t BEGIN_DEADLINE_NS = 100000000;

static void *control_main(void *unused)
{
    (void)unused;
    int listener = begin_listening();
    atomic_store(&has_begun, 1);
    futex_wake(&has_begun);
    if (listener >= 0)
        end_listening(listener);
    else
        session_count_thread(-1);
    return NULL;
}

void control_listen(void)
{
    session_count_thread(1);
    if (thread_start(control_main))
        session_count_thread(-1);
    else
        futex_wait(&has_begun, 0, BEGIN_DEADLINE_NS);
}

bool control_open_late(const uint64_t token[2], void (*over)(void))
{
    memcpy(late.token, token, sizeof(late.token));
    late.over = over;
    late.is = true;
    late.listener = begin_listening();
    return late.listener >= 0;
}

void control_close_late(void)
{
    close(late.listener);
}

void control_serve_late(void)
{
    late.until = ws_clock_ns() + LATE_NS;
    session_count_thread(1);
    end_listening(late.listener);
}
