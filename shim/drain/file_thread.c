#include "shim/drain/file_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/drain/own_table.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"

/* While the drain waits for the file thread: ns between checks whether the file thread still exists. */
enum { LOOK_NS = 1000000000 };

enum job_state { IDLE, ASKED, DONE };

static struct {
    _Atomic uint32_t state; /* enum job_state; a futex */
    int (*work)(void *data);
    void *data;
    int result;
} job;
static _Atomic int32_t thread; /* the file thread's id; 0: no such thread */
static bool started;
static bool own_table; /* the file thread has a descriptor table that the program does not use */
static bool beside;    /* the file thread shares its table with the thread that started it */

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
    /* The id is stored before the system calls below, because a sandbox may kill the thread for one of these calls.
     * is_gone needs the id to notice that the thread was killed. */
    atomic_store(&thread, (int32_t)syscall(SYS_gettid));
    prctl(PR_SET_NAME, "wallshim-file");
    own_table = beside || own_table_take();
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

/* Has the file thread been killed? Signal 0 only checks whether the thread exists. */
static bool is_gone(void)
{
    int32_t id = atomic_load(&thread);
    return id && syscall(SYS_tgkill, getpid(), id, 0) && errno == ESRCH;
}

/* Makes the file thread run work(data), or end if `work` is NULL. Returns false if there is no such thread, or if it
 * has been killed. */
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

static void begin(bool shares_table)
{
    beside = shares_table;
    atomic_store(&job.state, IDLE);
    atomic_store(&thread, 0);
    started = !thread_start(file_thread_main);
}

void file_thread_start(void)
{
    if (!started)
        begin(false);
}

void file_thread_start_beside(void)
{
    if (!started)
        begin(true);
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
