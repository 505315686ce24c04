#include "shim/drain/live_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
    DEAD_MOST = 8,           /* memory of killed programs that nobody has fetched; with more, none is made */
    DEAD_SECONDS = 24 * 3600 /* such memory is removed when it is older */
};

/* Is this the memory of a program that has ended? The program holds the lock while it lives. Uses statx, because the
 * symbols of stat differ between versions of glibc. */
static bool is_dead(int folder, const char *name, struct statx *about)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool dead = fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_MTIME, about) &&
                about->stx_uid == geteuid() && !flock(fd, LOCK_SH | LOCK_NB);
    if (fd >= 0)
        close(fd);
    return dead;
}

struct dead {
    const char *prefix;
    unsigned count;
};

/* Counts the memory of a killed program. Removes it if it is old. */
static void count_one(int folder, const char *name, void *data)
{
    struct dead *dead = data;
    struct statx about;
    if (strncmp(name, dead->prefix, strlen(dead->prefix)) != 0 || !is_dead(folder, name, &about))
        return;
    if (time(NULL) - about.stx_mtime.tv_sec <= DEAD_SECONDS)
        dead->count++;
    else
        unlinkat(folder, name, 0);
}

static unsigned count_dead(const char *prefix)
{
    struct dead dead = { .prefix = prefix };
    int folder = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0;
    folder_each(folder, count_one, &dead);
    close(folder);
    return dead.count;
}

/* The trace's file is new. So a link of its name is of an older trace that is gone. */
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
    if (count_dead(prefix) > DEAD_MOST)
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
