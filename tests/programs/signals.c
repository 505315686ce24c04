/* Signals that come during CUDA calls, and a signal to the process that only one of its threads may take. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "program.h"

static struct gpu gpu;
static volatile sig_atomic_t alarms;
static sigjmp_buf back;

static void count_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static void jump_back(int signal)
{
    siglongjmp(back, signal);
}

static void storm(int flags)
{
    struct sigaction action = { .sa_handler = count_alarm, .sa_flags = flags };
    struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    int refused = 0;
    for (int i = 0; i < 40; i++) {
        refused += spin_times(&gpu, 50, 3000);
        refused += cuStreamSynchronize(gpu.stream) != WS_CUDA_SUCCESS;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    dprintf(STDOUT_FILENO, "refused: %d, alarms: %s\n", refused, alarms ? "some" : "none");
}

/* A signal that is sent to the process while all its threads block it must stay pending until sigwait takes it. If a
 * thread of the shim did not block the signal, the kernel would deliver it to that thread, and the signal's default
 * action would end the program. */
static void waited(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 3000));
    usleep(20000);
    static const int both[] = { SIGUSR1, SIGTERM };
    for (int i = 0; i < 2; i++) {
        int taken = 0;
        kill(getpid(), both[i]);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, both[i]);
        sigwait(&one, &taken);
        dprintf(STDOUT_FILENO, "sigwait: %d\n", taken);
    }
}

/* Like waited(), but the program blocks the signal only after CUDA has started. Threads that the shim started before
 * that must block the signal, too. */
static void blocked_later(void)
{
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 3000));
    usleep(20000);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR2);
    usleep(20000);
    sigpending(&pending);
    dprintf(STDOUT_FILENO, "SIGUSR2 pending: %d\n", sigismember(&pending, SIGUSR2));
}

/* CUDA calls must not change the disposition of any signal or the program's signal mask. */
static void unchanged(void)
{
    struct sigaction before[65], after;
    sigset_t mask_before, mask_after;
    for (int i = 1; i < 65; i++) {
        memset(&before[i], 0, sizeof(before[i])); /* sigaction fails for two signals that the C library reserves */
        sigaction(i, NULL, &before[i]);
    }
    sigprocmask(SIG_BLOCK, NULL, &mask_before);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 100, 3000));
    TRY(cuCtxSynchronize());
    sigprocmask(SIG_BLOCK, NULL, &mask_after);
    for (int i = 1; i < 65; i++) {
        memset(&after, 0, sizeof(after));
        sigaction(i, NULL, &after);
        if (after.sa_handler != before[i].sa_handler)
            dprintf(STDOUT_FILENO, "disposition of %d changed\n", i);
        if (sigismember(&mask_before, i) != sigismember(&mask_after, i))
            dprintf(STDOUT_FILENO, "mask of %d changed\n", i);
    }
}

static void jumping(void)
{
    struct sigaction action = { .sa_handler = jump_back };
    sigaction(SIGUSR1, &action, NULL);
    jmp_buf around;
    for (volatile int i = 0; i < 200; i++) {
        if (!sigsetjmp(back, 1)) {
            spin(gpu.spin, gpu.stream, 2000);
            raise(SIGUSR1);
        }
        if (!setjmp(around)) {
            spin(gpu.spin, gpu.stream, 2000);
            longjmp(around, 1);
        }
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "sigwait")) {
        waited();
    } else if (!strcmp(mode, "blocked-later")) {
        blocked_later();
    } else if (!strcmp(mode, "unchanged")) {
        unchanged();
    } else {
        gpu_open(&gpu, 0);
        if (!strcmp(mode, "storm"))
            storm(SA_RESTART);
        else if (!strcmp(mode, "storm-interrupting"))
            storm(0);
        else if (!strcmp(mode, "longjmp"))
            jumping();
        else
            return unknown_mode(mode);
    }
    return 0;
}
