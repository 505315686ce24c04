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
#include "shim/state/phase.h"

enum {
    GATES = 16,
    OPENS_NS = 150000, /* a gate that is closed for so long is opened */
    BEGIN_DEADLINE_NS = 100000000,
    /* The C library's own, which it sends to threads of its choice alone: no program sends it to a process, so none
     * can be taken away by our waiting for it. */
    TIMER_SIGNAL = 32,
};
_Static_assert((int)OPENS_NS < (int)GATE_NS, "the rest is for the thread to run");

/* A gate that a thread may close, of any context: so there are few timers, however many contexts come and go. */
struct gate {
    _Alignas(
        64) _Atomic uint32_t closed; /* the word that will open it; 0: it is open. Whoever clears this opens it */
    _Atomic int64_t since;           /* host ns */
    _Atomic uint32_t *_Atomic word;  /* what the device reads */
    uint32_t last;                   /* word: whoever closes the gate has it alone */
    int timer;                       /* the kernel's: it signals the thread, should the gate be left closed */
};

/* A context's page. Words count: a stream waits until its word is at least so much, and is let go by raising it. */
struct gates {
    struct {
        _Alignas(64) _Atomic uint32_t word;
    } places[GATES];
    ws_CUdeviceptr address; /* of them, on the device */
};

static struct gate all_gates[GATES];
static _Atomic uint32_t taken;  /* a bit each */
static _Atomic uint32_t keeper; /* the thread's id; a futex; 0: there is none */

unsigned gates_thread_count(void)
{
    return atomic_load_explicit(&keeper, memory_order_relaxed) != 0;
}

static void put_back(unsigned place)
{
    atomic_fetch_and_explicit(&taken, ~(1u << place), memory_order_release);
}

/* Lets the stream go on. The place stays taken. */
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

/* Timers wake it, and nobody else: a launch that woke it would be put off for it where processors are few. */
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

/* Tried once for all contexts. */
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

/* 0: it is not to go off. */
static void set_timer(const struct gate *gate, int64_t ns)
{
    struct itimerspec when = { .it_value = { 0, ns } };
    syscall(SYS_timer_settime, gate->timer, 0, &when, NULL);
}

/* --- gates of a context -------------------------------------------------------------------------- */

/* Of the current context's device. */
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

/* A child must not have the page: the parent's device reads it. */
static struct gates *make_gates(void)
{
    size_t size = (sizeof(struct gates) + SHIM_PAGE_SIZE - 1) / SHIM_PAGE_SIZE * SHIM_PAGE_SIZE;
    struct gates *gates = ws_reserve(size);
    if (!gates)
        return NULL;
    madvise(gates, size, MADV_DONTFORK);
    if (driver.host_register(gates, size, WS_CU_MEMHOSTREGISTER_DEVICEMAP) != WS_CUDA_SUCCESS) {
        munmap(gates, size);
        return NULL;
    }
    /* The driver has the page from here on: it stays, also where it is of no use. */
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

/* A gate's place and the word that opens it: the place may be another gate's by then. */
static uint64_t gate_name(unsigned place, uint32_t word)
{
    return (uint64_t)word << 32 | place;
}

uint64_t gate_close(struct shim_context *context, ws_CUstream stream, uint64_t *kept)
{
    struct gates *gates = atomic_load_explicit(&context->gates, memory_order_acquire);
    int place = gates ? take_place() : -1;
    if (place < 0)
        return 0;
    struct gate *gate = &all_gates[place];
    _Atomic uint32_t *address = &gates->places[place].word;
    uint32_t word = ++gate->last ? gate->last : ++gate->last; /* 0 says that it is open */
    atomic_store(&gate->word, address);
    atomic_store_explicit(&gate->since, ws_clock_ns(), memory_order_relaxed);
    *kept = gate_name((unsigned)place, word);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store(&gate->closed, word);
    /* After it says that it is closed, and before the stream waits: whatever happens now, it will be opened. */
    set_timer(gate, OPENS_NS);
    ws_CUdeviceptr on_device = gates->address + (uint64_t)((char *)address - (char *)gates);
    if (driver.stream_wait_value(stream, on_device, word, WS_CU_STREAM_WAIT_VALUE_GEQ) == WS_CUDA_SUCCESS)
        return *kept;
    gate_open(*kept);
    *kept = 0;
    return 0;
}

bool gate_open(uint64_t name)
{
    unsigned place = (uint32_t)name;
    struct gate *gate = &all_gates[place];
    if (!open_place(gate, (uint32_t)(name >> 32)))
        return false;
    set_timer(gate, 0); /* while the place is ours */
    put_back(place);
    return true;
}
