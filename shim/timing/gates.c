#include "shim/timing/gates.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"
#include "shim/state/lock.h"
#include "shim/state/phase.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    GATES = 16,
    /* ns after which a thread of the shim opens a gate that the launching thread has left closed */
    OPENS_NS = 150000,
    BEGIN_DEADLINE_NS = 100000000,
    /* The C library's own signal for cancelling threads. The C library sends it to single threads, never to the
     * process. So the shim's own thread can use it for its timers, and takes no signal away from the program. */
    TIMER_SIGNAL = 32,
};
_Static_assert((int)OPENS_NS < (int)GATE_NS, "the rest is for the thread to run");

/* A gate. All contexts share the gates, so few timers are needed, even for many contexts. */
struct gate {
    /* The value that opens the gate; 0: the gate is open. Whichever thread sets this to 0 must open the gate. */
    _Alignas(64) _Atomic uint32_t closed;
    _Atomic int64_t since;          /* host time at which the gate was closed, ns */
    _Atomic uint32_t *_Atomic word; /* the word (in a context's struct gates) that the stream waits for */
    /* The last value other than 0 that `closed` had; used only by the thread that has taken the gate. */
    uint32_t last;
    int timer; /* a POSIX timer: signals the shim's own thread if the gate stays closed */
};

/* A context's page, with a word for each gate. A stream waits until the gate's word is at least the value with which
 * the gate was closed (`closed`). The store of this value into the word releases the stream. Values only grow. */
struct gates {
    struct {
        _Alignas(64) _Atomic uint32_t word;
    } places[GATES];
    ws_CUdeviceptr address; /* the device's address of this structure */
};

static struct gate all_gates[GATES];
static _Atomic uint32_t taken;  /* one bit for each gate; set: the gate is in use */
static _Atomic uint32_t keeper; /* a futex: id of the shim's thread that opens gates; 0: not started */

unsigned gates_thread_count(void)
{
    return atomic_load_explicit(&keeper, memory_order_relaxed) != 0;
}

static void put_back(unsigned place)
{
    atomic_fetch_and_explicit(&taken, ~(1u << place), memory_order_release);
}

/* Opens the gate if it is still closed with the value `word`. The gate's bit in `taken` stays set: if the result is
 * true, the caller clears it. */
static bool open_place(struct gate *gate, uint32_t word)
{
    _Atomic uint32_t *address = atomic_load(&gate->word);
    if (!word || !atomic_compare_exchange_strong(&gate->closed, &word, 0))
        return false;
    atomic_store_explicit(address, word, memory_order_release);
    return true;
}

/* --- the thread that opens what others left closed ---------------------------------------------- */

static void open_left(int64_t now)
{
    for (uint32_t left = atomic_load(&taken); left; left &= left - 1) {
        unsigned place = (unsigned)__builtin_ctz(left);
        struct gate *gate = &all_gates[place];
        uint32_t word = atomic_load(&gate->closed);
        if (now - atomic_load_explicit(&gate->since, memory_order_relaxed) >= OPENS_NS && open_place(gate, word))
            put_back(place);
    }
}

/* The main function of the shim's thread that opens gates. Only timers wake this thread. If the launching threads
 * woke it at each launch, it would take the processor from them on machines with few processors. */
static void *gates_main(void *unused)
{
    const uint64_t timer_set = (uint64_t)1 << (TIMER_SIGNAL - 1);
    (void)unused;
    prctl(PR_SET_NAME, "wallshim-gates");
    syscall(SYS_rt_sigprocmask, (long)SIG_BLOCK, &timer_set, NULL, sizeof(timer_set));
    atomic_store(&keeper, (uint32_t)syscall(SYS_gettid));
    futex_wake(&keeper);
    for (;;) {
        syscall(SYS_rt_sigtimedwait, &timer_set, NULL, NULL, sizeof(timer_set));
        open_left(ws_clock_ns());
    }
    return NULL;
}

static bool make_timers(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIMER_SIGNAL };
    event._sigev_un._tid = (pid_t)atomic_load(&keeper);
    for (unsigned i = 0; i < GATES; i++)
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &all_gates[i].timer))
            return false;
    return true;
}

/* Starts the thread that opens gates, once for all contexts. Returns true if this thread runs. */
static bool keeper_runs(void)
{
    static bool tried, runs;
    if (!tried && thread_start(gates_main) == 0) {
        futex_wait(&keeper, 0, BEGIN_DEADLINE_NS);
        runs = atomic_load(&keeper) && make_timers();
    }
    tried = true;
    return runs;
}

/* Starts the gate's timer, which fires once after `ns`. If `ns` is 0, stops the timer. */
static void set_timer(const struct gate *gate, int64_t ns)
{
    struct itimerspec when = { .it_value = { 0, ns } };
    syscall(SYS_timer_settime, gate->timer, 0, &when, NULL);
}

/* --- gates of a context -------------------------------------------------------------------------- */

/* Can streams of the current context wait for values? */
static bool has_waits(void)
{
    ws_CUdevice device;
    int able = 0;
    return driver.stream_wait_value && driver.host_register && driver.host_address && driver.device_attribute &&
           driver.context_device && driver.context_device(&device) == WS_CUDA_SUCCESS &&
           driver.device_attribute(&able, WS_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device) ==
               WS_CUDA_SUCCESS &&
           able;
}

/* Makes the page of the current context's gates. In a forked child the page reads as zero. The page must exist in the
 * child, because a signal handler may fork inside gate_close, and the child returns through gate_close. The child
 * must not share the page with its parent: the parent's next write would then make a copy of the page for the parent
 * (copy-on-write), but the device would go on reading the old page. */
static struct gates *make_gates(void)
{
    size_t size = (sizeof(struct gates) + SHIM_PAGE_SIZE - 1) / SHIM_PAGE_SIZE * SHIM_PAGE_SIZE;
    struct gates *gates = ws_reserve(size);
    if (!gates)
        return NULL;
    if (madvise(gates, size, MADV_WIPEONFORK) ||
        driver.host_register(gates, size, WS_CU_MEMHOSTREGISTER_DEVICEMAP) != WS_CUDA_SUCCESS) {
        munmap(gates, size);
        return NULL;
    }
    /* If the device gets no address, the page is not used, but stays mapped: the driver has registered it. */
    return driver.host_address(&gates->address, gates, 0) == WS_CUDA_SUCCESS ? gates : NULL;
}

void gates_prepare(struct shim_context *context)
{
    if (context->gates_tried || shim_options.gate == WS_GATE_OFF || shim_one_queue || shim_captures())
        return;
    context->gates_tried = true;
    struct gates *gates = has_waits() && keeper_runs() ? make_gates() : NULL;
    if (gates)
        atomic_store_explicit(&context->gates, gates, memory_order_release);
}

static int take_place(void)
{
    uint32_t before = atomic_load_explicit(&taken, memory_order_relaxed);
    while (before != (1u << GATES) - 1) {
        unsigned place = (unsigned)__builtin_ctz(~before);
        if (atomic_compare_exchange_weak_explicit(&taken, &before, before | 1u << place, memory_order_acquire,
                                                  memory_order_relaxed))
            return (int)place;
    }
    return -1;
}

/* The name of a closed gate: its number, and the value that opens it. The number alone is not enough: the shim's own
 * thread may have opened the gate, and another launching thread may have closed it again for another stream. */
static uint64_t gate_name(unsigned place, uint32_t word)
{
    return (uint64_t)word << 32 | place;
}

/* Takes a free gate and closes it, for the context that owns `gates`. Returns the gate's name, and stores it in
 * *kept, too; 0: no gate is free. Signals are blocked meanwhile, because a handler that left by longjmp would never
 * give the gate back. */
static uint64_t close_place(struct gates *gates, uint64_t *kept)
{
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    int place = take_place();
    if (place >= 0) {
        struct gate *gate = &all_gates[place];
        /* Skips the value 0, which means that the gate is open. */
        uint32_t word = ++gate->last ? gate->last : ++gate->last;
        atomic_store(&gate->word, &gates->places[place].word);
        atomic_store_explicit(&gate->since, ws_clock_ns(), memory_order_relaxed);
        atomic_store(&gate->closed, word);
        /* The timer is set after `closed` and before the stream waits. So the gate will be opened even if this thread
         * never returns. */
        set_timer(gate, OPENS_NS);
        *kept = gate_name((unsigned)place, word);
    }
    quiet_end(&quiet);
    return place >= 0 ? *kept : 0;
}

uint64_t gate_close(struct shim_context *context, ws_CUstream stream, uint64_t *kept)
{
    struct gates *gates = atomic_load_explicit(&context->gates, memory_order_acquire);
    uint64_t name = gates ? close_place(gates, kept) : 0;
    if (!name)
        return 0;
    unsigned place = (uint32_t)name;
    uint32_t word = (uint32_t)(name >> 32);
    ws_CUdeviceptr on_device = gates->address + (uint64_t)((char *)&gates->places[place].word - (char *)gates);
    if (driver.stream_wait_value(stream, on_device, word, WS_CU_STREAM_WAIT_VALUE_GEQ) == WS_CUDA_SUCCESS)
        return name;
    gate_open(*kept);
    *kept = 0;
    return 0;
}

bool gate_open(uint64_t name)
{
    unsigned place = (uint32_t)name;
    struct gate *gate = &all_gates[place];
    struct shim_quiet quiet;
    /* Signals are blocked, because a handler could leave by longjmp between the two stores of open_place. In that
     * case the gate would count as open, but the stream would wait for ever. */
    quiet_begin(&quiet);
    bool opened = open_place(gate, (uint32_t)(name >> 32));
    if (opened) {
        set_timer(gate, 0); /* stop the timer before another thread can take the gate */
        put_back(place);
    }
    quiet_end(&quiet);
    return opened;
}
