#include "shim/objects/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "shim/hook/elf_lookup.h"
#include "shim/state/life.h"
#include "shim/state/live.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"
#include "shim/state/wake.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

__thread struct thread_self thread_self __attribute__((tls_model("initial-exec")));

enum {
    LEAVE_LOOK_NS = 200000, /* ns between two checks whether threads are still in wrapped calls */
    /* if a thread could not make its state because a lock was not free in time: the number of calls that it skips
     * before it tries again */
    SKIPS = 1024,
    LIMIT_PER_RING = 256, /* a ring takes at most 1/256 of the process's memory limits */
    /* Bytes of stack for each thread of the shim, without the space that the C library uses on the stack. The stack
     * is small, because mlockall in the program makes all of it resident. */
    STACK_SIZE = 1 << 20,
};

static struct shim_thread *_Atomic slots[THREAD_SLOTS];
static _Atomic unsigned slots_used;
static _Atomic uint32_t slots_taken;
static _Atomic uint32_t threads_ever;
static _Atomic uint32_t begun; /* number of threads that ever got a slot */
static _Atomic uint64_t refused;
static _Atomic uint64_t passed_unknown;

/* The destructor of this pthread key tells the shim that a thread ends. A C++ thread_local with a destructor would
 * take the loader's lock, and could deadlock: dlopen holds this lock while it runs a library's constructors, and a
 * constructor may wait for this thread. The pthread functions are looked up at run time, because glibc's version
 * decides which library has them. */
static pthread_key_t key;
static int (*set_specific)(pthread_key_t, const void *);

static void thread_ended(void *object)
{
    struct shim_thread *thread = object;
    if (!thread || thread_if_known() != thread) /* in a forked child, thread_if_known returns NULL, because `thread`
                                                   is only a copy of the parent's state */
        return;
    /* The thread's state stays: destructors of the program may run after this destructor, and make CUDA calls. */
    shim_life.thread_ends(thread);
    atomic_store_explicit(&thread->life, THREAD_ENDING, memory_order_release);
}

void threads_init(void)
{
    int (*create)(pthread_key_t *, void (*)(void *)) =
        (int (*)(pthread_key_t *, void (*)(void *)))elf_libc_symbol("pthread_key_create");
    if (create && !create(&key, thread_ended))
        set_specific = (int (*)(pthread_key_t, const void *))elf_libc_symbol("pthread_setspecific");
}

static bool take_slot(struct shim_thread *thread)
{
    for (unsigned slot = 0; slot < THREAD_SLOTS; slot++) {
        struct shim_thread *expected = NULL;
        if (!atomic_compare_exchange_strong(&slots[slot], &expected, thread))
            continue;
        unsigned used = atomic_load(&slots_used);
        while (used <= slot && !atomic_compare_exchange_weak(&slots_used, &used, slot + 1))
            ;
        atomic_fetch_add(&slots_taken, 1);
        atomic_fetch_add(&begun, 1);
        return true;
    }
    return false;
}

/* The number of slots of a ring: given by the option --ring, and limited by LIMIT_PER_RING. */
static uint64_t ring_slots(void)
{
    static const int resources[] = { RLIMIT_AS, RLIMIT_DATA };
    uint64_t slots_wanted = 64, bytes = shim_options.ring, most = UINT64_MAX;
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        struct rlimit limit;
        if (!getrlimit((__rlimit_resource_t)resources[i], &limit) && limit.rlim_cur != RLIM_INFINITY &&
            limit.rlim_cur / LIMIT_PER_RING < most)
            most = limit.rlim_cur / LIMIT_PER_RING;
    }
    while (slots_wanted * WS_RING_SLOT < bytes && slots_wanted * WS_RING_SLOT <= most / 2 &&
           slots_wanted < (uint64_t)1 << 26)
        slots_wanted *= 2;
    return slots_wanted;
}

/* Called with the registry's lock held. When only one row of the dictionary is free, all later threads share this
 * row, because a thread without a row could not be recorded. */
static uint32_t add_row(struct ws_thread *row, const char *name)
{
    static uint32_t shared;
    if (atomic_load(&registry.thread.count) + 1 < registry.thread.limit) {
        row->name = registry_text(name);
        return registry_add(&registry.thread, row);
    }
    if (!shared)
        shared = registry_add(&registry.thread, &(struct ws_thread){ .name = registry_text("later threads") });
    atomic_fetch_add(&registry.thread.refused, 1);
    return shared;
}

static size_t state_size(void)
{
    return (sizeof(struct shim_thread) + 4095) & ~(size_t)4095;
}

static void give_back(struct shim_thread *thread)
{
    if (thread->live_part) {
        live_give(thread->live_part, thread, state_size());
    } else {
        munmap(thread, thread->mapping);
        live_lacks_no_more();
    }
}

void threads_after_fork(void)
{
    struct shim_thread *thread = thread_self.thread;
    if (thread && thread->live_part)
        live_copy_for_child(thread, state_size(), thread->mapping);
}

/* Makes the calling thread's state. Returns NULL on failure. *missed: a lock was not free in time, so a later attempt
 * may succeed. */
static struct shim_thread *thread_create(bool *missed)
{
    uint64_t ring = ring_slots();
    size_t head = state_size();
    size_t size = head + ring * WS_RING_SLOT;
    uint32_t part;
    struct shim_thread *thread = live_take(size, &part);
    if (!part)
        thread = ws_reserve(size);
    if (!thread)
        return NULL;
    if (!part)
        live_lacks_ring();
    /* In a forked child the ring is zeroed: a copy would be large, and nobody reads the ring there. The thread's
     * state is copied by fork: if a signal handler forks inside a call, the child returns through the wrapper, which
     * needs the state. If ring and state lie in the live memory, which the child shares with its parent,
     * threads_after_fork gives the child a zeroed ring and a copy of the state. */
    if (!part)
        madvise((char *)thread + head, size - head, MADV_WIPEONFORK);
    ws_reserve_small_pages(thread, size);
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    struct ws_thread row = { .tid = (uint32_t)syscall(SYS_gettid) };
    *missed = !registry_lock();
    if (!*missed) {
        thread->id = add_row(&row, name);
        registry_unlock();
    }
    thread->tid = (int32_t)row.tid;
    thread->number = atomic_fetch_add(&threads_ever, 1) + 1;
    thread->correlation = (uint64_t)thread->number << 40;
    thread->mapping = size;
    thread->handles = atomic_load(&shim_page.handles) - 1;
    thread->op_header = (struct ws_ring_header){ .kind = WS_RING_OP, .slots = 1 };
    ws_ring_init(&thread->ring, (char *)thread + head, ring, wake_drain_soon);
    thread->live_part = part;
    if (!thread->id || !take_slot(thread)) {
        give_back(thread);
        return NULL;
    }
    live_part_is(part, WS_LIVE_RING, thread->id, &thread->ring, (char *)thread + head, size - head);
    return thread;
}

struct shim_thread *thread_get(void)
{
    struct shim_thread *thread = thread_if_known();
    if (thread || thread_self.ours || !shim_life.start())
        return thread;
    if (thread_self.skips) {
        thread_self.skips--;
        atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
        return NULL;
    }
    bool missed = false;
    struct shim_quiet quiet;
    quiet_begin(&quiet); /* blocks signals: a handler that calls CUDA here would make a second state */
    thread = thread_self.thread;
    if (!thread && thread_self.refused != shim_page.generation)
        thread = thread_create(&missed);
    if (thread && !thread_self.thread) {
        thread_self.thread = thread;
        /* without set_specific, the drain thread asks the kernel whether this thread has ended (all_may_be_gone) */
        if (set_specific)
            set_specific(key, thread);
        /* The drain thread frees the slots of ended threads. It is woken, because it must not sleep long while many
         * threads begin and end: the slots would run out. */
        wake_drain_soon();
    } else if (!thread) {
        if (missed)
            thread_self.skips = SKIPS;
        else
            thread_self.refused = shim_page.generation;
        atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    }
    quiet_end(&quiet);
    return thread;
}

struct shim_thread *thread_at(unsigned slot)
{
    return atomic_load_explicit(&slots[slot], memory_order_acquire);
}

_Atomic unsigned threads_recording;

unsigned thread_slots_used(void)
{
    return atomic_load_explicit(&slots_used, memory_order_acquire);
}

/* Signal 0 is not delivered: tgkill only checks whether the thread exists. If the kernel has given the same id to a
 * new thread, the old thread counts as alive until the new one ends. */
bool thread_is_gone(const struct shim_thread *thread)
{
    return syscall(SYS_tgkill, getpid(), thread->tid, 0) && errno == ESRCH;
}

/* ThreadSanitizer is off, because the observed thread writes these fields by ordinary stores, without
 * synchronization. */
__attribute__((no_sanitize("thread"))) bool thread_is_in_call(const struct shim_thread *thread, bool *in_nccl)
{
    *in_nccl = __atomic_load_n(&thread->in_nccl, __ATOMIC_RELAXED) != 0;
    return __atomic_load_n(&thread->within, __ATOMIC_RELAXED) != 0;
}

__attribute__((no_sanitize("thread"))) static bool is_in_call(const struct shim_thread *thread)
{
    return __atomic_load_n(&thread->slow, __ATOMIC_RELAXED) || __atomic_load_n(&thread->within, __ATOMIC_RELAXED);
}

static bool any_in_call(void)
{
    for (unsigned slot = 0; slot < thread_slots_used(); slot++)
        if (thread_at(slot) && is_in_call(thread_at(slot)) && !thread_is_gone(thread_at(slot)))
            return true;
    return false;
}

bool threads_leave_calls(int64_t patience)
{
    bool any;
    for (int64_t end = ws_clock_ns() + patience; (any = any_in_call()) && ws_clock_ns() < end;)
        nanosleep(&(struct timespec){ 0, LEAVE_LOOK_NS }, NULL);
    return !any;
}

void thread_retire(unsigned slot)
{
    struct shim_thread *thread = thread_at(slot);
    atomic_store_explicit(&slots[slot], NULL, memory_order_release);
    atomic_fetch_sub(&slots_taken, 1);
    give_back(thread);
}

unsigned thread_count(void)
{
    return atomic_load_explicit(&slots_taken, memory_order_relaxed);
}

uint32_t threads_begun(void)
{
    return atomic_load_explicit(&begun, memory_order_acquire);
}

uint64_t threads_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

void threads_pass_unknown(void)
{
    if (!thread_self.ours)
        atomic_fetch_add_explicit(&passed_unknown, 1, memory_order_relaxed);
}

uint64_t threads_passed_unknown(void)
{
    return atomic_load_explicit(&passed_unknown, memory_order_relaxed);
}

/* With sanitizers, pthread_create is called directly, so that they see each new thread. Without sanitizers,
 * pthread_create is looked up: glibc has moved it to another library, and a direct call would tie the shim to one
 * symbol version. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FIND_PTHREAD_CREATE() pthread_create
#else
#define FIND_PTHREAD_CREATE() \
    ((int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))elf_libc_symbol("pthread_create"))
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Each thread's stack contains the thread-local storage of the program and its libraries, which may need more space
 * than everything else on the stack. glibc says how large this storage is (__pthread_get_minstack). If glibc lacks
 * that function, the stack gets the program's default size. */
static void choose_stack(pthread_attr_t *attributes)
{
    size_t (*least)(const pthread_attr_t *) =
        (size_t(*)(const pthread_attr_t *))elf_libc_symbol("__pthread_get_minstack");
    int (*set_size)(pthread_attr_t *, size_t) =
        (int (*)(pthread_attr_t *, size_t))elf_libc_symbol("pthread_attr_setstacksize");
    if (least && set_size)
        set_size(attributes, STACK_SIZE + ((least(attributes) + 4095) & ~(size_t)4095));
}
#else
static void choose_stack(pthread_attr_t *attributes)
{
    (void)attributes;
}
#endif

int thread_start(void *(*main)(void *))
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = FIND_PTHREAD_CREATE();
    sigset_t all, saved;
    pthread_t thread;
    pthread_attr_t attributes;
    if (!create)
        return -ENOSYS;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    choose_stack(&attributes);
    /* The shim's threads take none of the program's signals. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &saved);
    int error = create(&thread, &attributes, main, NULL);
    if (error == EINVAL) { /* the chosen stack was too small: the thread gets a stack of the default size */
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = create(&thread, &attributes, main, NULL);
    }
    sigprocmask(SIG_SETMASK, &saved, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}
