#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "attach/checks.h"
#include "attach/client.h"
#include "command.h"
#include "library.h"
#include "target.h"

static const struct tool_switch *doctor_switches(size_t *count)
{
    *count = 0;
    return NULL;
}

static void line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %-14s ", name);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

/* --- the machine ------------------------------------------------------------------------------------ */

/* Finds the line of a file that begins with the key, or the first line if the key is "". */
static bool line_of(const char *path, const char *key, char *text, int size)
{
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(text, size, file))
        found = !strncmp(text, key, strlen(key));
    if (file)
        fclose(file);
    text[found ? strcspn(text, "\n") : 0] = 0;
    return found;
}

static void say_library(const char *name, const char *const *files, const char *absent)
{
    struct link_map *map;
    for (; *files; files++) {
        void *library = dlopen(*files, RTLD_LAZY | RTLD_LOCAL);
        if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map)) {
            line(name, "%s", map->l_name);
            return;
        }
    }
    line(name, "%s", absent);
}

static void say_counters(void)
{
    char text[256];
    if (!line_of("/proc/driver/nvidia/params", "RmProfilingAdminOnly:", text, sizeof(text)))
        line("counters", "not known: there is no /proc/driver/nvidia/params");
    else if (strchr(text, '1') && geteuid())
        line("counters", "for administrators only: as root, or load the module nvidia with "
                         "NVreg_RestrictProfilingToAdminUsers=0");
    else
        line("counters", "may be read");
}

static void say_ptrace(void)
{
    static const char *const scopes[] = {
        "processes of your own may be traced",
        "only children may be traced, unless you are root: setpriv --ptracer any in front of "
        "a program, or sysctl kernel.yama.ptrace_scope=0",
        "only administrators may trace (Yama)", "nobody may trace (Yama)"
    };
    char text[16];
    bool yama = line_of("/proc/sys/kernel/yama/ptrace_scope", "", text, sizeof(text));
    unsigned scope = yama ? (unsigned)atoi(text) : 0;
    line("ptrace", "%s", scope < 4 ? scopes[scope] : "not known");
}

static void say_memory(void)
{
    struct statvfs about;
    if (statvfs("/dev/shm", &about))
        line("/dev/shm", "%s: what a killed program recorded last is lost", strerror(errno));
    else
        line("/dev/shm", "%llu MB free", (unsigned long long)about.f_bavail * about.f_frsize >> 20);
}

static void say_machine(void)
{
    static const char *const cuda[] = { "libcuda.so.1", NULL }, *const nvml[] = { "libnvidia-ml.so.1", NULL };
    static const char *const cupti[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
                                         NULL };
    static const char *const decoder[] = { "libZydis.so.4.0", NULL };
    char text[256], shim[4352];
    puts("this machine");
    line("driver", "%s", line_of("/proc/driver/nvidia/version", "", text, sizeof(text)) ? text : "not loaded");
    say_library("libcuda", cuda, "not found");
    say_library("CUPTI", cupti, "not found: no hardware counters (--counters), unless --cupti names it");
    say_counters();
    say_library("NVML", nvml, "not found: no GPU health (--health)");
    say_ptrace();
    say_library("Zydis", decoder, "not found: attach can only wake programs that were started with --start off");
    say_memory();
    if (!tool_find_library(shim, sizeof(shim)))
        line("shim", "%s", shim);
}

/* --- a process -------------------------------------------------------------------------------------- */

/* Is the process recorded now? socket: a connection to its shim, or negative. */
static bool is_recorded(int socket)
{
    struct ws_attach_message message = { .kind = WS_ATTACH_STATUS };
    return socket >= 0 && !ws_client_ask(socket, &message, -1) && message.kind == WS_ATTACH_AWAKE;
}

static int say_process(const struct ws_process_facts *process)
{
    int socket = ws_client_connect(process);
    struct ws_examined examined = { .process = process, .socket = socket };
    char text[1024], first[1024] = "";
    bool may_fail = false; /* a thread that attach could stop was not seen */
    printf("process %d\n", process->pid);
    examined.error = ws_mappings_read(process->pid, &examined.mappings);
    for (size_t i = 0; i < ws_check_count; i++) {
        enum ws_finding finding = ws_checks[i].look(&examined, text, sizeof(text));
        line(ws_checks[i].name, "%s", text);
        if (finding == WS_REFUSED && !*first && socket < 0)
            snprintf(first, sizeof(first), "%s", text);
        may_fail |= finding == WS_NOTE && !strcmp(ws_checks[i].name, "threads");
    }
    ws_mappings_finish(&examined.mappings);
    bool recorded = !*first && is_recorded(socket), refused = recorded || *first;
    if (recorded)
        line("attach", "refuses: it is being recorded already; wallshim detach %d ends that", process->pid);
    else if (refused)
        line("attach", "refuses: %s", first);
    else
        line("attach", socket >= 0 ? "wakes its shim, which sleeps"
                       : may_fail  ? "may load the shim into it, if a thread can be stopped within 20 s"
                                   : "loads the shim into it");
    if (socket >= 0)
        close(socket);
    return refused ? TOOL_ERROR : TOOL_DONE;
}

static int doctor_run(const struct tool_arguments *arguments)
{
    struct ws_process_facts process;
    if (arguments->operand_count > 1)
        return tool_error("doctor: give the id of one process, or nothing");
    int status = arguments->operand_count ? tool_target("doctor", arguments, &process) : 0;
    if (status)
        return status;
    say_machine();
    return arguments->operand_count ? say_process(&process) : TOOL_DONE;
}

const struct tool_command tool_doctor = {
    .name = "doctor",
    .operands = "[PID]",
    .summary = "say what can be recorded on this machine, and whether a program can be attached to",
    .text = "With PID the status is 2 if wallshim attach would refuse that program, as far as can be seen without "
            "stopping "
            "a thread. Nothing is changed.",
    .switches = doctor_switches,
    .run = doctor_run,
};
