/* Patches functions of the running program, so that a call of the function runs a replacement.
 *
 * The head of a function is its first instructions: those that a jump of 5 bytes overwrites. The patch writes this
 * jump over the head. The head's instructions are copied into a trampoline, which then jumps to the code after the
 * head. So calling the trampoline calls the original function.
 *
 *     function         patched              near the function
 *     endbr64          endbr64
 *     push rbp         jmp island     ───▶  island: jmp *replacement
 *     mov  rbp, rsp
 *     push rbx
 *     sub  rsp, 64     sub rsp, 64    ◀───  trampoline: endbr64; push rbp; mov rbp, rsp; push rbx; jmp back
 *
 * A function is refused, with a reason, unless it is certain that it can be patched. A refused function stays as it
 * was.
 *
 * Why this is safe
 *
 * - Applying. `wallshim attach` stops all threads of the program and writes the jumps from outside
 *   (src/attach/apply.c). A thread may have executed the first instruction of a head, but not the others. After
 *   the patch, this thread would go on in the middle of the jump. A signal handler may also have interrupted a thread
 *   inside a head. So `wallshim attach` compares each thread's instruction pointer, and the addresses on its stack,
 *   with `patch_range`. If one of them lies in a range, `wallshim attach` lets the threads go on, and tries again.
 *   Return addresses never lie in a range: a head may contain a call only as its last instruction.
 * - Removing. A patched head is one jump, so no thread is in the middle of it. No thread needs to be stopped, because
 *   pages are replaced as a whole (see below).
 * - Trampolines stay mapped and unchanged, because threads may still be in them. When the same function is patched
 *   again, its trampoline is used again.
 *
 * patches_remove never writes code in place. One mmap(MAP_FIXED) replaces a page by a copy that has the changed
 * bytes. The copy is complete before it becomes executable, and never changes after that. Another thread fetches its
 * instructions from the old page or from the new page. If the thread fetches while neither page is mapped, it faults,
 * and the kernel lets it wait until the new page is there. Before mmap returns, every processor has dropped the old
 * page and the instructions that it fetched from the old page. A program that unloads a library and loads another one
 * at the same addresses relies on the same guarantee. So no thread sees half of a jump, no matter how the jump is
 * aligned. The system call membarrier is not needed. To use membarrier, a process must register, which slows down
 * each switch of threads and cannot be undone.
 *
 * Control-flow enforcement (CET): endbr64 stays where it is, and each trampoline begins with an endbr64.
 *
 * Limits. The patcher does not read jump tables, and an entry of a jump table could point into a head. In the
 * libraries of CUDA 13.0, libc and SQLite, none of 8,700 table entries does. After patches_remove, the code has the
 * same bytes and is mapped from the same file, but in more mappings than before: Linux joins only mappings that come
 * from the same open().
 *
 * Only one thread at a time may call the functions below. They use neither malloc nor locks. The patched function
 * must stay loaded from patch_prepare to patch_remove. */
#ifndef WALLSHIM_SHIM_ATTACH_PATCH_H
#define WALLSHIM_SHIM_ATTACH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum patch_refusal {
    PATCH_OK,
    PATCH_NO_DECODER,          /* patch_decoder_take was not called, or Zydis is of another version */
    PATCH_TOO_SHORT,           /* the function is shorter than the patch's jump, or ends before the head does */
    PATCH_JUMP_INTO,           /* the function itself jumps into its head, which the patch's jump would overwrite */
    PATCH_UNKNOWN_INSTRUCTION, /* the function contains bytes that the decoder does not know */
    PATCH_TOO_LONG,            /* the function is longer than 64 KiB, or its end was not found */
    PATCH_OVERLAP,             /* a jump of the function leads into the middle of an instruction */
    PATCH_FIXED_INSTRUCTION,   /* the head has an instruction that cannot be moved, such as a system call */
    PATCH_CALL,                /* the head contains a call that would return to another address from the trampoline */
    /* the head refers to an address that is too far from the trampoline (more than 2 GiB) */
    PATCH_RELATIVE_FAR,
    PATCH_ALREADY,  /* the shim has patched the function already */
    PATCH_NOT_OURS, /* somebody else changed the bytes of the head */
    PATCH_NO_ROOM,  /* no free addresses for a trampoline near the function */
    PATCH_MEMORY,   /* Linux refuses executable memory, or the function is in no private mapping of code */
    PATCH_REFUSALS
};

/* What a refusal means, in words. */
const char *patch_reason(enum patch_refusal refusal);

enum {
    PATCH_JUMP_SIZE = 5,  /* bytes of the jump that is written over the head */
    PATCH_HEAD_SIZE = 19, /* bytes of the longest head: 4 bytes of instructions, then an instruction of 15 bytes */
    PATCH_STEPS = 5,      /* largest number of instructions in a head: each has at least one byte */
};

/* A patch of one function. While the patch is not applied, this structure may be copied or dropped. */
struct patch {
    uint8_t *place;      /* where the jump is written: at the entry, or after its endbr64 */
    uint8_t *trampoline; /* address of the trampoline: calling it calls the original function */
    uint8_t original[PATCH_HEAD_SIZE], jump[PATCH_JUMP_SIZE];
    uint8_t length; /* number of bytes in the head */
    uint8_t steps;  /* number of instructions in the head */
    /* Offsets in bytes, for each instruction of the head: step_at from `place` to the instruction, moved_at from
     * `trampoline` to the instruction's copy. */
    uint8_t step_at[PATCH_STEPS], moved_at[PATCH_STEPS];
};

/* Looks up the functions of Zydis (a decoder of instructions) in a library that the caller has opened. `find`: dlsym,
 * or a function like it. The shim is not linked with Zydis: Debian has only the shared library, and a preloaded shim
 * must not need that library. */
enum patch_refusal patch_decoder_take(void *library, void *(*find)(void *library, const char *name));

/* Reads the function and makes its trampoline. Does not change the program's code. `size`: bytes of the function,
 * from the symbol table; 0 if its size is not known. */
enum patch_refusal patch_prepare(struct patch *patch, void *entry, size_t size, void *replacement);

/* Returns the address to call for the original function, whether the patch is applied or not. */
static inline void *patch_trampoline(const struct patch *patch)
{
    return patch->trampoline;
}

/* Sets the range of the head. At the moment when the patch is applied, no thread's instruction pointer may be after
 * *begin and before *end. If the head is a single instruction, no instruction pointer can be in this range. */
static inline void patch_range(const struct patch *patch, uintptr_t *begin, uintptr_t *end)
{
    *begin = (uintptr_t)patch->place;
    *end = *begin + patch->length;
}

bool patch_is_applied(const struct patch *patch);

/* patches_apply writes the jumps, patches_remove restores the original bytes. Only tests call patches_apply: when a
 * program is attached to, `wallshim attach` writes the jumps. After a refused patch, both functions go on with the
 * other patches, and return the first refusal. One call replaces each page only once, so it is better to pass many
 * patches in one call. patches_remove maps a page from its file again if the page has the same bytes as the file. */
enum patch_refusal patches_apply(struct patch *const *patches, size_t count);
enum patch_refusal patches_remove(struct patch *const *patches, size_t count);

static inline enum patch_refusal patch_apply(struct patch *patch)
{
    return patches_apply(&patch, 1);
}

static inline enum patch_refusal patch_remove(struct patch *patch)
{
    return patches_remove(&patch, 1);
}

#endif
