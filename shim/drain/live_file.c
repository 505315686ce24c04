#include "shim/drain/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/drain/folder.h"
#include "shim/state/live.h"

#define FOLDER "/dev/shm"

enum {
    /* Largest number of files of killed programs that may lie in the folder. If there are more, the files whose
     * traces were deleted are removed. If there are still too many files, no new file is made. */
    DEAD_MOST = 8,
    DEAD_SECONDS = 24 * 3600 /* age, in seconds, at which files of killed programs are removed */
};

/* Is this file the live memory of a program that has ended? A program holds a lock on its file while it lives. Uses
 * statx, because the symbols of stat differ between versions of glibc. */
static bool is_dead(int folder, const char *name, struct statx *about)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool dead = fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_MTIME, about) &&
                about->stx_uid == geteuid() && !flock(fd, LOCK_SH | LOCK_NB);
    if (fd >= 0)
        close(fd);
    return dead;
}

/* Returns the number of this process's mount namespace; 0: not known. */
static uint64_t mounts(void)
{
    struct statx about;
    return statx(AT_FDCWD, "/proc/self/ns/mnt", 0, STATX_INO, &about) ? 0 : about.stx_ino;
}

/* Was the symbolic link to this file removed, together with the trace? Returns false if the link belongs to another
 * mount namespace, because this process cannot see the link. */
static bool is_orphan(int folder, const char *name)
{
    char link[WS_LIVE_PATH] = "", target[64];
    uint64_t of_link = 0;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool read = fd >= 0 && pread(fd, link, sizeof(link) - 1, offsetof(struct ws_live, link)) > 0 && *link == '/' &&
                pread(fd, &of_link, sizeof(of_link), offsetof(struct ws_live, mounts)) == sizeof(of_link);
    if (fd >= 0)
        close(fd);
    if (!read || !of_link || of_link != mounts())
        return false;
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length < 0)
        return errno == ENOENT || errno == ENOTDIR;
    target[length] = 0;
    return strncmp(target, FOLDER "/", strlen(FOLDER "/")) != 0 || strcmp(target + strlen(FOLDER "/"), name) != 0;
}

struct dead {
    const char *prefix;
    bool with_orphans; /* files of killed programs whose traces were deleted are to be removed, too */
    unsigned count;
};

/* If a killed program has left the file: removes the file if it is old, or if its trace was deleted and with_orphans
 * is set; else counts the file. */
static void count_one(int folder, const char *name, void *data)
{
    struct dead *dead = data;
    struct statx about;
    if (strncmp(name, dead->prefix, strlen(dead->prefix)) != 0 || !is_dead(folder, name, &about))
        return;
    if (time(NULL) - about.stx_mtime.tv_sec > DEAD_SECONDS || (dead->with_orphans && is_orphan(folder, name)))
        unlinkat(folder, name, 0);
    else
        dead->count++;
}

static unsigned count_dead(const char *prefix, bool with_orphans)
{
    struct dead dead = { .prefix = prefix, .with_orphans = with_orphans };
    int folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0;
    folder_each(folder, count_one, &dead);
    close(folder);
    return dead.count;
}

/* Makes the symbolic link to the live memory. A link that was left by a deleted trace of the same name is replaced.
 * Returns false if another file has the link's name, or if the program of the old link still runs. */
static bool make_link(const struct live_file *file)
{
    char target[sizeof(file->path)];
    struct statx about;
    if (!symlink(file->path, file->link))
        return true;
    ssize_t length = errno == EEXIST ? readlink(file->link, target, sizeof(target) - 1) : -1;
    target[length > 0 ? length : 0] = 0;
    if (strncmp(target, FOLDER "/wallshim-", strlen(FOLDER "/wallshim-")) != 0)
        return false;
    if (is_dead(AT_FDCWD, target, &about))
        unlink(target);
    else if (!access(target, F_OK))
        return false;
    return !unlink(file->link) && !symlink(file->path, file->link);
}

void live_file_begin(struct live_file *file, const char *trace)
{
    char prefix[32];
    uint32_t random;
    file->fd = -1;
    snprintf(prefix, sizeof(prefix), "wallshim-%u-", (unsigned)geteuid());
    if (count_dead(prefix, false) > DEAD_MOST && count_dead(prefix, true) > DEAD_MOST)
        return;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        random = (uint32_t)ws_clock_ns();
    snprintf(file->path, sizeof(file->path), FOLDER "/%s%d-%08x", prefix, (int)getpid(), random);
    snprintf(file->link, sizeof(file->link), "%s.live", trace);
    if (!make_link(file))
        return;
    file->fd = live_create(file->path);
    if (file->fd < 0)
        unlink(file->link);
    else
        live_is_linked(file->link, mounts());
}

void live_file_end(struct live_file *file)
{
    if (file->fd < 0)
        return;
    unlink(file->link);
    unlink(file->path);
    close(file->fd);
    file->fd = -1;
}
