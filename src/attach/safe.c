#include "attach/safe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_MOST = 1 << 20, RANGE_MOST = 8 << 20, ROOM_LEAST = 64 << 10 };

static int add_range(int pid, struct ws_unsafe_code *code, uint64_t begin, uint64_t end)
{
    if (code->count == WS_UNSAFE_MOST || end <= begin || end - begin > RANGE_MOST)
        return -ENOEXEC;
    uint8_t *copy = malloc(end - begin);
    int error = copy ? ws_remote_read(pid, begin, copy, end - begin) : -ENOMEM;
    if (error) {
        free(copy);
        return error;
    }
    code->ranges[code->count].begin = begin;
    code->ranges[code->count].end = end;
    code->ranges[code->count++].copy = copy;
    return 0;
}

/* Adds to `code` all code of the libraries whose name begins with `prefix`. */
static int add_library(int pid, struct ws_unsafe_code *code, const struct ws_mappings *mappings, const char *prefix)
{
    for (size_t i = 0; i < mappings->count; i++) {
        const struct ws_mapping *mapping = &mappings->list[i];
        if (!mapping->execute || strncmp(ws_mapping_file(mapping), prefix, strlen(prefix)) != 0)
            continue;
        int error = add_range(pid, code, mapping->begin, mapping->end);
        if (error)
            return error;
    }
    return 0;
}

int ws_unsafe_code_find(int pid, const struct ws_mappings *mappings, const struct ws_remote_library *libc,
                        struct ws_unsafe_code *code)
{
    static const char *const mallocs[] = { "malloc", "free", "realloc", "calloc", "memalign", "aligned_alloc", NULL };
    static const char *const creates[] = { "pthread_create", NULL };
    static const char *const ends[] = { "pthread_exit", NULL };
    static const char *const joins[] = { "pthread_join", "pthread_timedjoin_np", NULL };
    static const char *const *const functions[] = { mallocs, creates, ends, joins };
    static const char *const libraries[] = { "ld-linux", "libjemalloc", "libtcmalloc", "libmimalloc", "libhoard" };
    uint64_t begin, end;
    int error = 0;
    code->count = 0;
    code->creation = WS_UNSAFE_MOST;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !error; i++)
        error = add_library(pid, code, mappings, libraries[i]);
    if (!error && !code->count) /* no loader was found, but every process has a loader */
        error = -ENOEXEC;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && !error; i++)
        if (ws_remote_neighbourhood(libc, functions[i], &begin, &end)) {
            code->creation = functions[i] == creates ? code->count : code->creation;
            error = add_range(pid, code, begin, end);
        }
    if (error)
        ws_unsafe_code_finish(code);
    return error;
}

void ws_unsafe_code_finish(struct ws_unsafe_code *code)
{
    while (code->count)
        free(code->ranges[--code->count].copy);
}

/* Is the instruction at `offset` the first one of a function? The address of a first instruction is safe. On a
 * stack, such an address is a function pointer, for example to free. A thread that is at a first instruction does
 * not hold the function's locks yet. The byte before a function is a return, a trap or padding. */
static bool is_begin(const uint8_t *code, uint64_t offset, uint64_t address)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    if (address % 16)
        return false;
    uint8_t before = offset ? code[offset - 1] : 0xc3;
    return !memcmp(code + offset, endbr64, sizeof(endbr64)) || before == 0xc3 || before == 0xcc || before == 0x90 ||
           !before;
}

static bool is_unsafe(const struct ws_unsafe_code *code, uint64_t word)
{
    for (unsigned i = 0; i < code->count; i++) {
        uint64_t begin = code->ranges[i].begin, end = code->ranges[i].end;
        if (word < begin || word >= end)
            continue;
        bool room = end - word >= 4;
        return !room || !is_begin(code->ranges[i].copy, word - begin, word);
    }
    return false;
}

/* Is this word of the stack the return address of the thread's start routine? The C library calls the start routine
 * through a pointer in the thread's descriptor: call *0x638(%rax), or in other builds call *%fs:0x640. So the word
 * must follow such an indirect call. The code around that call also calls functions that take locks, but by direct
 * calls. */
static bool is_start_of_thread(const struct ws_unsafe_code *code, uint64_t word)
{
    enum { CALL = 0xff, SIB = 4 };
    if (code->creation >= code->count)
        return false;
    uint64_t begin = code->ranges[code->creation].begin, end = code->ranges[code->creation].end;
    if (word < begin + 7 || word >= end)
        return false;
    const uint8_t *behind = code->ranges[code->creation].copy + (word - begin);
    bool by_register = behind[-6] == CALL && (behind[-5] & 0xf8) == 0x90 && (behind[-5] & 7) != SIB;
    return by_register || (behind[-7] == CALL && behind[-6] == 0x14 && behind[-5] == 0x25);
}

/* Has the stack room for pthread_create? Fibers, goroutines and signal handlers may run on small stacks. So only two
 * kinds of stack are accepted: the first thread's stack, which grows, and stacks that pthread_create made. A stack
 * that pthread_create made has the thread's descriptor at its end. */
static bool safe_has_room(const struct ws_mapping *stack, const struct ws_stopped *stopped)
{
    uint64_t pointer = stopped->registers.rsp, descriptor = stopped->registers.fs_base;
    if (!strcmp(stack->path, "[stack]"))
        return true;
    return descriptor > pointer && descriptor < stack->end && pointer - stack->begin >= ROOM_LEAST;
}

bool ws_is_safe(const struct ws_mappings *mappings, const struct ws_stopped *stopped,
                const struct ws_unsafe_code *code)
{
    static uint64_t words[STACK_MOST / sizeof(uint64_t)];
    uint64_t begin = stopped->registers.rsp & ~(uint64_t)7;
    const struct ws_mapping *stack = ws_mapping_at(mappings, begin);
    if (!stack || !safe_has_room(stack, stopped))
        return false;
    /* Other memory may follow the stack in the same mapping, so the stack ends at the thread's descriptor. */
    uint64_t descriptor = stopped->registers.fs_base;
    uint64_t end = descriptor > begin && descriptor < stack->end ? descriptor : stack->end;
    if (end - begin > STACK_MOST || is_unsafe(code, stopped->registers.rip))
        return false;
    size_t count = (end - begin) / sizeof(words[0]);
    if (ws_remote_read(stopped->thread, begin, words, count * sizeof(words[0])))
        return false;
    /* The loop goes from the outermost frame inwards. Only the outermost unsafe word may be the return address of the
     * thread's start routine. `started` becomes true at this word. The first thread has no start routine. */
    bool started = !strcmp(stack->path, "[stack]");
    for (size_t i = count; i-- > 0;) {
        if (!is_unsafe(code, words[i]))
            continue;
        if (started || !is_start_of_thread(code, words[i]))
            return false;
        started = true;
    }
    return true;
}
