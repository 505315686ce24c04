#include "attach/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/calls.h"

#define SAY(...) snprintf(text, size, __VA_ARGS__)

static int number_in(const char *path)
{
    char text[16] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC), number = 0;
    if (file >= 0 && read(file, text, sizeof(text) - 1) > 0)
        number = atoi(text);
    if (file >= 0)
        close(file);
    return number;
}

static enum ws_finding look_at_state(const struct ws_examined *examined, char *text, size_t size)
{
    const struct ws_process_facts *process = examined->process;
    if (ws_process_is_stopped(process) &&
        !process->tracer) { /* look_at_tracer handles a process that a tracer has stopped */
        SAY("it is stopped; kill -CONT %d lets it go on", process->pid);
        return WS_REFUSED;
    }
    SAY("%s, of user %u", process->name, process->uid);
    return WS_FINE;
}

static enum ws_finding look_at_tracer(const struct ws_examined *examined, char *text, size_t size)
{
    if (!examined->process->tracer) {
        SAY("none");
        return WS_FINE;
    }
    SAY("process %d traces it already (a debugger, strace, another profiler); end that first",
        examined->process->tracer);
    return WS_REFUSED;
}

/* Tries process_vm_readv, which needs the same right as ptrace and changes nothing. */
static enum ws_finding look_at_rights(const struct ws_examined *examined, char *text, size_t size)
{
    const struct ws_process_facts *process = examined->process;
    int scope = number_in("/proc/sys/kernel/yama/ptrace_scope");
    char byte;
    int error =
        examined->error
            ? examined->error
            : ws_remote_read(process->pid, examined->mappings.count ? examined->mappings.list[0].begin : 0, &byte, 1);
    if (error != -EPERM && error != -EACCES) {
        SAY("the process may be traced");
        return WS_FINE;
    }
    if (process->uid != geteuid())
        SAY("it belongs to user %u; attach as that user or as root", process->uid);
    else if (scope == 1)
        SAY("Yama lets only parents trace (ptrace_scope 1): attach as root, start it under setpriv --ptracer any, or "
            "sysctl "
            "kernel.yama.ptrace_scope=0");
    else if (scope == 2)
        SAY("Yama lets only administrators trace (ptrace_scope 2): attach as root or with CAP_SYS_PTRACE");
    else if (scope == 3)
        SAY("Yama lets nobody trace until the next start of the system (ptrace_scope 3); start it under wallshim "
            "record "
            "--start off");
    else if (!geteuid())
        SAY("not even root may trace it: a container, a sandbox or a security module forbids it");
    else
        SAY("it may not be traced: it has more rights than you, or is not dumpable; attach as root or with "
            "CAP_SYS_PTRACE");
    return WS_REFUSED;
}

static const char *base_of(const struct ws_examined *examined, const char *prefix)
{
    const struct ws_mapping *found = ws_mapping_named(&examined->mappings, prefix);
    return found ? ws_mapping_file(found) : NULL;
}

static bool is_32_bit(const struct ws_examined *examined)
{
    char path[64];
    uint8_t head[5] = { 0 };
    snprintf(path, sizeof(path), "/proc/%d/exe", examined->process->pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, head, sizeof(head)) != sizeof(head))
        head[4] = 0;
    if (file >= 0)
        close(file);
    return head[4] == 1; /* ELFCLASS32 */
}

/* In musl, one file is both the loader and the C library. Alpine names it /lib/ld-musl-x86_64.so.1, Debian
 * /usr/lib/x86_64-linux-musl/libc.so. */
static bool is_musl(const struct ws_examined *examined)
{
    const struct ws_mapping *libc = ws_mapping_named(&examined->mappings, "libc.so");
    return base_of(examined, "ld-musl") || (libc && strstr(libc->path, "-musl/"));
}

static enum ws_finding look_at_program(const struct ws_examined *examined, char *text, size_t size)
{
    static const char *const sanitizers[] = { "libasan.so", "libtsan.so", "libmsan.so", "libhwasan.so" };
    const char *loader = base_of(examined, "ld-");
    enum ws_finding finding = WS_REFUSED;
    if (examined->error)
        SAY("not known");
    else if (is_32_bit(examined))
        SAY("it is a 32-bit program");
    else if (is_musl(examined))
        SAY("its C library is musl; glibc is needed");
    else if (!loader || !base_of(examined, "libc"))
        SAY("it is a static program: nothing can be loaded into it");
    else
        finding = WS_FINE;
    for (size_t i = 0; finding == WS_FINE && i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
        if (base_of(examined, sanitizers[i])) {
            SAY("it has a sanitizer (%s), which must know of all threads", sanitizers[i]);
            return WS_REFUSED;
        }
    if (finding == WS_FINE)
        SAY("64-bit, glibc");
    return finding;
}

static int filters_of(int pid)
{
    char path[64], line[256];
    int filters = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "Seccomp_filters:", 16))
            filters = atoi(line + 16);
    if (file)
        fclose(file);
    return filters;
}

/* Compares the process's number of seccomp filters with its parent's. Filters that the parent has too are assumed to
 * come from a container, and to allow the system calls that attaching needs. If the process has more filters than its
 * parent, the process has put itself into a sandbox. */
static enum ws_finding look_at_sandbox(const struct ws_examined *examined, char *text, size_t size)
{
    const struct ws_process_facts *process = examined->process;
    int own = filters_of(process->pid), above = process->parent ? filters_of(process->parent) : 0;
    if (process->seccomp == 1 || (process->seccomp == 2 && own > above)) {
        SAY("it has put itself into a sandbox (seccomp), which may end it for the system calls that loading takes; "
            "start it "
            "under wallshim record --start off");
        return WS_REFUSED;
    }
    if (process->seccomp == 2) {
        SAY("it has the seccomp filter of its parent, as in containers");
        return WS_NOTE;
    }
    SAY("none");
    return WS_FINE;
}

static enum ws_finding look_at_cuda(const struct ws_examined *examined, char *text, size_t size)
{
    static const char *const libraries[] = { "libcuda.so",     "libcudart.so", "libnccl.so",      "libcublas.so",
                                             "libcublasLt.so", "libcudnn.so",  "libtorch_cuda.so" };
    size_t used = 0;
    *text = 0;
    if (examined->error) {
        SAY("not known");
        return WS_FINE;
    }
    if (!base_of(examined, "libcuda.so")) {
        SAY("it has not loaded the CUDA driver (libcuda.so.1)");
        return WS_REFUSED;
    }
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        const char *file = base_of(examined, libraries[i]);
        if (file && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", file);
    }
    return WS_FINE;
}

static enum ws_finding look_at_shim(const struct ws_examined *examined, char *text, size_t size)
{
    if (examined->socket >= 0) {
        SAY("loaded; it answers");
        return WS_FINE;
    }
    if (ws_process_is_stopped(examined->process)) {
        SAY("not asked while the process is stopped");
        return WS_NOTE;
    }
    if (examined->socket == -EACCES) {
        SAY("another process answers in its place");
        return WS_REFUSED;
    }
    if (examined->socket != -ECONNREFUSED) {
        SAY("its shim cannot be asked: %s", strerror(-examined->socket));
        return WS_REFUSED;
    }
    if (base_of(examined, "libwallshim.so")) {
        SAY("it was started under wallshim, and records by itself or has no context yet; start it with --start off "
            "to "
            "attach to it");
        return WS_REFUSED;
    }
    SAY(base_of(examined, "memfd:wallshim") ? "it was attached to before" : "not loaded");
    return WS_FINE;
}

static enum ws_finding look_at_namespaces(const struct ws_examined *examined, char *text, size_t size)
{
    static const char *const names[WS_NAMESPACES] = { "pid", "network", "user", "mount" };
    size_t used = 0;
    *text = 0;
    for (enum ws_namespace which = 0; which < WS_NAMESPACES; which++)
        if (examined->process->namespaces[which] && used < size &&
            examined->process->namespaces[which] != ws_own_namespace(which))
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "others than yours: ", names[which]);
    if (!used)
        SAY("the same as yours");
    return used ? WS_NOTE : WS_FINE;
}

/* Is the value of the environment variable a single library, and is that library the shim? */
static bool is_our_own(const char *variable)
{
    return strstr(variable, "libwallshim.so") && !strpbrk(variable, ": ");
}

/* Looks for other profilers: CUPTI, and environment variables that load libraries of other tools into CUDA
 * programs. */
static enum ws_finding look_at_injections(const struct ws_examined *examined, char *text, size_t size)
{
    static const char *const variables[] = { "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "LD_PRELOAD=",
                                             "LD_AUDIT=" };
    char path[64], *line = NULL;
    size_t room = 0, used = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", examined->process->pid);
    FILE *file = fopen(path, "re");
    *text = 0;
    while (file && getdelim(&line, &room, 0, file) > 0)
        for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
            if (!strncmp(line, variables[i], strlen(variables[i])) && !is_our_own(line) && used < size)
                used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", line);
    free(line);
    if (file)
        fclose(file);
    const char *cupti = base_of(examined, "libcupti.so");
    if (cupti && used < size)
        used += (size_t)snprintf(text + used, size - used, "%s%s is loaded: it may hold the only subscription",
                                 used ? "; " : "", cupti);
    if (!used)
        SAY("none");
    return used ? WS_NOTE : WS_FINE;
}

#ifdef __x86_64__ /* elsewhere, attach only wakes programs that sleep, and stops no thread */
/* Looks for a thread that can be stopped. Such threads come and go, so this is no reason to refuse. */
static enum ws_finding look_at_threads(const struct ws_examined *examined, char *text, size_t size)
{
    bool stopped = ws_process_is_stopped(examined->process);
    int any = examined->socket >= 0 ? 1 : stopped ? -EBUSY : ws_any_is_in_harmless_call(examined->process->pid);
    SAY("%s", examined->socket >= 0 ? "none has to be stopped"
              : any < 0             ? "not known"
              : any                 ? "one waits in a system call, where it can be stopped unless it holds a lock"
                    : "none waits in a system call now; attach looks for one for a while, and refuses if "
                      "none does");
    return any ? WS_FINE : WS_NOTE;
}
#endif

const struct ws_check ws_checks[] = {
    { .name = "process", .look = look_at_state },
    { .name = "rights", .look = look_at_rights },
    { .name = "other tracer", .look = look_at_tracer },
    { .name = "program", .look = look_at_program },
    { .name = "CUDA", .look = look_at_cuda },
    { .name = "shim", .look = look_at_shim },
    { .name = "sandbox", .look = look_at_sandbox },
    { .name = "namespaces", .look = look_at_namespaces },
    { .name = "other tools", .look = look_at_injections },
#ifdef __x86_64__
    { .name = "threads", .look = look_at_threads },
#endif
};
const size_t ws_check_count = sizeof(ws_checks) / sizeof(ws_checks[0]);

int ws_hindrance(const struct ws_process_facts *process, int socket, char *why, size_t size)
{
    struct ws_examined examined = { .process = process, .socket = socket };
    int status = 0;
    if (socket >= 0)
        return 0;
    examined.error = ws_mappings_read(process->pid, &examined.mappings);
    for (size_t i = 0; i < ws_check_count && !status; i++)
        if (ws_checks[i].look(&examined, why, size) == WS_REFUSED)
            status = ws_checks[i].look == look_at_rights ? -EPERM : -ENOTSUP;
    ws_mappings_finish(&examined.mappings);
    return status;
}
