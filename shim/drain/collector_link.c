#include "shim/drain/collector_link.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/reserve.h"
#include "shim/drain/file_thread.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"
#include "wire/options.h"
#include "wire/process_stat.h"
#include "wire/sink.h"

enum {
    MS = 1000000,
    FULL_NS = 4 * MS,     /* how long link_write waits when the buffer is full */
    WELCOME_NS = 40 * MS, /* in link_start: how long to wait for the collector's answer */
    AGAIN_NS = 1000 * MS, /* pause between two attempts to connect */
    LAST_NS = 300 * MS,   /* at the end of the trace: longest wait for the collector to confirm further bytes */
};
/* If the collector has confirmed no byte of the trace this long after link_start, the trace goes to a file. */
static const int64_t HOPE_NS = INT64_C(2000000000);
static const int64_t LAST_AT_MOST_NS = INT64_C(1500000000);

/* --- the connection ----------------------------------------------------------------------------- */

/* Is link->fd still our socket? If the file thread has no descriptor table of its own, it shares the program's table,
 * and the program may have closed the descriptor and reused its number. */
static bool link_is_ours(const struct collector_link *link)
{
    uint64_t device, inode;
    return link->fd >= 0 && !ws_descriptor_identity(link->fd, &device, &inode) && device == link->device &&
           inode == link->inode;
}

static void drop_connection(struct collector_link *link)
{
    if (link_is_ours(link))
        close(link->fd);
    link->fd = -1;
    link->state = LINK_DOWN;
}

void link_say(struct collector_link *link, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(link->message, sizeof(link->message), format, arguments);
    va_end(arguments);
}

static void say_gone(struct collector_link *link, const char *why)
{
    if (!link->said && link->was_welcome)
        link_say(
            link,
            "the collector at %s is gone: %s; it is tried again every second, and what does not fit the buffer is "
            "counted as lost",
            link->path, why);
    link->said |= link->was_welcome;
}

static void lose_connection(struct collector_link *link, const char *why)
{
    drop_connection(link);
    link->tried = ws_clock_ns();
    say_gone(link, why);
}

/* May the process at the socket's other end get the trace? A trace contains command lines and names, so the collector
 * must run as this user or as root. */
static bool may_know(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == geteuid() || peer.uid == 0);
}

/* Makes the live memory (state/live.h), unless it exists. The collector gets this memory's descriptor with the
 * message HELLO, and completes the trace from this memory if this process is killed. */
static void make_live(struct collector_link *link)
{
    int fd = link->live_fd < 0 && shim_options.salvage && file_thread_has_table() ? live_create(NULL) : -1;
    if (fd >= 0)
        link->live_fd = fd;
}

static bool send_hello(int fd, uint8_t bytes[WS_CHANNEL_HELLO_SIZE], int live_fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) } };
    struct iovec part = { bytes, WS_CHANNEL_HELLO_SIZE };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (live_fd >= 0) {
        memcpy(CMSG_DATA(&control.head), &live_fd, sizeof(live_fd));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == WS_CHANNEL_HELLO_SIZE;
}

/* Connects and sends HELLO, without waiting: the kernel makes or refuses a connection to a Unix socket at once. */
static int link_connect(struct collector_link *link)
{
    uint8_t hello[WS_CHANNEL_HELLO_SIZE];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, link->path, sizeof(link->path));
    link->tried = ws_clock_ns();
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    fd = ws_descriptor_move_high(fd);
    int error = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : may_know(fd) ? 0 : -EPERM;
    ws_channel_write_hello(hello, &link->hello);
    if (!error)
        make_live(link);
    if (!error && !send_hello(fd, hello, link->live_fd))
        error = -errno;
    if (!error)
        error = ws_descriptor_identity(fd, &link->device, &link->inode);
    if (error) {
        close(fd);
        return error;
    }
    link->fd = fd;
    link->state = LINK_CONNECTED;
    return 0;
}

/* --- answers ------------------------------------------------------------------------------------ */

/* Would the collector refuse this trace again? Temporary reasons are not final: too many clients or jobs, too little
 * memory, or a part of the trace that reached the collector too late. */
static bool is_final(uint64_t reason)
{
    return reason != WS_CHANNEL_NO_REASON && reason != WS_CHANNEL_REASON_CLIENTS &&
           reason != WS_CHANNEL_REASON_MEMORY && reason != WS_CHANNEL_REASON_JOBS && reason != WS_CHANNEL_REASON_SLOW;
}

static void take_refusal(struct collector_link *link, uint64_t reason)
{
    link->refused = true;
    link->reason = reason;
    link->final = is_final(reason);
    if (link->final && link->begin) {
        link_say(link, "the collector at %s takes no more of this trace: %s; the rest is left out", link->path,
                 ws_channel_reason_text(reason));
        link->said = true;
    }
    lose_connection(link, ws_channel_reason_text(reason));
}

/* Keeps a request of `wallshim ctl` in *wishes until the drain (the thread that writes the trace) carries it out. A
 * later request replaces an earlier request of the same kind. */
static void take_wish(struct link_wishes *wishes, const struct ws_channel_message *message)
{
    if (message->number == WS_CHANNEL_START || message->number == WS_CHANNEL_STOP) {
        wishes->start = message->number == WS_CHANNEL_START;
        wishes->stop = !wishes->start;
    } else if ((message->number & UINT32_MAX) == WS_CHANNEL_FLUSH) {
        wishes->flush = true;
        wishes->flush_number = (uint32_t)(message->number >> 32);
    } else if (message->number == WS_CHANNEL_BURST) {
        wishes->burst = true;
        memcpy(wishes->burst_text, message->bytes, message->size);
        wishes->burst_text[message->size] = 0;
    }
}

static void take_answer(struct collector_link *link, const struct ws_channel_message *answer)
{
    bool welcome = answer->kind == WS_CHANNEL_WELCOME && link->state == LINK_CONNECTED;
    bool taken = answer->kind == WS_CHANNEL_TAKEN && link->state == LINK_WELCOME;
    if (answer->kind == WS_CHANNEL_CONTROL) {
        take_wish(&link->wishes, answer);
    } else if (answer->kind == WS_CHANNEL_REFUSED) {
        take_refusal(link, answer->number);
    } else if (answer->kind == WS_CHANNEL_TAKEN && !taken) {
        lose_connection(link, "it answers in another protocol");
    } else if ((welcome || taken) && (answer->number < link->begin || answer->number > link->end)) {
        lose_connection(link, "it lacks the beginning of this trace");
    } else if (welcome || taken) {
        if (taken && link->said && answer->number > link->begin) {
            link_say(link, "the collector at %s is back", link->path);
            link->said = false;
        }
        link->stalled = link->stalled && answer->number == link->begin;
        link->begin = answer->number;
        if (link->kept_part)
            live_keeps_until(link->begin, link->end);
        if (welcome) {
            link->sent = link->begin;
            link->told = false;
            link->state = LINK_WELCOME;
            link->was_welcome = true;
        }
    }
}

static void read_answers(struct collector_link *link)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE + WS_CHANNEL_TEXT_MAX + 1];
    struct ws_channel_message answer;
    bool reset = false;
    while (link->state != LINK_DOWN) {
        ssize_t size = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0 && errno == ECONNRESET && !reset)
            /* the collector has closed the connection before it read all messages; its answers can still be read */
            reset = true;
        else if (size <= 0)
            lose_connection(link, size ? strerror(errno) : "it has ended the connection");
        else if (ws_channel_read(bytes, (size_t)size, &answer))
            lose_connection(link, "it answers in another protocol");
        else
            take_answer(link, &answer);
    }
}

/* --- sending ------------------------------------------------------------------------------------ */

/* Sends one message with bytes of the trace. Returns whether the socket may have room for another message. */
static bool send_one(struct collector_link *link)
{
    uint8_t start[WS_CHANNEL_START_SIZE];
    size_t at = link->sent % link->capacity;
    size_t size = ws_min(link->end - link->sent, (uint64_t)WS_CHANNEL_DATA_MAX);
    size = ws_min(size, link->capacity - at);
    struct iovec parts[] = { { start, sizeof(start) }, { link->kept + at, size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ws_channel_write(start, WS_CHANNEL_DATA, link->sent, size);
    ssize_t sent = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        link->sent += size;
        return true;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
        const char *why = strerror(errno);
        read_answers(link); /* the collector's last answer may say why it closed the connection */
        if (link->state != LINK_DOWN)
            lose_connection(link, why);
    }
    return false;
}

static void tell_state(struct collector_link *link)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    if (link->state != LINK_WELCOME || (link->told && link->told_recording == link->recording))
        return;
    ws_channel_write(bytes, WS_CHANNEL_STATE, link->recording, 0);
    link->told = send(link->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(bytes);
    link->told_recording = link->recording;
}

/* Sends the progress report, if the bytes of the trace that precede the report are sent. If the socket has no room
 * now, the next call of link_keep tries again. */
static void send_progress(struct collector_link *link)
{
    uint8_t start[WS_CHANNEL_START_SIZE];
    struct iovec parts[] = { { start, sizeof(start) }, { (void *)(uintptr_t)link->progress, link->progress_size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    if (!link->progress || link->state != LINK_WELCOME || link->sent < link->progress_at)
        return;
    ws_channel_write(start, WS_CHANNEL_PROGRESS, link->progress_number, link->progress_size);
    if (sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        link->progress = NULL;
}

void link_tell_progress(struct collector_link *link, uint32_t number, const uint8_t *bytes, size_t size)
{
    link->progress = bytes;
    link->progress_size = size;
    link->progress_number = number;
    link->progress_at = link->end;
    link_keep(link);
}

void link_keep(struct collector_link *link)
{
    if (link->state == LINK_UNUSED)
        return;
    if (link->state != LINK_DOWN && !link_is_ours(link))
        lose_connection(link, "its descriptor was closed");
    if (link->state == LINK_DOWN && !link->final && ws_clock_ns() - link->tried >= AGAIN_NS)
        link_connect(link);
    read_answers(link);
    tell_state(link);
    while (link->state == LINK_WELCOME && link->sent < link->end && send_one(link))
        ;
    send_progress(link);
}

/* Waits until the socket can be read or written, but not beyond the deadline, and calls link_keep. Returns whether
 * the socket was ready. */
static bool keep_until(struct collector_link *link, int64_t deadline)
{
    int64_t left = deadline - ws_clock_ns();
    struct pollfd wait = { .fd = link->fd, .events = POLLIN };
    if (link->state == LINK_DOWN || left <= 0)
        return false;
    if (link->state == LINK_WELCOME && link->sent < link->end)
        wait.events |= POLLOUT;
    bool happened = poll(&wait, 1, (int)(left / MS) + 1) > 0;
    link_keep(link);
    return happened;
}

/* --- for the trace ------------------------------------------------------------------------------ */

/* Returns the job's name, from an environment variable that the program's launcher sets: Slurm, torchrun or
 * `wallshim record`. */
static const char *job_name(void)
{
    static const char *const variables[] = { "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", WS_RECORDING };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = secure_getenv(variables[i]);
        if (value && *value)
            return value;
    }
    return "";
}

int link_init(struct collector_link *link, const char *where, size_t capacity)
{
    char folder[sizeof(link->path)] = "";
    const char *path = ws_channel_path(where), *job = job_name();
    *link = (struct collector_link){ .fd = -1, .live_fd = -1, .capacity = capacity };
    if (!*path)
        return 0;
    /* Makes a relative path absolute: the program may change its directory before the file thread connects. */
    if (*path != '/' && !getcwd(folder, sizeof(folder)))
        return -ENAMETOOLONG;
    int length = snprintf(link->path, sizeof(link->path), "%s%s%s", folder, *folder ? "/" : "", path);
    /* If one `wallshim record` runs inside another, `job` has the names of both, with a slash between them. The first
     * name, that of the outer `wallshim record`, becomes the job's name. */
    snprintf(link->hello.job, sizeof(link->hello.job), "%.*s", (int)strcspn(job, "/"), job);
    return length < (int)sizeof(link->path) ? 0 : -ENAMETOOLONG;
}

static void make_hello(struct ws_channel_hello *hello, const char *rank, const char *file)
{
    struct utsname host;
    const char *slash = strrchr(file, '/');
    hello->pid = (uint32_t)getpid();
    if (getrandom(&hello->stream, sizeof(hello->stream), GRND_NONBLOCK) != sizeof(hello->stream))
        hello->stream = (uint64_t)ws_clock_ns();
    hello->start_time = ws_process_start_time("/proc/self/stat");
    ws_boot_id(hello->boot_id);
    snprintf(hello->rank, sizeof(hello->rank), "%s", rank);
    snprintf(hello->host, sizeof(hello->host), "%s", uname(&host) ? "" : host.nodename);
    snprintf(hello->file, sizeof(hello->file), "%s", slash ? slash + 1 : file);
}

int link_start(struct collector_link *link, const char *rank, const char *file)
{
    make_hello(&link->hello, rank, file);
    int error = link_connect(link);
    if (error)
        return error;
    link->kept = live_take(link->capacity, &link->kept_part);
    if (link->kept_part)
        live_keeps(link->kept, link->capacity);
    else
        link->kept = ws_reserve(link->capacity);
    if (!link->kept) {
        drop_connection(link);
        link->state = LINK_UNUSED;
        return -ENOMEM;
    }
    link->started = ws_clock_ns();
    while (link->state == LINK_CONNECTED && keep_until(link, link->started + WELCOME_NS))
        ;
    if (link->state != LINK_DOWN)
        return 0;
    link_end(link);
    return -ECONNREFUSED;
}

static void keep_bytes(struct collector_link *link, const uint8_t *bytes, size_t size)
{
    size_t at = link->end % link->capacity, first = ws_min(size, link->capacity - at);
    memcpy(link->kept + at, bytes, first);
    memcpy(link->kept, bytes + first, size - first);
    link->end += size;
    if (link->kept_part)
        live_keeps_until(link->begin, link->end);
}

static bool link_has_room(const struct collector_link *link, size_t size)
{
    return size <= link->capacity - (link->end - link->begin);
}

int link_write(struct collector_link *link, const void *bytes, size_t size)
{
    link_keep(link);
    if (link->final && link->begin)
        return -ECONNABORTED;
    if (size <= link->capacity && !link_has_room(link, size) && !link->stalled) {
        int64_t deadline = ws_clock_ns() + FULL_NS;
        while (!link_has_room(link, size) && keep_until(link, deadline))
            ;
        /* If the buffer is still full after the wait, later calls return at once, as long as the collector confirms
         * no further bytes. */
        link->stalled = !link_has_room(link, size);
    }
    if (!link_has_room(link, size))
        return -ENOBUFS;
    keep_bytes(link, bytes, size);
    link_keep(link);
    return 0;
}

bool link_is_hopeless(const struct collector_link *link, bool last)
{
    if (link->state == LINK_UNUSED || link->begin)
        return false;
    return last || link->refused || link->state == LINK_DOWN || ws_clock_ns() - link->started > HOPE_NS;
}

int link_finish(struct collector_link *link)
{
    int64_t now = ws_clock_ns(), last = now + LAST_AT_MOST_NS;
    link_keep(link);
    if (!link->stalled)
        while (link->begin < link->end && keep_until(link, ws_min(last, ws_clock_ns() + LAST_NS)))
            ;
    if (link->begin < link->end) {
        if (link->begin && link->final)
            link_say(link, "the collector at %s takes no more of this trace: %s; it lacks the last %llu bytes",
                     link->path, ws_channel_reason_text(link->reason), (unsigned long long)(link->end - link->begin));
        else if (link->begin)
            link_say(link, "the collector at %s has not taken the last %llu bytes of this trace; they are lost%s",
                     link->path, (unsigned long long)(link->end - link->begin),
                     link->kept_part && link->live_fd >= 0 ? ", unless it still runs" : "");
        return -ECONNABORTED;
    }
    uint8_t goodbye[WS_CHANNEL_START_SIZE];
    ws_channel_write(goodbye, WS_CHANNEL_GOODBYE, link->end, 0);
    if (link->state == LINK_WELCOME && link_is_ours(link))
        send(link->fd, goodbye, sizeof(goodbye), MSG_NOSIGNAL | MSG_DONTWAIT);
    return 0;
}

void link_end(struct collector_link *link)
{
    drop_connection(link);
    if (link->kept_part)
        live_give(link->kept_part, link->kept, 0);
    else if (link->kept)
        munmap(link->kept, link->capacity);
    link->kept = NULL;
    link->kept_part = 0;
    if (link->live_fd >= 0)
        close(link->live_fd);
    link->live_fd = -1;
    link->state = LINK_UNUSED;
}
