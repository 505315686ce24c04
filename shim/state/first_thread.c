#include "shim/state/first_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

/* The address of the thread id of the program's first thread (the thread that runs main). The C library has told the
 * kernel this address (set_tid_address(2)). If the first thread ends before the process, the kernel sets the id at
 * this address to 0. NULL: the address is not known. */
static const _Atomic int *first_thread_id;

/* The offset of a thread's id in the C library's descriptor of the thread. pthread_self() points to the calling
 * thread's descriptor. */
static intptr_t place_in_thread;
enum { THREAD_RECORD_SIZE = 16384 }; /* more bytes than the C library's descriptor of a thread has (about 2,300) */

void first_thread_watch(void)
{
    const _Atomic int *place = NULL;
    long self = syscall(SYS_gettid);
    if (self == getpid() && !prctl(PR_GET_TID_ADDRESS, &place, 0L, 0L, 0L) && place && atomic_load(place) == self)
        first_thread_id = place;
    place_in_thread = (intptr_t)place - (intptr_t)pthread_self();
}

/* In a forked child, the first thread is the thread that forked. Its id is in its own descriptor, at the same offset
 * (place_in_thread). So the id's address is computed from pthread_self() and this offset. The child does not ask the
 * kernel, because a sandbox may forbid the prctl call. */
void first_thread_after_fork(void)
{
    if (place_in_thread < 0 || place_in_thread >= THREAD_RECORD_SIZE)
        first_thread_id = NULL;
    if (first_thread_id)
        first_thread_id = (const _Atomic int *)((intptr_t)pthread_self() + place_in_thread);
}

bool first_thread_may_be_gone(void)
{
    return !first_thread_id || !atomic_load_explicit(first_thread_id, memory_order_relaxed);
}

bool first_thread_left_alone(int64_t now, unsigned others)
{
    static int64_t next_look;
    if (!first_thread_may_be_gone() || now < next_look)
        return false;
    next_look = now + FIRST_THREAD_LOOK_NS;
    char text[512], state;
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    const char *after_name = strrchr(text, ')');
    long threads;
    /* While other threads live, an ended first thread stays as a zombie. /proc counts the zombie, too, so 2 stands
     * for the zombie and the calling thread. */
    return after_name &&
           sscanf(after_name, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
                  &threads) == 2 &&
           state == 'Z' && threads == 2 + (long)others;
}
