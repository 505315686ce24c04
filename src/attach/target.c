#include "attach/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attach/checks.h"
#include "attach/code.h"
#include "base/clock.h"

static const int64_t OVER_NS = 20000000000; /* longest wait for an earlier attach to end */
enum { PAUSE_NS = 1000000 };

void ws_target_say(struct ws_target *target, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(target->injection->why, sizeof(target->injection->why), format, arguments);
    va_end(arguments);
}

static int find_functions(struct ws_target *target)
{
    const struct {
        const char *name;
        uint64_t *address;
    } wanted[] = {
        { "pthread_create", &target->block.pthread_create },
        { "__errno_location", &target->block.errno_location },
        { "pthread_self", &target->block.pthread_self },
        { "pthread_detach", &target->block.pthread_detach },
        { "dlopen", &target->block.dlopen },
        { "dlsym", &target->block.dlsym },
    };
    /* Before glibc 2.34, some of the wanted functions are not in libc, but in libpthread and libdl. */
    static const char *const libraries[] = { "libc.so", "libc-2.", "libpthread", "libdl" };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        const struct ws_mapping *first = ws_mapping_named(&target->mappings, libraries[i]);
        struct ws_remote_library library;
        if (!first || ws_remote_library_read(target->pid, first, &library))
            continue;
        for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
            if (!*wanted[k].address)
                *wanted[k].address = ws_remote_symbol(&library, wanted[k].name);
        ws_remote_library_finish(&library);
    }
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
        if (!*wanted[k].address) {
            ws_target_say(target, "its C library has no %s", wanted[k].name);
            return -ENOEXEC;
        }
    return 0;
}

/* Finds the shim that an earlier attach loaded, to use it again. */
static int find_shim(struct ws_target *target)
{
    for (size_t i = 0; i < target->mappings.count; i++) {
        const struct ws_mapping *mapping = &target->mappings.list[i];
        struct ws_remote_library library;
        if (strncmp(ws_mapping_file(mapping), "memfd:wallshim", 14) != 0 || mapping->offset ||
            ws_remote_library_read(target->pid, mapping, &library))
            continue;
        uint64_t entry = ws_remote_symbol(&library, "wallshim_attach");
        uint64_t version = ws_remote_symbol(&library, "wallshim_late_version");
        uint32_t is_version = 0;
        ws_remote_library_finish(&library);
        if (!entry || !version)
            continue;
        if (ws_remote_read(target->pid, version, &is_version, sizeof(is_version)) || is_version != WS_LATE_VERSION) {
            ws_target_say(target, "another version of wallshim was attached before, and stays loaded");
            return -EEXIST;
        }
        target->block.entry = entry;
    }
    return 0;
}

/* Has the last `wallshim attach` that used the block ended completely? The thread that the earlier command stopped
 * must have left the page's code. The thread that the earlier command created must have ended, or no longer need the
 * block. */
static bool is_over(const struct ws_target *target, uint64_t block)
{
    struct {
        int32_t created;
        uint32_t called;
    } call;
    int32_t thread;
    uint64_t back;
    if (ws_memory_get(target->memory, block + offsetof(struct ws_late_block, created), &call, sizeof(call)) ||
        ws_memory_get(target->memory, block + offsetof(struct ws_late_block, thread), &thread, sizeof(thread)) ||
        ws_memory_get(target->memory, block + offsetof(struct ws_late_block, back), &back, sizeof(back)))
        return true;
    if (!back || !call.called)
        return !back;
    if (call.created || thread == WS_LATE_OVER)
        return true;
    return thread > 0 && !ws_outer_thread(target->injection->process, thread);
}

/* Finds the page of code that an earlier `wallshim attach` has left in the process, even if that command was killed.
 * Waits until the threads of the process no longer use that page (is_over). */
static int find_page(struct ws_target *target)
{
    static uint8_t code[WS_LATE_PAGE], there[WS_LATE_PAGE];
    if (!ws_code_copy(code))
        return -ENOEXEC;
    for (size_t i = 0; i + 1 < target->mappings.count && !target->page; i++) {
        const struct ws_mapping *mapping = &target->mappings.list[i];
        if (mapping->execute && !*mapping->path && mapping->end - mapping->begin == WS_LATE_PAGE &&
            mapping[1].begin == mapping->end && !ws_remote_read(target->pid, mapping->begin, there, sizeof(there)) &&
            !memcmp(code, there, sizeof(code)))
            target->page = mapping->begin;
    }
    int64_t end = ws_clock_ns() + OVER_NS;
    while (target->page && !is_over(target, ws_target_block(target))) {
        if (ws_clock_ns() > end) {
            ws_target_say(target, "an earlier attach is not over");
            return -EBUSY;
        }
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
    return 0;
}

int ws_target_look(struct ws_target *target)
{
    int error = ws_hindrance(target->injection->process, -ECONNREFUSED, target->injection->why,
                             sizeof(target->injection->why));
    if (error)
        return error;
    *target->injection->why = 0;
    error = ws_mappings_read(target->pid, &target->mappings);
    if (error)
        return error;
    const struct ws_mapping *libc = ws_mapping_named(&target->mappings, "libc.so");
    if (!libc)
        libc = ws_mapping_named(&target->mappings, "libc-2.");
    error = libc ? ws_remote_library_read(target->pid, libc, &target->libc) : -ENOEXEC;
    if (!error)
        error = ws_unsafe_code_find(target->pid, &target->mappings, &target->libc, &target->unsafe);
    if (error)
        ws_target_say(target, "its C library cannot be read: %s", strerror(-error));
    if (!error)
        error = find_functions(target);
    if (!error)
        error = find_page(target);
    return error ? error : find_shim(target);
}
