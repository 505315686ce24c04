/* Fuzz target: the input is machine code. The patcher (the part of `wallshim attach` that redirects a function by
 * overwriting its first bytes) reads the code as a function. If the patcher makes a trampoline, the trampoline must
 * have the same instructions as the overwritten bytes, with the same targets. If the function's size is known, no
 * jump of the function may then lead into the bytes that the patch overwrites.
 *
 * The first two bytes are not code. The first says whether the patcher knows the function's size, the second how far
 * from the code the trampoline is. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/shim/attach/check_patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_nothing(const char *wrong)
{
    if (!wrong)
        return;
    fprintf(stderr, "wrong patch: %s\n", wrong);
    abort();
}

static void *find(void *library, const char *name)
{
    (void)library;
    return dlsym(RTLD_DEFAULT, name);
}

static void try_code(const uint8_t *code, size_t size, bool sized, intptr_t away)
{
    static char replacement;
    struct patch patch = { 0 };
    struct patch_slot slot = { 0 };
    struct patch_text text = { code, code + size };
    struct patch_slot *at = (struct patch_slot *)(((uintptr_t)code + (uintptr_t)away) & ~(uintptr_t)127);
    if (patch_read_head(&patch, code, sized ? size : 0, &text) || patch_fill_slot(&patch, &slot, at, &replacement))
        return;
    expect_nothing(check_patch(&patch, &slot, at));
    expect_nothing(sized ? check_jumps(&patch, code, size) : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const intptr_t places[] = { 0x1000, -0x20000, 0x10000000, -0x7effff00, 0x7effff00 };
    if (size < 3 || size > 512 || patch_decoder_take(NULL, find))
        return 0;
    /* Copies the code to memory of exactly its size, so that a sanitizer detects a read beyond it. */
    uint8_t *code = malloc(size - 2);
    if (!code)
        return 0;
    memcpy(code, data + 2, size - 2);
    try_code(code, size - 2, data[0] & 1, places[data[1] % (sizeof(places) / sizeof(places[0]))]);
    free(code);
    return 0;
}
