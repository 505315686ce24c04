/* Tests of shim/timing/gates. A gate makes a stream wait for a value in memory, until a thread opens the gate by
 * writing the value. The tests check whether the stream could go on, and that the shim's own thread for gates opens a
 * gate if the thread that closed it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/thread.h"
#include "shim/state/phase.h"
#include "shim/timing/gates.h"

struct driver_calls driver;
struct ws_options shim_options = { .gate = WS_GATE_ON };
struct shim_page shim_page;
bool shim_one_queue;

enum { ALL = 16, DEVICE_AT = 1 << 30 };

static struct shim_context context;
static char *page;
static uint64_t waited_at;
static uint32_t waited_for;
static ws_CUresult refuses;
static int able = 1;

int thread_start(void *(*main)(void *))
{
    pthread_t started;
    int error = pthread_create(&started, NULL, main, NULL);
    return error ? -error : pthread_detach(started);
}

static ws_CUresult wait_value(ws_CUstream stream, ws_CUdeviceptr address, uint32_t value, unsigned flags)
{
    (void)stream;
    assert_int_equal(flags, WS_CU_STREAM_WAIT_VALUE_GEQ);
    waited_at = address;
    waited_for = value;
    return refuses;
}

static ws_CUresult host_register(void *memory, size_t bytes, unsigned flags)
{
    (void)bytes, (void)flags;
    page = memory;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult host_address(ws_CUdeviceptr *address, void *memory, unsigned flags)
{
    (void)memory, (void)flags;
    *address = DEVICE_AT;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult context_device(ws_CUdevice *device)
{
    *device = 0;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult device_attribute(int *value, ws_CUenum attribute, ws_CUdevice device)
{
    (void)attribute, (void)device;
    *value = able;
    return WS_CUDA_SUCCESS;
}

static int begin_anew(void **state)
{
    (void)state;
    driver = (struct driver_calls){ .stream_wait_value = wait_value,
                                    .host_register = host_register,
                                    .host_address = host_address,
                                    .context_device = context_device,
                                    .device_attribute = device_attribute };
    context = (struct shim_context){ 0 };
    refuses = WS_CUDA_SUCCESS;
    able = 1;
    gates_prepare(&context);
    return context.gates ? 0 : -1;
}

/* Whether a device would now run the work behind the stream's last wait. */
static bool goes_on(void)
{
    uint32_t word = __atomic_load_n((uint32_t *)(page + (waited_at - DEVICE_AT)), __ATOMIC_ACQUIRE);
    return (int32_t)(word - waited_for) >= 0;
}

static void a_gate_holds_until_it_is_opened(void **state)
{
    (void)state;
    uint64_t kept = 0, gate = gate_close(&context, NULL, &kept);
    assert_true(gate);
    assert_true(kept == gate);
    bool held = !goes_on();
    bool opened = gate_open(gate);
    assert_true(goes_on());
    assert_true(held || !opened); /* on a slow machine the shim's thread for gates may have opened it first */
    assert_false(gate_open(gate));
}

static void a_gate_that_is_left_is_opened(void **state)
{
    (void)state;
    uint64_t kept, gate = gate_close(&context, NULL, &kept);
    int64_t began = ws_clock_ns();
    while (!goes_on())
        /* 5 s, for a busy machine; on an idle one the gate opens after 200 µs */
        assert_true(ws_clock_ns() - began < 5000000000);
    assert_false(gate_open(gate));
}

static void a_name_of_before_opens_nothing(void **state)
{
    (void)state;
    uint64_t kept, old = gate_close(&context, NULL, &kept);
    gate_open(old);
    uint64_t gate = gate_close(&context, NULL, &kept);
    /* gate_close returns a value that identifies the gate. Its low 32 bits are the gate's place, the same for both
     * gates. */
    assert_int_equal((uint32_t)gate, (uint32_t)old);
    assert_false(gate_open(old));
    gate_open(gate);
}

static void there_are_so_many(void **state)
{
    (void)state;
    uint64_t gates[ALL], kept;
    unsigned had = 0;
    for (unsigned i = 0; i < ALL; i++)
        had += (gates[i] = gate_close(&context, NULL, &kept)) != 0;
    assert_int_equal(had, ALL);
    bool more = gate_close(&context, NULL, &kept) != 0;
    unsigned opened = 0;
    for (unsigned i = 0; i < ALL; i++)
        opened += gate_open(gates[i]);
    assert_true(!more ||
                opened < ALL); /* a further gate was free only because the thread for gates had opened some */
}

static void a_driver_that_refuses_has_no_gate(void **state)
{
    (void)state;
    uint64_t kept = 1;
    refuses = WS_CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(gate_close(&context, NULL, &kept), 0);
    assert_int_equal(kept, 0);
    struct shim_context unable = { 0 };
    able = 0;
    gates_prepare(&unable);
    assert_null(unable.gates);
    assert_int_equal(gate_close(&unable, NULL, &kept), 0);
}

static void off_means_off(void **state)
{
    (void)state;
    struct shim_context another = { 0 };
    shim_options.gate = WS_GATE_OFF;
    gates_prepare(&another);
    shim_options.gate = WS_GATE_ON;
    assert_null(another.gates);
}

/* A signal handler may fork while a gate is being closed. Then the child process returns through the code that closes
 * the gate. */
static void a_child_goes_through(void **state)
{
    (void)state;
    uint64_t name = 0, unused = 0;
    gate_close(&context, NULL, &name);
    pid_t child = fork();
    if (!child) {
        gate_open(name);
        gate_close(&context, NULL, &unused);
        gate_open(unused);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    gate_open(name);
}

/* --- handlers that leave by longjmp -------------------------------------------------------------- */

enum { JUMPS = 3000, TIRED_NS = 2000000000 };

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;
static _Atomic int stop;
static pthread_t jumper;

static void jump(int signal)
{
    (void)signal;
    if (!may_jump)
        return;
    may_jump = 0; /* no second jump: siglongjmp unblocks the signal while the thread is still on this stack */
    siglongjmp(back, 1);
}

static void *send_signals(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        pthread_kill(jumper, SIGUSR1);
        for (unsigned k = 0; k < i * 7919 % 3000; k++)
            __asm__ volatile("");
    }
    return NULL;
}

/* Closes and opens a gate, as a launch does. A signal handler may leave this code by a jump at any point. Then the
 * function opens the gate after the jump, as the shim's op_give_up does. */
static bool close_and_open(void)
{
    static volatile bool jumped;
    static uint64_t kept;
    kept = 0;
    jumped = true;
    if (!sigsetjmp(back, 1)) {
        may_jump = 1;
        gate_close(&context, NULL, &kept);
        gate_open(kept);
        jumped = false;
    }
    may_jump = 0;
    gate_open(kept);
    return jumped;
}

/* No gate may stay closed: the stream would wait for ever, and the program would hang. */
static void no_jump_leaves_a_stream_held(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer calls handlers late, even after the shim has blocked signals by a system call */
#endif
    pthread_t sender;
    struct sigaction action = { .sa_handler = jump };
    sigaction(SIGUSR1, &action, NULL);
    jumper = pthread_self();
    assert_int_equal(pthread_create(&sender, NULL, send_signals, NULL), 0);
    int64_t began = ws_clock_ns();
    unsigned held = 0;
    for (unsigned jumps = 0; jumps < JUMPS && ws_clock_ns() - began < TIRED_NS;) {
        jumps += close_and_open();
        int64_t from = ws_clock_ns();
        while (!goes_on() && ws_clock_ns() - from < TIRED_NS) /* the thread for gates may be about to open it */
            ;
        held += !goes_on();
    }
    atomic_store(&stop, 1);
    pthread_join(sender, NULL);
    assert_int_equal(held, 0);
    there_are_so_many(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_gate_holds_until_it_is_opened, begin_anew),
        cmocka_unit_test_setup(a_gate_that_is_left_is_opened, begin_anew),
        cmocka_unit_test_setup(a_name_of_before_opens_nothing, begin_anew),
        cmocka_unit_test_setup(there_are_so_many, begin_anew),
        cmocka_unit_test_setup(no_jump_leaves_a_stream_held, begin_anew),
        cmocka_unit_test_setup(a_driver_that_refuses_has_no_gate, begin_anew),
        cmocka_unit_test_setup(off_means_off, begin_anew),
        cmocka_unit_test_setup(a_child_goes_through, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
