/* Calls that are left by longjmp. The shim must not treat the thread's later calls as nested in the calls that were
 * left. Also launches that are interrupted by a signal whose handler launches. These launches of the handler are
 * nested. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "program.h"
#include "abi/nccl.h"

extern jmp_buf *jump_out, *jump_out_of_launch, *jump_out_of_collective;
extern int interrupt_launches, meeting;
ws_ncclResult ncclAllReduce(const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,
                            ws_ncclComm comm, ws_CUstream stream);

static struct gpu gpu;

static void leave_a_call(int frames)
{
    volatile char deeper[256] = { 0 };
    if (frames)
        leave_a_call(frames - 1);
    else
        cuStreamQuery(gpu.stream);
    (void)deeper[0];
}

static void launch_deeper(int frames)
{
    volatile char deeper[256] = { 0 };
    if (frames)
        launch_deeper(frames - 1);
    else
        spin(gpu.spin, gpu.stream, 2000);
    (void)deeper[0];
}

/* Leaves calls of cuStreamQuery, and makes all launches deeper in the stack than the call that was left. */
static void go_deeper(void)
{
    jmp_buf around;
    jump_out = &around;
    for (volatile int i = 0; i < 100; i++) {
        if (!setjmp(around))
            cuStreamQuery(gpu.stream);
        launch_deeper(1 + i % 8);
        launch_deeper(1 + i % 3);
    }
    jump_out = NULL;
    TRY(cuStreamSynchronize(gpu.stream));
}

static void leave_collectives(void)
{
    jmp_buf around;
    jump_out_of_collective = &around;
    for (volatile int i = 0; i < 20; i++) {
        if (!setjmp(around))
            ncclAllReduce(NULL, NULL, 1, WS_ncclFloat32, WS_ncclSum, NULL, gpu.stream);
        launch_deeper(2 + i % 3); /* deep enough to overwrite the abandoned call's frame, even with a sanitizer */
        spin(gpu.spin, gpu.stream, 2000);
        TRY(cuStreamSynchronize(gpu.stream));
    }
    jump_out_of_collective = NULL;
}

/* Leaves more launches by longjmp than the shim has events. Then makes a smaller number of ordinary launches. */
static void leave_many_launches(void)
{
    jmp_buf around;
    for (volatile int i = 0; i < 1000; i++) {
        jump_out_of_launch = &around;
        if (!setjmp(around))
            spin(gpu.spin, gpu.stream, 2000);
    }
    jump_out_of_launch = NULL;
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 50, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
}

static void launch_in_handler(int signal)
{
    (void)signal;
    interrupt_launches = 0;
    spin(gpu.spin, gpu.stream, 1000);
}

enum { STACK_SIZE = 1 << 20 };

static void *be_interrupted(void *above)
{
    stack_t stack = { .ss_sp = above, .ss_size = STACK_SIZE };
    MUST(cuCtxSetCurrent(gpu.context));
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 100; i++) {
        interrupt_launches = 1;
        spin(gpu.spin, gpu.stream, 2000);
    }
    TRY(cuStreamSynchronize(gpu.stream));
    return NULL;
}

/* Starts a thread whose signal stack is above its ordinary stack in memory. run: gets the signal stack. */
static pthread_t start_below_signal_stack(void (*handle)(int), void *(*run)(void *))
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    pthread_attr_t attributes;
    pthread_t thread;
    char *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks, STACK_SIZE);
    if (stacks == MAP_FAILED || pthread_create(&thread, &attributes, run, stacks + STACK_SIZE))
        exit(91);
    return thread;
}

static void interrupt(void)
{
    pthread_join(start_below_signal_stack(launch_in_handler, be_interrupted), NULL);
}

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
enum { WAITS = 20, WAIT_NS = 20000000 };
static int waiting, handled; /* numbers of waits that have begun, and of handlers that have run */

static void launch_in_wait(int signal)
{
    (void)signal;
    spin(gpu.spin, gpu.stream, 1000);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELEASE);
}

/* SS_AUTODISARM hides the signal stack from the handler. So the shim does not notice that the handler runs there. */
static void *wait_interrupted(void *above)
{
    stack_t stack = { .ss_sp = above, .ss_size = STACK_SIZE, .ss_flags = (int)SS_AUTODISARM };
    MUST(cuCtxSetCurrent(gpu.context));
    sigaltstack(&stack, NULL);
    for (int i = 1; i <= WAITS; i++) {
        spin(gpu.spin, gpu.stream, WAIT_NS);
        __atomic_store_n(&waiting, i, __ATOMIC_RELEASE);
        MUST(cuStreamSynchronize(gpu.stream));
        while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < i)
            sched_yield();
    }
    return NULL;
}

/* A handler launches while its thread waits for the device. */
static void interrupt_waits(void)
{
    pthread_t thread = start_below_signal_stack(launch_in_wait, wait_interrupted);
    for (int i = 1; i <= WAITS; i++) {
        while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < i)
            usleep(100);
        usleep(WAIT_NS / 4000);
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
}

static void *wait_for_event(void *event)
{
    MUST(cuCtxSetCurrent(gpu.context));
    TRY(cuStreamWaitEvent(gpu.stream, event, 0));
    return NULL;
}

/* Another thread calls cuStreamWaitEvent while this thread launches into the same stream. The call of
 * cuStreamWaitEvent begins before the launching call and ends after it. The wait enters the stream between the event
 * that the shim records before the launch, and the launch itself. libraries/jumping.c enforces this order. */
static void meet_waits(void)
{
    enum { WAIT_COMES = 1, LAUNCH_IS_IN = 4 };
    ws_CUevent event;
    pthread_t thread;
    MUST(cuEventCreate(&event, 0));
    MUST(cuEventRecord(event, gpu.stream));
    for (int i = 0; i < 20; i++) {
        spin(gpu.spin, gpu.stream, 2000);
        if (pthread_create(&thread, NULL, wait_for_event, event))
            exit(91);
        while (__atomic_load_n(&meeting, __ATOMIC_ACQUIRE) != WAIT_COMES)
            sched_yield();
        spin(gpu.spin, gpu.stream, 2000);
        __atomic_store_n(&meeting, LAUNCH_IS_IN, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        __atomic_store_n(&meeting, 0, __ATOMIC_RELEASE);
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

/* Every other launch is left by longjmp before it reaches the stream. */
static void leave_launches(void)
{
    jmp_buf around;
    for (volatile int i = 0; i < 50; i++) {
        jump_out_of_launch = &around;
        if (!setjmp(around))
            spin(gpu.spin, gpu.stream, 2000);
        jump_out_of_launch = NULL;
        spin(gpu.spin, gpu.stream, 2000);
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

static void *leave_a_launch(void *unused)
{
    jmp_buf around;
    (void)unused;
    MUST(cuCtxSetCurrent(gpu.context));
    jump_out_of_launch = &around;
    if (!setjmp(around))
        spin(gpu.spin, gpu.stream, 2000);
    jump_out_of_launch = NULL;
    return NULL;
}

/* Each thread leaves a launch by longjmp and ends without another call. So only the thread's end shows that the
 * launch was left. */
static void leave_launches_and_end(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave_a_launch, NULL))
            exit(91);
        pthread_join(thread, NULL);
        spin_times(&gpu, 20, 2000);
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

static void *leave_a_launch_and_the_kernel(void *unused)
{
    leave_a_launch(unused);
    syscall(SYS_exit, 0); /* ends the thread without running any destructor */
    return NULL;
}

/* Threads leave a launch and end without running destructors. They are so many that the shim asks the operating
 * system which threads still exist. */
static void leave_launches_and_vanish(void)
{
    for (int i = 0; i < 80; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave_a_launch_and_the_kernel, NULL))
            exit(91);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 15; i++) {
        spin_times(&gpu, 20, 2000);
        usleep(100000);
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

/* Like go_deeper(), but in a sandbox that kills the process if it calls process_vm_readv: the shim must read the
 * frames of abandoned calls without this system call. */
static void go_deeper_guarded(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    go_deeper();
}

int main(int argc, char **argv)
{
    jmp_buf around;
    gpu_open(&gpu, 0);
    static const struct {
        const char *mode;
        void (*run)(void);
    } others[] = { { "launches", leave_launches },
                   { "threads", leave_launches_and_end },
                   { "vanishing", leave_launches_and_vanish },
                   { "deeper", go_deeper },
                   { "guarded", go_deeper_guarded },
                   { "collectives", leave_collectives },
                   { "many-launches", leave_many_launches },
                   { "interrupted", interrupt },
                   { "interrupted-waits", interrupt_waits },
                   { "meeting", meet_waits } };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(mode_of(argc, argv), others[i].mode)) {
            others[i].run();
            return 0;
        }
    jump_out = &around;
    for (volatile int i = 0; i < 100; i++) {
        if (!setjmp(around))
            leave_a_call(i % 8);
        spin(gpu.spin, gpu.stream, 2000);
    }
    jump_out = NULL;
    TRY(cuStreamQuery(gpu.stream));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
