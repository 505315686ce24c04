/* Checks the trampoline of a patch: the copy of those first instructions of a function that the patch overwrites. The
 * check decodes the trampoline anew and compares it with the function, instruction by instruction. The check uses
 * none of the patcher's own decisions. */
#ifndef WALLSHIM_TESTS_UNIT_SHIM_ATTACH_CHECK_PATCH_H
#define WALLSHIM_TESTS_UNIT_SHIM_ATTACH_CHECK_PATCH_H

#include "shim/attach/patch_code.h"

/* Checks a trampoline. `slot`: the trampoline's content, which may lie in other memory than `at`. `at`: the place
 * from which the trampoline runs or will run. Returns NULL, or a text that says what is wrong. */
const char *check_patch(const struct patch *patch, const struct patch_slot *slot, const struct patch_slot *at);

/* Follows the function's jumps from its entry, through at most `size` bytes. Returns NULL, or a text that says what
 * is wrong: a jump leads into the bytes that the patch overwrites. */
const char *check_jumps(const struct patch *patch, const uint8_t *entry, size_t size);

#endif
