#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"

static enum ws_log_level current_level = WS_LOG_WARN;

void ws_log_set_level(enum ws_log_level level)
{
    current_level = level;
}

/* --- the file behind stderr -------------------------------------------------------------------- */

struct identity {
    uint64_t device, special_device, inode;
    uint32_t type; /* file type bits of st_mode; 0: stderr is closed, or its file cannot be examined */
};

static struct identity at_start;
static atomic_bool started;

/* Makes the system call itself, because glibc before version 2.33 exports fstat only under another name. statx would
 * fail in sandboxes that forbid it, as older versions of Docker do. */
static struct identity of_stderr(void)
{
    struct stat facts;
    if (syscall(SYS_fstat, STDERR_FILENO, &facts))
        return (struct identity){ 0 };
    return (struct identity){
        .device = facts.st_dev, .special_device = facts.st_rdev, .inode = facts.st_ino, .type = facts.st_mode & S_IFMT
    };
}

static bool is_the_same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->special_device == b->special_device && a->inode == b->inode &&
           a->type == b->type;
}

void ws_log_start(void)
{
    int saved_errno = errno;
    at_start = of_stderr();
    atomic_store(&started, true);
    errno = saved_errno;
}

/* --- writing without waiting ------------------------------------------------------------------- */

/* Signals that a write may raise: SIGPIPE for a pipe without a reader, SIGXFSZ at the file size limit, SIGTTOU on a
 * terminal that another job uses. */
static const int raised[] = { SIGPIPE, SIGXFSZ, SIGTTOU };
enum { RAISED = sizeof(raised) / sizeof(raised[0]) };

static bool has_room(void)
{
    struct pollfd file = { .fd = STDERR_FILENO, .events = POLLOUT };
    return poll(&file, 1, 0) == 1 && file.revents == POLLOUT;
}

/* poll() reports room in a pipe only if a page fits. A message is shorter than a page, so the message then fits.
 * Another thread may still fill the pipe before this write, so the write has the flag RWF_NOWAIT, with which it does
 * not wait. If the kernel does not support RWF_NOWAIT for pipes, a plain write is used. */
static ssize_t write_pipe(const char *line, size_t length)
{
#ifdef RWF_NOWAIT
    struct iovec part = { (void *)line, length };
    ssize_t written = pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
        return written;
#endif
    return write(STDERR_FILENO, line, length);
}

static void write_line(const char *line, size_t length)
{
    struct identity now = of_stderr();
    ssize_t ignored; /* not checked: there is no other place to report that a message could not be written */
    if (!now.type || !is_the_same(&now, &at_start))
        return;
    if (now.type == S_IFSOCK)
        ignored = send(STDERR_FILENO, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (!has_room())
        return;
    else if (now.type == S_IFIFO)
        ignored = write_pipe(line, length);
    else
        ignored = write(STDERR_FILENO, line, length);
    (void)ignored;
}

/* Blocks, in this thread, the signals that the write may raise. After the write it discards the signals that the
 * write made pending. */
static void write_without_signals(const char *line, size_t length)
{
    static const struct timespec at_once = { 0 };
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    for (int i = 0; i < RAISED; i++)
        sigaddset(&ours, raised[i]);
    if (sigprocmask(SIG_BLOCK, &ours, &before))
        return;
    sigpending(&pending);
    write_line(line, length);
    for (int i = 0; i < RAISED; i++)
        if (sigismember(&pending, raised[i]))
            sigdelset(&ours, raised[i]);
    sigpending(&pending);
    for (int i = 0; i < RAISED; i++)
        if (sigismember(&ours, raised[i]) && sigismember(&pending, raised[i]))
            sigtimedwait(&ours, NULL, &at_once);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void ws_log(enum ws_log_level level, const char *format, ...)
{
    if (level > current_level)
        return;
    static const char prefix[] = "wallshim: ";
    int saved_errno = errno, cancel_state;
    char line[512];
    size_t start = sizeof(prefix) - 1;
    memcpy(line, prefix, start);
    va_list arguments;
    va_start(arguments, format);
    /* A false positive: the analyzer overlooks the va_start above if it has checked another file before.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    int written = vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
    va_end(arguments);
    if (!atomic_load(&started))
        ws_log_start();
    if (written >= 0) {
        ws_make_printable(line);
        size_t length = strlen(line);
        line[length++] = '\n';
        /* Writing is a cancellation point: the program's thread must not be cancelled while wallshim writes a
         * message. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        write_without_signals(line, length);
        pthread_setcancelstate(cancel_state, NULL);
    }
    errno = saved_errno;
}
