#include "shim/drain/session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "shim/state/futex.h"
#include "shim/state/wake.h"

static const int64_t BEGIN_DEADLINE_NS = 5000000000;

/* States of the request for a session. The control thread sets ASKED. If the drain has not taken the request by the
 * deadline, the control thread sets NONE again. The drain sets the other states: TAKEN, then RUNS or REFUSED, and
 * OVER after RUNS. */
enum session_state { NONE, ASKED, TAKEN, RUNS, OVER, REFUSED };

static _Atomic uint32_t state; /* enum session_state; a futex */
static _Atomic bool told; /* session_tell_end was called, or session_begin has timed out: the session is to end */
static struct session_wish wanted;
static int refused_for; /* -errno: why the session did not begin; written before `state` becomes REFUSED */
static int64_t until;   /* host ns at which the session ends; INT64_MAX: never. Used only by the drain */
static enum session_end ended_by;
static _Atomic unsigned threads;

static void set_state(uint32_t next)
{
    atomic_store(&state, next);
    futex_wake_all(&state);
}

int session_begin(const struct session_wish *wish)
{
    uint32_t seen = atomic_load(&state);
    /* The drain still handles the request of an earlier call that has timed out, or a session runs. */
    if (seen == ASKED || seen == TAKEN || seen == RUNS)
        return -EBUSY;
    wanted = *wish;
    atomic_store(&told, false);
    set_state(ASKED);
    wake_drain_now();
    int64_t deadline = ws_clock_ns() + BEGIN_DEADLINE_NS, now;
    while (((seen = atomic_load(&state)) == ASKED || seen == TAKEN) && (now = ws_clock_ns()) < deadline)
        futex_wait(&state, seen, deadline - now);
    uint32_t asked = ASKED;
    if (atomic_compare_exchange_strong(&state, &asked, NONE))
        return -ETIMEDOUT;
    if (seen == TAKEN) { /* the drain is beginning the session; `told` makes it end the session at once */
        atomic_store(&told, true);
        return -EINPROGRESS;
    }
    return seen == REFUSED ? refused_for : 0;
}

void session_tell_end(void)
{
    atomic_store(&told, true);
    wake_drain_now();
}

bool session_runs(enum session_end *end)
{
    uint32_t seen = atomic_load(&state);
    if (seen == OVER) /* while the state is not OVER, the drain may be writing ended_by */
        *end = ended_by;
    return seen == RUNS;
}

void session_count_thread(int change)
{
    atomic_fetch_add(&threads, (unsigned)change);
}

unsigned session_thread_count(void)
{
    return atomic_load_explicit(&threads, memory_order_relaxed);
}

const struct session_wish *session_wanted(void)
{
    uint32_t asked = ASKED;
    return atomic_load_explicit(&state, memory_order_relaxed) == ASKED &&
                   atomic_compare_exchange_strong(&state, &asked, TAKEN)
               ? &wanted
               : NULL;
}

void session_began(int error, int64_t now)
{
    refused_for = error;
    until = wanted.duration_ns && wanted.duration_ns < (uint64_t)(INT64_MAX - now) ? now + (int64_t)wanted.duration_ns
                                                                                   : INT64_MAX;
    set_state(error ? REFUSED : RUNS);
}

bool session_is_over(int64_t now)
{
    return atomic_load_explicit(&state, memory_order_relaxed) == RUNS && (atomic_load(&told) || now >= until);
}

int64_t session_due_in(int64_t now)
{
    bool bounded = atomic_load_explicit(&state, memory_order_relaxed) == RUNS && until != INT64_MAX;
    return bounded ? until - now : INT64_MAX;
}

void session_ended(bool process_ends)
{
    if (atomic_load(&state) != RUNS)
        return;
    ended_by = process_ends ? SESSION_PROCESS_ENDS : atomic_load(&told) ? SESSION_TOLD : SESSION_DURATION;
    set_state(OVER);
}
