#include "attach/process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[WS_NAMESPACES] = {
    [WS_NAMESPACE_PID] = "pid", [WS_NAMESPACE_NET] = "net", [WS_NAMESPACE_USER] = "user", [WS_NAMESPACE_MOUNT] = "mnt"
};

static uint64_t namespace_of(const char *process, enum ws_namespace which)
{
    char path[128];
    struct stat about;
    snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, names[which]);
    return stat(path, &about) ? 0 : (uint64_t)about.st_ino;
}

uint64_t ws_own_namespace(enum ws_namespace which)
{
    return namespace_of("self", which);
}

/* Bits of signals 32 and 33 in a signal mask of /proc/PID/status. The C library uses these signals itself, to cancel
 * threads and to change their user id. */
static const unsigned long long OF_LIBC = 3ull << 31;

/* Returns the value of a key in a line of /proc/PID/status, or NULL if the line has another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    return !strncmp(line, key, length) && line[length] == ':' ? line + length + 1 + strspn(line + length + 1, " \t")
                                                              : NULL;
}

static void read_line(const char *line, struct ws_process_facts *facts)
{
    const char *value;
    if ((value = value_of(line, "Name")))
        snprintf(facts->name, sizeof(facts->name), "%.*s", (int)strcspn(value, "\n"), value);
    else if ((value = value_of(line, "State")))
        facts->state = *value;
    else if ((value = value_of(line, "PPid")))
        facts->parent = atoi(value);
    else if ((value = value_of(line, "TracerPid")))
        facts->tracer = atoi(value);
    else if ((value = value_of(line, "SigCgt")))
        facts->handles_signals = (strtoull(value, NULL, 16) & ~OF_LIBC) != 0;
    else if ((value = value_of(line, "Seccomp")))
        facts->seccomp = atoi(value);
    else if ((value = value_of(line, "Uid")))
        sscanf(value, "%*u %u", &facts->uid);
    else if ((value = value_of(line, "NSpid")))
        facts->inner_pid = atoi(strrchr(value, '\t') ? strrchr(value, '\t') + 1 : value);
}

/* The signals that have no effect unless the program has a handler for them (signal(7)). */
#define BIT(signal) (1ull << ((signal)-1))
static const unsigned long long NO_EFFECT = BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT);

bool ws_signal_waits(int thread)
{
    enum { OWN, SHARED, BLOCKED, IGNORED, HANDLED, SETS };
    static const char *const keys[SETS] = { "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt" };
    unsigned long long sets[SETS] = { 0 };
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/status", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    while (fgets(line, sizeof(line), file))
        for (size_t i = 0; i < SETS; i++) {
            const char *value = value_of(line, keys[i]);
            if (value)
                sets[i] = strtoull(value, NULL, 16);
        }
    fclose(file);
    unsigned long long without_effect = sets[IGNORED] | (NO_EFFECT & ~sets[HANDLED]);
    return (sets[OWN] | sets[SHARED]) & ~sets[BLOCKED] & ~without_effect;
}

/* Returns the thread's id in its innermost pid namespace; -1: the thread is gone. */
static int inner_id(const char *path)
{
    struct ws_process_facts facts = { .inner_pid = -1 };
    char line[1024];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        read_line(line, &facts);
    if (file)
        fclose(file);
    return facts.inner_pid;
}

int ws_outer_thread(const struct ws_process_facts *process, int inner)
{
    char path[320];
    int found = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/status", process->pid, entry->d_name);
        if (inner_id(path) == inner)
            found = atoi(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return found;
}

bool ws_process_is_stopped(const struct ws_process_facts *process)
{
    return process->state == 'T' || process->state == 't';
}

int ws_process_look(int pid, struct ws_process_facts *facts)
{
    char path[64], line[1024];
    *facts = (struct ws_process_facts){ .pid = pid, .inner_pid = pid };
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (fgets(line, sizeof(line), file))
        read_line(line, facts);
    fclose(file);
    snprintf(path, sizeof(path), "%d", pid);
    for (enum ws_namespace which = 0; which < WS_NAMESPACES; which++)
        facts->namespaces[which] = namespace_of(path, which);
    return facts->state == 'Z' || facts->state == 'X' ? -ESRCH : 0;
}
