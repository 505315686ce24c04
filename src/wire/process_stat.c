#include "wire/process_stat.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields 3 to 21 of /proc/PID/stat, which lie between the program's name and the start time. */
enum { FIELDS_BETWEEN = 19 };

static void read_text(const char *path, char *text, size_t capacity)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, capacity - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
}

uint64_t ws_process_start_time(const char *path)
{
    char text[1024];
    read_text(path, text, sizeof(text));
    const char *at = strrchr(text, ')'); /* the program's name may contain spaces and parentheses */
    for (int i = 0; at && i <= FIELDS_BETWEEN; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

bool ws_process_is_alive(int pid, uint64_t start_time)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    read_text(path, text, sizeof(text));
    const char *state = strrchr(text, ')'); /* the ")" in "12 (name) S 1 …", before the state */
    return state && state[1] && state[2] != 'Z' && state[2] != 'X' && ws_process_start_time(path) == start_time;
}

void ws_boot_id(char id[WS_BOOT_ID_SIZE])
{
    read_text("/proc/sys/kernel/random/boot_id", id, WS_BOOT_ID_SIZE);
    id[strcspn(id, "\n")] = 0;
}
