#include "shim/timing/gates.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"
#include "shim/state/phase.h"

enum {
    GATES = 64,
    LOOK_NS = 50000,   /* between looks, while a gate is closed */
    OPENS_NS = 100000, /* a gate that is closed for longer is opened */
    ASLEEP = 1,
    AWAKE = 0, /* of the thread that looks after gates */
};
_Static_assert(OPENS_NS + 2 * LOOK_NS <= GATE_NS, "looks come often enough");

/* Its word counts: a stream waits until it is at least so much, and a gate is opened by raising it. */
struct gate {
    _Alignas(64) _Atomic uint32_t word; /* what the device reads */
    _Atomic uint32_t closed;            /* the word that will open it; 0: it is open. Whoever clears this opens it */
    _Atomic int64_t since;              /* host ns */
};

struct gates {
    struct gate gates[GATES];
    ws_CUdeviceptr address; /* of them, on the device */
    _Atomic uint64_t taken; /* a bit each */
    struct gates *next;     /* of those that the thread looks after; never taken out */
};

static struct gates *_Atomic all_gates;
static _Atomic uint32_t asleep; /* a futex */
static _Atomic bool started;

unsigned gates_thread_count(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed);
}

static void put_back(struct gates *gates, unsigned place)
{
    atomic_fetch_and_explicit(&gates->taken, ~((uint64_t)1 << place), memory_order_release);
}

static bool open_place(struct gates *gates, unsigned place, uint32_t word)
{
    struct gate *gate = &gates->gates[place];
    if (!word || !atomic_compare_exchange_strong(&gate->closed, &word, 0))
        return false;
    atomic_store_explicit(&gate->word, word, memory_order_release);
    put_back(gates, place);
    return true;
}

/* --- the thread that opens what others left closed ---------------------------------------------- */

/* Is any gate closed? Opens those that were for too long. */
static bool look_after(struct gates *gates, int64_t now)
{
    bool any = false;
    for (uint64_t left = atomic_load(&gates->taken); left; left &= left - 1) {
        unsigned place = (unsigned)__builtin_ctzll(left);
        struct gate *gate = &gates->gates[place];
        uint32_t word = atomic_load(&gate->closed);
        if (word && now - atomic_load_explicit(&gate->since, memory_order_relaxed) > OPENS_NS)
            open_place(gates, place, word);
        any |= word != 0;
    }
    return any;
}

static void *gates_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "wallshim-gates");
    prctl(PR_SET_TIMERSLACK, 1000);
    for (;;) {
        bool any = false;
        int64_t now = ws_clock_ns();
        for (struct gates *gates = atomic_load(&all_gates); gates; gates = gates->next)
            any |= look_after(gates, now);
        if (any) {
            struct timespec pause = { 0, LOOK_NS };
            nanosleep(&pause, NULL);
        } else if (atomic_exchange(&asleep, ASLEEP) == ASLEEP) { /* it looked once more after saying so */
            futex_wait_forever(&asleep, ASLEEP);
        }
    }
    return NULL;
}

static void wake_thread(void)
{
    if (atomic_load(&asleep) == ASLEEP && atomic_exchange(&asleep, AWAKE) == ASLEEP)
        futex_wake(&asleep);
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
    if (driver.host_register(gates, size, WS_CU_MEMHOSTREGISTER_DEVICEMAP) == WS_CUDA_SUCCESS &&
        driver.host_address(&gates->address, gates, 0) == WS_CUDA_SUCCESS)
        return gates;
    munmap(gates, size); /* the driver drops what it may have registered with the context */
    return NULL;
}

void gates_prepare(struct shim_context *context)
{
    if (context->gates_tried || shim_options.gate == WS_GATE_OFF || shim_one_queue || shim_captures())
        return;
    context->gates_tried = true;
    struct gates *gates = has_waits() ? make_gates() : NULL;
    if (!gates)
        return;
    bool first = !atomic_exchange(&started, true);
    if (first && thread_start(gates_main)) {
        atomic_store(&started, false);
        return; /* nobody would open what is left closed */
    }
    gates->next = atomic_load(&all_gates);
    atomic_store(&all_gates, gates);
    atomic_store_explicit(&context->gates, gates, memory_order_release);
}

static int take_place(struct gates *gates)
{
    uint64_t taken = atomic_load_explicit(&gates->taken, memory_order_relaxed);
    while (~taken) {
        unsigned place = (unsigned)__builtin_ctzll(~taken);
        if (atomic_compare_exchange_weak_explicit(&gates->taken, &taken, taken | (uint64_t)1 << place,
                                                  memory_order_acquire, memory_order_relaxed))
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
    int place = gates ? take_place(gates) : -1;
    if (place < 0)
        return 0;
    struct gate *gate = &gates->gates[place];
    uint32_t word = atomic_load_explicit(&gate->word, memory_order_relaxed) + 1;
    word += !word; /* 0 says that it is open */
    atomic_store_explicit(&gate->since, ws_clock_ns(), memory_order_relaxed);
    *kept = gate_name((unsigned)place, word);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store(&gate->closed, word); /* before the stream waits: whatever happens now, the thread opens it */
    wake_thread();
    ws_CUdeviceptr address = gates->address + (uint64_t)((char *)&gate->word - (char *)gates);
    if (driver.stream_wait_value(stream, address, word, WS_CU_STREAM_WAIT_VALUE_GEQ) == WS_CUDA_SUCCESS)
        return *kept;
    open_place(gates, (unsigned)place, word);
    *kept = 0;
    return 0;
}

bool gate_open(struct shim_context *context, uint64_t gate)
{
    struct gates *gates = atomic_load_explicit(&context->gates, memory_order_acquire);
    return open_place(gates, (uint32_t)gate, (uint32_t)(gate >> 32));
}
