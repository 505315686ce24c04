#include "attach_crew.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/checks.h"
#include "attach/tree.h"
#include "attach_manifest.h"
#include "command.h"
#include "wire/process_stat.h"

enum { MEMBERS_MOST = 1024, FOLDERS_TRIED = 1000 };

struct tool_member *tool_crew_member(const struct tool_crew *crew, size_t index)
{
    return (struct tool_member *)crew->members.data + index;
}

size_t tool_crew_count(const struct tool_crew *crew, enum tool_worker_state first, enum tool_worker_state last)
{
    size_t count = 0;
    for (size_t i = 0; i < crew->members.count; i++) {
        const struct tool_member *member = tool_crew_member(crew, i);
        count += !member->refused && member->state >= first && member->state <= last;
    }
    return count;
}

/* --- finding -------------------------------------------------------------------------------------- */

enum candidate { NO_CUDA, CANNOT, CAN };

/* Can this process be recorded? Sets *listens to whether a shim (the library that records) in the process accepts
 * connections. Writes the reason to `why` if the result is CANNOT. */
static enum candidate look_at_candidate(const struct ws_process_facts *process, bool *listens, char *why, size_t size)
{
    struct ws_mappings mappings;
    int socket = ws_client_connect(process);
    *listens = socket >= 0;
    if (socket >= 0)
        close(socket);
    if (socket >= 0)
        return CAN;
    int error = ws_mappings_read(process->pid, &mappings);
    bool has_driver = !error && ws_mapping_named(&mappings, "libcuda.so");
    ws_mappings_finish(&mappings);
    if (error == -ESRCH || error == -ENOENT || (!error && !has_driver))
        return NO_CUDA;
    return ws_hindrance(process, socket, why, size) ? CANNOT : CAN;
}

static struct tool_member *known_member(const struct tool_crew *crew, int pid, uint64_t start_time)
{
    for (size_t i = 0; i < crew->members.count; i++) {
        struct tool_member *member = tool_crew_member(crew, i);
        if (member->process.pid == pid && member->start_time == start_time)
            return member;
    }
    return NULL;
}

/* Makes the folder of the traces, if that has not happened yet. Without --job, appends a number to its name if the
 * name exists. */
static int make_crew_folder(struct tool_crew *crew)
{
    char name[sizeof(crew->launcher->name) + 32];
    if (*crew->folder)
        return 0;
    tool_process_stem(crew->launcher, name, sizeof(name));
    size_t length = strlen(name);
    for (unsigned attempt = 1; !crew->wanted && !access(name, F_OK) && attempt < FOLDERS_TRIED; attempt++)
        snprintf(name + length, sizeof(name) - length, "-%u", attempt);
    const char *folder = crew->wanted ? crew->wanted : name;
    crew->made = access(folder, F_OK);
    int status = tool_job_folder(folder, crew->folder);
    if (!status && tool_attach_manifest_is_foreign(crew->folder))
        status = tool_error("attach --all: another process records into %s; give another --job FOLDER", folder);
    return status;
}

/* Creates the member's file and starts its worker. On failure prints a line, and the member's state is FAILED. */
static void start_member(struct tool_crew *crew, struct tool_member *member)
{
    member->state = TOOL_WORKER_FAILED;
    if (tool_trace_file_create(&member->process, crew->folder, NULL, &member->file))
        return;
    int error = tool_worker_start(&member->worker, &crew->mask, &member->process, &member->file, &crew->wish);
    close(member->file.fd);
    if (error) {
        unlink(member->file.path);
        tool_error("attach %d: %s", member->process.pid, strerror(-error));
    } else {
        member->state = TOOL_WORKER_PREPARES;
    }
}

static int attach_crew_consider(struct tool_crew *crew, int pid)
{
    char path[64], why[1024];
    struct ws_process_facts process;
    bool listens;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    uint64_t start_time = ws_process_start_time(path);
    struct tool_member *member = known_member(crew, pid, start_time);
    if ((member && !member->refused) || ws_process_look(pid, &process))
        return 0;
    enum candidate found = look_at_candidate(&process, &listens, why, sizeof(why));
    /* A process that was refused earlier is considered again only if a shim in it accepts connections by now. */
    if (found == NO_CUDA || (member && !listens) || (!member && crew->members.count >= MEMBERS_MOST))
        return 0;
    member = member ? member : ws_vector_push(&crew->members);
    if (!member)
        return tool_error("out of memory");
    *member = (struct tool_member){
        .process = process, .start_time = start_time, .refused = found == CANNOT, .worker.socket = -1
    };
    if (member->refused)
        tool_say("attach %d: %s: %s", pid, process.name, why);
    int status = member->refused ? 0 : make_crew_folder(crew);
    if (!member->refused && !status)
        start_member(crew, member);
    return status;
}

int tool_crew_find(struct tool_crew *crew)
{
    struct ws_vector pids = WS_VECTOR(int);
    int error = ws_process_tree(crew->launcher->pid, &pids), status = 0;
    if (error && error != -ESRCH) /* -ESRCH: the launcher has ended */
        status = tool_error("attach --all %d: %s", crew->launcher->pid, strerror(-error));
    for (size_t i = 0; i < pids.count && !status; i++)
        status = attach_crew_consider(crew, ((const int *)pids.data)[i]);
    ws_vector_finish(&pids);
    return status;
}

/* --- workers -------------------------------------------------------------------------------------- */

const char *tool_crew_hear(struct tool_member *member)
{
    static struct tool_worker_word word;
    if (tool_worker_hear(&member->worker, &word)) {
        member->state = word.state;
        return word.state >= TOOL_WORKER_ENDED ? word.why : NULL;
    }
    bool empty = !tool_trace_file_size(&member->file);
    if (empty || member->state < TOOL_WORKER_RECORDS)
        member->state = TOOL_WORKER_FAILED;
    else if (member->state == TOOL_WORKER_RECORDS) /* the worker was killed, so the shim has ended the recording */
        member->state = TOOL_WORKER_GONE;
    if (member->state == TOOL_WORKER_FAILED)
        unlink(member->file.path);
    return NULL;
}

void tool_crew_end(const struct tool_crew *crew)
{
    for (size_t i = 0; i < crew->members.count; i++)
        if (tool_crew_member(crew, i)->worker.pid > 0)
            kill(tool_crew_member(crew, i)->worker.pid, SIGTERM);
}

void tool_crew_finish(struct tool_crew *crew)
{
    if (crew->made && !tool_crew_count(crew, TOOL_WORKER_ENDED, TOOL_WORKER_GONE)) {
        tool_attach_manifest_remove(crew->folder);
        rmdir(crew->folder);
    }
    ws_vector_finish(&crew->members);
}
