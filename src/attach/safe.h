/* Decides whether a thread that was stopped in a harmless system call (calls.h) may create a thread. No function on
 * its stack may hold a lock that pthread_create takes, and the stack must have room for pthread_create. */
#ifndef WALLSHIM_ATTACH_SAFE_H
#define WALLSHIM_ATTACH_SAFE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/memory.h"
#include "attach/stop.h"

enum { WS_UNSAFE_MOST = 16 };

/* Code in which a thread may hold a lock that pthread_create takes: the code of the loader, of malloc, and of the
 * functions that create, end or join threads. */
struct ws_unsafe_code {
    struct {
        uint64_t begin, end;
        uint8_t *copy;
    } ranges[WS_UNSAFE_MOST];
    unsigned count;
    unsigned creation; /* index in `ranges` of the code around pthread_create; WS_UNSAFE_MOST: none */
};

/* Fills `code`. libc: the library that has malloc and pthread_create. Returns 0 or -errno. */
int ws_unsafe_code_find(int pid, const struct ws_mappings *mappings, const struct ws_remote_library *libc,
                        struct ws_unsafe_code *code);
void ws_unsafe_code_finish(struct ws_unsafe_code *code);

/* Has the stack of a stopped thread room for pthread_create, and does it hold no address in unsafe code? Every word
 * of the stack counts, so the answer is also no if a function that has returned left an unsafe address on the stack.
 * The outermost unsafe address is allowed if it is the return address of the thread's start routine. The code that
 * calls the start routine is in the C library beside pthread_create. */
bool ws_is_safe(const struct ws_mappings *mappings, const struct ws_stopped *stopped,
                const struct ws_unsafe_code *code);

#endif
