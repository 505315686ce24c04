#include "shim/state/phase.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/log.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct shim_page shim_page;
struct ws_options shim_options;
bool shim_one_queue;
_Atomic bool shim_asleep;
bool shim_late;

static _Atomic uint32_t generation; /* number of the latest recording; a forked child keeps this value */
static _Atomic bool aside;          /* the shim has given up recording for good */
static _Atomic uint64_t *children;  /* number of CUDA calls of forked children; lies in memory shared with them */

void shim_page_init(void)
{
    madvise(&shim_page, sizeof(shim_page), MADV_WIPEONFORK);
    void *shared = mmap(NULL, sizeof(*children), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    children = shared == MAP_FAILED ? NULL : shared;
}

void shim_page_reset(void)
{
    atomic_store(&shim_page.phase, 0);
    shim_page.generation = 0;
}

/* shim_page.generation is set before `generation`. Otherwise shim_parent_recorded would return true in other threads
 * for a moment. */
void shim_generation_begins(void)
{
    atomic_store(&shim_page.generation, atomic_load(&generation) + 1);
    atomic_store(&generation, atomic_load(&shim_page.generation));
}

bool shim_ever_started(void)
{
    return atomic_load(&generation) != 0;
}

bool shim_parent_recorded(void)
{
    return atomic_load(&generation) && !atomic_load(&shim_page.generation);
}

bool shim_ends(void)
{
    bool had_ended = atomic_fetch_or(&shim_page.phase, SHIM_ENDED) & SHIM_ENDED;
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING));
    return had_ended;
}

void shim_step_aside(const char *why)
{
    atomic_store(&aside, true);
    atomic_fetch_or(&shim_page.phase, SHIM_ENDED);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_STARTED | SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING));
    if (why)
        ws_warn("%s; the program goes on without being recorded", why);
}

bool shim_is_aside(void)
{
    return atomic_load_explicit(&aside, memory_order_relaxed);
}

void shim_count_child(void)
{
    if (children)
        atomic_fetch_add(children, 1);
}

uint64_t shim_children(void)
{
    return children ? atomic_load(children) : 0;
}
