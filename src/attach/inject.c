#include "attach/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attach/apply.h"
#include "attach/client.h"
#include "attach/calls.h"
#include "attach/code.h"
#include "attach/memory.h"
#include "attach/safe.h"
#include "attach/stop.h"
#include "attach/target.h"
#include "base/clock.h"

static const int64_t FIND_NS = 20000000000;  /* longest search for a thread that may create a thread (safe.h) */
static const int64_t CALL_NS = 5000000000;   /* longest wait for the new thread, and for the files that it creates */
static const int64_t LOAD_NS = 30000000000;  /* longest wait for the process to load the libraries */
static const int64_t SILENT_NS = 1000000000; /* time after which the user is told of that search */
enum { PAUSE_NS = 1000000, MOST_URGENT = -20 };

static void rest(int64_t ns)
{
    nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
}

#define FIELD(target, field) (ws_target_block(target) + offsetof(struct ws_late_block, field))

/* --- a thread in a harmless place ------------------------------------------------------------------- */

/* Writes the block (struct ws_late_block) into the process, except the memory for saved registers. */
static int inject_put_block(struct ws_target *target, uint64_t page, const struct ws_stopped *stopped, size_t main_at)
{
    const size_t from = offsetof(struct ws_late_block, pthread_create);
    target->block.main = page + main_at;
    target->block.back = ws_stopped_back(stopped);
    return ws_memory_put(target->memory, page + WS_LATE_PAGE + from, &target->block.pthread_create,
                         sizeof(target->block) - from);
}

/* Maps and fills the page of code. Sets target->page only when the page is complete, because a thread may be sent to
 * the page as soon as target->page is set. */
static int make_page(struct ws_target *target, struct ws_stopped *stopped, const uint8_t *code, size_t main_at)
{
    long page = ws_stopped_call(
        stopped, SYS_mmap,
        (uint64_t[6]){ 0, WS_LATE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 });
    if (page == -ENOMEM || page == -EAGAIN || page == -EPERM) { /* -EAGAIN: its limit of locked memory */
        ws_target_say(target, "no memory can be mapped there: %s", strerror((int)-page));
        return -ENOMEM;
    }
    if (page < 0)
        return (int)page;
    int error = inject_put_block(target, (uint64_t)page, stopped, main_at);
    if (!error)
        error = ws_memory_put(target->memory, (uint64_t)page, code, WS_LATE_PAGE);
    if (!error)
        error = (int)ws_stopped_call(stopped, SYS_mprotect,
                                     (uint64_t[6]){ (uint64_t)page, WS_LATE_PAGE, PROT_READ | PROT_EXEC });
    if (!error)
        target->page = (uint64_t)page;
    return error;
}

static int prepare_page(struct ws_target *target, struct ws_stopped *stopped)
{
    static uint8_t code[WS_LATE_PAGE];
    size_t main_at = ws_code_copy(code);
    if (!main_at)
        return -ENOEXEC;
    if (!target->page)
        return make_page(target, stopped, code, main_at);
    /* The call of gettid takes the place of the system call at whose entry the thread stands. Afterwards the thread
     * is no longer at the entry of a call, as ws_stopped_go_through requires. */
    long result = stopped->stands == WS_AT_ENTRY ? ws_stopped_call(stopped, SYS_gettid, (uint64_t[6]){ 0 }) : 0;
    return result < 0 ? (int)result : inject_put_block(target, target->page, stopped, main_at);
}

/* Stops the thread. If the thread is in a harmless place (calls.h, safe.h), sends the thread to the code that this
 * command has put into the process (code.h). Returns 0; -EAGAIN: the thread is not in a harmless place, or is ending;
 * or -errno.
 */
static int try_stopping(struct ws_target *target, int thread, const struct ws_urgent *urgent)
{
    struct ws_stopped stopped;
    int error = ws_stop_at_call(thread, urgent, &stopped);
    /* The right to trace was checked before, so -EPERM only means that the thread is ending. */
    if (error)
        return error == -ESRCH || error == -EPERM ? -EAGAIN : error;
    target->injection->tries++;
    error = ws_is_harmless_call((long)stopped.registers.orig_rax) &&
                    ws_is_safe(&target->mappings, &stopped, &target->unsafe)
                ? prepare_page(target, &stopped)
                : -EAGAIN;
    int64_t stood = error ? ws_stopped_go(&stopped) : ws_stopped_go_through(&stopped, target->page);
    /* If the thread does not run the page's code, a later attach must not wait for the thread (target.c). */
    if (!error && stood == -EAGAIN) {
        const uint64_t nowhere = 0;
        ws_memory_put(target->memory, FIELD(target, back), &nowhere, sizeof(nowhere));
    }
    if (stood > target->injection->stood_still)
        target->injection->stood_still = stood;
    return error ? error : stood < 0 ? (int)stood : 0;
}

/* ws_urgent_begin blocks signals: if a signal ended this command while the thread is stopped, the thread would
 * continue with wrong registers. */
static int try_thread(struct ws_target *target, int thread)
{
    struct ws_urgent urgent;
    ws_urgent_begin(&urgent);
    int error = try_stopping(target, thread, &urgent);
    ws_urgent_end(&urgent);
    return error;
}

/* Tells the user what the command waits for. */
static void tell_search(const struct ws_target *target, bool *told)
{
    if (!*told && target->injection->searches)
        target->injection->searches(target->injection->process, FIND_NS);
    *told = true;
}

/* Tries the threads that wait in harmless system calls, again and again, until one runs the page's code or FIND_NS
 * have passed. */
static int find_thread(struct ws_target *target)
{
    char path[64];
    int error = -EAGAIN;
    bool told = false;
    int64_t begin = ws_clock_ns(), end = begin + FIND_NS;
    snprintf(path, sizeof(path), "/proc/%d/task", target->pid);
    while (error == -EAGAIN && ws_clock_ns() < end) {
        ws_mappings_finish(&target->mappings); /* read the mappings again: threads and their stacks come and go */
        DIR *folder = ws_mappings_read(target->pid, &target->mappings) ? NULL : opendir(path);
        if (!folder)
            return -ESRCH;
        for (struct dirent *entry; error == -EAGAIN && (entry = readdir(folder));) {
            int thread = atoi(entry->d_name);
            if (thread > 0 && ws_is_in_harmless_call(target->pid, thread))
                error = try_thread(target, thread);
        }
        closedir(folder);
        if (error == -EAGAIN && ws_clock_ns() > begin + SILENT_NS)
            tell_search(target, &told);
        if (error == -EAGAIN)
            rest(PAUSE_NS);
    }
    if (error == -EAGAIN)
        ws_target_say(target, "%s; try again, or start it with record --start off",
                      target->injection->tries
                          ? "none of its threads was in a place where another thread can be made"
                          : "none of its threads waited in a system call, where it can be stopped");
    else if (error && !*target->injection->why)
        ws_target_say(target, "a thread could not be stopped: %s", strerror(-error));
    return error;
}

/* --- after a thread was sent to the page's code ------------------------------------------------------- */

static int read_block(struct ws_target *target)
{
    return ws_memory_get(target->memory, FIELD(target, pthread_create), &target->block.pthread_create,
                         sizeof(target->block) - offsetof(struct ws_late_block, pthread_create));
}

static int set_state(struct ws_target *target, uint32_t state)
{
    return ws_memory_put(target->memory, FIELD(target, state), &state, sizeof(state));
}

/* Waits until the process has set ws_late_block.state to `state`, for at most `patience` ns. `pause` is the time
 * between two checks, in ns; 0: checks without sleeping. */
static int wait_for(struct ws_target *target, uint32_t state, int64_t patience, int64_t pause)
{
    int64_t end = ws_clock_ns() + patience;
    uint32_t seen = 0;
    int error;
    while (!(error = ws_memory_get(target->memory, FIELD(target, state), &seen, sizeof(seen))) && seen != state &&
           seen != WS_LATE_FAILED && ws_clock_ns() < end)
        if (pause)
            rest(pause);
    if (!error && seen == state)
        return 0;
    if (error)
        ws_target_say(target, "the process has ended");
    else if (seen != WS_LATE_FAILED)
        ws_target_say(target, "it does not answer");
    else if (!read_block(target))
        ws_target_say(target, "%.*s", WS_LATE_TEXT - 1,
                      *target->block.text ? target->block.text : "its loader does not load the shim");
    return error ? error : -ETIMEDOUT;
}

static int wait_until_called(struct ws_target *target)
{
    int64_t end = ws_clock_ns() + CALL_NS;
    int32_t answer[2] = { 0 }; /* members `created` and `called` of the block */
    _Static_assert(offsetof(struct ws_late_block, called) == offsetof(struct ws_late_block, created) + 4, "one read");
    while (!answer[1] && ws_clock_ns() < end) {
        if (ws_memory_get(target->memory, FIELD(target, created), answer, sizeof(answer))) {
            ws_target_say(target, "the process has ended");
            return -ESRCH;
        }
        rest(PAUSE_NS / 10);
    }
    if (answer[1] && !answer[0])
        return 0;
    ws_target_say(target, "no thread could be made there: %s",
                  answer[1] ? strerror(answer[0]) : "it does not return");
    return -EAGAIN;
}

/* Opens a memory file that the process has made. Opens the file with O_PATH first, so that the process cannot put
 * another file in its place between the check of the file's name and the opening for writing. */
static int inject_open_file(struct ws_target *target, int number)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", target->pid, number);
    int held = open(path, O_PATH | O_CLOEXEC), file = -1;
    if (held < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    errno = EBADF;
    if (readlink(path, name, sizeof(name) - 1) > 0 && !strncmp(name, "/memfd:wallshim", 15))
        file = open(path, O_WRONLY | O_CLOEXEC);
    int error = file < 0 ? -errno : 0;
    close(held);
    return error ? error : file;
}

static int fill_file(struct ws_target *target, int number, const char *library)
{
    static char bytes[1 << 16];
    int from = open(library, O_RDONLY | O_CLOEXEC), to = from < 0 ? -errno : inject_open_file(target, number);
    int error = to < 0 ? to : 0;
    ssize_t size = 0;
    while (!error && (size = read(from, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)size) != size)
            error = -EIO;
    if (!error && size < 0)
        error = -errno;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return error;
}

static int load_libraries(struct ws_target *target)
{
    if (target->block.entry)
        return 0;
    int error = wait_for(target, WS_LATE_FILES, CALL_NS, PAUSE_NS);
    if (error || (error = read_block(target)))
        return error;
    for (int i = 0; i < WS_LATE_LIBRARIES; i++) {
        if (target->block.files[i] < 0) {
            ws_target_say(target, "it cannot make a file in memory: %s", strerror(-target->block.files[i]));
            return target->block.files[i];
        }
        if ((error = fill_file(target, target->block.files[i], target->injection->libraries[i]))) {
            ws_target_say(target, "%s cannot be copied there: %s", target->injection->libraries[i], strerror(-error));
            return error;
        }
    }
    return set_state(target, WS_LATE_FILLED);
}

/* Does every patch lie in the code of a library? The list of patches comes from the process, which is not trusted. */
static bool are_in_code(const struct ws_target *target, const struct ws_late_patch *patches, uint32_t count)
{
    struct ws_mappings mappings;
    if (ws_mappings_read(target->pid, &mappings))
        return false;
    bool all = true;
    for (uint32_t i = 0; i < count && all; i++) {
        const struct ws_mapping *mapping = ws_mapping_at(&mappings, patches[i].begin);
        all = mapping && mapping->execute && *mapping->path == '/' && mapping->end - patches[i].begin >= WS_LATE_JUMP;
    }
    ws_mappings_finish(&mappings);
    return all;
}

static int apply_patches(struct ws_target *target, const struct ws_late_patch *patches)
{
    const struct ws_process_facts *process = target->injection->process;
    const struct ws_patching patching = { .process = process,
                                          .memory = target->memory,
                                          .ours = ws_outer_thread(process, target->block.thread),
                                          .state_at = FIELD(target, state),
                                          .patches = patches,
                                          .count = target->block.patch_count };
    if (!are_in_code(target, patches, patching.count))
        return -EFAULT;
    return ws_apply_patches(&patching, &target->injection->stood_still);
}

static int apply(struct ws_target *target)
{
    int error = wait_for(target, WS_LATE_PREPARED, LOAD_NS, PAUSE_NS);
    if (error || (error = read_block(target)))
        return error;
    size_t size = target->block.patch_count * sizeof(struct ws_late_patch);
    struct ws_late_patch *patches = size && size < 1 << 20 ? malloc(size) : NULL;
    error = patches ? ws_memory_get(target->memory, target->block.patches, patches, size) : -ENOMEM;
    if (!error)
        error = apply_patches(target, patches);
    free(patches);
    target->injection->patched = target->block.patch_count;
    target->injection->refused = target->block.refused_count;
    if (!error)
        ws_target_say(target, "%.*s", WS_LATE_TEXT - 1, target->block.text);
    else if (error == -EAGAIN || error == -ETIMEDOUT)
        ws_target_say(target, "its threads could not be stopped in a harmless place in time; try again");
    else
        ws_target_say(target, "the functions could not be patched: %s", strerror(-error));
    return error;
}

/* If the command is killed during this function, the page and the libraries that were loaded stay in the process, and
 * the next attach uses them again. The new thread stays until it gives up waiting for this command, after at most
 * five seconds. */
static int inject(struct ws_target *target)
{
    target->memory = ws_memory_open(target->pid);
    /* Errors of ws_target_look are reported first, because their reasons are clearer than that of a failed
     * ws_memory_open. */
    int error = ws_target_look(target);
    if (!error && target->memory < 0) {
        error = target->memory;
        ws_target_say(target, "its memory cannot be opened: %s", strerror(-error));
    }
    if (!error && !ws_code_fits()) {
        ws_target_say(target, "this processor's registers cannot be saved");
        error = -ENOTSUP;
    }
    if (!error)
        error = find_thread(target);
    if (!error)
        error = wait_until_called(target);
    if (!error)
        error = load_libraries(target);
    return error ? error : apply(target);
}

/* Only one command may attach to a process at a time. The lock is an abstract socket name in the process's network
 * namespace, so commands in other namespaces find it too. */
static int take_lock(const struct ws_process_facts *process)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "wallshim-attach-%llu-%d",
                          (unsigned long long)process->namespaces[WS_NAMESPACE_PID], process->inner_pid);
    int lock = ws_client_socket(process);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (lock >= 0 && !bind(lock, (struct sockaddr *)&address, size))
        return lock;
    int error = -errno;
    if (lock >= 0)
        close(lock);
    return error;
}

int ws_inject(struct ws_injection *injection)
{
    static struct ws_target target;
    static const char path[] = "/proc/thread-self/fd/";
    target = (struct ws_target){ .injection = injection, .pid = injection->process->pid, .memory = -1 };
    *injection->why = 0;
    if (getrandom(injection->token, sizeof(injection->token), 0) != sizeof(injection->token))
        return -errno;
    target.block.version = WS_LATE_VERSION;
    memcpy(target.block.token, injection->token, sizeof(injection->token));
    memcpy(target.block.path, path, sizeof(path));
    target.block.path_tail = sizeof(path) - 1;
    memcpy(target.block.thread_name, "wallshim-load", sizeof("wallshim-load"));
    memcpy(target.block.file_name, "wallshim", sizeof("wallshim"));
    memcpy(target.block.entry_name, "wallshim_attach", sizeof("wallshim_attach"));
    int lock = take_lock(injection->process);
    if (lock < 0) {
        if (lock == -EADDRINUSE)
            ws_target_say(&target, "another wallshim attach is working on it; try again when that has ended");
        else
            ws_target_say(&target, "no socket can be made in its network namespace: %s", strerror(-lock));
        return lock;
    }
    int priority = getpriority(PRIO_PROCESS, 0);
    /* A higher priority, if permitted, shortens the time for which the process's threads stand still. */
    setpriority(PRIO_PROCESS, 0, MOST_URGENT);
    int error = inject(&target);
    setpriority(PRIO_PROCESS, 0, priority);
    close(lock);
    if (target.memory >= 0)
        close(target.memory);
    ws_mappings_finish(&target.mappings);
    ws_remote_library_finish(&target.libc);
    ws_unsafe_code_finish(&target.unsafe);
    return error;
}
