#include "collector/dump_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"

/* Checks a folder's name that comes from a manifest, because somebody may have changed the manifest. */
static bool is_name_of_dump(const char *folder)
{
    return !strncmp(folder, "dump-", strlen("dump-")) && name_is_safe(folder);
}

static bool is_file_of_dump(const char *name)
{
    size_t length = strlen(name), end = strlen(".wst");
    return !strcmp(name, "manifest.json") || !strcmp(name, "hang.txt") ||
           (*name != '.' && length > end && !strcmp(name + length - end, ".wst"));
}

/* Calls `each` for every file of the dump; `at` is a descriptor of the dump's folder. Returns 0 or -errno. */
static int each_file(const struct job *job, const char *folder, void (*each)(void *data, int at, const char *name),
                     void *data)
{
    int at =
        is_name_of_dump(folder) ? openat(job->folder, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    DIR *files = at < 0 ? NULL : fdopendir(at);
    if (!files) {
        if (at >= 0)
            close(at);
        return -ENOENT;
    }
    for (struct dirent *entry; (entry = readdir(files));)
        if (is_file_of_dump(entry->d_name))
            each(data, at, entry->d_name);
    closedir(files);
    return 0;
}

/* Could dump.c have made this name, such as dump-20261124T051200Z-hang? Each 0 in `pattern` stands for a digit. */
static bool is_named_by_us(const char *folder)
{
    static const char pattern[] = "dump-00000000T000000Z-";
    for (size_t i = 0; pattern[i]; i++)
        if (pattern[i] == '0' ? folder[i] < '0' || folder[i] > '9' : folder[i] != pattern[i])
            return false;
    return true;
}

static bool is_in_manifest(const struct job *job, const char *folder)
{
    for (unsigned i = 0; i < job->event_count; i++)
        if (!strcmp(job->events[i].folder, folder))
            return true;
    return false;
}

void dumps_each(const struct job *job, void (*each)(void *data, const struct job *job, const char *folder),
                void *data)
{
    int at = openat(job->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = at < 0 ? NULL : fdopendir(at);
    if (!entries) {
        if (at >= 0)
            close(at);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));)
        if (is_named_by_us(entry->d_name) || is_in_manifest(job, entry->d_name))
            each(data, job, entry->d_name);
    closedir(entries);
}

struct size {
    uint64_t bytes;
    int64_t written;
};

static void add_size(void *data, int at, const char *name)
{
    struct size *size = data;
    struct stat about;
    if (fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW))
        return;
    size->bytes += (uint64_t)about.st_size;
    size->written = ws_max(size->written, (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec);
}

int dump_size(const struct job *job, const char *folder, uint64_t *bytes, int64_t *written)
{
    struct size size = { 0 };
    int status = each_file(job, folder, add_size, &size);
    *bytes = size.bytes;
    *written = size.written;
    return status;
}

static void remove_file(void *data, int at, const char *name)
{
    int *status = data;
    if (unlinkat(at, name, 0))
        *status = -errno;
}

int dump_remove(struct job *job, const char *folder, uint64_t bytes)
{
    int failed = 0, status = each_file(job, folder, remove_file, &failed);
    status = status ? status : failed;
    if (status)
        return status;
    unlinkat(job->folder, folder, AT_REMOVEDIR);
    for (unsigned i = 0; i < job->event_count; i++)
        if (!strcmp(job->events[i].folder, folder))
            *job->events[i].folder = 0;
    job->removed_dumps++;
    job->removed_bytes += bytes;
    job->changed = true;
    return 0;
}
