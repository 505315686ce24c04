#include "shim/state/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[256];
static char arguments[16384];
static size_t arguments_size;
static char injection[1024];

static void keep_name(const char *from)
{
    const char *slash = strrchr(from, '/');
    const char *last = slash && slash[1] ? slash + 1 : from;
    strncpy(name, *last ? last : "program", sizeof(name) - 1);
}

static void keep_injection(void)
{
    const char *path = secure_getenv("NVTX_INJECTION64_PATH"), *slash = path ? strrchr(path, '/') : NULL;
    if (path && strcmp(slash ? slash + 1 : path, "libwallshim.so"))
        strncpy(injection, path, sizeof(injection) - 1);
}

/* Keeps the program's name and arguments: glibc passes main's arguments to constructors. Priority 101 makes this
 * constructor run before the one in shim.c. */
__attribute__((constructor(101))) static void keep_arguments(int count, char **words, char **environment)
{
    (void)environment;
    if (arguments_size || count < 1 || !words || !words[0])
        return;
    for (int i = 0; i < count && words[i]; i++) {
        size_t length = strlen(words[i]) + 1;
        if (length > sizeof(arguments) - arguments_size)
            /* an argument that does not fit is left out, not cut off: drain/secrets.c might not recognize and hide a
             * password that is cut off */
            break;
        memcpy(arguments + arguments_size, words[i], length);
        arguments_size += length;
    }
    keep_name(words[0]);
    keep_injection();
}

/* Asks the system for the program's name and arguments. Needed if the program calls CUDA before keep_arguments has
 * run. */
static void look_now(void)
{
    if (!*name)
        keep_name(program_invocation_short_name);
    int file = arguments_size ? -1 : open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, arguments, sizeof(arguments));
    close(file);
    while (length > 0 && arguments[length - 1])
        length--;
    arguments_size = length > 0 ? (size_t)length : 0;
}

const char *program_name(void)
{
    if (!*name)
        look_now();
    return name;
}

const char *program_arguments(size_t *size)
{
    if (!arguments_size)
        look_now();
    *size = arguments_size;
    return arguments;
}

const char *program_other_injection(void)
{
    return injection;
}
