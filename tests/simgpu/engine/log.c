#include "engine/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void sim_log(const char *format, ...)
{
    int saved_errno = errno;
    char line[512] = "simgpu: ";
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + 8, sizeof(line) - 9, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        size_t end = 8 + ((size_t)length < sizeof(line) - 9 ? (size_t)length : sizeof(line) - 10);
        line[end++] = '\n';
        ssize_t ignored = write(STDERR_FILENO, line, end);
        (void)ignored;
    }
    errno = saved_errno;
}
