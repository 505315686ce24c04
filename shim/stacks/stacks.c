#include "shim/stacks/stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/minmax.h"
#include "shim/stacks/python.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/timing/ticks.h"

enum {
    /* The share of a thread's time that stacks may take: 1/4 of --overhead, which is in millionths. */
    SHARE = 4 * 1000000,
    SAVED_NS = 20000000,    /* time that a thread may have saved up for stacks, multiplied by that share */
    CHARGED_MOST_NS = 3000, /* most that is charged for a stack: the first ones take longer, and a thread may be
                                preempted */
    CODES_MOST = 1 << 17,
    /* The parts of a frame's key. */
    CODE_BITS = 17,
    OFFSET_BITS = 27,
};

static bool is_on;
static const char *why_not;

/* With the registry's lock. */
static struct ws_map codes = { .limit = CODES_MOST };       /* hash of address and checksum → id */
static struct ws_map frames = { .limit = (size_t)1 << 18 }; /* caller, code and offset → id */

void stacks_start(void)
{
    if (shim_options.stacks == WS_STACKS_NONE)
        return;
    why_not = python_find();
    is_on = !why_not;
}

/* Once a dictionary is full, new stacks must not cost a look into it each. */
static bool has_room(void)
{
    return atomic_load_explicit(&registry.frame.count, memory_order_relaxed) < registry.frame.limit &&
           atomic_load_explicit(&registry.code.count, memory_order_relaxed) < registry.code.limit;
}

const char *stacks_summary(void)
{
    if (is_on && !python_is_read())
        return "Python's memory was not as expected: stacks ended";
    if (is_on && !has_room())
        return "there were too many different stacks: later ones are missing";
    return why_not && *why_not ? why_not : NULL;
}

/* --- dictionaries ---------------------------------------------------------------------------------- */

/* Returns the function's id; 0: there is no room, or the code object is not as expected. */
static uint32_t code_id(const struct python_frame *frame, bool guarded)
{
    const uint64_t words[] = { (uintptr_t)frame->code, frame->checksum };
    uint64_t *id = ws_map_put(&codes, ws_hash_key(words, sizeof(words)));
    struct python_function function;
    if (!id || *id)
        return id ? (uint32_t)*id : 0;
    if (!python_function(frame, guarded, &function))
        return 0;
    struct ws_code row = { .first_line = function.first_line,
                           .coding = function.coding,
                           .name = registry_text(function.name),
                           .file = registry_text(function.file),
                           .lines = registry_bytes(function.lines, function.lines_size) };
    return (uint32_t)(*id = registry_add(&registry.code, &row));
}

static uint32_t frame_id(uint32_t caller, uint32_t code, uint32_t offset)
{
    offset = ws_min(offset, (1u << OFFSET_BITS) - 1);
    uint64_t key = ((uint64_t)caller << CODE_BITS | code) << OFFSET_BITS | offset;
    uint64_t *id = code ? ws_map_put(&frames, key) : NULL;
    if (!id)
        return 0;
    if (!*id)
        *id = registry_add(&registry.frame, &(struct ws_frame){ .caller = caller, .code = code, .offset = offset });
    return (uint32_t)*id;
}

/* Returns the id of the innermost frame, or 0. */
static uint32_t stack_id(const struct python_frame *stack, unsigned depth, bool guarded)
{
    uint32_t id = 0;
    if (!registry_lock())
        return 0;
    for (unsigned i = depth; i--;) {
        uint32_t code = code_id(&stack[i], guarded);
        id = code ? frame_id(id, code, stack[i].offset) : 0;
    }
    registry_unlock();
    return id;
}

/* --- the calling thread ------------------------------------------------------------------------------ */

static uint64_t key_of(const struct python_frame *stack, unsigned depth)
{
    uint64_t key = depth;
    for (unsigned i = 0; i < depth; i++)
        key = key * 0x9e3779b97f4a7c15u +
              ((stack[i].checksum ^ (uintptr_t)stack[i].code) + ((uint64_t)stack[i].offset << 40)) *
                  0xff51afd7ed558ccdu;
    key ^= key >> 32;
    return key ? key : 1;
}

/* Returns the id of the calling thread's innermost frame; 0: it runs no Python. */
static uint32_t stack_here(struct shim_thread *thread)
{
    struct python_frame stack[PYTHON_DEEPEST];
    const void *state = python_thread();
    __atomic_store_n(&thread->python, state, __ATOMIC_RELAXED);
    unsigned depth = state ? python_frames_here(state, stack) : 0;
    if (!depth)
        return 0;
    uint64_t key = key_of(stack, depth);
    struct stack_entry *entry = &thread->stacks[key % STACK_CACHE];
    if (entry->key != key && has_room())
        *entry = (struct stack_entry){ key, stack_id(stack, depth, false) };
    return entry->key == key ? entry->frame : 0;
}

/* Stacks are paid for with the time that has passed since the last ones. */
static void pay(struct shim_thread *thread, uint64_t now, uint64_t took)
{
    uint64_t charged = ws_min(took, ticks_in(CHARGED_MOST_NS));
    thread->stacks_paid_until =
        ws_max(thread->stacks_paid_until, now) + charged * (SHARE / ws_max(shim_options.overhead, (uint64_t)1));
    __atomic_store_n(&thread->measuring.spent, thread->measuring.spent + charged, __ATOMIC_RELAXED);
}

static bool is_paid(const struct shim_thread *thread, uint64_t now)
{
    return shim_options.stacks == WS_STACKS_ALL || thread->stacks_paid_until <= now + ticks_in(SAVED_NS);
}

void stack_note(struct shim_thread *thread, uint64_t ticks, uint32_t shape)
{
    if (!is_on || !python_is_read())
        return;
    uint64_t now = ticks_now();
    struct ws_ring *ring = &thread->ring;
    /* A full ring would count the stack as a lost operation. */
    if (!is_paid(thread, now) || !ws_ring_has_room(ring, atomic_load_explicit(&ring->head, memory_order_relaxed) + 1))
        return;
    int saved_errno = errno;
    uint32_t frame = stack_here(thread);
    struct ws_ring_stack *record = frame ? ws_ring_reserve(ring, 1) : NULL;
    if (record) {
        *record = (struct ws_ring_stack){ .header = { .kind = WS_RING_STACK, .slots = 1, .shape = shape },
                                          .ticks = ticks,
                                          .frame = frame };
        ws_ring_commit(ring, 1);
    }
    errno = saved_errno;
    pay(thread, now, ticks_now() - now);
}

/* --- from the drain ----------------------------------------------------------------------------------- */

/* The thread may run meanwhile. So only what two readings agree on is taken: the frames from the outermost one on. */
static unsigned settled_frames(const struct python_frame *first, unsigned count, const struct python_frame *second,
                               unsigned count_second)
{
    unsigned same = 0;
    while (same < count && same < count_second) {
        const struct python_frame *a = &first[count - 1 - same], *b = &second[count_second - 1 - same];
        if (a->code != b->code || a->checksum != b->checksum)
            break;
        same++;
        if (a->offset != b->offset) /* the frame runs: what it called has ended */
            break;
    }
    return same;
}

bool stack_of_pause(struct shim_thread *thread, uint32_t *frame)
{
    static struct python_frame first[PYTHON_DEEPEST], second[PYTHON_DEEPEST];
    const void *state = __atomic_load_n(&thread->python, __ATOMIC_RELAXED);
    if (!is_on || !python_is_read() || !state || !has_room())
        return false;
    unsigned count = python_frames_of(state, first);
    if (!count || count == PYTHON_DEEPEST)
        return false;
    unsigned same = settled_frames(first, count, second, python_frames_of(state, second));
    *frame = same ? stack_id(first + count - same, same, true) : 0;
    return *frame != 0;
}
