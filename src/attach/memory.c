#include "attach/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAPPINGS_MOST = 1 << 20, SEGMENT_MOST = 64 << 20, SYMBOLS_MOST = 1 << 20 };

int ws_remote_read(int pid, uint64_t address, void *to, size_t size)
{
    struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };
    ssize_t done = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return done < 0 ? -errno : (size_t)done == size ? 0 : -EFAULT;
}

int ws_remote_write(int pid, uint64_t address, const void *from, size_t size)
{
    struct iovec here = { (void *)(uintptr_t)from, size }, there = { (void *)(uintptr_t)address, size };
    ssize_t done = process_vm_writev(pid, &here, 1, &there, 1, 0);
    return done < 0 ? -errno : (size_t)done == size ? 0 : -EFAULT;
}

int ws_memory_open(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    return memory < 0 ? -errno : memory;
}

static int result_of(ssize_t done, size_t size)
{
    return done < 0 ? -errno : (size_t)done == size ? 0 : done ? -EFAULT : -ESRCH;
}

int ws_memory_get(int memory, uint64_t address, void *to, size_t size)
{
    return result_of(pread(memory, to, size, (off_t)address), size);
}

int ws_memory_put(int memory, uint64_t address, const void *from, size_t size)
{
    return result_of(pwrite(memory, from, size, (off_t)address), size);
}

/* --- mappings -------------------------------------------------------------------------------------- */

static bool add_mapping(struct ws_mappings *mappings, const char *line)
{
    struct ws_mapping mapping = { .begin = 0 };
    unsigned long long begin, end, offset;
    char access[5];
    int path = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, access, &offset, &path) < 4)
        return true;
    if (mappings->count >= MAPPINGS_MOST)
        return false;
    if (!(mappings->count & (mappings->count - 1))) {
        size_t room = mappings->count ? 2 * mappings->count : 64;
        struct ws_mapping *more = realloc(mappings->list, room * sizeof(*more));
        if (!more)
            return false;
        mappings->list = more;
    }
    mapping.begin = begin;
    mapping.end = end;
    mapping.offset = offset;
    mapping.execute = access[2] == 'x';
    if (path)
        snprintf(mapping.path, sizeof(mapping.path), "%.*s", (int)strcspn(line + path, "\n"), line + path);
    mappings->list[mappings->count++] = mapping;
    return true;
}

int ws_mappings_read(int pid, struct ws_mappings *mappings)
{
    char path[64], line[4352];
    *mappings = (struct ws_mappings){ 0 };
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    bool all = true;
    while (all && fgets(line, sizeof(line), file))
        all = add_mapping(mappings, line);
    fclose(file);
    if (all)
        return 0;
    ws_mappings_finish(mappings);
    return -ENOMEM;
}

void ws_mappings_finish(struct ws_mappings *mappings)
{
    free(mappings->list);
    *mappings = (struct ws_mappings){ 0 };
}

const struct ws_mapping *ws_mapping_at(const struct ws_mappings *mappings, uint64_t address)
{
    for (size_t i = 0; i < mappings->count; i++)
        if (address >= mappings->list[i].begin && address < mappings->list[i].end)
            return &mappings->list[i];
    return NULL;
}

const char *ws_mapping_file(const struct ws_mapping *mapping)
{
    const char *slash = strrchr(mapping->path, '/');
    return slash ? slash + 1 : mapping->path;
}

const struct ws_mapping *ws_mapping_named(const struct ws_mappings *mappings, const char *prefix)
{
    for (size_t i = 0; i < mappings->count; i++)
        if (!strncmp(ws_mapping_file(&mappings->list[i]), prefix, strlen(prefix)))
            return &mappings->list[i];
    return NULL;
}

/* --- symbols --------------------------------------------------------------------------------------- */

/* Returns a pointer to `size` bytes of library->copy from `offset` on, or NULL if the copy does not hold all of
 * them. */
static const void *bytes_at(const struct ws_remote_library *library, uint64_t offset, uint64_t size)
{
    return offset <= library->size && size <= library->size - offset ? library->copy + offset : NULL;
}

/* Turns an address in the dynamic section into an offset in the library. The loader replaces the offsets in that
 * section by absolute addresses, except in the vDSO. */
static uint64_t offset_of(const struct ws_remote_library *library, uint64_t address)
{
    return address >= library->base ? address - library->base : address;
}

/* Returns the number of symbols. In the GNU hash table, the chain that starts last ends with the last symbol. */
static size_t count_symbols(const struct ws_remote_library *library, uint64_t hash)
{
    const uint32_t *head = bytes_at(library, hash, 16);
    if (!head)
        return 0;
    uint32_t buckets = head[0], first = head[1], bloom = head[2], last = 0;
    uint64_t at = hash + 16 + 8 * (uint64_t)bloom;
    const uint32_t *bucket = bytes_at(library, at, 4 * (uint64_t)buckets);
    for (uint32_t i = 0; bucket && i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    uint64_t chains = at + 4 * (uint64_t)buckets;
    for (; last >= first && last < SYMBOLS_MOST; last++) {
        const uint32_t *chain = bytes_at(library, chains + 4 * (uint64_t)(last - first), 4);
        if (!chain)
            return 0;
        if (*chain & 1)
            return last + 1;
    }
    return 0;
}

static int read_dynamic(int pid, struct ws_remote_library *library, uint64_t address, uint64_t size)
{
    Elf64_Dyn entries[128];
    uint64_t hash = 0;
    size_t count = size / sizeof(entries[0]) < 128 ? size / sizeof(entries[0]) : 128;
    int error = ws_remote_read(pid, library->base + address, entries, count * sizeof(entries[0]));
    if (error)
        return error;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t at = offset_of(library, entries[i].d_un.d_ptr);
        if (entries[i].d_tag == DT_SYMTAB)
            library->symbols = at;
        else if (entries[i].d_tag == DT_STRTAB)
            library->strings = at;
        else if (entries[i].d_tag == DT_GNU_HASH)
            hash = at;
    }
    library->symbol_count = hash && library->symbols && library->strings ? count_symbols(library, hash) : 0;
    return library->symbol_count ? 0 : -ENOEXEC;
}

int ws_remote_library_read(int pid, const struct ws_mapping *first, struct ws_remote_library *library)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[64];
    *library = (struct ws_remote_library){ .base = first->begin };
    int error = ws_remote_read(pid, library->base, &head, sizeof(head));
    if (error)
        return error;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phnum > 64 ||
        head.e_phentsize != sizeof(segments[0]))
        return -ENOEXEC;
    error = ws_remote_read(pid, library->base + head.e_phoff, segments, head.e_phnum * sizeof(segments[0]));
    const Elf64_Phdr *dynamic = NULL;
    for (int i = 0; !error && i < head.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !segments[i].p_vaddr)
            library->size = segments[i].p_filesz;
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
    }
    if (!error && (!dynamic || !library->size || library->size > SEGMENT_MOST))
        error = -ENOEXEC;
    if (!error && !(library->copy = malloc(library->size)))
        error = -ENOMEM;
    if (!error)
        error = ws_remote_read(pid, library->base, library->copy, library->size);
    if (!error)
        error = read_dynamic(pid, library, dynamic->p_vaddr, dynamic->p_memsz);
    if (error)
        ws_remote_library_finish(library);
    return error;
}

void ws_remote_library_finish(struct ws_remote_library *library)
{
    free(library->copy);
    library->copy = NULL;
}

static const Elf64_Sym *symbol_at(const struct ws_remote_library *library, size_t index)
{
    return bytes_at(library, library->symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
}

static bool is_defined(const Elf64_Sym *symbol)
{
    return symbol && symbol->st_shndx != SHN_UNDEF && symbol->st_value && ELF64_ST_TYPE(symbol->st_info) != STT_TLS;
}

static bool is_named(const struct ws_remote_library *library, const Elf64_Sym *symbol, const char *name)
{
    const char *text = bytes_at(library, library->strings + symbol->st_name, strlen(name) + 1);
    return text && !memcmp(text, name, strlen(name) + 1);
}

/* Searches from the end of the symbol table, because glibc lists the present version of a function after the old
 * ones. That order is not guaranteed. Choosing an old version does no harm: all versions of dlopen do the same, and
 * all versions of pthread_create do the same. */
uint64_t ws_remote_symbol(const struct ws_remote_library *library, const char *name)
{
    for (size_t i = library->symbol_count; i--;) {
        const Elf64_Sym *symbol = symbol_at(library, i);
        if (is_defined(symbol) && is_named(library, symbol, name))
            return library->base + symbol->st_value;
    }
    return 0;
}

static bool is_one_of(const struct ws_remote_library *library, const Elf64_Sym *symbol, const char *const *names)
{
    for (; *names; names++)
        if (is_named(library, symbol, *names))
            return true;
    return false;
}

bool ws_remote_neighbourhood(const struct ws_remote_library *library, const char *const *names, uint64_t *begin,
                             uint64_t *end)
{
    uint64_t first = UINT64_MAX, last = 0, before = 0, behind = UINT64_MAX;
    for (size_t i = 0; i < library->symbol_count; i++) {
        const Elf64_Sym *symbol = symbol_at(library, i);
        if (!is_defined(symbol) || !is_one_of(library, symbol, names))
            continue;
        first = symbol->st_value < first ? symbol->st_value : first;
        last = symbol->st_value + symbol->st_size > last ? symbol->st_value + symbol->st_size : last;
    }
    for (size_t i = 0; i < library->symbol_count; i++) {
        const Elf64_Sym *symbol = symbol_at(library, i);
        if (!is_defined(symbol) || ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
            continue;
        uint64_t until = symbol->st_value + symbol->st_size;
        if (until <= first && until > before)
            before = until;
        if (symbol->st_value >= last && symbol->st_value < behind)
            behind = symbol->st_value;
    }
    *begin = library->base + before;
    *end = library->base + (behind == UINT64_MAX ? last : behind);
    return last != 0;
}
