/* A library to be preloaded. At load time it patches all functions of libcuda.so.1 that the shim's driver table
 * lists. At exit it removes the patches. Each replacement counts its calls and then calls the original function. The
 * library writes to the file PATCH_ALL_LOG how many functions were patched and refused and how many calls there were.
 * The last word is "right" if there was no error. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_patch.h"
#include "shim/attach/patch.h"

static const char *const names[] = {
#define DRIVER_ROW(symbol, ...) #symbol,
#include "shim/hook/driver_table.h"
};
enum { NAMES = sizeof(names) / sizeof(names[0]), THUNKS = 512, THUNK_SIZE = 32 };
_Static_assert((int)NAMES <= (int)THUNKS, "a replacement for each function");

/* Replacement i adds 1 to thunk_calls[i] and jumps to thunk_originals[i]. */
__attribute__((visibility("hidden"))) uint64_t thunk_calls[THUNKS];
__attribute__((visibility("hidden"))) void *thunk_originals[THUNKS];
__asm__(".text; .balign 32; .hidden thunks; .globl thunks; thunks: .set thunk, 0; .rept 512; endbr64;"
        "lock incq thunk_calls + 8 * thunk(%rip); jmp *thunk_originals + 8 * thunk(%rip);"
        ".balign 32; .set thunk, thunk + 1; .endr");
extern __attribute__((visibility("hidden"))) char thunks[];

static struct patch patches[NAMES];
static struct patch *patched[NAMES];
static uint8_t before[NAMES][PATCH_HEAD_SIZE];
static unsigned patched_count, refused[PATCH_REFUSALS];
static bool wrong;

static void patch_function(unsigned index, uint8_t *entry)
{
    Dl_info about;
    const ElfW(Sym) *symbol = NULL;
    struct patch *patch = &patches[patched_count];
    if (!dladdr1(entry, &about, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return;
    enum patch_refusal refusal = patch_prepare(patch, entry, symbol->st_size, thunks + index * THUNK_SIZE);
    refused[refusal]++;
    if (refusal)
        return;
    const struct patch_slot *slot = (const void *)(patch->trampoline - offsetof(struct patch_slot, trampoline));
    wrong |= check_patch(patch, slot, slot) || check_jumps(patch, entry, symbol->st_size);
    thunk_originals[index] = patch_trampoline(patch);
    memcpy(before[patched_count], patch->place, PATCH_JUMP_SIZE);
    patched[patched_count++] = patch;
}

static __attribute__((constructor)) void patch_all(void)
{
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW), *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!zydis || !driver || patch_decoder_take(zydis, dlsym))
        return;
    for (unsigned i = 0; i < NAMES; i++) {
        uint8_t *entry = dlsym(driver, names[i]);
        if (entry)
            patch_function(i, entry);
    }
    wrong |= patches_apply(patched, patched_count) != PATCH_OK;
}

static __attribute__((destructor)) void report(void)
{
    uint64_t calls = 0;
    const char *path = getenv("PATCH_ALL_LOG");
    FILE *log = path ? fopen(path, "w") : NULL;
    if (!log)
        return;
    for (unsigned i = 0; i < NAMES; i++)
        calls += thunk_calls[i];
    wrong |= patches_remove(patched, patched_count) != PATCH_OK;
    for (unsigned i = 0; i < patched_count; i++)
        wrong |= memcmp(before[i], patched[i]->place, PATCH_JUMP_SIZE) != 0;
    for (unsigned i = 0; i < PATCH_REFUSALS; i++)
        if (refused[i])
            fprintf(log, "%u %s, ", refused[i], patch_reason(i));
    fprintf(log, "%llu calls, %s\n", (unsigned long long)calls, wrong ? "wrong" : "right");
    fclose(log);
}
