#include "collector/process.h"

#include <fcntl.h>
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
