/* How to get from a function to its caller: rules from the unwind tables (.eh_frame) that compilers put into every
 * module. The tables tell for each instruction where the caller's frame is, so programs need no frame pointers.
 *
 * Why not libunwind? It finds modules by dl_iterate_phdr, and the program may hold the lock of that function.
 * libunwind's own locks may stay locked in a forked child. Its memory checks cost one or two system calls a page. A
 * profiler needs only three registers: instruction, stack and frame pointer. For these, nearly every function uses
 * one of the few rules below. If a function uses another rule, the recorded stack ends at that function. */
#ifndef WALLSHIM_SHIM_STACKS_CFI_H
#define WALLSHIM_SHIM_STACKS_CFI_H

#include <stdint.h>

/* How to compute where the function's frame ends. The end is the caller's stack pointer. The return address lies in
 * the word below the end. */
enum cfi_frame {
    CFI_UNKNOWN, /* no rule, or a rule of a kind that is not supported */
    CFI_FROM_SP, /* the frame ends at stack pointer + offset */
    CFI_FROM_BP, /* the frame ends at frame pointer + offset */
    CFI_AT_BP,   /* the word at frame pointer + offset has the frame's end; for functions that align their stack */
    /* A signal handler returns to this code: the registers that the kernel saved lie at the stack pointer. */
    CFI_SIGNAL,
    CFI_OUTERMOST, /* the function has no caller */
};

/* Where the caller's frame pointer is saved. */
enum cfi_bp {
    CFI_BP_SAME,       /* the caller's frame pointer is not saved: it is still in its register */
    CFI_BP_FROM_FRAME, /* in the word at the frame's end + bp_offset */
    CFI_BP_FROM_BP,    /* in the word at frame pointer + bp_offset */
    CFI_BP_LOST,
};

struct cfi_rule {
    uint8_t frame, bp; /* enum cfi_frame, cfi_bp */
    int32_t frame_offset, bp_offset;
};

/* A module's unwind tables in memory. */
struct cfi_table {
    const uint8_t *header;     /* .eh_frame_hdr; NULL: the module has none */
    const uint8_t *low, *high; /* the segment that holds .eh_frame_hdr and .eh_frame; nothing outside of it is read */
};

/* Returns the rule for the instruction at pc. A damaged table does no harm: nothing outside of the module's segment
 * is read. */
struct cfi_rule cfi_find(const struct cfi_table *table, uintptr_t pc);

#endif
