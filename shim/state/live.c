#include "shim/state/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/minmax.h"
#include "record/record.h"
#include "wire/row_log.h"

/* glibc before 2.27 does not declare memfd_create. */
enum { CLOEXEC = 1, ALLOW_SEALING = 2 };
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif
enum { LIVE_PAGE = 4096 };
enum { SEALS = 1 | 2 | 4 }; /* F_SEAL_SEAL, _SHRINK, _GROW: no further seals; the memfd's size is fixed */

enum {
    DICTIONARY_BYTES = 2 << 20,
    JOURNAL_BYTES = 4 << 20,
    /* Size of the live memory if it is a file in /dev/shm. A container often has only 64 MB there, for all its
     * programs. */
    FILE_BYTES = 64 << 20,
    /* Bytes of this file that are allocated before a thread needs them: by default enough for the rings of two
     * threads. */
    FILE_AHEAD = 10 << 20,
    MEMFD_BYTES = 1 << 30, /* size of the live memory if it is a memfd, which takes memory only where it is written */
    FREE_PART = 16,        /* one allocation in the file takes at most 1/FREE_PART of what is free in /dev/shm */
    LIMIT_PART = 256,      /* the live memory's size is at most 1/LIMIT_PART of RLIMIT_AS and of RLIMIT_DATA */
};

static struct ws_live *_Atomic live;
static bool in_file;
/* Offsets in the live memory. used: where the next new part (such as a ring) begins. ready: memory below this offset
 * is allocated. */
static _Atomic uint64_t used, ready;
static _Atomic uint32_t parts_used;
static _Atomic uint64_t rows_before;
/* The number of threads whose ring lies outside the live memory, for example because they started before the live
 * memory was made. */
static _Atomic uint64_t lacking;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* The kind (enum ws_live_kind) of a part that salvage (the completion of a killed process's trace) must not read.
 * Either a thread is preparing this part, or the part holds neither a ring nor operations that wait for their device
 * times. */
enum { TAKEN = 1 << 16 };

struct ws_live *live_memory(void)
{
    return live;
}

/* --- making it -------------------------------------------------------------------------------- */

static uint64_t live_size(const char *path)
{
    static const int resources[] = { RLIMIT_AS, RLIMIT_DATA };
    uint64_t size = path ? FILE_BYTES : MEMFD_BYTES;
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        struct rlimit limit;
        if (!getrlimit((__rlimit_resource_t)resources[i], &limit) && limit.rlim_cur != RLIM_INFINITY)
            size = ws_min(size, (uint64_t)limit.rlim_cur / LIMIT_PART);
    }
    return size & ~(uint64_t)(LIVE_PAGE - 1);
}

/* NCCL and PyTorch's data loaders need /dev/shm as well, so the live memory takes only a small part of what is free
 * there. */
static bool folder_has(uint64_t bytes)
{
    struct statfs about;
    return !statfs("/dev/shm", &about) && bytes <= (uint64_t)about.f_bavail * (uint64_t)about.f_bsize / FREE_PART;
}

/* Does the kernel refuse to overcommit memory? If it does, the first write to a page of a memfd may find no memory,
 * and the program would get SIGBUS. */
static bool commits_strictly(void)
{
    char mode = '2';
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool strict = read(fd, &mode, 1) != 1 || mode == '2';
    close(fd);
    return strict;
}

/* Creates and opens the file with this path, or a memfd if `path` is NULL. A lock on the file shows other processes
 * that this process is alive. */
static int open_memory(const char *path)
{
    if (path ? !folder_has(DICTIONARY_BYTES + JOURNAL_BYTES + FILE_AHEAD) : commits_strictly()) {
        errno = ENOSPC;
        return -1;
    }
    if (!path)
        return (int)syscall(SYS_memfd_create, "wallshim", CLOEXEC | ALLOW_SEALING);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        unlink(path);
        return -1;
    }
    return fd;
}

/* Allocates the file in /dev/shm up to the offset `until`. Without this, the first write to a page may find no
 * memory, and the program would get SIGBUS. A memfd needs no allocation, because no size limit of a file system
 * applies to it. */
static bool make_ready(int fd, uint64_t until)
{
    uint64_t from = atomic_load(&ready);
    if (in_file && until > from && fallocate(fd, 0, (off_t)from, (off_t)(until - from)))
        return false;
    atomic_store(&ready, until);
    return true;
}

/* Maps the live memory, and makes its first `first` bytes accessible. The mapping is not locked in RAM, even if the
 * program has called mlockall (base/reserve.h). */
static struct ws_live *map(int fd, uint64_t size, uint64_t first)
{
    char *memory = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    munlock(memory, size);
    madvise(memory, size, MADV_DONTDUMP); /* without this, a core dump would contain the whole mapping */
    if (!mprotect(memory, first, PROT_READ | PROT_WRITE))
        return (struct ws_live *)memory;
    munmap(memory, size);
    return NULL;
}

/* Adds rows_before to live->not_logged. rows_before counts the dictionary rows that were added before the live memory
 * was made, so that its log lacks them. A thread calls this function after it has counted a row in rows_before, or
 * after it has set `live`. So every row is counted, no matter which of the two comes first. */
static void count_rows_before(void)
{
    if (live)
        atomic_fetch_add(&live->not_logged, atomic_exchange(&rows_before, 0));
}

static int fill(int fd, uint64_t size)
{
    uint64_t own = (sizeof(struct ws_live) + LIVE_PAGE - 1) & ~(uint64_t)(LIVE_PAGE - 1);
    uint64_t first = own + DICTIONARY_BYTES + JOURNAL_BYTES;
    atomic_store(&used, first);
    atomic_store(&ready, 0);
    atomic_store(&parts_used, 0);
    if (size < 2 * first)
        return -ENOMEM;
    if (ftruncate(fd, (off_t)size) || !make_ready(fd, in_file ? first + FILE_AHEAD : size))
        return -errno;
    if (!in_file && fcntl(fd, F_ADD_SEALS, SEALS))
        return -errno;
    struct ws_live *made = map(fd, size, first);
    if (!made)
        return -ENOMEM;
    made->size = size;
    atomic_store(&made->not_shared, atomic_load(&lacking));
    made->families = WS_FAMILY_COUNT;
    made->row_size = sizeof(struct ws_op);
    made->dictionary.offset = own;
    made->dictionary.size = DICTIONARY_BYTES;
    made->journal.offset = own + DICTIONARY_BYTES;
    made->journal.size = JOURNAL_BYTES;
    memcpy(made->magic, WS_LIVE_MAGIC, sizeof(made->magic));
    live = made;
    count_rows_before();
    return 0;
}

int live_create(const char *path)
{
    /* A sandbox may kill the thread for one of the system calls below. Another thread that tried again would be
     * killed, too. */
    static _Atomic bool tried;
    if (atomic_exchange(&tried, true))
        return -EALREADY;
    in_file = path != NULL;
    int fd = open_memory(path);
    if (fd < 0)
        return -errno;
    int error = fill(fd, live_size(path));
    if (!error)
        return fd;
    close(fd);
    if (path)
        unlink(path);
    return error;
}

void live_grow(int fd)
{
    if (!live || !in_file)
        return;
    uint64_t until = ws_min(atomic_load(&used) + FILE_AHEAD, live->size);
    if (until > atomic_load(&ready) && folder_has(until - atomic_load(&ready)))
        make_ready(fd, until);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Takes a free part of exactly this size, and returns the part's number; 0: there is no such part. A part that
 * another thread is still making has size 0, so it is not taken. */
static uint32_t take_part(uint64_t size)
{
    uint32_t count = atomic_load(&parts_used);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t expected = WS_LIVE_FREE;
        if (live->parts[i].size == size && atomic_compare_exchange_strong(&live->parts[i].kind, &expected, TAKEN))
            return i + 1;
    }
    return 0;
}

/* Makes the memory of a new part accessible. Also allocates this memory, unless the file thread (the shim's thread
 * that writes the trace) has already done so (live_grow). */
static bool open_part(uint64_t offset, uint64_t size)
{
    int saved_errno = errno;
    char *memory = (char *)live + offset;
    bool open =
        !mprotect(memory, size, PROT_READ | PROT_WRITE) &&
        (offset + size <= atomic_load(&ready) || (folder_has(size) && !madvise(memory, size, MADV_POPULATE_WRITE)));
    errno = saved_errno;
    return open;
}

static uint32_t make_part(uint64_t size)
{
    uint64_t offset = atomic_load(&used);
    do {
        if (size > live->size - offset)
            return 0;
    } while (!atomic_compare_exchange_weak(&used, &offset, offset + size));
    uint32_t part = atomic_fetch_add(&parts_used, 1) + 1;
    if (part > WS_LIVE_PARTS) {
        atomic_store(&parts_used, WS_LIVE_PARTS);
        return 0;
    }
    if (!open_part(offset, size)) {
        uint64_t end = offset + size;
        atomic_compare_exchange_strong(&used, &end, offset);
        return 0;
    }
    /* The kind is set before the size. Otherwise take_part in another thread could find the part free, and take it.
     */
    atomic_store(&live->parts[part - 1].kind, TAKEN);
    live->parts[part - 1].offset = offset;
    atomic_store(&live->parts[part - 1].size, size);
    return part;
}

void *live_take(size_t size, uint32_t *part)
{
    *part = 0;
    if (!live)
        return NULL;
    size = (size + LIVE_PAGE - 1) & ~(size_t)(LIVE_PAGE - 1);
    *part = take_part(size);
    if (!*part)
        *part = make_part(size);
    return *part ? (char *)live + live->parts[*part - 1].offset : NULL;
}

static uint64_t live_offset(const void *memory)
{
    return memory ? (uint64_t)((const char *)memory - (const char *)live) : 0;
}

void live_part_is(uint32_t part, enum ws_live_kind kind, uint32_t thread, const void *ring, const void *memory,
                  size_t size)
{
    if (!part)
        return;
    struct ws_live_part *made = &live->parts[part - 1];
    made->thread = thread;
    made->ring = live_offset(ring);
    made->slots = live_offset(memory);
    made->slots_size = size;
    atomic_store_explicit(&made->stated, 0, memory_order_relaxed);
    atomic_store_explicit(&made->stated_nested, 0, memory_order_relaxed);
    atomic_store_explicit(&made->kind, kind, memory_order_release);
}

void live_part_stated(uint32_t part, uint64_t lost, uint64_t nested)
{
    if (!part)
        return;
    atomic_store_explicit(&live->parts[part - 1].stated, lost, memory_order_relaxed);
    atomic_store_explicit(&live->parts[part - 1].stated_nested, nested, memory_order_relaxed);
}

void live_give(uint32_t part, void *memory, size_t clear)
{
    struct ws_live_part *given = &live->parts[part - 1];
    atomic_store(&given->kind, TAKEN);
#if defined(__SANITIZE_THREAD__)
    return; /* the part is never used again: ThreadSanitizer cannot see that its last user has ended, and would
               report a race */
#endif
    memset(memory, 0, clear);
    if (!in_file && given->size > clear)
        madvise((char *)memory + clear, given->size - clear, MADV_REMOVE);
    atomic_store_explicit(&given->kind, WS_LIVE_FREE, memory_order_release);
}

void live_copy_for_child(void *memory, size_t copied, size_t size)
{
    int saved_errno = errno, access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *copy = mmap(NULL, copied, access, flags, -1, 0);
    if (copy != MAP_FAILED) {
        memcpy(copy, memory, copied);
        if (mmap(memory, size, access, flags | MAP_FIXED, -1, 0) == memory)
            memcpy(memory, copy, copied);
        munmap(copy, copied);
    }
    errno = saved_errno;
}

static void say_lacking(uint64_t count)
{
    if (live)
        atomic_store(&live->not_shared, count);
}

void live_lacks_ring(void)
{
    say_lacking(atomic_fetch_add(&lacking, 1) + 1);
}

void live_lacks_no_more(void)
{
    say_lacking(atomic_fetch_sub(&lacking, 1) - 1);
}

/* --- logs ------------------------------------------------------------------------------------- */

static uint64_t dictionary_seen; /* value of live->dictionary.head at the start of the current flush */
static uint64_t not_logged_seen; /* value of live->not_logged at the start of the current flush */
static uint32_t position;        /* position, in its thread's ring, of the record that the drain is reading */

void live_add_dictionary_row(uint32_t family, uint32_t number, const void *row)
{
    if (!live) {
        atomic_fetch_add(&rows_before, 1);
        count_rows_before();
    } else if (!ws_row_log_add(&live->dictionary, (char *)live + live->dictionary.offset, family, number, row)) {
        atomic_fetch_add(&live->not_logged, 1);
    }
}

bool live_add_row(uint32_t family, const void *row)
{
    return !live || ws_row_log_add(&live->journal, (char *)live + live->journal.offset, family, position, row);
}

void live_reads_at(uint64_t at)
{
    position = (uint32_t)at;
}

void live_is_of(uint32_t file_id)
{
    if (live)
        atomic_store_explicit(&live->file_id, file_id, memory_order_release);
}

void live_flush_begins(void)
{
    if (!live)
        return;
    dictionary_seen = atomic_load_explicit(&live->dictionary.head, memory_order_acquire);
    not_logged_seen = atomic_load(&live->not_logged);
}

void live_flushed(uint32_t file_id, uint64_t bytes, const uint32_t rows[WS_LIVE_TABLES])
{
    if (!live)
        return;
    uint32_t next = !atomic_load_explicit(&live->flushed, memory_order_relaxed);
    uint64_t journal = atomic_load_explicit(&live->journal.head, memory_order_relaxed);
    live->flush[next] = (struct ws_live_flush){ .bytes = bytes, .journal = journal, .not_logged = not_logged_seen };
    atomic_store_explicit(&live->file_id, file_id, memory_order_relaxed);
    memcpy(live->flush[next].table, rows, sizeof(live->flush[next].table));
    atomic_store_explicit(&live->flushed, next, memory_order_release);
    atomic_store_explicit(&live->journal.tail, journal, memory_order_release);
    atomic_store_explicit(&live->dictionary.tail, dictionary_seen, memory_order_release);
}

/* --- the rest --------------------------------------------------------------------------------- */

void live_compared(bool ticks_are_ns, const struct ws_live_clock *clock)
{
    if (!live)
        return;
    uint32_t next = !atomic_load_explicit(&live->compared, memory_order_relaxed);
    live->ticks_are_ns = ticks_are_ns;
    live->clock[next] = *clock;
    atomic_store_explicit(&live->compared, next, memory_order_release);
}

void live_is_linked(const char *link, uint64_t mounts)
{
    snprintf(live->link, sizeof(live->link), "%s", link);
    live->mounts = mounts;
}

void live_keeps(const void *memory, size_t size)
{
    live->kept = live_offset(memory);
    live->kept_size = size;
}

void live_keeps_until(uint64_t begin, uint64_t end)
{
    atomic_store_explicit(&live->kept_begin, begin, memory_order_release);
    atomic_store_explicit(&live->kept_end, end, memory_order_release);
}

void live_leave(bool own_file)
{
    if (live) {
        live->kept_size = 0;
        atomic_store_explicit(&live->own_file, own_file, memory_order_release);
    }
    live_end();
}

void live_left(void)
{
    if (live)
        atomic_store_explicit(&live->left, 1, memory_order_release);
}

void live_end(void)
{
    if (live)
        atomic_store_explicit(&live->ended, 1, memory_order_release);
}
