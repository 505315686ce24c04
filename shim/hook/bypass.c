#include "shim/hook/bypass.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"
#include "shim/state/phase.h"

enum { LIBRARIES = 2 };

struct bindings {
    struct elf_object library[LIBRARIES];
    bool present[LIBRARIES];
    uint64_t count;
};

static const char *const prefixes[LIBRARIES] = { "libcuda.so", "libnccl.so" };

static bool is_wrapped_library(const struct bindings *bindings, const void *address)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (bindings->present[i] && (uintptr_t)address >= bindings->library[i].low &&
            (uintptr_t)address < bindings->library[i].high)
            return true;
    return false;
}

/* Counts the functions of the driver or NCCL that this loaded object calls directly: the linker has bound them to the
 * driver or NCCL itself, not to the shim's wrappers. With lazy binding, a function is bound, and counted, only once
 * the object has called it. */
static bool count_bindings(const struct elf_object *object, void *data)
{
    struct bindings *bindings = data;
    if (!object->symbols || (!elf_needs(object, prefixes[0]) && !elf_needs(object, prefixes[1])))
        return true;
    for (int kind = 0; kind < ELF_RELOCATION_KINDS; kind++) {
        for (size_t i = 0; i < object->relocation_count[kind]; i++) {
            const ElfW(Rela) *relocation = &object->relocations[kind][i];
            uint32_t symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
            if (!symbol || resolve_id(object->strings + object->symbols[symbol].st_name) < 0)
                continue;
            const void *bound = *(void *const *)(object->base + relocation->r_offset);
            bindings->count += is_wrapped_library(bindings, bound);
        }
    }
    return true;
}

struct cover {
    uintptr_t address;
    bool found;
};

static bool match_cover(const struct elf_object *object, void *data)
{
    struct cover *cover = data;
    cover->found = cover->address >= object->low && cover->address < object->high;
    return !cover->found;
}

static bool is_of_our_namespace(uintptr_t address)
{
    struct cover cover = { address, false };
    elf_each(match_cover, &cover);
    return cover.found;
}

/* Does this line of /proc/self/maps show the code of a libcuda.so that is not in the shim's linker namespace? */
static bool is_other_driver(const char *line)
{
    unsigned long start;
    char permissions[5];
    const char *file = strrchr(line, '/');
    return file && !strncmp(file + 1, prefixes[0], strlen(prefixes[0])) &&
           sscanf(line, "%lx-%*x %4s", &start, permissions) == 2 && permissions[2] == 'x' &&
           !is_of_our_namespace(start);
}

static uint64_t count_other_drivers(void)
{
    char text[8192];
    size_t held = 0;
    uint64_t count = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t length;
    while (file >= 0 && (length = read(file, text + held, sizeof(text) - 1 - held)) > 0) {
        char *line = text, *end;
        held += (size_t)length;
        text[held] = 0;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            count += is_other_driver(line);
        }
        held = (size_t)(text + held - line);
        if (held == sizeof(text) - 1) /* cannot happen: every line is shorter than the buffer */
            break;
        memmove(text, line, held);
    }
    if (file >= 0)
        close(file);
    return count;
}

uint64_t bypass_count(void)
{
    struct bindings bindings = { .count = 0 };
    if (shim_late) /* the functions' code is patched, however the program finds the functions */
        return 0;
    for (int i = 0; i < LIBRARIES; i++)
        bindings.present[i] = elf_find_by_name(prefixes[i], &bindings.library[i]);
    elf_each(count_bindings, &bindings);
    return bindings.count + count_other_drivers() + dlsym_is_passed_over() +
           atomic_load_explicit(&resolve_passed_through, memory_order_relaxed);
}

void bypass_say(void)
{
    struct elf_object driver_object;
    if (dlsym_is_passed_over() && elf_find_by_name("libcuda.so", &driver_object))
        ws_warn(
            "a library in front of this one answers dlsym and never asked here: CUDA calls went around, and nothing "
            "is recorded; preload libwallshim.so first");
}
