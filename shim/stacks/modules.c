#include "shim/stacks/modules.h"

#include <elf.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "shim/state/registry.h"

enum { PAGE = 4096, ID_MOST = 64, NOTES_MOST = 1 << 16 };

/* A module never changes once `count` includes it, so readers need no lock. */
static struct native_module modules[MODULES_MOST];
static _Atomic uint32_t count;

const struct native_module *module_of(uint32_t index)
{
    return &modules[index];
}

/* --- what a module says of itself -------------------------------------------------------------------- */

/* Finds the build id among the module's ELF notes. */
static void read_notes(struct native_module *module, const char *notes, size_t size)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        size_t name = at + sizeof(*note), id = name + ((note->n_namesz + 3u) & ~3u);
        size_t end = id + ((note->n_descsz + 3u) & ~3u);
        if (note->n_namesz > NOTES_MOST || note->n_descsz > NOTES_MOST || end > size)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
            note->n_descsz >= sizeof(module->id_start) && note->n_descsz <= ID_MOST) {
            module->id = notes + id;
            module->id_size = note->n_descsz;
            memcpy(&module->id_start, module->id, sizeof(module->id_start));
            return;
        }
        at = end;
    }
}

/* Returns the module's program headers. Nearly all ELF files have them in their first page. Returns NULL if this
 * module's file does not. */
static const ElfW(Phdr) * headers_of(const struct elf_module *loaded, unsigned *number)
{
    const ElfW(Ehdr) *header = (const void *)loaded->low;
    if (loaded->high - loaded->low < PAGE || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > PAGE ||
        header->e_phnum > (PAGE - header->e_phoff) / sizeof(ElfW(Phdr)))
        return NULL;
    *number = header->e_phnum;
    return (const void *)(loaded->low + header->e_phoff);
}

static bool is_within(const struct elf_module *loaded, uintptr_t at, uint64_t size)
{
    return at >= loaded->low && at <= loaded->high && size <= loaded->high - at;
}

/* Finds the module's unwind tables and its build id in memory. */
static void read_headers(struct native_module *module)
{
    unsigned number = 0;
    const struct elf_module *loaded = &module->loaded;
    const ElfW(Phdr) *headers = headers_of(loaded, &number);
    uintptr_t base = loaded->map->l_addr, table = 0;
    for (unsigned i = 0; i < number; i++) {
        uintptr_t at = base + headers[i].p_vaddr;
        if (!is_within(loaded, at, headers[i].p_memsz))
            continue;
        if (headers[i].p_type == PT_NOTE && !module->id)
            read_notes(module, (const char *)at, headers[i].p_filesz);
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            table = at;
    }
    for (unsigned i = 0; i < number && table; i++) {
        uintptr_t at = base + headers[i].p_vaddr;
        if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_R && is_within(loaded, at, headers[i].p_filesz) &&
            table >= at && table < at + headers[i].p_filesz)
            module->table = (struct cfi_table){ (const uint8_t *)table, (const uint8_t *)at,
                                                (const uint8_t *)at + headers[i].p_filesz };
    }
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* Is the loaded module the same as the one in our table? A library may have been unloaded, and another one loaded at
 * its addresses. */
static bool is_same(const struct native_module *module, const struct elf_module *loaded)
{
    return module->loaded.low == loaded->low && module->loaded.high == loaded->high &&
           module->loaded.map == loaded->map && module->dynamic == loaded->map->l_ld &&
           (!module->id || !memcmp(module->id, &module->id_start, sizeof(module->id_start)));
}

static uint32_t find(const struct elf_module *loaded)
{
    for (uint32_t i = atomic_load_explicit(&count, memory_order_acquire); i--;)
        if (is_same(&modules[i], loaded))
            return i;
    return MODULE_NONE;
}

/* Returns the module's path. The dynamic linker's list has an empty name for the program itself. */
static struct ws_text path_of(const struct link_map *map)
{
    char path[PATH_MAX];
    if (map->l_name && *map->l_name)
        return registry_text(map->l_name);
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    return registry_text(path);
}

static uint32_t add_code(const struct native_module *module)
{
    struct ws_text path = path_of(module->loaded.map);
    const char *slash = path.data ? strrchr(path.data, '/') : NULL;
    const char *name = slash ? slash + 1 : path.data;
    struct ws_code row = { .coding = WS_LINES_MODULE,
                           .name = registry_text(name),
                           .file = path,
                           .lines = registry_bytes(module->id ? module->id : "", module->id_size),
                           .address = module->loaded.low,
                           .size = module->loaded.high - module->loaded.low };
    return registry_add(&registry.code, &row);
}

static bool has_interpreter(uintptr_t address)
{
    struct elf_object object;
    return elf_find_by_address((const void *)address, &object) && elf_symbol(&object, "_PyRuntime");
}

/* Adds the module to the table, and returns its index. Called with the registry's lock held. */
static uint32_t add(const struct elf_module *loaded)
{
    struct elf_module ours;
    uint32_t index = atomic_load_explicit(&count, memory_order_relaxed);
    struct native_module *module = &modules[index];
    *module = (struct native_module){ .loaded = *loaded, .dynamic = loaded->map->l_ld };
    read_headers(module);
    module->is_ours = elf_module_at(modules, &ours) && ours.map == loaded->map;
    module->is_interpreter = has_interpreter(loaded->low);
    module->code = add_code(module);
    if (!module->code)
        return MODULE_NONE;
    atomic_store_explicit(&count, index + 1, memory_order_release);
    return index;
}

static bool has_room(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) < MODULES_MOST &&
           atomic_load_explicit(&registry.code.count, memory_order_relaxed) < registry.code.limit;
}

uint32_t module_at(uintptr_t address)
{
    struct elf_module loaded;
    if (!elf_module_at((const void *)address, &loaded) || !loaded.map->l_ld)
        return MODULE_NONE;
    uint32_t index = find(&loaded);
    if (index != MODULE_NONE || !has_room() || !registry_lock())
        return index;
    index = find(&loaded); /* another thread may have added the module before the lock was taken */
    if (index == MODULE_NONE && has_room())
        index = add(&loaded);
    registry_unlock();
    return index;
}

bool module_is_at(uint32_t index, uintptr_t address)
{
    struct elf_module loaded;
    return elf_module_at((const void *)address, &loaded) && is_same(&modules[index], &loaded);
}
