#include "shim/drain/file_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/drain/folder.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"

/* glibc before 2.34 does not declare this system call. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE */

enum { LOOK_NS = 1000000000 }; /* while the drain waits: how often it checks whether the thread still exists */

enum job_state { IDLE, ASKED, DONE };

static struct {
    _Atomic uint32_t state; /* enum job_state; a futex */
    int (*work)(void *data);
    void *data;
    int result;
} job;
static _Atomic int32_t thread; /* the file thread's id; 0: no such thread */
static bool started;
static bool own_table; /* the thread has a descriptor table of its own */

/* --- the thread's own descriptor table ---------------------------------------------------------- */

static void close_one(int folder, const char *name, void *unused)
{
    (void)unused;
    int fd = *name >= '0' && *name <= '9' ? atoi(name) : folder;
    if (fd != folder)
        close(fd);
}

/* Closes all descriptors that are listed in /proc/…/fd. folder: the descriptor of that directory, which is closed
 * last. */
static void close_listed(int folder)
{
    folder_each(folder, close_one, NULL);
    close(folder);
}

/* Gives the thread an empty descriptor table of its own. A full copy of the program's table would keep the program's
 * pipes and sockets open. If this fails, the thread shares the program's table. */
static void take_own_table(void)
{
    char path[64];
    own_table = !syscall(SYS_close_range, 0, ~0U, UNSHARE);
    if (own_table)
        return;
    /* close_range failed: Linux is older than 5.9, or a sandbox forbids the call. */
    snprintf(path, sizeof(path), "/proc/self/task/%ld/fd", (long)syscall(SYS_gettid));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
    if (folder < 0 || unshare(CLONE_FILES))
        return;
    own_table = true;
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* from here on, only this thread's table changes */
    if (folder >= 0)
        close_listed(folder);
}

/* --- the thread -------------------------------------------------------------------------------- */

static void set_state(uint32_t state)
{
    atomic_store(&job.state, state);
    futex_wake(&job.state);
}

static void *file_thread_main(void *unused)
{
    (void)unused;
    thread_self.ours = true;
    /* Set before any system call for which a sandbox may kill the thread. */
    atomic_store(&thread, (int32_t)syscall(SYS_gettid));
    prctl(PR_SET_NAME, "wallshim-file");
    take_own_table();
    for (;;) {
        uint32_t state;
        while ((state = atomic_load(&job.state)) != ASKED)
            futex_wait_forever(&job.state, state);
        int (*work)(void *) = job.work;
        job.result = work ? work(job.data) : 0;
        if (!work)
            atomic_store(&thread, 0);
        set_state(DONE);
        if (!work)
            return NULL;
    }
}

/* Has the thread been killed? Signal 0 only checks whether the thread exists. */
static bool is_gone(void)
{
    int32_t id = atomic_load(&thread);
    return id && syscall(SYS_tgkill, getpid(), id, 0) && errno == ESRCH;
}

/* Makes the thread run work(data), or end if `work` is NULL. Returns false if there is no thread, or if it has been
 * killed. */
static bool ask(int (*work)(void *data), void *data)
{
    if (!started)
        return false;
    job.work = work;
    job.data = data;
    set_state(ASKED);
    while (atomic_load(&job.state) == ASKED) {
        futex_wait(&job.state, ASKED, LOOK_NS);
        if (is_gone()) {
            atomic_store(&thread, 0);
            started = false;
            return false;
        }
    }
    atomic_store(&job.state, IDLE);
    return true;
}

void file_thread_start(void)
{
    atomic_store(&job.state, IDLE);
    atomic_store(&thread, 0);
    started = !thread_start(file_thread_main);
}

static bool is_this_thread(void)
{
    return atomic_load(&thread) == (int32_t)syscall(SYS_gettid);
}

bool file_thread_has_table(void)
{
    return is_this_thread() && own_table;
}

int file_thread_do(int (*work)(void *data), void *data)
{
    return !is_this_thread() && ask(work, data) ? job.result : work(data);
}

void file_thread_end(void)
{
    ask(NULL, NULL);
    started = false;
}

unsigned file_thread_count(void)
{
    return atomic_load(&thread) != 0;
}
