/* Preloaded before the shim: makes functions of the C library fail when the shim calls them. The environment variable
 * FAULTS lists what fails:
 *
 *   FAULTS=mmap,pthread_create,open,proc,write,malloc
 *
 * "proc" stands for opening a file of /proc, "write" also for pwrite and writev, "malloc" also for calloc and
 * realloc. Only calls from libwallshim.so fail, so that the program itself behaves the same with and without the
 * shim. */
/* If this macro is defined, `open` is another name of open64, but this file defines both. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool asked_for(const char *fault)
{
    const char *faults = getenv("FAULTS");
    size_t length = strlen(fault);
    for (const char *at = faults; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, fault, length) && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

static bool from_shim(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libwallshim.so");
}

#define FAILS(fault) (asked_for(fault) && from_shim(__builtin_return_address(0)))

/* Calls that are not to fail become system calls, so that the real mmap, open and write need not be looked up. */
void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    if (FAILS("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

static int open_from(const char *path, int flags, unsigned mode, const void *caller)
{
    bool fails = asked_for("open") || (asked_for("proc") && !strncmp(path, "/proc", 5));
    if (fails && from_shim(caller)) {
        errno = asked_for("open") ? EACCES : ENOENT;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return open_from(path, flags, mode, __builtin_return_address(0));
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

ssize_t write(int file, const void *bytes, size_t count)
{
    if (file > STDERR_FILENO && FAILS("write")) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
    if (FAILS("write")) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) __attribute__((alias("pwrite")));

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (FAILS("write")) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_writev, file, parts, count);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (FAILS("pthread_create"))
        return EAGAIN;
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlvsym(
            RTLD_NEXT, "pthread_create", "GLIBC_2.2.5");
    return real(thread, attributes, function, argument);
}

void *malloc(size_t bytes)
{
    extern void *__libc_malloc(size_t);
    if (FAILS("malloc")) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    extern void *__libc_calloc(size_t, size_t);
    if (FAILS("malloc")) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    extern void *__libc_realloc(void *, size_t);
    if (FAILS("malloc")) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, bytes);
}
