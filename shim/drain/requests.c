#include "shim/drain/requests.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "shim/state/futex.h"
#include "shim/state/phase.h"
#include "shim/state/wake.h"

enum { PLACES = 64, KIND_SHIFT = 24, NUMBER_SHIFT = 32 };

/* Each entry is a request, as number << 32 | kind << 24 | context; 0: the entry is free. The asking thread sets an
 * entry, and the drain clears the entry. So no entry stays occupied if the asking thread has ended. */
static _Atomic uint64_t places[PLACES];
static _Atomic uint32_t numbers;
static _Atomic uint32_t answers; /* a futex: the number of answers so far */
static _Atomic bool ended = true;

static bool put(uint64_t word, unsigned *at)
{
    for (*at = 0; *at < PLACES; ++*at) {
        uint64_t free_place = 0;
        if (atomic_compare_exchange_strong(&places[*at], &free_place, word))
            return true;
    }
    return false;
}

void request_ask(enum request_kind kind, uint32_t context, int64_t deadline_ns)
{
    int saved_errno = errno;
    int64_t deadline = ws_clock_ns() + deadline_ns, now;
    uint64_t number = atomic_fetch_add(&numbers, 1) + 1u;
    uint64_t word = number << NUMBER_SHIFT | (uint64_t)kind << KIND_SHIFT | context;
    unsigned at;
    if (!atomic_load(&ended) && put(word, &at)) {
        wake_drain_now();
        while ((now = ws_clock_ns()) < deadline) {
            uint32_t seen = atomic_load(&answers);
            if (atomic_load(&places[at]) != word || atomic_load(&ended) || !shim_page.generation)
                break;
            futex_wait(&answers, seen, deadline - now);
        }
        /* If there was no answer in time, withdraws the request: the request's context or its events may no longer
         * exist when the drain would carry it out. */
        uint64_t asked = word;
        atomic_compare_exchange_strong(&places[at], &asked, 0);
    }
    errno = saved_errno;
}

struct request request_next(void)
{
    struct request first = { 0 };
    for (unsigned at = 0; at < PLACES; at++) {
        uint64_t word = atomic_load(&places[at]);
        if (word && (!first.word || word < first.word))
            first = (struct request){ word, (enum request_kind)(word >> KIND_SHIFT & 0xff),
                                      (uint32_t)(word & ((1u << KIND_SHIFT) - 1)) };
    }
    return first;
}

static void tell(void)
{
    atomic_fetch_add(&answers, 1);
    futex_wake_all(&answers);
}

void request_answer(struct request request)
{
    for (unsigned at = 0; at < PLACES; at++) {
        uint64_t word = request.word;
        atomic_compare_exchange_strong(&places[at], &word, 0);
    }
    tell();
}

void requests_end(void)
{
    atomic_store(&ended, true);
    tell();
}

void requests_begin(void)
{
    for (unsigned at = 0; at < PLACES; at++)
        atomic_store(&places[at], 0);
    atomic_store(&ended, false);
}
