#include "killed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "trace/salvage.h"

static const char prefix[] = "/dev/shm/wallshim-";

/* Reads the path that the link points to. Returns false if there is no link, or if the path does not begin with
 * `prefix` or has a slash after it. */
static bool find_memory(const char *link, char *memory, size_t capacity)
{
    ssize_t length = readlink(link, memory, capacity - 1);
    memory[length > 0 ? length : 0] = 0;
    return length > 0 && !strncmp(memory, prefix, strlen(prefix)) && !strchr(memory + strlen(prefix), '/');
}

/* Do the file of live memory `fd` and the trace at `path` belong to this user? Also returns false if another command
 * has completed the trace meanwhile, and so has removed the file of live memory. */
static bool is_own(int fd, const char *path)
{
    struct stat memory, trace;
    return !fstat(fd, &memory) && !stat(path, &trace) && S_ISREG(memory.st_mode) && memory.st_nlink &&
           memory.st_uid == geteuid() && trace.st_uid == geteuid();
}

static void complete(int fd, const char *path, const char *link, const char *memory)
{
    struct ws_salvaged salvaged = { 0 };
    bool due = ws_salvage_is_due(fd);
    int status = due ? ws_salvage(fd, path, &salvaged) : 0;
    if (status && status != -ENOMSG) {
        tool_say("%s: its program was killed, and its last records in %s cannot be added: %s", path, memory,
                 status == -EPROTO    ? "they are of another version of wallshim"
                 : status == -EBADMSG ? "they are damaged"
                 : status == -ESTALE  ? "they are of another trace that had this name"
                                      : strerror(-status));
        return;
    }
    unlink(link);
    unlink(memory);
    if (status)
        tool_say("%s: its program ended before it had begun the trace", path);
    else if (due)
        tool_say("%s: its program %s; added %llu rows that were not in the trace yet", path,
                 salvaged.left ? "ended without exit" : "was killed", (unsigned long long)salvaged.rows);
}

void tool_complete_killed(const char *path)
{
    char link[4096], memory[256];
    if (snprintf(link, sizeof(link), "%s.live", path) >= (int)sizeof(link) ||
        !find_memory(link, memory, sizeof(memory)))
        return;
    int fd = open(memory, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return; /* the live memory is on another machine, or was lost at a restart */
    }
    /* The program holds a lock on its live memory while it runs. If this process gets the lock, the program has
     * ended. */
    if (!flock(fd, LOCK_EX | LOCK_NB) && is_own(fd, path))
        complete(fd, path, link, memory);
    close(fd);
}
