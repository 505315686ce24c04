#include "collector/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "wire/process_stat.h"

uint64_t process_start_time(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return ws_process_start_time(path);
}

const char *process_boot_id(void)
{
    static char id[WS_BOOT_ID_SIZE];
    if (!*id)
        ws_boot_id(id);
    return id;
}
