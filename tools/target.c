#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/checks.h"
#include "attach/client.h"
#include "attach/inject.h"
#include "library.h"

int tool_target(const char *command, const struct tool_arguments *arguments, struct ws_process_facts *process)
{
    size_t pid;
    if (arguments->operand_count != 1)
        return tool_error("%s: give the id of one process", command);
    const char *text = arguments->operands[0];
    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 9)
        return tool_error("%s %s: give the id of a process, as ps shows it", command, text);
    pid = (size_t)atol(text);
    int error = pid ? ws_process_look((int)pid, process) : -ESRCH;
    if (error)
        return tool_error("%s %zu: %s", command, pid,
                          error == -ESRCH ? "there is no such process" : strerror(-error));
    return 0;
}

static int say_unconnected(const char *command, const struct ws_process_facts *process, int error)
{
    const char *why = error == -ECONNREFUSED ? "nobody records it, and it does not sleep under wallshim"
                      : error == -EACCES     ? "another process answers in its place"
                                             : strerror(-error);
    if (error == -EBUSY)
        tool_error("%s %d: it is stopped; kill -CONT %d lets it go on", command, process->pid, process->pid);
    else
        tool_error("%s %d: %s", command, process->pid, why);
    return -1;
}

int tool_target_connect(const char *command, const struct ws_process_facts *process)
{
    int socket = ws_client_connect(process);
    return socket >= 0 ? socket : say_unconnected(command, process, socket);
}

#ifdef WS_HAVE_INJECTION

/* Finds the library Zydis. Attach loads it into the process, where it decodes the machine code of the functions that
 * attach patches. */
static bool find_decoder(const struct ws_process_facts *process, char *path, size_t capacity)
{
    struct link_map *map;
    void *library = dlopen(WS_DECODER, RTLD_LAZY);
    bool found = library && !dlinfo(library, RTLD_DI_LINKMAP, &map) && *map->l_name;
    if (found)
        snprintf(path, capacity, "%s", map->l_name);
    else
        tool_error("attach %d: " WS_DECODER " was not found; a program that sleeps (record --start off) needs none",
                   process->pid);
    return found;
}

static void say_search(const struct ws_process_facts *process, int64_t most_ns)
{
    tool_say("%s (%d): none of its threads can be stopped in a harmless place yet; trying for up to %lld s",
             process->name, process->pid, (long long)(most_ns / 1000000000));
}

static int inject(const struct ws_process_facts *process, struct ws_attach_message *message)
{
    static char shim[4352], decoder[4352];
    static struct ws_injection injection;
    if (tool_find_library(shim, sizeof(shim)) || !find_decoder(process, decoder, sizeof(decoder)))
        return -1;
    injection = (struct ws_injection){ .process = process,
                                       .libraries = { [WS_LATE_SHIM] = shim, [WS_LATE_DECODER] = decoder },
                                       .searches = say_search };
    int error = ws_inject(&injection);
    if (error) {
        tool_error("attach %d: %s", process->pid, *injection.why ? injection.why : strerror(-error));
        return -1;
    }
    memcpy(message->token, injection.token, sizeof(message->token));
    tool_say("%s (%d): patched %u functions; threads stood still for %.0f us at most", process->name, process->pid,
             injection.patched, (double)injection.stood_still / 1e3);
    if (injection.refused)
        tool_say("%s (%d): %u functions cannot be patched, and are not recorded: %s%s", process->name, process->pid,
                 injection.refused, injection.why, injection.refused > 1 ? " …" : "");
    return 0;
}

#else

static int inject(const struct ws_process_facts *process, struct ws_attach_message *message)
{
    (void)message;
    return say_unconnected("attach", process, -ECONNREFUSED);
}

#endif

int tool_target_check(const struct ws_process_facts *process)
{
    char why[1024];
    int socket = ws_client_connect(process);
    if (socket >= 0)
        close(socket);
    if (!ws_hindrance(process, socket, why, sizeof(why)))
        return 0;
    return tool_error("attach %d: %s", process->pid, why);
}

int tool_target_prepare(const struct ws_process_facts *process, struct ws_attach_message *message)
{
    int socket = ws_client_connect(process);
    if (socket >= 0)
        return close(socket);
    if (socket == -ECONNREFUSED)
        return inject(process, message) ? TOOL_ERROR : 0;
    say_unconnected("attach", process, socket);
    return TOOL_ERROR;
}

int tool_target_attach(const struct ws_process_facts *process, struct ws_attach_message *message)
{
    int socket = ws_client_connect(process);
    if (socket == -ECONNREFUSED && inject(process, message))
        return -1;
    if (socket == -ECONNREFUSED)
        socket = ws_client_connect(process);
    return socket >= 0 ? socket : say_unconnected("attach", process, socket);
}
