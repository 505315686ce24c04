#include "shim/drain/own_table.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/drain/folder.h"

/* glibc before 2.34 does not declare this system call. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE */

static void close_one(int folder, const char *name, void *unused)
{
    (void)unused;
    int fd = *name >= '0' && *name <= '9' ? atoi(name) : folder;
    if (fd != folder)
        close(fd);
}

/* Closes all descriptors that are listed in /proc/…/fd. folder: the descriptor of that directory, which is closed
 * last. */
static void close_listed(int folder)
{
    folder_each(folder, close_one, NULL);
    close(folder);
}

bool own_table_take(void)
{
    char path[64];
    if (!syscall(SYS_close_range, 0, ~0U, UNSHARE))
        return true;
    /* close_range failed: Linux is older than 5.9, or a sandbox forbids the call. */
    snprintf(path, sizeof(path), "/proc/self/task/%ld/fd", (long)syscall(SYS_gettid));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
    if (folder < 0 || unshare(CLONE_FILES))
        return false;
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* from here on, only this thread's table changes */
    if (folder >= 0)
        close_listed(folder);
    return true;
}
