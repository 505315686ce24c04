#include "shim/stacks/stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/minmax.h"
#include "shim/stacks/native.h"
#include "shim/stacks/python.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/timing/activity.h"
#include "shim/timing/ticks.h"

enum {
    /* SHARE divided by the option --overhead (in millionths) gives one_in. The factor 4: stacks may take 1/4 of the
     * overhead that a thread may have. */
    SHARE = 4 * 1000000,
    /* The cost of a stack moves the thread's stacks_paid_until into the future. A thread may record a stack if this
     * time is at most SAVED_NS ahead. So a thread may record several stacks in quick succession, and then none for a
     * while. */
    SAVED_NS = 20000000,
    /* The most ns that count as the cost of a new stack. Longer times are cut to this, because the first stacks take
     * unusually long, and a thread may be preempted meanwhile. */
    CHARGED_MOST_NS = 3000,
    /* The ns that count as the cost of a stack found in the thread's cache, and of each of its frames. They are twice
     * what tests/bench measures ("stack"), because the processor's caches are colder in real programs. */
    KNOWN_NS = 13,
    KNOWN_FRAME_NS = 3,
    CODES_MOST = 1 << 17,
    /* Numbers of bits in the key of a frame (frame_id). */
    CODE_BITS = 17,
    OFFSET_BITS = 27,
};

/* Which frames are recorded. TAKEN_NATIVE: native frames, and Python frames if there is an interpreter. */
static enum { TAKEN_NONE, TAKEN_PYTHON, TAKEN_NATIVE } taken;
static bool has_python;
static uint64_t one_in; /* a stack that took t is paid for when the thread has worked for one_in × t (pay) */
static const char *why_not;

/* Both maps are used only with the dictionaries' lock (registry_lock) held. */
static struct ws_map codes = { .limit = CODES_MOST }; /* checksum of the code object → id in the dictionary `code` */
/* Caller, code and offset → id in the dictionary `frame`. */
static struct ws_map frames = { .limit = (size_t)1 << 18 };

/* Starts the recording of native stacks, which needs no Python. */
static void start_native(void)
{
    const char *why_not_native = native_find();
    if (!why_not_native)
        taken = TAKEN_NATIVE;
    else if (!why_not || !*why_not)
        why_not = why_not_native;
}

void stacks_start(void)
{
    if (shim_options.stacks == WS_STACKS_NONE)
        return;
    one_in = SHARE / ws_max(shim_options.overhead, (uint64_t)1);
    why_not = python_find();
    has_python = !why_not;
    taken = has_python ? TAKEN_PYTHON : TAKEN_NONE;
    if (shim_options.stacks == WS_STACKS_NATIVE || shim_options.stacks == WS_STACKS_ALL_NATIVE)
        start_native();
}

/* Do the dictionaries `frame` and `code` have room? If not, no time is spent on reading new stacks. */
static bool has_room(void)
{
    return atomic_load_explicit(&registry.frame.count, memory_order_relaxed) < registry.frame.limit &&
           atomic_load_explicit(&registry.code.count, memory_order_relaxed) < registry.code.limit;
}

const char *stacks_summary(void)
{
    if (has_python && !python_is_read())
        return "Python's memory was not as expected: stacks ended";
    if (taken && !has_room())
        return "there were too many different stacks: later ones are missing";
    return why_not && *why_not ? why_not : NULL;
}

/* --- dictionaries ---------------------------------------------------------------------------------- */

/* Returns the id of the frame's function in the dictionary `code`; 0: no room, or the code object does not have the
 * expected layout. */
static uint32_t code_id(const struct python_frame *frame, bool guarded)
{
    uint64_t *id = ws_map_put(&codes, frame->checksum ? frame->checksum : 1);
    struct python_function function;
    if (!id || *id)
        return id ? (uint32_t)*id : 0;
    if (!python_function_of(frame, guarded, &function))
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

/* Adds the frames to the dictionary `frame`. Returns the id of the innermost frame, or 0. */
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

/* Reads the calling thread's Python stack, and adds it to the dictionary `frame` and to the thread's cache. Returns
 * the id of the innermost frame, or 0. *took: as in stack_here. */
static __attribute__((noinline)) uint32_t new_stack(const void *state, struct stack_entry *entry, uint64_t key,
                                                    uint64_t *took)
{
    struct python_frame stack[PYTHON_DEEPEST];
    if (!state || !python_is_read())
        return 0;
    uint64_t begin = ticks_now();
    int saved_errno = errno;
    unsigned depth = has_room() ? python_frames_here(state, stack) : 0;
    uint32_t frame = depth ? stack_id(stack, depth, false) : 0;
    /* Frame 0 (no frame) is not cached: perhaps only the dictionaries' lock was not free, so the next call tries
     * again. */
    if (key && frame)
        *entry = (struct stack_entry){ key, frame };
    errno = saved_errno;
    *took = ws_min(ticks_now() - begin, ticks_in(CHARGED_MOST_NS));
    return frame;
}

/* Returns the id of the calling thread's innermost Python frame, or 0. *took: the cost of reading the stack, in
 * ticks. There must be an interpreter. */
static inline __attribute__((always_inline)) uint32_t stack_here(struct shim_thread *thread, uint64_t *took)
{
    const void *state = python_thread();
    __atomic_store_n(&thread->python, state, __ATOMIC_RELAXED);
    struct python_key key = state ? python_key(state) : (struct python_key){ 0 };
    struct stack_entry *entry = &thread->stacks[key.hash % STACK_CACHE];
    *took = ticks_in(KNOWN_NS + key.depth * KNOWN_FRAME_NS);
    if (__builtin_expect(key.hash && entry->key == key.hash, 1))
        return entry->frame;
    return new_stack(state, entry, key.hash, took);
}

/* Like stack_here, but with native frames. If the thread has Python frames, the native frames are only those of
 * functions that Python's innermost function has called. */
static __attribute__((noinline)) uint32_t whole_stack_here(struct shim_thread *thread, uint64_t *took)
{
    int saved_errno = errno;
    uint64_t begin = ticks_now();
    uint32_t frame = native_stack(thread, has_python ? stack_here(thread, took) : 0);
    *took = ws_min(ticks_now() - begin, ticks_in(CHARGED_MOST_NS));
    errno = saved_errno;
    return frame;
}

static bool is_limited(void)
{
    return shim_options.stacks < WS_STACKS_ALL;
}

/* Counts the cost of a stack: `took` ticks. The cost delays the thread's next stack. */
static void pay(struct shim_thread *thread, uint64_t now, uint64_t took)
{
    if (is_limited())
        thread->stacks_paid_until =
            ws_max(thread->stacks_paid_until, now) + activity_stretch(thread, now, took * one_in);
    __atomic_store_n(&thread->measuring.spent, thread->measuring.spent + took, __ATOMIC_RELAXED);
}

static bool is_paid(const struct shim_thread *thread, uint64_t now)
{
    return !is_limited() || thread->stacks_paid_until <= now + ticks_in(SAVED_NS);
}

/* Returns the ring's next slot, or NULL if the ring is full. ws_ring_reserve_one is not used, because it would count
 * a stack that does not fit as a lost operation. */
static void *place_in(const struct ws_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    /* the drain has read the slots before `tail` */
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    bool fits = ws_ring_has_room(ring, head + 1) || head < tail + ring->mask + 1;
    return fits ? ws_ring_slot(ring, head) : NULL;
}

void stack_note(struct shim_thread *thread, uint64_t begin, uint64_t now, uint32_t shape)
{
    if (taken && is_paid(thread, now))
        stack_note_captured(thread, begin, now, shape);
}

void stack_note_captured(struct shim_thread *thread, uint64_t begin, uint64_t now, uint32_t shape)
{
    uint64_t took;
    uint32_t frame;
    struct ws_ring_stack *record = place_in(&thread->ring);
    if (!record)
        return;
    if (taken == TAKEN_PYTHON)
        frame = stack_here(thread, &took);
    else if (taken == TAKEN_NATIVE)
        frame = whole_stack_here(thread, &took);
    else
        return;
    if (frame) {
        *record = (struct ws_ring_stack){ .header = { .kind = WS_RING_STACK, .slots = 1, .shape = shape },
                                          .ticks = begin,
                                          .frame = frame };
        ws_ring_commit(&thread->ring, 1);
    }
    pay(thread, now, took);
}

/* --- from the drain ----------------------------------------------------------------------------------- */

/* The drain reads a thread's frames twice, and the thread may run meanwhile. So only the outer frames that are the
 * same in both readings are used. Returns the number of these frames. */
static unsigned settled_frames(const struct python_frame *first, unsigned count, const struct python_frame *second,
                               unsigned count_second)
{
    unsigned same = 0;
    while (same < count && same < count_second) {
        const struct python_frame *a = &first[count - 1 - same], *b = &second[count_second - 1 - same];
        if (a->code != b->code || a->checksum != b->checksum)
            break;
        same++;
        /* Different offsets: between the readings, this frame's function has executed more instructions. So the
         * functions that it had called have returned, and their frames are not used. */
        if (a->offset != b->offset)
            break;
    }
    return same;
}

bool stack_of_pause(struct shim_thread *thread, uint32_t *frame)
{
    static struct python_frame first[PYTHON_DEEPEST], second[PYTHON_DEEPEST];
    const void *state = __atomic_load_n(&thread->python, __ATOMIC_RELAXED);
    if (!taken || !python_is_read() || !state || !has_room())
        return false;
    unsigned count = python_frames_of(state, first);
    if (!count || count == PYTHON_DEEPEST)
        return false;
    unsigned same = settled_frames(first, count, second, python_frames_of(state, second));
    *frame = same ? stack_id(first + count - same, same, true) : 0;
    return *frame != 0;
}
