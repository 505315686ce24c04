#include "collector/identify.h"

#include <stdio.h>
#include <string.h>

#include "collector/process.h"

bool identify_process(struct identity *identity, pid_t pid, const struct ws_channel_hello *hello)
{
    uint64_t start = process_start_time(pid);
    *identity =
        (struct identity){ .pid = pid, .start_time = start ? start : hello->start_time, .stream = hello->stream };
    snprintf(identity->boot_id, sizeof(identity->boot_id), "%s", process_boot_id());
    return (!start || !hello->start_time || start == hello->start_time) &&
           (!*hello->boot_id || !strcmp(hello->boot_id, process_boot_id()));
}

bool identify_relayed(struct identity *identity, const char from[FROM_SIZE], const struct ws_channel_hello *hello)
{
    *identity =
        (struct identity){ .pid = (pid_t)hello->pid, .start_time = hello->start_time, .stream = hello->stream };
    memcpy(identity->boot_id, hello->boot_id, sizeof(identity->boot_id));
    memcpy(identity->from, from, sizeof(identity->from));
    return hello->pid && hello->pid <= INT32_MAX && hello->start_time <= INT64_MAX &&
           !hello->boot_id[strspn(hello->boot_id, "0123456789abcdef-")];
}
