#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static enum ws_log_level current_level = WS_LOG_WARN;

void ws_log_set_level(enum ws_log_level level)
{
    current_level = level;
}

enum ws_log_level ws_log_get_level(void)
{
    return current_level;
}

void ws_log(enum ws_log_level level, const char *format, ...)
{
    if (level > current_level)
        return;
    static const char prefix[] = "wallshim: ";
    int saved_errno = errno;
    char line[512];
    size_t start = sizeof(prefix) - 1;
    for (size_t i = 0; i < start; i++)
        line[i] = prefix[i];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
    va_end(arguments);
    if (written >= 0) {
        size_t room = sizeof(line) - start - 2;
        size_t length = start + ((size_t)written < room ? (size_t)written : room);
        line[length++] = '\n';
        /* Nobody to tell if this fails. */
        ssize_t ignored = write(STDERR_FILENO, line, length);
        (void)ignored;
    }
    errno = saved_errno;
}
