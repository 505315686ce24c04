/* The part of the patcher that depends on the processor, for x86-64 in patch_x86_64.c. Each other architecture needs
 * a file of its own with these functions, and its own sizes in patch.h. */
#ifndef WALLSHIM_SHIM_ATTACH_PATCH_CODE_H
#define WALLSHIM_SHIM_ATTACH_PATCH_CODE_H

#include "shim/attach/patch.h"

/* A slot: the code and data of one patch that must lie near the patched function. A slot is written as a whole,
 * before any thread runs its code. */
struct patch_slot {
    uint64_t entry;       /* entry of the function that uses this slot; 0: the slot is free */
    uint64_t replacement; /* address of the replacement, to which the island jumps */
    /* if a call was moved into the trampoline: the address to which the call returns; else unused */
    uint64_t return_address;
    uint8_t island[8];      /* code that jumps to the replacement; the patched function jumps here */
    uint8_t trampoline[96]; /* code: the head's instructions, then a jump to the code after the head */
};
_Static_assert(sizeof(struct patch_slot) == 128, "slots fill pages");

/* The largest distance from a function to its slot, in bytes: somewhat less than the 2 GiB that a jump reaches. */
enum { PATCH_REACH = 0x7f000000 };

/* The mapping of code that contains the function. The patcher reads no bytes outside this mapping. */
struct patch_text {
    const uint8_t *begin, *end;
};

/* Finds the head of the function, and checks that the function does not jump into its head. Sets all fields of *patch
 * but `trampoline`, `jump` and `moved_at`, which patch_fill_slot sets. */
enum patch_refusal patch_read_head(struct patch *patch, const uint8_t *entry, size_t size,
                                   const struct patch_text *text);

/* Writes the island and the trampoline into `slot`, and the jump to the island into the patch. `slot` is a buffer,
 * which the caller then copies to `at`, the slot's final address. */
enum patch_refusal patch_fill_slot(struct patch *patch, struct patch_slot *slot, struct patch_slot *at,
                                   void *replacement);

/* If the instruction at `place` is a jump to a relative target, returns the target; else NULL. */
const uint8_t *patch_jumps_to(const uint8_t *place, const struct patch_text *text);

#endif
