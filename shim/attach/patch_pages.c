#include "shim/attach/patch_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/minmax.h"

/* Older C libraries do not declare these constants of memfd_create and mmap. */
enum { CLOEXEC = 1, NOEXEC_SEAL = 8 };
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGE = 4096, FILES = 32 };
enum { LOWEST = 1 << 20 };      /* lowest address at which pages_near maps memory: Linux keeps the first pages free */
enum { HEAP_GROWTH = 1 << 30 }; /* bytes that stay free after the heap, for its growth */

/* Makes the system call directly. Some programs replace the C library's mmap, and the replacement may wait for a lock
 * that a stopped thread holds. ThreadSanitizer's mmap would write to shadow memory for the mapped addresses, but
 * addresses of code have no shadow memory. */
static void *map_memory(uintptr_t at, size_t size, int protection, int flags, int file, uint64_t offset)
{
    long memory = syscall(SYS_mmap, at, size, protection, flags, file, offset);
    return memory == -1 ? NULL : (void *)memory;
}

void *pages_scratch(size_t size)
{
    return map_memory(0, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void pages_free(void *memory, size_t size)
{
    syscall(SYS_munmap, memory, size ? size : 1);
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(uintptr_t)(PAGE - 1);
}

/* --- the list of mappings --------------------------------------------------------------------- */

struct mapping {
    uintptr_t begin, end;
    uint64_t offset, inode;
    bool code;        /* the mapping is private, readable, executable and not writable */
    const char *path; /* path of the mapped file, "" if there is none; valid until the next call of next_mapping */
};

struct mapping_list {
    int file;
    size_t used, at;    /* number of bytes in `text`, and offset of the next line in `text` */
    char text[8 << 10]; /* large enough for a line with the longest path (4096 bytes) */
};

static uint64_t number(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : base;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

static const char *behind_spaces(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

/* Parses a line of /proc/self/maps: begin-end rwxp offset device inode path */
static void parse_mapping(const char *line, struct mapping *mapping)
{
    mapping->begin = (uintptr_t)number(&line, 16);
    line++;
    mapping->end = (uintptr_t)number(&line, 16);
    line = behind_spaces(line);
    mapping->code = !strncmp(line, "r-xp ", 5);
    line = behind_spaces(line + strcspn(line, " "));
    mapping->offset = number(&line, 16);
    line = behind_spaces(line);
    line = behind_spaces(line + strcspn(line, " "));
    mapping->inode = number(&line, 10);
    mapping->path = behind_spaces(line);
}

static int open_list(struct mapping_list *list)
{
    list->used = list->at = 0;
    list->file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return list->file < 0 ? -errno : 0;
}

static bool next_mapping(struct mapping_list *list, struct mapping *mapping)
{
    for (;;) {
        char *line = list->text + list->at, *end = memchr(line, '\n', list->used - list->at);
        if (end) {
            *end = 0;
            list->at = (size_t)(end + 1 - list->text);
            parse_mapping(line, mapping);
            return true;
        }
        memmove(list->text, line, list->used -= list->at);
        list->at = 0;
        ssize_t got = read(list->file, list->text + list->used, sizeof(list->text) - list->used);
        if (got <= 0)
            return false;
        list->used += (size_t)got;
    }
}

/* --- the files of the code ---------------------------------------------------------------------- */

/* The file from which code was mapped. The shim remembers the file, because /proc/self/maps does not name it for
 * pages that were replaced by copies. */
struct code_file {
    uintptr_t begin, end;
    uintptr_t base; /* address of the file's first byte, or the address that it would have if it were mapped, too */
    uint64_t inode;
    char path[256];
};

static struct code_file files[FILES];

static void remember_file(const struct mapping *mapping)
{
    uintptr_t base = mapping->begin - (uintptr_t)mapping->offset;
    struct code_file *free_one = NULL;
    if (mapping->path[0] != '/' || strlen(mapping->path) >= sizeof(files[0].path))
        return;
    for (struct code_file *file = files; file < files + FILES; file++) {
        if (file->end && file->base == base && file->inode == mapping->inode && !strcmp(file->path, mapping->path)) {
            file->begin = ws_min(file->begin, mapping->begin);
            file->end = ws_max(file->end, mapping->end);
            return;
        }
        if (file->begin < mapping->end && mapping->begin < file->end)
            file->end = 0; /* the entry's library was unloaded: another library is mapped there now */
        if (!file->end && !free_one)
            free_one = file;
    }
    if (!free_one)
        return; /* no free entry in `files`: when patches are removed, pages of this file stay copies */
    *free_one =
        (struct code_file){ .begin = mapping->begin, .end = mapping->end, .base = base, .inode = mapping->inode };
    memcpy(free_one->path, mapping->path, strlen(mapping->path) + 1);
}

static const struct code_file *file_of(uintptr_t page)
{
    for (const struct code_file *file = files; file < files + FILES; file++)
        if (page >= file->begin && page < file->end)
            return file;
    return NULL;
}

/* Opens the file. Returns -1 if the file is gone, or if another file has its path now. Uses statx, because the
 * symbols of stat differ between versions of glibc. */
static int open_file(const struct code_file *file)
{
    struct statx about;
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 &&
        (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &about) || about.stx_ino != file->inode)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* --- finding code and room ---------------------------------------------------------------------- */

bool pages_find_code(const void *address, uintptr_t *begin, uintptr_t *end)
{
    struct mapping_list list;
    struct mapping mapping;
    uintptr_t wanted = (uintptr_t)address;
    bool found = false;
    if (open_list(&list))
        return false;
    *begin = *end = 0;
    while (next_mapping(&list, &mapping)) {
        if (found && (!mapping.code || mapping.begin != *end))
            break;
        if (!mapping.code)
            continue;
        if (mapping.begin != *end)
            *begin = mapping.begin;
        *end = mapping.end;
        if (wanted >= mapping.begin && wanted < mapping.end) {
            found = true;
            remember_file(&mapping);
        }
    }
    close(list.file);
    return found;
}

/* Finds room for `size` bytes in a gap between mappings (from begin to end), as near to `address` as possible.
 * Returns 0 if the bytes do not fit into the gap, or if they would lie farther than `reach` from `address`. */
static uintptr_t place_in_gap(uintptr_t begin, uintptr_t end, size_t size, uintptr_t address, size_t reach)
{
    uintptr_t lowest = ws_max(address > reach ? page_of(address - reach) + PAGE : 0, (uintptr_t)LOWEST);
    uintptr_t highest = page_of(address + reach) - size;
    uintptr_t place = begin >= address ? begin : end - size;
    return end - begin < size || place < lowest || place > highest ? 0 : place;
}

static uintptr_t distance(uintptr_t one, uintptr_t other)
{
    return one > other ? one - other : other - one;
}

void *pages_near(uintptr_t address, size_t size, size_t reach)
{
    struct mapping_list list;
    struct mapping mapping;
    uintptr_t last = LOWEST, best = 0;
    if (open_list(&list))
        return NULL;
    while (next_mapping(&list, &mapping)) {
        /* The gap below the stack stays free, because the stack may grow into it. */
        uintptr_t free_until = strcmp(mapping.path, "[stack]") ? mapping.begin : last;
        uintptr_t place = free_until > last ? place_in_gap(last, free_until, size, address, reach) : 0;
        if (place && (!best || distance(place, address) < distance(best, address)))
            best = place;
        last = ws_max(last, mapping.end + (strcmp(mapping.path, "[heap]") ? 0 : HEAP_GROWTH));
    }
    close(list.file);
    errno = ENOMEM;
    if (!best)
        return NULL;
    void *pages = map_memory(best, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages && (uintptr_t)pages != best) { /* Linux before 4.17 takes the address only as a hint */
        pages_free(pages, size);
        return NULL;
    }
    return pages;
}

/* --- replacing pages ------------------------------------------------------------------------------ */

/* Adds the page to the sorted list, unless the list has it already. Searches for the page's place from the end,
 * because edits mostly come in the order of their addresses. */
static size_t add_page(uintptr_t *pages, size_t count, uintptr_t page)
{
    size_t at = count;
    while (at && pages[at - 1] > page)
        at--;
    if (at && pages[at - 1] == page)
        return count;
    memmove(pages + at + 1, pages + at, (count - at) * sizeof(pages[0]));
    pages[at] = page;
    return count + 1;
}

static size_t list_pages(uintptr_t *pages, const struct page_edit *edits, size_t count)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t first = page_of((uintptr_t)edits[i].at);
        uintptr_t last = page_of((uintptr_t)edits[i].at + edits[i].size - 1);
        for (uintptr_t page = first; page <= last; page += PAGE)
            listed = add_page(pages, listed, page);
    }
    return listed;
}

static size_t index_of(const uintptr_t *pages, size_t count, uintptr_t page)
{
    size_t low = 0;
    for (size_t high = count; high - low > 1;) {
        size_t middle = (low + high) / 2;
        *(pages[middle] <= page ? &low : &high) = middle;
    }
    return low;
}

/* The pages to be replaced, in order of their addresses, and their new bytes. */
struct copies {
    uintptr_t *pages;
    uint8_t *bytes; /* new bytes of all pages, one page after the other */
    size_t count;
    int memory;                   /* descriptor of a memfd with the content of `bytes`; -1: not made yet */
    const struct code_file *file; /* the file that was opened last */
    int opened;                   /* the descriptor of `file`; -1: no file is open */
};

static void fill_copies(const struct copies *copies, const struct page_edit *edits, size_t count)
{
    for (size_t i = 0; i < copies->count; i++)
        memcpy(copies->bytes + i * PAGE, (const void *)copies->pages[i], PAGE);
    for (size_t i = 0; i < count; i++)
        for (size_t done = 0; done < edits[i].size;) {
            uintptr_t at = (uintptr_t)edits[i].at + done, page = page_of(at);
            size_t length = ws_min(edits[i].size - done, (size_t)(page + PAGE - at));
            size_t index = index_of(copies->pages, copies->count, page);
            memcpy(copies->bytes + index * PAGE + (at - page), edits[i].bytes + done, length);
            done += length;
        }
}

static int map_over(uintptr_t page, size_t size, int file, uint64_t offset)
{
    return map_memory(page, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, offset) ? 0 : -errno;
}

/* Maps consecutive pages from their file, if the file has the same bytes as the new pages. Returns false if the pages
 * must be copies instead. Each file is opened once for all its pages, because Linux joins neighbouring mappings only
 * if they come from the same open(). */
static bool replace_from_file(struct copies *copies, size_t from, size_t to)
{
    const struct code_file *file = file_of(copies->pages[from]);
    if (!file || copies->pages[to - 1] >= file->end)
        return false;
    if (file != copies->file) {
        if (copies->opened >= 0)
            close(copies->opened);
        copies->opened = open_file(file);
        copies->file = file;
    }
    for (size_t i = from; i < to; i++) {
        uint8_t bytes[PAGE] = { 0 }; /* bytes after the file's end are 0 */
        if (copies->opened < 0 || pread(copies->opened, bytes, PAGE, (off_t)(copies->pages[i] - file->base)) <= 0 ||
            memcmp(bytes, copies->bytes + i * PAGE, PAGE) != 0)
            return false;
    }
    uintptr_t page = copies->pages[from];
    return !map_over(page, (to - from) * PAGE, copies->opened, page - file->base);
}

/* Makes a memfd that holds the new bytes. pwrite writes the bytes, so this memory is never mapped writable. */
static int make_memory(struct copies *copies)
{
    size_t size = copies->count * PAGE;
    int memory = (int)syscall(SYS_memfd_create, "wallshim-code", CLOEXEC | NOEXEC_SEAL);
    if (memory < 0 && errno == EINVAL) /* Linux before 6.3 does not know NOEXEC_SEAL */
        memory = (int)syscall(SYS_memfd_create, "wallshim-code", CLOEXEC);
    if (memory < 0)
        return -errno;
    if (syscall(SYS_pwrite64, memory, copies->bytes, size, 0l) != (long)size) {
        syscall(SYS_close, memory);
        return -ENOMEM;
    }
    copies->memory = memory;
    return 0;
}

static int replace_from_memory(struct copies *copies, size_t from, size_t to)
{
    int error = copies->memory < 0 ? make_memory(copies) : 0;
    return error ? error : map_over(copies->pages[from], (to - from) * PAGE, copies->memory, from * PAGE);
}

/* Replaces consecutive pages. One call of mmap replaces all of them, because a jump may lie in two pages. If
 * `to_files` is set, pages that have the same bytes as their file are mapped from the file. */
static int replace_run(struct copies *copies, size_t from, size_t to, bool to_files)
{
    if (to_files && replace_from_file(copies, from, to))
        return 0;
    int error = replace_from_memory(copies, from, to);
    for (size_t i = from; i < to && to_files && !error; i++)
        replace_from_file(copies, i, i + 1); /* a page whose bytes differ from those of its file stays a copy */
    return error;
}

static int replace_pages(struct copies *copies, bool to_files)
{
    int first_error = 0;
    for (size_t from = 0, to; from < copies->count; from = to) {
        for (to = from + 1; to < copies->count && copies->pages[to] == copies->pages[to - 1] + PAGE;)
            to++;
        int error = replace_run(copies, from, to, to_files);
        first_error = first_error ? first_error : error;
    }
    return first_error;
}

int pages_edit(const struct page_edit *edits, size_t count, bool to_files)
{
    struct copies copies = { .memory = -1, .opened = -1 };
    size_t most = 0;
    int error = -ENOMEM;
    for (size_t i = 0; i < count; i++)
        most += edits[i].size / PAGE + 2;
    if (!count)
        return 0;
    copies.pages = pages_scratch(most * sizeof(copies.pages[0]));
    if (!copies.pages)
        return error;
    copies.count = list_pages(copies.pages, edits, count);
    copies.bytes = pages_scratch(copies.count * PAGE);
    if (copies.bytes) {
        fill_copies(&copies, edits, count);
        error = replace_pages(&copies, to_files);
        pages_free(copies.bytes, copies.count * PAGE);
    }
    if (copies.memory >= 0)
        syscall(SYS_close, copies.memory);
    if (copies.opened >= 0)
        close(copies.opened);
    pages_free(copies.pages, most * sizeof(copies.pages[0]));
    return error;
}
