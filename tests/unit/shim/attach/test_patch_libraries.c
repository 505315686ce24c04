/* Patches each function that libraries export. The libraries are mapped, but none of their code runs. Each trampoline
 * (a copy of the instructions that a patch overwrites) is decoded again and compared with its function. Then the test
 * writes the jumps of all patches into the mapped code and removes them. After that the code must equal that of the
 * file again.
 *
 * test_shim_patch_libraries [-v] FILE…
 *
 * -v: also lists the refused functions.
 *
 * Prints how many functions were patched, and how many were refused for each reason. It prints these numbers for all
 * exported functions, and for the ones that the shim replaces. Exits with 77 if none of the files exists. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_patch.h"
#include "shim/attach/patch.h"

static const char *const wrapped[] = {
#define DRIVER_ROW(symbol, ...) #symbol,
#include "shim/hook/driver_table.h"
#define NCCL_ROW(symbol, ...) #symbol,
#include "shim/hook/nccl_table.h"
#define CUBLAS_ROW(library, symbol, ...) #symbol,
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, ...) #symbol,
#include "shim/hook/cudnn_table.h"
};

struct counts {
    unsigned functions, by_reason[PATCH_REFUSALS], several_steps, call_moved;
};

struct library {
    const char *name;
    const uint8_t *file;
    size_t size;
    uint8_t *base; /* where the library is mapped */
    struct patch *patches;
    struct patch **patched;
    unsigned patched_count, wrong;
    struct counts all, ours;
};

static bool verbose;

static bool is_wrapped(const char *name)
{
    for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++)
        if (!strcmp(wrapped[i], name))
            return true;
    return false;
}

/* --- mapping a library -------------------------------------------------------------------------- */

static bool map_segment(const struct library *library, int file, const Elf64_Phdr *segment)
{
    uintptr_t begin = (uintptr_t)segment->p_vaddr & ~4095ul, shift = (uintptr_t)segment->p_vaddr - begin;
    int protection = segment->p_flags & PF_X ? PROT_READ | PROT_EXEC : PROT_READ;
    return !segment->p_filesz ||
           mmap(library->base + begin, segment->p_filesz + shift, protection, MAP_PRIVATE | MAP_FIXED, file,
                (off_t)(segment->p_offset - shift)) != MAP_FAILED;
}

static bool map_library(struct library *library, int file)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)library->file;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(library->file + header->e_phoff);
    uintptr_t span = 0;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > span)
            span = segments[i].p_vaddr + segments[i].p_memsz;
    library->base = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (library->base == MAP_FAILED)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && !map_segment(library, file, &segments[i]))
            return false;
    return true;
}

static bool text_is_the_files(const struct library *library)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)library->file;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(library->file + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++, segment++)
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
            memcmp(library->base + segment->p_vaddr, library->file + segment->p_offset, segment->p_filesz))
            return false;
    return true;
}

/* --- the library's functions -------------------------------------------------------------------------------- */

static const Elf64_Shdr *dynamic_symbols(const struct library *library)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)library->file;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(library->file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (section[i].sh_type == SHT_DYNSYM)
            return &section[i];
    return NULL;
}

static void count(struct counts *counts, enum patch_refusal refusal, const struct patch *patch)
{
    const struct patch_slot *slot = (const void *)(patch->trampoline - offsetof(struct patch_slot, trampoline));
    counts->functions++;
    counts->by_reason[refusal]++;
    if (refusal)
        return;
    counts->several_steps += patch->steps > 1;
    /* Counts the trampolines into which a call was moved. In place of the call, such a trampoline pushes the call's
     * return address; no other trampoline does so. */
    const uint8_t *last = slot->trampoline + patch->moved_at[patch->steps - 1];
    int32_t distance;
    memcpy(&distance, last + 2, sizeof(distance));
    counts->call_moved +=
        last[0] == 0xff && last[1] == 0x35 && last + 6 + distance == (const uint8_t *)&slot->return_address;
}

static void try_function(struct library *library, const char *name, uint8_t *entry, size_t size)
{
    struct patch *patch = &library->patches[library->patched_count];
    enum patch_refusal refusal = patch_prepare(patch, entry, size, (void *)is_wrapped);
    bool ours = is_wrapped(name);
    if (refusal == PATCH_ALREADY)
        return; /* another name of a function that is patched already */
    count(&library->all, refusal, patch);
    if (ours)
        count(&library->ours, refusal, patch);
    if (refusal) {
        if (verbose || ours)
            printf("  refused%s: %s (%zu bytes): %s\n", ours ? ", in our tables" : "", name, size,
                   patch_reason(refusal));
        return;
    }
    const struct patch_slot *slot = (const void *)(patch->trampoline - offsetof(struct patch_slot, trampoline));
    const char *wrong = check_patch(patch, slot, slot);
    wrong = wrong ? wrong : check_jumps(patch, entry, size ? size : patch->length + sizeof(uint32_t));
    if (wrong)
        printf("  WRONG: %s: %s\n", name, wrong);
    library->wrong += wrong != NULL;
    library->patched[library->patched_count++] = patch;
}

static int compare_symbols(const void *one, const void *other)
{
    const Elf64_Sym *a = one, *b = other;
    return a->st_value < b->st_value ? -1 : a->st_value > b->st_value;
}

/* Tries to patch each exported function once, even if it has several names. */
static void try_functions(struct library *library)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)library->file;
    const Elf64_Shdr *table = dynamic_symbols(library);
    size_t number = table ? table->sh_size / sizeof(Elf64_Sym) : 0;
    Elf64_Sym *symbols = calloc(number + 1, sizeof(symbols[0]));
    library->patches = calloc(number + 1, sizeof(library->patches[0]));
    library->patched = calloc(number + 1, sizeof(library->patched[0]));
    if (!table || !symbols || !library->patches || !library->patched) {
        library->wrong++;
        return;
    }
    const Elf64_Shdr *names = (const Elf64_Shdr *)(library->file + header->e_shoff) + table->sh_link;
    memcpy(symbols, library->file + table->sh_offset, number * sizeof(symbols[0]));
    qsort(symbols, number, sizeof(symbols[0]), compare_symbols);
    for (size_t i = 0; i < number; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
            (!i || symbols[i].st_value != symbols[i - 1].st_value))
            try_function(library, (const char *)library->file + names->sh_offset + symbols[i].st_name,
                         library->base + symbols[i].st_value, symbols[i].st_size);
    free(symbols);
}

static void apply_and_remove(struct library *library)
{
    bool right = !patches_apply(library->patched, library->patched_count);
    for (unsigned i = 0; i < library->patched_count; i++)
        right &= patch_is_applied(library->patched[i]);
    if (!right)
        printf("  WRONG: not all jumps were written\n");
    if (patches_remove(library->patched, library->patched_count) || !text_is_the_files(library)) {
        printf("  WRONG: the text is not as before\n");
        right = false;
    }
    library->wrong += !right;
}

static void print_counts(const char *which, const struct counts *counts)
{
    if (!counts->functions)
        return;
    printf("  %s: %u, patched %u (threads stopped %u, call moved %u)", which, counts->functions,
           counts->by_reason[PATCH_OK], counts->several_steps, counts->call_moved);
    for (unsigned i = 1; i < PATCH_REFUSALS; i++)
        if (counts->by_reason[i])
            printf("; %s %u", patch_reason(i), counts->by_reason[i]);
    printf("\n");
}

/* Returns the number of functions for which something went wrong, or -1 if there is no such file. */
static int try_library(const char *path)
{
    struct stat about;
    struct library library = { .name = path };
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) || !S_ISREG(about.st_mode))
        return -1;
    library.size = (size_t)about.st_size;
    library.file = mmap(NULL, library.size, PROT_READ, MAP_PRIVATE, file, 0);
    printf("%s\n", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    if (library.file == MAP_FAILED || memcmp(library.file, ELFMAG, SELFMAG) || !map_library(&library, file))
        return 1;
    try_functions(&library);
    apply_and_remove(&library);
    print_counts("exported functions", &library.all);
    print_counts("functions of our tables", &library.ours);
    fflush(stdout);
    munmap((void *)library.file, library.size);
    close(file);
    free(library.patches);
    free(library.patched);
    return (int)library.wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    unsigned tried = 0;
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW);
    if (!zydis || patch_decoder_take(zydis, dlsym))
        return 77;
    for (int i = 1; i < argc; i++) {
        verbose |= !strcmp(argv[i], "-v");
        int result = argv[i][0] == '-' ? -1 : try_library(argv[i]);
        tried += result >= 0;
        wrong += result > 0 ? result : 0;
    }
    printf("%u libraries, %d functions wrong\n", tried, wrong);
    return !tried ? 77 : wrong != 0;
}
