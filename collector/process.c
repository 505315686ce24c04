#include "collector/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wire/process_stat.h"

uint64_t process_start_time(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return ws_process_start_time(path);
}

/* Reads the first line of the file `name` in the thread's folder of /proc. */
static bool read_line(pid_t pid, const char *thread, const char *name, char line[128])
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/%s", (int)pid, thread, name);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, 128, file);
    if (file)
        fclose(file);
    return read;
}

/* Time in which a thread is ready but waits for a CPU counts too. Without it, a process that computes on a busy
 * machine would seem idle. */
uint64_t process_host_ns(pid_t pid)
{
    char path[32], line[128];
    uint64_t sum = 0, ran, waited;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    for (struct dirent *thread; threads && (thread = readdir(threads));) {
        if (*thread->d_name == '.' || !read_line(pid, thread->d_name, "comm", line) ||
            !strncmp(line, "wallshim", strlen("wallshim")))
            continue;
        if (read_line(pid, thread->d_name, "schedstat", line) &&
            sscanf(line, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2)
            sum += ran + waited;
    }
    if (threads)
        closedir(threads);
    return sum;
}

bool process_may_connect(int fd, struct ucred *peer)
{
    socklen_t size = sizeof(*peer);
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &size) && (peer->uid == geteuid() || peer->uid == 0);
}

const char *process_boot_id(void)
{
    static char id[WS_BOOT_ID_SIZE];
    if (!*id)
        ws_boot_id(id);
    return id;
}

int64_t process_began(uint64_t start_time)
{
    struct timespec boot, own;
    uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    if (!start_time || start_time > UINT64_MAX / 1000000000 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
        clock_gettime(CLOCK_MONOTONIC, &own))
        return 0;
    int64_t slept = (int64_t)(boot.tv_sec - own.tv_sec) * 1000000000 + (boot.tv_nsec - own.tv_nsec);
    return (int64_t)(start_time / ticks * 1000000000 + start_time % ticks * 1000000000 / ticks) - slept;
}
