#include "shim/stacks/native.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "shim/stacks/modules.h"
#include "shim/stacks/stack_memory.h"
#include "shim/stacks/unwind.h"
#include "shim/state/registry.h"

enum {
    DEEPEST = 64, /* most frames that are recorded of one stack: the innermost ones */
    /* Most frames that are visited to read a stack: the shim's own frames are visited, but not kept. */
    STEPS_MOST = 128,
    SEEN_MOST = 8, /* most modules that are remembered while a stack is read (walk.seen) */
};

/* A frame's module and its offset in the module, in one word, so that two frames are compared by one comparison. */
typedef uint64_t native_frame;

static native_frame make_frame(uint32_t module, uint64_t offset)
{
    return (uint64_t)module << 32 | (uint32_t)offset;
}

struct walk {
    struct shim_thread *thread;
    struct unwind_memory memory;
    struct unwind_at at;
    /* Modules that were found to be still loaded, since this walk (the reading of a stack) began. */
    uint32_t seen[SEEN_MOST];
    unsigned seen_count;
};

/* How walks (readings of a stack) end. */
#define ENDS(E)                                       \
    E(WHOLE, NULL)                                    \
    E(NO_MODULE, "in code that belongs to no module") \
    E(NO_RULE, "in code without unwind tables")       \
    E(BAD_STACK, "where the stack could not be read")
enum end {
#define END(name, text) END_##name,
    ENDS(END)
#undef END
        END_KINDS
};
static _Atomic uint64_t ends[END_KINDS];

/* Hash of caller, module and offset → the frame's id in the dictionary `frame`. Used only with the dictionaries' lock
 * (registry_lock) held. */
static struct ws_map native_frames = { .limit = (size_t)1 << 18 };

const char *native_find(void)
{
    struct elf_module ours;
#ifndef __x86_64__
    return "native stacks need an x86-64 processor";
#endif
    if (!elf_module_at(&native_frames, &ours))
        return "native stacks need glibc 2.35 or later";
    return stack_memory_works() ? NULL : "the kernel does not tell which memory can be read";
}

/* --- one walk ------------------------------------------------------------------------------------------ */

/* Returns the instruction, stack and frame pointer of the function into which this one is inlined. */
static inline __attribute__((always_inline)) struct unwind_at registers_here(void)
{
    struct unwind_at at = { .has_bp = true };
#ifdef __x86_64__
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(at.pc), "=&r"(at.sp), "=&r"(at.bp));
#endif
    return at;
}

/* Does the address still lie in this module? While a stack is read, the loader is asked only once about each
 * module. */
static bool is_loaded(struct walk *walk, uint32_t module, uintptr_t address)
{
    for (unsigned i = 0; i < walk->seen_count; i++)
        if (walk->seen[i] == module)
            return true;
    if (!module_is_at(module, address))
        return false;
    if (walk->seen_count < SEEN_MOST)
        walk->seen[walk->seen_count++] = module;
    return true;
}

static bool learn(struct native_entry *entry, uintptr_t pc)
{
    uint32_t module = module_at(pc);
    /* pc 0 marks the entry as invalid until it is complete, because a signal handler may leave this function by
     * longjmp before that. */
    entry->pc = 0;
    if (module == MODULE_NONE)
        return false;
    struct cfi_rule rule = cfi_find(&module_of(module)->table, pc);
    *entry = (struct native_entry){ .module = module,
                                    .frame = rule.frame,
                                    .bp = rule.bp,
                                    .frame_offset = rule.frame_offset,
                                    .bp_offset = rule.bp_offset };
    atomic_signal_fence(memory_order_release);
    entry->pc = pc;
    return true;
}

/* Returns the module and the unwind rule of the instruction at pc. NULL: the instruction is in no module. */
static const struct native_entry *entry_of(struct walk *walk, uintptr_t pc)
{
    struct native_entry *entry = &walk->thread->native[pc * 0x9e3779b97f4a7c15u >> 54];
    _Static_assert(NATIVE_CACHE == 1 << (64 - 54), "the shift fits");
    if (entry->pc == pc && is_loaded(walk, entry->module, pc))
        return entry;
    return learn(entry, pc) ? entry : NULL;
}

static bool step(struct walk *walk, const struct native_entry *entry, enum end *end)
{
    struct cfi_rule rule = { entry->frame, entry->bp, entry->frame_offset, entry->bp_offset };
    switch (unwind_step(&rule, &walk->memory, &walk->at)) {
    case UNWIND_STEPPED:
        if (rule.frame == CFI_SIGNAL) /* the signal handler may have run on a stack of its own */
            walk->memory = stack_memory(&walk->thread->own_stack, walk->at.sp);
        return true;
    case UNWIND_OUTERMOST:
        *end = END_WHOLE;
        return false;
    case UNWIND_NO_RULE:
        *end = END_NO_RULE;
        return false;
    default:
        *end = END_BAD_STACK;
        return false;
    }
}

/* Stores the thread's native frames, innermost first, and returns their number. to_python: stops at the innermost
 * frame of the Python interpreter, so that only native functions called by Python's innermost function are stored. */
static unsigned frames_here(struct walk *walk, bool to_python, native_frame *frames)
{
    unsigned count = 0;
    enum end end = END_WHOLE;
    for (unsigned steps = 0; steps < STEPS_MOST && count < DEEPEST; steps++) {
        uintptr_t pc = unwind_instruction(&walk->at);
        const struct native_entry *entry = entry_of(walk, pc);
        if (!entry) {
            end = END_NO_MODULE;
            break;
        }
        const struct native_module *module = module_of(entry->module);
        if (to_python && module->is_interpreter)
            break;
        if (!module->is_ours)
            frames[count++] = make_frame(entry->module, pc - module->loaded.low);
        if (!step(walk, entry, &end))
            break;
    }
    atomic_fetch_add_explicit(&ends[end], 1, memory_order_relaxed);
    return count;
}

/* --- dictionaries -------------------------------------------------------------------------------------- */

static uint32_t frame_id(uint32_t caller, native_frame frame)
{
    const struct native_module *module = module_of((uint32_t)(frame >> 32));
    uint32_t offset = (uint32_t)frame;
    const uint32_t words[] = { caller, module->code, offset };
    uint64_t *id = ws_map_put(&native_frames, ws_hash_key(words, sizeof(words)));
    if (!id)
        return 0;
    if (!*id)
        *id = registry_add(&registry.frame,
                           &(struct ws_frame){ .caller = caller, .code = module->code, .offset = offset });
    return (uint32_t)*id;
}

static uint32_t stack_id(uint32_t python, const native_frame *frames, unsigned count)
{
    uint32_t id = python;
    if (!registry_lock())
        return 0;
    while (count--) {
        uint32_t inner = frame_id(id, frames[count]);
        if (!inner) /* the dictionary is full: the stack then ends at the last frame that was added */
            break;
        id = inner;
    }
    registry_unlock();
    return id;
}

static bool has_room(void)
{
    return atomic_load_explicit(&registry.frame.count, memory_order_relaxed) < registry.frame.limit;
}

static uint64_t key_of(uint32_t python, const native_frame *frames, unsigned count)
{
    uint64_t key = (uint64_t)python << 8 | count;
    for (unsigned i = 0; i < count; i++) {
        key = (key ^ frames[i]) * 0x9e3779b97f4a7c15u;
        key ^= key >> 32;
    }
    return key ? key : 1;
}

__attribute__((noinline)) uint32_t native_stack(struct shim_thread *thread, uint32_t python)
{
    native_frame frames[DEEPEST];
    struct walk walk = { .thread = thread, .at = registers_here() };
    walk.memory = stack_memory(&thread->own_stack, walk.at.sp);
    unsigned count = frames_here(&walk, python != 0, frames);
    if (!count)
        return python;
    uint64_t key = key_of(python, frames, count);
    struct stack_entry *entry = &thread->native_stacks[key % STACK_CACHE];
    if (entry->key == key)
        return entry->frame;
    uint32_t id = has_room() ? stack_id(python, frames, count) : 0;
    if (id)
        *entry = (struct stack_entry){ key, id };
    return id ? id : python;
}

const char *native_summary(void)
{
    static char text[256];
    static const char *const texts[] = {
#define END(name, text) text,
        ENDS(END)
#undef END
    };
    uint64_t all = 0, cut = 0;
    for (unsigned i = 0; i < END_KINDS; i++)
        all += atomic_load(&ends[i]);
    cut = all - atomic_load(&ends[END_WHOLE]);
    size_t used = (size_t)snprintf(text, sizeof(text), "%llu taken", (unsigned long long)all);
    for (unsigned i = 0; i < END_KINDS && cut; i++)
        if (texts[i] && atomic_load(&ends[i]) && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, ", %llu end early, %s",
                                     (unsigned long long)atomic_load(&ends[i]), texts[i]);
    return all ? text : NULL;
}
