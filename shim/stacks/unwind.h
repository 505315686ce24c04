/* One step from a function to its caller. The code is inlined, because reading a stack takes many steps. */
#ifndef WALLSHIM_SHIM_STACKS_UNWIND_H
#define WALLSHIM_SHIM_STACKS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/stacks/cfi.h"

struct unwind_at {
    uintptr_t pc, sp, bp;
    bool is_next; /* pc is a return address: the instruction after the call */
    bool has_bp;  /* is bp known? After some unwind rules it is not */
};

/* The part of a stack that may be read, from `low` to `high`, in whole words. */
struct unwind_memory {
    uintptr_t low, high;
    /* Called if an address at or above `high` is to be read. May raise `high`. NULL: `high` is final. */
    bool (*more)(struct unwind_memory *memory, uintptr_t address);
    uint32_t pages_left; /* number of pages that the function `more` may still add */
};

enum unwind_result { UNWIND_STEPPED, UNWIND_OUTERMOST, UNWIND_NO_RULE, UNWIND_BAD_STACK };

/* Returns an address within the instruction that the function executes. For a caller, this is the call instruction,
 * which ends where the return address points. */
static inline uintptr_t unwind_instruction(const struct unwind_at *at)
{
    return at->pc - at->is_next;
}

enum { UNWIND_WORD = sizeof(uintptr_t) };

/* When a signal handler has returned, the stack pointer is at the ucontext in the kernel's struct rt_sigframe. These
 * are the offsets, in bytes, of uc_mcontext.gregs[REG_RBP], gregs[REG_RSP] and gregs[REG_RIP] in the ucontext. */
enum { UNWIND_SIGNAL_BP = 120, UNWIND_SIGNAL_SP = 160, UNWIND_SIGNAL_PC = 168 };

/* Attribute of functions that read a stack: they also read words that sanitizers forbid to read. */
#define UNWIND_UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

UNWIND_UNCHECKED static inline bool unwind_read_word(struct unwind_memory *memory, uintptr_t from, uintptr_t *word)
{
    if (from % UNWIND_WORD || from < memory->low)
        return false;
    if (from >= memory->high && !(memory->more && memory->more(memory, from)))
        return false;
    *word = *(const volatile uintptr_t *)from;
    return true;
}

/* Reads a word of the current frame or of a caller's frame. Returns false for addresses below the stack pointer. */
static inline bool unwind_read_above(struct unwind_memory *memory, const struct unwind_at *at, uintptr_t from,
                                     uintptr_t *word)
{
    return from >= at->sp && unwind_read_word(memory, from, word);
}

static inline enum unwind_result unwind_leave_signal(struct unwind_memory *memory, struct unwind_at *at)
{
    struct unwind_at before = { .has_bp = true };
    if (!unwind_read_above(memory, at, at->sp + UNWIND_SIGNAL_PC, &before.pc) ||
        !unwind_read_above(memory, at, at->sp + UNWIND_SIGNAL_SP, &before.sp) ||
        !unwind_read_above(memory, at, at->sp + UNWIND_SIGNAL_BP, &before.bp))
        return UNWIND_BAD_STACK;
    *at = before;
    return UNWIND_STEPPED;
}

static inline bool unwind_find_frame(const struct cfi_rule *rule, struct unwind_memory *memory,
                                     const struct unwind_at *at, uintptr_t *frame)
{
    uintptr_t offset = (uintptr_t)(intptr_t)rule->frame_offset;
    if (rule->frame == CFI_FROM_SP)
        *frame = at->sp + offset;
    else if (!at->has_bp)
        return false;
    else if (rule->frame == CFI_FROM_BP)
        *frame = at->bp + offset;
    else
        return unwind_read_above(memory, at, at->bp + offset, frame);
    return true;
}

/* Goes from the function in *at to its caller. The stack may hold anything, so only words at or above the stack
 * pointer are read. The stack pointer rises at each step, except at signal frames. There it may fall, so the caller
 * must limit the number of steps, or a damaged stack could make it step for ever. */
static inline __attribute__((always_inline)) enum unwind_result
unwind_step(const struct cfi_rule *rule, struct unwind_memory *memory, struct unwind_at *at)
{
    struct unwind_at caller = { .bp = at->bp, .has_bp = at->has_bp, .is_next = true };
    uintptr_t offset = (uintptr_t)(intptr_t)rule->bp_offset;
    if (rule->frame == CFI_UNKNOWN)
        return UNWIND_NO_RULE;
    if (rule->frame == CFI_OUTERMOST)
        return UNWIND_OUTERMOST;
    if (rule->frame == CFI_SIGNAL)
        return unwind_leave_signal(memory, at);
    if (!unwind_find_frame(rule, memory, at, &caller.sp) ||
        !unwind_read_above(memory, at, caller.sp - UNWIND_WORD, &caller.pc))
        return UNWIND_BAD_STACK;
    if (rule->bp == CFI_BP_FROM_FRAME)
        caller.has_bp = unwind_read_above(memory, at, caller.sp + offset, &caller.bp);
    else if (rule->bp == CFI_BP_FROM_BP)
        caller.has_bp = at->has_bp && unwind_read_above(memory, at, at->bp + offset, &caller.bp);
    else if (rule->bp == CFI_BP_LOST)
        caller.has_bp = false;
    *at = caller;
    return caller.pc ? UNWIND_STEPPED : UNWIND_OUTERMOST;
}

#endif
