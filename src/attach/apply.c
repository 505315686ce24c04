#include "attach/apply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attach/spans.h"
#include "attach/stop.h"

enum {
    TRIES = 50,
    PAUSE_NS = 1000000,
    /* A thread in a long system call stops late, and all other threads stand still until it stops. So each attempt
     * has a time limit, after which it fails and all threads continue. The limit is FIRST_NS at first, and doubles
     * after every TRIES_ALIKE attempts. */
    FIRST_NS = 300000,
    TRIES_ALIKE = 6,
    STACK_MOST = 256 << 10,
};

static struct ws_stopped_all all;

/* Returns 0 if the shim waits for the patches; -ESRCH; or -ETIMEDOUT: the shim has given up waiting. */
static int look_at_state(const struct ws_patching *patching)
{
    uint32_t state;
    if (pread(patching->memory, &state, sizeof(state), (off_t)patching->state_at) != sizeof(state))
        return -ESRCH;
    return state == WS_LATE_PREPARED ? 0 : -ETIMEDOUT;
}

/* Writes the jumps, unless the shim has given up waiting for them. The shim's thread is stopped now, so the shim
 * cannot give up between the check and the writes. */
static int write_if_prepared(const struct ws_patching *patching, struct ws_spans *spans)
{
    const uint32_t state = WS_LATE_APPLIED;
    int error = look_at_state(patching);
    if (!error)
        error = ws_spans_read(spans, patching->process->pid, patching->memory);
    if (error)
        return error;
    error = ws_spans_write(spans, patching->memory, true);
    if (!error && pwrite(patching->memory, &state, sizeof(state), (off_t)patching->state_at) != sizeof(state))
        error = -EIO;
    if (error)
        ws_spans_write(spans, patching->memory, false);
    return error;
}

/* Is the address inside code that a jump will overwrite? The first byte does not count, because a thread at the
 * first byte will simply execute the jump. */
static bool is_within(const struct ws_late_patch *patches, uint32_t count, uint64_t address)
{
    for (uint32_t i = 0; i < count; i++)
        if (address > patches[i].begin && address < patches[i].end)
            return true;
    return false;
}

/* Does the stack hold an address inside code that a jump will overwrite? Such an address is no return address,
 * because no call returns into that code. The kernel saved it on the stack when a signal handler interrupted the
 * thread there. */
static bool is_on_stack(int pid, const struct ws_stopped_all *stopped, size_t thread,
                        const struct ws_late_patch *patches, uint32_t count, uint64_t low, uint64_t high)
{
    static uint64_t words[STACK_MOST / sizeof(uint64_t)];
    uint64_t begin = stopped->stacks[thread] & ~(uint64_t)7, end = begin + STACK_MOST;
    if (stopped->descriptors[thread] > begin && stopped->descriptors[thread] < end)
        end = stopped->descriptors[thread] & ~(uint64_t)7;
    struct iovec here = { words, end - begin }, there = { (void *)(uintptr_t)begin, end - begin };
    /* process_vm_readv reads fewer bytes if some of this memory is not mapped. */
    ssize_t size = process_vm_readv(pid, &here, 1, &there, 1, 0);
    for (ssize_t i = 0; i < size / (ssize_t)sizeof(words[0]); i++)
        if (words[i] > low && words[i] < high && is_within(patches, count, words[i]))
            return true;
    return false;
}

static bool any_is_within(const struct ws_patching *patching)
{
    const struct ws_late_patch *patches = patching->patches;
    uint32_t count = patching->count;
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = patches[i].begin < low ? patches[i].begin : low;
        high = patches[i].end > high ? patches[i].end : high;
    }
    for (size_t i = 0; i < all.count; i++)
        if (all.state[i] == WS_STANDS && all.threads[i] != patching->ours &&
            (is_within(patches, count, all.places[i]) ||
             (patching->process->handles_signals &&
              is_on_stack(patching->process->pid, &all, i, patches, count, low, high))))
            return true;
    return false;
}

/* Makes one attempt to stop all threads of the process and write the jumps. ws_urgent_begin blocks signals, because
 * this command must not end while only some jumps are written. */
static int try_once(const struct ws_patching *patching, struct ws_spans *spans, int64_t patience,
                    int64_t *stood_still)
{
    struct ws_urgent urgent;
    ws_urgent_begin(&urgent);
    int error = ws_stop_all(patching->process->pid, 0, patience, &all);
    if (!error && any_is_within(patching))
        error = -EAGAIN;
    if (!error)
        error = write_if_prepared(patching, spans);
    int64_t stood = ws_let_go_all(&all);
    ws_urgent_end(&urgent);
    *stood_still = stood > *stood_still ? stood : *stood_still;
    return error;
}

int ws_apply_patches(const struct ws_patching *patching, int64_t *stood_still)
{
    struct ws_spans spans;
    memset(&all, 0, sizeof(all)); /* so that the page faults of `all` occur now, not while threads stand still */
    int error = ws_spans_make(patching->patches, patching->count, &spans);
    if (!error)
        error = look_at_state(patching);
    if (!error)
        error = ws_spans_touch(&spans, patching->process->pid, patching->memory);
    if (!error)
        error = -EAGAIN;
    for (int i = 0; error == -EAGAIN && i < TRIES; i++) {
        if (i)
            nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
        error = try_once(patching, &spans, (int64_t)FIRST_NS << i / TRIES_ALIKE, stood_still);
    }
    ws_spans_finish(&spans);
    return error;
}
