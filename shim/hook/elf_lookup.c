#include "shim/hook/elf_lookup.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

/* This file is built without sanitizers. Functions of this file that may run before libc is ready call no function of
 * libc except getauxval. */

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool file_begins(const char *path, const char *prefix)
{
    const char *file = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            file = at + 1;
    while (*prefix && *file == *prefix)
        file++, prefix++;
    return !*prefix;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static uint32_t sysv_hash_of(const char *name)
{
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        uint32_t top = hash & 0xf0000000;
        hash ^= top >> 24;
        hash &= ~top;
    }
    return hash;
}

static void read_dynamic(struct elf_object *object, const ElfW(Dyn) * entry)
{
    object->dynamic = entry;
    for (; entry->d_tag != DT_NULL; entry++) {
        /* glibc has already made these addresses absolute; other loaders leave them relative to the base. */
        uintptr_t address = entry->d_un.d_ptr;
        if (address < object->base)
            address += object->base;
        switch (entry->d_tag) {
        case DT_STRTAB:
            object->strings = (const char *)address;
            break;
        case DT_SYMTAB:
            object->symbols = (const ElfW(Sym) *)address;
            break;
        case DT_VERSYM:
            object->versions = (const ElfW(Half) *)address;
            break;
        case DT_VERDEF:
            object->definitions = (const ElfW(Verdef) *)address;
            break;
        case DT_GNU_HASH:
            object->gnu_hash = (const uint32_t *)address;
            break;
        case DT_HASH:
            object->sysv_hash = (const uint32_t *)address;
            break;
        case DT_RELA:
            object->relocations[0] = (const ElfW(Rela) *)address;
            break;
        case DT_RELASZ:
            object->relocation_count[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            object->relocations[1] = (const ElfW(Rela) *)address;
            break;
        case DT_PLTRELSZ:
            object->relocation_count[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

/* If symbol `index` defines the name, stores it in *best. A hidden version of a symbol (kept for old
 * programs) never replaces the default version. */
static void consider(const struct elf_object *object, uint32_t index, const char *name, const ElfW(Sym) * *best,
                     bool *is_default)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE) ||
        *is_default || !same(object->strings + symbol->st_name, name))
        return;
    *is_default = !object->versions || !(object->versions[index] & 0x8000);
    *best = symbol;
}

static const ElfW(Sym) * search_gnu(const struct elf_object *object, const char *name)
{
    const uint32_t *table = object->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], bloom_words = table[2];
    const uint32_t *buckets = table + 4 + bloom_words * (sizeof(uintptr_t) / sizeof(uint32_t));
    const uint32_t *chain = buckets + bucket_count;
    uint32_t hash = gnu_hash_of(name);
    const ElfW(Sym) *best = NULL;
    bool is_default = false;
    if (!bucket_count)
        return NULL;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - first];
        if ((entry | 1) == (hash | 1))
            consider(object, index, name, &best, &is_default);
        if (entry & 1)
            return best;
    }
}

static const ElfW(Sym) * search_sysv(const struct elf_object *object, const char *name)
{
    const uint32_t *table = object->sysv_hash;
    uint32_t bucket_count = table[0];
    const uint32_t *buckets = table + 2, *chain = buckets + bucket_count;
    const ElfW(Sym) *best = NULL;
    bool is_default = false;
    if (!bucket_count)
        return NULL;
    for (uint32_t index = buckets[sysv_hash_of(name) % bucket_count]; index; index = chain[index])
        consider(object, index, name, &best, &is_default);
    return best;
}

void *elf_sized_symbol(const struct elf_object *object, const char *name, size_t *size)
{
    const ElfW(Sym) *symbol = NULL;
    *size = 0;
    if (!object->symbols || !object->strings)
        return NULL;
    if (object->gnu_hash)
        symbol = search_gnu(object, name);
    else if (object->sysv_hash)
        symbol = search_sysv(object, name);
    if (!symbol)
        return NULL;
    *size = symbol->st_size;
    return (void *)(object->base + symbol->st_value);
}

void *elf_symbol(const struct elf_object *object, const char *name)
{
    size_t size;
    return elf_sized_symbol(object, name, &size);
}

/* Fills *object from the linker's description. Returns false if the object has no dynamic section, and so no symbols
 * to look up. */
static bool read_object(const struct dl_phdr_info *info, struct elf_object *object)
{
    const ElfW(Dyn) *dynamic = NULL;
    *object = (struct elf_object){ .base = info->dlpi_addr, .low = UINTPTR_MAX, .path = info->dlpi_name };
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)start;
        if (segment->p_type != PT_LOAD)
            continue;
        if (start < object->low)
            object->low = start;
        if (start + segment->p_memsz > object->high)
            object->high = start + segment->p_memsz;
    }
    if (dynamic)
        read_dynamic(object, dynamic);
    return dynamic != NULL;
}

/* The rest of this file finds loaded objects. dl_iterate_phdr takes a lock of the loader: if another thread holds
 * this lock during a fork, the lock stays locked in the child for ever. So the shim uses _dl_find_object, which takes
 * no lock at all (glibc 2.35 and later). With an older glibc, the parent uses dl_iterate_phdr, and a forked child
 * uses dladdr1. dladdr1 takes the same lock as dlsym, and fork resets that lock. */
struct loader_answer { /* struct dl_find_object of glibc, with room for fields that later versions may add */
    unsigned long long flags;
    void *low, *high;
    struct link_map *map;
    void *reserved[16];
};
typedef int (*find_object_function)(void *address, struct loader_answer *answer);
typedef int (*dladdr1_function)(const void *address, Dl_info *info, void **extra, int flags);

static struct {
    find_object_function find_object; /* _dl_find_object; NULL: this glibc does not have that function */
    dladdr1_function dladdr1;
    bool known;
} loader;

/* Several threads may run this function at the same time: all of them store the same values. */
static void find_loader(void)
{
    if (__atomic_load_n(&loader.known, __ATOMIC_ACQUIRE))
        return;
    find_object_function find_object = (find_object_function)elf_libc_symbol("_dl_find_object");
    dladdr1_function dladdr1 = (dladdr1_function)elf_libc_symbol("dladdr1");
    __atomic_store_n(&loader.find_object, find_object, __ATOMIC_RELAXED);
    __atomic_store_n(&loader.dladdr1, dladdr1, __ATOMIC_RELAXED);
    __atomic_store_n(&loader.known, true, __ATOMIC_RELEASE);
}

static const struct link_map *object_by_dladdr(const void *address, struct elf_object *object)
{
    dladdr1_function dladdr1 = __atomic_load_n(&loader.dladdr1, __ATOMIC_RELAXED);
    struct link_map *map = NULL;
    Dl_info info;
    if (!dladdr1 || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    const ElfW(Ehdr) *header = info.dli_fbase;
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    struct dl_phdr_info described = { .dlpi_addr = map->l_addr,
                                      .dlpi_name = map->l_name,
                                      .dlpi_phdr = (const void *)((const char *)header + header->e_phoff),
                                      .dlpi_phnum = header->e_phnum };
    return read_object(&described, object) ? map : NULL;
}

static bool is_forked;

void elf_after_fork(void)
{
    __atomic_store_n(&is_forked, true, __ATOMIC_RELAXED);
}

static find_object_function object_finder(void)
{
    find_loader();
    return __atomic_load_n(&loader.find_object, __ATOMIC_RELAXED);
}

bool elf_module_at(const void *address, struct elf_module *module)
{
    find_object_function find_object = object_finder();
    struct loader_answer answer;
    if (!find_object || find_object((void *)(uintptr_t)address, &answer) || !answer.map)
        return false;
    *module = (struct elf_module){ (uintptr_t)answer.low, (uintptr_t)answer.high, answer.map };
    return true;
}

static bool must_iterate(void)
{
    return !object_finder() && !__atomic_load_n(&is_forked, __ATOMIC_RELAXED);
}

/* Finds the object that contains the address. Returns NULL if there is none, or if the object has no symbols. While
 * must_iterate() is true, call find_by_iterating instead. */
static const struct link_map *object_at(const void *address, struct elf_object *object)
{
    find_object_function find_object = object_finder();
    struct loader_answer answer;
    if (!find_object)
        return object_by_dladdr(address, object);
    if (find_object((void *)address, &answer) || !answer.map || !answer.map->l_ld)
        return NULL;
    *object = (struct elf_object){ .base = answer.map->l_addr,
                                   .low = (uintptr_t)answer.low,
                                   .high = (uintptr_t)answer.high,
                                   .path = answer.map->l_name };
    read_dynamic(object, answer.map->l_ld);
    return answer.map;
}

struct placed_visitor {
    /* Called for each object; returns false to end the search. */
    bool (*visit)(const struct elf_object *object, enum elf_place place, void *data);
    void *data;
    bool passed_ours;
};

static int visit_next(struct placed_visitor *visitor, const struct elf_object *object)
{
    bool ours = object->dynamic == _DYNAMIC;
    enum elf_place place = ours ? ELF_OURS : visitor->passed_ours ? ELF_BEHIND : ELF_BEFORE;
    visitor->passed_ours |= ours;
    return !visitor->visit(object, place, visitor->data);
}

static int visit_described(struct dl_phdr_info *info, size_t size, void *visitor)
{
    (void)size;
    struct elf_object object;
    return read_object(info, &object) && visit_next(visitor, &object);
}

static void iterate(struct placed_visitor *visitor)
{
    typedef int (*visit_function)(struct dl_phdr_info *, size_t, void *);
    /* Calls libc's own dl_iterate_phdr, not the wrapper that a sanitizer puts in its place: sanitizers call dlsym,
     * and so this code, before their wrappers are ready. */
    int (*of_libc)(visit_function, void *) = (int (*)(visit_function, void *))elf_libc_symbol("dl_iterate_phdr");
    if (of_libc)
        of_libc(visit_described, visitor);
}

/* Reads the linker's list without a lock. The list begins with the objects that were loaded at program start. These
 * objects are never unloaded, so their part of the list can be read safely. The visitors of elf_each_placed end the
 * search before the objects that were loaded later. elf_each reads the whole list, so it calls this function only in
 * a forked child. */
static void walk(struct placed_visitor *visitor)
{
    struct elf_object object;
    const struct link_map *map = object_at(_DYNAMIC, &object);
    while (map && map->l_prev)
        map = map->l_prev;
    for (; map; map = map->l_next)
        if (map->l_ld && object_at(map->l_ld, &object) && visit_next(visitor, &object))
            return;
}

/* Visits objects in the order of the linker's list. For the objects that were loaded at program start, this order is
 * the linker's search order. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data)
{
    struct placed_visitor visitor = { visit, data, false };
    if (must_iterate())
        iterate(&visitor);
    else
        walk(&visitor);
}

struct address_search {
    uintptr_t address;
    struct elf_object *object;
    enum elf_place place;
    bool found;
};

static bool match_address(const struct elf_object *object, enum elf_place place, void *data)
{
    struct address_search *search = data;
    search->found = search->address >= object->low && search->address < object->high;
    if (search->found) {
        *search->object = *object;
        search->place = place;
    }
    return !search->found;
}

static bool find_by_iterating(const void *address, struct elf_object *object, enum elf_place *place)
{
    struct address_search search = { (uintptr_t)address, object, ELF_BEHIND, false };
    iterate(&(struct placed_visitor){ match_address, &search, false });
    *place = search.place;
    return search.found;
}

bool elf_find_by_address(const void *address, struct elf_object *object)
{
    enum elf_place place;
    return must_iterate() ? find_by_iterating(address, object, &place) : object_at(address, object) != NULL;
}

enum elf_place elf_place_of(const void *address)
{
    struct elf_object object;
    enum elf_place place;
    if (must_iterate())
        return find_by_iterating(address, &object, &place), place;
    const struct link_map *map = object_at(address, &object), *before = object_at(_DYNAMIC, &object);
    if (!map || map == before)
        return map ? ELF_OURS : ELF_BEHIND;
    while (before && before != map)
        before = before->l_prev;
    return before ? ELF_BEFORE : ELF_BEHIND;
}

/* The visitor of elf_each. elf_each visits all objects, even objects that another thread may unload. So it holds the
 * loader's lock during the visits. In a forked child elf_each does not take this lock, because the lock may stay
 * locked in the child for ever. */
struct visitor {
    bool (*visit)(const struct elf_object *object, void *data); /* returns false to end the search */
    void *data;
};

static bool visit_any(const struct elf_object *object, enum elf_place place, void *data)
{
    (void)place;
    const struct visitor *visitor = data;
    return visitor->visit(object, visitor->data);
}

void elf_each(bool (*visit)(const struct elf_object *object, void *data), void *data)
{
    struct visitor visitor = { visit, data };
    struct placed_visitor placed = { visit_any, &visitor, false };
    if (__atomic_load_n(&is_forked, __ATOMIC_RELAXED))
        walk(&placed);
    else
        iterate(&placed);
}

struct search {
    const char *prefix;
    struct elf_object *object;
    bool found;
};

static bool match_name(const struct elf_object *object, void *data)
{
    struct search *search = data;
    search->found = file_begins(object->path, search->prefix);
    if (search->found)
        *search->object = *object;
    return !search->found;
}

bool elf_find_by_name(const char *prefix, struct elf_object *object)
{
    struct search search = { prefix, object, false };
    elf_each(match_name, &search);
    return search.found;
}

bool elf_is_named(const struct elf_object *object, const char *prefix)
{
    return object->path && file_begins(object->path, prefix);
}

bool elf_needs(const struct elf_object *object, const char *prefix)
{
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && object->strings && file_begins(object->strings + entry->d_un.d_val, prefix))
            return true;
    return false;
}

bool elf_defines_version(const struct elf_object *object, const char *version)
{
    const char *at = (const char *)object->definitions;
    while (at) {
        const ElfW(Verdef) *definition = (const void *)at;
        const ElfW(Verdaux) *name = (const void *)(at + definition->vd_aux);
        if (!strcmp(object->strings + name->vda_name, version))
            return true;
        at = definition->vd_next ? at + definition->vd_next : NULL;
    }
    return false;
}

/* The first entry of the linker's list of loaded objects, found by DT_DEBUG as debuggers find it. */
static const struct link_map *first_object(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t base = 0;
    for (unsigned long i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[i].p_vaddr;
    for (unsigned long i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(base + headers[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
            return ((const struct r_debug *)dynamic->d_un.d_ptr)->r_map;
    return NULL;
}

void *elf_libc_symbol(const char *name)
{
    static const char *const homes[] = { "libc.so", "libdl.so", "libpthread.so", "ld-linux" };
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        for (const struct link_map *map = first_object(); map; map = map->l_next) {
            if (!map->l_name || !file_begins(map->l_name, homes[i]))
                continue;
            struct elf_object object = { .base = map->l_addr };
            read_dynamic(&object, map->l_ld);
            void *found = elf_symbol(&object, name);
            if (found)
                return found;
        }
    }
    return NULL;
}
